"""What the automatic mode costs, with many classes too, whether it is ever worse than its best expert, how it learns classes that appear, how soon it is back after a sudden drift, how fast it reads text.

    python -m benchmarks.auto [--rounds N] [--megabytes N]

Writes benchmarks/results/auto.json. The quality beside other libraries is `python -m benchmarks.quality`.
"""

import argparse
import math
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.data import make_documents
from benchmarks.quality.streams import BINARY, NUMBER, STREAMS, Stream
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
from benchmarks.versus.data import blocks
from odca import AutoLearner, Exponential, Learner, LogLoss, Sliding
from odca.models.auto_report import EXPERTS
from odca.validation.arrays import as_matrix
from odca.windows import Window

Array = npt.NDArray[np.float64]

ROWS, FEATURES, NONZEROS = 60_000, 47_000, 70
CLASSES, COLUMNS = 20, 20
SEEDS, DRIFT_AT, DRIFT_EVENTS, AVERAGED = 10, 10_000, 16_000, 200
MARGIN = 1.1  # of the loss before the drift
EVENTS = 30_000
ODCA = str(Path(sys.executable).with_name("odca"))


# What an event costs


def cost(rounds: int) -> Row:
    """Beside one learner of log loss, on documents of 70 words."""
    made = make_documents(rows=ROWS, features=FEATURES, nonzeros=NONZEROS, teachers=1)
    codes = (made.y > 0.0).astype(np.float64)
    timings = time_interleaved(
        {
            "auto": lambda: lambda: AutoLearner("classes").learn(made.X, codes),
            "one": lambda: lambda: Learner(loss=LogLoss(), rho=1e-5, intercept=True).learn(made.X, made.y),
        },
        rounds,
    )
    each = 1e6 * timings["auto"].best / ROWS
    return Row(
        "an event of 70 features, 47,000 in all",
        "one log-loss Learner",
        *compare(timings["auto"], timings["one"]),
        goal=Goal(25.0),
        note=f"{each:.2f} us an event",
    )


# Classes


def drawn_classes(X: Any, seed: int) -> npt.NDArray[np.int64]:
    """One of CLASSES classes for each row, drawn by the odds of a linear model."""
    rng = np.random.default_rng(seed)
    logits = np.asarray(X @ rng.normal(size=(X.shape[1], CLASSES)))
    return np.argmax(logits + rng.gumbel(size=logits.shape), axis=1)


def cost_of_classes(rounds: int) -> Iterator[Row]:
    """20 classes beside two, on the same rows: a table, and documents."""
    dense = np.random.default_rng(0).normal(size=(ROWS, COLUMNS))
    documents = make_documents(rows=ROWS, features=FEATURES, nonzeros=NONZEROS, teachers=1).X
    for work, X in (
        (f"{CLASSES} classes, an event of {COLUMNS} columns", dense),
        (f"{CLASSES} classes, an event of {NONZEROS} features, {FEATURES:,} in all", documents),
    ):
        many = drawn_classes(X, 1).astype(np.float64)

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


