"""O-DCA written down from its definitions, slow and literal, in plain NumPy: the executable specification of `odca`.

Read it side by side with the paper; labels such as eq.primal_problem are the paper's. Tests compare the native core
with it and the documentation quotes it; nothing in `odca` imports it, and it imports nothing from `odca`.

    h_n, y_n     features and label of event n = 1..N (the paper's h_n and γ(n)), with
    c_n, b_n     its sample weight (1) and its offset (0): the loss sees z_n = b_n + h_nᵀw
    t_n          its time, where the window needs one; the clock is max_n t_n
    δ_{n,N}      the weight of event n after N events, and Δ_N = Σ_n δ_{n,N} the total weight (mass)
    λ(n)         the dual variable of event n, computed when it arrives, and fixed from then on
    S, A         Σ_n δ_{n,N} λ(n) h_n, and ρΔ_N + a₀; with a₀ = 0, S/A is w'_N of eq.primal_dual_var

Nothing is recursive here: all events and all λ(n) are kept, and S, Δ and w̄ are recomputed as sums each time.
"""

import math
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from functools import partial
from typing import Any, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

Array: TypeAlias = npt.NDArray[np.float64]
Interval: TypeAlias = tuple[float, float]
INF = math.inf


# --- Losses: Q(z; y), ∂Q(z; y) as an interval, and Q*(x; y) = sup_z {xz - Q(z; y)}; all on floats ---


class Loss(Protocol):
    """What the algorithm needs from a loss."""

    def value(self, z: float, y: float) -> float:
        """Q(z; y)."""

    def subgradient(self, z: float, y: float, dz: float = 0.0) -> Interval:
        """∂Q(z + dz; y). The two parts are separate so that y - z - dz loses no digits near a kink."""

    def conjugate(self, x: float, y: float) -> float:
        """Q*(x; y), +∞ outside its domain."""

    def saturated(self, dual: float, y: float) -> bool:
        """Whether λ = `dual` is as large as possible: it is not 0, and at an end of its domain."""


@dataclass(frozen=True)
class OfOneVariable:
    """Q(z; y) = ψ(y - z); or, for a `classifier` with y = ±1, Q(z; y) = ψ(1 - yz).

    With k = 1, or k = y for a classifier, ∂Q = -k·∂ψ and Q*(x; y) = xy + ψ*(-kx). `slope(v, d)` is ∂ψ(v - d);
    `star` is ψ* within `ends`, outside of which it is +∞.
    """

    psi: Callable[[float], float]
    slope: Callable[[float, float], Interval]
    star: Callable[[float], float]
    ends: Interval = (-INF, INF)
    classifier: bool = False

    def value(self, z: float, y: float) -> float:
        """ψ(y - z) or ψ(1 - yz)."""
        return self.psi(1.0 - y * z if self.classifier else y - z)

    def subgradient(self, z: float, y: float, dz: float = 0.0) -> Interval:
        """-k·∂ψ."""
        lo, hi = self.slope(1.0 - y * z, y * dz) if self.classifier else self.slope(y - z, dz)
        return (lo, hi) if self.classifier and y < 0.0 else (-hi, -lo)

    def conjugate(self, x: float, y: float) -> float:
        """xy + ψ*(-kx); for the hinge the paper states it after eq.hinge."""
        u = -y * x if self.classifier else -x
        return x * y + self.star(u) if self.ends[0] <= u <= self.ends[1] else INF

    def saturated(self, dual: float, y: float) -> bool:
        """kλ at an end of ψ*."""
        return dual != 0.0 and (y * dual if self.classifier else dual) in self.ends


