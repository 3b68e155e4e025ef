"""scale=True: rows standardised as they come, against the same done slowly and by hand."""

import copy
import pickle
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from odca import KL, ElasticNet, Exponential, HalfLife, Hinge, Infinite, Learner, LogLoss, Sliding, SquaredError

WINDOWS = [Infinite(), Exponential(0.97), HalfLife(9.0), Sliding(20), Sliding(duration=15.0)]


def stream(rng: np.random.Generator, n: int = 120, d: int = 5):
    X = rng.normal(size=(n, d)) * [1.0, 1e3, 1e-3, 5.0, 0.0] + [0.0, 1e6, 5.0, -3.0, 7.0]
    X[n // 2 :, 3] += 1e4  # drifts
    y = np.sign(X[:, 0] + 0.3 * rng.normal(size=n))
    weight = rng.choice([0.5, 1.0, 2.0], size=n)
    time = np.cumsum(rng.exponential(size=n))
    return X, y, weight, time


def weights_of_the_past(window, weight: np.ndarray, time: np.ndarray, n: int) -> np.ndarray:
    """The window's weights of events 0..n at event n, which it still counts among those that leave."""
    k = np.arange(n + 1)
    if isinstance(window, Infinite):
        return weight[: n + 1]
    if isinstance(window, Exponential):
        return weight[: n + 1] * 0.97 ** (n - k)
    if isinstance(window, HalfLife):
        return weight[: n + 1] * 2.0 ** (-(time[n] - time[: n + 1]) / 9.0)
    before = max(n - 1, 0)
    stays = k > before - 20 if window.length else time[: n + 1] > time[before] - 15.0
    return weight[: n + 1] * stays


def by_hand(window, X, weight, time) -> np.ndarray:
    rows = np.empty_like(X)
    for n in range(len(X)):
        c = weights_of_the_past(window, weight, time, n)[:, None]
        mean = (c * X[: n + 1]).sum(axis=0) / c.sum()
        spread = np.sqrt((c * (X[: n + 1] - mean) ** 2).sum(axis=0) / c.sum())
        rows[n] = (X[n] - mean) / np.where(spread > 1e-12 * np.abs(mean), spread, 1.0)
    return rows


@pytest.mark.parametrize("window", WINDOWS, ids=repr)
@pytest.mark.parametrize("smoothing", [0.0, 0.9])
def test_dense_rows_are_centred_and_scaled_by_the_window(window, smoothing: float) -> None:
    X, y, weight, time = stream(np.random.default_rng(0))
    options = {"loss": LogLoss(), "rho": 1e-2, "window": window, "smoothing": smoothing, "intercept": True}
    scaled, plain = Learner(scale=True, **options), Learner(**options)
    mine = scaled.learn(X, y, sample_weight=weight, time=time)
    theirs = plain.learn(by_hand(window, X, weight, time), y, sample_weight=weight, time=time)
    np.testing.assert_allclose(mine, theirs, atol=1e-7)
    # The weights are in the units of X.
    np.testing.assert_allclose(
        scaled.predict(X), X @ scaled.smoothed_coef + scaled.smoothed_intercept, atol=1e-6, rtol=1e-6
    )


@pytest.mark.parametrize("window", [Infinite(), Exponential(0.97), Sliding(20)], ids=repr)
def test_sparse_rows_are_divided_by_the_root_mean_square_of_what_is_there(window) -> None:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(90, 6)) * [1.0, 100.0, 1e-4, 1.0, 3.0, 1.0] * (rng.random((90, 6)) < 0.4)
    X[:, 5] = X[:, 5] != 0.0  # an indicator stays one
    y = np.sign(rng.normal(size=90))
    rows = np.zeros_like(X)
    for n in range(len(X)):
        c = weights_of_the_past(window, np.ones(90), np.arange(90.0), n)[:, None] * (X[: n + 1] != 0.0)
        square = (c * X[: n + 1] ** 2).sum(axis=0) / np.maximum(c.sum(axis=0), 1e-300)
        rows[n] = X[n] / np.where(square > 0.0, np.sqrt(square), 1.0)
    assert set(rows[:, 5]) == {0.0, 1.0}
    options = {"loss": Hinge(), "penalty": ElasticNet(0.1), "rho": 1e-2, "window": window}
    scaled, plain = Learner(scale=True, **options), Learner(**options)
    np.testing.assert_allclose(scaled.learn(sp.csr_array(X), y), plain.learn(sp.csr_array(rows), y), atol=1e-9)
    np.testing.assert_allclose(scaled.predict(sp.csr_array(X)), X @ scaled.coef, atol=1e-9)


