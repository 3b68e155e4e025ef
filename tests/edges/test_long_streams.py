"""Streams of millions of events: what was learned is still exact at the end."""

import time
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from odca import (
    ElasticNet,
    Exponential,
    HalfLife,
    Hinge,
    Infinite,
    Learner,
    LogLoss,
    Sliding,
    SquaredError,
)

MILLION = 1_000_000


@pytest.mark.long
@pytest.mark.parametrize(("loss", "kappa"), [(Hinge(), 0.8), (LogLoss(), 0.0)], ids=str)
def test_ten_million_events_at_beta_0_9_equal_the_last_thousand(loss: Any, kappa: float) -> None:
    rng = np.random.default_rng(101)
    X = rng.normal(size=(MILLION, 2))
    y = np.where(X[:, 0] + 0.3 * rng.normal(size=MILLION) > 0.0, 1.0, -1.0)
    long, short = (Learner(loss=loss, rho=0.1, window=Exponential(0.9), smoothing=kappa) for _ in range(2))
    start = time.perf_counter()
    for _ in range(10):
        long.learn(X, y)
    seconds = time.perf_counter() - start
    short.learn(X[-1_000:], y[-1_000:])  # 0.9^1000 = 2e-46
    assert long.count == 10 * MILLION
    np.testing.assert_allclose(long.coef, short.coef, rtol=1e-12)
    np.testing.assert_allclose(long.smoothed_coef, short.smoothed_coef, rtol=1e-12)
    np.testing.assert_allclose(long.mass, 10.0, rtol=1e-12)
    np.testing.assert_allclose(long.dual_objective(), short.dual_objective(), rtol=1e-11)
    np.testing.assert_allclose(long.effective_sample_size, 1.9 / 0.1, rtol=1e-12)  # (1 + beta)/(1 - beta)
    assert seconds < 60.0, "it takes two or three on an idle machine"


def test_sums_stay_exact_over_a_million_events_under_the_infinite_window() -> None:
    # With orthogonal rows and a constant strength every event is solved on its own: S is known.
    rng = np.random.default_rng(102)
    columns = rng.integers(0, 7, size=MILLION)
    X = sp.csr_array((np.ones(MILLION), columns, np.arange(MILLION + 1)), shape=(MILLION, 7))
    y = np.round(64.0 * rng.normal(size=MILLION)) / 64.0
    learner = Learner(loss=SquaredError(), rho=1e-6, smoothing=1.0)
    told = learner.learn(X, y, diagnostics=True)
    assert learner.mass == MILLION
    expected = np.bincount(columns, weights=told.dual, minlength=7)
    np.testing.assert_allclose(learner.dual_sum, expected, rtol=1e-9, atol=1e-9 * np.abs(told.dual).sum() / 1e3)
    np.testing.assert_allclose(learner.coef, learner.dual_sum / (1e-6 * MILLION), rtol=1e-14)


def sums_of_the_window(learner: Learner, features: int) -> tuple[np.ndarray, float]:
    """S and the mass from the rows that the window holds, in extended precision."""
    state = learner.get_state()
    weight, dual = state["window.facts"].reshape(-1, 5)[:, [1, 3]].T.astype(np.longdouble)
    columns = state["window.index"] if not state["window.dense"].any() else np.tile(np.arange(features), len(dual))
    S = np.zeros(features, dtype=np.longdouble)
    np.add.at(S, columns, np.repeat(weight * dual, state["window.size"]) * state["window.value"].astype(np.longdouble))
    return S.astype(np.float64), float(weight.sum())


