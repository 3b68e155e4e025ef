"""How honest uncertainty is: coverage of intervals and sets over every 2,000 events, their size, and how good probabilities are.

    python -m benchmarks.intervals [--only STREAM ...] [--others] [--events 60000]

Each stream is predicted and learned once by the automatic mode; the bounds of every event are those from before it was learned. Beside
the mean width stands that of the best fixed interval around the predictions in hindsight, beside the mean size of sets that of the best
fixed threshold of probability. `labels stop`: half of the stream is learned, and the steady intervals of that moment are judged by the other
half. ECE of the probabilities of the automatic mode, of Vowpal Wabbit (its defaults) and of river's logistic regression, where
these are installed. `linear`: the share that the intervals or sets of a plain linear model hold, which has its own defaults. The streams are those of
`benchmarks.quality`; the rates and memories were chosen on the number streams, elec2, covtype2, covtype7, letter, spamassassin and w8a.
--others adds streams that nothing was chosen on. Writes benchmarks/results/intervals.json.
"""

import argparse
import importlib.util
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.frozen import OTHERS, halves
from benchmarks.quality import vw
from benchmarks.quality.streams import BINARY, NUMBER, STREAMS, Stream
from benchmarks.report import describe_machine, log, show_machine, table, write_json
from odca import AutoLearner, _core
from odca.models.calibration import expected_calibration_error
from odca.sklearn import ODCAClassifier, ODCARegressor

EVENTS, WINDOW = 60_000, 2000
COVERAGES = (0.5, 0.9, 0.99)
Array = npt.NDArray[np.float64]


def new(stream: Stream) -> AutoLearner:
    """An automatic learner for a stream."""
    return AutoLearner("numbers" if stream.task == NUMBER else "classes", classes=max(stream.classes, 2))


def replay(stream: Stream, learner: AutoLearner, said: Array) -> tuple[Array, Array]:
    """The bounds of scores from before each event was learned, (coverages, n): those of the experts, which are checked to be the same."""
    tracked = _core.Uncertainty(learner.task)
    lower, upper = np.empty((2, len(COVERAGES), len(stream.y)))
    y = stream.y.astype(np.float64)
    odds = None if said.ndim != 1 or stream.task == NUMBER else np.where(y == 1.0, said, -said)
    p = np.exp(said[np.arange(len(y)), stream.y]) if said.ndim == 2 else None
    for at in range(len(y)):
        for k, coverage in enumerate(COVERAGES):
            lower[k, at], upper[k, at] = tracked.bounds(coverage, steady=False)
        event = slice(at, at + 1)
        if p is not None:
            tracked.add_probabilities(p[event], None)
        elif odds is not None:
            tracked.add_log_odds(odds[event], None)
        else:
            tracked.add_numbers(y[event], said[event], None)
    np.testing.assert_allclose(
        tracked.bounds(0.9, steady=False), learner.uncertainty.bounds(0.9, "live"), rtol=0.05, err_msg=stream.name
    )
    return lower, upper


def worst_shares(held: npt.NDArray[np.bool_]) -> tuple[list[float], list[float]]:
    """The least and the largest share over consecutive stretches of WINDOW events, and over all such stretches."""
    sums = np.concatenate([[0], np.cumsum(held)])
    every = (sums[WINDOW:] - sums[:-WINDOW]) / WINDOW
    return [float(every[::WINDOW].min()), float(every[::WINDOW].max())], [float(every.min()), float(every.max())]


def best_width(errors: Array, coverage: float) -> float:
    """The width of the shortest fixed interval that holds so many of the errors."""
    ordered, count = np.sort(errors), int(np.ceil(coverage * len(errors)))
    return float((ordered[count - 1 :] - ordered[: len(ordered) - count + 1]).min())


def of_numbers(stream: Stream, said: Array, lower: Array, upper: Array) -> dict[str, Any]:
    """Coverage and widths."""
    errors, out = stream.y - said, {}
    for k, coverage in enumerate(COVERAGES):
        held = (errors >= lower[k]) & (errors <= upper[k])
        known = np.isfinite(upper[k]) & np.isfinite(lower[k])
        known[:200] = False
        fixed = best_width(errors[known], coverage)
        blocks, windows = worst_shares(held)
        out[f"{coverage:g}"] = {
            "coverage": float(held.mean()),
            "blocks": blocks,
            "windows": windows,
            "size": float((upper[k] - lower[k])[known].mean()),
            "best_fixed": fixed,
            "infinite": float(1.0 - known[200:].mean()),
        }
    return out


def of_classes(stream: Stream, p: Array, upper: Array) -> dict[str, Any]:
    """Coverage and sizes."""
    true, out = p[np.arange(len(stream.y)), stream.y], {}
    for k, coverage in enumerate(COVERAGES):
        least = 1.0 / (1.0 + np.exp(upper[k]))
        sizes, held = (p >= least[:, None]).sum(axis=1), true >= least
        fixed = np.quantile(true, 1.0 - coverage)
        blocks, windows = worst_shares(held)
        out[f"{coverage:g}"] = {
            "coverage": float(held.mean()),
            "blocks": blocks,
            "windows": windows,
            "size": float(sizes.mean()),
            "best_fixed": float((p >= fixed).sum(axis=1).mean()),
            "empty": float((sizes == 0).mean()),
        }
    return out


