"""The features of a block with their history, and what of it stays in the history."""

import contextlib
from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt

from odca import _core
from odca.errors import InputError, Remedy
from odca.stream.read.blocks import Block
from odca.stream.read.refused_events import EventError
from odca.validation.arrays import Array


@contextlib.contextmanager
def with_past(block: Block, past: _core.History, labels: Array, count: Callable[[], int]) -> Iterator[_core.TextBlock]:
    """The features of a block with their history. At the end all of its events have entered.

    After an error, those have entered that were learned: so many as `count` is more than before.
    """
    before = count()
    features = _extended(block, past, labels, enters=True)
    try:
        yield features
    except BaseException:
        past.keep_first(count() - before)
        raise
    past.keep_first(len(block))


@contextlib.contextmanager
def for_now(block: Block, past: _core.History, labels: Array) -> Iterator[_core.TextBlock]:
    """The same; nothing enters."""
    yield _extended(block, past, labels, enters=False)


def _extended(block: Block, past: _core.History, labels: Array, *, enters: bool) -> _core.TextBlock:
    try:
        return past.extended(block.rows, labels, block.time, enters=enters)
    except InputError as error:
        raise EventError(error.event_message, block, error.row or 0) from error


def numbers_of_classes(block: Block, codes: npt.NDArray[np.int32]) -> Array:
    """The labels as numbers: of two classes that have names, 0 and 1; nan for a class that is not known."""
    texts = block.rows.label_text >= 0
    return np.where(texts & (codes >= 0), codes, block.rows.label)


def require_two_classes(block: Block, codes: npt.NDArray[np.int32], classes: int) -> None:
    """EventError for the first label whose class has no number, because there are more than two with names."""
    texts = block.rows.label_text >= 0
    refused = texts if classes > 2 else texts & (codes < 0)
    if refused.any():
        row = int(np.argmax(refused))
        raise EventError(
            f"the label {block.y[row]!r} is not a number, and the history of the label needs numbers, or two classes.",
            block,
            row,
            Remedy("Leave the label out of the history ({history}).", history=None),
        )