class Logistic:
    """Q = τ·log(1 + e^-z) + (1-τ)·log(1 + e^z); τ = max(y, 0) is the positive class's probability."""

    def value(self, z: float, y: float) -> float:
        """Q(z; y)."""
        tau = max(y, 0.0)
        return math.log1p(math.exp(-abs(z))) + tau * max(-z, 0.0) + (1.0 - tau) * max(z, 0.0)

    def subgradient(self, z: float, y: float, dz: float = 0.0) -> Interval:
        """σ(z) - τ, written so that it does not cancel for τ = 0 and τ = 1."""
        tau, v = max(y, 0.0), z + dz
        return _both((1.0 - tau) / (1.0 + _exp(-v)) - tau / (1.0 + _exp(v)))

    def conjugate(self, x: float, y: float) -> float:
        """The negative entropy of τ + x."""
        yes, no = max(y, 0.0) + x, (1.0 - max(y, 0.0)) - x
        return _x_log_x(yes) + _x_log_x(no) if yes >= 0.0 and no >= 0.0 else INF

    def saturated(self, dual: float, y: float) -> bool:  # noqa: ARG002 - no z reaches the ends
        """Never."""
        return False


class Count:
    """The Poisson loss, Q = e^z - yz."""

    def value(self, z: float, y: float) -> float:
        """Q(z; y)."""
        return _exp(z) - y * z

    def subgradient(self, z: float, y: float, dz: float = 0.0) -> Interval:
        """e^z - y."""
        return _both(_exp(z + dz) - y)

    def conjugate(self, x: float, y: float) -> float:
        """a log a - a at a = x + y, which is e^z."""
        return _x_log_x(x + y) - (x + y) if x + y >= 0.0 else INF

    def saturated(self, dual: float, y: float) -> bool:  # noqa: ARG002 - no z reaches the end
        """Never."""
        return False


def _both(slope: float) -> Interval:
    return slope, slope


def _step(v: float, d: float, below: float, above: float) -> Interval:
    """The slope of a function with one kink, at v = d."""
    return (above if v > d else below), (below if v < d else above)


def _dead_zone(over: float, under: float, d: float) -> Interval:
    """∂max(0, |r| - e) at r - d, where over = r - e and under = r + e: kinks at d = over and d = under."""
    lo = -1.0 if under <= d else 0.0 if over <= d else 1.0
    hi = 1.0 if over >= d else 0.0 if under >= d else -1.0
    return lo, hi


def _clip(v: float, lo: float, hi: float) -> float:
    return lo if v < lo else hi if v > hi else v


def _soft(v: float, threshold: float) -> float:
    return v - threshold if v > threshold else v + threshold if v < -threshold else 0.0


def _exp(v: float) -> float:
    return math.exp(v) if v < 709.0 else INF


def _x_log_x(v: float) -> float:
    return v * math.log(v) if v > 0.0 else 0.0


def _side(v: float, q: float) -> float:
    return q if v > 0.0 else 1.0 - q


