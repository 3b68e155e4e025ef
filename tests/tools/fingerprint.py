"""Record a fingerprint of what odca computes, to show that a change changes no bit of it.

    python tests/tools/fingerprint.py OUT.json              all runs, in a minute and a half on one core
    python tests/tools/fingerprint.py OUT.json cli/ auto/   those whose names begin so

It is run with the interpreter of the installation that is to be looked at, once with odca from before a change and once with odca
from after it; the two files must be the same:

    ODCA_DATA=... before/bin/python tests/tools/fingerprint.py before.json
    ODCA_DATA=... after/bin/python tests/tools/fingerprint.py after.json
    diff before.json after.json

It was written ahead of a large refactoring, whose every prediction and every state was to stay as it was: recorded from an installation of
the commit before it, then compared with one of the commit after it. A fingerprint is good for one machine and one version of NumPy, SciPy,
scikit-learn, river and pandas: it is compared and thrown away, not kept.

OUT.json holds, in order, "run: part" and a SHA-256 of the bytes of its numbers. The parts of a run are told apart so that a state
which is laid out anew does not hide that the predictions are the same. A run that raises has "ERROR: ..." under its own name, beside the
parts that it had come to; one that lacks its data has "SKIPPED: ...". Data are looked for in
$ODCA_DATA.

All that a change might give another default (rho, scale, smoothing, prior_strength, missing) is given by every run. What may be renamed is in
the first block below.
"""

import ctypes
import functools
import gzip
import hashlib
import itertools
import json
import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from numbers import Real
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import scipy.sparse as sp

# What is looked at: change names here, if they have changed.
import odca
import odca.river as odca_river
import odca.sklearn as odca_sklearn
from odca import (
    KL,
    L2,
    AbsoluteError,
    AutoLearner,
    Box,
    CompiledLoss,
    ElasticNet,
    EpsilonInsensitive,
    EventLearner,
    Expectile,
    Exponential,
    HalfLife,
    Hinge,
    Huber,
    Infinite,
    Learner,
    LogLoss,
    ModifiedHuber,
    NonNegative,
    Poisson,
    Quantile,
    Sliding,
    SmoothHinge,
    SquaredEpsilonInsensitive,
    SquaredError,
    SquaredHinge,
    load,
)

COMMAND = Path(sys.executable).with_name("odca")
TRAIN, PREDICT, EVALUATE = (COMMAND, "train"), (COMMAND, "predict"), (COMMAND, "evaluate")
PROBABILITIES, MARGINS = "--proba", "--raw"
GAP, WEIGHTS = "gap", "sample_weight"  # of `Learner.refine` and `EventLearner.learn_many`; once "tol" and "weight"


# The table of runs

Parts = Iterator[tuple[str, Any]]
"""What a run yields: the name of a part, and what it holds."""
RUNS: dict[str, Callable[[], Parts]] = {}


class Skipped(Exception):  # noqa: N818 - nothing is wrong
    """There are no data for a run."""


def add(name: str, run: Callable[..., Parts], *args: Any, **kwargs: Any) -> None:
    """Put a run into the table."""
    assert name not in RUNS, name
    RUNS[name] = functools.partial(run, *args, **kwargs)


def alone(name: str) -> Callable[[Callable[[], Parts]], Callable[[], Parts]]:
    """Put a function into the table as it is."""

    def put(run: Callable[[], Parts]) -> Callable[[], Parts]:
        add(name, run)
        return run

    return put


def fingerprint(name: str, run: Callable[[], Parts]) -> Iterator[tuple[str, str]]:
    """The hashes of a run by name, as far as it goes."""
    try:
        for part, value in run():
            yield f"{name}: {part}", digest(value)
    except Skipped as reason:
        yield name, f"SKIPPED: {reason}"
    except Exception as error:  # noqa: BLE001 - one that fails must not stop the others
        yield name, f"ERROR: {type(error).__name__}: {error}"


def digest(value: Any) -> str:
    """The SHA-256 of any nest of numbers, arrays, texts, lists and dictionaries."""
    sha = hashlib.sha256()
    feed(sha.update, value)
    return sha.hexdigest()


def feed(update: Callable[[bytes], None], value: Any) -> None:
    """Feed the bits of a value to a hash; each kind behind its name, so that nothing looks like something else."""
    if isinstance(value, Mapping):
        update(b"map %d " % len(value))
        for key in sorted(value, key=str):
            feed(update, str(key))
            feed(update, value[key])
    elif isinstance(value, bytes):
        update(b"bytes %d " % len(value) + value)
    elif isinstance(value, str):
        update(b"text %d " % len(value.encode()) + value.encode())
    elif value is None or isinstance(value, bool | np.bool_):
        update(b"none " if value is None else b"true " if value else b"false ")
    elif isinstance(value, Real):
        update(b"number " + np.float64(value).tobytes())
    elif isinstance(value, np.ndarray) and value.dtype.kind not in "OU":
        update(f"array {value.dtype.str} {value.shape} ".encode() + np.ascontiguousarray(value).tobytes())
    elif isinstance(value, list | tuple | np.ndarray):
        update(b"list %d " % len(value))
        for each in value:
            feed(update, each)
    else:
        raise TypeError(f"how is a {type(value).__name__} hashed?")


