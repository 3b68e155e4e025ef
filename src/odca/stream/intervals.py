"""Intervals and sets of a model that was trained on files."""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from odca import _core
from odca.models.classifier import Classifier, RawPredictions
from odca.models.options import Answer, ModelOptions, is_steady
from odca.models.regressor import Regressor
from odca.models.turns import at_one_moment
from odca.models.uncertainty import Uncertainty
from odca.stream.any_data import AnyData, TakesAnyData
from odca.stream.read.blocks import Block
from odca.validation.arrays import Array


class WithIntervals(TakesAnyData):
    """A model whose predictions have intervals, or sets of classes. docs/intervals.md says what is promised."""

    options: ModelOptions
    model: Classifier | Regressor

    def predict_raw(
        self, block: Block, *, answer: Answer = "steady", past: _core.History | None = None
    ) -> RawPredictions | Array:
        """The raw predictions for the events of a block."""
        raise NotImplementedError

    @property
    def uncertainty(self) -> Uncertainty:
        """How far from the truth its predictions have been, each made before its event was learned."""
        return self.model.uncertainty

    @at_one_moment
    def predict_interval(
        self,
        events: AnyData,
        coverage: float = 0.9,
        *,
        answer: Answer = "steady",
    ) -> Array:
        """[lower, upper] for the number of each event, (n, 2): a share of `coverage` of the labels lies within.

        events: as in `predict`. Infinite while too few events were learned.
        """
        found = [self.intervals(each, coverage, answer=answer) for each in self._raw_of(events, answer)]
        return np.concatenate(found) if found else np.zeros((0, 2))

    @at_one_moment
    def predict_set(
        self,
        events: AnyData,
        coverage: float = 0.9,
        *,
        answer: Answer = "steady",
    ) -> npt.NDArray[np.bool_]:
        """Which of the `classes` belong to the set of each event, (n, classes): a share of `coverage` of the sets holds the label.

        events: as in `predict`. All classes while too few events were learned.
        """
        found = [self.sets(each, coverage, answer=answer) for each in self._raw_of(events, answer)]
        return np.concatenate(found) if found else np.zeros((0, len(getattr(self.model, "classes", ()))), dtype=bool)

    def _raw_of(self, events: AnyData, answer: Answer) -> Iterator[RawPredictions | Array]:
        past = None if isinstance(events, Block) else self.past_for_predictions()
        for block in self.blocks_of(events):
            yield self.predict_raw(block, answer=self._of_points(answer), past=past)

    def intervals(self, predictions: RawPredictions | Array, coverage: float, *, answer: Answer) -> Array:
        """Intervals, from raw predictions."""
        if not isinstance(self.model, Regressor):
            raise ValueError("intervals are for numbers, and the model predicts classes: use sets.")  # noqa: TRY004 - the model's fault
        return self.model.intervals(np.asarray(predictions), coverage, answer)[:, 0]

    def sets(self, predictions: RawPredictions | Array, coverage: float, *, answer: Answer) -> npt.NDArray[np.bool_]:
        """Sets, from raw predictions."""
        if not isinstance(self.model, Classifier):
            raise ValueError("sets are for classes, and the model predicts numbers: use intervals.")  # noqa: TRY004 - the model's fault
        assert isinstance(predictions, RawPredictions)
        return self.model.sets(predictions, coverage, answer)

    def intervals_before(self, before: Uncertainty, block: Block, predictions: Array, coverage: float) -> Array:
        """The interval of each event of a block, whose labels were not known: of live predictions, each from before its event was learned.

        before: the `uncertainty` before the block.
        """
        assert isinstance(self.model, Regressor)
        return self.model.intervals_before(before, predictions[:, 0], block.rows.label, block.weight, coverage)

    def sets_before(
        self, before: Uncertainty, block: Block, predictions: RawPredictions, coverage: float
    ) -> npt.NDArray[np.bool_]:
        """The same for sets. All classes of the block are known."""
        assert isinstance(self.model, Classifier)
        return self.model.sets_before(before, predictions, self.codes_of(block)[0], block.weight, coverage)

    def codes_of(self, block: Block) -> tuple[npt.NDArray[np.int32], int]:
        """The code of every label, -1 if its class is new or missing; and the number of these."""
        raise NotImplementedError

    def _of_points(self, answer: Answer) -> Answer:
        """The answer that predictions are of: a linear model has one, whose errors are known for both."""
        return answer if is_steady(answer) or self.options.auto is not None else "steady"
