"""Learning from a stream of Spark, each event exactly once.

Spark repeats a micro-batch after a crash, with the same number and the same events. The model after a batch is written under the
batch's number before Spark records that the batch is done; a batch whose number is not above the last one written is skipped. The
file is the only state, and it appears under its name all at once, so that a crash at any moment loses nothing and repeats nothing:

    before the file is renamed              the batch is learned again, from the model before it
    after that, before Spark's own record   the batch comes again, and is skipped

Tasks depend on nothing but their rows and the model before: a task that is repeated gives the same bits.
"""

import json
import time as clock
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any, Unpack

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming import StreamingQueryListener

from odca.features.spec import FeatureOptions
from odca.metrics import ClassMetrics, NumberMetrics
from odca.models.options import Label, Memory, OrAuto, Products, Task
from odca.penalties import Penalty
from odca.records import record
from odca.spark.files import Folder
from odca.spark.parts import from_bytes, merged, place, to_bytes, with_results
from odca.spark.passes import Wish, in_partitions, used_columns, wish_of
from odca.spark.tables import as_table
from odca.stream.evaluation import Evaluation
from odca.stream.model import StreamModel
from odca.windows import Window

KEPT_MODELS = 2
"""The models of so many batches are kept."""
KEPT_REPORTS = 1000
QUERY, MODELS = "query", "models"
"""The folders below the checkpoint: Spark's own, and that of the models, with a folder for each query."""
SUFFIX = ".safetensors"


@record
class BatchReport:
    """What is known of a micro-batch once it is learned."""

    batch: int
    """Its number."""
    events: int
    """The number of its labelled events."""
    scores: dict[str, float]
    """How well the model from before the batch predicted them."""
    seconds: float
    """How long learning took, with the scores and the file."""
    total: int
    """The number of events that the model has learned since the beginning."""


class Models:
    """The models of a query's batches, in files that are named by the number of the batch."""

    def __init__(self, spark: SparkSession, checkpoint: str) -> None:
        described = json.loads(Folder(spark, f"{checkpoint}/{QUERY}").read("metadata"))
        # A checkpoint that was deleted begins a new query, which counts its batches anew.
        self._folder = Folder(spark, f"{checkpoint}/{MODELS}/{described['id']}")

    def last(self) -> tuple[int, StreamModel | None]:
        """The number of the last batch that was learned, -1 if none was; and the model after it."""
        names = self._names()
        return (-1, None) if not names else (_number(names[-1]), from_bytes(self._folder.read(names[-1])))

    def add(self, batch: int, model: StreamModel) -> None:
        """Write the model after a batch. From now on the batch is learned."""
        self._folder.write(f"{batch:012d}{SUFFIX}", to_bytes(model))
        for name in self._names()[:-KEPT_MODELS]:
            self._folder.remove(name)

    def _names(self) -> list[str]:
        return [name for name in self._folder.names() if name.endswith(SUFFIX)]


def _number(name: str) -> int:
    return int(name.removesuffix(SUFFIX))


class Learning:
    """A running query that learns. Made by `learn_stream`."""

    def __init__(
        self,
        spark: SparkSession,
        checkpoint: str,
        wish: Wish,
        *,
        initial: StreamModel | None,
        partitions: int | None,
        on_batch: Callable[[BatchReport], None] | None,
    ) -> None:
        self._spark, self._checkpoint, self._wish = spark, checkpoint, wish
        self._initial, self._partitions, self._on_batch = initial, partitions, on_batch
        self._models: Models | None = None
        self._batch, self._model = -1, initial
        self.reports: deque[BatchReport] = deque(maxlen=KEPT_REPORTS)
        """The reports of the last batches that this process learned."""
        self.progress: deque[dict[str, Any]] = deque(maxlen=KEPT_REPORTS)
        """What Spark reports of each batch (rows, rates, durations), with the report of its learning under "odca"."""
        self.query: Any = None
        """Spark's StreamingQuery: `awaitTermination`, `stop`, `status`, ..."""

    @property
    def model(self) -> StreamModel | None:
        """The model after the last batch that was learned; None before the first."""
        return self._model

    def learn_batch(self, batch: DataFrame, number: int) -> None:
        """Learn a micro-batch, unless that was done before: what foreachBatch calls."""
        if self._models is None:
            self._models = Models(self._spark, self._checkpoint)
            last, found = self._models.last()
            self._batch, self._model = last, self._initial if found is None else found
        if number <= self._batch:
            return
        began = clock.monotonic()
        before = self._model
        if before is None:
            if batch.isEmpty():
                return
            before = self._wish.begin(batch, all_classes=False)
        model, scores = learned_batch(batch, before, self._partitions)
        self._models.add(number, model)
        self._batch, self._model = number, model
        report = BatchReport(number, scores.events, scores.scores(), clock.monotonic() - began, model.metrics.events)
        self.reports.append(report)
        if self._on_batch is not None:
            self._on_batch(report)


