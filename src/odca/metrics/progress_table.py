"""The progress table, as in VW: a row of scores at some events of a stream."""

from typing import Any

import numpy as np
import numpy.typing as npt

from odca.metrics.running_sums import Progress
from odca.records import record
from odca.validation.arrays import Array
from odca.validation.numbers import whole


@record
class ProgressRow:
    """The state after `events` events, and the last of these events."""

    events: int
    weight: float
    loss: float
    """The mean loss so far."""
    since_last: float
    """The mean loss since the previous row, from the difference of the sums."""
    label: Any
    prediction: Any
    features: int | None


class ProgressTable:
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

    def within(self, sums: tuple[int, Array, Array], labels: Any, predictions: Any, features: Any) -> list[ProgressRow]:
        """The rows due in a block. sums: the events before it, and weight and loss before it and after each of its events."""
        begin, weights, losses = sums
        rows: list[ProgressRow] = []
        while (at := self.due(rows[-1].events if rows else begin) - begin) < len(weights):
            weight, loss = float(weights[at]), float(losses[at])
            _, weight_before, loss_before = self.last.tolist()
            rows.append(
                ProgressRow(
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
