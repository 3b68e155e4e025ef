"""Tables in columns: Parquet, Arrow's IPC files and streams, Feather. pyarrow reads them, a batch of rows at a time.

The type of a column says whether it holds numbers, categories or dates. Columns that are not used are not read. Positions count rows,
where those of text count bytes and lines.

A file may be damaged or malicious, so each batch is validated as a whole before it is used. It is read into memory for that, not mapped,
so that a later change of the file does not affect what was validated.
"""

import sys
from collections.abc import Collection, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import reduce
from itertools import chain, islice
from pathlib import Path
from typing import Any

from odca import _core
from odca.errors import Remedy
from odca.features.spec import Features, Kind
from odca.records import record
from odca.stream.read.arrow_columns import is_array, kind_of, values_of
from odca.stream.read.chunks import SIZE, Chunk
from odca.stream.read.errors import STANDARD_INPUT, StreamError
from odca.stream.read.guessing import FITTING, dated, whole_date
from odca.stream.read.positions import Position, digest_of_file, followed_by, former_digest, is_former, verified
from odca.stream.read.relations import Relation, pyarrow
from odca.stream.read.schema import (
    MAGIC,
    SUFFIXES,
    Column,
    Format,
    Roles,
    Schema,
    found_roles,
    native_columns,
    with_time,
)
from odca.stream.read.sources import another_file

BINARY = ("arrow", "parquet")
"""The formats that are read here."""
IPC_STREAM = b"\xff\xff\xff\xff"
FEATHER_1 = b"FEA1"
FEWEST_ROWS, MOST_ROWS = 1 << 10, 1 << 16


def binary_format(path: str, named: str) -> Format | None:
    """The format of a file, if it is one of these, by its first bytes or as `named` by the user; None if it is text."""
    if named != "auto":
        return named if named in BINARY else None  # type: ignore[return-value] # these are formats
    if path == STANDARD_INPUT or not Path(path).is_file():
        return None
    head = _first_bytes(path)
    if head.startswith(IPC_STREAM):
        return "arrow"
    found = next((format_ for magic, format_ in MAGIC.items() if head.startswith(magic)), None)
    by_name = SUFFIXES.get(Path(path).suffix.lower())
    if found is None and by_name in BINARY:
        raise StreamError(
            f"the file is named like a {by_name} file but does not begin like one. Was it cut short?", path=path
        )
    return found


@record
class Batch(Chunk):
    """Rows of a table, as a record batch. `offset` is the number of rows before it."""

    data: Any  # a pyarrow.RecordBatch
    tables: "Tables | None" = None
    former_digest: str = ""  # used for what cannot be read twice

    def position(self, length: int, lines: int) -> Position:  # noqa: ARG002 - rows have no length
        """The position after `lines` rows of the file."""
        digest, earlier = ("", "") if self.tables is None else self.tables.digests(self.file)
        return Position(self.file, lines, lines, digest or self.former_digest, earlier=earlier)


