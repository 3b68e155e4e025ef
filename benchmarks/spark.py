"""Spark: what one pass with merging costs in quality, how fast it is beside MLlib, and what a model weighs.

    python -m benchmarks.spark quality      2, 8 and 32 partitions beside one sequential pass, ten orders of the rows
    python -m benchmarks.spark speed        one session, local[2], beside LogisticRegression and LinearSVC of MLlib
    python -m benchmarks.spark cost         the processor's time of a task for each event, and the bytes of models and events

The first computes what the tasks compute, without Spark: tests/spark/test_training.py checks that both give the same bits. The second
measures whole calls on a cached table of sparse vectors (rcv1sub, five times): `odca.spark.train` by the number of partitions, and MLlib
by its number of iterations, both with the objective that they reach, mean loss + rho/2 |w|^2. Each writes its part of
benchmarks/results/spark.json.
"""

import argparse
import json
import os
import sys
import tempfile
import time
from functools import reduce
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.report import ROOT, describe_machine, log, show_machine, table, write_json
from odca import AutoLearner, Hinge, Learner, LogLoss
from odca.research import datasets

DATA = {"a6a": 1e-3, "rcv1sub": 1e-5}
"""The strength rho of each: that which docs/merging.md found best for the sequential learner."""
PARTITIONS = (2, 8, 32)
SEEDS = 10
COPIES = 5
ITERATIONS = (1, 5, 10, 20)
RESULT = ROOT / "benchmarks" / "results" / "spark.json"


# Quality


def plain(X: Any, y: Any, rho: float) -> Learner:
    learner = Learner(loss=LogLoss(), rho=rho, intercept=True)
    learner.learn(X, y)
    return learner


def automatic(X: Any, y: Any, rho: float) -> AutoLearner:
    del rho
    learner = AutoLearner("classes")
    learner.learn(X, (y > 0).astype(np.int32))
    return learner


def scores(learner: Any, data: datasets.Dataset) -> tuple[float, float]:
    """Test log loss and error, of the steady answer."""
    if isinstance(learner, AutoLearner):
        second = learner.probabilities(learner.predict(data.X_test, answer="steady"))
        p = np.clip(np.asarray(second).reshape(len(data.y_test), -1)[:, -1], 1e-15, 1.0 - 1e-15)
        margins = np.log(p / (1.0 - p))
    else:
        margins = learner.predict(data.X_test)
    loss = np.logaddexp(0.0, -data.y_test * margins)
    return float(loss.mean()), float(np.mean(np.where(margins > 0.0, 1.0, -1.0) != data.y_test))


def quality() -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, rho in DATA.items():
        data = datasets.load_file(f"{name}.gz")
        for kind, learn in (("plain", plain), ("automatic", automatic)):
            rows: dict[str, list[tuple[float, float]]] = {}
            for seed in range(SEEDS):
                order = np.random.default_rng(seed).permutation(len(data.y))
                for parts in (1, *PARTITIONS):
                    learners = [learn(data.X[own], data.y[own], rho) for own in np.array_split(order, parts)]
                    merged = reduce(lambda a, b: a.merge(b), learners)
                    rows.setdefault(str(parts), []).append(scores(merged, data))
            found[f"{name}, {kind}"] = {
                parts: {
                    "loss": [float(np.mean(each)), float(np.std(each))],
                    "error": [float(np.mean(wrong)), float(np.std(wrong))],
                }
                for parts, (each, wrong) in ((parts, tuple(zip(*pairs, strict=True))) for parts, pairs in rows.items())
            }
            log(f"{name}, {kind}: done")
    header = ["data, model", "partitions", "test log loss", "test error"]
    lines = [
        [
            case,
            parts,
            f"{each['loss'][0]:.4f} ± {each['loss'][1]:.4f}",
            f"{each['error'][0]:.2%} ± {each['error'][1]:.2%}",
        ]
        for case, by_parts in found.items()
        for parts, each in by_parts.items()
    ]
    print(table(header, lines))
    return found