# By scikit-learn's names, as functions of the parameter: ψ, ∂ψ, ψ* and its ends. The last four are classifiers.
LOSSES: dict[str, Callable[..., Loss]] = {
    "log_loss": Logistic,
    "poisson": Count,
    "squared_error": lambda: OfOneVariable(lambda r: r * r / 2, lambda r, d: _both(r - d), lambda u: u * u / 2),
    "absolute_error": lambda: OfOneVariable(abs, lambda r, d: _step(r, d, -1.0, 1.0), lambda _: 0.0, (-1.0, 1.0)),
    "quantile": lambda q=0.5: OfOneVariable(
        lambda r: max(q * r, (q - 1) * r), lambda r, d: _step(r, d, q - 1, q), lambda _: 0.0, (q - 1, q)
    ),
    "expectile": lambda q=0.5: OfOneVariable(
        lambda r: _side(r, q) * r * r,
        lambda r, d: _both(2 * _side(r - d, q) * (r - d)),
        lambda u: u * u / (4 * _side(u, q)),
    ),
    "huber": lambda d=1.35: OfOneVariable(
        lambda r: r * r / 2 if abs(r) <= d else d * abs(r) - d * d / 2,
        lambda r, dr: _both(_clip(r - dr, -d, d)),
        lambda u: u * u / 2,
        (-d, d),
    ),
    "epsilon_insensitive": lambda e=0.1: OfOneVariable(
        lambda r: max(0.0, abs(r) - e),
        lambda r, d: _dead_zone(r - e, r + e, d),
        lambda u: e * abs(u),
        (-1.0, 1.0),
    ),
    "squared_epsilon_insensitive": lambda e=0.1: OfOneVariable(
        lambda r: max(0.0, abs(r) - e) ** 2,
        lambda r, d: _both(2 * (max(0.0, r - e - d) + min(0.0, r + e - d))),
        lambda u: e * abs(u) + u * u / 4,
    ),
    "hinge": lambda: OfOneVariable(
        lambda m: max(0.0, m), lambda m, d: _step(m, d, 0.0, 1.0), lambda _: 0.0, (0.0, 1.0), classifier=True
    ),
    "squared_hinge": lambda: OfOneVariable(
        lambda m: max(0.0, m) ** 2,
        lambda m, d: _both(2 * max(0.0, m - d)),
        lambda u: u * u / 4,
        (0.0, INF),
        classifier=True,
    ),
    "smooth_hinge": lambda g=1.0: OfOneVariable(
        lambda m: max(0.0, m) ** 2 / (2 * g) if m <= g else m - g / 2,
        lambda m, d: _both(_clip((m - d) / g, 0.0, 1.0)),
        lambda u: g * u * u / 2,
        (0.0, 1.0),
        classifier=True,
    ),
    "modified_huber": lambda: OfOneVariable(
        lambda m: max(0.0, m) ** 2 if m <= 2 else 4 * m - 4,
        lambda m, d: _both(_clip(2 * (m - d), 0.0, 4.0)),
        lambda u: u * u / 4,
        (0.0, 4.0),
        classifier=True,
    ),
}


# --- Penalties: R(w), R*(x) = sup_w {xᵀw - R(w)} and ∇R*(x), as in the paper's table.reg; and
# `along`, the function t → hᵀ∇R*(x + t·g) - hᵀ∇R*(x) on floats ---


@dataclass(frozen=True)
class Separable:
    """R(w) = Σ_j a_j·r_j(w_j), r_j(w) = δ|w - w0_j| + ½(w - w0_j)² for lo ≤ w ≤ hi, +∞ elsewhere."""

    delta: float | Array = 0.0
    lo: float | Array = -INF
    hi: float | Array = INF
    a: float | Array = 1.0
    w0: float | Array = 0.0

    def with_free_last(self, features: int) -> "Separable":
        """The last coordinate, the intercept, under l2: no threshold and no bounds."""
        delta, lo, hi = (
            np.append(np.full(features - 1, others), own)
            for others, own in ((self.delta, 0.0), (self.lo, -INF), (self.hi, INF))
        )
        return Separable(delta, lo, hi, self.a, self.w0)

    def value(self, w: Array) -> float:
        """Σ_j a_j·r_j(w_j)."""
        if np.any(w < self.lo) or np.any(w > self.hi):
            return INF
        away = np.abs(w - self.w0)
        return float(np.sum(self.a * (self.delta * away + away**2 / 2)))

    def conjugate(self, x: Array) -> float:
        """xᵀw - R(w) at its maximiser; without w0 and bounds, ½‖T_δ(x)‖²."""
        w = self.gradient(x)
        return float(x @ w) - self.value(w)

    def gradient(self, x: Array) -> Array:
        """w_j = clip(w0_j + T_δ(x_j/a_j), lo, hi), T_δ the soft threshold."""
        v = x / self.a
        soft = np.sign(v) * np.maximum(np.abs(v) - self.delta, 0.0)
        return np.minimum(np.maximum(self.w0 + soft, self.lo), self.hi)

    def along(self, x: Array, g: Array, h: Array) -> Callable[[float], float]:
        """A straight line for l2; for other penalties it is piecewise linear."""
        if np.all(self.delta == 0.0) and np.all(self.lo == -INF) and np.all(self.hi == INF):
            s = float(np.sum(h * g / self.a))
            return lambda t: t * s
        each = np.broadcast_arrays(h, x / self.a, g / self.a, self.w0, self.gradient(x), self.delta, self.lo, self.hi)
        rows = [row for row in np.stack(each, axis=1).tolist() if row[0] != 0.0]

        def moved(t: float) -> float:
            total = 0.0
            for h_j, x_j, g_j, w0_j, w_j, delta, lo, hi in rows:
                total += h_j * (_clip(w0_j + _soft(x_j + t * g_j, delta), lo, hi) - w_j)
            return total

        return moved


