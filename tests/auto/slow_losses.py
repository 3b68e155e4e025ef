"""What numbers are judged by, from the definitions of docs/auto.md: see slow_experts.py.

A loss Q has its dual step lambda at (p, s), the lambda with lambda = -Q'(p + s lambda), and what it costs above the least that a prediction can
cost. In units of its mean curvature kappa along the stream it is Q / kappa, and squared error would take the same step if its residual were

    e(p, s; y) = (1 + s) lambda(p, s / kappa; y) / kappa

Counts have a log link: a margin is the logarithm of what is predicted.
"""

import numpy as np
from scipy.optimize import brentq

from auto.slow_parts import EXPERTS, PLAIN, ROW_EXPERTS, Array, Fading
from odca import AbsoluteError, Poisson, Quantile, SquaredError
from odca.losses import Loss

LARGEST_LOG, LARGEST_MISS = 300.0, 1e101
FOLLOWS_LEVEL = [
    expert.kind in {"isotropic", "proportionate", "full_newton"}
    for expert in (*EXPERTS[:PLAIN], *EXPERTS[:ROW_EXPERTS])
]
"""Where a quantile is predicted: the experts that learn the level of the labels, by squared error. A twin does as its expert."""


class SlowUnit:
    """A loss, and its mean curvature along what was predicted: the sizes of errors (of counts, labels), and how many of them are near 0."""

    def __init__(self, loss: Loss) -> None:
        self.loss = loss
        self.size, self.near = Fading(), Fading()
        self.is_squared, self.is_count = isinstance(loss, SquaredError), isinstance(loss, Poisson)
        self.is_quantile = isinstance(loss, AbsoluteError | Quantile)
        self.low, self.high = (loss.q - 1.0, loss.q) if isinstance(loss, Quantile) else (-1.0, 1.0)  # slopes
        self.jump = self.high - self.low
        self.quantile = self.high / self.jump

    # --- The loss itself ---

    def answer(self, z: float) -> float:
        return float(np.exp(np.clip(z, -LARGEST_LOG, LARGEST_LOG))) if self.is_count else z

    def margin(self, answer: float) -> float:
        return float(np.log(answer)) if self.is_count else answer

    def dual(self, p: float, s: float, y: float) -> float:
        if self.is_squared:
            return (y - p) / (1.0 + s)
        if self.is_quantile:
            if s == 0.0:
                return self.high if y > p else self.low if y < p else 0.0
            return float(np.clip((y - p) / s, self.low, self.high))
        p = float(np.clip(p, -LARGEST_LOG, LARGEST_LOG))
        most = y - float(np.exp(p))  # lambda lies between 0 and this, and e^z between e^p and y
        if s == 0.0 or most == 0.0:
            return most if abs(most) > 1e-13 * y else 0.0  # the exponential of a logarithm differs by rounding
        end = (1.0 + 1e-12) * (
            min(most, (np.log(y) - p) / s) if most > 0.0 else most
        )  # and a little more, for rounding
        return float(brentq(lambda l: l - y + np.exp(p + s * l), 0.0, end, xtol=1e-18, rtol=1e-15, maxiter=500))

    def excess(self, z: float, y: float) -> float:
        if self.is_squared:
            return 0.5 * (y - z) ** 2
        if self.is_quantile:
            return max(self.high * (y - z), self.low * (y - z))
        mean = self.answer(z)
        return max(mean - y * np.log(mean) - (y - y * np.log(y) if y > 0.0 else 0.0), 0.0)

    # --- In its unit ---

    @property
    def kappa(self) -> float:
        if self.is_squared:
            return 1.0
        if self.is_count:
            return (self.size.sum + 0.5) / (self.size.mass + 0.5)
        if self.width == 0.0:
            return 0.0
        return self.jump * max((self.near.sum + 4.0) / (self.near.mass + 8.0), 0.02) / self.width

    @property
    def width(self) -> float:
        """Of the kernel by which the density of the residuals at zero is estimated."""
        return 2.0 * np.sqrt(self.quantile * (1.0 - self.quantile)) * self.size.mean()

    def learn(self, z: float, y: float, c: float) -> None:
        if self.is_count:
            self.size.add(y, c, 1.0 - 1.0 / 4096)
        elif self.is_quantile:
            miss = min(abs(y - z), LARGEST_MISS)
            self.size.add(miss, c, 0.998)
            if self.width > 0.0:
                self.near.add(max(1.0 - miss / self.width, 0.0), c, 1.0 - 1.0 / 4096)

    def residual(self, p: float, s: float, y: float, kappa: float | None = None) -> float:
        kappa = self.kappa if kappa is None else kappa
        if kappa == 0.0:
            return y - p
        return (1.0 + s) * self.dual(p, s / kappa, y) / kappa

    def cost(self, z: float, y: float) -> float:
        return self.excess(z, y) / self.kappa if self.kappa > 0.0 else 0.0

    def curvature(self, z: float) -> float:
        return self.answer(z) / self.kappa if self.is_count else 1.0

    def slope(self, z: float, y: float) -> float:
        """Of the loss, not of its unit."""
        return self.kappa * self.residual(z, 0.0, y) if self.kappa > 0.0 else 0.0

    def variance(self, squares: Fading) -> float:
        """The mean of e(p, 0)², from that of the squared slopes."""
        return squares.mean() / self.kappa**2 if self.kappa > 0.0 else 0.0

    # --- In the form of the core's state ---

    def parts(self, whose: str) -> dict[str, Array]:
        if self.is_squared:
            return {}
        numbers = {
            "size": self.size.sum,
            "size_mass": self.size.mass,
            "near": self.near.sum,
            "near_mass": self.near.mass,
        }
        return {whose + name: np.array([value]) for name, value in numbers.items()}

    def read(self, parts: dict[str, Array], whose: str) -> None:
        if not self.is_squared:
            self.size.sum, self.size.mass = float(parts[whose + "size"][0]), float(parts[whose + "size_mass"][0])
            self.near.sum, self.near.mass = float(parts[whose + "near"][0]), float(parts[whose + "near_mass"][0])


class SlowOffsets:
    """Of a quantile: what each expert's margin lacks, u, the quantile of what it missed lately. Dual steps at a constant."""

    def __init__(self) -> None:
        self.u, self.missed, self.mass = np.zeros(PLAIN), np.zeros(PLAIN), 0.0

    def learn(self, unit: SlowUnit, margin: Array, y: float, c: float) -> None:
        """`margin` has the offsets. The unit is the mixture's, in the size of the expert's own misses."""
        self.mass = 0.998 * self.mass + c
        s = c / self.mass
        for k, z in enumerate(margin):
            self.missed[k] = 0.998 * self.missed[k] + c * min(abs(y - z), LARGEST_MISS)
            own = self.missed[k] / self.mass
            if own > 0.0 and unit.size.mean() > 0.0:
                kappa = unit.kappa * unit.size.mean() / own
                self.u[k] += s / (1.0 + s) * unit.residual(z, s, y, kappa)

    def join(self) -> None:
        """Experts with products begin as those without."""
        self.u, self.missed = (np.concatenate([each, each[:ROW_EXPERTS]]) for each in (self.u, self.missed))

    def parts(self) -> dict[str, Array]:
        return {"offsets": self.u, "offset_misses": self.missed, "offset_mass": np.array([self.mass])}

    def read(self, parts: dict[str, Array]) -> None:
        self.u, self.missed = parts["offsets"].copy(), parts["offset_misses"].copy()
        self.mass = float(parts["offset_mass"][0])
