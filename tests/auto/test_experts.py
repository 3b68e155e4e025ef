"""The experts of the automatic mode compute what their slow twin computes, and keep their promises for any input."""

import itertools
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from auto.slow_experts import SlowExperts
from auto.slow_parts import EXPERTS, READING
from auto.streams import (
    OF_ONE_STEP,
    OF_STREAMS,
    TASKS,
    Experts,
    Stream,
    assert_all_finite,
    assert_close,
    assert_same_bits,
    assert_same_parts,
    classes_only,
    every_loss,
    every_task,
    every_task_and_loss,
    hard_stream,
    learned,
    log_probabilities,
    make_stream,
    new,
    options_of,
    predict,
    predict_steadily,
    told_of,
)
from odca.validation.arrays import as_matrix

# --- What it computes ---


def compare_with_slow_twin(kind: str, with_: tuple[bool, bool], form: Callable[..., Any]) -> None:
    """With weights, with times."""
    stream = make_stream(kind, 250)
    weight, time = (
        values if wanted else None for values, wanted in zip((stream.weight, stream.time), with_, strict=True)
    )
    experts, slow = new(kind), SlowExperts(**options_of(kind))
    told = stream.with_(X=form(stream.X), weight=weight, time=time).into(experts)
    assert_close(told, slow.learn(stream.X, stream.y, weight, time), OF_STREAMS[kind], "what was told")
    assert_close(predict(experts, form(stream.X)), slow.predict(stream.X), OF_STREAMS[kind], "what is told")
    steady = log_probabilities(slow.predict_steadily(stream.X))
    assert_close(
        predict_steadily(experts, form(stream.X)), steady, OF_STREAMS[kind], "what is told while no labels come in"
    )
    assert_same_parts(experts, slow, OF_STREAMS[kind])


@every_task
@pytest.mark.parametrize("with_", [*itertools.product([False, True], repeat=2)], ids=str)
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_the_core_is_the_slow_twin(kind: str, with_: tuple[bool, bool], form: Callable[..., Any]) -> None:
    compare_with_slow_twin(kind, with_, form)


@every_loss
@pytest.mark.parametrize("with_", [(False, False), (True, True)], ids=str)
def test_the_core_is_the_slow_twin_for_every_loss_of_numbers(kind: str, with_: tuple[bool, bool]) -> None:
    compare_with_slow_twin(kind, with_, sp.csr_array)


@every_task_and_loss
def test_every_step_is_that_of_the_slow_twin_whatever_the_weight(kind: str) -> None:
    # Weights of a million make of a millionth a lot, event after event: so each step begins where the core is.
    stream = make_stream(kind, 200, seed=1)
    stream = stream.with_(weight=10.0 ** np.random.default_rng(2).uniform(-6, 6, size=len(stream)))
    experts = new(kind)
    for i in range(len(stream)):
        event = stream[i : i + 1]
        slow = SlowExperts.of_parts(experts.state(), **options_of(kind))
        assert_close(event.into(experts), slow.learn(event.X, event.y, event.weight, event.time), 1e-9, f"event {i}")
        assert_same_parts(experts, slow, OF_ONE_STEP[kind])


# --- Promises ---


@every_task_and_loss
@pytest.mark.parametrize("seed", range(3))
def test_any_split_into_calls_gives_the_same_bits(kind: str, seed: int) -> None:
    stream, rng = make_stream(kind, 600, seed=seed), np.random.default_rng(seed)
    whole, parts = new(kind), new(kind)
    told = stream.into(whole)
    cuts = [0, 0, 1, 2, *sorted(rng.integers(3, 600, size=10)), 600]
    in_parts = np.concatenate([stream[a:b].into(parts) for a, b in itertools.pairwise(cuts)])
    assert told.tobytes() == in_parts.tobytes()
    assert_same_bits(whole, parts)


@every_task_and_loss
def test_learning_tells_what_predicting_would_have_told(kind: str) -> None:
    stream, experts = make_stream(kind), new(kind)
    for i in range(len(stream)):
        before = predict(experts, stream.X[i : i + 1])
        assert before.tobytes() == stream[i : i + 1].into(experts).tobytes()