def arrays_of(path: Path) -> dict[str, Any]:
    """The arrays of a safetensors file, by plain reading."""
    data = path.read_bytes()
    behind = 8 + int.from_bytes(data[:8], "little")
    header = json.loads(data[8:behind])
    header.pop("__metadata__", None)
    places = {name: [behind + place for place in entry["data_offsets"]] for name, entry in header.items()}
    return {
        name: [entry["dtype"], entry["shape"], data[places[name][0] : places[name][1]]]
        for name, entry in header.items()
    }


def saved(model: Any, *, file_bytes: bool = False) -> Parts:
    """What the file of a model holds."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.safetensors")
        model.save(path)
        yield "file arrays", arrays_of(path)
        if file_bytes:
            yield "file bytes", path.read_bytes()


def named(*choices: Iterable[Any]) -> Iterator[tuple[Any, ...]]:
    """All combinations, with the name of each in front: names of dictionaries are looked up."""
    for keys in itertools.product(*choices):
        values = [of[key] if isinstance(of, dict) else key for of, key in zip(choices, keys, strict=True)]
        yield "/".join(map(str, keys)), *values


# Numbers to learn from

COUNT, WIDTH, FIRST = 300, 8, 190
"""How many events, of how many features; and how many come in the first of two calls."""
UNITS = np.array([1.0, 3.0, 0.2, 1.0, 5.0, 0.5, 1.0, 2.0])
CENTRES = np.array([0.0, 0.5, 0.0, -2.0, 0.0, 0.0, 0.0, 0.0])
TRUTH = np.array([0.6, -0.3, 1.5, 0.0, 0.1, -0.8, 0.2, 0.0])


class Data(NamedTuple):
    """A stream of COUNT events."""

    X: dict[str, Any]
    """By "dense" and "csr"."""
    y: dict[str, Any]
    """By kinds of labels, each of shape (COUNT, 3): the first column is that of a single model."""
    weight: Any
    offset: Any
    time: Any


@functools.cache
def data() -> Data:
    rng = np.random.default_rng(20240)
    dense = rng.normal(CENTRES, size=(COUNT, WIDTH)) * UNITS
    csr = sp.csr_array(np.where(rng.random((COUNT, WIDTH)) < 0.4, dense, 0.0))
    truths = np.stack([TRUTH, TRUTH[::-1] * 0.5, -TRUTH])
    z = dense @ truths.T + rng.normal(size=(COUNT, 3))
    z[COUNT // 2 :] *= [1.0, -1.0, 1.0]  # the second drifts
    z[::17] *= -4.0  # outliers
    moments = np.cumsum(rng.exponential(size=COUNT))
    late = rng.random(COUNT) < 0.1
    late[-5:] = False
    return Data(
        X={"dense": dense, "csr": csr},
        y={
            "numbers": z,
            "signs": np.where(z > 0.0, 1.0, -1.0),
            "counts": rng.poisson(np.exp(np.clip(0.3 * z, -3.0, 2.0))).astype(np.float64),
        },
        weight=np.where(rng.random(COUNT) < 0.1, 0.0, rng.uniform(0.2, 3.0, COUNT)),
        offset=2.0 * rng.normal(size=COUNT),
        time=moments - np.where(late, 7.0, 0.0),
    )


PARTS = (slice(0, FIRST), slice(FIRST, COUNT))


# 1. Learner

LOSSES: dict[str, Any] = {
    "squared_error": SquaredError(),
    "hinge": Hinge(),
    "squared_hinge": SquaredHinge(),
    "smooth_hinge": SmoothHinge(0.5),
    "modified_huber": ModifiedHuber(),
    "log_loss": LogLoss(),
    "absolute_error": AbsoluteError(),
    "quantile": Quantile(0.9),
    "expectile": Expectile(0.2),
    "huber": Huber(0.3),
    "epsilon_insensitive": EpsilonInsensitive(0.2),
    "squared_epsilon_insensitive": SquaredEpsilonInsensitive(0.2),
    "poisson": Poisson(),
}
SIGNS = ("hinge", "squared_hinge", "smooth_hinge", "modified_huber", "log_loss")
KINDS = dict.fromkeys(LOSSES, "numbers") | dict.fromkeys(SIGNS, "signs") | {"poisson": "counts"}
"""Which labels a loss takes."""
PENALTIES: dict[str, Any] = {
    "l2": L2(),
    "elasticnet": ElasticNet(0.05),
    "nonnegative": NonNegative(0.01),
    "box": Box(-0.5, 0.8, delta=0.01),
    "kl": KL(),
}
SLIDING: dict[str, Any] = {"sliding-length": Sliding(100), "sliding-duration": Sliding(duration=60.0)}
WINDOWS: dict[str, Any] = {
    "infinite": Infinite(),
    "exponential": Exponential(0.98),
    "half-life": HalfLife(40.0),
    **SLIDING,
}
LAYOUTS = ("dense", "csr")
VARIANTS: dict[str, dict[str, bool]] = {
    "plain": {},
    "scaled": {"scale": True},
    "weighted": {"weighted": True},
    "lanes": {"lanes": True},
    "scaled, weighted, lanes": {"scale": True, "weighted": True, "lanes": True},
}


def new_learner(loss: str, penalty: str, window: str, smoothing: float = 0.0, **options: Any) -> Learner:
    """A learner by names. KL has its own rules."""
    own = {"n_features": WIDTH, "intercept": False} if penalty == "kl" else {"intercept": True}
    strength = 20.0  # so that steps reach all parts of a loss
    given = {"rho": 1e-2, "prior_strength": strength, "scale": False, **own, **options}
    return Learner(loss=LOSSES[loss], penalty=PENALTIES[penalty], window=WINDOWS[window], smoothing=smoothing, **given)


def events_for(
    learner: Learner, loss: str, layout: str, part: slice, **chosen: bool
) -> tuple[Any, Any, dict[str, Any]]:
    """Rows, labels and what else goes with them."""
    given, y = data(), data().y[KINDS[loss]][part]
    more = {"time": given.time[part]} if learner.window.uses_time else {}
    if chosen.get("weighted"):
        more |= {"sample_weight": given.weight[part], "offset": given.offset[part]}
    return given.X[layout][part], y if learner.lanes == 3 else y[:, 0], more


def learned(learner: Learner, loss: str, layout: str, part: slice, **chosen: bool) -> Any:
    """The margins of the events from before they were learned."""
    X, y, more = events_for(learner, loss, layout, part, **chosen)
    return learner.learn(X, y, **more)


def results_of(learner: Learner, layout: str) -> list[Any]:
    """What a learner has learned, as a user sees it."""
    X = data().X[layout]
    return [
        learner.predict(X),
        learner.predict(X, offset=data().offset, smoothed=False),
        learner.coef,
        learner.smoothed_coef,
        learner.intercept,
        learner.smoothed_intercept,
        learner.mass,
        learner.effective_sample_size,
        learner.saturation,
        learner.dual_objective(),
    ]


def learner_runs(
    loss: str,
    penalty: str,
    window: str,
    smoothing: float,
    layout: str,
    *,
    scale: bool = False,
    lanes: bool = False,
    weighted: bool = False,
) -> Parts:
    several = {"lanes": 3, "rho": (1e-1, 1e-2, 1e-3)} if lanes else {}
    learner = new_learner(loss, penalty, window, smoothing, scale=scale, **several)
    margins = [learned(learner, loss, layout, part, weighted=weighted) for part in PARTS]
    yield "results", [margins, results_of(learner, layout)]
    yield "state", learner.get_state()


def add_learner_runs() -> None:
    for variant, chosen in VARIANTS.items():
        smoothings = (0.0, 0.99) if variant in {"plain", "scaled"} else (0.99,)
        for each in itertools.product(LOSSES, PENALTIES, WINDOWS, smoothings, LAYOUTS):
            if not (chosen.get("scale") and "kl" in each):  # whose weights are in the units of X
                add(f"learner/{'/'.join(map(str, each))}/{variant}", learner_runs, *each, **chosen)


add_learner_runs()


def fit_run(loss: str, penalty: str, window: str, layout: str) -> Parts:
    """Solved, then learned on from there."""
    learner = new_learner(loss, penalty, window, 0.99, scale=penalty != "kl")
    X, y, more = events_for(learner, loss, layout, PARTS[0], weighted=True)
    report = learner.fit(X, y, **more, tol=1e-3, max_iter=12, shuffle=True, seed=7)
    yield "report", [report.margin, report.passes, report.gap, report.converged]
    yield "results", [learner.objective(X, y), learned(learner, loss, layout, PARTS[1]), results_of(learner, layout)]
    yield "state", learner.get_state()


def refine_run(loss: str, penalty: str, window: str, layout: str) -> Parts:
    """What only a learner that keeps its rows can do."""
    learner = new_learner(loss, penalty, window)
    margins = learned(learner, loss, layout, slice(0, COUNT), weighted=True)
    gaps = [learner.duality_gap(), learner.refine(2, seed=3), learner.primal_objective()]
    learner.unlearn(COUNT - 2)
    yield "results", [margins, gaps, learner.refine(5, seed=4, **{GAP: 1e-3}), results_of(learner, layout)]
    yield "state", learner.get_state()


def merge_run(loss: str, penalty: str, window: str, layout: str) -> Parts:
    """Two halves, and one that goes on from there."""
    first, second = (new_learner(loss, penalty, window, 0.99) for _ in range(2))
    margins = [
        learned(each, loss, layout, part, weighted=True) for each, part in zip((first, second), PARTS, strict=True)
    ]
    merged = first.merge(second)
    yield "results", [margins, results_of(merged, layout), learned(merged, loss, layout, PARTS[1])]
    yield "state", merged.get_state()


def delta_run(loss: str, penalty: str, window: str, layout: str) -> Parts:
    """What one has learned is told another."""
    here = new_learner(loss, penalty, window, 0.99)
    learned(here, loss, layout, PARTS[0])
    there = here.copy()
    learned(there, loss, layout, PARTS[1], weighted=True)
    here.apply(there.delta(here.copy()))
    yield "results", results_of(here, layout)
    yield "state", here.get_state()


def file_run(loss: str, penalty: str, window: str, layout: str) -> Parts:
    learner = new_learner(loss, penalty, window, 0.99, lanes=3, rho=(1e-1, 1e-2, 1e-3))
    learned(learner, loss, layout, PARTS[0])
    yield from saved(learner, file_bytes=True)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.safetensors")
        learner.save(path)
        again = load(path)
    yield "results", [learned(again, loss, layout, PARTS[1]), results_of(again, layout)]


for each in itertools.product(LOSSES, PENALTIES, WINDOWS, LAYOUTS):
    add(f"fit/{'/'.join(each)}", fit_run, *each)
for each in itertools.product(LOSSES, PENALTIES, SLIDING, LAYOUTS):
    add(f"refine/{'/'.join(each)}", refine_run, *each)
for each in itertools.product(LOSSES, PENALTIES, [window for window in WINDOWS if window != "sliding-length"], LAYOUTS):
    add(f"merge/{'/'.join(each)}", merge_run, *each)
for each in itertools.product(("hinge", "poisson"), PENALTIES, ("infinite", "exponential", "half-life"), LAYOUTS):
    add(f"delta/{'/'.join(each)}", delta_run, *each)
for each in itertools.product(("huber", "log_loss"), PENALTIES, WINDOWS, LAYOUTS):
    add(f"files/{'/'.join(each)}", file_run, *each)


class OwnDual:
    """Squares, by λ(p, s)."""

    def dual(self, p: float, s: float, y: float) -> float:
        return (y - p) / (s + 1.0)

    def value(self, z: float, y: float) -> float:
        return 0.5 * (y - z) ** 2


class OwnGradient:
    """log cosh, by its slope."""

    def gradient(self, z: float, y: float) -> float:
        return float(np.tanh(z - y))

    def value(self, z: float, y: float) -> float:
        return float(np.log(np.cosh(z - y)))


def compiled_loss() -> Any:
    """A loss behind an address."""
    dual = ctypes.CFUNCTYPE(ctypes.c_double, *[ctypes.c_double] * 3)(lambda p, s, y: 3.0 * (y - p) / (1.0 + 3.0 * s))
    value = ctypes.CFUNCTYPE(ctypes.c_double, *[ctypes.c_double] * 2)(lambda z, y: 1.5 * (y - z) ** 2)
    return CompiledLoss(dual, value=value)


def special_run(make: Callable[[], Learner], kind: str, layout: str) -> Parts:
    """Options that the grid does not have."""
    learner, given = make(), data()
    y = given.y[kind] if learner.lanes == 3 else given.y[kind][:, 0]
    first, seen = (
        learner.learn(given.X[layout][part], y[part], time=given.time[part], diagnostics=part is PARTS[1])
        for part in PARTS
    )
    yield "results", [first, seen.margin, seen.dual, seen.slope, seen.saturated, results_of(learner, layout)]
    yield "state", learner.get_state()


def special(**options: Any) -> Callable[[], Learner]:
    """A way to make a learner, later."""

    def make() -> Learner:
        given = {"rho": 1e-2, "smoothing": 0.9, "prior_strength": 0.0, "scale": False, "intercept": True, **options}
        given["loss"] = given["loss"]() if callable(given["loss"]) else given["loss"]
        return Learner(**given)

    return make


SPECIAL: dict[str, tuple[Callable[[], Learner], str]] = {
    "own dual": (special(loss=OwnDual), "numbers"),
    "own dual, sliding, scaled": (special(loss=OwnDual, window=Sliding(50), scale=True), "numbers"),
    "own gradient": (special(loss=OwnGradient, penalty=ElasticNet(0.1)), "numbers"),
    "own, compiled": (special(loss=compiled_loss, lanes=3), "numbers"),
    "betas by lane": (special(loss=LogLoss(), window=Exponential([0.9, 0.99, 0.999]), scale=True), "signs"),
    "taus by lane": (special(loss=Hinge(), window=HalfLife([5.0, 50.0, 500.0])), "signs"),
    "strengths by lane": (special(loss=Huber(), rho=0.0, prior_strength=(0.1, 1.0, 10.0)), "numbers"),
    "penalty_weights": (
        special(loss=SquaredError(), penalty_weights=1.0 / UNITS, intercept_penalty=1e-6, prior_intercept=0.5),
        "numbers",
    ),
    "prior_mean": (special(loss=AbsoluteError(), prior_mean=TRUTH, penalty=ElasticNet(0.1)), "numbers"),
    "prior of KL": (
        special(loss=SquaredError(), penalty=KL(np.arange(1.0, WIDTH + 1)), intercept=False),
        "numbers",
    ),
    "no intercept": (special(loss=Poisson(), intercept=False, scale=True), "counts"),
    "full smoothing": (special(loss=SmoothHinge(2.0), smoothing=1.0), "signs"),
}
for name, (make, kind), layout in named(SPECIAL, LAYOUTS):
    add(f"special/{name}", special_run, make, kind, layout)


@alone("special/soft labels")
def soft_labels() -> Parts:
    learner = new_learner("log_loss", "l2", "exponential", 0.99)
    y = 1.0 / (1.0 + np.exp(-data().y["numbers"][:, 0]))
    yield "results", [learner.learn(data().X["dense"], y), results_of(learner, "dense")]


@alone("special/forms of X")
def forms_of_input() -> Parts:
    dense, y = data().X["dense"], data().y["numbers"][:, 0]
    csr64 = data().X["csr"].copy()
    csr64.indices, csr64.indptr = csr64.indices.astype(np.int64), csr64.indptr.astype(np.int64)
    forms = {
        "float32": dense.astype(np.float32),
        "whole numbers": np.round(dense).astype(int),
        "by columns": np.asfortranarray(dense),
        "backwards": dense[::-1, ::-1],
        "csc": sp.csc_array(data().X["csr"]),
        "csr of 64 bits": csr64,
    }
    for name, X in forms.items():
        learner = new_learner("huber", "l2", "exponential", 0.9, scale=True)
        yield name, [learner.learn(X, y), learner.predict(X), learner.coef, learner.get_state()]


@alone("special/features that appear")
def features_that_appear() -> Parts:
    for layout in LAYOUTS:
        X, y = data().X[layout], data().y["signs"][:, 0]
        learner = new_learner("log_loss", "elasticnet", "infinite", 0.9, scale=True)
        margins = [learner.learn(X[:100, :3], y[:100]), learner.learn(X[100:], y[100:])]
        yield layout, [margins, learner.predict(X[:, :5]), learner.coef, learner.get_state()]


@alone("special/other lanes")
def other_lanes() -> Parts:
    learner = new_learner("hinge", "l2", "sliding-length", 0.9, lanes=3)
    learned(learner, "hinge", "dense", PARTS[0])
    other = learner.with_lanes([2, 0, -1], [True, False, False])
    yield "results", [learned(other, "hinge", "dense", PARTS[1]), results_of(other, "dense")]
    yield "state", other.get_state()


# The same, for longer: sums are brought to scale anew, windows turn over, rows are wide, lanes are many

LONG, WIDE, MANY = 6000, 60, 9
LONG_WINDOWS: dict[str, Any] = {
    "infinite": Infinite(),
    "exponential": Exponential(0.9),
    "half-life": HalfLife(3.0),
    "sliding-length": Sliding(500),
    "sliding-duration": Sliding(duration=400.0),
}


@functools.cache
def long_data() -> Data:
    rng = np.random.default_rng(20243)
    dense = rng.normal(size=(LONG, WIDE)) * rng.uniform(0.1, 3.0, WIDE)
    csr = sp.csr_array(np.where(rng.random((LONG, WIDE)) < 0.15, dense, 0.0))
    z = dense @ (0.3 * rng.normal(size=(WIDE, MANY))) + rng.normal(size=(LONG, MANY))
    z[LONG // 2 :, ::2] *= -1.0
    signs, counts = np.where(z > 0.0, 1.0, -1.0), rng.poisson(np.exp(np.clip(0.3 * z, -3.0, 2.0))).astype(np.float64)
    return Data(
        X={"dense": dense, "csr": csr},
        y={"numbers": z, "signs": signs, "counts": counts},
        weight=rng.uniform(0.2, 3.0, LONG),
        offset=0.3 * rng.normal(size=LONG),
        time=np.cumsum(rng.exponential(size=LONG)),
    )


def long_run(loss: str, penalty: Any, window: Any, layout: str, lanes: int) -> Parts:
    kl = isinstance(penalty, KL)
    own = {"n_features": WIDE, "intercept": False, "scale": False} if kl else {"intercept": True, "scale": True}
    learner = Learner(
        loss=LOSSES[loss],
        penalty=penalty,
        window=window,
        rho=1e-3,
        smoothing=0.999,
        prior_strength=0.1,
        lanes=lanes,
        **own,
    )
    given = long_data()
    margins = learner.learn(
        given.X[layout],
        given.y[KINDS[loss]][:, :lanes],
        sample_weight=given.weight,
        offset=given.offset,
        time=given.time,
    )
    yield (
        "results",
        [margins, learner.predict(given.X[layout]), learner.coef, learner.smoothed_coef, learner.dual_objective()],
    )
    yield "state", learner.get_state()


for name, loss, penalty, window, layout, lanes in named(
    ("hinge", "log_loss", "huber", "poisson"), PENALTIES, LONG_WINDOWS, LAYOUTS, (1, MANY),
):  # fmt: skip
    add(f"long/{name}", long_run, loss, penalty, window, layout, lanes)


# 2. Estimators of scikit-learn

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


def judged(model: Any, X: Any) -> list[Any]:
    """What a fitted estimator of scikit-learn says."""
    methods = [name for name in ("predict", "decision_function", "predict_proba") if hasattr(model, name)]
    weights = [name for name in ("coef_", "intercept_") if hasattr(model, name)]
    return [*(getattr(model, name)(X) for name in methods), *(getattr(model, name) for name in weights)]


def progress_of(model: Any) -> list[float]:
    progress = model.progress_
    score = progress.accuracy if hasattr(progress, "accuracy") else progress.mae
    return [progress.events, progress.weight, progress.loss, score]


def fitted_run(make: Callable[[], Any], y: Callable[[], Any], layout: str, **more: Any) -> Parts:
    model, X = make(), data().X[layout]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of passes that are not enough
        model.fit(X, y(), **{name: value() for name, value in more.items()})
    yield "results", judged(model, X)
    if hasattr(model, "n_iter_"):
        yield "solution", [model.n_iter_, model.duality_gap_, model.dual_objective_]
    yield "state", model.learner_.get_state()
    yield from saved(model)


def partly_fitted_run(make: Callable[[], Any], y: Callable[[], Any], layout: str, **more: Any) -> Parts:
    model, X, labels = make(), data().X[layout], y()
    said = []
    for part in PARTS:
        model.partial_fit(X[part], labels[part], **{name: value()[part] for name, value in more.items()})
        said.append(judged(model, X))
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
    yield "results", judged(model, X)
    yield "progress", progress_of(model)


@alone("sklearn/classifier/balanced")
def balanced_classes() -> Parts:
    model, X = classifier("squared_hinge", class_weight="balanced")(), data().X["dense"]
    yield "results", judged(model.fit(X, targets()["three"]), X)


@alone("sklearn/regressor/own loss")
def own_loss_of_an_estimator() -> Parts:
    model, X = regressor(OwnDual())(), data().X["dense"]
    yield "results", judged(model.partial_fit(X, data().y["numbers"][:, 0]), X)
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
        yield name, [judged(model, frame), progress_of(model)]


# Events as dictionaries

COUNTRIES = ("NZ", "FR", "IT", "", "São Tomé")


class Events(NamedTuple):
    """Dictionaries with numbers, categories, truths and gaps; and labels of all kinds."""

    x: list[dict[str, Any]]
    truth: list[bool]
    place: list[str]
    """Of which one comes late."""
    number: list[float]
    count: list[float]


@functools.cache
def events() -> Events:
    rng = np.random.default_rng(20241)
    x, z = [], []
    for n in range(COUNT):
        price, size = float(rng.exponential(3.0)), float(rng.normal(100.0, 20.0))
        country, new = COUNTRIES[rng.integers(len(COUNTRIES))], bool(rng.random() < 0.3)
        event: dict[str, Any] = {
            "price": price,
            "size": size,
            "country": country,
            "new": new,
            "rooms": int(rng.integers(1, 6)),
        }
        for name in ("price", "country", "size"):
            if rng.random() < 0.1:
                event[name] = None
        if rng.random() < 0.1:
            event["size"] = float("nan")
        if rng.random() < 0.2:
            del event["rooms"]
        if n > COUNT // 3 and rng.random() < 0.3:
            event[f"only {int(rng.integers(4))}"] = float(rng.normal())
        x.append(event)
        z.append(0.4 * price - 0.01 * size + new + 0.5 * (country == "FR") + float(rng.normal()))
    middle = float(np.median(z))
    late = [n >= FIRST and value > middle + 1.0 for n, value in enumerate(z)]
    return Events(
        x=x,
        truth=[value > middle for value in z],
        place=[
            "late" if is_late else "up" if value > middle else "down" for is_late, value in zip(late, z, strict=True)
        ],
        number=z,
        count=[float(round(max(0.0, 2.0 + value))) for value in z],
    )


# 3. Estimators of river

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


# 4. EventLearner


def event_learner_run(loss: str, window: Any, bits: int | None, missing: str, lanes: int | None) -> Parts:
    """One by one, then many, then with labels that come later."""
    model = EventLearner(
        loss=LOSSES[loss], window=window, rho=1e-3, smoothing=0.9, prior_strength=0.5, scale=True, intercept=True,
        lanes=lanes, bits=bits, missing=missing, max_pending=20,
    )  # fmt: skip
    given = events()
    single = {
        "signs": [1.0 if truth else -1.0 for truth in given.truth],
        "counts": given.count,
        "numbers": given.number,
    }
    y = np.array(single[KINDS[loss]])
    if lanes:
        y = np.stack([y, y[::-1]], axis=1)
    uses_time, told = model.learner.window.uses_time, []
    for n in range(100):
        told.append(model.predict_one(given.x[n], offset=0.1))
        more = {"time": float(data().time[n])} if uses_time else {}
        told.append(model.learn_one(given.x[n], y[n], weight=1.5 if n % 3 else 1.0, **more))
    more = {"time": data().time[100:200]} if uses_time else {}
    told.append(model.learn_many(given.x[100:200], y[100:200], **{WEIGHTS: data().weight[100:200]}, **more))
    for n in range(200, COUNT):
        told.append(model.predict_one(given.x[n], id=f"event {n}"))
        if n >= 210:
            more = {"time": float(data().time[n])} if uses_time else {}
            told.append(model.learn_label(f"event {n - 10}", y[n - 10], **more))
    yield "results", [told, model.predict_many(given.x), model.pending, model.dropped]
    yield "explained", [model.explain_one(x) for x in given.x[-10:]]
    if bits is None:
        yield "names", [model.weights(), list(map(repr, model.features))]
    yield "state", model.learner.get_state()
    yield from saved(model)


for name, loss, window, bits, missing, lanes in named(
    ("log_loss", "hinge", "huber", "poisson"), WINDOWS, (None, 8), ("ignore", "indicate"), (None, 2)
):
    add(f"events/{name}", event_learner_run, loss, window, bits, missing, lanes)


# 5. The command line

DATA = Path(os.environ.get("ODCA_DATA") or Path(__file__).resolve().parent.parent.parent.parent / "shared" / "data")
LINES = 5000
VARYING = ("seconds", "events_per_second", "model")
"""Of the summary: what is not the same each time."""


def head_of(name: str, lines: int = LINES) -> bytes:
    """The first lines of a file of the data."""
    path = DATA / name
    if not path.is_file():
        raise Skipped(f"there is no {name} in $ODCA_DATA")
    with gzip.open(path) as file:
        return b"".join(itertools.islice(file, lines))


def vw_lines() -> bytes:
    """Documents of four groups, of which the last comes late: words by Zipf's law, subjects in a namespace of their own."""
    rng = np.random.default_rng(20242)
    lines = []
    for n in range(2000):
        group = int(rng.integers(4 if n > 500 else 3))
        words = np.minimum(rng.zipf(1.4, size=int(rng.integers(5, 40))), 5000)
        own = rng.random(len(words)) < 0.3
        text = " ".join(f"g{group}w{word}" if mine else f"w{word}" for word, mine in zip(words, own, strict=True))
        weight = " 2" if n % 7 == 0 else ""
        lines.append(
            f"{group + 1}{weight} doc{n}|subject s{group if rng.random() < 0.7 else 0}:1.5 t{n % 13} |text {text}\n"
        )
    return "".join(lines).encode()


