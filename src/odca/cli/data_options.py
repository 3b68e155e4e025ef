"""The options that say where the data are and how to read them. Several commands share them."""

import argparse
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

from odca.cli.flag_spelling import explain
from odca.cli.option_types import reads_file, size_range, whole_number
from odca.cli.views import formatting
from odca.cli.views.console import Output

if TYPE_CHECKING:
    from odca.stream import Features, Schema, Stream
    from odca.stream.model import StreamModel
    from odca.stream.read.positions import Position
    from odca.stream.read.stream import BadLines

ROLES = ("label", "weight", "offset", "time", "group", "tag")
FORMATS = ("auto", "libsvm", "vw", "csv", "jsonl", "arff", "arrow", "parquet")
COMPRESSIONS = ("auto", "plain", "gzip", "zstd", "bz2", "xz")


def add_data_options(parser: argparse.ArgumentParser, *, required: bool = True) -> None:
    """Add DATA, --format, --compression, --label, ..., --on-error, --threads. DATA may be left out unless `required`."""
    reads_file(
        parser.add_argument(
            "data",
            nargs="+" if required else "*",
            metavar="DATA",
            help="files or glob patterns, read as one stream; - is standard input; or one topic: kafka://HOST:PORT/NAME, redis://HOST:PORT/NAME",
        )
    )
    group = parser.add_argument_group("how to read the data")
    group.add_argument(
        "--format",
        choices=FORMATS,
        default="auto",
        help="the format of DATA (default: detected from the file name and the first bytes)",
    )
    group.add_argument(
        "--compression",
        choices=COMPRESSIONS,
        default="auto",
        help="how DATA are compressed (default: detected from the first bytes)",
    )
    group.add_argument("--label", metavar="COL", help="the column or key of the label; -1 is the last column")
    for role, what in (
        ("weight", "of the event's weight"),
        ("offset", "of a known term to add to the model's output (the margin)"),
        ("time", "of the event's time, in seconds or as dates (default: the first column of dates)"),
        ("tag", "of a name or id for the event, which is printed with its prediction"),
    ):
        group.add_argument(f"--{role}", metavar="COL", help=f"the column {what}")
    group.add_argument(
        "--delimiter",
        metavar="CHAR",
        help="the separator of CSV columns; write tab for a tab (default: detected from the first lines)",
    )
    group.add_argument(
        "--header",
        action=argparse.BooleanOptionalAction,
        help="whether CSV files begin with the names of their columns (default: detected from the first lines)",
    )
    group.add_argument(
        "--quote",
        choices=("double", "none"),
        help="double, if fields of CSV may be in double quotes; none, if quotes are characters like others (default: double)",
    )
    group.add_argument(
        "--decimal",
        choices=(".", ","),
        help="the decimal mark in CSV: . for 3.14, or , for 3,14 and 1.234,56 (default: detected from the first lines)",
    )
    group.add_argument(
        "--query",
        metavar="SQL",
        help="the rows to read, if DATA is a database of SQLite or DuckDB: --query 'select * from visits'",
    )
    group.add_argument(
        "--on-error",
        choices=("stop", "skip"),
        default="stop",
        help="what to do with a line that cannot be read: stop, or skip it and report the number of skipped lines at the end "
        "(default: stop)",
    )
    group.add_argument(
        "--max-line",
        type=whole_number(16),
        default=16 << 20,
        metavar="BYTES",
        help="the longest line allowed (default: 16 MB)",
    )
    group.add_argument(
        "--threads",
        type=whole_number(1),
        metavar="N",
        help="the number of threads that parse; it does not affect the model (default: one per core)",
    )


FIELD_OPTIONS = {
    "ignore": "leave out these fields",
    "keep": "use only these fields",
    "text": "fields that hold text: each lower-cased word is a feature",
    "categorical": "fields whose numbers are codes of categories",
    "numeric": "fields that must hold numbers",
    "dates": "fields that hold dates: their month, weekday and hour become categories, their trend a number",
    "booleans": "fields that hold true or false, also where they are text",
}