# Speed


def session() -> Any:
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    made = (
        SparkSession.builder.master("local[2]")
        .config("spark.driver.memory", "2g")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "2")
        .getOrCreate()
    )
    made.sparkContext.setLogLevel("ERROR")
    return made


def vectors(spark: Any, data: datasets.Dataset, partitions: int, copies: int = COPIES) -> Any:
    """The rows as sparse vectors, with labels 0 and 1, several times over; in memory."""
    from pyspark.ml.linalg import Vectors

    X = data.X.tocsr()
    width = X.shape[1]
    rows = [
        (Vectors.sparse(width, X.indices[a:b], X.data[a:b]), float(label > 0))
        for a, b, label in zip(X.indptr[:-1].tolist(), X.indptr[1:].tolist(), data.y.tolist(), strict=True)
    ]
    one = spark.createDataFrame(rows, ["features", "label"])
    made = (
        one.crossJoin(spark.range(copies).withColumnRenamed("id", "copy")).drop("copy").repartition(partitions).cache()
    )
    made.count()
    return made


def objective(w: Any, b: float, data: datasets.Dataset, rho: float, loss: Any) -> float:
    margins = data.X @ w + b
    return float(np.mean(loss.value(margins, data.y)) + 0.5 * rho * (w @ w))


def weights(model: Any, width: int) -> tuple[Any, float]:
    """The weights of a linear model of odca, by the places of the vector."""
    w = np.zeros(width)
    for name, value in zip(model.names, np.ravel(model.learner.smoothed_coef), strict=False):
        w[int(name.decode().rpartition(".")[2])] = value
    return w, float(np.ravel(model.learner.smoothed_intercept)[0])


def timed(work: Any) -> tuple[float, Any]:
    began = time.perf_counter()
    result = work()
    return time.perf_counter() - began, result


def speed() -> dict[str, Any]:
    from pyspark.ml.classification import LinearSVC, LogisticRegression

    import odca.spark
    from odca.spark.parts import to_bytes

    spark, data, rho = session(), datasets.load_file("rcv1sub.gz"), 1e-5
    width, found = (
        data.X.shape[1],
        {"rows": len(data.y) * COPIES, "nonzeros": data.X.nnz / len(data.y), "odca": [], "mllib": []},
    )
    with tempfile.TemporaryDirectory() as folder:
        frame = vectors(spark, data, 2)
        frame.write.parquet(f"{folder}/rows")
        found["parquet_bytes_per_row"] = (
            sum(f.stat().st_size for f in Path(folder, "rows").glob("*.parquet")) / found["rows"]
        )
    odca.spark.train(frame, label="label", loss="log_loss", rho=rho)  # starts Python on the executors
    for name, loss, peer in (("log_loss", LogLoss(), LogisticRegression), ("hinge", Hinge(), LinearSVC)):
        for _ in range(2):
            seconds, model = timed(lambda name=name: odca.spark.train(frame, label="label", loss=name, rho=rho))
            reached = objective(*weights(model, width), data, rho, loss)
            found["odca"].append({"loss": name, "partitions": 2, "seconds": seconds, "objective": reached})
            log(f"odca {name} {seconds:.1f} s, objective {reached:.4f}")
        for iterations in ITERATIONS:
            fit = peer(regParam=rho, maxIter=iterations, tol=0.0, standardization=False)
            seconds, model = timed(lambda fit=fit: fit.fit(frame))
            reached = objective(model.coefficients.toArray(), model.intercept, data, rho, loss)
            found["mllib"].append({"loss": name, "iterations": iterations, "seconds": seconds, "objective": reached})
            log(f"{peer.__name__} {iterations} iterations {seconds:.1f} s, objective {reached:.4f}")
    seconds, auto = timed(lambda: odca.spark.train(frame, label="label"))
    found["automatic"] = {
        "partitions": 2,
        "seconds": seconds,
        "model_bytes": len(to_bytes(auto)),
        "features": auto.learner.n_features,
    }
    found["model_bytes"] = len(to_bytes(odca.spark.train(frame, label="label", loss="log_loss", rho=rho)))
    for partitions in (1, 2, 8, 32):
        dealt = frame.repartition(partitions).cache()
        dealt.count()
        seconds, model = timed(lambda dealt=dealt: odca.spark.train(dealt, label="label", loss="log_loss", rho=rho))
        reached = objective(*weights(model, width), data, rho, LogLoss())
        found["odca"].append({"loss": "log_loss", "partitions": partitions, "seconds": seconds, "objective": reached})
        log(f"odca, {partitions} partitions: {seconds:.1f} s, objective {reached:.4f}")
        dealt.unpersist()
    found["merge_seconds"] = timed(lambda: model.merge(model))[0]
    spark.stop()
    return found