@dataclass(frozen=True)
class Simplex:
    """R(w) = Σ_j w_j·log(w_j/π_j) on the probability simplex."""

    log_prior: Array

    def value(self, w: Array) -> float:
        """R(w), for w on the simplex."""
        return float(sum(_x_log_x(w_j) for w_j in w.tolist()) - w @ self.log_prior)

    def conjugate(self, x: Array) -> float:
        """log Σ_j π_j·e^(x_j)."""
        v = x + self.log_prior
        return float(v.max() + np.log(np.sum(np.exp(v - v.max()))))

    def gradient(self, x: Array) -> Array:
        """softmax(x + log π)."""
        v = x + self.log_prior
        e = np.exp(v - v.max())
        return np.asarray(e / e.sum())

    def along(self, x: Array, g: Array, h: Array) -> Callable[[float], float]:
        """Every coordinate moves, whatever h is."""
        before = float(h @ self.gradient(x))
        rows = np.stack((h, x + self.log_prior, g), axis=1).tolist()

        def moved(t: float) -> float:
            v = [v_j + t * g_j for _, v_j, g_j in rows]
            top, total, weighted = max(v), 0.0, 0.0
            for (h_j, _, _), v_j in zip(rows, v, strict=True):
                e_j = math.exp(v_j - top)
                total += e_j
                weighted += h_j * e_j
            return weighted / total - before

        return moved


Penalty: TypeAlias = Separable | Simplex


def _separable(a: Array, w0: Array, **bounds: float) -> Penalty:
    return Separable(a=a, w0=w0, **bounds)


def _simplex(a: Array, w0: Array, *, prior: npt.ArrayLike | None = None) -> Penalty:
    if np.any(a != 1.0) or np.any(w0 != 0.0):
        raise ValueError("KL takes no penalty weights and no prior mean; give it a prior")
    pi = np.asarray(np.ones(len(a)) if prior is None else prior, dtype=np.float64)
    return Simplex(np.log(pi) - math.log(math.fsum(pi)))


# By name, as functions of the weights a, the prior mean w0 and the penalty's parameters.
PENALTIES: dict[str, Callable[..., Penalty]] = {
    "l2": _separable,
    "elasticnet": _separable,
    "nonnegative": partial(_separable, lo=0.0),
    "box": _separable,
    "kl": _simplex,
}


# --- Windows: δ_{n,N} of all n ≤ N, from the weights c and the times t of the events so far ---


def _infinite(c: Array, t: Array) -> Array:  # noqa: ARG001 - time plays no part
    return c


def _exponential(c: Array, t: Array, *, beta: float) -> Array:  # noqa: ARG001 - time plays no part
    return np.asarray(c * beta ** np.arange(len(c) - 1.0, -1.0, -1.0))


def _half_life(c: Array, t: Array, *, tau: float) -> Array:
    return np.asarray(c * 2.0 ** (-(_clock(t) - t) / tau))


def _sliding(c: Array, t: Array, *, length: int | None = None, duration: float | None = None) -> Array:
    if length is not None:
        return np.where(np.arange(len(c)) >= len(c) - length, c, 0.0)
    # The clock never goes back, so an event that has expired on arrival never counts.
    return np.where(t > _clock(t) - duration, c, 0.0)


