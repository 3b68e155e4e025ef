"""Cases that may hang or crash are tried in a child process."""

import contextlib
import faulthandler
import importlib
import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

TESTS = Path(__file__).parent.parent


def faults_in_child(module: str, numbers: Iterable[int], seed: int, *, seconds: float) -> list[str]:
    """Call hostile.<module>.faults(number, seed) for each of the numbers in one child process; a line for each fault.

    A child that takes longer than so many seconds for one case shows where all its threads are and ends.
    """
    wanted = list(map(str, numbers))
    program = "import sys; sys.path.insert(0, sys.argv[1]); from hostile.children import main; main(*sys.argv[2:])"
    done = subprocess.run(
        [
            sys.executable,
            "-W",
            "ignore::DeprecationWarning",
            "-c",
            program,
            str(TESTS),
            module,
            str(seed),
            str(seconds),
            *wanted,
        ],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    faults = done.stdout.splitlines()
    if done.returncode:
        faults.append(f"{module}, seed {seed}, {wanted}: the child ended with {done.returncode}: {done.stderr[-3000:]}")
    return faults


def main(module: str, seed: str, seconds: str, *numbers: str) -> None:
    """What the child does."""
    faults = importlib.import_module(f"hostile.{module}").faults
    for number in numbers:
        faulthandler.dump_traceback_later(float(seconds), exit=True)
        with contextlib.redirect_stdout(sys.stderr):  # what a grandchild prints is no fault
            found = faults(int(number), int(seed))
        for each in found:
            print(f"{module}, seed {seed}, number {number}: {each}", flush=True)
    faulthandler.cancel_dump_traceback_later()