def json_lines() -> bytes:
    """Events with categories and gaps, times, and places of which one comes late."""
    given = events()
    lines = []
    for n, x in enumerate(given.x):
        event = {name: None if value != value else value for name, value in x.items()}  # noqa: PLR0124 - nan
        lines.append(
            json.dumps({**event, "at": float(data().time[n]), "place": given.place[n], "worth": given.number[n]}) + "\n"
        )
    return "".join(lines).encode()


SOURCES: dict[str, Callable[[], bytes]] = {
    "elec2.csv": lambda: head_of("elec2_river.csv.gz"),
    "elec2-whole.csv": lambda: head_of("elec2_river.csv.gz", 10**6),
    "bike.csv": lambda: head_of("bike_hour.csv.gz"),
    "a6a.svm": lambda: head_of("a6a.gz"),
    "covtype.csv": lambda: head_of("covtype.csv.gz"),
    "news.vw": vw_lines,
    "events.jsonl": json_lines,
}
SCALED = "--scale --rho 1e-3 --smoothing 0.99 --prior-strength 0.5"
UNSCALED = "--no-scale --rho 1e-5 --smoothing 0.99 --prior-strength 0.5"
ELEC2, COVTYPE, A6A = (
    "elec2.csv --label class --missing ignore",
    "covtype.csv --label -1 --task classes --missing ignore",
    "a6a.svm --missing ignore",
)
WHOLE = "elec2-whole.csv --label class --missing ignore"
BIKE = "bike.csv --label cnt --ignore casual registered instant dteday --missing ignore"
NEWS, EVENTS = "news.vw --task classes --missing ignore", "events.jsonl --label place --ignore worth at"
NUMBERS = "events.jsonl --label worth --ignore place at"
CLI: dict[str, str] = {
    "elec2": f"{ELEC2} {SCALED}",
    "elec2, hinge, fading": f"{ELEC2} {SCALED} --loss hinge --window 0.999",
    "elec2, interaction": f"{ELEC2} {SCALED} --interact nswprice period --interact day transfer --categorical day",
    "elec2, auto": f"{ELEC2} --auto",
    "elec2, whole, hinge": f"{WHOLE} {SCALED} --loss hinge --window 2000",
    "elec2, whole, auto": f"{WHOLE} --auto",
    "bike": f"{BIKE} {SCALED}",
    "bike, poisson": f"{BIKE} {SCALED} --loss poisson",
    "bike, quantile, sliding": f"{BIKE} {SCALED} --loss quantile:0.9 --window 1000 --categorical hr season weathersit",
    "bike, auto": f"{BIKE} --auto",
    "a6a": f"{A6A} {UNSCALED}",
    "a6a, smooth hinge, elastic net": f"{A6A} {UNSCALED} --loss smooth_hinge:0.5 --penalty elasticnet:0.1",
    "a6a, auto": f"{A6A} --auto",
    "covtype": f"{COVTYPE} {SCALED}",
    "covtype, auto": f"{COVTYPE} --auto",
    "news": f"{NEWS} {UNSCALED}",
    "news, hashed": f"{NEWS} {UNSCALED} --bits 18",
    "news, hashed, interaction": f"{NEWS} {UNSCALED} --bits 18 --interact subject text",
    "news, auto": f"{NEWS} --auto",
    "events, ignored": f"{EVENTS} {SCALED} --missing ignore",
    "events, indicated": f"{EVENTS} {SCALED} --missing indicate",
    "events, hinge, time": f"{EVENTS} {SCALED} --missing ignore --loss hinge --time at --window half-life:100s",
    "events, hashed": f"{EVENTS} {SCALED} --missing indicate --bits 18 --interact country new",
    "events, auto": f"{EVENTS} --missing ignore --auto",
    "events, auto, time": f"{EVENTS} --missing indicate --time at --memory time --auto",
    "events, numbers": f"{NUMBERS} {SCALED} --missing ignore --loss huber:0.5",
    "events, numbers, auto": f"{NUMBERS} --missing ignore --auto",
}


