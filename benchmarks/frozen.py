"""How good a model is once labels stop: the first half of each stream is learned, the second half is predicted without its labels.

    python -m benchmarks.frozen [--only STREAM ...] [--others] [--events 30000]

The steady answer of the automatic mode beside its live answer, frozen where it was, beside Vowpal Wabbit (its defaults and --coin, with -t
on the second half), and beside the base rate of the first half. The first group of streams are those of `benchmarks.quality`, on which the
automatic mode was developed; --others adds streams that nothing was chosen on. Writes benchmarks/results/frozen.json.
"""

import argparse
import functools
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.quality.methods import Predicted, from_log_odds, from_one_vs_rest, most_likely
from benchmarks.quality.scoring import score
from benchmarks.quality.streams import BINARY, CLASSES, NUMBER, STREAMS, Stream, codes_of, narrow
from benchmarks.quality.vw import BITS, write_text
from benchmarks.report import describe_machine, log, show_machine, table, write_json
from odca import AutoLearner
from odca.models.options import Answer
from odca.products import margins_of

EVENTS = 30_000
FLAGS = ("", "--coin")
LEAST_AGREEMENT = 1e-9


def halves(stream: Stream) -> tuple[Stream, Stream]:
    """The events that are learned, and those that are predicted."""
    half = len(stream.y) // 2
    return tuple(  # type: ignore[return-value] # of two
        replace(stream, X=narrow(stream.X[part]), y=stream.y[part]) for part in (slice(half), slice(half, None))
    )


# Who predicts


def learned(stream: Stream) -> AutoLearner:
    """The automatic mode after all events of a stream."""
    learner = AutoLearner("numbers" if stream.task == NUMBER else "classes", classes=max(stream.classes, 2))
    learner.learn(stream.events, stream.y.astype(np.float64))
    return learner


def predicted(learner: AutoLearner, stream: Stream, answer: Answer) -> Predicted:
    """One of its answers for the events of a stream."""
    answers = learner.predict(stream.events, answer=answer)
    if stream.task == NUMBER:
        return Predicted(answers)
    return from_log_odds(answers) if stream.task == BINARY else most_likely(learner.probabilities(answers))


def disagreement(learner: AutoLearner, stream: Stream) -> float:
    """How far the steady answer is from the linear model of `coef`, `intercept` and `products`, relative to its size."""
    margins = np.asarray(stream.X @ np.atleast_2d(learner.coef).T) + learner.intercept
    margins += margins_of(learner.products, stream.X, margins.shape[1])
    answers = learner.predict(stream.events, answer="steady").reshape(margins.shape)
    if stream.task == CLASSES:  # logits are log probabilities up to a constant
        margins, answers = (each - each.mean(axis=1, keepdims=True) for each in (margins, answers))
    return float(np.abs(margins - answers).max() / max(1.0, np.abs(answers).max()))


def vowpal_wabbit(first: Stream, second: Stream, flags: str) -> Predicted:
    """VW, trained on the first half and applied to the second."""
    task = [] if first.task == NUMBER else ["--loss_function", "logistic"]
    task += ["--oaa", str(first.classes)] if first.task == CLASSES else []
    with tempfile.TemporaryDirectory(prefix="odca-frozen-") as folder:
        text, model, answers = (Path(folder) / name for name in ("text", "model", "answers"))

        def run(stream: Stream, *options: str) -> None:
            write_text(stream, text)
            command = [sys.executable, "-m", "vowpalwabbit", "-d", str(text), "--quiet", *options]
            subprocess.run(command, check=True, capture_output=True)

        run(first, "-b", BITS, "-f", str(model), *task, *flags.split())
        run(second, "-t", "-i", str(model), "-r" if first.task == CLASSES else "-p", str(answers))
        lines = [line for line in answers.read_text(encoding="utf-8").split("\n") if line]
    if first.task == CLASSES:
        return from_one_vs_rest(
            np.array([[pair.partition(":")[2] for pair in line.split()] for line in lines], dtype=float)
        )
    values = np.array(lines, dtype=float)
    return Predicted(values) if first.task == NUMBER else from_log_odds(values)


def base_rate(first: Stream, second: Stream) -> Predicted:
    """What is known of the labels of the first half alone: their mean, or how frequent each class was."""
    if first.task == NUMBER:
        return Predicted(np.full(len(second.y), first.y.mean()))
    counts = np.bincount(first.y, minlength=first.classes) + 0.5
    return most_likely(np.tile(counts / counts.sum(), (len(second.y), 1)))


# Streams that nothing was chosen on


def of_arrays(name: str, X: Any, y: npt.NDArray[Any], task: str) -> Stream:
    """A table as a stream, shuffled with seed 0."""
    order = np.random.default_rng(0).permutation(len(y))
    X, y = narrow(np.asarray(X, dtype=float)[order]), y[order]
    labels = y.astype(float) if task == NUMBER else codes_of(y)
    classes = 0 if task == NUMBER else int(labels.max()) + 1
    return Stream(name, task, X, labels, np.ones(X.shape[1], dtype=bool), True, name, classes)


def bundled(name: str, task: str) -> Stream:
    """A set that scikit-learn brings along."""
    from sklearn import datasets

    X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
    return of_arrays(name, X, y, task)


