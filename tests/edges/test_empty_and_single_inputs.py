"""The smallest problems: no events, no columns, no weight, one feature, one lane."""

import pickle
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from odca import KL, L2, Exponential, Infinite, Learner, LogLoss, Poisson, Sliding, SquaredError
from streams import LOSSES, PENALTIES, WINDOWS, assert_same_bits, bits, labels, make_stream, options, window_name


def learner(window: Any, penalty: Any = L2(), loss: Any = SquaredError(), **more: Any) -> Learner:  # noqa: B008 - frozen
    fixed = {"n_features": 3} if isinstance(penalty, KL) else {}
    return Learner(loss=loss, penalty=penalty, window=window, **{"rho": 0.1, **fixed, **more})


EACH_WINDOW = pytest.mark.parametrize("window", WINDOWS, ids=window_name)
EACH_PENALTY = pytest.mark.parametrize("penalty", PENALTIES, ids=lambda penalty: penalty.name)


@EACH_WINDOW
@EACH_PENALTY
def test_a_learner_without_events_has_no_mass_count_or_objective(window: Any, penalty: Any) -> None:
    m = learner(window, penalty, smoothing=0.9)
    rest = np.full(3, 1.0 / 3.0) if isinstance(penalty, KL) else np.zeros(0)
    np.testing.assert_allclose(m.coef, rest)
    np.testing.assert_allclose(m.smoothed_coef, rest)
    assert (m.count, m.mass, m.effective_sample_size, m.saturation, m.clock) == (0, 0.0, 0.0, 0.0, None)
    assert m.dual_objective() == 0.0
    if isinstance(window, Sliding):
        assert m.primal_objective() == m.duality_gap() == m.refine(3) == 0.0
    assert pickle.loads(pickle.dumps(m)) == m == m.copy()
    if not (isinstance(window, Sliding) and window.length):
        assert m.merge(m.copy()) == m
    assert "0 events" in repr(m)


@EACH_WINDOW
@EACH_PENALTY
@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
def test_a_call_without_events_changes_nothing(window: Any, penalty: Any, sparse: bool) -> None:
    m = learner(window, penalty, smoothing=0.9)
    make_stream(SquaredError(), 30, seed=111, features=3).into(m)
    saved = bits(m)
    none = sp.csr_array((0, 3)) if sparse else np.zeros((0, 3))
    margins = m.learn(none, np.zeros(0), sample_weight=np.zeros(0), offset=np.zeros(0), time=np.zeros(0))
    assert margins.shape == (0,)
    told = m.learn(none, np.zeros(0), time=np.zeros(0), diagnostics=True)
    assert told.dual.shape == told.slope.shape == told.saturated.shape == (0,)
    assert m.predict(none).shape == (0,)
    assert bits(m) == saved


def test_the_first_call_may_have_no_events_with_or_without_lanes() -> None:
    m = Learner(loss=SquaredError(), lanes=3)
    assert m.learn(np.zeros((0, 2)), np.zeros((0, 3)), sample_weight=np.zeros((0, 1))).shape == (0, 3)
    assert m.count == 0
    assert m.predict(np.ones((2, 2))).shape == (2, 3)
    assert m.coef.shape == (3, m.n_features)


@EACH_WINDOW
@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)
@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
def test_rows_without_columns_add_mass_and_duals_but_no_weights(window: Any, loss: Any, sparse: bool) -> None:
    rng = np.random.default_rng(112)
    y, offset = labels(loss, rng.normal(size=20), rng), rng.normal(size=20)
    m = learner(window, loss=loss, smoothing=0.9)
    X = sp.csr_array((20, 0)) if sparse else np.zeros((20, 0))
    told = m.learn(X, y, offset=offset, time=np.zeros(20), diagnostics=True)
    np.testing.assert_array_equal(told.margin, offset)
    np.testing.assert_array_equal(told.slope, 0.0)
    low, high = loss.subgradient(offset, y)
    assert np.all((low - 1e-15 <= -told.dual) & (-told.dual <= high + 1e-15))
    assert m.coef.shape == (0,)
    assert m.count == 20
    assert m.mass > 0.0
    if isinstance(window, Infinite):
        # Nothing can be learned, so the bound is tight: the mean loss itself.
        np.testing.assert_allclose(m.dual_objective(), np.mean(loss.value(offset, y)), rtol=1e-12)


