"""Saved histories that cannot have been saved: refused before anything is made of them."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import odca
from history.tables import LINES, rows, written_csv
from odca import EventLearner, SquaredError
from odca.features import Features

State = dict[str, Any]


def a_state(tmp_path: Path) -> tuple[Any, State]:
    model = odca.train(written_csv(rows(100), tmp_path / "a.csv"), label="sold", history=LINES, progress=False)
    assert model.past is not None
    return model.past, model.past.state()


def changed(array: Any, place: int, value: float) -> Any:
    out = array.copy()
    out[place] = value
    return out


CHANGES: dict[str, Any] = {
    "a line fewer": lambda s: s | {"series_of_lines": s["series_of_lines"][:-1]},
    "a negative number of keys": lambda s: s | {"series_of_lines": changed(s["series_of_lines"], 0, -1)},
    "more keys than there are": lambda s: s | {"series_of_lines": changed(s["series_of_lines"], 0, 2**62)},
    "a key fewer": lambda s: s | {"key_ends": s["key_ends"][:-1]},
    "a key that ends before it begins": lambda s: s | {"key_ends": changed(s["key_ends"], 1, 0)},
    "a key beyond the end": lambda s: s | {"key_ends": changed(s["key_ends"], 0, 2**40)},
    "a key twice": lambda s: s | {"keys": np.frombuffer(b"AAB", np.uint8)},
    "more bytes of keys": lambda s: s | {"keys": np.append(s["keys"], np.uint8(65))},
    "a huge number of values": lambda s: s | {"count": changed(s["count"], 0, 2**62)},
    "no values": lambda s: s | {"count": changed(s["count"], 0, 0)},
    "a value more than is needed": lambda s: s | {"count": changed(s["count"], -1, s["count"][-1] - 1)},
    "a negative beginning": lambda s: s | {"first": changed(s["first"], 0, -1)},
    "a beginning beyond all numbers": lambda s: s | {"first": changed(s["first"], 0, 2**62)},
    "a value that is no number": lambda s: s | {"value": changed(s["value"], 3, np.nan)},
    "an infinite time": lambda s: s | {"time": changed(s["time"], 0, -np.inf)},
    "times that go back": lambda s: s | {"time": changed(s["time"], 1, 0.0)},
    "no times": lambda s: s | {"time": s["time"][:0]},
    "values left over": lambda s: s | {"value": np.append(s["value"], 1.0)},
    "no array": lambda s: {name: array for name, array in s.items() if name != "count"},
    "numbers of another type": lambda s: s | {"value": s["value"].astype(np.float32)},
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_state_that_cannot_be_is_refused_and_nothing_changes(change: Any, tmp_path: Path) -> None:
    past, state = a_state(tmp_path)
    with pytest.raises((ValueError, TypeError)):
        past.restore(change(state))
    assert {name: array.tolist() for name, array in past.state().items()} == {
        name: array.tolist() for name, array in state.items()
    }


def test_a_sound_state_is_restored(tmp_path: Path) -> None:
    past, state = a_state(tmp_path)
    past.restore({name: array.copy() for name, array in state.items()})
    assert {name: array.tolist() for name, array in past.state().items()} == {
        name: array.tolist() for name, array in state.items()
    }


def test_the_names_of_a_model_must_begin_with_those_of_its_history(tmp_path: Path) -> None:
    model = odca.train(written_csv(rows(100), tmp_path / "a.csv"), label="sold", history=LINES, progress=False)
    saved = model.saved()
    saved.options["schema"]["features"]["history"] = ["y: lag 9"]
    with pytest.raises(ValueError, match="names do not begin with those of its history"):
        odca.stream.model.StreamModel.restored(saved)


def test_a_model_of_dictionaries_with_a_broken_history_is_refused() -> None:
    model = EventLearner(loss=SquaredError(), history=["y: lag 1"])
    model.learn_one({"x": 1.0}, 2.0)
    model.predict_one({"x": 1.0}, id=1)
    saved = model.saved()
    saved.arrays["events.history.value"] = np.array([np.inf])
    with pytest.raises(ValueError, match="a value of its history is not finite"):
        EventLearner.restored(saved)
    saved = model.saved()
    saved.arrays["events.pending"] = np.frombuffer(b'[[1, {"x": 1.0}, 0.0, null, [1.0, 2.0]]]', np.uint8)
    with pytest.raises(ValueError, match="the history of a waiting event"):
        EventLearner.restored(saved)
    saved.arrays["events.pending"] = np.frombuffer(b'[[1, {"x": 1.0}, 0.0, null]]', np.uint8)
    with pytest.raises(ValueError, match="the history of a pending event"):
        EventLearner.restored(saved)


def test_options_of_older_files_mean_no_history() -> None:
    options = Features().as_options()
    del options["history"], options["history_keys"]
    assert Features.from_options(options).history == ()
