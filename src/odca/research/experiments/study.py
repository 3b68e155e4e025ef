"""What an experiment finds: claims with their verdicts, curves, and a table of where everything ended."""

import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from threading import Thread
from typing import Literal, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from odca.research.experiments.intervals import Array, Interval

Looks: TypeAlias = npt.NDArray[np.int64]
"""After how many events, or steps, something was looked at."""
Tell: TypeAlias = Callable[[str], None]
"""Tells that a step of the work is done, and which."""
Verdict: TypeAlias = Literal["holds", "needs smoothing", "does not hold"]
T = TypeVar("T")

OURS = "O-DCA"


def is_ours(label: str) -> bool:
    """Whether a method of that name is odca's."""
    return label.startswith(OURS)


@dataclass(frozen=True, slots=True)
class Job:
    """What to run an experiment with. download: whether to insist on the paper's own files."""

    seeds: Sequence[int]
    tell: Tell
    download: bool = False


@dataclass(frozen=True, slots=True)
class Claim:
    """What is claimed, and by how much it is so."""

    says: str
    source: str
    """Who claims it: a place in the paper, or odca."""
    difference: Interval
    """Ours less theirs."""
    unit: str
    good: Literal["below", "above", "within"] = "below"
    """Where the difference lies if the claim holds: below zero, above it, or near it."""
    margin: float = 0.0
    """How far it may lie on the other side."""
    smoothed: Interval | None = None
    """The same with our weights smoothed and theirs as they are, where the claim is about the raw ones."""
    wider: Interval | None = None
    """The difference, with other test rows too, where it is one of test errors."""

    @property
    def verdict(self) -> Verdict:
        """It holds if the whole interval lies there."""
        if self._is_good(self.difference):
            return "holds"
        if self.smoothed is not None and self._is_good(self.smoothed):
            return "needs smoothing"
        return "does not hold"

    def _is_good(self, interval: Interval) -> bool:
        is_low, is_high = interval.high < self.margin, interval.low > -self.margin
        return {"below": is_low, "above": is_high, "within": is_low and is_high}[self.good]


@dataclass(frozen=True, slots=True)
class Line:
    """A curve: its mean and the interval around it, at each x, where there is one."""

    label: str
    x: Array
    y: Array
    low: Array | None = None
    high: Array | None = None
    is_known: bool = False
    """Whether it is the same for every seed: a theory, a level."""

    @property
    def kind(self) -> Literal["ours", "peer", "known"]:
        """Whose it is."""
        return "known" if self.is_known else "ours" if is_ours(self.label) else "peer"

    @classmethod
    def of(cls, label: str, x: npt.ArrayLike, curves: npt.ArrayLike) -> "Line":
        """From the curves of all seeds, one in each row."""
        rows = np.asarray(curves, dtype=np.float64)
        parts = [Interval.of(column) for column in rows.T]
        low, high = (np.array([getattr(part, name) for part in parts]) for name in ("low", "high"))
        return cls(label, np.asarray(x, dtype=np.float64), rows.mean(axis=0), low, high)

    @classmethod
    def known(cls, label: str, x: npt.ArrayLike, y: npt.ArrayLike) -> "Line":
        """What is the same for every seed."""
        at = np.asarray(x, dtype=np.float64)
        return cls(label, at, np.broadcast_to(np.asarray(y, dtype=np.float64), at.shape).copy(), is_known=True)


@dataclass(frozen=True, slots=True)
class Panel:
    """Curves that belong into one frame."""

    name: str
    title: str
    x_label: str
    y_label: str
    lines: Sequence[Line]
    x_log: bool = False
    y_log: bool = False
    y_range: tuple[float, float] | None = None
    banded: Sequence[str] | None = None
    """Whose intervals are drawn, where those of all would hide each other."""


@dataclass(frozen=True, slots=True)
class Study:
    """All that an experiment found."""

    name: str
    title: str
    data: str
    parameters: Mapping[str, str]
    seeds: Sequence[int]
    claims: Sequence[Claim]
    panels: Sequence[Panel]
    columns: Sequence[str] = ()
    """What the table of results has in its columns, behind the method's name."""
    results: Mapping[str, Sequence[Interval | float]] = field(default_factory=dict)
    notes: Sequence[str] = ()
    left_out: Sequence[str] = ()
    """What could not be done, and why."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A part of a study: one panel, and what goes with it."""

    panel: Panel
    claims: Sequence[Claim]
    results: Mapping[str, Sequence[Interval | float]]
    parameters: Mapping[str, str]
    notes: Sequence[str]
    data: str = ""


def over_seeds(work: Callable[[int], T], job: Job, what: str) -> list[T]:
    """The work of all seeds, in their order, on all cores."""

    def one(seed: int) -> T:
        done = work(seed)
        job.tell(f"{what}, seed {seed}")
        return done

    pool = ThreadPoolExecutor(os.cpu_count())
    try:
        return list(pool.map(one, job.seeds))
    finally:
        pool.shutdown(wait=False, cancel_futures=True)  # after Ctrl-C, what has not begun does not begin


def beside(work: Callable[[], T]) -> "Future[T]":
    """Work that goes on in a thread of its own, and that nobody waits for after Ctrl-C."""
    future: Future[T] = Future()

    def run() -> None:
        try:
            future.set_result(work())
        except BaseException as error:  # noqa: BLE001 - it is raised where the result is asked for
            future.set_exception(error)

    Thread(target=run, daemon=True).start()
    return future
