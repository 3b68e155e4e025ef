"""What the metrics of classes and of numbers share: the rows of the progress table, and checks."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from odca.metrics.progress import Progress
from odca.validation.arrays import Array
from odca.validation.numbers import whole

Arrays: TypeAlias = dict[str, npt.NDArray[Any]]


@dataclass(frozen=True, slots=True)
class Row:
    """A row of the progress table, as in VW: the state after `events` events, and the last of these events."""

    events: int
    weight: float
    loss: float
    """The mean loss so far."""
    since_last: float
    """The mean loss since the previous row, from the difference of the sums."""
    label: Any
    prediction: Any
    features: int | None


class Rows:
    """When a row is due, and the sums at the previous one."""

    def __init__(self, every: int | None) -> None:
        self.every = None if every is None else whole(every, "every")
        self.last = np.zeros(3)  # events, weight, loss_sum

    def due(self, events: int) -> int:
        """The event count of the first row after this many events."""
        return 1 << events.bit_length() if self.every is None else (events // self.every + 1) * self.every

    def restore(self, last: npt.NDArray[Any]) -> None:
        """Continue after the row stored in a file. ValueError if it is invalid."""
        if last.shape != (3,):
            raise ValueError("its last row is not three numbers.")
        sums = Progress.from_array(np.array([*last, 0.0]))
        self.last = np.array([sums.events, sums.weight, sums.loss_sum])

    def begin_at(self, events: int, weight: float, loss_sum: float) -> None:
        """Let the next row be about the events from now on."""
        self.last = np.array([events, weight, loss_sum])

    def within(
        self, begin: int, weights: Array, losses: Array, labels: Any, predictions: Any, features: Any
    ) -> list[Row]:
        """The rows due in a block that follows `begin` events, from the sums before it and after each of its events."""
        rows: list[Row] = []
        while (at := self.due(rows[-1].events if rows else begin) - begin) < len(weights):
            weight, loss = float(weights[at]), float(losses[at])
            _, weight_before, loss_before = self.last.tolist()
            rows.append(
                Row(
                    events=begin + at,
                    weight=weight,
                    loss=ratio(loss, weight),
                    since_last=ratio(loss - loss_before, weight - weight_before),
                    label=labels[at - 1].item(),
                    prediction=predictions[at - 1].item(),
                    features=None if features is None else int(features[at - 1]),
                )
            )
            self.last = np.array([begin + at, weight, loss])
        return rows


def ratio(part: float, whole: float) -> float:
    """A mean from two sums; NaN if the second is 0."""
    return float(part) / float(whole) if whole else float("nan")


def as_weights(weight: Array | None, n: int) -> Array:
    """The weights of n events: ones unless given."""
    if weight is None:
        return np.ones(n)
    if weight.shape != (n,) or not np.all(np.isfinite(weight) & (weight >= 0.0)):
        raise ValueError(f"weight must hold {n} finite numbers >= 0.")
    return weight


def check_lengths(n: int, **arrays: npt.NDArray[Any] | None) -> None:
    """ValueError for an array that does not have one entry per event."""
    for name, array in arrays.items():
        if array is not None and array.shape != (n,):
            raise ValueError(f"{name} must have one entry for each of the {n} events; got shape {array.shape}.")


def from_file(
    arrays: Mapping[str, npt.NDArray[Any]], name: str, shape: tuple[int, ...], least: float = -np.inf
) -> Array:
    """A copy of an array from a file, which must have this shape, no NaN, and no number below `least`."""
    array = np.array(arrays[name], np.float64)
    if array.shape != shape or np.isnan(array).any() or not np.all(array >= least):
        raise ValueError(f"its metrics have an invalid array {name!r}.")
    return array


def same_scores(mine: list[float], theirs: list[float]) -> bool:
    """Whether two lists of scores are equal; two that are both unknown (NaN) are."""
    return np.array_equal(np.array(mine), np.array(theirs), equal_nan=True)
