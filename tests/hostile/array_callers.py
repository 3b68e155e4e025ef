"""Calls of the classes that take arrays: learners and estimators for scikit-learn."""

import copy
from functools import partial
from typing import Any

import numpy as np

import odca
from hostile import odd_values as odd
from hostile.drawn_options import (
    WIDTH,
    Call,
    Draw,
    auto_labels,
    extras,
    labels,
    options,
    pickled,
    same,
)
from odca import AutoLearner, Delta, Hinge, Learner, LogLoss, SquaredError

# Learner


def learner_call(model: Learner, draw: Draw) -> Call:
    X = odd.matrix(draw, model.fixed_features or WIDTH)
    n = odd.rows_of(X)
    y = labels(model.loss, n, draw)
    if model.lanes > 1 and draw.random() < 0.5:
        y = np.column_stack([y] * model.lanes)
    y = odd.column(draw, y)
    given = partial(extras, draw, n, needs_time=model.window.uses_time, clock=model.clock or 0.0)
    events = given(names=("sample_weight", "offset", "time"))
    offset = given(names=("offset",))
    state = model.get_state()
    name = draw.choice(list(state))
    changed = {**state, name: odd.column(draw, state[name]) if draw.random() < 0.7 else state[name].reshape(-1, 1)}
    readings = (
        "coef",
        "smoothed_coef",
        "intercept",
        "smoothed_intercept",
        "dual_sum",
        "mass",
        "strength",
        "saturation",
    )
    reading = draw.choice((*readings, "effective_sample_size"))
    calls = {
        "learn": Call("learn", lambda: model.learn(X, y, **events), changes=True),
        "diagnostics": Call("learn", lambda: model.learn(X, y, diagnostics=True, **events).dual, changes=True),
        "fit": Call(
            "fit",
            lambda: model.fit(X, y, **events, max_iter=odd.number(draw, 5), tol=odd.number(draw, 1e-3)).gap,
            changes=True,
        ),
        "predict": Call("predict", lambda: model.predict(X, **offset, smoothed=draw.choice((None, True, False)))),
        "objective": Call("objective", lambda: model.objective(X, y, **offset)),
        "reading": Call(reading, lambda: getattr(model, reading)),
        "duals": Call("dual_objective", model.dual_objective),
        "gap": Call("duality_gap", model.duality_gap),
        "refine": Call("refine", lambda: model.refine(odd.number(draw, 2), gap=odd.number(draw, 0.0)), changes=True),
        "unlearn": Call(
            "unlearn", lambda: model.unlearn(odd.number(draw, draw.randrange(model.count + 1))), changes=True
        ),
        "with_lanes": Call(
            "with_lanes",
            lambda: model.with_lanes(draw.choice(([0], [0, -1], [5], [0, 0, 1], [], [odd.number(draw, 0)]))).coef,
        ),
        "set_state": Call("set_state", lambda: model.set_state(changed), changes=True),
        "copy": Call(
            "copy",
            lambda: same(model, draw.choice((model.copy, partial(copy.deepcopy, model), partial(pickled, model)))()),
        ),
        "merge": Call("merge", lambda: model.merge(model.copy()).coef),
        "delta": Call("apply", lambda: _after_delta(model, X, y, events)),
        "in pieces": Call("learn", lambda: _in_pieces(model, X, y, events)),
    }
    return calls[draw.choice((*["learn"] * 8, *["predict"] * 3, *calls))]


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


def make_auto(draw: Draw) -> AutoLearner:
    task = draw.choice(("classes", "numbers"))
    if draw.random() < 0.1:
        return AutoLearner(odd.number(draw, task), classes=odd.number(draw, 3))
    return AutoLearner(task, classes=draw.choice((2, 2, 3, 5)))


