"""The regression that every interface uses: a learner of numbers with progressive scores."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from odca.metrics import Addition, NumberMetrics, ProgressRow, add_all
from odca.models.options import Answer
from odca.models.progressive_scores import ProgressivelyScored
from odca.models.uncertainty import Uncertainty, intervals, require_some
from odca.validation.arrays import Array


class Regressor(ProgressivelyScored[NumberMetrics], ABC):
    """Learns to predict numbers, one or several per event."""

    learner: Any
    """A learner, or the experts of the automatic mode."""

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
        told: Callable[[Array], None] | None = None,
        asked: Sequence[Any] | None = None,
    ) -> list[ProgressRow]:
        """Learn from events in order, whose labels are (n, outputs); return the rows of the first output's progress table.

        told: is called with the margins, each from before its event was learned. asked: see `Classifier.learn`.
        """
        margins = self.learn_margins(X, y, sample_weight=sample_weight, offset=offset, time=time, asked=asked)
        if told is not None:
            told(margins)
        self._observe(margins, y, sample_weight)
        rows = add_all([
            self._adding(metrics, margins[:, k], y[:, k], sample_weight, features)
            for k, metrics in enumerate(self.metrics_by_output)
        ])  # fmt: skip
        return rows[0] if rows else []

    def score(
        self,
        metrics: NumberMetrics,
        margins: Array,
        y: Array,
        *,
        sample_weight: Array | None = None,
        features: npt.NDArray[Any] | None = None,
    ) -> list[ProgressRow]:
        """Evaluate the margins of one output; return the rows of the progress table that are due among them."""
        return add_all([self._adding(metrics, margins, y, sample_weight, features)])[0]

    def _adding(
        self, metrics: NumberMetrics, margins: Array, y: Array, weight: Array | None, features: npt.NDArray[Any] | None
    ) -> Addition:
        loss = np.asarray(self.losses(margins, y))
        excess = loss - self.least_losses(y)
        return metrics.adding(y, self.predictions(margins), loss, weight=weight, features=features, excess=excess)

    def least_losses(self, y: Array) -> Array | float:
        """The least loss that a prediction of each label could have."""
        del y
        return 0.0

    # Intervals

    @property
    @abstractmethod
    def uncertainties(self) -> list[Uncertainty]:
        """How far from the truth the predictions of each output have been."""

    @property
    def uncertainty(self) -> Uncertainty:
        """That of the first output, which most models have only."""
        return self.uncertainties[0]

    def saved_uncertainty(self) -> dict[str, npt.NDArray[Any]]:
        """What a file holds of it, unless the learner does."""
        return {}

    def restore_uncertainty(self, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        """The reverse. Files from before intervals have nothing of it: then it begins now."""

    @abstractmethod
    def _observe(self, margins: Array, y: Array, sample_weight: Array | None) -> None:
        """Take note of how good the predictions were, unless the learner does that itself."""

    def intervals(self, margins: Array, coverage: float, answer: Answer) -> Array:
        """[lower, upper] for each of the margins (n, outputs) of events: (n, outputs, 2). docs/intervals.md says what they promise."""
        found = self.uncertainties
        require_some(self.uncertainty, self.learner.count)
        return intervals(self.predictions(margins), [each.bounds(coverage, answer) for each in found])

    @abstractmethod
    def learn_margins(
        self, X: Any, y: Array, *, sample_weight: Any = None, offset: Any = None, time: Any = None, asked: Any = None
    ) -> Array:
        """Learn from events in order; return the margins, each from before its event was learned, (n, outputs)."""

    @abstractmethod
    def margins(self, X: Any, *, offset: Any = None, answer: Answer = "steady") -> Array:
        """The margins of events, (n, outputs). answer: "steady" if no labels are coming in, or "live"."""

    @abstractmethod
    def predictions(self, margins: Array) -> Array:
        """The predicted numbers, from margins."""

    @abstractmethod
    def losses(self, margins: npt.ArrayLike, y: npt.ArrayLike) -> Array:
        """The loss of each margin."""

    @abstractmethod
    def new_metrics(self) -> NumberMetrics:
        """Metrics for its predictions, with no events yet."""
