"""A short run of full disks; `python tests/hostile/run.py --full-disk 100` is the long one."""

from pathlib import Path

import pytest

from hostile.full_disk import tried


@pytest.mark.parametrize("number", range(6))
def test_on_a_full_disk_a_command_says_so_and_keeps_the_old_file(number: int, tmp_path: Path) -> None:
    assert tried(number, tmp_path, seed=0) == []
