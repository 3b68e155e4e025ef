"""Opening a stream: finding out its format and how to read it."""

import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import Any, Literal, TypeAlias, cast

from odca import _core
from odca.errors import InputError, Remedy, did_you_mean
from odca.features.date_spans import DateSpans
from odca.features.records import as_events
from odca.features.spec import KINDS, Features, Kind
from odca.records import record
from odca.stream.read.arrow import BINARY, TableParser, Tables, binary_format, column_tallies, wanted, with_guessed
from odca.stream.read.blocks import Block
from odca.stream.read.chunks import LONGEST_LINE, PAUSE, SAMPLE_SECONDS, SIZE, Chunk, Chunks
from odca.stream.read.errors import StreamError, listed, shown
from odca.stream.read.findings import Findings
from odca.stream.read.guessing import dated, key_tallies
from odca.stream.read.history_fields import with_history
from odca.stream.read.origins import origin_of
from odca.stream.read.parallel import Parse, Reading, cores, read_blocks
from odca.stream.read.positions import Position
from odca.stream.read.schema import FORMATS, Format, Roles, Schema, native_columns, recognise_format, table_schema
from odca.stream.read.sources import Closing

Path: TypeAlias = str | os.PathLike[str]
Data: TypeAlias = Path | Sequence[Path] | Any
"""Where events come from: a path, several, or globs; a data frame, an Arrow table, a list of dictionaries."""
OnError: TypeAlias = Literal["stop", "skip"]
Quote: TypeAlias = Literal["double", "none"]

SAMPLE_LINES = 1000
SAMPLE_BYTES = 1 << 20
MOST_SAMPLES = 10
DELIMITERS = ",\t;|"
"""Of CSV, as long as it is not known which one it is."""
NOT_PREDICTED = ("label", "weight", "time", "group", "tag")
"""Roles that predictions do not need."""


@dataclass(slots=True)
class BadLines:
    """Lines that could not be read and were skipped: their number, and the errors of the first few."""

    count: int = 0
    samples: list[StreamError] = field(default_factory=list)

    def add(self, count: int, samples: list[StreamError]) -> None:
        """Count further lines."""
        self.count += count
        self.samples += samples[: MOST_SAMPLES - len(self.samples)]


class Stream(Closing):
    """An iterable over blocks of events, once and in order. Made by `open`."""

    def __init__(self, chunks: Chunks | Tables, schema: Schema, reading: Reading, sample: Block) -> None:
        self._chunks = chunks
        self.schema = schema
        """How the data are read: the format, the roles and kinds of columns, and so on."""
        self.vocabulary = reading.vocabulary
        """The names of the features, if they have any."""
        self.sample = sample
        """The first events, for inspection. They are in the blocks as well."""
        self.bad = BadLines()
        """The lines that were skipped."""
        self.findings = Findings()
        """What was odd in the data, and how it was read all the same."""
        self.tallies: Mapping[str, _core.Tally] = {}
        """The values of each field in the first events, counted; empty for formats without fields."""
        self.absent: tuple[str, ...] = ()
        """Columns that were features in the data of the given schema, and are missing here."""
        self._blocks = read_blocks(chunks, reading)

    def __iter__(self) -> Iterator[Block]:
        for block in self._blocks:
            self.findings.add(block)
            if block.bad_count:
                self.bad.add(block.bad_count, block.bad_lines())
            yield block

    def chunks(self) -> Iterator[Chunk]:
        """The unparsed data, instead of the blocks."""
        return iter(self._chunks)

    @property
    def total(self) -> int | None:
        """The size on the disk in bytes; None if it is unknown."""
        return self._chunks.total

    @property
    def consumed(self) -> int:
        """The number of bytes on the disk read so far, which is a few blocks ahead."""
        return self._chunks.consumed

    def stop(self) -> None:
        """Stop waiting for more data of a growing file: the blocks end with the data that are there."""
        self._chunks.stop()

    def close(self) -> None:
        """Close the files."""
        self._blocks.close()  # type: ignore[attr-defined] # it is a generator
        self._chunks.close()