def after_labels_stop(stream: Stream) -> dict[str, float]:
    """How many of the second half's labels the steady intervals or sets held that the first half taught."""
    first, second = halves(stream)
    learner = new(stream)
    learner.learn(first.events, first.y.astype(np.float64))
    answers, known = learner.predict(second.events, answer="steady"), learner.uncertainty
    out = {}
    for coverage in COVERAGES:
        if stream.task == NUMBER:
            low, high = known.bounds(coverage, "steady")
            held = (second.y >= answers + low) & (second.y <= answers + high)
        else:
            p = learner.probabilities(answers)[np.arange(len(second.y)), second.y]
            held = p >= known.least_probability(coverage, "steady")
        out[f"{coverage:g}"] = float(held.mean())
    return out


def of_linear(stream: Stream) -> dict[str, Any]:
    """The share of labels that the 90 % intervals or sets of a plain linear model held, and the least and the most in a stretch."""
    model = ODCARegressor() if stream.task == NUMBER else ODCAClassifier()
    classes = {} if stream.task == NUMBER else {"classes": np.arange(max(stream.classes, 2))}
    held = [0.0]
    for begin in range(0, len(stream.y) - WINDOW + 1, WINDOW):
        part = slice(begin, begin + WINDOW)
        model.partial_fit(stream.events[part], stream.y[part], **classes)
        known = model._model.uncertainty
        held.append(known.coverage_held(0.9) * known.events("live"))
    shares = np.diff(held) / WINDOW
    return {"coverage": float(shares.mean()), "blocks": [float(shares.min()), float(shares.max())]}


def calibration(stream: Stream, p: Array) -> dict[str, float]:
    """ECE of P(second class) of two classes; of the most likely one of several. Vowpal Wabbit and river if they are installed."""

    def error(probabilities: Array) -> float:
        if stream.task == BINARY:
            return expected_calibration_error(probabilities[:, 1], stream.y == 1)
        chosen = probabilities.argmax(axis=1)
        return expected_calibration_error(probabilities.max(axis=1), chosen == stream.y)

    out = {"odca": error(p)}
    if importlib.util.find_spec("vowpalwabbit"):
        with tempfile.TemporaryDirectory(prefix="odca-intervals-") as folder:
            out["VW"] = error(vw.predict(stream, "", Path(folder)).probabilities)
    if importlib.util.find_spec("river"):
        from benchmarks.quality import peers

        out["river"] = error(peers.river_class(stream).probabilities)
    return out


def row_of(stream: Stream, group: str) -> dict[str, Any]:
    """All that is measured on a stream."""
    learner = new(stream)
    said = learner.learn(stream.events, stream.y.astype(np.float64))
    lower, upper = replay(stream, learner, said)
    row = {"stream": stream.name, "group": group, "task": stream.task, "events": len(stream.y)}
    if stream.task == NUMBER:
        row["levels"] = of_numbers(stream, said, lower, upper)
    else:
        p = learner.probabilities(said)
        row["levels"], row["ece"] = of_classes(stream, p, upper), calibration(stream, p)
    row["labels_stop"], row["linear"] = after_labels_stop(stream), of_linear(stream)
    return row


def streams(only: list[str] | None, events: int, others: bool) -> Iterator[tuple[Stream, str]]:
    """With the group that each belongs to."""
    for name in only or STREAMS:
        yield STREAMS[name]().first(events), "development"
    if others:
        for make in OTHERS:
            stream = make()
            if len(stream.y) >= 2 * WINDOW:
                yield stream, "others"


def main() -> None:
    """Run, print a table, write the JSON if everything was run."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.intervals", description=__doc__.split("\n", 1)[0])
    parser.add_argument("--only", nargs="+", choices=STREAMS, metavar="STREAM", help=f"of {', '.join(STREAMS)}")
    parser.add_argument("--others", action="store_true", help="streams that nothing was chosen on, too")
    parser.add_argument("--events", type=int, default=EVENTS, help="the first so many; 0: all (default: %(default)s)")
    options = parser.parse_args()
    machine = describe_machine()
    log(show_machine(machine))
    rows = []
    for stream, group in streams(options.only, options.events, options.others):
        rows.append(row_of(stream, group))
        log(f"{stream.name}: {rows[-1]['levels']['0.9']}")
    lines = [
        [
            row["stream"],
            level,
            *(f"{share:.2%}" for share in (found["coverage"], *found["blocks"])),
            *(f"{size:.4g}" for size in (found["size"], found["best_fixed"])),
            f"{row['labels_stop'][level]:.1%}",
        ]
        for row in rows
        for level, found in row["levels"].items()
    ]
    print(table(("stream", "asked", "held", "least", "most", "size", "best fixed", "labels stop"), lines))
    if not options.only and options.others and options.events == EVENTS:
        path = write_json("intervals", {"machine": machine, "events": options.events, "rows": rows})
        log(f"wrote {path.name}")


if __name__ == "__main__":
    main()
