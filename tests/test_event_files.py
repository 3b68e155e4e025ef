"""An EventLearner's file: the same learner to the bit, names and waiting events included; crafted files are refused."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from odca import EventLearner, Exponential, Learner, Sliding, SquaredError
from odca.io import model_file
from streams import assert_same_bits


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "model.safetensors"


def a_model(**changes: Any) -> EventLearner:
    given = {"loss": SquaredError(), "rho": 0.1, "window": Sliding(7), "smoothing": 0.9, "missing": "indicate"}
    model = EventLearner(**(given | {"max_pending": 2} | changes))
    for k in range(12):
        model.learn_one({"größe": 0.5 * k, "a": "b" if k % 3 else None, "a=b": 1.0, f"n{k}": ""}, k)
    for k in range(3):
        model.predict_one(
            {"größe": 1 / 3, "c": "new", "d": None, "e": True}, offset=0.1 * k, id=k if k % 2 else f"i{k}"
        )
    return model


@pytest.mark.parametrize("bits", [None, 5])
@pytest.mark.parametrize("lanes", [None, 2])
@pytest.mark.parametrize("window", [Sliding(7), Exponential(0.9)], ids=repr)
def test_a_loaded_learner_equals_the_saved_one_and_continues_like_it(
    bits: int | None, lanes: int | None, window: Any, path: Path
) -> None:
    model = a_model(bits=bits, lanes=lanes, window=window)
    model.save(path)
    loaded = EventLearner.load(path)
    assert loaded == model
    assert loaded.features == model.features
    assert (loaded.pending, loaded.dropped) == (model.pending, model.dropped) == (2, 1)
    for each in (model, loaded):
        each.learn_label(1, 1.0)
        each.learn_one({"a": "b", "later": 1.0}, 2.0)
    assert loaded == model
    assert_same_bits(loaded.learner, model.learner)


NAMES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=4)
VALUES = st.one_of(st.floats(-9, 9), st.none(), NAMES)


@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(events=st.lists(st.dictionaries(NAMES, VALUES, max_size=4), max_size=6), at=st.integers(0, 6))
def test_saving_at_any_point_makes_no_difference(events: list[dict[str, Any]], at: int, tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    through, saved = (EventLearner(loss=SquaredError(), smoothing=0.9, missing="indicate") for _ in range(2))
    for n, event in enumerate(events):
        if n == at:
            saved.save(path)
            saved = EventLearner.load(path)
        assert through.learn_one(event, 1.0) == saved.learn_one(event, 1.0)
        for each in (through, saved):
            each.predict_one(event, id=n)
    assert through == saved
    assert_same_bits(through.learner, saved.learner)


class Mine:
    """A loss of the user's own."""

    def dual(self, p: float, s: float, y: float) -> float:
        return (y - p) / (1.0 + s)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Mine)

    __hash__ = None  # type: ignore[assignment]


def test_a_custom_loss_must_be_passed_again_when_loading(path: Path) -> None:
    model = EventLearner(loss=Mine(), rho=0.1)
    model.learn_one({"a": 1.0}, 1.0)
    model.save(path)
    with pytest.raises(ValueError, match=r"its loss was Mine, which is code"):
        EventLearner.load(path)
    assert EventLearner.load(path, loss=Mine()) == model


def test_each_kind_of_file_is_loaded_by_its_own_class(path: Path) -> None:
    a_model().save(path)
    with pytest.raises(ValueError, match="it holds a EventLearner"):
        Learner.load(path)
    Learner(loss=SquaredError()).save(path)
    with pytest.raises(ValueError, match="it holds a Learner"):
        EventLearner.load(path)


# Crafted files

Arrays = dict[str, np.ndarray[Any, Any]]


def text(value: str | bytes) -> np.ndarray[Any, Any]:
    return np.frombuffer(value.encode() if isinstance(value, str) else value, np.uint8)


def changed(**arrays: Any) -> Callable[[dict[str, Any], Arrays], None]:
    return lambda _, mine: mine.update({f"events.{name}": np.asarray(array) for name, array in arrays.items()})


def names(*given: str) -> Callable[[dict[str, Any], Arrays], None]:
    keys = [each.encode() for each in given]
    return changed(names=text(b"".join(keys)), name_ends=np.cumsum([len(key) for key in keys], dtype=np.int64))


def first_version(*given: str, **arrays: Any) -> Callable[[dict[str, Any], Arrays], None]:
    """The names of a file as the first version has them: texts, and of what kind each feature is."""

    def change(_: dict[str, Any], mine: Arrays) -> None:
        del mine["events.names"], mine["events.name_ends"]
        packed = model_file.pack_texts(given or ("a", "b", "c")) | {"kinds": np.zeros(len(given) or 3, np.uint8)}
        mine.update({f"events.{name}": np.asarray(array) for name, array in (packed | arrays).items()})

    return change


def one_event(id: object, event: object, offset: object = 0.0) -> Callable[[dict[str, Any], Arrays], None]:  # noqa: A002
    return changed(pending=text(json.dumps([[id, event, offset]])))


DEEP: list[Any] = []
for _ in range(100):
    DEEP = [DEEP]

