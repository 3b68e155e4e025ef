"""`odca.spark.train`: the same model as `odca.train`, and as merging by hand."""

from functools import reduce
from typing import Any

import numpy as np
import pytest

from odca.stream.model import StreamModel

OPTIONS: list[dict[str, Any]] = [
    {"label": "label", "ignore": ["grade", "cost", "weight"]},
    {"label": "cost", "ignore": ["grade", "label"], "weight": "weight"},
    {"label": "grade", "keep": ["size", "kind"], "loss": "log_loss", "rho": 1e-3, "interactions": [("size", "kind")]},
    {"label": "cost", "keep": ["size", "words"], "loss": "huber:1.0", "penalty": "elasticnet:0.01", "bits": 10},
]


def everything(model: StreamModel) -> bytes:
    from odca.spark.parts import to_bytes

    return to_bytes(model)


def of_odca_train(found: StreamModel, options: dict[str, Any]) -> dict[str, Any]:
    """The options with which odca.train makes the same model: it would scale a linear model, and decide by its own first events."""
    known = {"task": found.task, "classes": found.classes}
    if "loss" not in options:
        return {**options, **known}
    return {**options, **known, "scale": False, "prior_strength": found.options.prior_strength}


@pytest.mark.parametrize("options", OPTIONS)
def test_one_partition_gives_the_model_of_odca_train_to_the_bit(table: Any, options: dict[str, Any]) -> None:
    import odca.spark

    one = table.coalesce(1)
    found = odca.spark.train(one, **options)
    assert everything(found) == everything(odca.train(one.toArrow(), **of_odca_train(found, options)))


@pytest.mark.parametrize("options", OPTIONS)
def test_partitions_are_merged_in_their_order(table: Any, options: dict[str, Any]) -> None:
    from pyspark.sql import functions as F

    import odca.spark

    found = odca.spark.train(table, **options)
    numbered = table.withColumn("partition", F.spark_partition_id()).toArrow()
    of_partition = numbered["partition"].to_numpy()
    parts = [
        odca.train(numbered.drop("partition").filter(of_partition == place), **of_odca_train(found, options))
        for place in (0, 1)
    ]
    events = numbered.to_pylist()[:50]
    wanted = "probabilities" if found.classes else "label"
    by_hand = reduce(StreamModel.merge, parts)
    assert found.learner.count == by_hand.learner.count == 2000
    assert np.array_equal(found.predict(events, wanted), by_hand.predict(events, wanted))


def test_many_partitions_are_merged_in_groups(table: Any) -> None:
    import odca.spark

    found = odca.spark.train(table, label="label", keep=["size", "kind"], loss="hinge", rho=1e-3, partitions=33)
    assert found.learner.count == table.count()
    assert found.metrics.accuracy > 0.7
    again = odca.spark.train(table, label="label", keep=["size", "kind"], loss="hinge", rho=1e-3, partitions=33)
    assert everything(found) == everything(again)


def test_vectors_have_the_same_features_dense_or_sparse_and_in_dictionaries(spark: Any) -> None:
    from pyspark.ml.linalg import Vectors

    import odca.spark

    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 4)) * (rng.random((400, 4)) < 0.6)
    y = (X @ [1.0, -1.0, 2.0, 0.5] > 0).astype(float)
    dense = [(Vectors.dense(row), label) for row, label in zip(X, y.tolist(), strict=True)]
    sparse = [(Vectors.sparse(4, {k: v for k, v in enumerate(row) if v}), label) for row, label in zip(X, y.tolist(), strict=True)]  # fmt: skip
    mixed = [pair[place % 2] for place, pair in enumerate(zip(dense, sparse, strict=True))]
    models = [
        odca.spark.train(spark.createDataFrame(rows, ["features", "label"]).coalesce(1), label="label")
        for rows in (dense, sparse, mixed)
    ]
    assert len({everything(model) for model in models}) == 1
    events = [{"features": row.tolist(), "label": label} for row, label in zip(X, y.tolist(), strict=True)]
    by_dictionaries = odca.train(events, label="label")
    assert np.allclose(models[0].predict_proba(events), by_dictionaries.predict_proba(events), atol=1e-12)


def test_classes_that_the_first_rows_do_not_have_are_found(spark: Any) -> None:
    import odca.spark

    rows = [(float(place), "ab"[place >= 1500]) for place in range(3000)]
    sorted_by_label = spark.createDataFrame(rows, "x double, y string").coalesce(1)
    model = odca.spark.train(sorted_by_label, label="y", loss="log_loss", rho=1e-3)
    assert model.classes == ("a", "b")
    assert odca.spark.train(sorted_by_label, label="y").classes == ("a", "b")


def test_an_event_that_cannot_be_learned_is_named_with_its_partition(spark: Any) -> None:
    import odca.spark

    rows = [(float(place), -1.0 if place == 700 else 1.0) for place in range(1000)]
    with pytest.raises(odca.InputError, match=r"^partition 0: .*line 701.*-1"):
        odca.spark.train(
            spark.createDataFrame(rows, "x double, y double").coalesce(1), label="y", loss="poisson", rho=0.1
        )


def test_columns_and_options_that_do_not_exist_are_refused(table: Any) -> None:
    import odca.spark

    with pytest.raises(ValueError, match=r"there is no column 'y'. The columns are size, kind"):
        odca.spark.train(table, label="y")
    with pytest.raises(ValueError, match="history needs all events in one order"):
        odca.spark.train(table, label="cost", history=["y: lag 1"])
