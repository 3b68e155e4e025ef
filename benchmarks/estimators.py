"""The estimators beside their peers on real data: accuracy by default and tuned, calibration, and what the defaults rest on.

    python -m benchmarks.estimators [--quick] [--sets a6a letter] [--parts accuracy] [--again REGEX]

Accuracy is that of test rows (R² for bike). "one pass" is one call of `partial_fit` (or of river's `learn_many`, `learn_one`) over
the rows to learn from. Defaults stand against defaults; where tuned, each side has six strengths and takes the one that is best
on the last fifth of the rows to learn from, after learning from the others; no test row has a say. Peers get dense data
as they are and also through StandardScaler, fitted on all rows that they learn from (before the one pass too). Who
depends on the order of the rows or on a seed is run with three.
"""

import argparse
import json
import os
import re
import time
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, Ridge, RidgeClassifier, SGDClassifier, SGDRegressor
from sklearn.metrics import r2_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from threadpoolctl import threadpool_limits

import odca
import odca.river
from benchmarks import problems
from benchmarks.problems import Problem
from benchmarks.report import RESULTS, describe_machine, log, show_machine, write_json
from odca.models.calibration import expected_calibration_error, sigmoid

SETS = ("a6a", "rcv1sub", "letter", "20news", "bike")
OPTION_SETS = ("a6a", "rcv1sub", "letter", "20news", "20news counts", "bike", "covtype", "spam")
SEEDS = (0, 1, 2)
CS = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0)  # ρ = 1/(C n), Ridge's alpha = 1/C
STRENGTHS = (1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2)  # ρ of one pass, alpha of SGD's fit
ALPHAS = (1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1)  # of SGD's one pass
# River's learning rate. What is far from one in size needs another range: long events a smaller one, tf-idf a larger.
RATES = {
    "LogisticRegression": (0.01, 0.03, 0.1, 0.3, 1.0, 3.0),
    "LogisticRegression, scaled": (0.0003, 0.001, 0.003, 0.01, 0.03, 0.1),
    "SoftmaxRegression": (0.01, 0.03, 0.1, 0.3, 1.0, 3.0),
    "SoftmaxRegression, scaled": (0.003, 0.01, 0.03, 0.1, 0.3, 1.0),
    "LinearRegression": (0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03),
    "LinearRegression, scaled": (0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03),
}

FIT, PASS = "fit", "one pass"
CLASSES, NUMBERS = SETS[:4], SETS[4:]

Make = Callable[[float | None, int, int], Any]
"""A model from a strength (None: its default), the number of rows, and a seed."""


@dataclass(frozen=True, slots=True)
class Contender:
    """A way to learn. `scaled` ones get dense data through StandardScaler, `river` ones get dictionaries."""

    make: Make
    way: str
    grid: tuple[float, ...]
    sets: tuple[str, ...]
    seeds: tuple[int, ...] = SEEDS
    scaled: bool = False
    river: bool = False


class ByName:
    """A model of river's, ours or theirs, behind `predict` of rows in arrays.

    `zeros`: events name their zeros too. River's StandardScaler needs that: of a feature that is there or not it would see ones only.
    """

    def __init__(self, model: Any, *, zeros: bool) -> None:
        self.model, self.zeros = model, zeros

    def learn(self, X: Any, y: npt.NDArray[Any]) -> "ByName":
        """One pass."""
        events, labels = self.events_of(X), y.tolist()
        if hasattr(self.model, "events"):  # ours: many at once, to the bit as one after the other
            self.model.learn_many(events, labels)
        else:
            for event, label in zip(events, labels, strict=True):
                self.model.learn_one(event, label)
        return self

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """One event after the other."""
        return np.array([self.model.predict_one(event) for event in self.events_of(X)])

    def events_of(self, X: Any) -> list[dict[int, float]]:
        """Rows as dictionaries."""
        return as_dictionaries(X.toarray() if self.zeros and sp.issparse(X) else X)


def as_dictionaries(X: Any) -> list[dict[int, float]]:
    if not sp.issparse(X):
        return [dict(enumerate(row)) for row in X.tolist()]
    ends = zip(X.indptr, X.indptr[1:], strict=False)
    return [dict(zip(X.indices[a:b].tolist(), X.data[a:b].tolist(), strict=True)) for a, b in ends]


