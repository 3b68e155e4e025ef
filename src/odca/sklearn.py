"""Estimators for scikit-learn: `ODCAClassifier` and `ODCARegressor`.

`partial_fit` is O-DCA: each event once, in order. `fit` is O-DCA and then S-DCA, pass after pass, until the duality gap says
that no weights can be better by more than `tol`.
"""

import functools
import warnings
from collections.abc import Callable
from typing import Any, ParamSpec, Self, TypeVar

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_array, check_random_state, compute_class_weight
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import (
    _check_feature_names,
    _check_sample_weight,
    check_consistent_length,
    check_is_fitted,
    column_or_1d,
    validate_data,
)

from odca.calibration import Calibration, sigmoid
from odca.classes import OneAgainstRest, rearranged
from odca.inputs import Array
from odca.learner import Learner
from odca.losses import Hinge, LogLoss, ModifiedHuber, Poisson, SmoothHinge, SquaredError, SquaredHinge
from odca.names import as_loss, as_penalty, as_window, smoothing_for
from odca.penalties import KL, Penalty
from odca.progress import Progress
from odca.windows import Window

FORM: dict[str, Any] = {"accept_sparse": "csr", "dtype": [np.float64, np.float32], "accept_large_sparse": True}
MARGIN_LOSSES = (LogLoss, Hinge, SquaredHinge, SmoothHinge, ModifiedHuber, SquaredError)

P = ParamSpec("P")
R = TypeVar("R")


def _all_or_nothing(method: Callable[P, R]) -> Callable[P, R]:
    """A call that is refused leaves the estimator as it was. (What a learner learns, it learns in whole calls.)"""

    @functools.wraps(method)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        estimator: Any = args[0]
        before = dict(estimator.__dict__)
        try:
            return method(*args, **kwargs)
        except ValueError:
            estimator.__dict__ = before
            raise

    return call


