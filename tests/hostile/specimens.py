"""Small models of every kind that has a file, and how each is used after it was loaded."""

import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

import odca
from odca import (
    KL,
    L2,
    AutoClassifier,
    AutoLearner,
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
    stream,
)
from odca.io import model_file
from odca.models.auto_events import AutoEvents
from odca.models.options import ModelOptions
from odca.stream import Features, Position
from odca.stream.checkpoint import Checkpoint
from odca.stream.model import StreamModel
from stream_files import events, libsvm, trained, vw, write
from streams import LOSSES, PENALTIES, WINDOWS, make_stream, options, window_name

Numbers = Iterator[tuple[str, Any]]
"""What a model says, by name: numbers that must be finite."""

RNG = np.random.default_rng(0)
ROWS = RNG.normal(size=(60, 4))
COUNTRIES = np.array(["NZ", "FR", "IT", "PE"])[RNG.integers(0, 4, 60)]
DICTIONARIES = [
    {"a": float(x[0]), "b": float(x[1]), "country": str(country)} for x, country in zip(ROWS, COUNTRIES, strict=True)
]
TWO, THREE = (ROWS[:, 0] > 0).astype(float), np.digitize(ROWS[:, 0], [-0.5, 0.5]).astype(float)


@dataclass(frozen=True)
class Specimen:
    """A model as bytes; how to load it; and what it says, before and after it learns some more."""

    data: bytes
    load: Callable[[Path], Any]
    use: Callable[[Any], Numbers]


def data_of(model: Any) -> bytes:
    """The bytes of a model's file."""
    return b"".join(model_file.to_chunks(model.saved()))


@cache
def specimen(name: str) -> Specimen:
    """The model of this name, made by the function that MAKERS has for it."""
    return MAKERS[name]()


def learned(model: Any, learn: Callable[[], Any]) -> Any:
    """What `learn` returns. It may refuse the events, if that leaves the model as it was."""
    before = data_of(model)
    try:
        return learn()
    except ValueError:
        assert data_of(model) == before, "a refused call changed the model"
        return ()


# Learners


def _learner(number: int, penalty: Any, window: Any, **others: Any) -> Specimen:
    lanes, loss = (None, 3)[number % 2], LOSSES[number % len(LOSSES)]
    kappa = (0.0, 0.9, 1.0)[number % 3]
    keywords = options(loss=loss, penalty=penalty, window=window, smoothing=kappa, lanes=lanes, intercept=number % 2 > 0)
    return _of(_taught(keywords | others, number))


def _taught(keywords: dict[str, Any], number: int = 0, **about: Any) -> Learner:
    learner = Learner(**keywords)
    about = {"sparse": number % 4 < 2} | about
    make_stream(keywords["loss"], 40, seed=number, lanes=keywords.get("lanes"), **about).into(learner)
    return learner


def _of(model: Any, use: Any = None) -> Specimen:
    return Specimen(data_of(model), odca.load, use or use_learner)


def use_learner(learner: Learner) -> Numbers:
    rng = np.random.default_rng(1)
    width = learner.fixed_features or max(learner.n_features, 1)
    X = rng.normal(size=(3, width))
    y = np.ones((3, learner.lanes))
    time = None if not learner.window.uses_time else (learner.clock or 0.0) + np.arange(3.0)
    forms: dict[str, Any] = {"dense": X, "sparse": sp.csr_array(X)}
    if learner.scale:  # a learner that scales takes rows of one kind
        forms.pop({1: "sparse"}.get(int(learner.get_state()["scaling.kind"][0]), "dense"))
    for moment in ("before", "after"):
        for name in ("coef", "smoothed_coef", "intercept", "smoothed_intercept", "mass", "strength", "saturation"):
            yield f"{name} {moment}", getattr(learner, name)
        yield f"effective_sample_size {moment}", learner.effective_sample_size
        for form, rows in forms.items():
            yield f"predict {form} {moment}", learner.predict(rows)
            if moment == "before":
                yield f"learn {form}", learned(learner, partial(learner.learn, rows, y, time=time))


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