CRAFTED: dict[str, tuple[Callable[[dict[str, Any], Arrays], object], str]] = {
    "a name twice": (names("a", "b", "a"), "'a' is there twice"),
    "a name twice in a row": (names("a", "a", "b"), "'a' is there twice"),
    "an empty name": (names("a", "", "b"), "without a name"),
    "too few names": (names("a", "b"), "2 names do not match its 3 features"),
    "too many names": (names("a", "b", "c", "d"), "4 names do not match its 3 features"),
    "a key that is no UTF-8": (changed(names=text(b"a\xedc")), "not UTF-8"),
    "a key that is a surrogate": (
        changed(names=text(b"ab\xed\xa0\x80"), name_ends=np.array([1, 2, 5])),
        "not UTF-8",
    ),
    "ends of keys out of order": (changed(name_ends=np.array([2, 1, 3])), "not consecutive"),
    "ends of keys outside": (changed(name_ends=np.array([1, 2, 4])), "not consecutive"),
    "ends of keys too early": (changed(name_ends=np.array([0, 1, 2])), "not consecutive|without a name"),
    "a table of ends of keys": (changed(name_ends=np.array([[1, 2, 3]])), "'name_ends' must .* one dimension"),
    "a category without a field": (
        changed(names=text(b"ab\xffc"), name_ends=np.array([1, 2, 4])),
        "without a name",
    ),
    "twice in the first version": (first_version("a", "b", "a"), "'a' is there twice"),
    "empty in the first version": (first_version("a", "", "b"), "without a name"),
    "no UTF-8": (first_version(text=text(b"a\xffc")), "utf-8"),
    "a surrogate": (first_version(text=text(b"\xed\xa0\x80"), text_ends=np.array([0, 1, 2, 3])), "utf-8"),
    "ends out of order": (first_version(text_ends=np.array([0, 2, 1, 3])), "its texts are invalid"),
    "ends outside": (first_version(text_ends=np.array([0, 1, 2, 4])), "its texts are invalid"),
    "no first end": (first_version(text_ends=np.array([1, 1, 2, 3])), "its texts are invalid"),
    "no ends": (first_version(text_ends=np.array([], np.int64)), "its texts are invalid"),
    "a table of ends": (first_version(text_ends=np.array([[0, 3]])), "'text_ends' must .* one dimension"),
    "more names than kinds": (first_version(kinds=np.zeros(2, np.uint8)), "more names than features"),
    "fewer names than kinds": (first_version(kinds=np.zeros(4, np.uint8)), "inconsistent"),
    "an unknown kind": (first_version(kinds=np.array([0, 0, 9], np.uint8)), "inconsistent"),
    "a category without a string": (first_version(kinds=np.array([0, 0, 1], np.uint8)), "inconsistent"),
    "names and hashing": (lambda options, _: options.update(bits=4), "3 names do not match its 3 features"),
    "too many bits": (lambda options, _: options.update(bits=99), "bits must be a whole number from 1 to 30"),
    "an unknown policy": (lambda options, _: options.update(missing="explode"), "missing must be"),
    "a mean by column": (lambda options, _: options.update(prior_mean=(1.0,)), "prior_mean has one number per column"),
    "an unknown option": (lambda options, _: options.update(verbose=1), "verbose"),
    "no names": (lambda _, mine: mine.pop("events.names"), "names"),
    "no waiting events": (lambda _, mine: mine.pop("events.pending"), "pending"),
    "waiting events that are no JSON": (changed(pending=text("[")), "cannot be loaded"),
    "waiting events that are deep": (changed(pending=text("[" * 100_000)), "cannot be loaded"),
    "waiting events that are no list": (changed(pending=text("3")), "cannot be loaded"),
    "a waiting event that is none": (one_event(1, [1.0]), "cannot be loaded"),
    "a waiting event that is deep": (one_event(1, {"a": DEEP}), "deep in each other"),
    "a waiting event with inf": (changed(pending=text('[[1, {"a": 1e999}, 0.0]]')), "'a' must be finite; got inf"),
    "a waiting event with a huge number": (one_event(1, {"a": 10**400}), "'a' is too large"),
    "an offset that is none": (one_event(1, {}, "0"), "cannot be loaded"),
    "an offset of nan": (changed(pending=text("[[1, {}, NaN]]")), "cannot be loaded"),
    "an id that is none": (one_event([1], {}), "an id must be"),
    "an id twice": (changed(pending=text("[[1, {}, 0.0], [1, {}, 0.0]]")), "inconsistent"),
    "more waiting than may": (changed(pending=text("[[1, {}, 0], [2, {}, 0], [3, {}, 0]]")), "inconsistent"),
    "a name twice in a waiting event": (changed(pending=text('[[1, {"a": 1, "a": 2}, 0]]')), "given twice"),
    "a negative number of dropped events": (changed(dropped=np.array([-1])), "inconsistent"),
    "two counts of dropped": (changed(dropped=np.array([1, 1])), "cannot be loaded"),
}


@pytest.mark.parametrize("name", CRAFTED)
def test_a_crafted_file_is_refused(name: str, path: Path) -> None:
    model = EventLearner(loss=SquaredError(), max_pending=2)
    model.learn_one({"a": 1.0, "b": 1.0, "c": 1.0}, 1.0)
    model.predict_one({"a": 1.0}, id=1)
    model.save(path)
    assert EventLearner.load(path) == model
    saved = model_file.read(path)
    change, message = CRAFTED[name]
    change(saved.options, saved.arrays)
    model_file.write(path, saved)
    with pytest.raises(ValueError, match=message):
        EventLearner.load(path)


def test_a_hashed_model_file_must_have_no_or_all_features(path: Path) -> None:
    model = EventLearner(loss=SquaredError(), bits=3)
    model.save(path)
    assert EventLearner.load(path) == model
    model.learn_one({"a": 1.0}, 1.0)
    model.save(path)
    saved = model_file.read(path)
    saved.options["bits"] = 4
    model_file.write(path, saved)
    with pytest.raises(ValueError, match="0 names do not match its 8 features"):
        EventLearner.load(path)
