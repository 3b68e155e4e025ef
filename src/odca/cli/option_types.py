"""Types of option values: functions that parse the text of an option, for argparse's `type=`."""

import argparse
import math
from collections.abc import Callable
from typing import Literal, TypeAlias

AUTO: Literal["auto"] = "auto"
OrAuto: TypeAlias = float | Literal["auto"]
FILES = {"bash": "_shtab_compgen_files", "zsh": "_files", "tcsh": "f"}  # shtab's names for file completion


def takes_file(argument: argparse.Action) -> argparse.Action:
    """Mark an argument as a file name, which shells can complete."""
    argument.complete = FILES  # type: ignore[attr-defined] # an attribute that shtab reads
    return argument


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