def _clock(t: Array) -> Any:
    if np.isnan(t).any():
        raise ValueError("this window needs the time of every event")
    return t.max()


WINDOWS: dict[str, Callable[..., Array]] = {
    "infinite": _infinite,  # C1
    "exponential": _exponential,  # C2
    "half_life": _half_life,
    "sliding": _sliding,  # C3
}


# --- The algorithm ---


def solve(loss: Loss, y: float, z: float, moved: Callable[[float], float]) -> float:
    """The λ with 0 ∈ λ + ∂Q(z + moved(λ); y), by bisection down to neighbouring floats; eq.mainAlgorithm1.

    λ + ∂Q(z + moved(λ)) is increasing in λ, and λ lies between 0 and the end of -∂Q(z) nearest to 0. Floats
    of one sign have the order of their bits read as integers, so bisecting these integers finds a λ of any magnitude.
    """
    lo, hi = loss.subgradient(z, y)
    if lo <= 0.0 <= hi:
        return 0.0
    sign = 1.0 if hi < 0.0 else -1.0
    below, above = 0, _bits(min(abs(lo), abs(hi)))
    while above - below > 1:
        middle = (below + above) // 2
        size = _float(middle)
        lo, hi = loss.subgradient(z, y, moved(sign * size))
        least, most = (size + lo, size + hi) if sign > 0.0 else (size - hi, size - lo)
        if most < 0.0:
            below = middle
        elif least > 0.0:
            above = middle
        else:
            return sign * size
    return sign * _float(above)


def dual(loss: Loss, p: float, s: float, y: float) -> float:
    """λ(p, s; y) on the line z(t) = p + t·s, the case R = ½‖w‖²."""
    return solve(loss, y, p, lambda t: t * s)


def _bits(x: float) -> int:
    return int(struct.unpack("<q", struct.pack("<d", x))[0])


def _float(bits: int) -> float:
    return float(struct.unpack("<d", struct.pack("<q", bits))[0])


def _named(table: Mapping[str, Callable[..., Any]], given: Any) -> Callable[..., Any]:
    """The table's entry for a name, or for one of odca's loss, penalty or window objects: a dataclass with a `name`."""
    if isinstance(given, str):
        return table[given]
    return partial(table[given.name], **{f.name: getattr(given, f.name) for f in fields(given)})