def open(
    paths: Data,
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
    quote: Quote | None = None,
    decimal: str | None = None,
    query: str | None = None,
    split_dates: bool = True,
    schema: Schema | None = None,
    labelled: bool = True,
    vocabulary: _core.Vocabulary | None = None,
    grow: bool = True,
    on_error: OnError = "stop",
    follow: bool = False,
    start: Position | None = None,
    threads: int | None = None,
    chunk_size: int = SIZE,
    max_line: int = LONGEST_LINE,
) -> Stream:
    """Open files (a path, several, or globs; "-" is standard input), or a table in memory, as one stream of events.

    A data frame of pandas or polars, an Arrow table and a list of dictionaries are read like an Arrow file with these columns.

    format: "libsvm", "vw", "csv" (any delimiter), "jsonl", "arff", "arrow" or "parquet"; "auto" recognises it by the first file. The
        label of ARFF is the last attribute, unless another column is named.
    compression: "gzip", "zstd", "bz2", "xz" or "plain"; "auto" recognises it.
    label, weight, offset, time, group, tag: the columns of a table (by name, or by number if there is no header; -1 is the
        last) or the keys of JSON that hold these; the formats of libsvm and VW have fixed places for them.
    features: which features an event has.
    delimiter, header: of CSV; None detects them from the first lines. The kinds of columns are detected too, unless `features` has
        them.
    quote: "double" if fields of CSV may be in double quotes, as they usually are; "none" if quotes are ordinary characters.
    decimal: "," if the numbers of CSV are written as 3,14 and 1.234,56; None detects it where commas do not separate the fields.
    query: the rows of a database, in SQL: `paths` is then the path of an SQLite or a DuckDB file, or a connection to one.
    split_dates: whether the month, weekday and hour of dates are features, or each date as a category.
    schema: the schema of an earlier stream, whose roles and kinds of columns are used.
    labelled: False for data to predict: columns with a role in `schema` may be missing, except the offset.
    vocabulary, grow: the names of features so far, and whether new names are added or ignored.
    on_error: "stop" raises a StreamError at the first line that cannot be read, "skip" counts such lines in `bad`.
    follow: at the end of the last file, wait for more data until `stop` is called; for the next writer of a named pipe.
    start: the `position` of an earlier block, after which the stream starts.
    threads: the number of threads that parse (default: one per core). The result does not depend on it.
    """
    _require_options(on_error, quote, format, decimal)
    begin = start or Position()
    origin = origin_of(paths, query, format, compression, begin.file)
    found, format = origin.paths, origin.format
    if origin.csv:
        delimiter, header = origin.csv["delimiter"], origin.csv["header"]
    if origin.attributes and schema is None:
        features = features.of_kinds({each.name: each.kind for each in origin.attributes})
        label = origin.attributes[-1].name if label is None else label
    roles = Roles(**{
        role: None if name is None else str(name)
        for role, name in {
            "label": label, "weight": weight, "offset": offset, "time": time, "group": group, "tag": tag,
        }.items()
    })  # fmt: skip
    optional = () if schema is None or labelled else {role for role in NOT_PREDICTED if role not in _given(roles)}
    if not split_dates:
        features = replace(features, find_dates=False)
    quoted = quote == "double" if quote else schema is None or schema.quoted
    settled = schema if begin.offset else None
    wish = _Wish(features, roles, delimiter, header, quoted, decimal, split_dates, settled, schema, optional)
    chunks: Chunks | Tables
    tables = binary_format(found[begin.file], format)
    if tables or origin.is_read_once:
        _require_complete(tables or found[0], follow, begin if origin.is_read_once else None)
    if tables:
        chunks = Tables(found, tables, start=begin, relation=origin.relation)
    else:
        sizes: dict[str, Any] = {"size": chunk_size, "max_line": max_line}
        chunks = Chunks(found, compression=compression, start=begin, follow=follow, **sizes, **origin.opening)
    try:
        looked = (
            _look_at_table(chunks, wish)
            if isinstance(chunks, Tables)
            else _look_at_text(chunks, found, format, begin, wish)
        )
        schema = with_history(looked.schema, is_known=wish.known is not None or wish.settled is not None)
        if schema.format in {"libsvm", "vw"}:
            _refuse_columns(roles, features, f"{found[0]} is {schema.format}'s text, which has no columns")
        _require_fields(features, schema)
        if wish.known is None:
            _require_text(schema)
        if schema.has_names and vocabulary is None:
            vocabulary = schema.new_vocabulary()
        names = vocabulary if schema.has_names else None
        events = Block(parser_of(schema)(skip_bad=True)(looked.head), looked.head, begin.line)
        schema = _with_known_dates(schema, wish.known, events if grow else None)
        reading = Reading(
            parse=parser_of(schema)(skip_bad=on_error == "skip", vocabulary=names, predicts=not grow),
            vocabulary=names,
            grow=grow,
            skip_bad=on_error == "skip",
            lines_before=begin.line,
            threads=threads or cores(),
        )
        absent = (
            ()
            if wish.known is None
            else absent_columns(wish.known, dict.fromkeys(schema.names_of_columns), shown(found[begin.file]))
        )
        if looked.error is not None and not len(events):
            raise looked.error
    except BaseException:
        chunks.close()
        raise
    stream = Stream(chunks, schema, reading, events)
    stream.tallies = looked.tallies
    stream.absent = absent
    return stream


