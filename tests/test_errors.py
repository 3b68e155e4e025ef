"""Errors carry what programs need: where the fault is, and which options would help. Flags belong to the command line."""

import ast
import copy
import pickle
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import odca
from odca import AutoLearner, EventLearner, Hinge, InputError, Learner, SquaredError, stream
from odca.cli.flag_spelling import FLAGS, as_flag, explain
from odca.errors import Remedy
from odca.models.options import ModelOptions
from odca.research.baselines import SGD
from odca.stream.model import StreamModel
from odca.stream.read.refused_events import EventError

SOURCES = Path(odca.__file__).parent
CORE = Path(__file__).parents[1] / "cpp" / "odca"
X = np.ones((4, 3))
Y = np.array([1.0, -1.0, 1.0, -1.0])


def with_value(array: Any, place: Any, value: float) -> Any:
    """A copy of an array with one other entry."""
    changed = np.array(array)
    changed[place] = value
    return changed


def learner(**options: Any) -> Learner:
    return Learner(loss=Hinge(), rho=0.1, **options)


FAULTS: dict[str, tuple[Callable[[], object], int, int | None]] = {
    "label": (lambda: learner().learn(X, with_value(Y, 2, 5.0)), 2, None),
    "weight": (lambda: learner().learn(X, Y, sample_weight=[1.0, 1.0, 1.0, -1.0]), 3, None),
    "offset": (lambda: learner().predict(X, offset=[0.0, np.nan, 0.0, 0.0]), 1, None),
    "value": (lambda: learner().learn(with_value(X, (2, 1), np.nan), Y), 2, 1),
    "value beside an intercept": (lambda: learner(intercept=True).learn(with_value(X, (2, 1), np.inf), Y), 2, 1),
    "squared norm": (lambda: learner().learn(with_value(X, (1, 2), 1e200), Y), 1, None),
    "standardising": (lambda: learner(scale=True).learn(with_value(X, (3, 0), 1e200), Y), 3, 0),
    "prediction": (lambda: learner().predict(with_value(X, (3, 0), np.inf)), 3, None),
    "fit": (lambda: learner().fit(X, with_value(Y, 0, 0.5)), 0, None),
    "lanes": (lambda: learner(lanes=2).learn(X, with_value(np.stack([Y, Y], 1), (1, 1), 7.0)), 1, None),
    "time": (lambda: learner().learn(X, Y, time=np.array([0, 1, "NaT", 3], "datetime64[s]")), 2, None),
    "objective": (lambda: learner().objective(X, with_value(Y, 3, 9.0)), 3, None),
    "automatic": (lambda: AutoLearner("numbers").learn(X, with_value(Y, 1, np.nan)), 1, None),
    "events": (lambda: EventLearner(loss=Hinge()).learn_many([{"a": 1.0}, {"a": np.inf}], [1.0, 1.0]), 1, None),
    "baseline": (lambda: SGD(loss=Hinge(), rate=0.1, rho=0.1).learn(X, with_value(Y, 2, 3.0)), 2, None),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_an_error_says_which_row_is_at_fault(fault: str) -> None:
    call, row, column = FAULTS[fault]
    with pytest.raises(InputError) as caught:
        call()
    error = caught.value
    assert (error.row, error.column) == (row, column)
    assert re.search(rf"\b(row|event) {row}\b", str(error))
    assert isinstance(error, ValueError)


def test_an_error_of_the_core_has_a_message_for_those_who_name_the_event_themselves() -> None:
    with pytest.raises(InputError, match=r"^row 2 of X holds nan in column 1") as caught:
        learner().learn(with_value(X, (2, 1), np.nan), Y)
    assert caught.value.event_message.startswith("the event holds nan in column 1")


def test_an_error_that_is_about_no_row_has_none() -> None:
    with pytest.raises(InputError, match="only a Sliding window") as caught:
        learner().duality_gap()
    assert (caught.value.row, caught.value.column, caught.value.remedy) == (None, None, None)


def test_an_event_of_a_file_is_found_by_path_line_and_row(tmp_path: Path) -> None:
    data = tmp_path / "data.csv"
    data.write_text("y,a\n1,2\n2,3\n\n3,1e200\n")
    with stream.open(data, label="y") as events:
        model = StreamModel.begin(
            ModelOptions(task="numbers", loss=SquaredError(), scale=False), events.schema, events.sample
        )
        (block,) = events
        with pytest.raises(EventError, match=r"data\.csv, line 5: the squared norm of the event overflows") as caught:
            model.learn(block)
    error = caught.value
    assert (error.path, error.line, error.row, error.column) == (str(data), 5, 2, None)
    assert isinstance(error.__cause__, InputError)
    assert error.__cause__.row == 2


def test_errors_are_pickled_and_copied_with_all_that_they_know() -> None:
    remedy = Remedy("Name it with {label}.", label=None)
    event = EventError.__new__(EventError, "no")
    event.__dict__.update(
        stream.StreamError("no", path="a.csv", line=3, column=7, field="f", row=2, remedy=remedy).__dict__
    )
    for error in (InputError("no", row=1, column=2), stream.StreamError("no", path="-", line=1, remedy=remedy), event):
        for twin in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
            assert type(twin) is type(error)
            assert str(twin) == str(error)
            assert twin.args == error.args
            known = ("row", "column", "path", "line", "field", "message", "event_message")
            assert [getattr(twin, name, None) for name in known] == [getattr(error, name, None) for name in known]
            assert (twin.remedy is None) == (error.remedy is None)


def test_a_remedy_is_spelled_for_python_and_for_the_command_line() -> None:
    remedy = Remedy("Leave it out ({ignore}), or {task}, or {scale}.", ignore=["a b"], task="numbers", scale=False)
    error = stream.StreamError("it {cannot} be read.", path="a.csv", remedy=remedy)
    assert (
        str(error)
        == "a.csv: it {cannot} be read. Leave it out (`ignore=['a b']`), or `task='numbers'`, or `scale=False`."
    )
    assert (
        explain(error) == "a.csv: it {cannot} be read. Leave it out (--ignore 'a b'), or --task numbers, or --no-scale."
    )
    assert explain(ValueError("plain")) == "plain"


# The sources


def trees() -> Iterator[tuple[Path, ast.Module]]:
    """Those of the library, without the command line."""
    for path in sorted(SOURCES.rglob("*.py")):
        if path.relative_to(SOURCES).parts[0] != "cli":
            yield path, ast.parse(path.read_text())


def test_the_library_names_no_flag_of_the_command_line() -> None:
    flag = re.compile(r"(?<![\w-])--[a-z][a-z-]+")
    found = [
        f"{path.relative_to(SOURCES)}:{node.lineno}: {node.value.strip()[:80]}"
        for path, tree in trees()
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and flag.search(node.value)
    ]
    assert not found


def test_every_option_that_an_error_names_has_a_flag() -> None:
    named = {
        keyword.arg
        for _, tree in trees()
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Remedy"
        for keyword in node.keywords
        if keyword.arg is not None
    }
    core = [path.read_text() for path in sorted(CORE.rglob("*.[ch]pp"))]
    named |= {option for text in core for option in re.findall(r"\({([a-z_]+)}\)", text)}
    assert {"label", "classes", "scale", "na_values", "day_first"} <= named <= FLAGS.keys()
    assert all(as_flag(str(option)).startswith("--") for option in named)
