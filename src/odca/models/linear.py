"""Linear models: a learner whose lanes are classes, labels or outputs."""

import copy
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol, Self

import numpy as np
import numpy.typing as npt

from odca.errors import InputError, Remedy
from odca.io.model_file import ModelFile
from odca.losses import LogLoss, Poisson, as_native
from odca.metrics import Addition, ClassMetrics, Codes, NumberMetrics, add_all
from odca.models.calibration import Calibration, Softmax, restored, sigmoid
from odca.models.classifier import Classifier, RawPredictions
from odca.models.one_against_rest import OneAgainstRest
from odca.models.options import Answer, is_steady, numbers_first
from odca.models.progressive_scores import ProgressivelyScored
from odca.models.regressor import Regressor
from odca.penalties import Penalty
from odca.validation.arrays import Array
from odca.windows import Window


class Lanes(Protocol):
    """What a model needs of its learner: a `Learner`, or an `EventLearner` whose rows are dictionaries."""

    @property
    def lanes(self) -> int:
        """The number of models that learn from the same events."""

    @property
    def loss(self) -> object:
        """Their loss."""

    @property
    def penalty(self) -> Penalty:
        """Their penalty."""

    @property
    def window(self) -> Window:
        """How past events are weighted."""

    @property
    def count(self) -> int:
        """The number of events learned from."""

    def learn(self, X: Any, y: Array, *, sample_weight: Any = None, offset: Any = None, time: Any = None) -> Array:
        """Learn from events in order; return the margins, each from before its event was learned, (n, lanes)."""

    def predict(self, X: Any, *, offset: Any = None) -> Array:
        """The margins of events, (n, lanes)."""

    def loss_of(self, margins: npt.ArrayLike, y: npt.ArrayLike) -> Array:
        """The loss of each margin."""

    def with_lanes(self, sources: Sequence[int], mirrored: Sequence[bool] | None = None) -> Self:
        """The same learner with its lanes rearranged."""


class Calibrated:
    """A model whose margins are turned into probabilities by a calibration, unless they are log-odds."""

    learner: Any
    calibration: Calibration | Softmax | None

    def restore_calibration(self, parts: Mapping[str, ModelFile]) -> None:
        """Restore the calibration from a file. ValueError (or a similar error) if it is invalid, or missing but needed."""
        if self.calibration is not None or "calibration" in parts:
            self.calibration = restored(parts["calibration"])

    def calibrate(self, margins: Array, targets: Array, **how: Any) -> None:
        """Replace the calibration by one that is learned from the margins of a solution."""
        if self.calibration is not None:
            self.calibration = Calibration(targets.shape[1], self.learner.window.fixed)
            self.calibration.learn(margins, targets, **how)