def _require_options(on_error: str, quote: str | None, format_: str, decimal: str | None) -> None:
    """ValueError for a word that is none of those which an option can be."""
    if on_error not in {"stop", "skip"}:
        raise ValueError(f"on_error must be 'stop' or 'skip'; got {on_error!r}.")
    if quote not in {None, "double", "none"}:
        raise ValueError(f"quote must be 'double' or 'none'; got {quote!r}.")
    if decimal not in {None, ".", ","}:
        raise ValueError(f"decimal must be '.' or ','; got {decimal!r}.")
    if format_ not in {"auto", "arff", *FORMATS}:
        raise ValueError(f"format must be 'auto', 'arff' or one of {', '.join(FORMATS)}; got {format_!r}.")


def _require_complete(what: str, follow: bool, begin: Position | None) -> None:
    """ValueError if a table that is complete should be followed or, if it can be read only once, begin in its middle."""
    if follow:
        raise ValueError(f"{what} cannot be followed: a table is complete when it is written.")
    if begin is not None and begin != Position():
        raise ValueError(f"{what} can only be read from its beginning: there is no way to resume.")


@record
class _Wish:
    """How the caller wants data to be read. A `settled` schema is complete; a `known` one, of other data, says most of it."""

    features: Features
    roles: Roles
    delimiter: str | None
    header: bool | None
    quoted: bool
    decimal: str | None
    split_dates: bool
    settled: Schema | None
    known: Schema | None
    optional: Collection[str]
    """Roles whose columns may be missing."""

    def completed(self) -> "_Wish":
        """The same with everything from the known schema that does not depend on the format."""
        if self.known is None:
            return self
        given = _given(self.roles)
        # An optional column of the known schema may have another role now.
        before = {
            role: None if role in self.optional and name in given.values() else name
            for role, name in asdict(self.known.roles).items()
        }
        return replace(self, features=self.known.features, roles=Roles(**before | given))

    @property
    def kinds(self) -> dict[str, Kind]:
        """The known kinds of columns."""
        return {} if self.known is None else {column.name: column.kind for column in self.known.columns}


@record
class _Looked:
    """The result of looking at the beginning of the data: how they are read, and the first of them."""

    schema: Schema
    head: Chunk
    error: Exception | None = None
    """The error that ended the data after that."""
    tallies: Mapping[str, _core.Tally] = field(default_factory=dict)
    """The values of each field in the first lines, counted."""


def parser_of(schema: Schema) -> Callable[..., Parse]:
    """A function that makes a parser of chunks, or of batches, from `skip_bad`, `vocabulary` and `predicts`."""
    return partial(TableParser, schema) if schema.format in BINARY else schema.parser


def _look_at_table(tables: Tables, wish: _Wish) -> _Looked:
    wish = wish.completed()
    schema = wish.settled or tables.schema_of(
        wish.features, wish.roles, wish.kinds, split_dates=wish.split_dates, optional=wish.optional
    )
    tables.read_only(wanted(schema))
    head = tables.head(SAMPLE_LINES)
    if wish.settled is not None:
        return _Looked(schema, head)
    if wish.known is not None:
        return _Looked(replace(schema, guessed=wish.known.guessed), head)
    tallies = column_tallies(schema, head)
    return _Looked(with_guessed(schema, tallies, split_dates=wish.split_dates), head, tallies=tallies)


