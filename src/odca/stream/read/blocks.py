"""Blocks of consecutive events of a stream."""

import re
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from odca import _core
from odca.errors import Remedy
from odca.stream.read.chunks import Chunk
from odca.stream.read.errors import StreamError
from odca.stream.read.positions import Position
from odca.validation.arrays import Array


def remedy_of(sentence: str, field: str, *, can_be_skipped: bool) -> Remedy | None:
    """What to do about a bad line: what the core says of a field, and how to leave such lines out."""
    values: dict[str, Any] = {"quote": "none", "day_first": True, "on_error": "skip"}
    values |= {name: [field] for name in ("categorical", "ignore", "na_values")}
    sentences = [sentence] if sentence else []
    if can_be_skipped:
        sentences.append("Leave such lines out with {on_error}.")
    options = re.findall(r"{(\w+)}", " ".join(sentences))
    return Remedy(" ".join(sentences), **{name: values.get(name) for name in options}) if sentences else None


class Block:
    """A few thousand consecutive events.

    Pass `block.rows` to `Learner.learn` and `predict`, or `block.X`, the same as a SciPy array. Attributes that the data do
    not have, such as weights or tags, are None.
    """

    def __init__(self, rows: _core.TextBlock, chunk: Chunk, lines_before: int) -> None:
        self.rows = rows
        """The features of the events, as the native core reads them."""
        self.path = chunk.path
        """The file they come from."""
        self._lines_before = lines_before
        self.lines = int(rows.lines) + bool(chunk.fault)
        """The number of lines, including those without an event."""
        self._chunk = chunk
        self.dropped_unlabelled = 0
        """How many events without a label were removed from the block."""

    def __len__(self) -> int:
        return len(self.rows)

    @cached_property
    def X(self) -> Any:
        """The features of the events as a SciPy CSR array, one row per event."""
        from scipy.sparse import csr_array  # noqa: PLC0415 - slow to import

        rows = self.rows
        return csr_array((rows.data, rows.indices, rows.indptr), shape=(len(rows), rows.width))

    @cached_property
    def y(self) -> npt.NDArray[Any]:
        """The labels: numbers, with nan for a missing label; if any label is text, objects: text, numbers or None."""
        rows = self.rows
        if not rows.label_names:
            return rows.label
        labels = rows.label.astype(object)
        labels[np.isnan(rows.label)] = None
        texts = np.array([name.decode() for name in rows.label_names], dtype=object)
        is_text = rows.label_text >= 0
        labels[is_text] = texts[rows.label_text[is_text]]
        return labels

    @property
    def weight(self) -> Array | None:
        """The weights of the events."""
        return self.rows.weight

    @property
    def offset(self) -> Array | None:
        """The offsets: known terms that are added to the events' margins."""
        return self.rows.offset

    @property
    def time(self) -> Array | None:
        """The times of the events in seconds; nan for a missing time."""
        return self.rows.time

    @property
    def group(self) -> Array | None:
        """The groups of the events (qid in libsvm's format)."""
        return self.rows.group

    @cached_property
    def tag(self) -> list[str] | None:
        """The tags of the events."""
        return [tag.decode(errors="replace") for tag in self.rows.tag] or None

    def line(self, row: int) -> int:
        """The line of the file at which an event begins, counted from 1."""
        return self.file_line(self.rows.line[row])

    def file_line(self, line: int) -> int:
        """The line of the file, counted from 1, that is this line of the block, counted from 0."""
        return self._lines_before + int(line) + 1

    def place_of(self, line: int) -> dict[str, Any]:
        """How an error names a line of the block, counted from 0: by its file and number, or by its message."""
        if self._chunk.marks is not None:
            return {"path": f"{self.path}, message {self._chunk.marks.where(int(line))}"}
        return {"path": self.path, "line": self.file_line(line)}

    @property
    def position(self) -> Position:
        """The position at which the next block begins."""
        return self._chunk.position(int(self.rows.bytes), self._lines_before + self.lines)

    @property
    def bad_count(self) -> int:
        """The number of lines that could not be read."""
        return int(self.rows.bad_count) + bool(self._chunk.fault)

    @property
    def note(self) -> str | None:
        """What a user should know about the topic that its events are of."""
        return None if self._chunk.marks is None else self._chunk.marks.note

    @property
    def is_stopped(self) -> bool:
        """Whether parsing stopped at a line that could not be read."""
        return bool(self.rows.stopped)

    def bad_lines(self, *, can_be_skipped: bool = False) -> list[StreamError]:
        """The errors of the first few lines that could not be read. If they can be skipped, they say how."""
        if self._chunk.fault:
            remedy = remedy_of("Allow longer lines ({max_line}).", "", can_be_skipped=can_be_skipped)
            place = {"path": self.path} if self._chunk.marks is not None else self.place_of(0)
            return [StreamError(self._chunk.fault, **place, remedy=remedy)]
        return [
            StreamError(
                message.decode(errors="replace") + ".",
                **self.place_of(line),
                column=column or None,
                remedy=remedy_of(remedy.decode(), field.decode(errors="replace"), can_be_skipped=can_be_skipped),
            )
            for line, column, message, remedy, field in self.rows.bad
        ]

    def drop(self, rows: npt.NDArray[np.bool_]) -> None:
        """Remove the marked events from the block."""
        self.rows.keep((~rows).astype(np.uint8))
        for name in ("X", "y", "tag", "is_unlabelled"):
            self.__dict__.pop(name, None)

    def part(self, first: int, last: int) -> "Block":
        """The events from `first` to before `last`, as a block of their own."""
        return Block(self.rows.part(first, last), self._chunk, self._lines_before)

    def drop_unlabelled(self) -> None:
        """Remove the events without a label, and count them."""
        count = self.rows.unlabelled
        if count:
            self.dropped_unlabelled += count
            self.drop(self.is_unlabelled)

    @cached_property
    def is_unlabelled(self) -> npt.NDArray[np.bool_]:
        """Which of the events have no label."""
        return np.isnan(self.rows.label) & (self.rows.label_text < 0)