def use_auto(learner: AutoLearner) -> Numbers:
    X = np.random.default_rng(1).normal(size=(3, max(learner.n_features, 1)))
    y = np.array([0.0, 1.0, 0.0])
    for moment in ("before", "after"):
        for answer in ("live", "steady"):
            yield f"{answer} {moment}", learner.predict(X, answer=answer)
        yield f"coef {moment}", learner.coef
        yield f"intercept {moment}", learner.intercept
        yield f"weights {moment}", learner.native.weights()
        str(learner.report())
        if moment == "before":
            asked = learner.ask(X)
            yield "asked", asked.said
            yield "learn", learned(learner, lambda: learner.learn(X, y))
            yield "learn sparse", learned(learner, lambda: learner.learn(sp.csr_array(X), y))
            yield "learn late", learned(learner, lambda: learner.learn(X, y, asked=asked))


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


def use_events(model: EventLearner) -> Numbers:
    learner = model.learner
    y = np.ones((3, learner.lanes))
    clock = learner.clock or 0.0
    for moment in ("before", "after"):
        yield f"predict_many {moment}", model.predict_many(DICTIONARIES[:3])
        yield f"predict_one {moment}", model.predict_one(DICTIONARIES[3])
        yield f"explain_one {moment}", np.array(list(model.explain_one(DICTIONARIES[3]).values()))
        yield f"coef {moment}", learner.smoothed_coef
        if moment == "before":
            time = clock + np.arange(3.0) if learner.window.uses_time else None
            yield "learn_many", learned(model, lambda: model.learn_many(DICTIONARIES[:3], y, time=time))
            one = {} if time is None else {"time": clock + 3.0}
            label = y[0] if learner.lanes > 1 else 1.0
            yield "learn_one", learned(model, lambda: model.learn_one(DICTIONARIES[3], label, **one))
            for number in range(5):
                try:
                    model.waiting(f"late {number}")
                except KeyError:
                    continue
                yield "learn_label", learned(model, partial(model.learn_label, f"late {number}", label, **one))


def _auto_events(task: str, y: np.ndarray, **keywords: Any) -> Specimen:
    learner = AutoEvents(task, **keywords)
    learner.learn_many(DICTIONARIES, y)
    for number in range(5):
        learner.predict_one(DICTIONARIES[number], id=number)
    learner.learn_many(DICTIONARIES[:4], y[:4])
    return _of(learner, use_auto_events)


def use_auto_events(model: AutoEvents) -> Numbers:
    for moment in ("before", "after"):
        for answer in ("live", "steady"):
            yield f"{answer} {moment}", model.predict_many(DICTIONARIES[:3], answer=answer)
            yield f"explain {answer} {moment}", np.array(list(model.explain_one(DICTIONARIES[3], answer=answer).values()))
        if moment == "before":
            yield "learn_many", learned(model, lambda: model.learn_many(DICTIONARIES[:3], [0.0, 1.0, 0.0]))
            for number in range(5):
                try:
                    model.waiting(number)
                except KeyError:
                    continue
                yield "learn_label", learned(model, partial(model.learn_label, number, 1.0))


# Estimators


def _estimator(model: Any, y: Any, *, fitted: bool = False) -> Specimen:
    if fitted:
        model.fit(ROWS, y)
    else:
        for rows in (slice(0, 20), slice(20, 60)):
            model.partial_fit(ROWS[rows], y[rows])
    return _of(model, use_estimator)


def use_estimator(model: Any) -> Numbers:
    X = np.random.default_rng(1).normal(size=(3, model.n_features_in_))
    has_time = bool(getattr(model, "learner_", None) and getattr(getattr(model.learner_, "window", None), "uses_time", 0))
    for moment in ("before", "after"):
        for name in ("coef_", "intercept_"):
            yield f"{name} {moment}", getattr(model, name)
        predicted = model.predict(X)
        yield f"predict {moment}", predicted if predicted.dtype.kind == "f" else np.zeros(1)
        for name in ("predict_proba", "decision_function"):
            if hasattr(model, name):
                yield f"{name} {moment}", getattr(model, name)(X)
        if moment == "before":
            how = {"time": (model.learner_.clock or 0.0) + np.arange(3.0)} if has_time else {}
            learned(model, lambda: model.partial_fit(X, predicted, **how))


def _river(model: Any, y: Any) -> Specimen:
    for x, label in zip(DICTIONARIES, y.tolist(), strict=True):
        model.learn_one(x, label)
    return _of(model, use_river)


