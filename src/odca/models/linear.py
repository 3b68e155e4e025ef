"""Linear models: a learner whose lanes are classes, labels or outputs."""

import copy
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from odca.io.model_file import ModelFile
from odca.losses import AbsoluteError, LogLoss, Poisson, Quantile, as_native
from odca.metrics import Addition, ClassMetrics, Codes, Constant, NumberMetrics, add_all
from odca.models.calibration import Calibration, Softmax, restored, sigmoid
from odca.models.classifier import Classifier, RawPredictions
from odca.models.lanes import Lanes, has_value, losses_of, require_steady
from odca.models.notes import Notes
from odca.models.one_against_rest import OneAgainstRest
from odca.models.options import Answer, numbers_first
from odca.models.progressive_scores import ProgressivelyScored
from odca.models.regressor import Regressor
from odca.models.uncertainty import Uncertainty, restore_errors, saved_errors
from odca.validation.arrays import Array, as_columns


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
        self._uncertainty = Uncertainty("classes")
        self._notes: Notes[tuple[bytes, int, bool, float, Any]] = (
            Notes()
        )  # margins, code, whether the class is new, weight, time
        self._calibration: Calibration | Softmax | None = None
        if not isinstance(learner.loss, LogLoss):
            self._calibration = Calibration(len(self.layout.lanes), learner.window.fixed)

    @property
    def calibration(self) -> Calibration | Softmax | None:
        """What turns margins into probabilities, if they are not log-odds against the rest."""
        if self._calibration is not None:
            self._settle()
        return self._calibration

    @calibration.setter
    def calibration(self, calibration: Calibration | Softmax | None) -> None:
        self._calibration = calibration

    @property
    def uncertainty(self) -> Uncertainty:
        """How unlikely the true classes were said to be."""
        self._settle()
        return self._uncertainty

    @uncertainty.setter
    def uncertainty(self, uncertainty: Uncertainty) -> None:
        self._uncertainty = uncertainty

    def saved_uncertainty(self) -> dict[str, npt.NDArray[Any]]:
        """What a file holds of it."""
        return saved_errors([self.uncertainty])

    def restore_uncertainty(self, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        """The reverse. ValueError for what `saved_uncertainty` cannot have made."""
        restore_errors([self.uncertainty], arrays)

    @property
    def needs_notes(self) -> bool:
        """Whether `note` must be called for events that are learned past this model: if there is more to it than log odds of one lane."""
        return len(self.layout.lanes) > 1 or self._calibration is not None

    def note(self, margins: bytes, code: int, weight: float, time: Any) -> None:
        """Learn calibration and uncertainty from an event that the learner has learned by itself, with others like it.

        margins: the doubles of its lanes.
        """
        is_new = self.classes[code] not in self._seen
        if is_new:
            self._seen = self._seen.union([self.classes[code]])
        self._notes.add((margins, code, is_new, weight, time), self._evaluate)

    def _settle(self) -> None:
        """Learn from all events that were noted."""
        if self._notes:
            self._notes.settle(self._evaluate)

    def _evaluate(self, noted: list[tuple[bytes, int, bool, float, Any]]) -> None:
        margins, given, are_new, weights, times = zip(*noted, strict=True)
        codes, weight = np.array(given), np.array(weights, dtype=float)
        predictions = self._calibrated(
            np.frombuffer(b"".join(margins)).reshape(len(codes), -1),
            codes,
            sample_weight=weight,
            time=None if times[0] is None else np.array(times),
        )
        known_from = None
        if any(are_new):
            known_from = np.full(len(self.classes), -1)
            known_from[codes[list(are_new)]] = np.flatnonzero(are_new)
        self._observe(predictions, codes, known_from, weight)

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
        self._settle()
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
        self.layout, self.classes, self._notes = layout, layout.classes, Notes()

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
        self, X: Any, codes: npt.NDArray[Any], *, sample_weight: Any, offset: Any, time: Any, asked: Any
    ) -> RawPredictions:
        del asked  # a linear model learns the same, whenever it was asked
        self._notes.settle(self._evaluate)
        targets = self.layout.labels(codes)
        margins = self.learner.learn(X, targets, sample_weight=sample_weight, offset=offset, time=time)
        return self._calibrated(margins, codes, sample_weight=sample_weight, time=time)

    def _calibrated(self, margins: Array, codes: npt.NDArray[Any], *, sample_weight: Any, time: Any) -> RawPredictions:
        """Margins from before events were learned, with their probabilities, from which the calibration then learns."""
        if self._calibration is None:
            return RawPredictions(margins)
        targets = self.layout.labels(codes)
        p = self._calibration.learn(margins, targets, sample_weight=sample_weight, time=time)
        return RawPredictions(margins, p)

    def _observe(
        self,
        predictions: RawPredictions,
        codes: npt.NDArray[Any],
        known_from: npt.NDArray[np.intp] | None,
        sample_weight: Array | None,
    ) -> None:
        """A class that was not known before its event had the probability 0."""
        native = self._uncertainty.native
        weights = (
            None
            if sample_weight is None
            else as_columns(sample_weight, "sample_weight", len(codes), self.learner.lanes).mean(axis=1)
        )
        for part, _, earlier in self._stretches(len(codes), known_from):
            weight = None if weights is None else weights[part]
            own, said = codes[part], predictions[part]
            is_known = known_from is None or own[0] in earlier  # the first event of a class is a stretch of its own
            if not is_known:
                native.add_probabilities(np.zeros(len(own)), weight)
            elif len(earlier) == 2 and self._calibration is None:
                native.add_log_odds(self._log_odds(said, own), weight)
            else:
                native.add_probabilities(self._p_of(said, own, earlier), weight)

    def _log_odds(self, predictions: RawPredictions, codes: npt.NDArray[Any]) -> Array:
        """Those of each event's own class, of two: its margin, whether there are two lanes by now or one."""
        scores = self.scores(predictions)
        if scores.shape[1] == 1:
            return np.where(codes == 1, 1.0, -1.0) * scores[:, 0]
        return np.ascontiguousarray(scores[np.arange(len(codes)), codes])

    def _p_of(self, predictions: RawPredictions, codes: npt.NDArray[Any], known: npt.NDArray[np.intp]) -> Array:
        """The probability of each event's own class among the known ones, with the same bits whether others have a lane by now or not."""
        if len(known) == 2:
            second = known[-1]
            p = self._p_of_lanes(predictions)[:, second if len(self.classes) > 2 else 0]
            return np.where(codes == second, p, 1.0 - p)
        return np.asarray(self._probabilities_among(predictions, known)[np.arange(len(codes)), codes])

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
        if self._calibration is not None:
            self._settle()
        return self._distribution(predictions)

    def _distribution(self, predictions: RawPredictions) -> Array:
        return self.layout.distribution(self._p_of_lanes(predictions), self.scores(predictions))

    def _p_of_lanes(self, predictions: RawPredictions) -> Array:
        if predictions.calibrated is not None:
            return np.array(self.layout.scores(predictions.calibrated))
        scores = self.scores(predictions)
        return sigmoid(scores) if self._calibration is None else self._calibration.probabilities(scores)

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
            return self._distribution(predictions)
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
        self._uncertainties = [Uncertainty("numbers") for _ in range(learner.lanes)]
        super().__init__(learner.lanes, scored=scored)

    @property
    def uncertainties(self) -> list[Uncertainty]:
        """How far from the truth the predictions of each output have been."""
        return self._uncertainties

    @uncertainties.setter
    def uncertainties(self, uncertainties: list[Uncertainty]) -> None:
        self._uncertainties = uncertainties

    def saved_uncertainty(self) -> dict[str, npt.NDArray[Any]]:
        """What a file holds of it."""
        return saved_errors(self.uncertainties)

    def restore_uncertainty(self, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        """The reverse. ValueError for what `saved_uncertainty` cannot have made."""
        restore_errors(self.uncertainties, arrays)

    def _observe(self, margins: Array, y: Array, sample_weight: Array | None) -> None:
        weights = (
            None
            if sample_weight is None
            else np.broadcast_to(as_columns(sample_weight, "sample_weight", len(y), y.shape[1]), y.shape)
        )
        predictions = self.predictions(margins)
        for output, each in enumerate(self._uncertainties):
            labels, predicted = (np.ascontiguousarray(array[:, output]) for array in (y, predictions))
            weight = None if weights is None else np.ascontiguousarray(weights[:, output])
            each.native.add_numbers(labels, predicted, weight)

    def _around(self, margins: Array, bounds: Array) -> Array:
        """Intervals of counts hold no negative number."""
        found = super()._around(margins, bounds)
        return np.maximum(found, 0.0) if isinstance(self.learner.loss, Poisson) else found

    def learn_margins(
        self, X: Any, y: Array, *, sample_weight: Any = None, offset: Any = None, time: Any = None, asked: Any = None
    ) -> Array:
        """Learn from events in order; return the margins, each from before its event was learned."""
        del asked  # a linear model learns the same, whenever it was asked
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

    def least_losses(self, y: Array) -> Array | float:
        """That of Poisson loss is at the margin log y: it may be negative."""
        return least_poisson_losses(y) if isinstance(self.learner.loss, Poisson) else 0.0

    def new_metrics(self) -> NumberMetrics:
        """Metrics for its predictions, with no events yet."""
        return NumberMetrics(
            self.losses if has_value(self.learner) else None,
            margin_is_prediction=not isinstance(self.learner.loss, Poisson),
            constant="mean" if isinstance(self.learner.loss, Poisson) else constant_of(self.learner.loss),
        )


def constant_of(loss: object) -> Constant:
    """What a model without features would predict to be judged by a loss."""
    if isinstance(loss, Poisson):
        return "positive mean"
    if isinstance(loss, AbsoluteError):
        return 0.5
    return loss.q if isinstance(loss, Quantile) else "mean"


def least_poisson_losses(y: Array) -> Array:
    """The least Poisson loss that a prediction of each label could have: that of the mean y."""
    return np.asarray(y - y * np.log(np.where(y > 0.0, y, 1.0)))
