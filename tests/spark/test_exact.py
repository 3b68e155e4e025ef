"""`exact=True`: the solution of `Learner.fit` on all rows, certified, on any number of partitions."""

import functools
import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array, vstack

import real_data
from odca import Hinge, Learner, LogLoss, SquaredError
from odca.distributed import Round

RHO, TOL = 1e-4, 1e-3
PLAIN = ["size", "kind", "words"]


@functools.cache
def vectors(spark: Any, name: str) -> Any:
    """The training rows of a data set, cached."""
    from pyspark.ml.linalg import SparseVector

    data = real_data.load(name)
    X = csr_array(data.X)
    width, ends = X.shape[1], X.indptr
    rows = [
        (SparseVector(width, X.indices[a:b].astype(int), X.data[a:b]), float(label > 0))
        for a, b, label in zip(ends[:-1], ends[1:], data.y, strict=True)
    ]
    return spark.createDataFrame(rows, ["features", "label"]).repartition(2).cache()


def weights(model: Any, width: int) -> Any:
    """The weights by the places of the vectors, and the intercept at the end."""
    w = np.zeros(width + 1)
    for name, weight in zip(model.names, model.learner.coef[0], strict=True):
        w[int(name.decode().partition(".")[2])] = weight
    w[-1] = model.learner.intercept[0]
    return w


@pytest.mark.parametrize("partitions", [2, 8])
@pytest.mark.parametrize("loss", [Hinge(), LogLoss()], ids=lambda loss: loss.name)
@pytest.mark.parametrize("name", ["a6a", "rcv1sub"])
def test_partitions_of_real_data_reach_the_solution_of_fit(spark: Any, name: str, loss: Any, partitions: int) -> None:
    import odca.spark

    data, rounds = real_data.load(name), list[Round]()
    table = vectors(spark, name)
    options = {"loss": loss.name, "rho": RHO, "window": "infinite", "exact": True, "tol": TOL}
    model = odca.spark.train(table, label="label", on_round=rounds.append, partitions=partitions, **options)
    alone = Learner(loss=loss, rho=RHO, intercept=True)
    report = alone.fit(data.X, data.y, tol=TOL)
    last, w = rounds[-1], weights(model, data.X.shape[1])
    gap = float(np.max(last.gap))
    assert gap <= TOL  # the mean loss of the untrained model is at most 1
    # The certificate is true: the objective, computed here from the weights, is what was reported.
    z = data.X @ w[:-1] + w[-1]
    objective = float(np.mean(alone.loss_of(z, data.y))) + 0.5 * RHO * float(w @ w)
    assert objective == pytest.approx(float(np.max(last.primal)), rel=1e-9)
    # Both are within their gaps of the one minimum, so the objectives differ by a gap at most, and strong convexity bounds the weights.
    assert abs(objective - float(alone.objective(data.X, data.y))) <= max(gap, float(report.gap))
    away = float(np.sum((w[:-1] - alone.coef) ** 2)) + float(w[-1] - alone.intercept) ** 2
    assert 0.5 * RHO * away <= 2.0 * (gap + float(report.gap))
    duals = np.array([float(np.max(each.dual)) for each in rounds])
    ascents = [one.method == other.method == "ascent" for one, other in itertools.pairwise(rounds)]
    assert np.all(np.diff(duals)[ascents] >= -1e-12)


def distance_to_fit(model: Any, table: Any, loss: Any, *, weighted: bool = False) -> Any:
    """½ρ‖w - v‖² of each lane, for v of `Learner.fit` on the rows as the model numbers their features."""
    blocks = list(model.blocks_of(table.toArrow(), learning=True))
    X = vstack(
        [
            csr_array((block.rows.data, block.rows.indices, block.rows.indptr), shape=(len(block), model.n_names))
            for block in blocks
        ]
    )
    labels = model.model.layout.labels if model.classes else None
    y = np.concatenate(
        [block.rows.label[:, None] if labels is None else labels(model.codes_of(block)[0]) for block in blocks]
    )
    alone = Learner(loss=loss, rho=1e-2, intercept=True, lanes=model.learner.lanes)
    alone.fit(X, y, tol=1e-6, sample_weight=np.concatenate([block.weight for block in blocks]) if weighted else None)
    assert alone.mass == pytest.approx(model.learner.mass)
    away = np.sum((model.learner.coef - alone.coef) ** 2, axis=1) + (model.learner.intercept - alone.intercept) ** 2
    return 0.5 * 1e-2 * away


