"""The results of an experiment: claims with their verdicts, curves, and a table of final values."""

import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import field
from threading import Thread
from typing import Literal, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from odca.records import record
from odca.research.experiments.intervals import Array, Interval

Looks: TypeAlias = npt.NDArray[np.int64]
"""The numbers of events, or steps, after which the methods are evaluated."""
ReportDone: TypeAlias = Callable[[str], None]
"""A callback that reports a finished part of the work."""
Verdict: TypeAlias = Literal["holds", "needs smoothing", "does not hold"]
T = TypeVar("T")

OURS = "O-DCA"


def is_ours(label: str) -> bool:
    """Whether a method of that name is odca's."""
    return label.startswith(OURS)


@record
class Job:
    """The arguments of an experiment. download: whether to insist on the paper's own files."""

    seeds: Sequence[int]
    report_done: ReportDone
    download: bool = False


@record
class Claim:
    """A claim, and the measured difference that decides it."""

    statement: str
    source: str
    """Who makes the claim: a place in the paper, or odca."""
    difference: Interval
    """Ours minus theirs."""
    unit: str
    good: Literal["below", "above", "within"] = "below"
    """Where the difference is if the claim holds: below zero, above it, or near it."""
    margin: float = 0.0
    """How far the difference may be on the other side of zero."""
    smoothed: Interval | None = None
    """The difference between our smoothed and their raw weights, if the claim is about raw weights."""
    wider: Interval | None = None
    """The difference of test errors, with an interval that allows for other test rows."""

    @property
    def verdict(self) -> Verdict:
        """Whether the whole interval is where the claim says."""
        if self._is_good(self.difference):
            return "holds"
        if self.smoothed is not None and self._is_good(self.smoothed):
            return "needs smoothing"
        return "does not hold"

    def _is_good(self, interval: Interval) -> bool:
        is_low, is_high = interval.high < self.margin, interval.low > -self.margin
        return {"below": is_low, "above": is_high, "within": is_low and is_high}[self.good]


@record
class Line:
    """A curve: its mean at each x, and the interval around it, if there is one."""

    label: str
    x: Array
    y: Array
    low: Array | None = None
    high: Array | None = None
    is_known: bool = False
    """Whether it is the same for every seed: a theoretical curve or a constant level."""

    @property
    def kind(self) -> Literal["ours", "peer", "known"]:
        """Whether it belongs to odca, to another method, or is known in advance."""
        return "known" if self.is_known else "ours" if is_ours(self.label) else "peer"

    @classmethod
    def of(cls, label: str, x: npt.ArrayLike, curves: npt.ArrayLike) -> "Line":
        """A line from the curves of all seeds, one per row."""
        rows = np.asarray(curves, dtype=np.float64)
        parts = [Interval.of(column) for column in rows.T]
        low, high = (np.array([getattr(part, name) for part in parts]) for name in ("low", "high"))
        return cls(label, np.asarray(x, dtype=np.float64), rows.mean(axis=0), low, high)

    @classmethod
    def known(cls, label: str, x: npt.ArrayLike, y: npt.ArrayLike) -> "Line":
        """A line that is the same for every seed."""
        at = np.asarray(x, dtype=np.float64)
        return cls(label, at, np.broadcast_to(np.asarray(y, dtype=np.float64), at.shape).copy(), is_known=True)


@record
class Panel:
    """Curves that share one pair of axes."""

    name: str
    title: str
    x_label: str
    y_label: str
    lines: Sequence[Line]
    x_log: bool = False
    y_log: bool = False
    y_range: tuple[float, float] | None = None
    banded: Sequence[str] | None = None
    """The lines whose intervals are drawn, if drawing all would be too crowded."""


@record
class Study:
    """All results of an experiment."""

    name: str
    title: str
    data: str
    parameters: Mapping[str, str]
    seeds: Sequence[int]
    claims: Sequence[Claim]
    panels: Sequence[Panel]
    columns: Sequence[str] = ()
    """The columns of the table of results, after the method's name."""
    results: Mapping[str, Sequence[Interval | float]] = field(default_factory=dict)
    notes: Sequence[str] = ()
    left_out: Sequence[str] = ()
    """The parts that could not be run, and why."""


@record
class Finding:
    """A part of a study: one panel with its claims, results, parameters and notes."""

    panel: Panel
    claims: Sequence[Claim]
    results: Mapping[str, Sequence[Interval | float]]
    parameters: Mapping[str, str]
    notes: Sequence[str] = ()
    data: str = ""


def over_seeds(work: Callable[[int], T], job: Job, what: str) -> list[T]:
    """Run the work for all seeds on all cores; return the results in the order of the seeds."""

    def one(seed: int) -> T:
        done = work(seed)
        job.report_done(f"{what}, seed {seed}")
        return done

    pool = ThreadPoolExecutor(os.cpu_count())
    try:
        return list(pool.map(one, job.seeds))
    finally:
        pool.shutdown(wait=False, cancel_futures=True)  # after Ctrl-C, no further seed is started


def in_background(work: Callable[[], T]) -> "Future[T]":
    """Run work in a daemon thread, so that it does not delay the exit after Ctrl-C."""
    future: Future[T] = Future()

    def run() -> None:
        try:
            future.set_result(work())
        except BaseException as error:  # noqa: BLE001 - it is raised when the result is read
            future.set_exception(error)

    Thread(target=run, daemon=True).start()
    return future
