"""Every model and every face of it, behind one interface: what the hostile tests of threads, signals and forks try on each.

An event has a few numbers, a name of its own (where events have names) and a label. Faces of classes get labels that nobody declared.
"""

import functools
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from odca import EventLearner, Learner, LogLoss, SquaredError, river, sklearn
from odca import stream as files
from odca.models.auto import AutoLearner
from odca.models.auto_events import AutoEvents
from odca.models.options import ModelOptions
from odca.stream.model import StreamModel
from odca.stream.read.stream import read_events

WIDTH = 6


@dataclass(frozen=True)
class Events:
    """Some events: their numbers among all of a case, and the class of each."""

    numbers: Sequence[int]
    classes: Sequence[int]

    @functools.cached_property
    def X(self) -> Any:
        return np.vstack([np.random.default_rng(number).normal(size=WIDTH) for number in self.numbers])

    @functools.cached_property
    def y(self) -> Any:
        return self.X[:, 0] * 2.0 + 1.0

    @functools.cached_property
    def labels(self) -> list[str]:
        return [f"class {each}" for each in self.classes]

    @functools.cached_property
    def dictionaries(self) -> list[dict[str, Any]]:
        return [
            {"a": x[0], "b": x[1], "c": f"v{number % 5}", f"n{number}": 1.0}
            for number, x in zip(self.numbers, self.X.tolist(), strict=True)
        ]

    def __len__(self) -> int:
        return len(self.numbers)


@dataclass(frozen=True)
class Face:
    """A kind of model. `refuse` makes a call with these events that must raise ValueError, with a name and a label of its own."""

    name: str
    make: Callable[[], Any]
    learn: Callable[[Any, Events], object]
    refuse: Callable[[Any, Events], object]
    predict: Callable[[Any, Events], Any]
    learner: Callable[[Any], Any]
    """The learner behind the model, which has `count` and `get_state`."""
    names: Callable[[Any], Any] = field(default=lambda _: None)
    """The names of the features; None where they have none."""
    classes: Callable[[Any], Any] = field(default=lambda _: None)
    """The labels so far; None where labels are numbers, or 0 and 1."""


def _bad(y: Any) -> Any:
    """Labels of which the last is none."""
    spoilt = np.array(y, dtype=float)
    spoilt[-1] = np.nan
    return spoilt


def _refused_events(events: Events) -> list[dict[str, Any]]:
    """Events of new names, the last of which is no event."""
    return [{f"refused {number}": 1.0} for number in events.numbers[:-1]] + [{"refused": 1.0, "x": float("inf")}]


def _names(events: Any) -> set[str]:
    return {each for each in events.features if isinstance(each, str)}


def _row_of(x: Any) -> Any:
    return np.array(list(x.values()))


def _river_one_by_one(model: Any, events: Events, y: Sequence[Any]) -> None:
    for x, label in zip(events.dictionaries, y, strict=True):
        model.learn_one(x, label)


def _arrays(kind: Any, y: Callable[[Events], Any], **options: Any) -> dict[str, Any]:
    return {
        "make": lambda: kind(**options),
        "learn": lambda model, events: model.partial_fit(events.X, y(events)),
        "refuse": lambda model, events: model.partial_fit(
            events.X,
            ["refused"] * len(events) if "Classifier" in kind.__name__ else y(events),
            sample_weight=-np.ones(len(events)),
        ),
        "learner": lambda model: model.learner_,
    }


def _rivers(kind: Any, y: Callable[[Events], Any], *, many: bool) -> dict[str, Any]:
    is_classifier = "Classifier" in kind.__name__
    return {
        "make": kind,
        "learn": (lambda model, events: model.learn_many(events.dictionaries, y(events)))
        if many
        else (lambda model, events: _river_one_by_one(model, events, y(events))),
        "refuse": lambda model, events: model.learn_many(
            _refused_events(events), ["refused"] * len(events) if is_classifier else y(events)
        ),
        "learner": lambda model: model.events.learner,
        "names": lambda model: _names(model.events),
        "predict": (lambda model, events: [model.predict_proba_one(x) for x in events.dictionaries])
        if is_classifier
        else (lambda model, events: [model.predict_one(x) for x in events.dictionaries]),
        "classes": (lambda model: set(model.classes)) if is_classifier else (lambda _: None),
    }


def _blocks(events: Events) -> Any:
    """A file of these events, read whole."""
    lines = [
        f"{d['a']},{d['b']},{d['c']},k{n},{label},1"
        for d, n, label in zip(events.dictionaries, events.numbers, events.labels, strict=True)
    ]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "events.csv")
        path.write_text("a,b,c,key,label,weight\n" + "\n".join(lines) + "\n")
        with files.open(path, label="label", weight="weight") as opened:
            return opened.schema, opened.sample, list(opened)


def _new_stream(**options: Any) -> Callable[[], StreamModel]:
    def make() -> StreamModel:
        schema, sample, _ = _blocks(Events(range(300), [k % 3 for k in range(300)]))
        return StreamModel.begin(ModelOptions(**options), schema, sample)

    return make


def _read(model: StreamModel, events: Events, *, grow: bool, refused: bool = False) -> Any:
    """A block of these events, as one of the model's stream."""
    rows = [
        {"a": d["a"], "b": d["b"], "c": d["c"], "key": f"k{number}", "label": label, "weight": 1.0}
        for d, label, number in zip(events.dictionaries, events.labels, events.numbers, strict=True)
    ]
    if refused:
        rows[-1] |= {"label": "of its own", "weight": -1.0}
    block = read_events(rows, model.schema, None)
    block.rows.resolve(model.vocabulary.absorb(block.rows, grow), len(model.vocabulary))
    return block