def add_feature_options(parser: argparse.ArgumentParser, *, learns: bool = False) -> None:
    """Add --bits, --interact, --ignore, ..., and for a command that `learns` those that depend on the events learned before."""
    group = parser.add_argument_group(
        "features", "A FIELD is a column of CSV, a key of JSON, or a namespace of VW's text format."
    )
    group.add_argument(
        "--bits",
        type=whole_number(1),
        metavar="B",
        help="hash feature names to B bits (default: keep the names)",
    )
    group.add_argument(
        "--interact",
        nargs="+",
        action="append",
        default=[],
        metavar="FIELD",
        help="add the products of these fields' features; * is every field: --interact user '*'; may be repeated",
    )
    group.add_argument(
        "--pairs",
        nargs="+",
        action="extend",
        default=[],
        metavar="FIELD",
        help="add the products of all pairs of these fields; --pairs '*' of all fields",
    )
    for option, what in FIELD_OPTIONS.items():
        group.add_argument(f"--{option}", nargs="+", action="extend", default=[], metavar="FIELD", help=what)
    group.add_argument(
        "--day-first",
        action=argparse.BooleanOptionalAction,
        help="whether 7/8/2024 is the 7th of August (default: decided by the first lines; if they leave it open, the 8th of July)",
    )
    group.add_argument(
        "--na-values",
        nargs="*",
        metavar="TEXT",
        help="texts that mean a missing value, in addition to an empty field (default: NA, NaN, null, None, N/A, ? and the like)",
    )
    group.add_argument(
        "--missing",
        choices=("indicate", "ignore", "error"),
        default="indicate",
        help="a missing value becomes a feature of its own (indicate), is left out (ignore), or is an error (default: indicate)",
    )

    _add_text_options(parser, learns=learns)


def _add_text_options(parser: argparse.ArgumentParser, *, learns: bool) -> None:
    group = parser.add_argument_group("features of text", "How the fields of --text become features: see docs/text.md.")
    group.add_argument(
        "--ngrams",
        type=whole_number(0),
        default=1,
        metavar="N",
        help="also use sequences of up to N words as features; 0 for no words, with --chars (default: 1)",
    )
    group.add_argument(
        "--chars",
        type=size_range,
        metavar="N-M",
        help="also use sequences of N to M characters, within a word and the blanks around it: --chars 3-5",
    )
    group.add_argument(
        "--sublinear",
        action="store_true",
        help="a word that occurs n times counts 1 + log n (default: n)",
    )
    if learns:
        group.add_argument(
            "--tf-idf",
            action="store_true",
            help="rare words count more: times log((1 + n) / (1 + df)) + 1, if df of the n events learned before have the word",
        )
    group.add_argument(
        "--unit-norm",
        action="store_true",
        help="divide the features of each text by their Euclidean norm, so that long and short texts count alike",
    )
    group.add_argument(
        "--text-length",
        type=whole_number(1),
        metavar="N",
        help="read only the first N characters of each text (default: all)",
    )


def add_history_options(parser: argparse.ArgumentParser) -> None:
    """Add --history and --history-keys."""
    group = parser.add_argument_group("history", "The past as features: see docs/history.md.")
    group.add_argument(
        "--history",
        action="append",
        default=[],
        metavar="LINE",
        help="what was known before an event, such as 'y by station: lag 1,24; mean 24h; std 7d': of the label, y, or of a field; lag, "
        "mean, std, min, max, change over so many events or so much time (s, m, h, d, w), and since; may be repeated",
    )
    group.add_argument(
        "--history-keys",
        type=whole_number(1),
        default=100_000,
        metavar="N",
        help="remember the history of at most N keys (stations); the one not seen for longest is forgotten first "
        "(default: 100,000)",
    )


def features_of(arguments: argparse.Namespace) -> "Features":
    """The values of the options that `add_feature_options` declares."""
    from odca.stream import Features  # noqa: PLC0415 - after parsing

    try:
        fields: dict[str, Any] = {option: tuple(getattr(arguments, option)) for option in FIELD_OPTIONS}
        return Features(
            bits=arguments.bits,
            interactions=(*(tuple(each) for each in arguments.interact), *_pairs(arguments.pairs)),
            ngrams=arguments.ngrams,
            chars=arguments.chars,
            sublinear=arguments.sublinear,
            tf_idf=getattr(arguments, "tf_idf", False),
            unit_norm=arguments.unit_norm,
            text_length=arguments.text_length,
            missing=arguments.missing,
            na_values=None if arguments.na_values is None else tuple(arguments.na_values),
            day_first=arguments.day_first,
            history=tuple(getattr(arguments, "history", ())),
            history_keys=getattr(arguments, "history_keys", 100_000),
            **fields,
        )
    except ValueError as error:
        raise argparse.ArgumentTypeError(explain(error)) from error


