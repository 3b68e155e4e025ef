"""Nothing breaks between 1e-300 and 1e300: strengths, weights, values, labels.

Where a number cannot be held the event is refused; a model that was not refused is finite, optimal and can be saved.
"""

import itertools
import pickle
from typing import Any

import numpy as np
import pytest

from odca import (
    KL,
    L2,
    AbsoluteError,
    Box,
    ElasticNet,
    EpsilonInsensitive,
    Exponential,
    Hinge,
    Huber,
    Infinite,
    Learner,
    LogLoss,
    ModifiedHuber,
    Poisson,
    Quantile,
    Sliding,
    SmoothHinge,
    SquaredEpsilonInsensitive,
    SquaredError,
    SquaredHinge,
)
from streams import LOSSES, PENALTIES, WINDOWS, bits, labels, window_name

SCALES = [10.0**k for k in (-300, -250, -200, -150, -100, -50, -20, -8, -3, 0, 3, 8, 20, 50, 100, 150, 200, 250, 300)]


def assert_sound(learner: Learner, why: str = "") -> None:
    """Every number is finite, and the model can be saved, loaded and compared."""
    state = learner.get_state()
    for name, array in state.items():
        if array.dtype == np.float64 and name != "clock":
            assert not np.isnan(array).any(), f"{why}: {name} holds NaN"
            if not name.startswith("timeline."):  # which has infinite bounds where nothing has happened yet
                assert np.isfinite(array).all(), f"{why}: {name} is {array}"
    assert np.isfinite(learner.coef).all(), why
    assert np.isfinite(learner.smoothed_coef).all(), why
    assert np.all(np.isfinite(learner.dual_objective())), why
    assert np.all(np.isfinite(learner.effective_sample_size)), why
    assert learner == learner.copy(), why
    assert pickle.loads(pickle.dumps(learner)) == learner, why


def assert_optimal(loss: Any, p: float, s: np.ndarray, dual: np.ndarray, y: np.ndarray, why: str) -> None:
    """-λ ∈ ∂Q(z), z = p + sλ: between the slopes a little to the left and to the right of z.

    λ itself to 1e-10: where λ = 1/(1 + e^z), z = 700 turns a rounding error of z into 1e-13 of λ and back into z.
    """
    z = p + s * dual
    near = 1e-13 * (abs(p) + np.abs(s * dual) + np.abs(y))
    low, high = loss.subgradient(z - near, y)[0], loss.subgradient(z + near, y)[1]
    slack = 1e-10 * np.abs(dual)
    assert np.all((low - slack <= -dual) & (-dual <= high + slack)), f"{why}: z={z}, λ={dual}, ∂Q=[{low}, {high}]"


def strengths(how: str, s: float) -> tuple[dict[str, Any], float]:
    """Options and a weight with which the first event, of a row of norm 1, has slope s."""
    if how == "rho":
        return {"rho": 1.0 / s}, 1.0
    if how == "prior_strength":
        return {"rho": 0.0, "prior_strength": 1.0 / s}, 1.0
    return {"rho": 0.0, "prior_strength": 1.0}, s


@pytest.mark.parametrize("how", ["rho", "prior_strength", "weight"])
@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)
def test_the_step_is_optimal_for_every_slope_from_1e_minus_300_to_1e300(loss: Any, how: str) -> None:
    rng = np.random.default_rng(81)
    for s, offset in itertools.product(SCALES, (0.0, -3.0, 2.5)):
        if how == "weight" and s > 1e150:
            continue  # its square is not a number any more
        keywords, weight = strengths(how, s)
        y = labels(loss, rng.normal(size=1), rng)
        learner = Learner(loss=loss, **keywords)
        told = learner.learn([[0.6, -0.8]], y, sample_weight=[weight], offset=[offset], diagnostics=True)
        why = f"s={s:g}, b={offset:g}, y={y}"
        np.testing.assert_allclose(told.slope, s, rtol=1e-14, err_msg=why)
        assert_optimal(loss, offset, told.slope, told.dual, y, why)
        moved = told.slope * told.dual
        z = learner.predict([[0.6, -0.8]], offset=[offset])
        np.testing.assert_allclose(z, offset + moved, rtol=0.0, atol=1e-14 * (abs(offset) + abs(moved[0])), err_msg=why)
        assert_sound(learner, why)


