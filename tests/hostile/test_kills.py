"""A short run of killed trainings; `python tests/hostile/run.py --kills 100` is the long one."""

from pathlib import Path

import pytest

from hostile.kills import KINDS, killed


@pytest.mark.parametrize("kind", KINDS)
def test_a_training_that_is_killed_and_resumed_ends_with_the_same_model(kind: str, tmp_path: Path) -> None:
    assert killed(kind, tmp_path, 3, seed=0) == []
