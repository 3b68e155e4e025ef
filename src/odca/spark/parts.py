"""What tasks do: each learns the events of one partition, and the models of all partitions are merged.

A task is a function of its rows and of the model that it starts from, and of nothing else. Spark may run it again, on another machine
or twice at the same time: the result has the same bits. Models travel as the bytes of model files, and are merged in the order of
their partitions, so that the merged model has the same bits too.
"""

from collections.abc import Callable, Iterable, Iterator
from functools import reduce
from typing import Any

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from odca.errors import InputError
from odca.io import model_file
from odca.spark.tables import as_table
from odca.stream.model import StreamModel

FAN_IN = 16
"""So many models are merged by one task, or by the driver."""
RESULTS = "place int, model binary, fault string"
SCHEMA = pa.schema([("place", pa.int32()), ("model", pa.binary()), ("fault", pa.string())])
Learned = Callable[[Iterable[pa.RecordBatch]], bytes]


def to_bytes(model: StreamModel) -> bytes:
    """The bytes of a model's file."""
    return b"".join(bytes(chunk) for chunk in model_file.to_chunks(model.saved()))


def from_bytes(data: bytes) -> StreamModel:
    """The model of these bytes. ValueError if they are not those of a model's file."""
    name = "the model that was sent"
    return model_file.rebuild(model_file.from_bytes(data, name), {StreamModel.kind: StreamModel.restored}, name)


def learn_partitions(df: DataFrame, model: StreamModel, *, parts: int = 1) -> DataFrame:
    """One row for each partition, with a model that has learned its events.

    It starts from the model, or from one of so many parts of it: see `StreamModel.split`.
    """
    held = df.sparkSession.sparkContext.broadcast(to_bytes(model))

    def learned(batches: Iterable[pa.RecordBatch]) -> bytes:
        mine = from_bytes(held.value)
        if parts > 1:
            mine = mine.part(place(), parts)
        events = as_table(batches)
        if events is not None:
            mine.learn(events, threads=1)
        return to_bytes(mine)

    return with_results(df, learned)


def with_results(df: DataFrame, learned: Learned) -> DataFrame:
    """One row for each partition: its place, and the model, or why there is none.

    An invalid event is no reason to try again, so the error is a result: the driver raises it.
    """

    def task(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        try:
            yield _result(place(), learned(batches), None)
        except ValueError as error:
            yield _result(place(), None, str(error))

    return df.mapInArrow(task, RESULTS)


def place() -> int:
    """The number of this task's partition."""
    context = TaskContext.get()
    return 0 if context is None else int(context.partitionId())


def _result(number: int, model: bytes | None, fault: str | None) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict({"place": [number], "model": [model], "fault": [fault]}, schema=SCHEMA)


def merged(results: DataFrame) -> StreamModel:
    """The model of all partitions. ValueError, with its partition, if one could not learn its events.

    The results are computed first, all at once. Then groups of models are merged where they are, until few are left for the driver.
    """
    rows = results.persist()
    try:
        count = rows.count()
        left = rows
        while count > FAN_IN:
            group = (F.col("place") / FAN_IN).cast("int").alias("group")
            left = left.groupBy(group).applyInArrow(_merged_group, RESULTS)
            count = -(-count // FAN_IN)
        return _merged_rows([each.asDict() for each in left.collect()])
    finally:
        rows.unpersist()


def _merged_group(group: pa.Table) -> pa.Table:
    number = min(group["place"].to_pylist()) // FAN_IN
    try:
        result = _result(number, to_bytes(_merged_rows(group.to_pylist())), None)
    except InputError as error:
        result = _result(number, None, error.message)
    return pa.Table.from_batches([result])


def _merged_rows(rows: list[dict[str, Any]]) -> StreamModel:
    rows.sort(key=lambda row: row["place"])
    for row in rows:
        if row["fault"] is not None:
            where = "" if row["fault"].startswith("partition ") else f"partition {row['place']}: "
            raise InputError(where + row["fault"])
    return reduce(StreamModel.merge, (from_bytes(row["model"]) for row in rows))