@EACH_WINDOW
@EACH_PENALTY
@pytest.mark.parametrize("kappa", [0.0, 0.9])
def test_empty_rows_change_only_the_mass(window: Any, penalty: Any, kappa: float) -> None:
    stream = make_stream(SquaredError(), 60, seed=113, features=3)
    m = learner(window, penalty, smoothing=kappa)
    stream.into(m)
    S, mass = m.dual_sum, m.mass
    clock = stream.time.max()
    m.learn(sp.csr_array((1, 3)), [5.0], time=[clock])
    if isinstance(window, Infinite):
        np.testing.assert_array_equal(m.dual_sum, S)
        assert m.mass == mass + 1.0
    dense = m.copy()
    m.learn(sp.csr_array((1, 3)), [2.0], time=[clock])
    dense.learn(np.zeros((1, 3)), [2.0], time=[clock])
    np.testing.assert_allclose(m.coef, dense.coef, rtol=1e-15)
    assert m.mass == dense.mass


@EACH_WINDOW
@EACH_PENALTY
@pytest.mark.parametrize("kappa", [0.0, 0.9])
def test_a_stream_of_weight_zero_learns_nothing(window: Any, penalty: Any, kappa: float) -> None:
    stream = make_stream(SquaredError(), 40, seed=114, features=3)
    m = learner(window, penalty, smoothing=kappa)
    rest = m.predict(stream.X, offset=stream.offset)
    told = stream.with_(sample_weight=np.zeros(40)).into(m, diagnostics=True)
    np.testing.assert_allclose(told.margin, rest, rtol=1e-14, atol=1e-15)
    np.testing.assert_array_equal(told.dual, 0.0)
    assert m.count == 40
    assert m.mass == 0.0
    assert m.dual_objective() == 0.0
    assert not m.dual_sum.any()
    np.testing.assert_allclose(m.predict(stream.X, offset=stream.offset), rest, rtol=1e-14, atol=1e-15)
    if isinstance(window, Sliding):
        assert m.refine(2) == 0.0
        assert not m.dual_sum.any()
    # It then learns as if it were new, but for its count.
    fresh = learner(window, penalty)
    later = stream.with_(time=stream.time + 1e4)
    later.into(m)
    later.into(fresh)
    np.testing.assert_allclose(m.coef, fresh.coef, rtol=1e-13, atol=1e-15)


@EACH_WINDOW
@EACH_PENALTY
def test_an_event_of_weight_zero_advances_the_clock_and_nothing_else(window: Any, penalty: Any) -> None:
    # Without a constant strength, w depends on ratios of weights: a tick that evicts nothing leaves it alone.
    stream = make_stream(SquaredError(), 12, seed=115, features=3)
    stream = stream.with_(time=np.arange(12) / 4.0)
    m = learner(window, penalty, smoothing=0.5)
    stream.into(m)
    w, average = m.coef, m.smoothed_coef
    m.learn([[3.0, -2.0, 1.0]], [50.0], sample_weight=[0.0], time=[2.9])
    assert m.count == 13
    np.testing.assert_allclose(m.coef, w, rtol=1e-14, atol=1e-16)
    share = 1.0 / np.sum(0.5 ** np.arange(13))
    np.testing.assert_allclose(m.smoothed_coef, (1.0 - share) * average + share * w, rtol=1e-13, atol=1e-16)


@pytest.mark.parametrize("loss", [Poisson(), SquaredError(), LogLoss()], ids=lambda loss: loss.name)
@EACH_WINDOW
def test_an_event_of_weight_zero_advances_the_clock_even_if_its_dual_would_overflow(loss: Any, window: Any) -> None:
    m = learner(window, loss=loss)
    m.learn([[1.0], [0.5]], [1.0, 1.0], time=[0.0, 0.0])
    w = m.coef
    y = 1e300 if isinstance(loss, SquaredError) else 1.0
    m.learn([[1.0]], [y], sample_weight=[0.0], offset=[800.0], time=[0.0])
    assert m.count == 3
    np.testing.assert_allclose(m.coef, w, rtol=1e-14)


@EACH_WINDOW
@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)
def test_lanes_1_gives_the_same_model_with_an_extra_axis(window: Any, loss: Any) -> None:
    stream = make_stream(loss, 80, seed=116)
    plain = Learner(**options(loss=loss, penalty=L2(), window=window, smoothing=0.9))
    lane = Learner(**options(loss=loss, penalty=L2(), window=window, smoothing=0.9) | {"lanes": 1})
    listed = Learner(**options(loss=loss, penalty=L2(), window=window, smoothing=0.9) | {"rho": [0.05]})
    margins = stream.into(plain)
    for one in (lane, listed):
        shown = stream.into(one)
        assert shown.shape == (80, 1)
        assert shown.tobytes() == margins.tobytes()
        assert bits(one) == bits(plain)
        assert one.coef.shape == (1, 12)
        assert one.mass.shape == one.dual_objective().shape == one.intercept.shape == (1,)
        assert one.predict(stream.X).shape == (80, 1)
        assert one != plain, "another problem, by its options"


