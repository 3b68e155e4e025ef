"""The native fast paths of the estimators for river: what they do is what the methods behind them do, and Python sees methods."""

import copy
import inspect
import pickle
import threading
from types import SimpleNamespace
from unittest import mock

import numpy as np
import pytest

from odca import EventLearner, SquaredError
from odca.river import AutoClassifier, AutoRegressor, ODCAClassifier, ODCARegressor

ESTIMATORS = [ODCAClassifier, ODCARegressor]


def a_stream(estimator: type, count: int = 150) -> list[tuple[dict, object]]:
    rng = np.random.default_rng(5)
    events = [{"a": float(a), "b": "xyz"[int(3 * b)], "c": 1e3 * b} for a, b in rng.random((count, 2))]
    return [(x, x["a"] > 0.5 if estimator is ODCAClassifier else x["a"]) for x in events]


@pytest.mark.parametrize("options", [{}, {"scale": False, "smoothing": 0.0}, {"window": 50, "bits": 6}], ids=str)
@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_the_fast_path_gives_the_same_result_as_the_method(estimator, options) -> None:
    short, long = estimator(**options), estimator(**options)
    for x, y in a_stream(estimator):
        assert short.predict_one(x) == long.predict_one(x, offset=0.0)
        assert type(short.predict_one(x)) is type(long.predict_one(x, offset=0.0))
        assert short.learn_one(x, y) is None
        long.learn_one(x, y, w=1.0)
    assert short._fast is not None
    assert short.events == long.events


def of_classes(labels: tuple) -> list[tuple[dict, object]]:
    return [(x, labels[int(len(labels) * x["a"])]) for x, _ in a_stream(ODCARegressor, 200)]


@pytest.mark.parametrize(
    "labels", [("only",), (False, True), ("no", "yes"), (3, 1, 2), ("a", 2.5, "c", "d", 7)], ids=str
)
@pytest.mark.parametrize(
    "make",
    [ODCAClassifier, lambda: ODCAClassifier("hinge"), lambda: ODCAClassifier(rho=1e-3, window=30), AutoClassifier],
    ids=["defaults", "calibrated", "sliding", "automatic"],
)
def test_classes_are_learned_and_predicted_as_by_the_methods(make, labels) -> None:
    short, long = make(), make()
    for x, y in of_classes(labels):
        assert short.predict_one(x) == long.predict_one(x, time=None)
        p, q = short.predict_proba_one(x), long.predict_proba_one(x, time=None)
        assert (list(p), [type(each) for each in p]) == (list(q), [type(each) for each in q])
        assert list(p.values()) == list(q.values())
        assert sum(p.values()) == pytest.approx(1.0) or not p
        short.learn_one(x, y)
        long.learn_one(x, y, w=1.0)
    assert short.classes == long.classes
    assert pickle.dumps(short.saved()) == pickle.dumps(long.saved())


def test_automatic_numbers_are_learned_and_predicted_as_by_the_methods() -> None:
    short, long = AutoRegressor(), AutoRegressor()
    for x, y in a_stream(ODCARegressor):
        assert short.predict_one(x) == long.predict_one(x, time=None)
        short.learn_one(x, y)
        long.learn_one(x, y, w=1.0)
    assert pickle.dumps(short.saved()) == pickle.dumps(long.saved())


@pytest.mark.parametrize("make", [ODCAClassifier, AutoClassifier])
@pytest.mark.parametrize("y", [float("nan"), [1], None])
def test_refused_labels_are_refused_in_the_words_of_the_method(make, y) -> None:
    model = make()
    for x, label in of_classes(("a", "b", "c")):
        model.learn_one(x, label)
    before = pickle.dumps(model.saved())
    with pytest.raises((ValueError, TypeError)) as short:
        model.learn_one({"a": 1.0}, y)
    with pytest.raises((ValueError, TypeError)) as long:
        model.learn_one({"a": 1.0}, y, w=1.0)
    assert (type(short.value), str(short.value)) == (type(long.value), str(long.value))
    assert pickle.dumps(model.saved()) == before