def output_of(folder: str, *arguments: object) -> str:
    """What a command writes to stdout."""
    done = subprocess.run([str(each) for each in arguments], cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        last = (done.stderr.strip() or done.stdout.strip() or "nothing").splitlines()[-1]
        raise RuntimeError(f"odca {arguments[1]} ends with {done.returncode}: {last}")
    return done.stdout


def metrics_of(output: str) -> dict[str, Any]:
    """The table and the summary of --json without times, and what is said in words."""
    objects = [json.loads(line) for line in output.splitlines()]
    for each in objects:
        for section in each.values():
            if isinstance(section, dict):
                for name in VARYING:
                    section.pop(name, None)
    words = [each["text"] for each in objects if "text" in each]
    metrics = [each for each in objects if each["event"] in {"progress", "summary"}]
    return {"metrics": metrics, "words": words} if words else {"metrics": metrics}


def cli_run(options: str) -> Parts:
    """Trained on a file, then looked at from all sides."""
    source, *chosen = options.split()
    content = SOURCES[source]()
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, source).write_bytes(content)
        yield from metrics_of(output_of(folder, *TRAIN, source, "-o", "model", "--json", *chosen)).items()
        yield from predicted(folder, source, classes=not {"cnt", "worth"} & {*chosen})
        yield "evaluated", metrics_of(output_of(folder, *EVALUATE, "model", source, "--json"))["metrics"]
        yield "model arrays", arrays_of(Path(folder, "model"))


