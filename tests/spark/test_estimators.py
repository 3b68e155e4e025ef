"""Estimators and models of Spark's ML: columns, parameters, files, pipelines, cross-validation."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from odca.models.options import label_text

PLAIN = ["size", "kind", "words"]


def fitted(table: Any, name: str, **params: Any) -> Any:
    import odca.spark

    return getattr(odca.spark, name)(featureCols=PLAIN, **params).fit(table)


@pytest.mark.parametrize("name", ["ODCAClassifier", "AutoClassifier"])
def test_a_classifier_predicts_what_its_model_predicts(table: Any, name: str) -> None:
    model = fitted(table, name)
    rows = model.transform(table).limit(100).toArrow()
    events = rows.select(PLAIN).to_pylist()
    assert np.array_equal(rows["prediction"].to_numpy(), model.streamModel.predict(events))
    found = [each["values"] for each in rows["probability"].to_pylist()]
    assert np.array_equal(found, model.streamModel.predict_proba(events))
    margins = [each["values"] for each in rows["rawPrediction"].to_pylist()]
    expected = model.streamModel.predict(events, "margins")
    assert np.array_equal(margins, np.column_stack([-expected, expected]))
    assert model.numClasses == 2
    assert model.labels == (0.0, 1.0)
    assert np.mean(rows["prediction"].to_numpy() == rows["label"].to_numpy()) > 0.8


def test_labels_may_be_text(table: Any) -> None:
    model = fitted(table, "AutoClassifier", labelCol="grade", probabilityCol="", rawPredictionCol="scores")
    assert model.labels == ("high", "low", "middle")
    rows = model.transform(table).limit(50).toArrow()
    assert "probability" not in rows.column_names
    scores = np.array([each["values"] for each in rows["scores"].to_pylist()])
    assert scores.shape == (50, 3)
    assert rows["prediction"].to_pylist() == [label_text(model.labels[place]) for place in scores.argmax(axis=1)]


@pytest.mark.parametrize("name", ["ODCARegressor", "AutoRegressor"])
def test_a_regressor_predicts_numbers(table: Any, name: str) -> None:
    model = fitted(table, name, labelCol="cost", weightCol="weight")
    rows = model.transform(table).toArrow()
    assert {*rows.column_names} == {*table.columns, "prediction"}
    error = rows["prediction"].to_numpy() - rows["cost"].to_numpy()
    assert np.mean(error**2) < 0.5 * np.var(rows["cost"].to_numpy())


def test_an_estimator_fits_the_model_of_train(table: Any) -> None:
    import odca.spark
    from odca.spark.parts import to_bytes

    model = fitted(table, "ODCAClassifier", loss="hinge", rho=1e-3, window="infinite", weightCol="weight")
    rows = table.select(*PLAIN, "label", "weight")
    same = {
        "loss": "hinge",
        "penalty": "l2",
        "rho": 1e-3,
        "window": "infinite",
        "smoothing": "auto",
        "weight": "weight",
    }
    assert to_bytes(model.streamModel) == to_bytes(odca.spark.train(rows, label="label", task="classes", **same))


def test_vectors_are_features(spark: Any, table: Any) -> None:
    from pyspark.ml import Pipeline
    from pyspark.ml.feature import HashingTF, VectorAssembler

    import odca.spark

    stages = [
        HashingTF(inputCol="words", outputCol="hashed", numFeatures=16),
        VectorAssembler(inputCols=["size", "hashed"], outputCol="features"),
        odca.spark.ODCAClassifier(rho=1e-3),
    ]
    model = Pipeline(stages=stages).fit(table)
    assert model.stages[-1].streamModel.names[0].startswith(b"features.")
    rows = model.transform(table).select("label", "prediction").toArrow()
    assert np.mean(rows["prediction"].to_numpy() == rows["label"].to_numpy()) > 0.75


def test_models_and_estimators_are_saved_and_loaded(spark: Any, table: Any, tmp_path: Path) -> None:
    from pyspark.ml import Pipeline, PipelineModel

    import odca.spark
    from odca.spark.parts import to_bytes

    estimator = odca.spark.AutoClassifier(featureCols=PLAIN, featureOptions={"ignore": ["kind"]})
    pipeline = Pipeline(stages=[estimator])
    model = pipeline.fit(table)
    pipeline.write().save(str(tmp_path / "pipeline"))
    model.write().save(str(tmp_path / "model"))
    again = Pipeline.load(str(tmp_path / "pipeline")).getStages()[0]
    assert (again.uid, again.extractParamMap()) == (estimator.uid, estimator.extractParamMap())
    loaded = PipelineModel.load(str(tmp_path / "model"))
    assert loaded.stages[0].uid == model.stages[0].uid
    assert to_bytes(loaded.stages[0].streamModel) == to_bytes(model.stages[0].streamModel)
    assert loaded.transform(table).limit(20).collect() == model.transform(table).limit(20).collect()
    (file,) = (tmp_path / "model").glob("stages/*/model.safetensors")
    assert odca.load(file).metrics.events == 2000  # an ordinary model file
    with pytest.raises(ValueError, match=r"holds a odca.spark.estimators.AutoClassificationModel"):
        odca.spark.ODCAClassificationModel.load(str(file.parent))
    file.write_bytes(b"no model")
    (file.parent / ".model.safetensors.crc").unlink()
    with pytest.raises(ValueError, match="not a model of odca"):
        odca.spark.AutoClassificationModel.load(str(file.parent))


def test_cross_validation_chooses_a_strength(table: Any) -> None:
    from pyspark.ml.evaluation import BinaryClassificationEvaluator
    from pyspark.ml.tuning import CrossValidator, ParamGridBuilder

    import odca.spark

    estimator = odca.spark.ODCAClassifier(featureCols=PLAIN)
    grid = ParamGridBuilder().addGrid(estimator.rho, [1e-3, 10.0]).build()
    chosen = CrossValidator(
        estimator=estimator, estimatorParamMaps=grid, evaluator=BinaryClassificationEvaluator(), numFolds=2, seed=1
    ).fit(table)
    assert chosen.avgMetrics[0] > chosen.avgMetrics[1]
    assert chosen.bestModel.getOrDefault("rho") == 1e-3


def test_parameters_behave_as_those_of_spark() -> None:
    import odca.spark

    estimator = odca.spark.ODCAClassifier(rho=0.5)
    copy = estimator.copy({estimator.rho: 2})
    assert (estimator.getOrDefault("rho"), copy.getOrDefault("rho"), copy.uid) == (0.5, 2.0, estimator.uid)
    assert estimator.getOrDefault("loss") == "log_loss"
    assert not estimator.isDefined("featureCols")
    assert "rho: the strength of the penalty, or 'auto'. (default: auto, current: 0.5)" in estimator.explainParams()
    with pytest.raises(TypeError, match=r"ODCAClassifier has no parameter 'roh'. It has classes,"):
        odca.spark.ODCAClassifier(roh=1.0)
    with pytest.raises(TypeError, match="no option 'bit' of features"):
        odca.spark.ODCAClassifier(featureOptions={"bit": 3})
    with pytest.raises(TypeError):
        odca.spark.ODCAClassifier(rho="strong")


def test_columns_that_are_missing_or_have_two_uses_are_refused(table: Any) -> None:
    import odca.spark

    with pytest.raises(ValueError, match=r"there is no column 'features'. The columns are size, kind"):
        odca.spark.ODCAClassifier().fit(table)
    with pytest.raises(ValueError, match="'label' is a feature and has a role, too"):
        odca.spark.ODCAClassifier(featureCols=["size", "label"]).fit(table)
    model = odca.spark.AutoClassifier(featureCols=["size"]).fit(table)
    with pytest.raises(ValueError, match="there is no column 'size'"):
        model.transform(table.drop("size"))


def test_functions_for_sql_predict(spark: Any, table: Any) -> None:
    from pyspark.sql import functions as F

    import odca.spark

    model = odca.spark.train(table, label="grade", keep=PLAIN)
    events = table.limit(20).toArrow().to_pylist()
    spark.udf.register("grade_of", odca.spark.predict_udf(model))
    table.limit(20).createOrReplaceTempView("events")
    found = spark.sql("select grade_of(struct(*)) as label from events").toArrow()
    assert found["label"].to_pylist() == model.predict(events).tolist()
    probabilities = odca.spark.predict_udf(model, "probabilities")
    rows = table.limit(20).select(probabilities(F.struct(*PLAIN)).alias("p")).toArrow()
    assert np.array_equal(rows["p"].to_pylist(), model.predict_proba(events))
    assert table.where("size > 1e9").select(probabilities(F.struct(*PLAIN))).collect() == []
    with pytest.raises(ValueError, match="wanted must be one of"):
        odca.spark.predict_udf(model, "odds")
