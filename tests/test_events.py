"""Events as dictionaries: the model of the same numbers in an array; names and model change together or not at all."""

import copy
import enum
import math
import pickle
import subprocess
import sys
from collections import OrderedDict, UserDict
from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from odca import (
    KL,
    ElasticNet,
    EventLearner,
    Exponential,
    HalfLife,
    Hinge,
    Huber,
    Learner,
    LogLoss,
    Sliding,
    SquaredError,
)
from streams import KAPPAS, PENALTIES, WINDOWS, Stream, assert_same_bits, make_stream, options, window_name


def a_model(**changes: Any) -> EventLearner:
    return EventLearner(**({"loss": SquaredError(), "rho": 0.1, "scale": False} | changes))


def as_events(X: Any) -> list[dict[str, float]]:
    """Each row as the names and values of what it stores."""
    X = sp.csr_array(X)
    rows = [slice(a, b) for a, b in zip(X.indptr[:-1], X.indptr[1:], strict=True)]
    return [{f"f{j}": float(h) for j, h in zip(X.indices[row], X.data[row], strict=True)} for row in rows]


def one_by_one(model: EventLearner, stream: Stream, first: int = 0) -> list[float]:
    return [
        model.learn_one(event, y, weight=weight, offset=offset, time=time)
        for event, y, weight, offset, time in list(
            zip(as_events(stream.X), stream.y, stream.sample_weight, stream.offset, stream.time, strict=True)
        )[first:]
    ]


def many(model: EventLearner, stream: Stream) -> Any:
    extras = {"sample_weight": stream.sample_weight, "offset": stream.offset, "time": stream.time}
    return model.learn_many(as_events(stream.X), stream.y, **extras)


# The same model


@pytest.mark.parametrize("kappa", KAPPAS)
@pytest.mark.parametrize("window", WINDOWS, ids=window_name)
@pytest.mark.parametrize("penalty", PENALTIES, ids=lambda penalty: penalty.name)
def test_dictionaries_give_the_same_model_as_the_array(penalty: Any, window: Any, kappa: float) -> None:
    intercept = kappa == 0.5 and not isinstance(penalty, KL)
    keywords = options(loss=Huber(1.0), penalty=penalty, window=window, smoothing=kappa, intercept=intercept)
    stream = make_stream(Huber(1.0), 150, seed=31)
    array, events = Learner(**keywords), EventLearner(**({"intercept": False, "scale": False} | keywords))
    expected = stream.into(array)
    np.testing.assert_allclose(one_by_one(events, stream), expected, rtol=1e-11, atol=1e-12)
    coef = array.smoothed_coef if kappa else array.coef
    weights = events.weights()
    assert math.isclose(weights.pop("", 0.0), array.smoothed_intercept if kappa else array.intercept, abs_tol=1e-12)
    for name, weight in weights.items():
        assert abs(weight - coef[int(name[1:])]) <= 1e-12 * max(1.0, np.abs(coef).max())
    np.testing.assert_allclose(events.predict_many(as_events(stream.X)), array.predict(stream.X), atol=1e-12)


@pytest.mark.parametrize("kappa", [0.0, 0.9])
@pytest.mark.parametrize("window", WINDOWS, ids=window_name)
def test_features_in_the_order_of_the_columns_give_the_same_bits(window: Any, kappa: float) -> None:
    keywords = options(loss=LogLoss(), penalty=ElasticNet(0.01), window=window, smoothing=kappa, intercept=True)
    stream = make_stream(LogLoss(), 200, seed=32, sparse=False)
    stream = stream.with_(X=sp.csr_array(stream.X))
    array, events = Learner(**keywords), EventLearner(**({"scale": False} | keywords))
    assert stream.into(array).tolist() == one_by_one(events, stream)
    assert_same_bits(array, events.learner)