@every_task_and_loss
def test_predicting_changes_nothing(kind: str) -> None:
    stream = make_stream(kind)
    experts, other = learned(kind, stream), learned(kind, stream)
    wider = np.random.default_rng(3).normal(size=(50, 30))  # with features that were never seen
    first = predict(experts, wider)
    assert first.tobytes() == predict(experts, wider).tobytes()
    assert_same_bits(experts, other)
    assert experts.features == stream.X.shape[1]


@every_task_and_loss
def test_what_was_asked_before_an_event_is_learned_changes_no_bit(kind: str) -> None:
    """An event that was just asked about is not evaluated again, unless it or the model has changed since."""
    stream, rng = make_stream(kind), np.random.default_rng(5)
    columns = stream.X.shape[1]
    silent, asked = new(kind), new(kind)
    for i in range(len(stream)):
        event = stream[i : i + 1]
        nearly = event.X * np.where(np.arange(columns) == i % columns, 2.0, 1.0)
        for X in [event.X, nearly, event.X[:, : i % columns], stream.X[max(i - 5, 0) : i]]:
            if rng.random() < 0.4:
                predict(asked, X)
            if rng.random() < 0.1:
                predict_steadily(asked, X)
            if rng.random() < 0.1:
                asked.restore(asked.state())
        if rng.random() < 0.4:
            predict(asked, event.X)
        assert event.into(silent).tobytes() == event.into(asked).tobytes()
    assert_same_bits(silent, asked)


@every_task_and_loss
@pytest.mark.parametrize("middle", [0, 1, 17, 250])
def test_saving_and_restoring_in_the_middle_changes_no_bit(kind: str, middle: int) -> None:
    stream = make_stream(kind)
    straight, restored = new(kind), new(kind)
    told = stream.into(straight)
    restored.restore(learned(kind, stream[:middle]).state())
    assert stream[middle:].into(restored).tobytes() == told[middle:].tobytes()
    assert_same_bits(straight, restored)


@every_task_and_loss
def test_features_may_appear_later(kind: str) -> None:
    stream = make_stream(kind)
    at_once = stream.X.copy()
    at_once[:100, 3:] = 0.0
    at_once[100:200, 5:] = 0.0
    wide, growing = new(kind), new(kind)
    told = stream.with_(X=at_once).into(wide)
    later = [
        stream[a:b].with_(X=np.ascontiguousarray(at_once[a:b, :width])).into(growing)
        for a, b, width in ((0, 100, 3), (100, 200, 5), (200, 400, 7))
    ]
    assert np.concatenate(later).tobytes() == told.tobytes()
    assert_same_bits(wide, growing)


@every_task_and_loss
def test_dense_and_sparse_rows_give_the_same_bits(kind: str) -> None:
    stream = make_stream(kind)
    dense, sparse, fortran = new(kind), new(kind), new(kind)
    told = stream.into(dense)
    assert stream.with_(X=sp.csr_array(stream.X)).into(sparse).tobytes() == told.tobytes()
    assert stream.with_(X=np.asfortranarray(stream.X)).into(fortran).tobytes() == told.tobytes()
    assert_same_bits(dense, sparse)
    assert_same_bits(dense, fortran)


@every_task_and_loss
def test_the_order_of_the_features_does_not_matter(kind: str) -> None:
    stream = make_stream(kind, 2000, d=20)
    order = np.random.default_rng(4).permutation(20)
    assert_close(told_of(kind, stream.with_(X=stream.X[:, order])), told_of(kind, stream), 1e-9, "permuted")


@every_task_and_loss
def test_the_units_of_the_features_do_not_matter(kind: str) -> None:
    stream = make_stream(kind, 2000, d=20)
    units = 10.0 ** np.random.default_rng(5).uniform(-6, 6, size=20)
    assert_close(told_of(kind, stream.with_(X=stream.X * units)), told_of(kind, stream), 1e-8, "in other units")


@pytest.mark.parametrize("unit", [1e-6, 1e6, -1.0])
def test_the_unit_of_the_targets_does_not_matter(unit: float) -> None:
    stream = make_stream("numbers", 2000)
    in_unit = told_of("numbers", stream.with_(y=stream.y * unit)) / unit
    assert_close(in_unit, told_of("numbers", stream), 1e-8, "in another unit")


@every_task
def test_the_unit_of_time_does_not_matter(kind: str) -> None:
    stream = make_stream(kind, 1000)
    assert stream.time is not None
    told = told_of(kind, stream)
    assert told_of(kind, stream.with_(time=1024.0 * stream.time)).tobytes() == told.tobytes()
    assert_close(told_of(kind, stream.with_(time=86_400.0 * stream.time + 1e6)), told, 1e-5, "in seconds")


