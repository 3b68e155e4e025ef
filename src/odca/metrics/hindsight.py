"""The best constant prediction in hindsight: min over c of the mean of Q(c; y) over the labels of a stream.

`LabelSummary` stores the labels in bounded memory. It is exact while there are at most 4,096 different ones. After that
they are grouped into cells of equal width, a power of two that is doubled whenever more than 4,096 cells hold a label;
a cell stores the weight and the mean of its labels. Outliers take a cell each and do not widen the cells of
the others. The error of a mean absolute error is then less than the width times the share of the cell with the best
constant, that of a mean square less than a quarter of the squared width: at worst a few parts in a thousand, for heavy tails.
"""

from collections.abc import Callable, Mapping

import numpy as np
import numpy.typing as npt

from odca.validation.arrays import Array

Value = Callable[[npt.ArrayLike, npt.ArrayLike], npt.ArrayLike]
"""Q(z; y), over arrays: the `value` of a loss."""

MOST_CELLS = 4096
EXACT = -(2**15)  # the level of a summary whose cells are single labels
LONGEST_TABLE = 2**16
FINEST = 60  # the first cells are 2^60 times narrower than the largest label
GOLDEN = (np.sqrt(5.0) - 1.0) / 2.0


class LabelSummary:
    """Labels and their weights, added in event order, so that the result does not depend on how the stream is split into calls."""

    def __init__(self) -> None:
        self._level = EXACT  # cells have the width 2^level
        self._cells = np.zeros(0)  # labels, or multiples of the width; ascending
        self._weight = np.zeros(0)
        self._moment = np.zeros(0)  # the weighted sum of labels
        self._places = np.zeros(0, np.intp)  # where each multiple of the width is among the cells, or -1; see _find

    @property
    def is_exact(self) -> bool:
        """Whether every label is stored exactly."""
        return self._level == EXACT

    def copy(self) -> "LabelSummary":
        """A summary of the same labels, which changes on its own."""
        twin = object.__new__(LabelSummary)
        twin.__dict__ = dict(self.__dict__)
        twin._weight, twin._moment = (
            self._weight.copy(),
            self._moment.copy(),
        )  # the other arrays are replaced, never changed
        return twin

    def add(self, labels: Array, weight: Array) -> None:
        """Add labels. Those of weight zero are ignored."""
        matters = weight > 0.0
        y, c = (labels, weight) if matters.all() else (labels[matters], weight[matters])
        while len(y):
            added = self._add_until_full(y, c)
            y, c = y[added:], c[added:]
            if len(y):
                self._widen(y[0])

    def _add_until_full(self, y: Array, c: Array) -> int:
        """Add labels up to the first that needs one cell too many; return how many were added."""
        cells = self._cells_of(y)
        at, known = self._find(cells)
        if not known.all():
            new, first = np.unique(cells[~known], return_index=True)
            room = MOST_CELLS - len(self._cells)
            if len(new) > room:
                kept = np.argsort(first)[:room]
                stop = int(np.flatnonzero(~known)[np.sort(first)[room]])
                new, cells, y, c = np.sort(new[kept]), cells[:stop], y[:stop], c[:stop]
            self._make_room_for(new)
            at, _ = self._find(cells)
        np.add.at(self._weight, at, c)
        np.add.at(self._moment, at, c * y)
        return len(y)

    def _cells_of(self, y: Array) -> Array:
        return y if self.is_exact else _cells(y, self._level)

    def _find(self, cells: Array) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.bool_]]:
        """The place of each cell, and whether it exists: by a table if the cells are close together, otherwise by search."""
        if len(self._places):
            index = np.clip(cells - self._cells[0], -1.0, len(self._places) - 1.0).astype(np.intp)
            at = self._places[index]
            return at, at >= 0
        order = np.argsort(cells)  # a search in order is several times faster
        at = np.empty(len(cells), dtype=np.intp)
        at[order] = np.searchsorted(self._cells, cells[order])
        known = np.zeros(len(cells), dtype=bool)
        inside = at < len(self._cells)
        known[inside] = self._cells[at[inside]] == cells[inside]
        return at, known

    def _tabulate(self) -> None:
        span = float(self._cells[-1]) - float(self._cells[0]) + 1.0
        self._places = np.full(
            0 if self.is_exact or span > LONGEST_TABLE else int(span) + 1, -1
        )  # the last is for others
        if len(self._places):
            self._places[(self._cells - self._cells[0]).astype(np.intp)] = np.arange(len(self._cells))

    def _make_room_for(self, new: Array) -> None:
        at = np.searchsorted(self._cells, new)
        self._cells = np.insert(self._cells, at, new)
        self._weight = np.insert(self._weight, at, 0.0)
        self._moment = np.insert(self._moment, at, 0.0)
        self._tabulate()

    def _widen(self, label: float) -> None:
        """Widen the cells until there is room for one more label."""
        if self.is_exact:
            largest = max(float(np.abs(self._cells).max()), abs(label))
            level = int(np.frexp(largest)[1]) - FINEST
            cells = _cells(self._cells, level)
        else:
            level, cells = self._level + 1, np.floor(0.5 * self._cells)
        while len(np.union1d(cells, _cells(np.array([label]), level))) > MOST_CELLS:
            level, cells = level + 1, np.floor(0.5 * cells)
        self._level = level
        self._cells, first = np.unique(cells, return_index=True)
        self._weight = np.add.reduceat(self._weight, first)
        self._moment = np.add.reduceat(self._moment, first)
        self._tabulate()

    def points(self) -> tuple[Array, Array]:
        """The labels, or the means of their cells, and their weights."""
        if self.is_exact:
            return self._cells, self._weight
        low = np.ldexp(self._cells, self._level)
        return np.clip(self._moment / self._weight, low, low + np.ldexp(1.0, self._level)), self._weight

    @np.errstate(over="ignore", invalid="ignore")
    def best_loss(self, value: Value) -> float:
        """The mean of Q(c; y) at the best c."""
        labels, weight = self.points()
        if not len(labels):
            return float("nan")
        centre = float(np.average(labels, weights=weight))
        spread = float(np.sqrt(np.average((labels - centre) ** 2, weights=weight)))
        return least(mean_of(value, labels, weight), centre, spread or 1.0)

    @np.errstate(over="ignore", invalid="ignore")
    def best_absolute_error(self) -> float:
        """The mean of |c - y| at the best c, a median."""
        labels, weight = self.points()
        if not len(labels):
            return float("nan")
        up_to = np.cumsum(weight)
        median = labels[np.searchsorted(up_to, 0.5 * up_to[-1])]
        return float(np.average(np.abs(labels - median), weights=weight))

    def as_arrays(self) -> dict[str, npt.NDArray[np.generic]]:
        """The state, for a file."""
        return {
            "label_level": np.array([self._level]),
            "label_cells": self._cells.copy(),
            "label_weight": self._weight.copy(),
            "label_moment": self._moment.copy(),
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, npt.NDArray[np.generic]]) -> "LabelSummary":
        """The summary from its state; ValueError for arrays that `as_arrays` cannot have written."""
        summary = cls()
        level, cells, weight, moment = (
            arrays[name] for name in ("label_level", "label_cells", "label_weight", "label_moment")
        )
        sound = level.shape == (1,) and level.dtype == np.int64 and cells.shape == weight.shape == moment.shape
        if not sound or cells.ndim != 1 or len(cells) > MOST_CELLS:
            raise ValueError("its summary of labels is invalid.")
        summary._level = int(level[0])
        summary._cells, summary._weight, summary._moment = (np.array(a, np.float64) for a in (cells, weight, moment))
        ascending = np.all(summary._cells[:-1] < summary._cells[1:])
        finite = np.isfinite(summary._cells).all() and np.isfinite(summary._weight).all()
        in_range = summary.is_exact or -2000 < summary._level < 2000
        if not (ascending and finite and in_range and np.all(summary._weight > 0.0)) or np.isnan(summary._moment).any():
            raise ValueError("its summary of labels is invalid.")
        if len(summary._cells):
            summary._tabulate()
        return summary


