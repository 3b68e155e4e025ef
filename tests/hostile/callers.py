"""What can be called of each public class: how one is made, and a call of it, with arguments drawn at random."""

import copy
import pickle
import random
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

import odca
from hostile import odd_values as odd
from odca import (
    KL,
    AutoClassifier,
    AutoLearner,
    AutoRegressor,
    Box,
    Delta,
    ElasticNet,
    EventLearner,
    Exponential,
    HalfLife,
    Hinge,
    Infinite,
    Learner,
    LogLoss,
    NonNegative,
    ODCAClassifier,
    ODCARegressor,
    Poisson,
    Sliding,
    SquaredError,
    river,
)
from odca.models.auto_events import AutoEvents
from streams import LOSSES

Draw = random.Random


class Call(NamedTuple):
    """A call that is about to be made."""

    name: str
    function: Callable[[], Any]
    changes: bool = False


class Face(NamedTuple):
    """A public class: how one is made, and a call of it."""

    make: Callable[[Draw], Any]
    call: Callable[[Any, Draw], Call]


WIDTH = 4


def _losses(draw: Draw) -> Any:
    return draw.choice(LOSSES)


def _windows(draw: Draw) -> Any:
    usual = (Infinite(), Infinite(), Exponential(0.9), HalfLife(3.0), Sliding(5), Sliding(duration=4.0))
    if draw.random() < 0.1:
        kind = draw.choice((Exponential, HalfLife, Sliding))
        return kind(draw.choice(odd.ODD_NUMBERS))
    return draw.choice(usual)


def _penalties(draw: Draw) -> Any:
    if draw.random() < 0.1:
        return draw.choice((ElasticNet, NonNegative, KL))(draw.choice(odd.ODD_NUMBERS))
    return draw.choice((odca.L2(), odca.L2(), ElasticNet(0.1), NonNegative(), Box(-1.0, 2.0), Box(0.0, 1.7e308), KL()))


def _options(draw: Draw) -> dict[str, Any]:
    """Options of a Learner, of which some may be odd."""
    options: dict[str, Any] = {
        "loss": _losses(draw),
        "penalty": _penalties(draw),
        "window": _windows(draw),
        "rho": odd.number(draw, draw.choice((0.1, 1e-3, "auto", 0.0, 1e-300, 1e300))),
        "smoothing": odd.number(draw, draw.choice((0.0, 0.0, 0.9, 1.0))),
        "prior_strength": odd.number(draw, draw.choice((0.0, 0.5, 1e-300))),
    }
    options |= {"n_features": WIDTH} if isinstance(options["penalty"], KL) else {}
    if draw.random() < 0.3:
        options["lanes"] = odd.number(draw, draw.choice((1, 2, 3)))
    if draw.random() < 0.2:
        options |= {"intercept": odd.number(draw, True), "intercept_penalty": odd.number(draw, 0.1)}
        options["prior_intercept"] = odd.number(draw, 0.5)
    if draw.random() < 0.2:
        options["scale"] = odd.number(draw, True)
    if draw.random() < 0.2:
        options["prior_mean"] = draw.choice(([0.5, -0.5], [1.7e308], [1e299, 1.0], 1.8e308, odd.matrix(draw, 2), "x"))
    if draw.random() < 0.2:
        options["penalty_weights"] = draw.choice(([0.5, 2.0], [1e-300, 1e300], [5e-324], odd.column(draw, np.ones(3))))
    return options


def _labels(loss: Any, n: int, draw: Draw) -> np.ndarray:
    rng = odd.rng_of(draw)
    if isinstance(loss, Poisson):
        return rng.poisson(1.0, n).astype(float)
    return np.where(rng.random(n) > 0.5, 1.0, -1.0)


def _extras(draw: Draw, n: int, *, names: tuple[str, ...], needs_time: bool, clock: float = 0.0) -> dict[str, Any]:
    """Weights, offsets and times, now and then."""
    given: dict[str, Any] = {}
    rng = odd.rng_of(draw)
    for name in names:
        if name == "time":
            if needs_time or draw.random() < 0.1:
                given[name] = odd.column(draw, clock + np.cumsum(rng.exponential(size=n)))
        elif draw.random() < 0.2:
            given[name] = odd.column(draw, rng.uniform(0.0, 2.0, n))
    return given


