"""What the tests share: an instance of everything that is registered, small random problems, and comparisons.

A loss, penalty or window that joins `LOSSES`, `PENALTIES` or `WINDOWS` is covered from then on. One that cannot be
made without arguments must be given some below; `_instances` says so.
"""

import math
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import numpy.typing as npt

from odca import KL, Diagnostics, Learner
from odca.losses import LOSSES, Loss
from odca.penalties import PENALTIES, Penalty
from odca.reference import INF, ReferenceLearner, Separable, Simplex
from odca.reference import LOSSES as REFERENCE_LOSSES
from odca.reference import PENALTIES as REFERENCE_PENALTIES
from odca.windows import WINDOWS, Window

Array = npt.NDArray[np.float64]

# Positional and keyword arguments of the instances to test; a class that is not named here is made without any.
# Losses' parameters are dyadic where the parameter places a kink, so that the kinks are numbers of the machine.
_LOSS_PARAMETERS: dict[str, Sequence[float]] = {
    "SmoothHinge": (0.5, 1.0),
    "Quantile": (0.3, 0.9),
    "Expectile": (0.3, 0.5, 0.9),
    "Huber": (0.75, 1.35),
    "EpsilonInsensitive": (0.25, 0.0),
    "SquaredEpsilonInsensitive": (0.25, 0.0),
}
_PENALTY_PARAMETERS: dict[str, Sequence[tuple[tuple[float, ...], dict[str, float]]]] = {
    "ElasticNet": [((0.05,), {}), ((0.0,), {})],
    "NonNegative": [((), {}), ((), {"delta": 0.03})],
    "Box": [((-0.2, 0.3), {"delta": 0.02}), ((-0.5, 0.25), {}), ((0.0, math.inf), {"delta": 0.01})],
}
_WINDOW_PARAMETERS: dict[str, Sequence[tuple[tuple[float, ...], dict[str, float]]]] = {
    "Exponential": [((0.9,), {})],
    "HalfLife": [((3.0,), {})],
    "Sliding": [((7,), {}), ((), {"duration": 4.0})],
}


def _instances(kinds: Iterable[type], parameters: dict[str, Any], table: str) -> list[Any]:
    made = []
    for kind in kinds:
        for arguments, options in parameters.get(kind.__name__, [((), {})]):
            try:
                made.append(kind(*arguments, **options))
            except TypeError as error:
                message = f"{kind.__name__} is registered, but tests/problems.py has no arguments for it in {table}"
                raise AssertionError(message) from error
    return made


ALL_LOSSES: list[Loss] = _instances(
    LOSSES,
    {name: [((value,), {}) for value in values] for name, values in _LOSS_PARAMETERS.items()},
    "_LOSS_PARAMETERS",
)
ALL_PENALTIES: list[Penalty] = _instances(PENALTIES, _PENALTY_PARAMETERS, "_PENALTY_PARAMETERS")
ALL_WINDOWS: list[Window] = _instances(WINDOWS, _WINDOW_PARAMETERS, "_WINDOW_PARAMETERS")


def examples(count: int) -> int:
    """How many examples hypothesis shall look at: `count`, or as many times that as ODCA_EXAMPLES says."""
    return count * int(os.environ.get("ODCA_EXAMPLES", "1"))


def one_of_each(instances: Sequence[Any]) -> list[Any]:
    """The first instance of every class: enough where what is tested does not turn on the parameter."""
    return list({type(instance): instance for instance in reversed(instances)}.values())[::-1]


# --- Labels ---


def label_kind(loss: Loss) -> str:
    """Which labels the loss takes, asked of the loss itself."""
    for kind, probes in {
        "real": [-2.7, 0.3],
        "count": [0.0, 3.5],
        "probability": [-1.0, 0.25],
        "sign": [-1.0, 1.0],
    }.items():
        if all(loss.native().valid(np.array(probes))):
            return kind
    raise AssertionError(f"tests/problems.py knows no labels that {loss!r} takes")


def typical_labels(loss: Loss) -> list[float]:
    """Labels to try in the laws, those at the ends of the domain among them."""
    return {
        "real": [0.0, -0.5, 1.0, 7.25, -300.0],
        "count": [0.0, 1.0, 2.5, 1000.0],
        "probability": [-1.0, 0.0, 1.0, 0.25, 0.5, 1e-9],
        "sign": [-1.0, 1.0],
    }[label_kind(loss)]


def make_labels(loss: Loss, z: Array, rng: np.random.Generator) -> Array:
    """Labels that depend on z, with noise."""
    kind = label_kind(loss)
    if kind == "real":
        return z + 0.3 * rng.normal(size=z.shape)
    if kind == "count":
        return rng.poisson(np.exp(np.clip(z, -2.0, 2.0))).astype(np.float64)
    signs = np.where(z + 0.3 * rng.normal(size=z.shape) > 0.0, 1.0, -1.0)
    if kind == "sign":
        return signs
    soft = np.clip(0.5 + 0.4 * signs * rng.random(z.shape), 0.0, 1.0)
    return np.where(rng.random(z.shape) < 0.3, soft, np.where(rng.random(z.shape) < 0.3, np.maximum(signs, 0.0), signs))


