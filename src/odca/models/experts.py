"""Automatic models: the experts, with the same interface as the linear models."""

from collections.abc import Iterable, Sequence
from typing import Any, Protocol, Self

import numpy as np
import numpy.typing as npt

from odca.errors import InputError, Remedy
from odca.losses import LogLoss, Loss, Poisson, as_native
from odca.metrics import Addition, ClassMetrics, Codes, NumberMetrics
from odca.models.auto import Asked
from odca.models.calibration import Softmax
from odca.models.classifier import Classifier, RawPredictions
from odca.models.lanes import Lanes
from odca.models.linear import LinearClassifier, LinearRegressor, constant_of, least_poisson_losses
from odca.models.options import Answer
from odca.models.regressor import Regressor
from odca.models.uncertainty import Uncertainty
from odca.validation.arrays import Array


class Experts(Protocol):
    """What a model needs of its experts: an `AutoLearner`, or `AutoEvents` whose rows are dictionaries."""

    @property
    def loss(self) -> Loss:
        """What predictions are judged by."""

    @property
    def classes(self) -> int:
        """The number of classes."""

    @property
    def count(self) -> int:
        """The number of events learned from."""

    def learn(self, X: Any, y: Array, *, sample_weight: Any = None, time: Any = None) -> Array:
        """Learn from events in order; return the predictions, each from before its event was learned."""

    def predict(self, X: Any, *, answer: Answer) -> Array:
        """The predictions for events."""

    def probabilities(self, predictions: Array) -> Array:
        """P(class) of each event, from the predictions."""

    def declare(self, classes: int) -> None:
        """Make room for this many classes."""

    def freeze(self) -> Lanes:
        """The steady answer as a linear model, with a lane for each of several classes."""

    @property
    def uncertainty(self) -> Uncertainty:
        """How far from the truth the predictions have been, as of now."""

    def copy(self) -> Self:
        """Independent experts in the same state."""


class ExpertClassifier(Classifier):
    """The experts of the automatic mode. They predict log-odds for two classes, log probabilities or logits for more."""

    def __init__(self, learner: Experts, classes: Iterable[Any], *, scored: bool = True) -> None:
        super().__init__(classes, scored=scored)
        self.learner = learner
        if learner.classes < len(self.classes):
            learner.declare(len(self.classes))

    def set_classes(self, classes: Sequence[Any]) -> None:
        """Change the classes to these, of which the present ones come first. The experts add the others at their first events."""
        assert tuple(classes)[: len(self.classes)] == self.classes
        self.classes = tuple(classes)
        declared = sum(each in self._seen for each in self.classes)
        if declared > self.learner.classes:
            self.learner = self.learner.copy()  # so that an error leaves the experts unchanged
            self.learner.declare(declared)

    def _learn(
        self, X: Any, codes: npt.NDArray[Any], *, sample_weight: Any, offset: Any, time: Any, asked: Any
    ) -> RawPredictions:
        require_no_offset(offset)
        return RawPredictions(
            _learned(self.learner, X, codes.astype(np.float64), asked, sample_weight=sample_weight, time=time)
        )

    def _after_an_interruption(self, classes: Sequence[Any], codes: npt.NDArray[Any]) -> None:
        """Keep the classes of the events that were learned before the interruption."""
        met = min(int(codes.max()) + 1, self.learner.classes)  # the count may include events of other threads
        self.classes = tuple(classes)[: max(met, len(self.classes))]
        self._seen = self._seen.union(self.classes)

    def predict_raw(self, X: Any, *, offset: Any = None, answer: Answer = "steady") -> RawPredictions:
        """The predictions of the experts."""
        require_no_offset(offset)
        return RawPredictions(self.learner.predict(X, answer=answer))

    def scores(self, predictions: RawPredictions) -> Array:
        """The log-odds of the second of two classes; otherwise log probabilities, or the logits of the steady answer."""
        raw = self._among(predictions.raw, len(self.classes))
        return raw[:, None] if raw.ndim == 1 else raw

    def probabilities(self, predictions: RawPredictions) -> Array:
        """One column per class; the rows sum to one."""
        return self.distribution(predictions.raw, len(self.classes))

    def distribution(self, raw: Array, classes: int) -> Array:
        """The probabilities of the first classes, from raw predictions."""
        if classes == 1:
            return np.ones((len(raw), 1))
        p: Array = self.learner.probabilities(self._among(raw, classes))[:, :classes]
        return p

    @staticmethod
    def _among(raw: Array, classes: int) -> Array:
        """The raw predictions for the first classes: the experts may have met others since, in another thread."""
        if raw.ndim == 1:
            return raw
        return raw[:, :classes] if classes > 2 else raw[:, 1] - raw[:, 0]

    def freeze(self, *, spare: bool) -> LinearClassifier:
        """The steady answer as a linear classifier, with a spare lane if classes may appear later.

        The probabilities of several classes are the softmax of their margins. If training continues, each class is learned against
        the rest, as in any linear classifier.
        """
        plain = self.learner.freeze()
        sources = [*range(plain.lanes), *([-1] if spare else [])]
        only_first = len(self.classes) == 1  # its margin is that of the second class, negated
        learner = plain.with_lanes(sources, [only_first and source == 0 for source in sources])
        model = LinearClassifier(learner, self.classes, spare=spare, scored=bool(self.metrics_by_output))
        if len(self.classes) > 2:
            model.calibration = Softmax(len(sources))
        model.uncertainty = self.uncertainty.frozen()
        return model

    @property
    def uncertainty(self) -> Uncertainty:
        """How unlikely the true classes were said to be, as of now."""
        known: Uncertainty = self.learner.uncertainty
        return known

    def _observe(self, *_: object) -> None:
        """Nothing: the experts do."""

    # Scoring

    def _adding_margins(
        self, metrics: ClassMetrics, predictions: RawPredictions, codes: Codes, weight: Array | None, features: Any
    ) -> Addition:
        return metrics.adding_margins(
            codes, predictions.raw, as_native(LogLoss()), probability=None, weight=weight, features=features
        )

    def _losses(self, predictions: RawPredictions, codes: Codes, known: npt.NDArray[np.intp]) -> Array:
        """The log loss."""
        p = self._probabilities_among(predictions, known)
        unknown = codes >= p.shape[1]
        own = np.where(unknown, 0.0, p[np.arange(len(codes)), np.where(unknown, 0, codes)])
        return np.asarray(-np.log(np.maximum(own, 1e-15)))

    def _probabilities_among(self, predictions: RawPredictions, known: npt.NDArray[np.intp]) -> Array:
        """The probabilities of the classes known so far, which come first: independent of the new classes of the call."""
        p: Array = self.learner.probabilities(self._among(predictions.raw, len(known)))
        return p


