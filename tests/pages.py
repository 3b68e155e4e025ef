"""Pages of documentation that run: snippets of Python, and recorded commands.

The blocks of a page run one after the other, in an empty directory. A block of `text` right behind a snippet of `python` is what the
snippet prints. A block of `console` is what a terminal shows: a line that begins with `$ ` is run, and below it stands what it
writes, on both streams. `tests/tools/record.py` writes both anew.

There is no shell. The commands are those of `COMMANDS`; a command that fails must be followed by `$ echo $?`, which shows its exit code.

What is written need not be the same to the letter (`alike`):

- times, rates and sizes (a number followed by s, min, /s, MB and their like: `VARYING`) differ from run to run;
- a decimal may differ by one in its last place, or by 1e-9 of itself: other machines round otherwise;
- `odca bench` has the same words, with other numbers;
- a line of `...` stands for any number of lines.
"""

import contextlib
import io
import os
import re
import shlex
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from odca.cli import main

LEFT_OUT = "..."
VARYING = re.compile(
    r"""
      \d[\d.]*\ ?[kMGT]?B?/s\b                             # 114 k/s, 45 MB/s, 950/s
    | \d[\d,]*\ h\ \d\d\ min | \d+\ min\ \d\d\ s           # 1 h 02 min
    | \d[\d.]*\ s\b                                        # 0.40 s
    | \d[\d.]*\ [kMGT]?B\b                                 # 45 MB
    | (?<=\ %)\ +[\d,]+$                                   # events/s, the last column of `odca demo`
    | (?<="seconds":\ )[\d.e+-]+                           # as JSON
    | (?<="events_per_second":\ )[\d.e+-]+
    """,
    re.VERBOSE,
)
NUMBER = re.compile(r"-?\d+\.\d+(?:e[+-]?\d+)?")
ANY_NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?(?: [kMGT]?B?/s| [kMGT]?B\b)?")


@dataclass(frozen=True, slots=True)
class Fenced:
    """A block of a page: its language, where its text begins (the line, from 1, and the character) and the text."""

    language: str
    line: int
    start: int
    text: str


def blocks(page: str) -> list[Fenced]:
    """The fenced blocks of a page."""
    found = re.finditer(r"^```(\w*)\n(.*?)^```$", page, flags=re.MULTILINE | re.DOTALL)
    return [Fenced(m[1], page.count("\n", 0, m.start()) + 2, m.start(2), m[2]) for m in found]


@dataclass(frozen=True, slots=True)
class Written:
    """What a snippet or a command writes, beside what the page shows."""

    line: int
    command: str
    shown: str
    start: int
    """Where that begins in the page."""
    actual: str

    @property
    def fits(self) -> bool:
        return alike(self.shown, self.actual, shape_only=self.command.startswith("odca bench"))


def run(page: Path) -> Iterator[Written]:
    """Run the blocks of a page; AssertionError for a command that may not be there, or fails in silence."""
    space: dict[str, object] = {"__name__": "snippet"}
    console, printed = _Console(), ""
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder), _columns(100):
        for block in blocks(page.read_text(encoding="utf-8")):
            if block.language == "python":
                code = compile("\n" * (block.line - 1) + block.text, str(page), "exec")
                with contextlib.redirect_stdout(io.StringIO()) as out:
                    exec(code, space)  # our own documentation
                printed = out.getvalue()
            elif block.language == "text":
                yield Written(block.line, "the snippet above", block.text, block.start, printed)
            elif block.language == "console":
                yield from _recorded(block, console)
    assert not console.code, f"{page.name}: the last command fails. Show its exit code: $ echo $?"


def _recorded(block: Fenced, console: "_Console") -> Iterator[Written]:
    assert block.text.startswith("$ "), f"line {block.line}: a block of console begins with a command."
    for entry in re.finditer(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block.text, flags=re.MULTILINE):
        line = block.line + block.text.count("\n", 0, entry.start())
        yield Written(line, entry[1], entry[2], block.start + entry.start(2), console.run(entry[1], line))


