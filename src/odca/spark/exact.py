"""`exact=True`: the solution of all events of a table, by rounds of questions to its partitions (`odca.distributed`).

The events of each partition are encoded once, as the rows of the whole model's features, and kept by the executors. A round is one job: each
task makes its shards of the events and of the states that it left the last time, answers, and leaves the new states. States form a chain of
RDDs, so that Spark computes what an executor took with it again, to the same bits. The chain is cut every few rounds: by Spark's checkpoints if
there is a folder for them (`SparkContext.setCheckpointDir`), which survive every executor, otherwise by local ones, which do not.
"""

import warnings
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial, reduce
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark import RDD, Broadcast, StorageLevel
from pyspark.serializers import BatchedSerializer, CPickleSerializer
from pyspark.sql import DataFrame

from odca.distributed import DistributedReport, Round, Shard, combined, fit, problem_of
from odca.errors import InputError
from odca.io import model_file
from odca.learner import Learner
from odca.models import calibration
from odca.models.linear import LinearClassifier
from odca.spark.parts import FAN_IN, from_bytes, to_bytes, with_results
from odca.spark.passes import one_pass, used_columns
from odca.spark.tables import as_table
from odca.stream import inner_model
from odca.stream.model import StreamModel
from odca.stream.read.blocks import Block

ROUNDS_OF_A_CHAIN = 10
"""After so many questions the chain of states is cut."""
LARGEST = 2**31 - 2**24
"""Bytes of the events of a partition: what Spark can hand to a task at once, with room for the state."""
COLUMNS = ("sample_weight", "offset", "time")
OnRound = Callable[[Round], None]


def exact_fit(
    df: DataFrame,
    model: StreamModel,
    *,
    prior_strength: float | str | None,
    tol: float,
    max_rounds: int,
    on_round: OnRound | None = None,
) -> tuple[StreamModel, DistributedReport]:
    """The model that solves the problem of all rows, and how its fit went. `model` is untrained, and each partition is a shard.

    One pass first: it finds the names of all features and scores the model progressively, as without `exact`.
    prior_strength: as the user gave it. "auto" restrains the first events of a stream, and is 0 where there is none, as in the estimators' `fit`.
    """
    begun = one_problem(model)
    rows = df.select(*used_columns(begun, df.columns))
    known = one_pass(rows, begun)
    given = 0.0 if prior_strength is None or isinstance(prior_strength, str) else prior_strength
    learner = untrained_learner(known, given)
    cluster = Cluster(rows, known, learner)
    try:
        report = fit(learner, cluster.ask, tol=tol, max_rounds=max_rounds, on_round=on_round)
        known.model.learner, known.options = learner, replace(known.options, prior_strength=given)
        if isinstance(known.model, LinearClassifier) and known.model.calibration is not None:
            known.model.calibration = cluster.calibration(known)
    finally:
        cluster.close()
    if not report.converged:
        warnings.warn(
            f"the exact fit stopped after {len(report.rounds)} rounds with a duality gap of {np.max(report.gap):.3g}, above the tolerance. Allow "
            "more rounds, or a larger tol.",
            stacklevel=3,
        )
    return known, report


def as_few_as_cores(df: DataFrame) -> DataFrame:
    """The table with no more partitions than there are cores: each is a shard, and rounds grow with their number."""
    cores = df.sparkSession.sparkContext.defaultParallelism
    return df.coalesce(cores) if df.rdd.getNumPartitions() > cores else df


def one_problem(model: StreamModel) -> StreamModel:
    """The untrained model with one strength and one window, as `Learner.fit` has them. ValueError if shards cannot solve its problem."""
    learner = model.learner
    if not isinstance(learner, Learner):
        raise ValueError(  # noqa: TRY004 - the options' fault
            "exact=True solves the problem of one linear model, and this one is automatic: give a loss, such as loss='log_loss'."
        )
    if model.past is not None:
        raise ValueError("exact=True needs features that stay the same, which those of tf_idf do not. Leave it out.")
    problem_of(learner)
    fitted = learner.fitted_options()
    options = replace(model.options, **{name: fitted[name] for name in inner_model.OPTIONS_OF_LEARNER})
    return StreamModel(options, model.schema, inner_model.begun(options))


