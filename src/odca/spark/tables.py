"""Spark's tables for odca: vectors become maps, and a partition is read like any Arrow table."""

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import types as sql

SAMPLE_ROWS = 1000
"""The first rows decide how all are read, as the first lines of a file do."""
VECTOR = ("type", "size", "indices", "values")
"""The parts of a vector, as Spark's ML stores it."""
DENSE, SPARSE = 1, 0


class Batches(NamedTuple):
    """Batches of events, which odca reads as it reads any table."""

    schema: pa.Schema
    batches: Iterator[pa.RecordBatch]

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return pa.RecordBatchReader.from_batches(self.schema, self.batches).__arrow_c_stream__(requested_schema)


def as_table(batches: Iterable[pa.RecordBatch]) -> Batches | None:
    """The batches that Spark passes to a task as a table to read once; None if there are no rows."""
    readable_ones = (readable(batch) for batch in batches if batch.num_rows)
    first = next(readable_ones, None)
    return None if first is None else Batches(first.schema, chain([first], readable_ones))


def readable(batch: pa.RecordBatch) -> pa.RecordBatch:
    """A batch with its vectors as maps from the place to the number: features.7 is a feature."""
    columns = [as_maps(column) if _is_vector(column.type) else column for column in batch.columns]
    return pa.RecordBatch.from_arrays(columns, names=batch.schema.names)


def batch_of(rows: pa.StructArray) -> pa.RecordBatch:
    """The rows of a column of structs as a batch."""
    return pa.RecordBatch.from_arrays(rows.flatten(), names=[field.name for field in rows.type])


def _is_vector(type_: pa.DataType) -> bool:
    return pa.types.is_struct(type_) and tuple(field.name for field in type_) == VECTOR


def as_maps(vectors: pa.StructArray) -> pa.MapArray:
    """Vectors as maps, without zeros: a vector has the same features whether it is stored dense or sparse."""
    kinds, _, indices, values = vectors.flatten()
    lengths = pc.list_value_length(values).fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64)
    begins = np.cumsum(lengths) - lengths
    numbers = values.flatten().to_numpy(zero_copy_only=False)
    places = np.arange(len(numbers)) - np.repeat(begins, lengths)
    places[np.repeat(kinds.fill_null(DENSE).to_numpy(zero_copy_only=False) == SPARSE, lengths)] = indices.flatten()
    kept = numbers != 0.0
    counts = np.bincount(np.repeat(np.arange(len(vectors)), lengths)[kept], minlength=len(vectors))
    ends = np.concatenate([[0], np.cumsum(counts)])
    is_missing = np.append(vectors.is_null().to_numpy(zero_copy_only=False), False)
    offsets = pa.array(ends, pa.int32(), mask=is_missing)
    return pa.MapArray.from_arrays(offsets, pa.array(places[kept], pa.int32()), pa.array(numbers[kept]))


def as_vectors(rows: npt.NDArray[np.float64]) -> pa.StructArray:
    """The rows of a matrix as dense vectors of Spark's ML."""
    count, width = rows.shape
    ends = pa.array(np.arange(count + 1) * width, pa.int32())
    parts = [
        pa.array(np.full(count, DENSE), pa.int8()),
        pa.nulls(count, pa.int32()),
        pa.nulls(count, pa.list_(pa.int32())),
        pa.ListArray.from_arrays(ends, pa.array(np.ravel(rows), pa.float64())),
    ]
    return pa.StructArray.from_arrays(parts, names=list(VECTOR))


def first_rows(df: DataFrame) -> pa.Table:
    """The first rows of a table, at the driver."""
    table = df.limit(SAMPLE_ROWS).toArrow()
    return pa.Table.from_batches([readable(each) for each in table.to_batches()] or [readable(_empty(table.schema))])


def _empty(schema: pa.Schema) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([pa.nulls(0, field.type) for field in schema], schema=schema)


def require_columns(df: DataFrame, names: Iterable[str | None]) -> None:
    """ValueError for a column that is not there, which names those that are."""
    for name in names:
        if name is not None and name not in df.columns:
            there = ", ".join(df.columns)
            raise ValueError(f"there is no column {name!r}. The columns are {there}.")


def holds_names(df: DataFrame, column: str) -> bool:
    """Whether the values of a column name something, as text and booleans do."""
    return isinstance(df.schema[column].dataType, sql.StringType | sql.BooleanType)