class ReferenceLearner:
    """One model, with the options of `odca.Learner`; a loss, penalty or window is given by name or as one of odca's objects.

    A loss may also be any object with the methods of `Loss` above. An intercept is one more coordinate of w, the
    last: its feature is always 1, its weight a_j is `intercept_penalty`, its prior mean is `prior_intercept`, and its
    penalty is always l2. For each event, `margins` holds the prediction made before learning, `lambdas` holds
    λ(n) (0 for an event of weight 0), and `slopes` holds s = δ_{n,n}·Σ_j h_j²/(A·a_j), the slope of z(t) for quadratic R.
    """

    def __init__(
        self,
        *,
        loss: Any,
        penalty: Any = "l2",
        rho: float = 1e-4,
        window: Any = "infinite",
        smoothing: float = 0.0,
        prior_strength: float = 0.0,
        prior_mean: npt.ArrayLike | None = None,
        prior_intercept: float = 0.0,
        penalty_weights: npt.ArrayLike | None = None,
        intercept: bool = False,
        intercept_penalty: float = 1.0,
        n_features: int | None = None,
    ) -> None:
        known = isinstance(loss, str) or getattr(loss, "name", None) in LOSSES
        self.loss: Loss = _named(LOSSES, loss)() if known else loss
        self._make_penalty, self._window = _named(PENALTIES, penalty), _named(WINDOWS, window)
        self.rho, self.prior_strength, self.smoothing = rho, prior_strength, smoothing
        self._weights = np.asarray(1.0 if penalty_weights is None else penalty_weights, dtype=np.float64)
        self._mean = np.asarray(0.0 if prior_mean is None else prior_mean, dtype=np.float64)
        self._intercept, self._intercept_mean = (intercept_penalty if intercept else None), prior_intercept
        if intercept and getattr(penalty, "name", penalty) == "kl":
            raise ValueError("KL cannot have an intercept, which is not on the simplex; use an offset instead")
        self._rows: list[Array] = []  # h_n; the last coordinate is the intercept's 1, where there is one
        self._events: list[tuple[float, float, float, float]] = []  # y_n, c_n, b_n, t_n
        self._w: list[Array] = []  # w_n, after event n
        self.lambdas: list[float] = []
        self.margins: list[float] = []
        self.slopes: list[float] = []
        self.deltas: Array = np.zeros(0)  # δ_{n,N} of all n ≤ N
        if n_features is not None:
            self._set_features(n_features)

    def _set_features(self, n_features: int) -> None:
        self._a, w0 = self._weights + np.zeros(n_features), self._mean + np.zeros(n_features)
        if self._intercept is not None:
            self._a, w0 = np.append(self._a, self._intercept), np.append(w0, self._intercept_mean)
        self.penalty: Penalty = self._make_penalty(self._a, w0)
        if self._intercept is not None and isinstance(self.penalty, Separable):
            self.penalty = self.penalty.with_free_last(len(self._a))

    def learn(
        self,
        X: npt.ArrayLike,
        y: npt.ArrayLike,
        *,
        sample_weight: npt.ArrayLike = 1.0,
        offset: npt.ArrayLike = 0.0,
        time: npt.ArrayLike = math.nan,
    ) -> Array:
        """Learn the rows of X one by one; return the margin of each from before it was learned."""
        rows = np.asarray(X, dtype=np.float64)
        columns = np.broadcast_arrays(np.zeros(len(rows)), y, sample_weight, offset, time)[1:]
        events = zip(rows, *(column.tolist() for column in columns), strict=True)
        return np.array([self.learn_one(*event) for event in events])

    def learn_one(
        self, h: npt.ArrayLike, y: float, weight: float = 1.0, offset: float = 0.0, time: float | None = None
    ) -> float:
        """Learn one event; return its margin b + hᵀw (with smoothing b + hᵀw̄) from before it was learned."""
        row = np.asarray(h, dtype=np.float64)
        if not self._rows:
            self._set_features(len(row))
        row = row if self._intercept is None else np.append(row, 1.0)
        self.margins.append(offset + float(row @ self._average(self.smoothing)))
        self._rows.append(row)
        self._events.append((y, weight, offset, math.nan if time is None else time))
        self.lambdas.append(0.0)  # until it is computed: S/A is now f_N(w'_{N-1}) of eq.primal_update
        self.slopes.append(0.0)
        _, c, _, t = np.array(self._events).T
        deltas = self._window(c, t)
        self.deltas = np.where(deltas < np.finfo(np.float64).tiny, 0.0, deltas)  # decayed to nothing
        if self.deltas[-1] > 0.0:
            x, alpha = self._x(), float(self.deltas[-1]) / self.strength
            z = offset + float(row @ self.penalty.gradient(x))
            self.lambdas[-1] = solve(self.loss, y, z, self.penalty.along(x, alpha * row, row))  # eq.mainAlgorithm1
            self.slopes[-1] = alpha * float(np.sum(row * row / self._a))
        self._w.append(self.penalty.gradient(self._x()))  # eq.mainAlgorithm2 and eq.mainAlgorithm3
        return self.margins[-1]

    def _sum(self) -> Array:
        """S = Σ_n δ_{n,N} λ(n) h_n."""
        return np.asarray((self.deltas * self.lambdas) @ np.array(self._rows)) if self._rows else 0.0 * self._a

    def _x(self) -> Array:
        """S/A, which is w'_N of eq.primal_dual_var when a₀ = 0; 0 if the total weight is 0."""
        return self._sum() / self.strength if self.mass > 0.0 else 0.0 * self._a

    def _average(self, kappa: float) -> Array:
        """Σ_n κ^(N-n) w_n / Σ_n κ^(N-n), the paper's w̄_N; ∇R*(0) before the first event."""
        if not self._w:
            return self.penalty.gradient(0.0 * self._a)
        powers = kappa ** np.arange(len(self._w) - 1.0, -1.0, -1.0)
        return np.asarray(powers @ np.array(self._w) / powers.sum())

    def _features(self, v: Array) -> Array:
        return v if self._intercept is None else v[:-1]

    def _last(self, v: Array) -> float:
        return 0.0 if self._intercept is None else float(v[-1])

    @property
    def mass(self) -> float:
        """Δ_N."""
        return float(self.deltas.sum())

    @property
    def strength(self) -> float:
        """A = ρΔ_N + a₀."""
        return self.rho * self.mass + self.prior_strength

    @property
    def count(self) -> int:
        """N."""
        return len(self._events)

    @property
    def w(self) -> Array:
        """w_N, without the intercept."""
        return self._features(self._average(0.0))

    @property
    def intercept(self) -> float:
        """The intercept of w_N; 0 if there is none."""
        return self._last(self._average(0.0))

    def w_bar(self, kappa: float | None = None) -> Array:
        """w̄_N for this κ (by default the learner's own), without the intercept."""
        return self._features(self._average(self.smoothing if kappa is None else kappa))

    def intercept_bar(self, kappa: float | None = None) -> float:
        """The intercept of w̄_N."""
        return self._last(self._average(self.smoothing if kappa is None else kappa))

    @property
    def dual_sum(self) -> Array:
        """S, without the intercept."""
        return self._features(self._sum())

    @property
    def intercept_dual_sum(self) -> float:
        """The intercept's coordinate of S."""
        return self._last(self._sum())

    @property
    def effective_sample_size(self) -> float:
        """(Σδ)²/Σδ²; 0 if the total weight is 0."""
        return self.mass**2 / float(self.deltas @ self.deltas) if self.mass > 0.0 else 0.0

    @property
    def saturation(self) -> float:
        """The share of the total weight that belongs to events whose λ is at an end of its domain, and not 0."""
        full = [self.loss.saturated(dual, y) for dual, (y, *_) in zip(self.lambdas, self._events, strict=True)]
        return float(np.where(full, self.deltas, 0.0).sum()) / self.mass if self.mass > 0.0 else 0.0

    def dual_objective(self) -> float:
        """D_N of eq.dual_problem, (1/Δ)(-Σδ·Q*(-λ) - A·R*(S/A)); 0 if the total weight is 0.

        An event with an offset b has the loss Q(b + ·) of hᵀw, whose conjugate at -λ is Q*(-λ) + bλ.
        """
        total = -self.strength * self.penalty.conjugate(self._x())
        for delta, dual, (y, _, b, _) in zip(self.deltas.tolist(), self.lambdas, self._events, strict=True):
            total -= delta * (self.loss.conjugate(-dual, y) + b * dual) if delta > 0.0 else 0.0
        return total / self.mass if self.mass > 0.0 else 0.0

    def primal_objective(self) -> float:
        """The cost of eq.primal_problem at w_N, (1/Δ)(Σδ·Q(b + hᵀw) + A·R(w)); 0 if the total weight is 0."""
        w = self._average(0.0)
        total = self.strength * self.penalty.value(w)
        for delta, h, (y, _, b, _) in zip(self.deltas.tolist(), self._rows, self._events, strict=True):
            total += delta * self.loss.value(b + float(h @ w), y) if delta > 0.0 else 0.0
        return total / self.mass if self.mass > 0.0 else 0.0
