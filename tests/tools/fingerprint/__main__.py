"""Record a fingerprint of what odca computes, to show that a change does not change a bit of it.

    python tests/tools/fingerprint OUT.json              all runs, which take a minute and a half on one core
    python tests/tools/fingerprint OUT.json cli/ auto/   the runs whose names begin like this

Run it once with an installation from before a change and once with one from after it; the two files must be equal:

    ODCA_DATA=... before/bin/python tests/tools/fingerprint before.json
    ODCA_DATA=... after/bin/python tests/tools/fingerprint after.json
    diff before.json after.json

A fingerprint is valid for one machine and one version of NumPy, SciPy, scikit-learn, river and pandas: compare it and throw it away.

OUT.json holds, in order, "run: part" and a SHA-256 of the bytes of its numbers. The parts of a run are hashed separately, so that a state
with another layout does not hide that the predictions are the same. A run that raises an error has "ERROR: ..." under its own name, in
addition to the parts it had reached; one without its data has "SKIPPED: ...". Data are looked up in $ODCA_DATA.

Every run sets all options whose default a change might alter (rho, scale, smoothing, prior_strength, missing).
"""

import json
import sys
import time
from importlib import import_module
from pathlib import Path

from runs import RUNS, fingerprint

import odca

MODULES = ("learner", "scikit_learn", "river_estimators", "events", "command_line", "automatic")


def main(out: str, *beginnings: str) -> None:
    """Run those whose names begin like this, or all, and write their hashes."""
    for name in MODULES:
        import_module(name)
    started = time.monotonic()
    chosen = {name: run for name, run in RUNS.items() if not beginnings or name.startswith(beginnings)}
    found = {part: mark for name, run in chosen.items() for part, mark in fingerprint(name, run)}
    Path(out).write_text(json.dumps(found, indent=1, sort_keys=True, ensure_ascii=False) + "\n", encoding="utf-8")
    print(
        f"odca of {Path(odca.__file__).parent}: {len(chosen)} runs, {len(found)} parts, {time.monotonic() - started:.0f} s"
    )
    for name, mark in sorted(found.items()):
        if mark.startswith(("ERROR", "SKIPPED")):
            print(f"{name}: {mark}")


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit("usage: fingerprint OUT.json [NAME ...]")
    main(*sys.argv[1:])
