"""Ctrl-C during the long calls of estimators: `fit` leaves them as they were, `partial_fit` keeps the events it came to."""

import signal
from typing import Any
from unittest import mock

import numpy as np
import pytest

from interrupting import Interrupt, interrupted_after
from odca import Learner, ODCAClassifier, ODCARegressor

pytestmark = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs signal.setitimer")

ENDLESS = {"tol": 1e-300, "max_iter": 10**9, "rho": 1e-7}
MODELS = [ODCAClassifier("hinge", **ENDLESS), ODCARegressor("absolute_error", **ENDLESS)]


def problem(model, n: int = 3_000):
    X = np.random.default_rng(77).normal(size=(n, 30))
    noisy = X[:, 0] + np.random.default_rng(78).normal(size=n)
    return X, (noisy > 0.0 if isinstance(model, ODCAClassifier) else noisy)


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_an_interrupted_fit_leaves_the_estimator_as_it_was(model, tmp_path) -> None:
    X, y = problem(model)
    with pytest.raises(Interrupt), interrupted_after(0.2):
        model.fit(X, y)
    assert not hasattr(model, "learner_")
    assert not hasattr(model, "n_features_in_")
    model.partial_fit(X[:50, :5], y[:50])
    model.save(tmp_path / "before.safetensors")
    with pytest.raises(Interrupt), interrupted_after(0.2):
        model.fit(X, y)
    model.save(tmp_path / "after.safetensors")
    assert (tmp_path / "after.safetensors").read_bytes() == (tmp_path / "before.safetensors").read_bytes()
    model.partial_fit(X[:50, :5], y[:50])
    assert model.learner_.count == 100


def test_an_interrupted_partial_fit_keeps_the_events_learned_so_far() -> None:
    model, prefix = (ODCARegressor(penalty="elasticnet", scale=False) for _ in range(2))
    X = np.random.default_rng(79).normal(size=(400_000, 20))  # half a second at least
    learn = Learner.learn

    def learn_until_interrupted(*args: Any, **keywords: Any) -> Any:  # not while X is checked
        with interrupted_after(0.05):
            return learn(*args, **keywords)

    for each in (model, prefix):
        each.partial_fit(X[:10], X[:10, 0])
    with mock.patch.object(Learner, "learn", learn_until_interrupted), pytest.raises(Interrupt):
        model.partial_fit(X, X[:, 0])
    learned = model.learner_.count - 10
    assert 0 < learned < len(X)
    prefix.partial_fit(X[:learned], X[:learned, 0])
    assert model.learner_ == prefix.learner_
    model.partial_fit(X[:10], X[:10, 0])
    assert model.learner_.count == learned + 20
