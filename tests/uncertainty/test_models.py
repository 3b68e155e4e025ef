"""Intervals and sets of every model, through every interface: one mechanism, the same bits, and the promises of all models."""

import copy
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import odca
from odca import AutoLearner, _core, river, sklearn
from odca.models.options import ModelOptions
from odca.stream.model import StreamModel
from stream_files import events as file_events
from stream_files import trained, vw, write

NUMBERS: dict[str, Any] = {
    "auto": river.AutoRegressor,
    "linear": river.ODCARegressor,
    "smoothed": lambda: river.ODCARegressor(rho=0.01),
    "counts": lambda: river.ODCARegressor(loss="poisson", rho=0.01),
}
CLASSES: dict[str, Any] = {
    "auto": river.AutoClassifier,
    "log loss": lambda: river.ODCAClassifier(rho=0.01),
    "hinge": lambda: river.ODCAClassifier(loss="hinge", rho=0.01),
}


def rows(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Numbers whose noise is three times as large in the second half."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    return X, X @ [1.0, -2.0, 0.0, 0.5] + rng.normal(size=n) * np.where(np.arange(n) < n // 2, 0.5, 1.5)


def labels(kind: str, n: int, seed: int = 0) -> tuple[np.ndarray, list[Any]]:
    X, y = rows(n, seed)
    if kind == "truths":
        return X, (y > 0.0).tolist()
    return X, ["abc"[k] for k in np.digitize(y, [-1.0, 1.0])]


def dictionaries(X: np.ndarray) -> list[dict[str, float]]:
    return [{f"x{j}": float(value) for j, value in enumerate(row)} for row in X]


def state(model: Any) -> list[bytes]:
    """What a model knows of its errors."""
    known = getattr(model, "_model", model).uncertainty
    return [known.native.numbers(steady=side).tobytes() for side in (False, True)]


# --- The mechanism behind automatic models ---


@pytest.mark.parametrize("task", ["numbers", "two classes", "several classes"])
def test_the_experts_track_the_errors_of_what_they_said(task: str) -> None:
    X, y = rows(1500)
    learner, tracked = AutoLearner("numbers"), _core.Uncertainty("numbers")
    if task == "numbers":
        said = learner.learn(X, y)
        tracked.add_numbers(y, said, None)
    else:
        codes = np.digitize(y, [0.0] if task == "two classes" else [-1.0, 1.0])
        learner, tracked = AutoLearner("classes", classes=int(codes.max()) + 1), _core.Uncertainty("classes")
        said = learner.learn(X, codes.astype(float))
        if said.ndim == 1:
            tracked.add_log_odds(np.where(codes == 1, said, -said), None)
        else:
            tracked.add_probabilities(np.exp(said[np.arange(len(codes)), codes]), None)
    own, wanted = learner.uncertainty.bounds(0.9, "live"), tracked.bounds(0.9, steady=False)
    np.testing.assert_allclose(own, wanted, rtol=1e-6)
    assert learner.uncertainty.events("live") == 1500


def test_the_steady_side_of_experts_is_about_frozen_models() -> None:
    """The labels jump at the end: the live answer follows, a model that was frozen before does not."""
    X, y = rows(4000)
    y[2100:] += 40.0
    learner = AutoLearner("numbers")
    learner.learn(X, y)
    known = learner.uncertainty
    live, steady = (np.ptp(known.bounds(0.9, answer)) for answer in ("live", "steady"))
    assert steady > 5.0 * live
    assert known.events("steady") == 4000 - 16


def test_a_label_that_comes_later_is_judged_by_what_was_said_when_it_was_asked_about() -> None:
    X, _ = rows(600)
    y = np.repeat(np.arange(30.0), 20)  # the labels before tell the next one, unless they come late
    at_once, late = AutoLearner("numbers"), AutoLearner("numbers")
    at_once.learn(X, y)
    kept = []
    for at in range(600):
        kept.append(late.ask(X[at : at + 1]))
        if at >= 40:
            late.learn(X[at - 40 : at - 39], y[at - 40 : at - 39], asked=kept[at - 40])
    assert np.ptp(late.uncertainty.bounds(0.9, "live")) > 2.0 * np.ptp(at_once.uncertainty.bounds(0.9, "live"))


def test_a_class_that_was_not_known_counts_as_missed() -> None:
    learner = AutoLearner("classes")
    X = np.ones((2000, 1))
    learner.learn(X, np.arange(2000.0) % 40 // 39 + (np.arange(2000) > 1000) * 0.0)
    before = learner.uncertainty.coverage_held(0.99)
    learner.learn(X[:1], [2.0])
    assert learner.uncertainty.coverage_held(0.99) < before


# --- Every interface ---


@pytest.mark.parametrize("kind", NUMBERS)
def test_one_event_at_a_time_and_many_give_the_same_intervals(kind: str) -> None:
    X, y = rows(400)
    y = np.round(np.abs(y)) if kind == "counts" else y
    weight = np.random.default_rng(1).choice([0.0, 1.0, 2.0], 400)
    one, many = NUMBERS[kind](), NUMBERS[kind]()
    for x, label, w in zip(dictionaries(X), y.tolist(), weight.tolist(), strict=True):
        one.learn_one(x, label, w)
    for at in np.split(np.arange(400), [1, 7, 300]):
        many.learn_many([dictionaries(X)[k] for k in at], y[at], weight[at])
    assert state(one) == state(many)
    for answer in ("live", "steady"):
        got = one.predict_interval_one({"x0": 1.0}, 0.8, answer=answer)
        assert got == many.predict_interval_one({"x0": 1.0}, 0.8, answer=answer)
        assert got.lower <= one.predict_one({"x0": 1.0}) <= got.upper or kind == "auto"
        assert kind != "counts" or got.lower >= 0.0


@pytest.mark.parametrize("of", ["truths", "three classes"])
@pytest.mark.parametrize("kind", CLASSES)
def test_one_event_at_a_time_and_many_give_the_same_sets(kind: str, of: str) -> None:
    X, y = labels(of, 1500)
    one, many = CLASSES[kind](), CLASSES[kind]()
    for x, label in zip(dictionaries(X), y, strict=True):
        one.learn_one(x, label)
    for at in np.split(np.arange(1500), [1, 2, 3, 40, 900]):
        many.learn_many([dictionaries(X)[k] for k in at], [y[k] for k in at])
    assert state(one) == state(many)
    for answer in ("live", "steady"):
        for x in dictionaries(X[:50]):
            assert one.predict_set_one(x, 0.9, answer=answer) == many.predict_set_one(x, 0.9, answer=answer)
    assert one.predict_set_one({"x0": 0.0}, 0.999) <= {*one.classes}


@pytest.mark.parametrize("kind", ["auto", "linear"])
def test_scikit_learn_and_river_give_the_same_intervals(kind: str) -> None:
    X, y = rows(500)
    ours = sklearn.AutoRegressor() if kind == "auto" else sklearn.ODCARegressor(rho=0.01, prior_strength=0.0)
    theirs = river.AutoRegressor() if kind == "auto" else river.ODCARegressor(rho=0.01, prior_strength=0.0)
    ours.partial_fit(X, y)
    theirs.learn_many(dictionaries(X), y)
    for answer in ("live", "steady"):
        got = ours.predict_interval(X[:1], 0.9, answer=answer)
        found = theirs.predict_interval_one(dictionaries(X[:1])[0], 0.9, answer=answer)
        if kind == "auto":
            np.testing.assert_allclose(got[0], [found.lower, found.upper], rtol=1e-9)
        assert got.shape == (1, 2)


@pytest.mark.parametrize("kind", ["auto", "linear"])
def test_nine_of_ten_labels_are_held_by_live_intervals_while_learning(kind: str) -> None:
    X, y = rows(3000)
    model = river.AutoRegressor() if kind == "auto" else river.ODCARegressor()
    held = []
    for x, label in zip(dictionaries(X), y.tolist(), strict=True):
        held.append(label in model.predict_interval_one(x, 0.9))
        model.learn_one(x, label)
    assert np.mean(held[100:]) == pytest.approx(0.9, abs=0.01)
    known = model._model.uncertainty
    # A linear model scales an event as seen when it learns it, and as not yet seen when it predicts it.
    assert known.coverage_held(0.9) == pytest.approx(np.mean(held), abs=1e-9 if kind == "auto" else 2e-3)


@pytest.mark.parametrize("estimator", [sklearn.AutoClassifier, lambda: sklearn.ODCAClassifier(loss="hinge")])
@pytest.mark.parametrize("of", ["truths", "three classes"])
def test_sets_of_scikit_learn_hold_the_classes_that_are_likely_enough(estimator: Any, of: str) -> None:
    X, y = labels(of, 3000)
    model = estimator().partial_fit(X[:2000], y[:2000])
    sets, p = model.predict_set(X[2000:], 0.95), model.predict_proba(X[2000:])
    assert sets.shape == p.shape
    assert sets.dtype == bool
    assert p[sets].min() >= p[~sets].max(initial=0.0)
    places = [model.classes_.tolist().index(label) for label in y[2000:]]
    assert sets[np.arange(1000), places].mean() == pytest.approx(0.95, abs=0.05)
    assert (model.predict_set(X[2000:], 0.5) <= sets).all()


def test_several_outputs_have_an_interval_each() -> None:
    X, y = rows(600)
    model = sklearn.ODCARegressor(rho=0.01).partial_fit(X, np.column_stack([y, 10.0 * y]))
    found = model.predict_interval(X[:5], 0.9)
    assert found.shape == (5, 2, 2)
    widths = np.diff(found[0], axis=1)[:, 0]
    assert widths[1] == pytest.approx(10.0 * widths[0], rel=0.05)


def test_several_labels_for_an_event_have_no_sets() -> None:
    X, y = rows(100)
    model = sklearn.ODCAClassifier().partial_fit(X, np.column_stack([y > 0, y > 1]).astype(int))
    with pytest.raises(ValueError, match="several labels per event"):
        model.predict_set(X)


def test_a_stream_model_gives_intervals_and_sets_of_its_blocks(tmp_path: Path) -> None:
    data = write(tmp_path / "data.vw", [vw(each, label="score") for each in file_events(400)])
    classes = write(tmp_path / "classes.vw", [vw(each) for each in file_events(400)])
    for options in (ModelOptions(task="numbers", auto="events"), ModelOptions(task="numbers")):
        model = trained(data, options)
        with odca.stream.open(data, schema=model.schema, vocabulary=model.vocabulary, grow=False) as stream:
            block = next(iter(stream))
        for answer in ("live", "steady"):
            found = model.predict_interval(block, 0.9, answer=answer)
            assert found.shape == (len(block), 2)
            assert (found[:, 0] < found[:, 1]).all()
        with pytest.raises(ValueError, match="use intervals"):
            model.predict_set(block)
    model = trained(classes, ModelOptions(task="classes"))
    with odca.stream.open(classes, schema=model.schema, vocabulary=model.vocabulary, grow=False) as stream:
        block = next(iter(stream))
    assert model.predict_set(block, 0.9).shape == (len(block), 2)
    with pytest.raises(ValueError, match="use sets"):
        model.predict_interval(block)


# --- Files, copies, merging, freezing ---


@pytest.mark.parametrize("how", ["file", "pickle", "deepcopy", "clone"])
@pytest.mark.parametrize("name", [*NUMBERS, *(f"{kind}, {of}" for kind in CLASSES for of in ("truths", "abc"))])
def test_a_river_model_that_was_saved_goes_on_with_the_same_bits(name: str, how: str, tmp_path: Path) -> None:
    X, y = rows(300)
    if name in NUMBERS:
        model, y = NUMBERS[name](), np.round(np.abs(y)).tolist()
    else:
        model, (_, y) = CLASSES[name.split(", ", maxsplit=1)[0]](), labels(name.split(", ")[1], 300)
    for x, label in zip(dictionaries(X[:150]), y[:150], strict=True):
        model.learn_one(x, label)
    if how == "file":
        model.save(tmp_path / "model.safetensors")
        twin = type(model).load(tmp_path / "model.safetensors")
    else:
        twin = {
            "pickle": lambda: pickle.loads(pickle.dumps(model)),
            "deepcopy": lambda: copy.deepcopy(model),
            "clone": lambda: model.clone(include_attributes=True),
        }[how]()
    for each in (model, twin):
        for x, label in zip(dictionaries(X[150:]), y[150:], strict=True):
            each.learn_one(x, label)
    assert state(model) == state(twin)


@pytest.mark.parametrize(
    "make",
    [
        sklearn.AutoRegressor,
        sklearn.ODCARegressor,
        sklearn.AutoClassifier,
        lambda: sklearn.ODCAClassifier(loss="hinge"),
    ],
)
def test_an_estimator_that_was_saved_goes_on_with_the_same_bits(make: Any, tmp_path: Path) -> None:
    X, y = rows(400)
    model = make()
    y = y if "Regressor" in type(model).__name__ else np.array(labels("abc", 400)[1])
    model.partial_fit(X[:200], y[:200])
    model.save(tmp_path / "model.safetensors")
    loaded, pickled = type(model).load(tmp_path / "model.safetensors"), pickle.loads(pickle.dumps(model))
    for each in (model, loaded, pickled):
        each.partial_fit(X[200:], y[200:])
    assert state(model) == state(loaded) == state(pickled)


@pytest.mark.parametrize("options", [{"auto": "events"}, {"rho": 0.01, "scale": False}])
@pytest.mark.parametrize("task", ["numbers", "classes"])
def test_a_stream_model_is_saved_and_merged_with_its_errors(task: str, options: dict[str, Any], tmp_path: Path) -> None:
    label = {"label": "score"} if task == "numbers" else {}
    halves = [
        write(tmp_path / f"{part}.vw", [vw(each, **label) for each in file_events(600)[part::2]]) for part in (0, 1)
    ]
    one, other = (trained(half, ModelOptions(task=task, **options)) for half in halves)
    one.save(tmp_path / "one.safetensors")
    assert state(StreamModel.load(tmp_path / "one.safetensors").model) == state(one.model)
    merged = one.merge(other).uncertainty
    assert merged.events("live") == 600
    ends = [each.uncertainty.native.bounds(0.9, steady=False)[1] for each in (one, other)]
    assert min(ends) * 0.8 <= merged.native.bounds(0.9, steady=False)[1] <= max(ends) * 1.2


def test_parts_of_a_model_merge_to_its_intervals() -> None:
    X, y = rows(1000)
    learner = AutoLearner("numbers")
    learner.learn(X, y)
    one, other, third = learner.split(3)
    merged = one.merge(other).merge(third)
    for answer in ("live", "steady"):
        for coverage in (0.5, 0.9, 0.99):
            np.testing.assert_allclose(
                merged.uncertainty.bounds(coverage, answer), learner.uncertainty.bounds(coverage, answer), rtol=1e-9
            )


def test_a_frozen_model_has_the_steady_intervals() -> None:
    X, y = rows(2000)
    auto = sklearn.AutoRegressor(shuffle=False).fit(X, y)
    frozen = auto.freeze()
    np.testing.assert_allclose(frozen.predict_interval(X[:9]), auto.predict_interval(X[:9]), rtol=1e-9)
    for make, labels_ in ((river.AutoRegressor, y.tolist()), (river.AutoClassifier, labels("truths", 2000)[1])):
        model = make()
        model.learn_many(dictionaries(X), labels_)
        twin = model.freeze()
        known = twin._model.uncertainty
        wanted = model.events.learner.uncertainty.native.bounds(0.9, steady=True)
        np.testing.assert_allclose(known.native.bounds(0.9, steady=True), wanted, rtol=1e-9)
        twin.learn_one({"x0": 1.0}, labels_[0])
        assert known.events("live") == model.events.learner.uncertainty.events("steady") + 1


# --- Refusals ---


def test_a_refused_call_leaves_no_trace() -> None:
    X, y = rows(200)
    for model in (river.AutoRegressor(), river.ODCARegressor(rho=0.01)):
        model.learn_many(dictionaries(X), y)
        before = state(model)
        with pytest.raises(ValueError, match=r"."):
            model.learn_many([*dictionaries(X[:3]), {"x0": float("inf")}], [1.0] * 4)
        with pytest.raises(ValueError, match=r"."):
            model.learn_one({"x0": 1.0}, float("nan"))
        assert state(model) == before


@pytest.mark.parametrize("make", [sklearn.ODCARegressor, sklearn.ODCAClassifier])
def test_a_model_that_was_fitted_to_all_events_at_once_says_that_it_knows_no_errors(make: Any) -> None:
    X, y = rows(100)
    model = make().fit(X, y if make is sklearn.ODCARegressor else y > 0.0)
    ask = model.predict_interval if make is sklearn.ODCARegressor else model.predict_set
    with pytest.raises(ValueError, match="does not know how far its predictions were from the truth"):
        ask(X)
    model.partial_fit(X[:50], (y if make is sklearn.ODCARegressor else y > 0.0)[:50])
    ask(X)


@pytest.mark.parametrize("name", ["auto_v0_numbers", "auto_v1_numbers"])
def test_a_file_from_before_intervals_loads_and_says_that_it_knows_no_errors(name: str) -> None:
    learner = AutoLearner.load(Path(__file__).parents[1] / "data" / f"{name}.safetensors")
    assert learner.count > 0
    assert learner.uncertainty.events("live") == learner.uncertainty.events("steady") == 0
    X, y = rows(100)
    learner.learn(np.pad(X, ((0, 0), (0, max(learner.n_features - 4, 0)))), y)
    assert learner.uncertainty.events("live") == 100


def test_before_the_first_event_nothing_is_ruled_out() -> None:
    assert river.AutoRegressor().predict_interval_one({"a": 1.0}).lower == -np.inf
    assert river.ODCARegressor().predict_interval_one({"a": 1.0}).upper == np.inf
    assert river.AutoClassifier().predict_set_one({"a": 1.0}) == set()
    assert river.ODCAClassifier().predict_set_one({"a": 1.0}) == set()
    model = river.AutoClassifier()
    model.learn_many([{"a": 1.0}, {"a": 2.0}], ["x", "y"])
    assert model.predict_set_one({"a": 1.0}) == {"x", "y"}