# Learner


def _learner_call(model: Learner, draw: Draw) -> Call:
    X = odd.matrix(draw, model.fixed_features or WIDTH)
    n = odd.rows_of(X)
    y = _labels(model.loss, n, draw)
    if model.lanes > 1 and draw.random() < 0.5:
        y = np.column_stack([y] * model.lanes)
    y = odd.column(draw, y)
    extras = partial(_extras, draw, n, needs_time=model.window.uses_time, clock=model.clock or 0.0)
    events = extras(names=("sample_weight", "offset", "time"))
    offset = extras(names=("offset",))
    state = model.get_state()
    name = draw.choice(list(state))
    changed = {**state, name: odd.column(draw, state[name]) if draw.random() < 0.7 else state[name].reshape(-1, 1)}
    readings = ("coef", "smoothed_coef", "intercept", "smoothed_intercept", "dual_sum", "mass", "strength", "saturation")
    reading = draw.choice((*readings, "effective_sample_size"))
    calls = {
        "learn": Call("learn", lambda: model.learn(X, y, **events), changes=True),
        "diagnostics": Call("learn", lambda: model.learn(X, y, diagnostics=True, **events).dual, changes=True),
        "fit": Call("fit", lambda: model.fit(X, y, **events, max_iter=odd.number(draw, 5), tol=odd.number(draw, 1e-3)).gap, changes=True),
        "predict": Call("predict", lambda: model.predict(X, **offset, smoothed=draw.choice((None, True, False)))),
        "objective": Call("objective", lambda: model.objective(X, y, **offset)),
        "reading": Call(reading, lambda: getattr(model, reading)),
        "duals": Call("dual_objective", model.dual_objective),
        "gap": Call("duality_gap", model.duality_gap),
        "refine": Call("refine", lambda: model.refine(odd.number(draw, 2), gap=odd.number(draw, 0.0)), changes=True),
        "unlearn": Call("unlearn", lambda: model.unlearn(odd.number(draw, draw.randrange(model.count + 1))), changes=True),
        "with_lanes": Call("with_lanes", lambda: model.with_lanes(draw.choice(([0], [0, -1], [5], [0, 0, 1], [], [odd.number(draw, 0)]))).coef),
        "set_state": Call("set_state", lambda: model.set_state(changed), changes=True),
        "copy": Call("copy", lambda: _same(model, draw.choice((model.copy, partial(copy.deepcopy, model), partial(_pickled, model)))())),
        "merge": Call("merge", lambda: model.merge(model.copy()).coef),
        "delta": Call("apply", lambda: _after_delta(model, X, y, events)),
        "in pieces": Call("learn", lambda: _in_pieces(model, X, y, events)),
    }
    return calls[draw.choice((*["learn"] * 8, *["predict"] * 3, *calls))]


def _pickled(model: Any) -> Any:
    return pickle.loads(pickle.dumps(model))  # noqa: S301 - our own


def _same(model: Any, twin: Any) -> None:
    assert twin == model, "a copy is another model"


def _after_delta(model: Learner, X: Any, y: Any, events: dict[str, Any]) -> Any:
    base, later = model.copy(), model.copy()
    later.learn(X, y, **events)
    base.apply(Delta.from_bytes(later.delta(base).to_bytes()))
    return base.coef


def _in_pieces(model: Any, X: Any, y: Any, events: dict[str, Any]) -> None:
    """The same events at once and one by one make the same model."""
    if not odd.rows_of(X):  # features come with X, be there events or not
        return
    whole, pieces = model.copy(), model.copy()
    whole.learn(X, y, **events)
    for row in range(odd.rows_of(X)):
        one = slice(row, row + 1)
        pieces.learn(_rows(X, one), _rows(y, one), **{name: _rows(each, one) for name, each in events.items()})
    assert whole == pieces, "learned one by one it is another model"