def untrained_learner(model: StreamModel, prior_strength: float) -> Learner:
    """A learner of the model's problem but for the prior, with lanes for its classes, that has learned nothing."""
    known = model.learner
    assert isinstance(known, Learner)
    return Learner(**known.options | {"lanes": known.lanes, "prior_strength": prior_strength})


class Cluster:
    """The shards of a problem in the partitions of a table."""

    def __init__(self, rows: DataFrame, model: StreamModel, learner: Learner) -> None:
        self._context = rows.sparkSession.sparkContext
        self._sent = [self._context.broadcast(to_bytes(model))]
        self._problem = b"".join(bytes(each) for each in model_file.to_chunks(learner.saved()))
        encoded = with_results(rows, partial(encoded_events, self._sent[0]))
        shards = _one_by_one(encoded.rdd.map(_fields))
        self._count = shards.getNumPartitions()
        # A task may have several shards: what a round costs is mostly the start of its tasks.
        self._events = shards.coalesce(self._context.defaultParallelism).persist(StorageLevel.MEMORY_AND_DISK)
        self._states: list[RDD[Any]] = []
        self._asked = 0
        faulty = self._events.filter(lambda each: each[2] is not None)
        if faults := faulty.map(lambda each: (each[0], each[2])).collect():
            self.close()
            raise InputError("partition {}: {}".format(*min(faults)))

    def ask(self, question: dict[str, Any]) -> dict[str, Any]:
        """Put a question to every shard: one job."""
        sent = self._context.broadcast(question)
        self._sent.append(sent)
        pairs = self._events.zip(self._states[-1]) if self._states else self._events.map(lambda each: (each, None))
        answered = _one_by_one(pairs.map(partial(answer_of, self._problem, sent)))
        answered.persist(StorageLevel.MEMORY_AND_DISK)
        self._asked += 1
        is_cut = self._asked % ROUNDS_OF_A_CHAIN == 0
        if is_cut and self._context.getCheckpointDir() is not None:
            answered.checkpoint()
        elif is_cut:
            answered.localCheckpoint()
        answer = combined_by_groups(answered.map(_without_state), self._count)
        self._states.append(answered)
        if len(self._states) > 3:  # the first and the last two remain: Spark can make the others again
            self._states[-3].unpersist()
        if is_cut:
            self._forget(self._states[:-1], self._sent[1:-1])
            self._states, self._sent = self._states[-1:], [self._sent[0], self._sent[-1]]
        return answer

    def calibration(self, model: StreamModel) -> calibration.Calibration | calibration.Softmax:
        """What turns the solution's margins into probabilities: learned by each partition, and merged."""
        sent = self._context.broadcast(to_bytes(model))
        self._sent.append(sent)
        found = self._events.map(partial(calibrated, sent)).collect()
        parts = [calibration.restored(model_file.from_bytes(each, "a calibration")) for each in found if each]
        return reduce(calibration.Calibration.merge, parts)  # type: ignore[arg-type] # of hinge and the like: no softmax

    def close(self) -> None:
        """Free what the executors keep."""
        self._forget([*self._states, self._events], self._sent)

    def _forget(self, held: "list[RDD[Any]]", sent: "list[Broadcast[Any]]") -> None:
        for rdd in held:
            rdd.unpersist()
        for each in sent:
            each.destroy()


def _fields(row: Any) -> tuple[int, bytes | None, str | None]:
    """The place of a partition, and its events or why there are none."""
    return row.place, None if row.model is None else bytes(row.model), row.fault


def _without_state(answered: tuple[int, dict[str, Any], bytes]) -> tuple[int, dict[str, Any]]:
    return answered[0], answered[1]


def _one_by_one(rdd: "RDD[Any]") -> "RDD[Any]":
    """The same, in the form in which two RDDs with an element in each partition can be zipped without reading them before."""
    return rdd._reserialize(BatchedSerializer(CPickleSerializer(), 1))  # noqa: SLF001 - `zip` itself does so, every time


