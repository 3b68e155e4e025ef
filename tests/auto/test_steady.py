"""The steady answer is one linear model, keeps the promises of the live one, and holds when labels stop."""

import itertools
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from auto.slow_experts import SlowExperts
from auto.slow_parts import ROW_EXPERTS
from auto.slow_steady import NAMES
from auto.streams import (
    OF_ONE_STEP,
    TASKS,
    Experts,
    Stream,
    assert_close,
    assert_same_bits,
    assert_same_parts,
    classes_only,
    every_task,
    hard_stream,
    learned,
    log_probabilities,
    loss,
    make_stream,
    new,
    predict_steadily,
    stationary_stream,
    sticky_stream,
)
from odca import AutoLearner
from odca.products import from_arrays, margins_of
from odca.validation.arrays import as_matrix

PARTS = ("averages", "constant_average", "steady_sum", "steady_mass", "steady_residual", "steady_residual_mass")
PARTS += ("frozen", "frozen_constant", "frozen_base", "frozen_at", "steady_product_sum", "frozen_pairs", "frozen_forms")
PARTS += ("frozen_products", "frozen_product_constant")


def steady_of(kind: str, stream: Stream) -> np.ndarray:
    """For the rows of a stream, after it was learned."""
    return predict_steadily(learned(kind, stream), stream.X)


def by_linear_model(experts: Experts, X: np.ndarray) -> np.ndarray:
    weights, intercept, _, *products = experts.linear()
    z = X[:, : weights.shape[1]] @ weights.T + intercept
    return log_probabilities(z + margins_of(from_arrays(*products), X, len(intercept)))


# --- One linear model ---


