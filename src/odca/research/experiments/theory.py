"""The exact deviation of filters that step along the row, for white Gaussian rows and a target on a random walk.

LMS, NLMS, stochastic proximal steps and O-DCA under l2 and squared loss are all

    w_n = k_n·w_{n-1} + g_n·h_n·(y_n - k_n·h_nᵀw_{n-1}),    y_n = h_nᵀw°_n + v_n,    w°_n = w°_{n-1} + q_n,

with a leak k_n and a gain g_n that depends only on r = ‖h_n‖²:

    LMS, leaky      k = 1 - μρ               g = μ          (with the margin before the leak, which is the same only for ρ = 0)
    NLMS            k = 1                    g = μ/(ε + r)
    O-DCA           k_n = (Δ_n - 1)/Δ_n      g = α_n/(1 + α_n·r),   α_n = 1/(ρΔ_n)

With d = w° - w and P = I - g·h·hᵀ this is d_n = P(k·d_{n-1} + (1 - k)·w°_{n-1} + q_n) - g·h·v. For h ~ N(0, I) in M dimensions, P does not
rotate directions on average: E P = p·I and E‖Px‖² = c‖x‖², with r ~ χ²_M, p = 1 - E[g·r]/M, c = 1 - E[2g·r - g²·r²]/M. So
D_n = E‖d_n‖² (the mean-square deviation), m_n = E d_nᵀw°_n and W_n = E‖w°_n‖² follow

    m_n = p·(k·m_{n-1} + (1 - k)·W_{n-1} + q²)
    D_n = c·(k²·D_{n-1} + 2k(1 - k)·m_{n-1} + (1 - k)²·W_{n-1} + q²) + σ²·E[g²·r]
    W_n = W_{n-1} + q²

where q² = E‖q_n‖² and σ² = E v². This is exact. RLS with forgetting rotates directions. By energy conservation (Sayed, Adaptive Filters,
2008, on the tracking of RLS) its inverse, whose mean is (1 - β)·I for white rows, makes steps of mean squared length σ²·M·(1 - β)² + D·M·(1 - β)² and
reduces the deviation by 2(1 - β)·D, so that in the long run

    D = (σ²·M·(1 - β) + q²/(1 - β)) / (2 - M(1 - β)),

which neglects the variation of the inverse from event to event, and so holds only for small M(1 - β).
"""

from collections.abc import Callable

import numpy as np
from scipy.special import gammaln, roots_genlaguerre

from odca.records import record
from odca.research.experiments.intervals import Array

NODES = 60


@record
class Walk:
    """A target on a random walk: the number of features, E‖q‖², σ² and ‖w°_0‖²."""

    features: int
    step: float
    noise: float
    start: float = 1.0


Gain = Callable[[Array], Array]
"""g as a function of r."""
Steps = Callable[[int, Array], tuple[Array, Array]]
"""k and g at each event, as a function of the number of events and of r."""


def plain(rate: float) -> Gain:
    """The gain of LMS."""
    return lambda r: np.full_like(r, rate)


def normalised(rate: float) -> Gain:
    """The gain of NLMS, without ε."""
    return lambda r: rate / r


def implicit(alpha: float | Array) -> Gain:
    """The gain of O-DCA and of proximal steps."""
    return lambda r: alpha / (1.0 + alpha * r)


def steady(gain: Gain) -> Steps:
    """Steps without a leak, with the same gain at each event."""
    return lambda events, r: (np.ones(events), np.broadcast_to(gain(r), (events, len(r))))


def odca(rho: float, beta: float) -> Steps:
    """Leak and gain at each event under Exponential(β); under Infinite for β = 1."""

    def steps(events: int, r: Array) -> tuple[Array, Array]:
        n = np.arange(1.0, events + 1.0)
        mass = n if beta == 1.0 else np.expm1(n * np.log(beta)) / (beta - 1.0)
        return (mass - 1.0) / mass, implicit(1.0 / (rho * mass[:, None]))(r)

    return steps


def deviation(walk: Walk, events: int, steps: Steps) -> Array:
    """D_n for n = 1 ... events."""
    r, weight = _chi_squared(walk.features)
    keeps, g = steps(events, r)
    turned = 1.0 - (g * r) @ weight / walk.features
    shrunk = 1.0 - (2.0 * g * r - (g * r) ** 2) @ weight / walk.features
    added = walk.noise * ((g**2 * r) @ weight)
    square = along = far = walk.start  # w = 0, so that d = w°
    out = np.empty(events)
    for n, (k, p, c, noise) in enumerate(zip(*(part.tolist() for part in (keeps, turned, shrunk, added)), strict=True)):
        leak = 1.0 - k
        square = c * (k**2 * square + 2.0 * k * leak * along + leak**2 * far + walk.step) + noise
        along = p * (k * along + leak * far + walk.step)
        far += walk.step
        out[n] = square
    return out


def level(walk: Walk, gain: Gain) -> float:
    """D in the long run, without a leak; infinite if the filter diverges."""
    r, weight = _chi_squared(walk.features)
    g = gain(r)
    lost = weight @ (2.0 * g * r - (g * r) ** 2) / walk.features
    return float(((1.0 - lost) * walk.step + walk.noise * (weight @ (g**2 * r))) / lost) if lost > 0.0 else np.inf


def best(walk: Walk, gain_of: Callable[[float], Gain]) -> float:
    """The parameter with the lowest level, to about one percent."""
    tried = np.geomspace(1e-4, 10.0, 1200)
    return float(min(tried, key=lambda parameter: level(walk, gain_of(float(parameter)))))


def rls_level(walk: Walk, beta: float) -> float:
    """D of RLS in the long run, approximately."""
    forgotten = 1.0 - beta
    left = 2.0 - walk.features * forgotten
    return (walk.noise * walk.features * forgotten + walk.step / forgotten) / left if left > 0.0 else np.inf


def best_forgetting(walk: Walk) -> float:
    """The 1 - β with the lowest such level, to about one percent."""
    return float(min(np.geomspace(1e-5, 1.0, 1200)[:-1], key=lambda each: rls_level(walk, 1.0 - float(each))))


def _chi_squared(features: int) -> tuple[Array, Array]:
    """Quadrature nodes and weights for expectations over χ² with this many degrees of freedom."""
    half = 0.5 * features
    x, weight = roots_genlaguerre(NODES, half - 1.0)
    return 2.0 * x, weight / np.exp(gammaln(half))
