"""Laws that hold for every registered penalty, seen through a Learner: w = ∇R*(S/A), R and R*, and the scalar solve."""

import itertools
from functools import cache

import numpy as np
import pytest

from odca import KL, L2, Box, ElasticNet, Learner, NonNegative, Poisson, SquaredError
from odca.losses import Loss
from odca.penalties import Penalty
from odca.reference import ReferenceLearner, solve
from problems import (
    ALL_LOSSES,
    ALL_PENALTIES,
    Array,
    features_of,
    label_kind,
    make_problem,
    one_of_each,
    primal_at,
    reference_loss,
    reference_penalty,
)

FEATURES = 6
every_penalty = pytest.mark.parametrize("penalty", ALL_PENALTIES, ids=repr)
separable = pytest.mark.parametrize("penalty", [each for each in ALL_PENALTIES if not isinstance(each, KL)], ids=repr)


def bounds_of(penalty: Penalty) -> tuple[float, float]:
    if isinstance(penalty, Box):
        return penalty.lo, penalty.hi
    return (0.0, np.inf) if isinstance(penalty, NonNegative | KL) else (-np.inf, np.inf)


def learned(penalty: Penalty, rng: np.random.Generator, **options: object) -> Learner:
    """A learner with a dual sum of random size, from far below every threshold to far above every bound."""
    events = int(rng.integers(1, 6))
    X = rng.normal(size=(events, FEATURES)) * 10.0 ** rng.uniform(-3.0, 2.0, size=(1, FEATURES))
    X[:, rng.integers(FEATURES)] = 0.0
    model = Learner(
        loss=SquaredError(),
        penalty=penalty,
        rho=10.0 ** rng.uniform(-3.0, 1.0),
        **features_of(penalty, FEATURES),
        **options,
    )
    model.learn(X, 10.0 ** rng.uniform(-1.0, 2.0) * rng.normal(size=events), sample_weight=rng.random(events) + 0.1)
    return model


def strength_of(model: Learner) -> float:
    options = model._options
    return options["rho"] * model.mass + options["prior_strength"]


def shape(penalty: Penalty, rng: np.random.Generator) -> dict[str, Array]:
    """Penalty weights and a prior mean inside the bounds."""
    lo, hi = bounds_of(penalty)
    mean = np.clip(0.2 * rng.normal(size=FEATURES), lo, hi)
    return {"penalty_weights": 10.0 ** rng.uniform(-1.0, 1.0, size=FEATURES), "prior_mean": mean}


def weights_and_spec(penalty: Penalty, shaped: bool, seed: int) -> tuple[Learner, Array, object]:
    rng = np.random.default_rng(seed)
    options = shape(penalty, rng) if shaped else {}
    model = learned(penalty, rng, prior_strength=0.1, **options)
    a, w0 = options.get("penalty_weights", np.ones(FEATURES)), options.get("prior_mean", np.zeros(FEATURES))
    return model, model.dual_sum / strength_of(model), reference_penalty(penalty, a, w0)


CASES = [(each, False) for each in ALL_PENALTIES] + [(each, True) for each in ALL_PENALTIES if not isinstance(each, KL)]
with_and_without_shape = pytest.mark.parametrize(
    ("penalty", "shaped"),
    CASES,
    ids=lambda part: {True: "weights and prior mean", False: "plain"}.get(part) or repr(part),
)


@with_and_without_shape
def test_the_weights_are_the_gradient_of_the_conjugate(penalty: Penalty, shaped: bool) -> None:
    for seed in range(60):
        model, x, spec = weights_and_spec(penalty, shaped, seed)
        expected = spec.gradient(x)
        # One division, one subtraction: a few roundings of x and of the prior mean. The softmax turns the rounding of
        # its argument, up to |x|, into a relative one.
        scale = np.max(np.abs(expected)) if isinstance(penalty, KL) else np.abs(x) + np.abs(expected)
        tolerance = 1e-14 * scale * (max(1.0, np.max(np.abs(x))) if isinstance(penalty, KL) else 10.0)
        assert np.all(np.abs(model.coef - expected) <= tolerance), seed