def in_order_of_appearance(y: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    """Codes of classes: 0 is the class of the first event, 1 the next that appears, and so on."""
    classes, first = np.unique(y, return_index=True)
    place = dict(zip(classes[np.argsort(first)].tolist(), range(len(classes)), strict=True))
    return np.array([place[label] for label in y.tolist()])


def loss_of_classes(X: Any, y: npt.NDArray[np.int64], declared: int) -> float:
    """Progressive log loss, without the first event of each class."""
    told = AutoLearner("classes", classes=declared).learn(X, y.astype(np.float64))
    losses = -told[np.arange(len(y)), y]
    return float(np.delete(losses, np.unique(y, return_index=True)[1]).mean())


def appearing() -> Iterator[dict[str, Any]]:
    """Classes that appear beside the same classes declared at the start: as they come, and with a third of them much later."""
    for name in ("covtype7", "letter", "20newsgroups"):
        stream = STREAMS[name]().first(EVENTS)
        held_back = np.random.default_rng(0).permutation(stream.classes)[: stream.classes // 3]
        in_second_half = np.arange(len(stream.y)) >= len(stream.y) // 2
        for late, kept in (
            ("as they come", np.ones(len(stream.y), dtype=bool)),
            ("a third of them from the middle on", in_second_half | ~np.isin(stream.y, held_back)),
        ):
            X, y = stream.events[kept], in_order_of_appearance(stream.y[kept])
            known, unknown = loss_of_classes(X, y, int(y.max()) + 1), loss_of_classes(X, y, 2)
            ratio = unknown / known
            yield {"stream": name, "classes": late, "declared": known, "appearing": unknown, "ratio": ratio}


# Beside the best of its own experts


def expert_losses(stream: Stream) -> tuple[float, Array]:
    """The mean loss of the mixture, and of each expert by itself."""
    learner = AutoLearner("numbers" if stream.task == NUMBER else "classes", classes=max(stream.classes, 2))
    y = stream.y.astype(np.float64)
    margins = AutoLearner(learner.task, classes=max(stream.classes, 2))._core.learn_with_margins(
        as_matrix(stream.events)[0], y
    )
    told = learner.learn(stream.events, y)
    if stream.task == NUMBER:
        highs, lows = (
            np.maximum.accumulate(y),
            np.minimum.accumulate(y),
        )  # experts are held within the labels seen so far, too
        within = np.clip(margins[1:, 0], lows[:-1, None], highs[:-1, None])
        return float(((told - y)[1:] ** 2).mean()), ((within - y[1:, None]) ** 2).mean(axis=0)
    if stream.task == BINARY:
        signs = np.where(y > 0.0, 1.0, -1.0)
        own = np.logaddexp(0.0, -signs * told).mean()
        return float(own), np.logaddexp(0.0, -signs[:, None] * margins[:, 0]).mean(axis=0)
    places = (np.arange(len(y)), y.astype(np.intp))
    logs = margins - np.logaddexp.reduce(margins, axis=1, keepdims=True)
    return float(-told[places].mean()), -logs[places].mean(axis=0)


def beside_experts() -> Iterator[dict[str, Any]]:
    """For every stream of the quality benchmark."""
    for name, make in STREAMS.items():
        stream = make().first(EVENTS)
        own, losses = expert_losses(stream)
        best = int(np.nanargmin(losses))
        slack = math.log(len(EXPERTS)) / len(stream.y) if stream.task != NUMBER else 0.0
        yield {
            "stream": name,
            "loss": own,
            "best_expert": EXPERTS[best].name,
            "its_loss": float(losses[best]),
            "ratio": own / float(losses[best]),
            "met": own <= 1.02 * float(losses[best]) + slack,
        }


# After a sudden drift


@dataclass(frozen=True, slots=True)
class Turn:
    """A hyperplane that turns at once. softness: labels are drawn by the odds of so many times the margin; 0: 5 % are flipped."""

    name: str
    features: int = 10
    angle: float = math.pi / 2
    softness: float = 0.0


TURNS = (
    Turn("a right angle"),
    Turn("30 features", features=30),
    Turn("right round", angle=math.pi),
    Turn("half a right angle", angle=math.pi / 4),
    Turn("uncertain labels", softness=3.0),
)


def turned(turn: Turn, seed: int) -> tuple[Array, Array]:
    """Rows, and labels ±1."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(DRIFT_EVENTS, turn.features))
    plane, _ = np.linalg.qr(rng.normal(size=(turn.features, 2)))
    after = math.cos(turn.angle) * plane[:, 0] + math.sin(turn.angle) * plane[:, 1]
    margins = np.where(np.arange(DRIFT_EVENTS) < DRIFT_AT, X @ plane[:, 0], X @ after)
    if turn.softness:
        return X, np.where(rng.random(DRIFT_EVENTS) < 1.0 / (1.0 + np.exp(-turn.softness * margins)), 1.0, -1.0)
    return X, np.where(rng.random(DRIFT_EVENTS) < 0.05, -1.0, 1.0) * np.sign(margins)


def events_until_back(losses: Array, level: float) -> float:
    """Behind the turn, until the mean of the last events is at the level again; infinite if it never is."""
    sums = np.cumsum(np.concatenate([[0.0], losses.mean(axis=0)]))
    means = (sums[AVERAGED:] - sums[:-AVERAGED]) / AVERAGED
    reached = np.flatnonzero(means[DRIFT_AT:] <= level)
    return float(reached[0] + AVERAGED) if len(reached) else math.inf


def loss_before(losses: Array) -> float:
    """Over the second half of the time before the turn."""
    return float(losses[:, DRIFT_AT // 2 : DRIFT_AT].mean())


def windows() -> Iterator[tuple[str, Window, float]]:
    """Those that are fixed."""
    for length in (100, 200, 400, 800, 1600, 3200):
        for rho in (1e-3, 1e-2, 3e-2):
            yield f"exponential of {length}, rho {rho:g}", Exponential(beta=1.0 - 1.0 / length), rho
            yield f"sliding of {length}, rho {rho:g}", Sliding(length), rho


def drift(turn: Turn) -> dict[str, Any]:
    """The automatic mode beside fixed windows: how many events until each is back within 10 % of its own loss before."""
    data = [turned(turn, seed) for seed in range(SEEDS)]
    ours = np.array(
        [np.logaddexp(0.0, -y * AutoLearner("classes").learn(X, (y > 0.0).astype(np.float64))) for X, y in data]
    )
    fixed = {
        name: np.array(
            [
                np.logaddexp(0.0, -y * Learner(loss=LogLoss(), rho=rho, window=window, intercept=True).learn(X, y))
                for X, y in data
            ]
        )
        for name, window, rho in windows()
    }
    best = min(fixed, key=lambda name: float(fixed[name].mean()))
    back = events_until_back(ours, MARGIN * loss_before(ours))
    its = events_until_back(fixed[best], MARGIN * loss_before(fixed[best]))
    level = MARGIN * loss_before(fixed[best])
    return {
        "turn": turn.name,
        "loss": float(ours.mean()),
        "best_window": best,
        "its_loss": float(fixed[best].mean()),
        "events_until_back": back,
        "its_events": its,
        "ratio": back / its,
        "met": back <= 2.0 * its,
        "events_to_its_level": events_until_back(ours, level),
        "fastest_window_to_that_level": min(events_until_back(each, level) for each in fixed.values()),
    }


# Text to a model


def text(megabytes: int, rounds: int) -> Row:
    """The whole command beside VW's single model, on VW's own text."""
    with tempfile.TemporaryDirectory(prefix="odca-auto-") as folder:
        path = Path(folder) / "documents.vw"
        with path.open("wb") as file:
            for block, _ in blocks():
                file.write(block)
                if file.tell() >= megabytes * 1_000_000:
                    break
        commands = {
            "auto": [ODCA, "train", "--auto", "--bits", "18", str(path), "-o", f"{folder}/m", "--quiet"],
            "VW": [
                sys.executable,
                "-m",
                "vowpalwabbit",
                "-d",
                str(path),
                "--loss_function",
                "logistic",
                "-f",
                f"{folder}/v",
                "--quiet",
            ],
        }
        seconds: dict[str, list[float]] = {name: [] for name in commands}
        for turn in range(rounds + 1):
            for name, command in commands.items():
                started = time.perf_counter()
                subprocess.run(command, check=True, capture_output=True)
                if turn:
                    seconds[name].append(time.perf_counter() - started)
                log(f"  {name}: {time.perf_counter() - started:.2f} s")
        best = {name: min(each) for name, each in seconds.items()}
        median = {name: sorted(each)[len(each) // 2] for name, each in seconds.items()}
        return Row(
            f"{megabytes} MB of VW's text to a model, whole commands",
            "VW, one model",
            best["auto"] / best["VW"],
            median["auto"] / median["VW"],
            float("nan"),
            goal=Goal(1.0),
            note=f"{best['auto']:.2f} s and {best['VW']:.2f} s",
        )


def main() -> None:
    """Run, print, write the JSON."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.auto", description=__doc__.split("\n", 1)[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--megabytes", type=int, default=1000, help="of text (default: %(default)s)")
    options = parser.parse_args()
    machine = describe_machine()
    log(show_machine(machine))
    rows = [cost(options.rounds), *cost_of_classes(options.rounds), text(options.megabytes, 3)]
    print(table(Row.HEADER, [row.as_cells() for row in rows]))
    experts = []
    for found in beside_experts():
        experts.append(found)
        print(
            f"{found['stream']:15} {found['loss']:.5g}, best expert {found['its_loss']:.5g} ({found['best_expert']}), ratio {found['ratio']:.3f}"
        )
    classes = []
    for found in appearing():
        classes.append(found)
        print(
            f"{found['stream']:15} {found['classes']}: {found['appearing']:.5g}, declared {found['declared']:.5g}, ratio {found['ratio']:.3f}"
        )
    drifts = []
    for turn in TURNS:
        found = drift(turn)
        drifts.append(found | {"about": asdict(turn)})
        print(
            f"{found['turn']:20} back after {found['events_until_back']:.0f} events, {found['best_window']} after {found['its_events']:.0f}: "
            f"ratio {found['ratio']:.2f}; to the window's level {found['events_to_its_level']:.0f}, the fastest window {found['fastest_window_to_that_level']:.0f}"
        )
    parts = {"goals": [row.as_json() for row in rows], "experts": experts, "appearing": classes, "drift": drifts}
    every = [{"part": part, **row} for part, found in parts.items() for row in found]
    content = {"machine": machine, "rows": every}
    log(f"wrote {write_json('auto', content)}")


if __name__ == "__main__":
    main()
