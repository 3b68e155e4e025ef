"""A classifier: one against the rest, in lanes."""

from typing import Any, Self

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.base import ClassifierMixin
from sklearn.utils import assert_all_finite, compute_class_weight
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import column_or_1d

from odca.io.model_file import ModelFile
from odca.learner import Learner
from odca.losses import MARGIN_LOSSES, LogLoss, SquaredError
from odca.metrics.progress import Progress
from odca.models.calibration import Calibration, sigmoid
from odca.models.classes import OneAgainstRest, rearranged
from odca.names import as_loss, as_penalty, prior_strength_for
from odca.penalties import Penalty
from odca.sklearn.base import Estimator
from odca.sklearn.columns import all_or_nothing
from odca.validation.arrays import Array
from odca.windows import Infinite, Window

CLASSIFIERS = (*MARGIN_LOSSES, SquaredError)


class ODCAClassifier(ClassifierMixin, Estimator):  # type: ignore[misc]
    """A linear classifier for streams and for data sets: min mean loss + ρR(w), by dual coordinate ascent.

    No step size, any of several windows, exact at any batch size. docs/estimators.md says why the defaults are what they are.

    loss: "log_loss" (exact probabilities), "hinge", "squared_hinge", "smooth_hinge", "modified_huber", "squared_error";
        "smooth_hinge:0.5" with its parameter, or an object such as SmoothHinge(0.5).
    penalty: "l2", "elasticnet", "elasticnet:0.2", "nonnegative", "box:-1,1", or an object: ElasticNet(0.2), Box(-1, 1), ...
    rho: ρ, the strength of the penalty. "auto" is 1/n in `fit` (n the sum of the weights: LIBLINEAR's C = 1) and 1e-5 in `partial_fit`.
        `odca.names.from_sgd` and `from_liblinear` translate alpha, l1_ratio and C.
    window: how the past counts: "infinite"; 0.999 (exponential forgetting); 5000 (the last 5,000 events); "36h" or
        "half-life:7d" of event time, or an object such as HalfLife(3600.0): then events need a `time`.
    smoothing: κ in [0, 1], how long predictions average over past weights; "auto" follows the window. `fit` needs none.
    fit_intercept, intercept_penalty: the intercept is penalised like a weight, times intercept_penalty.
    scale: True standardises the features as they come, under the model's own window (centred where X is dense); "auto" does so
        for dense X and leaves sparse X as it is. Weights are always shown in the units of X.
    prior_strength: a constant strength beside ρΔ, which restrains the first events of a stream. "auto" takes a tenth of the squared
        length of the first event in `partial_fit`, and none in `fit`.
    prior_mean, penalty_weights: as for `odca.Learner`.
    class_weight: a dictionary of weights by class, or (for `fit`) "balanced".
    tol, max_iter: `fit` ends when the duality gap is at most `tol` times the objective before learning, or after `max_iter` passes.
    shuffle, random_state: the order in which `fit` visits the events. `partial_fit` takes them as they come.
    new_classes: "learn" gives a class that appears in the middle of a stream a model that ends bit for bit as if the class
        had been declared at the start; "error" refuses it, and is faster for two classes.
    new_features: "error" refuses X with other columns, as scikit-learn asks; "learn" takes wider X as it comes, and columns
        of data frames by their names.

    `progress_` holds the mean loss and the accuracy of the predictions that `partial_fit` made before learning from each event.
    """

    kind = "sklearn.ODCAClassifier"

    def __init__(
        self,
        loss: object = "log_loss",
        *,
        penalty: Penalty | str = "l2",
        rho: float | str = "auto",
        window: Window | str | float = "infinite",
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
        super().__init__(
            loss=loss,
            penalty=penalty,
            rho=rho,
            window=window,
            smoothing=smoothing,
            fit_intercept=fit_intercept,
            intercept_penalty=intercept_penalty,
            scale=scale,
            prior_strength=prior_strength,
            prior_mean=prior_mean,
            penalty_weights=penalty_weights,
            tol=tol,
            max_iter=max_iter,
            shuffle=shuffle,
            random_state=random_state,
            new_features=new_features,
        )
        self.class_weight = class_weight
        self.new_classes = new_classes

    @all_or_nothing
    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: npt.ArrayLike | None = None,
        offset: npt.ArrayLike | None = None,
        time: npt.ArrayLike | None = None,
    ) -> Self:
        """Solve the problem of these events to a duality gap; what was learned before is forgotten."""
        self._check_options()
        X, y = self._checked(X, reset=True), self._checked_labels(X, y)
        for name in ("_layout", "classes_", "calibration_", "progress_"):
            self.__dict__.pop(name, None)
        weight = self._weights(sample_weight, X, online=False)
        if y.ndim == 2:
            self.classes_ = np.arange(y.shape[1])
            labels = np.where(y > 0, 1.0, -1.0)
        else:
            self.classes_, codes = np.unique(y, return_inverse=True)
            self._layout = OneAgainstRest(tuple(self.classes_.tolist()), spare=False)
            labels = self._layout.labels(codes)
            weight = self._by_class(weight, codes, y)
        offsets = self._offsets_for(offset, labels.shape[1])
        self._solve(X, labels, weight, offsets, time)
        if not isinstance(as_loss(self.loss), LogLoss):
            self._calibrate(self.learner_.predict(X, offset=offsets), labels, weight, time)
        return self

    @all_or_nothing
    def partial_fit(
        self,
        X: Any,
        y: Any,
        classes: npt.ArrayLike | None = None,
        sample_weight: npt.ArrayLike | None = None,
        offset: npt.ArrayLike | None = None,
        time: npt.ArrayLike | None = None,
    ) -> Self:
        """Learn from these events, each once, in order. `classes` may name classes that have not come yet."""
        self._check_options()
        if self.class_weight == "balanced":
            raise ValueError("class_weight='balanced' needs all events at once: use fit, or give the weights by class.")
        first = not hasattr(self, "learner_")
        if not first:
            self._require_unchanged_options()
        X, y = self._checked(X, reset=first), self._checked_labels(X, y)
        weight = self._weights(sample_weight, X, online=True)
        if y.ndim == 2:
            labels, learner = self._labelled_lanes(X, y, first=first), self.learner_
            margins = self._learn(learner, X, labels, weight, offset, time)
            hits = ((margins > 0) == (labels > 0)).mean(axis=1)
            self.progress_.add(self._losses(margins, labels).mean(axis=1), hits, weight)
            return self
        if not first and self._is_multilabel():
            raise ValueError("this model was begun with several labels per event; y must be an indicator matrix.")
        seen = () if first else self._layout.classes
        learner, codes = self._with_classes(X, y, classes, first=first)
        weight = self._by_class(weight, codes, y)
        labels = self._layout.labels(codes)
        margins = self._learn(learner, X, labels, weight, offset, time)
        self._judge(margins, codes, seen if classes is None else self._layout.classes, weight)
        return self

    def decision_function(self, X: Any, offset: npt.ArrayLike | None = None) -> Array:
        """The margins: of the second class where there are two, else one column for each class or label."""
        margins = self._shown(self._margins(X, offset).T).T
        return margins if self._is_multilabel() or len(self.classes_) > 2 else margins[:, 0]

    def predict(self, X: Any, offset: npt.ArrayLike | None = None) -> npt.NDArray[Any]:
        """The class of each event, or its labels as zeros and ones."""
        margins = self.decision_function(X, offset)
        if self._is_multilabel():
            return (margins > 0).astype(int)
        if len(self.classes_) == 1:
            return np.repeat(self.classes_, len(margins))
        chosen = (margins > 0).astype(int) if margins.ndim == 1 else margins.argmax(axis=1)
        return np.asarray(self.classes_[chosen])

    def predict_proba(self, X: Any, offset: npt.ArrayLike | None = None) -> Array:
        """P(class) of each event, one column for each class; P(label) of each label.

        Exact for log loss (several classes: one against the rest, normalised). For other losses by the map that was learned from
        the scores of events before they were learned.
        """
        margins = self._shown(self._margins(X, offset).T).T
        calibrated = hasattr(self, "calibration_")
        p = self.calibration_.probabilities(margins) if calibrated else sigmoid(margins)
        return p if self._is_multilabel() else self._layout.distribution(p, margins)

    def predict_log_proba(self, X: Any, offset: npt.ArrayLike | None = None) -> Array:
        """The logarithms of `predict_proba`."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X, offset))

    # Files

    def saved(self) -> ModelFile:
        """What a file holds of the classifier."""
        saved = super().saved()
        spare = None if self._is_multilabel() else self._layout.spare
        saved.options["classes"] = {"values": self.classes_.tolist(), "dtype": self.classes_.dtype.str, "spare": spare}
        if "calibration_" in self.__dict__:
            saved.parts["calibration"] = self.calibration_.saved()
        return saved

    @classmethod
    def restored(cls, saved: ModelFile, loss: object = None) -> Self:
        """Return the classifier that a file holds. ValueError (or the like) if it holds none."""
        estimator = super().restored(saved, loss)
        classes = saved.options["classes"]
        estimator.classes_ = restored_classes(classes["values"], classes["dtype"])
        lanes = len(estimator.classes_)
        if classes["spare"] is not None:
            estimator._layout = OneAgainstRest(tuple(estimator.classes_.tolist()), bool(classes["spare"]))
            lanes = len(estimator._layout.lanes)
        if "calibration" in saved.parts:
            estimator.calibration_ = Calibration.restored(saved.parts["calibration"])
        if estimator.learner_.lanes != lanes or len(getattr(estimator, "calibration_", range(lanes))) != lanes:
            raise ValueError("its classes are not those of its learner.")
        return estimator

    # Helpers

    def _calibrate(self, margins: Array, labels: Array, weight: Array | None, time: Any) -> None:
        """Learn probabilities from the margins of a solution. Where nothing fades, in any order but perhaps a sorted one."""
        self.calibration_ = Calibration(labels.shape[1], self.learner_.window)
        order = np.arange(len(labels))
        if isinstance(self.learner_.window, Infinite):
            order = np.random.default_rng(0).permutation(len(labels))
        self.calibration_.learn(
            margins[order],
            labels[order],
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
        check_classification_targets(y)
        if type_of_target(y, raise_unknown=True) == "multilabel-indicator":
            if self.class_weight is not None:
                raise ValueError(
                    "class_weight is for one class per event; here y has several labels. Use sample_weight."
                )
            return np.asarray(y.toarray() if sp.issparse(y) else y)
        return np.asarray(column_or_1d(y, warn=True))

    def _is_multilabel(self) -> bool:
        return "_layout" not in self.__dict__

    def _n_shown(self) -> int:
        if self._is_multilabel():
            return len(self.classes_)
        return self.learner_.lanes - self._layout.spare

    def _labelled_lanes(self, X: Any, y: npt.NDArray[Any], *, first: bool) -> Array:
        """The labels of a multilabel problem, whose lanes never change."""
        if first:
            self.classes_ = np.arange(y.shape[1])
            self._begin(X, np.where(y > 0, 1.0, -1.0))
        if not self._is_multilabel() or y.shape[1] != len(self.classes_):
            raise ValueError(f"y has {y.shape[1]} labels per event; this model was begun with other targets.")
        return np.where(y > 0, 1.0, -1.0)

    def _begin(self, X: Any, labels: Array) -> None:
        self.learner_ = self._new_learner(X, labels, online=True)
        self.progress_ = Progress()
        if not isinstance(as_loss(self.loss), LogLoss):
            self.calibration_ = Calibration(labels.shape[1], self.learner_.window)

    def _automatic_strength(self, X: Any, *, scale: bool) -> float:
        first = X[[0]]
        if not scale:
            return prior_strength_for(float((first.multiply(first) if sp.issparse(X) else first * first).sum()))
        return prior_strength_for(float(first.nnz if sp.issparse(X) else X.shape[1]))  # each scaled to about one

    def _offsets_for(self, offset: npt.ArrayLike | None, lanes: int) -> Array | None:
        """Offsets for every lane: one number where there are two classes, else one for each class or label."""
        if offset is None:
            return None
        given = np.asarray(offset, dtype=np.float64)
        owners = len(self.classes_) if self._is_multilabel() or len(self.classes_) > 2 else 1
        columns = given.reshape(len(given), -1) if given.ndim in {1, 2} else given
        if columns.ndim != 2 or columns.shape[1] != owners:
            wanted = "(n,)" if owners == 1 else f"(n, {owners}), one for each class or label"
            raise ValueError(f"offset must have shape {wanted}; got {given.shape}.")
        return np.hstack([columns, np.zeros((len(columns), lanes - owners))])

    def _with_classes(self, X: Any, y: npt.NDArray[Any], classes: Any, *, first: bool) -> tuple[Learner, Any]:
        """A learner that has a lane for every class, and the classes of the events by number."""
        found = np.unique(y)
        known = found[:0] if first else self.classes_
        declared = found[:0] if classes is None else np.unique(np.asarray(classes))
        new = np.setdiff1d(found, np.union1d(known, declared))
        if self.new_classes == "error" and len(new) and not (first and classes is None):
            raise ValueError(
                f"y holds {new.tolist()}, which is not among the classes {np.union1d(known, declared).tolist()}. "
                "Declare it in the first call (classes=...), or set new_classes='learn'."
            )
        every = found if first and classes is None else np.union1d(np.union1d(known, declared), new)
        if not set(known.tolist()) <= set(every.tolist()):
            raise ValueError(
                f"y holds {new.tolist()}, but the classes so far are {known.tolist()}: labels must be of one type."
            )
        spare = self.new_classes == "learn"
        if first:
            self._layout = OneAgainstRest(tuple(every.tolist()), spare)
            self._begin(X, self._layout.labels(np.searchsorted(every, y)))
        else:
            self._rearrange(every, spare=spare)
        self.classes_ = every
        return self.learner_, np.searchsorted(every, y)

    def _rearrange(self, classes: npt.NDArray[Any], *, spare: bool) -> None:
        self.__dict__.setdefault("progress_", Progress())
        if classes.tolist() == list(self._layout.classes) and spare == self._layout.spare:
            return
        self._layout, sources, mirrored = self._layout.become(classes.tolist(), spare=spare)
        if any(mirrored) and not as_penalty(self.penalty).is_symmetric:
            raise ValueError(
                f"a third class cannot join two under {self.penalty!r}, which treats the signs of weights differently. "
                "Name all classes in the first call: partial_fit(X, y, classes=[...])."
            )
        self.learner_ = rearranged(self.learner_, sources, mirrored)
        if "calibration_" in self.__dict__:
            self.calibration_ = self.calibration_.rearranged(sources, mirrored)

    def _learn(self, learner: Learner, X: Any, labels: Array, weight: Array | None, offset: Any, time: Any) -> Array:
        offsets = self._offsets_for(offset, labels.shape[1])
        margins: Array = learner.learn(X, labels, sample_weight=weight, offset=offsets, time=time)
        if "calibration_" in self.__dict__:
            self.calibration_.learn(margins, labels, sample_weight=weight, time=time)
        self.__dict__.pop("fit_gap_", None)
        return margins

    def _judge(self, margins: Array, codes: Any, seen: tuple[Any, ...], weight: Array | None) -> None:
        """Count how well the events were predicted, among the classes that had been seen or declared by then."""
        scores = self._layout.scores(margins)
        if len(self.classes_) == 2:
            scores = np.hstack([-scores, scores])
        first = np.full(len(self.classes_), len(codes))
        np.minimum.at(first, codes, np.arange(len(codes)))
        first[np.isin(self.classes_, np.array(seen))] = -1
        known = np.arange(len(codes))[:, None] > first
        chosen = np.where(known, scores, -np.inf).argmax(axis=1)
        own = scores[np.arange(len(codes)), codes]
        hits = (chosen == codes) & known.any(axis=1)
        self.progress_.add(self._losses(own, np.ones(len(own))), hits.astype(float), weight)

    def _by_class(self, weight: Array | None, codes: Any, y: Any) -> Array | None:
        if self.class_weight is None:
            return weight
        if isinstance(self.class_weight, dict):  # a class without a weight, or yet to come, weighs 1
            by_class = np.array([float(self.class_weight.get(each, 1.0)) for each in self.classes_.tolist()])
        else:
            by_class = compute_class_weight(self.class_weight, classes=self.classes_, y=y)
        of_class: Array = by_class[codes]
        return of_class if weight is None else weight * of_class

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags


def restored_classes(values: tuple[Any, ...], name: str) -> npt.NDArray[Any]:
    """The classes of a file: sorted, each once, of a type that takes no more memory than they do."""
    dtype = np.dtype(name)
    if dtype.kind not in "biufUO" or (dtype.kind == "O" and not all(isinstance(each, str) for each in values)):
        raise ValueError(f"classes of type {dtype} are not among those that it can hold.")
    classes = np.array(values) if dtype.kind == "U" else np.array(values, dtype=dtype)
    if classes.ndim != 1 or not len(classes) or classes.tolist() != sorted(set(classes.tolist())):
        raise ValueError("its classes are not in order.")
    return classes
