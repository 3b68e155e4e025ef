"""Labels that come later: a bounded number of events waits for them."""

import threading
import time
from datetime import datetime

import pytest

from odca import EventLearner, LogLoss, SquaredError


def a_model(max_pending: int = 3) -> EventLearner:
    return EventLearner(loss=SquaredError(), rho=0.1, max_pending=max_pending)


def test_a_late_label_teaches_what_it_would_have_taught_in_time() -> None:
    later, at_once = a_model(), a_model()
    event = {"a": 2.0, "c": "x"}
    assert later.predict_one(event, offset=0.5, id="n1") == 0.5
    event["a"] = 99.0  # the caller's dictionary is the caller's
    assert later.learn_label("n1", 1.0, weight=2.0) == 0.5
    at_once.learn_one({"a": 2.0, "c": "x"}, 1.0, weight=2.0, offset=0.5)
    assert later == at_once
    assert later.pending == 0


def test_the_oldest_pending_event_is_dropped_when_the_buffer_is_full() -> None:
    model = a_model(max_pending=3)
    for k in range(5):
        model.predict_one({"a": float(k)}, id=k)
    assert (model.pending, model.dropped) == (3, 2)
    with pytest.raises(KeyError, match=r"no event waits for its label under the id 1.*max_pending=3 .*\(2 were"):
        model.learn_label(1, 1.0)
    for k in (4, 2, 3):
        model.learn_label(k, 1.0)
    assert (model.pending, model.dropped, model.learner.count) == (0, 2, 3)


def test_reusing_an_id_replaces_the_pending_event() -> None:
    model, other = a_model(), a_model()
    for k, value in ((0, 1.0), (1, 2.0), (0, 3.0), (2, 4.0), (3, 5.0)):
        model.predict_one({"a": value}, id=k)
    assert (model.pending, model.dropped) == (3, 1)  # 1 was the oldest: 0 had been given again
    model.learn_label(0, 1.0)
    other.learn_one({"a": 3.0}, 1.0)
    assert model.learner == other.learner


def test_a_refused_label_leaves_the_event_pending() -> None:
    model = EventLearner(loss=LogLoss(), max_pending=3)
    for k in range(3):
        model.predict_one({"a": float(k)}, id=k)
    before = model.copy()
    with pytest.raises(ValueError, match="y"):
        model.learn_label(0, 7.0)
    assert model == before
    model.predict_one({"a": 3.0}, id=3)
    with pytest.raises(KeyError):
        model.learn_label(0, 1.0)  # still the oldest, so it was the one to go


def test_an_event_is_not_pending_while_its_label_is_being_learned() -> None:
    seen = []

    class Telling:
        def dual(self, p: float, s: float, y: float) -> float:
            seen.append(model.pending)
            with pytest.raises(KeyError):
                model.waiting("a")
            if y == 7.0:
                raise RuntimeError("no")
            return (y - p) / (1.0 + s)

    model = EventLearner(loss=Telling(), rho=0.1, max_pending=1)
    model.predict_one({"x": 1.0}, id="a")
    with pytest.raises(RuntimeError):
        model.learn_label("a", 7.0)
    assert (seen, model.pending, model.dropped, model.waiting("a")) == ([0], 1, 0, {"x": 1.0})
    model.learn_label("a", 1.0)
    assert (seen, model.pending, model.dropped) == ([0, 0], 0, 0)


@pytest.mark.alone
def test_the_cost_of_a_refused_label_does_not_grow_with_the_pending_events() -> None:
    def cost(waiting: int) -> float:
        model = EventLearner(loss=LogLoss(), max_pending=waiting)
        for k in range(waiting):
            model.predict_one({"a": 1.0}, id=k)
        took = []
        for _ in range(20):
            begin = time.perf_counter()
            with pytest.raises(ValueError, match="y"):
                model.learn_label(waiting // 2, 7.0)
            took.append(time.perf_counter() - begin)
        return min(took)

    assert cost(20_000) < 20.0 * cost(10)  # sorting them would take about a thousand times as long


def test_an_id_is_a_string_or_a_whole_number() -> None:
    model = a_model()
    for wrong in (1.5, True, ("a",), b"a"):
        with pytest.raises(TypeError, match="an id must be"):
            model.predict_one({"a": 1.0}, id=wrong)
    assert model.pending == 0


def test_several_threads_may_add_and_label_pending_events() -> None:
    model = a_model(max_pending=1000)

    def serve(thread: int) -> None:
        for k in range(300):
            model.predict_one({f"t{thread}": 1.0}, id=f"{thread}-{k}")
            model.learn_label(f"{thread}-{k}", 1.0)

    threads = [threading.Thread(target=serve, args=(thread,)) for thread in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (model.pending, model.dropped, model.learner.count) == (0, 0, 1200)
    assert sorted(model.features) == ["t0", "t1", "t2", "t3"]


@pytest.mark.parametrize(
    "event",
    [
        {"when": datetime(2024, 1, 2, 3)},  # noqa: DTZ001 - times of day without a zone are common
        {"visit": {"when": datetime(2024, 1, 2, 3)}},  # noqa: DTZ001 - the same
        {"when": "2024-01-02T03:00:00", "a": 1.0},
    ],
)
def test_a_pending_event_with_a_date_is_learned_as_if_at_once(event: dict[str, object]) -> None:
    late, at_once = (EventLearner(loss=LogLoss(), dates=["when", "visit.when"]) for _ in range(2))
    late.predict_one(event, id=1)
    late.learn_label(1, 1)
    at_once.learn_one(event, 1)
    assert late.weights() == at_once.weights()
    assert any(".hour=3" in name for name in late.weights())


def test_a_pending_event_keeps_all_lists_of_one_path() -> None:
    event = {"user": {"tags": ["a", "b"]}, "user.tags": ["c"]}
    late, at_once = (EventLearner(loss=LogLoss()) for _ in range(2))
    late.predict_one(event, id=1)
    late.learn_label(1, 1)
    at_once.learn_one(event, 1)
    assert late.weights() == at_once.weights()
    assert {"user.tags=a", "user.tags=b", "user.tags=c"} <= set(late.weights())
