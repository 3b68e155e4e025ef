"""Streams long enough for what is amortised: blocks of lazy smoothing, rebuilt sliding windows, folded scales.

Rows are sparse among many features, as CSR: a smoothing block ends when its non-zeros outnumber the features eightfold, so
that blocks here are a thousand events long: three levels of the smoothing tree, with full nodes of 256 events.
"""

from functools import cache

import numpy as np
import pytest
from scipy import sparse

from odca import (
    KL,
    L2,
    Box,
    ElasticNet,
    EpsilonInsensitive,
    Exponential,
    HalfLife,
    Hinge,
    Infinite,
    Learner,
    NonNegative,
    Sliding,
    SquaredError,
)
from odca.losses import Loss
from odca.penalties import Penalty
from odca.reference import ReferenceLearner
from odca.windows import Window
from problems import ALL_PENALTIES, ALL_WINDOWS, Array, Deviations, Problem, deviations, features_of, one_of_each

TOLERANCE = 1e-9
EVENTS, FEATURES = 2400, 300
KAPPAS = (0.5, 0.97, 0.9999, 1.0)
LONG_WINDOWS = [
    Infinite(),
    Exponential(0.999),
    HalfLife(40.0),
    Sliding(60),
    Sliding(700),
    Sliding(duration=30.0),
]
LAZY = [L2(), ElasticNet(0.02), NonNegative(0.01), Box(-0.3, 0.2, delta=0.01)]


@cache
def sparse_stream(
    seed: int, events: int = EVENTS, features: int = FEATURES
) -> tuple[sparse.csr_array, Array, Array, Array]:
    """Rows of one or two non-zeros, some features far rarer than others; labels, weights and times."""
    rng = np.random.default_rng(seed)
    truth, popularity = rng.normal(size=features), 1.0 / (1.0 + np.arange(features)) ** 0.7
    popularity /= popularity.sum()
    chosen = [
        np.sort(rng.choice(features, size=rng.integers(1, 3), replace=False, p=popularity)) for _ in range(events)
    ]
    columns, ends = np.concatenate(chosen), np.cumsum([0, *map(len, chosen)])
    X = sparse.csr_array((rng.normal(size=len(columns)), columns, ends), shape=(events, features))
    y = X @ truth + 0.1 * rng.normal(size=events)
    weight = rng.random(events) * np.exp(rng.normal(size=events)) * (rng.random(events) < 0.9)
    # Now and then an event is late and now and then there is a gap, so that q = 1/A goes up and down.
    time = np.cumsum(rng.exponential(0.3, size=events)) - 5.0 * (rng.random(events) < 0.05)
    time += 20.0 * np.cumsum(rng.random(events) < 0.004)
    return X, y, weight, time


@cache
def single_rows(*stream: int) -> list[sparse.csr_array]:
    X = sparse_stream(*stream)[0]
    return [X[n : n + 1] for n in range(X.shape[0])]


def assert_averages(penalty: Penalty, window: Window, stream: tuple[int, ...], checkpoints: list[int]) -> None:
    """At the checkpoints w̄ is the average of all w so far, for every κ; and smoothing has not touched w."""
    X, y, weight, time = sparse_stream(*stream)
    options = {"loss": SquaredError(), "penalty": penalty, "rho": 0.02, "window": window}
    plain, lazy = Learner(**options), [Learner(**options, smoothing=kappa) for kappa in KAPPAS]
    kappas, total, mass, learned = np.array(KAPPAS), np.zeros((len(KAPPAS), X.shape[1])), np.zeros(len(KAPPAS)), 0
    for n, row in enumerate(single_rows(*stream)):
        plain.learn(row, y[n : n + 1], sample_weight=weight[n : n + 1], time=time[n : n + 1])
        total, mass = kappas[:, None] * total + plain.coef, kappas * mass + 1.0
        if n + 1 not in checkpoints:
            continue
        batch, learned = slice(learned, n + 1), n + 1
        off = Deviations()
        for kappa, model, expected in zip(KAPPAS, lazy, total / mass[:, None], strict=True):
            model.learn(X[batch], y[batch], sample_weight=weight[batch], time=time[batch])
            off.add(f"w_bar at kappa = {kappa}", model.smoothed_coef, expected, np.max(np.abs(expected)))
            off.add(f"w at kappa = {kappa}", model.coef, plain.coef, 0.0)
        assert not off.beyond(TOLERANCE), n + 1


@pytest.mark.parametrize("window", LONG_WINDOWS, ids=repr)
@pytest.mark.parametrize("penalty", LAZY, ids=repr)
def test_lazily_smoothed_weights_are_the_average_of_the_weights_after_each_event(
    penalty: Penalty, window: Window
) -> None:
    assert_averages(penalty, window, (1,), [17, 273, 900, 1500, EVENTS])


@pytest.mark.parametrize("window", [Infinite(), Sliding(3000)], ids=repr)
def test_lazily_smoothed_weights_are_the_average_where_a_block_is_three_levels_deep(window: Window) -> None:
    """More than 4096 events without an end: the weights of rare features leave and enter the threshold meanwhile."""
    assert_averages(ElasticNet(0.02), window, (5, 6000, 9000), [4100, 4500, 6000])


