"""Events that a model refuses."""

from collections.abc import Callable
from typing import TypeVar

import numpy as np

from odca.errors import Remedy
from odca.stream.read.blocks import Block
from odca.stream.read.errors import StreamError
from odca.stream.read.stream import BadLines

Done = TypeVar("Done")


class EventError(StreamError):
    """An event that cannot be learned from, or not be predicted."""

    row: int
    """Its place in the block."""

    def __init__(self, message: str, block: Block, row: int, remedy: Remedy | None = None) -> None:
        super().__init__(message, row=row, remedy=remedy, **block.place_of(block.rows.line[row]))


def without_refused(do: Callable[[Block], Done], block: Block, bad: BadLines) -> Done:
    """Do something with a block; events at which it is refused are counted as bad and taken out of it."""
    while True:
        try:
            return do(block)
        except EventError as error:
            bad.add(1, [error])
            block.drop(np.arange(len(block)) == error.row)