@pytest.mark.parametrize("window", WINDOWS, ids=repr)
@pytest.mark.parametrize("sparse", [False, True])
def test_any_split_and_saving_in_between_give_the_same_bits(window, sparse: bool, tmp_path: Path) -> None:
    X, y, weight, time = stream(np.random.default_rng(2))
    rows = sp.csr_array(X) if sparse else X
    whole = Learner(loss=Hinge(), rho=1e-2, window=window, smoothing=0.9, intercept=True, scale=True)
    parts = whole.copy()
    margins = whole.learn(rows, y, sample_weight=weight, time=time)
    shown = []
    for k, at in enumerate(np.split(np.arange(len(X)), [1, 2, 7, 40, 41, 100])):
        shown.append(parts.learn(rows[at], y[at], sample_weight=weight[at], time=time[at]))
        if k % 3 == 0:
            parts.save(tmp_path / "model.safetensors")
            parts = Learner.load(tmp_path / "model.safetensors")
        elif k % 3 == 1:
            parts = pickle.loads(pickle.dumps(copy.deepcopy(parts)))
    assert np.array_equal(np.concatenate(shown), margins)
    assert parts == whole
    mine, theirs = parts.get_state(), whole.get_state()
    assert all(np.array_equal(mine[name], theirs[name]) for name in theirs)


@pytest.mark.parametrize("window", WINDOWS, ids=repr)
def test_a_refused_call_leaves_the_scale_as_it_was(window) -> None:
    X, y, weight, time = stream(np.random.default_rng(3))
    learner = Learner(loss=Hinge(), rho=1e-2, window=window, scale=True)
    learner.learn(X[:60], y[:60], sample_weight=weight[:60], time=time[:60])
    before = learner.copy()
    for n in (1, 60):
        bad = X[60 : 60 + n].copy()
        bad[-1, 2] = np.nan
        with pytest.raises(ValueError, match=f"row {n - 1} of X holds nan in column 2"):
            learner.learn(bad, y[60 : 60 + n], time=time[60 : 60 + n])
        labels = y[60 : 60 + n].copy()
        labels[-1] = 3.0
        with pytest.raises(ValueError, match="Hinge"):
            learner.learn(X[60 : 60 + n], labels, time=time[60 : 60 + n])
    with pytest.raises(ValueError, match="overflow in column 1"):
        learner.learn([[0.0, 1e200, 0.0, 0.0, 0.0]], [1.0], time=time[60:61])
    assert learner == before


def test_a_scaled_model_refuses_to_mix_dense_and_sparse_rows() -> None:
    learner = Learner(loss=Hinge(), scale=True)
    learner.learn([[1.0, 2.0]], [1.0])
    with pytest.raises(ValueError, match="has learned from dense rows; row 0 of X is sparse"):
        learner.learn(sp.csr_array([[1.0, 2.0]]), [1.0])


def test_an_outlier_leaves_no_residue_when_it_leaves_the_window() -> None:
    rng = np.random.default_rng(4)
    X = rng.normal(size=(200, 3))
    X[50] = [1e12, 0.0, -1e9]
    y = np.sign(rng.normal(size=200))
    through = Learner(loss=SquaredError(), rho=0.1, window=Sliding(20), scale=True)
    through.learn(X, y)
    spread = 1.0 / through._core.units()[1]
    np.testing.assert_allclose(spread, X[-20:].std(axis=0), rtol=1e-9)
    np.testing.assert_allclose(through._core.units()[0], X[-20:].mean(axis=0), atol=1e-9)


