"""Streams for the experts of the automatic mode, and what is asked of experts that learned them."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

from auto.slow_experts import SlowExperts
from odca import AbsoluteError, Poisson, Quantile, _core
from odca.validation.arrays import as_matrix

Experts = _core.Experts

TASKS: dict[str, dict[str, Any]] = {
    "two classes": {"task": "classes", "classes": 2},
    "several classes": {"task": "classes", "classes": 4},
    "numbers": {"task": "numbers", "classes": 2},
}
every_task = pytest.mark.parametrize("kind", TASKS)
# Numbers that are judged by another loss than squared error.
LOSSES: dict[str, dict[str, Any]] = {
    "medians": {"task": "numbers", "loss": AbsoluteError()},
    "high quantiles": {"task": "numbers", "loss": Quantile(0.9)},
    "counts": {"task": "numbers", "loss": Poisson()},
}
every_task_and_loss = pytest.mark.parametrize("kind", [*TASKS, *LOSSES])
every_loss = pytest.mark.parametrize("kind", LOSSES)
classes_only = pytest.mark.parametrize("kind", ["two classes", "several classes"])

# λ of log loss is solved to a few parts in a million, and what follows from it departs a little; numbers have no λ to solve.
OF_STREAMS = {"two classes": 5e-6, "several classes": 5e-6, "numbers": 1e-11} | dict.fromkeys(LOSSES, 1e-10)
OF_ONE_STEP = {"two classes": 5e-6, "several classes": 5e-6, "numbers": 1e-12} | dict.fromkeys(LOSSES, 1e-11)


@dataclass(frozen=True)
class Stream:
    """Events in order; weights and times may be None."""

    X: Any
    y: np.ndarray
    weight: np.ndarray | None = None
    time: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.y)

    def __getitem__(self, rows: slice) -> "Stream":
        weight, time = (None if each is None else each[rows] for each in (self.weight, self.time))
        return Stream(self.X[rows], self.y[rows], weight, time)

    def with_(self, **changes: Any) -> "Stream":
        return replace(self, **changes)

    def into(self, experts: Experts) -> np.ndarray:
        return experts.learn(as_matrix(self.X)[0], self.y, self.weight, self.time)


def options_of(kind: str) -> dict[str, Any]:
    """Of the slow twin."""
    return TASKS[kind] if kind in TASKS else LOSSES[kind]


def new(kind: str, **options: Any) -> Experts:
    options = {"classes": 2, **options_of(kind), **options}
    if kind in LOSSES:
        options["loss"] = options["loss"].native()
    return Experts(**options)


def predict(experts: Experts, X: Any) -> np.ndarray:
    return experts.predict(as_matrix(X)[0])


def predict_steadily(experts: Experts, X: Any) -> np.ndarray:
    return log_probabilities(experts.predict(as_matrix(X)[0], steady=True))


def log_probabilities(answers: np.ndarray) -> np.ndarray:
    """Of several classes, whose logits are known up to a constant; one number for each event stays what it is."""
    return answers if answers.shape[1] == 1 else answers - np.logaddexp.reduce(answers, axis=1, keepdims=True)


def told_of(kind: str, stream: Stream) -> np.ndarray:
    return stream.into(new(kind))


def learned(kind: str, stream: Stream) -> Experts:
    experts = new(kind)
    stream.into(experts)
    return experts


def labels(kind: str, z: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Labels with something of the columns of z in them."""
    noisy = z + 0.5 * rng.normal(size=z.shape)
    if kind == "counts":
        return rng.poisson(np.exp(np.clip(z[:, 0], -5.0, 5.0))).astype(float)
    if kind == "numbers" or kind in LOSSES:
        return 3.0 * noisy[:, 0] + 7.0
    if kind == "two classes":
        return (noisy[:, 0] > 0.3).astype(float)
    return np.argmax(noisy, axis=1).astype(float)


