"""What is to be learned from a stream, and how."""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Literal, TypeAlias, get_args

import numpy as np

from odca.errors import Remedy
from odca.losses import MARGIN_LOSSES, LogLoss, Poisson, SquaredError
from odca.names import prior_strength_for, smoothing_for
from odca.penalties import L2, Penalty
from odca.stream.read.blocks import Block
from odca.stream.read.errors import StreamError
from odca.stream.read.schema import Schema
from odca.windows import Infinite, Window

Task: TypeAlias = Literal["classes", "numbers"]
Label: TypeAlias = float | str
Memory: TypeAlias = Literal["events", "time"]

RHO, RHO_SCALED = 1e-5, 1e-3
"""Of text, as for the estimators; and of tables, whose features are scaled: there 1e-5 lets the first events run far off."""
DENSE = ("csv", "jsonl", "arrow", "parquet")
"""Formats whose numbers are in units of their own: they are scaled unless told otherwise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """What is to be learned, and how. What is None is decided by the first events.

    task: whether labels are classes or numbers. None: classes if they are texts or only two, or if the loss is for classes.
    loss: None is log loss for classes and squared error for numbers.
    classes: all of them, if they are known beforehand; else those of the first events count, and more than two may become more still.
    scale: divide each number by the root mean square of its values so far. None: in tables and JSON.
    rho: None is 1e-5, or 1e-3 where features are scaled.
    smoothing, prior_strength: None follows the window, and the first event.
    auto: nothing of all that is chosen, but learned (odca.AutoLearner); memories count in "events" or in "time".
    """

    task: Task | None = None
    loss: object | None = None
    penalty: Penalty = L2()  # noqa: RUF009 - frozen
    rho: float | None = None
    window: Window = Infinite()  # noqa: RUF009 - frozen
    smoothing: float | None = None
    prior_strength: float | None = None
    intercept: bool = True
    intercept_penalty: float = 1.0
    scale: bool | None = None
    classes: tuple[Label, ...] = ()
    auto: Memory | None = None

    @property
    def uses_time(self) -> bool:
        """Whether events need a time."""
        return self.window.uses_time or self.auto == "time"

    def settled(self, schema: Schema, sample: Block) -> "Problem":
        """With nothing left to decide, by the first events of a stream."""
        if schema.format in DENSE and schema.roles.label is None:
            raise StreamError(
                _which_label(schema), path=sample.path, remedy=Remedy("Name it with {label}.", label=None)
            )
        if not len(sample):
            if sample.bad_count:
                raise sample.bad_lines()[0]
            raise StreamError("there are no events.", path=sample.path)
        if len({*self.classes}) < len(self.classes) or len(self.classes) == 1:
            raise ValueError(
                f"classes must be two or more, each named once; got {', '.join(show(each) for each in self.classes)}."
            )
        labels = sorted(set(sample.y[~sample.is_unlabelled].tolist()), key=_order)
        if not labels:
            raise StreamError(_without_labels(schema, len(sample)), path=sample.path)
        task = self.task or ("classes" if self.classes else _task_of(self.loss, labels))
        classes = self.classes or (tuple(labels) if task == "classes" else ())
        if task == "classes" and len(classes) < 2:
            shown = f"only {show(classes[0])}" if classes else "none"
            raise StreamError(
                f"classes are at least two, but the first {len(sample)} events have {shown}.",
                path=sample.path,
                remedy=Remedy(
                    "Name all classes ({classes}), or say that the labels are numbers ({task}).",
                    classes=None,
                    task="numbers",
                ),
            )
        loss = self.loss if self.loss is not None else LogLoss() if task == "classes" else SquaredError()
        if task == "numbers" if isinstance(loss, MARGIN_LOSSES) else task == "classes" and loss != SquaredError():
            raise ValueError(f"{loss!r} is not for {task}. Choose another loss, or another task.")
        scale = schema.format in DENSE if self.scale is None else self.scale
        strength = self.prior_strength
        if strength is None:
            strength = prior_strength_for(_squared_length(sample, scale)) if task == "classes" else 0.0
        return replace(
            self,
            task=task,
            loss=loss,
            classes=classes,
            scale=scale,
            rho=(RHO_SCALED if scale else RHO) if self.rho is None else self.rho,
            prior_strength=strength,
            smoothing=smoothing_for(self.window) if self.smoothing is None else self.smoothing,
        )

    def require_settled(self) -> None:
        """ValueError for what `settled` cannot have made."""
        if self.task not in get_args(Task) or self.auto not in (None, *get_args(Memory)):
            raise ValueError(f"its task is {self.task!r}, and automatic by {self.auto!r}.")
        if not all(type(each) in {float, str} for each in self.classes) or len({*self.classes}) < len(self.classes):
            raise ValueError("its classes are not different numbers or texts.")
        if (self.task == "classes") != (len(self.classes) >= 2):
            raise ValueError(f"its task is {self.task}, and it has {len(self.classes)} classes.")

    def as_options(self) -> dict[str, Any]:
        """For a model file."""
        return {each.name: getattr(self, each.name) for each in fields(self)}


def show(label: Label) -> str:
    """A label as a person writes it: 1 and not 1.0.

    >>> show(1.0), show("UP")
    ('1', 'UP')
    """
    if isinstance(label, str):
        return label
    return str(int(label)) if label == int(label) and abs(label) < 1e15 else repr(float(label))


def _order(label: Label) -> tuple[bool, Label]:
    """Numbers first."""
    return isinstance(label, str), label


def _task_of(loss: object | None, labels: Sequence[Label]) -> Task:
    if loss is not None:
        return "classes" if isinstance(loss, MARGIN_LOSSES) else "numbers"
    return "classes" if len(labels) == 2 or any(isinstance(label, str) for label in labels) else "numbers"


def _squared_length(sample: Block, scale: bool) -> float:
    """Of the first event: as many as it has features, if each is about one."""
    first = sample.rows.data[: sample.rows.indptr[1]]
    with np.errstate(over="ignore"):
        length = float(len(first) if scale else first @ first)
    if not np.isfinite(length):
        raise StreamError(
            "the values are too large: their squares are no floats.",
            path=sample.path,
            line=sample.line(0),
            row=0,
            remedy=Remedy("Scale the features ({scale}).", scale=True),
        )
    return length


def _which_label(schema: Schema) -> str:
    names = [column.name for column in schema.columns]
    there = f" There are {', '.join(names[:30])}{', ...' if len(names) > 30 else ''}." if names else ""
    return f"which column is the label?{there}"


def _without_labels(schema: Schema, events: int) -> str:
    if schema.roles.label is None:
        return f"the first {events} events have no label."
    return f"the first {events} events have nothing in {schema.roles.label!r}, which should be the label."


def typical(loss: object, sample: Block) -> float:
    """Where the intercept begins: at the first label that is a number."""
    labels = sample.rows.label[np.isfinite(sample.rows.label)]
    first = float(labels[0]) if len(labels) else 0.0
    return float(np.log(max(first, 0.1))) if isinstance(loss, Poisson) else first
