"""Delay and false alarms of the drift detector, beside river's ADWIN and Page-Hinkley fed the same losses.

    python -m benchmarks.drift [--seeds 10] [--long 1000000] [--columns]

The losses are progressive ones: log loss or squared error of the automatic mode, or of one linear model, for events that were not learned
yet. On the made streams it is known when something changes; alarms before that are false, and so is every alarm of a stationary stream. On
the development streams it is not known; shuffled, they are stationary, and every alarm is false. Of Page-Hinkley the mode is "up". Of
ADWIN, which looks for changes in both directions, a change counts as noticed by any alarm; as false ones count only alarms after which its
mean is higher. All detectors have the settings that they come with. No time is measured.
"""

import argparse
import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
from river.drift import ADWIN, PageHinkley

from benchmarks import columns
from benchmarks.delays import learner_for, losses
from benchmarks.quality.streams import STREAMS, Stream, narrow
from benchmarks.report import RESULTS, ROOT, describe_machine, log, show_machine, table, write_json
from odca import AutoLearner, Learner, LogLoss, _core
from odca.research import datasets

Array = npt.NDArray[np.float64]
COLUMNS_SHOWN = ("stream", "noticed", "delay", "false_alarms")
MOST_EVENTS = 100_000  # of a development stream
FIRST_SEED = 1000  # the settings of the detector were chosen with streams of the seeds 0 to 19


# Detectors: the numbers of the events at which they notice a rise


def ours(values: Array) -> list[int]:
    """The detector of odca.metrics."""
    detector = _core.RiseDetector().after(values, np.ones(len(values)))
    return [event for event, *_ in detector.alarms]


def adwin(values: Array) -> list[int]:
    """river's ADWIN. An alarm at event e after which its mean is lower is -e."""
    detector, found = ADWIN(), []
    for event, value in enumerate(values.tolist(), 1):
        before = detector.estimation
        detector.update(value)
        if detector.drift_detected:
            found.append(event if detector.estimation > before else -event)
    return found


def page_hinkley(values: Array) -> list[int]:
    """river's Page-Hinkley."""
    detector, found = PageHinkley(mode="up"), []
    for event, value in enumerate(values.tolist(), 1):
        detector.update(value)
        if detector.drift_detected:
            found.append(event)
    return found


DETECTORS: dict[str, Callable[[Array], list[int]]] = {"odca": ours, "ADWIN": adwin, "Page-Hinkley": page_hinkley}


# Made streams: losses, and the event after which something is different (None: never)


def classes_of(odds: Array, rng: np.random.Generator) -> Array:
    """Classes with these log-odds."""
    return (rng.random(len(odds)) < 1.0 / (1.0 + np.exp(-odds))).astype(float)


def log_losses(margins: Array, y: Array) -> Array:
    """The log loss of each margin."""
    return np.logaddexp(0.0, np.where(y > 0.0, -margins, margins))


def classification(events: int, flips: Array, seed: int, *, clear: float, auto: bool = True) -> Array:
    """Losses of classes whose log-odds are a linear function of five features, or its negative where it flips."""
    rng = np.random.default_rng(seed)
    X, w = rng.normal(size=(events, 5)), rng.normal(size=5)
    odds = clear * (X @ (w / np.linalg.norm(w))) * np.where(rng.random(events) < flips, -1.0, 1.0)
    y = classes_of(odds, rng)
    if auto:
        return log_losses(AutoLearner("classes").learn(X, y), y)
    return log_losses(Learner(loss=LogLoss(), prior_strength=1.0).learn(X, 2.0 * y - 1.0), y)


def regression(events: int, at: int, seed: int) -> Array:
    """Squared errors of numbers with heavy-tailed noise, whose linear function becomes its negative."""
    rng = np.random.default_rng(seed)
    X, w = rng.normal(size=(events, 5)), rng.normal(size=5)
    y = (X @ w) * np.where(np.arange(events) < at, 1.0, -1.0) + 0.3 * rng.standard_t(3.0, size=events)
    return np.asarray(0.5 * (AutoLearner("numbers").learn(X, y) - y) ** 2)


def step(events: int, at: int) -> Array:
    """Nothing, and from there on everything."""
    return (np.arange(events) >= at).astype(float)


def ramp(events: int, begin: int, end: int) -> Array:
    """Nothing, then more and more, then everything."""
    return np.clip((np.arange(events) - begin) / (end - begin), 0.0, 1.0)


def made(long: int) -> dict[str, tuple[Callable[[int], Array], int | None]]:
    """The streams by name."""
    return {
        "flip at 3,000, clear": (lambda seed: classification(10_000, step(10_000, 3000), seed, clear=10.0), 3000),
        "flip at 3,000, noisy": (lambda seed: classification(10_000, step(10_000, 3000), seed, clear=4.0), 3000),
        "flip at 3,000, one linear model": (
            lambda seed: classification(10_000, step(10_000, 3000), seed, clear=4.0, auto=False),
            3000,
        ),
        "flip at 100,000, noisy": (
            lambda seed: classification(120_000, step(120_000, 100_000), seed, clear=4.0),
            100_000,
        ),
        "gradual, 10,000 to 15,000": (
            lambda seed: classification(25_000, ramp(25_000, 10_000, 15_000), seed, clear=4.0),
            10_000,
        ),
        "numbers, heavy tails, flip at 3,000": (lambda seed: regression(10_000, 3000, seed), 3000),
        "numbers, heavy tails, stationary": (lambda seed: regression(100_000, 100_000, seed), None),
        f"stationary, {long:,}": (lambda seed: classification(long, np.zeros(long), seed, clear=4.0), None),
    }


