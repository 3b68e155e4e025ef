"""How text becomes events: the format, which column is the label, what the others hold.

A schema is found from a sample of the data, once, and kept with the model: other data are then read in the same way.
"""

import contextlib
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, fields, replace
from pathlib import PurePath
from typing import Any, Literal, TypeAlias, get_args

import numpy as np

from odca import _core
from odca.errors import did_you_mean
from odca.features.date_spans import DateSpans
from odca.features.spec import Features, Kind, require_unicode
from odca.records import record
from odca.stream.read.chunks import Chunk
from odca.stream.read.errors import StreamError, listed
from odca.stream.read.guessing import guess

Format: TypeAlias = Literal["libsvm", "vw", "csv", "jsonl", "arrow", "parquet"]
FORMATS: tuple[str, ...] = get_args(Format)

SUFFIXES: Mapping[str, Format] = {
    ".csv": "csv",
    ".tsv": "csv",
    ".tab": "csv",
    ".vw": "vw",
    ".svm": "libsvm",
    ".libsvm": "libsvm",
    ".svmlight": "libsvm",
    ".json": "jsonl",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".parquet": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
}
COMPRESSION_SUFFIXES = (".gz", ".zst", ".bz2", ".xz")
DATE_PARTS = ("hour", "weekday", "month", "trend")
LONG_LINE = 1 << 16  # characters
MOST_COMMENTS = 20
"""The header is looked for in so many lines, if it is not the first."""
LABEL_KINDS = ("", "bool", "int", "float")
MAGIC: Mapping[bytes, Format] = {b"PAR1": "parquet", b"ARROW1": "arrow", b"FEA1": "arrow"}

_NUMBER = r"[+-]?[0-9.]+(?:[eE][+-]?[0-9]+)?"
_LIBSVM = re.compile(rf"\s*{_NUMBER}(?:\s+qid:\d+)?(?:\s+\d+:\S+)*\s*(?:#.*)?$")
_VW = re.compile(rf"\s*(?:{_NUMBER}\s+){{0,3}}\S*\|(?:\S|\s|$)")


@record(kw_only=True)
class Roles:
    """The columns (of a table) or keys (of JSON) that are no features."""

    label: str | None = None
    weight: str | None = None
    offset: str | None = None
    time: str | None = None
    group: str | None = None
    tag: str | None = None

    def __post_init__(self) -> None:
        taken = [name for name in asdict(self).values() if name is not None]
        for name in taken:
            require_unicode(name)
            if taken.count(name) > 1:
                raise ValueError(f"the column {name!r} has two roles; a column can have only one.")

    def by_name(self) -> dict[str, str]:
        """What the columns are that are no features."""
        return {column: role for role, column in asdict(self).items() if column is not None}

    def native(self, also_time: str | None = None) -> _core.RoleNames:
        """The same for the core. `also_time`: a feature that is the event's time as well."""
        return _core.RoleNames(**{role: name or "" for role, name in asdict(self).items()}, also_time=also_time or "")


@record
class Column:
    """A column of a table: its name, what its values are, and whether it is the event's time as well as a feature."""

    name: str
    kind: Kind
    is_time: bool = False