def combined_by_groups(answers: "RDD[tuple[int, dict[str, Any]]]", count: int) -> dict[str, Any]:
    """The combined answers, always added in the same order; groups of many are combined where they are."""
    while count > FAN_IN:
        count = -(-count // FAN_IN)
        grouped = answers.map(lambda each: (each[0] // FAN_IN, each)).groupByKey(count)
        answers = grouped.map(lambda each: (each[0], _in_order(each[1])))
    return _in_order(answers.collect())


def _in_order(answers: Iterable[tuple[int, dict[str, Any]]]) -> dict[str, Any]:
    return combined(answer for _, answer in sorted(answers, key=lambda each: each[0]))


# What tasks do


def encoded_events(sent: "Broadcast[bytes]", batches: Iterable[pa.RecordBatch]) -> bytes:
    """The events of a partition as arrays, in the format of model files: features numbered by the model, and the labels of its lanes."""
    model = from_bytes(sent.value)
    table = as_table(batches)
    blocks = [] if table is None else model.blocks_of(table, learning=True, threads=1)
    parts = [part for part in (arrays_of(model, block) for block in blocks) if len(part["y"])]
    arrays: dict[str, Any] = {}
    if parts:
        arrays = {name: np.concatenate([each[name] for each in parts]) for name in parts[0]}
    size = sum(each.nbytes for each in arrays.values())
    if size > LARGEST:
        raise ValueError(
            f"its events take {size / 1e9:.1f} GB, and Spark can hand 2 GB to a task. Use more partitions."
        )
    return b"".join(bytes(each) for each in model_file.to_chunks(model_file.ModelFile("Events", {}, arrays)))


def arrays_of(model: StreamModel, block: Block) -> dict[str, Any]:
    """The labelled events of a block."""
    block.drop_unlabelled()
    model.require_learnable(block)
    rows = block.rows
    if model.vocabulary is not None and rows.width > model.n_names:
        raise ValueError(
            "it has features that it did not have a moment ago. exact=True needs a table that stays the same."
        )
    if isinstance(model.model, LinearClassifier):
        y = model.model.layout.labels(model.codes_of(block)[0])
    else:
        y = rows.label[:, None]
    time = block.time if model.options.uses_time else None
    given = dict(zip(COLUMNS, (block.weight, block.offset, time), strict=True))
    return {
        "data": rows.data,
        "indices": rows.indices,
        "lengths": np.diff(rows.indptr),
        "y": y,
        **{name: values for name, values in given.items() if values is not None},
    }


def events_from(data: bytes) -> tuple[Any, Any, dict[str, Any]]:
    """X, y and the other columns of encoded events."""
    from scipy.sparse import csr_array  # noqa: PLC0415 - slow to import

    arrays = model_file.from_bytes(data, "the events of a partition").arrays
    if not arrays:
        return None, None, {}
    indptr = np.concatenate([[0], np.cumsum(arrays["lengths"])])
    width = int(arrays["indices"].max(initial=-1)) + 1
    X = csr_array((arrays["data"], arrays["indices"], indptr), shape=(len(indptr) - 1, width))
    return X, arrays["y"], {name: arrays[name] for name in COLUMNS if name in arrays}


def answer_of(problem: bytes, question: "Broadcast[Any]", pair: Any) -> tuple[int, dict[str, Any], bytes]:
    """The answer of a partition's shard, between its place and the state in which it leaves the shard."""
    (number, events, _), before = pair
    learner = model_file.rebuild(
        model_file.from_bytes(problem, "a problem"), {Learner.kind: Learner.restored}, "a problem"
    )
    X, y, columns = events_from(events)
    if X is None:
        X, y, columns = np.zeros((0, 0)), np.zeros((0, learner.lanes)), {"time": []} if learner.window.uses_time else {}
    shard = Shard(learner, X, y, **columns)
    if before is not None:
        shard.restore(before[2])
    answer = shard.answer(question.value)
    return number, answer, shard.to_bytes()


def calibrated(sent: "Broadcast[bytes]", events: tuple[int, bytes, None]) -> bytes:
    """A calibration by the margins of the model for the events of a partition, in random order, as they may be sorted."""
    model = from_bytes(sent.value).model
    assert isinstance(model, LinearClassifier)
    X, y, columns = events_from(events[1])
    if X is None:
        return b""
    order = np.random.default_rng(0).permutation(len(y))
    margins = model.learner.predict(X, offset=columns.pop("offset", None))
    model.calibrate(margins[order], y[order], **{name: values[order] for name, values in columns.items()})
    assert model.calibration is not None
    return b"".join(bytes(each) for each in model_file.to_chunks(model.calibration.saved()))
