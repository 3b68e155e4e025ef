"""Weighted sums over the events of a stream: how well a model predicted each event before learning from it."""

from dataclasses import dataclass, fields

import numpy as np

from odca.validation.arrays import Array

MOST_EVENTS = 2.0**53


@dataclass(slots=True)
class Progress:
    """Weighted sums over the events so far. They are added in the order of the events, so the result does not depend on how the
    stream is split into calls.
    """

    events: int = 0
    weight: float = 0.0
    loss_sum: float = 0.0
    score_sum: float = 0.0

    def copy(self) -> "Progress":
        """The same sums, which change on their own."""
        return Progress(self.events, self.weight, self.loss_sum, self.score_sum)

    def add(self, loss: Array, score: Array, weight: Array | None = None) -> tuple[Array, Array, Array]:
        """Add events: the losses of their predictions, and their scores (correct or not, or the absolute error).

        Return `weight`, `loss_sum` and `score_sum` before the first and after each event.
        """
        c = np.ones(len(loss)) if weight is None else weight
        weights, losses = running_sum(self.weight, c), running_sum(self.loss_sum, c * loss)
        scores = running_sum(self.score_sum, c * score)
        self.events += len(loss)
        self.weight, self.loss_sum, self.score_sum = float(weights[-1]), float(losses[-1]), float(scores[-1])
        return weights, losses, scores

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
        """The sums from a file. ValueError if they are invalid."""
        sound = numbers.shape == (4,) and np.isfinite(numbers[:2]).all() and (numbers[:2] >= 0.0).all()
        if (
            not sound or numbers[0] > MOST_EVENTS or np.isnan(numbers[3])
        ):  # an unknown loss is nan; others may be infinite
            raise ValueError("its progress is not four numbers.")
        return cls(int(numbers[0]), *map(float, numbers[1:]))


def running_sum(total: float, terms: Array) -> Array:
    """`total`, and the sum after each term. Terms are added one by one, so the result does not depend on the split into calls."""
    sums = np.empty(len(terms) + 1)
    sums[0], sums[1:] = total, terms
    return np.cumsum(sums, out=sums)
