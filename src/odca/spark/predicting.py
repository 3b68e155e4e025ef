"""Predictions as functions of columns: for SQL, for DataFrames and for streams."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.ml.linalg import VectorUDT
from pyspark.sql import functions as F
from pyspark.sql import types as sql

from odca.models.classifier import RawPredictions
from odca.models.options import Answer, label_text
from odca.spark.parts import from_bytes, to_bytes
from odca.spark.tables import Batches, as_vectors, batch_of, readable
from odca.stream.block_model import Wanted
from odca.stream.model import StreamModel
from odca.validation.arrays import Array

Raw = RawPredictions | Array
Shown = Callable[[StreamModel, Raw], pa.Array]
"""The form in which raw predictions are returned."""


def predict_udf(model: StreamModel, wanted: Wanted = "label", *, answer: Answer = "steady") -> Any:
    """A function of a struct of columns that predicts: for SQL, for DataFrames and for streams.

    Pass it the columns of an event under their names: `predict_udf(model)(struct("*"))`, or in SQL, once it is registered
    (`spark.udf.register("score", predict_udf(model))`): `score(struct(*))`, `score(struct(price, country))`. Columns that the model
    does not know are ignored.

    wanted: the "label", a number, or text if a class is text; the "probabilities" of all `classes`, an array; or the "margins", an
        array if there are more than two classes. answer: as for `StreamModel.predict`.
    """
    if wanted == "label":
        type_: sql.DataType = label_type(model)
        shown: Shown = as_labels
    else:
        is_array = wanted == "probabilities" or len(model.classes) > 2
        type_ = sql.ArrayType(sql.DoubleType()) if is_array else sql.DoubleType()

        def shown(known: StreamModel, raw: Raw) -> pa.Array:
            return _as_array(known.shown(raw, wanted))

    model.predict([], wanted, answer=answer)  # an error of the user's is raised here, not by a task
    return prediction_udf(model, type_, shown, answer=answer)


def prediction_udf(model: StreamModel, type_: sql.DataType, shown: Shown, *, answer: Answer) -> Any:
    """A function of a struct of columns that returns the predictions in some form."""
    data = to_bytes(model)

    def predicted(batches: Iterator[pa.Array]) -> Iterator[pa.Array]:
        known = from_bytes(data)
        for rows in batches:
            batch = readable(batch_of(rows))
            events = Batches(batch.schema, iter([batch]))
            blocks = known.blocks_of(events, threads=1) if len(batch) else known.blocks_of([])
            yield pa.concat_arrays([shown(known, known.predict_raw(block, answer=answer)) for block in blocks])

    return F.arrow_udf(predicted, type_)


def as_labels(model: StreamModel, raw: Raw) -> pa.Array:
    """Predicted numbers, or classes: as text if one of them is text."""
    predicted, classes = model.predicted(raw), model.classes_read
    if any(isinstance(each, str) for each in classes):
        return pa.array([label_text(classes[code]) for code in predicted], pa.string())
    return pa.array([classes[code] for code in predicted] if classes else predicted, pa.float64())


def label_type(model: StreamModel) -> sql.DataType:
    """The type of predicted labels."""
    return sql.StringType() if any(isinstance(each, str) for each in model.classes_read) else sql.DoubleType()


def as_struct(model: StreamModel, wanted: dict[str, str]) -> tuple[sql.StructType, Shown]:
    """Several forms of predictions at once, for Spark's ML: what each column of `wanted` holds, and the function that makes them."""
    types = {"prediction": label_type(model), "rawPrediction": VectorUDT(), "probability": VectorUDT()}

    def shown(known: StreamModel, raw: Raw) -> pa.Array:
        columns = [_FORMS[what](known, raw) for what in wanted]
        return pa.StructArray.from_arrays(columns, names=list(wanted.values()))

    return sql.StructType([sql.StructField(name, types[what]) for what, name in wanted.items()]), shown


def _margins(model: StreamModel, raw: Raw) -> pa.Array:
    """One margin for each class: with two classes, those of the first and of the second are each other's negative."""
    margins = model.shown(raw, "margins")
    return as_vectors(np.column_stack([-margins, margins]) if margins.ndim == 1 else margins)


def _probabilities(model: StreamModel, raw: Raw) -> pa.Array:
    return as_vectors(model.shown(raw, "probabilities"))


_FORMS: dict[str, Shown] = {"prediction": as_labels, "rawPrediction": _margins, "probability": _probabilities}


def _as_array(values: Any) -> pa.Array:
    if values.ndim == 1:
        return pa.array(values, pa.float64())
    ends = pa.array(np.arange(len(values) + 1) * values.shape[1], pa.int32())
    return pa.ListArray.from_arrays(ends, pa.array(np.ravel(values), pa.float64()))
