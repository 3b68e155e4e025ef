"""docs/options.md: every word and default in its tables is that of the code, and no option is missing from them."""

import argparse
import inspect
import re
from collections.abc import Callable, Iterator
from functools import cache, reduce
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import odca.river
from odca import EventLearner, Learner, LogLoss, ODCAClassifier, ODCARegressor, SquaredError, stream
from odca.cli import main, model_options
from odca.cli.commands import evaluate, predict, train
from odca.features.spec import FeatureOptions
from odca.models.auto_events import AutoEvents
from odca.models.events import EventOptions
from odca.stream.model import StreamModel

PAGE = Path(__file__).resolve().parent.parent / "docs" / "options.md"
ABSENT = "–"
LEARNING, FEATURES, EVENTS, RESULTS = (
    "How to learn",
    "What becomes a feature",
    "What comes with an event",
    "What was learned",
)
ANSWERS = "Which answer an automatic model gives"
INTERFACES: dict[str, tuple[type, ...]] = {
    "Learner": (Learner,),
    "EventLearner": (EventLearner,),
    "AutoEvents": (AutoEvents,),
    "Features": (stream.Features,),
    "scikit-learn": (ODCAClassifier, ODCARegressor),
    "river": (odca.river.ODCAClassifier, odca.river.ODCARegressor),
}
AUTOMATIC: dict[str, tuple[type, ...]] = {
    "AutoLearner": (odca.AutoLearner,),
    "AutoEvents": (AutoEvents,),
    "automatic, scikit-learn": (odca.AutoClassifier, odca.AutoRegressor),
    "automatic, river": (odca.river.AutoClassifier, odca.river.AutoRegressor),
    "file": (StreamModel,),
}
COMMAND_LINE = "command line"
REQUIRED = "required"
OF_FEATURES = {*FeatureOptions.__annotations__}


class Cell(NamedTuple):
    section: str
    row: str
    column: str
    code: str
    """What stands between backticks, such as rho="auto"; a cell may have several."""


@cache
def rows(section: str) -> list[dict[str, str]]:
    """The table of a section."""
    text = PAGE.read_text(encoding="utf-8").split(f"\n## {section}\n")[1].split("\n## ")[0]
    lines = [line for line in text.splitlines() if line.startswith("|")]
    head, _, *body = ([cell.strip() for cell in line.strip("|").split("|")] for line in lines)
    return [dict(zip(head, cells, strict=True)) for cells in body]


def cells(*sections: str) -> Iterator[Cell]:
    for section in sections:
        for row in rows(section):
            name = next(iter(row.values()))
            for column, cell in list(row.items())[1:-1]:
                codes = re.findall(r"`([^`]+)`", cell)
                assert ", ".join(f"`{code}`" for code in codes) == ("" if cell == ABSENT else cell), (section, name)
                yield from (Cell(section, name, column, code) for code in codes)


# What the code says


def parameters(function: Callable[..., Any]) -> dict[str, str]:
    """The parameters of a constructor or a method and their defaults, as one writes them."""
    signature = _signature(function)
    found = {
        name: REQUIRED if each.default is each.empty else _written(each.default)
        for name, each in signature.parameters.items()
        if name != "self" and each.kind is not each.VAR_KEYWORD
    }
    return {**_passed_on(function), **found}


def _signature(function: Callable[..., Any]) -> inspect.Signature:
    native = getattr(function, "__nb_signature__", None)
    if native is None:
        return inspect.signature(function)
    scope: dict[str, Any] = {}
    exec(f"from __future__ import annotations\n{native[0][0]}: ...", scope)
    return inspect.signature(scope[function.__name__])


def _written(default: object) -> str:
    return f'"{default}"' if isinstance(default, str) else repr(default)


def _passed_on(function: object) -> dict[str, str]:
    """The options that are passed on to `Learner` and `Features`, which have their defaults."""
    owners = {EventLearner: {*EventOptions.__annotations__}}
    owners |= dict.fromkeys((AutoEvents, *INTERFACES["river"]), OF_FEATURES)
    names = owners.get(function, set())  # type: ignore[call-overload]
    known = {**parameters(Learner), **parameters(stream.Features)} if names else {}
    return {name: known[name] for name in names}


@cache
def options_of(command: Any) -> dict[str, argparse.Action]:
    """The options of a command by flag."""
    parser = argparse.ArgumentParser()
    command.add_arguments(parser)
    return {flag: action for action in parser._actions for flag in action.option_strings}


def flag_with_default(flag: str, command: Any = train) -> str:
    action = options_of(command)[flag]
    is_set = action.nargs != 0 and action.default not in (None, [])
    return f"{flag} {action.default}" if is_set else flag


def word_and_default(code: str, owner: type) -> bool:
    """Whether a cell is what the owner's constructor or method has."""
    called = re.fullmatch(r"(\w+)\((\w+)=(.*)\)", code)
    if called:
        method, word, default = called.groups()
        return hasattr(owner, method) and parameters(getattr(owner, method)).get(word) == default
    word, _, default = code.partition("=")
    return parameters(owner).get(word) == (default or REQUIRED)


# Every cell


@pytest.mark.parametrize("cell", list(cells(LEARNING, FEATURES, EVENTS)), ids=lambda cell: f"{cell.column}-{cell.code}")
def test_a_cell_shows_the_word_and_the_default_of_the_code(cell: Cell) -> None:
    if cell.column == COMMAND_LINE:
        assert flag_with_default(cell.code.split()[0]) == cell.code
    else:
        assert any(word_and_default(cell.code, owner) for owner in INTERFACES[cell.column])