def learned_batch(
    batch: DataFrame, before: StreamModel, partitions: int | None = None
) -> tuple[StreamModel, ClassMetrics | NumberMetrics]:
    """The model after a micro-batch, which its partitions learn at the same time, and how well the model before predicted it.

    Each partition begins with one of as many parts as there are partitions, and the parts are merged again: see `StreamModel.split`.
    """
    rows, parts = in_partitions(batch.select(*used_columns(before, batch.columns)), partitions)
    held = rows.sparkSession.sparkContext.broadcast(to_bytes(before))

    def learned(batches: Iterable[pa.RecordBatch]) -> bytes:
        known = from_bytes(held.value)
        mine, evaluation = known.part(place(), parts), Evaluation(known, answer=known.answer_while_learning)
        events = as_table(batches)
        for block in [] if events is None else mine.blocks_of(events, learning=True, threads=1):
            evaluation.add(block)
            mine.learn(block)
        mine.metrics = evaluation.metrics
        return to_bytes(mine)

    try:
        model = merged(with_results(rows, learned))
    finally:
        held.destroy()
    scores = model.metrics
    if isinstance(scores, ClassMetrics) and isinstance(before.metrics, ClassMetrics):
        model.metrics = before.metrics.merge(scores, range(len(model.classes)))
    elif isinstance(scores, NumberMetrics) and isinstance(before.metrics, NumberMetrics):
        model.metrics = before.metrics.merge(scores)
    return model, scores


class _Listener(StreamingQueryListener):  # type: ignore[misc] # PySpark is not checked
    """Puts what Spark reports of a query's batches beside what is known of their learning."""

    def __init__(self, learning: Learning) -> None:
        self._learning = learning

    def onQueryStarted(self, event: Any) -> None:
        """Nothing is to be done."""

    def onQueryProgress(self, event: Any) -> None:
        """Take the progress of a batch."""
        if self._learning.query is None or str(event.progress.id) != str(self._learning.query.id):
            return
        known: dict[str, Any] = json.loads(event.progress.json)
        report = next((each for each in self._learning.reports if each.batch == known["batchId"]), None)
        self._learning.progress.append({**known, "odca": None if report is None else asdict(report)})

    def onQueryIdle(self, event: Any) -> None:
        """Nothing is to be done."""

    def onQueryTerminated(self, event: Any) -> None:
        """Nothing is to be done."""


def learn_stream(
    stream: DataFrame,
    *,
    checkpoint: str,
    label: str,
    weight: str | None = None,
    offset: str | None = None,
    time: str | None = None,
    task: Task | None = None,
    classes: Sequence[Label] = (),
    auto: bool = False,
    memory: Memory | None = None,
    products: Products = "auto",
    loss: Any = None,
    penalty: Penalty | str | None = None,
    rho: OrAuto | None = None,
    window: Window | str | float | None = None,
    smoothing: OrAuto | None = None,
    prior_strength: OrAuto | None = None,
    intercept: bool = True,
    initial: StreamModel | None = None,
    partitions: int | None = None,
    trigger: Mapping[str, Any] | None = None,
    on_batch: Callable[[BatchReport], None] | None = None,
    name: str | None = None,
    **features: Unpack[FeatureOptions],
) -> Learning:
    """Learn from a stream of Structured Streaming, each event exactly once; return the running query and its model.

    Any source of Spark will do that can be read again from a position: files, Kafka, Delta. Each micro-batch is first predicted by the
    model from before it, for the scores of its report, and then learned by its partitions at the same time.

    checkpoint: the folder of the query's state and of its models. After a crash, call it again with the same folder and options. The
        last model is an ordinary model file, models/QUERY/BATCH.safetensors.
    label, ... , intercept, features: as for `odca.spark.train`. The first micro-batch decides how the data are read. Name all `classes`
        of a linear model, which cannot add any.
    initial: a model to begin with; the checkpoint's model comes first.
    partitions: how many partitions learn a micro-batch; None for those that it has.
    trigger: keywords of DataStreamWriter.trigger, such as {"processingTime": "10 seconds"} or {"availableNow": True}.
    on_batch: called with a BatchReport after each micro-batch, when its model is saved.
    name: of the query, in Spark's user interface.
    """
    roles = {"label": label, "weight": weight, "offset": offset, "time": time}
    linear = {
        "loss": loss, "penalty": penalty, "rho": rho, "window": window, "smoothing": smoothing,
        "prior_strength": prior_strength, "intercept": None if intercept else False,
    }  # fmt: skip
    wish = wish_of(
        roles,
        linear,
        dict(features),
        task=task,
        classes=tuple(classes),
        auto=auto,
        memory=memory,
        products=products,
    )
    spark, folder = stream.sparkSession, checkpoint.rstrip("/")
    learning = Learning(spark, folder, wish, initial=initial, partitions=partitions, on_batch=on_batch)
    listener = _Listener(learning)
    spark.streams.addListener(listener)
    writer = stream.writeStream.foreachBatch(learning.learn_batch).option("checkpointLocation", f"{folder}/{QUERY}")
    if name is not None:
        writer = writer.queryName(name)
    if trigger is not None:
        writer = writer.trigger(**trigger)
    learning.query = writer.start()
    return learning