@pytest.mark.parametrize("kappa", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("window", WINDOWS, ids=window_name)
@pytest.mark.parametrize("bits", [None, 3])
def test_learn_many_gives_the_same_bits_as_learn_one(window: Any, kappa: float, bits: int | None) -> None:
    keywords = {"loss": Huber(1.0), "rho": 0.05, "window": window, "smoothing": kappa, "intercept_penalty": 0.1}
    stream = make_stream(Huber(1.0), 300, seed=33, features=40)  # names go on appearing
    one, all_ = EventLearner(**keywords, bits=bits), EventLearner(**keywords, bits=bits)
    assert one_by_one(one, stream) == many(all_, stream).tolist()
    assert one.features == all_.features
    assert_same_bits(one.learner, all_.learner)
    assert one == all_


EVENTS = st.lists(
    st.dictionaries(
        st.sampled_from("abcdefgh"),
        st.one_of(st.floats(-9, 9), st.none(), st.booleans(), st.sampled_from(["x", "y", ""])),
        max_size=5,
    ),
    max_size=12,
)


@settings(deadline=None, max_examples=200)
@given(EVENTS, EVENTS, st.sampled_from(["ignore", "indicate"]), st.sampled_from([None, 2, 20]), st.data())
def test_any_split_gives_the_same_model(
    first: list[Any], second: list[Any], missing: Any, bits: int | None, data: st.DataObject
) -> None:
    keywords = {"missing": missing, "bits": bits, "window": Exponential(0.9), "smoothing": 0.9}
    one, other = a_model(**keywords), a_model(**keywords)
    events = first + second
    y = [float(n % 3) for n in range(len(events))]
    margins = [one.learn_one(event, label) for event, label in zip(events, y, strict=True)]
    cut = data.draw(st.integers(0, len(events)))
    theirs = [*other.learn_many(events[:cut], y[:cut]), *other.copy().learn_many(events[cut:], y[cut:])]
    other = pickle.loads(pickle.dumps(other))
    other.learn_many(iter(events[cut:]), y[cut:])
    assert margins == theirs
    assert one == other
    for event in events:
        assert math.isclose(sum(one.explain_one(event).values()), one.predict_one(event), abs_tol=1e-12)


def test_the_order_of_the_names_makes_no_difference() -> None:
    rng = np.random.default_rng(34)
    forth, back = a_model(), a_model()
    names = list("abcdefghij")
    for _ in range(100):
        event = {name: rng.normal() for name in names if rng.random() < 0.7}
        forth.learn_one(event, 1.0)
        back.learn_one(dict(reversed(event.items())), 1.0)
    assert forth.weights().keys() == back.weights().keys()
    for name, weight in forth.weights().items():
        assert abs(weight - back.weights()[name]) < 1e-12


# What an event may hold


class Text(str):
    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        raise AssertionError("a string of the caller's own type is never asked")

    __hash__ = str.__hash__


class Colour(str, enum.Enum):  # noqa: UP042 - what str() of it says differs from its text
    RED = "red"


@pytest.mark.parametrize(
    ("value", "same_as"),
    [
        (True, 1.0),
        (False, 0.0),
        (3, 3.0),
        (np.float64(0.5), 0.5),
        (np.float32(0.5), 0.5),
        (np.int8(-3), -3.0),
        (np.bool_(True), 1.0),
        (np.array(2.5), 2.5),
        (Decimal("0.25"), 0.25),
        (Fraction(1, 4), 0.25),
        (Decimal("nan"), None),
        (pd.NA, None),
        (np.float32("nan"), math.nan),
        (np.str_("red"), "red"),
        (Text("red"), "red"),
        (Colour.RED, "red"),
    ],
    ids=repr,
)
@pytest.mark.parametrize("missing", ["ignore", "indicate"])
@pytest.mark.parametrize("bits", [None, 10])
def test_each_type_of_value_becomes_the_documented_feature(
    value: object, same_as: object, missing: Any, bits: int | None
) -> None:
    one, other = (a_model(missing=missing, bits=bits) for _ in range(2))
    one.learn_one({"a": value, "b": 1.0}, 1.0)
    other.learn_one({"a": same_as, "b": 1.0}, 1.0)
    assert one == other
    one.predict_one({"a": value}, id=1)
    other.predict_one({"a": same_as}, id=1)
    assert one == other


def test_pandas_na_is_recognised_without_importing_pandas() -> None:
    with pytest.raises(ValueError, match="'a' is missing"):
        a_model(missing="error").learn_one({"a": pd.NA}, 1.0)
    frame = pd.DataFrame({"a": pd.array([1.0, pd.NA], dtype="Float64")})
    one, other = a_model(), a_model()
    one.learn_many(frame, [1.0, 2.0])
    other.learn_many([{"a": 1.0}, {"a": None}], [1.0, 2.0])
    assert one == other
    code = """
import sys
from odca import EventLearner, SquaredError
try:
    EventLearner(loss=SquaredError(), rho=0.1).learn_one({"a": object()}, 1.0)
except TypeError as error:
    print("'a' is of type object" in str(error), "pandas" in sys.modules)
"""
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert said.stdout.split() == ["True", "False"]


def test_names_that_are_not_strings_count_as_their_text() -> None:
    model = a_model()
    model.learn_one({Text("a"): 1.0, np.str_("b"): 2.0, 3: 1.0, np.int64(4): 1.0, -5: 1.0, Colour.RED: "x"}, 1.0)
    assert model.features == ["a", "b", "3", "4", "-5", ("red", "x")]
    assert all(type(feature) in {str, tuple} for feature in model.features)
    model.learn_one({3: 1.0, "3": 1.0}, 1.0)
    assert len(model.features) == 6
    assert sum(model.explain_one({3: 1.0, "3": 2.0}).values()) == pytest.approx(model.predict_one({"3": 3.0}))


def test_any_mapping_is_an_event() -> None:
    model = a_model()
    model.learn_one({"a": 1.0, "b": "x"}, 1.0)
    for event in (OrderedDict(a=1.0, b="x"), UserDict(a=1.0, b="x")):
        assert model.predict_one(event) == model.predict_one({"a": 1.0, "b": "x"})


def test_a_name_with_an_equals_sign_is_not_a_category() -> None:
    model = a_model()
    model.learn_one({"a=b": 1.0, "a": "b", "c": ""}, 1.0)
    model.learn_one({"a": "b"}, -1.0)
    assert model.features == ["a=b", ("a", "b"), ("c", None)]
    assert list(model.weights()) == ["", "a=b", "a==b", "c is missing"]
    assert list(model.explain_one({"a": "b"})) == ["", "a=b"]
    assert model.weights()["a=b"] != model.weights()["a==b"]


def test_predicting_ignores_unknown_names_and_does_not_add_them() -> None:
    model = a_model()
    model.learn_one({"a": 1.0}, 1.0)
    before = model.copy()
    assert model.predict_one({"a": 1.0, "new": 5.0, "b": "x"}) == model.predict_one({"a": 1.0})
    assert model.predict_many([{"new": 5.0}]).tolist() == [model.learner.intercept]
    assert model.explain_one({"new": 5.0, "b": "x"}) == {"": model.learner.intercept, "new": 0.0, "b=x": 0.0}
    assert model == before
    assert model.features == ["a"]


def test_missing_values_are_ignored_indicated_or_refused() -> None:
    for nothing in (None, math.nan, "", "NA", "nan", "null", "?"):
        model = a_model(missing="ignore")
        model.learn_one({"a": nothing, "b": 1.0}, 1.0)
        assert model.features == ["b"]
        model = a_model(missing="indicate")
        model.learn_one({"a": nothing, "b": 1.0}, 1.0)
        model.learn_one({"a": "x"}, 1.0)
        assert model.features == [("a", None), "b", ("a", "x")]
        assert list(model.weights()) == ["", "a is missing", "b", "a=x"]
        with pytest.raises(ValueError, match=r"'a' is missing. .*\(`missing`\)"):
            a_model(missing="error").learn_one({"a": nothing}, 1.0)


# What is refused


class Troublesome:
    """A number that does something when it is read."""

    def __init__(self, does: Callable[[], object]) -> None:
        self.does = does

    def __float__(self) -> float:
        self.does()
        return 1.0


def fails() -> None:
    raise ZeroDivisionError("of the caller's own")


REFUSED: dict[str, tuple[Any, Any, type[Exception], str]] = {
    "inf": ({"new": 1.0, "b": math.inf}, 1.0, ValueError, "'b' must be finite; got inf"),
    "a huge whole number": ({"new": 1.0, "b": 10**400}, 1.0, ValueError, "'b' is too large"),
    "an overflow": ({"new": 1e200, "b": 1e200}, 1.0, ValueError, "overflow"),
    "bytes": ({"new": 1.0, "b": b"1"}, 1.0, TypeError, "'b' is of type bytes"),
    "a set": ({"new": 1.0, "b": {1.0}}, 1.0, TypeError, "'b' is of type set"),
    "bytes in a list": ({"new": 1.0, "b": [1.0, b"1"]}, 1.0, TypeError, "'b.1' is of type bytes"),
    "a complex number": ({"new": 1.0, "b": 1j}, 1.0, TypeError, "'b' is of type complex"),
    "a name that is none": ({"new": 1.0, None: 1.0}, 1.0, TypeError, "a name must be a string.*NoneType"),
    "a name that is true": ({"new": 1.0, True: 1.0}, 1.0, TypeError, "a name must be a string.*bool"),
    "a name of bytes": ({"new": 1.0, b"b": 1.0}, 1.0, TypeError, "a name must be a string.*bytes"),
    "an empty name": ({"new": 1.0, "": 1.0}, 1.0, ValueError, "without a name"),
    "a name that is no text": ({"new": 1.0, "\ud800": 1.0}, 1.0, ValueError, "UTF-8"),
    "a category that is no text": ({"new": "y", "b": "\ud800"}, 1.0, ValueError, "UTF-8"),
    "a label": ({"new": "y", "b": 1.0}, math.nan, ValueError, "label|finite|y"),
    "a text as a label": (
        {"new": "y", "b": 1.0},
        "late",
        TypeError,
        "a label must be a number; got 'late'. .*ODCAClassifier",
    ),
    "no label": ({"new": "y", "b": 1.0}, None, TypeError, "number"),
    "no event": (["new"], 1.0, TypeError, "an event must be a dictionary"),
    "a text": ("new", 1.0, TypeError, "an event must be a dictionary"),
    "nothing": (None, 1.0, TypeError, "an event must be a dictionary"),
    "the caller's own": ({"new": 1.0, "b": Troublesome(fails)}, 1.0, ZeroDivisionError, "own"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_refused_event_changes_neither_model_nor_names(name: str) -> None:
    event, y, error, message = REFUSED[name]
    model = a_model(smoothing=0.9, window=Sliding(5))
    model.learn_many([{"a": 1.0, "c": "x"}, {"b": 2.0}], [1.0, 2.0])
    before, count = model.copy(), model.features
    with pytest.raises(error, match=message):
        model.learn_one(event, y)
    if isinstance(y, float):
        with pytest.raises(error, match=message):
            model.learn_many([{"fresh": 1.0, "c": "fresh"}, event], [1.0, y])
    assert model == before
    assert model.features == count
    model.learn_one({"later": "x", "c": "fresh"}, 1.0)
    assert model.features[3:] == [("later", "x"), ("c", "fresh")]


@pytest.mark.parametrize("name", [name for name in REFUSED if "label" not in name and name != "an overflow"])
def test_an_invalid_event_is_refused_by_predict_and_pending_too(name: str) -> None:
    event, _, error, message = REFUSED[name]
    if "no text" in name:
        return  # unknown names are not looked at
    model = a_model()
    model.learn_one({"b": 1.0}, 1.0)
    for attempt in (model.predict_one, model.explain_one, lambda x: model.predict_one(x, id=1)):
        with pytest.raises(error, match=message):
            attempt(event)
    assert model.pending == 0


def test_the_error_names_the_faulty_event() -> None:
    model = a_model()
    with pytest.raises(ValueError, match="event 1 is at fault: 'a' must be finite; got inf"):
        model.learn_many([{"a": 1.0}, {"a": math.inf}], [0.0, 0.0])
    with pytest.raises(TypeError, match="event 0 is at fault: an event must be a dictionary"):
        model.predict_many([3])
    with pytest.raises(TypeError, match="got a single dict"):
        model.learn_many({"a": 1.0}, [0.0])


def test_an_event_that_changes_while_it_is_read_is_refused() -> None:
    model = a_model()
    event: dict[str, Any] = {}
    event |= {"a": 1.0, "b": Troublesome(lambda: event.update({f"x{k}": 1.0 for k in range(99)})), "c": 1.0}
    with pytest.raises(ValueError, match="changed while it was read"):
        model.learn_one(event, 1.0)
    assert model.features == []
    event.clear()
    event |= {"a": 1.0, "b": Troublesome(event.clear), "c": 1.0}
    with pytest.raises(ValueError, match="changed while it was read"):
        model.predict_one(event)


@pytest.mark.parametrize("change", [list.clear, lambda events: events.extend([{"x": 1.0}] * 9)])
def test_a_list_that_changes_while_it_is_read_is_refused(change: Callable[[list[Any]], object]) -> None:
    model = a_model()
    events: list[Any] = []
    events += [{"a": Troublesome(lambda: change(events))}, {"b": 1.0}]
    with pytest.raises(ValueError, match="the list of events changed"):
        model.learn_many(events, [1.0, 2.0])
    assert model == a_model()
    events[:] = [{"a": Troublesome(lambda: change(events))}, {"b": 1.0}]
    with pytest.raises(ValueError, match="the list of events changed"):
        model.predict_many(events)


def test_a_number_being_converted_may_read_the_learner_but_not_train_it() -> None:
    model = a_model()
    model.learn_one({"a": 1.0, "b": 1.0}, 1.0)
    margin = model.predict_one({"a": 1.0, "b": 1.0})
    looks = Troublesome(lambda: model.predict_one({"z": 1.0, "a": 3.0}))
    assert model.predict_one({"a": 1.0, "b": looks}) == margin
    assert model.learn_one({"a": 1.0, "b": looks}, 1.0) == margin
    with pytest.raises(ValueError, match="from inside its own"):
        model.learn_one({"a": 1.0, "b": Troublesome(lambda: model.learn_one({"a": 1.0}, 1.0))}, 1.0)
    model.learn_one({"a": 1.0}, 1.0)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"bits": 0}, "bits must be"),
        ({"bits": 31}, "bits must be a whole number from 1 to 30"),
        ({"bits": 2.5}, "bits must be"),
        ({"missing": "drop"}, "missing must be"),
        ({"max_pending": 0}, "max_pending must be"),
        ({"prior_mean": [1.0]}, "prior_mean has one number per column"),
        ({"penalty_weights": [1.0]}, "penalty_weights has one number per column"),
        ({"penalty": KL(), "n_features": 4, "intercept": False, "bits": 2}, "hashing"),
    ],
)
def test_invalid_event_learner_options_are_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        a_model(**changes)


