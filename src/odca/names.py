"""Losses, penalties and windows by name, and options in the terms of other libraries.

A parameter may follow the name and a colon: "quantile:0.9", "elasticnet:0.2", "box:-1,1", "half-life:7d".
"""

import math
import re
from typing import Any

from odca.losses import LOSSES, Loss
from odca.penalties import L2, Box, ElasticNet, NonNegative, Penalty
from odca.validation.numbers import real, whole
from odca.windows import Exponential, HalfLife, Infinite, Sliding, Window

LOSS_NAMES: dict[str, type[Loss]] = {kind.name: kind for kind in LOSSES}
DEFAULT_DELTA = 0.15 / 0.85  # scikit-learn's l1_ratio = 0.15
UNITS = {"s": 1.0, "min": 60.0, "h": 3600.0, "d": 86400.0, "w": 604800.0}


def as_loss(loss: object) -> object:
    """A loss from its name, perhaps with its parameter, else with its own default; objects are what they are.

    >>> as_loss("quantile:0.9")
    Quantile(q=0.9)
    """
    if not isinstance(loss, str):
        return loss
    name, colon, parameter = loss.partition(":")
    if name not in LOSS_NAMES:
        raise ValueError(f"there is no loss named {name!r}. There are {', '.join(sorted(LOSS_NAMES))}, and objects.")
    kind = LOSS_NAMES[name]
    if colon and not kind.__slots__:
        raise ValueError(f"{name} has no parameter; got {loss!r}.")
    return kind(*_parameters(loss, parameter, 1)) if colon else kind()


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
        return ElasticNet(*_parameters(penalty, parameter, 1)) if colon else ElasticNet(DEFAULT_DELTA)
    if name == "nonnegative":
        return NonNegative(*_parameters(penalty, parameter, 1)) if colon else NonNegative()
    if name == "box" and colon:
        return Box(*_parameters(penalty, parameter, 2))
    raise ValueError(
        "penalty must be one of l2, elasticnet, elasticnet:0.2, nonnegative, box:-1,1, or an object such as ElasticNet(0.2); "
        f"got {penalty!r}."
    )


def as_window(window: Window | str | float) -> Window:
    """A window from "infinite", from a whole number (the last events) or a number below one (the factor β).

    Of event time in seconds: "36h" is a sliding window, "half-life:7d" fades. Units are s, min, h, d and w.

    >>> as_window("36h"), as_window("half-life:7d")
    (Sliding(length=None, duration=129600.0), HalfLife(tau=604800.0))
    """
    if isinstance(window, Window):
        return window
    if window == "infinite":
        return Infinite()
    if isinstance(window, str):
        name, colon, parameter = window.partition(":")
        seconds = _seconds(parameter if colon else name)
        if name in {"half-life", "half_life"} and seconds > 0.0:
            return HalfLife(seconds)
        if not colon and seconds > 0.0:
            return Sliding(duration=seconds)
    elif not isinstance(window, bool):
        if hasattr(window, "__index__"):
            return Sliding(whole(window, "window"))
        if 0.0 < real(window) < 1.0:
            return Exponential(float(window))
    raise ValueError(
        "window must be 'infinite', a whole number (a sliding window of so many events), a number between 0 and 1 "
        "(exponential forgetting), a duration such as '36h' (a sliding window of event time; units are "
        f"{', '.join(UNITS)}), 'half-life:7d', or an object such as HalfLife(3600.0); got {window!r}."
    )


def _parameters(whole_name: str, text: str, count: int) -> list[float]:
    """The numbers behind a colon."""
    try:
        numbers = [float(part) for part in text.split(",")]
    except ValueError:
        numbers = []
    if len(numbers) != count:
        wanted = "a number" if count == 1 else f"{count} numbers with a comma between them"
        raise ValueError(f"{wanted} must follow the colon; got {whole_name!r}.")
    return numbers


def _seconds(text: str) -> float:
    """A number with a unit of time; NaN if it is none."""
    found = re.fullmatch(rf"(\d+\.?\d*|\.\d+)({'|'.join(UNITS)})", text)
    return float(found[1]) * UNITS[found[2]] if found else math.nan


def unless_auto(name: str, value: float | str, automatic: float) -> Any:
    """The value of an option, or what "auto" stands for."""
    if value == "auto":
        return automatic
    if isinstance(value, str):
        raise ValueError(f"{name} must be a number or 'auto'; got {value!r}.")  # noqa: TRY004 - an option's value
    return value


def smoothing_for(window: Window) -> float:
    """κ that averages over about a tenth of the events that a window remembers, and over at most 10,000."""
    if isinstance(window, Infinite):
        events = 1e5
    elif isinstance(window, Exponential):
        events = 1.0 / (1.0 - max(window.beta) if isinstance(window.beta, tuple) else 1.0 - window.beta)
    elif isinstance(window, Sliding) and window.length is not None:
        events = float(window.length)
    else:
        assert isinstance(window, HalfLife | Sliding)  # in time: how many events that is, nobody knows
        events = 1e3
    return max(0.0, 1.0 - 1.0 / min(1e4, max(1.0, 0.1 * events)))


def prior_strength_for(squared_norm: float) -> float:
    """a₀ that lets the first events of a stream move a classifier's margins by a few units, whatever their length.

    An event moves its own margin by s = ‖h‖²/A per unit of λ ≤ 1. Under A = ρΔ alone the first events, when Δ is small, would
    throw it about.
    """
    return 0.1 * (1.0 + squared_norm)


# Between scikit-learn's and LIBLINEAR's terms and ours. Ours is the mean loss plus ρ(δ‖w‖₁ + ½‖w‖²).


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