class LinearClassifier(Calibrated, Classifier):
    """A learner with a lane for each class, one against the rest; its predictions are margins.

    spare: keep a spare lane, all of whose labels are "not this class". A new class gets a copy of it, so that its model is the same, to
    the bit, as if the class had been declared at the start.
    """

    def __init__(
        self,
        learner: Lanes,
        classes: Iterable[Any],
        *,
        spare: bool,
        seen: Iterable[Any] | None = None,
        scored: bool = True,
    ) -> None:
        super().__init__(classes, seen=seen, scored=scored)
        self.learner = learner
        self.spare = spare
        """Whether there is a spare lane. If it is set, it takes effect with the next call."""
        self.layout = OneAgainstRest(self.classes, spare)
        self.calibration: Calibration | Softmax | None = None
        """What turns margins into probabilities, if they are not log-odds against the rest."""
        if not isinstance(learner.loss, LogLoss):
            self.calibration = Calibration(len(self.layout.lanes), learner.window.fixed)

    @staticmethod
    def targets(classes: Iterable[Any], codes: npt.NDArray[Any], *, spare: bool) -> Array:
        """The labels of the lanes for events with these codes, (n, lanes)."""
        return OneAgainstRest(tuple(classes), spare).labels(codes)

    @staticmethod
    def lanes(classes: Iterable[Any], *, spare: bool) -> int:
        """The number of lanes that a learner of these classes needs."""
        return len(OneAgainstRest(tuple(classes), spare).lanes)

    def set_classes(self, classes: Sequence[Any]) -> None:
        """Change the classes to these, in this order: the present ones and perhaps others."""
        if tuple(classes) == self.classes and self.spare == self.layout.spare:
            return
        layout, sources, mirrored = self.layout.with_classes(classes, spare=self.spare)
        if any(mirrored) and not self.learner.penalty.is_symmetric:
            raise ValueError(
                f"a third class cannot be added to two with {self.learner.penalty!r}, which treats positive and negative weights differently. "
                "Name all classes in the first call (classes=)."
            )
        if sources != list(range(self.learner.lanes)) or any(mirrored):
            self.learner = self.learner.with_lanes(sources, mirrored)
            if self.calibration is not None:
                self.calibration = self.calibration.rearranged(sources, mirrored)
        if tuple(classes)[: len(self.classes)] != self.classes and self.metrics_by_output:
            self.metrics = ClassMetrics().merge(self.metrics, [list(classes).index(each) for each in self.classes])
        self.layout, self.classes = layout, layout.classes

    def with_classes(self, classes: Sequence[Any]) -> "LinearClassifier":
        """The same model with these classes, in this order."""
        twin = copy.copy(self)
        twin.set_classes(classes)
        return twin

    def require_consistent(self) -> None:
        """Raise ValueError for parts that do not belong together, such as those of a damaged file."""
        lanes = len(self.layout.lanes)
        if self.learner.lanes != lanes or (self.calibration is not None and len(self.calibration) != lanes):
            raise ValueError("its classes are not those of its learner.")

    def _learn(
        self, X: Any, codes: npt.NDArray[Any], *, sample_weight: Array | None, offset: Any, time: Any
    ) -> RawPredictions:
        targets = self.layout.labels(codes)
        margins = self.learner.learn(X, targets, sample_weight=sample_weight, offset=offset, time=time)
        if self.calibration is None:
            return RawPredictions(margins)
        return RawPredictions(margins, self.calibration.learn(margins, targets, sample_weight=sample_weight, time=time))

    def _after_an_interruption(self, classes: Sequence[Any], codes: npt.NDArray[Any]) -> None:
        """Do nothing: the learner with lanes for the new classes was a copy, which has been discarded."""

    def predict_raw(self, X: Any, *, offset: Any = None, answer: Answer = "steady") -> RawPredictions:
        """The margins of events."""
        require_steady(answer)
        return RawPredictions(self.learner.predict(X, offset=offset))

    def scores(self, predictions: RawPredictions) -> Array:
        """The margins of the classes; if there are two, only that of the second."""
        return self.layout.scores(predictions.raw)

    def probabilities(self, predictions: RawPredictions) -> Array:
        """Those of the model for log loss (several classes: one against the rest, normalised), otherwise calibrated on the stream."""
        return self.layout.distribution(self._p_of_lanes(predictions), self.scores(predictions))

    def _p_of_lanes(self, predictions: RawPredictions) -> Array:
        if predictions.calibrated is not None:
            return np.array(self.layout.scores(predictions.calibrated))
        scores = self.scores(predictions)
        return sigmoid(scores) if self.calibration is None else self.calibration.probabilities(scores)

    # Scoring

    def _adding_margins(
        self, metrics: ClassMetrics, predictions: RawPredictions, codes: Codes, weight: Array | None, features: Any
    ) -> Addition:
        is_log_odds = self.calibration is None and predictions.calibrated is None
        return metrics.adding_margins(
            codes,
            predictions.raw[:, 0],
            as_native(self.learner.loss),
            probability=None if is_log_odds else self.probabilities(predictions)[:, 1],
            weight=weight,
            features=features,
        )

    def _can_score_margins(self, metrics: ClassMetrics, events: int) -> bool:
        return has_value(self.learner) and super()._can_score_margins(metrics, events)

    def _losses(self, predictions: RawPredictions, codes: Codes, known: npt.NDArray[np.intp]) -> Array:
        """The mean over the lanes of the known classes; nan if the user's loss has no value."""
        scores, targets = self.scores(predictions), self.layout.labels(codes)
        if len(self.classes) > 2:
            scores, targets = scores[:, known], targets[:, known]
        return np.asarray(losses_of(self.learner, scores, targets[:, : scores.shape[1]]).mean(axis=1))

    def _probabilities_among(self, predictions: RawPredictions, known: npt.NDArray[np.intp]) -> Array:
        if len(known) == len(self.classes):
            return self.probabilities(predictions)
        scores, p = self.scores(predictions), np.zeros((len(predictions.raw), len(self.classes)))
        if len(known) == 1:
            p[:, known[0]] = 1.0
        elif len(known) == 2:  # as in a model of these two
            first, second = sorted(known.tolist(), key=lambda code: numbers_first(self.classes[code]))
            p[:, second] = self._p_of_lanes(predictions)[:, second]
            p[:, first] = 1.0 - p[:, second]
        elif len(known):
            p[:, known] = self.layout.distribution(self._p_of_lanes(predictions)[:, known], scores[:, known])
        return p