def given(name: str, value: float | None) -> dict[str, float]:
    return {} if value is None else {name: value}


# Who takes part


def ours(loss: str, way: str) -> Make:
    def make(strength: float | None, n: int, seed: int) -> Any:
        rho = {} if strength is None else {"rho": 1.0 / (strength * n) if way == FIT else strength}
        kind = odca.ODCARegressor if loss == "squared_error" else odca.ODCAClassifier
        return kind(loss, **rho, random_state=seed)

    return make


def our_river(loss: str) -> Make:
    def make(strength: float | None, n: int, seed: int) -> Any:  # noqa: ARG001 - all makers take the same
        kind = odca.river.ODCARegressor if loss == "squared_error" else odca.river.ODCAClassifier
        return kind(loss, **given("rho", strength))

    return make


def sgd(loss: str, **more: Any) -> Make:
    def make(strength: float | None, n: int, seed: int) -> Any:  # noqa: ARG001
        kind = SGDRegressor if loss == "squared_error" else SGDClassifier
        return kind(loss=loss, random_state=seed, **given("alpha", strength), **more)

    return make


def river(kind: str, *, scaled: bool) -> Make:
    """As river's own examples have it, where the rate is not given."""

    def make(strength: float | None, n: int, seed: int) -> Any:  # noqa: ARG001
        from river import linear_model, optim, preprocessing

        rate = 0.1 if strength is None and kind == "LogisticRegression" and scaled else strength
        options: dict[str, Any] = {} if rate is None else {"optimizer": optim.SGD(rate)}
        if kind == "LinearRegression":
            options["intercept_lr"] = 0.1
        model = getattr(linear_model, kind)(**options)
        return preprocessing.StandardScaler() | model if scaled else model

    return make


def by_C(kind: Any, **more: Any) -> Make:
    return lambda C, n, seed: kind(random_state=seed, **given("C", C), **more)  # noqa: ARG005


def by_alpha(kind: Any) -> Make:
    return lambda C, n, seed: kind(**given("alpha", None if C is None else 1.0 / C))  # noqa: ARG005


def one_against_rest(C: float | None, n: int, seed: int) -> Any:
    return OneVsRestClassifier(by_C(LogisticRegression)(C, n, seed))


def contenders() -> dict[str, Contender]:
    """Everybody, in the order of the table."""
    out: dict[str, Contender] = {}

    def peers(name: str, make: Make, way: str, grid: tuple[float, ...], sets: tuple[str, ...], **more: Any) -> None:
        out[name] = Contender(make, way, grid, sets, **more)
        dense = tuple(each for each in sets if each in ("letter", "bike"))
        if dense:
            out[f"{name}, StandardScaler"] = Contender(make, way, grid, dense, scaled=True, **more)

    once: dict[str, Any] = {"seeds": (0,)}  # it ends at the optimum, wherever it begins
    for loss in ("log_loss", "hinge", "squared_hinge"):
        out[f"ODCAClassifier {loss}"] = Contender(ours(loss, FIT), FIT, CS, CLASSES, **once)
    out["ODCARegressor"] = Contender(ours("squared_error", FIT), FIT, CS, NUMBERS, **once)
    peers("LogisticRegression", by_C(LogisticRegression), FIT, CS, CLASSES, **once)
    peers("LogisticRegression, one against the rest", one_against_rest, FIT, CS, ("letter", "20news"), **once)
    peers("LinearSVC", by_C(LinearSVC), FIT, CS, CLASSES, **once)
    peers("LinearSVC hinge", by_C(LinearSVC, loss="hinge"), FIT, CS, CLASSES, **once)
    peers("RidgeClassifier", by_alpha(RidgeClassifier), FIT, CS, CLASSES, **once)
    peers("Ridge", by_alpha(Ridge), FIT, CS, NUMBERS, **once)
    for loss in ("log_loss", "hinge"):
        peers(f"SGDClassifier {loss}", sgd(loss), FIT, STRENGTHS, CLASSES)
    peers("SGDRegressor", sgd("squared_error"), FIT, STRENGTHS, NUMBERS)

    for loss in ("log_loss", "hinge"):
        out[f"ODCAClassifier {loss}, one pass"] = Contender(ours(loss, PASS), PASS, STRENGTHS, CLASSES)
    out["ODCARegressor, one pass"] = Contender(ours("squared_error", PASS), PASS, STRENGTHS, NUMBERS)
    for loss in ("log_loss", "hinge"):
        out[f"odca.river ODCAClassifier {loss}"] = Contender(our_river(loss), PASS, STRENGTHS, CLASSES, river=True)
    out["odca.river ODCARegressor"] = Contender(our_river("squared_error"), PASS, STRENGTHS, NUMBERS, river=True)
    for loss in ("log_loss", "hinge"):
        peers(f"SGDClassifier {loss}, one pass", sgd(loss), PASS, ALPHAS, CLASSES)
        peers(f"SGDClassifier {loss}, average, one pass", sgd(loss, average=True), PASS, ALPHAS, CLASSES)
    peers("SGDRegressor, one pass", sgd("squared_error"), PASS, ALPHAS, NUMBERS)
    peers("SGDRegressor, average, one pass", sgd("squared_error", average=True), PASS, ALPHAS, NUMBERS)
    for scaled, behind in ((False, ""), (True, ", river's StandardScaler")):
        for kind, sets in (
            ("LogisticRegression", ("a6a",) if scaled else ("a6a", "rcv1sub")),
            ("SoftmaxRegression", ("letter",) if scaled else ("letter", "20news")),
            ("LinearRegression", NUMBERS),
        ):
            make, seeds = river(kind, scaled=scaled), SEEDS[:1] if kind == "SoftmaxRegression" else SEEDS
            rates = RATES[f"{kind}, scaled" if scaled else kind]
            out[f"river {kind}{behind}"] = Contender(make, PASS, rates, sets, seeds, scaled=scaled, river=True)
    return out


