"""K lanes over one read of the rows are K learners.

A lane of many and a learner of its own add up a row in another order (one of them in four sums, to hide latency), so they
agree to rounding: 1e-12 of max|w| over the hundred events of these streams. Lanes among themselves agree to the bit.
"""

from typing import Any

import numpy as np
import pytest
from scipy import sparse

from odca import L2, Exponential, HalfLife, Hinge, Infinite, Learner, LogLoss, Quantile, Sliding
from odca.losses import Loss
from odca.penalties import Penalty
from odca.windows import Window
from problems import ALL_LOSSES, ALL_PENALTIES, ALL_WINDOWS, Array, features_of, make_labels, one_of_each

TOLERANCE = 1e-12
LANES = (1, 2, 3, 5, 8, 11)
EVENTS, FEATURES = 60, 9


def window_of(window: Window, lane: int) -> Window:
    """Each lane forgets at its own rate, where rates can differ."""
    if isinstance(window, Exponential):
        return Exponential(0.8 + 0.015 * lane)
    return HalfLife(2.0 + lane) if isinstance(window, HalfLife) else window


def window_of_all(window: Window, lanes: list[int]) -> Window:
    each = [window_of(window, lane) for lane in lanes]
    if isinstance(window, Exponential):
        return Exponential([one.beta for one in each])
    return HalfLife([one.tau for one in each]) if isinstance(window, HalfLife) else window


class Stream:
    """Rows for all lanes; labels, weights and offsets for each."""

    def __init__(self, loss: Loss, lanes: int, seed: int) -> None:
        rng = np.random.default_rng(seed)
        self.X = rng.normal(size=(EVENTS, FEATURES)) * (rng.random((EVENTS, FEATURES)) < 0.6)
        z = self.X @ rng.normal(size=(FEATURES, lanes))
        self.y = make_labels(loss, z, rng)
        self.weight = rng.random((EVENTS, lanes)) * (rng.random((EVENTS, lanes)) < 0.85)
        self.offset = 0.3 * rng.normal(size=(EVENTS, lanes))
        self.time = np.cumsum(rng.exponential(0.5, size=EVENTS)) - 2.0 * (rng.random(EVENTS) < 0.1)
        self.rho = 10.0 ** rng.uniform(-3.0, 0.0, size=lanes)
        self.prior_strength = rng.choice([0.0, 0.1, 1.0], size=lanes)

    def together(self, window: Window, lanes: list[int], *, csr: bool = False, **options: Any) -> tuple[Learner, Array]:
        """One learner with a lane for each of `lanes`."""
        model = Learner(
            window=window_of_all(window, lanes),
            rho=self.rho[lanes],
            prior_strength=self.prior_strength[lanes],
            **options,
        )
        X = sparse.csr_array(self.X) if csr else self.X
        margins = model.learn(
            X, self.y[:, lanes], sample_weight=self.weight[:, lanes], offset=self.offset[:, lanes], time=self.time
        )
        return model, margins

    def alone(self, window: Window, lane: int, **options: Any) -> tuple[Learner, Array]:
        """A learner for this lane only."""
        model = Learner(
            window=window_of(window, lane),
            rho=float(self.rho[lane]),
            prior_strength=float(self.prior_strength[lane]),
            **options,
        )
        return model, model.learn(
            self.X, self.y[:, lane], sample_weight=self.weight[:, lane], offset=self.offset[:, lane], time=self.time
        )


def numbers(model: Learner, margins: Array, lane: int | None) -> dict[str, Array]:
    """What the learner knows of one lane (of its only one if None)."""
    shown = {
        "margins": margins if lane is None else margins[:, lane],
        "w": model.coef if lane is None else model.coef[lane],
        "w_bar": model.smoothed_coef if lane is None else model.smoothed_coef[lane],
        "S": model.dual_sum if lane is None else model.dual_sum[lane],
    }
    for name, values in {
        "intercept": model.intercept,
        "smoothed intercept": model.smoothed_intercept,
        "mass": model.mass,
        "dual objective": model.dual_objective(),
        "effective sample size": model.effective_sample_size,
    }.items():
        shown[name] = np.atleast_1d(values)[[0 if lane is None else lane]]
    return shown


def assert_lanes_are_learners(stream: Stream, window: Window, lanes: list[int], **options: Any) -> None:
    model, margins = stream.together(window, lanes, **options)
    for at, lane in enumerate(lanes):
        expected = numbers(*stream.alone(window, lane, **options), None)
        for what, got in numbers(model, margins, at).items():
            scale = max(np.max(np.abs(expected[what])), 1e-3)
            assert np.max(np.abs(got - expected[what])) <= TOLERANCE * scale, (what, lane)


@pytest.mark.parametrize("lanes", LANES)
@pytest.mark.parametrize("window", ALL_WINDOWS, ids=repr)
@pytest.mark.parametrize("penalty", one_of_each(ALL_PENALTIES), ids=repr)
def test_lanes_equal_separate_learners_under_every_penalty_and_window(
    penalty: Penalty, window: Window, lanes: int
) -> None:
    stream = Stream(Quantile(0.3), lanes, seed=lanes)
    options = {"loss": Quantile(0.3), "penalty": penalty, "smoothing": 0.93, **features_of(penalty, FEATURES)}
    assert_lanes_are_learners(stream, window, list(range(lanes)), **options)


