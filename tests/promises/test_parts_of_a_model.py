"""A model's parts (names, classes, columns, events that wait for labels) belong to one moment, whoever looks and whenever a call is stopped."""

import copy
import pickle
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from odca._core import Turn

from interrupting import Interrupt, interrupted_after
from odca import EventLearner, LogLoss, SquaredError, river, sklearn, stream
from odca.models.auto_events import AutoEvents
from odca.models.options import ModelOptions
from odca.stream.model import StreamModel


@pytest.fixture
def many_switches() -> Iterator[None]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def _again_and_again(call: Callable[[], object]) -> None:
    while True:
        call()


@pytest.mark.usefixtures("many_switches")
@pytest.mark.parametrize("make", [lambda: AutoEvents("numbers"), lambda: EventLearner(loss=SquaredError())])
def test_names_that_are_listed_while_others_come_are_whole(make: Callable[[], Any]) -> None:
    model, done = make(), threading.Event()

    def teach() -> None:
        for k in range(1500):
            model.learn_one({f"name {k}": 1.0}, 1.0)
        done.set()

    thread = threading.Thread(target=teach)
    thread.start()
    while not done.is_set():
        names = model.features
        assert names == [f"name {k}" for k in range(len(names))]
        frozen = model.freeze() if isinstance(model, AutoEvents) else model.copy()
        assert frozen.learner.n_features == len(frozen.features)
    thread.join()


def test_a_model_that_is_saved_while_a_label_is_learned_has_the_event_or_the_label() -> None:
    """The event is read while its label is learned: it is that moment at which the model is saved, in another thread."""
    model = EventLearner(loss=SquaredError(), rho=0.1)
    model.predict_one({"a": 1.0}, id="x")
    counts: list[tuple[int, int]] = []

    class Label:
        def __float__(self) -> float:
            thread.start()
            thread.join(0.2)  # it waits, or it does not
            return 1.0

    def look() -> None:
        twin = model.copy()
        counts.append((twin.learner.count, twin.pending))

    thread = threading.Thread(target=look)
    model = model.with_lanes([0])  # whose labels are rows: these are read as they come
    model.learn_label("x", [Label()])
    thread.join()
    assert counts in ([(0, 1)], [(1, 0)])


@pytest.mark.parametrize("kind", [sklearn.ODCAClassifier, sklearn.AutoClassifier])
def test_an_estimator_that_was_stopped_amid_new_columns_can_be_saved(kind: Any, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400_000 if kind is sklearn.ODCAClassifier else 40_000, 12))
    y = np.where(X[:, 0] > 0.0, "yes", "no")
    model = kind(new_features="learn").partial_fit(X[:10, :3], y[:10])
    with pytest.raises(Interrupt), interrupted_after(0.5):
        _again_and_again(lambda: model.partial_fit(X, y))
    assert model.n_features_in_ == 12
    model.save(tmp_path / "model.safetensors")
    loaded = kind.load(tmp_path / "model.safetensors")
    np.testing.assert_array_equal(loaded.predict_proba(X[:5]), model.predict_proba(X[:5]))


def test_a_model_of_files_that_was_stopped_amid_new_names_can_be_saved(tmp_path: Path) -> None:
    lines = [f"{k % 7},key{k % 9000},{'yes' if k % 3 else 'no'}\n" for k in range(60_000)]
    (tmp_path / "a.csv").write_text("a,key,label\n" + "".join(lines))
    with stream.open(tmp_path / "a.csv", label="label") as opened:
        model = StreamModel.begin(ModelOptions(), opened.schema, opened.sample)
        assert opened.vocabulary is not None
        model.vocabulary = opened.vocabulary
        block = next(iter(opened))
        with pytest.raises(Interrupt), interrupted_after(0.03):
            _again_and_again(lambda: model.learn(block))
    assert model.learner.count > 0
    model.save(tmp_path / "model.safetensors")
    assert StreamModel.load(tmp_path / "model.safetensors").keys() == model.keys()


def test_a_thread_that_is_refused_takes_nothing_from_another_one() -> None:
    """One thread's refused call began before another one's new label came, and ends after it."""
    model = river.AutoClassifier()
    model.learn_one({"a": 1.0}, "first")

    class Slow:
        def __float__(self) -> float:
            thread.start()
            thread.join(0.2)
            raise ValueError("refused")

    thread = threading.Thread(target=lambda: model.learn_one({"b": 1.0}, "second"))
    with pytest.raises(ValueError, match="refused"):
        model.learn_many([{"a": Slow()}], ["first"])
    thread.join()
    assert model.classes == ("first", "second")
    assert model.events.learner.count == 2


def test_an_estimator_predicts_while_it_is_fitted_anew() -> None:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(20_000, 5))
    y = X[:, 0] > 0.0
    model = sklearn.AutoClassifier().fit(X[:100], y[:100])
    threads = [threading.Thread(target=model.fit, args=(X, labels)) for labels in (y, np.where(y, 2, 7))]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        assert set(model.predict(X[:3]).tolist()) <= {True, False, 2, 7}
        np.testing.assert_allclose(model.predict_proba(X[:3]).sum(axis=1), 1.0)
    for thread in threads:
        thread.join()


def test_a_calibration_loses_no_event_that_is_noted_while_another_thread_asks() -> None:
    model = river.ODCAClassifier("hinge")
    done = threading.Event()

    def ask() -> None:
        while not done.is_set():
            model.predict_proba_one({"a": 1.0})

    model.learn_one({"a": 1.0}, y=True)
    thread = threading.Thread(target=ask)
    thread.start()
    for k in range(3000):
        model.learn_one({"a": float(k % 5)}, y=bool(k % 2))
    done.set()
    thread.join()
    maps = model._model.calibration._maps
    assert maps[0].count == 3001


def test_a_copy_of_a_model_has_a_turn_of_its_own() -> None:
    model = sklearn.AutoRegressor().fit(np.eye(3), [1.0, 2.0, 3.0])
    for twin in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert twin._turn is not model._turn
        twin.partial_fit(np.eye(3), [1.0, 2.0, 3.0])
    assert "_turn" not in vars(model)
    assert isinstance(copy.copy(Turn()), Turn)


def test_a_turn_is_refused_to_the_thread_that_has_it() -> None:
    turn = Turn()
    with turn, pytest.raises(ValueError, match="from inside its own call"), turn:
        pass
    with turn:  # and it is free again
        pass


def test_a_plain_loss_may_be_merged_both_ways_at_once(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("a,label\n" + "".join(f"{k % 5},{k % 2}\n" for k in range(500)))
    models = []
    for _ in range(2):
        with stream.open(tmp_path / "a.csv", label="label") as opened:
            model = StreamModel.begin(
                ModelOptions(loss=LogLoss(), auto=None, scale=False), opened.schema, opened.sample
            )
            model.vocabulary = opened.vocabulary
            for block in opened:
                model.learn(block)
        models.append(model)
    one, two = models
    works = [lambda: one.merge(two), lambda: two.merge(one), lambda: one.merge(one)]
    threads = [threading.Thread(target=lambda work=work: [work() for _ in range(20)], daemon=True) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60.0)
    assert not any(thread.is_alive() for thread in threads)