@every_task_and_loss
def test_evenly_spaced_times_change_nothing(kind: str) -> None:
    stream = make_stream(kind).with_(time=None)
    stream = stream.with_(
        weight=np.maximum(stream.weight, 0.3)
    )  # an event of weight 0 is none, and time passes meanwhile
    timed = stream.with_(time=np.arange(400.0) * 0.25 - 3.0)
    assert told_of(kind, timed).tobytes() == told_of(kind, stream).tobytes()


@every_task_and_loss
def test_nothing_is_learned_from_an_event_of_weight_zero(kind: str) -> None:
    stream = make_stream(kind).with_(time=None)
    assert stream.weight is not None
    kept = np.flatnonzero(stream.weight > 0.0)
    assert 0 < len(kept) < len(stream)
    alone = Stream(stream.X[kept], stream.y[kept], stream.weight[kept])
    assert told_of(kind, alone).tobytes() == told_of(kind, stream)[kept].tobytes()


@every_task_and_loss
def test_weights_lie_on_the_simplex_at_all_times(kind: str) -> None:
    stream, experts = hard_stream(kind, 1500, seed=6), new(kind)
    for i in range(len(stream)):
        stream[i : i + 1].into(experts)
        state = experts.state()
        for weights in (state["bayes"], state["simplex"], state["top"], experts.weights()[: len(state["bayes"])]):
            assert weights.min() > 0.0
            assert abs(weights.sum() - 1.0) < 1e-12


@every_task_and_loss
def test_the_covariance_stays_symmetric_and_positive(kind: str) -> None:
    stream, experts = hard_stream(kind, 20_000, seed=7), new(kind)
    for start in range(0, len(stream), 250):
        assert_all_finite(experts, stream[start : start + 250].into(experts))
        covariance = experts.state()["covariance"].reshape(len(EXPERTS), len(EXPERTS))
        assert np.array_equal(covariance, covariance.T)
        assert np.linalg.eigvalsh(covariance)[0] > 0.0


@every_task
def test_the_history_holds_the_losses_and_weights_of_the_whole_stream(kind: str) -> None:
    stream, experts = make_stream(kind, 10_000).with_(weight=None), new(kind)
    told = stream.into(experts)
    history = experts.history()
    assert 100 < len(history) < 256
    np.testing.assert_array_equal(np.diff(history[:, 0]), history[0, 0])
    np.testing.assert_allclose(history[:, 3:].sum(axis=1), 1.0, rtol=1e-12)
    if kind == "numbers":
        losses = (stream.y - told[:, 0]) ** 2
    elif kind == "two classes":
        losses = np.logaddexp(0.0, np.where(stream.y == 1.0, -told[:, 0], told[:, 0]))
    else:
        losses = -told[np.arange(len(told)), stream.y.astype(int)]
    until = int(history[-1, 0])
    np.testing.assert_allclose(history[:, 2].mean(), losses[:until].mean(), rtol=1e-9)


@classes_only
def test_probabilities_sum_to_one(kind: str) -> None:
    told = told_of(kind, make_stream(kind))
    if kind == "several classes":
        np.testing.assert_allclose(np.exp(told).sum(axis=1), 1.0, rtol=1e-12)
    assert told.shape == (400, 1 if kind == "two classes" else 4)


# --- What is refused ---


def spoilt(values: np.ndarray, at: Any, value: float) -> np.ndarray:
    out = values.astype(float)
    out[at] = value
    return out


@every_task_and_loss
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1.1e100, -1e300])
def test_values_that_are_not_finite_are_refused_with_their_row(kind: str, value: float) -> None:
    stream = make_stream(kind)
    experts, before = learned(kind, stream), learned(kind, stream)
    X = spoilt(stream.X, (7, 0), value)
    for form in (np.asarray, sp.csr_array):
        with pytest.raises(ValueError, match="row 7 of X must hold numbers"):
            stream.with_(X=form(X)).into(experts)
        with pytest.raises(ValueError, match="row 7 of X must hold numbers"):
            predict(experts, form(X))
        wider = np.pad(X, ((0, 0), (0, 5)))  # nor do features appear
        with pytest.raises(ValueError, match="row 7 of X"):
            stream.with_(X=form(wider)).into(experts)
    assert_same_bits(experts, before)