# Accuracy


def learned(contender: Contender, X: Any, y: npt.NDArray[Any], strength: float | None, seed: int) -> tuple[Any, bool]:
    """A model that has learned, and whether it says that it has converged."""
    model = contender.make(strength, len(y), seed)
    numbers = y.dtype == np.float64
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        if contender.river:
            model = ByName(model, zeros=contender.scaled).learn(X, y)
        elif contender.way == FIT:
            model = (make_pipeline(StandardScaler(), model) if contender.scaled else model).fit(X, y)
        else:
            scaler = StandardScaler().fit(X) if contender.scaled else None
            classes = {} if numbers else {"classes": np.unique(y)}
            model.partial_fit(scaler.transform(X) if scaler else X, y, **classes)
            model = make_pipeline(scaler, model) if scaler else model
    return model, not any(issubclass(each.category, ConvergenceWarning) for each in caught)


def score(model: Any, X: Any, y: npt.NDArray[Any]) -> float:
    """Accuracy, or R²; -inf for what is no number."""
    predicted = model.predict(X)
    if y.dtype != np.float64:
        return float(np.mean(predicted == y))
    return float(r2_score(y, predicted)) if np.isfinite(predicted).all() else -np.inf


def accuracy_of(set_name: str, who: str) -> list[dict[str, Any]]:
    """The lines of one contender on one set: by default, and tuned."""
    problem, contender = problems.load(set_name), contenders()[who]
    X, y = problem.ordered(0)
    part = len(y) * 4 // 5
    on_validation = {
        strength: score(learned(contender, X[:part], y[:part], strength, 0)[0], X[part:], y[part:])
        for strength in contender.grid
    }
    best = max(on_validation, key=lambda strength: on_validation[strength])
    lines = []
    for strength in (None, best):
        scores, converged = [], True
        for seed in contender.seeds:
            model, well = learned(contender, *problem.ordered(seed), strength, seed)
            converged &= well
            scores.append(score(model, problem.X_test, problem.y_test))
        tuned = {"strength": best, "on validation": {f"{k:g}": v for k, v in on_validation.items()}} if strength else {}
        lines.append(
            {
                "part": "tuned" if strength else "defaults",
                "who": who,
                "way": contender.way,
                "set": set_name,
                "scores": scores,
                "converged": converged,
                **tuned,
            }
        )
    return lines


# Calibration


