"""What holds for every model beside its coverage: late labels, old files, several threads, merging."""

import threading
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import odca
from odca import AutoLearner, river, sklearn
from odca.models.options import ModelOptions
from stream_files import events as file_events
from stream_files import trained, vw, write

DATA = Path(__file__).parents[1] / "data"


def steps(n: int) -> list[tuple[dict[str, float], float]]:
    """The labels before tell the next one, unless they come late."""
    return [({"x": 1.0}, float(at // 20)) for at in range(n)]


def width(model: Any) -> float:
    found = model.predict_interval_one({"x": 1.0}, 0.9)
    return found.upper - found.lower


def learned_late(model: Any, stream: list[tuple[Any, Any]], delay: int) -> Any:
    for at, (x, _) in enumerate(stream):
        model.predict_one(x, id=at)
        if at >= delay:
            model.learn_label(at - delay, stream[at - delay][1])
    return model


@pytest.mark.parametrize("make", [river.AutoRegressor, lambda: river.ODCARegressor(window=0.9)])
def test_a_late_label_is_judged_by_the_prediction_that_it_was_late_for(make: Any) -> None:
    at_once = make()
    for x, y in steps(600):
        at_once.learn_one(x, y)
    late = learned_late(make(), steps(600), delay=60)
    assert width(late) > 2.0 * width(at_once)


def test_a_late_truth_is_judged_by_the_prediction_that_it_was_late_for() -> None:
    stream = [({"x": 1.0}, at // 50 % 2 == 0) for at in range(1500)]
    at_once = river.ODCAClassifier(window=0.9)
    for x, y in stream:
        at_once.learn_one(x, y)
    late = learned_late(river.ODCAClassifier(window=0.9), stream, delay=50)
    known, wanted = late._model.uncertainty, at_once._model.uncertainty
    assert known.least_probability(0.8, "live") < 0.5 * wanted.least_probability(0.8, "live")


def test_what_was_said_is_kept_with_the_waiting_event(tmp_path: Path) -> None:
    model = river.ODCARegressor(window=0.9)
    for x, y in steps(300):
        model.learn_one(x, y)
    model.predict_interval_one({"x": 1.0}, id="a")
    model.save(tmp_path / "model.safetensors")
    twin = river.ODCARegressor.load(tmp_path / "model.safetensors")
    for each in (model, twin):
        for _ in range(20):
            each.learn_one({"x": 1.0}, 100.0)
        each.learn_label("a", 15.0)
    states = [each._model.uncertainty.native.numbers(steady=False).tobytes() for each in (model, twin)]
    assert states[0] == states[1]


@pytest.mark.parametrize(
    ("name", "ask"),
    [
        ("auto_v1_numbers", lambda model: model.predict_interval([[0.0]])),
        ("auto_v1_five_classes", lambda model: model.predict_set([[0.0]])),
        ("model_v1_river", lambda model: model.predict_set_one({"x": 1.0})),
        ("model_v1_stream", lambda model: model.predict_set([{"x": 1.0}])),
        ("model_v1_classifier", lambda model: model.predict_set(np.zeros((1, model.n_features_in_)))),
        (
            "model_v1_regressor",
            lambda model: model.predict_interval(pd.DataFrame([dict.fromkeys(model.feature_names_in_, 0.0)])),
        ),
    ],
)
def test_a_model_from_before_intervals_says_that_none_is_known_yet(name: str, ask: Any) -> None:
    model = odca.load(DATA / f"{name}.safetensors")
    with pytest.raises(ValueError, match="does not know how far its predictions were from the truth"):
        ask(model)


def test_an_automatic_learner_gives_intervals_around_its_predictions() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 2))
    learner = AutoLearner("numbers")
    learner.learn(X, X[:, 0] + rng.normal(size=500))
    for answer in ("live", "steady"):
        found = learner.predict_interval(X[:3], 0.8, answer=answer)
        bounds = learner.uncertainty.bounds(0.8, answer)
        np.testing.assert_array_equal(found, learner.predict(X[:3], answer=answer)[:, None] + [bounds])
    with pytest.raises(ValueError, match="use predict_interval"):
        learner.predict_set(X[:3])


def test_an_automatic_learner_gives_sets_of_its_likely_classes() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 2))
    learner = AutoLearner("classes", classes=3)
    learner.learn(X, np.digitize(X[:, 0] + rng.normal(size=500), [-1.0, 1.0]).astype(float))
    for answer in ("live", "steady"):
        found = learner.predict_set(X[:20], 0.9, answer=answer)
        p = learner.probabilities(learner.predict(X[:20], answer=answer))
        np.testing.assert_array_equal(found, p >= learner.uncertainty.least_probability(0.9, answer))
        assert 20 < found.sum() < 60
    with pytest.raises(ValueError, match="use predict_set"):
        learner.predict_interval(X[:3])


def test_a_stream_model_reads_dictionaries(tmp_path: Path) -> None:
    data = write(tmp_path / "data.vw", [vw(each, label="score") for each in file_events(200)])
    model = trained(data, ModelOptions(task="numbers", auto="events"))
    found = model.predict_interval([{"x": 1.0}, {}], 0.9)
    points = model.predict([{"x": 1.0}, {}])
    assert ((found[:, 0] < points) & (points < found[:, 1])).all()


@pytest.mark.parametrize("loss", ["log_loss", "hinge"])
def test_every_event_counts_once_while_several_threads_learn_and_ask(loss: str) -> None:
    model = river.ODCAClassifier(loss=loss)
    model.learn_many([{"x": 1.0}, {"x": 2.0}, {"x": 3.0}], ["a", "b", "c"])
    done = threading.Event()

    def learn(label: str) -> None:
        for at in range(1500):
            model.learn_one({"x": at % 7}, label)

    def ask() -> None:
        while not done.is_set():
            model.predict_set_one({"x": 1.0})

    learning = [threading.Thread(target=learn, args=[label]) for label in "abc"]
    asking = threading.Thread(target=ask)
    for each in (asking, *learning):
        each.start()
    for each in learning:
        each.join()
    done.set()
    asking.join()
    assert model._model.uncertainty.events("live") == 4503


def test_a_merged_model_knows_the_errors_that_are_known() -> None:
    """One part was fitted to all events at once, and knows none."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    part = AutoLearner("numbers")
    part.learn(X, X[:, 0] + rng.normal(size=300))
    blank = AutoLearner.load(DATA / "auto_v1_numbers.safetensors")
    merged = part.merge(blank)
    assert merged.uncertainty.events("live") == 300
    assert merged.uncertainty.bounds(0.9, "live") == part.uncertainty.bounds(0.9, "live")


def test_a_model_that_was_frozen_before_its_steady_answer_was_judged_rules_nothing_out() -> None:
    X, y = np.ones((4, 1)), np.arange(4.0)
    frozen = sklearn.AutoRegressor(shuffle=False).fit(X, y).freeze()
    np.testing.assert_array_equal(frozen.predict_interval(X), [[-np.inf, np.inf]] * 4)


def test_weights_may_have_any_shape_that_the_learner_takes() -> None:
    rng = np.random.default_rng(0)
    X = [{"x": x} for x in rng.normal(size=50).tolist()]
    y, w = rng.normal(size=50), rng.choice([0.5, 2.0], 50)
    states = []
    for weight in (w, w[:, None], pd.Series(w), w.tolist()):
        numbers, classes = river.ODCARegressor(), river.ODCAClassifier(loss="hinge")
        numbers.learn_many(X, y, weight)
        classes.learn_many(X, ["a" if each > 0.0 else "b" for each in y], weight)
        known = [each._model.uncertainty.native.numbers(steady=False).tobytes() for each in (numbers, classes)]
        states.append(known)
    assert all(each == states[0] for each in states)