def _look_at_text(chunks: Chunks, found: Sequence[str], format_: str, begin: Position, wish: _Wish) -> _Looked:
    schema = wish.settled
    tallies: dict[str, _core.Tally] = {}
    delimiters = DELIMITERS if wish.delimiter is None else wish.delimiter
    if (format_ if schema is None else schema.format) == "csv" and wish.quoted:
        chunks.delimiters = delimiters if schema is None else schema.delimiter
    # How to read them is known, or nearly: whoever waits for an answer to the first line gets it.
    seconds = SAMPLE_SECONDS if wish.known is None else PAUSE
    head = chunks.head(SAMPLE_BYTES, SAMPLE_LINES, seconds=seconds)
    try:
        if schema is None:
            kind = format_ if format_ != "auto" else recognise_format(found[0], head.data, quoted=wish.quoted)
            if kind == "csv" and wish.quoted and not chunks.delimiters:
                chunks.delimiters = delimiters
                head = chunks.head(SAMPLE_BYTES, SAMPLE_LINES, seconds=seconds)
            schema, tallies = _schema_of(kind, head.data, found[0], wish.completed())
    except ValueError as error:
        raise head.error or error from error
    chunks.delimiters = schema.delimiter if schema.format == "csv" and schema.quoted else ""
    looked_at = Chunk(head.data, found[begin.file], begin.file, begin.offset, first=not begin.offset, last=False)
    return _Looked(schema, looked_at, head.error, tallies)


def _schema_of(kind: str, sample: bytes, path: str, wish: _Wish) -> tuple[Schema, dict[str, _core.Tally]]:
    """The schema of text that begins with the sample, with everything from a known schema that does not depend on the format.

    Also the values of each field, counted.
    """
    known, features = wish.known, wish.features
    if known is not None and known.has_indices and kind != "libsvm":
        raise StreamError(
            f"the model's features are libsvm's indices, but features in {kind} have names. Convert the data to libsvm.",
            path=path,
        )
    if kind == "csv":
        found, tallies = table_schema(
            sample,
            path,
            features,
            wish.roles,
            delimiter=wish.delimiter,
            header=wish.header,
            quoted=wish.quoted,
            decimal=wish.decimal,
            usual_decimal="." if known is None else known.decimal,
            kinds=wish.kinds,
            split_dates=wish.split_dates,
            optional=wish.optional,
            known=known is not None,
        )
        return (found if known is None else _as_known(found, known, path)), tallies
    tallies, guessed = {}, () if known is None else known.guessed
    if kind == "jsonl":
        tallies, dates = key_tallies(sample, features, wish.roles.by_name())
        if known is not None:
            features = features.of_kinds(wish.kinds)
        elif wish.split_dates:
            features, guessed = dated(features.of_kinds(dict.fromkeys(dates, "date")), dates), tuple(dates)
    named = known is not None and known.has_names
    schema = Schema(
        format=cast("Format", kind),
        features=features,
        roles=wish.roles,
        named=named,
        guessed=guessed,
        time_of_table=known.time_feature if known is not None and wish.roles.time is None else None,
    )
    return schema, tallies


def _as_known(found: Schema, known: Schema, path: str) -> Schema:
    """The schema of a table for a model that has learned from other data. StreamError if its columns cannot be identified."""
    found = replace(found, guessed=known.guessed)
    if known.format == "jsonl":  # where dates are text, unless an option says otherwise
        texts = {each.name for each in found.columns if each.kind == "date"} - {*known.features.dates}
        columns = (replace(each, kind="category") if each.name in texts else each for each in found.columns)
        return replace(found, columns=tuple(columns))
    fewer = len(known.columns) - len(found.columns)
    without_label = fewer == 1 and known.roles.label == known.columns[-1].name
    if not known.header and not found.header and fewer > 0 and not without_label:
        raise StreamError(
            f"it has {len(found.columns)} columns, {fewer} fewer than the model's data, and no header that says which. "
            "Give it a header, or leave the missing columns empty.",
            path=path,
            line=1,
        )
    return found