def _rows(array: Any, rows: slice) -> Any:
    return array if array is None else array.tocsr()[rows] if hasattr(array, "tocsr") else np.asarray(array)[rows]


# AutoLearner


def _make_auto(draw: Draw) -> AutoLearner:
    task = draw.choice(("classes", "numbers"))
    if draw.random() < 0.1:
        return AutoLearner(odd.number(draw, task), classes=odd.number(draw, 3))
    return AutoLearner(task, classes=draw.choice((2, 2, 3, 5)))


def _auto_labels(model: Any, n: int, draw: Draw) -> np.ndarray:
    rng = odd.rng_of(draw)
    if model.task == "numbers":
        return rng.normal(size=n) * draw.choice((1.0, 1.0, 1e50, 1e-200))
    return rng.integers(0, draw.choice((2, model.classes, model.classes + 1)), n).astype(float)


def _auto_call(model: AutoLearner, draw: Draw) -> Call:
    X = odd.matrix(draw, WIDTH)
    n = odd.rows_of(X)
    y = odd.column(draw, _auto_labels(model, n, draw))
    events = _extras(draw, n, names=("sample_weight", "time"), needs_time=False, clock=float(model.count))
    reading = draw.choice(("coef", "intercept"))
    calls = {
        "learn": Call("learn", lambda: model.learn(X, y, **events), changes=True),
        "late": Call("learn", lambda: _late(model, X, y, events, draw), changes=True),
        "predict": Call("predict", lambda: model.predict(X, answer=draw.choice(("live", "steady")))),
        "ask": Call("ask", lambda: model.ask(X).said),
        "reading": Call(reading, lambda: getattr(model, reading)),
        "report": Call("report", lambda: str(model.report()) and None),
        "declare": Call("declare", lambda: model.declare(odd.number(draw, draw.choice((2, 3, 4, 2**20 + 1)))), changes=True),
        "copy": Call("copy", lambda: _same(model, draw.choice((model.copy, partial(_pickled, model)))())),
        "freeze": Call("freeze", lambda: model.freeze().coef),
        "merge": Call("merge", lambda: model.merge(model.copy()).coef),
        "split": Call("split", lambda: model.split(odd.number(draw, 3))[0].coef),
        "in pieces": Call("learn", lambda: _in_pieces(model, X, y, events)),
    }
    return calls[draw.choice((*["learn"] * 8, *["predict"] * 3, *calls))]


def _late(model: AutoLearner, X: Any, y: Any, events: dict[str, Any], draw: Draw) -> Any:
    asked = model.ask(X)
    if draw.random() < 0.3:
        asked = draw.choice((asked[::-1], asked[:1], odca.models.auto.Asked(asked.answers, asked.said * draw.choice((1e300, np.nan, -1.0)), asked.after + draw.choice((0, 1, 10**30, -5)))))
    return model.learn(X, y, asked=asked, **events)


# Dictionaries


def _make_events(draw: Draw) -> EventLearner:
    options = _options(draw)
    for name in ("prior_mean", "penalty_weights", "prior_intercept"):
        options.pop(name, None)
    if "n_features" in options:
        options |= {"n_features": 30, "intercept": False}
    return EventLearner(**options, **_features(draw), max_pending=odd.number(draw, 3))


def _features(draw: Draw) -> dict[str, Any]:
    given: dict[str, Any] = {}
    if draw.random() < 0.2:
        given["bits"] = odd.number(draw, 5)
    if draw.random() < 0.2:
        given["missing"] = draw.choice(("zero", "indicator", "error", "x", None))
    for name in ("keep", "ignore", "interactions", "text", "categorical", "numeric", "dates"):
        if draw.random() < 0.05:
            given[name] = draw.choice(([], ["a"], ["date"], [["a", "b"]], "a", None, 3, [None], ["\udc80"]))
    return given