# Hashing


def slot(feature: str, value: object, bits: int) -> int:
    model = a_model(bits=bits, intercept=False, missing="indicate")
    model.learn_one({feature: value}, 1.0)
    return int(np.flatnonzero(model.learner.coef)[0])


def written_out(text: bytes, bits: int) -> int:
    """The hash as cpp/bind/encoder.hpp describes it."""
    h = 0xCBF29CE484222325
    for byte in text:
        h = (h ^ byte) * 0x100000001B3 % 2**64
    for factor in (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53):
        h = (h ^ (h >> 33)) * factor % 2**64
    return (h ^ (h >> 33)) % 2**bits


@pytest.mark.parametrize(
    ("name", "value", "text", "frozen"),
    [
        ("price", 1.0, b"price", 710507),
        ("country", "NZ", b"country\xffNZ", 1041571),
        ("größe", "ß", "größe".encode() + b"\xff" + "ß".encode(), 889590),
        ("age", None, b"age\xfe", 860815),
        ("a=b", 1.0, b"a=b", 231891),
        ("a", "b", b"a\xffb", 936702),
    ],
)
def test_the_hash_of_a_feature_never_changes(name: str, value: object, text: bytes, frozen: int) -> None:
    assert slot(name, value, 20) == written_out(text, 20) == frozen
    assert slot(name, value, 7) == frozen % 2**7


