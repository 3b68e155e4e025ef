"""Labels that come later: the mixers learn from what the experts said when they were asked."""

import json
import pickle
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from auto.slow_late import SlowLateExperts
from auto.slow_parts import READING
from auto.streams import (
    OF_STREAMS,
    Experts,
    Stream,
    assert_same_bits,
    assert_same_parts,
    every_task,
    every_task_and_loss,
    make_stream,
    new,
    options_of,
)
from odca import AutoLearner, river
from odca.io import model_file
from odca.models.auto_events import AutoEvents
from odca.validation.arrays import as_matrix

LATE = {"late_steady", "late_residual", "late_residual_mass"}


def ask(experts: Experts, X: Any) -> tuple[np.ndarray, tuple[np.ndarray, int]]:
    return experts.ask(as_matrix(X)[0])


def learn_one(experts: Experts, stream: Stream, row: int, asked: Any) -> np.ndarray:
    one = stream[row : row + 1]
    return experts.learn(as_matrix(one.X)[0], one.y, one.weight, one.time, None if asked is None else [asked])


def orders(n: int, seed: int = 0, longest: int = 40) -> list[tuple[str, int]]:
    """Asking and labels in an order in which labels come up to `longest` events later, and not in the order of the events."""
    rng = np.random.default_rng(seed)
    due = np.arange(n) + rng.integers(0, longest, size=n) * (rng.random(n) < 0.8)
    steps = [(float(row), "ask", row) for row in range(n)] + [(row + 0.5, "label", k) for k, row in enumerate(due)]
    return [(what, row) for _, what, row in sorted(steps)]


def parts(experts: Experts, *, without: set[str] = frozenset()) -> dict[str, bytes]:
    return {name: values.tobytes() for name, values in experts.state().items() if name not in without}


# What is learned


@every_task_and_loss
def test_without_delay_a_label_teaches_the_same_as_without_asking_to_the_bit(kind: str) -> None:
    stream, asking, plain = make_stream(kind, 150), new(kind), new(kind)
    for row in range(len(stream)):
        answer, asked = ask(asking, stream.X[row : row + 1])
        assert learn_one(asking, stream, row, asked).tobytes() == answer.tobytes()
        learn_one(plain, stream, row, None)
    assert_same_bits(asking, plain)


