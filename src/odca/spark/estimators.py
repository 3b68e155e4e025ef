"""Estimators for Spark's ML: they fit on a DataFrame, and their models transform one.

They have the parameters, pipelines, cross-validation and persistence of Spark's ML. Inside each model is the ordinary model of odca
(`streamModel`), and its folder holds that model's file.
"""

from typing import Any, ClassVar, Self

from pyspark.ml import Estimator, Model
from pyspark.ml.util import (
    DefaultParamsReadable,
    DefaultParamsReader,
    DefaultParamsWritable,
    DefaultParamsWriter,
    MLReadable,
    MLReader,
    MLWritable,
    MLWriter,
)
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from odca.distributed import DistributedReport
from odca.models.options import Label, Task
from odca.spark.exact import as_few_as_cores, exact_fit
from odca.spark.files import Folder
from odca.spark.params import WithClasses, WithColumns, WithExact, WithProblem, WithProducts
from odca.spark.parts import from_bytes, to_bytes
from odca.spark.passes import one_pass, used_columns, wish_of
from odca.spark.predicting import as_struct, prediction_udf
from odca.spark.tables import require_columns
from odca.stream.model import StreamModel

MODEL_FILE = "model.safetensors"
PROBLEM = {
    "penalty": "l2",
    "rho": "auto",
    "window": "auto",
    "smoothing": "auto",
    "priorStrength": "auto",
    "fitIntercept": True,
    "exact": False,
    "tol": 1e-4,
    "maxIter": 1000,
}
"""The defaults of linear models."""


class ModelWriter(MLWriter):  # type: ignore[misc] # PySpark is not checked
    """Writes the parameters as Spark's ML does, and beside them the file of odca's model."""

    def __init__(self, instance: "FittedModel") -> None:
        super().__init__()
        self._instance = instance

    def saveImpl(self, path: str) -> None:
        """Write both to a folder."""
        DefaultParamsWriter.saveMetadata(self._instance, path, self.sparkSession)
        Folder(self.sparkSession, path).write(MODEL_FILE, to_bytes(self._instance.streamModel))


class ModelReader(MLReader[Any]):  # type: ignore[misc] # PySpark is not checked
    """Reads what `ModelWriter` wrote. Nothing in the files is executed."""

    def __init__(self, kind: "type[FittedModel]") -> None:
        super().__init__()
        self._kind = kind

    def load(self, path: str) -> "FittedModel":
        """The model of a folder. ValueError if it holds another one, or is damaged."""
        metadata = DefaultParamsReader.loadMetadata(path, self.sparkSession)
        expected = f"{self._kind.__module__}.{self._kind.__name__}"
        if metadata["class"] != expected:
            raise ValueError(f"{path} holds a {metadata['class']}; expected {expected}.")
        model = self._kind(from_bytes(Folder(self.sparkSession, path).read(MODEL_FILE)))
        model._resetUid(metadata["uid"])  # noqa: SLF001 - as Spark's own readers do
        DefaultParamsReader.getAndSetParams(model, metadata)
        return model


class FittedModel(Model, WithColumns, MLWritable, MLReadable[Any]):  # type: ignore[misc] # PySpark is not checked
    """What all models share: `transform` adds the columns of predictions, and `streamModel` is the ordinary model of odca."""

    _outputs: ClassVar[dict[str, str]] = {"prediction": "predictionCol"}
    """What is predicted, and the parameter that names its column."""

    def __init__(self, streamModel: StreamModel) -> None:
        super().__init__()
        self.streamModel = streamModel
        self.trainingReport: DistributedReport | None = None
        """The rounds of an exact fit. Like the summaries of Spark's own models, it is not saved."""

    def _transform(self, dataset: DataFrame) -> DataFrame:
        wanted = {what: self.getOrDefault(param) for what, param in self._outputs.items() if self.getOrDefault(param)}
        if not wanted:
            return dataset
        require_columns(dataset, [*self.getFeatureCols(), self.given("offsetCol")])
        columns = used_columns(self.streamModel, [*dict.fromkeys([*self.getFeatureCols(), *self._further()])])
        type_, shown = as_struct(self.streamModel, wanted)
        predicted = prediction_udf(self.streamModel, type_, shown, answer="steady")(F.struct(*columns))
        name = f"{self.uid}_predicted"
        found = dataset.withColumn(name, predicted)
        return found.withColumns({each: F.col(name)[each] for each in wanted.values()}).drop(name)

    def _further(self) -> list[str]:
        return [self.given("offsetCol")] if self.given("offsetCol") else []

    @property
    def numFeatures(self) -> int:
        """The number of features that it has learned."""
        return self.streamModel.learner.n_features

    def write(self) -> ModelWriter:
        """A writer of this model."""
        return ModelWriter(self)

    @classmethod
    def read(cls) -> ModelReader:
        """A reader of such models."""
        return ModelReader(cls)


class ClassificationModel(FittedModel, WithClasses):
    """A model of classes. The places of `probability` and `rawPrediction` are those of `labels`."""

    _outputs: ClassVar[dict[str, str]] = {
        "prediction": "predictionCol",
        "rawPrediction": "rawPredictionCol",
        "probability": "probabilityCol",
    }

    @property
    def labels(self) -> tuple[Label, ...]:
        """The classes, in the order of the places of probabilities."""
        return self.streamModel.classes_read

    @property
    def numClasses(self) -> int:
        """The number of classes."""
        return len(self.labels)


class ODCAClassificationModel(ClassificationModel, WithProblem, WithExact):
    """The model that `ODCAClassifier` fits."""


class ODCARegressionModel(FittedModel, WithProblem, WithExact):
    """The model that `ODCARegressor` fits."""


class AutoClassificationModel(ClassificationModel, WithProducts):
    """The model that `AutoClassifier` fits."""


class AutoRegressionModel(FittedModel, WithProducts):
    """The model that `AutoRegressor` fits."""


class SparkEstimator(Estimator[Any], WithColumns, DefaultParamsWritable, DefaultParamsReadable[Any]):  # type: ignore[misc] # PySpark is not checked
    """What all estimators share."""

    _task: ClassVar[Task]
    _model: ClassVar[type[FittedModel]]
    _defaults: ClassVar[dict[str, Any]]

    def __init__(self, **params: Any) -> None:
        super().__init__()
        self._setDefault(**self._defaults)
        self.setParams(**params)

    def setParams(self, **params: Any) -> Self:
        """Set parameters by their names."""
        for name in params:
            if not self.hasParam(name):
                there = ", ".join(each.name for each in self.params)
                raise TypeError(f"{type(self).__name__} has no parameter {name!r}. It has {there}.")
        self._set(**params)
        return self

    def _fit(self, dataset: DataFrame) -> FittedModel:
        roles = {role: self.given(f"{role}Col") for role in ("label", "weight", "offset", "time")}
        columns = self.getFeatureCols()
        require_columns(dataset, columns)
        if double := [name for name in columns if name in roles.values()]:
            raise ValueError(f"{double[0]!r} is a feature and has a role, too. A column can be one of the two.")
        rows = dataset.select(*columns, *(name for name in roles.values() if name is not None))
        fitted, report = self._fitted(rows, roles)
        model = self._model(fitted)
        model.trainingReport = report
        model._resetUid(self.uid)  # noqa: SLF001 - as Spark's own estimators do
        self._copyValues(model)
        return model

    def _fitted(self, rows: DataFrame, roles: dict[str, str | None]) -> tuple[StreamModel, DistributedReport | None]:
        linear = self.problem() if isinstance(self, WithProblem) else {}
        wish = wish_of(
            roles,
            linear,
            self.given("featureOptions") or {},
            task=self._task,
            classes=tuple(self.given("classes") or ()),
            products="auto" if isinstance(self, WithProblem) else self.getOrDefault("products"),
        )
        begun = wish.begin(rows)
        if isinstance(self, WithExact) and self.getOrDefault("exact"):
            how: dict[str, Any] = {"tol": self.getTol(), "max_rounds": self.getMaxIter()}
            strength = self.getOrDefault("priorStrength")
            return exact_fit(as_few_as_cores(rows), begun, prior_strength=strength, **how)
        return one_pass(rows, begun), None


class ODCAClassifier(SparkEstimator, WithClasses, WithProblem, WithExact):
    """A linear classifier, learned in one pass over every partition; the models of the partitions are merged.

    exact=True solves the problem of all rows instead, in rounds, as `odca.spark.train` does. The model's `trainingReport` has the rounds.
    featuresCol is a column of vectors, featureCols are plain columns. The label is a number or text; the prediction is of the same
    type. The options of the problem are those of odca.train.
    """

    _task: ClassVar[Task] = "classes"
    _model = ODCAClassificationModel

    _defaults: ClassVar[dict[str, Any]] = {"loss": "log_loss", **PROBLEM}


class ODCARegressor(SparkEstimator, WithProblem, WithExact):
    """A linear model of numbers, learned in one pass over every partition; the models of the partitions are merged.

    See ODCAClassifier; it has no columns of probabilities and margins.
    """

    _task: ClassVar[Task] = "numbers"
    _model = ODCARegressionModel

    _defaults: ClassVar[dict[str, Any]] = {"loss": "squared_error", **PROBLEM}


class AutoClassifier(SparkEstimator, WithClasses, WithProducts):
    """A classifier with nothing to tune; see docs/auto.md. Columns are those of ODCAClassifier."""

    _task: ClassVar[Task] = "classes"
    _model = AutoClassificationModel

    _defaults: ClassVar[dict[str, Any]] = {"products": "auto"}


class AutoRegressor(SparkEstimator, WithProducts):
    """A model of numbers with nothing to tune; see docs/auto.md. Columns are those of ODCARegressor."""

    _task: ClassVar[Task] = "numbers"
    _model = AutoRegressionModel

    _defaults: ClassVar[dict[str, Any]] = {"products": "auto"}
