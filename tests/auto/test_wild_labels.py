"""One wild label, or a few of them, spoil little; labels that come true are learned, however far off they are."""

import numpy as np
import pytest

from auto.slow_experts import SlowExperts
from auto.streams import (
    LOSSES,
    Stream,
    assert_close,
    assert_same_bits,
    assert_same_parts,
    learned,
    new,
    options_of,
    predict,
    told_of,
)
from odca import AutoLearner

KIND = "numbers"


def linear_stream(n: int = 4000, seed: int = 0, noise: float = 1.0) -> Stream:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 6))
    return Stream(X, X @ np.arange(6.0) + noise * rng.normal(size=n))


def all_kinds_of_wild_labels(n: int = 700, seed: int = 3) -> Stream:
    """Single ones, changes of level, and a rare feature that explains others."""
    rng, stream = np.random.default_rng(seed), linear_stream(n, seed, 0.1)
    X, y = stream.X.copy(), stream.y.copy()
    X[:, 5] = rng.random(n) < 0.03
    y += (
        300.0 * X[:, 5] * (1.0 + 0.1 * rng.normal(size=n))
        - 500.0 * (np.arange(n) > n // 2)
        - 1e5 * (rng.random(n) < 0.01)
    )
    return Stream(X, y, rng.choice([0.0, 1.0, 2.5], size=n))


@pytest.mark.parametrize("kind", [KIND, *LOSSES])
def test_the_core_bounds_labels_as_the_slow_twin_does(kind: str) -> None:
    stream = all_kinds_of_wild_labels(700 if kind == KIND else 400)
    if kind == "counts":
        stream = stream.with_(y=np.maximum(stream.y + 2e5 * (stream.y < -1e4), 0.0))
    experts, slow = new(kind), SlowExperts(**options_of(kind))
    told = stream.into(experts)
    assert_close(told, slow.learn(stream.X, stream.y, stream.weight), 1e-8, "what was told")
    assert_same_parts(experts, slow, 1e-8)
    state = experts.state()
    assert state["wild_label"] != 0.0, "no label was wild"
    for name in ("rows_reach", "levels_reach") if kind == KIND else ():
        assert state[name] > 0.0, f"no wild label came true: {name}"


def test_wild_labels_give_the_same_bits_however_the_stream_is_split_saved_and_resumed() -> None:
    stream = all_kinds_of_wild_labels()
    whole, parts = learned(KIND, stream), new(KIND)
    for begin in range(0, len(stream), 37):
        stream[begin : begin + 37].into(parts)
        resumed = new(KIND)
        resumed.restore(parts.state())
        parts = resumed
    assert_same_bits(whole, parts)


def test_the_unit_of_wild_targets_does_not_matter() -> None:
    stream, unit = all_kinds_of_wild_labels(), 1e-7
    assert_close(told_of(KIND, stream.with_(y=stream.y * unit)) / unit, told_of(KIND, stream), 1e-6, "in other units")


def errors_of(stream: Stream, y: np.ndarray, judged: np.ndarray) -> float:
    """The mean squared error where labels are sound, of a model that learned y."""
    told = AutoLearner(KIND).learn(stream.X, y)
    return float(np.mean((told - stream.y)[judged][100:] ** 2))


@pytest.mark.parametrize("deviations", [30.0, 1000.0])
def test_a_few_wild_labels_cost_next_to_nothing(deviations: float) -> None:
    stream, rng = linear_stream(), np.random.default_rng(1)
    wild = rng.random(len(stream)) < 0.005
    y = stream.y + wild * rng.choice([-1.0, 1.0], size=len(stream)) * deviations * stream.y.std()
    assert errors_of(stream, y, ~wild) < 1.01 * errors_of(stream, stream.y, ~wild)


@pytest.mark.parametrize("at", [20, 300, 2000])
def test_one_label_of_a_million_costs_next_to_nothing(at: int) -> None:
    stream = linear_stream()
    wild = np.arange(len(stream)) == at
    y = np.where(wild, 1e6, stream.y)
    assert errors_of(stream, y, ~wild) < 1.01 * errors_of(stream, stream.y, ~wild)


def test_a_change_of_level_is_followed_from_the_third_label_on() -> None:
    stream = linear_stream(600)
    y = stream.y + 5000.0 * (np.arange(600) >= 300)
    errors = np.abs(AutoLearner(KIND).learn(stream.X, y) - y)
    assert errors[300:303].min() > 4000.0
    assert errors[304:].max() < 0.05 * 5000.0


def test_large_labels_that_a_rare_feature_explains_are_learned() -> None:
    rng, stream = np.random.default_rng(2), linear_stream(8000)
    rare = rng.random(8000) < 0.01
    X = np.column_stack([stream.X, rare])
    y = stream.y + 2000.0 * rare
    errors = np.abs(AutoLearner(KIND).learn(X, y) - y)[rare]
    assert errors[8:].mean() < 0.05 * 2000.0


def test_intervals_hold_wild_labels_to_account() -> None:
    # A tenth of the labels is wild, of either sign: an interval of 95 % has to reach them.
    stream, rng = linear_stream(), np.random.default_rng(4)
    wild = rng.random(len(stream)) < 0.1
    learner = AutoLearner(KIND)
    learner.learn(stream.X, stream.y + wild * rng.choice([-1.0, 1.0], size=len(stream)) * 1e4)
    lower, upper = learner.uncertainty.bounds(0.95, "live")
    assert lower < -9000.0
    assert upper > 9000.0


def test_merged_models_bound_labels_by_what_both_know() -> None:
    stream = linear_stream()
    merged, other = learned(KIND, stream[:1500]), learned(KIND, stream[1500:3000])
    merged.merge(other, [], [])
    before = predict(merged, stream.X[3000:])
    stream[3000:3001].with_(y=np.array([1e6])).into(merged)
    assert np.abs(predict(merged, stream.X[3000:]) - before).max() < 2.0


def test_a_wild_label_of_which_a_file_tells_too_much_is_refused() -> None:
    state = learned(KIND, all_kinds_of_wild_labels()).state()
    for name, value in (
        ("usual_error", -1.0),
        ("recent_error", 1e200),
        ("levels_trust", 3.0),
        ("rows_reach", -1.0),
        ("wild_consecutive", 3.0),
        ("wild_label", 1e200),
    ):
        with pytest.raises(ValueError, match="not those of any events"):
            new(KIND).restore({**state, name: np.array([value])})
    with pytest.raises(ValueError, match="do not fit together"):
        new(KIND).restore({**state, "sides": np.zeros(3)})