def _cells(y: Array, level: int) -> Array:
    """The cells of width 2^level that contain the labels. Extremely distant labels share the last cell."""
    with np.errstate(over="ignore"):
        return np.clip(np.floor(np.ldexp(y, -level)), -1e300, 1e300)


def mean_of(value: Value, labels: Array, weight: Array) -> Callable[[float], float]:
    """c ↦ the weighted mean of Q(c; y)."""

    def mean(c: float) -> float:
        with np.errstate(over="ignore", invalid="ignore"):
            return float(np.average(np.asarray(value(c, labels), np.float64), weights=weight))

    return mean


def least(function: Callable[[float], float], centre: float, scale: float) -> float:
    """The least value of a convex function of one number that is finite at `centre`, by golden-section search.

    Some functions decrease forever, as log loss does for a single class: for these it is a value far out, where they hardly decrease.
    """
    found = function(centre)

    def at(t: float) -> float:
        nonlocal found
        result = function(centre + t * scale)
        if not np.isfinite(result):  # an overflow: treat it as larger the further out it is
            return 1e300 * (1.0 + abs(t))
        found = min(found, result)
        return result

    ends = []
    for side in (-1.0, 1.0):
        while abs(side) < 2.0**60 and at(2.0 * side) < at(side):
            side *= 2.0  # noqa: PLW2901 - as far as the function decreases
        ends.append(2.0 * side)
    low, high = ends
    while high - low > 1e-15 * (1.0 + abs(low) + abs(high)):
        left, right = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
        if at(left) <= at(right):
            high = right
        else:
            low = left
    return found