@EACH_WINDOW
@EACH_PENALTY
@pytest.mark.parametrize("kappa", [0.0, 0.9])
def test_lanes_do_not_influence_each_other(window: Any, penalty: Any, kappa: float) -> None:
    # Six lanes: a pack of four, and two that are solved alone. Each equals the model learned by itself.
    loss = LogLoss()
    stream = make_stream(loss, 150, seed=117, lanes=6)
    keywords = options(loss=loss, penalty=penalty, window=window, smoothing=kappa)
    rho = (0.01, 0.05, 0.1, 0.5, 1.0, 3.0)
    together = Learner(**keywords | {"lanes": 6, "rho": rho})
    margins = stream.into(together)
    for lane in range(6):
        alone = Learner(**keywords | {"rho": rho[lane]})
        shown = stream.with_(y=stream.y[:, lane]).into(alone)
        # The dot product of one lane adds in another order: rounding, not bits.
        np.testing.assert_allclose(margins[:, lane], shown, rtol=0.0, atol=1e-12 * np.abs(shown).max())
        scale = np.abs(alone.coef).max()
        np.testing.assert_allclose(together.coef[lane], alone.coef, rtol=0.0, atol=1e-12 * scale)
        np.testing.assert_allclose(together.smoothed_coef[lane], alone.smoothed_coef, rtol=0.0, atol=1e-12 * scale)
        np.testing.assert_allclose(together.dual_objective()[lane], alone.dual_objective(), rtol=1e-11)


def test_every_lane_may_have_a_window_of_its_own() -> None:
    stream = make_stream(SquaredError(), 100, seed=118, lanes=3)
    together = Learner(loss=SquaredError(), rho=0.1, window=Exponential([0.5, 0.9, 0.99]), smoothing=0.9)
    stream.into(together)
    for lane, beta in enumerate((0.5, 0.9, 0.99)):
        alone = Learner(loss=SquaredError(), rho=0.1, window=Exponential(beta), smoothing=0.9)
        stream.with_(y=stream.y[:, lane]).into(alone)
        np.testing.assert_allclose(together.coef[lane], alone.coef, rtol=1e-12, atol=1e-14)
        np.testing.assert_allclose(together.smoothed_coef[lane], alone.smoothed_coef, rtol=1e-12, atol=1e-14)
        np.testing.assert_allclose(together.mass[lane], alone.mass, rtol=1e-14)


@EACH_WINDOW
@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)
def test_a_single_feature_is_enough(window: Any, loss: Any) -> None:
    rng = np.random.default_rng(119)
    X = rng.uniform(0.5, 1.5, size=(300, 1))
    y = labels(loss, 2.0 * X[:, 0], rng)
    m = learner(window, loss=loss, rho=0.01, smoothing=0.9)
    m.learn(X, y, time=np.arange(300) / 2.0)
    assert m.coef.shape == (1,)
    if not isinstance(loss, Poisson):
        assert m.smoothed_coef[0] > 0.1, "the sign of a plain correlation was not learned"
    assert_same_bits(m, m.copy())


def test_a_simplex_of_one_feature_has_nothing_to_learn() -> None:
    m = Learner(loss=SquaredError(), penalty=KL(), rho=0.1, n_features=1)
    m.learn(np.ones((5, 1)), np.arange(5.0))
    np.testing.assert_array_equal(m.coef, [1.0])
    # w = 1 always, so the bound is tight.
    np.testing.assert_allclose(m.dual_objective(), np.mean(0.5 * (np.arange(5.0) - 1.0) ** 2), rtol=1e-12)


def test_an_intercept_alone_is_a_weighted_mean() -> None:
    y = np.array([1.0, 2.0, 6.0])
    m = Learner(loss=SquaredError(), rho=0.0, prior_strength=1.0, intercept=True)
    m.learn(np.zeros((3, 0)), y)
    # One pass over orthogonal-like constants: w = sum of duals; each dual (y - w)/(1 + 1).
    w = 0.0
    for label in y:
        w += (label - w) / 2.0
    assert m.intercept == pytest.approx(w, rel=1e-15)
    assert m.coef.shape == (0,)
    assert m.n_features == 0


@EACH_WINDOW
def test_a_row_of_zeros_changes_only_the_intercept(window: Any) -> None:
    m = learner(window, intercept=True)
    m.learn([[1.0, 2.0]], [1.0], time=[0.0])
    w, b = m.coef, m.intercept
    m.learn([[0.0, 0.0]], [10.0], time=[0.0])
    assert m.intercept != b
    assert np.sign(m.coef).tolist() == np.sign(w).tolist()
