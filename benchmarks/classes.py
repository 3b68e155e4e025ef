"""Classes of the automatic mode: what many of them cost, and how well those are learned that appear late.

    python -m benchmarks.classes [--rounds N]

Writes benchmarks/results/classes.json.
"""

import argparse
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.data import make_documents
from benchmarks.quality.streams import STREAMS
from benchmarks.report import (
    Goal,
    Prepare,
    Row,
    compare,
    describe_machine,
    log,
    show_machine,
    table,
    time_interleaved,
    write_json,
)
from odca import AutoLearner

Array = npt.NDArray[np.float64]

CLASSES, COLUMNS = 20, 20
ROWS, FEATURES, NONZEROS = 60_000, 47_000, 70
EVENTS = 30_000


# What they cost


def drawn_classes(X: Any) -> Array:
    """One of CLASSES classes for each row, drawn by the odds of a linear model."""
    rng = np.random.default_rng(1)
    logits = np.asarray(X @ rng.normal(size=(X.shape[1], CLASSES)))
    return np.argmax(logits + rng.gumbel(size=logits.shape), axis=1).astype(np.float64)


def cost(rounds: int) -> Iterator[Row]:
    """20 classes beside two, on the same rows: a table, and documents."""
    dense = np.random.default_rng(0).normal(size=(ROWS, COLUMNS))
    documents = make_documents(rows=ROWS, features=FEATURES, nonzeros=NONZEROS, teachers=1).X
    for work, X in (
        (f"{CLASSES} classes, an event of {COLUMNS} columns", dense),
        (f"{CLASSES} classes, an event of {NONZEROS} features, {FEATURES:,} in all", documents),
    ):
        many = drawn_classes(X)

        def learning(y: Array, classes: int, X: Any = X) -> Prepare:
            return lambda: lambda: AutoLearner("classes", classes=classes).learn(X, y)

        timings = time_interleaved({"many": learning(many, CLASSES), "two": learning(many % 2.0, 2)}, rounds)
        each, two = (1e6 * timings[name].best / ROWS for name in ("many", "two"))
        yield Row(
            work,
            "two classes",
            *compare(timings["many"], timings["two"]),
            goal=Goal(6.0),
            note=f"{each:.2f} us and {two:.2f} us an event",
        )


# Classes that appear


def in_order_of_appearance(y: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    """Codes of classes: 0 is the class of the first event, 1 the next that appears, and so on."""
    classes, first = np.unique(y, return_index=True)
    place = dict(zip(classes[np.argsort(first)].tolist(), range(len(classes)), strict=True))
    return np.array([place[label] for label in y.tolist()])


def progressive_loss(X: Any, y: npt.NDArray[np.int64], declared: int) -> float:
    """Progressive log loss, without the first event of each class."""
    answers = AutoLearner("classes", classes=declared).learn(X, y.astype(np.float64))
    losses = -answers[np.arange(len(y)), y]
    return float(np.delete(losses, np.unique(y, return_index=True)[1]).mean())


def appearing() -> Iterator[dict[str, Any]]:
    """Classes that appear beside the same classes declared at the start: as they come, and with a third of them much later."""
    for name in ("covtype7", "letter", "20newsgroups"):
        stream = STREAMS[name]().first(EVENTS)
        held_back = np.random.default_rng(0).permutation(stream.classes)[: stream.classes // 3]
        in_second_half = np.arange(len(stream.y)) >= len(stream.y) // 2
        for when, kept in (
            ("as they come", np.ones(len(stream.y), dtype=bool)),
            ("a third of them from the middle on", in_second_half | ~np.isin(stream.y, held_back)),
        ):
            X, y = stream.events[kept], in_order_of_appearance(stream.y[kept])
            known, unknown = progressive_loss(X, y, int(y.max()) + 1), progressive_loss(X, y, 2)
            yield {"stream": name, "classes": when, "declared": known, "appearing": unknown, "ratio": unknown / known}


def main() -> None:
    """Run, print, write the JSON."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.classes", description=__doc__.split("\n", 1)[0])
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    machine = describe_machine()
    log(show_machine(machine))
    rows = list(cost(options.rounds))
    print(table(Row.HEADER, [row.as_cells() for row in rows]))
    found = []
    for each in appearing():
        found.append(each)
        figures = f"{each['appearing']:.5g}, declared {each['declared']:.5g}, ratio {each['ratio']:.3f}"
        print(f"{each['stream']:15} {each['classes']}: {figures}")
    parts = {"goals": [row.as_json() for row in rows], "appearing": found}
    content = {"machine": machine, "rows": [{"part": part, **row} for part, rows in parts.items() for row in rows]}
    log(f"wrote {write_json('classes', content)}")


if __name__ == "__main__":
    main()
