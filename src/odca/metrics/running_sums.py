"""How well a model predicted each event before it learned from it."""

from dataclasses import dataclass, fields

import numpy as np

from odca.validation.arrays import Array


@dataclass(slots=True)
class Progress:
    """Progressive validation: weighted sums over the events so far. Their order of addition is that of the events,
    so no split of the stream into calls shows.
    """

    events: int = 0
    weight: float = 0.0
    loss_sum: float = 0.0
    score_sum: float = 0.0

    def add(self, loss: Array, score: Array, weight: Array | None = None) -> tuple[Array, Array]:
        """Count events by the loss of their prediction, and by whether it was right (or how far off it was).

        Return `weight` and `loss_sum` as they were before, and after each event.
        """
        c = np.ones(len(loss)) if weight is None else weight
        weights, losses = running_sum(self.weight, c), running_sum(self.loss_sum, c * loss)
        self.events += len(loss)
        self.weight, self.loss_sum = float(weights[-1]), float(losses[-1])
        self.score_sum = float(running_sum(self.score_sum, c * score)[-1])
        return weights, losses

    @property
    def loss(self) -> float:
        """The mean loss."""
        return self.loss_sum / self.weight if self.weight else float("nan")

    @property
    def score(self) -> float:
        """The mean score: accuracy for classes, absolute error for numbers."""
        return self.score_sum / self.weight if self.weight else float("nan")

    def as_array(self) -> Array:
        """Its numbers, for a file."""
        return np.array([float(getattr(self, each.name)) for each in fields(self)])

    @classmethod
    def from_array(cls, numbers: Array) -> "Progress":
        """The reverse; ValueError for what `as_array` cannot have written."""
        sound = numbers.shape == (4,) and np.isfinite(numbers[:2]).all() and (numbers[:2] >= 0.0).all()
        if not sound or np.isnan(numbers[3]):  # a loss that cannot be told is nan; predictions may be infinite
            raise ValueError("its progress is not four numbers.")
        return cls(int(numbers[0]), *map(float, numbers[1:]))


def running_sum(total: float, terms: Array) -> Array:
    """`total`, and what it comes to with each term, added one after the other: however the terms are cut into calls."""
    return np.cumsum(np.concatenate([[total], terms]))