def test_an_event_that_is_learned_while_a_class_appears_is_not_lost() -> None:
    model = ODCAClassifier()
    stream = of_classes(("a", "b", "c"))
    for x, y in stream:
        model.learn_one(x, y)

    def learn(first: int) -> None:
        for k, (x, y) in enumerate(stream):
            model.learn_one(x, f"{first}-{k}" if k % 40 == 0 else y)

    threads = [threading.Thread(target=learn, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert model.events.learner.count == 5 * len(stream)
    assert len(model.classes) == 3 + 4 * 5


def test_an_event_that_changes_while_it_is_read_is_learned_as_it_was_read() -> None:
    """Numbers of types of their own run Python code, which may use the model."""

    class Reading(float):
        def __float__(self) -> float:
            model.predict_one({"a": 1.0})
            model.predict_proba_one({"a": 1.0})
            return 2.0

    for model, plain in ((ODCAClassifier(), ODCAClassifier()), (AutoClassifier(), AutoClassifier())):
        for x, y in of_classes(("a", "b", "c"))[:20]:
            model.learn_one(x | {"d": Reading(2.0)}, y)
            plain.learn_one(x | {"d": 2.0}, y)
        assert model.predict_proba_one({"d": Reading(2.0)}) == plain.predict_proba_one({"d": 2.0})


@pytest.mark.parametrize("label", [np.True_, np.float64(0.5), 1])
def test_labels_of_other_types_take_the_general_path(label) -> None:
    estimator = ODCAClassifier if isinstance(label, np.bool_) else ODCARegressor
    one, other = estimator(), estimator()
    for _ in range(3):
        one.learn_one({"a": 1.0}, label)
        other.learn_one({"a": 1.0}, bool(label) if estimator is ODCAClassifier else float(label))
    assert one.events == other.events


def test_several_lanes_take_the_general_path() -> None:
    model = ODCARegressor()
    model._use(EventLearner(loss=SquaredError(), rho=0.1, lanes=2))
    model.learn_one({"a": 1.0}, 1.0)
    assert model.predict_one({"a": 1.0}).shape == (2,)


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_the_fast_path_looks_like_a_method(estimator) -> None:
    for name, given in (
        ("learn_one", ["x", "y", "w", "offset", "time"]),
        ("predict_one", ["x", "offset", "id", "time"]),
    ):
        method, bound = getattr(estimator, name), getattr(estimator(), name)
        assert list(inspect.signature(method).parameters) == ["self", *given]
        assert list(inspect.signature(bound).parameters) == given
        assert inspect.isroutine(method)
        assert inspect.ismethod(bound)
        assert (method.__name__, method.__qualname__) == (name, f"{estimator.__name__}.{name}")
        assert method.__module__ == estimator.__module__
        assert method.__doc__
        assert getattr(method, "__wrapped__").__doc__ == method.__doc__  # noqa: B009 - not known to type checkers
        with pytest.raises(TypeError, match=rf"{estimator.__name__}\.{name}\(\) missing"):
            bound()
        with pytest.raises(TypeError, match="positional"):
            bound({}, 1.0, 1.0, 1.0)


def test_methods_with_a_fast_path_can_be_overridden_and_replaced() -> None:
    class Counting(ODCAClassifier):
        learned = 0

        def learn_one(self, x, y, **more) -> None:
            self.learned += 1
            super().learn_one(x, y, **more)

    model, plain = Counting(), ODCAClassifier()
    for x, y in a_stream(ODCAClassifier):
        model.learn_one(x, y)
        plain.learn_one(x, y)
    assert (model.learned, model.events) == (150, plain.events)
    with mock.patch.object(plain, "predict_one", return_value="mine"):
        assert plain.predict_one({}) == "mine"
    with mock.patch.object(ODCAClassifier, "predict_one", return_value="ours"):
        assert plain.predict_one({}) == "ours"
    assert plain.predict_one({"a": 1.0}) is True


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_copies_and_bound_methods_outlive_the_original(estimator) -> None:
    model = estimator()
    for x, y in a_stream(estimator)[:50]:
        model.learn_one(x, y)
    x = {"a": 0.7, "b": "x"}
    learn, predict = pickle.loads(pickle.dumps((model.learn_one, model.predict_one)))
    twin = copy.deepcopy(model)
    for each in a_stream(estimator)[50:]:
        model.learn_one(*each)
        learn(*each)
        twin.learn_one(*each)
    assert predict(x) == model.predict_one(x)
    assert learn.__self__.events == model.events == twin.events
    assert twin._fast is not model._fast


def test_the_fast_path_refuses_other_objects_like_the_method() -> None:
    for short in (None, 3, mock.Mock(), ODCARegressor().events):
        with pytest.raises(AttributeError, match="_events"):
            ODCARegressor.predict_one(SimpleNamespace(_fast=short), {"a": 1.0})
    with pytest.raises(AttributeError, match="_fast"):
        ODCARegressor.predict_one(object(), {"a": 1.0})


@pytest.mark.parametrize(
    ("x", "error"),
    [({"a": np.inf}, ValueError), ({"a": b""}, TypeError), ({"": 1.0}, ValueError), (3, TypeError), (None, TypeError)],
    ids=str,
)
@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_a_refused_call_on_the_fast_path_changes_nothing(estimator, x, error) -> None:
    model = estimator()
    for event in a_stream(estimator)[:50]:
        model.learn_one(*event)
    before = model.events.copy()
    y = a_stream(estimator)[0][1]
    with pytest.raises(error) as short:
        model.learn_one(x if not isinstance(x, dict) else {"new": 1.0, **x}, y)
    with pytest.raises(error) as long:
        model.learn_one(x if not isinstance(x, dict) else {"new": 1.0, **x}, y, w=1.0)
    assert str(short.value) == str(long.value)
    with pytest.raises(error):
        model.predict_one(x)
    assert model.events == before


def test_an_error_raised_by_a_number_propagates() -> None:
    class Broken:
        def __float__(self) -> float:
            raise ZeroDivisionError("no number")

    model = ODCARegressor()
    model.learn_one({"a": 1.0}, 1.0)
    with pytest.raises(ZeroDivisionError, match="no number"):
        model.learn_one({"a": Broken()}, 1.0)
    with pytest.raises(ZeroDivisionError, match="no number"):
        model.predict_one({"a": Broken()})


def test_several_threads_may_use_the_fast_path() -> None:
    model = ODCARegressor(rho=0.1)

    def serve(thread: int) -> None:
        for _ in range(300):
            model.predict_one({f"t{thread}": 1.0})
            model.learn_one({f"t{thread}": 1.0}, 1.0)

    threads = [threading.Thread(target=serve, args=(thread,)) for thread in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert model.events.learner.count == 1200
    assert len(model.events.features) == 4
