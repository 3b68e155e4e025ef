"""What an event takes and what memory a feature takes, beside another build of odca: before a change, and after it.

    python -m benchmarks.before_after PYTHON --name 1735348 [--rounds N]

PYTHON is the interpreter of an environment in which the other build is installed. The two take turns, each time in a new process, and
the best time of each counts. Writes benchmarks/results/before_after.json.
"""

import argparse
import ctypes
import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks.data import make_documents
from benchmarks.report import ROOT, describe_machine, log, show_machine, table, write_json
from odca import AutoLearner, EventLearner, LogLoss, ODCAClassifier

COLUMNS, CLASSES = 20, 20
ROWS, FEATURES, NONZEROS = 20_000, 47_000, 70
EVENTS = 10_000
MANY = 500_000  # features of which the memory is measured
REPEATS = 2

Seconds = float


def table_rows() -> Any:
    """Rows of a table."""
    return np.random.default_rng(0).normal(size=(ROWS, COLUMNS))


def documents() -> Any:
    """Rows of words."""
    return make_documents(rows=ROWS, features=FEATURES, nonzeros=NONZEROS, teachers=1).X


def codes(X: Any, classes: int) -> Any:
    """A class for each row."""
    scores = np.asarray(X @ np.random.default_rng(1).normal(size=(X.shape[1], classes)))
    return scores.argmax(axis=1).astype(np.float64)


def automatic(rows: Callable[[], Any], classes: int) -> Seconds:
    """The automatic mode, for one event."""
    X = rows()
    y = codes(X, classes)
    return timed(lambda: AutoLearner("classes", classes=classes).learn(X, y)) / ROWS


def plain(rows: Callable[[], Any]) -> Seconds:
    """The linear classifier with its defaults, for one event."""
    X = rows()
    y = codes(X, 2)
    return timed(lambda: ODCAClassifier().partial_fit(X, y, classes=[0.0, 1.0])) / ROWS


def dictionaries() -> Seconds:
    """An `EventLearner` with its defaults: one event predicted and learned."""
    rng = np.random.default_rng(0)
    names = [f"name {k}" for k in range(COLUMNS)]
    events = [dict(zip(names, values, strict=True)) for values in rng.normal(size=(EVENTS, COLUMNS)).tolist()]
    labels = [1.0 if sum(event.values()) > 0.0 else -1.0 for event in events]

    def learn() -> None:
        learner = EventLearner(loss=LogLoss())
        for event, label in zip(events, labels, strict=True):
            learner.predict_one(event)
            learner.learn_one(event, label)

    return timed(learn) / EVENTS


def timed(work: Callable[[], object]) -> Seconds:
    """The best time of several."""
    best = float("inf")
    for _ in range(REPEATS):
        started = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - started)
    return best


TIMES: dict[str, Callable[[], Seconds]] = {
    f"automatic, two classes, {COLUMNS} columns": lambda: automatic(table_rows, 2),
    f"automatic, two classes, {NONZEROS} of {FEATURES:,} features": lambda: automatic(documents, 2),
    f"automatic, {CLASSES} classes, {COLUMNS} columns": lambda: automatic(table_rows, CLASSES),
    f"automatic, {CLASSES} classes, {NONZEROS} of {FEATURES:,} features": lambda: automatic(documents, CLASSES),
    f"ODCAClassifier(), {COLUMNS} columns": lambda: plain(table_rows),
    f"ODCAClassifier(), {NONZEROS} of {FEATURES:,} features": lambda: plain(documents),
    f"EventLearner(), {COLUMNS} columns": dictionaries,
}


def resident() -> float:
    """Bytes of memory that this process holds, without what was freed."""
    ctypes.CDLL(None).malloc_trim(0)
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return float(pages * 4096)


Learn = Callable[[Any, Any], object]
"""Learns rows and labels."""


def memory(begin: Callable[[], Learn]) -> float:
    """Bytes for a feature, of a model that has seen each of many features once, in many calls."""
    rows, size = MANY // 100, 10
    X = sp.csr_array((np.ones(MANY), np.arange(MANY), np.arange(0, MANY + 1, 100)), shape=(rows, MANY))
    y = np.arange(rows) % 2.0
    begin()(X[:size], y[:size])  # what does not depend on the model
    blocks = [(X[first : first + size], y[first : first + size]) for first in range(0, rows, size)]
    learn = begin()
    before = resident()
    for block in blocks:
        learn(*block)
    return (resident() - before) / MANY


def automatic_model(classes: int) -> Learn:
    """How a new automatic model learns."""
    return AutoLearner("classes", classes=classes).learn


def plain_model() -> Learn:
    """How a new linear classifier learns."""
    model = ODCAClassifier()
    return lambda X, y: model.partial_fit(X, y, classes=[0.0, 1.0])


MEMORY: dict[str, Callable[[], float]] = {
    "automatic, two classes": lambda: memory(lambda: automatic_model(2)),
    f"automatic, {CLASSES} classes": lambda: memory(lambda: automatic_model(CLASSES)),
    "ODCAClassifier()": lambda: memory(plain_model),
}


def measured(python: str, kind: str, work: str) -> float:
    """One measurement, in a new process of an interpreter."""
    command = [python, "-m", "benchmarks.before_after", python, "--measure", kind, work]
    return float(json.loads(subprocess.run(command, check=True, capture_output=True, cwd=ROOT, text=True).stdout))


def main() -> None:
    """Run, print a table, write the JSON."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.before_after", description=__doc__.split("\n", 1)[0])
    parser.add_argument("python", help="the interpreter of the other build")
    parser.add_argument("--name", default="", help="what the other build is, such as its commit")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--measure", nargs=2, metavar=("KIND", "WORK"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    kinds = {"time": TIMES, "memory": MEMORY}
    if options.measure:
        kind, work = options.measure
        print(json.dumps(kinds[kind][work]()))
        return
    machine = describe_machine()
    log(show_machine(machine))
    rows = []
    for kind, works in kinds.items():
        for work in works:
            found: dict[str, list[float]] = {"before": [], "after": []}
            for _ in range(options.rounds if kind == "time" else 1):
                for who, python in (("before", options.python), ("after", sys.executable)):
                    found[who].append(measured(python, kind, work))
            best = {who: min(each) for who, each in found.items()}
            rows.append({"kind": kind, "work": work, **best, "ratio": best["after"] / best["before"], "all": found})
            log(f"  {kind} of {work}: {best['before']:.3g} before, {best['after']:.3g} after")
    unit = {"time": 1e6, "memory": 1.0}
    print(
        table(
            ("work", "before", "after", "ratio"),
            [
                [
                    f"{row['kind']}: {row['work']}",
                    *(f"{unit[row['kind']] * row[who]:.2f}" for who in ("before", "after")),
                    f"{row['ratio']:.2f}",
                ]
                for row in rows
            ],
        )
    )
    log(f"wrote {write_json('before_after', {'machine': machine, 'before': options.name, 'rows': rows})}")


if __name__ == "__main__":
    main()
