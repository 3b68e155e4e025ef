"""Types of option values: functions that parse the text of an option, for argparse's `type=`."""

import argparse
import math
from collections.abc import Callable, Iterator
from typing import Literal, NamedTuple, TypeAlias

AUTO: Literal["auto"] = "auto"
OrAuto: TypeAlias = float | Literal["auto"]
FILES = {"bash": "_shtab_compgen_files", "zsh": "_files", "tcsh": "f"}  # shtab's names for file completion
FileUse: TypeAlias = Literal["read", "written"]


class FileArgument(NamedTuple):
    """An argument that names a file: its own name, and the file's."""

    argument: str
    path: str


def reads_file(argument: argparse.Action) -> argparse.Action:
    """Mark an argument as the name of a file that is read. Shells can complete it, and no command writes onto it."""
    return _names_file(argument, "read")


def writes_file(argument: argparse.Action) -> argparse.Action:
    """Mark an argument as the name of a file (or folder) that is written, and perhaps read before."""
    return _names_file(argument, "written")


def files_named(parser: argparse.ArgumentParser, arguments: argparse.Namespace, use: FileUse) -> Iterator[FileArgument]:
    """The files that the arguments name for this use."""
    for action in parser._actions:  # noqa: SLF001 - argparse has no other way
        value = getattr(arguments, action.dest, None)
        if getattr(action, "file_use", None) == use and value is not None:
            name = action.option_strings[-1] if action.option_strings else str(action.metavar)
            for path in value if isinstance(value, list) else [value]:
                yield FileArgument(name, str(path))


def _names_file(argument: argparse.Action, use: FileUse) -> argparse.Action:
    argument.complete = FILES  # type: ignore[attr-defined] # an attribute that shtab reads
    argument.file_use = use  # type: ignore[attr-defined] # an attribute that `files_named` reads
    return argument


def coverage(text: str) -> float:
    """A parser of shares of events that intervals and sets are to hold."""
    try:
        found = float(text)
    except ValueError:
        found = math.nan
    if not 0.0 < found < 1.0:
        raise argparse.ArgumentTypeError(f"must be a number between 0 and 1, such as 0.9; got {text!r}")
    return found


def whole_number(least: int) -> Callable[[str], int]:
    """A parser of whole numbers that are at least `least`."""

    def read(text: str) -> int:
        try:
            found = int(text)
        except ValueError:
            found = None
        if found is None or found < least:
            raise argparse.ArgumentTypeError(f"must be a whole number >= {least}; got {text!r}")
        return found

    return read


def size_range(text: str) -> tuple[int, int]:
    """A parser of two sizes, or of one that stands for both.

    >>> size_range("3-5"), size_range("4")
    ((3, 5), (4, 4))
    """
    fewest, _, most = text.partition("-")
    if not (fewest.isdecimal() and (most or fewest).isdecimal()):
        raise argparse.ArgumentTypeError(f"must be a number or two, such as 4 or 3-5; got {text!r}")
    return int(fewest), int(most or fewest)


def number(*, above: float = -math.inf, least: float = -math.inf, most: float = math.inf) -> Callable[[str], float]:
    """A parser of finite numbers within limits."""
    limits = " and ".join(
        f"{sign} {limit:g}" for sign, limit in ((">", above), (">=", least), ("<=", most)) if math.isfinite(limit)
    )

    def read(text: str) -> float:
        found = as_float(text)
        if not (math.isfinite(found) and above < found and least <= found <= most):
            raise argparse.ArgumentTypeError(f"must be a finite number {limits}".rstrip() + f"; got {text!r}")
        return found

    return read


def or_auto(read: Callable[[str], float]) -> Callable[[str], OrAuto]:
    """What `read` accepts, or "auto"."""

    def read_or_auto(text: str) -> OrAuto:
        return AUTO if text == AUTO else read(text)

    return read_or_auto


def as_float(text: str) -> float:
    """The number that a text holds; NaN if it holds none."""
    try:
        return float(text)
    except ValueError:
        return math.nan