class Tables:
    """An iterable over the batches of several files, once and in order. `schema_of` and `head` inspect them first."""

    def __init__(
        self, paths: Sequence[str], format_: Format, *, start: Position, relation: Relation | None = None
    ) -> None:
        """A `relation` is read instead of files; its name is the only path."""
        self._paths, self._format, self._start = tuple(paths), format_, start
        self._relation = relation
        self._names: list[str] | None = None
        self._first: _Table | None = None
        self._seen: list[Any] = []  # the batches that `head` has read
        self._rest: Iterator[Any] | None = None
        self._sizes = [_size(path) for path in self._paths] if relation is None else [relation.rows or 0]
        is_known = STANDARD_INPUT not in self._paths if relation is None else relation.rows is not None
        self.total = sum(self._sizes) if is_known else None
        """The size of all files on the disk in bytes, or of a relation in rows; None if it is unknown."""
        self._progress = 0, 0.0  # files that are done, and the share of the next one
        self._digests: list[str] = []  # of the files
        self._all = self._generate()

    @property
    def consumed(self) -> int:
        """Approximately how much of the total was read."""
        done, share = self._progress
        return sum(self._sizes[:done]) + int(share * sum(self._sizes[done : done + 1]))

    def schema_of(
        self,
        features: Features,
        roles: Roles,
        kinds: Mapping[str, Kind],
        *,
        split_dates: bool,
        optional: Collection[str] = (),
    ) -> Schema:
        """The schema of the tables. The kind of a column is that in `kinds`, or else follows from its type."""
        table = self._look()
        names = list(table.types)
        found = found_roles(roles, names, table.path, True, optional)
        columns, said = [], {**features.kinds(), **kinds}
        for name, type_ in table.types.items():
            by_type = whole_date(kind_of(type_) or "any", split_dates)
            columns.append(Column(name, said.get(name) or by_type))
        schema = Schema(format=self._format, features=features, roles=found, columns=with_time(tuple(columns), found))
        for name in wanted(schema):
            if kind_of(table.types[name]) is None:
                raise StreamError(
                    f"the column {name!r} holds {table.types[name]}, which is neither a number, a string, a date nor an array of "
                    "numbers or strings.",
                    path=table.path,
                    remedy=Remedy("Leave it out with {ignore}.", ignore=[name]),
                )
        return schema

    def read_only(self, names: list[str]) -> None:
        """Read only these columns."""
        self._names = names

    def head(self, rows: int) -> Batch:
        """The first rows, without consuming them."""
        table = self._look()
        self._rest = self._begin(table, self._start.offset)
        self._seen = list(islice(self._rest, 1))
        first = self._seen[0] if self._seen else table.nothing()
        return self._batch(table, self._start.file, self._start.offset, first.slice(0, rows))

    def stop(self) -> None:
        """There is nothing to wait for."""

    def close(self) -> None:
        """End the batches."""
        self._all.close()

    def __iter__(self) -> Iterator[Batch]:
        return self._all

    def _look(self) -> "_Table":
        if self._first is None:
            path, expected = self._paths[self._start.file], self._start.digest
            verified(self._start, self._paths)
            if expected and not is_former(expected) and expected != digest_of_file(path):
                raise another_file("the file changed", path)
            self._first = self._open(path)
            if is_former(expected) and expected != self._first.former_digest:
                raise another_file("the file changed", path)
        return self._first

    def _open(self, path: str) -> "_Table":
        return open_table(path, self._format) if self._relation is None else _Rows(self._relation)

    def digests(self, file: int) -> tuple[str, str]:
        """The digests of a file and of those before it. They are only computed for positions, because this reads the files again."""
        if self._relation is not None:
            return "", ""
        self._digests += [digest_of_file(path) for path in self._paths[len(self._digests) : file + 1]]
        return self._digests[file], reduce(followed_by, self._digests[:file], "")

    def _begin(self, table: "_Table", start: int) -> Iterator[Any]:
        return table.batches(start, self._names, _rows_at_once(len(self._names or table.types)))

    def _generate(self) -> Generator[Batch]:
        for file in range(self._start.file, len(self._paths)):
            if file == self._start.file:
                table, row, seen, rest = self._look(), self._start.offset, self._seen, self._rest
            else:
                table, row, seen, rest = self._open(self._paths[file]), 0, [], None
            for batch in chain(seen, self._begin(table, row) if rest is None else rest):
                yield self._batch(table, file, row, batch)
                row += len(batch)
                self._progress = file, row / max(table.rows, row, 1)
            self._progress = file + 1, 0.0

    def _batch(self, table: "_Table", file: int, row: int, batch: Any) -> Batch:
        return Batch(
            batch, table.path, file, row, first=not row, last=False, tables=self, former_digest=table.former_digest
        )


def _size(path: str) -> int:
    return 0 if path == STANDARD_INPUT else Path(path).stat().st_size