@every_task_and_loss
def test_invalid_labels_weights_and_times_are_refused_with_their_row(kind: str) -> None:
    stream = make_stream(kind)
    assert stream.weight is not None
    assert stream.time is not None
    experts, before = learned(kind, stream), learned(kind, stream)
    no_labels = {
        "two classes": [-1.0, 3.0, 0.5],
        "several classes": [-1.0, 5.0, 0.5],
        "counts": [-1.0, -1e-300, 1.1e100],
    }.get(kind, [1.1e100, -1e200])
    for y in [*no_labels, np.nan, np.inf]:
        with pytest.raises(ValueError, match="row 11 of y"):
            stream.with_(y=spoilt(stream.y, 11, y)).into(experts)
    for weight in (-1e-9, 1.1e6, np.nan, np.inf):
        with pytest.raises(ValueError, match="row 12 of sample_weight"):
            stream.with_(weight=spoilt(stream.weight, 12, weight)).into(experts)
    for time in (np.nan, np.inf):
        with pytest.raises(ValueError, match="row 13 of time"):
            stream.with_(time=spoilt(stream.time, 13, time)).into(experts)
    for short in ({"y": stream.y[1:]}, {"weight": stream.weight[1:]}, {"time": stream.time[1:]}):
        with pytest.raises(ValueError, match="as long as X"):
            stream.with_(**short).into(experts)
    assert_same_bits(experts, before)


def test_an_unknown_task_or_a_single_class_is_refused() -> None:
    with pytest.raises(ValueError, match="task must be"):
        Experts(task="ranks", classes=2)
    for classes in (1, 0, -3):
        with pytest.raises(ValueError, match="at least two classes"):
            Experts(task="classes", classes=classes)


@every_task_and_loss
def test_a_damaged_state_is_refused(kind: str) -> None:
    stream = make_stream(kind)
    experts, before = learned(kind, stream), learned(kind, stream)
    state = experts.state()
    damaged: list[dict[str, np.ndarray]] = [{**state, "more": np.zeros(1)}]
    for name, values in state.items():
        damaged.append({key: value for key, value in state.items() if key != name})
        damaged.append({**state, name: np.append(values, 1.0)})
        if len(values) > 0:
            damaged.append({**state, name: values[1:]})
            damaged.append({**state, name: spoilt(values, 0, np.nan)})
            damaged.append({**state, name: spoilt(values, -1, np.inf)})
    for name in ("bayes", "simplex", "top"):
        damaged.append({**state, name: 1.1 * state[name]})
        damaged.append({**state, name: spoilt(state[name], slice(0, 2), 0.0)})
        damaged.append({**state, name: state[name] + np.r_[-1.0, 1.0, np.zeros(len(state[name]) - 2)]})
    damaged.extend({**state, name: np.array([value])} for name in ("count", "timed") for value in (-1.0, 0.5, 1e300))
    damaged.append({**state, "history_every": np.array([3.0])})
    for each in damaged:
        with pytest.raises(
            ValueError,
            match=r"has no array|the wrong length|must be of|do not fit together|sum to one|version|not named",
        ):
            experts.restore(each)
    assert_same_bits(experts, before)


@every_task
def test_the_state_of_another_task_is_refused(kind: str) -> None:
    state = learned(kind, make_stream(kind)).state()
    for other in set(TASKS) - {kind}:
        with pytest.raises(ValueError, match=r"do not fit together|the wrong length"):
            new(other).restore(state)
    if kind == "several classes":
        with pytest.raises(ValueError, match=r"do not fit together|the wrong length"):
            Experts(task="classes", classes=5).restore(state)


# --- Classes that come later ---


def wider(experts: Experts, kind: str, classes: int) -> Experts:
    out = new(kind)
    out.restore(experts.state())
    out.declare(classes)
    return out


def expert_odds(experts: Experts, classes: int, row: np.ndarray) -> np.ndarray:
    """The log odds of the second class against the first by each expert that reads rows."""
    slow = SlowExperts.of_parts(experts.state(), task="classes", classes=classes)
    slow.evaluate(row)
    margins = slow.margin[:, :READING]
    return margins[0] if classes == 2 else margins[1] - margins[0]


