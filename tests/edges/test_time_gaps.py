"""Long silences: gaps of many half-lives, zero weights around them, and what is left of the past."""

import itertools
from typing import Any

import numpy as np
import pytest

from odca import (
    KL,
    L2,
    ElasticNet,
    Exponential,
    HalfLife,
    Hinge,
    Learner,
    LogLoss,
    Poisson,
    Sliding,
    SquaredError,
)
from streams import PENALTIES, assert_close, bits, labels

ROWS = np.random.default_rng(91).normal(size=(12, 3))
LABELS = ROWS[:, 0] - 0.5 * ROWS[:, 1]


def learner(window: Any, *, loss: Any = SquaredError(), penalty: Any = L2(), rho: float = 1e-4, **more: Any) -> Learner:  # noqa: B008 - frozen
    fixed = {"n_features": 3} if isinstance(penalty, KL) else {}
    return Learner(loss=loss, penalty=penalty, rho=rho, window=window, **fixed, **more)


@pytest.mark.parametrize("gap", [1_001.0, 1e4, 1e8, 1e300])
@pytest.mark.parametrize("penalty", PENALTIES, ids=lambda penalty: penalty.name)
@pytest.mark.parametrize("loss", [SquaredError(), Hinge(), LogLoss(), Poisson()], ids=lambda loss: loss.name)
def test_after_a_gap_of_more_than_a_thousand_half_lives_the_past_is_gone(loss: Any, penalty: Any, gap: float) -> None:
    y = labels(loss, LABELS, np.random.default_rng(92))
    old = learner(HalfLife(2.0), loss=loss, penalty=penalty)
    old.learn(ROWS, y, time=np.zeros(12))
    fresh = learner(HalfLife(2.0), loss=loss, penalty=penalty)
    times = 2.0 * gap + np.arange(12.0)
    after, alone = (each.learn(ROWS[::-1], y[::-1], time=times) for each in (old, fresh))
    # The first margin is shown by the old model; from then on only the clock tells them apart.
    np.testing.assert_allclose(after[1:], alone[1:], rtol=1e-13, atol=1e-13)
    np.testing.assert_allclose(old.coef, fresh.coef, rtol=1e-13, atol=1e-13)
    np.testing.assert_allclose(old.mass, fresh.mass, rtol=1e-13)
    np.testing.assert_allclose(old.dual_objective(), fresh.dual_objective(), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("gap", [1.0, 50.0, 64.0, 65.0, 500.0, 900.0])
@pytest.mark.parametrize("penalty", PENALTIES, ids=lambda penalty: penalty.name)
@pytest.mark.parametrize("rho", [1e-12, 1e-8, 1e-4, 1.0, 1e4])
def test_time_without_events_changes_the_mass_but_not_the_model(penalty: Any, gap: float, rho: float) -> None:
    # w depends on ratios of the weights alone, and a gap fades all of them alike.
    m = learner(HalfLife(1.0), penalty=penalty, rho=rho)
    m.learn(ROWS, LABELS, time=np.arange(12.0) / 4.0)
    w, mass = m.coef, m.mass
    m.learn([[1.0, 1.0, 1.0]], [5.0], sample_weight=[0.0], time=[m.clock + gap])
    np.testing.assert_allclose(m.coef, w, rtol=1e-12, atol=1e-14 * np.abs(w).max())
    np.testing.assert_allclose(m.mass, mass * 2.0**-gap, rtol=1e-12)


@pytest.mark.parametrize("rho", [1e-12, 1e-8, 1e-4, 1.0, 1e4])
@pytest.mark.parametrize("penalty", [L2(), ElasticNet(1e-8)], ids=lambda penalty: penalty.name)
@pytest.mark.parametrize("beta", [0.1, 0.5, 0.9])
def test_a_long_run_of_zero_weights_keeps_the_model_until_the_decay_underflows(
    beta: float, penalty: Any, rho: float
) -> None:
    m = learner(Exponential(beta), penalty=penalty, rho=rho, smoothing=0.5)
    m.learn(ROWS, LABELS)
    w = m.coef
    assert w.any()
    silence = int(800.0 / -np.log(beta))  # beta^n falls from 1 past 1e-347, below every double
    some = max(1, silence // 300)  # a factor of 14 at most
    forgotten_at = None
    for n in range(0, silence, some):
        m.learn(np.tile([1.0, -1.0, 2.0], (some, 1)), np.full(some, 3.0), sample_weight=np.zeros(some))
        now = m.coef
        if forgotten_at is None and not now.any():
            forgotten_at = n
        expected = np.zeros(3) if forgotten_at is not None else w
        np.testing.assert_allclose(now, expected, rtol=1e-9, atol=0.0, err_msg=f"after {n} events of weight zero")
    assert forgotten_at is not None
    assert m.mass == 0.0
    assert forgotten_at * -np.log(beta) > 500.0, "forgotten while the weights were still numbers"
    fresh = learner(Exponential(beta), penalty=penalty, rho=rho)
    m.learn(ROWS, LABELS)
    fresh.learn(ROWS, LABELS)
    np.testing.assert_allclose(m.coef, fresh.coef, rtol=1e-13)


@pytest.mark.parametrize("gap", [10.0, 63.0, 300.0, 600.0, 999.0, 1_000.0, 1_001.0])
@pytest.mark.parametrize("rho", [1e-12, 1e-4, 1e4])
@pytest.mark.parametrize("kappa", [0.0, 0.9])
def test_after_several_gaps_only_the_last_events_matter(gap: float, rho: float, kappa: float) -> None:
    m = learner(HalfLife(1.0), rho=rho, smoothing=kappa)
    clock = 0.0
    for k, weight in itertools.product(range(60), (0.0, 1.0, 0.0, 0.0)):
        clock += gap
        margin = m.learn(ROWS[k % 12 : k % 12 + 1], LABELS[k % 12 : k % 12 + 1], sample_weight=[weight], time=[clock])
        assert np.isfinite(margin).all()
        assert np.isfinite(m.coef).all()
        assert np.isfinite(m.smoothed_coef).all()
    # The last event that weighs came two gaps ago, the one before it six: 2^-40 at least in between.
    fresh = learner(HalfLife(1.0), rho=rho, smoothing=kappa)
    fresh.learn(ROWS[11:12], LABELS[11:12], time=[0.0])
    expected = fresh.coef if 2.0 * gap < 1_000.0 else np.zeros(3)
    if 2.0 * gap > 1_000.0 and m.coef.any():
        expected = fresh.coef  # just inside what a double can remember
    near = max(1e-12, 4.0 * 2.0 ** (-4.0 * gap) / min(rho, 1.0))
    np.testing.assert_allclose(m.coef, expected, rtol=near, atol=near * np.abs(fresh.coef).max())


def test_a_late_event_before_a_gap_gets_the_weight_of_its_own_time() -> None:
    m = learner(HalfLife(1.0))
    m.learn(ROWS[:2], LABELS[:2], time=[0.0, 100.0])
    m.learn(ROWS[2:3], LABELS[2:3], time=[95.0])
    np.testing.assert_allclose(m.mass, 1.0 + 2.0**-5 + 2.0**-100, rtol=1e-15)
    assert m.clock == 100.0
    before = m.coef
    m.learn(ROWS[3:4], LABELS[3:4], time=[-1e300])  # so late that nothing is left of it: it counts, and that is all
    assert m.count == 4
    assert m.coef.tobytes() == before.tobytes()
    np.testing.assert_allclose(m.mass, 1.0 + 2.0**-5 + 2.0**-100, rtol=1e-15)


@pytest.mark.parametrize("kappa", [0.0, 0.9])
def test_a_gap_empties_a_sliding_window_of_fixed_duration(kappa: float) -> None:
    m, fresh = (learner(Sliding(duration=5.0), smoothing=kappa) for _ in range(2))
    m.learn(ROWS, 1e12 * LABELS, time=np.arange(12.0))
    m.learn(ROWS[:1], LABELS[:1], sample_weight=[0.0], time=[1e6])
    assert m.mass == 0.0
    assert not m.coef.any(), "something of the past is left"
    m.learn(ROWS, LABELS, time=2e6 + np.arange(12.0))
    fresh.learn(ROWS, LABELS, time=np.arange(12.0))
    np.testing.assert_allclose(m.coef, fresh.coef, rtol=1e-13)
    np.testing.assert_allclose(m.mass, fresh.mass, rtol=1e-15)


def test_times_may_be_negative_huge_equal_or_in_any_order() -> None:
    rng = np.random.default_rng(93)
    for window in (HalfLife(3.0), Sliding(duration=3.0)):
        for times in (np.full(12, -1e300), -np.arange(12.0), 1e15 + np.arange(12.0), rng.permutation(12) - 6.0):
            m = learner(window)
            m.learn(ROWS, LABELS, time=times)
            assert m.clock == times.max()
            age = times.max() - times
            weight = 1.0 * (age < 3.0) if isinstance(window, Sliding) else 2.0 ** (-age / 3.0)
            np.testing.assert_allclose(m.mass, weight.sum(), rtol=1e-13)


def test_shifting_all_times_changes_no_bit_of_the_model() -> None:
    times = np.cumsum(np.round(16.0 * np.random.default_rng(94).exponential(1.0, size=12))) / 16.0
    for window in (HalfLife(3.0), Sliding(duration=3.0)):
        here, there = learner(window), learner(window)
        here.learn(ROWS, LABELS, time=times)
        there.learn(ROWS, LABELS, time=times + 2.0**40)
        assert here.coef.tobytes() == there.coef.tobytes()
        assert bits(here)["mass"] == bits(there)["mass"]


def test_learners_whose_last_events_are_far_apart_still_merge() -> None:
    for gap in (0.0, 10.0, 900.0, 1e4):
        one, two = learner(HalfLife(1.0)), learner(HalfLife(1.0))
        one.learn(ROWS[:6], LABELS[:6], time=np.zeros(6))
        two.learn(ROWS[6:], LABELS[6:], time=np.full(6, gap))
        merged, mirrored = one.merge(two), two.merge(one)
        assert_close(merged, mirrored, rtol=1e-12)
        np.testing.assert_allclose(merged.mass, 6.0 + 6.0 * 2.0**-gap, rtol=1e-13)
        np.testing.assert_allclose(merged.dual_sum, two.dual_sum + one.dual_sum * 2.0**-gap, rtol=1e-12)