def _rows_at_once(columns: int) -> int:
    return min(max(SIZE // (8 * max(columns, 1)), FEWEST_ROWS), MOST_ROWS)


# Files


class _Table:
    """One file: the types of its columns by name, its number of rows (0 if unknown), and its batches."""

    former_digest = ""  # used for what cannot be read twice

    def __init__(self, path: str, schema: Any, rows: int) -> None:
        fault = _core.header_fault(schema.names)
        if fault:
            raise StreamError(f"{fault}.", path=path)
        self.path, self.rows, self._schema = path, rows, schema
        self.types = dict(zip(schema.names, schema.types, strict=True))

    def batches(self, start: int, names: list[str] | None, size: int) -> Iterator[Any]:
        """The rows from `start` on, at most `size` at a time, with at least these columns (None: with all)."""
        with _readable(self.path):
            for batch in self._read(start, names, size):
                for begin in range(0, len(batch), size):
                    yield batch.slice(begin, size)

    def _read(self, start: int, names: list[str] | None, size: int) -> Iterator[Any]:
        raise NotImplementedError

    def _sign(self) -> None:
        """Note what a file looks like, for checkpoints of earlier versions."""
        self.former_digest = former_digest(f"{_size(self.path)} {self._schema.remove_metadata()}".encode())

    def nothing(self) -> Any:
        """No rows."""
        with _readable(self.path):
            return pyarrow().RecordBatch.from_pylist([], schema=self._schema)


class _Parquet(_Table):
    def __init__(self, path: str) -> None:
        import pyarrow.parquet as pq  # noqa: PLC0415 - slow to import

        self._file = pq.ParquetFile(path)
        super().__init__(path, self._file.schema_arrow, self._file.metadata.num_rows)
        self._sign()

    def _read(self, start: int, names: list[str] | None, size: int) -> Iterator[Any]:
        group, about = 0, self._file.metadata
        while group < about.num_row_groups and start >= about.row_group(group).num_rows:
            start -= about.row_group(group).num_rows
            group += 1
        groups = range(group, about.num_row_groups)
        batches = self._file.iter_batches(batch_size=size, row_groups=groups, columns=names) if groups else ()
        yield from _from_row(start, batches)


class _IpcFile(_Table):
    def __init__(self, path: str) -> None:
        pa = pyarrow()
        self._file = pa.OSFile(path)
        reader = pa.ipc.open_file(self._file)
        first = reader.get_batch(0).num_rows if reader.num_record_batches else 0
        super().__init__(
            path, reader.schema, first * reader.num_record_batches
        )  # approximately: batches may differ in size
        self._sign()

    def _read(self, start: int, names: list[str] | None, size: int) -> Iterator[Any]:  # noqa: ARG002 - the caller splits batches
        pa = pyarrow()
        fields = None if names is None else [self._schema.get_field_index(name) for name in names]
        reader = pa.ipc.open_file(self._file, options=pa.ipc.IpcReadOptions(included_fields=fields))
        yield from _from_row(start, (reader.get_batch(k) for k in range(reader.num_record_batches)))


class _IpcStream(_Table):
    """A stream, which can be read only once."""

    def __init__(self, path: str) -> None:
        pa = pyarrow()
        self._reader = pa.ipc.open_stream(sys.stdin.buffer if path == STANDARD_INPUT else pa.OSFile(path))
        super().__init__(path, self._reader.schema, 0)
        self._sign()

    def _read(self, start: int, names: list[str] | None, size: int) -> Iterator[Any]:  # noqa: ARG002 - all are read
        yield from _from_row(start, self._reader)


class _Rows(_Table):
    """A table in memory, or the result of a query."""

    def __init__(self, relation: Relation) -> None:
        self._relation = relation
        super().__init__(relation.name, relation.reader.schema, relation.rows or 0)

    def _read(self, start: int, names: list[str] | None, size: int) -> Iterator[Any]:  # noqa: ARG002 - the caller splits batches
        batches = self._relation.batches()
        yield from _from_row(start, batches if names is None else (batch.select(names) for batch in batches))


def _from_row(start: int, batches: Iterable[Any]) -> Iterator[Any]:
    """The batches without the first rows, validated."""
    for batch in batches:
        if start < len(batch):
            batch.validate(full=True)
            yield batch.slice(start)
        start = max(0, start - len(batch))


@contextmanager
def _readable(path: str) -> Iterator[None]:
    """Turn errors of pyarrow about a file into StreamErrors."""
    pa = pyarrow()
    try:
        yield
    except (pa.ArrowException, UnicodeDecodeError, OverflowError, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:  # of the system, not of pyarrow
            raise
        raise StreamError(
            f"it cannot be read: {str(error).rstrip('.')}. Is it damaged or incomplete?", path=path
        ) from error


def open_table(path: str, format_: Format) -> _Table:
    """Open a file; "-" is standard input, which must be an Arrow stream."""
    if path == STANDARD_INPUT and format_ == "parquet":
        raise ValueError("Parquet is read from its end and cannot be read from standard input. Name a file.")
    head = b"" if path == STANDARD_INPUT else _first_bytes(path)
    if head.startswith(FEATHER_1):
        raise StreamError("it is Feather version 1, which is obsolete. Write it again as version 2.", path=path)
    with _readable(path):
        if format_ == "parquet":
            return _Parquet(path)
        return _IpcFile(path) if head.startswith(b"ARROW1") else _IpcStream(path)


def _first_bytes(path: str) -> bytes:
    with Path(path).open("rb") as file:
        return file.read(8)


# Columns


def wanted(schema: Schema) -> list[str]:
    """The names of the columns that are used."""
    return [name for name, role, _, _ in native_columns(schema) if role != "ignored"]


def column_tallies(schema: Schema, head: Batch) -> dict[str, _core.Tally]:
    """What the columns hold in the first rows."""
    pa, features = pyarrow(), schema.features.native()
    tallies = {}
    for name in wanted(schema):
        array = head.data.column(name)
        is_string = kind_of(array.type) == "category"
        if is_array(array.type):
            continue  # nothing is guessed of its elements
        if pa.types.is_dictionary(array.type):  # of which pyarrow cannot decode all types
            array = array.dictionary.cast(pa.string()).take(array.indices)
        tallies[name] = _core.Tally()
        tallies[name].add(array.cast(pa.string()).to_pylist(), features, is_string)
    return tallies


def with_guessed(schema: Schema, tallies: Mapping[str, _core.Tally], *, split_dates: bool) -> Schema:
    """With the strings and numbers that are dates. The other types say what the columns hold."""
    said, taken = schema.features.kinds(), schema.roles.by_name()
    dates = {
        column.name
        for column in schema.columns
        if column.name in tallies
        and column.name not in said
        and column.name not in taken
        and column.kind in {"category", "number"}
        and split_dates
        and tallies[column.name].kind(column.name) == "date"
    }
    columns = tuple(replace(each, kind="date") if each.name in dates else each for each in schema.columns)
    all_dates = {each.name: tallies[each.name] for each in columns if each.kind == "date" and each.name in tallies}
    features = dated(schema.features, all_dates)
    fitting = tuple(each.name for each in columns if each.kind in FITTING and each.name not in said)
    without = tuple(replace(each, is_time=False) for each in columns)
    return replace(schema, columns=with_time(without, schema.roles), features=features, guessed=fitting)


class TableParser:
    """Parses batches by a schema. Any number of threads may call it."""

    def __init__(self, schema: Schema, *, skip_bad: bool, vocabulary: _core.Vocabulary | None = None) -> None:
        self._columns = [column for column in native_columns(schema) if column[1] != "ignored"]
        self._native = _core.TableColumns(self._columns)
        self._features = schema.native_features()
        self._skip_bad, self._vocabulary = skip_bad, vocabulary

    def __call__(self, chunk: Chunk) -> _core.TextBlock:
        """The events of a batch."""
        batch: Any = chunk.data
        values, names = [], {*batch.schema.names}
        for name, role, kind, _ in self._columns:
            if name not in names:
                raise StreamError(f"there is no column {name!r}, which the first file has.", path=chunk.path)
            with _readable(chunk.path):
                values.append(values_of(batch.column(name), role, kind))
        return _core.read_table(self._native, values, len(batch), self._features, self._skip_bad, self._vocabulary)
