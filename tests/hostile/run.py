"""The long hostile runs: `python tests/hostile/run.py files --count 30000 --seed 0`.

Every module of this folder that has a function

    def long_run(count: int, seed: int) -> Outcome

is a command of its name (`files` above). The function tries `count` cases drawn from `seed` and continues after a
failure; what could kill the run (a crash, memory, an endless loop) it tries in a child process. It prints nothing itself.
This script prints each failure on a line and then one line, `what, how many, failures`; the exit code is 1 if there are any.

A short run of the same cases is an ordinary test, `test_<command>.py` in this folder.
"""

import argparse
import importlib
import sys
from pathlib import Path

HERE = Path(__file__).parent


def commands() -> list[str]:
    return sorted(path.stem for path in HERE.glob("*.py") if "\ndef long_run(" in path.read_text())


def main() -> int:
    parser = argparse.ArgumentParser(description="Run hostile cases of one kind, and count what fails.")
    parser.add_argument("what", choices=commands())
    parser.add_argument("--count", type=int, required=True)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    sys.path.insert(0, str(HERE.parent))  # where the helpers of the tests are
    outcome = importlib.import_module(f"hostile.{given.what}").long_run(given.count, given.seed)
    for failure in outcome.failures:
        print(failure)
    print(outcome)
    return 1 if outcome.failures else 0


if __name__ == "__main__":
    sys.exit(main())