def on_made(name: str, make: Callable[[int], Array], at: int | None, seeds: int) -> dict[str, Any]:
    """A row: by detector, in how many streams the change was noticed and how late, and the number of false alarms."""
    row: dict[str, Any] = {"kind": "made", "stream": name, "at": at, "seeds": seeds}
    values = [make(FIRST_SEED + seed) for seed in range(seeds)]
    for detector, noticed in DETECTORS.items():
        alarms = [noticed(each) for each in values]
        limit = np.inf if at is None else at
        after = [[abs(event) for event in each if abs(event) > limit] for each in alarms]
        delays = [min(each) - at for each in after if each] if at is not None else []
        row[detector] = {
            "noticed": len(delays),
            "delay": float(np.median(delays)) if delays else None,
            "longest": max(delays, default=None),
            "false_alarms": sum(0 < event <= limit for each in alarms for event in each),
        }
    return row


# Development streams


def losses_of(stream: Stream) -> Array:
    """The losses of the automatic mode."""
    answers = learner_for(stream).learn(stream.X, stream.y.astype(float))
    return losses(stream, answers[:, None] if answers.ndim == 1 else answers)


def rises(alarms: list[int]) -> int:
    """How many of them are rises."""
    return sum(event > 0 for event in alarms)


def on_development() -> Iterator[dict[str, Any]]:
    """A row for each: the numbers of alarms, in order and shuffled."""
    for name, load in STREAMS.items():
        try:
            stream = load().first(MOST_EVENTS)
        except datasets.MissingDataError as missing:
            log(f"skipping {name}: {missing}")
            continue
        order = np.random.default_rng(0).permutation(len(stream.y))
        shuffled = losses_of(replace(stream, X=narrow(stream.X[order]), y=stream.y[order]))
        as_they_come = losses_of(stream)
        yield {
            "kind": "development",
            "stream": name,
            "events": len(stream.y),
            **{
                detector: {"alarms": rises(noticed(as_they_come)), "shuffled": rises(noticed(shuffled))}
                for detector, noticed in DETECTORS.items()
            },
        }
        log(f"  {name}: done")


def main() -> None:
    """Run, print, write the JSON."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.drift", description=__doc__.split("\n", 1)[0])
    parser.add_argument("--seeds", type=int, default=10, help="of each made stream (default: %(default)s)")
    parser.add_argument(
        "--long", type=int, default=1_000_000, help="events of the stationary one (default: %(default)s)"
    )
    parser.add_argument("--columns", action="store_true", help="measure only the watch over the columns")
    arguments = parser.parse_args()
    machine = describe_machine()
    log(show_machine(machine))
    of_columns = list(columns.measured(arguments.seeds, FIRST_SEED, arguments.long))
    print(
        table(
            ["column", "noticed", "delay", "false"], [[str(row[each]) for each in COLUMNS_SHOWN] for row in of_columns]
        )
    )
    if arguments.columns:
        before = json.loads((RESULTS / "drift.json").read_text(encoding="utf-8"))
        kept = [row for row in before["rows"] if row["kind"] != "columns"]
        write_json("drift", {**before, "rows": [*kept, *of_columns]})
        return
    of_made: list[dict[str, Any]] = []
    for name, (make, at) in made(arguments.long).items():
        of_made.append(on_made(name, make, at, arguments.seeds))
        log(f"  {name}: done")
    of_real = list(on_development())
    print(table(["made stream", *(f"{each}: {what}" for each in DETECTORS for what in ("noticed", "delay", "false"))],
                [[row["stream"], *cells(row)] for row in of_made]))  # fmt: skip
    print()
    print(table(["stream", *(f"{each}: {what}" for each in DETECTORS for what in ("alarms", "shuffled"))],
                [[row["stream"], *(str(row[each][what]) for each in DETECTORS for what in ("alarms", "shuffled"))] for row in of_real]))  # fmt: skip
    path = write_json("drift", {"machine": machine, "rows": [*of_made, *of_real, *of_columns]})
    print(f"written to {path.relative_to(ROOT)}")


def cells(row: dict[str, Any]) -> list[str]:
    """The figures of a made stream, three for each detector."""
    found = []
    for each in (row[detector] for detector in DETECTORS):
        delay = "" if each["delay"] is None else f"{each['delay']:,.0f}"
        found += [f"{each['noticed']}/{row['seeds']}" if row["at"] else "", delay, str(each["false_alarms"])]
    return found


if __name__ == "__main__":
    main()
