"""How a model is used after it was loaded: what it says, and what it says after it has learned some more.

Each function yields names and numbers; all numbers must be finite.
"""

import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp

import odca
from odca import AutoLearner, EventLearner, Learner, stream
from odca.io import model_file
from odca.models.auto_events import AutoEvents
from odca.stream.model import StreamModel

Numbers = Iterator[tuple[str, Any]]

RNG = np.random.default_rng(0)
ROWS = RNG.normal(size=(60, 4))
COUNTRIES = np.array(["NZ", "FR", "IT", "PE"])[RNG.integers(0, 4, 60)]
DICTIONARIES = [
    {"a": float(x[0]), "b": float(x[1]), "country": str(country)} for x, country in zip(ROWS, COUNTRIES, strict=True)
]


def data_of(model: Any) -> bytes:
    """The bytes of a model's file."""
    return b"".join(model_file.to_chunks(model.saved()))


def learned(model: Any, learn: Callable[[], Any]) -> Any:
    """What `learn` returns. It may refuse the events, if that leaves the model as it was."""
    before = data_of(model)
    try:
        return learn()
    except ValueError:
        assert data_of(model) == before, "a refused call changed the model"
        return ()


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
            yield "learn late", learned(learner, partial(learner.learn, X, y, asked=asked))


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
            yield "learn_many", learned(model, partial(model.learn_many, DICTIONARIES[:3], y, time=time))
            one = {} if time is None else {"time": clock + 3.0}
            label = y[0] if learner.lanes > 1 else 1.0
            yield "learn_one", learned(model, partial(model.learn_one, DICTIONARIES[3], label, **one))
            for number in range(5):
                try:
                    model.waiting(f"late {number}")
                except KeyError:
                    continue
                yield "learn_label", learned(model, partial(model.learn_label, f"late {number}", label, **one))


def use_auto_events(model: AutoEvents) -> Numbers:
    for moment in ("before", "after"):
        for answer in ("live", "steady"):
            yield f"{answer} {moment}", model.predict_many(DICTIONARIES[:3], answer=answer)
            yield (
                f"explain {answer} {moment}",
                np.array(list(model.explain_one(DICTIONARIES[3], answer=answer).values())),
            )
        if moment == "before":
            yield "learn_many", learned(model, lambda: model.learn_many(DICTIONARIES[:3], [0.0, 1.0, 0.0]))
            for number in range(5):
                try:
                    model.waiting(number)
                except KeyError:
                    continue
                yield "learn_label", learned(model, partial(model.learn_label, number, 1.0))


def use_estimator(model: Any) -> Numbers:
    X = np.random.default_rng(1).normal(size=(3, model.n_features_in_))
    has_time = bool(
        getattr(model, "learner_", None) and getattr(getattr(model.learner_, "window", None), "uses_time", 0)
    )
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
            learned(model, partial(model.partial_fit, X, predicted, **how))


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


def use_stream_model(model: StreamModel) -> Numbers:
    about = [{"a": 0.5, "b": 1.0, "country": "NZ"}, {"a": -0.5}]
    line = {
        "vw": "1 |n a:1 b:2\n2 |n a:2\n",
        "libsvm": "1 1:1 2:2\n2 1:2\n",
        "csv": "label,a,country\n1,2,NZ\n2,3,FR\n",
    }
    for moment in ("before", "after"):
        for answer in ("live", "steady") if model.options.auto else ("steady",):
            for wanted in ("margins", "probabilities")[: 1 + (model.task == "classes")]:
                if not model.schema.has_indices:
                    yield f"{wanted} {answer} {moment}", model.predict(about, wanted, answer=answer)
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
