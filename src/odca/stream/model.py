"""A model that is trained on files, data frames or dictionaries: what `odca.train` returns and `odca train` writes."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from odca import _core
from odca.features.spec import feature_name
from odca.metrics import ProgressRow
from odca.models.auto import AutoLearner
from odca.models.auto_report import AutoReport
from odca.models.classifier import Classifier, RawPredictions
from odca.models.options import Answer, is_steady, label_text
from odca.models.regressor import Regressor
from odca.models.turns import at_one_moment
from odca.models.uncertainty import Uncertainty
from odca.stream.any_data import AnyData, blocks_of, is_one_event
from odca.stream.block_model import BlockModel, Told, Wanted
from odca.stream.explaining import Explanation, FeatureNames, explain_rows
from odca.stream.linear_report import LinearReport
from odca.stream.read.blocks import Block
from odca.stream.summary import Summary, summary_of
from odca.validation.arrays import Array


class StreamModel(BlockModel):
    """Learns from data of every form and predicts them: files, data frames, Arrow tables, dictionaries, blocks of events."""

    def blocks_of(self, data: AnyData, *, learning: bool = False, **how: Any) -> Iterator[Block]:
        """The data as blocks of events, in order. New names are kept if the model is `learning`, and ignored otherwise."""
        return blocks_of(data, self.schema, self.vocabulary, learning=learning, **how)

    def learn(self, data: AnyData, *, told: Told | None = None, **how: Any) -> list[ProgressRow]:
        """Learn from events, in order; return the rows of the progress table that are due among them.

        data: a path, several, or globs; a data frame of pandas or polars, an Arrow table; a dictionary or several; a block. The labels are
        in the column, or under the key, where they were in the training data. `how` is passed to `odca.stream.open`.

        Events without a label are counted in `unlabelled` and otherwise ignored: they are there to be predicted. EventError, without
        learning any event of its block, if another one cannot be learned. `told` is called with the raw predictions for those that are
        learned, each from before it was.
        """
        rows: list[ProgressRow] = []
        for block in self.blocks_of(data, learning=True, **how):
            rows += self.learn_block(block, told)
        return rows

    # Predicting

    def predict(
        self,
        data: AnyData,
        wanted: Wanted = "label",
        *,
        answer: Answer = "steady",
        past: _core.History | None = None,
        **how: Any,
    ) -> Any:
        """The prediction for each event; of a single dictionary, the prediction itself.

        data: as in `learn`; or a row of a data frame of pandas, like a single dictionary. Labels are not needed, and names that the model
        does not know are ignored. ValueError for data that have none of the model's columns.
        wanted: the "label", a class or a number; the "probabilities" of all `classes`, in their order; or the "margins" of all
        classes (if there are two, only that of the second).
        answer: for an automatic model, "steady" if no labels are coming in, "live" if the events follow those learned last.
        past: the history before a block (`past_for_predictions`), which its events then enter; None for that of the learned events.
        """
        if isinstance(data, Block):
            return self._predict_block(data, wanted, answer, past)
        known = self.past_for_predictions() if past is None else past
        parts = [self._predict_block(block, wanted, answer, known) for block in self.blocks_of(data, **how)]
        found = np.concatenate(parts) if parts else self.predict([], wanted, answer=answer)
        if not is_one_event(data):
            return found
        return found[0] if found.ndim > 1 or found.dtype == object else found[0].item()

    @at_one_moment
    def _predict_block(
        self, block: Block, wanted: Wanted, answer: Answer, past: _core.History | None
    ) -> npt.NDArray[Any]:
        return self.shown(self.predict_raw(block, answer=answer, past=past), wanted)

    def predict_proba(self, data: AnyData, *, answer: Answer = "steady", **how: Any) -> Array:
        """The probabilities of all `classes`, in their order, for each event; see `predict`."""
        return np.asarray(self.predict(data, "probabilities", answer=answer, **how))

    # Intervals and sets: docs/intervals.md says what is promised

    @property
    def uncertainty(self) -> Uncertainty:
        """How far from the truth its predictions have been, each made before its event was learned."""
        return self.model.uncertainty

    @at_one_moment
    def predict_interval(self, events: AnyData, coverage: float = 0.9, *, answer: Answer = "steady") -> Array:
        """[lower, upper] for the number of each event, (n, 2): a share of `coverage` of the labels lies within.

        events: as in `predict`. Infinite while too few events were learned.
        """
        found = [self.intervals(each, coverage, answer=answer) for each in self._raw_of(events, answer)]
        return np.concatenate(found) if found else np.zeros((0, 2))

    @at_one_moment
    def predict_set(
        self, events: AnyData, coverage: float = 0.9, *, answer: Answer = "steady"
    ) -> npt.NDArray[np.bool_]:
        """Which of the `classes` belong to the set of each event, (n, classes): a share of `coverage` of the sets holds the label.

        events: as in `predict`. All classes while too few events were learned.
        """
        found = [self.sets(each, coverage, answer=answer) for each in self._raw_of(events, answer)]
        return np.concatenate(found) if found else np.zeros((0, len(self.classes_read)), dtype=bool)

    def _raw_of(self, events: AnyData, answer: Answer) -> Iterator[RawPredictions | Array]:
        past = None if isinstance(events, Block) else self.past_for_predictions()
        if self.options.auto is None:
            answer = "steady"  # a linear model has one, whose errors are known for both
        for block in self.blocks_of(events):
            yield self.predict_raw(block, answer=answer, past=past)

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

    # What it says about itself

    def report(self) -> AutoReport | LinearReport:
        """What it has learned: of an automatic model, which memories and experts have the most weight; of a linear one, its largest
        weights. str(report) is a text.
        """
        learner = self.learner
        if isinstance(learner, AutoLearner):
            return replace(learner.report([feature_name(key) for key in self.names]), in_seconds=True)
        outputs = tuple(label_text(each) for each in self.classes_read)
        return LinearReport.of(learner, outputs[1:] if len(outputs) == 2 else outputs or ("",), self._feature_names())

    def explain(self, data: AnyData, *, answer: Answer = "steady", **how: Any) -> Explanation | list[Explanation]:
        """What each feature of an event adds to its margin: a dictionary for each event; of a single dictionary, its own.

        data, answer, how: as for `predict`. The keys are the names of features: "price", "country=NZ", "price is missing", "a * b"; and ""
        for the intercept. The values are numbers, or arrays with one for each of several classes. They sum to the "margins" of
        `predict`, but for an offset. Features that the model does not know are left out. The live answer of an automatic model is
        explained by a linear approximation near the event, with "previous labels" and products of features (docs/auto.md).
        """
        past = None if isinstance(data, Block) else self.past_for_predictions()
        names, outputs = self._feature_names(), len(self.classes_read) if len(self.classes_read) > 2 else 1
        found: list[Explanation] = []
        for block in self.blocks_of(data, **how):
            with self.with_past(block, self.past if past is None else past, enters=past is not None) as rows:
                found += explain_rows(self.learner, rows, names, outputs=outputs, steady=is_steady(answer))
        return found[0] if is_one_event(data) else found

    def _feature_names(self) -> FeatureNames:
        return FeatureNames(self.names, "{}" if self.schema.features.bits is None else "hash {}")

    def summary(self) -> Summary:
        """What it is, in a few facts."""
        baselines = self.baselines(self.metrics)
        return summary_of(type(self).__name__, self.learner, self.schema, self.classes_read, self.metrics, baselines)

    def __repr__(self) -> str:
        return self.summary().as_text()

    def _repr_html_(self) -> str:
        return self.summary().as_html()