def predicted(folder: str, source: str, *, classes: bool = True) -> Parts:
    yield "predictions", output_of(folder, *PREDICT, "model", source)
    yield "margins", output_of(folder, *PREDICT, "model", source, MARGINS)
    if classes:
        yield "probabilities", output_of(folder, *PREDICT, "model", source, PROBABILITIES)


for name, options in CLI.items():
    add(f"cli/{name}", cli_run, options)


def cli_continued(chosen: str) -> Parts:
    """Trained on half a file, then on the other half; and judged on it as it is learned."""
    header, *lines = head_of("elec2_river.csv.gz").splitlines(keepends=True)
    halves = {"first.csv": lines[:2000], "second.csv": lines[2000:]}
    with tempfile.TemporaryDirectory() as folder:
        for name, half in halves.items():
            Path(folder, name).write_bytes(header + b"".join(half))
        options = ("--label", "class", "--missing", "ignore", *chosen.split())
        output_of(folder, *TRAIN, "first.csv", "-o", "half", "--json", *options)
        yield (
            "progressive",
            metrics_of(output_of(folder, *EVALUATE, "half", "second.csv", "--progressive", "--json"))["metrics"],
        )
        yield from metrics_of(output_of(folder, *TRAIN, "second.csv", "-i", "half", "-o", "model", "--json")).items()
        yield from predicted(folder, "second.csv")