def auto_call(model: AutoLearner, draw: Draw) -> Call:
    X = odd.matrix(draw, WIDTH)
    n = odd.rows_of(X)
    y = odd.column(draw, auto_labels(model, n, draw))
    events = extras(draw, n, names=("sample_weight", "time"), needs_time=False, clock=float(model.count))
    reading = draw.choice(("coef", "intercept"))
    calls = {
        "learn": Call("learn", lambda: model.learn(X, y, **events), changes=True),
        "late": Call("learn", lambda: _late(model, X, y, events, draw), changes=True),
        "predict": Call("predict", lambda: model.predict(X, answer=draw.choice(("live", "steady")))),
        "ask": Call("ask", lambda: model.ask(X).said),
        "reading": Call(reading, lambda: getattr(model, reading)),
        "report": Call("report", lambda: str(model.report()) and None),
        "declare": Call(
            "declare", lambda: model.declare(odd.number(draw, draw.choice((2, 3, 4, 2**20 + 1)))), changes=True
        ),
        "copy": Call("copy", lambda: same(model, draw.choice((model.copy, partial(pickled, model)))())),
        "freeze": Call("freeze", lambda: model.freeze().coef),
        "merge": Call("merge", lambda: model.merge(model.copy()).coef),
        "split": Call("split", lambda: model.split(odd.number(draw, 3))[0].coef),
        "in pieces": Call("learn", lambda: _in_pieces(model, X, y, events)),
    }
    return calls[draw.choice((*["learn"] * 8, *["predict"] * 3, *calls))]


def _late(model: AutoLearner, X: Any, y: Any, events: dict[str, Any], draw: Draw) -> Any:
    asked = model.ask(X)
    if draw.random() < 0.3:
        asked = draw.choice(
            (
                asked[::-1],
                asked[:1],
                odca.models.auto.Asked(
                    asked.answers,
                    asked.said * draw.choice((1e300, np.nan, -1.0)),
                    asked.after + draw.choice((0, 1, 10**30, -5)),
                ),
            )
        )
    return model.learn(X, y, asked=asked, **events)


# Estimators of scikit-learn


def make_estimator(kind: Any, draw: Draw) -> Any:
    chosen: dict[str, Any] = {}
    if "Auto" not in kind.__name__:
        chosen = {
            name: value
            for name, value in options(draw).items()
            if name
            in {"rho", "smoothing", "prior_strength", "window", "penalty", "scale", "prior_mean", "penalty_weights"}
        }
        chosen |= {"max_iter": odd.number(draw, 20), "tol": odd.number(draw, 1e-3)}
        if draw.random() < 0.5:
            chosen["loss"] = draw.choice(("hinge", "log_loss", "huber", "x", LogLoss(), SquaredError(), Hinge(), 3))
    if draw.random() < 0.2:
        chosen["new_features"] = draw.choice(("error", "learn", "x"))
    if "Classifier" in kind.__name__ and draw.random() < 0.2:
        chosen["class_weight"] = draw.choice((None, {0: 2.0}, "balanced", {0: -1.0}, {1: np.nan}, 3))
    return kind(**chosen)


def estimator_call(model: Any, draw: Draw) -> Call:
    X = odd.matrix(draw, WIDTH)
    n = odd.rows_of(X)
    rng = odd.rng_of(draw)
    if "Classifier" in type(model).__name__:
        y: Any = np.array([0, 1, 2])[rng.integers(0, draw.choice((2, 2, 3)), n)]
        y = y if draw.random() < 0.8 else np.array(["a", "b", "c"])[y]
    else:
        y = rng.normal(size=n if draw.random() < 0.8 else (n, 2))
    y = odd.column(draw, y) if y.dtype.kind == "f" or draw.random() < 0.3 else y
    given = extras(
        draw, n, names=("sample_weight", "time"), needs_time="HalfLife" in repr(getattr(model, "window", ""))
    )
    name = draw.choice(
        ("predict_proba", "decision_function", "predict_log_proba") if hasattr(model, "predict_proba") else ("predict",)
    )
    calls = {
        "partial_fit": Call("partial_fit", lambda: model.partial_fit(X, y, **given) and None, changes=True),
        "fit": Call("fit", lambda: model.fit(X, y, **given) and None, changes=True),
        "predict": Call("predict", lambda: model.predict(X)),
        "more": Call(name, lambda: getattr(model, name)(X)),
        "score": Call("score", lambda: model.score(X, y) and None),
        "coef_": Call("coef_", lambda: model.coef_),
        "intercept_": Call("intercept_", lambda: model.intercept_),
    }
    return calls[draw.choice((*["partial_fit"] * 5, *["predict"] * 2, *calls))]
