"""The baselines that O-DCA is compared with, in the same native loop: stochastic (sub)gradient and proximal steps, S-DCA, and RLS.

SGD, SPG and NLMS are one recursion in the primal,

    w_N = (1 - μρ)·w_{N-1} + μ·λ·h_N,    λ = -Q'(z; y_N),

where z is the margin before the step, h_Nᵀw_{N-1} (`SGD`, the paper's eq. SGD), or after it, h_Nᵀw_N (`SPG`, eq. SPG), which makes λ the
solution of the same scalar problem as O-DCA's, λ(p, s; y) with p = (1 - μρ)·h_Nᵀw_{N-1} and s = μ‖h_N‖². At a kink λ is the element of -∂Q nearest
to 0, as everywhere in odca. The first w is `start`, or 0. As in the `Learner`, weights are smoothed by κ if it is given.

    eq. SGD_SVM      SGD(Hinge(), rate=μ, rho=ρ)
    leaky LMS        SGD(SquaredError(), rate=μ, rho=ρ)
    Pegasos          SGD(Hinge(), rate="pegasos", rho=ρ): μ_N = 1/(ρN)
    averaged SGD     SGD(..., smoothing=1.0): `smoothed_coef` is the mean of w_1 ... w_N
    NLMS             NLMS(rate=μ): μ/(ε + ‖h‖²)

S-DCA maximises the dual objective of a finite set, one row at a time (`SDCA`; `Learner.fit` and `refine` do the same faster). For LIBSVM and
LIBLINEAR use scikit-learn.
"""

import math
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from odca import _core
from odca.errors import InputError
from odca.losses import Loss, SquaredError, as_native
from odca.validation.arrays import Array, as_columns, as_floats, as_matrix
from odca.validation.numbers import real, whole

Rate: TypeAlias = float | Literal["pegasos"]


class _Primal:
    """Steps in the primal.

    smoothing: κ in [0, 1]. Predictions use w̄ = Σ κ^(N-n) w_n / Σ κ^(N-n); 0 uses w itself, 1 is the mean. start: w before the first event.
    """

    def __init__(
        self,
        loss: Loss,
        rate: Rate,
        rho: float,
        *,
        smoothing: float,
        start: npt.ArrayLike | None,
        implicit: bool = False,
        epsilon: float | None = None,
    ) -> None:
        pegasos = rate == "pegasos"
        size = 0.0 if pegasos else real(rate)
        if not pegasos and not 0.0 < size < math.inf:
            raise ValueError(f"rate must be a number > 0, or 'pegasos'; got {rate!r}.")
        if not 0.0 <= real(rho) < math.inf or (pegasos and rho == 0.0):
            raise ValueError(f"rho must be a number {'> 0' if pegasos else '>= 0'}; got {rho!r}.")
        if size * rho > 1.0:
            raise ValueError(f"rate times rho must be <= 1, or each step would flip the sign of w; got {size * rho!r}.")
        if epsilon is not None and not 0.0 < real(epsilon) < math.inf:
            raise ValueError(f"epsilon must be a number > 0; got {epsilon!r}.")
        if not 0.0 <= real(smoothing) <= 1.0:
            raise ValueError(f"smoothing must lie in [0, 1]; got {smoothing!r}.")
        begin = as_floats([] if start is None else start, "start")
        if begin.ndim != 1 or not np.isfinite(begin).all():
            raise ValueError(f"start must hold one finite weight per feature; got {start!r}.")
        self.loss, self.rate, self.rho, self.smoothing = loss, rate, float(rho), float(smoothing)
        self._loss = as_native(loss)
        self._core = _core.PrimalLearner(
            loss=self._loss,
            implicit=implicit,
            kind="pegasos" if pegasos else "constant" if epsilon is None else "normalised",
            rate=size,
            rho=float(rho),
            epsilon=0.0 if epsilon is None else float(epsilon),
            kappa=self.smoothing,
            start=begin,
        )

    def learn(self, X: Any, y: npt.ArrayLike) -> Array:
        """Learn from events in order, dense or sparse; return each event's margin from before it was learned (hᵀw̄ with smoothing).

        An error leaves the model as it was.
        """
        matrix, rows, _ = as_matrix(X)
        return self._core.learn(matrix, _labels(y, rows, self.loss, self._loss))

    def predict(self, X: Any) -> Array:
        """The margins Xw (Xw̄ with smoothing)."""
        return _margins(X, self.smoothed_coef)

    @property
    def count(self) -> int:
        """The number of events learned."""
        return self._core.count

    @property
    def coef(self) -> Array:
        """w."""
        return self._core.weights()

    @property
    def smoothed_coef(self) -> Array:
        """w̄; w itself without smoothing."""
        return self._core.smoothed_weights()


class SGD(_Primal):
    """Stochastic (sub)gradient steps on E Q(hᵀw; y) + ρ/2·‖w‖², with a constant rate or 1/(ρN) ("pegasos")."""

    _implicit = False

    def __init__(
        self,
        loss: Loss,
        *,
        rate: Rate,
        rho: float = 0.0,
        smoothing: float = 0.0,
        start: npt.ArrayLike | None = None,
    ) -> None:
        super().__init__(loss, rate, rho, smoothing=smoothing, start=start, implicit=self._implicit)


class SPG(SGD):
    """Stochastic proximal steps: w_N = prox_{μQ}((1 - μρ)·w_{N-1}). O-DCA with l2 and β = 1 - μρ converges to this recursion."""

    _implicit = True


class NLMS(_Primal):
    """Least mean squares with a rate of μ/(ε + ‖h‖²)."""

    def __init__(
        self,
        *,
        rate: float = 1.0,
        epsilon: float = 1e-8,
        smoothing: float = 0.0,
        start: npt.ArrayLike | None = None,
    ) -> None:
        super().__init__(SquaredError(), rate, 0.0, smoothing=smoothing, start=start, epsilon=epsilon)