def knots(loss: Loss, y: float) -> list[float]:
    """The z between which Q(·; y) is one formula; a few more do no harm."""
    if label_kind(loss) == "count":
        return sorted({0.0, math.log(max(y, 0.5))})  # none but the least of Q
    parameters = [getattr(loss, field.name) for field in fields(loss)]  # type: ignore[arg-type] # losses are dataclasses
    found = {y, 0.0}
    for a in parameters:
        found |= {y + a, y - a}
    if label_kind(loss) == "sign":
        found |= {-y, *(y * (1.0 - a) for a in parameters)}
    return sorted(found)


def reference_loss(loss: Loss) -> Any:
    """The loss as `odca.reference` writes it down."""
    return REFERENCE_LOSSES[loss.name](**{field.name: getattr(loss, field.name) for field in fields(loss)})  # type: ignore[arg-type] # a dataclass


def reference_penalty(penalty: Penalty, a: Array, w0: Array) -> Separable | Simplex:
    """The penalty as `odca.reference` writes it down, for weights a and prior mean w0."""
    options = {field.name: getattr(penalty, field.name) for field in fields(penalty)}  # type: ignore[arg-type] # a dataclass
    made: Separable | Simplex = REFERENCE_PENALTIES[penalty.name](a, w0, **options)
    return made


# --- Problems ---


@dataclass(frozen=True)
class Problem:
    """Events for `learn`."""

    X: Array
    y: Array
    weight: Array | None = None
    offset: Array | None = None
    time: Array | None = None

    def learn(self, model: Learner, **options: Any) -> Any:
        return model.learn(self.X, self.y, sample_weight=self.weight, offset=self.offset, time=self.time, **options)

    def teach(self, reference: ReferenceLearner) -> Array:
        return reference.learn(
            self.X,
            self.y,
            sample_weight=1.0 if self.weight is None else self.weight,
            offset=0.0 if self.offset is None else self.offset,
            time=math.nan if self.time is None else self.time,
        )