@pytest.mark.parametrize("classes", [3, 5])
def test_experts_predict_two_old_classes_as_before_there_were_more(classes: int) -> None:
    stream = make_stream("two classes", 1000)
    experts = learned("two classes", stream)
    more = wider(experts, "two classes", classes)
    assert more.classes == classes
    for row in stream.X[:50]:
        np.testing.assert_allclose(
            expert_odds(more, classes, row), expert_odds(experts, 2, row), rtol=1e-12, atol=1e-12
        )


def test_the_mixture_predicts_two_old_classes_nearly_as_before() -> None:
    # Not the same: the smoothing of means knows how many classes there are, and a mixture of three is none of two.
    stream = make_stream("two classes", 1000)
    experts = learned("two classes", stream)
    odds, logs = predict(experts, stream.X)[:, 0], predict(wider(experts, "two classes", 3), stream.X)
    before, after = 1.0 / (1.0 + np.exp(-odds)), 1.0 / (1.0 + np.exp(logs[:, 0] - logs[:, 1]))
    assert np.abs(after - before).max() < 0.1
    assert np.abs(after - before).mean() < 0.01


@pytest.mark.parametrize(("kind", "classes"), [("two classes", 3), ("several classes", 6)])
def test_experts_with_a_new_class_learn_as_the_slow_twin(kind: str, classes: int) -> None:
    experts = learned(kind, make_stream(kind))
    slow = SlowExperts.of_parts(experts.state(), **TASKS[kind])
    experts.declare(classes)
    slow.meet(classes)
    assert_same_parts(experts, slow, 1e-12)
    rng, stream = np.random.default_rng(8), make_stream("several classes", 100, seed=9)
    stream = stream.with_(y=rng.integers(0, classes, size=100).astype(float))
    told = slow.learn(stream.X, stream.y, stream.weight, stream.time)
    assert_close(stream.into(experts), told, OF_STREAMS[kind], "what was told")
    assert_same_parts(experts, slow, OF_STREAMS[kind])