def _event_call(model: EventLearner, draw: Draw) -> Call:
    x, many = odd.event(draw), odd.events(draw)
    n = len(many) if isinstance(many, list) else 1
    loss, lanes = model.learner.loss, model.learner.lanes
    y = _labels(loss, n, draw)
    label: Any = odd.number(draw, 1.0)
    if lanes > 1:
        y, label = np.column_stack([y] * lanes), [1.0] * lanes
    y = odd.column(draw, y)
    times = model.learner.window.uses_time
    clock = model.learner.clock or 0.0
    extras = _extras(draw, n, names=("sample_weight", "offset", "time"), needs_time=times, clock=clock)
    one: dict[str, Any] = {"time": odd.number(draw, clock + 1.0)} if times else {}
    if draw.random() < 0.2:
        one["weight"] = odd.number(draw, 0.5)
    id_ = draw.choice(("i", 3, "j", 1.5, None, b"i", True))
    calls = {
        "learn_one": Call("learn_one", lambda: model.learn_one(x, label, **one), changes=True),
        "learn_many": Call("learn_many", lambda: model.learn_many(many, y, **extras), changes=True),
        "predict_one": Call("predict_one", lambda: model.predict_one(x)),
        "predict_many": Call("predict_many", lambda: model.predict_many(many)),
        "keep": Call("predict_one", lambda: model.predict_one(x, id=id_), changes=True),
        "learn_label": Call("learn_label", lambda: model.learn_label(id_, label, **one), changes=True),
        "explain_one": Call("explain_one", lambda: model.explain_one(x)),
        "weights": Call("weights", model.weights),
        "features": Call("features", lambda: model.features and None),
        "copy": Call("copy", lambda: _same(model, draw.choice((model.copy, partial(_pickled, model)))())),
    }
    return calls[draw.choice((*["learn_one"] * 5, *["learn_many"] * 4, *["predict_one"] * 3, *calls))]


def _make_auto_events(draw: Draw) -> AutoEvents:
    return AutoEvents(draw.choice(("classes", "numbers")), classes=odd.number(draw, 2), max_pending=3, **_features(draw))


def _auto_event_call(model: AutoEvents, draw: Draw) -> Call:
    x, many = odd.event(draw), odd.events(draw)
    n = len(many) if isinstance(many, list) else 1
    y = odd.column(draw, _auto_labels(model.learner, n, draw))
    extras = _extras(draw, n, names=("sample_weight", "time"), needs_time=False, clock=float(model.learner.count))
    label = odd.number(draw, draw.choice((0.0, 1.0)))
    answer = draw.choice(("live", "steady", "x"))
    id_ = draw.choice(("i", 3, "j", 1.5, None))
    calls = {
        "learn_one": Call("learn_one", lambda: model.learn_one(x, label), changes=True),
        "learn_many": Call("learn_many", lambda: model.learn_many(many, y, **extras), changes=True),
        "predict_one": Call("predict_one", lambda: model.predict_one(x, answer=answer)),
        "predict_many": Call("predict_many", lambda: model.predict_many(many, answer=answer)),
        "keep": Call("predict_one", lambda: model.predict_one(x, id=id_), changes=True),
        "learn_label": Call("learn_label", lambda: model.learn_label(id_, label), changes=True),
        "explain_one": Call("explain_one", lambda: model.explain_one(x, answer=answer)),
        "freeze": Call("freeze", lambda: model.freeze().learner.coef),
        "copy": Call("copy", lambda: model.copy() and None),
    }
    return calls[draw.choice((*["learn_one"] * 5, *["learn_many"] * 4, *["predict_one"] * 3, *calls))]


# Estimators of scikit-learn