def calibration_of(set_name: str) -> list[dict[str, Any]]:
    """ECE and log loss of P(True) on the test rows, for margins taken as log-odds and for what `predict_proba` says."""
    problem = problems.load(set_name)
    models: dict[str, tuple[Any, str]] = {}
    for way, behind in ((FIT, ", fit"), (PASS, ", one pass")):
        for loss in ("hinge", "squared_hinge", "log_loss"):
            models[f"ODCAClassifier {loss}{behind}"] = (odca.ODCAClassifier(loss), way)
    models["LinearSVC + CalibratedClassifierCV, sigmoid"] = (CalibratedClassifierCV(LinearSVC()), FIT)
    models["LinearSVC + CalibratedClassifierCV, isotonic"] = (
        CalibratedClassifierCV(LinearSVC(), method="isotonic"),
        FIT,
    )
    models["LogisticRegression"] = (LogisticRegression(), FIT)
    models["SGDClassifier log_loss, fit"] = (SGDClassifier(loss="log_loss"), FIT)
    models["SGDClassifier log_loss, one pass"] = (SGDClassifier(loss="log_loss"), PASS)
    out = []
    for who, (made, way) in models.items():
        figures: dict[str, list[float]] = {"before": [], "after": [], "log loss": []}
        for seed in SEEDS:
            X, y = problem.ordered(seed)
            model = clone(made)
            if "random_state" in model.get_params():
                model.set_params(random_state=seed)
            model = model.fit(X, y) if way == FIT else model.partial_fit(X, y, classes=[False, True])
            p = model.predict_proba(problem.X_test)[:, 1]
            if who.startswith("ODCA"):
                raw = sigmoid(model.decision_function(problem.X_test))
                figures["before"].append(expected_calibration_error(raw, problem.y_test))
            figures["after"].append(expected_calibration_error(p, problem.y_test))
            figures["log loss"].append(log_loss(np.where(problem.y_test, p, 1.0 - p)))
        out.append({"part": "calibration", "who": who, "set": set_name, **figures})
    return out


def log_loss(of_the_true: npt.NDArray[np.float64]) -> float:
    return float(-np.log(np.maximum(of_the_true, np.finfo(float).eps)).mean())


# What the defaults rest on

OPTIONS: tuple[tuple[str, Any], ...] = (
    ("default", None),
    ("scale", True),
    ("scale", False),
    ("smoothing", 0.0),
    ("smoothing", 0.999),
    ("smoothing", 1.0),
    ("prior_strength", 0.0),
    ("prior_strength", 10.0),
    ("rho", 1e-7),
    ("rho", 1e-6),
    ("rho", 1e-4),
    ("rho", 1e-3),
)


def options_of(set_name: str) -> list[dict[str, Any]]:
    """`partial_fit` with one option changed: test accuracy (R²), and the progressive log loss (mean absolute error)."""
    problem = problems.load(set_name)
    out = []
    for option, value in OPTIONS:
        kind = odca.ODCARegressor if problem.regression else odca.ODCAClassifier
        model = kind() if option == "default" else kind(**{option: value})
        progressive = progress_of(model, problem)
        accuracy = score(model, problem.X_test, problem.y_test)
        line = {"option": option, "value": value, "set": set_name, "score": accuracy, "progressive": progressive}
        out.append({"part": "options", **line})
    return out


def progress_of(model: Any, problem: Problem) -> float:
    """Learn a stream; how good the predictions were from before: of each of the first 100 events, then of 100 at a time."""
    X, y = problem.X, problem.y
    if problem.regression:
        return float(model.partial_fit(X, y).progress_.mae)
    classes, codes = np.unique(y, return_inverse=True)
    p = np.full(len(y), 1.0 / len(classes))  # of the true class, before anything was learned
    for at in np.split(np.arange(len(y)), [*range(1, 100), *range(100, len(y), 100)]):
        if at[0]:
            p[at] = model.predict_proba(X[at])[np.arange(len(at)), codes[at]]
        model.partial_fit(X[at], y[at], classes=classes)
    return log_loss(p)


# All of it


