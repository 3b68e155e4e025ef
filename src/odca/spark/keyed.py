"""One model for each key: thousands of small learners, in Spark's own state.

The model of a key is a value of Spark's state store, which Spark writes with its checkpoints and restores after a crash: each event is
learned exactly once. Events of one key are learned in the order of their times within a micro-batch. One that comes in a later batch
than it should is late: its time is before the model's clock, and it gets the weight that its own time gives it (`HalfLife`).
"""

from collections.abc import Iterator, Sequence
from typing import Any, Unpack

from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as sql
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from odca.features.spec import FeatureOptions
from odca.models.options import Label, OrAuto, Products, label_text
from odca.models.uncertainty import Uncertainty
from odca.penalties import Penalty
from odca.spark.parts import from_bytes, to_bytes
from odca.spark.passes import Wish, wish_of
from odca.spark.tables import holds_names, require_columns
from odca.stream.model import StreamModel
from odca.stream.read.blocks import Block
from odca.stream.read.stream import BadLines
from odca.stream.training import Training
from odca.windows import Window

STATE = "model"


class _Told:
    """The predictions for consecutive events, each from before its event was learned."""

    def __init__(self, model: StreamModel) -> None:
        self._model = model
        self.labels: list[Label] = []

    def tell(self, block: Block, predictions: Any, before: Uncertainty | None) -> None:
        """Take the predictions for the events of a block."""
        del block, before
        self.labels += self._model.shown(predictions, "label").tolist()

    def written(self) -> int:
        """Nothing is written."""
        return 0


class _Events:
    """Events at hand, as a stream of one block."""

    def __init__(self, block: Block) -> None:
        self._block = block
        self.bad = BadLines()

    def __iter__(self) -> Iterator[Block]:
        yield self._block


def predicted_and_learned(model: StreamModel, events: list[dict[str, Any]]) -> list[Label]:
    """Learn events in order, and return the prediction for each from before it was learned."""
    told = _Told(model)
    (block,) = model.blocks_of(events, learning=True)
    Training(model, _Events(block), predictions=told).learn(lambda _: None)  # type: ignore[arg-type] # all that is used of a stream
    return told.labels


class KeyedLearner(StatefulProcessor):  # type: ignore[misc] # PySpark is not checked
    """Learns the events of each key with a model of its own: what transformWithState calls."""

    def __init__(self, wish: Wish, key: str, as_text: bool) -> None:
        self._wish, self._key, self._as_text = wish, key, as_text
        self._state: Any = None

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Open the state of the keys."""
        self._state = handle.getValueState(STATE, "model binary")

    def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[Any]:
        """Learn the events of a key in a micro-batch; return them with their predictions."""
        del key, timerValues
        events = [row.asDict() for row in rows]
        time = self._wish.roles.get("time")
        if time is not None:
            events.sort(key=lambda event: (event[time] is None, event[time]))
        fields = [{name: value for name, value in event.items() if name != self._key} for event in events]
        model = from_bytes(bytes(self._state.get()[0])) if self._state.exists() else self._wish.begun(fields)
        for event, prediction in zip(events, predicted_and_learned(model, fields), strict=True):
            told = label_text(prediction) if self._as_text else float(prediction)
            yield Row(**event, prediction=told, learned=model.learner.count)
        self._state.update((to_bytes(model),))

    def close(self) -> None:
        """Nothing is to be done."""


def learn_by_key(
    df: DataFrame,
    *,
    key: str,
    label: str,
    weight: str | None = None,
    offset: str | None = None,
    time: str | None = None,
    watermark: str | None = None,
    classes: Sequence[Label] = (),
    auto: bool = False,
    products: Products = "auto",
    loss: Any = None,
    penalty: Penalty | str | None = None,
    rho: OrAuto | None = None,
    window: Window | str | float | None = None,
    smoothing: OrAuto | None = None,
    prior_strength: OrAuto | None = None,
    intercept: bool = True,
    scale: bool | None = None,
    **features: Unpack[FeatureOptions],
) -> DataFrame:
    """Learn one model for each key of a stream; return the events with the predictions for them, each from before it was learned.

    The result has all columns of `df`, the column `prediction`, and `learned`, how many events the model of the key has learned. Write
    it with a checkpoint wherever you like (`writeStream`); `models_by_key` reads the models. Spark's state store must be RocksDB's:
    set spark.sql.streaming.stateStore.providerClass, as docs/spark.md shows. A table that is no stream works too.

    key: the column of the keys; it is not a feature.
    time, watermark: the column of the times of events, and how late they may be ("10 minutes"): later ones are dropped, by Spark.
        Without a watermark none is dropped.
    classes: all classes; needed if the label is text. Otherwise labels are numbers.
    label, weight, ... , features: as for `odca.train`. The model is automatic unless an option of a linear model is given.
    """
    require_columns(df, [key, label, weight, offset, time])
    as_text = holds_names(df, label)
    if as_text and not classes:
        raise ValueError(f"{label!r} holds text, so a key begins with one class. Name all classes.")
    roles = {"label": label, "weight": weight, "offset": offset, "time": time}
    linear = {
        "loss": loss, "penalty": penalty, "rho": rho, "window": window, "smoothing": smoothing,
        "prior_strength": prior_strength, "intercept": None if intercept else False, "scale": scale,
    }  # fmt: skip
    task = "classes" if classes else "numbers"
    wish = wish_of(
        roles, linear, dict(features), scales=True, task=task, classes=tuple(classes), auto=auto, products=products
    )
    if watermark is not None:
        if time is None:
            raise ValueError("watermark needs time, the column of the times of events.")
        df = df.withWatermark(time, watermark)
    shown = sql.StringType() if as_text else sql.DoubleType()
    schema = sql.StructType(
        [
            *df.schema.fields,
            sql.StructField("prediction", shown),
            sql.StructField("learned", sql.LongType()),
        ]
    )
    return df.groupBy(key).transformWithState(
        statefulProcessor=KeyedLearner(wish, key, as_text),
        outputStructType=schema,
        outputMode="append",
        timeMode="None" if watermark is None else "EventTime",
    )


def models_by_key(spark: SparkSession, checkpoint: str) -> dict[Any, StreamModel]:
    """The model of each key, from the checkpoint of a query of `learn_by_key`."""
    state = spark.read.format("statestore").option("path", checkpoint).option("stateVarName", STATE).load()
    rows = state.select("key.*", F.col("value")["model"].alias(STATE)).toArrow()
    keys, models = rows.columns
    return {key: from_bytes(model) for key, model in zip(keys.to_pylist(), models.to_pylist(), strict=True)}