# Cost


def batches_of(data: datasets.Dataset, rows: int = 10_000) -> list[Any]:
    """The rows as Spark passes them to a task."""
    import pyarrow as pa

    X = data.X.tocsr()
    kinds = [pa.int8(), pa.int32(), pa.list_(pa.int32()), pa.list_(pa.float64())]
    parts = []
    for first in range(0, len(data.y), rows):
        some = X[first : first + rows]
        ends = pa.array(some.indptr, pa.int32())
        count = some.shape[0]
        columns = [
            pa.array(np.zeros(count), kinds[0]),
            pa.array(np.full(count, X.shape[1]), kinds[1]),
            pa.ListArray.from_arrays(ends, pa.array(some.indices, pa.int32())),
            pa.ListArray.from_arrays(ends, pa.array(some.data)),
        ]
        vectors = pa.StructArray.from_arrays(columns, names=["type", "size", "indices", "values"])
        labels = pa.array((data.y[first : first + rows] > 0).astype(float))
        parts.append(pa.RecordBatch.from_arrays([vectors, labels], names=["features", "label"]))
    return parts


def cost() -> dict[str, Any]:
    """What a task does, without Spark around it: read, learn, and the bytes of its model. The time is the processor's, of one core."""
    import pyarrow as pa

    from odca.spark.parts import from_bytes, to_bytes
    from odca.spark.passes import wish_of
    from odca.spark.tables import as_table, readable

    data = datasets.load_file("rcv1sub.gz")
    batches = batches_of(data)
    found: dict[str, Any] = {
        "rows": len(data.y),
        "nonzeros": data.X.nnz / len(data.y),
        "arrow_bytes_per_row": sum(each.nbytes for each in batches) / len(data.y),
    }
    for kind, linear in (("linear", {"loss": "log_loss", "rho": 1e-5}), ("automatic", {})):
        wish = wish_of({"label": "label"}, linear, {}, task="classes", classes=(0.0, 1.0))
        begun = to_bytes(wish.begun(pa.Table.from_batches([readable(batches[0].slice(0, 1000))])))
        best, merging = float("inf"), float("inf")
        for _ in range(3):
            model, before = from_bytes(begun), time.process_time()
            model.learn(as_table(batches), threads=1)
            sent = to_bytes(model)
            best = min(best, time.process_time() - before)
            other, before = from_bytes(sent), time.process_time()
            model.merge(other)
            merging = min(merging, time.process_time() - before)
        found[kind] = {
            "microseconds_per_row": 1e6 * best / len(data.y),
            "features": model.learner.n_features,
            "model_bytes": len(sent),
            "merge_seconds": merging,
        }
        log(f"{kind}: {found[kind]}")
    return found


PARTS = {"quality": quality, "speed": speed, "cost": cost}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", choices=PARTS)
    part = parser.parse_args().part
    known = json.loads(RESULT.read_text()) if RESULT.exists() else {}
    machine = describe_machine()
    log(show_machine(machine))
    known[part] = {"machine": machine, **PARTS[part]()}
    write_json("spark", known)


if __name__ == "__main__":
    main()