class _Console:
    """Runs commands, without a shell."""

    def __init__(self) -> None:
        self.code = 0

    def run(self, command: str, line: int) -> str:
        """What a command writes."""
        words = shlex.split(command, comments=True)
        if words == ["echo", "$?"]:
            before, self.code = self.code, 0
            return f"{before}\n"
        assert not self.code, f"line {line}: the command above fails. Show its exit code: $ echo $?"
        assert words[0] in COMMANDS, f"line {line}: {words[0]} is not among {', '.join(COMMANDS)}, echo $?."
        out = io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
            self.code = COMMANDS[words[0]](words[1:])
        return out.getvalue()


def _odca(words: list[str]) -> int:
    try:
        return main(words)
    except SystemExit as end:
        return int(end.code or 0)


def _head(words: list[str]) -> int:
    """head -n N FILE."""
    assert words[0] == "-n", "head takes -n N FILE"
    lines = Path(words[2]).read_text(encoding="utf-8").splitlines(keepends=True)
    print("".join(lines[: int(words[1])]), end="")
    return 0


def _cat(words: list[str]) -> int:
    for file in words:
        print(Path(file).read_text(encoding="utf-8"), end="")
    return 0


COMMANDS = {"odca": _odca, "head": _head, "cat": _cat}


@contextlib.contextmanager
def _columns(number: int) -> Iterator[None]:
    """As if the terminal were so wide."""
    before = os.environ.get("COLUMNS")
    os.environ["COLUMNS"] = str(number)
    try:
        yield
    finally:
        if before is None:
            del os.environ["COLUMNS"]
        else:
            os.environ["COLUMNS"] = before


# What is shown and what was written


def alike(shown: str, actual: str, *, shape_only: bool = False) -> bool:
    """Whether a page shows what is written, but for what varies."""
    return _lines_alike(shown.rstrip("\n").split("\n"), actual.rstrip("\n").split("\n"), shape_only)


def _lines_alike(shown: list[str], actual: list[str], shape_only: bool) -> bool:
    if LEFT_OUT in shown:
        place = shown.index(LEFT_OUT)
        rest = shown[place + 1 :]
        return _lines_alike(shown[:place], actual[:place], shape_only) and any(
            _lines_alike(rest, actual[begin:], shape_only) for begin in range(place, len(actual) + 1)
        )
    return len(shown) == len(actual) and all(
        _line_alike(one, other, shape_only) for one, other in zip(shown, actual, strict=True)
    )


def _line_alike(shown: str, actual: str, shape_only: bool) -> bool:
    if shape_only:
        return _shape(shown) == _shape(actual)
    one, other = VARYING.sub("~", shown).rstrip(), VARYING.sub("~", actual).rstrip()
    if NUMBER.sub("#", one) != NUMBER.sub("#", other):
        return False
    return all(_close(a, b) for a, b in zip(NUMBER.findall(one), NUMBER.findall(other), strict=True))


def _shape(line: str) -> str:
    return re.sub(r"\s+", " ", ANY_NUMBER.sub("#", line)).strip()


def _close(one: str, other: str) -> bool:
    """Whether two decimals differ by no more than their last place, or 1e-9 of themselves."""
    digits = min(len(text.split("e")[0].split(".")[1]) for text in (one, other))
    place = 10.0**-digits * (1.0 if "e" not in one else 10.0 ** int(one.split("e")[1]))
    a, b = float(one), float(other)
    return abs(a - b) <= max(1.01 * place, 1e-9 * abs(a))


def abridged(shown: str, actual: str) -> str:
    """What was written, with as many lines before and behind `...` as the page has; all of it where the page has several."""
    before, lines = shown.rstrip("\n").split("\n"), actual.rstrip("\n").split("\n")
    if before.count(LEFT_OUT) == 1:
        place = before.index(LEFT_OUT)
        behind = max(len(lines) - (len(before) - place - 1), place)
        lines = [*lines[:place], LEFT_OUT, *lines[behind:]]
    return "\n".join(lines) + "\n" if actual else ""
