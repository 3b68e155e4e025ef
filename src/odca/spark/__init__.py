"""odca on Spark: estimators for Spark's ML, training on DataFrames, learning from streams, and functions for SQL.

Needs PySpark >= 4.1 and Arrow (`pip install 'odca[spark]'`), at the driver and at the executors. See docs/spark.md.
"""

try:
    from pyspark.sql.functions import arrow_udf as _arrow_udf
except ImportError as error:
    raise ImportError("odca.spark needs PySpark >= 4.1: pip install 'odca[spark]'.") from error

from odca.spark.estimators import (
    AutoClassificationModel,
    AutoClassifier,
    AutoRegressionModel,
    AutoRegressor,
    ODCAClassificationModel,
    ODCAClassifier,
    ODCARegressionModel,
    ODCARegressor,
)
from odca.spark.keyed import learn_by_key, models_by_key
from odca.spark.predicting import predict_udf
from odca.spark.streaming import BatchReport, Learning, learn_stream
from odca.spark.training import train

del _arrow_udf

__all__ = [
    "AutoClassificationModel",
    "AutoClassifier",
    "AutoRegressionModel",
    "AutoRegressor",
    "BatchReport",
    "Learning",
    "ODCAClassificationModel",
    "ODCAClassifier",
    "ODCARegressionModel",
    "ODCARegressor",
    "learn_by_key",
    "learn_stream",
    "models_by_key",
    "predict_udf",
    "train",
]
