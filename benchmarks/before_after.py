"""What an event takes and what memory a feature takes, beside another build of odca: before a change, and after it.

    python -m benchmarks.before_after PYTHON --name 1735348 [--rounds N] [--only REGEX] [--result before_after]

PYTHON is the interpreter of an environment in which the other build is installed. The two take turns, each time in a new process, and
the best time of each counts. "time" and "memory" are of models with their defaults, which may have changed; "event" (the rows of
benchmarks.events) and "command" (whole commands on the files of benchmarks.versus) leave nothing to a default: both builds do the same
work. Writes benchmarks/results/before_after.json.
"""

import argparse
import ctypes
import json
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks import events as one_event
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
    from benchmarks.data import make_documents

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


def timed(work: Callable[[], object], *, repeats: int = REPEATS) -> Seconds:
    """The best time of several."""
    best = float("inf")
    for _ in range(repeats):
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


SAME_MODEL = ("--loss", "log_loss", "--rho", "1e-5", "--window", "infinite", "--smoothing", "0", "--no-scale")
FILES = Path(tempfile.gettempdir()) / "odca-versus"
COMMANDS = {
    f"{size}, {name}": (f"{stem}.{kind}", *flags)
    for size, stem in (("50 MB", "small"), ("1 GB", "large"))
    for name, kind, flags in (
        ("VW's text", "vw", ()),
        ("VW's text, --bits 18", "vw", ("--bits", "18")),
        ("libsvm", "svm", ()),
    )
}


def command(file: str, *flags: str) -> Seconds:
    """`odca train` on a file, from its start to its end."""
    odca = str(Path(sys.executable).with_name("odca"))
    with tempfile.TemporaryDirectory() as folder:
        words = [odca, "train", str(FILES / file), "-o", f"{folder}/model", *SAME_MODEL, *flags]
        return timed(lambda: subprocess.run(words, check=True, capture_output=True))


def event(work: str) -> Seconds:
    """A row of benchmarks.events, for one event."""
    prepare = one_event.contenders(EVENTS)[work]
    return min(timed(prepare(), repeats=1) for _ in range(3)) / EVENTS


OF_EVENTS = (
    "river estimator, one plain model",
    "log loss",
    "log loss, hashed",
    "hinge, exponential, smoothed",
    "log loss, learn_many",
    *(f"{which} {one_event.WIDTH} of {known} names" for known in one_event.KNOWN for which in ("the same", "any")),
)

KINDS: dict[str, dict[str, Callable[[], float]]] = {
    "time": TIMES,
    "memory": MEMORY,
    "event": {work: lambda work=work: event(work) for work in OF_EVENTS},
    "command": {work: lambda words=words: command(*words) for work, words in COMMANDS.items()},
}
UNITS = {"time": 1e6, "memory": 1.0, "event": 1e6, "command": 1.0}
"""Microseconds for an event, bytes for a feature, seconds for a command."""


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
    parser.add_argument(
        "--only", type=re.compile, default="", metavar="REGEX", help="only rows such as 'event: log loss'"
    )
    parser.add_argument("--result", default="before_after", help="the name of the file of results")
    parser.add_argument("--measure", nargs=2, metavar=("KIND", "WORK"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        kind, work = options.measure
        print(json.dumps(KINDS[kind][work]()))
        return
    chosen = [
        (kind, work) for kind, works in KINDS.items() for work in works if re.search(options.only, f"{kind}: {work}")
    ]
    if any(kind == "command" for kind, _ in chosen):
        from benchmarks.versus import data

        data.prepare(FILES)
    machine = describe_machine()
    log(show_machine(machine))
    rows = []
    for kind, work in chosen:
        found: dict[str, list[float]] = {"before": [], "after": []}
        for _ in range(1 if kind == "memory" else options.rounds):
            for who, python in (("before", options.python), ("after", sys.executable)):
                found[who].append(measured(python, kind, work))
        best = {who: min(each) for who, each in found.items()}
        rows.append({"kind": kind, "work": work, **best, "ratio": best["after"] / best["before"], "all": found})
        log(f"  {kind}: {work}: {best['before']:.3g} before, {best['after']:.3g} after")
    print(
        table(
            ("work", "before", "after", "ratio"),
            [
                [
                    f"{row['kind']}: {row['work']}",
                    *(f"{UNITS[row['kind']] * row[who]:.2f}" for who in ("before", "after")),
                    f"{row['ratio']:.2f}",
                ]
                for row in rows
            ],
        )
    )
    log(f"wrote {write_json(options.result, {'machine': machine, 'before': options.name, 'rows': rows})}")


if __name__ == "__main__":
    main()