def sparse_rows(n: int, features: int, nnz: int, rng: np.random.Generator) -> sp.csr_array:
    columns = (rng.integers(0, features // nnz, size=(n, nnz)) + np.arange(nnz) * (features // nnz)).ravel()
    return sp.csr_array((rng.normal(size=n * nnz), columns, np.arange(0, n * nnz + 1, nnz)), shape=(n, features))


@pytest.mark.parametrize("window", [Sliding(1), Sliding(700), Sliding(duration=700.0)], ids=str)
@pytest.mark.parametrize("spike", [1.0, 1e9], ids=["", "labels of 1e9 now and then"])
def test_a_sliding_window_equals_its_rebuild_after_a_million_events(window: Any, spike: float) -> None:
    rng = np.random.default_rng(103)
    features, n = 24, MILLION
    X, y = sparse_rows(n, features, 3, rng), rng.normal(size=n)
    y[rng.random(n) < 1e-3] *= spike
    y[-2_000:] = rng.normal(size=2_000)  # at the end only what the spikes left behind could tell
    learner = Learner(loss=SquaredError(), rho=1e-2, window=window)
    for start in range(0, n, 100_000):
        rows = slice(start, start + 100_000)
        learner.learn(X[rows], y[rows], time=np.arange(start, start + 100_000))
    S, mass = sums_of_the_window(learner, features)
    np.testing.assert_allclose(learner.dual_sum, S, rtol=0.0, atol=1e-10 * np.abs(S).max())
    assert mass == learner.mass
    assert learner.get_state()["window.number"].min() == n - (window.length or 700)


@pytest.mark.parametrize("features", [24, 6_000], ids=["all features", "a few of many features"])
@pytest.mark.parametrize("kind", ["labels", "weights", "weights of satisfied events", "values"])
@pytest.mark.parametrize("spike", [1e6, 1e9, 1e12])
def test_a_sliding_window_equals_its_rebuild_right_after_a_spike_has_left(
    kind: str, features: int, spike: float
) -> None:
    rng = np.random.default_rng(104)
    n, length = 6_000, 40
    X, y, weight = sparse_rows(n, 24, 3, rng), rng.normal(size=n), rng.uniform(0.5, 1.5, size=n)
    X = sp.csr_array((X.data, X.indices, X.indptr), shape=(n, features))
    hit = rng.random(n) < 0.005
    loss: Any = SquaredError()
    if kind == "labels":
        y[hit] *= spike
    elif kind == "weights":
        weight[hit] *= spike
    elif kind == "values":
        X = sp.csr_array(sp.diags_array(np.where(hit, spike, 1.0)) @ X)
        X.sort_indices()
    else:
        # Events whose margin is right already, by their offset: no dual, so S never sees them, but the mass does.
        loss, y, weight = Hinge(), np.sign(y), weight * np.where(hit, spike, 1.0)
    offset = np.where(hit, 5.0 * y, 0.0) if kind == "weights of satisfied events" else np.zeros(n)
    learner = Learner(loss=loss, rho=1e-2, window=Sliding(length))
    worst = worst_mass = 0.0
    at = 0
    while at < n:
        end = min(n, at + int(rng.integers(1, 40)))
        learner.learn(X[at:end], y[at:end], sample_weight=weight[at:end], offset=offset[at:end])
        at = end
        S, mass = sums_of_the_window(learner, features)
        worst = max(worst, np.abs(learner.dual_sum - S).max() / max(np.abs(S).max(), 1e-300))
        worst_mass = max(worst_mass, abs(learner.mass - mass) / mass)
    assert worst_mass < 1e-10, "the mass"
    assert worst < 1e-10, "the dual sum"


def test_a_heavy_event_leaves_no_residue_when_it_leaves_the_window() -> None:
    X = sp.csr_array(([10.0], [0], [0, 1]), shape=(1, 1_000))
    learner = Learner(loss=Hinge(), rho=1e-3, window=Sliding(2))
    for k in range(12):
        learner.learn(X, [1.0], sample_weight=[1e16 if k == 4 else 1.0])
    assert learner.mass == 2.0


@pytest.mark.parametrize("window", [Infinite(), Exponential(0.999), HalfLife(5.0), Sliding(50)], ids=str)
@pytest.mark.parametrize("kappa", [0.9999, 1.0])
def test_a_coordinate_untouched_for_long_is_smoothed_exactly(window: Any, kappa: float) -> None:
    # Feature 0 is seen by the first event alone. Its weight at each of the 100,000 since is a formula.
    n = 100_000
    X = sp.csr_array((np.ones(n), np.where(np.arange(n) == 0, 0, 1), np.arange(n + 1)), shape=(n, 2))
    y = np.where(np.arange(n) == 0, 1e6, np.sin(np.arange(n)))
    rho, delta = 1e-3, 1e-3
    learner = Learner(loss=SquaredError(), penalty=ElasticNet(delta), rho=rho, window=window, smoothing=kappa)
    told = learner.learn(X, y, time=np.arange(n) / 100.0, diagnostics=True)
    event = np.arange(1, n + 1)
    beta = {Infinite: 1.0, Exponential: 0.999, HalfLife: 2.0 ** (-0.01 / 5.0), Sliding: 1.0}[type(window)]
    share, mass = beta ** (event - 1), np.cumsum(beta ** (event - 1))
    if isinstance(window, Sliding):
        share, mass = 1.0 * (event <= 50), np.minimum(event, 50)
    w = np.maximum(0.0, told.dual[0] * share / (rho * mass) - delta)
    recent = kappa ** (n - event)
    expected = (recent @ w) / recent.sum()
    assert expected > 0.0
    # 1e-10: the formula's own powers of 100,000 factors are good to some 1e-11.
    np.testing.assert_allclose(learner.smoothed_coef[0], expected, rtol=1e-10)
    np.testing.assert_allclose(learner.coef[0], w[-1], rtol=1e-10)
