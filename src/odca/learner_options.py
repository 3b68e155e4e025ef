"""The options of a learner: validation, and conversion for the native core."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from numbers import Real
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from odca.penalties import KL, L2, Box, NonNegative, Penalty
from odca.products import Product
from odca.records import record
from odca.validation.arrays import Array, as_floats
from odca.validation.numbers import real, whole
from odca.windows import Automatic, PerLane, Window

MOST_LANES = 2**20
LARGEST = 1e300
"""Of weights and strengths: beyond it sums of them overflow."""
Numbers: TypeAlias = float | Sequence[float] | npt.NDArray[np.float64]


def frozen(value: Any, name: str) -> Any:
    """Numbers unchanged, sequences as (nested) tuples, so that options can be compared and never change."""
    if value is None or isinstance(value, Real):
        return value
    array = as_floats(value, name)
    return tuple(tuple(row) if isinstance(row, list) else row for row in array.tolist()) if array.ndim else float(array)


@record
class Candidate:
    """One way to learn a model, beside others (cpp/odca/step/choice.hpp). The first answers until another does better."""

    strength: float = 0.0
    """A constant strength, in addition to the option prior_strength."""
    half_life: float | None = None
    """Of the exponential window, in events; infinite for the infinite window. None: the learner's own window."""
    average_of: int | None = None
    """The number of the candidate whose weights are averaged. None: a candidate of its own."""

    def native(self) -> tuple[float, float | None, int | None]:
        """As the core has it, with the window as the factor β."""
        return self.strength, None if self.half_life is None else 2.0 ** (-1.0 / self.half_life), self.average_of


STRENGTHS = (1.0, 10.0, 0.1, 100.0, 0.01, 1000.0)
"""What `rho="auto"` tries, as constant strengths a₀: an inverse C from 100 to 0.001."""
HALF_LIVES = (math.inf, 30.0, 300.0, 3000.0)
"""What `window="auto"` tries with a given rho."""
PAIRS = (
    *((strength, math.inf) for strength in (1.0, 10.0, 0.1, 100.0, 1000.0)),
    *((1.0, 30.0), (1.0, 300.0), (10.0, 3000.0)),
)
"""What is tried where both are "auto", as strengths and half-lives. Chosen on the streams of benchmarks.quality: strengths under a window
that forgets differ little, so there are few; and one that was never the best was left out."""


def candidates_of(rho: object, window: Window, penalty: Penalty, smoothing: float) -> tuple[Candidate, ...]:
    """What a learner with these options tries; empty if there is nothing to choose.

    Where windows are tried, averages of the weights are tried, too, if they can be: the weights must be linear in the dual sum
    (L2), and smoothing must not average all of them anyway.
    """
    if not isinstance(window, Automatic):
        return tuple(Candidate(strength) for strength in STRENGTHS) if isinstance(rho, str) else ()
    pairs = PAIRS if isinstance(rho, str) else tuple((0.0, half_life) for half_life in HALF_LIVES)
    averaged = 0 if smoothing > 0.0 or not isinstance(penalty, L2) else 2 if isinstance(rho, str) else 1
    averages = (Candidate(*pairs[k], average_of=k) for k in range(averaged))
    return (*(Candidate(strength, half_life) for strength, half_life in pairs), *averages)


def default_rho(*, scale: bool) -> float:
    """ρ where nothing can be tried. Where features are scaled, 1e-5 would let the first events throw the weights far off."""
    return 1e-3 if scale else 1e-5


def can_choose(loss: object) -> bool:
    """Whether candidates can be compared under a loss: it must say what a prediction costs."""
    return hasattr(loss, "value")


def count_lanes(lanes: int | None, *, rho: Numbers | str, prior_strength: Numbers, window: Window) -> int | None:
    """The number of lanes that the options have values for; None if there is one model."""
    named = {
        "lanes": None if lanes is None else whole(lanes, "lanes"),
        "rho": len(np.asarray(rho)) if np.ndim(rho) else None,
        "prior_strength": len(np.asarray(prior_strength)) if np.ndim(prior_strength) else None,
        "window": window.lanes,
    }
    given = {name: count for name, count in named.items() if count is not None}
    if not given:
        return None
    if max(given.values()) > MOST_LANES:
        raise ValueError(f"there can be at most {MOST_LANES} lanes; the options have values for {max(given.values())}.")
    if len(set(given.values())) > 1 or 0 in given.values():
        raise ValueError(
            f"the options name different numbers of lanes: {given}. Make them agree, with at least one lane."
        )
    return next(iter(given.values()))


