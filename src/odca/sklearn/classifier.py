"""A linear classifier for scikit-learn: one lane per class, each class against the rest."""

from typing import Any, Self

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.base import ClassifierMixin
from sklearn.utils import assert_all_finite, compute_class_weight
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import check_is_fitted

from odca.io.model_file import ModelFile
from odca.learner import Learner
from odca.losses import MARGIN_LOSSES, SquaredError, as_loss
from odca.models.classifier import RawPredictions
from odca.models.linear import LinearClassifier, LinearLabels
from odca.models.options import Answer
from odca.models.turns import at_one_moment, in_turn
from odca.penalties import Penalty
from odca.sklearn.labels import (
    Encoded,
    WithClasses,
    checked_labels,
    class_weights,
    encode,
    restored_classes,
    times_class_weight,
)
from odca.sklearn.linear import LinearEstimator
from odca.validation.arrays import Array
from odca.windows import Infinite, Window

CLASSIFIERS = (*MARGIN_LOSSES, SquaredError)


class ODCAClassifier(WithClasses, ClassifierMixin, LinearEstimator):  # type: ignore[misc]
    """A linear classifier for streams and for data sets: min mean loss + ρR(w), by dual coordinate ascent.

    There is no step size, and the result does not depend on the batch size. docs/estimators.md explains the defaults.

    loss: "log_loss" (exact probabilities), "hinge", "squared_hinge", "smooth_hinge", "modified_huber", "squared_error";
        "smooth_hinge:0.5" with its parameter, or an object such as SmoothHinge(0.5).
    penalty: "l2", "elasticnet", "elasticnet:0.2", "nonnegative", "box:-1,1", or an object: ElasticNet(0.2), Box(-1, 1), ...
    rho: ρ, the strength of the penalty. "auto" is 1/n in `fit` (n is the sum of the weights: LIBLINEAR's C = 1). In `partial_fit`
        it is, of several strengths, the one that has predicted best lately.
        `odca.conversions.from_sgd` and `from_liblinear` translate alpha, l1_ratio and C.
    window: how past events are weighted: "auto" (of several memories, the one that has predicted best lately; infinite in `fit`);
        "infinite"; 0.999 (exponential forgetting); 5000 (the last 5,000 events); "36h" or
        "half-life:7d" of event time, or an object such as HalfLife(3600.0): then events need a `time`.
    smoothing: κ in [0, 1], how long predictions average over past weights; "auto" follows the window, and is 0 with
        rho="auto" or window="auto". `fit` needs none.
    fit_intercept, intercept_penalty: the intercept is penalised like a weight, times intercept_penalty.
    scale: True standardises the features with statistics that are updated with every event, under the model's own window (dense X
        is also centred); "auto" does so for dense X, and for sparse X in `partial_fit` but not in `fit`. `coef_` is always in the units
        of X.
    prior_strength: a constant strength in addition to ρΔ, which limits the first updates of a stream. "auto" is a tenth of the squared
        length of the first event in `partial_fit` with a given rho, otherwise 0.
    prior_mean, penalty_weights: as for `odca.Learner`.
    class_weight: a dictionary of weights by class, or (for `fit`) "balanced".
    tol, max_iter: `fit` ends when the duality gap is at most `tol` times the objective before learning, or after `max_iter` passes.
    shuffle, random_state: the order in which `fit` visits the events. `partial_fit` takes them as they come.
    new_classes: "learn" allows classes that appear in the middle of a stream; their models are the same, to the bit, as if they had
        been declared at the start. "error" refuses them, and is faster for two classes.
    new_features: "error" refuses X with other columns, as scikit-learn requires; "learn" accepts wider X, and matches the columns of
        data frames by their names.

    `progress_` holds the mean loss and the accuracy of the predictions that `partial_fit` made before learning from each event.
    """

    kind = "sklearn.ODCAClassifier"
    _task = "classes"
    _model: LinearClassifier | LinearLabels

    def __init__(
        self,
        loss: object = "log_loss",
        *,
        penalty: Penalty | str = "l2",
        rho: float | str = "auto",
        window: Window | str | float = "auto",
        smoothing: float | str = "auto",
        fit_intercept: bool = True,
        intercept_penalty: float = 1.0,
        scale: bool | str = "auto",
        prior_strength: float | str = "auto",
        prior_mean: npt.ArrayLike | None = None,
        penalty_weights: npt.ArrayLike | None = None,
        class_weight: dict[Any, float] | str | None = None,
        tol: float = 1e-4,
        max_iter: int = 1000,
        shuffle: bool = True,
        random_state: Any = None,
        new_classes: str = "learn",
        new_features: str = "error",
    ) -> None:
        self._store(locals())

    @in_turn
    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: npt.ArrayLike | None = None,
        offset: npt.ArrayLike | None = None,
        time: npt.ArrayLike | None = None,
    ) -> Self:
        """Discard what was learned and solve the problem of these events, to a certified duality gap."""
        self._check_options()
        X, y = self._checked(X, reset=True), self._checked_labels(X, y)
        for name in ("_model", "_class_dtype"):
            self.__dict__.pop(name, None)
        weight = self._weights(sample_weight, X, online=False)
        classes: list[Any] | None = None
        if y.ndim == 2:
            targets = np.where(y > 0, 1.0, -1.0)
        else:
            classes = np.unique(y).tolist()
            codes = np.searchsorted(np.unique(y), y)
            targets = LinearClassifier.targets(classes, codes, spare=False)
            weight = self._weights_by_class(weight, classes, codes, y)
            self._note_dtype(y)
        offsets = self._offsets_for(offset, targets.shape[1], classes)
        learner = self._solved(X, targets, weight, offsets, time)
        self._model = LinearLabels(learner) if classes is None else LinearClassifier(learner, classes, spare=False)
        if self._model.calibration is not None:
            self._calibrate(self.learner_.predict(X, offset=offsets), targets, weight, time)
        return self

    @in_turn
    def partial_fit(
        self,
        X: Any,
        y: Any,
        classes: npt.ArrayLike | None = None,
        sample_weight: npt.ArrayLike | None = None,
        offset: npt.ArrayLike | None = None,
        time: npt.ArrayLike | None = None,
    ) -> Self:
        """Learn from these events, each once, in order. `classes` may declare classes that have not appeared yet."""
        self._check_options()
        if self.class_weight == "balanced":
            raise ValueError(
                "class_weight='balanced' needs all events at once: use fit, or give the weights of the classes."
            )
        first = not hasattr(self, "learner_")
        if not first:
            self._require_unchanged_options()
        X, y = self._checked(X, reset=first), self._checked_labels(X, y)
        weight = self._weights(sample_weight, X, online=True)
        if y.ndim == 2:
            self._learn_labels(X, y, weight, offset, time, first=first)
        else:
            self._learn_classes(X, y, classes, weight, offset, time, first=first)
        self.__dict__.pop("fit_gap_", None)
        return self

    def _learn_labels(
        self, X: Any, y: npt.NDArray[Any], weight: Array | None, offset: Any, time: Any, *, first: bool
    ) -> None:
        """Learn events that can have several labels. Their lanes never change."""
        targets = np.where(y > 0, 1.0, -1.0)
        if first:
            self._model = LinearLabels(self._new_learner(X, targets, online=True))
        if not isinstance(self._model, LinearLabels) or y.shape[1] != self.learner_.lanes:
            raise ValueError(f"y has {y.shape[1]} labels per event; the model was created with other targets.")
        offsets = self._offsets_for(offset, targets.shape[1], None)
        self._model.learn(X, targets, sample_weight=weight, offset=offsets, time=time)

    def _learn_classes(
        self,
        X: Any,
        y: npt.NDArray[Any],
        declared: Any,
        weight: Array | None,
        offset: Any,
        time: Any,
        *,
        first: bool,
    ) -> None:
        known = () if first else self._model_of_classes().classes
        labels = encode(y, known, declared, sort_two=True)
        self._require_expected(labels, declared, first=first)
        self._note_dtype(y, declared)
        weight = self._weights_by_class(weight, labels.classes, labels.codes, y)
        spare = self.new_classes == "learn"
        if first:
            targets = LinearClassifier.targets(labels.classes, labels.codes[:1], spare=spare)
            learner = self._new_learner(X, targets, online=True)
            self._model = LinearClassifier(learner, labels.classes, spare=spare, seen=())
        model = self._model_of_classes()
        model.spare = spare
        lanes = LinearClassifier.lanes(labels.classes, spare=spare)
        model.learn(
            X,
            labels.codes,
            labels.classes,
            declared=labels.declared,
            sample_weight=weight,
            offset=self._offsets_for(offset, lanes, labels.classes),
            time=time,
        )

    def _model_of_classes(self) -> LinearClassifier:
        if not isinstance(self._model, LinearClassifier):
            raise ValueError("the model was created with several labels per event; y must be an indicator matrix.")  # noqa: TRY004 - y's fault
        return self._model

    @property
    def progress_(self) -> Any:
        """How well `partial_fit` predicted each event before learning from it: `odca.metrics.ClassMetrics`.

        With several labels per event, a list with the metrics of each label.
        """
        check_is_fitted(self)
        return self._model.metrics_by_output if self._is_multilabel() else self._model.metrics

    @property
    @at_one_moment
    def classes_(self) -> npt.NDArray[Any]:
        """The classes, sorted; with several labels per event, the numbers of the labels."""
        if "_model" in self.__dict__ and self._is_multilabel():
            return np.arange(self.learner_.lanes)
        return super().classes_

    @at_one_moment
    def decision_function(self, X: Any, offset: npt.ArrayLike | None = None) -> Array:
        """The margins: that of the second class if there are two, otherwise one column per class or label."""
        predictions = self._predict_raw(X, offset)
        return (
            predictions.raw
            if isinstance(self._model, LinearLabels)
            else self._by_class(self._model.scores(predictions))
        )

    @at_one_moment
    def predict(self, X: Any, offset: npt.ArrayLike | None = None) -> npt.NDArray[Any]:
        """The class of each event, or its labels as zeros and ones."""
        margins = self.decision_function(X, offset)
        return (margins > 0).astype(int) if self._is_multilabel() else self._chosen(margins)

    @at_one_moment
    def predict_proba(self, X: Any, offset: npt.ArrayLike | None = None) -> Array:
        """P(class) of each event, with one column per class; or P(label), with one column per label.

        For log loss the probabilities are those of the model (with several classes: one against the rest, normalised). For other losses
        they are calibrated on the margins of past events, each from before the event was learned.
        """
        predictions = self._predict_raw(X, offset)
        p = self._model.probabilities(predictions)
        return p if self._is_multilabel() else p[:, self._columns()]

    def predict_log_proba(self, X: Any, offset: npt.ArrayLike | None = None) -> Array:
        """The logarithms of `predict_proba`."""
        with np.errstate(divide="ignore"):
            logarithms: Array = np.log(self.predict_proba(X, offset))
        return logarithms

    @at_one_moment
    def predict_set(
        self, X: Any, coverage: float = 0.9, offset: npt.ArrayLike | None = None, *, answer: Answer = "steady"
    ) -> npt.NDArray[np.bool_]:
        """Which classes belong to the set of each event, (n, classes) in the order of `classes_`: a share of `coverage` holds the label.

        answer: "steady" if no labels are coming in, "live" if those of the events before were learned. docs/intervals.md says what is
        promised. All classes while too few events were learned; none where a model that is right more often than `coverage` is unsure.
        """
        predictions = self._predict_raw(X, offset)
        if isinstance(self._model, LinearLabels):
            raise ValueError("a set holds one class; this model has several labels per event.")  # noqa: TRY004 - the model's fault
        return self._model.sets(predictions, coverage, answer)[:, self._columns()]

    # Files

    def _contents(self) -> ModelFile:
        """The contents of the classifier's model file."""
        saved = super()._contents()
        classes = {"values": self.classes_.tolist(), "dtype": self.classes_.dtype.str, "spare": None}
        if isinstance(self._model, LinearClassifier):
            classes = {**self._saved_classes(), "spare": self._model.layout.spare}
            saved.arrays.update(self._model.saved_uncertainty())
        saved.options["classes"] = classes
        if self._model.calibration is not None:
            saved.parts["calibration"] = self._model.calibration.saved()
        return saved

    def _restore_model(self, learner: Learner, saved: ModelFile) -> None:
        classes = saved.options["classes"]
        labels, dtype = restored_classes(classes["values"], classes["dtype"])
        if classes["spare"] is None:
            self._model = LinearLabels(learner)
        else:
            self._class_dtype = dtype
            self._model = LinearClassifier(learner, labels, spare=bool(classes["spare"]))
        self._model.restore_calibration(saved.parts)
        if isinstance(self._model, LinearClassifier):
            self._model.require_consistent()
            self._model.restore_uncertainty(saved.arrays)
        elif learner.lanes != len(labels) or (
            self._model.calibration is not None and len(self._model.calibration) != len(labels)
        ):
            raise ValueError("its classes are not those of its learner.")

    # Helpers

    def _predict_raw(self, X: Any, offset: npt.ArrayLike | None) -> RawPredictions:
        X = self._checked_for_prediction(X)
        classes = None if isinstance(self._model, LinearLabels) else self._model.classes
        return self._model.predict_raw(X, offset=self._offsets_for(offset, self.learner_.lanes, classes))

    def _calibrate(self, margins: Array, targets: Array, weight: Array | None, time: Any) -> None:
        """Learn probabilities from the margins of a solution: in random order if the window is infinite, as X may be sorted by label."""
        order = np.arange(len(targets))
        if isinstance(self.learner_.window, Infinite):
            order = np.random.default_rng(0).permutation(len(targets))
        self._model.calibrate(
            margins[order],
            targets[order],
            sample_weight=None if weight is None else weight[order],
            time=None if time is None else np.asarray(time)[order],
        )

    def _check_options(self) -> None:
        loss = as_loss(self.loss)
        if type(loss).__module__ == "odca.losses" and not isinstance(loss, CLASSIFIERS):
            names = ", ".join(kind.name for kind in CLASSIFIERS)
            raise ValueError(f"a classifier takes one of the losses {names}; got {self.loss!r}.")
        if (
            self.class_weight is not None
            and self.class_weight != "balanced"
            and not isinstance(self.class_weight, dict)
        ):
            raise ValueError(f"class_weight must be a dictionary, 'balanced' or None; got {self.class_weight!r}.")
        if self.new_classes not in ("learn", "error"):
            raise ValueError(f"new_classes must be 'learn' or 'error'; got {self.new_classes!r}.")

    def _checked_labels(self, X: Any, y: Any) -> npt.NDArray[Any]:
        self._require_labels(X, y)
        if not sp.issparse(y):
            assert_all_finite(np.asarray(y), input_name="y")
        if sp.issparse(y) or type_of_target(y, raise_unknown=True) == "multilabel-indicator":
            if self.class_weight is not None:
                raise ValueError(
                    "class_weight is for one class per event; here y has several labels. Use sample_weight."
                )
            return np.asarray(y.toarray() if sp.issparse(y) else y)
        return checked_labels(y)

    def _is_multilabel(self) -> bool:
        return isinstance(self._model, LinearLabels)

    def _lanes(self) -> list[int]:
        if self._is_multilabel():
            return list(range(self.learner_.lanes))
        columns = self._columns()
        return columns if len(columns) > 2 else [0]

    def _offsets_for(self, offset: npt.ArrayLike | None, lanes: int, classes: Any) -> Array | None:
        """Offsets for every lane, from one number per event if there are two classes, otherwise one per class (sorted) or label."""
        if offset is None:
            return None
        given = np.asarray(offset, dtype=np.float64)
        owners = lanes if classes is None else len(classes) if len(classes) > 2 else 1
        columns = given.reshape(len(given), -1) if given.ndim in {1, 2} else given
        if columns.ndim != 2 or columns.shape[1] != owners:
            wanted = "(n,)" if owners == 1 else f"(n, {owners}), one for each class or label"
            raise ValueError(f"offset must have shape {wanted}; got {given.shape}.")
        if classes is not None and owners > 1:
            columns = columns[:, [sorted(classes).index(label) for label in classes]]
        return np.hstack([columns, np.zeros((len(columns), lanes - owners))])

    def _require_expected(self, labels: Encoded, declared: Any, *, first: bool) -> None:
        """Raise ValueError for a new class if new_classes is "error"."""
        if self.new_classes == "error" and labels.new and not (first and declared is None):
            known = sorted(label for label in labels.classes if label not in labels.new)
            raise ValueError(
                f"y holds {sorted(labels.new)}, which is not among the classes {known}. "
                "Declare it in the first call (classes=...), or set new_classes='learn'."
            )

    def _weights_by_class(self, weight: Array | None, classes: list[Any], codes: Any, y: Any) -> Array | None:
        if self.class_weight is None:
            return weight
        if isinstance(self.class_weight, dict):
            by_class = class_weights(self.class_weight, classes)
        else:
            by_class = compute_class_weight(self.class_weight, classes=np.array(classes), y=y)
        return times_class_weight(weight, by_class[codes])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags
