"""Small models of every kind that has a file, and how each is used after it was loaded."""

import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

import odca
from hostile.uses import (
    DICTIONARIES,
    ROWS,
    Numbers,
    data_of,
    use_auto,
    use_auto_events,
    use_estimator,
    use_events,
    use_learner,
    use_river,
    use_stream_model,
)
from odca import (
    KL,
    L2,
    AutoClassifier,
    AutoLearner,
    Automatic,
    AutoRegressor,
    Delta,
    ElasticNet,
    EventLearner,
    Exponential,
    HalfLife,
    Hinge,
    Learner,
    LogLoss,
    ODCAClassifier,
    ODCARegressor,
    Sliding,
    SquaredError,
    river,
)
from odca.models.auto_events import AutoEvents
from odca.models.options import ModelOptions
from odca.stream import Features, Position
from odca.stream.checkpoint import Checkpoint
from odca.stream.model import StreamModel
from stream_files import events, libsvm, trained, vw, write
from streams import LOSSES, PENALTIES, WINDOWS, make_stream, options, window_name

TWO, THREE = (ROWS[:, 0] > 0).astype(float), np.digitize(ROWS[:, 0], [-0.5, 0.5]).astype(float)

HISTORY = ("y by country: lag 1,3; mean 40", "a: std 3; change 1")


@dataclass(frozen=True)
class Specimen:
    """A model as bytes; how to load it; and what it says, before and after it learns some more."""

    data: bytes
    load: Callable[[Path], Any]
    use: Callable[[Any], Numbers]


@cache
def specimen(name: str) -> Specimen:
    """The model of this name, made by the function that MAKERS has for it."""
    return MAKERS[name]()


# Learners


def _learner(number: int, penalty: Any, window: Any, **others: Any) -> Specimen:
    lanes, loss = (None, 3)[number % 2], LOSSES[number % len(LOSSES)]
    kappa = (0.0, 0.9, 1.0)[number % 3]
    keywords = options(
        loss=loss, penalty=penalty, window=window, smoothing=kappa, lanes=lanes, intercept=number % 2 > 0
    )
    return _of(_taught(keywords | others, number))


def _taught(keywords: dict[str, Any], number: int = 0, **about: Any) -> Learner:
    learner = Learner(**keywords)
    about = {"sparse": number % 4 < 2} | about
    make_stream(keywords["loss"], 40, seed=number, lanes=keywords.get("lanes"), **about).into(learner)
    return learner


def _of(model: Any, use: Any = None) -> Specimen:
    return Specimen(data_of(model), odca.load, use or use_learner)


def _delta(keywords: dict[str, Any]) -> Specimen:
    base = _taught(keywords, 1)
    later = base.copy()
    loss, lanes = keywords["loss"], keywords.get("lanes")
    make_stream(loss, 30, seed=5, lanes=lanes).with_(time=1e3 + np.arange(30.0)).into(later)

    def load(path: Path) -> Delta:
        return Delta.from_bytes(path.read_bytes())

    def use(delta: Delta) -> Numbers:
        updated = base.copy()
        before = data_of(updated)
        try:
            updated.apply(delta)
        except ValueError:
            assert data_of(updated) == before, "a refused delta changed the learner"
            return
        yield from use_learner(updated)

    return Specimen(later.delta(base).to_bytes(), load, use)


# Automatic learners


def _auto(task: str, y: np.ndarray, classes: int = 2, rows: int = 60) -> Specimen:
    learner = AutoLearner(task, classes=classes)
    weight = np.where(np.arange(rows) % 7 == 0, 0.5, 1.0)
    learner.learn(ROWS[:rows], y[:rows], sample_weight=weight, time=np.arange(float(rows)))
    if rows > 30:
        asked = learner.ask(ROWS[:9])
        learner.learn(ROWS[9:11], y[9:11])
        learner.learn(ROWS[:9], y[:9], asked=asked)
    return _of(learner, use_auto)


# Dictionaries


def _event_learner(**keywords: Any) -> Specimen:
    learner = EventLearner(**keywords)
    time = np.arange(60.0)
    lanes = keywords.get("lanes")
    y = 2.0 * TWO - 1.0
    learner.learn_many(DICTIONARIES, np.column_stack([y] * lanes) if lanes else y, time=time)
    for number in range(5):
        learner.predict_one(DICTIONARIES[number], id=f"late {number}")
    return _of(learner, use_events)


def _auto_events(task: str, y: np.ndarray, **keywords: Any) -> Specimen:
    learner = AutoEvents(task, **keywords)
    learner.learn_many(DICTIONARIES, y)
    for number in range(5):
        learner.predict_one(DICTIONARIES[number], id=number)
    learner.learn_many(DICTIONARIES[:4], y[:4])
    return _of(learner, use_auto_events)


# Estimators


