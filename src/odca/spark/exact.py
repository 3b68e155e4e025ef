"""The exact fit: each partition keeps its events and their duals and answers questions, until the duality gap of all is small.

The questions are those of `odca.distributed`, and docs/distributed.md derives them. Here is how they travel: a question is broadcast; the
answers, each of the size of the model, are added up along a tree; the duals stay with the partitions, in a cached table of one row each.
If an executor is lost, Spark computes its duals again from the events and the questions so far.
"""

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark.sql import DataFrame
from scipy.sparse import csr_array, vstack

from odca import distributed
from odca.errors import InputError
from odca.io import model_file
from odca.learner import Learner
from odca.models.linear import LinearClassifier
from odca.spark.parts import from_bytes, to_bytes, with_results
from odca.spark.passes import used_columns
from odca.spark.tables import as_table
from odca.stream.model import StreamModel

Events = dict[str, npt.NDArray[Any]]


def fit_exactly(
    df: DataFrame, model: StreamModel, *, tol: float = 1e-4, max_rounds: int = 1000
) -> distributed.DistributedReport:
    """Solve the problem of a linear model for all rows of a table, to a certified duality gap; the model becomes the solution.

    The model is a linear one, and knows the names of all features from a pass over the table. tol, max_rounds: of `odca.distributed.fit`.
    """
    assert isinstance(model.learner, Learner)
    shards = Shards(df.select(*used_columns(model, df.columns)), model)
    try:
        return distributed.fit(model.learner, shards.ask, tol=tol, max_rounds=max_rounds)
    finally:
        shards.close()


class Shards:
    """The partitions of a table, which answer questions."""

    def __init__(self, df: DataFrame, model: StreamModel) -> None:
        self._context = df.sparkSession.sparkContext
        held = self._context.broadcast(to_bytes(model))

        def gathered(batches: Iterable[pa.RecordBatch]) -> bytes:
            return packed(events_of(from_bytes(held.value), batches))

        results = with_results(df, gathered).rdd.map(tuple).persist()
        for place, _, fault in results.filter(lambda row: row[2] is not None).collect():
            results.unpersist()
            raise InputError(f"partition {place}: {fault}")
        self._events = results.map(lambda row: row[1])
        self._problem = b"".join(bytes(chunk) for chunk in model_file.to_chunks(model.learner.saved()))
        self._duals: Any = self._events.map(lambda _: b"")
        self._cached = [results]

    def ask(self, question: dict[str, Any]) -> dict[str, Any]:
        """Put a question to all partitions, and return their combined answers."""
        held = self._context.broadcast((self._problem, question))

        def answered(pair: tuple[bytes, bytes]) -> tuple[Any, bytes]:
            problem, asked = held.value
            shard = shard_of(problem, pair[0])
            if pair[1]:
                shard.restore(pair[1])
            return shard.answer(asked), shard.to_bytes()

        answers = self._events.zip(self._duals).map(answered).persist()
        found: dict[str, Any] = answers.map(lambda pair: pair[0]).treeReduce(
            lambda one, other: distributed.combined([one, other])
        )
        self._duals = answers.map(lambda pair: pair[1])
        self._cached.append(answers)
        for old in self._cached[1:-1]:
            old.unpersist()
        del self._cached[1:-1]
        return found

    def close(self) -> None:
        """Free the memory of the executors."""
        for each in self._cached:
            each.unpersist()


def events_of(model: StreamModel, batches: Iterable[pa.RecordBatch]) -> Events:
    """The labelled events of a partition as arrays: rows by the numbers that the model has for features, and the labels of its lanes."""
    width = model.n_possible_features
    parts: dict[str, list[Any]] = {"X": [csr_array((0, width))], "y": [np.zeros((0, model.learner.lanes))]}  # type: ignore[union-attr] # a Learner
    events = as_table(batches)
    for block in [] if events is None else model.blocks_of(events, threads=1):
        block.drop_unlabelled()
        model.require_learnable(block)
        labels = block.rows.label[:, None]
        if isinstance(model.model, LinearClassifier):
            labels = model.model.layout.labels(model.codes_of(block)[0])
        rows = block.rows
        parts["X"].append(csr_array((rows.data, rows.indices, rows.indptr), shape=(len(rows), width)))
        parts["y"].append(labels)
        for name in ("weight", "offset", "time"):
            if getattr(block, name) is not None and (name != "time" or model.options.uses_time):
                parts.setdefault(name, []).append(getattr(block, name))
    X = csr_array(vstack(parts.pop("X")))
    arrays = {name: np.concatenate(each) for name, each in parts.items()}
    return {"data": X.data, "indices": X.indices, "indptr": X.indptr, "width": np.array([width]), **arrays}


def packed(events: Events) -> bytes:
    """Events as bytes, in the format of model files."""
    return b"".join(bytes(chunk) for chunk in model_file.to_chunks(model_file.ModelFile("Events", {}, events)))


def shard_of(problem: bytes, events: bytes) -> distributed.Shard:
    """The shard of a partition."""
    learner = Learner.restored(model_file.from_bytes(problem, "the problem"))
    found = model_file.from_bytes(events, "the events of a partition").arrays
    width = int(found["width"][0])
    X = csr_array((found["data"], found["indices"], found["indptr"]), shape=(len(found["y"]), width))
    more = {"sample_weight": found.get("weight"), "offset": found.get("offset"), "time": found.get("time")}
    return distributed.Shard(learner, X, found["y"], **more)