@pytest.mark.parametrize(
    ("name", "bits", "index"), [("17", 10, 17), ("0", 10, 0), ("1024", 10, 0), ("1027", 10, 3), ("9" * 18, 4, 15)]
)
def test_a_name_that_is_a_number_is_its_own_hash(name: str, bits: int, index: int) -> None:
    assert slot(name, 1.0, bits) == index
    for text in (f"0{name}", f"{name}.0", "9" * 19):
        assert slot(text, 1.0, bits) == written_out(text.encode(), bits)


def test_colliding_hashed_names_are_added() -> None:
    hashed, plain = a_model(bits=1, intercept=False), a_model(intercept=False)
    names = [f"n{k}" for k in range(6)]
    slots = {name: slot(name, 1.0, 1) for name in names}
    assert set(slots.values()) == {0, 1}
    event = {name: 0.1 * k for k, name in enumerate(names)}
    sums = {str(at): sum(value for name, value in event.items() if slots[name] == at) for at in (0, 1)}
    assert hashed.learn_one(event, 1.0) == plain.learn_one(sums, 1.0)
    np.testing.assert_allclose(hashed.learner.coef, plain.learner.coef, rtol=1e-14)
    assert hashed.learner.n_features == 2
    assert list(hashed.explain_one(event)) == names
    assert math.isclose(sum(hashed.explain_one(event).values()), hashed.predict_one(event), rel_tol=1e-12)
    assert hashed.features == []
    with pytest.raises(ValueError, match="no names"):
        hashed.weights()


