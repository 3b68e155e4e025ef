"""The output of commands: tables, summaries, notes, warnings, errors, and a progress line.

Tables, summaries and notes go to stdout, or to stderr if stdout carries data. Warnings and errors go to stderr. On a
terminal they are coloured by rich, if it is installed and colours are not turned off (NO_COLOR, TERM=dumb); elsewhere they
are plain text. With --json each becomes one object on one line, with an "event" key that says what it is.

A live line shows the progress of a command. It is drawn only on a terminal, and never where data are written.
"""

import argparse
import json
import math
import os
import sys
import textwrap
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import cache
from types import TracebackType
from typing import Any, Self, TextIO

from odca.cli import standard_streams
from odca.cli.views import formatting
from odca.records import record

SECONDS_PER_FRAME = 0.2
ERASE_LINE = "\r\x1b[K"
HEADING, QUIET, ALARM, FAILURE = "bold", "dim", "yellow", "red"


@record
class PrintedColumn:
    """A column of a table: its name in JSON, its title (of one or two lines), its width, how its values are shown."""

    name: str
    title: str
    width: int
    show: Callable[[Any], str] = str
    is_text: bool = False
    """Text is aligned left and cut where it is too long; numbers are aligned right."""

    def cell(self, text: str) -> str:
        """A text padded to the width of the column. A number that is wider is not cut."""
        if not self.is_text:
            return f"{text:>{self.width}}"
        return f"{text if len(text) <= self.width else text[: self.width - 1] + '~':{self.width}}"


@record
class Fact:
    """A line of a summary: its label, its value, how the value is formatted, and its name in JSON."""

    label: str
    value: Any
    show: Callable[[Any], str] = str
    name: str = ""

    @property
    def key(self) -> str:
        """The name in JSON: by default the label with underscores for spaces."""
        return self.name or self.label.replace(" ", "_")


class Output:
    """Prints what a command has to say. `Output.of(arguments)` reads --json, and what the command sets of these two:

    parser.set_defaults(data_on_stdout=True)   # standard output carries data: all else goes to stderr
    parser.set_defaults(result_in_file=True)   # the command goes on if standard output is closed or full
    """

    def __init__(self, *, as_json: bool = False, data_on_stdout: bool = False, result_in_file: bool = False) -> None:
        self._json = as_json
        self._data_on_stdout = data_on_stdout
        self._result_in_file = result_in_file
        self._line: LiveLine | None = None

    @classmethod
    def of(cls, arguments: argparse.Namespace) -> "Output":
        """The output that the arguments ask for."""
        return cls(
            as_json=bool(getattr(arguments, "json", False)),
            data_on_stdout=bool(getattr(arguments, "data_on_stdout", False)),
            result_in_file=bool(getattr(arguments, "result_in_file", False)),
        )

    @property
    def _stream(self) -> TextIO:
        return sys.stderr if self._data_on_stdout else sys.stdout

    def table(self, columns: Sequence[PrintedColumn], event: str = "progress") -> "Table":
        """Return a table that grows row by row. `event` is the name of a row in JSON."""
        return Table(self, columns, event)

    def progress(self, total: int | None = None) -> "LiveLine":
        """Return a live line, to be used in a `with`. `total` is in bytes, or in events where no bytes are counted."""
        shown = not self._json and _is_terminal(sys.stderr) and not (self._data_on_stdout and sys.stdout.isatty())
        self._line = LiveLine(total, shown=shown)
        return self._line

    def summary(self, sections: Mapping[str, Sequence[Fact]]) -> None:
        """Print facts under headings. A heading may be empty."""
        if self._json:
            self.event("summary", {_key(title): {f.key: f.value for f in facts} for title, facts in sections.items()})
            return
        width = max((len(fact.label) for facts in sections.values() for fact in facts), default=0)
        for title, facts in sections.items():
            self.write_line("")
            if title:
                self.write_line(title, HEADING)
            for fact in facts:
                self.write_line(f"  {fact.label:{width}}  {fact.show(fact.value)}")

    def note(self, text: str) -> None:
        """Print a piece of information."""
        if self._json:
            self.event("note", {"text": text})
        else:
            self.write_line(_wrapped(text, self._stream), QUIET)

    def warn(self, text: str) -> None:
        """Print a warning to stderr."""
        if self._json:
            self.event("warning", {"text": text})
        else:
            self.write_line(_wrapped(f"warning: {text}", sys.stderr), ALARM, sys.stderr)

    def error(self, text: str) -> None:
        """Print to stderr why a command failed; with --json as an event too."""
        if self._json:
            with suppress(OSError):  # standard output may be what failed
                self.event("error", {"text": text})
        self.write_line(_wrapped(text, sys.stderr), FAILURE, sys.stderr)

    def event(self, name: str, facts: Mapping[str, Any]) -> None:
        """Write one object on one line."""
        line = json.dumps(_as_json({"event": name, **facts}), ensure_ascii=False, allow_nan=False)
        self._print(line, self._stream)

    def write_line(self, text: str, style: str = "", stream: TextIO | None = None) -> None:
        """Write a line, in a style if the output has colours."""
        if self._line is not None:
            self._line.erase()
        self._print(text, stream or self._stream, style)

    def _print(self, text: str, to: TextIO, style: str = "") -> None:
        try:
            console = _console(to) if style else None
            if console is None:
                print(text, file=to, flush=True)
            else:
                console.print(text, style=style, markup=False, highlight=False, soft_wrap=True)
        except OSError as error:
            if to is sys.stdout and not self._result_in_file:
                raise
            standard_streams.silence(to)
            if to is sys.stdout:
                text = (
                    f"warning: nothing more can be printed to standard output: {error.strerror}. The command goes on."
                )
                self._print(_wrapped(text, sys.stderr), sys.stderr, ALARM)

    def gap(self) -> None:
        """Print an empty line, but not in JSON."""
        if not self._json:
            self.write_line("")

    @property
    def is_json(self) -> bool:
        """Whether the output is JSON."""
        return self._json


