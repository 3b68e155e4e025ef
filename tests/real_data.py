"""Real data for tests that want it: found on this machine, never downloaded, skipped where there is none."""

import functools
import os
from pathlib import Path

import pytest

from odca.research import datasets

ROOT = Path(__file__).resolve().parent.parent


def path_of(name: str) -> Path:
    """The file of that name in $ODCA_DATA or in ../shared/data beside the repository; without it the test is skipped."""
    given = os.environ.get("ODCA_DATA")
    folders = [*([Path(given)] if given else []), ROOT.parent / "shared" / "data"]
    found = next((folder / name for folder in folders if (folder / name).is_file()), None)
    if found is None:
        looked = ", ".join(map(str, folders))
        pytest.skip(f"{name} is in none of {looked}: set ODCA_DATA to a folder that has it")
    return found


@functools.cache
def load(name: str) -> datasets.Dataset:
    """a6a and rcv1sub with their own test rows; w8a, which has none, with its last fifth. Shuffled with seed 0."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ODCA_DATA", str(path_of(f"{name}.gz").parent))
        try:
            return datasets.load_file(f"{name}.gz").shuffled()
        except datasets.MissingDataError as missing:
            pytest.skip(str(missing))