# Lanes, times, the simplex, data frames


def test_lanes_have_one_label_each_or_share_one() -> None:
    model, apart = a_model(lanes=3), [a_model() for _ in range(3)]
    events = [{"a": 1.0, "b": float(k)} for k in range(5)]
    for event in events:
        for y in (np.array([1.0, -1.0, 0.5]), np.array([1, -1, 0]), [1, -1, 0], (1.0, -1, True), 2.0, 3):
            margin = model.learn_one(event, y)
            each = [one.learn_one(event, label) for one, label in zip(apart, np.broadcast_to(y, 3), strict=True)]
            np.testing.assert_allclose(margin, each, rtol=1e-12)
    assert model.predict_one(events[0]).shape == (3,)
    assert model.predict_many(events).shape == (5, 3)
    assert model.weights()["a"].shape == (3,)
    np.testing.assert_allclose(sum(model.explain_one(events[1]).values()), model.predict_one(events[1]), rtol=1e-12)
    with pytest.raises(ValueError, match="one for each of 3 lanes; it has 2"):
        model.learn_one(events[0], [1.0, 2.0])
    for wrong in ([[1.0, 2.0, 3.0]], np.ones((1, 3))):
        with pytest.raises((ValueError, TypeError)):
            model.learn_one(events[0], wrong)
    assert a_model(lanes=1).learn_one({}, 1.0).shape == (1,)


