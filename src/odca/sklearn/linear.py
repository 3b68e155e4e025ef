"""What the linear classifier and the linear regressor share."""

import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from odca.io.container import vector
from odca.io.model_file import ModelFile
from odca.learner import Learner
from odca.learner_options import frozen
from odca.losses import as_loss
from odca.models.linear import LinearClassifier, LinearLabels, LinearRegressor
from odca.models.options import ModelOptions, Task
from odca.models.turns import at_one_moment
from odca.penalties import KL, as_penalty
from odca.products import Product
from odca.sklearn.base import Estimator, require_sound_csr
from odca.validation.arrays import Array
from odca.windows import as_window

NAMED: dict[str, Callable[[Any], object]] = {"loss": as_loss, "penalty": as_penalty, "window": as_window}
SHAPES = ("prior_mean", "penalty_weights")
NUMBERS = ("rho", "smoothing", "intercept_penalty", "prior_strength", *SHAPES)
OF_THE_LEARNER = (*NAMED, *NUMBERS, "fit_intercept", "scale")
"""The options that a learner is created with, which cannot change later."""


class LinearEstimator(Estimator):
    """The options of the linear classifier and regressor, and their learner. Its lanes are classes, labels or outputs."""

    _task: Task
    _model: LinearClassifier | LinearLabels | LinearRegressor
    _begun: dict[str, Any]
    """The options that the learner was created with."""

    # What was learned

    @property
    @at_one_moment
    def coef_(self) -> Any:
        """The weights that `predict` uses, in the units of X."""
        check_is_fitted(self)
        weights = self._shown(np.atleast_2d(self.learner_.smoothed_coef)[self._lanes()])
        return sp.csr_array(np.atleast_2d(weights)) if self.__dict__.get("_sparse_coef") else weights

    @property
    @at_one_moment
    def intercept_(self) -> Array:
        """The constant that `predict` adds."""
        check_is_fitted(self)
        return np.atleast_1d(self.learner_.smoothed_intercept)[self._lanes()]

    @property
    @at_one_moment
    def products_(self) -> tuple[Product, ...]:
        """The products of two features that `predict` adds: those of a frozen automatic model, otherwise none."""
        check_is_fitted(self)
        lanes = self._lanes()
        return tuple(
            replace(each, weights=tuple(each.weights[lane] for lane in lanes)) for each in self.learner_.products
        )

    @property
    @at_one_moment
    def dual_objective_(self) -> float | Array:
        """A certified lower bound of the objective for all weights, per class or output."""
        check_is_fitted(self)
        return scalar(np.atleast_1d(self.learner_.dual_objective())[self._lanes()])

    @property
    @at_one_moment
    def duality_gap_(self) -> float | Array:
        """How far the objective can be from its minimum. Known after `fit`, and at any time with a sliding window."""
        check_is_fitted(self)
        if "fit_gap_" in self.__dict__:
            return scalar(self.fit_gap_)
        try:
            return scalar(np.atleast_1d(self.learner_.duality_gap())[self._lanes()])
        except ValueError as error:
            raise AttributeError(f"duality_gap_ is known after fit, or with a sliding window: {error}") from error

    def sparsify(self) -> Self:
        """Make `coef_` a sparse array from now on: for many features with an elastic net."""
        check_is_fitted(self)
        self._sparse_coef = True
        return self

    def densify(self) -> Self:
        """Make `coef_` a dense array again."""
        check_is_fitted(self)
        self._sparse_coef = False
        return self

    # Files

    def _contents(self) -> ModelFile:
        """The contents of the estimator's model file."""
        check_is_fitted(self)
        params = self.get_params(deep=False)
        for name in SHAPES:
            params[name] = frozen(params[name], name)
        fitted = {
            name: self.__dict__[name] for name in ("n_features_in_", "n_iter_", *self._facts) if name in self.__dict__
        }
        arrays: dict[str, Any] = self._saved_names()
        if any(each.events for each in self._model.metrics_by_output):
            arrays |= self._model.saved_metrics()
        if "fit_gap_" in self.__dict__:
            arrays["fit_gap"] = self.fit_gap_
        options: dict[str, Any] = {"params": params, "fitted": fitted}
        if changed := self._changed_options():
            options["begun"] = {name: self._begun[name] for name in changed}
        if self.__dict__.get("_sparse_coef"):
            options["sparse_coef"] = True
        return ModelFile(self.kind, options, arrays, {"learner": self.learner_.saved()})

    @classmethod
    def restored(cls, saved: ModelFile, loss: object = None) -> Self:
        """Return the estimator of a model file. ValueError (or a similar error) if it is invalid."""
        params, fitted = saved.options["params"], saved.options["fitted"]
        if loss is not None:
            params["loss"] = loss
        estimator = cls(**params)
        estimator._restore_model(Learner.restored(saved.parts["learner"], loss), saved)
        estimator._begun = estimator._options_of_learner() | _begun_of(saved, loss)
        if saved.options.get("sparse_coef") is True:
            estimator.sparsify()
        for name, value in fitted.items():
            if name not in ("n_features_in_", "n_iter_", *cls._facts):
                raise ValueError(f"a {cls.__name__} has no {name}.")
            estimator.__dict__[name] = value
        estimator._model.restore_metrics(saved.arrays)
        if "fit_gap" in saved.arrays:
            estimator.fit_gap_ = vector(saved.arrays, "fit_gap", np.float64)
        width = estimator.__dict__.get("n_features_in_")
        estimator._restore_columns(width, estimator.learner_.n_features, saved.arrays)
        gaps = estimator.__dict__.get("fit_gap_", np.zeros(estimator.learner_.lanes))
        if len(gaps) != estimator.learner_.lanes or not np.all((gaps >= 0.0) & np.isfinite(gaps)):
            raise ValueError("its gaps are not those of its learner.")
        for name in SHAPES:
            frozen(params[name], name)
        return estimator

    @classmethod
    def around(cls, model: Any, like: BaseEstimator, **params: Any) -> Self:
        """An estimator of a model that was trained elsewhere, with the columns of another estimator."""
        options = model.learner.options
        own = {
            "scale": options["scale"],
            "prior_strength": options["prior_strength"],
            "new_features": like.new_features,
        }
        estimator = cls(**own, **params)
        estimator._model = model
        estimator._begun = estimator._options_of_learner()
        for name in ("n_features_in_", "feature_names_in_", "_class_dtype", "_space"):
            if name in like.__dict__:
                estimator.__dict__[name] = like.__dict__[name]
        return estimator

    _facts: tuple[str, ...] = ()
    """The attributes that a file holds in addition to those of every estimator."""

    def _lanes(self) -> list[int]:
        """The lanes that belong to the user's classes, labels or outputs, in their order."""
        raise NotImplementedError

    def _shown(self, weights: Array) -> Array:
        return weights

    # Learning

    def _options_of_learner(self) -> dict[str, Any]:
        """The present options of the learner, in a form that can be compared."""
        options = {name: getattr(self, name) for name in OF_THE_LEARNER}
        options |= {name: meant(options[name]) for name, meant in NAMED.items()}
        given = {name: options[name] for name in NUMBERS if not isinstance(options[name], str)}
        return options | {name: frozen(value, name) for name, value in given.items()}

    def _changed_options(self) -> list[str]:
        """The options that differ from those that the learner was created with."""
        now = self._options_of_learner()
        return [name for name in OF_THE_LEARNER if now[name] != self._begun[name]]

    def _require_unchanged_options(self) -> None:
        changed = self._changed_options()
        if not changed:
            return
        now = self._options_of_learner()
        what = ", ".join(f"{name} from {self._begun[name]!r} to {now[name]!r}" for name in changed)
        raise ValueError(
            f"options were changed after partial_fit: {what}. A model that has been trained keeps the options it was created "
            "with. Set them back, or start a new model: sklearn.base.clone(model), or fit."
        )

    def _new_learner(self, X: Any, labels: Array, *, online: bool, mass: float = 1.0) -> Learner:
        """A learner for these labels. If `online`, it depends on the first event only, not on how the stream is split into calls."""
        require_sound_csr(X)
        self._begun = self._options_of_learner()
        options = ModelOptions.of(self, task=self._task, intercept=self.fit_intercept)
        if not online:
            options = replace(options, window=options.window.fixed)
        if not online and isinstance(options.rho, str):
            options = replace(options, rho=self._automatic_rho(labels) / mass)
        if not online and isinstance(options.prior_strength, str):
            options = replace(options, prior_strength=0.0)
        # With a prior mean the weights have a meaning in the units of X, so X is not scaled.
        has_units = online or "_space" in self.__dict__ or not sp.issparse(X)
        in_units = self.prior_mean is None and has_units
        resolved = options.resolved(in_units=in_units, first=X[[0]].data if sp.issparse(X) else X[0])
        kl = options.penalty if isinstance(options.penalty, KL) else None
        return Learner(
            **resolved.of_learner(lanes=labels.shape[1]),
            prior_intercept=0.0 if online or not self.fit_intercept else self._typical(labels),
            prior_mean=self.prior_mean,
            penalty_weights=self.penalty_weights,
            n_features=X.shape[1] if kl is not None and kl.prior is None else None,
        )

    def _automatic_rho(self, labels: Array) -> float:  # noqa: ARG002 - some need them
        """ρ for a total weight of 1."""
        return 1.0

    def _typical(self, labels: Array) -> Any:  # noqa: ARG002 - some need them
        """The value that the penalty pulls the intercept to, for each lane."""
        return 0.0

    def _solved(self, X: Any, labels: Array, weight: Array | None, offset: Any, time: Any) -> Learner:
        """A new learner, fitted to these events."""
        mass = float(len(labels) if weight is None else weight.sum())  # ρ = 1/mass is LIBLINEAR's C = 1
        learner = self._new_learner(X, labels, online=False, mass=mass)
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
        self.n_iter_ = report.passes
        self.fit_gap_ = np.atleast_1d(report.gap)
        if not report.converged:
            warnings.warn(
                f"the duality gap is {float(np.max(self.fit_gap_)):.3g} after {report.passes} passes, more than tol={self.tol} "
                "of the objective before learning. Raise max_iter or rho, or set scale=True.",
                ConvergenceWarning,
                stacklevel=4,
            )
        return learner


def _begun_of(saved: ModelFile, loss: object) -> dict[str, Any]:
    """The options in a file that were changed after the learner was created, with their values at that time."""
    begun: dict[str, Any] = dict(saved.options.get("begun", {}))
    if not begun.keys() <= set(OF_THE_LEARNER):
        raise ValueError(f"a learner has no option {', '.join(begun.keys() - set(OF_THE_LEARNER))}.")
    return begun | ({"loss": loss} if loss is not None else {})


def scalar(values: Array) -> float | Array:
    """An array of one number as a number."""
    return float(values[0]) if len(values) == 1 else values