def generated(seed: int, task: str, *, turn: float, autocorrelated: bool = False) -> Stream:
    """A linear target that turns by `turn` radians from the first event to the last; labels may come in long runs of one kind."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(20_000, 12)) * np.exp(rng.normal(size=12))
    u, v = np.linalg.qr(rng.normal(size=(12, 2)))[0].T
    angle = np.linspace(0.0, turn, len(X))
    scale = X.std(axis=0)
    z = 2.0 * ((X / scale) * (np.outer(np.cos(angle), u) + np.outer(np.sin(angle), v))).sum(axis=1)
    if autocorrelated:
        z += 3.0 * np.sign(np.sin(np.arange(len(z)) / 150.0 + rng.uniform(0.0, 6.0)))
    y = z + rng.normal(size=len(z)) if task == NUMBER else (rng.random(len(z)) < 1.0 / (1.0 + np.exp(-z))).astype(int)
    what = f"{'numbers' if task == NUMBER else 'two classes'}, turn {turn:.1f}{', in runs' if autocorrelated else ''}"
    everything = np.ones(X.shape[1], dtype=bool)
    return Stream(f"generated: {what}", task, narrow(X), y, everything, True, what, 0 if task == NUMBER else 2)


OTHERS: tuple[Callable[[], Stream], ...] = (
    functools.partial(bundled, "breast_cancer", BINARY),
    functools.partial(bundled, "digits", CLASSES),
    functools.partial(bundled, "wine", CLASSES),
    functools.partial(bundled, "iris", CLASSES),
    functools.partial(bundled, "diabetes", NUMBER),
    *(
        functools.partial(generated, seed, task, turn=turn, autocorrelated=runs)
        for seed, (task, turn, runs) in enumerate(
            (task, turn, runs) for task in (BINARY, NUMBER) for turn in (0.0, 0.8) for runs in (False, True)
        )
    ),
)


# The table


def row_of(stream: Stream, group: str) -> dict[str, Any]:
    """The losses of everybody on the second half."""
    first, second = halves(stream)
    learner = learned(first)
    name = "squared_error" if stream.task == NUMBER else "log_loss"
    answers = {
        "steady": predicted(learner, second, "steady"),
        "live, frozen": predicted(learner, second, "live"),
        **{f"VW {flags}".strip(): vowpal_wabbit(first, second, flags) for flags in FLAGS},
        "base rate": base_rate(first, second),
    }
    losses = {who: score(second, each)[name] for who, each in answers.items()}
    vw = min(losses["VW"] or np.inf, losses["VW --coin"] or np.inf)
    steady = losses["steady"] or np.inf
    return {
        "stream": stream.name,
        "group": group,
        "loss": name,
        "losses": losses,
        "to_vw": steady / vw,
        "to_worse_of_vw_and_base": steady / max(vw, losses["base rate"] or 0.0),
        "disagreement": disagreement(learner, second),
    }


def streams(only: list[str] | None, events: int, others: bool) -> Iterator[tuple[Stream, str]]:
    """With the group that each belongs to."""
    for name in only or STREAMS:
        yield STREAMS[name]().first(events), "development"
    if others:
        for make in OTHERS:
            yield make(), "others"


def summary(rows: list[dict[str, Any]], group: str) -> str:
    """How often it is at or below VW, and whether it ever collapses."""
    own = [row for row in rows if row["group"] == group]
    below = sum(row["to_vw"] <= 1.0 for row in own)
    mean = np.exp(np.mean(np.log([row["to_vw"] for row in own])))
    worst = max(own, key=lambda row: row["to_worse_of_vw_and_base"])
    return (
        f"{group}: at or below the better of VW and VW --coin on {below} of {len(own)}; geometric mean of the ratios {mean:.3f}; "
        f"at most {worst['to_worse_of_vw_and_base']:.3f} times the worse of VW and the base rate ({worst['stream']}); "
        f"coef and the steady answer agree to {max(row['disagreement'] for row in own):.0e}"
    )


def main() -> None:
    """Run, print a table, write the JSON if everything was run."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.frozen", description=__doc__.split("\n", 1)[0])
    parser.add_argument("--only", nargs="+", choices=STREAMS, metavar="STREAM", help=f"of {', '.join(STREAMS)}")
    parser.add_argument("--others", action="store_true", help="streams that nothing was chosen on, too")
    parser.add_argument("--events", type=int, default=EVENTS, help="the first so many; 0: all (default: %(default)s)")
    options = parser.parse_args()
    machine = describe_machine()
    log(show_machine(machine))
    rows = []
    for stream, group in streams(options.only, options.events, options.others):
        rows.append(row_of(stream, group))
        log(f"{stream.name}: {rows[-1]['to_vw']:.3f} of VW's loss")
    who = list(rows[0]["losses"])
    lines = [
        [
            row["stream"],
            *("" if row["losses"][each] is None else f"{row['losses'][each]:.4g}" for each in who),
            f"{row['to_vw']:.3f}",
        ]
        for row in rows
    ]
    print(table(("stream", *who, "steady / VW"), lines))
    groups = list(dict.fromkeys(row["group"] for row in rows))
    print("\n".join(summary(rows, group) for group in groups))
    if not options.only and options.others and options.events == EVENTS:
        path = write_json("frozen", {"machine": machine, "events": options.events, "rows": rows})
        log(f"wrote {path.name}")
    if any(row["disagreement"] > LEAST_AGREEMENT for row in rows):
        sys.exit("the steady answer and its linear model do not agree.")


if __name__ == "__main__":
    main()
