"""Events as dictionaries, predicted and then learned one at a time: odca beside river, in one process.

    python -m benchmarks.events [--quick]

Each event has 14 numbers (river's own example has about as many), every dictionary its own strings as names; two classes and
five, predicted as labels and as probabilities, by plain and by automatic models. Beside that: what an event costs after 10² to 10⁶ names were seen. If it has any of them, the processor's caches show: the names of
a million lie all over the memory.
"""

import argparse
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from benchmarks.report import (
    Goal,
    Prepare,
    Row,
    Timing,
    compare,
    describe_machine,
    log,
    show_machine,
    table,
    time_interleaved,
    write_json,
)
from odca import EventLearner, Exponential, Hinge, Infinite, LogLoss

WIDTH = 14
KNOWN = (100, 10_000, 1_000_000)
RIVER = "river LogisticRegression"
RIVER_OF_FIVE = "river OneVsRestClassifier(LogisticRegression)"
PROBABILITIES = ", probabilities"
ONE_MODEL = {"rho": 1e-3, "window": Infinite(), "scale": False}
"""Of an `EventLearner`: one strength and one memory, as river's model has them."""


def events_of(count: int, *, known: int = WIDTH) -> list[dict[str, float]]:
    rng = np.random.default_rng(0)
    values = rng.normal(size=(count, WIDTH))
    names = np.arange(WIDTH) if known == WIDTH else rng.integers(known, size=(count, WIDTH))
    rows = zip(np.broadcast_to(names, values.shape).tolist(), values.tolist(), strict=True)
    return [{f"f{j}": h for j, h in zip(*row, strict=True)} for row in rows]


def one_at_a_time(
    make: Callable[[], Any], events: list[dict[str, float]], labels: list[Any], *, by: str = "predict_one"
) -> Prepare:
    def prepare() -> Callable[[], object]:
        model = make()

        def work() -> None:
            predict, learn = getattr(model, by), model.learn_one
            for event, y in zip(events, labels, strict=True):
                predict(event)
                learn(event, y)

        return work

    return prepare


def contenders(count: int) -> dict[str, Prepare]:
    events = events_of(count)
    signs = [1.0 if event["f0"] > 0.0 else -1.0 for event in events]
    smoothed = {"loss": Hinge(), "rho": 1e-3, "window": Exponential(0.999), "smoothing": 0.99}

    def ours(**options: Any) -> Prepare:
        return one_at_a_time(lambda: EventLearner(**({"loss": LogLoss()} | ONE_MODEL | options)), events, signs)

    def all_at_once() -> Callable[[], object]:
        model = EventLearner(loss=LogLoss(), **ONE_MODEL)
        return lambda: model.learn_many(events, signs)

    out = of_estimators(events) | {
        "log loss": ours(),
        "log loss, hashed": ours(bits=18),
        "hinge, exponential, smoothed": ours(**smoothed),
        "log loss, learn_many": all_at_once,
    }
    for known in KNOWN:
        model = with_names(known)
        labels = [1.0, -1.0] * (count // 2)
        out[f"the same {WIDTH} of {known} names"] = one_at_a_time(lambda model=model: model, events, labels)
        out[f"any {WIDTH} of {known} names"] = one_at_a_time(
            lambda model=model: model, events_of(count, known=known), labels
        )
    return out


def of_estimators(events: list[dict[str, float]]) -> dict[str, Prepare]:
    """The estimators for river beside river's own, of two classes and of five."""
    from river import linear_model, multiclass

    from odca.river import AutoClassifier, ODCAClassifier

    def plain() -> Any:
        return ODCAClassifier(rho=1e-5, window="infinite", scale=False, smoothing=0.0)

    def river_of_five() -> Any:
        return multiclass.OneVsRestClassifier(linear_model.LogisticRegression())

    models = {"plain": plain, "defaults": ODCAClassifier, "automatic": AutoClassifier}
    two = {RIVER: linear_model.LogisticRegression} | {f"two classes, {name}": make for name, make in models.items()}
    five = {RIVER_OF_FIVE: river_of_five} | {f"five classes, {name}": make for name, make in models.items()}
    truths = [event["f0"] > 0.0 for event in events]
    fifths = np.digitize([event["f0"] for event in events], [-0.84, -0.25, 0.25, 0.84]).tolist()
    out: dict[str, Prepare] = {}
    for makes, labels in ((two, truths), (five, fifths)):
        for name, make in makes.items():
            out[name] = one_at_a_time(make, events, labels)
            out[name + PROBABILITIES] = one_at_a_time(make, events, labels, by="predict_proba_one")
    return out


def with_names(known: int) -> EventLearner:
    model = EventLearner(loss=LogLoss(), **ONE_MODEL)
    for first in range(0, known, 10_000):
        model.learn_one({f"f{k}": 1.0 for k in range(first, min(first + 10_000, known))}, 1.0)
    return model


def lines(timings: dict[str, Timing]) -> Iterator[Row]:
    def line(name: str, against: str, goal: Goal | None = None, *, faster: bool = True) -> Row:
        shown = f"{name}, times faster" if faster else name
        return Row(shown, against, *compare(timings[name], timings[against], faster=faster), goal)

    goals = {"plain": Goal(6.0, at_least=True), "defaults": None, "automatic": Goal(3.0, at_least=True)}
    for classes, river in (("two classes", RIVER), ("five classes", RIVER_OF_FIVE)):
        for kind, goal in goals.items():
            for answer in ("", PROBABILITIES):
                yield line(f"{classes}, {kind}{answer}", river + answer, goal)
    yield line("log loss", RIVER, Goal(6.0, at_least=True))
    yield line("log loss, hashed", RIVER)
    yield line("hinge, exponential, smoothed", RIVER)
    yield line("log loss, learn_many", RIVER)
    for which in ("the same", "any"):
        for known in KNOWN[1:]:
            work, against = (f"{which} {WIDTH} of {n} names" for n in (known, KNOWN[0]))
            yield line(work, against, Goal(1.25) if which == "the same" else None, faster=False)


def main() -> None:
    """Time everything, print a table, write benchmarks/results/events.json."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.events", description=__doc__.split("\n", 1)[0])
    parser.add_argument("--quick", action="store_true", help="fewer events, and nothing is written")
    quick = parser.parse_args().quick
    count, rounds = (1_000, 3) if quick else (5_000, 15)
    machine = describe_machine()
    log(show_machine(machine))
    timings = time_interleaved(contenders(count), rounds)
    rows = list(lines(timings))
    log(table(Row.HEADER, [row.as_cells() for row in rows]))
    for name, timing in timings.items():
        log(f"  {1e6 * timing.best / count:6.2f} µs  {name}")
    if quick:
        return
    microseconds = {name: 1e6 * timing.best / count for name, timing in timings.items()}
    written = write_json(
        "events",
        {
            "machine": machine,
            "rows": [row.as_json() for row in rows],
            "microseconds per event": microseconds,
            "seconds": {name: timing.as_json() for name, timing in timings.items()},
        },
    )
    log(f"written: {written}")


if __name__ == "__main__":
    main()