@record(kw_only=True)
class Schema:
    """How text becomes events. See `recognise`."""

    format: Format
    features: Features
    roles: Roles = Roles()
    columns: tuple[Column, ...] = ()
    """Of a table, in order."""
    delimiter: str = ","
    header: bool = True
    """Whether a file of CSV begins with the names of its columns."""
    quoted: bool = True
    """Whether fields of CSV may be in double quotes."""
    decimal: str = "."
    """Of numbers in CSV: "." for 3.14, "," for 3,14 and 1.234,56."""
    named: bool = False
    """Whether the numbers of libsvm's text are names, as they are to a model that has learned from text of another format."""
    guessed: tuple[str, ...] = ()
    """Fields whose kind was found from a sample. A value of another kind counts as missing there."""
    time_of_table: str | None = None
    """Of JSON that a model of a table reads: the feature that is the event's time as well."""
    dates: DateSpans = DateSpans()
    """Which days the dates of the learned events lie in."""
    labels: str = ""
    """Of a table in memory, what its labels are: "bool", "int" or "float"; "" for text, and for files of text."""

    @property
    def names_of_columns(self) -> list[str]:
        """The names of the columns of a table, in order."""
        return [column.name for column in self.columns]

    @property
    def has_names(self) -> bool:
        """Whether features have names that make a vocabulary; else they are numbers, of the text or of a hash."""
        return self.features.bits is None and not self.has_indices

    @property
    def time_feature(self) -> str | None:
        """The feature that is the event's time as well."""
        return next((column.name for column in self.columns if column.is_time), self.time_of_table)

    @property
    def has_indices(self) -> bool:
        """Whether features are numbers in the text, and those are their indices."""
        plain = Features(missing=self.features.missing, find_dates=self.features.find_dates)
        return self.format == "libsvm" and not self.named and self.features == plain

    def native_features(self, *, nested: bool = True, predicts: bool = False) -> _core.TextFeatures:
        """What becomes a feature of events that are learned, or that are predicted, for the core."""
        how: dict[str, Any] = {"guessed": self.guessed, "date_spans": self.dates, "predicts": predicts}
        return self.features.native(indices=self.has_indices, nested=nested, **how)

    def new_vocabulary(self) -> _core.Vocabulary | None:
        """The names of a model that has learned nothing: those of its history. None if features have no names."""
        if not self.has_names:
            return None
        vocabulary = _core.Vocabulary()
        names = self.native_features().first_names()
        vocabulary.restore(b"".join(names), np.cumsum([len(name) for name in names], dtype=np.int64))
        return vocabulary

    def parser(self, *, skip_bad: bool, vocabulary: _core.Vocabulary | None = None, predicts: bool = False) -> "Parser":
        """What reads chunks by this schema, on any thread; quicker if most names are in a vocabulary."""
        return Parser(self, skip_bad, vocabulary, predicts)

    def as_options(self) -> dict[str, Any]:
        """For a model file."""
        by_name = {each.name: getattr(self, each.name) for each in fields(self)}
        return by_name | {
            "features": self.features.as_options(),
            "roles": asdict(self.roles),
            "dates": self.dates.native(),
            "columns": {
                "names": [column.name for column in self.columns],
                "kinds": [column.kind for column in self.columns],
                "times": [place for place, column in enumerate(self.columns) if column.is_time],
            },
        }

    @classmethod
    def from_options(cls, options: dict[str, Any]) -> "Schema":
        """The reverse. ValueError (or the like) for what `as_options` cannot have made."""
        known = {
            "quoted": True,
            "guessed": (),
            "time_of_table": None,
            "dates": (0, ()),
            "labels": "",
            "decimal": ".",
            **options,
        }  # older files do not say it
        if set(known) != {each.name for each in fields(cls)} or options["format"] not in FORMATS:
            raise ValueError("its schema is not described as it should be.")
        known["features"] = Features.from_options(options["features"])
        known["roles"] = Roles(**options["roles"])
        known["dates"] = DateSpans.from_options(known["dates"])
        known["columns"] = _columns_of(options["columns"])
        kinds = get_args(Kind)
        if any(type(column.name) is not str or column.kind not in kinds for column in known["columns"]):
            raise ValueError("a column of its schema has no name, or is of no known kind.")
        if not all(isinstance(name, str | None) for name in options["roles"].values()):
            raise ValueError("the label of its schema, or the like, has no name.")
        if type(known["delimiter"]) is not str or len(known["delimiter"].encode()) != 1:
            raise ValueError("the delimiter of its schema is no character.")
        if not all(isinstance(name, str) for name in known["guessed"]):
            raise ValueError("the columns of its schema that were guessed have no names.")
        if known["decimal"] not in {".", ","}:
            raise ValueError("the decimal of its schema is neither a point nor a comma.")
        if known["labels"] not in LABEL_KINDS:
            raise ValueError("the labels of its schema are of no known kind.")
        if not isinstance(known["time_of_table"], str | None):
            raise ValueError("the time of its schema has no name.")  # noqa: TRY004 - the file's fault
        if not all(type(known[name]) is bool for name in ("header", "quoted", "named")):
            raise ValueError("its schema does not say whether there is a header, or quotes, or names.")
        return cls(**known)


def _columns_of(saved: Any) -> tuple[Column, ...]:
    """The columns of a file. Those of version 1 are described one by one."""
    if not isinstance(saved, dict):
        return tuple(Column(**column) for column in saved)
    times = set(saved["times"])
    named = enumerate(zip(saved["names"], saved["kinds"], strict=True))
    return tuple(Column(name, kind, place in times) for place, (name, kind) in named)