def test_the_mean_is_found_however_far_away_it_drifts() -> None:
    rng = np.random.default_rng(5)
    X = (np.arange(3000.0) * 1e4 + rng.normal(size=3000))[:, None] * [1.0, 1e-6]
    learner = Learner(loss=SquaredError(), rho=0.1, window=Exponential(0.5), scale=True)
    learner.learn(X, np.zeros(3000))
    c = 0.5 ** np.arange(3000.0)[::-1]
    mean = c @ X / c.sum()
    np.testing.assert_allclose(learner._core.units()[0], mean, rtol=1e-12)
    np.testing.assert_allclose(1.0 / learner._core.units()[1], np.sqrt(c @ (X - mean) ** 2 / c.sum()), rtol=1e-6)


def test_the_units_of_features_do_not_matter() -> None:
    X, y, *_ = stream(np.random.default_rng(6))
    a, b = (Learner(loss=LogLoss(), rho=1e-3, intercept=True, scale=True) for _ in range(2))
    units = np.array([2.0**20, 2.0**-10, 1.0, 2.0**-3, 2.0**7])
    assert np.array_equal(a.learn(X, y), b.learn(X * units, y))  # powers of two: nothing is rounded
    np.testing.assert_allclose(a.coef, b.coef * units, rtol=1e-12)


def test_late_features_are_scaled_by_their_own_values() -> None:
    rng = np.random.default_rng(7)
    learner = Learner(loss=SquaredError(), rho=0.1, scale=True)
    learner.learn(rng.normal(size=(50, 2)), rng.normal(size=50))
    late = rng.normal(size=(30, 3)) * [1.0, 1.0, 1e5] + [0.0, 0.0, 1e7]
    learner.learn(late, rng.normal(size=30))
    np.testing.assert_allclose(learner._core.units()[0][2], late[:, 2].mean(), rtol=1e-12)
    assert np.isfinite(learner.predict(np.ones((1, 4)))).all()  # and one nobody has seen


@pytest.mark.parametrize(
    "options", [{"penalty": KL(), "n_features": 3}, {"prior_mean": [1.0]}, {"scale": "yes"}], ids=str
)
def test_invalid_scaling_options_are_refused(options) -> None:
    with pytest.raises(ValueError, match="scale"):
        Learner(**{"loss": SquaredError(), "scale": True, **options})


@pytest.mark.parametrize("window", WINDOWS, ids=repr)
@pytest.mark.parametrize("sparse", [False, True])
def test_fit_standardises_by_all_events_at_once(window, sparse: bool) -> None:
    X, y, weight, time = stream(np.random.default_rng(8))
    if sparse:
        X = X * (np.random.default_rng(9).random(X.shape) < 0.5)
    c = weights_at_the_end(window, weight, time)[:, None]
    if sparse:
        present = c * (X != 0.0)
        centre, spread = 0.0, np.sqrt((present * X**2).sum(axis=0) / np.maximum(present.sum(axis=0), 1e-300))
    else:
        centre = (c * X).sum(axis=0) / c.sum()
        spread = np.sqrt((c * (X - centre) ** 2).sum(axis=0) / c.sum())
    rows = (X - centre) / np.where(spread > 1e-12 * np.abs(X).max(axis=0), spread, 1.0)
    options = {"loss": LogLoss(), "rho": 1e-2, "window": window, "smoothing": 0.9, "intercept": True}
    scaled, plain = Learner(scale=True, **options), Learner(**options)
    form = sp.csr_array if sparse else np.asarray
    scaled.fit(form(X), y, sample_weight=weight, time=time, tol=1e-10)
    plain.fit(form(rows), y, sample_weight=weight, time=time, tol=1e-10)
    np.testing.assert_allclose(scaled.predict(form(X)), plain.predict(form(rows)), atol=1e-4)
    np.testing.assert_allclose(scaled.predict(form(X)), X @ scaled.smoothed_coef + scaled.smoothed_intercept, atol=1e-6)
    scaled.learn(form(X), y, sample_weight=weight, time=time + time[-1])  # and on it goes
    assert np.isfinite(scaled.coef).all()


def weights_at_the_end(window, weight: np.ndarray, time: np.ndarray) -> np.ndarray:
    n = len(weight) - 1
    if isinstance(window, Sliding):
        stays = np.arange(n + 1) > n - 20 if window.length else time > time[n] - 15.0
        return weight * stays
    return weights_of_the_past(window, weight, time, n)