@with_and_without_shape
def test_the_weights_maximise_what_the_conjugate_is_the_maximum_of(penalty: Penalty, shaped: bool) -> None:
    """R*(x) = sup_w {xᵀw - R(w)} at ∇R*(x): no other w in the domain of R does better."""
    rng = np.random.default_rng(5)
    lo, hi = bounds_of(penalty)
    for seed in range(30):
        model, x, spec = weights_and_spec(penalty, shaped, seed)
        w = model.coef
        best = float(x @ w) - spec.value(np.clip(w, lo, hi))
        for size in 10.0 ** rng.uniform(-6.0, 1.0, size=20):
            other = np.clip(w + size * rng.normal(size=FEATURES), lo, hi)
            if isinstance(penalty, KL):
                other = (w + 1e-300) ** (1.0 + 0.1 * size) * np.exp(size * rng.normal(size=FEATURES))
                other /= other.sum()
            value = float(x @ other) - spec.value(other)
            assert value <= best + 1e-13 * (abs(best) + np.abs(x) @ np.abs(other)), seed


@with_and_without_shape
def test_penalty_and_conjugate_meet_in_fenchels_equality(penalty: Penalty, shaped: bool) -> None:
    """R(w) + R*(x) = xᵀw for w = ∇R*(x), with the core's own R (in `objective`) and R* (in `dual_objective`)."""
    rng = np.random.default_rng(7)
    for _ in range(20):
        options = shape(penalty, rng) if shaped else {}
        model = Learner(
            loss=SquaredError(),
            penalty=penalty,
            rho=0.3,
            prior_strength=0.2,
            **features_of(penalty, FEATURES),
            **options,
        )
        X, y = rng.normal(size=(4, FEATURES)), 3.0 * rng.normal(size=4)
        dual = model.learn(X, y, diagnostics=True).dual
        strength = strength_of(model)
        nothing = np.zeros((1, FEATURES))
        R = model.objective(nothing, [0.0]) * model.mass / strength  # the loss of nothing at y = 0 is 0
        conjugates = np.sum(SquaredError().conjugate(dual, y))
        R_star = -(model.dual_objective() * model.mass + conjugates) / strength
        x = model.dual_sum / strength
        scale = abs(R) + abs(R_star) + np.abs(x) @ np.abs(model.coef) + abs(conjugates) / strength
        assert R + R_star == pytest.approx(x @ model.coef, abs=1e-13 * scale)


@separable
def test_weights_are_exactly_the_prior_mean_where_they_are_thresholded(penalty: Penalty) -> None:
    delta = getattr(penalty, "delta", 0.0)
    held = 0
    for seed, shaped in itertools.product(range(60), [False, True]):
        model, x, spec = weights_and_spec(penalty, shaped, seed)
        at = np.abs(x / spec.a) < delta
        np.testing.assert_array_equal(model.coef[at], np.broadcast_to(spec.w0, x.shape)[at])
        held += int(np.sum(at & (x != 0.0)))
    assert held > 20 or delta == 0.0


@every_penalty
def test_weights_never_leave_their_bounds(penalty: Penalty) -> None:
    lo, hi = bounds_of(penalty)
    touched = 0
    for seed in range(60):
        w = learned(penalty, np.random.default_rng(seed), smoothing=0.9)
        for weights in (w.coef, w.smoothed_coef):
            # w̄ is an average of such w, with the rounding of a sum.
            slack = 0.0 if weights is w.coef else 1e-14
            assert np.all(weights >= lo - slack)
            assert np.all(weights <= hi + slack)
        touched += int(np.sum((w.coef == lo) | (w.coef == hi)))
    assert touched > 20 or isinstance(penalty, KL) or not np.any(np.isfinite([lo, hi]))


