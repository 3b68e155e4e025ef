"""The long hostile run: `python tests/hostile/run.py --long`, or some of it: `--kills 100 --mutated-files 30000 --seed 3`.

Every module of this folder that has a function

    def long_run(count: int, seed: int) -> Outcome

is an option of its name (`--kills` runs kills.py). The function tries `count` cases drawn from `seed` and continues after a
failure; what could kill the run (a crash, memory, an endless loop) it tries in a child process. It prints nothing itself.
This script runs them one after another. It prints each failure, a row for each kind as soon as it is done, and at the end the table:
what, how many, failures. The exit code is 1 if there are any.

A short run of the same cases is an ordinary test, `test_<module>.py` in this folder.
"""

import argparse
import importlib
import sys
import time
from pathlib import Path

HERE = Path(__file__).parent
LONG = {
    "calls": 500_000,
    "command_signals": 30,
    "forks": 70,
    "full_disk": 30,
    "fuzz": 3600,  # seconds
    "kills": 120,
    "mutated_data": 6_000,
    "mutated_files": 30_000,
    "signals": 280,
    "threads": 140,
}
"""How many cases of each kind `--long` tries."""
HEAD = "| what | how many | failures | seed | minutes |\n|---|---|---|---|---|"


def modules() -> list[str]:
    return sorted(path.stem for path in HERE.glob("*.py") if "\ndef long_run(" in path.read_text())


def option_of(module: str) -> str:
    return f"--{module.replace('_', '-')}"


def main() -> int:
    parser = argparse.ArgumentParser(description="Run hostile cases, and count what fails.")
    parser.add_argument("--long", action="store_true", help="all kinds, as often as before a release")
    for name in modules():
        parser.add_argument(option_of(name), type=int, metavar="COUNT")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    sys.path.insert(0, str(HERE.parent))  # where the helpers of the tests are
    table, failed = [HEAD], False
    for name in modules():
        count = getattr(given, name)
        if count is None:
            count = LONG[name] if given.long else 0
        if count:
            begin = time.monotonic()
            outcome = importlib.import_module(f"hostile.{name}").long_run(count, given.seed)
            minutes = f"{(time.monotonic() - begin) / 60.0:.1f}"
            for failure in outcome.failures:
                print(failure)
            failures = len(outcome.failures) or "none"
            table.append(f"| {outcome.what} | {outcome.count:,} | {failures} | {given.seed} | {minutes} |")
            print(table[-1], flush=True)
            failed |= bool(outcome.failures)
    print("", *table, sep="\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
