"""Faults that were found once, each by its smallest example."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp

from odca import L2, ElasticNet, Exponential, Hinge, Learner, LogLoss, Sliding, SquaredError
from odca.penalties import Penalty


@pytest.mark.parametrize("penalty", [L2(), ElasticNet(0.1)], ids=repr)
@pytest.mark.parametrize("strength", [1e-301, 1e-305, 1e-308])
def test_sums_of_one_over_a_tiny_strength_do_not_overflow(penalty: Penalty, strength: float) -> None:
    with pytest.raises(ValueError, match=r"prior_strength must be 0 or a number from 1e-300 to 1e\+300"):
        Learner(loss=Hinge(), penalty=penalty, rho=0.0, prior_strength=strength, smoothing=1.0)
    learner = Learner(loss=Hinge(), penalty=penalty, rho=1e-300, smoothing=1.0)
    with pytest.raises(ValueError, match=r"strength rho \* mass \+ prior_strength must be at least 1e-300; at row 0"):
        learner.learn(sp.csr_array((3000, 20_000)), np.ones(3000), sample_weight=np.full(3000, strength / 1e-300))
    assert learner.count == 0


def test_smoothing_continues_after_everything_was_forgotten() -> None:
    learner = Learner(loss=SquaredError(), rho=1e-3, window=Exponential(0.5), smoothing=1.0)
    learner.learn(np.ones((1, 2)), [1.0])
    learner.learn(np.zeros((2000, 2)), np.zeros(2000), sample_weight=np.zeros(2000))
    assert learner.mass == 0.0
    assert np.all(np.isfinite(learner.smoothed_coef))
    learner.learn(np.ones((1, 2)), [1.0])
    assert Learner(**learner._options).count == 0
    assert pickle.loads(pickle.dumps(learner)) == learner


def test_a_window_of_empty_sparse_rows_survives_saving() -> None:
    for first in (0, 2):
        learner = Learner(loss=Hinge(), window=Sliding(3), rho=0.3)
        learner.learn(sp.csr_array(np.ones((first, 2))), np.ones(first))
        learner.learn(sp.csr_array((3, 2)), np.ones(3))
        assert pickle.loads(pickle.dumps(learner)) == learner
        dense = Learner(loss=Hinge(), window=Sliding(3), rho=0.3)
        dense.learn(np.ones((first, 2)), np.ones(first))
        dense.learn(sp.csr_array((3, 2)), np.ones(3))
        assert pickle.loads(pickle.dumps(dense)) == dense


@pytest.mark.parametrize("scale", [1.0, 1e4, 1e8])
def test_the_dual_objective_of_log_loss_depends_only_on_the_dual(scale: float) -> None:
    """Q*(-λ) is a function of λ. Taken from a margin that cancels it was wrong by 1e-9."""
    rng = np.random.default_rng(7)
    for _ in range(50):
        y, offset = rng.random(), -scale * rng.uniform(0.1, 0.5)
        learner = Learner(loss=LogLoss(), rho=1.0)
        dual = learner.learn([[scale]], [y], offset=[offset], diagnostics=True).dual[0]
        strength, a = 1.0, np.longdouble(y) - np.longdouble(dual)
        entropy = a * np.log(a) + (1 - a) * np.log1p(-a) if 0 < a < 1 else np.longdouble(0)
        expected = -(entropy + dual * offset) - 0.5 * (dual * scale) ** 2 / strength
        size = abs(entropy) + abs(dual * offset) + 0.5 * (dual * scale) ** 2
        assert abs(learner.dual_objective() - expected) <= 1e-15 * size


@pytest.mark.parametrize(
    "options",
    [
        {"rho": 10**400},
        {"smoothing": 10**400},
        {"prior_strength": 10**400},
        {"lanes": 2**31},
        {"intercept_penalty": 2.0},
    ],
    ids=str,
)
def test_options_too_large_for_a_double_or_without_effect_are_refused(options: dict[str, int]) -> None:
    with pytest.raises(ValueError, match=next(iter(options))):
        Learner(loss=Hinge(), **options)


def test_a_penalty_too_large_for_a_double_is_refused() -> None:
    with pytest.raises(ValueError, match="delta"):
        ElasticNet(10**400)


def test_masked_entries_and_entries_that_are_not_doubles_are_refused() -> None:
    learner = Learner(loss=Hinge())
    with pytest.raises(ValueError, match="X must hold numbers"):
        learner.learn([[10**400]], [1.0])
    with pytest.raises(ValueError, match="X has masked entries"):
        learner.learn(np.ma.array([[1.0, 2.0]], mask=[[True, False]]), [1.0])
    assert learner.learn(np.ma.array([[1.0, 2.0]]), [1.0]).shape == (1,)


def test_merge_delta_and_apply_refuse_other_objects() -> None:
    learner = Learner(loss=Hinge())
    for method in (learner.merge, learner.delta, learner.apply):
        with pytest.raises(TypeError, match="needs"):
            method(3)


def test_errors_name_the_lane() -> None:
    learner = Learner(loss=Hinge(), lanes=2)
    with pytest.raises(ValueError, match=r"sample_weight .*; row 1, lane 1, is -1\. 0 leaves an event out"):
        learner.learn(np.eye(2), np.ones(2), sample_weight=[[1.0, 1.0], [1.0, -1.0]])
    with pytest.raises(ValueError, match=r"row 0, lane 1, of y is 3"):
        learner.learn(np.eye(2), [[1.0, 3.0], [1.0, 1.0]])


def test_a_custom_loss_with_a_gradient_of_nan_is_a_clear_error() -> None:
    class Broken:
        def gradient(self, z: float, y: float) -> float:
            return np.nan * (z + y)

    learner = Learner(loss=Broken())
    with pytest.raises(ValueError, match=r"row 0 of X .*dual variable would be nan, which the loss returned.*y = 2"):
        learner.learn([[1.0]], [2.0])