class Parser:
    """Reads chunks by a schema. Any number of threads may call it."""

    def __init__(self, schema: Schema, skip_bad: bool, vocabulary: _core.Vocabulary | None, predicts: bool) -> None:
        self._schema, self._skip_bad, self._vocabulary = schema, skip_bad, vocabulary
        self._features = schema.native_features(predicts=predicts)
        self._columns = _core.TableColumns(native_columns(schema))

    def __call__(self, chunk: Chunk) -> _core.TextBlock:
        """The events of a chunk."""
        return self.read(chunk.data, first=chunk.first)

    def read(self, data: bytes | bytearray | memoryview, *, first: bool) -> _core.TextBlock:
        """The events of whole lines; `first` if they begin a file."""
        schema = self._schema
        if schema.format == "libsvm":
            return _core.read_libsvm(data, self._features, self._skip_bad, self._vocabulary)
        if schema.format == "vw":
            return _core.read_vw(data, self._features, self._skip_bad, self._vocabulary)
        if schema.format == "jsonl":
            return _core.read_json(
                data, schema.roles.native(schema.time_feature), self._features, self._skip_bad, self._vocabulary
            )
        return _core.read_csv(
            data,
            columns=self._columns,
            delimiter=schema.delimiter,
            quoted=schema.quoted,
            decimal_comma=schema.decimal == ",",
            header=schema.header and first,
            features=self._features,
            skip_bad=self._skip_bad,
            vocabulary=self._vocabulary,
        )


NativeColumn: TypeAlias = tuple[str, str, str, bool]
"""A column as the core takes it: its name, its role, its kind, and whether it is the time as well as a feature."""


def native_columns(schema: Schema) -> list[NativeColumn]:
    """The columns of a table for the core. The role of those that nothing is made of is "ignored"."""
    roles, ignored, kept = schema.roles.by_name(), {*schema.features.ignore}, {*schema.features.keep}
    remembered = schema.features.remembered
    columns: list[NativeColumn] = []
    for column in schema.columns:
        parts = {f"{column.name}.{part}" for part in DATE_PARTS} if column.kind == "date" else set()
        is_kept = column.name not in ignored and (not kept or bool({column.name, *parts} & kept))
        role = roles.get(column.name) or (
            "feature" if is_kept or column.name in remembered else "time" if column.is_time else "ignored"
        )
        columns.append((column.name, role, column.kind, column.is_time and role == "feature"))
    return columns


def recognise_format(path: str, head: bytes, *, quoted: bool = True) -> Format:
    """The format of a file, from its first bytes and its name. StreamError if they do not tell."""
    for magic, format_ in MAGIC.items():
        if head.startswith(magic):
            return format_
    suffixes = [suffix.lower() for suffix in PurePath(path).suffixes]
    while suffixes and suffixes[-1] in COMPRESSION_SUFFIXES:
        suffixes.pop()
    if suffixes and suffixes[-1] in SUFFIXES:
        return SUFFIXES[suffixes[-1]]
    lines = [_beginning(line) for line in head.decode(errors="replace").splitlines() if line.strip()][:20]
    data = [line for line in lines if not line.startswith("#")]
    if data:
        if data[0].lstrip().startswith("{"):
            return "jsonl"
        if all(_LIBSVM.match(line) for line in data) and any(":" in line for line in data):
            return "libsvm"
        if all(_VW.match(line) for line in data):
            return "vw"
        delimiter = _core.guess_delimiter(head, quoted)
        if all(delimiter in line for line in data):
            return "csv"
    raise StreamError(
        f"its format is not recognised. Name it: one of {', '.join(FORMATS)}; if blanks separate columns, csv with the delimiter ' '.",
        path=path,
        line=1 if data else None,
    )


def _beginning(line: str) -> str:
    """A line to be recognised: of a long one only the beginning, which ends with a word."""
    return line if len(line) <= LONG_LINE else (line[:LONG_LINE].rsplit(maxsplit=1) or [""])[0]


