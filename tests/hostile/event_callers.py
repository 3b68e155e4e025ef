"""Calls of the classes that take dictionaries: models of events and estimators for river."""

from functools import partial
from typing import Any

import numpy as np

from hostile import odd_values as odd
from hostile.drawn_options import Call, Draw, auto_labels, extras, features, labels, options, pickled, same
from odca import EventLearner
from odca.models.auto_events import AutoEvents

# Dictionaries


def make_events(draw: Draw) -> EventLearner:
    chosen = options(draw)
    for name in ("prior_mean", "penalty_weights", "prior_intercept"):
        chosen.pop(name, None)
    if "n_features" in chosen:
        chosen |= {"n_features": 30, "intercept": False}
    return EventLearner(**chosen, **features(draw), max_pending=odd.number(draw, 3))


def event_call(model: EventLearner, draw: Draw) -> Call:
    x, many = odd.event(draw), odd.events(draw)
    n = len(many) if isinstance(many, list) else 1
    loss, lanes = model.learner.loss, model.learner.lanes
    y = labels(loss, n, draw)
    label: Any = odd.number(draw, 1.0)
    if lanes > 1:
        y, label = np.column_stack([y] * lanes), [1.0] * lanes
    y = odd.column(draw, y)
    times = model.learner.window.uses_time
    clock = model.learner.clock or 0.0
    given = extras(draw, n, names=("sample_weight", "offset", "time"), needs_time=times, clock=clock)
    one: dict[str, Any] = {"time": odd.number(draw, clock + 1.0)} if times else {}
    if draw.random() < 0.2:
        one["weight"] = odd.number(draw, 0.5)
    id_ = draw.choice(("i", 3, "j", 1.5, None, b"i", True))
    calls = {
        "learn_one": Call("learn_one", lambda: model.learn_one(x, label, **one), changes=True),
        "learn_many": Call("learn_many", lambda: model.learn_many(many, y, **given), changes=True),
        "predict_one": Call("predict_one", lambda: model.predict_one(x)),
        "predict_many": Call("predict_many", lambda: model.predict_many(many)),
        "keep": Call("predict_one", lambda: model.predict_one(x, id=id_), changes=True),
        "learn_label": Call("learn_label", lambda: model.learn_label(id_, label, **one), changes=True),
        "explain_one": Call("explain_one", lambda: model.explain_one(x)),
        "weights": Call("weights", model.weights),
        "features": Call("features", lambda: model.features and None),
        "copy": Call("copy", lambda: same(model, draw.choice((model.copy, partial(pickled, model)))())),
    }
    return calls[draw.choice((*["learn_one"] * 5, *["learn_many"] * 4, *["predict_one"] * 3, *calls))]


def make_auto_events(draw: Draw) -> AutoEvents:
    return AutoEvents(draw.choice(("classes", "numbers")), classes=odd.number(draw, 2), max_pending=3, **features(draw))


def auto_event_call(model: AutoEvents, draw: Draw) -> Call:
    x, many = odd.event(draw), odd.events(draw)
    n = len(many) if isinstance(many, list) else 1
    y = odd.column(draw, auto_labels(model.learner, n, draw))
    given = extras(draw, n, names=("sample_weight", "time"), needs_time=False, clock=float(model.learner.count))
    label = odd.number(draw, draw.choice((0.0, 1.0)))
    answer = draw.choice(("live", "steady", "x"))
    id_ = draw.choice(("i", 3, "j", 1.5, None))
    calls = {
        "learn_one": Call("learn_one", lambda: model.learn_one(x, label), changes=True),
        "learn_many": Call("learn_many", lambda: model.learn_many(many, y, **given), changes=True),
        "predict_one": Call("predict_one", lambda: model.predict_one(x, answer=answer)),
        "predict_many": Call("predict_many", lambda: model.predict_many(many, answer=answer)),
        "keep": Call("predict_one", lambda: model.predict_one(x, id=id_), changes=True),
        "learn_label": Call("learn_label", lambda: model.learn_label(id_, label), changes=True),
        "explain_one": Call("explain_one", lambda: model.explain_one(x, answer=answer)),
        "freeze": Call("freeze", lambda: model.freeze().learner.coef),
        "copy": Call("copy", lambda: model.copy() and None),
    }
    return calls[draw.choice((*["learn_one"] * 5, *["learn_many"] * 4, *["predict_one"] * 3, *calls))]


# Estimators of river


def make_river(kind: Any, draw: Draw) -> Any:
    chosen: dict[str, Any] = {}
    if "Auto" not in kind.__name__:
        names = {"rho", "smoothing", "prior_strength", "window", "penalty", "scale"}
        chosen = {name: value for name, value in options(draw).items() if name in names}
    return kind(**chosen, **features(draw))


def river_call(model: Any, draw: Draw) -> Call:
    x, many = odd.event(draw), odd.events(draw)
    known = ("a", "b", "c", 1, True, None) if "Classifier" in type(model).__name__ else (0.5, -1.0, 2.0)
    usual = known[: draw.choice((1, 2, 2, 3))]
    label = odd.number(draw, draw.choice(usual)) if draw.random() < 0.9 else draw.choice(known)
    if (
        isinstance(label, int) and abs(label) > 2**80
    ):  # NumPy's numbers, of which some are labels, cannot be compared with it
        label = "a"
    y = [draw.choice(usual) for _ in range(len(many) if isinstance(many, list) else 1)]
    one: dict[str, Any] = (
        {"time": odd.number(draw, draw.random())} if "HalfLife" in repr(getattr(model, "window", "")) else {}
    )
    id_ = draw.choice(("i", 3, None))
    calls = {
        "learn_one": Call("learn_one", lambda: model.learn_one(x, label, **one), changes=True),
        "learn_many": Call("learn_many", lambda: model.learn_many(many, y), changes=True),
        "predict_one": Call("predict_one", lambda: model.predict_one(x) and None),
        "keep": Call("predict_one", lambda: model.predict_one(x, id=id_) and None, changes=True),
        "learn_label": Call("learn_label", lambda: model.learn_label(id_, label), changes=True),
        "explain_one": Call("explain_one", lambda: model.explain_one(x)),
    }
    if hasattr(model, "predict_proba_one"):
        calls["predict_proba_one"] = Call("predict_proba_one", lambda: model.predict_proba_one(x))
    return calls[draw.choice((*["learn_one"] * 6, *["predict_one"] * 2, *calls))]
