"""Opening a stream: what is it, and how is it read?"""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from types import TracebackType
from typing import Any, Literal, Self, TypeAlias

from odca import _core
from odca.stream.blocks import Block
from odca.stream.chunks import LONGEST_LINE, SIZE, Chunk, Chunks, Position
from odca.stream.errors import StreamError
from odca.stream.features import Features
from odca.stream.reader import Reading, cores, read_blocks
from odca.stream.schema import BINARY, FORMATS, Kind, Roles, Schema, recognise_format, table_schema
from odca.stream.sources import expand

Path: TypeAlias = str | os.PathLike[str]
OnError: TypeAlias = Literal["stop", "skip"]

SAMPLE_LINES = 1000
SAMPLE_BYTES = 1 << 20
MOST_SAMPLES = 10


@dataclass(slots=True)
class BadLines:
    """Lines that could not be read and were left out: how many, and the first few of them."""

    count: int = 0
    samples: list[StreamError] = field(default_factory=list)

    def add(self, count: int, samples: list[StreamError]) -> None:
        """Count some more."""
        self.count += count
        self.samples += samples[: MOST_SAMPLES - len(self.samples)]


class Stream:
    """Blocks of events, once and in order: iterate over it. Made by `open`."""

    def __init__(self, chunks: Any, schema: Schema, reading: Reading, sample: Block) -> None:
        self._chunks = chunks
        self.schema = schema
        """How the data are read."""
        self.vocabulary = reading.vocabulary
        """The names of the features, if they have any."""
        self.sample = sample
        """The first events, to look at: they come in the blocks too."""
        self.bad = BadLines()
        """Lines that were left out."""
        self._blocks = read_blocks(chunks, reading)

    def __iter__(self) -> Iterator[Block]:
        for block in self._blocks:
            if block.bad_count:
                self.bad.add(block.bad_count, block.bad_lines())
            yield block

    @property
    def total(self) -> int | None:
        """Bytes on the disk; None if that cannot be known."""
        total: int | None = self._chunks.total
        return total

    @property
    def consumed(self) -> int:
        """Bytes on the disk that were read so far, some blocks ahead."""
        consumed: int = self._chunks.consumed
        return consumed

    def stop(self) -> None:
        """Stop waiting for more of a file that grows: the blocks end with what is there."""
        self._chunks.stop()

    def close(self) -> None:
        """Close the files."""
        self._blocks.close()  # type: ignore[attr-defined] # it is a generator
        self._chunks.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def open(
    paths: Path | Sequence[Path],
    *,
    format: str = "auto",  # noqa: A002 - what it is called everywhere
    compression: str = "auto",
    label: str | int | None = None,
    weight: str | int | None = None,
    offset: str | int | None = None,
    time: str | int | None = None,
    group: str | int | None = None,
    tag: str | int | None = None,
    features: Features = Features(),  # noqa: B008 - frozen
    delimiter: str | None = None,
    header: bool | None = None,
    schema: Schema | None = None,
    vocabulary: _core.Vocabulary | None = None,
    grow: bool = True,
    on_error: OnError = "stop",
    follow: bool = False,
    start: Position | None = None,
    threads: int | None = None,
    chunk_size: int = SIZE,
    max_line: int = LONGEST_LINE,
) -> Stream:
    """Open files (a path, several, or globs; "-" is standard input) as one stream of events.

    format: "libsvm", "vw", "csv" (any delimiter), "jsonl", "arrow" or "parquet"; "auto" recognises it by the first file.
    compression: "gzip", "zstd", "bz2", "xz" or "plain"; "auto" recognises it.
    label, weight, offset, time, group, tag: the columns of a table (by name, or by number where there is no header; -1 is the
        last) or the keys of JSON that are these; libsvm's and VW's text have places for them.
    features: what becomes a feature.
    delimiter, header: of CSV; None looks at the first lines. So do the kinds of its columns, unless `features` names them.
    schema: read as an earlier stream was read: then what columns are is taken from there.
    vocabulary, grow: the names of features so far; and whether new ones are added or left out.
    on_error: "stop" raises a StreamError at the first line that cannot be read, "skip" counts such lines in `bad`.
    follow: at the end wait for more, until `stop`.
    start: the `position` of an earlier block: the stream goes on behind it.
    threads: that parse; as many as there are cores unless told. What comes out does not depend on it.
    """
    if on_error not in {"stop", "skip"}:
        raise ValueError(f"on_error must be 'stop' or 'skip'; got {on_error!r}.")
    if format != "auto" and format not in FORMATS:
        raise ValueError(f"format must be 'auto' or one of {', '.join(FORMATS)}; got {format!r}.")
    found = expand(paths)
    begin = start or Position()
    roles = Roles(**{
        role: None if name is None else str(name)
        for role, name in {
            "label": label, "weight": weight, "offset": offset, "time": time, "group": group, "tag": tag,
        }.items()
    })  # fmt: skip
    chunks = Chunks(found, compression=compression, start=begin, follow=follow, size=chunk_size, max_line=max_line)
    head = chunks.head(SAMPLE_BYTES, SAMPLE_LINES)
    kind = _format_of(format, found[0], head, schema, begin)
    if kind in BINARY:
        chunks.close()
        from odca.stream import arrow  # noqa: PLC0415 - pyarrow is optional, and slow to import

        raise NotImplementedError(arrow)
    sample = _first_lines(head, SAMPLE_LINES)
    if schema is None or not begin.offset:
        schema = _schema_of(kind, sample, found[0], features, roles, delimiter, header, schema)
    chunks.quoted = schema.format == "csv"
    if schema.has_names and vocabulary is None:
        vocabulary = _core.Vocabulary()
    names = vocabulary if schema.has_names else None
    reading = Reading(
        parse=schema.parser(skip_bad=on_error == "skip", vocabulary=names),
        vocabulary=names,
        grow=grow,
        skip_bad=on_error == "skip",
        lines_before=begin.line,
        threads=threads or cores(),
    )
    looked_at = Chunk(sample, found[begin.file], begin.file, begin.offset, first=not begin.offset, last=False)
    events = Block(schema.parser(skip_bad=True)(looked_at), looked_at, begin.line)
    return Stream(chunks, schema, reading, events)


def _format_of(format_: str, path: str, head: bytes, schema: Schema | None, begin: Position) -> str:
    if format_ != "auto":
        return format_
    if schema is not None and begin.offset:  # the middle of a file may look like anything
        return schema.format
    return recognise_format(path, head)


def _first_lines(head: bytes, lines: int) -> bytes:
    """So many lines at most, the last of them whole if any other is."""
    end = -1
    for _ in range(lines):
        following = head.find(b"\n", end + 1)
        if following < 0:
            break
        end = following
    return head[: end + 1] if end >= 0 else head


def _schema_of(
    kind: str,
    sample: bytes,
    path: str,
    features: Features,
    roles: Roles,
    delimiter: str | None,
    header: bool | None,
    known: Schema | None,
) -> Schema:
    """The schema of data that begin so; of what a `known` schema says, all that does not concern the format holds."""
    kinds: Mapping[str, Kind] = {}
    if known is not None:
        features = known.features
        roles = Roles(**asdict(known.roles) | _given(roles))
        kinds = {column.name: column.kind for column in known.columns}
    if kind == "csv":
        return table_schema(sample, path, features, roles, delimiter=delimiter, header=header, kinds=kinds)
    return Schema(format=kind, features=features, roles=roles)


def _given(roles: Roles) -> dict[str, str]:
    return {role: name for role, name in asdict(roles).items() if name is not None}
