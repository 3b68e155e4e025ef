"""The parameters of the estimators and of their models, with the names and the habits of Spark's ML."""

from collections.abc import Callable
from typing import Any

from pyspark.ml.param import Param, Params, TypeConverters
from pyspark.ml.param.shared import (
    HasFeaturesCol,
    HasLabelCol,
    HasMaxIter,
    HasPredictionCol,
    HasProbabilityCol,
    HasRawPredictionCol,
    HasTol,
    HasWeightCol,
)

from odca.features.spec import FeatureOptions


def _number_or_auto(value: Any) -> Any:
    if value == "auto":
        return value
    return TypeConverters.toFloat(value)


def _name_or_number(value: Any) -> Any:
    """A window by its name, or a forgetting factor."""
    return value if isinstance(value, str) else TypeConverters.toFloat(value)


def _products(value: Any) -> Any:
    return value if value == "auto" or value is False else TypeConverters.toInt(value)


def _options(value: Any) -> dict[str, Any]:
    unknown = sorted({*value} - {*FeatureOptions.__annotations__})
    if unknown:
        raise TypeError(
            f"there is no option {unknown[0]!r} of features. There are {', '.join(FeatureOptions.__annotations__)}."
        )
    return dict(value)


def _labels(value: Any) -> list[Any]:
    return [each if isinstance(each, str) else TypeConverters.toFloat(each) for each in value]


def _param(name: str, doc: str, converter: Callable[[Any], Any]) -> Any:
    return Param(Params._dummy(), name, doc, typeConverter=converter)  # noqa: SLF001 - as Spark's own mix-ins do


class WithColumns(HasFeaturesCol, HasLabelCol, HasWeightCol, HasPredictionCol):  # type: ignore[misc] # PySpark is not checked
    """Which columns are read and written."""

    featureCols = _param(
        "featureCols",
        "the columns that are features: numbers, text, dates, arrays of words, vectors. Undefined: featuresCol alone.",
        TypeConverters.toListString,
    )
    offsetCol = _param("offsetCol", "the column of known terms that are added to the margins.", TypeConverters.toString)
    timeCol = _param(
        "timeCol", "the column of the times of events, for windows that use time.", TypeConverters.toString
    )
    featureOptions = _param(
        "featureOptions", "how columns become features: a dictionary of the options of odca.stream.Features.", _options
    )

    def getFeatureCols(self) -> list[str]:
        """The columns that are features."""
        return list(self.getOrDefault("featureCols")) if self.isDefined("featureCols") else [self.getFeaturesCol()]

    def given(self, name: str) -> Any:
        """The value of a parameter; None if it is undefined, or empty, which Spark's ML takes for the same."""
        return (self.getOrDefault(name) or None) if self.hasParam(name) and self.isDefined(name) else None


class WithClasses(HasProbabilityCol, HasRawPredictionCol):  # type: ignore[misc] # PySpark is not checked
    """Which further columns a classifier writes."""

    classes = _param(
        "classes", "all classes, if they are known: numbers or text. Undefined: looked up in the data.", _labels
    )


class WithProblem(Params):  # type: ignore[misc] # PySpark is not checked
    """The problem that a linear model solves; see odca.Learner and docs/options.md."""

    loss = _param(
        "loss", "the loss, by its name: log_loss, hinge, squared_error, huber:1.5 ...", TypeConverters.toString
    )
    penalty = _param(
        "penalty", "the penalty, by its name: l2, elasticnet:0.1, nonnegative ...", TypeConverters.toString
    )
    rho = _param("rho", "the strength of the penalty, or 'auto'.", _number_or_auto)
    window = _param("window", "how fast the past is forgotten: infinite, 0.999, 36h, ...", _name_or_number)
    smoothing = _param("smoothing", "the factor of averaging, or 'auto'.", _number_or_auto)
    priorStrength = _param("priorStrength", "the constant strength a0, or 'auto'.", _number_or_auto)
    fitIntercept = _param("fitIntercept", "whether there is a constant feature.", TypeConverters.toBoolean)

    def problem(self) -> dict[str, Any]:
        """The options of the linear model by the names that `odca.train` has for them."""
        names = {"priorStrength": "prior_strength", "fitIntercept": "intercept"}
        every = ("loss", "penalty", "rho", "window", "smoothing", "priorStrength", "fitIntercept")
        return {names.get(each, each): self.getOrDefault(each) for each in every}


class WithExact(HasTol, HasMaxIter):  # type: ignore[misc] # PySpark is not checked
    """Whether one pass is enough. `tol` and `maxIter` are about exact fits: the relative gap that is wanted, and the most rounds."""

    exact = _param(
        "exact",
        "whether the problem of all rows is solved, in several rounds, instead of one pass with a merge.",
        TypeConverters.toBoolean,
    )


class WithProducts(Params):  # type: ignore[misc] # PySpark is not checked
    """The one choice of the automatic mode."""

    products = _param("products", "how many products of two features are used: 'auto', False or the most.", _products)
