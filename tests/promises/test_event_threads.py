"""Several threads may use one EventLearner: names and weights belong together whoever looks, and nobody is locked out."""

import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from odca import EventLearner, LogLoss, SquaredError
from odca.models.auto_events import AutoEvents


def a_model(**changes: Any) -> EventLearner:
    return EventLearner(**({"loss": SquaredError(), "rho": 0.1, "scale": False} | changes))


@pytest.fixture(autouse=True)
def threads_that_take_turns() -> Iterator[None]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


def run(*works: Callable[[], object]) -> None:
    """All at once; what one raises is raised here. A deadlock fails the test."""
    failures: list[BaseException] = []

    def guarded(work: Callable[[], object]) -> None:
        try:
            work()
        except BaseException as failure:  # noqa: BLE001 - raised again below
            failures.append(failure)

    threads = [threading.Thread(target=guarded, args=(work,), daemon=True) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60.0)
    assert not any(thread.is_alive() for thread in threads), "a thread waits for ever"
    if failures:
        raise failures[0]


def test_names_and_weights_belong_together() -> None:
    """Every name has a value of its own to learn; a weight under the wrong name would show at once."""
    model = a_model(rho=0.0, prior_strength=1e-6, intercept=False)
    per_thread, threads = 150, 4

    def teach(thread: int) -> None:
        for k in range(per_thread):
            number = k * threads + thread
            for _ in range(2):
                model.learn_one({f"n{number}": 1.0}, float(number))
            if k % 10 == 0:
                with pytest.raises(ValueError, match="finite"):
                    model.learn_one({f"refused{number}": 1.0, "x": float("inf")}, 1.0)
                with pytest.raises(ValueError, match="y"):
                    model.learn_many([{f"refused{number}": 1.0}, {f"too{number}": "x"}], [1.0, float("nan")])

    def look() -> None:
        for _ in range(100):
            twin = model.copy()
            assert twin.learner.n_features == len(twin.features)
            for name, weight in twin.weights().items():
                assert abs(weight - float(name[1:])) < 0.01
                assert twin.predict_one({name: 2.0}) == 2.0 * weight
            assert model.predict_one({"refused0": 1.0}) == 0.0

    run(*(lambda thread=thread: teach(thread) for thread in range(threads)), look, look)
    assert sorted(model.features) == sorted(f"n{number}" for number in range(per_thread * threads))
    assert model.learner.count == 2 * per_thread * threads


class InPython:
    """A loss that needs the GIL, and lets others run while the model is in use."""

    def dual(self, p: float, s: float, y: float) -> float:
        time.sleep(0.0)
        return (y - p) / (1.0 + s)


def test_a_python_loss_does_not_block_other_threads() -> None:
    model = a_model(loss=InPython())

    def teach() -> None:
        for k in range(200):
            model.learn_one({f"n{k}": 1.0}, 1.0)
            model.predict_one({f"n{k}": 1.0}, id=k)
            model.learn_label(k, 1.0) if k % 2 else model.explain_one({f"n{k}": 1.0})

    def teach_many() -> None:
        for k in range(20):
            model.learn_many([{f"m{k}": 1.0}] * 20, [1.0] * 20)
            assert model == model.copy() or model.learner.count

    run(teach, teach_many)
    assert len(model.features) == 220


@pytest.mark.alone
def test_a_prediction_does_not_wait_for_the_end_of_learn_many() -> None:
    model = a_model(loss=LogLoss(), smoothing=0.9)
    events = [{f"f{j}": 1.0 + j % 7 for j in range(100)}] * 20_000
    waits: list[float] = []
    done = threading.Event()

    def teach() -> None:
        model.learn_many(events, [1.0] * len(events))
        done.set()

    def look() -> None:
        while not done.is_set():
            start = time.perf_counter()
            model.predict_one(events[0])
            waits.append(time.perf_counter() - start)
            time.sleep(0.001)

    run(teach, look)
    assert sorted(waits)[len(waits) // 2] < 0.25


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs signal.setitimer")
def test_an_interrupted_learn_many_keeps_the_names_of_what_was_learned() -> None:
    class Interrupt(Exception):  # noqa: N818 - like KeyboardInterrupt, it is no error
        pass

    def stop(number: int, frame: object) -> None:
        raise Interrupt

    model = a_model()
    n, width = 3_000, 300
    events = [{f"f{j}": 1.0 for j in range(width)} | {f"n{k}": 1.0} for k in range(n)] * 4
    before = signal.signal(signal.SIGALRM, stop)
    interrupted = False
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.3)
        for _ in range(200):
            model.learn_many(events, [1.0] * len(events))
    except Interrupt:
        interrupted = True
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)
    assert interrupted
    assert model.learner.n_features == len(model.features)
    model.learn_one({"later": 1.0}, 1.0)
    assert model.features[-1] == "later"
    assert model.copy() == model


# The automatic learner of events makes the same promises.


class Troublesome:
    """A number that does something when it is read."""

    def __init__(self, does: Callable[[], object]) -> None:
        self.does = does

    def __float__(self) -> float:
        self.does()
        return 1.0


@pytest.mark.parametrize("make", [lambda: AutoEvents("numbers"), a_model], ids=["automatic", "plain"])
def test_a_list_of_events_that_is_cleared_while_it_is_read_is_refused(make: Callable[[], Any]) -> None:
    model = make()
    events: list[Any] = []
    events += [{"a": 1.0, "b": Troublesome(events.clear)}, *({f"n{k}": 1.0} for k in range(1000))]
    with pytest.raises(ValueError, match="the list of events changed while it was read"):
        model.learn_many(events, [1.0] * len(events))
    assert model.features == []
    assert model.learner.count == 0
    event: dict[str, Any] = {}
    event |= {"a": Troublesome(event.clear), "b": 1.0}
    with pytest.raises(ValueError, match="changed while it was read"):
        model.learn_many([event], [1.0])
    assert model.features == []


def test_names_of_the_automatic_learner_belong_to_one_thread_at_a_time() -> None:
    """Values that let other threads run while an event is read; names that were mixed up would be there twice, or in no event."""
    model = AutoEvents("numbers")
    pause = Troublesome(lambda: time.sleep(0.0))

    def teach(thread: int) -> None:
        for k in range(60):
            model.learn_many([{f"a{thread}-{k}": pause, f"b{thread}-{k}": pause}] * 2, [1.0, 2.0])
            if k % 10 == 0:
                with pytest.raises(ValueError, match="finite"):
                    model.learn_many([{f"refused{thread}-{k}": pause, "x": float("inf")}], [1.0])

    def look() -> None:
        for k in range(100):
            model.predict_many([{f"a0-{k}": pause, f"b1-{k}": pause, "never": 1.0}])
            twin = model.copy()
            assert twin.learner.n_features == len(twin.features)

    run(*(lambda thread=thread: teach(thread) for thread in range(3)), look, look)
    found = model.features
    assert sorted(found) == sorted(f"{name}{thread}-{k}" for name in "ab" for thread in range(3) for k in range(60))
    for a, b in zip(found[::2], found[1::2], strict=True):
        assert (a[0], a[1:]) == ("a", b[1:])
    assert model.learner.count == 3 * 60 * 2