def make_problem(
    loss: Loss,
    rng: np.random.Generator,
    *,
    events: int,
    features: int,
    density: float = 0.7,
    scale: float = 1.0,
    weights: bool = False,
    offsets: bool = False,
) -> Problem:
    """Sparse-ish rows, an empty one among them; weights with zeros; times with late events and a gap."""
    X = scale * rng.normal(size=(events, features)) * (rng.random((events, features)) < density)
    X[rng.integers(events)] = 0.0
    z = X @ rng.normal(size=features) / (scale * math.sqrt(features))
    weight = None
    if weights:
        weight = rng.random(events) * np.exp(rng.normal(size=events))
        weight[rng.random(events) < 0.2] = 0.0
    time = np.cumsum(rng.exponential(0.5, size=events))
    late = rng.random(events) < 0.15
    time[late] -= rng.choice([0.5, 2.0, 9.0], size=int(late.sum()))  # the last is beyond every window of these tests
    time[events // 2 :] += 3.0
    return Problem(X, make_labels(loss, z, rng), weight, rng.normal(size=events) if offsets else None, time)


def features_of(penalty: Penalty, features: int) -> dict[str, int]:
    """The number of features, for a Learner whose penalty must know it."""
    return {"n_features": features} if isinstance(penalty, KL) else {}


# --- Core = reference ---


class Deviations:
    """The largest deviation of each quantity, in units of its own scale."""

    def __init__(self) -> None:
        self.worst: dict[str, float] = {}

    def add(self, what: str, got: npt.ArrayLike, expected: npt.ArrayLike, scale: npt.ArrayLike) -> None:
        """Where the scale is 0 nothing but equality will do."""
        off = np.abs(np.asarray(got, dtype=np.float64) - np.asarray(expected, dtype=np.float64))
        with np.errstate(divide="ignore", invalid="ignore"):
            relative = np.where(off == 0.0, 0.0, off / np.asarray(scale, dtype=np.float64))
        largest = float(np.max(relative, initial=0.0))
        self.worst[what] = max(self.worst.get(what, 0.0), largest if not math.isnan(largest) else INF)

    def join(self, other: "Deviations") -> None:
        for what, value in other.worst.items():
            self.worst[what] = max(self.worst.get(what, 0.0), value)

    def beyond(self, tolerance: float) -> dict[str, float]:
        return {what: value for what, value in self.worst.items() if not value <= tolerance}


class Cells:
    """How many cells a grid of comparisons has gone through, and the worst deviations met there."""

    def __init__(self) -> None:
        self.count = 0
        self.deviations = Deviations()

    def add(self, deviations: Deviations) -> None:
        self.count += 1
        self.deviations.join(deviations)


def smoothed_history(reference: ReferenceLearner, kappa: float) -> Array:
    """w̄_0, w̄_1, .. w̄_N: the sum of positive terms that its definition is, with one row for each event and one before."""
    history = [reference.penalty.gradient(0.0 * reference._a)]
    total, mass = 0.0 * history[0], 0.0
    for w in reference._w:
        total, mass = kappa * total + w, kappa * mass + 1.0
        history.append(total / mass)
    return np.array(history)


def deviations(
    model: Learner, seen: Diagnostics, problem: Problem, reference: ReferenceLearner, kappa: float
) -> Deviations:
    """How far a learner of κ is from the reference, both after the whole problem. The units of the tolerances:

    w, w̄          the largest |w|, |w̄|, or what a λ of 1e-6 makes of it if that is more: λ is known to 1e-15 or so
    λ             max(1, |λ|) / min(1, s): λ follows from z at the rate 1/s where the loss has a kink
    margins       what adds up to them, |b| + Σ|h_j|·max|w|
    objectives    what adds up to them; weak duality: by how much the dual is above the primal of w and of w̄
    """
    off = Deviations()
    row = problem.X if reference._intercept is None else np.hstack([problem.X, np.ones((len(problem.X), 1))])
    offset = np.zeros(len(row)) if problem.offset is None else problem.offset
    w, w_bar = (
        np.append(reference.w, reference.intercept),
        np.append(reference.w_bar(kappa), reference.intercept_bar(kappa)),
    )
    reaches = np.max(np.abs(row), axis=1)
    least_S = 1e-6 * (np.max(reference.deltas * reaches) or np.max(reaches))  # where only empty rows are left, of all
    least_w = least_S / reference.strength / np.min(reference._a) if reference.mass > 0.0 else 0.0
    off.add("w", np.append(model.coef, model.intercept), w, max(np.max(np.abs(w)), least_w))
    w_bar_scale = max(np.max(np.abs(w_bar)), least_w)
    off.add("w_bar", np.append(model.smoothed_coef, model.smoothed_intercept), w_bar, w_bar_scale)
    lambdas, slopes = np.array(reference.lambdas), np.array(reference.slopes)
    steepness = np.where(slopes > 0.0, np.minimum(1.0, slopes), 1.0)  # an empty row's λ does not move its own z
    off.add("lambda", seen.dual, lambdas, np.maximum(1.0, np.abs(lambdas)) / steepness)
    history = smoothed_history(reference, kappa)[:-1]
    reach = np.abs(offset) + np.abs(row).sum(axis=1) * max(np.max(np.abs(history)), least_w)
    off.add("margin", seen.margin, offset + np.sum(row * history, axis=1), reach)
    off.add("mass", model.mass, reference.mass, reference.mass)
    if not 0.0 < reference.mass < 1e-140:  # below, the squares are too small for a double
        off.add("effective sample size", model.effective_sample_size, reference.effective_sample_size, reference.count)
    off.add("saturation", model.saturation, reference.saturation, 1.0)
    off.add("count", model.count, reference.count, 0.0)
    dual_sum_scale = max(np.max(np.abs(reference.deltas * lambdas) @ np.abs(row)), least_S)
    off.add("dual sum", model.dual_sum, reference.dual_sum, dual_sum_scale)
    dual_size = _size_of_dual(reference)
    off.add("dual objective", model.dual_objective(), reference.dual_objective(), dual_size)
    if model.window.name == "sliding":
        primal = reference.primal_objective()
        off.add("primal objective", model.primal_objective(), primal, max(abs(primal), dual_size))
    if reference.mass > 0.0:
        best = min(primal_at(reference, v) for v in (reference._average(0.0), reference._average(kappa)))
        off.add("weak duality", max(0.0, model.dual_objective() - best), 0.0, max(abs(best), dual_size))
    return off


def _size_of_dual(reference: ReferenceLearner) -> float:
    """The terms of the dual objective without their signs."""
    if reference.mass == 0.0:
        return 0.0
    x = reference._x()
    total = reference.strength * abs(reference.penalty.conjugate(x))
    if isinstance(reference.penalty, Simplex):  # a logarithm of a sum near 1 knows no relative rounding
        total += reference.strength * float(np.max(np.abs(x) + np.abs(reference.penalty.log_prior)))
    for delta, dual, (y, _, b, _) in zip(reference.deltas, reference.lambdas, reference._events, strict=True):
        if delta > 0.0:
            total += delta * (abs(reference.loss.conjugate(-dual, y)) + abs(b * dual))
    return total / reference.mass


def primal_at(reference: ReferenceLearner, w: Array) -> float:
    """The cost of eq.primal_problem at any w, over the events that the reference has seen."""
    total = reference.strength * reference.penalty.value(w)
    for delta, h, (y, _, b, _) in zip(reference.deltas, reference._rows, reference._events, strict=True):
        if delta > 0.0:
            total += delta * reference.loss.value(b + float(h @ w), y)
    return total / reference.mass
