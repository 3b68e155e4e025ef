"""A short run of mutated model files; `python tests/hostile/run.py --mutated-files 30000` is the long one."""

import pytest

from hostile.children import failures_of
from hostile.mutated_files import NAMES, tried
from hostile.specimens import specimen


@pytest.mark.parametrize("name", NAMES)
def test_every_kind_of_model_is_loaded_and_used_as_it_is(name: str, tmp_path) -> None:
    whole, path = specimen(name), tmp_path / "model.safetensors"
    path.write_bytes(whole.data)
    assert len(list(whole.use(whole.load(path)))) > 1


def test_mutated_files_are_refused_or_make_sound_models() -> None:
    assert failures_of(tried, range(4 * len(NAMES)), seed=0) == []


@pytest.mark.parametrize("case", [3568, 14525, 18017])
def test_files_that_long_runs_found_to_be_accepted_wrongly(case: int) -> None:
    assert tried(case, seed=7) == []
