"""A short run of stopped trainings; `python tests/hostile/run.py --command-signals 100` is the long one."""

from pathlib import Path

import pytest

from hostile.command_signals import KINDS, signalled


@pytest.mark.parametrize("number", range(len(KINDS)))
def test_a_training_that_is_stopped_ends_well_and_can_go_on(number: int, tmp_path: Path) -> None:
    assert signalled(number, tmp_path, seed=0) == []
