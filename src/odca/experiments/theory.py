"""How far off filters are that step along the row: exactly, for white Gaussian rows and a target that walks at random.

LMS, NLMS, stochastic proximal steps and O-DCA under l2 and squared loss are all

    w_n = k_n·w_{n-1} + g_n·h_n·(y_n - k_n·h_nᵀw_{n-1}),    y_n = h_nᵀw°_n + v_n,    w°_n = w°_{n-1} + q_n,

with a leak k_n and a gain g_n that depends on r = ‖h_n‖² alone:

    LMS, leaky      k = 1 - μρ               g = μ          (and the margin is taken before the leak: for ρ = 0 only, the same)
    NLMS            k = 1                    g = μ/(ε + r)
    O-DCA           k_n = (Δ_n - 1)/Δ_n      g = α_n/(1 + α_n·r),   α_n = 1/(ρΔ_n)

With d = w° - w and P = I - g·h·hᵀ this is d_n = P(k·d_{n-1} + (1 - k)·w°_{n-1} + q_n) - g·h·v. For h ~ N(0, I) of M coordinates P turns no
direction into another on the average: E P = p·I and E‖Px‖² = c‖x‖², with r ~ χ²_M, p = 1 - E[g·r]/M, c = 1 - E[2g·r - g²·r²]/M. So
D_n = E‖d_n‖² (the mean-square deviation), m_n = E d_nᵀw°_n and W_n = E‖w°_n‖² follow

    m_n = p·(k·m_{n-1} + (1 - k)·W_{n-1} + q²)
    D_n = c·(k²·D_{n-1} + 2k(1 - k)·m_{n-1} + (1 - k)²·W_{n-1} + q²) + σ²·E[g²·r]
    W_n = W_{n-1} + q²

where q² = E‖q_n‖² and σ² = E v². Nothing is approximated. (Sayed, Adaptive Filters, treats the steady state by energy conservation; for
RLS with forgetting, which turns directions, the known approximation is D = (σ²·M·(1 - β) + q²/(1 - β))/2.)
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import repeat

import numpy as np
from scipy.special import gammaln, roots_genlaguerre

from odca.experiments.study import Array

NODES = 60


@dataclass(frozen=True, slots=True)
class Walk:
    """A target that walks: the number of features, E‖q‖², σ² and ‖w°_0‖²."""

    features: int
    step: float
    noise: float
    start: float = 1.0


Gain = Callable[[Array], Array]
"""g, of r."""


def plain(rate: float) -> Gain:
    """That of LMS."""
    return lambda r: np.full_like(r, rate)


def normalised(rate: float) -> Gain:
    """That of NLMS, without ε."""
    return lambda r: rate / r


def implicit(alpha: float) -> Gain:
    """That of O-DCA and of proximal steps."""
    return lambda r: alpha / (1.0 + alpha * r)


def steady(gain: Gain) -> Iterator[tuple[float, Gain]]:
    """No leak, and the same gain at each event."""
    return repeat((1.0, gain))


def odca(rho: float, beta: float) -> Iterator[tuple[float, Gain]]:
    """Leak and gain at each event under Exponential(β); under Infinite for β = 1."""
    mass = 0.0
    while True:
        mass = beta * mass + 1.0
        yield (mass - 1.0) / mass, implicit(1.0 / (rho * mass))


def deviation(walk: Walk, events: int, steps: Iterator[tuple[float, Gain]]) -> Array:
    """D_n for n = 1 ... events."""
    r, weight = _chi_squared(walk.features)
    square = along = far = walk.start  # w = 0, so that d = w°
    out = np.empty(events)
    for n, (keep, gain) in zip(range(events), steps, strict=False):
        g = gain(r)
        turned = 1.0 - float(weight @ (g * r)) / walk.features
        shrunk = 1.0 - float(weight @ (2.0 * g * r - (g * r) ** 2)) / walk.features
        leak = 1.0 - keep
        square = shrunk * (keep**2 * square + 2.0 * keep * leak * along + leak**2 * far + walk.step)
        square += walk.noise * float(weight @ (g**2 * r))
        along = turned * (keep * along + leak * far + walk.step)
        far += walk.step
        out[n] = square
    return out


def level(walk: Walk, gain: Gain) -> float:
    """D in the long run, without a leak; infinite where the filter diverges."""
    r, weight = _chi_squared(walk.features)
    g = gain(r)
    lost = weight @ (2.0 * g * r - (g * r) ** 2) / walk.features
    return float(((1.0 - lost) * walk.step + walk.noise * (weight @ (g**2 * r))) / lost) if lost > 0.0 else np.inf


def best(walk: Walk, gain_of: Callable[[float], Gain]) -> float:
    """The parameter of the lowest level, to about one percent."""
    tried = np.geomspace(1e-4, 10.0, 1200)
    return float(min(tried, key=lambda parameter: level(walk, gain_of(float(parameter)))))


def rls_level(walk: Walk, beta: float) -> float:
    """D of RLS in the long run, approximately."""
    return 0.5 * (walk.noise * walk.features * (1.0 - beta) + walk.step / (1.0 - beta))


def _chi_squared(features: int) -> tuple[Array, Array]:
    """Nodes and weights: sums over them are means over χ² of so many degrees of freedom."""
    half = 0.5 * features
    x, weight = roots_genlaguerre(NODES, half - 1.0)
    return 2.0 * x, weight / np.exp(gammaln(half))
