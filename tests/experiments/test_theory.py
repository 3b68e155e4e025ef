"""What theory says of filters is what they do, and what the experiments are made of is right."""

from collections.abc import Callable

import numpy as np
import pytest

from odca import Exponential, Infinite, Learner, SquaredError
from odca.research import datasets
from odca.research.baselines import NLMS, RLS, SGD
from odca.research.experiments import f16, portfolio, theory

FEATURES, STEP, NOISE, EVENTS, EVERY, SEEDS = 6, 0.01, 0.2, 400, 40, 300
WALK = theory.Walk(FEATURES, step=FEATURES * STEP**2, noise=NOISE**2)
CASES: dict[str, tuple[Callable[[], Learner | SGD | NLMS], theory.Steps]] = {
    "LMS": (lambda: SGD(SquaredError(), rate=0.05), theory.steady(theory.plain(0.05))),
    "NLMS": (lambda: NLMS(rate=0.4), theory.steady(theory.normalised(0.4))),
    "exponential": (
        lambda: Learner(loss=SquaredError(), rho=0.2, window=Exponential(beta=0.98)),
        theory.odca(0.2, 0.98),
    ),
    "infinite": (lambda: Learner(loss=SquaredError(), rho=0.1, window=Infinite()), theory.odca(0.1, 1.0)),
}


@pytest.mark.parametrize("name", CASES)
def test_the_mean_deviation_of_many_streams_follows_theory(name: str) -> None:
    make, steps = CASES[name]
    measured = np.zeros((SEEDS, EVENTS // EVERY))
    for seed in range(SEEDS):
        drift = datasets.random_walk(EVENTS, FEATURES, step=STEP, noise=NOISE, seed=seed)
        learner = make()
        for k, end in enumerate(range(EVERY, EVENTS + 1, EVERY)):
            learner.learn(drift.X[end - EVERY : end], drift.y[end - EVERY : end])
            measured[seed, k] = ((learner.coef - drift.targets[end - 1]) ** 2).sum()
    expected = theory.deviation(WALK, EVENTS, steps)[EVERY - 1 :: EVERY]
    errors = measured.std(axis=0, ddof=1) / np.sqrt(SEEDS)
    assert np.all(np.abs(measured.mean(axis=0) - expected) < 4.0 * errors)
    assert abs(measured.mean() / expected.mean() - 1.0) < 0.05


def test_the_steady_level_is_the_limit_and_lowest_at_the_best_parameter() -> None:
    gain = theory.plain(0.05)
    assert theory.deviation(WALK, 2_000, theory.steady(gain))[-1] == pytest.approx(theory.level(WALK, gain), rel=1e-9)
    best = theory.best(WALK, theory.plain)
    assert theory.level(WALK, theory.plain(best)) <= min(
        theory.level(WALK, theory.plain(rate)) for rate in np.geomspace(1e-3, 0.2, 50)
    )
    assert theory.level(WALK, theory.plain(0.5)) == np.inf  # 2/(M + 2) and above


def test_the_deviation_of_rls_follows_theory_at_slow_forgetting() -> None:
    beta, events, levels = 0.99, 1_500, []
    for seed in range(60):
        drift = datasets.random_walk(events, FEATURES, step=STEP, noise=NOISE, seed=seed)
        learner = RLS(FEATURES, beta=beta)
        learner.learn(drift.X, drift.y)
        levels.append(((learner.coef - drift.targets[-1]) ** 2).sum())
    assert abs(np.mean(levels) / theory.rls_level(WALK, beta) - 1.0) < 4.0 * np.std(levels) / np.mean(levels) / np.sqrt(
        60
    )
    best = theory.best_forgetting(WALK)
    assert theory.rls_level(WALK, 1.0 - best) <= 1.001 * min(
        theory.rls_level(WALK, beta) for beta in np.linspace(0.7, 0.999, 200)
    )


def test_the_target_walks_with_time() -> None:
    gaps = np.where(np.arange(50_000) % 10 == 0, 7.0, 0.0)
    targets = datasets.random_walk(50_000, 2, step=0.1, gaps=gaps).targets
    moves = np.diff(targets, axis=0)
    assert np.all(moves[gaps[1:] == 0.0] == 0.0)
    assert moves[gaps[1:] == 7.0].std() == pytest.approx(0.1 * np.sqrt(7.0), rel=0.02)


@pytest.mark.parametrize("s", [1e-9, 0.3, 50.0])
@pytest.mark.parametrize("p", [-2.0, 0.0, 1e-3, 1.2])
def test_the_dual_of_log_wealth_solves_its_equation(p: float, s: float) -> None:
    dual = portfolio.LogWealth().dual(p, s, 1.0)
    assert dual > 0.0
    assert dual * (p + s * dual) == pytest.approx(1.0, rel=1e-6)


def relatives() -> np.ndarray:
    rng = np.random.default_rng(0)
    return np.exp(rng.normal([0.002, 0.0, -0.001, 0.001], [0.03, 0.01, 0.02, 0.03], size=(800, 4)))


def test_exponentiated_gradient_equals_odca_to_first_order_in_the_rate() -> None:
    days = relatives()
    gaps = [
        np.abs(portfolio.odca(days, rate, Infinite()) - portfolio.exponentiated_gradient(days, rate)).max()
        for rate in (0.02, 0.01)
    ]
    assert 0.0 < gaps[1] < 0.35 * gaps[0] < 1e-4  # their difference is of second order


def test_the_best_fixed_weights_are_optimal() -> None:
    """At the optimum no stock has a mean of h_i/hᵀw above one, and those that are held have one."""
    days = relatives()
    w = portfolio.best_fixed_weights(days)
    assert w.sum() == pytest.approx(1.0)
    slopes = (days / (days @ w)[:, None]).mean(axis=0)
    assert np.all(slopes < 1.0 + 1e-6)
    np.testing.assert_allclose(slopes[w > 1e-3], 1.0, atol=1e-6)


def test_a_filter_sees_current_inputs_and_past_outputs() -> None:
    inputs, y = np.arange(60.0).reshape(30, 2), np.arange(30.0)
    X, labels = f16.lagged(inputs, y)
    lags = f16.LAGS
    assert X.shape == (30 - lags, 3 * lags)
    np.testing.assert_allclose(labels * y.std(), y[lags:])
    np.testing.assert_allclose(X[0, lags - 1] * inputs[:, 0].std(), inputs[lags, 0])
    np.testing.assert_allclose(X[0, -1] * y.std(), y[lags - 1])
