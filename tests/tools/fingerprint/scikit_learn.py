"""Runs of the estimators for scikit-learn."""

import functools
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from learner import LAYOUTS, OwnDual
from runs import Parts, add, alone, named, saved

import odca.sklearn as odca_sklearn
from data import COUNT, FIRST, PARTS, data

CLASSIFIER_LOSSES = ("log_loss", "hinge", "squared_hinge", "smooth_hinge:0.5", "modified_huber", "squared_error")
REGRESSOR_LOSSES = (
    "squared_error",
    "huber:0.1",
    "absolute_error",
    "quantile:0.9",
    "expectile:0.2",
    "epsilon_insensitive:0.2",
    "squared_epsilon_insensitive:0.2",
    "poisson",
)
EXPLICIT: dict[str, Any] = {"rho": 1e-4, "scale": True, "smoothing": 0.9, "prior_strength": 0.5}
SOLVED: dict[str, Any] = {"tol": 1e-3, "max_iter": 20, "shuffle": True, "random_state": 0}


@functools.cache
def targets() -> dict[str, Any]:
    """Labels by the kind of problem. "late" has a class that the first call does not."""
    z = data().y["numbers"]
    three = np.array(["north", "south", "west"])[z.argmax(axis=1)]
    late = np.where((np.arange(COUNT) < FIRST) & (three == "west"), "north", three)
    return {
        "binary": z[:, 0] > 0.0,
        "three": three,
        "late": late,
        "numbered": z.argmax(axis=1) * 10,
        "multilabel": (z > 0.0).astype(int),
    }


def shown_by(model: Any, X: Any) -> list[Any]:
    """The predictions and weights of a fitted estimator."""
    methods = [name for name in ("predict", "decision_function", "predict_proba") if hasattr(model, name)]
    weights = [name for name in ("coef_", "intercept_") if hasattr(model, name)]
    return [*(getattr(model, name)(X) for name in methods), *(getattr(model, name) for name in weights)]


def progress_of(model: Any) -> list[float]:
    outputs = model.progress_ if isinstance(model.progress_, list) else [model.progress_]
    return [number for each in outputs for number in (each.events, each.weight, *each.scores().values())]


def fitted_run(make: Callable[[], Any], y: Callable[[], Any], layout: str, **more: Any) -> Parts:
    model, X = make(), data().X[layout]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of passes that are not enough
        model.fit(X, y(), **{name: value() for name, value in more.items()})
    yield "results", shown_by(model, X)
    if hasattr(model, "n_iter_"):
        yield "solution", [model.n_iter_, model.duality_gap_, model.dual_objective_]
    yield "state", model.learner_.get_state()
    yield from saved(model)


def partly_fitted_run(make: Callable[[], Any], y: Callable[[], Any], layout: str, **more: Any) -> Parts:
    model, X, labels = make(), data().X[layout], y()
    said = []
    for part in PARTS:
        model.partial_fit(X[part], labels[part], **{name: value()[part] for name, value in more.items()})
        said.append(shown_by(model, X))
    yield "results", said
    yield "progress", progress_of(model)
    yield "state", model.learner_.get_state()
    yield from saved(model)


WAYS = {"fit": fitted_run, "partial_fit": partly_fitted_run}
SKLEARN_OPTIONS: dict[str, dict[str, Any]] = {
    "scaled": {},
    "as it is": {"scale": False},
    "elastic net, fading": {"penalty": "elasticnet:0.2", "window": 0.98},
    "box, sliding": {"penalty": "box:-1,1", "window": 120, "scale": False},
}


def classifier(loss: Any, **options: Any) -> Callable[[], Any]:
    return lambda: odca_sklearn.ODCAClassifier(loss=loss, **{**EXPLICIT, **SOLVED, **options})


def regressor(loss: Any, **options: Any) -> Callable[[], Any]:
    return lambda: odca_sklearn.ODCARegressor(loss=loss, **{**EXPLICIT, **SOLVED, **options})


def of_targets(kind: str) -> Callable[[], Any]:
    return lambda: targets()[kind]


def of_numbers(loss: str, columns: int) -> Callable[[], Any]:
    kind = "counts" if loss == "poisson" else "numbers"
    return lambda: data().y[kind][:, 0] if columns == 1 else data().y[kind][:, :columns]