def per_lane(name: str, values: Numbers, lanes: int) -> Array:
    """An option that may differ between lanes, as one number per lane."""
    array = as_floats(values, name)
    if array.ndim > 1 or not np.all((array == 0.0) | (array >= 1.0 / LARGEST) & (array <= LARGEST)):
        raise ValueError(
            f"{name} must be 0 or a number from {1.0 / LARGEST:g} to {LARGEST:g}, or one for each lane; got {values!r}."
        )
    return np.broadcast_to(array, (lanes,)).copy()


def fixed_features(penalty: Penalty, n_features: int | None, *, intercept: bool) -> int:
    """The number of features if it is fixed, otherwise 0."""
    if not isinstance(penalty, KL):
        if n_features is not None:
            raise ValueError(
                "n_features is for KL; under other penalties features may appear at any time. Leave it out."
            )
        return 0
    if intercept:
        raise ValueError("KL has no intercept: its weights are a point of the simplex. Use offset for a constant.")
    wanted = None if n_features is None else whole(n_features, "n_features", most=2**31 - 2)
    known = len(penalty.prior) if penalty.prior is not None else wanted
    if known is None:
        raise ValueError(f"KL needs its number of features; got n_features={n_features!r}. Give n_features or a prior.")
    if wanted not in {None, known}:
        raise ValueError(f"KL has a prior of {known} features; got n_features={n_features}. Leave n_features out.")
    return known


def shape_of(options: dict[str, Any], lanes: int, penalty: Penalty) -> tuple[Array | None, Array | None]:
    """1/a_j by feature and w₀ by feature and lane, with the intercept first; None if they are all 1 and all 0."""
    weights, mean, intercept = options["penalty_weights"], options["prior_mean"], options["intercept"]
    factor, prior_intercept = options["intercept_penalty"], options["prior_intercept"]
    if not 1e-300 <= real(factor) <= 1e300:
        raise ValueError(f"intercept_penalty must lie in [1e-300, 1e300]; got {factor!r}. Small is nearly free: 1e-6.")
    start = as_floats(prior_intercept, "prior_intercept")
    if start.ndim > 1 or (start.ndim and len(start) != lanes) or not np.all(np.abs(start) < LARGEST):
        raise ValueError(
            f"prior_intercept must be a number below {LARGEST:g} in size, or one for each lane; got {prior_intercept!r}."
        )
    for name, is_given in (("prior_intercept", start.any()), ("intercept_penalty", factor != 1.0)):
        if is_given and not intercept:
            raise ValueError(f"{name} is given but there is no intercept. Set intercept=True.")
    if weights is None and mean is None and not (intercept and (factor != 1.0 or start.any())):
        return None, None
    if isinstance(penalty, KL):
        raise ValueError("KL takes no penalty_weights and no prior_mean. Its prior is KL(prior).")  # noqa: TRY004 - not a type
    a = np.ones(0) if weights is None else as_floats(weights, "penalty_weights")
    w0 = np.zeros(0) if mean is None else as_floats(mean, "prior_mean")
    if a.ndim != 1 or not np.all((a >= 1e-300) & (a <= 1e300)):
        raise ValueError("penalty_weights must be a vector of numbers in [1e-300, 1e300], one per feature.")
    if w0.ndim not in {1, 2} or (w0.ndim == 2 and len(w0) != lanes) or not np.all(np.abs(w0) < LARGEST):
        raise ValueError(
            f"prior_mean must have shape (n_features,) or ({lanes}, n_features) and numbers below {LARGEST:g} in size."
        )
    features = max(len(a), w0.shape[-1])
    inverse = np.ones(features + intercept)
    inverse[intercept : intercept + len(a)] = 1.0 / a
    means = np.zeros((features + intercept, lanes))
    means[intercept : intercept + w0.shape[-1]] = np.broadcast_to(w0, (lanes, w0.shape[-1])).T
    if intercept:
        inverse[0] = 1.0 / float(factor)
        means[0] = start
    if isinstance(penalty, NonNegative | Box):
        lo, hi = (penalty.lo, penalty.hi) if isinstance(penalty, Box) else (0.0, math.inf)
        bounded = means[int(intercept) :]
        if not np.all((lo <= bounded) & (bounded <= hi)):
            raise ValueError(f"prior_mean must lie inside the bounds [{lo:g}, {hi:g}] of {penalty!r}.")
    return inverse, means.ravel()