add("cli/continued", cli_continued, SCALED)
add("cli/continued, auto", cli_continued, "--auto")


# 6. AutoLearner


def auto_run(task: str, classes: int, labels: Callable[[], Any], layout: str, chosen: Mapping[str, bool]) -> Parts:
    learner, given, y = AutoLearner(task, classes=classes), data(), labels()
    said = []
    for part in PARTS:
        more = {"sample_weight": given.weight[part]} if chosen.get("weighted") else {}
        more |= {"time": given.time[part]} if chosen.get("timed") else {}
        said += [learner.learn(given.X[layout][part], y[part], **more), learner.predict(given.X[layout])]
    if task == "classes":
        said.append(learner.probabilities(said[-1]))
    yield "results", [said, learner.classes, learner.count, learner.n_features]
    yield "report", json.loads(learner.report().as_json())
    yield "state", learner.get_state()
    yield from saved(learner)


def four_classes(late: int) -> Any:
    """Four of them, of which the last comes after so many events; the first three come in order."""
    z = data().y["numbers"]
    codes = np.where(z[:, 0] > 2.0, 3, z.argmax(axis=1))
    codes[(codes == 3) & (np.arange(COUNT) < late)] = 0
    codes[:4] = [0, 1, 2, 0]
    return codes.astype(np.float64)