class Table:
    """A table whose rows are printed as they arrive, in columns of fixed width, below a heading that is printed once."""

    def __init__(self, output: Output, columns: Sequence[PrintedColumn], event: str) -> None:
        self._output = output
        self._columns = columns
        self._event = event
        self._begun = False

    def row(self, *values: Any) -> None:
        """Write a row: one value for each column."""
        pairs = list(zip(self._columns, values, strict=True))
        if self._output.is_json:
            self._output.event(self._event, {column.name: value for column, value in pairs})
            return
        if not self._begun:
            self._begun = True
            titles = [column.title.split("\n") for column in self._columns]
            height = max(map(len, titles))
            for line in zip(*([""] * (height - len(title)) + title for title in titles), strict=True):
                self._write(line, HEADING)
        self._write([column.show(value) for column, value in pairs])

    def _write(self, texts: Sequence[str], style: str = "") -> None:
        cells = (column.cell(text) for column, text in zip(self._columns, texts, strict=True))
        self._output.write_line("  ".join(cells).rstrip(), style)


class LiveLine:
    """A progress line, redrawn at most five times a second and erased in the end."""

    def __init__(self, total: int | None, *, shown: bool) -> None:
        self._total = total
        self._shown = shown
        self._started = self._drawn = time.monotonic()
        self._visible = False

    def update(self, events: int, n_bytes: int | None = None) -> None:
        """Show how many events, and how many bytes, are done."""
        if self._is_due():
            self._draw(self._text(events, n_bytes, self._drawn - self._started))

    def step(self, done: int, what: str) -> None:
        """Show how many parts of the total are done, and which was the last."""
        if self._is_due():
            parts = [what, f"{done} of {self._total}", *self._left(done, self._drawn - self._started)]
            self._draw("  ".join(parts))

    def _is_due(self) -> bool:
        """Whether it is time to draw again."""
        now = time.monotonic()
        if not self._shown or now - self._drawn < SECONDS_PER_FRAME:
            return False
        self._drawn = now
        return True

    def _draw(self, line: str) -> None:
        self._visible = True
        print(f"\r{line[: _columns() - 1]}\x1b[K", end="", file=sys.stderr, flush=True)

    def _text(self, events: int, n_bytes: int | None, seconds: float) -> str:
        parts = [f"{formatting.count(events)} events", formatting.rate(events / seconds)]
        if n_bytes is not None:
            parts.append(formatting.rate(n_bytes / seconds, "B"))
        parts += self._left(events if n_bytes is None else n_bytes, seconds)
        return "  ".join([*parts, formatting.size(resident_memory())])

    def _left(self, done: int, seconds: float) -> list[str]:
        if not self._total or not 0 < done <= self._total:
            return []
        left = seconds * (self._total - done) / done
        return [f"{100 * done // self._total} %", f"{formatting.duration(left)} left"]

    def erase(self) -> None:
        """Remove the line until the next update."""
        if self._visible:
            self._visible = False
            print(ERASE_LINE, end="", file=sys.stderr, flush=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.erase()
        self._shown = False


def resident_memory() -> int:
    """The bytes of memory that this process uses; on systems that do not report it, the most it has used so far."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:  # noqa: PTH123 - a path object takes longer than the read
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        import resource  # noqa: PLC0415 - not on every system

        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak if sys.platform == "darwin" else peak * 1024


def _is_terminal(stream: TextIO) -> bool:
    """Whether the stream is a terminal that can redraw lines."""
    return stream.isatty() and os.environ.get("TERM", "dumb") != "dumb"


@cache
def _console(stream: TextIO) -> Any:
    """A rich console, if rich is installed and colours are wanted; else None."""
    if not _is_terminal(stream) or os.environ.get("NO_COLOR"):
        return None
    try:
        from rich.console import Console  # noqa: PLC0415 - on a terminal only: it takes a while
    except ImportError:
        return None
    return Console(file=stream)


def _wrapped(text: str, stream: TextIO) -> str:
    """The text wrapped to the width of a terminal, but for commands (indented), which are copied; elsewhere as it is, which programs parse more easily."""
    if not stream.isatty():
        return text
    width = _columns()
    lines = (
        line if line.startswith("  ") else textwrap.fill(line, width, break_long_words=False, break_on_hyphens=False)
        for line in text.split("\n")
    )
    return "\n".join(lines)


def _key(title: str) -> str:
    """The name of a section in JSON: its title up to a comma."""
    return title.partition(",")[0].replace(" ", "_")


def _as_json(value: Any) -> Any:
    """A value that JSON can hold: infinities and NaN become null, NumPy's numbers plain numbers."""
    if isinstance(value, Mapping):
        return {str(key): _as_json(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_as_json(each) for each in value]
    if hasattr(value, "tolist"):
        return _as_json(value.tolist())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, str | int) else str(value)


def _columns() -> int:
    """The width of the terminal."""
    import shutil  # noqa: PLC0415 - only needed on a terminal

    return shutil.get_terminal_size().columns