def test_without_delay_a_new_class_is_learned_to_the_bit() -> None:
    stream, asking, plain = make_stream("several classes", 60), *(Experts(task="classes", classes=2) for _ in range(2))
    stream = stream.with_(y=np.minimum(stream.y, np.maximum.accumulate(np.arange(60) // 15)).astype(float))
    for row in range(60):
        learn_one(asking, stream, row, ask(asking, stream.X[row : row + 1])[1])
        learn_one(plain, stream, row, None)
    assert asking.classes == 4
    assert_same_bits(asking, plain)


@every_task
def test_what_was_said_a_moment_ago_teaches_the_mixers_what_the_present_does(kind: str) -> None:
    """Said by the same state, but taken for late: the way through the kept margins has the same bits."""
    stream, asking, plain = make_stream(kind, 100), new(kind), new(kind)
    for row in range(len(stream)):
        said, after = ask(asking, stream.X[row : row + 1])[1]
        learn_one(asking, stream, row, (said, max(after - 1, 0)))
        learn_one(plain, stream, row, None)
    aside = LATE | {"live_errors"}  # of the answer, which mixes the live and the steady one from now on
    assert parts(asking, without=aside) == parts(plain, without=aside)
    assert asking.state()["late_steady"][0] > 0.0 == plain.state()["late_steady"][0]


@every_task_and_loss
@pytest.mark.parametrize("plain", [True, False], ids=["plain", "weights and times"])
def test_late_labels_teach_what_the_slow_twin_learns(kind: str, plain: bool) -> None:
    stream = make_stream(kind, 120, d=5, seed=2)
    stream = stream.with_(weight=None, time=None) if plain else stream
    compare_with_slow_twin(
        new(kind), SlowLateExperts(**options_of(kind)), stream, OF_STREAMS[kind], orders(120, longest=20)
    )


def test_late_labels_of_classes_that_came_since_teach_what_the_slow_twin_learns() -> None:
    stream = make_stream("several classes", 120, d=5, seed=3).with_(weight=None, time=None)
    seen = np.array([0] * 20 + [1] * 30 + [2] * 40 + [3] * 30)  # classes 0, 1; then 2; then 3
    stream = stream.with_(y=np.minimum(stream.y, np.maximum(seen, 1)).astype(float))
    experts, slow = Experts(task="classes", classes=2), SlowLateExperts(task="classes", classes=2)
    order = orders(120, seed=3, longest=8)  # no class comes before the one before it
    compare_with_slow_twin(experts, slow, stream, OF_STREAMS["several classes"], order)
    assert experts.classes == slow.classes == 4


def compare_with_slow_twin(
    experts: Experts, slow: SlowLateExperts, stream: Stream, tolerance: float, order: list[tuple[str, int]]
) -> None:
    kept: dict[int, Any] = {}
    for what, row in order:
        x = stream.X[row]
        if what == "ask":
            answer, asked = ask(experts, x[None, :])
            said = slow.ask(x)
            wanted = [*said.margin.T, said.live, said.steady]
            np.testing.assert_allclose(asked[0][0].T, wanted, atol=20.0 * tolerance, rtol=20.0 * tolerance)
            np.testing.assert_allclose(answer[0], slow.mixed_answer(said), atol=20.0 * tolerance, rtol=20.0 * tolerance)
            kept[row] = asked, said
            continue
        asked, said = kept.pop(row)
        c = 1.0 if stream.weight is None else stream.weight[row]
        learn_one(experts, stream, row, asked)
        slow.learn_asked(x, stream.y[row], said, c, None if stream.time is None else stream.time[row])
    assert_same_parts(experts, slow, 4.0 * tolerance)


@every_task_and_loss
def test_any_split_into_calls_teaches_the_same_to_the_bit(kind: str) -> None:
    stream, whole, split = make_stream(kind, 90), new(kind), new(kind)
    for experts, sizes in ((whole, (30, 30)), (split, (7, 23))):
        stream[:30].into(experts)
        asked = ask(experts, stream.X[30:])[1]
        begin = 30
        for size in sizes:
            part, said = stream[begin : begin + size], asked[0][begin - 30 : begin - 30 + size]
            experts.learn(as_matrix(part.X)[0], part.y, part.weight, part.time, [(said.copy(), asked[1])])
            begin += size
        if begin < 90:
            part = stream[begin:]
            experts.learn(as_matrix(part.X)[0], part.y, part.weight, part.time, [(asked[0][begin - 30 :], asked[1])])
    assert_same_bits(whole, split)


# What it is worth


def sticky(n: int = 4000) -> Stream:
    """The last label says much, for a while: each lasts for about ten events. The rows say a little."""
    rng = np.random.default_rng(0)
    y = np.cumsum(rng.random(n) < 0.1) % 2
    return Stream(np.column_stack([y + 2.0 * rng.normal(size=n), rng.normal(size=n)]), y.astype(float))


def learned_late(stream: Stream, delay: int, *, kept: bool) -> tuple[Experts, np.ndarray]:
    experts, asked, steady = Experts(task="classes", classes=2), [], []
    answers = []
    for row in range(len(stream)):
        answer, said = ask(experts, stream.X[row : row + 1])
        answers.append(answer[0, 0]), asked.append(said), steady.append(said[0][0, 0, -1])
        if row >= delay:
            learn_one(experts, stream, row - delay, asked[row - delay] if kept else None)
    z = np.where(stream.y[:, None] > 0.0, np.column_stack([answers, steady]), -np.column_stack([answers, steady]))
    return experts, np.logaddexp(0.0, -z)[delay:].mean(axis=0)


def test_experts_are_weighted_by_what_they_know_at_the_real_delay() -> None:
    """The last label is worth nothing when it is fifty events old."""
    late, loss = learned_late(sticky(), 50, kept=True)
    unkept, loss_unkept = learned_late(sticky(), 50, kept=False)
    last_labels = slice(READING, READING + 3)
    assert late.weights()[last_labels].sum() < 0.01
    assert unkept.weights()[last_labels].sum() > 0.5
    assert loss[0] < 0.7 * loss_unkept[0]


@pytest.mark.parametrize("delay", [1, 50, 1000])
def test_late_answers_are_no_worse_than_steady_ones(delay: int) -> None:
    _, (live, steady) = learned_late(sticky(), delay, kept=True)
    assert live <= 1.01 * steady
    if delay == 1:
        assert live < 0.8 * steady


# What is refused


@every_task
def test_what_does_not_fit_is_refused_without_a_trace(kind: str) -> None:
    experts, stream = new(kind), make_stream(kind, 50)
    stream[:30].into(experts)
    said, after = ask(experts, stream.X[30:32])[1]
    nan = said.copy()
    nan[1, 0, 3] = np.nan
    two_heads = np.repeat(said[:, :1], 2, axis=1)
    too_many = np.repeat(said[:, :1], 5, axis=1)
    before = parts(experts)
    for wrong in (nan, said[:1], said[:, :, 1:].copy(), two_heads, too_many, np.repeat(said, 2, axis=0)):
        with pytest.raises(ValueError, match="what was asked"):
            experts.learn(as_matrix(stream.X[30:32])[0], stream.y[30:32], None, None, [(wrong, after)])
    for moment in (-1, experts.count + 1):
        with pytest.raises(ValueError, match="what was asked"):
            experts.learn(as_matrix(stream.X[30:32])[0], stream.y[30:32], None, None, [(said, moment)])
    assert parts(experts) == before


def test_state_files_from_before_late_labels_are_read() -> None:
    experts, again = new("numbers"), new("numbers")
    make_stream("numbers", 80).into(experts)
    again.restore({name: values for name, values in experts.state().items() if name not in LATE})
    assert_same_bits(experts, again)
    with pytest.raises(ValueError, match="its sums are not those of any events"):
        again.restore(experts.state() | {"late_steady": np.array([1.5])})


# Arrays


def test_arrays_are_asked_about_in_blocks_and_learned_by_rows() -> None:
    stream = make_stream("two classes", 60)
    learner, native = AutoLearner("classes"), new("two classes")
    asked, said = learner.ask(stream.X), ask(native, stream.X)[1]
    assert asked.answers.shape == (60,)
    for rows in (slice(40, 60), np.arange(0, 40, 2), np.arange(1, 40, 2)):
        learner.learn(stream.X[rows], stream.y[rows], asked=asked[rows])
        native.learn(as_matrix(stream.X[rows])[0], stream.y[rows], None, None, [(said[0][rows], said[1])])
    assert_same_bits(learner.native, native)


# Dictionaries

OF_EVENTS = {"two classes": ("classes", 2), "several classes": ("classes", 4), "numbers": ("numbers", 2)}


def events_of(stream: Stream) -> list[dict[str, Any]]:
    return [{f"x{j}": float(x) for j, x in enumerate(row) if x} | {"c": f"v{k % 3}"} for k, row in enumerate(stream.X)]


def a_model(kind: str, **options: Any) -> AutoEvents:
    task, classes = OF_EVENTS[kind]
    return AutoEvents(task, classes=classes, **options)


def all_of(model: AutoEvents) -> tuple[Any, ...]:
    saved = model.saved()
    arrays = saved.arrays | {f"learner.{name}": array for name, array in saved.parts["learner"].arrays.items()}
    return saved.options, {name: array.tobytes() for name, array in arrays.items()}


@every_task
def test_an_event_that_gets_its_label_at_once_is_learned_as_by_learn_one(kind: str) -> None:
    stream, later, at_once = make_stream(kind, 80), a_model(kind), a_model(kind)
    for k, event in enumerate(events_of(stream)):
        options = {"weight": stream.weight[k], "time": stream.time[k]}
        answer = later.predict_one(event, id="now")
        assert np.array_equal(answer, at_once.learn_one(event, stream.y[k], **options))
        assert np.array_equal(answer, later.learn_label("now", stream.y[k], **options))
    assert all_of(later) == all_of(at_once)


@every_task
@pytest.mark.parametrize("bits", [None, 6])
def test_saving_in_the_middle_makes_no_difference(kind: str, bits: int | None, tmp_path: Path) -> None:
    stream, through = make_stream(kind, 100), a_model(kind, bits=bits)
    events, saved = events_of(stream), None
    for n, (what, row) in enumerate(orders(100)):
        if n == 120:
            assert through.pending > 5
            through.save(tmp_path / "model.safetensors")
            saved = AutoEvents.load(tmp_path / "model.safetensors")
            assert all_of(pickle.loads(pickle.dumps(through))) == all_of(saved) == all_of(through.copy())
        for model in (through, saved) if saved else (through,):
            if what == "ask":
                model.predict_one(events[row], id=row)
            else:
                model.learn_label(row, stream.y[row], weight=stream.weight[row], time=stream.time[row])
    assert all_of(through) == all_of(saved)
    assert through.pending == 0 < through.learner.get_state()["late_steady"][0]


def test_ids_are_those_of_an_event_learner() -> None:
    model = a_model("numbers", max_pending=3)
    for k in range(5):
        model.predict_one({"a": float(k)}, id=k)
    assert (model.pending, model.dropped, model.waiting(3)) == (3, 2, {"a": 3.0})
    with pytest.raises(KeyError, match=r"no event waits for its label under the id 1.*max_pending=3 .*\(2 were"):
        model.learn_label(1, 1.0)
    before = all_of(model)
    with pytest.raises(ValueError, match="y"):
        model.learn_label(3, np.inf)
    with pytest.raises(TypeError, match="an id must be"):
        model.predict_one({"a": 1.0}, id=1.5)
    with pytest.raises(ValueError, match="answer"):
        model.predict_one({"a": 1.0}, id=1, answer="other")
    assert all_of(model) == before
    model.learn_label(3, 1.0)
    assert (model.pending, model.dropped, model.learner.count) == (2, 2, 1)


def test_the_steady_answer_may_be_asked_for_with_an_id() -> None:
    model = a_model("two classes")
    for k in range(50):
        model.learn_one({"a": float(k % 7)}, k % 2)
    assert model.predict_one({"a": 3.0}, id=1, answer="steady") == model.predict_one({"a": 3.0}, answer="steady")
    assert model.pending == 1


def test_several_threads_may_ask_and_label() -> None:
    model = a_model("two classes", max_pending=1000)

    def serve(thread: int) -> None:
        for k in range(150):
            model.predict_one({f"t{thread}": 1.0 + k % 3}, id=f"{thread}-{k}")
            if k >= 5:
                model.learn_label(f"{thread}-{k - 5}", k % 2)

    threads = [threading.Thread(target=serve, args=(thread,)) for thread in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (model.pending, model.dropped, model.learner.count) == (20, 0, 580)
    assert sorted(model.features) == ["t0", "t1", "t2", "t3"]


# Files


def changed(model: AutoEvents, **arrays: Any) -> model_file.ModelFile:
    saved = model.saved()
    saved.arrays.update(arrays)
    return saved


def a_model_that_waits() -> AutoEvents:
    model = a_model("numbers")
    for k in range(40):
        model.predict_one({"a": 0.1 * k}, id=k)
        if k >= 3:
            model.learn_label(k - 3, 0.3 * k)
    return model


def test_files_without_pending_events_are_read() -> None:
    model = a_model_that_waits()
    saved = model.saved()
    for name in ("pending", "pending_said", "dropped"):
        del saved.arrays[name]
    del saved.options["max_pending"]
    old = AutoEvents.restored(saved)
    assert (old.pending, old.dropped) == (0, 0)
    assert old.learner == model.learner


def test_events_that_wait_since_other_experts_are_learned_by_the_margins_of_now() -> None:
    model = a_model_that_waits()
    about = json.loads(model.saved().arrays["pending"].tobytes())
    about["experts"][0] = "another"
    loaded = AutoEvents.restored(changed(model, pending=np.frombuffer(json.dumps(about).encode(), np.uint8)))
    at_once = loaded.copy()
    loaded.learn_label(38, 1.0)
    at_once.learn_one({"a": 0.1 * 38}, 1.0)
    assert loaded.learner == at_once.learner


@pytest.mark.parametrize("wrong", ["short", "long", "nan", "heads", "event", "id", "dropped", "after"])
def test_crafted_pending_events_are_refused(wrong: str) -> None:
    model = a_model_that_waits()
    arrays = {name: array.copy() for name, array in model.saved().arrays.items()}
    about = json.loads(arrays["pending"].tobytes())
    said = arrays["pending_said"]
    arrays["pending_said"] = {"short": said[:-1], "long": np.append(said, 0.0)}.get(wrong, said)
    if wrong == "nan":
        said[2] = np.nan
    first = about["events"][0]
    first[:] = {
        "heads": [first[0], first[1], 2, first[3]],
        "event": [first[0], 3.0, *first[2:]],
        "id": [1.5, *first[1:]],
        "after": [*first[:3], 10**6],
    }.get(wrong, first)
    arrays["pending"] = np.frombuffer(json.dumps(about).encode(), np.uint8)
    if wrong == "dropped":
        arrays["dropped"] = np.array([-1])
    with pytest.raises((ValueError, TypeError)):
        AutoEvents.restored(changed(model, **arrays))


# river


def test_rivers_classifier_keeps_events_until_their_labels_come() -> None:
    later, at_once = river.AutoClassifier(max_pending=50), river.AutoClassifier()
    assert later.predict_one({"x": 1.0}, id="first") is None
    later.learn_label("first", "a", 2.0, time=1.0)
    at_once.learn_one({"x": 1.0}, "a", 2.0, time=1.0)
    for k, label in enumerate(["b", "a", "c", "a", "b", "c"] * 10):
        p = later.predict_proba_one({"x": k % 6}, id=k)
        assert p == at_once.predict_proba_one({"x": k % 6})
        later.learn_label(k, label, time=2.0 + k)
        at_once.learn_one({"x": k % 6}, label, time=2.0 + k)
    assert later.classes == at_once.classes == ("a", "b", "c")
    assert later.events.learner == at_once.events.learner
    later.predict_one({"x": 2.0}, id="waits")
    with pytest.raises(ValueError, match="label"):
        later.learn_label("waits", None)
    with pytest.raises(KeyError):
        later.learn_label("unknown", "new")
    assert (later.classes, later.events.pending) == (("a", "b", "c"), 1)
    restored = river.AutoClassifier.restored(later.saved())
    for each in (later, restored):
        each.learn_label("waits", "d")
    assert restored.predict_proba_one({"x": 2.0}) == later.predict_proba_one({"x": 2.0})
    assert restored.classes == ("a", "b", "c", "d")


def test_rivers_regressor_keeps_events_until_their_numbers_come() -> None:
    later, at_once = river.AutoRegressor(), river.AutoRegressor()
    for k in range(40):
        assert later.predict_one({"x": k % 5}, id=k) == at_once.predict_one({"x": k % 5})
        later.learn_label(k, 2.0 * (k % 5))
        at_once.learn_one({"x": k % 5}, 2.0 * (k % 5))
    assert later.events.learner == at_once.events.learner
