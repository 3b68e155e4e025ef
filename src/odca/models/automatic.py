"""Automatic models: the experts behind the same interface as the linear models."""

from collections.abc import Iterable, Sequence
from typing import Any, Protocol, Self

import numpy as np
import numpy.typing as npt

from odca.errors import InputError, Remedy
from odca.losses import LogLoss, SquaredError, as_native
from odca.metrics import ClassMetrics, NumberMetrics, Row
from odca.models.calibration import Softmax
from odca.models.classifier import Classifier, Codes, RawPredictions
from odca.models.linear import Lanes, LinearClassifier, LinearRegressor
from odca.models.options import Answer
from odca.models.regressor import Regressor
from odca.validation.arrays import Array


class Experts(Protocol):
    """What a classifier needs of its experts: an `AutoLearner`, or `AutoEvents` whose rows are dictionaries."""

    @property
    def classes(self) -> int:
        """How many classes there are."""

    @property
    def count(self) -> int:
        """How many events were learned from."""

    def learn(self, X: Any, y: Array, *, sample_weight: Any = None, time: Any = None) -> Array:
        """Learn from events in order, whose labels are codes; return the answers from before."""

    def predict(self, X: Any, *, answer: Answer) -> Array:
        """The answers for events."""

    def probabilities(self, answers: Array) -> Array:
        """P(class) of each event, from the answers."""

    def declare(self, classes: int) -> None:
        """Make room for so many classes."""

    def freeze(self) -> Lanes:
        """The steady answer as a linear model; several classes are its lanes."""

    def copy(self) -> Self:
        """Independent experts in the same state."""


class ExpertClassifier(Classifier):
    """The experts of the automatic mode; their answers are log odds of two classes, log probabilities or logits of more."""

    def __init__(self, learner: Experts, classes: Iterable[Any], *, scored: bool = True) -> None:
        super().__init__(classes, scored=scored)
        self.learner = learner
        if learner.classes < len(self.classes):
            learner.declare(len(self.classes))

    def set_classes(self, classes: Sequence[Any]) -> None:
        """Have these classes, of which the present ones come first. The experts meet the others at their events."""
        assert tuple(classes)[: len(self.classes)] == self.classes
        self.classes = tuple(classes)
        declared = sum(each in self._seen for each in self.classes)
        if declared > self.learner.classes:
            self.learner = self.learner.copy()  # a call that is refused must not leave room behind
            self.learner.declare(declared)

    def _learn(
        self, X: Any, codes: npt.NDArray[Any], *, sample_weight: Array | None, offset: Any, time: Any
    ) -> RawPredictions:
        require_no_offset(offset)
        return RawPredictions(self.learner.learn(X, codes.astype(np.float64), sample_weight=sample_weight, time=time))

    def _after_an_interruption(self, classes: Sequence[Any], codes: npt.NDArray[Any]) -> None:
        """Keep the classes that the experts have met with the events before the interruption."""
        self.classes = tuple(classes)[: max(int(codes.max()) + 1, len(self.classes))]
        self._seen = self._seen.union(self.classes)

    def predict_raw(self, X: Any, *, offset: Any = None, answer: Answer = "steady") -> RawPredictions:
        """What the experts say of events."""
        require_no_offset(offset)
        return RawPredictions(self.learner.predict(X, answer=answer))

    def scores(self, answers: RawPredictions) -> Array:
        """Log odds of the second of two classes; else log probabilities, or the logits of the steady answer."""
        return answers.raw[:, None] if answers.raw.ndim == 1 else answers.raw

    def probabilities(self, answers: RawPredictions) -> Array:
        """One column for each class; the rows sum to one."""
        if len(self.classes) == 1:
            return np.ones((len(answers.raw), 1))
        p: Array = self.learner.probabilities(answers.raw)[:, : len(self.classes)]
        return p

    def freeze(self, *, spare: bool) -> LinearClassifier:
        """The steady answer as a linear classifier, with a spare lane if classes may appear later.

        The probabilities of several classes are the softmax of their margins. If it goes on learning, each class is learned against the
        rest, as by any linear classifier.
        """
        plain = self.learner.freeze()
        sources = [*range(plain.lanes), *([-1] if spare else [])]
        only_first = len(self.classes) == 1  # whose margin is the negative of that of the second
        learner = plain.with_lanes(sources, [only_first and source == 0 for source in sources])
        model = LinearClassifier(learner, self.classes, spare=spare, scored=bool(self.metrics_by_output))
        if len(self.classes) > 2:
            model.calibration = Softmax(len(sources))
        return model

    # Scoring

    def _score_margins(
        self, metrics: ClassMetrics, answers: RawPredictions, codes: Codes, weight: Array | None, features: Any
    ) -> list[Row]:
        return metrics.add_margins(
            codes, answers.raw, as_native(LogLoss()), probability=None, weight=weight, features=features
        )

    def _losses(self, answers: RawPredictions, codes: Codes, known: npt.NDArray[np.intp]) -> Array:
        """The log loss."""
        p = self._probabilities_among(answers, known)
        unknown = codes >= p.shape[1]
        own = np.where(unknown, 0.0, p[np.arange(len(codes)), np.where(unknown, 0, codes)])
        return np.asarray(-np.log(np.maximum(own, 1e-15)))

    def _probabilities_among(self, answers: RawPredictions, known: npt.NDArray[np.intp]) -> Array:
        """Of the classes known so far, which come first: whatever classes the call brings, as without them."""
        raw = answers.raw
        if raw.ndim == 2:
            raw = raw[:, : max(len(known), 2)]
        p: Array = self.learner.probabilities(raw[:, 1] - raw[:, 0] if raw.ndim == 2 == raw.shape[1] else raw)
        return p


class ExpertRegressor(Regressor):
    """The experts of the automatic mode, for numbers. Their loss is half the squared error."""

    def __init__(self, learner: Experts, *, scored: bool = True) -> None:
        self.learner = learner
        super().__init__(scored=scored)

    def learn_margins(
        self, X: Any, y: Array, *, sample_weight: Array | None = None, offset: Any = None, time: Any = None
    ) -> Array:
        """Learn from events in order; return what was predicted for each before."""
        require_no_offset(offset)
        answers: Array = self.learner.learn(X, y[:, 0], sample_weight=sample_weight, time=time)
        return answers[:, None]

    def margins(self, X: Any, *, offset: Any = None, answer: Answer = "steady") -> Array:
        """The predictions, (n, 1)."""
        require_no_offset(offset)
        answers: Array = self.learner.predict(X, answer=answer)
        return answers[:, None]

    def freeze(self) -> LinearRegressor:
        """The steady answer as a linear regression."""
        return LinearRegressor(self.learner.freeze().with_lanes([0]))

    def predictions(self, margins: Array) -> Array:
        """The margins themselves."""
        return margins

    def losses(self, margins: npt.ArrayLike, y: npt.ArrayLike) -> Array:
        """Half the squared error."""
        return np.asarray(SquaredError().value(margins, y))

    def new_metrics(self) -> NumberMetrics:
        """Metrics of its predictions, of no event yet."""
        return NumberMetrics(self.losses)


def require_no_offset(offset: object) -> None:
    """Raise ValueError for an offset, which the automatic mode cannot use."""
    if offset is not None:
        raise InputError(
            "an automatic model takes no offsets.",
            remedy=Remedy("Leave the column out, or learn one linear model (choose its {loss}).", loss=None),
        )
