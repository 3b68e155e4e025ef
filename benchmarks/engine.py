"""The in-memory speed table: one pass of odca beside SciPy's X @ w, scikit-learn's SGD, and odca's own l2 pass.

    python -m benchmarks.engine [--rows 200000] [--rounds 5]

All sides see the same rows (canonical CSR, float64), the same loss and ρ = alpha, on one thread. Every round times
every contender once, each from a fresh model; the ratios are of the best times. scikit-learn gets its classes up
front and no intercept, like ours.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from sklearn.linear_model import SGDClassifier, SGDRegressor

from benchmarks.data import Problem, make_documents
from benchmarks.report import (
    Goal,
    Prepare,
    Row,
    Timing,
    compare,
    describe_machine,
    log,
    show_machine,
    table,
    time_interleaved,
    time_once,
    write_json,
)
from odca import ElasticNet, Exponential, Hinge, Learner, LogLoss, Sliding, SquaredError

RHO = 1e-4
LANES = 8
LOSSES = {"hinge": Hinge(), "squared": SquaredError(), "log": LogLoss()}
# Chosen on the full data so that about 80 % of the weights are zero; the table says how many were.
DELTAS = {"hinge": 0.1, "squared": 0.08, "log": 0.05}
LANES_GOALS = {"hinge": Goal(5.0), "squared": None, "log": Goal(3.0)}
SINGLE_EVENTS = 2000  # learned one call at a time
FORBIDDEN = ("pandas", "sklearn", "pyarrow", "scipy")

SGD: dict[str, Callable[..., Any]] = {
    "hinge": lambda **options: SGDClassifier(loss="hinge", **options),
    "log": lambda **options: SGDClassifier(loss="log_loss", **options),
    "squared": lambda **options: SGDRegressor(loss="squared_error", **options),
}


def contenders(problem: Problem) -> dict[str, Prepare]:
    """Everything that is timed, by name."""
    X, y = problem.X, problem.y

    def learns(labels: Any = y, **options: Any) -> Prepare:
        def prepare() -> Callable[[], object]:
            learner = Learner(rho=RHO, **options)
            return lambda: learner.learn(X, labels)

        return prepare

    trained = Learner(loss=Hinge(), rho=RHO)
    trained.learn(X, y)
    w = trained.coef
    smoothed = Learner(loss=Hinge(), rho=RHO, smoothing=0.999)
    smoothed.learn(X, y)
    found: dict[str, Prepare] = {
        "X @ w": lambda: lambda: X @ w,
        "predict": lambda: lambda: trained.predict(X),
        "predict smoothed": lambda: lambda: smoothed.predict(X),
    }
    for name, loss in LOSSES.items():
        found |= {
            f"{name}": learns(loss=loss),
            f"{name} exponential": learns(loss=loss, window=Exponential(0.9999)),
            f"{name} elastic net": learns(loss=loss, penalty=ElasticNet(DELTAS[name])),
            f"{name} sliding 1000": learns(loss=loss, window=Sliding(1000)),
            f"{name} sliding 20000": learns(loss=loss, window=Sliding(20_000)),
            f"{name} smoothing": learns(loss=loss, smoothing=0.999),
            f"{name} smoothing exponential": learns(loss=loss, smoothing=0.999, window=Exponential(0.9999)),
            f"{name} lanes": learns(problem.labels[:, :LANES].copy(), loss=loss, lanes=LANES),
            f"{name} sgd in order": _sgd_pass(name, problem, shuffle=False),
            f"{name} sgd": _sgd_pass(name, problem),
        }
    return found | _single_events(problem)


def _sgd_pass(name: str, problem: Problem, **options: Any) -> Prepare:
    def prepare() -> Callable[[], object]:
        model = SGD[name](alpha=RHO, fit_intercept=False, random_state=0, **options)
        classes = {} if name == "squared" else {"classes": np.array([-1.0, 1.0])}
        return lambda: model.partial_fit(problem.X, problem.y, **classes)

    return prepare


def _single_events(problem: Problem) -> dict[str, Prepare]:
    """One call per event; the rows are cut out of X beforehand."""
    count = min(SINGLE_EVENTS, len(problem.y))
    labels = [problem.y[i : i + 1] for i in range(count)]
    sparse = [problem.X[i : i + 1] for i in range(count)]
    dense = list(np.random.default_rng(0).standard_normal((count, 1, 14)))

    def one_by_one(rows: list[Any]) -> Prepare:
        def prepare() -> Callable[[], object]:
            learner = Learner(loss=Hinge(), rho=RHO)

            def work() -> None:
                for row, label in zip(rows, labels, strict=True):
                    learner.learn(row, label)

            return work

        return prepare

    def sgd() -> Callable[[], object]:
        model = SGD["hinge"](alpha=RHO, fit_intercept=False, shuffle=False)
        classes = np.array([-1.0, 1.0])

        def work() -> None:
            for row, label in zip(dense, labels, strict=True):
                model.partial_fit(row, label, classes=classes)

        return work

    return {"single CSR": one_by_one(sparse), "single dense": one_by_one(dense), "single dense sgd": sgd}


def lines(timings: dict[str, Timing], facts: dict[str, Any]) -> Iterator[Row]:
    """Compare the timings as design.md's table of goals does."""

    def against(other: str, shown: str, *, faster: bool = False) -> Callable[..., Row]:
        def line(work: str, name: str, goal: Goal | None = None, note: str = "") -> Row:
            return Row(work, shown, *compare(timings[name], timings[other], faster=faster), goal, note)

        return line

    product = against("X @ w", "SciPy X @ w")
    for loss in LOSSES:
        goal = Goal(2.8 if loss == "log" else 2.0)
        yield product(f"one pass, {loss}, l2, infinite", loss, goal)
        yield product(f"one pass, {loss}, l2, exponential", f"{loss} exponential", goal)
    for loss in LOSSES:
        peer = "SGDRegressor" if loss == "squared" else "SGDClassifier"
        ordered = against(f"{loss} sgd in order", f"{peer}, shuffle=False", faster=True)
        yield ordered(f"one pass, {loss}, times faster", loss, Goal(1.5, at_least=True))
        default = against(f"{loss} sgd", f"{peer}, default", faster=True)
        yield default(f"one pass, {loss}, times faster", loss, Goal(3.0, at_least=True))
    for loss in LOSSES:
        own = against(loss, f"our l2 pass, {loss}")
        zeros = f"δ = {DELTAS[loss]:g}: {facts['zero_weights'][loss]:.0%} of the weights are 0"
        yield own(f"elastic net, {loss}", f"{loss} elastic net", Goal(2.2), zeros)
        yield own(f"sliding, L = 1,000, {loss}", f"{loss} sliding 1000", Goal(2.5))
        yield own(f"sliding, L = 20,000, {loss}", f"{loss} sliding 20000", Goal(4.0))
        yield own(f"smoothing κ = 0.999, {loss}", f"{loss} smoothing", Goal(2.2))
        fading = against(f"{loss} exponential", f"our exponential pass, {loss}")
        yield fading(f"smoothing κ = 0.999, exponential, {loss}", f"{loss} smoothing exponential", Goal(2.2))
    for loss in LOSSES:
        one = against(loss, f"one lane, {loss}")
        yield one(f"{LANES} lanes, {loss}", f"{loss} lanes", LANES_GOALS[loss])
    yield product("predict", "predict")
    yield product("predict, smoothed weights", "predict smoothed")
    yield from _single_lines(timings, facts)