@pytest.mark.parametrize("window", WINDOWS, ids=window_name)
@pytest.mark.parametrize("penalty", PENALTIES, ids=lambda penalty: penalty.name)
@pytest.mark.parametrize("loss", [SquaredError(), Hinge(), LogLoss(), Poisson()], ids=lambda loss: loss.name)
def test_models_stay_finite_and_weak_duality_holds_under_every_strength(loss: Any, penalty: Any, window: Any) -> None:
    rng = np.random.default_rng(82)
    X = rng.normal(size=(40, 3))
    y = labels(loss, X[:, 0], rng)
    for rho in SCALES:
        keywords = {"n_features": 3} if isinstance(penalty, KL) else {}
        learner = Learner(loss=loss, penalty=penalty, rho=rho, window=window, smoothing=0.5, **keywords)
        try:
            learner.learn(X, y, time=np.arange(40.0))
        except ValueError as refusal:
            # A bound or threshold makes S a difference of numbers of size one: w = S/A then overflows, and is refused.
            assert rho <= 1e-100 and not isinstance(penalty, L2), refusal  # noqa: PT017, PT018 - allowed there only
            assert_sound(learner, f"rho={rho:g}, refused")
            continue
        assert_sound(learner, f"rho={rho:g}")
        if isinstance(window, Infinite):
            bound, value = learner.dual_objective(), learner.objective(X, y)
            assert bound <= value + 1e-9 * max(1.0, abs(value)), f"rho={rho:g}"


@pytest.mark.parametrize("power", [-460, -100, 100, 460])
@pytest.mark.parametrize("window", WINDOWS, ids=window_name)
@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)
def test_scaling_values_by_a_power_of_two_gives_the_same_predictions(loss: Any, window: Any, power: int) -> None:
    # X -> aX, rho -> a^2 rho is the same problem with w -> w/a. 2^460 is 3e138: S and the rows are both of that size,
    # a scale holds S up to 2^64 larger, and h'S must still be a number. A power of two rounds nothing.
    rng = np.random.default_rng(83)
    X = rng.normal(size=(60, 4))
    y = labels(loss, X[:, 0], rng)
    scale = 2.0**power
    plain = Learner(loss=loss, rho=0.5, window=window, smoothing=0.9)
    scaled = Learner(loss=loss, rho=0.5 * scale * scale, window=window, smoothing=0.9)
    margins, same = (m.learn(rows, y, time=np.arange(60.0)) for m, rows in ((plain, X), (scaled, scale * X)))
    np.testing.assert_allclose(same, margins, rtol=1e-12, atol=1e-12 * np.abs(margins).max())
    np.testing.assert_allclose(scaled.coef * scale, plain.coef, rtol=0.0, atol=1e-12 * np.abs(plain.coef).max())
    assert_sound(scaled)


@pytest.mark.parametrize("value", [1e-150, 1e100, 1e150])
@pytest.mark.parametrize("window", [Infinite(), Exponential(0.8), Sliding(duration=12.0)], ids=window_name)
@pytest.mark.parametrize("penalty", PENALTIES, ids=lambda penalty: penalty.name)
@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)
def test_values_of_any_size_are_learned_at_the_default_strength(
    loss: Any, penalty: Any, window: Any, value: float
) -> None:
    rng = np.random.default_rng(84)
    X = rng.normal(size=(30, 3))
    X[::3] *= value  # huge or tiny rows among usual ones
    X[1::3, 0] *= value  # and within one row
    y = labels(loss, X[:, 1], rng) if value < 1.0 else labels(loss, rng.normal(size=30), rng)
    keywords = {"n_features": 3} if isinstance(penalty, KL) else {}
    learner = Learner(loss=loss, penalty=penalty, rho=1e-3, window=window, smoothing=0.9, **keywords)
    try:
        margins = learner.learn(X, y, time=np.arange(30.0))
    except ValueError as refusal:
        # Under a bound or threshold w stays of size one: huge rows then have losses of 1e300 and may be refused.
        assert value > 1.0 and not isinstance(penalty, L2), refusal  # noqa: PT017, PT018 - allowed there only
    else:
        assert np.isfinite(margins).all()
    assert_sound(learner)


HUGE = [1e-300, 1.0, 1e150, 1e160, 1e300]