def tasks(parts: list[str], sets: list[str], who: str) -> Iterator[tuple[str, Callable[..., Any], tuple[Any, ...]]]:
    if "accuracy" in parts:
        everyone = contenders()
        pairs = [
            (each, name)
            for name, contender in everyone.items()
            if re.search(who, name)
            for each in contender.sets
            if each in sets
        ]
        slow = ("20news", "letter")  # first, so that the two processes end together; river with 20 classes before all
        pairs.sort(key=lambda pair: slow.index(pair[0]) if pair[0] in slow else len(slow))
        for pair in sorted(pairs, key=lambda pair: pair != ("20news", "river SoftmaxRegression")):
            yield f"{pair[1]} on {pair[0]}", accuracy_of, pair
    for name in sets:
        if "options" in parts and name in OPTION_SETS:
            yield f"options on {name}", options_of, (name,)
        if "calibration" in parts and name in ("a6a", "rcv1sub"):
            yield f"calibration on {name}", calibration_of, (name,)


def in_order(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """As the tables have them, whoever was ready first."""
    everyone, every_set = list(contenders()), [*SETS, *OPTION_SETS]

    def place(row: dict[str, Any]) -> tuple[Any, ...]:
        ranked = row["part"] in ("defaults", "tuned")
        return row["part"], everyone.index(row["who"]) if ranked else 0, every_set.index(row["set"])

    return sorted(rows, key=place)


def main() -> None:
    """Run everything in two processes, write benchmarks/results/estimators.json."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.estimators", description=__doc__.split("\n", 1)[0])
    parser.add_argument("--quick", action="store_true", help="the two quickest sets, and nothing is written")
    parser.add_argument(
        "--sets", nargs="+", choices=[*dict.fromkeys((*SETS, *OPTION_SETS))], help="only these; nothing is written"
    )
    parser.add_argument(
        "--parts",
        nargs="+",
        choices=["accuracy", "calibration", "options"],
        help="only these, likewise (but see --again)",
    )
    parser.add_argument(
        "--again",
        metavar="REGEX",
        help="the accuracy of these contenders only, put among the results there are; with --parts those parts, likewise",
    )
    options = parser.parse_args()
    every_set = [*dict.fromkeys((*SETS, *OPTION_SETS))]
    sets = options.sets or (["a6a", "bike"] if options.quick else every_set)
    parts = options.parts or (["accuracy"] if options.again else ["accuracy", "calibration", "options"])

    from benchmarks import tables

    machine = describe_machine()
    log(show_machine(machine))
    started = time.perf_counter()
    rows: list[dict[str, Any]] = []
    with ProcessPoolExecutor(2, initializer=threadpool_limits, initargs=(1,)) as pool:
        waiting = {
            pool.submit(work, *arguments): name for name, work, arguments in tasks(parts, sets, options.again or "")
        }
        for done, future in enumerate(as_completed(waiting), 1):
            rows += future.result()
            log(f"{time.perf_counter() - started:5.0f} s  {done} of {len(waiting)}: {waiting[future]}")
    rows = in_order(rows)
    for part in parts:
        for kind in ("defaults", "tuned") if part == "accuracy" else (part,):
            print(f"{kind}\n{tables.KINDS[kind](rows)}\n")
    log(f"took {time.perf_counter() - started:.0f} s")
    if options.quick or options.sets or (options.parts and not options.again):
        return
    if options.again:
        content = json.loads((RESULTS / "estimators.json").read_text(encoding="utf-8"))
        others = [
            row
            for row in content["rows"]
            if row["part"] not in parts
            and not (row["part"] in ("defaults", "tuned") and re.search(options.again, row["who"]))
        ]
        content["rows"] = in_order(others + rows)
        content.setdefault("again", []).append({"who": options.again, "machine": machine})
    else:
        about = {name: facts(problems.load(name)) for name in every_set}
        content = {"machine": machine, "seeds": SEEDS, "sets": about, "rows": rows}
    log(f"wrote {os.path.relpath(write_json('estimators', content))}")


def facts(problem: Problem) -> dict[str, Any]:
    rows = {"learn": len(problem.y), "test": len(problem.y_test), "features": problem.X.shape[1]}
    classes = {} if problem.regression else {"classes": len(np.unique(problem.y))}
    return {**rows, **classes, "about": problem.about}


if __name__ == "__main__":
    main()