def _make_estimator(kind: Any, draw: Draw) -> Any:
    options: dict[str, Any] = {}
    if "Auto" not in kind.__name__:
        options = {name: value for name, value in _options(draw).items() if name in {"rho", "smoothing", "prior_strength", "window", "penalty", "scale", "prior_mean", "penalty_weights"}}
        options |= {"max_iter": odd.number(draw, 20), "tol": odd.number(draw, 1e-3)}
        if draw.random() < 0.5:
            options["loss"] = draw.choice(("hinge", "log_loss", "huber", "x", LogLoss(), SquaredError(), Hinge(), 3))
    if draw.random() < 0.2:
        options["new_features"] = draw.choice(("error", "learn", "x"))
    if "Classifier" in kind.__name__ and draw.random() < 0.2:
        options["class_weight"] = draw.choice((None, {0: 2.0}, "balanced", {0: -1.0}, {1: np.nan}, 3))
    return kind(**options)


def _estimator_call(model: Any, draw: Draw) -> Call:
    X = odd.matrix(draw, WIDTH)
    n = odd.rows_of(X)
    rng = odd.rng_of(draw)
    if "Classifier" in type(model).__name__:
        y: Any = np.array([0, 1, 2])[rng.integers(0, draw.choice((2, 2, 3)), n)]
        y = y if draw.random() < 0.8 else np.array(["a", "b", "c"])[y]
    else:
        y = rng.normal(size=n if draw.random() < 0.8 else (n, 2))
    y = odd.column(draw, y) if y.dtype.kind == "f" or draw.random() < 0.3 else y
    extras = _extras(draw, n, names=("sample_weight", "time"), needs_time="HalfLife" in repr(getattr(model, "window", "")))
    name = draw.choice(("predict_proba", "decision_function", "predict_log_proba") if hasattr(model, "predict_proba") else ("predict",))
    calls = {
        "partial_fit": Call("partial_fit", lambda: model.partial_fit(X, y, **extras) and None, changes=True),
        "fit": Call("fit", lambda: model.fit(X, y, **extras) and None, changes=True),
        "predict": Call("predict", lambda: model.predict(X)),
        "more": Call(name, lambda: getattr(model, name)(X)),
        "score": Call("score", lambda: model.score(X, y) and None),
        "coef_": Call("coef_", lambda: model.coef_),
        "intercept_": Call("intercept_", lambda: model.intercept_),
    }
    return calls[draw.choice((*["partial_fit"] * 5, *["predict"] * 2, *calls))]


# Estimators of river


def _make_river(kind: Any, draw: Draw) -> Any:
    options: dict[str, Any] = {}
    if "Auto" not in kind.__name__:
        names = {"rho", "smoothing", "prior_strength", "window", "penalty", "scale"}
        options = {name: value for name, value in _options(draw).items() if name in names}
    return kind(**options, **_features(draw))


def _river_call(model: Any, draw: Draw) -> Call:
    x, many = odd.event(draw), odd.events(draw)
    labels = ("a", "b", "c", 1, True, None) if "Classifier" in type(model).__name__ else (0.5, -1.0, 2.0)
    usual = labels[: draw.choice((1, 2, 2, 3))]
    label = odd.number(draw, draw.choice(usual)) if draw.random() < 0.9 else draw.choice(labels)
    if isinstance(label, int) and abs(label) > 2**80:  # NumPy's numbers, of which some are labels, cannot be compared with it
        label = "a"
    y = [draw.choice(usual) for _ in range(len(many) if isinstance(many, list) else 1)]
    one: dict[str, Any] = {"time": odd.number(draw, draw.random())} if "HalfLife" in repr(getattr(model, "window", "")) else {}
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


FACES = {
    "Learner": Face(lambda draw: Learner(**_options(draw)), _learner_call),
    "AutoLearner": Face(_make_auto, _auto_call),
    "EventLearner": Face(_make_events, _event_call),
    "AutoEvents": Face(_make_auto_events, _auto_event_call),
    **{
        f"sklearn.{kind.__name__}": Face(partial(_make_estimator, kind), _estimator_call)
        for kind in (ODCAClassifier, ODCARegressor, AutoClassifier, AutoRegressor)
    },
    **{
        f"river.{kind.__name__}": Face(partial(_make_river, kind), _river_call)
        for kind in (river.ODCAClassifier, river.ODCARegressor, river.AutoClassifier, river.AutoRegressor)
    },
}
