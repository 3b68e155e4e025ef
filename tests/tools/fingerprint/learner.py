"""Runs of `Learner`."""

import ctypes
import functools
import itertools
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from runs import Parts, add, alone, named, saved

from data import COUNT, GAP, PARTS, TRUTH, UNITS, WIDTH, Data, data
from odca import (
    KL,
    L2,
    AbsoluteError,
    Box,
    CompiledLoss,
    ElasticNet,
    EpsilonInsensitive,
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