class ExpertRegressor(Regressor):
    """The experts of the automatic mode, for numbers. Their margins are predictions: of counts the means."""

    def __init__(self, learner: Experts, *, scored: bool = True) -> None:
        self.learner = learner
        super().__init__(scored=scored)

    def learn_margins(
        self, X: Any, y: Array, *, sample_weight: Any = None, offset: Any = None, time: Any = None, asked: Any = None
    ) -> Array:
        """Learn from events in order; return the predictions, each from before its event was learned."""
        require_no_offset(offset)
        return _learned(self.learner, X, y[:, 0], asked, sample_weight=sample_weight, time=time)[:, None]

    def margins(self, X: Any, *, offset: Any = None, answer: Answer = "steady") -> Array:
        """The predictions, (n, 1)."""
        require_no_offset(offset)
        predictions: Array = self.learner.predict(X, answer=answer)
        return predictions[:, None]

    def freeze(self) -> LinearRegressor:
        """The steady answer as a linear regression."""
        model = LinearRegressor(self.learner.freeze().with_lanes([0]))
        model.uncertainties = [each.frozen() for each in self.uncertainties]
        return model

    @property
    def uncertainties(self) -> list[Uncertainty]:
        """How far from the truth the predictions have been, as of now."""
        return [self.learner.uncertainty]

    def _observe(self, *_: object) -> None:
        """Nothing: the experts do."""

    def predictions(self, margins: Array) -> Array:
        """The margins themselves."""
        return margins

    def losses(self, margins: npt.ArrayLike, y: npt.ArrayLike) -> Array:
        """The loss of each prediction; of counts half the deviance, which is the loss above the least possible."""
        loss: Loss = self.learner.loss
        if not isinstance(loss, Poisson):
            return np.asarray(loss.value(margins, y))
        labels = np.asarray(y, np.float64)
        return np.asarray(loss.value(np.log(margins), labels) - least_poisson_losses(labels))

    def intervals(self, margins: Array, coverage: float, answer: Answer) -> Array:
        """[lower, upper] for each of the predictions (n, 1) of events: (n, 1, 2). Those of counts hold no negative number."""
        found = super().intervals(margins, coverage, answer)
        return np.maximum(found, 0.0) if isinstance(self.learner.loss, Poisson) else found

    def new_metrics(self) -> NumberMetrics:
        """Metrics for its predictions, with no events yet."""
        return NumberMetrics(self.losses, constant=constant_of(self.learner.loss))


def _learned(learner: Any, X: Any, y: Array, asked: Sequence[Asked] | None, **how: Any) -> Array:
    """Learn from events; return the predictions: those that were given when they were asked for, unless classes have come since."""
    if asked is None:
        plain: Array = learner.learn(X, y, **how)
        return plain
    now: Array = learner.learn(X, y, asked=asked, **how)
    fits = all(each.answers.shape[1:] == now.shape[1:] for each in asked)
    return np.concatenate([each.answers for each in asked]) if fits and asked else now


def require_no_offset(offset: object) -> None:
    """Raise ValueError for an offset, which the automatic mode cannot use."""
    if offset is not None:
        raise InputError(
            "an automatic model cannot use offsets.",
            remedy=Remedy("Leave the column out, or train one linear model (choose its {loss}).", loss=None),
        )
