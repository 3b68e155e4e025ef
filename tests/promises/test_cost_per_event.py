"""A call of one event costs what the event costs, however large the model or its window: nothing is copied.

The measure is a copy of the memory that must not be copied; a call may take a fifth of its time. In truth it takes
about a hundredth.
"""

import time
from collections.abc import Callable

import numpy as np
import pytest
import scipy.sparse as sp

from odca import KL, L2, ElasticNet, EventLearner, Exponential, Infinite, Learner, Sliding, SquaredError
from odca.penalties import Penalty
from odca.windows import Window
from streams import window_name

CALLS = 100
pytestmark = pytest.mark.alone


def best_of_three(work: Callable[[], object]) -> float:
    times = []
    for _ in range(3):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


@pytest.mark.parametrize("window", [Infinite(), Exponential(0.999), Sliding(1), Sliding(50)], ids=window_name)
@pytest.mark.parametrize("penalty", [L2(), ElasticNet(0.01)], ids=lambda penalty: penalty.name)
@pytest.mark.parametrize("kappa", [0.0, 0.99])
def test_the_cost_of_one_event_does_not_grow_with_the_model(penalty: Penalty, window: Window, kappa: float) -> None:
    features = 1_000_000
    learner = Learner(loss=SquaredError(), penalty=penalty, rho=0.01, window=window, smoothing=kappa)
    rng = np.random.default_rng(1)
    rows = [
        sp.csr_array(([1.0, 2.0], ([0, 0], rng.integers(features, size=2))), shape=(1, features)) for _ in range(CALLS)
    ]
    learner.learn(rows[0], [1.0])

    def calls() -> None:
        for row in rows:
            learner.learn(row, [1.0])

    model = np.ones(features)
    assert best_of_three(calls) / CALLS < best_of_three(model.copy) / 5


def test_the_cost_of_one_event_does_not_grow_with_the_window_on_the_simplex() -> None:
    features, length = 20, 50_000
    rng = np.random.default_rng(2)
    X = rng.normal(size=(length + CALLS, features))
    y = rng.normal(size=len(X))
    learner = Learner(
        loss=SquaredError(), penalty=KL(), rho=0.01, window=Sliding(length), smoothing=0.99, n_features=features
    )
    learner.learn(X[:length], y[:length])

    def calls() -> None:
        for k in range(length, length + CALLS):
            learner.learn(X[k : k + 1], y[k : k + 1])

    assert best_of_three(calls) / CALLS < best_of_three(X.copy) / 5


@pytest.mark.parametrize("bits", [None, 20])
@pytest.mark.parametrize("kappa", [0.0, 0.99])
def test_the_cost_of_one_event_does_not_grow_with_the_number_of_names(kappa: float, bits: int | None) -> None:
    names = 1_000_000
    model = EventLearner(loss=SquaredError(), rho=0.01, smoothing=kappa, bits=bits)
    for first in range(0, names, 100_000):
        model.learn_one({f"n{k}": 1.0 for k in range(first, first + 100_000)}, 1.0)
    rng = np.random.default_rng(3)
    events = [{f"n{k}": 1.0 for k in rng.integers(names, size=14)} for _ in range(CALLS)]

    def calls() -> None:
        for event in events:
            model.predict_one(event)
            model.learn_one(event, 1.0)
            model.explain_one(event)

    copied = np.ones(names)
    assert best_of_three(calls) / CALLS < best_of_three(copied.copy) / 5