def test_a_class_is_added_at_its_first_event_however_the_stream_is_split() -> None:
    stream = make_stream("several classes", 600)
    order = {label: float(code) for code, label in enumerate(dict.fromkeys(stream.y.tolist()))}
    stream = stream.with_(y=np.array([order[label] for label in stream.y.tolist()]))
    whole = new("two classes")
    told = stream.into(whole)
    assert told.shape == (600, whole.classes)
    for sizes in ([1] * 600, [7] * 85 + [5], [599, 1]):
        parts, at = new("two classes"), 0
        for size in sizes:
            own = stream[at : at + size].into(parts)
            logs = np.column_stack([-np.logaddexp(0.0, own), -np.logaddexp(0.0, -own)]) if own.shape[1] == 1 else own
            np.testing.assert_allclose(told[at : at + size, : logs.shape[1]], logs, rtol=1e-12, atol=1e-12)
            assert np.all(told[at : at + size, logs.shape[1] :] < -34.0)  # nobody knew of these
            at += size
        assert_same_bits(parts, whole)
    late = np.flatnonzero(stream.y == 2.0)[0]
    slow = SlowExperts(task="classes", classes=2)
    before = slow.learn(
        *(None if part is None else part[:late] for part in (stream.X, stream.y, stream.weight, stream.time))
    )
    slow.meet(3)
    end = np.flatnonzero(stream.y == 3.0)[0]
    after = slow.learn(
        *(None if part is None else part[late:end] for part in (stream.X, stream.y, stream.weight, stream.time))
    )
    np.testing.assert_allclose(told[:late, 1] - told[:late, 0], before[:, 0], rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(told[late:end, :3], after, rtol=1e-4, atol=1e-4)


def test_a_class_that_appears_late_is_learned_as_well_as_one_declared_at_the_start() -> None:
    # Texts of 30 words: each class has words of its own, and all share the others. Two of six classes come in the second half.
    rng, words, rows = np.random.default_rng(5), 600, 6000
    y = np.where(np.arange(rows) < rows // 2, rng.integers(0, 4, size=rows), rng.integers(0, 6, size=rows))
    own = rng.random((rows, 30)) < 0.15
    columns = np.where(own, 60 * y[:, None] + rng.integers(0, 60, size=(rows, 30)), rng.integers(0, words, (rows, 30)))
    X = np.zeros((rows, words))
    X[np.arange(rows)[:, None], columns] = 1.0
    X = sp.csr_array(X)
    order = {label: code for code, label in enumerate(dict.fromkeys(y.tolist()))}
    y = np.array([order[label] for label in y.tolist()])
    known = np.ones(rows, dtype=bool)
    known[np.unique(y, return_index=True)[1]] = False
    loss = {}
    for classes in (2, 6):
        experts = Experts(task="classes", classes=classes)
        told = experts.learn(as_matrix(X)[0], y.astype(float), None, None)
        loss[classes] = -told[np.arange(rows), y][known].mean()
    assert loss[2] < 1.01 * loss[6]


def test_classes_may_be_added_one_after_another() -> None:
    for kind in ("two classes", "several classes"):
        stream = make_stream(kind)
        experts, before = learned(kind, stream), learned(kind, stream)
        skipped = stream.with_(y=np.where(np.arange(len(stream)) == 3, experts.classes + 1.0, stream.y))
        with pytest.raises(ValueError, match="row 3 of y is"):
            skipped.into(experts)
        with pytest.raises(ValueError, match="at most a million"):
            experts.declare(2_000_000)
        assert_same_bits(experts, before)
        experts.declare(1)
        assert experts.classes == before.classes


# --- Whatever comes ---


ODD: dict[str, Callable[[Stream, np.random.Generator], Stream]] = {
    "a constant feature": lambda s, _: s.with_(X=np.column_stack([s.X, np.full(len(s), 0.1)])),
    "nothing but constant features": lambda s, _: s.with_(X=np.full(s.X.shape, 0.1)),
    "no features": lambda s, _: s.with_(X=np.zeros((len(s), 0))),
    "nothing but zeros": lambda s, _: s.with_(X=np.zeros(s.X.shape)),
    "one label only": lambda s, _: s.with_(y=np.full(len(s), s.y[0])),
    "one label only, after another": lambda s, _: s.with_(y=np.r_[s.y.max(), np.full(len(s) - 1, s.y.min())]),
    "one event again and again": lambda s, _: s.with_(X=np.tile(s.X[0], (len(s), 1)), y=np.full(len(s), s.y[0])),
    "outliers": lambda s, rng: s.with_(X=np.where(rng.random(s.X.shape) < 0.01, 1e50, s.X)),
    "the largest numbers": lambda s, rng: s.with_(X=np.where(rng.random(s.X.shape) < 0.5, 1e100, -1e100)),
    "tiny numbers": lambda s, _: s.with_(X=1e-300 * s.X),
    "numbers whose squares are subnormal": lambda s, _: s.with_(X=1e-160 * s.X),
    "numbers of all sizes": lambda s, rng: s.with_(X=s.X * 10.0 ** rng.uniform(-300, 99, size=s.X.shape)),
    "weights of all sizes": lambda s, rng: s.with_(weight=10.0 ** rng.uniform(-300, 6, size=len(s))),
    "the largest weights": lambda s, _: s.with_(weight=np.full(len(s), 1e6)),
    "tiny weights": lambda s, _: s.with_(weight=np.full(len(s), 1e-300)),
    "weights of zero alone": lambda s, _: s.with_(weight=np.zeros(len(s))),
    "one time": lambda s, _: s.with_(time=np.full(len(s), 5.0)),
    "one time, large weights": lambda s, _: s.with_(time=np.full(len(s), 5.0), weight=np.full(len(s), 1e3)),
    "times all over": lambda s, rng: s.with_(
        time=rng.normal(size=len(s)) * 10.0 ** rng.uniform(-300, 307, size=len(s))
    ),
    "times that run backwards": lambda s, _: s.with_(time=-np.arange(float(len(s)))),
    "a long pause": lambda s, _: s.with_(time=np.arange(float(len(s))) + 1e12 * (np.arange(len(s)) > 500)),
}


@every_task
@pytest.mark.parametrize("what", ODD)
def test_all_numbers_stay_finite_whatever_the_input(kind: str, what: str) -> None:
    rng = np.random.default_rng(10)
    plain = make_stream(kind, 1000, seed=11)
    for stream in (plain, plain.with_(weight=None, time=None)):
        odd = ODD[what](stream, rng)
        experts = new(kind)
        assert_all_finite(experts, odd.into(experts))
        assert np.isfinite(predict(experts, 1e50 * np.ones((1, 40)))).all()
        new(kind).restore(experts.state())  # and what was learned can be saved


@pytest.mark.parametrize("unit", [1e50, 1e99, 1e-150, 1e-156, 1e-160, 1e-300])
def test_numbers_of_any_size_can_be_learned(unit: float) -> None:
    stream = make_stream("numbers", 1000)
    experts = new("numbers")
    assert_all_finite(experts, stream.with_(y=stream.y / 1e3 * unit).into(experts))
    outliers = np.where(np.random.default_rng(12).random(1000) < 0.01, stream.y / 1e3 * unit, stream.y)
    experts = new("numbers")
    assert_all_finite(experts, stream.with_(y=outliers).into(experts))


@pytest.mark.parametrize("weight", [0.1, 0.3, 0.7, 1.544e-9])
def test_rounding_never_makes_a_weighted_variance_negative(weight: float) -> None:
    rng = np.random.default_rng(13)
    for y in rng.normal(size=200):
        experts = new("numbers")
        stream = Stream(np.ones((3, 1)), np.array([y, y, y + 1e-9]), np.array([weight, weight, 1e-40]))
        assert_all_finite(experts, stream.into(experts))
        assert experts.state()["label_square"][0] >= 0.0


@every_task
@pytest.mark.parametrize("weight", [None, 0.3], ids=["", "weighted"])
def test_a_long_constant_stream_is_learned(kind: str, weight: float | None) -> None:
    n = 100_000
    y = np.full(n, 0.1 if kind == "numbers" else 1.0)
    stream = Stream(np.broadcast_to([1.0, 0.3], (n, 2)), y, None if weight is None else np.full(n, weight))
    experts = new(kind)
    told = stream.into(experts)
    assert_all_finite(experts, told)
    if kind == "numbers":
        np.testing.assert_allclose(told[1:], 0.1, rtol=1e-12)
    else:
        assert told[-1, -1 if kind == "two classes" else 1] > (5.0 if kind == "two classes" else -1e-3)


# --- Threads ---


@every_task
def test_every_prediction_sees_the_model_between_two_events(kind: str) -> None:
    stream = make_stream(kind, 20_000, seed=14)
    probe = np.random.default_rng(15).normal(size=(1, 7))
    alone, experts = new(kind), new(kind)
    possible = {predict(alone, probe).tobytes()}
    for i in range(len(stream)):
        stream[i : i + 1].into(alone)
        possible.add(predict(alone, probe).tobytes())
    seen, counts = set(), set()
    with ThreadPoolExecutor(1) as pool:
        learning = pool.submit(stream.into, experts)
        while not learning.done():
            seen.add(predict(experts, probe).tobytes())
            counts.add(experts.count)
        learning.result()
    assert seen <= possible, "a prediction saw half an event"
    assert counts - {0, len(stream)}, "the learning was over before a prediction came in between"
    assert_same_bits(experts, alone)


@every_task
def test_several_threads_may_learn_at_once_and_every_call_is_whole(kind: str) -> None:
    stream, experts = make_stream(kind, 20_000, seed=16).with_(time=None), new(kind)
    halves = [stream[:10_000], stream[10_000:]]
    with ThreadPoolExecutor(2) as pool:
        for call in [pool.submit(half.into, experts) for half in halves]:
            call.result()
    tables = []
    for order in (halves, halves[::-1]):
        alone = new(kind)
        for half in order:
            half.into(alone)
        tables.append(alone.state()["table"].tobytes())
    assert experts.state()["table"].tobytes() in tables


def test_restoring_and_adding_classes_wait_for_a_running_learn() -> None:
    stream = make_stream("two classes", 30_000, d=20, seed=17)
    empty = new("two classes").state()
    for disturb in (lambda experts: experts.restore(empty), lambda experts: experts.declare(22)):
        experts, straight = new("two classes"), new("two classes")
        with ThreadPoolExecutor(2) as pool:
            learning = pool.submit(stream.into, experts)
            while experts.count == 0:
                assert not learning.done()
            disturbing, predicting = pool.submit(disturb, experts), predict(experts, stream.X)
            disturbing.result()
            assert learning.result().tobytes() == stream.into(straight).tobytes()
        assert predicting.shape in {(len(stream), 1), (len(stream), 22)}
        disturb(straight)
        assert_same_bits(experts, straight)