class LearnerOptions:
    """A learner's options as properties. They never change."""

    _options: dict[str, Any]
    """The values as given, with sequences as tuples."""

    @property
    def options(self) -> dict[str, Any]:
        """All options by name, for another learner of the same problem: `Learner(**learner.options)`."""
        return dict(self._options)

    @property
    def loss(self) -> object:
        """The loss, as it was given."""
        return self._options["loss"]

    @property
    def penalty(self) -> Penalty:
        """R, the penalty."""
        penalty: Penalty = self._options["penalty"]
        return penalty

    @property
    def rho(self) -> PerLane | Literal["auto"]:
        """ρ, the strength of the penalty relative to the total weight of the events; a tuple if lanes differ.

        "auto" if several strengths are tried.
        """
        rho: PerLane | Literal["auto"] = self._options["rho"]
        return rho

    @property
    def window(self) -> Window:
        """How past events are weighted."""
        window: Window = self._options["window"]
        return window

    @property
    def smoothing(self) -> float:
        """κ, the decay of the average that predictions use."""
        return float(self._options["smoothing"])

    @property
    def prior_strength(self) -> PerLane:
        """a₀, the constant strength of the penalty; a tuple if lanes differ."""
        strength: PerLane = self._options["prior_strength"]
        return strength

    @property
    def prior_mean(self) -> tuple[Any, ...] | None:
        """w₀ of the features, or one such tuple for each lane; None if all are 0."""
        mean: tuple[Any, ...] | None = self._options["prior_mean"]
        return mean

    @property
    def prior_intercept(self) -> PerLane:
        """w₀ of the intercept; a tuple if lanes differ."""
        start: PerLane = self._options["prior_intercept"]
        return start

    @property
    def products(self) -> tuple[Product, ...]:
        """The products of two features that add to every margin."""
        products: tuple[Product, ...] = self._options["products"]
        return products

    @property
    def penalty_weights(self) -> tuple[float, ...] | None:
        """a_j, the factor on the penalty of each feature; None if all are 1."""
        weights: tuple[float, ...] | None = self._options["penalty_weights"]
        return weights

    @property
    def has_intercept(self) -> bool:
        """Whether there is a constant feature (the option `intercept`); its weight is `intercept`."""
        return bool(self._options["intercept"])

    @property
    def intercept_penalty(self) -> float:
        """The factor on the penalty of the intercept."""
        return float(self._options["intercept_penalty"])

    @property
    def scale(self) -> bool:
        """Whether rows are standardised."""
        return bool(self._options["scale"])


def options_of_lanes(
    options: Mapping[str, Any], lanes: int, sources: Sequence[int], mirrored: Sequence[bool]
) -> dict[str, Any]:
    """The options of a learner of so many lanes after these were rearranged as by `Learner.with_lanes`.

    A mirrored lane begins at the negative of where its source began, a blank one at zero.
    """
    signs = [
        (0.0 if source < 0 else -1.0 if flip else 1.0, max(source, 0))
        for source, flip in zip(sources, mirrored, strict=True)
    ]

    def begins(name: str, dimensions: int) -> Any:
        values = np.zeros(0) if options[name] is None else np.asarray(options[name])
        if not np.any(values):
            return options[name]
        by_lane = np.broadcast_to(values, (lanes, *values.shape)) if values.ndim < dimensions else values
        return np.array([sign * by_lane[lane] + 0.0 for sign, lane in signs])

    def first(value: Any) -> Any:
        return value[0] if isinstance(value, tuple) else value

    return {
        **options,
        "lanes": len(signs),
        "rho": first(options["rho"]),
        "prior_strength": first(options["prior_strength"]),
        "prior_mean": begins("prior_mean", 2),
        "prior_intercept": begins("prior_intercept", 1),
        "products": tuple(
            replace(each, weights=tuple(sign * each.weights[lane] + 0.0 for sign, lane in signs))
            for each in options["products"]
        ),
    }
