"""Exact fits on Spark, beside MLlib: rounds, bytes and seconds to a certified gap, and MLlib's seconds to the same objective.

    python -m benchmarks.spark_exact

One session on local[2]; a6a and rcv1sub as cached tables of sparse vectors, hinge and log loss, l2, rho = 1e-4, an intercept, 2 and 8 partitions.
`odca.spark.train(exact=True, tol=1e-3)` runs until its certified gap is a thousandth of the mean loss of the untrained model. Then MLlib's LinearSVC
or LogisticRegression (standardization=False, tol=0) runs with 10, 20, 40, ... iterations until its objective, mean loss + rho/2 |w|^2, is not above odca's;
it certifies nothing. Seconds are of whole calls, each data set after a call that starts Python and the JVM's compiler. Writes
benchmarks/results/spark_exact.json.
"""

from typing import Any

import numpy as np

from benchmarks.report import ROOT, describe_machine, log, show_machine, table, write_json
from benchmarks.spark import objective, session, timed, vectors, weights
from odca import Hinge, Learner, LogLoss
from odca.distributed import Round
from odca.research import datasets

RHO, TOL = 1e-4, 1e-3
ITERATIONS = (10, 20, 40, 80, 160)
PROTOTYPES = {"hinge": {2: None, 8: 67}, "log_loss": {2: 17, 8: 17}}
"""Rounds of the prototypes on a6a: dual ascent with a line search, and L-BFGS."""


def exact(table: Any, data: datasets.Dataset, loss: Any, partitions: int) -> dict[str, Any]:
    """One exact fit, beside `Learner.fit` on one machine."""
    import odca.spark

    rounds = list[Round]()
    options = {"loss": loss.name, "rho": RHO, "window": "infinite", "smoothing": 0.0, "prior_strength": 0.0}
    seconds, model = timed(
        lambda: odca.spark.train(
            table, label="label", partitions=partitions, exact=True, tol=TOL, on_round=rounds.append, **options
        )
    )
    alone = Learner(loss=loss, rho=RHO, intercept=True)
    of_fit, report = timed(lambda: alone.fit(data.X, data.y, tol=TOL))
    w, b = weights(model, data.X.shape[1])
    return {
        "partitions": partitions,
        "rounds": len(rounds),
        "bytes": sum(each.bytes for each in rounds),
        "seconds": seconds,
        "gap": float(np.max(rounds[-1].gap)),
        "objective": objective(w, b, data, RHO, loss),
        "objective_of_fit": objective(alone.coef, float(alone.intercept), data, RHO, loss),
        "gap_of_fit": float(report.gap),
        "seconds_of_fit": of_fit,
    }


def mllib(table: Any, data: datasets.Dataset, loss: Any, target: float) -> list[dict[str, Any]]:
    """MLlib with more and more iterations, until it is not above the target."""
    from pyspark.ml.classification import LinearSVC, LogisticRegression

    found: list[dict[str, Any]] = []
    for iterations in ITERATIONS:
        kind = LinearSVC if loss.name == "hinge" else LogisticRegression
        estimator = kind(regParam=RHO, maxIter=iterations, tol=0.0, standardization=False)
        seconds, model = timed(lambda estimator=estimator: estimator.fit(table))
        reached = objective(model.coefficients.toArray(), model.intercept, data, RHO, loss)
        found.append({"iterations": iterations, "seconds": seconds, "objective": reached})
        log(f"  {kind.__name__} {iterations} iterations {seconds:.1f} s, objective {reached:.5f}")
        if reached <= target:
            break
    return found


def main() -> None:
    """Run, print a table, write the JSON."""
    machine, rows, spark = describe_machine(), [], session()
    log(show_machine(machine))
    for name in ("a6a", "rcv1sub"):
        data = datasets.load_file(f"{name}.gz")
        frame = vectors(spark, data, 2, copies=1)
        exact(frame, data, LogLoss(), 2)  # starts Python on the executors
        for loss in (LogLoss(), Hinge()):
            for partitions in (2, 8):
                row = {"data": name, "loss": loss.name, **exact(frame, data, loss, partitions)}
                row["prototype"] = PROTOTYPES[loss.name][partitions] if name == "a6a" else None
                rows.append(row)
                log(f"  {row}")
            first = rows[-2]
            first["mllib"] = mllib(frame, data, loss, first["objective"])
            write_json("spark_exact", {"machine": machine, "rho": RHO, "tol": TOL, "rows": rows})
        frame.unpersist()
    spark.stop()
    head = ["data, loss", "partitions", "rounds", "MB per shard", "seconds", "gap", "objective", "of fit"]
    shown = [
        [
            f"{row['data']}, {row['loss']}",
            f"{row['partitions']}",
            f"{row['rounds']}",
            f"{row['bytes'] / 1e6:.2f}",
            f"{row['seconds']:.1f}",
            *(f"{row[each]:.5f}" for each in ("gap", "objective", "objective_of_fit")),
        ]
        for row in rows
    ]
    print(table(head, shown))
    where = write_json("spark_exact", {"machine": machine, "rho": RHO, "tol": TOL, "rows": rows})
    print(f"written to {where.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
