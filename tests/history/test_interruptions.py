"""A call that is stopped has learned a prefix of its events, and its history holds these and no others."""

import threading
from typing import Any

import numpy as np
import pytest

from interrupting import Interrupt, interrupted_after
from odca import EventLearner, SquaredError
from odca.models.auto_events import AutoEvents

LINES = ["y by shop: lag 1; mean 40", "x: lag 2"]


def linear() -> Any:
    return EventLearner(loss=SquaredError(), rho=0.1, history=LINES, history_keys=5)


def automatic() -> Any:
    return AutoEvents("numbers", history=LINES, history_keys=5)


def state_of(model: Any) -> dict[str, Any]:
    return {name: array.tolist() for name, array in model._core.past().items()}


@pytest.mark.parametrize("make", [linear, automatic])
def test_the_history_of_an_interrupted_call_is_that_of_the_events_it_learned(make: Any) -> None:
    count = 100_000
    rng = np.random.default_rng(0)
    events = [{"shop": int(shop), "x": 1.0} for shop in rng.integers(8, size=count)]
    y = rng.normal(size=count)
    for seconds in (0.4, 0.6, 0.9, 1.3, 2.0):  # reading the events takes some time, too
        model = make()
        try:
            with interrupted_after(seconds):
                model.learn_many(events, y)
        except Interrupt:
            pass
        learned = model.learner.count
        prefix = make()
        prefix.learn_many(events[:learned], y[:learned])
        assert state_of(model) == state_of(prefix)
        if 0 < learned < count:
            break


def test_predictions_of_other_threads_leave_the_history_of_a_learning_call_alone() -> None:
    count = 30_000
    rng = np.random.default_rng(0)
    events = [{"shop": int(shop), "x": 1.0} for shop in rng.integers(8, size=count)]
    y = rng.normal(size=count)
    model, alone = linear(), linear()
    ended = threading.Event()

    def ask() -> None:
        while not ended.is_set():
            model.predict_many(events[:20])

    threads = [threading.Thread(target=ask) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        for begin in range(0, count, 1000):
            model.learn_many(events[begin : begin + 1000], y[begin : begin + 1000])
    finally:
        ended.set()
        for thread in threads:
            thread.join()
    alone.learn_many(events, y)
    assert state_of(model) == state_of(alone)
    assert model == alone
