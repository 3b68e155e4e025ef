"""Options in the terms of other libraries: scikit-learn's `alpha` and `l1_ratio`, LIBLINEAR's `C`, Ridge's `alpha`.

Ours is the mean loss plus ρ(δ‖w‖₁ + ½‖w‖²).
"""

from typing import Any

from odca.penalties import L2, ElasticNet, Penalty, as_penalty
from odca.validation.numbers import real, whole


def from_sgd(alpha: float, l1_ratio: float = 0.0) -> dict[str, Any]:
    """Options for the problem of SGDClassifier, SGDRegressor or ElasticNet: mean loss + α(r‖w‖₁ + (1-r)/2 ‖w‖²).

    ρ = α(1-r) and δ = r/(1-r).
    """
    if not real(alpha) > 0.0:
        raise ValueError(f"alpha must be a number > 0; got {alpha!r}.")
    if not 0.0 <= real(l1_ratio) < 1.0:
        raise ValueError(
            f"l1_ratio must lie in [0, 1); got {l1_ratio!r}. Without any l2 the dual has no w; 0.99 is nearly pure l1."
        )
    rho = float(alpha) * (1.0 - float(l1_ratio))
    return {"rho": rho, "penalty": ElasticNet(l1_ratio / (1.0 - l1_ratio)) if l1_ratio > 0.0 else L2()}


def to_sgd(rho: float, penalty: Penalty | str = "l2") -> dict[str, float]:
    """The `alpha` and `l1_ratio` of (ρ, δ): the reverse of `from_sgd`."""
    known = as_penalty(penalty)
    if not isinstance(known, L2 | ElasticNet):
        raise ValueError(f"scikit-learn's SGD has l2, l1 and elasticnet; there is no {penalty!r}.")  # noqa: TRY004 - an option's value
    delta = known.delta if isinstance(known, ElasticNet) else 0.0
    return {"alpha": rho * (1.0 + delta), "l1_ratio": delta / (1.0 + delta)}


def from_liblinear(C: float, n_samples: int) -> dict[str, Any]:
    """Options for the problem of LinearSVC, LinearSVR or LogisticRegression: C Σ loss + ½‖w‖². ρ = 1/(C n)."""
    if not real(C) > 0.0:
        raise ValueError(f"C must be a number > 0; got {C!r}.")
    return {"rho": 1.0 / (float(C) * whole(n_samples, "n_samples")), "penalty": L2()}


def to_liblinear(rho: float, n_samples: int) -> float:
    """The `C` of ρ: the reverse of `from_liblinear`."""
    if not real(rho) > 0.0:
        raise ValueError(f"rho must be a number > 0; got {rho!r}.")
    return 1.0 / (float(rho) * whole(n_samples, "n_samples"))


def from_ridge(alpha: float, n_samples: int) -> dict[str, Any]:
    """Options for the problem of Ridge: Σ (y - z)² + α‖w‖². ρ = α/n."""
    if not real(alpha) > 0.0:
        raise ValueError(f"alpha must be a number > 0; got {alpha!r}.")
    return {"rho": float(alpha) / whole(n_samples, "n_samples"), "penalty": L2()}
