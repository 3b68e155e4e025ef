"""Penalties (regularisers) R(w): which weights are preferred as far as the data allow.

O-DCA keeps a dual sum S and a strength A; the model is w = ∇R*(S/A), where R*(x) = sup_w {xᵀw - R(w)}
(the paper's table of regularisers). Each class below states R, R* and ∇R* for one coordinate of weight 1
and prior mean 0; soft(x, δ) = sgn(x)·max(0, |x| - δ), and clip(x, a, b) is x clipped to [a, b].

With the Learner's `penalty_weights` a and `prior_mean` w0, the separable penalties (all but KL) become

    R(w) = Σ_j a_j·r(w_j - w0_j),    w_j = clip(w0_j + soft(x_j / a_j, δ), lo, hi)

where the bounds still apply to w_j itself.
"""

import math
from collections.abc import Sequence
from dataclasses import KW_ONLY
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from odca import _core
from odca.records import record
from odca.validation.numbers import numbers_after_colon, real


class Penalty:
    """The base class of penalties: R(w) is strongly convex, so that ∇R* exists everywhere."""

    __slots__ = ()

    name: ClassVar[str]

    @property
    def is_symmetric(self) -> bool:
        """Whether w and -w cost the same."""
        return True

    def native(self, n_features: int | None = None) -> _core.Penalty:
        """The native penalty; only KL needs the number of features."""
        raise NotImplementedError


@record
class L2(Penalty):
    """Ridge: weights are small, but not exactly zero. The default, and the fastest.

    R(w) = ½w²
    R*(x) = ½x²
    ∇R*(x) = x
    """

    name: ClassVar[str] = "l2"

    def native(self, n_features: int | None = None) -> _core.Penalty:  # noqa: ARG002 - only KL needs it
        """The penalty as the core has it."""
        return _core.Penalty.l2()


@record
class ElasticNet(Penalty):
    """Ridge and lasso: the weights of unimportant features are exactly zero.

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


@record
class NonNegative(Penalty):
    """Non-negative weights, for mixtures or for effects of known sign; sparse if δ > 0.

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


@record
class Box(Penalty):
    """Weights between two bounds, lo ≤ 0 ≤ hi; sparse if δ > 0. Either bound may be infinite.

    R(w) = δ|w| + ½w² for lo ≤ w ≤ hi, and +∞ elsewhere
    R*(x) = x·w - R(w) at w = ∇R*(x)
    ∇R*(x) = clip(soft(x, δ), lo, hi)

    The bounds must include zero because the weight of a feature that was never seen is zero.
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
                "For weights near another point, give the Learner a prior_mean."
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


@record
class KL(Penalty):
    """Weights on the probability simplex, close to a prior π: for mixtures of experts, portfolios, mixing rates.

    R(w) = Σ_j w_j·log(w_j / π_j) for w ≥ 0 with Σ_j w_j = 1, and +∞ elsewhere
    R*(x) = log Σ_j π_j·e^(x_j)
    ∇R*(x) = softmax(x + log π)

    `prior` holds one positive number per feature and is scaled to sum to one. Without it π is uniform,
    and the Learner needs `n_features`. Every event changes every weight, so a step costs O(M) for M features.
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
                "For a uniform prior, leave it out and give the Learner n_features."
            )
        for j, value in enumerate(prior):
            if not 0.0 < value < math.inf:
                raise ValueError(
                    f"KL needs positive finite numbers in prior; entry {j} is {self.prior[j]!r}. "
                    "A feature with prior zero would always have weight zero: leave it out of the data."
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
                    "KL needs the number of features; got neither a prior nor n_features. Give the Learner n_features."
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


DEFAULT_DELTA = 0.15 / 0.85  # scikit-learn's l1_ratio = 0.15


def as_penalty(penalty: Penalty | str) -> Penalty:
    """A penalty from its name. Their parameters: elasticnet:δ, nonnegative:δ, box:lo,hi.

    >>> as_penalty("box:-1,1")
    Box(lo=-1.0, hi=1.0, delta=0.0)
    """
    if isinstance(penalty, Penalty):
        return penalty
    name, colon, parameter = str(penalty).partition(":")
    if name == "l2" and not colon:
        return L2()
    if name == "elasticnet":
        return ElasticNet(*numbers_after_colon(penalty, parameter, 1)) if colon else ElasticNet(DEFAULT_DELTA)
    if name == "nonnegative":
        return NonNegative(*numbers_after_colon(penalty, parameter, 1)) if colon else NonNegative()
    if name == "box" and colon:
        return Box(*numbers_after_colon(penalty, parameter, 2))
    raise ValueError(
        "penalty must be one of l2, elasticnet, elasticnet:0.2, nonnegative, box:-1,1, or an object such as ElasticNet(0.2); "
        f"got {penalty!r}."
    )