def _single_lines(timings: dict[str, Timing], facts: dict[str, Any]) -> Iterator[Row]:
    count = facts["single_events"]

    def each(name: str) -> str:
        return f"{1e6 * timings[name].best / count:.1f} µs per event"

    share = Timing(
        *([t * count / facts["rows"] for t in times] for times in (timings["hinge"].wall, timings["hinge"].cpu))
    )
    batch = compare(timings["single CSR"], share)
    yield Row("one event per call, CSR, hinge", "our l2 pass, per event", *batch, note=each("single CSR"))
    peer = compare(timings["single dense"], timings["single dense sgd"], faster=True)
    yield Row(
        "one event per call, 14 dense features, times faster",
        "SGDClassifier.partial_fit",
        *peer,
        note=f"{each('single dense')} against {each('single dense sgd')}",
    )


def describe_problem(problem: Problem) -> dict[str, Any]:
    """What the data is like for the models, so that a reader can judge whether the timings mean anything."""
    X, y = problem.X, problem.y
    facts: dict[str, Any] = {
        "rows": X.shape[0],
        "features": X.shape[1],
        "nonzeros_per_row": X.nnz / X.shape[0],
        "rho": RHO,
        "deltas": DELTAS,
        "lanes": LANES,
        "single_events": min(SINGLE_EVENTS, len(y)),
        "majority_error": float(min(np.mean(y > 0), np.mean(y < 0))),
        "progressive_error": {},
        "elastic_net_progressive_error": {},
        "zero_weights": {},
    }
    for name, loss in LOSSES.items():
        told = Learner(loss=loss, rho=RHO).learn(X, y, diagnostics=True)
        facts["progressive_error"][name] = float(np.mean(told.margin * y <= 0.0))
        if name == "hinge":
            facts["hinge_events_that_moved"] = float(np.mean(told.dual != 0.0))
        sparse = Learner(loss=loss, rho=RHO, penalty=ElasticNet(DELTAS[name]))
        facts["elastic_net_progressive_error"][name] = float(np.mean(sparse.learn(X, y) * y <= 0.0))
        facts["zero_weights"][name] = float(np.mean(sparse.coef == 0.0))
    return facts