def _pairs(fields: list[str]) -> list[tuple[str, str]]:
    """All pairs of these fields; "*" pairs all fields there are.

    >>> _pairs(["a", "b", "c"]), _pairs(["*"])
    ([('a', 'b'), ('a', 'c'), ('b', 'c')], [('*', '*')])
    """
    return [("*", "*")] if "*" in fields else list(combinations(dict.fromkeys(fields), 2))


def open_stream(
    arguments: argparse.Namespace,
    *,
    features: "Features | None" = None,
    schema: "Schema | None" = None,
    labelled: bool = True,
    vocabulary: Any = None,
    grow: bool = True,
    start: "Position | None" = None,
    follow: bool = False,
    split_dates: bool = True,
) -> "Stream":
    """The stream that the arguments name."""
    from odca import _core, stream  # noqa: PLC0415 - after parsing
    from odca.stream.read.errors import listed  # noqa: PLC0415 - the same
    from odca.stream.read.profile import profiles  # noqa: PLC0415 - the same
    from odca.stream.read.schema_file import read_schema, write_schema  # noqa: PLC0415 - the same

    _core.keep_freed_memory()
    schema_file = Path(arguments.schema) if features is not None and getattr(arguments, "schema", None) else None
    delimiter = {"tab": "\t", "\\t": "\t"}.get(arguments.delimiter, arguments.delimiter)
    if delimiter is not None and not (len(delimiter) == 1 and delimiter.isascii()):
        raise argparse.ArgumentTypeError(f"argument --delimiter: must be one character; got {arguments.delimiter!r}")
    header, quote, format_, decimal = arguments.header, arguments.quote, arguments.format, arguments.decimal
    if schema_file is not None and schema_file.exists() and features is not None:
        schema = read_schema(schema_file, features)
        delimiter = delimiter or schema.delimiter
        header = schema.header if header is None else header
        format_ = schema.format if format_ == "auto" else format_
        decimal = decimal or schema.decimal
    opened = stream.open(
        arguments.data[0] if len(arguments.data) == 1 else arguments.data,
        query=arguments.query,
        format=format_,
        compression=arguments.compression,
        label=arguments.label,
        weight=arguments.weight,
        offset=arguments.offset,
        time=arguments.time,
        tag=arguments.tag,
        features=features or stream.Features(),
        delimiter=delimiter,
        header=header,
        quote=quote,
        decimal=decimal,
        split_dates=split_dates,
        schema=schema,
        labelled=labelled,
        vocabulary=vocabulary,
        grow=grow,
        on_error=arguments.on_error,
        follow=follow,
        start=start,
        threads=arguments.threads,
        max_line=arguments.max_line,
    )
    if schema_file is not None and not schema_file.exists():
        write_schema(schema_file, opened.schema, [(each.name, each.use) for each in profiles(opened)])
    if opened.absent:
        Output.of(arguments).warn(
            f"the model was trained on columns that are missing from these data: {listed(opened.absent)}."
        )
    return opened


def warn_about_unknown_features(output: Output, model: "StreamModel") -> None:
    """Warn that the model has seen none of the features of these events."""
    if model.learner.n_features:
        output.warn(
            "none of the features of these events occurred in the training data. Do the features have the same names there?"
        )


def warn_about_data(output: Output, stream: "Stream", skipped_before: int = 0) -> None:
    """Report what was odd in the data and how it was read, and which lines were skipped."""
    for remark in stream.findings.remarks():
        output.warn(explain(remark))
    _warn_about_bad_lines(output, stream.bad, skipped_before)


def _warn_about_bad_lines(output: Output, bad: "BadLines", before: int) -> None:
    """Report how many lines were skipped, and show the first few."""
    if not bad.count + before:
        return
    count = bad.count + before
    output.warn(f"{formatting.plural(count, 'line')} could not be read and {'was' if count == 1 else 'were'} skipped:")
    for sample in bad.samples:
        output.warn(explain(sample))
