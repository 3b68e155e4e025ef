"""Which events a model cannot learn from, and why."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from odca import _core
from odca.errors import Remedy
from odca.metrics import Codes
from odca.models.options import Label, ModelOptions, label_text
from odca.stream.read.blocks import Block
from odca.stream.read.refused_events import EventError


def faulty_events(
    block: Block,
    options: ModelOptions,
    loss: _core.Loss,
    codes: tuple[Codes, int] | None,
    *,
    learning: bool,
    has_room: bool,
) -> npt.NDArray[np.bool_]:
    """Which events have no time, a negative weight, or a label that a model with these options cannot learn from or be judged by.

    codes: of the classes of the labels, and how many are new or missing; None if labels are numbers. has_room: for new classes.
    """
    bad = np.zeros(len(block), dtype=bool)
    if codes is not None and codes[1] == 0 and block.weight is None and not options.uses_time:
        return bad  # as in most blocks
    labelled = ~block.is_unlabelled
    if codes is None:
        bad |= block.rows.label_text >= 0
        judged = labelled & ~bad
        bad[judged] |= ~np.asarray(loss.valid(block.rows.label[judged]), dtype=bool)
    elif learning and not has_room:
        bad |= labelled & (codes[0] < 0)
    if block.weight is not None:
        bad |= ~(block.weight >= 0.0)
    if learning and options.uses_time:
        bad |= labelled & (True if block.time is None else np.isnan(block.time))
    return bad


def fault_of(block: Block, row: int, options: ModelOptions, classes: Sequence[Label]) -> EventError:
    """The error for an event that a model with these options and classes cannot learn from."""
    fault, remedy = _what_is_wrong(block, row, options, classes)
    return EventError(fault, block, row, remedy)


def _what_is_wrong(
    block: Block, row: int, options: ModelOptions, classes: Sequence[Label]
) -> tuple[str, Remedy | None]:
    label = block.y[row]
    if block.weight is not None and not block.weight[row] >= 0.0:
        remedy = Remedy("Leave such lines out with {on_error}.", on_error="skip")
        return f"the weight {block.weight[row]:g} is negative.", remedy
    if options.uses_time and (block.time is None or np.isnan(block.time[row])):
        remedy = Remedy("Name the column that holds it ({time}).", time=None)
        if options.auto:
            remedy = Remedy(
                "Name the column that holds it ({time}), or measure memories in events ({auto}).",
                time=None,
                auto="events",
            )
        counts = "an automatic model with memory in time" if options.auto else repr(options.window)
        return f"the event has no time, but {counts} needs one.", remedy
    if options.task == "classes":
        known = ", ".join(label_text(each) for each in classes)
        remedy = Remedy("Name them all before learning ({classes}).", classes=None)
        return f"the label {label_text(label)} is new; the classes are {known}.", remedy
    if isinstance(label, str):
        remedy = Remedy(
            "If it means that the label is missing, say so ({na_values}). If labels are classes, say that ({task}). Skip such lines with "
            "{on_error}.",
            task="classes",
            na_values=[label],
            on_error="skip",
        )
        return f"the label {label!r} is not a number.", remedy
    remedy = Remedy("Skip such lines with {on_error}, or choose another loss ({loss}).", on_error="skip", loss=None)
    return f"the label {label_text(label)} is not valid for {options.loss!r}.", remedy