@pytest.mark.parametrize("lanes", LANES)
@pytest.mark.parametrize("loss", one_of_each(ALL_LOSSES), ids=repr)
def test_lanes_equal_separate_learners_under_every_loss(loss: Loss, lanes: int) -> None:
    stream = Stream(loss, lanes, seed=100 + lanes)
    assert_lanes_are_learners(stream, Exponential(0.9), list(range(lanes)), loss=loss, smoothing=0.5)


@pytest.mark.parametrize(
    "penalty", [each for each in one_of_each(ALL_PENALTIES) if each.name in {"l2", "elasticnet"}], ids=repr
)
@pytest.mark.parametrize("lanes", [2, 5])
def test_lanes_equal_separate_learners_with_an_intercept_and_shaped_penalties(penalty: Penalty, lanes: int) -> None:
    rng = np.random.default_rng(3)
    stream = Stream(LogLoss(), lanes, seed=200 + lanes)
    means = rng.normal(size=(lanes, FEATURES))
    options = {
        "loss": LogLoss(),
        "penalty": penalty,
        "intercept": True,
        "intercept_penalty": 0.1,
        "prior_intercept": 0.5,
        "penalty_weights": rng.random(FEATURES) + 0.1,
    }
    model, margins = stream.together(Exponential(0.9), list(range(lanes)), prior_mean=means, **options)
    for lane in range(lanes):
        alone = stream.alone(Exponential(0.9), lane, prior_mean=means[lane], **options)
        for what, expected in numbers(*alone, None).items():
            np.testing.assert_allclose(numbers(model, margins, lane)[what], expected, rtol=TOLERANCE, atol=TOLERANCE)


@pytest.mark.parametrize("window", ALL_WINDOWS, ids=repr)
@pytest.mark.parametrize("penalty", one_of_each(ALL_PENALTIES), ids=repr)
@pytest.mark.parametrize("loss", [Hinge(), LogLoss()], ids=repr)
def test_a_lane_has_the_same_bits_whatever_its_neighbours_are(loss: Loss, penalty: Penalty, window: Window) -> None:
    stream = Stream(loss, 11, seed=7)
    options = {"loss": loss, "penalty": penalty, "smoothing": 0.97, **features_of(penalty, FEATURES)}
    # When a sliding window is summed anew depends on what has left, in any lane: there the neighbours stay the same
    # and only their places change.
    groups = [[3, 8, 5]] if isinstance(window, Sliding) else [[3, 8, 5], [3, 10], list(range(11))]
    groups.append(groups[0][::-1])
    runs = [(group, stream.together(window, group, csr=True, **options)) for group in groups]
    expected = numbers(*runs[0][1], 0)
    for group, run in runs[1:]:
        for what, got in numbers(*run, group.index(3)).items():
            np.testing.assert_array_equal(got, expected[what], err_msg=f"{what} among lanes {group}")


@pytest.mark.parametrize("loss", one_of_each(ALL_LOSSES), ids=repr)
def test_under_l2_a_lane_has_the_same_bits_as_a_separate_learner(loss: Loss) -> None:
    """Where a row is added up in one order only: up to three non-zeros."""
    stream = Stream(loss, 5, seed=9)
    stream.X[:, 3:] = 0.0
    X = sparse.csr_array(stream.X)
    for lane in range(5):
        alone = Learner(
            loss=loss,
            penalty=L2(),
            rho=float(stream.rho[lane]),
            window=window_of(Exponential(0.9), lane),
            smoothing=0.9,
        )
        expected = alone.learn(X, stream.y[:, lane], sample_weight=stream.weight[:, lane])
        model = Learner(
            loss=loss,
            penalty=L2(),
            rho=stream.rho,
            window=window_of_all(Exponential(0.9), list(range(5))),
            smoothing=0.9,
        )
        got = model.learn(X, stream.y, sample_weight=stream.weight)
        for what, bits in numbers(alone, expected, None).items():
            np.testing.assert_array_equal(numbers(model, got, lane)[what], bits, err_msg=f"{what} of lane {lane}")


def test_a_single_lane_has_the_same_bits_as_a_learner_without_lanes() -> None:
    stream = Stream(LogLoss(), 1, seed=11)
    got = numbers(*stream.together(Infinite(), [0], loss=LogLoss(), smoothing=0.9), 0)
    for what, bits in numbers(*stream.alone(Infinite(), 0, loss=LogLoss(), smoothing=0.9), None).items():
        np.testing.assert_array_equal(got[what], bits, err_msg=what)


def test_labels_shared_by_all_lanes_need_only_one_column() -> None:
    stream = Stream(Hinge(), 3, seed=9)
    labels, weight = stream.y[:, 0], stream.weight[:, 0]
    wide = Learner(loss=Hinge(), rho=stream.rho)
    wide.learn(stream.X, np.tile(labels[:, None], 3), sample_weight=np.tile(weight[:, None], 3))
    for y, c in ((labels, weight), (labels[:, None], weight[:, None])):
        shared = Learner(loss=Hinge(), rho=stream.rho)
        shared.learn(stream.X, y, sample_weight=c)
        assert shared == wide
        objective = [model.objective(stream.X, y, sample_weight=c) for model in (shared, wide)]
        np.testing.assert_array_equal(objective[0], objective[1])
