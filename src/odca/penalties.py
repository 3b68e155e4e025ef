"""Penalties R(w): what the model is drawn to when the data do not say otherwise.

O-DCA keeps a dual sum S and a strength A; the model is w = ∇R*(S/A), where R*(x) = sup_w {xᵀw - R(w)}
(the paper's table of regularisers). Each class below states R, R* and ∇R* for one coordinate of weight 1
and prior mean 0; soft(x, δ) = sgn(x)·max(0, |x| - δ), and clip(x, a, b) is x moved into [a, b].

With the Learner's `penalty_weights` a and `prior_mean` w0 the separable ones (all but KL) become

    R(w) = Σ_j a_j·r(w_j - w0_j),    w_j = clip(w0_j + soft(x_j / a_j, δ), lo, hi)

where the bounds stay bounds on w_j itself.
"""

import math
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from odca import _core
from odca.validation.numbers import real


class Penalty:
    """A penalty R(w), strongly convex, so that ∇R* exists everywhere."""

    __slots__ = ()

    name: ClassVar[str]

    @property
    def is_symmetric(self) -> bool:
        """Whether w and -w cost the same."""
        return True

    def native(self, n_features: int | None = None) -> _core.Penalty:
        """The penalty as the core has it; only KL asks how many features there are."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class L2(Penalty):
    """Ridge: small weights, none of them exactly zero. The default, and the fastest.

    R(w) = ½w²
    R*(x) = ½x²
    ∇R*(x) = x
    """

    name: ClassVar[str] = "l2"

    def native(self, n_features: int | None = None) -> _core.Penalty:  # noqa: ARG002 - only KL needs it
        """The penalty as the core has it."""
        return _core.Penalty.l2()


@dataclass(frozen=True, slots=True)
class ElasticNet(Penalty):
    """Ridge and lasso: weights of little use are exactly zero.

    R(w) = δ|w| + ½w²
    R*(x) = ½soft(x, δ)²
    ∇R*(x) = soft(x, δ)

    >>> ElasticNet(0.5)
    ElasticNet(delta=0.5)
    """

    delta: float
    name: ClassVar[str] = "elasticnet"

    def __post_init__(self) -> None:
        object.__setattr__(self, "delta", _threshold(self))

    def native(self, n_features: int | None = None) -> _core.Penalty:  # noqa: ARG002 - only KL needs it
        """The penalty as the core has it."""
        return _core.Penalty.separable(self.delta, -math.inf, math.inf)


@dataclass(frozen=True, slots=True)
class NonNegative(Penalty):
    """Weights that cannot be negative, as for mixtures and for effects of known sign; sparse if δ > 0.

    R(w) = δ|w| + ½w² for w ≥ 0, and +∞ below
    R*(x) = ½max(0, x - δ)²
    ∇R*(x) = max(0, x - δ)
    """

    delta: float = 0.0
    name: ClassVar[str] = "nonnegative"

    def __post_init__(self) -> None:
        object.__setattr__(self, "delta", _threshold(self))

    @property
    def is_symmetric(self) -> bool:
        """Whether w and -w cost the same."""
        return False

    def native(self, n_features: int | None = None) -> _core.Penalty:  # noqa: ARG002 - only KL needs it
        """The penalty as the core has it."""
        return _core.Penalty.separable(self.delta, 0.0, math.inf)


@dataclass(frozen=True, slots=True)
class Box(Penalty):
    """Weights between two bounds, lo ≤ 0 ≤ hi; sparse if δ > 0. Either bound may be infinite.

    R(w) = δ|w| + ½w² for lo ≤ w ≤ hi, and +∞ elsewhere
    R*(x) = x·w - R(w) at w = ∇R*(x)
    ∇R*(x) = clip(soft(x, δ), lo, hi)

    The bounds hold zero because a feature that was never seen has weight zero.
    """

    lo: float
    hi: float
    _: KW_ONLY
    delta: float = 0.0
    name: ClassVar[str] = "box"

    def __post_init__(self) -> None:
        lo, hi = real(self.lo), real(self.hi)
        if not (lo <= 0.0 <= hi and lo < hi):
            raise ValueError(
                f"Box needs bounds lo <= 0 <= hi with lo < hi; got lo={self.lo!r}, hi={self.hi!r}. "
                "For weights around another point give the Learner a prior_mean."
            )
        object.__setattr__(self, "lo", lo)
        object.__setattr__(self, "hi", hi)
        object.__setattr__(self, "delta", _threshold(self))

    @property
    def is_symmetric(self) -> bool:
        """Whether w and -w cost the same."""
        return self.lo == -self.hi

    def native(self, n_features: int | None = None) -> _core.Penalty:  # noqa: ARG002 - only KL needs it
        """The penalty as the core has it."""
        return _core.Penalty.separable(self.delta, self.lo, self.hi)


@dataclass(frozen=True, slots=True)
class KL(Penalty):
    """Weights on the probability simplex, drawn to a prior π: mixtures of experts, portfolios, mixing rates.

    R(w) = Σ_j w_j·log(w_j / π_j) for w ≥ 0 with Σ_j w_j = 1, and +∞ elsewhere
    R*(x) = log Σ_j π_j·e^(x_j)
    ∇R*(x) = softmax(x + log π)

    `prior` holds one positive number per feature and is scaled to sum to one; without it π is uniform,
    and the Learner must be told `n_features`. Every event moves every weight, so a step costs O(M).
    """

    prior: Sequence[float] | npt.NDArray[np.float64] | None = None
    name: ClassVar[str] = "kl"

    def __post_init__(self) -> None:
        if self.prior is None:
            return
        given = self.prior if np.ndim(self.prior) == 1 else ()
        prior = tuple(real(value) for value in given)
        if not prior:
            raise ValueError(
                f"KL needs a prior with one positive number per feature; got prior={self.prior!r}. "
                "For a uniform prior leave it out and give the Learner n_features."
            )
        for j, value in enumerate(prior):
            if not 0.0 < value < math.inf:
                raise ValueError(
                    f"KL needs positive finite numbers in prior; entry {j} is {self.prior[j]!r}. "
                    "A feature of prior zero would keep weight zero: leave it out of the rows."
                )
        object.__setattr__(self, "prior", prior)

    @property
    def is_symmetric(self) -> bool:
        """Whether w and -w cost the same."""
        return False

    def native(self, n_features: int | None = None) -> _core.Penalty:
        """The penalty as the core has it."""
        if self.prior is None:
            if n_features is None:
                raise ValueError(
                    "KL needs to know its features; got neither a prior nor n_features. Give the Learner n_features."
                )
            return _core.Penalty.kl(np.full(n_features, -math.log(n_features)))
        if n_features not in {None, len(self.prior)}:
            raise ValueError(
                f"KL has a prior of {len(self.prior)} features; got n_features={n_features}. Leave n_features out."
            )
        prior = np.array(self.prior, dtype=np.float64)
        return _core.Penalty.kl(np.log(prior) - math.log(math.fsum(self.prior)))


PENALTIES: tuple[type[Penalty], ...] = (L2, ElasticNet, NonNegative, Box, KL)


def _threshold(penalty: ElasticNet | NonNegative | Box) -> float:
    delta = real(penalty.delta)
    if not 0.0 <= delta < math.inf:
        raise ValueError(
            f"{type(penalty).__name__} needs a finite threshold delta >= 0; got delta={penalty.delta!r}. "
            "The larger it is, the more weights are zero."
        )
    return delta
