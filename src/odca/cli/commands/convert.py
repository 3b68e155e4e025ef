"""`odca convert`: convert data to another format, or a model to JSON or ONNX."""

import argparse
import time
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, BinaryIO

from odca.cli.data_options import add_data_options, add_feature_options, features_of, open_stream, warn_about_data
from odca.cli.option_types import writes_file
from odca.cli.shared_options import STANDARD_STREAM, add_printing_options
from odca.cli.views import formatting
from odca.cli.views.console import Fact, Output

if TYPE_CHECKING:
    from odca.stream import Stream
    from odca.stream.write.tables import TableLayout
    from odca.stream.write.text import Keys, Writer

EPILOG = """\
examples:
  odca convert clicks.csv --label click -o clicks.parquet
  odca convert 'logs/*.jsonl.zst' --label click -o logs.vw.gz
  odca convert houses.parquet --label price -o houses.svm --names houses.names
  odca convert model.safetensors -o model.onnx
"""
DATA_FORMATS = ("libsvm", "vw", "jsonl", "csv", "parquet", "arrow")
MODEL_FORMATS = ("json", "onnx")
TABLES = ("csv", "parquet", "arrow")
MODEL_BEGINS = b'{"__metadata__":{"checksum":'


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's own arguments."""
    add_data_options(parser)
    writes_file(
        parser.add_argument(
            "-o",
            "--output",
            metavar="OUT",
            required=True,
            help="the file to write to; compressed if its name ends in .gz, .zst, .bz2 or .xz. - is standard output",
        )
    )
    parser.add_argument(
        "--to",
        choices=(*DATA_FORMATS, *MODEL_FORMATS),
        help="the format to convert to (default: chosen from the extension of OUT)",
    )
    writes_file(
        parser.add_argument(
            "--names",
            metavar="FILE",
            help="with libsvm: write the names of the features to this file, as lines of index, tab, name",
        )
    )
    add_feature_options(parser)
    add_printing_options(parser, quiet="print no summary")
    parser.set_defaults(result_in_file=True)


def run(arguments: argparse.Namespace) -> int:
    """Convert data or a model; return the exit code."""
    arguments.data_on_stdout = arguments.output == STANDARD_STREAM
    if len(arguments.data) == 1 and is_model(arguments.data[0]):
        return _convert_model(arguments)
    to = _format(arguments, DATA_FORMATS)
    if arguments.names is not None and to != "libsvm":
        raise argparse.ArgumentTypeError(f"argument --names: is only for libsvm; {to} holds the names of its features")
    _Conversion(arguments, to).run()
    return 0


def is_model(path: str) -> bool:
    """Whether a file is a model, by its content."""
    if path == STANDARD_STREAM or not Path(path).is_file():
        return False
    with Path(path).open("rb") as file:
        return file.read(8 + len(MODEL_BEGINS))[8:] == MODEL_BEGINS


def _format(arguments: argparse.Namespace, formats: tuple[str, ...]) -> str:
    from odca.stream.read.schema import SUFFIXES  # noqa: PLC0415 - after parsing
    from odca.stream.write.sinks import compression_of  # noqa: PLC0415 - the same

    path = PurePath(arguments.output)
    suffix = (path.with_suffix("") if compression_of(arguments.output) else path).suffix.lower()
    by_name = suffix[1:] if suffix[1:] in formats else SUFFIXES.get(suffix)
    to = arguments.to or by_name
    if to not in formats:
        came = f"{suffix or arguments.output!r} is not one of them" if arguments.to is None else f"got {to}"
        what = "a model" if formats is MODEL_FORMATS else "data"
        raise argparse.ArgumentTypeError(
            f"argument --to: {what} can be converted to {', '.join(formats)}; {came}. Choose one with --to"
        )
    if to in {"parquet", "arrow"} and compression_of(arguments.output):
        raise argparse.ArgumentTypeError(f"argument -o: {to} files are compressed already; leave out {path.suffix}")
    return str(to)


# Models


def _convert_model(arguments: argparse.Namespace) -> int:
    from odca.features.history import lines_of  # noqa: PLC0415 - after parsing
    from odca.stream.model import StreamModel  # noqa: PLC0415 - the same
    from odca.stream.read.errors import listed  # noqa: PLC0415 - the same
    from odca.stream.write.linear import LinearModel  # noqa: PLC0415 - the same
    from odca.stream.write.sinks import open_sink  # noqa: PLC0415 - the same

    to = _format(arguments, MODEL_FORMATS)
    whole = StreamModel.load(arguments.data[0])
    model = LinearModel.of(whole)
    if to == "json":
        written = f"{model.as_json()}\n".encode()
    else:
        from odca.stream.write.onnx import to_onnx  # noqa: PLC0415 - onnx is optional

        written = to_onnx(model)
    with open_sink(arguments.output) as file:
        file.write(written)
    if not arguments.quiet:
        facts = [
            Fact("features", len(model.names), formatting.count),
            Fact("loss", model.loss),
            *([Fact("classes", len(model.classes), formatting.count)] if model.classes else []),
            Fact("format", to),
            Fact("size", len(written), formatting.size, "bytes"),
            Fact("output", arguments.output),
        ]
        Output.of(arguments).summary({"converted": facts})
    if whole.past is not None:
        shown = listed(repr(name) for line in lines_of(whole.schema.features.history) for name in line.names)
        Output.of(arguments).warn(
            f"the file has weights for the features of the past ({shown}), but not the past itself, nor the rule that makes features of "
            "it: whoever uses the file must give these features their values. `odca predict` does it by itself."
        )
    return 0


