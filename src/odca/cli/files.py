"""The model files that commands read, and the files that they write."""

import argparse
import glob
import io
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from odca.cli.option_types import takes_file
from odca.cli.views.console import Output
from odca.io.atomic import replacing

if TYPE_CHECKING:
    from odca.stream.model import StreamModel

STANDARD_OUTPUT = "-"


def add_model_argument(parser: argparse.ArgumentParser) -> None:
    """Add MODEL."""
    takes_file(parser.add_argument("model", metavar="MODEL", help="a model or checkpoint written by `odca train`"))


def add_output_option(parser: argparse.ArgumentParser, what: str) -> None:
    """Add -o, for data that go to standard output by default."""
    takes_file(
        parser.add_argument(
            "-o",
            "--output",
            metavar="FILE",
            default=STANDARD_OUTPUT,
            help=f"the file to write {what} to (default: -, standard output)",
        )
    )


def load_any(path: str, output: Output) -> Any:
    """Load a model of any kind; from a checkpoint, the model in it."""
    import odca  # noqa: PLC0415 - after parsing

    model = odca.load(path)
    if type(model).__name__ != "Checkpoint":
        return model
    output.note(f"{path} is a checkpoint of an unfinished training; using the model in it.")
    return model.model


def load_stream_model(path: str, output: Output) -> "StreamModel":
    """Load a model that knows how its data are read."""
    from odca.stream.model import StreamModel  # noqa: PLC0415 - after parsing

    model = load_any(path, output)
    if not isinstance(model, StreamModel):
        raise ValueError(  # noqa: TRY004 - the file's fault
            f"{path} holds a {type(model).__name__}, which does not know how to read data files. "
            "Use a model written by `odca train`."
        )
    return model


def refuse_overwriting(options: Mapping[str, str | None], read: Sequence[str]) -> None:
    """ArgumentTypeError if an output file is also one of the input files."""
    paths = [path for each in read for path in glob.glob(each, recursive=True) or [each]]  # noqa: PTH207 - as `expand` does
    for option, path in options.items():
        is_file = path not in {None, STANDARD_OUTPUT} and (Path(str(path)).is_file() or not Path(str(path)).exists())
        if is_file and any(same_file(str(path), each) for each in paths):
            raise argparse.ArgumentTypeError(f"argument {option}: {path} is an input file. Name another file")


def same_file(one: str, other: str) -> bool:
    """Whether two paths name the same file, which need not exist."""
    return os.path.realpath(one) == os.path.realpath(other)


@contextmanager
def open_output(path: str) -> Iterator[TextIO]:
    """Open a text file that is replaced only once it is complete; "-" is standard output."""
    if path == STANDARD_OUTPUT:
        yield sys.stdout
        return
    with replacing(Path(path)) as file:
        text = io.TextIOWrapper(file, encoding="utf-8", newline="\n")
        yield text
        text.detach()  # this flushes the text first