def table_schema(
    sample: bytes,
    path: str,
    features: Features,
    roles: Roles,
    *,
    delimiter: str | None,
    header: bool | None,
    quoted: bool,
    decimal: str | None,
    usual_decimal: str,
    kinds: Mapping[str, Kind],
    split_dates: bool = True,
    optional: Collection[str] = (),
    known: bool = False,
) -> tuple[Schema, dict[str, _core.Tally]]:
    """The schema of CSV, from its first lines, and what the columns hold there.

    What `kinds` says of a column comes before what its cells look like. Of the roles, the `optional` ones may name columns that are not
    there. If the features are `known`, from earlier data, they stay as they are.
    """
    separator = delimiter or _core.guess_delimiter(sample, quoted)
    try:
        first = _core.csv_fields(sample, separator, quoted)
    except ValueError as error:
        raise StreamError(f"{error}.", path=path, line=1) from error
    comma = (decimal or _core.guess_decimal(sample, separator, quoted) or usual_decimal) == ","
    if header is None:
        named = {*first}.intersection((*roles.by_name(), *kinds))
        is_name = (not re.fullmatch(r"-?\d+", name) for name in named)  # numbers are places, or values
        header = any(is_name) or _core.guess_header(sample, separator, quoted, comma, features.native())
    names = [name if header and name else str(number) for number, name in enumerate(first, 1)]
    if any("\r" in name for name in first):
        raise StreamError("lines end with a carriage return alone. Convert them: tr '\\r' '\\n'.", path=path)
    fault = _core.header_fault(names)
    if fault:
        raise StreamError(f"{fault}.", path=path, line=1)
    if header and len(names) > 1 and b'"' not in sample:  # within quotes a line may be anything
        _refuse_second_header(sample, path)
    counted = _core.tally_csv(sample, separator, quoted, comma, len(names), header, features.native())
    tallies = dict(zip(names, counted, strict=True))
    try:
        roles = found_roles(roles, names if sample.strip() else [], path, header, optional)
    except StreamError as error:
        if (line := _header_below(sample, separator, quoted, roles)) is None:
            raise
        message = f"{error.message} Line {line} has it: remove the lines before it, as tail -n +{line} does."
        raise StreamError(message, path=path, line=1) from error
    found = guess(tallies, {**features.kinds(), **kinds}, features, split_dates=split_dates)
    schema = Schema(
        format="csv",
        features=features if known else found.features,
        roles=roles,
        columns=with_time(tuple(Column(name, found.kinds[name]) for name in names), roles),
        delimiter=separator,
        header=header,
        quoted=quoted,
        decimal="," if comma else ".",
        guessed=found.guessed,
    )
    return schema, tallies


def _header_below(sample: bytes, separator: str, quoted: bool, roles: Roles) -> int | None:
    """The line that looks like the header, if comments or a title come before it: it has the names of all roles."""
    wanted = set(roles.by_name())
    for number, line in enumerate(sample.split(b"\n")[:MOST_COMMENTS], 1):
        for delimiter in {separator, *",\t;|"} if line.strip() else ():
            with contextlib.suppress(ValueError):
                if wanted <= set(_core.csv_fields(line + b"\n", delimiter, quoted)):
                    return number
    return None


def _refuse_second_header(sample: bytes, path: str) -> None:
    """Of two files that were put together one's header is a row of the other."""
    begin = len(sample) - len(sample.lstrip())
    lines = [line.rstrip(b"\r") for line in sample[begin:].split(b"\n")]
    if lines[0] in lines[1:]:
        raise StreamError(
            "the header comes again. Give several files by their names, instead of putting them together.",
            path=path,
            line=sample.count(b"\n", 0, begin) + lines.index(lines[0], 1) + 1,
        )


def with_time(columns: tuple[Column, ...], roles: Roles) -> tuple[Column, ...]:
    """The first column of dates is the time of the events, unless another one is."""
    if roles.time is not None:
        return columns
    taken = roles.by_name()
    for place, column in enumerate(columns):
        if column.kind == "date" and column.name not in taken:
            return (*columns[:place], replace(column, is_time=True), *columns[place + 1 :])
    return columns


def found_roles(roles: Roles, names: Sequence[str], path: str, header: bool, optional: Collection[str] = ()) -> Roles:
    """With the names that the columns have: -1 is the last."""
    found: dict[str, str | None] = {}
    for role, name in asdict(roles).items():
        if name is None or name in names:
            found[role] = name
        elif re.fullmatch(r"-\d+", name) and int(name) >= -len(names):
            found[role] = names[int(name)]
        elif role in optional:
            found[role] = None
        else:
            if not names:
                raise StreamError(f"there is no column {name!r} for the {role}. The file is empty.", path=path)
            hint = "" if header else " The file was taken to have no header: columns are counted from 1."
            if header and re.fullmatch(r"-?\d+", name):
                hint = " They have names: a number means none of them, but -1 is the last."
            message = f"there is no column {name!r} for the {role}. There are {listed(names)}.{hint}"
            raise StreamError(" ".join(filter(None, (message, did_you_mean(name, names)))), path=path)
    return Roles(**found)
