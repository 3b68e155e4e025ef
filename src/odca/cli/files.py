"""The model files that commands read, and the files that they write."""

import argparse
import glob
import io
import os
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TextIO

from odca.cli.option_types import files_named
from odca.cli.shared_options import STANDARD_STREAM
from odca.cli.views.console import Output

if TYPE_CHECKING:
    from odca.stream.model import StreamModel


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


def refuse_overwriting(parser: argparse.ArgumentParser, arguments: argparse.Namespace) -> None:
    """ArgumentTypeError if a command would write onto one of its input files, or write two things to one file."""
    read = {}
    for _, name in files_named(parser, arguments, "read"):
        for path in glob.glob(name, recursive=True) or [name]:  # noqa: PTH207 - as `expand` does
            read[_identity(0 if path == STANDARD_STREAM else path)] = path
    read.pop(None, None)
    for number, stream in ((1, "standard output"), (2, "standard error")):
        if (file := _identity(number)) in read:
            path = "standard input" if read[file] == STANDARD_STREAM else read[file]
            raise argparse.ArgumentTypeError(f"{stream} goes to an input file: {path}")
    written: dict[Any, str] = {}
    for argument, path in files_named(parser, arguments, "written"):
        file = _identity(path)
        if path == STANDARD_STREAM or file is None:
            continue
        if file in read:
            raise argparse.ArgumentTypeError(f"argument {argument}: {path} is an input file. Name another file")
        if file in written:
            raise argparse.ArgumentTypeError(
                f"argument {argument}: is the same file as {written[file]}. Name another file"
            )
        written[file] = argument


def _identity(file: str | int) -> Any:
    """What all names of a file have in common, through links too; None for devices, pipes and folders, which may be named twice."""
    try:
        about = os.stat(file)  # noqa: PTH116 - it may be the number of a standard stream
    except OSError:  # there is no such file yet
        return os.path.realpath(file) if isinstance(file, str) else None
    return (about.st_dev, about.st_ino) if stat.S_ISREG(about.st_mode) else None


@contextmanager
def open_output(path: str) -> Iterator[TextIO]:
    """Open a text file that is replaced only once it is complete, compressed if its name says so; "-" is standard output."""
    from odca.stream.write.sinks import open_sink  # noqa: PLC0415 - after parsing

    if path == STANDARD_STREAM:
        yield sys.stdout
        return
    with open_sink(path) as file:
        text = io.TextIOWrapper(file, encoding="utf-8", newline="\n")
        yield text
        text.detach()  # this flushes the text first