def use_river(model: Any) -> Numbers:
    for moment in ("before", "after"):
        for x in DICTIONARIES[:3]:
            predicted = model.predict_one(x)
            if isinstance(predicted, float):
                yield f"predict_one {moment}", predicted
            if hasattr(model, "predict_proba_one"):
                yield f"predict_proba_one {moment}", list(model.predict_proba_one(x).values())
            if moment == "before":
                learned(model, partial(model.learn_one, x, predicted))


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
    return _of(Checkpoint(model, position, 2, {"files": ["a"], "rho": 0.5}), lambda found: use_stream_model(found.model))


def use_stream_model(model: StreamModel) -> Numbers:
    about = [{"a": 0.5, "b": 1.0, "country": "NZ"}, {"a": -0.5}]
    line = {"vw": "1 |n a:1 b:2\n2 |n a:2\n", "libsvm": "1 1:1 2:2\n2 1:2\n", "csv": "label,a,country\n1,2,NZ\n2,3,FR\n"}
    for moment in ("before", "after"):
        for answer in ("live", "steady") if model.options.auto else ("steady",):
            for wanted in ("margins", "probabilities")[: 1 + (model.task == "classes")]:
                if not model.schema.has_indices:
                    yield f"{wanted} {answer} {moment}", model.predict_events(about, wanted, answer=answer)
        if moment == "before" and model.schema.format in line:
            with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
                file.write(line[model.schema.format])
                file.flush()
                try:
                    with stream.open(file.name, schema=model.schema, vocabulary=model.vocabulary) as blocks:
                        for block in blocks:
                            yield "predict", model.predict(block, "margins")
                            model.learn(block)
                            yield "predict", model.predict(block, "margins")
                except (stream.StreamError, odca.InputError):  # labels, columns and times may be others by now
                    return


# All of them


def _makers() -> Iterator[tuple[str, Callable[[], Specimen]]]:
    for number, (penalty, window) in enumerate((penalty, window) for penalty in PENALTIES for window in WINDOWS):
        yield f"Learner {penalty.name} {window_name(window)}", partial(_learner, number, penalty, window)
    learners: dict[str, dict[str, Any]] = {
        "auto strength": {"loss": LogLoss(), "rho": "auto"},
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
        "half-lives by lane": {"loss": Hinge(), "rho": 0.1, "window": HalfLife((2.0, 9.0)), "lanes": 2, "smoothing": 0.5},
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
    yield "EventLearner KL", partial(_event_learner, loss=SquaredError(), rho=0.1, penalty=KL(), n_features=9, intercept=False)
    yield "EventLearner auto strength", partial(_event_learner, loss=LogLoss())
    yield "AutoEvents two classes", partial(_auto_events, "classes", TWO)
    yield "AutoEvents three classes", partial(_auto_events, "classes", THREE, classes=3)
    yield "AutoEvents numbers", partial(_auto_events, "numbers", 3.0 + ROWS[:, 0])
    yield "AutoEvents hashed", partial(_auto_events, "classes", TWO, bits=6)
    names = np.array(["no", "yes", "perhaps"])
    yield "ODCAClassifier", lambda: _estimator(ODCAClassifier(), names[TWO.astype(int)], fitted=True)
    yield "ODCAClassifier three, sliding", lambda: _estimator(ODCAClassifier(loss="hinge", window=30), names[THREE.astype(int)], fitted=True)
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
    yield "StreamModel numbers", partial(_streamed, libsvm, "three", ModelOptions(task="numbers", penalty=ElasticNet(0.1)))
    yield "StreamModel hashed", partial(_streamed, vw, "two", plain, Features(bits=6))
    yield "StreamModel csv", partial(_streamed, str, "text", ModelOptions(loss=Hinge(), window=Sliding(30)))
    yield "StreamModel auto", partial(_streamed, vw, "three", ModelOptions(auto="events"))
    yield "StreamModel auto numbers", partial(_streamed, vw, "two", ModelOptions(auto="events", task="numbers"))
    yield "Checkpoint", partial(_checkpoint, vw, "two", plain)
    yield "Checkpoint auto", partial(_checkpoint, str, "text", ModelOptions(auto="events"))


MAKERS = dict(_makers())
NAMES = tuple(MAKERS)
