"""Options that say what data are and how they are read; several commands have them."""

import argparse
from typing import TYPE_CHECKING, Any

from odca.cli.flags import explain
from odca.cli.learner_options import takes_file, whole_number
from odca.cli.views import formatting
from odca.cli.views.console import Output

if TYPE_CHECKING:
    from odca.stream import Features, Schema, Stream
    from odca.stream.model import StreamModel
    from odca.stream.read.chunks import Position
    from odca.stream.read.stream import BadLines

ROLES = ("label", "weight", "offset", "time", "group", "tag")
FORMATS = ("auto", "libsvm", "vw", "csv", "jsonl", "arrow", "parquet")
COMPRESSIONS = ("auto", "plain", "gzip", "zstd", "bz2", "xz")


def add_data_options(parser: argparse.ArgumentParser, *, needed: bool = True) -> None:
    """DATA, --format, --compression, --label, ..., --on-error, --threads. DATA may be left out if it is not `needed`."""
    takes_file(
        parser.add_argument(
            "data",
            nargs="+" if needed else "*",
            metavar="DATA",
            help="files or globs, as one stream; - is standard input",
        )
    )
    group = parser.add_argument_group("how data are read")
    group.add_argument(
        "--format", choices=FORMATS, default="auto", help="what DATA are (default: by the name and the first bytes)"
    )
    group.add_argument(
        "--compression",
        choices=COMPRESSIONS,
        default="auto",
        help="how DATA are compressed (default: by the first bytes)",
    )
    group.add_argument("--label", metavar="COL", help="the column or key that holds the label; -1 is the last column")
    for role, what in (
        ("weight", "that holds the weight of an event"),
        ("offset", "that holds what is added to the prediction's margin, known beforehand"),
        ("time", "that holds the event's time: seconds, or dates (default: the first column of dates)"),
        ("tag", "that names an event: predictions carry it"),
    ):
        group.add_argument(f"--{role}", metavar="COL", help=f"the column {what}")
    group.add_argument("--delimiter", metavar="CHAR", help="of CSV; tab for a tab (default: by the first lines)")
    group.add_argument(
        "--header",
        action=argparse.BooleanOptionalAction,
        help="whether CSV begins with the names of its columns (default: by the first lines)",
    )
    group.add_argument(
        "--on-error",
        choices=("stop", "skip"),
        default="stop",
        help="what to do with a line that cannot be read: stop, or count it, skip it and tell in the end (default: stop)",
    )
    group.add_argument(
        "--max-line", type=whole_number(16), default=16 << 20, metavar="BYTES", help="the longest line (default: 16 MB)"
    )
    group.add_argument(
        "--threads",
        type=whole_number(1),
        metavar="N",
        help="how many parse; the model does not depend on it (default: all cores)",
    )


def add_feature_options(parser: argparse.ArgumentParser) -> None:
    """--bits, --interact, --ignore, ..."""
    group = parser.add_argument_group(
        "what becomes a feature", "A field is a column of CSV, a key of JSON, a namespace of VW's text."
    )
    group.add_argument(
        "--bits",
        type=whole_number(1),
        metavar="B",
        help="hash the names of features to so many bits (default: keep the names)",
    )
    group.add_argument(
        "--interact",
        nargs="+",
        action="append",
        default=[],
        metavar="FIELD",
        help="multiply the features of these fields; may be repeated",
    )
    for option, what in (
        ("ignore", "fields that do not count"),
        ("keep", "the only fields that count"),
        ("text", "fields that hold text: lower-cased words are features"),
        ("categorical", "fields whose numbers are names of categories"),
        ("numeric", "fields that must hold numbers"),
    ):
        group.add_argument(f"--{option}", nargs="+", action="extend", default=[], metavar="FIELD", help=what)
    group.add_argument(
        "--ngrams", type=whole_number(1), default=1, metavar="N", help="series of up to N words of texts (default: 1)"
    )
    group.add_argument(
        "--missing",
        choices=("indicate", "ignore", "error"),
        default="indicate",
        help="what a missing value is: a feature of its own, nothing, an error (default: indicate)",
    )


def features_of(arguments: argparse.Namespace) -> "Features":
    """What `add_feature_options` asked for."""
    from odca.stream import Features  # noqa: PLC0415 - after parsing

    try:
        return Features(
            bits=arguments.bits,
            keep=tuple(arguments.keep),
            ignore=tuple(arguments.ignore),
            interactions=tuple(tuple(each) for each in arguments.interact),
            text=tuple(arguments.text),
            ngrams=arguments.ngrams,
            categorical=tuple(arguments.categorical),
            numeric=tuple(arguments.numeric),
            missing=arguments.missing,
        )
    except ValueError as error:
        raise argparse.ArgumentTypeError(explain(error)) from error


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

    _core.keep_freed_memory()
    delimiter = {"tab": "\t", "\\t": "\t"}.get(arguments.delimiter, arguments.delimiter)
    if delimiter is not None and len(delimiter.encode()) != 1:
        raise argparse.ArgumentTypeError(f"argument --delimiter: one character is needed; got {arguments.delimiter!r}")
    opened = stream.open(
        arguments.data,
        format=arguments.format,
        compression=arguments.compression,
        label=arguments.label,
        weight=arguments.weight,
        offset=arguments.offset,
        time=arguments.time,
        tag=arguments.tag,
        features=features or stream.Features(),
        delimiter=delimiter,
        header=arguments.header,
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
    if features is not None:
        try:
            _require_fields(features, opened.schema)
        except BaseException:
            opened.close()
            raise
    if opened.absent:
        Output.of(arguments).warn(
            f"the model has learned from columns that these data do not have: {', '.join(opened.absent)}."
        )
    return opened


def _require_fields(features: "Features", schema: "Schema") -> None:
    """ArgumentTypeError for a field that a table does not have. Of text and JSON nobody knows what may come."""
    columns = [column.name for column in schema.columns]
    wanted = {
        "--ignore": features.ignore, "--keep": features.keep, "--text": features.text, "--categorical": features.categorical,
        "--numeric": features.numeric, "--interact": [name for each in features.interactions for name in each],
    }  # fmt: skip
    for option, names in wanted.items():
        for name in names if columns else ():
            if name not in columns and name.rpartition(".")[0] not in columns:  # at.hour is a part of the date at
                raise argparse.ArgumentTypeError(
                    f"argument {option}: there is no column {name!r}. There are {', '.join(columns)}"
                )


def tell_unknown_features(output: Output, model: "StreamModel") -> None:
    """Of events whose features the model does not know."""
    if model.learner.n_features:
        output.warn(
            "the model knows none of the features of these events. Are they named as in the data it learned from?"
        )


def tell_bad_lines(output: Output, bad: "BadLines", before: int = 0) -> None:
    """Say how many lines were skipped, and show the first of them."""
    if not bad.count + before:
        return
    count = bad.count + before
    output.warn(f"{formatting.several(count, 'line')} could not be read and {'was' if count == 1 else 'were'} skipped:")
    for sample in bad.samples:
        output.warn(explain(sample))
