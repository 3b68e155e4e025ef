"""What wild labels, features with heavy tails and hundreds of useless features cost, beside VW and river.

    python -m benchmarks.robust [--events 12000]

`wild`: the number streams of `benchmarks.quality`. In 0.5 % of the events 30, or 1,000, standard deviations of the labels are added to the
label or taken from it; or one label, that of the event a third into the stream, becomes 1e6 standard deviations. Each method's mean
squared error over the events whose labels are sound, relative to its own when all labels are.

`generated`: features with a Cauchy distribution, of which the labels follow the values clipped to ±3, and 5 relevant features among 500;
numbers (squared error) and classes (log loss), the mean over seeds.

River is its linear or logistic regression behind a StandardScaler. VW is missing where it is not installed. Nothing is random but for
the seeds. Writes benchmarks/results/robust.json.
"""

import argparse
import importlib.util
import itertools
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from river import linear_model, preprocessing

from benchmarks.quality import vw
from benchmarks.quality.streams import BINARY, NUMBER, STREAMS, Stream, narrow
from benchmarks.report import describe_machine, log, show_machine, table, write_json
from odca import AutoLearner

Array = npt.NDArray[np.float64]
EVENTS, SEEDS = 12_000, 3
VW_FLAGS = ("", "--coin")
FEW = 100  # events at the start that are not judged


def auto(stream: Stream) -> Array:
    """Progressive predictions of the automatic mode: numbers, or log odds."""
    learner = AutoLearner("numbers" if stream.task == NUMBER else "classes", classes=2)
    return learner.learn(stream.events, stream.y.astype(np.float64))


def by_vw(flags: str) -> Callable[[Stream], Array]:
    """The same by VW."""

    def predict(stream: Stream) -> Array:
        with tempfile.TemporaryDirectory() as folder:
            told = vw.predict(stream, flags, Path(folder))
        if told.probabilities is None:
            return told.values.astype(np.float64)
        return np.log(told.probabilities[:, 1] / told.probabilities[:, 0])

    return predict


def by_river(stream: Stream) -> Array:
    """The same by river."""
    scaler = preprocessing.StandardScaler()
    model: Any = linear_model.LinearRegression() if stream.task == NUMBER else linear_model.LogisticRegression()
    out = np.empty(len(stream.y))
    for at in range(len(stream.y)):
        row = slice(stream.X.indptr[at], stream.X.indptr[at + 1])
        x = dict(zip(stream.X.indices[row].tolist(), stream.X.data[row].tolist(), strict=True))
        scaler.learn_one(x)
        x = scaler.transform_one(x)
        if stream.task == NUMBER:
            out[at] = model.predict_one(x)
        else:
            p = min(max(model.predict_proba_one(x).get(True, 0.5), 1e-15), 1.0 - 1e-15)
            out[at] = np.log(p / (1.0 - p))
        model.learn_one(x, stream.y[at] if stream.task == NUMBER else bool(stream.y[at]))
    return out


def methods() -> dict[str, Callable[[Stream], Array]]:
    """Who takes part."""
    out: dict[str, Callable[[Stream], Array]] = {"auto": auto}
    if importlib.util.find_spec("vowpalwabbit"):
        out |= {f"VW {flags}".strip(): by_vw(flags) for flags in VW_FLAGS}
    return out | {"river": by_river}


# Wild labels


def harmed(y: Array) -> Iterator[tuple[str, Array, npt.NDArray[np.bool_]]]:
    """Labels with wild ones among them, and which these are."""
    rng, sd = np.random.default_rng(0), y.std()
    some, sign = rng.random(len(y)) < 0.005, rng.choice([-1.0, 1.0], size=len(y))
    for deviations in (30, 1000):
        yield f"0.5 % off by {deviations:,} sd", y + some * sign * deviations * sd, some
    one = np.arange(len(y)) == len(y) // 3
    yield "one of 1e6 sd", np.where(one, 1e6 * sd, y), one


def wild(events: int) -> Iterator[dict[str, Any]]:
    """For each stream and kind of harm, the losses relative to those without it."""
    for name, make in STREAMS.items():
        stream = make().first(events)
        if stream.task != NUMBER:
            continue
        y = stream.y.astype(np.float64)
        sound = {method: predict(stream) for method, predict in methods().items()}
        for harm, labels, which in harmed(y):
            row: dict[str, Any] = {"part": "wild", "stream": name, "harm": harm, "ratios": {}}
            judged = ~which & (np.arange(len(y)) >= FEW)
            for method, predict in methods().items():
                told = predict(replace(stream, y=labels))
                errors = [float(np.mean((each - y)[judged] ** 2)) for each in (told, sound[method])]
                row["ratios"][method] = errors[0] / errors[1] if errors[1] > 0.0 else np.inf
            yield row


# Generated streams


def made(name: str, task: str, X: Array, z: Array) -> Stream:
    """A stream of numbers, or of whether they are above 0."""
    y = z if task == NUMBER else (z > 0.0).astype(np.int64)
    return Stream(name, task, narrow(X), y, np.ones(X.shape[1], bool), True, "", 0 if task == NUMBER else 2)


def tails(task: str, events: int, seed: int) -> Stream:
    """Ten features with a Cauchy distribution."""
    rng = np.random.default_rng(seed)
    X, w = rng.standard_cauchy(size=(events, 10)), rng.normal(size=10)
    return made("Cauchy features", task, X, np.clip(X, -3.0, 3.0) @ w + rng.normal(size=events))


def few_of_many(task: str, events: int, seed: int) -> Stream:
    """Five relevant features of 500."""
    rng = np.random.default_rng(seed)
    X, w = rng.normal(size=(events, 500)), np.zeros(500)
    w[:5] = rng.choice([-1.0, 1.0], size=5) * rng.uniform(0.5, 1.5, size=5)
    return made("5 of 500 features", task, X, X @ w + rng.normal(size=events))


def loss(stream: Stream, told: Array) -> float:
    """Squared error, or log loss."""
    if stream.task == NUMBER:
        return float(np.mean((told[1:] - stream.y[1:]) ** 2))  # nothing can be known of the first number
    return float(np.mean(np.logaddexp(0.0, -(2.0 * stream.y - 1.0) * told)))


def generated(events: int) -> Iterator[dict[str, Any]]:
    """For each stream, the mean losses."""
    for make in (tails, few_of_many):
        for task in (NUMBER, BINARY):
            streams = [make(task, events, seed) for seed in range(SEEDS)]
            losses = {
                method: float(np.mean([loss(stream, predict(stream)) for stream in streams]))
                for method, predict in methods().items()
            }
            what = "squared error" if task == NUMBER else "log loss"
            yield {"part": "generated", "stream": f"{streams[0].name}, {what}", "losses": losses}


def main() -> None:
    """Run, print the tables, write the JSON."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.robust", description=__doc__.split("\n", 1)[0])
    parser.add_argument("--events", type=int, default=EVENTS, metavar="N", help="of each stream, at most")
    events = parser.parse_args().events
    machine, rows = describe_machine(), []
    for row in itertools.chain(wild(events), generated(events)):
        log(str(row))
        rows.append(row)
    show_machine(machine)
    for part, figures, of in (("wild", "ratios", ("stream", "harm")), ("generated", "losses", ("stream",))):
        some = [row for row in rows if row["part"] == part]
        names = list(some[0][figures])
        print(
            table((*of, *names), [[*(row[k] for k in of), *(f"{row[figures][n]:.4g}" for n in names)] for row in some])
        )
    write_json("robust", {"machine": machine, "events": events, "rows": rows})


if __name__ == "__main__":
    main()