def test_event_times_are_numbers_or_datetimes() -> None:
    numbers, moments = (a_model(window=HalfLife(3600.0)) for _ in range(2))
    noon = datetime(2024, 1, 1, 12, tzinfo=UTC)
    for seconds in (0, 60, 30, 4000):
        numbers.learn_one({"a": 1.0}, 1.0, time=noon.timestamp() + seconds)
        moment = datetime.fromtimestamp(noon.timestamp() + seconds, UTC)
        moments.learn_one({"a": 1.0}, 1.0, time=np.datetime64(moment.replace(tzinfo=None)) if seconds else moment)
    assert numbers == moments
    for attempt in (lambda: numbers.learn_one({"b": 1.0}, 1.0), lambda: numbers.learn_many([{"b": 1.0}], [1.0])):
        with pytest.raises(ValueError, match="counts in event time"):
            attempt()
    assert numbers == moments


def test_on_the_simplex_the_number_of_names_is_limited() -> None:
    model = a_model(penalty=KL(), n_features=2, intercept=False)
    model.learn_one({"a": 1.0}, 1.0)
    model.learn_one({"b": 1.0}, 0.0)
    with pytest.raises(ValueError, match="no room for 'c': there can be 2 features"):
        model.learn_one({"c": 1.0}, 1.0)
    assert model.features == ["a", "b"]
    assert math.isclose(sum(model.weights().values()), 1.0)
    assert pickle.loads(pickle.dumps(model)) == model