def make_stream(kind: str, n: int = 400, d: int = 7, seed: int = 0) -> Stream:
    """Full columns, sparse ones, an indicator; weights, some of them 0; times that jump, stand still and are late."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) + rng.normal(size=d)
    X *= rng.random((n, d)) < np.where(np.arange(d) % 3 == 0, 1.0, 0.3)
    X[:, -1] = X[:, -1] != 0.0
    y = labels(kind, X @ rng.normal(size=(d, 4)), rng)
    clock = np.cumsum(rng.exponential(size=n) * (rng.random(n) < 0.7))
    time = np.where(rng.random(n) < 0.1, clock - rng.exponential(size=n), clock)
    return Stream(X, y, rng.choice([0.0, 1.0, 0.3, 2.5, 10.0], size=n), time)


def hard_stream(kind: str, n: int, seed: int, d: int = 6) -> Stream:
    """Nearly equal columns, outliers, numbers of all sizes, labels that turn round, weights of all sizes, bursts of one time."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 1)) + 1e-6 * rng.normal(size=(n, d))
    X *= 10.0 ** rng.integers(-12, 13, size=d)
    X[rng.random((n, d)) < 0.01] *= 1e30
    X[rng.random((n, d)) < 0.3] = 0.0
    turn = np.where(np.arange(n) // 500 % 2 == 0, 1.0, -1.0)[:, None]
    y = labels(kind, turn * np.sign(X) @ rng.normal(size=(d, 4)), rng)
    if kind == "numbers" or kind in LOSSES:
        y[rng.random(n) < 0.005] *= 1e12
    return Stream(
        X, y, 10.0 ** rng.uniform(-6, 6, size=n), np.repeat(rng.exponential(size=n // 20 + 1).cumsum(), 20)[:n]
    )


def sticky_stream(kind: str, n: int, seed: int, d: int = 8) -> Stream:
    """The label of an event is nearly that of the one before, and shows in the features."""
    rng, stay = np.random.default_rng(seed), 0.97
    if kind == "numbers":
        y = np.zeros(n)
        for i in range(1, n):
            y[i] = stay * y[i - 1] + np.sqrt(1.0 - stay**2) * rng.normal()
        return Stream(np.outer(y, 0.2 * rng.normal(size=d)) + rng.normal(size=(n, d)), 10.0 + 3.0 * y)
    classes = TASKS[kind]["classes"]
    begins = np.maximum.accumulate(np.where(rng.random(n) > stay, np.arange(n), 0))
    y = rng.integers(0, classes, size=n)[begins]
    return Stream(0.4 * rng.normal(size=(classes, d))[y] + rng.normal(size=(n, d)), y.astype(float))


def stationary_stream(kind: str, n: int, seed: int, d: int = 8) -> Stream:
    """A linear target that stays what it is."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < np.where(np.arange(d) < 4, 1.0, 0.3))
    z = X @ rng.normal(size=(d, 4))
    if kind == "numbers":
        return Stream(X, 10.0 + z[:, 0] + rng.normal(size=n))
    z = z if kind == "several classes" else z[:, :2] * [0.0, 1.0]
    return Stream(X, np.argmax(z + rng.gumbel(size=z.shape), axis=1).astype(float))


def loss(kind: str, answers: np.ndarray, y: np.ndarray) -> float:
    """The squared error of numbers, the log loss of classes."""
    if kind == "numbers":
        return float(np.mean((answers[:, 0] - y) ** 2))
    if kind == "two classes":
        return float(np.mean(np.logaddexp(0.0, np.where(y == 1.0, -answers[:, 0], answers[:, 0]))))
    return float(-np.mean(log_probabilities(answers)[np.arange(len(y)), y.astype(int)]))


def assert_same_bits(a: Experts, b: Experts) -> None:
    mine, its = a.state(), b.state()
    assert mine.keys() == its.keys()
    for name, values in mine.items():
        assert values.tobytes() == its[name].tobytes(), name


def assert_all_finite(experts: Experts, told: np.ndarray) -> None:
    assert np.isfinite(told).all()
    for name, values in experts.state().items():
        assert np.isfinite(values).all(), name


def assert_close(got: np.ndarray, wanted: np.ndarray, tolerance: float, what: str) -> None:
    """Within a part of the largest, or of one."""
    np.testing.assert_allclose(
        got, wanted, rtol=0.0, atol=tolerance * max(1.0, np.abs(wanted).max(initial=0.0)), err_msg=what
    )


def assert_same_parts(experts: Experts, slow: SlowExperts, tolerance: float) -> None:
    state, parts = experts.state(), slow.parts(experts.features)
    aside = {
        "history",
        "history_every",
        "history_loss",
        "live_errors",
        "steady_errors",
    }  # these are tested by themselves
    assert set(state) - set(parts) == {"version", "experts", *aside}
    for name, wanted in parts.items():
        np.testing.assert_allclose(
            state[name], wanted, rtol=0.0, atol=tolerance * np.abs(wanted).max(initial=0.0), err_msg=name
        )