def changing_stream(kind: str, n: int = 600) -> Stream:
    """Features that become dense, become sparse, and come late."""
    stream = make_stream(kind, n)
    rng, X = np.random.default_rng(20), stream.X.copy()
    X[:, 1] = rng.normal(size=n) + 3.0
    X[n // 6 :, 1] *= rng.random(n - n // 6) < 0.02
    X[:, 2] = rng.normal(size=n) - 2.0
    X[: n // 4, 2] *= rng.random(n // 4) < 0.1
    X[: n // 2, 4] = 0.0
    return stream.with_(X=X)


@every_task
def test_the_steady_answer_is_the_linear_model_of_its_weights_and_intercept(kind: str) -> None:
    stream, experts = changing_stream(kind), new(kind)
    probe = np.random.default_rng(21).normal(size=(5, 30))  # with features that were never seen
    probe[1:3, :7] = stream.X[:2]
    dense = []
    for i in range(len(stream)):
        stream[i : i + 1].into(experts)
        assert_close(predict_steadily(experts, probe), by_linear_model(experts, probe), 1e-9, f"after event {i}")
        dense.append(experts.state()["table"].reshape(experts.features, -1)[:, 6])
    changes = np.diff(dense, axis=0)
    assert (changes.max(axis=0)[[1, 2]] == 1.0).all(), "no feature became dense"
    assert changes.min(axis=0)[1] == -1.0, "no feature became sparse"


def test_coef_and_intercept_have_the_shapes_that_numpy_needs() -> None:
    for kind, options in TASKS.items():
        stream = make_stream(kind)
        learner = AutoLearner(options["task"], classes=options["classes"])
        assert np.shape(learner.coef)[-1] == 0
        learner.learn(stream.X, stream.y)
        answers = learner.predict(stream.X, answer="steady")
        of_products = margins_of(learner.products, stream.X, 4 if kind == "several classes" else 1)
        margins = stream.X @ learner.coef.T + learner.intercept + learner.shaped(of_products)
        assert np.abs(of_products).max() > 0.0
        assert margins.shape == answers.shape
        if kind == "several classes":
            margins, answers = log_probabilities(margins), log_probabilities(answers)
        np.testing.assert_allclose(margins, answers, rtol=0.0, atol=1e-9)


def test_an_answer_that_does_not_exist_is_refused() -> None:
    with pytest.raises(ValueError, match="answer must be 'live' or 'steady'; got 'frozen'"):
        AutoLearner("numbers").predict(np.ones((1, 1)), answer="frozen")  # type: ignore[arg-type]


@every_task
def test_before_there_are_events_all_members_weigh_the_same_and_say_nothing(kind: str) -> None:
    experts = new(kind)
    of_members, of_products = [1.0 / len(NAMES)] * (len(NAMES) - 1), [0.0] * (len(NAMES) - 1)
    assert experts.steady_weights().tolist() == [*of_members, *of_products, 1.0 / len(NAMES)]
    wanted = np.log(np.full((2, 4), 0.25)) if kind == "several classes" else np.zeros((2, 1))
    np.testing.assert_allclose(predict_steadily(experts, np.ones((2, 3))), wanted, atol=1e-15)


# --- How its weights are learned ---


@every_task
def test_later_on_members_are_judged_by_every_second_event_as_by_the_slow_twin(kind: str) -> None:
    stream = make_stream(kind, 16_400)
    stream = stream.with_(weight=np.maximum(stream.weight, 0.3))
    for start, end in ((8180, 8204), (16_372, 16_396)):  # members are frozen at 8,192 and 16,384 events
        experts = learned(kind, stream[:start])
        slow, part = SlowExperts.of_parts(experts.state(), **TASKS[kind]), stream[start:end]
        part.into(experts)
        slow.learn(part.X, part.y, part.weight, part.time)
        assert_same_parts(experts, slow, 20.0 * OF_ONE_STEP[kind])
        assert slow.steady.frozen_at == end - 12


@every_task
def test_members_are_frozen_when_the_number_of_events_has_doubled(kind: str) -> None:
    stream, experts, frozen_at = make_stream(kind, 140).with_(weight=None), new(kind), []
    for i in range(len(stream)):
        before = experts.state()["frozen"]
        stream[i : i + 1].into(experts)
        if experts.state()["frozen"].tobytes() != before.tobytes():
            frozen_at.append(experts.state()["frozen_at"][0])
    assert frozen_at == [16.0, 32.0, 64.0, 128.0]


def test_after_a_sudden_change_members_are_frozen_sooner_and_the_steady_answer_recovers() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(8000, 5))
    side = np.where(np.arange(8000) < 3000, 1.0, -1.0)
    y = (side * (X @ [1.0, -2.0, 1.0, 0.5, 0.0]) + 0.3 * rng.normal(size=8000) > 0.0).astype(float)
    learner = AutoLearner("classes", products=False)
    learner.learn(X[:3600], y[:3600])
    assert list(learner.report().steady.values())[-1] > 0.9  # nothing of what was frozen at 2,048 events is still true
    learner.learn(X[3600:6000], y[3600:6000])
    assert learner.get_state()["frozen_at"] == 4608.0  # after 2,048 at 3,072, and once more half as many later
    odds = learner.predict(X[6000:], answer="steady")
    assert np.mean((odds > 0.0) == y[6000:]) > 0.9


@every_task
def test_steady_weights_lie_on_the_simplex_at_all_times(kind: str) -> None:
    stream, experts = hard_stream(kind, 600, seed=6), new(kind)
    for i in range(len(stream)):
        stream[i : i + 1].into(experts)
        weights = experts.steady_weights()
        assert weights.min() >= 0.0
        assert abs(weights.sum() - 1.0) < 1e-12


# --- Promises ---


@every_task
@pytest.mark.parametrize("seed", range(2))
def test_any_split_and_saving_in_the_middle_give_the_same_steady_answers(kind: str, seed: int) -> None:
    stream, rng = make_stream(kind, 600, seed=seed), np.random.default_rng(seed)
    whole, parts = new(kind), new(kind)
    stream.into(whole)
    for a, b in itertools.pairwise([0, 0, 1, 2, *sorted(rng.integers(3, 600, size=10)), 600]):
        stream[a:b].into(parts)
        again = new(kind)
        again.restore(parts.state())
        assert predict_steadily(again, stream.X).tobytes() == predict_steadily(parts, stream.X).tobytes()
        parts = again
    assert predict_steadily(whole, stream.X).tobytes() == predict_steadily(parts, stream.X).tobytes()
    assert all(np.array_equal(mine, its) for mine, its in zip(whole.linear(), parts.linear(), strict=True))
    assert_same_bits(whole, parts)


@every_task
def test_dense_and_sparse_rows_have_the_same_steady_answers(kind: str) -> None:
    stream = changing_stream(kind)
    dense, sparse = learned(kind, stream), learned(kind, stream.with_(X=sp.csr_array(stream.X)))
    with_zeros = sp.csr_array(np.where(stream.X == 0.0, 9.0, stream.X))
    with_zeros.data[with_zeros.data == 9.0] = 0.0
    wanted = predict_steadily(dense, stream.X)
    for experts in (dense, sparse):
        for X in (stream.X, sp.csr_array(stream.X), with_zeros, np.asfortranarray(stream.X)):
            np.testing.assert_allclose(predict_steadily(experts, X), wanted, rtol=1e-12, atol=1e-12)


@every_task
def test_a_column_in_thousandths_changes_the_steady_answer_by_rounding_only(kind: str) -> None:
    stream = changing_stream(kind)
    for column in range(stream.X.shape[1]):
        scaled = stream.X.copy()
        scaled[:, column] *= 1000.0
        assert_close(steady_of(kind, stream.with_(X=scaled)), steady_of(kind, stream), 1e-9, f"column {column}")


@every_task
def test_the_order_of_the_features_does_not_change_the_steady_answer(kind: str) -> None:
    stream, order = make_stream(kind, 2000, d=20), np.random.default_rng(4).permutation(20)
    assert_close(steady_of(kind, stream.with_(X=stream.X[:, order])), steady_of(kind, stream), 1e-9, "permuted")


@pytest.mark.parametrize("unit", [1e-6, 1e6, -1.0])
def test_the_unit_of_the_targets_does_not_change_the_steady_answer(unit: float) -> None:
    stream = make_stream("numbers", 2000)
    assert_close(
        steady_of("numbers", stream.with_(y=stream.y * unit)) / unit, steady_of("numbers", stream), 1e-8, "unit"
    )


@every_task
def test_asking_for_the_steady_answer_changes_nothing(kind: str) -> None:
    stream = make_stream(kind)
    experts, other = learned(kind, stream), learned(kind, stream)
    wider = np.random.default_rng(3).normal(size=(50, 30))
    first = predict_steadily(experts, wider)
    experts.linear()
    assert first.tobytes() == predict_steadily(experts, wider).tobytes()
    assert_same_bits(experts, other)
    assert experts.features == stream.X.shape[1]


@every_task
def test_events_of_weight_zero_do_not_change_the_steady_answer(kind: str) -> None:
    stream = make_stream(kind, 700).with_(time=None)
    assert stream.weight is not None
    kept = np.flatnonzero(stream.weight > 0.0)
    alone = learned(kind, Stream(stream.X[kept], stream.y[kept], stream.weight[kept]))
    experts = learned(kind, stream)
    for name in PARTS:
        assert experts.state()[name].tobytes() == alone.state()[name].tobytes(), name
    assert predict_steadily(experts, stream.X).tobytes() == predict_steadily(alone, stream.X).tobytes()


@every_task
def test_the_unit_of_weights_does_not_change_the_steady_answer(kind: str) -> None:
    stream = make_stream(kind)
    assert stream.weight is not None
    for factor in (1.0 / 1024.0, 8.0):
        assert (
            steady_of(kind, stream.with_(weight=factor * stream.weight)).tobytes() == steady_of(kind, stream).tobytes()
        )


@every_task
def test_evenly_spaced_times_and_their_unit_do_not_change_the_steady_answer(kind: str) -> None:
    stream = make_stream(kind, 1000)
    assert stream.weight is not None
    even = stream.with_(time=None, weight=np.maximum(stream.weight, 0.3))
    assert steady_of(kind, even.with_(time=np.arange(1000.0) * 0.25 - 3.0)).tobytes() == steady_of(kind, even).tobytes()
    assert stream.time is not None
    assert steady_of(kind, stream.with_(time=1024.0 * stream.time)).tobytes() == steady_of(kind, stream).tobytes()


@every_task
@pytest.mark.parametrize("value", [np.nan, np.inf, 1.1e100])
def test_rows_that_are_no_numbers_are_refused_and_leave_no_trace(kind: str, value: float) -> None:
    stream = make_stream(kind)
    experts, before = learned(kind, stream), learned(kind, stream)
    X = stream.X.copy()
    X[7, 0] = value
    for form in (np.asarray, sp.csr_array):
        with pytest.raises(ValueError, match="row 7 of X must hold numbers"):
            predict_steadily(experts, form(X))
    assert_same_bits(experts, before)


@every_task
def test_every_steady_answer_sees_the_model_between_two_events(kind: str) -> None:
    stream, probe = make_stream(kind, 5000, seed=14), np.random.default_rng(15).normal(size=(1, 7))
    alone, experts = new(kind), new(kind)
    possible = {predict_steadily(alone, probe).tobytes()}
    for i in range(len(stream)):
        stream[i : i + 1].into(alone)
        possible.add(predict_steadily(alone, probe).tobytes())
    seen = set()
    with ThreadPoolExecutor(1) as pool:
        learning = pool.submit(stream.into, experts)
        while not learning.done():
            seen.add(predict_steadily(experts, probe).tobytes())
        learning.result()
    assert seen <= possible, "an answer saw half an event"


# --- Classes that come later ---


@classes_only
def test_an_event_of_a_class_that_the_frozen_members_do_not_know_is_not_judged(kind: str) -> None:
    stream, experts = make_stream(kind, 100), new(kind)
    stream.into(experts)
    before, classes = experts.state(), experts.classes
    event = stream[:1].with_(y=np.array([float(classes)]), weight=np.ones(1))
    event.into(experts)
    after = experts.state()
    for name in PARTS[2:]:
        assert after[name].tobytes() == before[name].tobytes(), name
    stream[1:40].with_(weight=None).into(experts)  # what they do know they are judged by
    assert experts.state()["steady_sum"].tobytes() != before["steady_sum"].tobytes()
    assert len(experts.state()["frozen_base"]) == len(before["frozen_base"]) == (1 if classes == 2 else classes)


@classes_only
def test_a_class_that_comes_later_is_part_of_the_steady_answer(kind: str) -> None:
    stream, experts, classes = stationary_stream(kind, 1000, seed=23), new(kind), TASKS[kind]["classes"]
    late = (np.arange(1000) >= 300) & (stream.X[:, 0] > 0.7)
    stream = stream.with_(y=np.where(late, float(classes), stream.y))
    stream[:300].into(experts)
    stream[300:].into(experts)
    answers = predict_steadily(experts, stream.X)
    assert answers.shape == (1000, classes + 1)
    assert_close(answers, by_linear_model(experts, stream.X), 1e-9, "linear")
    y = stream.y[300:].astype(int)
    rates = np.bincount(y) / len(y)
    assert -answers[300:][np.arange(len(y)), y].mean() < -0.8 * rates @ np.log(rates)
    assert len(experts.state()["frozen_base"]) == classes + 1


# --- Huge and tiny numbers ---


SIZES: dict[str, Callable[[Stream, np.random.Generator], Stream]] = {
    "rows of 1e100": lambda s, _: s.with_(X=1e100 / 50.0 * s.X),
    "rows of 1e-100": lambda s, _: s.with_(X=1e-100 * s.X),
    "one huge number after tiny ones": lambda s, _: s.with_(
        X=np.where((np.arange(len(s)) == 300)[:, None], 1e100, 1e-100 * s.X)
    ),
    "every size": lambda s, rng: s.with_(X=s.X * 10.0 ** rng.uniform(-300, 98, size=s.X.shape)),
    "outliers": lambda s, rng: s.with_(X=np.where(rng.random(s.X.shape) < 0.01, 1e100, s.X)),
    "weights of every size": lambda s, rng: s.with_(weight=10.0 ** rng.uniform(-323, 6, size=len(s))),
    "a weight that is nothing beside the others": lambda s, _: s.with_(
        X=np.where((np.arange(len(s)) < 400)[:, None] & (np.arange(7) == 3), 0.0, s.X),
        weight=np.where(np.arange(len(s)) < 400, 1e6, 5e-324),
    ),
}


@every_task
@pytest.mark.parametrize("what", SIZES)
def test_the_steady_answer_is_a_number_whatever_was_learned(kind: str, what: str) -> None:
    rng = np.random.default_rng(24)
    stream = SIZES[what](make_stream(kind, 1000, seed=25), rng)
    if kind == "numbers":
        stream = stream.with_(y=stream.y * 10.0 ** rng.integers(-90, 90, size=len(stream)))
    experts = new(kind)
    for start in range(0, len(stream), 50):
        stream[start : start + 50].into(experts)
        for X in (stream.X, 1e100 * np.ones((1, 40)), -1e-300 * np.ones((1, 40))):
            assert np.isfinite(experts.predict(as_matrix(X)[0], steady=True)).all()
        assert all(np.isfinite(values).all() for values in experts.linear())
        assert all(np.isfinite(values).all() for values in experts.state().values())
        new(kind).restore(experts.state())


def test_one_outlier_does_not_hide_what_the_members_do_afterwards() -> None:
    stream = stationary_stream("numbers", 25_000, seed=26)
    X = stream.X.copy()
    X[3000, 0] = 1e8
    experts, rest = learned("numbers", stream.with_(X=X)[:15_000]), stream[15_000:]
    live, steady = (loss("numbers", experts.predict(as_matrix(rest.X)[0], steady=s), rest.y) for s in (False, True))
    assert steady <= 1.03 * live


# --- States that cannot be ---


def change(state: dict[str, np.ndarray], name: str, values: Any) -> dict[str, np.ndarray]:
    return {**state, name: np.asarray(values, dtype=float)}


def impossible(state: dict[str, np.ndarray], heads: int) -> dict[str, dict[str, np.ndarray]]:
    n, members = state["weighed"][0], len(NAMES)
    fewer = {**state, "frozen_base": state["frozen_base"][1:]}
    more_heads = {
        name: np.resize(state[name], len(state[name]) // heads * (heads + 1))
        for name in ("frozen", "frozen_constant", "frozen_base")
    }
    return {
        "frozen after more events than there were": change(state, "frozen_at", [2.0 * n]),
        "frozen after half an event": change(state, "frozen_at", [256.5]),
        "frozen never, with a sum": {
            **state,
            **{name: np.zeros(0) for name in ("frozen", "frozen_constant", "frozen_base")},
            **{name: np.zeros(1) for name in ("frozen_at", "steady_mass", "steady_residual", "steady_residual_mass")},
        },
        "no frozen members": {**state, **{name: np.zeros(0) for name in ("frozen", "frozen_constant", "frozen_base")}},
        "more frozen features than features": change(
            state, "frozen", np.append(state["frozen"], np.zeros(heads * members))
        ),
        "half a frozen feature": change(state, "frozen", state["frozen"][:-1]),
        "fewer frozen constants": change(state, "frozen_constant", state["frozen_constant"][1:]),
        "a base rate missing": fewer,
        "more heads than the model has": {**state, **more_heads},
        "a negative mass": change(state, "steady_mass", [-1.0]),
        "more mass than events can have": change(state, "steady_mass", [1e300]),
        "more mass of errors than events can have": change(state, "steady_residual_mass", [1e300]),
        "negative squares": change(state, "steady_residual", [-1.0]),
        "a sum that is no number": change(state, "steady_sum", np.append(state["steady_sum"][1:], np.nan)),
        "averages that are infinite": change(state, "averages", np.append(state["averages"][1:], np.inf)),
        "averages of fewer features": change(state, "averages", state["averages"][: -len(state["averages"]) // 7]),
        "learned from more events than there were": change(state, "weighed", [n + 1000.0]),
        "learned from half an event": change(state, "weighed", [n - 0.5]),
        "learned from more events than can be counted": change(state, "weighed", [1e300]),
    }


IMPOSSIBLE = list(impossible(learned("numbers", make_stream("numbers")).state(), 1))


@every_task
@pytest.mark.parametrize("what", IMPOSSIBLE)
def test_a_state_whose_steady_parts_cannot_be_is_refused(kind: str, what: str) -> None:
    experts = learned(kind, make_stream(kind))
    before, heads = experts.state(), 4 if kind == "several classes" else 1
    with pytest.raises(ValueError, match=r"do not fit together|has the wrong length, or numbers that cannot be"):
        experts.restore(impossible(before, heads)[what])
    assert all(values.tobytes() == before[name].tobytes() for name, values in experts.state().items())


# --- When labels stop ---


def loss_of_experts(kind: str, experts: Experts, stream: Stream) -> list[float]:
    """Of every expert that reads rows, each frozen; the last is the base rate."""
    slow = SlowExperts.of_parts(experts.state(), **TASKS[kind])
    slopes, constant = slow.linear_models([(k, False) for k in range(ROW_EXPERTS)])
    margins = np.einsum("nj,jhm->mnh", stream.X, slopes) + constant.T[:, None, :] + slow.bases()
    return [loss(kind, each, stream.y) for each in margins]


@every_task
@pytest.mark.parametrize("seed", range(3))
def test_once_labels_stop_the_steady_answer_is_as_good_as_the_best_expert_or_the_base_rate(
    kind: str, seed: int
) -> None:
    stream = sticky_stream(kind, 30_000, seed)
    experts, rest = learned(kind, stream[:20_000]), stream[20_000:]
    of_experts = loss_of_experts(kind, experts, rest)
    live, steady = (loss(kind, experts.predict(as_matrix(rest.X)[0], steady=s), rest.y) for s in (False, True))
    assert live > 1.3 * of_experts[-1], "the live answer was to collapse"
    assert steady <= 1.03 * min(of_experts)


@every_task
@pytest.mark.parametrize("seed", range(2))
def test_where_nothing_changes_the_steady_answer_is_as_good_as_the_live_one(kind: str, seed: int) -> None:
    stream = stationary_stream(kind, 30_000, seed)
    experts, rest = learned(kind, stream[:20_000]), stream[20_000:]
    live, steady = (loss(kind, experts.predict(as_matrix(rest.X)[0], steady=s), rest.y) for s in (False, True))
    assert abs(steady / live - 1.0) <= 0.01