@pytest.mark.parametrize("prior", [None, (5.0, 1.0, 1.0, 1e-6, 2.0, 1.0)])
def test_weights_on_the_simplex_sum_to_one(prior: tuple[float, ...] | None) -> None:
    penalty = KL(prior)
    fresh = Learner(loss=SquaredError(), penalty=penalty, **features_of(penalty, FEATURES))
    share = np.full(FEATURES, 1.0) if prior is None else np.array(prior)
    np.testing.assert_allclose(fresh.coef, share / share.sum(), rtol=1e-14)
    for seed in range(200):
        model = learned(penalty, np.random.default_rng(seed), smoothing=0.9)
        for w in (model.coef, model.smoothed_coef):
            assert np.all(w >= 0.0)
            assert abs(w.sum() - 1.0) <= 1e-12


@every_penalty
@pytest.mark.parametrize("loss", one_of_each(ALL_LOSSES), ids=repr)
def test_the_dual_objective_is_below_the_primal_of_every_w(loss: Loss, penalty: Penalty) -> None:
    rng = np.random.default_rng(11)
    problem = make_problem(loss, rng, events=12, features=FEATURES, weights=True, offsets=True)
    options = {"loss": loss, "penalty": penalty, "rho": 0.2, **features_of(penalty, FEATURES)}
    reference, model = ReferenceLearner(**options), Learner(**options, smoothing=0.8)
    problem.teach(reference)
    problem.learn(model)
    dual, (lo, hi) = model.dual_objective(), bounds_of(penalty)
    candidates = [model.coef, np.clip(model.smoothed_coef, lo, hi)]
    candidates += [np.clip(model.coef + scale * rng.normal(size=FEATURES), lo, hi) for scale in (1e-3, 0.1, 1.0)] * 3
    candidates += [np.zeros(FEATURES)]
    if isinstance(penalty, KL):
        candidates = [
            np.abs(w) / np.abs(w).sum() if np.any(w) else np.full(FEATURES, 1.0 / FEATURES) for w in candidates
        ]
    for w in candidates:
        primal = primal_at(reference, w)
        assert dual <= primal + 1e-12 * max(1.0, abs(primal))
    assert np.isfinite(dual)


# --- The scalar solve: z(t) = b + hᵀ∇R*(x + tαh), λ ∈ -∂Q(z(λ)) ---

HARD = [
    Box(-0.2, 0.3, delta=0.02),
    Box(-0.5, 0.25),
    NonNegative(),
    NonNegative(0.03),
    ElasticNet(0.05),
    KL((0.3, 0.1, 2.0, 1.0, 0.05, 1.0)),
]


class Row:
    """One dual problem with a large α: the state that precedes it, the row, and what the core makes of it."""

    def __init__(self, loss: Loss, penalty: Penalty, rng: np.random.Generator) -> None:
        rho = 10.0 ** rng.uniform(-3.0, -0.5)
        model = Learner(loss=loss, penalty=penalty, rho=rho, prior_strength=1e-3)
        first, self.h = (
            10.0 ** rng.uniform(-1.0, 1.3) * rng.normal(size=FEATURES) * (rng.random(FEATURES) < 0.8) for _ in range(2)
        )
        y_first, self.y = self.labels(loss, rng)
        offset = float(rng.choice([0.0, 1.0, 30.0]) * rng.normal())
        model.learn([first], [y_first], sample_weight=[10.0 ** rng.uniform(-2.0, 1.0)])
        before, weight = model.dual_sum, 10.0 ** rng.uniform(-1.0, 1.0)
        seen = model.learn([self.h], [self.y], sample_weight=[weight], offset=[offset], diagnostics=True)
        strength = strength_of(model)
        self.loss, self.x, self.alpha, self.offset = loss, before / strength, weight / strength, offset
        self.penalty = reference_penalty(penalty, np.ones(FEATURES), np.zeros(FEATURES))
        self.core, self.slope = float(seen.dual[0]), self.alpha * float(self.h @ self.h)
        z = offset + float(self.h @ self.penalty.gradient(self.x))
        along = self.penalty.along(self.x, self.alpha * self.h, self.h)
        self.exact = solve(reference_loss(loss), self.y, z, along)

    @staticmethod
    def labels(loss: Loss, rng: np.random.Generator) -> Array:
        kind = label_kind(loss)
        if kind == "real":
            return 0.3 * rng.normal(size=2)
        if kind == "count":
            return rng.poisson(1.0, size=2).astype(np.float64)
        return rng.choice([-1.0, 1.0], size=2)

    def deviation(self, dual: float) -> float:
        """|Δλ|·min(1, s), in units of max(1, |λ|)."""
        return abs(dual - self.exact) * min(1.0, self.slope) / max(1.0, abs(self.exact))

    def tangent(self, t: float) -> tuple[float, float]:
        """z(t) and its slope."""
        v = self.x + t * self.alpha * self.h
        w = self.penalty.gradient(v)
        z = float(self.h @ w)
        if not hasattr(self.penalty, "delta"):
            return self.offset + z, self.alpha * float(w @ (self.h - z) ** 2)
        moving = (np.abs(v) > self.penalty.delta) & (w > self.penalty.lo) & (w < self.penalty.hi)
        return self.offset + z, self.alpha * float(np.sum(self.h[moving] ** 2))

    def newton(self) -> float:
        """The iteration without its bracket: the line at t, solved by the loss's own formula, is the next t."""
        t, solve_line = 0.0, self.loss.native().dual
        for _ in range(60):
            z, slope = self.tangent(t)
            new = float(solve_line(np.array([z - slope * t]), np.array([slope]), np.array([self.y]))[0])
            if new == t or not np.isfinite(new):
                break
            t = new
        return t


