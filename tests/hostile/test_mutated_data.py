"""A short run of mutated data files; `python tests/hostile/run.py --mutated-data 20000` is the long one."""

from pathlib import Path

import pytest

from hostile.children import failures_of
from hostile.mutated_data import MAKERS, ROWS, tried
from odca import stream


@pytest.mark.parametrize("name", MAKERS)
def test_every_format_is_read_as_it_is(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_bytes(MAKERS[name]())
    with stream.open(path, label=None if name.split(".")[1] in {"vw", "svm"} else "label") as blocks:
        assert sum(map(len, blocks)) == len(ROWS)


def test_mutated_data_are_read_or_refused_with_an_error_of_ours() -> None:
    assert failures_of(tried, range(20 * len(MAKERS)), seed=0) == []
