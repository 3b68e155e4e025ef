"""Writing events to tables: CSV, Parquet and Arrow. All columns must be known before the first row is written.

A field becomes a column of numbers, or of categories as strings; an empty cell (null) is a missing value. If an event can have
several categories in one field, as in a list in JSON, each category becomes a column of numbers: "tags=a", "tags=b". A number that an
event does not have is written as 0. A category that it does not have is written as a missing value, because a table has no other way
to express it.
"""

from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from odca import _core
from odca.errors import InputError, Remedy
from odca.features.spec import FeatureParts, feature_parts
from odca.stream.read.blocks import Block
from odca.stream.read.relations import pyarrow
from odca.stream.read.schema import Schema
from odca.stream.write.text import (
    OPTIONAL_PARTS,
    Keys,
    ReservedNames,
    TextWriter,
    Writer,
    may_have_lists,
    number_texts,
    rows_with_lists,
)

CELLS = 1 << 22
"""The number of cells held in memory at once, and in a row group of Parquet."""


class TableLayout:
    """The columns of a table. Call `add` with all blocks of a stream, then `finish`."""

    def __init__(self, schema: Schema, vocabulary: _core.Vocabulary | None) -> None:
        self.vocabulary = vocabulary
        """The names of the features, for a second pass over the same data."""
        self._reserved = ReservedNames(schema)
        self._keys = Keys(schema, vocabulary)
        self._may_have_lists = may_have_lists(schema)
        self._seen = np.empty(0, np.int64)  # the features, by their indices, in order
        self._parts: list[FeatureParts] = []  # of the vocabulary
        self._several: set[str] = set()
        self.roles: dict[str, str] = {"label": self._reserved.take("label")}
        """The names of the columns that are not features, by role. They come first."""
        self.label_is_text = False
        self.features: dict[str, set[str]] = {}
        """The kinds of values in each column of features: "number", "category", "missing"."""

    def add(self, block: Block) -> None:
        """Collect the columns of a block."""
        self.label_is_text |= bool(block.rows.label_names)
        for role in OPTIONAL_PARTS:
            if getattr(block, role) is not None:
                self.roles[role] = self._reserved.take(role)
        if self.vocabulary is None:
            self._seen = np.union1d(self._seen, block.rows.indices)
        elif self._may_have_lists:
            self._parts += [feature_parts(self._keys(k)) for k in range(len(self._parts), len(self.vocabulary))]
            for row in rows_with_lists(block.rows, self._parts):
                self._several |= self._lists_of(block.rows, row)

    def _lists_of(self, rows: _core.TextBlock, row: int) -> set[str]:
        """The fields in which a row has several categories."""
        begin, end = rows.indptr[row : row + 2].tolist()
        parts = [self._parts[index] for index in rows.indices[begin:end].tolist()]
        there = [each.field for each in parts if each.kind == "category"]
        often = {each.field for each, value in zip(parts, rows.data[begin:end], strict=True) if value != 1.0}
        return {field for field in there if field in often or there.count(field) > 1}

    def finish(self) -> None:
        """Fix the columns, after the last block. ValueError if two columns would have the same name."""
        if self.vocabulary is not None:
            self._seen = np.arange(len(self.vocabulary))
        places: dict[str, int] = {}
        fields: dict[str, str] = {}
        self._column = np.empty(len(self._seen), np.int64)
        self._text = np.empty(len(self._seen), object)
        for k, index in enumerate(self._seen.tolist()):
            parts = feature_parts(self._keys(index))
            self._reserved.add_field(parts.field)
            column, text = self._cell(parts)
            if fields.setdefault(column, parts.field) != parts.field:
                raise InputError(
                    f"two columns would be named {column!r}.",
                    remedy=Remedy("Leave one out: {ignore}.", ignore=[parts.field]),
                )
            self._column[k], self._text[k] = places.setdefault(column, len(places)), text
            kind = "missing" if text == "" else "number" if text is None else "category"
            self.features.setdefault(column, set()).add(kind)

    def _cell(self, parts: FeatureParts) -> tuple[str, str | None]:
        """The column of a feature, and the text of its cell: None for a number, "" for a missing value."""
        if parts.kind == "category" and parts.field in self._several:
            return f"{parts.field}={parts.category}", None
        return parts.field, None if parts.kind == "number" else parts.category

    @property
    def names(self) -> list[str]:
        """The names of all columns, in order."""
        return [*self.roles.values(), *self.features]

    @property
    def texts(self) -> npt.NDArray[Any]:
        """The text of each feature: None for a number, "" for a missing value."""
        return self._text

    def numbers_of(self, indices: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
        """The numbers of features among all features of the table."""
        if self.vocabulary is not None:
            return indices.astype(np.int64)
        found = np.searchsorted(self._seen, indices)
        if not (self._seen[np.minimum(found, len(self._seen) - 1)] == indices).all():
            raise ValueError("the data changed while they were being read. Convert them again.")
        return found

    def places_of(self, numbers: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """The columns of features, counted from the first column of features."""
        return self._column[numbers]


def _values_of(block: Block, role: str) -> Any:
    values = getattr(block, role)
    return [OPTIONAL_PARTS[role]] * len(block) if values is None else values


def _cut(block: Block, columns: TableLayout) -> Iterator[tuple[int, int]]:
    """Ranges of rows that are small enough to hold as a table in memory."""
    at_once = max(1, CELLS // len(columns.names))
    for begin in range(0, len(block), at_once):
        yield begin, min(begin + at_once, len(block))


class Csv(TextWriter):
    """Comma-separated values, with a header (RFC 4180)."""

    def __init__(self, file: BinaryIO, schema: Schema, keys: Keys, columns: TableLayout) -> None:
        super().__init__(file, schema, keys)
        self._columns = columns
        self._empty = ["0" if "number" in kinds else "" for kinds in columns.features.values()]
        self._is_text = np.array([text is not None for text in columns.texts], bool)
        self._texts = np.array([None if text is None else quoted(text) for text in columns.texts], object)
        self._file.write(f"{','.join(map(quoted, columns.names))}\n".encode())

    def _lines(self, block: Block) -> Iterable[str]:
        rows, heads = block.rows, self._heads(block)
        for begin, end in _cut(block, self._columns):
            first, last = rows.indptr[begin], rows.indptr[end]
            features = self._columns.numbers_of(rows.indices[first:last])
            values = np.array(number_texts(rows.data[first:last]), object)
            is_text = self._is_text[features]
            values[is_text] = self._texts[features[is_text]]
            cells = np.empty((end - begin, len(self._empty)), object)
            cells[:] = self._empty
            row = np.repeat(np.arange(end - begin), np.diff(rows.indptr[begin : end + 1]))
            cells[row, self._columns.places_of(features)] = values
            for head, line in zip(heads[begin:end], cells.tolist(), strict=True):
                yield f"{head},{','.join(line)}\n" if line else f"{head}\n"

    def _heads(self, block: Block) -> list[str]:
        heads = self._label_texts(block, quoted)
        for role in list(self._columns.roles)[1:]:
            values = _values_of(block, role)
            texts = map(quoted, values) if role == "tag" else number_texts(np.asarray(values, np.float64))
            heads = [f"{head},{'' if text == 'nan' else text}" for head, text in zip(heads, texts, strict=True)]
        return heads


def quoted(text: str) -> str:
    """A cell of CSV, in quotes if necessary.

    >>> quoted("plain"), quoted('a "b", c')
    ('plain', '"a ""b"", c"')
    """
    if text == text.strip() and not any(sign in text for sign in ',"\n\r'):
        return text
    doubled = text.replace('"', '""')
    return f'"{doubled}"'


class Arrow(Writer):
    """Parquet, or Arrow's IPC file format, also called Feather. Numbers are float64."""

    def __init__(self, file: BinaryIO, schema: Schema, keys: Keys, columns: TableLayout, *, parquet: bool) -> None:
        super().__init__(file, schema, keys)
        self._pa = pa = pyarrow()
        self._columns = columns
        texts = {columns.roles[role] for role in ("tag",) if role in columns.roles}
        texts |= {columns.roles["label"]} if columns.label_is_text else set()
        texts |= {name for name, kinds in columns.features.items() if "category" in kinds}
        self._schema_of_table = pa.schema(
            [(name, pa.string() if name in texts else pa.float64()) for name in columns.names]
        )
        if parquet:
            from pyarrow.parquet import ParquetWriter  # noqa: PLC0415 - slow to import

            self._writer = ParquetWriter(file, self._schema_of_table)
        else:
            self._writer = pa.ipc.new_file(file, self._schema_of_table)
        self._buffered: list[Any] = []

    def write(self, block: Block) -> None:
        """Write the events of a block, or buffer them until there are enough for a row group."""
        for begin, end in _cut(block, self._columns):
            self._buffered.append(self._batch(block, begin, end))
            if sum(map(len, self._buffered)) * len(self._columns.names) >= CELLS:
                self._flush()

    def close(self) -> None:
        """Write the remaining events and the end of the file."""
        self._flush()
        self._writer.close()

    def _flush(self) -> None:
        if self._buffered:
            self._writer.write_table(self._pa.Table.from_batches(self._buffered).combine_chunks())
            self._buffered = []

    def _batch(self, block: Block, begin: int, end: int) -> Any:
        """The rows from `begin` to `end` of a block."""
        arrays = [self._role(block, role, begin, end) for role in self._columns.roles]
        rows = block.rows
        first, last = rows.indptr[begin], rows.indptr[end]
        features = self._columns.numbers_of(rows.indices[first:last])
        columns, texts = self._columns.places_of(features), self._columns.texts[features]
        row = np.repeat(np.arange(end - begin), np.diff(rows.indptr[begin : end + 1]))
        order = np.argsort(columns, kind="stable")
        limits = np.searchsorted(columns[order], np.arange(len(self._columns.features) + 1))
        for kinds, (low, high) in zip(self._columns.features.values(), pairwise(limits), strict=True):
            chosen = order[low:high]
            values = rows.data[first:last][chosen]
            arrays.append(self._feature(kinds, end - begin, row[chosen], values, texts[chosen]))
        return self._pa.record_batch(arrays, schema=self._schema_of_table)

    def _feature(
        self, kinds: set[str], size: int, rows: npt.NDArray[Any], values: npt.NDArray[Any], texts: npt.NDArray[Any]
    ) -> Any:
        """A column of features, with values in these rows."""
        if "category" not in kinds:
            numbers = np.full(size, 0.0 if "number" in kinds else np.nan)
            numbers[rows] = np.where(texts == "", np.nan, values)
            return self._pa.array(numbers, from_pandas=True)  # nan is null
        if "number" in kinds:
            is_number = np.array([text is None for text in texts], bool)
            texts[is_number] = number_texts(values[is_number])
        cells = np.full(size, "0" if "number" in kinds else "", object)
        cells[rows] = texts
        return self._pa.array([text or None for text in cells], self._pa.string())

    def _role(self, block: Block, role: str, begin: int, end: int) -> Any:
        if role == "label" and self._columns.label_is_text:
            labels = self._label_texts(block, str)
            return self._pa.array([label or None for label in labels[begin:end]], self._pa.string())
        values = block.y if role == "label" else _values_of(block, role)
        if role == "tag":
            return self._pa.array([tag or None for tag in values[begin:end]], self._pa.string())
        return self._pa.array(np.asarray(values, np.float64)[begin:end], from_pandas=True)
