"""Standard input, output and error, which may be closed, full, or a pipe that nobody reads any more."""

import errno
import io
import os
import sys
from typing import Any, TextIO


class _Output(io.FileIO):
    """Standard output, which its errors name."""

    def write(self, data: Any) -> int:
        try:
            return super().write(data)
        except OSError as error:
            error.filename = "standard output"
            if error.errno == errno.EBADF:
                error.strerror = "it is closed"
            raise


def prepare() -> None:
    """Prepare the streams of a program. Other files must not get the numbers of closed ones: they would be mistaken for them.

    File names that are not UTF-8 are printed as they are.
    """
    for number, flags in enumerate((os.O_WRONLY, os.O_RDONLY, os.O_WRONLY)):
        try:
            os.fstat(number)
        except OSError:  # input and output now refuse to be used; warnings are dropped
            os.open(os.devnull, flags)  # it gets the lowest free number, which is this one
    how = ("utf-8", "surrogateescape") if sys.stdout is None else (sys.stdout.encoding, "surrogateescape")
    lines = isinstance(sys.stdout, io.TextIOWrapper) and sys.stdout.line_buffering  # what Python opens at its start
    sys.stdout = io.TextIOWrapper(io.BufferedWriter(_Output(1, "w", closefd=False)), *how, line_buffering=lines)
    if sys.stderr is None:
        sys.stderr = open(2, "w", encoding="utf-8", closefd=False)  # noqa: SIM115 - open until the end


def flush_output() -> None:
    """Write what is still in the buffer of standard output; drop it if that is not possible."""
    try:
        sys.stdout.flush()
    except OSError:
        silence(sys.stdout)


def silence(stream: TextIO) -> None:
    """Drop what is still in the stream's buffer, which Python would write at exit, and all that follows."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)