class _Estimator(BaseEstimator):  # type: ignore[misc] # scikit-learn ships no annotations
    """What classifier and regressor share. Their lanes are classes, labels or outputs."""

    learner_: Learner

    def __init__(  # the parameters are explained where they are public
        self,
        *,
        loss: object,
        penalty: Penalty | str = "l2",
        rho: float = 1e-5,
        window: Window | str | float = "infinite",
        smoothing: float | str = "auto",
        fit_intercept: bool = True,
        intercept_penalty: float = 1.0,
        scale: bool | str = "auto",
        prior_strength: float = 0.0,
        prior_mean: npt.ArrayLike | None = None,
        penalty_weights: npt.ArrayLike | None = None,
        tol: float = 1e-4,
        max_iter: int = 1000,
        shuffle: bool = True,
        random_state: Any = None,
        new_features: str = "error",
    ) -> None:
        self.loss = loss
        self.penalty = penalty
        self.rho = rho
        self.window = window
        self.smoothing = smoothing
        self.fit_intercept = fit_intercept
        self.intercept_penalty = intercept_penalty
        self.scale = scale
        self.prior_strength = prior_strength
        self.prior_mean = prior_mean
        self.penalty_weights = penalty_weights
        self.tol = tol
        self.max_iter = max_iter
        self.shuffle = shuffle
        self.random_state = random_state
        self.new_features = new_features

    # What was learned

    @property
    def coef_(self) -> Any:
        """The weights that `predict` uses, in the units of X."""
        check_is_fitted(self)
        weights = self._shown(np.atleast_2d(self.learner_.smoothed_coef))
        return sp.csr_array(np.atleast_2d(weights)) if self.__dict__.get("_sparse_coef") else weights

    @property
    def intercept_(self) -> Array:
        """The constant that `predict` adds."""
        check_is_fitted(self)
        return np.atleast_1d(self.learner_.smoothed_intercept)[: self._n_shown()]

    @property
    def dual_objective_(self) -> float | Array:
        """A certified lower bound on the objective that any weights reach, per class or output."""
        check_is_fitted(self)
        return _scalar(np.atleast_1d(self.learner_.dual_objective())[: self._n_shown()])

    @property
    def duality_gap_(self) -> float | Array:
        """How far the weights can be from the best: after `fit`, and at any time under a sliding window."""
        check_is_fitted(self)
        if "fit_gap_" in self.__dict__:
            return _scalar(self.fit_gap_)
        try:
            return _scalar(np.atleast_1d(self.learner_.duality_gap())[: self._n_shown()])
        except ValueError as error:
            raise AttributeError(f"duality_gap_ is known after fit, or under a sliding window: {error}") from error

    def sparsify(self) -> Self:
        """Show `coef_` as a sparse array from now on: for many features under an elastic net."""
        check_is_fitted(self)
        self._sparse_coef = True
        return self

    def densify(self) -> Self:
        """Show `coef_` as a dense array again."""
        check_is_fitted(self)
        self._sparse_coef = False
        return self

    def _n_shown(self) -> int:
        """How many of the lanes are the user's."""
        raise NotImplementedError

    def _shown(self, weights: Array) -> Array:
        return weights[: self._n_shown()]

    # Learning

    def _new_learner(self, lanes: int, X: Any) -> Learner:
        penalty, window = as_penalty(self.penalty), as_window(self.window)
        kl = isinstance(penalty, KL)
        if self.scale not in ("auto", True, False):
            raise ValueError(f"scale must be 'auto', True or False; got {self.scale!r}.")
        automatic = not sp.issparse(X) and not kl and self.prior_mean is None
        return Learner(
            loss=as_loss(self.loss),
            penalty=penalty,
            rho=self.rho,
            window=window,
            smoothing=smoothing_for(window) if self.smoothing == "auto" else self.smoothing,  # type: ignore[arg-type]
            prior_strength=self.prior_strength,
            prior_mean=self.prior_mean,
            penalty_weights=self.penalty_weights,
            intercept=self.fit_intercept,
            intercept_penalty=self.intercept_penalty if self.fit_intercept else 1.0,
            scale=automatic if self.scale == "auto" else bool(self.scale),
            lanes=lanes,
            n_features=X.shape[1] if kl and penalty.prior is None else None,
        )

    def _solve(self, X: Any, labels: Array, weight: Array | None, offset: Any, time: Any) -> Array:
        """Fit a new learner; return the margins of its first pass, each from before the event was learned."""
        learner = self._new_learner(labels.shape[1], X)
        seed = int(check_random_state(self.random_state).randint(2**31))
        report = learner.fit(
            X,
            labels,
            sample_weight=weight,
            offset=offset,
            time=time,
            tol=self.tol,
            max_iter=self.max_iter,
            shuffle=self.shuffle,
            seed=seed,
        )
        self.learner_ = learner
        self.n_iter_ = report.passes
        self.fit_gap_ = np.atleast_1d(report.gap)
        if not report.converged:
            warnings.warn(
                f"the duality gap is {float(np.max(self.fit_gap_)):.3g} after {report.passes} passes, more than tol={self.tol} "
                "of the objective before learning. Raise max_iter or rho, or set scale=True.",
                ConvergenceWarning,
                stacklevel=4,
            )
        return np.asarray(report.margin).reshape(labels.shape)

    def _checked(self, X: Any, *, reset: bool, learning: bool = True) -> Any:
        """X in a form that the learner reads, with the columns that it knows."""
        if self.new_features not in ("error", "learn"):
            raise ValueError(f"new_features must be 'error' or 'learn'; got {self.new_features!r}.")
        if self.new_features == "error":
            return validate_data(self, X, reset=reset, **FORM)
        if reset:
            _check_feature_names(self, X, reset=True)
        names = list(X.columns) if hasattr(X, "columns") else None
        array = check_array(X, **FORM, estimator=self)
        if not reset and names and hasattr(self, "feature_names_in_"):
            array = self._in_known_order(array, names, learning=learning)
        if reset:
            self.n_features_in_ = array.shape[1]
        elif learning:
            self.n_features_in_ = max(self.n_features_in_, array.shape[1])
        return array

    def _in_known_order(self, array: Any, names: list[str], *, learning: bool) -> Any:
        """Columns by their names: those of a model that are missing become zero, new ones are put behind."""
        known = list(self.feature_names_in_)
        new = [name for name in names if name not in set(known)]
        if learning and new:
            self.feature_names_in_ = np.array([*known, *new], dtype=object)
        columns = [*known, *new] if learning else known
        place = {name: at for at, name in enumerate(columns)}
        kept = [at for at, name in enumerate(names) if name in place]
        out = np.zeros((len(array), len(columns)), dtype=array.dtype)
        out[:, [place[names[at]] for at in kept]] = np.asarray(array)[:, kept]
        return out

    def _margins(self, X: Any, offset: npt.ArrayLike | None) -> Array:
        check_is_fitted(self)
        X = self._checked(X, reset=False, learning=False)
        if offset is not None:
            offset = self._offsets(offset)
        return np.atleast_2d(self.learner_.predict(X, offset=offset))

    def _offsets(self, offset: npt.ArrayLike) -> Array:
        """Offsets for every lane; a lane beyond the user's has none."""
        given = np.asarray(offset, dtype=np.float64)
        extra = self.learner_.lanes - self._n_shown()
        if given.ndim != 2 or not extra:
            return given
        return np.hstack([given, np.zeros((len(given), extra))])

    def _weights(self, sample_weight: Any, X: Any) -> Array | None:
        return None if sample_weight is None else _check_sample_weight(sample_weight, X, dtype=np.float64)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class ODCAClassifier(ClassifierMixin, _Estimator):  # type: ignore[misc]
    """A linear classifier for streams and for data sets: min mean loss + ρR(w), by dual coordinate ascent.

    No step size, any of several windows, exact at any batch size. docs/estimators.md says why the defaults are what they are.

    loss: "log_loss" (exact probabilities), "hinge", "squared_hinge", "smooth_hinge", "modified_huber", "squared_error", or an
        object such as SmoothHinge(0.5).
    penalty: "l2", "elasticnet", "nonnegative", or an object: ElasticNet(0.2), Box(-1, 1), ...
    rho: ρ, the strength of the penalty. `odca.names.from_sgd` and `from_liblinear` translate alpha, l1_ratio and C.
    window: how the past counts: "infinite"; 0.999 (exponential forgetting); 5000 (the last 5,000 events); or an object such as
        HalfLife(3600.0), whose events need a `time`.
    smoothing: κ in [0, 1], how long predictions average over past weights; "auto" follows the window. `fit` needs none.
    fit_intercept, intercept_penalty: the intercept is penalised like a weight, times intercept_penalty.
    scale: True standardises the features as they come, under the model's own window (centred where X is dense); "auto" does so
        for dense X and leaves sparse X as it is. Weights are always shown in the units of X.
    prior_strength, prior_mean, penalty_weights: as for `odca.Learner`.
    class_weight: a dictionary of weights by class, or (for `fit`) "balanced".
    tol, max_iter: `fit` ends when the duality gap is at most `tol` times the objective before learning, or after `max_iter` passes.
    shuffle, random_state: the order in which `fit` visits the events. `partial_fit` takes them as they come.
    new_classes: "learn" gives a class that appears in the middle of a stream a model that ends bit for bit as if the class
        had been declared at the start; "error" refuses it, and is faster for two classes.
    new_features: "error" refuses X with other columns, as scikit-learn asks; "learn" takes wider X as it comes, and columns
        of data frames by their names.

    `progress_` holds the mean loss and the accuracy of the predictions that `partial_fit` made before learning from each event.
    """

    def __init__(
        self,
        loss: object = "log_loss",
        *,
        penalty: Penalty | str = "l2",
        rho: float = 1e-5,
        window: Window | str | float = "infinite",
        smoothing: float | str = "auto",
        fit_intercept: bool = True,
        intercept_penalty: float = 1.0,
        scale: bool | str = "auto",
        prior_strength: float = 0.0,
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

    @_all_or_nothing
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
        weight = self._weights(sample_weight, X)
        if y.ndim == 2:
            self.classes_ = np.arange(y.shape[1])
            labels = np.where(y > 0, 1.0, -1.0)
        else:
            self.classes_, codes = np.unique(y, return_inverse=True)
            self._layout = OneAgainstRest(tuple(self.classes_.tolist()), spare=False)
            labels = self._layout.labels(codes)
            weight = self._by_class(weight, codes, y)
        margins = self._solve(X, labels, weight, offset, time)
        if not isinstance(as_loss(self.loss), LogLoss):
            self.calibration_ = Calibration(labels.shape[1], self.learner_.window)
            self.calibration_.learn(margins, labels, sample_weight=weight, time=time)
        return self

    @_all_or_nothing
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
        X, y = self._checked(X, reset=first), self._checked_labels(X, y)
        weight = self._weights(sample_weight, X)
        if y.ndim == 2:
            labels, learner = self._labelled_lanes(X, y, first=first), self.learner_
            margins = self._learn(learner, X, labels, weight, offset, time)
            hits = ((margins > 0) == (labels > 0)).mean(axis=1)
            self.progress_.add(self.learner_.loss_of(margins, labels).mean(axis=1), hits, weight)
            return self
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

    # Helpers

    def _check_options(self) -> None:
        loss = as_loss(self.loss)
        if type(loss).__module__ == "odca.losses" and not isinstance(loss, MARGIN_LOSSES):
            names = ", ".join(kind.name for kind in MARGIN_LOSSES)
            raise ValueError(f"a classifier takes one of the losses {names}; got {self.loss!r}.")
        if self.new_classes not in ("learn", "error"):
            raise ValueError(f"new_classes must be 'learn' or 'error'; got {self.new_classes!r}.")

    def _checked_labels(self, X: Any, y: Any) -> npt.NDArray[Any]:
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None.")
        check_consistent_length(X, y)
        check_classification_targets(y)
        if type_of_target(y, raise_unknown=True) == "multilabel-indicator":
            return y.toarray() if sp.issparse(y) else np.asarray(y)
        return column_or_1d(y, warn=True)

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
            self._begin(X, y.shape[1])
        if not self._is_multilabel() or y.shape[1] != len(self.classes_):
            raise ValueError(f"y has {y.shape[1]} labels per event; this model was begun with other targets.")
        return np.where(y > 0, 1.0, -1.0)

    def _begin(self, X: Any, lanes: int) -> None:
        self.learner_ = self._new_learner(lanes, X)
        self.progress_ = Progress()
        if not isinstance(as_loss(self.loss), LogLoss):
            self.calibration_ = Calibration(lanes, self.learner_.window)

    def _with_classes(self, X: Any, y: npt.NDArray[Any], classes: Any, *, first: bool) -> tuple[Learner, Any]:
        """A learner that has a lane for every class, and the classes of the events by number."""
        if not first and self._is_multilabel():
            raise ValueError("this model was begun with several labels per event; y must be an indicator matrix.")
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
        spare = self.new_classes == "learn"
        if first:
            self._layout = OneAgainstRest(tuple(every.tolist()), spare)
            self._begin(X, len(self._layout.lanes))
        else:
            self._rearrange(every, spare=spare)
        self.classes_ = every
        return self.learner_, np.searchsorted(every, y)

    def _rearrange(self, classes: npt.NDArray[Any], *, spare: bool) -> None:
        self.__dict__.setdefault("progress_", Progress())
        if classes.tolist() == list(self._layout.classes) and spare == self._layout.spare:
            return
        self._layout, sources, mirrored = self._layout.become(classes.tolist(), spare=spare)
        self.learner_ = rearranged(self.learner_, sources, mirrored)
        if "calibration_" in self.__dict__:
            self.calibration_ = self.calibration_.rearranged(sources, mirrored)

    def _learn(self, learner: Learner, X: Any, labels: Array, weight: Array | None, offset: Any, time: Any) -> Array:
        offsets = None if offset is None else self._offsets(offset)
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
        self.progress_.add(self.learner_.loss_of(own, np.ones(len(own))), hits.astype(float), weight)

    def _by_class(self, weight: Array | None, codes: Any, y: Any) -> Array | None:
        if self.class_weight is None:
            return weight
        of_class = compute_class_weight(self.class_weight, classes=self.classes_, y=y)[codes]
        return of_class if weight is None else weight * of_class

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags


class ODCARegressor(RegressorMixin, _Estimator):  # type: ignore[misc]
    """A linear regression for streams and for data sets: min mean loss + ρR(w), by dual coordinate ascent.

    loss: "squared_error", "huber", "absolute_error", "quantile", "expectile", "epsilon_insensitive",
        "squared_epsilon_insensitive", "poisson" (then `predict` is the mean e^z), or an object such as Quantile(0.9).

    y may have several columns: they are learned side by side over one read of X. `progress_` holds the mean loss and the mean
    absolute error of the predictions that `partial_fit` made before learning from each event. The other parameters are those of
    `ODCAClassifier`.
    """

    def __init__(
        self,
        loss: object = "squared_error",
        *,
        penalty: Penalty | str = "l2",
        rho: float = 1e-5,
        window: Window | str | float = "infinite",
        smoothing: float | str = "auto",
        fit_intercept: bool = True,
        intercept_penalty: float = 1.0,
        scale: bool | str = "auto",
        prior_strength: float = 0.0,
        prior_mean: npt.ArrayLike | None = None,
        penalty_weights: npt.ArrayLike | None = None,
        tol: float = 1e-4,
        max_iter: int = 1000,
        shuffle: bool = True,
        random_state: Any = None,
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

    @_all_or_nothing
    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: npt.ArrayLike | None = None,
        offset: npt.ArrayLike | None = None,
        time: npt.ArrayLike | None = None,
    ) -> Self:
        """Solve the problem of these events to a duality gap; what was learned before is forgotten."""
        X, y = self._checked(X, reset=True), self._checked_targets(X, y)
        self.__dict__.pop("progress_", None)
        self.n_outputs_ = 0 if y.ndim == 1 else y.shape[1]
        self._solve(X, y.reshape(len(y), -1), self._weights(sample_weight, X), offset, time)
        return self

    @_all_or_nothing
    def partial_fit(
        self,
        X: Any,
        y: Any,
        sample_weight: npt.ArrayLike | None = None,
        offset: npt.ArrayLike | None = None,
        time: npt.ArrayLike | None = None,
    ) -> Self:
        """Learn from these events, each once, in order."""
        first = not hasattr(self, "learner_")
        X, y = self._checked(X, reset=first), self._checked_targets(X, y)
        targets = y.reshape(len(y), -1)
        if first:
            self.n_outputs_ = 0 if y.ndim == 1 else y.shape[1]
            self.learner_ = self._new_learner(targets.shape[1], X)
        elif (0 if y.ndim == 1 else y.shape[1]) != self.n_outputs_:
            raise ValueError(f"y has shape {y.shape}; this model was begun with {max(self.n_outputs_, 1)} output(s).")
        self.__dict__.setdefault("progress_", Progress())
        weight = self._weights(sample_weight, X)
        margins = self.learner_.learn(X, targets, sample_weight=weight, offset=offset, time=time)
        loss = self.learner_.loss_of(margins, targets).mean(axis=1)
        self.progress_.add(loss, np.abs(self._mean(margins) - targets).mean(axis=1), weight)
        self.__dict__.pop("fit_gap_", None)
        return self

    def predict(self, X: Any, offset: npt.ArrayLike | None = None) -> Array:
        """The prediction for each event; of Poisson loss the mean e^z."""
        mean = self._mean(self._margins(X, offset))
        return mean if self.n_outputs_ else mean[:, 0]

    def _mean(self, margins: Array) -> Array:
        if not isinstance(as_loss(self.loss), Poisson):
            return margins
        with np.errstate(over="ignore"):
            return np.exp(margins)

    def _checked_targets(self, X: Any, y: Any) -> Array:
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None.")
        check_consistent_length(X, y)
        targets = check_array(y, ensure_2d=False, dtype=np.float64, input_name="y")
        return column_or_1d(targets, warn=True) if targets.ndim == 2 and targets.shape[1] == 1 else targets

    def _n_shown(self) -> int:
        return self.learner_.lanes

    def _shown(self, weights: Array) -> Array:
        return weights if self.n_outputs_ else weights[0]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        counts = isinstance(as_loss(self.loss), Poisson)
        tags.target_tags.positive_only = counts
        tags.target_tags.multi_output = not counts  # it is, but scikit-learn's check of that gives negative targets
        return tags


def _scalar(values: Array) -> float | Array:
    return float(values[0]) if len(values) == 1 else values
