"""What is asked for, the model that it begins with, and one pass over the partitions of a table."""

import warnings
from collections.abc import Sequence
from typing import Any

from pyspark.sql import DataFrame

from odca.errors import InputError
from odca.losses import MARGIN_LOSSES, as_loss
from odca.models.options import Label, Memory, Products, Task, numbers_first
from odca.records import record
from odca.spark.parts import learn_partitions, merged
from odca.spark.tables import first_rows, holds_names, require_columns
from odca.stream.model import StreamModel
from odca.stream.read.schema import native_columns
from odca.stream.read.stream import open as open_stream
from odca.stream.training import untrained

MOST_CLASSES = 10_000


@record(kw_only=True)
class Wish:
    """What a user asks for: the roles of columns, and the options of the model and of its features, as in `odca.train`."""

    roles: dict[str, str]
    given: dict[str, Any]
    """The options of the linear model; none for the automatic mode."""
    features: dict[str, Any]
    task: Task | None = None
    classes: tuple[Label, ...] = ()
    auto: bool = False
    memory: Memory | None = None
    products: Products = "auto"

    def begin(self, df: DataFrame, *, all_classes: bool = True) -> StreamModel:
        """An untrained model, which the first rows have decided how to read; `all_classes` are looked for in all rows."""
        require_columns(df, self.roles.values())
        label = self.roles["label"]
        names_classes = self.task == "classes" or self.of_margins or (self.task is None and holds_names(df, label))
        seeks = all_classes and not self.classes
        classes = labels_of(df, label) if seeks and names_classes else self.classes
        sample = first_rows(df)
        model, notes = self._begun(sample, classes)
        if seeks and not classes and model.task == "classes":
            model, notes = self._begun(sample, labels_of(df, label))
        for note in notes:
            warnings.warn(str(note), stacklevel=3)
        return model

    @property
    def of_margins(self) -> bool:
        """Whether the loss is one for classes only."""
        loss = self.given.get("loss")
        return loss is not None and isinstance(as_loss(loss), MARGIN_LOSSES)

    def begun(self, sample: Any) -> StreamModel:
        """An untrained model, which these events have decided how to read."""
        return self._begun(sample, self.classes)[0]

    def _begun(self, sample: Any, classes: Sequence[Label]) -> tuple[StreamModel, list[InputError]]:
        wish: dict[str, Any] = {name: getattr(self, name) for name in ("task", "auto", "memory", "products")}
        stream, model, notes = untrained(
            sample, reading=self.roles, features=self.features, given=self.given, classes=classes, **wish
        )
        stream.close()
        if model.schema.features.history:
            raise ValueError(
                "history needs all events in one order, which the partitions of a table do not have. Leave history out, or compute "
                "such features with Spark's window functions."
            )
        return model, notes


def labels_of(df: DataFrame, label: str) -> tuple[Label, ...]:
    """All classes of a table, in order. ValueError if there are too many."""
    found = df.select(label).distinct().limit(MOST_CLASSES + 1).toArrow()
    if found.num_rows > MOST_CLASSES:
        raise ValueError(
            f"the column {label!r} has more than {MOST_CLASSES:,} different values. If they are numbers to predict, use task='numbers'."
        )
    with open_stream(found, label=label) as stream:
        labels = {each for block in stream for each in block.y[~block.is_unlabelled].tolist()}
    return tuple(sorted(labels, key=numbers_first))


def wish_of(
    roles: dict[str, str | None],
    linear: dict[str, Any],
    features: dict[str, Any],
    *,
    scales: bool = False,
    **rest: Any,
) -> Wish:
    """The wish of somebody who gave these options; None is not given.

    A linear model that is learned by several partitions does not scale its features: each would have its own units.
    """
    given = {name: value for name, value in linear.items() if value is not None}
    if given and not scales:
        given["scale"] = False
    return Wish(
        roles={role: name for role, name in roles.items() if name is not None},
        given=given,
        features=features,
        **rest,
    )


def one_pass(df: DataFrame, model: StreamModel, *, parts: int = 1) -> StreamModel:
    """The model after one pass over the table; a model that has learned is split into as many parts as there are partitions."""
    return merged(learn_partitions(df.select(*used_columns(model, df.columns)), model, parts=parts))


def in_partitions(df: DataFrame, partitions: int | None) -> tuple[DataFrame, int]:
    """The table in so many partitions, or in those that it has; and their number."""
    return (df, df.rdd.getNumPartitions()) if partitions is None else (df.repartition(partitions), partitions)


def used_columns(model: StreamModel, there: Sequence[str]) -> list[str]:
    """The columns that a model reads, of those that are there."""
    used = {name for name, role, _, _ in native_columns(model.schema) if role != "ignored"}
    return [name for name in there if name in used]
