"""Model files that commands take, and files that they write."""

import argparse
import glob
import io
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from odca.cli.learner_options import takes_file
from odca.cli.views.console import Output
from odca.io.atomic import replacing

if TYPE_CHECKING:
    from odca.stream.model import StreamModel

STANDARD_OUTPUT = "-"


def add_model(parser: argparse.ArgumentParser) -> None:
    """MODEL."""
    takes_file(parser.add_argument("model", metavar="MODEL", help="a model that `odca train` wrote, or a checkpoint"))


def add_output(parser: argparse.ArgumentParser, what: str) -> None:
    """-o, for data that go to standard output otherwise."""
    takes_file(
        parser.add_argument(
            "-o",
            "--output",
            metavar="FILE",
            default=STANDARD_OUTPUT,
            help=f"where {what} go (default: -, standard output)",
        )
    )


def load_any(path: str, output: Output) -> Any:
    """The model of a file, whatever its kind; of a checkpoint, its model."""
    import odca  # noqa: PLC0415 - after parsing

    model = odca.load(path)
    if type(model).__name__ != "Checkpoint":
        return model
    output.note(f"{path} is a checkpoint, in the middle of a training: its model is taken.")
    return model.model


def load_stream_model(path: str, output: Output) -> "StreamModel":
    """The same, of a kind that knows how to read data."""
    from odca.stream.model import StreamModel  # noqa: PLC0415 - after parsing

    model = load_any(path, output)
    if not isinstance(model, StreamModel):
        raise ValueError(  # noqa: TRY004 - the file's fault
            f"{path} holds a {type(model).__name__}, which does not know how data are read. "
            "Name a model that `odca train` wrote."
        )
    return model


def refuse_overwriting(options: Mapping[str, str | None], read: Sequence[str]) -> None:
    """ArgumentTypeError if a file that is to be written is one of those that are to be read."""
    paths = [path for each in read for path in glob.glob(each, recursive=True) or [each]]  # noqa: PTH207 - as `expand` does
    for option, path in options.items():
        is_file = path not in {None, STANDARD_OUTPUT} and (Path(str(path)).is_file() or not Path(str(path)).exists())
        if is_file and any(same_file(str(path), each) for each in paths):
            raise argparse.ArgumentTypeError(f"argument {option}: {path} is to be read. Name another file")


def same_file(one: str, other: str) -> bool:
    """Whether two paths are one file, be it there or not."""
    return os.path.realpath(one) == os.path.realpath(other)


@contextmanager
def writing(path: str) -> Iterator[TextIO]:
    """A text file, all of it or nothing: it is written beside its destination and then renamed. "-" is standard output."""
    if path == STANDARD_OUTPUT:
        yield sys.stdout
        return
    with replacing(Path(path)) as file:
        text = io.TextIOWrapper(file, encoding="utf-8", newline="\n")
        yield text
        text.detach()  # what it has yet to write goes first