IMPORT_PROBE = """
import json, sys, time
tried = set()
class Watch:
    def find_spec(self, name, path=None, target=None):
        tried.add(name.partition(".")[0])
if {watch}:
    sys.meta_path.insert(0, Watch())
started = time.perf_counter()
import {module}
print(json.dumps([time.perf_counter() - started, sorted(set(sys.modules) | tried)]))
"""


def time_imports(rounds: int) -> dict[str, Any]:
    """Time `import odca` and `import numpy` in fresh processes; see which heavy packages were imported or tried."""

    def probe(module: str, *, watch: bool = False) -> tuple[float, list[str]]:
        script = IMPORT_PROBE.format(module=module, watch=watch)
        out = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
        seconds, modules = json.loads(out)
        return seconds, modules

    probe("odca")  # fills the caches
    times: dict[str, list[float]] = {"odca": [], "numpy": []}
    for _ in range(rounds):
        for module, seconds in times.items():
            seconds.append(probe(module)[0])
    _, modules = probe("odca", watch=True)
    heavy = [name for name in FORBIDDEN if name in modules]
    return {"odca": min(times["odca"]), "numpy": min(times["numpy"]), "imported_or_tried": heavy, "all": times}


def show_import(imports: dict[str, Any]) -> str:
    """Return the import's line."""
    heavy = ", ".join(imports["imported_or_tried"]) or "none"
    met = "yes" if not imports["imported_or_tried"] else "NO"
    return (
        f"import odca: {1e3 * imports['odca']:.0f} ms, of which NumPy {1e3 * imports['numpy']:.0f} ms; "
        f"imported of {', '.join(FORBIDDEN)}: {heavy} (goal none: {met})"
    )


def main() -> None:
    """Run everything, print the table, write the JSON."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.engine", description=__doc__.split("\n", 1)[0])
    parser.add_argument("--rows", type=int, default=200_000, help="documents (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=5, help="times each contender is timed (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="of the data (default: %(default)s)")
    options = parser.parse_args()

    machine = describe_machine()
    log("making the data ...")
    made: list[Problem] = []
    seconds, _ = time_once(lambda: made.append(make_documents(rows=options.rows, teachers=LANES, seed=options.seed)))
    problem = made[0]
    facts = describe_problem(problem) | {"seed": options.seed}
    log(f"  {problem.X.shape[0]} rows, {facts['nonzeros_per_row']:.1f} non-zeros each, in {seconds:.1f} s")
    log("timing ...")
    started = time.perf_counter()
    timings = time_interleaved(contenders(problem), options.rounds)
    log("importing ...")
    imports = time_imports(options.rounds)
    rows = list(lines(timings, facts))
    written = write_json(
        "engine",
        {
            "machine": machine,
            "rounds": options.rounds,
            "data": facts,
            "rows": [row.as_json() for row in rows],
            "import": imports,
            "seconds": {name: timing.as_json() for name, timing in timings.items()},
        },
    )
    errors = ", ".join(f"{name} {error:.1%}" for name, error in facts["progressive_error"].items())
    print(show_machine(machine))
    print(
        f"{facts['rows']} rows, {facts['nonzeros_per_row']:.1f} non-zeros each of {facts['features']}, float64, ρ = {RHO:g}; "
        f"best of {options.rounds}\n"
        f"progressive error: {errors}; majority {facts['majority_error']:.1%}; "
        f"the hinge moved at {facts['hinge_events_that_moved']:.0%} of the events\n"
        f"X @ w: {1e3 * timings['X @ w'].best:.1f} ms; our l2 pass: "
        + ", ".join(f"{name} {1e3 * timings[name].best:.1f} ms" for name in LOSSES)
        + "\n"
    )
    print(table(Row.HEADER, [row.as_cells() for row in rows]))
    print(f"\n{show_import(imports)}")
    log(f"took {time.perf_counter() - started:.0f} s; wrote {os.path.relpath(written)}")


if __name__ == "__main__":
    main()