def test_a_data_frame_is_learned_row_by_row() -> None:
    class Pandas:
        columns = ("a", "b")

        def to_dict(self, orient: str) -> list[dict[str, Any]]:
            assert orient == "records"
            return [{"a": 1.0, "b": "x"}, {"a": 2.0, "b": "y"}]

    class Polars:
        def to_dicts(self) -> list[dict[str, Any]]:
            return Pandas().to_dict("records")

    models = [a_model() for _ in range(3)]
    for model, rows in zip(models, (Pandas(), Polars(), Pandas().to_dict("records")), strict=True):
        model.learn_many(rows, [1.0, 2.0])
        model.predict_many(rows)
    assert models[0] == models[1] == models[2]


# Copies


def test_copies_are_equal_and_independent() -> None:
    model = a_model(loss=Hinge(), smoothing=0.5)
    model.learn_many([{"a": 1.0}, {"b": "x"}], [1.0, -1.0])
    model.predict_one({"a": 3.0}, id="later")
    for twin in (model.copy(), copy.deepcopy(model), copy.copy(model), pickle.loads(pickle.dumps(model))):
        assert twin == model
        assert twin.features == model.features
        twin.learn_label("later", 1.0)
        assert twin != model
        twin.learn_one({"c": 1.0}, 1.0)
        assert "c" not in model.features
    assert model != a_model()
    assert model != 3
    with pytest.raises(TypeError):
        hash(model)


@pytest.mark.parametrize("date", ["10000-01-01", "12024-07-31T13:05", "-0001-12-31"])
def test_a_date_of_numpy_beyond_the_years_0_to_9999_is_refused(date: str) -> None:
    model = a_model()
    with pytest.raises(ValueError, match=r"no such date in 'when'.*years 0 to 9999"):
        model.learn_one({"when": np.datetime64(date)}, 1.0)
    assert not model.features


def test_what_is_learned_while_a_file_is_made_is_not_in_it(monkeypatch: pytest.MonkeyPatch) -> None:
    model = EventLearner(loss=LogLoss())
    model.learn_one({"a": 1.0}, 1.0)
    look = EventLearner._while_still

    def look_and_learn(self: EventLearner, what: Any) -> Any:
        seen = look(self, what)
        self.learn_one({"b": 1.0}, -1.0)  # as another thread might
        return seen

    with monkeypatch.context() as patch:
        patch.setattr(EventLearner, "_while_still", look_and_learn)
        saved = model.saved()
    assert EventLearner.restored(saved).learner.count == 1
