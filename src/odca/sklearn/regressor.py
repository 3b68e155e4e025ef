"""A linear regression for scikit-learn, with one output or several (lanes)."""

from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import RegressorMixin
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted, column_or_1d

from odca.io.model_file import ModelFile
from odca.learner import Learner
from odca.losses import Expectile, Huber, Poisson, SquaredEpsilonInsensitive, SquaredError, as_loss
from odca.models.linear import LinearRegressor
from odca.models.options import Answer
from odca.models.turns import at_one_moment, in_turn
from odca.penalties import Penalty
from odca.sklearn.linear import LinearEstimator
from odca.validation.arrays import Array
from odca.windows import Window

SQUARED_LOSSES = (SquaredError, Expectile, SquaredEpsilonInsensitive)
"""Losses that grow with the square of the error: their best constant prediction is a mean, that of the others a median."""


class ODCARegressor(RegressorMixin, LinearEstimator):  # type: ignore[misc]
    """A linear regression for streams and for data sets: min mean loss + ρR(w), by dual coordinate ascent.

    loss: "squared_error", "huber", "absolute_error", "quantile", "expectile", "epsilon_insensitive",
        "squared_epsilon_insensitive", "poisson" (then `predict` is the mean e^z), "quantile:0.9" with its parameter, or
        an object such as Quantile(0.9).

    prior_strength: "auto" is 0: the updates of a regression shrink as it approaches the label, so the first ones need no limit.
    rho: "auto" is 1/n in `fit` (Ridge's alpha = 1; for losses that grow like |y - z|, divided by the spread of y). In `partial_fit` it
        is, of several strengths, the one that has predicted best lately.
    fit_intercept: `fit` penalises how far the intercept is from the mean (or median) of the targets.

    The other parameters are those of `ODCAClassifier`. y may have several columns, which are learned together in one pass over X.
    `progress_` holds the mean loss and the mean absolute error of the predictions that `partial_fit` made before learning from each
    event.
    """

    kind = "sklearn.ODCARegressor"
    _task = "numbers"
    _model: LinearRegressor
    _facts = ("n_outputs_",)

    def __init__(
        self,
        loss: object = "squared_error",
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
        tol: float = 1e-4,
        max_iter: int = 1000,
        shuffle: bool = True,
        random_state: Any = None,
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
        X, y = self._checked(X, reset=True), self._checked_targets(X, y)
        self.n_outputs_ = 0 if y.ndim == 1 else y.shape[1]
        weight = self._weights(sample_weight, X, online=False)
        self._model = LinearRegressor(self._solved(X, y.reshape(len(y), -1), weight, offset, time))
        return self

    @in_turn
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
        if not first:
            self._require_unchanged_options()
        X, y = self._checked(X, reset=first), self._checked_targets(X, y)
        targets = y.reshape(len(y), -1)
        if first:
            self.n_outputs_ = 0 if y.ndim == 1 else y.shape[1]
            self._model = LinearRegressor(self._new_learner(X, targets, online=True))
        elif (0 if y.ndim == 1 else y.shape[1]) != self.n_outputs_:
            raise ValueError(f"y has shape {y.shape}; the model was created with {max(self.n_outputs_, 1)} output(s).")
        weight = self._weights(sample_weight, X, online=True)
        self._model.learn(X, targets, sample_weight=weight, offset=offset, time=time)
        self.__dict__.pop("fit_gap_", None)
        return self

    @at_one_moment
    def predict(self, X: Any, offset: npt.ArrayLike | None = None) -> Array:
        """The prediction for each event; for Poisson loss the mean e^z."""
        X = self._checked_for_prediction(X)
        mean = self._model.predictions(self._model.margins(X, offset=offset))
        return mean if self.n_outputs_ else mean[:, 0]

    @at_one_moment
    def predict_interval(
        self, X: Any, coverage: float = 0.9, offset: npt.ArrayLike | None = None, *, answer: Answer = "steady"
    ) -> Array:
        """[lower, upper] for each event, (n, 2), or (n, outputs, 2) of several outputs: a share of `coverage` of the labels lies within.

        answer: "steady" if no labels are coming in, "live" if those of the events before were learned. docs/intervals.md says what is
        promised. Infinite while too few events were learned.
        """
        X = self._checked_for_prediction(X)
        found = self._model.intervals(self._model.margins(X, offset=offset), coverage, answer)
        return found if self.n_outputs_ else found[:, 0]

    @property
    def progress_(self) -> Any:
        """How well `partial_fit` predicted each event before learning from it: `odca.metrics.NumberMetrics`.

        With several outputs, a list with the metrics of each.
        """
        check_is_fitted(self)
        return self._model.metrics_by_output if self.n_outputs_ else self._model.metrics

    def _typical(self, labels: Array) -> Any:
        """The mean or the median of the targets, for each output: the penalty should not depend on where the targets lie."""
        loss = as_loss(self.loss)
        if isinstance(loss, Poisson):
            return np.log(np.maximum(labels.mean(axis=0), 0.1))
        return labels.mean(axis=0) if isinstance(loss, SQUARED_LOSSES) else np.median(labels, axis=0)

    def _automatic_rho(self, labels: Array) -> float:
        """Ridge's alpha = 1. For a loss that grows like |y - z| the duals are bounded, which limits w whatever the scale of y: so ρ is
        divided by the spread of y.
        """
        loss, spread = as_loss(self.loss), float(labels.std(axis=0).max())
        bound = loss.d if isinstance(loss, Huber) else 1.0
        free = isinstance(loss, (*SQUARED_LOSSES, Poisson)) or spread <= bound
        return 1.0 if free else bound / spread

    def _contents(self) -> ModelFile:
        """What a file holds of the regression."""
        saved = super()._contents()
        saved.arrays.update(self._model.saved_uncertainty())
        return saved

    def _restore_model(self, learner: Learner, saved: ModelFile) -> None:
        outputs = saved.options["fitted"].get("n_outputs_")
        if type(outputs) is not int or learner.lanes != max(outputs, 1):
            raise ValueError("its outputs are not those of its learner.")
        self._model = LinearRegressor(learner)
        self._model.restore_uncertainty(saved.arrays)

    def _checked_targets(self, X: Any, y: Any) -> Array:
        self._require_labels(X, y)
        targets = check_array(y, ensure_2d=False, dtype=np.float64, input_name="y")
        single = targets.ndim == 2 and targets.shape[1] == 1
        return np.asarray(column_or_1d(targets, warn=True) if single else targets)

    def _lanes(self) -> list[int]:
        return list(range(self.learner_.lanes))

    def _shown(self, weights: Array) -> Array:
        return weights if self.n_outputs_ else weights[0]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        counts = isinstance(as_loss(self.loss), Poisson)
        tags.target_tags.positive_only = counts
        tags.target_tags.multi_output = not counts  # with Poisson too, but scikit-learn's check uses negative targets
        return tags