# Data


class _Conversion:
    """Converts files into one file, a block at a time."""

    def __init__(self, arguments: argparse.Namespace, to: str) -> None:
        self._arguments, self._to = arguments, to
        self._output = Output.of(arguments)
        self._started = time.monotonic()
        self._events = 0

    def run(self) -> None:
        """Convert all events."""
        from odca.stream.write.sinks import open_sink  # noqa: PLC0415 - after parsing

        columns = None
        if self._to in TABLES:
            if STANDARD_STREAM in self._arguments.data:
                raise ValueError(
                    f"{self._to} files begin with a list of all columns, so the data must be read twice, which is not possible "
                    "for standard input. Name a file, or convert to jsonl or vw."
                )
            columns = self._columns()
        with self._opened(columns) as stream, open_sink(self._arguments.output) as file:
            writer, keys = self._writer(stream, file, columns)
            with self._output.progress(stream.total) as live:
                for block in stream:
                    writer.write(block)
                    self._events += len(block)
                    live.update(self._events, stream.consumed)
            writer.close()
            self._write_names(stream, keys)
        self._show_summary(stream, writer)

    def _opened(self, columns: "TableLayout | None") -> "Stream":
        vocabulary = None if columns is None else columns.vocabulary
        return open_stream(
            self._arguments,
            features=features_of(self._arguments),
            vocabulary=vocabulary,
            grow=vocabulary is None,
            split_dates=False,
        )

    def _columns(self) -> "TableLayout":
        """Find all columns, in a first pass over the data."""
        from odca.stream.write.tables import TableLayout  # noqa: PLC0415 - after parsing

        with self._opened(None) as stream, self._output.progress(stream.total) as live:
            columns = TableLayout(stream.schema, stream.vocabulary)
            events = 0
            for block in stream:
                columns.add(block)
                events += len(block)
                live.update(events, stream.consumed)
        columns.finish()
        return columns

    def _writer(self, stream: "Stream", file: BinaryIO, columns: "TableLayout | None") -> "tuple[Writer, Keys]":
        from odca.stream.write import text  # noqa: PLC0415 - after parsing

        keys = text.Keys(stream.schema, stream.vocabulary)
        if columns is not None:
            from odca.stream.write import tables  # noqa: PLC0415 - the same

            if self._to == "csv":
                return tables.Csv(file, stream.schema, keys, columns), keys
            return tables.Arrow(file, stream.schema, keys, columns, parquet=self._to == "parquet"), keys
        if self._to == "libsvm":
            return text.Libsvm(file, stream.schema, keys), keys
        return (text.Vw if self._to == "vw" else text.JsonLines)(file, stream.schema, keys), keys

    def _write_names(self, stream: "Stream", keys: "Keys") -> None:
        if self._arguments.names is None:
            return
        from odca.features.spec import feature_name  # noqa: PLC0415 - after parsing
        from odca.stream.write.sinks import open_sink  # noqa: PLC0415 - the same

        if stream.vocabulary is None:
            raise ValueError("the features of these data have no names, only indices. Leave out --names.")
        with open_sink(self._arguments.names) as file:
            for index in range(len(stream.vocabulary)):
                file.write(f"{index + 1}\t{feature_name(keys(index))}\n".encode())

    def _show_summary(self, stream: "Stream", writer: "Writer") -> None:
        for what, count in (+writer.lost).items():
            self._output.warn(f"{what}: {count:,}.")
        numbers = getattr(writer, "label_numbers", {})
        if numbers:
            shown = ", ".join(f"{label} is {number}" for label, number in list(numbers.items())[:20])
            more = ", ..." if len(numbers) > 20 else ""
            self._output.warn(f"labels in {self._to} files are numbers, so classes are numbered: {shown}{more}.")
        if not self._arguments.quiet:
            seconds = time.monotonic() - self._started
            facts = [
                Fact("events", self._events, formatting.count),
                *([Fact("names", len(stream.vocabulary), formatting.count)] if stream.vocabulary is not None else []),
                Fact("format", self._to),
                Fact("time", seconds, formatting.duration, "seconds"),
                Fact("output", self._arguments.output),
            ]
            self._output.summary({"converted": facts})
        warn_about_data(self._output, stream)
