"""The one regression behind every interface: a learner of numbers with progressive scores."""

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
import numpy.typing as npt

from odca.metrics import NumberMetrics, Row
from odca.models.options import Answer
from odca.models.progressive_scores import ProgressivelyScored
from odca.validation.arrays import Array


class Regressor(ProgressivelyScored[NumberMetrics], ABC):
    """Learns to predict numbers, one or several of each event."""

    learner: Any

    def __init__(self, outputs: int = 1, *, scored: bool = True) -> None:
        super().__init__([self.new_metrics() for _ in range(outputs if scored else 0)])

    def learn(
        self,
        X: Any,
        y: Array,
        *,
        sample_weight: Array | None = None,
        offset: Any = None,
        time: Any = None,
        features: npt.NDArray[Any] | None = None,
    ) -> list[Row]:
        """Learn from events in order, whose labels are (n, outputs); return the rows of the first output's metrics' table."""
        margins = self.learn_margins(X, y, sample_weight=sample_weight, offset=offset, time=time)
        rows = [
            self.score(metrics, margins[:, k], y[:, k], sample_weight=sample_weight, features=features)
            for k, metrics in enumerate(self.metrics_by_output)
        ]
        return rows[0] if rows else []

    def score(
        self,
        metrics: NumberMetrics,
        margins: Array,
        y: Array,
        *,
        sample_weight: Array | None = None,
        features: npt.NDArray[Any] | None = None,
    ) -> list[Row]:
        """Count how well the margins of one output predict the events; return the rows of the table that fall among them."""
        loss = np.asarray(self.losses(margins, y))
        return metrics.add(y, self.predictions(margins), loss, weight=sample_weight, features=features)

    @abstractmethod
    def learn_margins(
        self, X: Any, y: Array, *, sample_weight: Array | None = None, offset: Any = None, time: Any = None
    ) -> Array:
        """Learn from events in order; return their margins from before, (n, outputs)."""

    @abstractmethod
    def margins(self, X: Any, *, offset: Any = None, answer: Answer = "steady") -> Array:
        """The margins of events, (n, outputs): the `answer` for a time in which no labels are coming in, or the live one."""

    @abstractmethod
    def predictions(self, margins: Array) -> Array:
        """The numbers that margins stand for."""

    @abstractmethod
    def losses(self, margins: npt.ArrayLike, y: npt.ArrayLike) -> Array:
        """The loss of each margin."""

    @abstractmethod
    def new_metrics(self) -> NumberMetrics:
        """Metrics of its predictions, of no event yet."""