@cache
def rows(penalty: Penalty) -> list[Row]:
    """Thousands of them; most where the iteration needs its bracket."""
    rng = np.random.default_rng(23)
    each = 120 if isinstance(penalty, Box | KL) else 50
    return [Row(loss, penalty, rng) for loss in one_of_each(ALL_LOSSES) for _ in range(each)]


every_hard_penalty = pytest.mark.parametrize("penalty", HARD, ids=repr)


@every_hard_penalty
def test_the_solve_is_exact_where_a_step_is_large(penalty: Penalty) -> None:
    # Both sides are exact up to rounding (1e-14 was seen); an iteration that stops early is off by far more.
    assert not [(row.loss, row.core, row.exact) for row in rows(penalty) if not row.deviation(row.core) <= 1e-9]


@every_hard_penalty
def test_a_dual_at_the_end_of_its_domain_is_exactly_there(penalty: Penalty) -> None:
    """Not next to it: `saturated` and `saturation` are a drift signal, and ask whether λ is at the end."""
    ends = [row for row in rows(penalty) if reference_loss(row.loss).saturated(row.exact, row.y)]
    assert len(ends) >= 20
    assert not [(row.loss, row.core, row.exact) for row in ends if row.core != row.exact]


@pytest.mark.parametrize("penalty", [each for each in HARD if isinstance(each, Box | KL)], ids=repr)
def test_without_its_bracket_the_solve_would_go_wrong(penalty: Penalty) -> None:
    """What the bracket is for: Newton's iteration alone goes wrong in more than a percent of these rows, the core in none."""
    cases = rows(penalty)[::2]
    wrong = sum(not row.deviation(row.newton()) <= 1e-6 for row in cases)
    assert wrong >= 0.01 * len(cases)
    assert all(row.deviation(row.core) <= 1e-9 for row in cases)


@pytest.mark.parametrize("offset", [100.0, 320.0, 600.0, 800.0])
@pytest.mark.parametrize("penalty", [L2(), ElasticNet(0.1), NonNegative()], ids=repr)
def test_the_solve_finds_a_small_dual_in_a_bracket_of_any_size(penalty: Penalty, offset: float) -> None:
    """The bracket ends at y - e^z(0), which is 1e43 or infinite here; λ is below ten, and no halving gets there."""
    h, y = np.array([[1.0, -2.0]]), [0.0]
    reference = ReferenceLearner(loss=Poisson(), penalty=penalty, rho=0.05)
    reference.learn(h, y, offset=offset)
    seen = Learner(loss=Poisson(), penalty=penalty, rho=0.05).learn(h, y, offset=[offset], diagnostics=True)
    assert abs(reference.lambdas[0]) < 10.0
    assert seen.dual[0] == pytest.approx(reference.lambdas[0], rel=1e-12)