class SDCA:
    """Stochastic dual coordinate ascent on a finite set: min (1/N) Σ Q(h_nᵀw; y_n) + ρ/2·‖w‖².

    Each step solves for the dual variable of one row, with all others fixed. order: "random" draws each row independently, "permuted"
    draws a new permutation of all rows for each epoch. The rows drawn do not depend on how the steps are split into calls. X and y are
    copied.
    """

    def __init__(
        self,
        loss: Loss,
        X: Any,
        y: npt.ArrayLike,
        *,
        rho: float,
        order: Literal["random", "permuted"] = "random",
        seed: int = 0,
    ) -> None:
        if not 0.0 < real(rho) < math.inf:
            raise ValueError(f"rho must be a number > 0; got {rho!r}.")
        if order not in {"random", "permuted"}:
            raise ValueError(f"order must be 'random' or 'permuted'; got {order!r}.")
        native = as_native(loss)
        self._matrix, self._rows, features = as_matrix(_copied(X))
        if not self._rows:
            raise ValueError("SDCA needs events; X has no rows.")
        self._y = _labels(y, self._rows, loss, native).copy()
        self.loss, self.rho, self.order, self.count = loss, float(rho), order, 0
        self._random = np.random.default_rng(whole(seed, "seed", least=0))
        self._drawn = np.empty(0, dtype=np.int64)
        self._core = _core.DualAscent(loss=native, rho=self.rho, rows=self._rows, features=features)

    def ascend(self, steps: int) -> None:
        """Take this many steps; an epoch is one step per row. An error leaves w and the duals unchanged."""
        count = whole(steps, "steps", least=0)
        epochs = max(0, -(-(count - len(self._drawn)) // self._rows))
        self._drawn = np.concatenate([self._drawn, *(self._draw_epoch() for _ in range(epochs))])
        self._core.visit(self._matrix, self._y, self._drawn[:count])
        self._drawn = self._drawn[count:]
        self.count += count

    def predict(self, X: Any) -> Array:
        """The margins Xw."""
        return _margins(X, self.coef)

    def _draw_epoch(self) -> npt.NDArray[np.int64]:
        if self.order == "permuted":
            return self._random.permutation(self._rows)
        return self._random.integers(self._rows, size=self._rows)

    @property
    def coef(self) -> Array:
        """w."""
        return self._core.weights()

    @property
    def duals(self) -> Array:
        """λ of each row."""
        return self._core.duals()


class RLS:
    """Recursive least squares: after N events w minimises Σ_n β^(N-n)·(y_n - h_nᵀw)² + β^N·δ·‖w‖², exactly.

    The cost per event is quadratic in the number of features.
    """

    def __init__(self, features: int, *, beta: float = 1.0, delta: float = 1e-2) -> None:
        if not 0.0 < real(beta) <= 1.0 or not 0.0 < real(delta) < math.inf:
            raise ValueError(f"beta must lie in (0, 1] and delta must be > 0; got {beta!r} and {delta!r}.")
        self.beta, self.delta, self.count = float(beta), float(delta), 0
        count = whole(features, "features")
        self.coef: Array = np.zeros(count)
        self._inverse = np.eye(count) / self.delta

    def learn(self, X: npt.ArrayLike, y: npt.ArrayLike) -> Array:
        """Learn from dense events in order; return each event's prediction from before it was learned."""
        rows, labels = as_floats(X, "X"), as_floats(y, "y")
        if rows.ndim != 2 or rows.shape[1] != len(self.coef) or labels.shape != (len(rows),):
            raise ValueError(
                f"X must have {len(self.coef)} columns and y one label per row; got shapes {rows.shape} and {labels.shape}."
            )
        if not (np.isfinite(rows).all() and np.isfinite(labels).all()):
            raise ValueError("X and y must hold finite numbers.")
        margins = np.empty(len(rows))
        for n, (h, label) in enumerate(zip(rows, labels, strict=True)):
            margins[n] = h @ self.coef
            spread = self._inverse @ h
            gain = spread / (self.beta + h @ spread)
            self.coef = self.coef + gain * (label - margins[n])
            self._inverse = (self._inverse - np.outer(gain, spread)) / self.beta
            self._inverse = 0.5 * (self._inverse + self._inverse.T)  # keep it symmetric in spite of rounding
        self.count += len(rows)
        return margins

    def predict(self, X: npt.ArrayLike) -> Array:
        """The margins Xw."""
        return _margins(X, self.coef)


def _labels(y: npt.ArrayLike, rows: int, loss: Loss, native: _core.Loss) -> Array:
    labels = np.ascontiguousarray(as_columns(y, "y", rows, 1)[:, 0])
    valid = np.asarray(native.valid(labels), dtype=bool)
    if not valid.all():
        row = int(np.argmin(valid))
        raise InputError(f"row {row} of y is {labels[row]:g}, which {loss!r} is not defined for.", row=row)
    return labels


def _copied(X: Any) -> Any:
    """A copy that the caller cannot change."""
    if isinstance(X, _core.TextBlock):
        return X
    return X.tocsr(copy=True) if hasattr(X, "tocsr") else as_floats(X, "X").copy()


def _margins(X: Any, w: Array) -> Array:
    rows: Any = X.tocsr() if hasattr(X, "tocsr") else as_floats(X, "X")
    if len(rows.shape) != 2:
        raise ValueError(f"X must have two dimensions, events by features; got shape {rows.shape}.")
    used = min(rows.shape[1], len(w))  # features that were never seen have weight zero
    margins: Array = np.asarray(rows[:, :used] @ w[:used], dtype=np.float64)
    return margins
