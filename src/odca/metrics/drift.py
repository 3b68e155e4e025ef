"""What has changed in a stream: rises of the loss, and how the loss and the baselines went. docs/drift.md derives the test."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
import numpy.typing as npt

from odca import _core
from odca.records import record
from odca.validation.arrays import Array

MOST_POINTS = 128
MOST_SHOWN = 5
LOSS = 2
"""The place of the losses among the sums of a curve. An unknown loss is NaN; no other sum is."""


@record
class Rise:
    """The loss rose: `before` and `after` are mean losses."""

    event: int
    """The event at which it was noticed."""
    since: int
    """The event at which it probably began."""
    before: float
    after: float

    def __str__(self) -> str:
        return (
            f"At event {self.since:,} the loss rose from {_short(self.before)} to {_short(self.after)} "
            f"(noticed at event {self.event:,})."
        )


@record
class ColumnChange:
    """A column changed. `before` and `after` are means of numbers, or shares of events."""

    column: str
    what: str
    """"larger" or "smaller" numbers, more of them "missing"; the most frequent value is more "common" or "uncommon"; "new" values."""
    event: int
    """The event at which it was noticed."""
    since: int
    """The event at which it probably began."""
    before: float
    after: float

    def __str__(self) -> str:
        before, after = (
            f"{each:.3g}" if self.what in {"larger", "smaller"} else f"{each:.1%}" for each in (self.before, self.after)
        )
        return (
            f"At event {self.since:,} {self.column!r} changed: {SENTENCES[self.what]} {before} before and {after} after "
            f"(noticed at event {self.event:,})."
        )


SENTENCES = {
    "larger": "its mean was",
    "smaller": "its mean was",
    "missing": "the share of missing values was",
    "common": "the share of its most frequent value was",
    "uncommon": "the share of values other than its most frequent one was",
    "new": "the share of new values was",
}


@record
class Drift:
    """What has changed in a stream so far. str(drift) is a text; `as_json()` is for programs."""

    rises: tuple[Rise, ...]
    """The rises of the loss in order: the latest 64."""
    count: int
    """The number of all rises."""
    columns: tuple[ColumnChange, ...] = ()
    """The changes of columns in order, where columns are watched: the latest 64."""
    column_count: int = 0
    """The number of all of them."""

    def __bool__(self) -> bool:
        """Whether anything has changed."""
        return self.count > 0 or self.column_count > 0

    def __str__(self) -> str:
        return " ".join(self.sentences())

    def sentences(self) -> Iterator[str]:
        """Sentences about the changes, or that there was none; of many rises, only about the largest and the last."""
        if not self.count:
            yield "The loss did not rise over the stream."
        elif self.count <= MOST_SHOWN:
            yield from map(str, self.rises)
        else:
            largest = sorted(self.rises, key=lambda rise: rise.before / max(rise.after, 1e-300))[:MOST_SHOWN]
            yield f"The loss rose {self.count:,} times. The largest rises:"
            yield from (str(rise) for rise in sorted(largest, key=lambda rise: rise.event))
            if self.rises[-1] not in largest:
                yield f"The last one: {self.rises[-1]}"
        if self.column_count <= MOST_SHOWN:
            yield from map(str, self.columns)
        else:
            names = Counter(each.column for each in self.columns)
            shown = ", ".join(f"{name!r} ({count:,})" for name, count in names.most_common(MOST_SHOWN))
            more = ", ..." if len(names) > MOST_SHOWN else ""
            yield f"Columns changed {self.column_count:,} times: {shown}{more}. The last change: {self.columns[-1]}"

    def as_json(self) -> dict[str, Any]:
        """The same as numbers."""
        rises, columns = [asdict(rise) for rise in self.rises], [asdict(each) for each in self.columns]
        return {"rises": rises, "count": self.count, "columns": columns, "column_count": self.column_count}


class Watch:
    """The detector of rises, and the curve: sums after some of the events, of which the first is the number of events."""

    def __init__(self, width: int) -> None:
        self.rises = _core.RiseDetector()
        self.curve = _core.Curve(width)
        self.width = width

    def copy(self) -> "Watch":
        """The same, which changes on its own."""
        twin = object.__new__(Watch)
        twin.__dict__ = dict(self.__dict__)
        return twin

    def add(self, loss: Array, weight: Array, sums: Sequence[Array]) -> None:
        """Add events, with the sums after each (the first: the number of events)."""
        self.rises = self.rises.after(np.ascontiguousarray(loss, np.float64), weight)
        due = np.flatnonzero(sums[0] % self.curve.every == 0)
        if len(due):
            points = np.stack([each[due] for each in sums], axis=1)
            too_large = np.isnan(points)
            too_large[:, LOSS] = False
            points[too_large] = np.inf  # sums of infinities of both signs
            self.curve = self.curve.after(np.ascontiguousarray(points))

    @property
    def points(self) -> Array:
        """The curve: one row per point."""
        return self.curve.points.reshape(-1, self.width)

    def means(self, now: Sequence[float]) -> Array:
        """The numbers of events, the weights since the point before, and the means since then. now: the sums of this moment.

        The last part ends now. If it would be less than half as long as the others, it joins the one before: a mean over a few events
        would stand out for nothing.
        """
        points = self.points
        rest = now[0] - (points[-1, 0] if len(points) else 0)
        if rest:
            is_short = len(points) > 1 and 2 * rest < self.curve.every
            points = np.vstack([points[:-1] if is_short else points, now])
        steps = np.diff(points, axis=0, prepend=np.zeros((1, self.width)))
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.column_stack([points[:, 0], steps[:, 1], steps[:, 2:] / steps[:, 1:2]])

    def merge(self, other: "Watch", now: Sequence[float], events: int) -> "Watch":
        """Both, as if the other's events had come later. now: the sums here; events: how many there are there.

        The alarms of both remain, and the detector begins again: no loss of the merged model is known yet.
        """
        if not events:
            return self.copy()
        if not now[0]:
            return other.copy()
        both = Watch(self.width)
        both.rises = self.rises.joined(other.rises)
        end = [] if len(self.points) and self.points[-1, 0] == now[0] else [now]
        points = np.vstack([self.points, *end, other.points + np.array(now)])
        every = max(self.curve.every, other.curve.every)
        while len(points) > MOST_POINTS:
            points, every = points[1::2], 2 * every
        both.curve = _core.Curve.restored(self.width, np.ascontiguousarray(points).ravel(), every)
        return both

    # Files

    def __getstate__(self) -> tuple[int, int, dict[str, npt.NDArray[Any]]]:
        return self.width, self.rises.events, self.as_arrays()

    def __setstate__(self, state: tuple[int, int, dict[str, npt.NDArray[Any]]]) -> None:
        width, events, arrays = state
        self.__dict__ = Watch.from_arrays(arrays, width, events).__dict__

    def as_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """The state, for a file."""
        return {"rises": self.rises.state(), "curve": np.concatenate([[float(self.curve.every)], self.curve.points])}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, npt.NDArray[Any]], width: int, events: int) -> "Watch":
        """The same from a file, which has no such arrays if it was written before there were any. ValueError if they are invalid."""
        self = cls(width)
        if "rises" not in arrays:
            self.rises = _core.RiseDetector.beginning_at(events)
            return self
        rises, curve = (arrays[name].astype(np.float64) for name in ("rises", "curve"))
        if rises.ndim != 1 or curve.ndim != 1 or not len(curve) or not 1.0 <= curve[0] <= 2.0**53:
            raise ValueError("its drift detector or its curve is invalid.")
        self.rises = _core.RiseDetector.restored(rises)
        self.curve = _core.Curve.restored(width, curve[1:].copy(), int(curve[0]))
        points = self.points
        if np.isnan(np.delete(points, LOSS, axis=1)).any() or not (points[:, 0] <= events).all():
            raise ValueError("its curve is invalid.")
        if self.rises.events != events:
            raise ValueError("its drift detector has seen other events.")
        return self


def _short(number: float) -> str:
    """Three digits, without an exponent where that is readable: 0.213, 1,480."""
    return f"{number:,.0f}" if 1000.0 <= abs(number) < 1e9 else f"{number:.3g}"
