"""Runs of the estimators for river."""

import functools
import itertools
import json
from collections.abc import Callable
from typing import Any

import pandas as pd
from events import events
from runs import Parts, add, named, saved
from scikit_learn import CLASSIFIER_LOSSES, EXPLICIT, REGRESSOR_LOSSES

import odca.river as odca_river
from data import FIRST, data

RIVER: dict[str, Any] = {**EXPLICIT, "missing": "ignore"}
RIVER_OPTIONS: dict[str, dict[str, Any]] = {
    "scaled": {},
    "as it is": {"scale": False, "rho": 1e-2},
    "fading, elastic net": {"window": 0.98, "penalty": "elasticnet:0.2"},
    "sliding, indicated": {"window": 120, "missing": "indicate"},
    "hashed": {"bits": 8},
}


def river_classifier_run(labels: str, loss: str, options: dict[str, Any]) -> Parts:
    model = odca_river.ODCAClassifier(loss=loss, **{**RIVER, **options})
    said = []
    for x, y in zip(events().x, getattr(events(), labels), strict=True):
        said += [model.predict_one(x), model.predict_proba_one(x)]
        model.learn_one(x, y)
    yield "results", said
    yield "many", model.predict_proba_many(events().x).to_numpy()
    if "bits" not in options:
        yield "weights", [model.weights, model.explain_one(events().x[-1])]
    yield "state", model.events.learner.get_state()
    yield from saved(model)


def river_long_run(labels: str, window: Any) -> Parts:
    """A calibration that learns from a thousand events at a time."""
    model, said = odca_river.ODCAClassifier(loss="hinge", window=window, **RIVER), []
    for n, (x, y) in enumerate(
        itertools.islice(itertools.cycle(zip(events().x, getattr(events(), labels), strict=True)), 2500)
    ):
        said.append(model.predict_one(x) if n % 100 else model.predict_proba_one(x))
        model.learn_one(x, y)
    yield "results", [said, [model.predict_proba_one(x) for x in events().x]]
    yield from saved(model)


def river_regressor_run(loss: str, options: dict[str, Any]) -> Parts:
    model = odca_river.ODCARegressor(loss=loss, **{**RIVER, **options})
    said = []
    for x, y in zip(events().x, events().count if loss == "poisson" else events().number, strict=True):
        said.append(model.predict_one(x))
        model.learn_one(x, y)
    yield "results", said
    yield "many", model.predict_many(events().x).to_numpy()
    yield "state", model.events.learner.get_state()
    yield from saved(model)


def river_many_run(make: Callable[[], Any], labels: str, weighted: bool) -> Parts:
    """Learned many at once: dictionaries, then a data frame."""
    model, given, y = make(), events(), getattr(events(), labels)
    frame = pd.DataFrame(given.x[FIRST:])[["price", "size", "new"]].astype({"new": object})
    weights = data().weight if weighted else None
    model.learn_many(given.x[:FIRST], y[:FIRST], None if weights is None else weights[:FIRST])
    model.learn_many(frame, pd.Series(y[FIRST:]), None if weights is None else weights[FIRST:])
    yield "one", [model.predict_one(x) for x in given.x]
    if hasattr(model, "predict_proba_many"):
        yield "many", [model.predict_proba_many(frame).to_numpy(), [model.predict_proba_one(x) for x in given.x]]
    yield "frame", list(model.predict_many(frame))


def river_auto_run(labels: str, options: dict[str, Any]) -> Parts:
    kind = odca_river.AutoRegressor if labels == "number" else odca_river.AutoClassifier
    model, said = kind(**{"missing": "ignore", **options}), []
    for n, (x, y) in enumerate(zip(events().x, getattr(events(), labels), strict=True)):
        said.append(model.predict_one(x))
        if labels != "number":
            said.append(model.predict_proba_one(x))
        model.learn_one(x, y, 1.0 if n % 5 else 0.5)
    yield "results", said
    yield "report", json.loads(model.report().as_json())
    yield "state", model.events.learner.get_state()
    yield from saved(model)


def river_late_label_run(make: Callable[[], Any], labels: str) -> Parts:
    """Labels come seven events behind; weights, offsets and times too."""
    model, given, y = make(), events(), getattr(events(), labels)
    said = []
    for n, x in enumerate(given.x):
        said.append(model.predict_one(x, id=n, offset=data().offset[n]))
        if n >= 7:
            model.learn_label(n - 7, y[n - 7], float(data().weight[n]), time=float(data().time[n]))
    model.learn_one(given.x[0], y[0], 0.5, offset=0.1, time=1e3)
    yield "results", [said, model.predict_one(given.x[0])]
    yield "state", model.events.learner.get_state()


def add_river_runs() -> None:
    for name, labels, loss, options in named(("truth", "place"), CLASSIFIER_LOSSES[:5], RIVER_OPTIONS):
        add(f"river/classifier/{name}", river_classifier_run, labels, loss, options)
    for name, loss, options in named(REGRESSOR_LOSSES, RIVER_OPTIONS):
        add(f"river/regressor/{name}", river_regressor_run, loss, options)
    for name, labels, options in named(
        ("truth", "place", "number"), {"kept": {}, "hashed": {"bits": 8}, "indicated": {"missing": "indicate"}}
    ):
        add(f"river/auto/{name}", river_auto_run, labels, options)
    for name, labels, window in named(("truth", "place"), ("infinite", 0.99, 400)):
        add(f"river/long/{name}", river_long_run, labels, window)
    many: dict[str, tuple[Callable[[], Any], str]] = {
        "log_loss, truth": (lambda: odca_river.ODCAClassifier(loss="log_loss", **RIVER), "truth"),
        "log_loss, place": (lambda: odca_river.ODCAClassifier(loss="log_loss", **RIVER), "place"),
        "hinge, truth": (lambda: odca_river.ODCAClassifier(loss="hinge", **RIVER), "truth"),
        "hinge, place": (lambda: odca_river.ODCAClassifier(loss="hinge", window=0.99, **RIVER), "place"),
        "huber": (lambda: odca_river.ODCARegressor(loss="huber", **RIVER), "number"),
        "poisson": (lambda: odca_river.ODCARegressor(loss="poisson", **RIVER), "count"),
        "auto, truth": (lambda: odca_river.AutoClassifier(missing="ignore"), "truth"),
        "auto, place": (lambda: odca_river.AutoClassifier(missing="ignore"), "place"),
        "auto, numbers": (lambda: odca_river.AutoRegressor(missing="ignore"), "number"),
    }
    for name, (make, labels), weighted in named(many, (False, True)):
        add(f"river/many/{name}", river_many_run, make, labels, weighted)
    for loss, labels in (("log_loss", "truth"), ("log_loss", "place"), ("hinge", "truth"), ("hinge", "place")):
        make = functools.partial(odca_river.ODCAClassifier, loss=loss, window="half-life:40s", **RIVER)
        add(f"river/late labels/{loss}/{labels}", river_late_label_run, make, labels)
    make = functools.partial(odca_river.ODCARegressor, loss="quantile:0.9", window="60s", **RIVER)
    add("river/late labels/quantile", river_late_label_run, make, "number")


add_river_runs()