AUTO_TASKS: dict[str, tuple[str, int, Callable[[], Any]]] = {
    "two classes": ("classes", 2, lambda: (data().y["numbers"][:, 0] > 0.0).astype(np.float64)),
    "four classes, declared": ("classes", 4, lambda: four_classes(0)),
    "four classes, declared, late": ("classes", 4, lambda: four_classes(150)),
    "four classes, met, late": ("classes", 2, lambda: four_classes(FIRST + 20)),
    "numbers": ("numbers", 2, lambda: data().y["numbers"][:, 0]),
    "counts": ("numbers", 2, lambda: data().y["counts"][:, 0]),
}
AUTO_WAYS = {
    "plain": {},
    "weighted": {"weighted": True},
    "timed": {"timed": True},
    "weighted, timed": {"weighted": True, "timed": True},
}
for name, (task, classes, labels), layout, chosen in named(AUTO_TASKS, LAYOUTS, AUTO_WAYS):
    add(f"auto/{name}", auto_run, task, classes, labels, layout, chosen)


def auto_long_run(task: str, classes: int, layout: str, timed: bool) -> Parts:
    learner, given = AutoLearner(task, classes=2), long_data()
    z = given.y["numbers"]
    y = z[:, 0] if task == "numbers" else z[:, :classes].argmax(axis=1).astype(np.float64)
    if classes > 2:  # each comes once those before it have come
        y[np.arange(LONG) < 100 * y] = 0.0
    yield (
        "results",
        [learner.learn(given.X[layout], y, time=given.time if timed else None), learner.predict(given.X[layout])],
    )
    yield "report", json.loads(learner.report().as_json())
    yield "state", learner.get_state()


LONG_TASKS = {"two classes": ("classes", 2), "seven classes": ("classes", 7), "numbers": ("numbers", 2)}
for name, (task, classes), layout, timed in named(LONG_TASKS, LAYOUTS, (False, True)):
    add(f"auto/long/{name}", auto_long_run, task, classes, layout, timed)


# Running


def main(out: str, *beginnings: str) -> None:
    """Run those whose names begin so, or all, and write what came of them."""
    started = time.monotonic()
    chosen = {name: run for name, run in RUNS.items() if not beginnings or name.startswith(beginnings)}
    found = {part: mark for name, run in chosen.items() for part, mark in fingerprint(name, run)}
    Path(out).write_text(json.dumps(found, indent=1, sort_keys=True, ensure_ascii=False) + "\n", encoding="utf-8")
    print(
        f"odca of {Path(odca.__file__).parent}: {len(chosen)} runs, {len(found)} parts, {time.monotonic() - started:.0f} s"
    )
    for name, mark in sorted(found.items()):
        if mark.startswith(("ERROR", "SKIPPED")):
            print(f"{name}: {mark}")


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit("usage: fingerprint.py OUT.json [NAME ...]")
    main(*sys.argv[1:])
