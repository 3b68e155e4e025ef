"""What the first events of a stream decide: the task, the classes, and all options that are "auto"."""

from dataclasses import replace

import numpy as np

from odca import _core
from odca.errors import InputError, Remedy
from odca.losses import MARGIN_LOSSES
from odca.models.options import ModelOptions, Task, default_loss, label_text, numbers_first, require_loss_for
from odca.stream.read.blocks import Block
from odca.stream.read.errors import StreamError, listed
from odca.stream.read.schema import Schema
from odca.validation.arrays import Array

TABLES = ("csv", "jsonl", "arrow", "parquet")
"""Formats whose numbers have units, so that "auto" scales them."""
FEW_TEXTS = 20
"""One label in this many may be a text among numbers."""


def resolved(options: ModelOptions, schema: Schema, sample: Block) -> ModelOptions:
    """The options without any "auto". StreamError if no model can be made for the first events."""
    _require_labels(options, schema, sample)
    labels = sorted(set(sample.y[~sample.is_unlabelled].tolist()), key=numbers_first)
    task = options.task or ("classes" if options.classes else _task_of(options.loss, sample))
    classes = options.classes or (tuple(labels) if task == "classes" else ())
    if task == "classes" and len(classes) < 2:
        shown = f"only {label_text(classes[0])}" if classes else "none"
        raise StreamError(
            f"there must be at least two classes, but the first {len(sample)} events have {shown}.",
            path=sample.path,
            remedy=Remedy(
                "Name all classes ({classes}), or say that the labels are numbers ({task}).",
                classes=None,
                task="numbers",
            ),
        )
    loss = default_loss(task) if options.loss is None else options.loss
    require_loss_for(task, loss)
    known = replace(options, task=task, loss=loss, classes=classes)
    try:
        return known.resolved(in_units=schema.format in TABLES, first=_first_features(schema, sample))
    except InputError as error:
        raise StreamError(
            error.message, row=error.row, remedy=error.remedy, **sample.place_of(sample.rows.line[0])
        ) from error


def _first_features(schema: Schema, sample: Block) -> Array:
    """The values of the features of the first event, without its history."""
    first = sample.rows.part(0, 1)
    if schema.features.tf_idf:
        alone = replace(schema, features=replace(schema.features, history=()))
        first = _core.History(alone.native_features()).extended(first, first.label, None, enters=False)
    return first.data


def _require_labels(options: ModelOptions, schema: Schema, sample: Block) -> None:
    if schema.format in TABLES and schema.roles.label is None:
        raise StreamError(_which_label(schema), path=sample.path, remedy=Remedy("Name it with {label}.", label=None))
    if not len(sample):
        if sample.bad_count:
            raise sample.bad_lines(can_be_skipped=True)[0]
        raise StreamError("there are no events.", path=sample.path)
    endless = [each for each in options.classes if isinstance(each, float) and not np.isfinite(each)]
    if endless:
        raise ValueError(f"classes must be texts or finite numbers; got {endless[0]}.")
    if len({*options.classes}) < len(options.classes) or len(options.classes) == 1:
        raise ValueError(
            f"classes must be two or more, each named once; got {', '.join(label_text(each) for each in options.classes)}."
        )
    if sample.is_unlabelled.all():
        remedy = Remedy("Name the column that holds it ({label}).", label=None) if schema.format in TABLES else None
        raise StreamError(_without_labels(schema, len(sample)), path=sample.path, remedy=remedy)


def _task_of(loss: object | None, sample: Block) -> Task:
    """Two numbers are classes, and so are texts; but a few texts among many numbers are exceptions, which are refused one by one."""
    if loss is not None:
        return "classes" if isinstance(loss, MARGIN_LOSSES) else "numbers"
    texts = int((sample.rows.label_text >= 0).sum())
    labelled = int((~sample.is_unlabelled).sum())
    numbers = len(set(sample.rows.label[~np.isnan(sample.rows.label)].tolist()))
    few_texts = texts * FEW_TEXTS <= labelled and numbers > 2
    return "classes" if numbers == 2 or (texts and not few_texts) else "numbers"


def _which_label(schema: Schema) -> str:
    there = f" There are {listed(column.name for column in schema.columns)}." if schema.columns else ""
    return f"which column is the label?{there}"


def _without_labels(schema: Schema, events: int) -> str:
    if schema.roles.label is None:
        return f"the first {events} events have no label."
    return f"the first {events} events have no value in {schema.roles.label!r}, which should be the label."
