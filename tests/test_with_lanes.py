"""Learner.with_lanes: lanes taken, doubled, mirrored, begun."""

import numpy as np
import pytest
import scipy.sparse as sp

from odca import ElasticNet, Exponential, Hinge, Infinite, Learner, LogLoss, NonNegative, Sliding, SquaredHinge

LOSSES = [Hinge(), LogLoss(), SquaredHinge()]
WINDOWS = [Infinite(), Exponential(0.95), Sliding(30)]


def same_bits(a: Learner, b: Learner) -> bool:
    mine, theirs = a.get_state(), b.get_state()
    return mine.keys() == theirs.keys() and all(mine[name].tobytes() == theirs[name].tobytes() for name in mine)


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
@pytest.mark.parametrize("window", WINDOWS, ids=repr)
@pytest.mark.parametrize("penalty", [None, ElasticNet(0.05)], ids=repr)
@pytest.mark.parametrize("smoothing", [0.0, 0.9])
@pytest.mark.parametrize("scale", [False, True])
def test_a_lane_can_be_copied_from_one_with_equal_or_opposite_labels(
    loss, window, penalty, smoothing: float, scale: bool
) -> None:
    rng = np.random.default_rng(0)
    X = sp.random_array((150, 12), density=0.4, rng=rng, format="csr")
    classes = rng.integers(0, 2, 150)
    classes[90:] = rng.integers(0, 3, 60)  # the third comes late
    options = {"loss": loss, "rho": 1e-2, "window": window, "smoothing": smoothing, "scale": scale, "intercept": True}
    if penalty:
        options["penalty"] = penalty
    one_against_rest = np.where(classes[:, None] == [0, 1, 2, 3], 1.0, -1.0)  # nobody is of class 3
    declared = Learner(lanes=4, **options)
    declared.learn(X, one_against_rest)

    late = Learner(lanes=2, **options)
    late.learn(X[:90], one_against_rest[:90][:, [1, 3]])
    late = late.with_lanes([0, 0, 1, 1], [True, False, False, False])
    late.learn(X[90:], one_against_rest[90:])
    assert same_bits(late, declared)


def test_a_blank_lane_has_mass_but_zero_weights() -> None:
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(50, 3)), np.sign(rng.normal(size=50))
    learner = Learner(loss=LogLoss(), rho=1e-2, smoothing=0.5, window=Sliding(20))
    learner.learn(X, y)
    more = learner.with_lanes([0, -1])
    assert more.lanes == 2
    assert np.array_equal(more.mass, [20.0, 20.0])
    assert np.array_equal(more.coef[0], learner.coef)
    assert not more.coef[1].any()
    assert not more.smoothed_coef[1].any()
    assert more.dual_objective()[1] == 0.0
    more.learn(X, y)  # goes on
    assert more.refine(20)[1] < 1e-2
    assert learner.count == 50


def test_an_invalid_arrangement_of_lanes_is_refused() -> None:
    learner = Learner(loss=Hinge(), rho=[1e-2, 1e-3])
    with pytest.raises(ValueError, match="same rho"):
        learner.with_lanes([0])
    learner = Learner(loss=Hinge(), penalty=NonNegative(), lanes=2)
    assert learner.with_lanes([1, 0, 1]).lanes == 3
    with pytest.raises(ValueError, match="not symmetric in the sign"):
        learner.with_lanes([0], [True])
    with pytest.raises(ValueError, match="no lane 2"):
        learner.with_lanes([2])
    with pytest.raises(ValueError, match="at least one lane"):
        learner.with_lanes([])