@pytest.mark.parametrize("window", [Infinite(), Exponential(0.5), Sliding(3)], ids=window_name)
@pytest.mark.parametrize(
    ("loss", "penalty"),
    [
        (SquaredError(), L2()),
        (AbsoluteError(), L2()),
        (Huber(1.0), ElasticNet(0.1)),
        (SquaredEpsilonInsensitive(0.1), Box(-1.0, 1.0)),
        (Poisson(), L2()),
        (LogLoss(), L2()),
        (Quantile(0.9), KL()),
    ],
    ids=lambda part: part.name,
)
def test_an_event_of_any_size_is_learned_or_refused_without_a_trace(loss: Any, penalty: Any, window: Any) -> None:
    keywords = {"n_features": 2} if isinstance(penalty, KL) else {}
    fresh = Learner(loss=loss, penalty=penalty, rho=1e-3, window=window, smoothing=0.9, **keywords)
    fresh.learn([[1.0, 0.5], [-0.5, 1.0]], [1.0, 0.0])
    refused = learned = 0
    for x, y, weight, offset in itertools.product([0.0, *HUGE], [0.0, *HUGE], HUGE, (0.0, 700.0, 1e300)):
        if isinstance(loss, LogLoss):
            y = min(y, 1.0)  # noqa: PLW2901 - its domain
        learner, why = fresh.copy(), f"x={x:g}, y={y:g}, weight={weight:g}, offset={offset:g}"
        event: dict[str, Any] = {"X": [[x, 0.0]], "y": [y], "sample_weight": [weight], "offset": [offset]}
        try:
            learner.learn(**event)
        except ValueError as refusal:
            assert "row 0" in str(refusal), why  # noqa: PT017 - either outcome is right, neither may break the model
            assert bits(learner) == bits(fresh), why
            refused += 1
            continue
        learned += 1
        assert_sound(learner, why)
        try:
            learner.learn([[1.0, 1.0]] * 5, [1.0] * 5)  # under Sliding(3) the large event leaves again
        except ValueError as refusal:
            assert "row" in str(refusal), why  # noqa: PT017 - the same
        assert_sound(learner, why)
    assert learned > 30
    assert refused > 30


KINKS: list[tuple[Any, float, float, float]] = [
    # loss, y, p, and λ where s = 0 (an empty row) or s = 2 (p = b, w = 0)
    (Hinge(), 1.0, 1.0, 0.0),
    (Hinge(), -1.0, -1.0, 0.0),
    (SquaredHinge(), 1.0, 1.0, 0.0),
    (SmoothHinge(0.5), 1.0, 1.0, 0.0),
    (SmoothHinge(0.5), 1.0, 0.5, np.nan),
    (ModifiedHuber(), 1.0, 1.0, 0.0),
    (ModifiedHuber(), 1.0, -1.0, np.nan),
    (AbsoluteError(), 0.7, 0.7, 0.0),
    (Quantile(0.8), -0.3, -0.3, 0.0),
    (EpsilonInsensitive(0.25), 1.0, 0.75, 0.0),
    (EpsilonInsensitive(0.25), 1.0, 1.25, 0.0),
    (EpsilonInsensitive(0.0), 1.0, 1.0, 0.0),
    (SquaredEpsilonInsensitive(0.25), 1.0, 1.25, 0.0),
    (Huber(0.5), 1.0, 0.5, np.nan),
    (Huber(0.5), 1.0, 1.5, np.nan),
    (Poisson(), 0.0, 0.0, np.nan),
    (LogLoss(), 0.5, 0.0, 0.0),
]


@pytest.mark.parametrize(("loss", "y", "p", "dual"), KINKS, ids=str)
@pytest.mark.parametrize("row", [0.0, 1.0], ids=["empty row", "row"])
def test_a_label_at_a_kink_has_its_own_dual(loss: Any, y: float, p: float, dual: float, row: float) -> None:
    for rho in (1e-300, 0.5, 1e300):
        learner = Learner(loss=loss, rho=rho)
        told = learner.learn([[row]], [y], offset=[p], diagnostics=True)
        if np.isnan(dual):
            assert_optimal(loss, p, told.slope, told.dual, np.array([y]), f"rho={rho:g}")
            assert told.dual[0] != 0.0
        else:
            # To the rounding of p, which a step of 1/s makes good.
            assert abs(told.dual[0] - dual) * max(1.0, told.slope[0]) < 1e-15, "a satisfied event pulls"
        assert_sound(learner)
        # A hair to either side nothing jumps: λ is a continuous function of p where s > 0.
        if row and rho == 0.5:
            for moved in (np.nextafter(p, -np.inf), np.nextafter(p, np.inf)):
                near = Learner(loss=loss, rho=rho).learn([[row]], [y], offset=[moved], diagnostics=True)
                assert abs(near.dual[0] - told.dual[0]) < 1e-14