def test_several_classes_weights_and_plain_columns_are_solved(table: Any) -> None:
    import odca.spark

    options = {"keep": PLAIN, "rho": 1e-2, "window": "infinite", "exact": True}
    grades = odca.spark.train(table, label="grade", weight="weight", loss="hinge", tol=3e-3, **options)
    assert grades.classes == ("high", "low", "middle")
    assert np.all(
        distance_to_fit(grades, table, Hinge(), weighted=True) <= 3e-3
    )  # the gap is of the mean loss of w = 0, which is 1
    assert np.allclose(grades.predict_proba(table.limit(5).toArrow()).sum(axis=1), 1.0)
    numbers = odca.spark.train(table, label="cost", loss="squared_error", tol=1e-6, **options)
    assert np.all(distance_to_fit(numbers, table, SquaredError()) <= 3e-6)


def test_partitions_without_events_and_more_than_one_task_combines_change_nothing(table: Any) -> None:
    import odca.spark

    options = {"label": "label", "keep": PLAIN, "loss": "log_loss", "rho": 1e-2, "exact": True, "tol": 1e-5}
    small = table.limit(15).cache()
    few, many = (odca.spark.train(small, partitions=each, **options) for each in (1, 20))
    assert np.allclose(sorted_coef(few), sorted_coef(many), atol=0.02)
    assert few.metrics.events == many.metrics.events == 15  # the scores are those of the pass
    assert few.learner.count == many.learner.count == 15


def sorted_coef(model: Any) -> Any:
    return model.learner.coef[:, np.argsort(model.names)]


def test_margins_are_calibrated_by_the_solution(table: Any) -> None:
    import odca.spark

    options = {"label": "label", "keep": PLAIN, "loss": "hinge", "rho": 1e-3, "window": "infinite"}
    model = odca.spark.train(table, exact=True, tol=1e-2, **options)
    rows = table.toArrow()
    p, y = model.predict_proba(rows)[:, 1], rows["label"].to_numpy()
    assert abs(p.mean() - y.mean()) < 0.02
    confident = p > 0.8
    assert abs(p[confident].mean() - y[confident].mean()) < 0.05


@pytest.mark.filterwarnings("ignore:the exact fit stopped:UserWarning")  # rounds enough for a cut of the chain
def test_a_checkpoint_folder_is_used_and_gives_the_same_bits(spark: Any, table: Any, tmp_path: Path) -> None:
    import odca.spark
    from odca.spark.parts import to_bytes

    options = {
        "label": "label",
        "keep": PLAIN,
        "loss": "hinge",
        "rho": 1e-4,
        "exact": True,
        "tol": 1e-12,
        "max_rounds": 12,
    }
    rounds = list[Round]()
    local = odca.spark.train(table, on_round=rounds.append, **options)
    assert len(rounds) > 10  # the chain was cut
    spark.sparkContext.setCheckpointDir(str(tmp_path))
    try:
        kept = odca.spark.train(table, **options)
    finally:
        spark.sparkContext._jsc.sc().setCheckpointDir(None)
    assert to_bytes(kept) == to_bytes(local)
    assert any(path.is_file() for path in tmp_path.rglob("part-*"))


def test_an_estimator_may_be_exact(table: Any, tmp_path: Path) -> None:
    import odca.spark

    estimator = odca.spark.ODCARegressor(featureCols=PLAIN, labelCol="cost", exact=True, tol=1e-6, rho=1e-3)
    model = estimator.fit(table)
    assert model.trainingReport.converged
    assert model.getOrDefault("exact")
    inexact = estimator.copy({estimator.exact: False}).fit(table)
    assert inexact.trainingReport is None
    assert squared_error(model, table) < squared_error(inexact, table)
    model.write().overwrite().save(str(tmp_path / "model"))
    again = odca.spark.ODCARegressionModel.load(str(tmp_path / "model"))
    assert again.transform(table).limit(5).collect() == model.transform(table).limit(5).collect()


def squared_error(model: Any, table: Any) -> float:
    rows = model.transform(table).toArrow()
    return float(np.mean((rows["prediction"].to_numpy() - rows["cost"].to_numpy()) ** 2))


def test_a_fit_that_does_not_arrive_warns_and_what_cannot_be_solved_is_refused(table: Any) -> None:
    import odca.spark

    with pytest.warns(UserWarning, match="exact fit stopped after 2 rounds with a duality gap of"):
        odca.spark.train(table, label="label", keep=PLAIN, loss="hinge", rho=1e-4, exact=True, tol=1e-9, max_rounds=2)
    with pytest.raises(ValueError, match="this one is automatic: give a loss"):
        odca.spark.train(table, label="label", exact=True)
    with pytest.raises(ValueError, match="no common order"):
        odca.spark.train(table, label="label", loss="hinge", window=0.99, exact=True)
    with pytest.raises(ValueError, match="there is no initial model"):
        odca.spark.train(table, label="label", exact=True, initial=odca.spark.train(table, label="label"))