@pytest.mark.parametrize(("stream", "longest", "ends"), [((1,), 2 * 64, 10), ((5, 6000, 9000), 64**2, 1)])
def test_the_streams_above_fill_smoothing_blocks_three_levels_deep(
    stream: tuple[int, ...], longest: int, ends: int
) -> None:
    """So that the tests above are about what they say."""
    X, y, *_ = sparse_stream(*stream)
    model, positions = Learner(loss=SquaredError(), smoothing=0.97), []
    for n in range(0, X.shape[0], 50):
        model.learn(X[n : n + 50], y[n : n + 50])
        positions.append(int(model.get_state()["timeline.now"].item()))
    assert max(positions) > longest
    assert np.sum(np.diff(positions) < 0) >= ends


@pytest.mark.parametrize("loss", [Hinge(), EpsilonInsensitive(0.05)], ids=repr)
@pytest.mark.parametrize("window", [each for each in ALL_WINDOWS if isinstance(each, Sliding)], ids=repr)
@pytest.mark.parametrize("penalty", one_of_each(ALL_PENALTIES), ids=repr)
def test_core_equals_reference_after_many_evictions(loss: Loss, penalty: Penalty, window: Window) -> None:
    features, kappa = 5, 0.97
    X, y, weight, time = sparse_stream(seed=2, events=300, features=features)
    labels = np.where(y > 0.0, 1.0, -1.0) if isinstance(loss, Hinge) else y
    problem = Problem(X.toarray(), labels, weight, None, time)
    options = {"loss": loss, "penalty": penalty, "rho": 0.05, "window": window, **features_of(penalty, features)}
    reference, model = ReferenceLearner(**options), Learner(**options, smoothing=kappa)
    problem.teach(reference)
    off = deviations(model, problem.learn(model, diagnostics=True), problem, reference, kappa)
    assert not off.beyond(TOLERANCE)


@pytest.mark.parametrize("penalty", [L2(), ElasticNet(0.02), KL()], ids=repr)
@pytest.mark.parametrize("window", [Exponential(0.5), HalfLife(0.1)], ids=repr)
def test_core_equals_reference_where_the_scale_is_folded_many_times(penalty: Penalty, window: Window) -> None:
    """β = ½ reaches the smallest scale every 64 events; a half-life of a third of the gaps between events sooner."""
    features, kappa = 5, 0.9
    X, y, weight, time = sparse_stream(seed=3, events=300, features=features)
    problem = Problem(X.toarray(), y, weight, None, time)
    options = {"loss": SquaredError(), "penalty": penalty, "rho": 0.05, "window": window}
    options |= features_of(penalty, features)
    reference, model = ReferenceLearner(**options), Learner(**options, smoothing=kappa)
    problem.teach(reference)
    off = deviations(model, problem.learn(model, diagnostics=True), problem, reference, kappa)
    assert not off.beyond(TOLERANCE)


@pytest.mark.parametrize("features", [3, 1000])
def test_a_sliding_window_of_weight_zero_has_learned_nothing(features: int) -> None:
    """When all that is left has weight zero the mass is 0, not what rounding has left of it, and w = ∇R*(0)."""
    for seed in range(930, 960):
        rng = np.random.default_rng(seed)
        X = sparse.csr_array((rng.normal(size=7), (np.arange(7), np.zeros(7, dtype=int))), shape=(7, features))
        model = Learner(loss=SquaredError(), rho=0.1, window=Sliding(3))
        model.learn(X, rng.normal(size=7), sample_weight=np.append(rng.random(4), np.zeros(3)))
        assert model.mass == 0.0
        assert not np.any(model.coef)
        assert model.dual_objective() == 0.0


@pytest.mark.parametrize("features", [3, 1000])
@pytest.mark.parametrize("large", ["weight", "label", "weight without a dual"])
def test_small_values_keep_their_digits_when_a_large_one_leaves_the_window(large: str, features: int) -> None:
    events = 12
    rng = np.random.default_rng(4)
    X = np.zeros((events, features))
    X[:, :2] = rng.normal(size=(events, 2))
    y, weight = rng.normal(size=events), rng.random(events) + 0.1
    weight[2] = 1e12 if "weight" in large else 1.0
    y[2] = 1e10 if large == "label" else y[2]
    loss: Loss = EpsilonInsensitive(30.0) if large == "weight without a dual" else SquaredError()
    problem = Problem(X, y, weight)
    reference, model = (
        ReferenceLearner(loss=loss, rho=0.1, window=Sliding(3)),
        Learner(loss=loss, rho=0.1, window=Sliding(3)),
    )
    problem.teach(reference)
    seen = model.learn(sparse.csr_array(X), y, sample_weight=weight, diagnostics=True)
    off = deviations(model, seen, problem, reference, 0.0)
    assert not off.beyond(TOLERANCE)
