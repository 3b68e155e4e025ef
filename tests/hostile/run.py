"""The long hostile run: `python tests/hostile/run.py --mutated-files 30000 --calls 500000 --kills 100 --fuzz 3600 --seed 0`.

Every module of this folder that has a function

    def long_run(count: int, seed: int) -> Outcome

is an option of its name (`--kills` runs kills.py). The function tries `count` cases drawn from `seed` and continues after a
failure; what could kill the run (a crash, memory, an endless loop) it tries in a child process. It prints nothing itself.
This script runs them one after the other. It prints each failure on a line, a row for each kind as soon as it is done, and at the end the
table: what, how many, seed, failures. The exit code is 1 if there are any.

A short run of the same cases is an ordinary test, `test_<module>.py` in this folder.
"""

import argparse
import importlib
import sys
import time
from pathlib import Path

HERE = Path(__file__).parent
ROW = "{:<45} {:>9} {:>6} {:>9} {:>8}"


def modules() -> list[str]:
    return sorted(path.stem for path in HERE.glob("*.py") if "\ndef long_run(" in path.read_text())


def main() -> int:
    parser = argparse.ArgumentParser(description="Run hostile cases, and count what fails.")
    for name in modules():
        parser.add_argument(f"--{name.replace('_', '-')}", type=int, default=0, metavar="COUNT")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    sys.path.insert(0, str(HERE.parent))  # where the helpers of the tests are
    table, failed = [ROW.format("what", "how many", "seed", "failures", "minutes")], False
    for name in modules():
        if count := getattr(given, name):
            begin = time.monotonic()
            outcome = importlib.import_module(f"hostile.{name}").long_run(count, given.seed)
            minutes = f"{(time.monotonic() - begin) / 60.0:.1f}"
            for failure in outcome.failures:
                print(failure)
            table.append(ROW.format(outcome.what, f"{outcome.count:,}", given.seed, len(outcome.failures), minutes))
            print(table[-1], flush=True)
            failed |= bool(outcome.failures)
    print("", *table, sep="\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