def _estimator(model: Any, y: Any, *, fitted: bool = False) -> Specimen:
    if fitted:
        model.fit(ROWS, y)
    else:
        for rows in (slice(0, 20), slice(20, 60)):
            model.partial_fit(ROWS[rows], y[rows])
    return _of(model, use_estimator)


def _river(model: Any, y: Any) -> Specimen:
    for x, label in zip(DICTIONARIES, y.tolist(), strict=True):
        model.learn_one(x, label)
    return _of(model, use_river)


# Models of `odca train`

LABELS = {"two": ("1", "2"), "three": ("1", "2", "3"), "text": ("up", "down", "side")}


def _stream_model(form: Any, labels: str, problem: ModelOptions, features: Features = Features()) -> StreamModel:  # noqa: B008 - frozen
    with tempfile.TemporaryDirectory() as folder:
        rows = events(60, labels=LABELS[labels])
        if form is str:
            path = Path(folder) / "data.csv"
            path.write_text("label,a,country\n" + "".join(f"{e['label']},{e['a']},{e['country']}\n" for e in rows))
            return trained(str(path), problem, features=features, label="label")
        path = write(Path(folder) / f"data.{form.__name__}", [form(each) for each in rows])
        return trained(path, problem, features=features)


def _streamed(*about: Any) -> Specimen:
    return _of(_stream_model(*about), use_stream_model)


def _checkpoint(*about: Any) -> Specimen:
    model = _stream_model(*about)
    position = Position(0, 100, 3, "abc", "def")
    return _of(
        Checkpoint(model, position, 2, {"files": ["a"], "rho": 0.5}), lambda found: use_stream_model(found.model)
    )


# All of them


