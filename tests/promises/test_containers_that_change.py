"""Values that run Python code while they are read: what holds them may change meanwhile, and nothing crashes or stays behind."""

from collections.abc import Callable
from typing import Any

import pytest

from odca import EventLearner, SquaredError, river
from odca.models.auto_events import AutoEvents

MODELS: dict[str, Callable[[], Any]] = {
    "plain": lambda: EventLearner(loss=SquaredError(), rho=0.1),
    "automatic": lambda: AutoEvents("numbers"),
    "plain, river": river.ODCARegressor,
    "automatic, river": river.AutoRegressor,
}


class Does:
    """A number, a name and a truth that do something when they are read."""

    def __init__(self, does: Callable[[], object]) -> None:
        self.does = does

    def __float__(self) -> float:
        self.does()
        return 1.0

    def __index__(self) -> int:
        self.does()
        return 7

    def __hash__(self) -> int:
        return 7

    def __eq__(self, other: object) -> bool:
        return self is other


def fail() -> None:
    raise ZeroDivisionError


def features(model: Any) -> list[Any]:
    found: list[Any] = (model.events if hasattr(model, "events") else model).features
    return found


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("place", ["name", "value", "nested value", "list", "nested list"])
def test_an_event_that_is_emptied_while_it_is_read_is_refused_or_read_before(kind: str, place: str) -> None:
    model = MODELS[kind]()
    event: dict[Any, Any] = {}
    inner: dict[str, Any] = {}
    items: list[Any] = []

    def empty() -> None:
        event.clear(), inner.clear(), items.clear()

    inner |= {"x": Does(empty), **{f"n{k}": f"{k}" for k in range(50)}}
    items += [Does(empty), *(f"{k}" for k in range(50)), {"deep": 1.0}]
    event |= {
        "name": lambda: {Does(empty): "x"},
        "value": lambda: {"a": Does(empty)},
        "nested value": lambda: {"a": inner},
        "list": lambda: {"a": items},
        "nested list": lambda: {"a": {"b": [items, items]}},
    }[place]()
    event |= {f"more{k}": float(k) for k in range(50)} | {f"text{k}": f"{k}" for k in range(50)}
    with pytest.raises(ValueError, match="changed while it was read"):
        model.learn_one(event, 1.0)
    assert features(model) == []
    model.learn_one({"a": 1.0}, 1.0)
    assert features(model) == ["a"]


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize(
    "event", [{Does(fail): 1.0}, {"a": Does(fail)}, {"a": {"b": [Does(fail)]}}], ids=["name", "value", "list"]
)
def test_what_a_value_raises_is_raised(kind: str, event: dict[Any, Any]) -> None:
    model = MODELS[kind]()
    with pytest.raises(ZeroDivisionError):
        model.learn_one({"new": 1.0} | event, 1.0)
    with pytest.raises(ZeroDivisionError):
        model.predict_one(event)
    assert features(model) == []


def test_a_truth_that_cannot_be_read_is_an_error() -> None:
    truth = type("numpy.bool_", (), {"__bool__": lambda _: fail()})()
    with pytest.raises(ZeroDivisionError):
        MODELS["plain"]().learn_one({"a": truth}, 1.0)


@pytest.mark.parametrize("change", [list.clear, lambda y: y.append(1.0)], ids=["emptied", "grown"])
def test_labels_that_change_while_they_are_read_are_refused(change: Callable[[list[Any]], object]) -> None:
    model = EventLearner(loss=SquaredError(), rho=0.1, lanes=2)
    y: list[Any] = []
    y += [Does(lambda: change(y)), Does(lambda: change(y))]
    with pytest.raises(ValueError, match="y changed while it was read"):
        model.learn_one({"a": 1.0}, y)
    assert model.features == []


@pytest.mark.parametrize("kind", MODELS)
def test_a_value_may_ask_the_model_but_not_teach_it(kind: str) -> None:
    model = MODELS[kind]()
    model.learn_one({"a": 1.0}, 1.0)
    model.learn_one({"a": Does(lambda: model.predict_one({"a": 1.0, "never": 2.0}))}, 1.0)
    with pytest.raises(ValueError, match="from inside its own call"):
        model.learn_one({"b": Does(lambda: model.learn_one({"c": 1.0}, 1.0))}, 1.0)
    assert features(model) == ["a"]
