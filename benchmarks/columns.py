"""Delay and false alarms of the watch over the columns; `python -m benchmarks.drift --columns` measures them.

Made tables of 20 columns: 15 of normal numbers, of which one is missing in 5 % of the events, and 5 categories. One column changes at event
10,000; an alarm of another column, or before, is false.
"""

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from odca import _core, stream

EVENTS, CHANGE = 30_000, 10_000
NUMBERS, CATEGORIES = 15, 5
PART = 50_000  # events that are written at a time
Table = tuple[np.ndarray, np.ndarray, np.ndarray]
"""Numbers, whether the first is missing, and categories, of some events."""


def table(rng: np.random.Generator, events: int) -> Table:
    """Columns that do not change."""
    values = rng.choice(4, size=(events, CATEGORIES), p=[0.5, 0.3, 0.15, 0.05])
    return rng.normal(size=(events, NUMBERS)), rng.random(events) < 0.05, values


def moved(rng: np.random.Generator, columns: Table, by: float = 0.0, scale: float = 1.0) -> str:
    """Another mean, or another spread."""
    del rng
    columns[0][:, 3] = scale * columns[0][:, 3] + by
    return "x3"


def missing(rng: np.random.Generator, columns: Table) -> str:
    """Three times as many gaps."""
    columns[1][:] = rng.random(len(columns[1])) < 0.15
    return "x0"


def new_value(rng: np.random.Generator, columns: Table) -> str:
    """A value that was not there before, in 5 % of the events."""
    columns[2][rng.random(len(columns[2])) < 0.05, 1] = 4
    return "c1"


def rarer(rng: np.random.Generator, columns: Table) -> str:
    """The most frequent value, of half of the events, is that of 30 %."""
    columns[2][:, 1] = rng.choice(4, size=len(columns[2]), p=[0.3, 0.5, 0.15, 0.05])
    return "c1"


CHANGES: dict[str, Callable[[np.random.Generator, Table], str]] = {
    "mean moves by 2 standard deviations": lambda rng, columns: moved(rng, columns, by=2.0),
    "mean moves by 1": lambda rng, columns: moved(rng, columns, by=1.0),
    "mean moves by 1/2": lambda rng, columns: moved(rng, columns, by=0.5),
    "spread doubles": lambda rng, columns: moved(rng, columns, scale=2.0),
    "missing: 5 % to 15 %": missing,
    "a new value in 5 %": new_value,
    "most frequent value: 50 % to 30 %": rarer,
}


def alarms(parts: Iterator[Table]) -> list[tuple[str, int]]:
    """The column and the event of each alarm."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "made.csv"
        with path.open("w") as file:
            file.write(
                ",".join([*(f"x{k}" for k in range(NUMBERS)), *(f"c{k}" for k in range(CATEGORIES)), "y"]) + "\n"
            )
            for numbers, gaps, values in parts:
                texts = np.char.mod("%.4f", numbers)
                texts[gaps, 0] = ""
                rows = np.hstack([texts, np.char.add("v", values.astype(str)), np.full((len(texts), 1), "1")])
                file.writelines(",".join(row) + "\n" for row in rows.tolist())
        watch = _core.ColumnWatch()
        with stream.open(path, label="y") as opened:
            for block in opened:
                assert opened.vocabulary is not None
                watch.add(block.rows, opened.vocabulary)
    return [(column, event) for column, _, event, *_ in watch.changes]


def measured(seeds: int, first_seed: int, long: int) -> Iterator[dict[str, Any]]:
    """A row for each change: how often it was noticed, how late, and the false alarms; and one for the stationary stream."""
    for name, change in CHANGES.items():
        delays, false = [], 0
        for seed in range(first_seed, first_seed + seeds):
            rng = np.random.default_rng(seed)
            before, after = table(rng, CHANGE), table(rng, EVENTS - CHANGE)
            column = change(rng, after)
            found = alarms(iter([before, after]))
            true = [event - CHANGE for where, event in found if where == column and event > CHANGE]
            false += len(found) - len(true)
            delays += true[:1]
        delay = float(np.median(delays)) if delays else None
        yield {
            "kind": "columns",
            "stream": name,
            "seeds": seeds,
            "noticed": len(delays),
            "delay": delay,
            "false_alarms": false,
        }
    rng = np.random.default_rng(first_seed)
    found = alarms(table(rng, PART) for _ in range(long // PART))
    yield {
        "kind": "columns",
        "stream": f"stationary, {long:,}",
        "seeds": 1,
        "noticed": None,
        "delay": None,
        "false_alarms": len(found),
    }