def _streams(**options: Any) -> dict[str, Any]:
    return {
        "make": _new_stream(**options),
        "learn": lambda model, events: model.learn(_read(model, events, grow=True)),
        "refuse": lambda model, events: model.learn(_read(model, events, grow=True, refused=True)),
        "predict": lambda model, events: model.predict(_read(model, events, grow=False), "probabilities"),
        "learner": lambda model: model.learner,
    }


def _labels(events: Events) -> list[str]:
    return events.labels


def _numbers(events: Events) -> Any:
    return events.y


def _of_sklearn_classes(model: Any, events: Events) -> Any:
    return model.predict_proba(events.X)


FACES = [
    Face(
        "Learner",
        lambda: Learner(loss=SquaredError(), rho=0.1, smoothing=0.9),
        lambda model, events: model.learn(events.X, events.y),
        lambda model, events: model.learn(events.X, _bad(events.y)),
        lambda model, events: model.predict(events.X),
        lambda model: model,
    ),
    Face(
        "EventLearner",
        lambda: EventLearner(loss=SquaredError(), rho=0.1),
        lambda model, events: model.learn_many(events.dictionaries, events.y),
        lambda model, events: model.learn_many(_refused_events(events), events.y),
        lambda model, events: model.predict_many(events.dictionaries),
        lambda model: model.learner,
        _names,
    ),
    Face(
        "AutoLearner",
        lambda: AutoLearner("classes", classes=3),
        lambda model, events: model.learn(events.X, np.array(events.classes) % 3),
        lambda model, events: model.learn(events.X, _bad(np.array(events.classes) % 3)),
        lambda model, events: np.exp(model.predict(events.X)),
        lambda model: model,
    ),
    Face(
        "AutoEvents",
        lambda: AutoEvents("numbers"),
        lambda model, events: model.learn_many(events.dictionaries, events.y),
        lambda model, events: model.learn_many(_refused_events(events), events.y),
        lambda model, events: model.predict_many(events.dictionaries),
        lambda model: model.learner,
        _names,
    ),
    Face(
        "sklearn.ODCAClassifier",
        predict=_of_sklearn_classes,
        classes=lambda model: set(model.classes_),
        **_arrays(sklearn.ODCAClassifier, _labels, loss="hinge"),
    ),
    Face(
        "sklearn.ODCARegressor",
        predict=lambda model, events: model.predict(events.X),
        **_arrays(sklearn.ODCARegressor, _numbers),
    ),
    Face(
        "sklearn.AutoClassifier",
        predict=_of_sklearn_classes,
        classes=lambda model: set(model.classes_),
        **_arrays(sklearn.AutoClassifier, _labels),
    ),
    Face(
        "sklearn.AutoRegressor",
        predict=lambda model, events: model.predict(events.X),
        **_arrays(sklearn.AutoRegressor, _numbers),
    ),
    Face("river.ODCAClassifier", **_rivers(river.ODCAClassifier, _labels, many=False)),
    Face("river.ODCARegressor", **_rivers(river.ODCARegressor, _numbers, many=True)),
    Face("river.AutoClassifier", **_rivers(river.AutoClassifier, _labels, many=True)),
    Face("river.AutoRegressor", **_rivers(river.AutoRegressor, _numbers, many=False)),
    Face("StreamModel, one linear model", **_streams(auto=None, loss=LogLoss(), task="classes")),
    Face("StreamModel, automatic", **_streams(auto="events", task="classes")),
]
BY_NAME = {face.name: face for face in FACES}


def faults_of(face: Face, model: Any, learned: Sequence[Events]) -> list[str]:
    """What is wrong with a model that has learned these events, in any order, and nothing else."""
    faults = []
    numbers = {number for events in learned for number in events.numbers}
    count = face.learner(model).count
    if count != sum(map(len, learned)):
        faults.append(f"it has learned {count} events, not {sum(map(len, learned))}")
    expected = {"a", "b"} | {f"n{number}" for number in numbers}
    if face.names(model) is not None and face.names(model) != expected:
        faults.append(f"its names differ by {sorted(face.names(model) ^ expected)[:4]}")
    labels = {label for events in learned for label in events.labels}
    if face.classes(model) is not None and face.classes(model) != labels:
        faults.append(f"its classes are {sorted(face.classes(model))}, not {sorted(labels)}")
    if learned:
        faults += faults_of_answers(face.predict(model, learned[0]), len(learned[0]))
        faults += faults_of_file(face, model, learned[0])
    return faults


def faults_of_answers(answers: Any, count: int) -> list[str]:
    """Whether these are `count` predictions, all of them numbers; probabilities sum to one."""
    rows = [list(each.values()) if isinstance(each, dict) else np.atleast_1d(each).tolist() for each in answers]
    if len(rows) != count or not all(np.isfinite(row).all() for row in rows):
        return ["there is not a number for every event"]
    if any(len(row) > 1 and abs(sum(row) - 1.0) > 1e-6 for row in rows):
        return ["probabilities do not sum to one"]
    return []


def faults_of_file(face: Face, model: Any, events: Events) -> list[str]:
    """Whether the model can be saved and loaded, and then says the same."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.safetensors")
        model.save(path)
        try:
            loaded = type(model).load(path)
        except ValueError as error:
            return [f"its file cannot be loaded: {error}"]
    same = all(
        np.array_equal(one, other)
        for one, other in zip(
            face.learner(model).get_state().values(), face.learner(loaded).get_state().values(), strict=True
        )
    )
    if not same or str(face.predict(loaded, events)) != str(face.predict(model, events)):
        return ["its file holds another model"]
    return []
