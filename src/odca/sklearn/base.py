"""What the classifier and the regressor share."""

import warnings
from collections.abc import Callable
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from odca.io.model_file import ModelFile, Savable
from odca.learner import Learner
from odca.learner_options import frozen
from odca.metrics.progress import Progress
from odca.names import as_loss, as_penalty, as_window, smoothing_for, unless_auto
from odca.penalties import KL, Penalty
from odca.sklearn.columns import Columns
from odca.validation.arrays import Array
from odca.windows import Window

ONLINE_RHO = 1e-5

NAMED: dict[str, Callable[[Any], object]] = {"loss": as_loss, "penalty": as_penalty, "window": as_window}
NUMBERS = ("rho", "smoothing", "intercept_penalty", "prior_strength", "prior_mean", "penalty_weights")
OF_THE_LEARNER = (*NAMED, *NUMBERS, "fit_intercept", "scale")
"""The options that a learner is made with, and cannot take over later."""


class Estimator(Columns, Savable, BaseEstimator):  # type: ignore[misc] # scikit-learn ships no annotations
    """What classifier and regressor share. Their lanes are classes, labels or outputs."""

    learner_: Learner
    _begun: dict[str, Any]
    """The options that the learner was made with."""

    def __init__(  # the parameters are explained where they are public
        self,
        loss: object = "squared_error",
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
        return scalar(np.atleast_1d(self.learner_.dual_objective())[: self._n_shown()])

    @property
    def duality_gap_(self) -> float | Array:
        """How far the weights can be from the best: after `fit`, and at any time under a sliding window."""
        check_is_fitted(self)
        if "fit_gap_" in self.__dict__:
            return scalar(self.fit_gap_)
        try:
            return scalar(np.atleast_1d(self.learner_.duality_gap())[: self._n_shown()])
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

    # Files

    def saved(self) -> ModelFile:
        """What a file holds of the estimator."""
        check_is_fitted(self)
        params = self.get_params(deep=False)
        for name in ("prior_mean", "penalty_weights"):
            params[name] = frozen(params[name], name)
        fitted = {
            name: self.__dict__[name] for name in ("n_features_in_", "n_iter_", *self._facts) if name in self.__dict__
        }
        arrays: dict[str, Any] = self._saved_names()
        if "progress_" in self.__dict__:
            arrays["progress"] = self.progress_.as_array()
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
        """Return the estimator that a file holds. ValueError (or the like) if it holds none."""
        params, fitted = saved.options["params"], saved.options["fitted"]
        if loss is not None:
            params["loss"] = loss
        estimator = cls(**params)
        estimator.learner_ = Learner.restored(saved.parts["learner"], loss)
        estimator._begun = estimator._options_of_learner() | _begun_of(saved, loss)
        if saved.options.get("sparse_coef") is True:
            estimator.sparsify()
        for name, value in fitted.items():
            if name not in ("n_features_in_", "n_iter_", *cls._facts):
                raise ValueError(f"a {cls.__name__} has no {name}.")
            estimator.__dict__[name] = value
        if "progress" in saved.arrays:
            estimator.progress_ = Progress.from_array(saved.arrays["progress"])
        if "fit_gap" in saved.arrays:
            estimator.fit_gap_ = saved.arrays["fit_gap"]
        width = estimator.__dict__.get("n_features_in_")
        estimator._restore_columns(width, estimator.learner_.n_features, saved.arrays)
        if "fit_gap" in saved.arrays and estimator.fit_gap_.shape != (estimator.learner_.lanes,):
            raise ValueError("its gaps are not those of its learner.")
        return estimator

    _facts: tuple[str, ...] = ()
    """The attributes that a file holds beside those that every estimator has."""

    def _n_shown(self) -> int:
        """How many of the lanes are the user's."""
        raise NotImplementedError

    def _shown(self, weights: Array) -> Array:
        return weights[: self._n_shown()]

    # Learning

    def _options_of_learner(self) -> dict[str, Any]:
        """As they are now, each in a form that can be compared."""
        options = {name: getattr(self, name) for name in OF_THE_LEARNER}
        options |= {name: meant(options[name]) for name, meant in NAMED.items()}
        given = {name: options[name] for name in NUMBERS if not isinstance(options[name], str)}
        return options | {name: frozen(value, name) for name, value in given.items()}

    def _changed_options(self) -> list[str]:
        """Those that are no longer what the learner was made with."""
        now = self._options_of_learner()
        return [name for name in OF_THE_LEARNER if now[name] != self._begun[name]]

    def _require_unchanged_options(self) -> None:
        changed = self._changed_options()
        if not changed:
            return
        now = self._options_of_learner()
        what = ", ".join(f"{name} from {self._begun[name]!r} to {now[name]!r}" for name in changed)
        raise ValueError(
            f"options were changed while a stream is learned: {what}. A model that has begun keeps the options it was begun "
            "with. Set them back, or begin a new model: sklearn.base.clone(model), or fit."
        )

    def _new_learner(self, X: Any, labels: Array, *, online: bool, mass: float = 1.0) -> Learner:
        """A learner for these labels, of which those of the first event alone count `online`: no split of a stream shows."""
        penalty, window = as_penalty(self.penalty), as_window(self.window)
        kl = isinstance(penalty, KL)
        if self.scale not in ("auto", True, False):
            raise ValueError(f"scale must be 'auto', True or False; got {self.scale!r}.")
        automatic = not sp.issparse(X) and not kl and self.prior_mean is None
        scale = automatic if self.scale == "auto" else bool(self.scale)
        strength = self._automatic_strength(X, scale=scale) if online and not kl else 0.0
        self._begun = self._options_of_learner()
        return Learner(
            loss=as_loss(self.loss),
            penalty=penalty,
            rho=unless_auto("rho", self.rho, ONLINE_RHO if online else self._automatic_rho(labels) / mass),
            window=window,
            smoothing=unless_auto("smoothing", self.smoothing, smoothing_for(window)),
            prior_strength=unless_auto("prior_strength", self.prior_strength, strength),
            prior_mean=self.prior_mean,
            penalty_weights=self.penalty_weights,
            intercept=self.fit_intercept,
            intercept_penalty=self.intercept_penalty if self.fit_intercept else 1.0,
            prior_intercept=self._typical(labels[:1] if online else labels) if self.fit_intercept else 0.0,
            scale=scale,
            lanes=labels.shape[1],
            n_features=X.shape[1] if isinstance(penalty, KL) and penalty.prior is None else None,
        )

    def _automatic_strength(self, X: Any, *, scale: bool) -> float:  # noqa: ARG002 - some need them
        """The constant strength with which a stream begins, from its first event."""
        return 0.0

    def _automatic_rho(self, labels: Array) -> float:  # noqa: ARG002 - some need them
        """Of the mass 1."""
        return 1.0

    def _typical(self, labels: Array) -> Any:  # noqa: ARG002 - some need them
        """Where the intercept is drawn to, for each lane."""
        return 0.0

    def _solve(self, X: Any, labels: Array, weight: Array | None, offset: Any, time: Any) -> None:
        """Fit a new learner."""
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

    def _margins(self, X: Any, offset: npt.ArrayLike | None) -> Array:
        check_is_fitted(self)
        X = self._checked(X, reset=False, learning=False)
        return np.atleast_2d(self.learner_.predict(X, offset=self._offsets_for(offset, self.learner_.lanes)))

    def _offsets_for(self, offset: npt.ArrayLike | None, lanes: int) -> Any:  # noqa: ARG002 - some need them
        """Offsets for every lane."""
        return offset

    def _losses(self, margins: Array, labels: Array) -> Array:
        """The loss of each prediction; nan if the user's loss does not say."""
        if not hasattr(self.learner_.loss, "value"):
            return np.full(np.shape(margins), np.nan)
        return self.learner_.loss_of(margins, labels)


def _begun_of(saved: ModelFile, loss: object) -> dict[str, Any]:
    """The options of a file that were changed after the learner was made, as they were then."""
    begun: dict[str, Any] = dict(saved.options.get("begun", {}))
    if not begun.keys() <= set(OF_THE_LEARNER):
        raise ValueError(f"no learner is made with {', '.join(begun.keys() - set(OF_THE_LEARNER))}.")
    return begun | ({"loss": loss} if loss is not None else {})


def scalar(values: Array) -> float | Array:
    """One number as a number."""
    return float(values[0]) if len(values) == 1 else values