class LinearLabels(Calibrated, ProgressivelyScored[ClassMetrics]):
    """A learner with a lane per label, for events that can have several labels at once."""

    def __init__(self, learner: Lanes) -> None:
        self.learner = learner
        self.calibration: Calibration | Softmax | None = None
        if not isinstance(learner.loss, LogLoss):
            self.calibration = Calibration(learner.lanes, learner.window.fixed)
        super().__init__([ClassMetrics() for _ in range(learner.lanes)])

    def learn(self, X: Any, targets: Array, *, sample_weight: Array | None, offset: Any, time: Any) -> None:
        """Learn from events in order, with targets of +1 for the labels that they have and -1 for the others."""
        margins = self.learner.learn(X, targets, sample_weight=sample_weight, offset=offset, time=time)
        p = sigmoid(margins)
        if self.calibration is not None:
            p = self.calibration.learn(margins, targets, sample_weight=sample_weight, time=time)
        losses = losses_of(self.learner, margins, targets)
        add_all([
            metrics.adding(
                (targets[:, lane] > 0.0).astype(np.int32),
                (margins[:, lane] > 0.0).astype(np.int32),
                losses[:, lane],
                margin=margins[:, lane],
                probability=p[:, lane],
                weight=sample_weight,
            )
            for lane, metrics in enumerate(self.metrics_by_output)
        ])  # fmt: skip

    def predict_raw(self, X: Any, *, offset: Any = None) -> RawPredictions:
        """The margins of events."""
        return RawPredictions(self.learner.predict(X, offset=offset))

    def probabilities(self, predictions: RawPredictions) -> Array:
        """P(label), with one column per label."""
        return sigmoid(predictions.raw) if self.calibration is None else self.calibration.probabilities(predictions.raw)


class LinearRegressor(Regressor):
    """A learner with a lane per output."""

    learner: Lanes

    def __init__(self, learner: Lanes, *, scored: bool = True) -> None:
        self.learner = learner
        super().__init__(learner.lanes, scored=scored)

    def learn_margins(
        self, X: Any, y: Array, *, sample_weight: Array | None = None, offset: Any = None, time: Any = None
    ) -> Array:
        """Learn from events in order; return the margins, each from before its event was learned."""
        return self.learner.learn(X, y, sample_weight=sample_weight, offset=offset, time=time)

    def margins(self, X: Any, *, offset: Any = None, answer: Answer = "steady") -> Array:
        """The margins of events, (n, outputs)."""
        require_steady(answer)
        return self.learner.predict(X, offset=offset)

    def predictions(self, margins: Array) -> Array:
        """The margins themselves; for Poisson loss the means e^z."""
        if not isinstance(self.learner.loss, Poisson):
            return margins
        with np.errstate(over="ignore"):
            return np.asarray(np.exp(margins))

    def losses(self, margins: npt.ArrayLike, y: npt.ArrayLike) -> Array:
        """The loss of each margin; nan if the user's loss has no value."""
        return losses_of(self.learner, margins, y)

    def new_metrics(self) -> NumberMetrics:
        """Metrics for its predictions, with no events yet."""
        return NumberMetrics(
            self.losses if has_value(self.learner) else None,
            margin_is_prediction=not isinstance(self.learner.loss, Poisson),
        )


def require_steady(answer: Answer) -> None:
    """Raise ValueError for the live answer, which a linear model does not have."""
    if not is_steady(answer):
        raise InputError(
            "a linear model has only a steady answer; only automatic models have a live answer.",
            remedy=Remedy("Leave out {answer}.", answer=answer),
        )


def has_value(learner: Lanes) -> bool:
    """Whether the loss has a value, the cost of a prediction. A user's own loss may have none."""
    return hasattr(learner.loss, "value")


def losses_of(learner: Lanes, margins: npt.ArrayLike, labels: npt.ArrayLike) -> Array:
    """The loss of each margin; nan if the user's loss has no value."""
    return learner.loss_of(margins, labels) if has_value(learner) else np.full(np.shape(margins), np.nan)
