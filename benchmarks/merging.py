"""What merging costs: learners of 2, 4 and 8 parts of a stream, merged, beside one that saw all of it in sequence.

    python -m benchmarks.merging

Merging adds dual sums. Under l2 that is the mean of the parts' weights: no worse than the parts on average, by
convexity, and not the model of the whole sequence. The table says how far from it: test error and mean test loss of
the sequential learner, of the mean part and of the merge, and the gap of the merge to the sequential one.

Data: a6a and rcv1sub with their test rows, w8a with its last fifth, shuffled with default_rng(0); found in $ODCA_DATA
or ../shared/data. One pass, the infinite window, l2, an intercept, no smoothing.
"""

from typing import Any

import numpy as np

from benchmarks.report import ROOT, describe_machine, log, show_machine, table, write_json
from odca import Hinge, Learner, LogLoss
from odca.research import datasets

DATA = ("a6a", "rcv1sub", "w8a")
LOSSES = (Hinge(), LogLoss())
PARTS = (2, 4, 8)
RHOS = (1e-5, 1e-4, 1e-3)  # the best for the sequential learner is shown: what one would tune without parts


def evaluate(learner: Learner, loss: Any, data: datasets.Dataset) -> dict[str, float]:
    """Return test error and mean test loss."""
    margins = learner.predict(data.X_test)
    error = float(np.mean(np.where(margins > 0.0, 1.0, -1.0) != data.y_test))
    return {"error": error, "loss": float(np.mean(loss.value(margins, data.y_test)))}


def learn(loss: Any, rho: float, data: datasets.Dataset, rows: Any = slice(None)) -> Learner:
    """Return a learner of these rows, in their order."""
    learner = Learner(loss=loss, rho=rho, intercept=True)
    learner.learn(data.X[rows], data.y[rows])
    return learner


def measure(loss: Any, data: datasets.Dataset) -> dict[str, Any]:
    """Compare the parts of one data set with the sequence, at the best ρ of the sequence."""
    sequences = {rho: evaluate(learn(loss, rho, data), loss, data) for rho in RHOS}
    rho = min(sequences, key=lambda each: sequences[each]["loss"])
    out: dict[str, Any] = {"rho": rho, "sequential": sequences[rho], "parts": {}}
    for parts in PARTS:
        learners = [learn(loss, rho, data, rows) for rows in np.array_split(np.arange(len(data.y)), parts)]
        merged = learners[0]
        for other in learners[1:]:
            merged = merged.merge(other)
        scores = [evaluate(learner, loss, data) for learner in learners]
        mean = {name: float(np.mean([each[name] for each in scores])) for name in ("error", "loss")}
        result = evaluate(merged, loss, data)
        gap = {name: result[name] - sequences[rho][name] for name in ("error", "loss")}
        out["parts"][parts] = {"mean_of_parts": mean, "merged": result, "gap_to_sequential": gap}
    return out


def lines(name: str, loss: str, result: dict[str, Any]) -> list[list[str]]:
    """Return one line of the table for every number of parts."""
    sequential = result["sequential"]
    return [
        [
            f"{name}, {loss}",
            f"{parts}",
            f"{result['rho']:g}",
            *(
                cell
                for key, digits in (("error", ".2%"), ("loss", ".4f"))
                for cell in (
                    format(sequential[key], digits),
                    format(row["mean_of_parts"][key], digits),
                    format(row["merged"][key], digits),
                    format(row["gap_to_sequential"][key], "+" + digits),
                )
            ),
        ]
        for parts, row in result["parts"].items()
    ]


def main() -> None:
    machine = describe_machine()
    results: dict[str, Any] = {}
    shown: list[list[str]] = []
    for name in DATA:
        try:
            data = datasets.load_file(f"{name}.gz").shuffled()
        except datasets.MissingDataError as missing:
            log(f"skipping {name}: {missing}")
            continue
        results[name] = {"rows": data.X.shape[0], "features": data.X.shape[1], "test_rows": data.X_test.shape[0]}
        for loss in LOSSES:
            results[name][loss.name] = measure(loss, data)
            shown += lines(name, loss.name, results[name][loss.name])
        log(f"  {name}: done")
    header = ["data, loss", "parts", "rho"]
    for kind in ("error", "loss"):
        header += [f"{kind}: sequential", "mean part", "merged", "gap"]
    print(show_machine(machine))
    print()
    print(table(header, shown))
    print()
    print(f"written to {write_json('merging', {'machine': machine, 'results': results}).relative_to(ROOT)}")


if __name__ == "__main__":
    main()