def _makers() -> Iterator[tuple[str, Callable[[], Specimen]]]:
    for number, (penalty, window) in enumerate((penalty, window) for penalty in PENALTIES for window in WINDOWS):
        yield f"Learner {penalty.name} {window_name(window)}", partial(_learner, number, penalty, window)
    learners: dict[str, dict[str, Any]] = {
        "auto strength": {"loss": LogLoss(), "rho": "auto"},
        "auto window": {"loss": LogLoss(), "rho": 0.01, "window": Automatic()},
        "auto window and strength, lanes": {"loss": Hinge(), "rho": "auto", "window": Automatic(), "lanes": 2},
        "auto window, smoothed": {"loss": SquaredError(), "rho": 0.1, "window": Automatic(), "smoothing": 0.9},
        "auto strength, lanes, scaled": {"loss": Hinge(), "rho": "auto", "lanes": 2, "scale": True},
        "scaled": {"loss": SquaredError(), "rho": 0.01, "scale": True, "intercept": True},
        "scaled, sliding": {"loss": LogLoss(), "rho": 0.01, "scale": True, "window": Sliding(15)},
        "scaled, fading": {"loss": LogLoss(), "rho": 0.01, "scale": True, "window": Exponential(0.8), "smoothing": 0.9},
        "shaped": options(loss=SquaredError(), penalty=ElasticNet(0.05), shaped=True, intercept=True),
        "prior mean by lane": {
            "loss": SquaredError(),
            "rho": 0.1,
            "lanes": 2,
            "prior_mean": [[1.0, 2.0], [3.0, -1.0]],
            "smoothing": 0.9,
        },
        "prior of KL": {"loss": SquaredError(), "rho": 0.1, "penalty": KL(list(range(1, 13)))},
        "windows by lane": {"loss": SquaredError(), "rho": 0.1, "window": Exponential((0.8, 0.9, 0.99)), "lanes": 3},
        "half-lives by lane": {
            "loss": Hinge(),
            "rho": 0.1,
            "window": HalfLife((2.0, 9.0)),
            "lanes": 2,
            "smoothing": 0.5,
        },
    }
    for name, keywords in learners.items():
        yield f"Learner {name}", lambda keywords=keywords: _of(_taught(keywords, 1 if "scale" in keywords else 2))
    yield "Learner dense, scaled", lambda: _of(_taught({"loss": LogLoss(), "rho": 0.1, "scale": True}, sparse=False))
    yield "Learner new", lambda: _of(Learner(loss=Hinge(), rho=0.1, smoothing=0.5))
    for window in WINDOWS:
        for kappa, lanes in ((0.0, None), (0.9, 2)):
            keywords = options(loss=LOSSES[0], penalty=L2(), window=window, smoothing=kappa, lanes=lanes)
            if window_name(window) != "sliding":
                yield f"Delta {window_name(window)} {kappa}", partial(_delta, keywords)
    yield "Delta auto strength", partial(_delta, {"loss": SquaredError(), "rho": "auto"})
    yield "Delta auto window", partial(_delta, {"loss": SquaredError(), "rho": "auto", "window": Automatic()})
    yield "AutoLearner two classes", partial(_auto, "classes", TWO)
    yield "AutoLearner three classes", partial(_auto, "classes", THREE, 3)
    yield "AutoLearner classes, declared", partial(_auto, "classes", THREE, 5)
    yield "AutoLearner numbers", partial(_auto, "numbers", 3.0 + ROWS[:, 0])
    yield "AutoLearner few events", partial(_auto, "numbers", 3.0 + ROWS[:, 0], rows=3)
    yield "AutoLearner new", lambda: _of(AutoLearner("classes"), use_auto)
    yield "EventLearner", partial(_event_learner, loss=LogLoss(), rho=0.1)
    yield "EventLearner sliding, lanes", partial(_event_learner, loss=Hinge(), rho=0.1, window=Sliding(20), lanes=2)
    yield "EventLearner half-life", partial(_event_learner, loss=Hinge(), window=HalfLife(9.0), rho=0.1, smoothing=0.9)
    yield "EventLearner hashed", partial(_event_learner, loss=SquaredError(), rho=0.1, bits=6, scale=False)
    yield (
        "EventLearner KL",
        partial(_event_learner, loss=SquaredError(), rho=0.1, penalty=KL(), n_features=9, intercept=False),
    )
    yield "EventLearner auto strength", partial(_event_learner, loss=LogLoss())
    yield (
        "EventLearner hashed, mostly zeros",
        partial(_event_learner, loss=SquaredError(), rho=0.1, bits=14, scale=False),
    )
    yield "AutoEvents two classes", partial(_auto_events, "classes", TWO)
    yield "AutoEvents three classes", partial(_auto_events, "classes", THREE, classes=3)
    yield "AutoEvents numbers", partial(_auto_events, "numbers", 3.0 + ROWS[:, 0])
    yield "AutoEvents hashed", partial(_auto_events, "classes", TWO, bits=6)
    yield "AutoEvents with history", partial(_auto_events, "classes", TWO, history=HISTORY, history_keys=2)
    yield "EventLearner with history", partial(_event_learner, loss=LogLoss(), history=HISTORY, history_keys=2)
    past = Features(history=("y by country: lag 1,3; mean 40", "a: std 3"), history_keys=2)
    yield "StreamModel with history", partial(_streamed, str, "two", ModelOptions(loss=LogLoss(), rho=0.5), past)
    yield "StreamModel automatic with history", partial(_streamed, str, "two", ModelOptions(auto="events"), past)
    names = np.array(["no", "yes", "perhaps"])
    yield "ODCAClassifier", lambda: _estimator(ODCAClassifier(), names[TWO.astype(int)], fitted=True)
    yield (
        "ODCAClassifier three, sliding",
        lambda: _estimator(ODCAClassifier(loss="hinge", window=30), names[THREE.astype(int)], fitted=True),
    )
    yield "ODCAClassifier online", lambda: _estimator(ODCAClassifier(penalty="elasticnet:0.1"), THREE)
    yield "ODCARegressor", lambda: _estimator(ODCARegressor(), ROWS[:, 0], fitted=True)
    yield "ODCARegressor outputs", lambda: _estimator(ODCARegressor(loss="huber", window=Exponential(0.9)), ROWS[:, :2])
    yield "AutoClassifier", lambda: _estimator(AutoClassifier(), names[THREE.astype(int)])
    yield "AutoRegressor", lambda: _estimator(AutoRegressor(), ROWS[:, 0])
    yield "river ODCAClassifier", lambda: _river(river.ODCAClassifier(), names[THREE.astype(int)])
    yield "river ODCARegressor", lambda: _river(river.ODCARegressor(), ROWS[:, 0])
    yield "river AutoClassifier", lambda: _river(river.AutoClassifier(), names[TWO.astype(int)])
    yield "river AutoRegressor", lambda: _river(river.AutoRegressor(), ROWS[:, 0])
    plain = ModelOptions()
    yield "StreamModel two classes", partial(_streamed, vw, "two", plain)
    calibrated = ModelOptions(task="classes", loss=Hinge(), window=Exponential(0.99))
    yield "StreamModel calibrated", partial(_streamed, vw, "three", calibrated)
    yield (
        "StreamModel numbers",
        partial(_streamed, libsvm, "three", ModelOptions(task="numbers", penalty=ElasticNet(0.1))),
    )
    yield "StreamModel hashed", partial(_streamed, vw, "two", plain, Features(bits=6))
    yield "StreamModel csv", partial(_streamed, str, "text", ModelOptions(loss=Hinge(), window=Sliding(30)))
    yield "StreamModel auto", partial(_streamed, vw, "three", ModelOptions(auto="events"))
    yield "StreamModel auto numbers", partial(_streamed, vw, "two", ModelOptions(auto="events", task="numbers"))
    yield "Checkpoint", partial(_checkpoint, vw, "two", plain)
    yield "Checkpoint auto", partial(_checkpoint, str, "text", ModelOptions(auto="events"))


MAKERS = dict(_makers())
NAMES = tuple(MAKERS)