@pytest.mark.parametrize("cell", list(cells(ANSWERS)), ids=lambda cell: f"{cell.column}-{cell.code}")
def test_every_interface_of_the_automatic_mode_gives_the_answer_of_the_table(cell: Cell) -> None:
    if cell.column == COMMAND_LINE:
        assert [flag_with_default("--answer", each) for each in (predict, evaluate)] == [cell.code] * 2
        return
    owners = [owner for owner in AUTOMATIC[cell.column] if hasattr(owner, cell.code.partition("(")[0])]
    assert owners
    assert all(word_and_default(cell.code, owner) for owner in owners)


def test_a_word_is_that_of_its_row_except_where_the_page_says_why() -> None:
    other = {
        ("intercept", "fit_intercept"), ("intercept", "no_intercept"), ("interactions", "interact"), ("interactions", "pairs"), ("seed", "random_state"),
    }  # fmt: skip
    for cell in cells(LEARNING, FEATURES):
        word = re.sub(r"^\w+\(", "", cell.code).removeprefix("--").replace("-", "_")
        word = re.split(r"[= ]", word)[0]
        assert word == cell.row or (cell.row, word) in other, cell


# Every option


@pytest.mark.parametrize("column", [each for each in INTERFACES if each not in {"Features", "AutoEvents"}])
def test_every_parameter_of_a_constructor_is_in_the_tables(column: str) -> None:
    shown = {cell.code.partition("=")[0] for cell in cells(LEARNING, FEATURES) if cell.column == column}
    for owner in INTERFACES[column]:
        assert set(parameters(owner)) <= shown


@pytest.mark.parametrize("column", ["EventLearner", "AutoEvents", "Features", "river"])
def test_every_option_of_features_is_in_the_table(column: str) -> None:
    assert {cell.code.partition("=")[0] for cell in cells(FEATURES) if cell.column == column} == OF_FEATURES


def test_every_option_of_the_command_line_that_defines_a_model_is_in_the_tables() -> None:
    parser = argparse.ArgumentParser(add_help=False)
    model_options.add_model_options(parser)
    shown = {cell.code.split()[0] for cell in cells(LEARNING, FEATURES) if cell.column == COMMAND_LINE}
    for action in parser._actions:
        assert shown & {*action.option_strings}, action.option_strings


@pytest.mark.parametrize("method", ["fit", "refine"])
def test_every_option_of_a_method_of_the_learner_is_in_the_tables(method: str) -> None:
    shown = {cell.code for cell in cells(LEARNING, EVENTS) if cell.column == "Learner"}
    for name, default in parameters(getattr(Learner, method)).items():
        assert default == REQUIRED or name == "offset" or f"{method}({name}={default})" in shown


# What the page says of "auto"


def test_an_event_learner_passes_its_options_on_with_the_defaults_of_the_table() -> None:
    defaults = {
        "bits": None,
        "missing": "indicate",
        "smoothing": 0.0,
        "rho": "auto",
        "window": "auto",
        "scale": "auto",
        "prior_strength": 0.0,
    }
    one, other = EventLearner(loss=LogLoss()), EventLearner(loss=LogLoss(), **defaults)
    assert one == other
    assert one.learner.scale
    assert (
        one.learner.rho
        == EventLearner(loss=LogLoss(), scale=False).learner.rho
        == Learner(loss=LogLoss()).rho
        == "auto"
    )


def test_an_event_learner_does_not_scale_weights_of_the_simplex() -> None:
    assert not EventLearner(loss=SquaredError(), penalty=odca.KL(), n_features=3, intercept=False).learner.scale


# Results


@pytest.fixture(scope="module")
def learned(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """A model of each interface that has learned from the same events."""
    events = [{"a": float(k), "b": float(k % 3)} for k in range(20)]
    X, y = np.array([list(event.values()) for event in events]), [k % 2 == 0 for k in range(20)]
    folder = tmp_path_factory.mktemp("options")
    lines = ["a,b,y", *(f"{event['a']},{event['b']},{int(label)}" for event, label in zip(events, y, strict=True))]
    (folder / "events.csv").write_text("\n".join(lines))
    words = ["train", str(folder / "events.csv"), "--label", "y", "--loss", "log_loss", "--quiet"]
    assert main([*words, "-o", f"{folder}/m.safetensors"]) == 0
    columns, named, river = Learner(loss=LogLoss()), EventLearner(loss=LogLoss()), odca.river.ODCAClassifier()
    columns.learn(X, np.array(y, float))
    named.learn_many(events, np.array(y, float))
    river.learn_many(events, y)
    return {
        "Learner": columns,
        "EventLearner": named,
        "scikit-learn": ODCAClassifier().partial_fit(X, y),
        "river": river,
        "file": odca.load(folder / "m.safetensors"),
    }


@pytest.mark.parametrize("cell", list(cells(RESULTS)), ids=lambda cell: f"{cell.column}-{cell.code}")
def test_a_result_has_the_name_of_the_table(cell: Cell, learned: dict[str, Any]) -> None:
    found = reduce(getattr, cell.code.split("."), learned[cell.column])
    if cell.row == "events":
        assert found == 20


def test_the_metrics_of_numbers_are_the_loss_itself_and_the_errors() -> None:
    model = ODCARegressor().partial_fit([[1.0]], [4.0])
    assert (model.progress_.loss, model.progress_.mae, model.progress_.rmse) == (8.0, 4.0, 4.0)
