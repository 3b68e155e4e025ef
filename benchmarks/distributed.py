"""Exact fits across shards: rounds and bytes to a certified gap, beside one learner with all rows.

    python -m benchmarks.distributed

a6a and rcv1sub, hinge and log loss, l2, rho = 1e-4, an intercept, K = 2, 8 and 32 shards of rows shuffled with seed 0; tol = 1e-3. The shards
are in one process: what is measured is rounds and bytes, not time. Writes benchmarks/results/distributed.json.
"""

from typing import Any

import numpy as np

from benchmarks.report import ROOT, describe_machine, log, show_machine, table, write_json
from odca import Hinge, Learner, LogLoss
from odca.distributed import Shard, asking, fit
from odca.research import datasets

RHO, TOL = 1e-4, 1e-3


def measure(data: datasets.Dataset, loss: Any, shards: int) -> dict[str, Any]:
    """One fit across shards beside one without."""
    learner, alone = (Learner(loss=loss, rho=RHO, intercept=True) for _ in range(2))
    rows = np.array_split(np.random.default_rng(0).permutation(len(data.y)), shards)
    report = fit(learner, asking([Shard(learner, data.X[own], data.y[own]) for own in rows]), tol=TOL)
    passes = alone.fit(data.X, data.y, tol=TOL)
    first = report.rounds[0]
    w, v = (np.append(each.coef, each.intercept) for each in (learner, alone))
    return {
        "rounds": len(report.rounds),
        "rounds_of_lbfgs": sum(each.method == "lbfgs" for each in report.rounds),
        "bytes": report.bytes,
        "gap": float(report.gap),
        "first_gap": float(first.gap),
        "primal": float(learner.objective(data.X, data.y)),
        "primal_of_fit": float(alone.objective(data.X, data.y)),
        "gap_of_fit": float(passes.gap),
        "relative_distance": float(np.linalg.norm(w - v) / np.linalg.norm(v)),
        "converged": report.converged,
    }


def main() -> None:
    """Run, print a table, write the JSON."""
    machine, rows, shown = describe_machine(), list[dict[str, Any]](), list[list[str]]()
    for name in ("a6a", "rcv1sub"):
        data = datasets.load_file(f"{name}.gz")
        for loss in (Hinge(), LogLoss()):
            for shards in (2, 8, 32):
                row = measure(data, loss, shards)
                rows.append({"data": name, "loss": loss.name, "shards": shards, **row})
                sent = f"{row['bytes'] / 1e6:.2f}"
                ends = [f"{row[each]:.5f}" for each in ("primal", "primal_of_fit")]
                shown.append(
                    [
                        f"{name}, {loss.name}",
                        f"{shards}",
                        f"{row['rounds']}",
                        f"{row['rounds_of_lbfgs']}",
                        sent,
                        f"{row['gap']:.1e}",
                        *ends,
                    ]
                )
                log(f"  {shown[-1]}")
    head = ["data, loss", "shards", "rounds", "of L-BFGS", "MB per shard", "gap", "objective", "objective of fit"]
    print(show_machine(machine))
    print()
    print(table(head, shown))
    where = write_json("distributed", {"machine": machine, "rho": RHO, "tol": TOL, "rows": rows})
    print(f"written to {where.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
