"""A feature with heavy tails is learned by its usual values; a single large one does not decide what all others are worth."""

import numpy as np
import pytest

from auto.slow_experts import SlowExperts
from auto.streams import (
    OF_STREAMS,
    Stream,
    assert_close,
    assert_same_parts,
    every_task_and_loss,
    labels,
    new,
    options_of,
)
from odca import AutoLearner


def heavy_stream(kind: str, n: int, seed: int = 0) -> Stream:
    """Of the ten features, which have a Cauchy distribution, three are sparse."""
    rng = np.random.default_rng(seed)
    X = rng.standard_cauchy(size=(n, 10)) * 10.0 ** rng.integers(-3, 4, size=10)
    X[:, :3] *= rng.random((n, 3)) < 0.2
    bounded = np.clip(X / np.median(np.abs(X[:, 3:])), -3.0, 3.0)
    return Stream(X, labels(kind, bounded @ rng.normal(size=(10, 4)), rng), rng.choice([1.0, 0.5], size=n))


@every_task_and_loss
def test_the_core_bounds_values_as_the_slow_twin_does(kind: str) -> None:
    stream, experts, slow = heavy_stream(kind, 300), new(kind), SlowExperts(**options_of(kind))
    told = stream.into(experts)
    assert_close(told, slow.learn(stream.X, stream.y, stream.weight), 10.0 * OF_STREAMS[kind], "what was told")
    assert_same_parts(experts, slow, 10.0 * OF_STREAMS[kind])


@pytest.mark.parametrize("at", [50, 1000])
def test_one_value_of_a_million_costs_little(at: int) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 5))
    y = X @ np.arange(1.0, 6.0) + rng.normal(size=3000)
    wild = X.copy()
    wild[at, 2] = 1e6
    judged = np.arange(3000) > at
    errors = [np.mean((AutoLearner("numbers").learn(each, y) - y)[judged] ** 2) for each in (X, wild)]
    assert errors[1] < 1.25 * errors[0]  # without a bound it is ten times as much


def test_a_feature_whose_unit_changes_is_followed() -> None:
    rng = np.random.default_rng(1)
    X, n = rng.normal(size=(6000, 4)), 3000
    X[n:] *= 1000.0
    y = np.sign(X).sum(axis=1) + 0.1 * rng.normal(size=6000)
    errors = (AutoLearner("numbers").learn(X, y) - y) ** 2
    assert errors[n + 1000 :].mean() < 1.2 * errors[1000:n].mean()