def _require_fields(features: Features, schema: Schema) -> None:
    """InputError for a field that an option names and a table does not have. In text and JSON, fields may appear at any time."""
    columns = schema.names_of_columns
    known = {*columns}
    wanted = {option: getattr(features, option) for option in ("ignore", "keep", *KINDS.values())}
    wanted["interactions"] = [name for each in features.interactions for name in each if name != "*"]
    for option, names in wanted.items():
        for name in names if columns else ():
            if name not in known and name.rpartition(".")[0] not in known:  # at.hour is a part of the date at
                message = f"there is no column {name!r}. The columns are {listed(columns)}."
                meant = did_you_mean(name, columns)
                remedy = Remedy(f"Correct {{{option}}}.", **{option: None})
                raise InputError(f"{message} {meant}" if meant else message, remedy=remedy)


def _require_text(schema: Schema) -> None:
    """InputError if an option is about text, and no field holds any."""
    features, usual = schema.features, Features()
    if features.text or any(column.kind == "text" for column in schema.columns):
        return
    for option in ("ngrams", "chars", "sublinear", "tf_idf", "unit_norm", "text_length"):
        if getattr(features, option) != getattr(usual, option):
            sentence = (
                f"{{{option}}} is about text: name the fields that are split into words ({{text}}), or leave it out."
            )
            raise InputError("no field holds text.", remedy=Remedy(sentence, **{option: None, "text": None}))


def _with_known_dates(schema: Schema, known: Schema | None, first: Block | None) -> Schema:
    """With the days of a known schema; of one that has learned nothing, with references for trends from the first events, if it is to learn."""
    if known is not None:
        schema = replace(schema, dates=known.dates, labels=known.labels or schema.labels)
    if first is None or schema.dates.events or schema.dates.spans:
        return schema
    return replace(schema, dates=DateSpans.references(first.rows))


def _refuse_columns(roles: Roles, features: Features, why: str) -> None:
    """ValueError if an option is about columns, in a format that has none."""
    kinds = {"text": features.text, "categories": features.categorical, "numbers": features.numeric}
    kinds |= {"dates": features.dates, "booleans": features.booleans}
    said = [f"there is no {name!r} for the {role}" for role, name in _given(roles).items()]
    said += [f"{names[0]!r} cannot hold {kind}" for kind, names in kinds.items() if names]
    if said:
        raise ValueError(f"{why}: {said[0]}. Leave it out, or say what the format is.")


def absent_columns(known: Schema, there: Collection[str], where: str) -> tuple[str, ...]:
    """The columns of a known table that are features and are missing among those that are `there`. ValueError if all of them are."""
    features = [name for name, role, _, _ in native_columns(known) if role == "feature"]
    absent = tuple(name for name in features if name not in there) if there else ()
    if absent and len(absent) == len(features):
        meant = did_you_mean(next(iter(there)), features)
        raise ValueError(
            f"{where} has none of the columns that the model was trained on: {listed(absent)}. Its columns are {listed(there)}. "
            + (meant or "Is this the right model, and does the file have a header?")
        )
    return absent


def _given(roles: Roles) -> dict[str, str]:
    return {role: name for role, name in asdict(roles).items() if name is not None}


def read_events(events: Any, schema: Schema, vocabulary: _core.Vocabulary | None, *, grow: bool = False) -> Block:
    """Read dictionaries, or the rows of a data frame, as data of this schema. Unknown features are ignored, unless the names `grow`."""
    if schema.has_indices:
        raise ValueError("the model's features are libsvm's indices, but features of events have names.")
    columns = {column.name: column.kind for column in schema.columns}
    features = replace(schema, features=schema.features.of_kinds(columns)).native_features(
        nested=not columns, predicts=not grow
    )
    rows = _core.read_events(as_events(events), schema.roles.native(schema.time_feature), features, vocabulary)
    if vocabulary is not None:
        rows.resolve(vocabulary.absorb(rows, grow), len(vocabulary))
    return Block(rows, Chunk(b"", "the events", 0, 0, first=True, last=True), 0)