def add_sklearn_runs() -> None:
    kinds = ("binary", "three", "late", "multilabel")
    for name, loss, kind, way, layout, options in named(CLASSIFIER_LOSSES, kinds, WAYS, LAYOUTS, SKLEARN_OPTIONS):
        add(f"sklearn/classifier/{name}", way, classifier(loss, **options), of_targets(kind), layout)
    for name, loss, outputs, way, layout, options in named(REGRESSOR_LOSSES, (1, 3), WAYS, LAYOUTS, SKLEARN_OPTIONS):
        add(f"sklearn/regressor/{name}", way, regressor(loss, **options), of_numbers(loss, outputs), layout)
    for name, way, layout in named(WAYS, LAYOUTS):
        timed: dict[str, Any] = {"window": "half-life:40s"}
        more = {"sample_weight": lambda: data().weight, "time": lambda: data().time}
        moved = {**more, "offset": lambda: data().offset}
        by_class = {"class_weight": {True: 2.0}}
        add(
            f"sklearn/classifier/timed/{name}",
            way,
            classifier("hinge", **timed, **by_class),
            of_targets("binary"),
            layout,
            **moved,
        )
        add(
            f"sklearn/classifier/numbered/{name}",
            way,
            classifier("log_loss", **timed),
            of_targets("numbered"),
            layout,
            **more,
        )
        add(
            f"sklearn/regressor/timed/{name}", way, regressor("huber", **timed), of_numbers("huber", 1), layout, **moved
        )
        add(f"sklearn/auto/binary/{name}", way, auto_classifier, of_targets("binary"), layout)
        add(f"sklearn/auto/three/{name}", way, auto_classifier, of_targets("three"), layout)
        add(f"sklearn/auto/late/{name}", way, auto_classifier, of_targets("late"), layout)
        add(f"sklearn/auto/timed/{name}", way, auto_classifier, of_targets("three"), layout, **more)
        add(f"sklearn/auto/numbers/{name}", way, auto_regressor, of_numbers("huber", 1), layout)
        add(f"sklearn/auto/numbers, timed/{name}", way, auto_regressor, of_numbers("huber", 1), layout, **more)


def auto_classifier() -> Any:
    return odca_sklearn.AutoClassifier(shuffle=True, random_state=0)


def auto_regressor() -> Any:
    return odca_sklearn.AutoRegressor(shuffle=True, random_state=0)


add_sklearn_runs()


@alone("sklearn/classifier/declared")
def declared_classes() -> Parts:
    model, X, y = classifier("log_loss", new_classes="error")(), data().X["dense"], targets()["late"]
    model.partial_fit(X[:FIRST], y[:FIRST], classes=["north", "south", "west"])
    model.partial_fit(X[FIRST:], y[FIRST:])
    yield "results", shown_by(model, X)
    yield "progress", progress_of(model)


@alone("sklearn/classifier/balanced")
def balanced_classes() -> Parts:
    model, X = classifier("squared_hinge", class_weight="balanced")(), data().X["dense"]
    yield "results", shown_by(model.fit(X, targets()["three"]), X)


@alone("sklearn/regressor/own loss")
def own_loss_of_an_estimator() -> Parts:
    model, X = regressor(OwnDual())(), data().X["dense"]
    yield "results", shown_by(model.partial_fit(X, data().y["numbers"][:, 0]), X)
    yield "progress", progress_of(model)


@alone("sklearn/new columns")
def new_columns() -> Parts:
    frame = pd.DataFrame(data().X["dense"], columns=list("abcdefgh"))
    for name, make, y in (
        ("regressor", regressor("huber", new_features="learn"), data().y["numbers"][:, 0]),
        ("classifier", classifier("hinge", new_features="learn"), targets()["late"]),
        ("auto", lambda: odca_sklearn.AutoClassifier(new_features="learn"), targets()["late"]),
    ):
        model = make()
        model.partial_fit(frame[list("bda")][:FIRST], y[:FIRST])
        model.partial_fit(frame[list("hgfedcba")][FIRST:], y[FIRST:])
        yield name, [shown_by(model, frame), progress_of(model)]
