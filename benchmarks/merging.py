"""What it costs to let workers learn in parallel: schemes x workers x interval, on three data sets, ten seeds.

    python -m benchmarks.merging [--seeds 10]

Every scheme reads each row once. The rows are shuffled with the seed and cut into as many pieces as there are workers.

- in sequence: one learner.
- merged at the end: learners that know nothing of each other, merged.
- split: all workers start from a part of the model (`split`), learn so many rows each, and are merged; then again.
- naive adding: all workers start from the model, and everything that they add to its sums is added to it. `Learner.apply` refuses this; here it
  is done by hand, to show why.

The table has the mean test loss over the seeds, with the worst in brackets. rho is fixed, not chosen by the result. Data: a6a and rcv1sub
with their test rows, w8a with its last fifth; l2, the infinite window, an intercept. Writes benchmarks/results/merging.json.
"""

import argparse
from functools import reduce
from typing import Any

import numpy as np

from benchmarks.report import ROOT, describe_machine, log, show_machine, table, write_json
from odca import Hinge, Learner, LogLoss
from odca.research import datasets

DATA = ("a6a", "rcv1sub", "w8a")
LOSSES = (Hinge(), LogLoss())
WORKERS = (2, 8, 32)
INTERVALS = (10, 100, 1000)  # rows of each worker between two exchanges
RHO = 1e-4
SUMS = ("dual", "mass", "squared_mass", "conjugate", "saturated")


def test_loss(learner: Learner, data: datasets.Dataset) -> float:
    """The mean loss on the test rows."""
    return float(np.mean(learner.loss_of(learner.predict(data.X_test), data.y_test)))


def added(model: Learner, workers: list[Learner]) -> Learner:
    """Naive adding: the model, with everything that each worker has added to it."""
    state, later = model.get_state(), [each.get_state() for each in workers]
    count = sum(each.count - model.count for each in workers)
    for name in SUMS:
        first = state[name]
        state[name] = sum((np.pad(first, (0, len(each[name]) - len(first))) * -1.0 + each[name] for each in later), 0.0)
        state[name] = state[name] + np.pad(first, (0, len(state[name]) - len(first)))
    state["bound"] = np.abs(state["dual"]).max(initial=0.0)[None]
    state["count"] = state["count"] + np.uint64(count)
    out = Learner(**model.options)
    out.set_state(state)
    return out


def exchanging(loss: Any, data: datasets.Dataset, pieces: list[Any], interval: int, *, naively: bool) -> Learner:
    """The model of workers that exchange what they learned every so many rows."""
    model = Learner(loss=loss, rho=RHO, intercept=True)
    for start in range(0, max(map(len, pieces)), interval):
        # Adding to an empty model is merging: the naive scheme also begins so.
        naive = naively and model.count > 0
        workers = [model.copy() for _ in pieces] if naive else model.split(len(pieces))
        for worker, rows in zip(workers, pieces, strict=True):
            own = rows[start : start + interval]
            worker.learn(data.X[own], data.y[own])
        model = added(model, workers) if naive else reduce(Learner.merge, workers)
    return model


def losses_of(loss: Any, data: datasets.Dataset, seed: int) -> dict[str, float]:
    """The test loss of every scheme, for one order of the rows."""
    order = np.random.default_rng(seed).permutation(len(data.y))
    one = Learner(loss=loss, rho=RHO, intercept=True)
    one.learn(data.X[order], data.y[order])
    out = {"in sequence": test_loss(one, data)}
    for workers in WORKERS:
        pieces = np.array_split(order, workers)
        ends = [Learner(loss=loss, rho=RHO, intercept=True) for _ in pieces]
        for learner, rows in zip(ends, pieces, strict=True):
            learner.learn(data.X[rows], data.y[rows])
        out[f"{workers} merged at the end"] = test_loss(reduce(Learner.merge, ends), data)
        for interval in INTERVALS:
            if interval * workers < len(order):
                split = exchanging(loss, data, pieces, interval, naively=False)
                out[f"{workers} split every {interval}"] = test_loss(split, data)
                naive = exchanging(loss, data, pieces, interval, naively=True)
                out[f"{workers} naively every {interval}"] = test_loss(naive, data)
    return out


def cell(losses: list[float] | None) -> str:
    """The mean, with the worst."""
    return "" if losses is None else f"{np.mean(losses):.3g} ({max(losses):.3g})"


def lines(name: str, loss: str, found: dict[str, list[float]]) -> list[list[str]]:
    """One line of the table for every number of workers."""
    return [
        [
            f"{name}, {loss}",
            f"{workers}",
            cell(found["in sequence"]),
            cell(found[f"{workers} merged at the end"]),
            *(
                cell(found.get(f"{workers} {scheme} every {each}"))
                for scheme in ("split", "naively")
                for each in INTERVALS
            ),
        ]
        for workers in WORKERS
    ]


def main() -> None:
    """Run, print a table, write the JSON."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.merging", description=__doc__.split("\n", 1)[0])
    parser.add_argument("--seeds", type=int, default=10, help="orders of the rows (default: %(default)s)")
    options = parser.parse_args()
    machine = describe_machine()
    rows: list[dict[str, Any]] = []
    shown: list[list[str]] = []
    for name in DATA:
        try:
            data = datasets.load_file(f"{name}.gz").shuffled()
        except datasets.MissingDataError as missing:
            log(f"skipping {name}: {missing}")
            continue
        size = {"rows": data.X.shape[0], "features": data.X.shape[1], "test_rows": data.X_test.shape[0]}
        for loss in LOSSES:
            by_seed = [losses_of(loss, data, seed) for seed in range(options.seeds)]
            losses = {scheme: [each[scheme] for each in by_seed] for scheme in by_seed[0]}
            rows.append({"data": name, **size, "loss": loss.name, "workers": WORKERS, "losses": losses})
            shown += lines(name, loss.name, losses)
            log(f"  {name}, {loss.name}: done")
    header = ["data, loss", "workers", "in sequence", "merged at the end"]
    header += [f"{scheme}, every {each}" for scheme in ("split", "naive adding") for each in INTERVALS]
    print(show_machine(machine))
    print()
    print(table(header, shown))
    print()
    content = {"machine": machine, "rho": RHO, "seeds": options.seeds, "rows": rows}
    print(f"written to {write_json('merging', content).relative_to(ROOT)}")


if __name__ == "__main__":
    main()
