"""The error of a stream: what is wrong, and in which file, line and column."""

from collections.abc import Iterable

from odca.errors import InputError, Remedy, SpellOption, as_keyword

STANDARD_INPUT = "-"
MOST_NAMES = 30


def listed(names: Iterable[str]) -> str:
    """Names as errors list them: there may be many.

    >>> listed(["a", "b"]), listed(map(str, range(100)))[-21:]
    ('a, b', '27, 28, 29, ... (100)')
    """
    names = list(names)
    return ", ".join(names[:MOST_NAMES]) + (f", ... ({len(names):,})" if len(names) > MOST_NAMES else "")


def shown(path: str) -> str:
    """A path as errors name it."""
    return "standard input" if path == STANDARD_INPUT else path


class StreamError(InputError):
    """A fault in the data of a stream.

    `path` is the file ("-" is standard input) and `line` its line, counted from 1. `column` is the character of that
    line, counted from 1, and `field` the name of the column that holds it. What is not known is None.

    >>> print(StreamError("expected a number, got 'N/A'.", path="clicks.csv", line=10532, column=17, field="price"))
    clicks.csv, line 10532, column 'price' (character 17): expected a number, got 'N/A'.
    """

    def __init__(
        self,
        message: str,
        *,
        path: str,
        line: int | None = None,
        column: int | None = None,
        field: str | None = None,
        row: int | None = None,
        remedy: Remedy | None = None,
    ) -> None:
        super().__init__(message, row=row, column=column, remedy=remedy)
        self.path = path
        self.line = line
        self.field = field

    def explain(self, spell: SpellOption = as_keyword) -> str:
        """Where the fault is, what is wrong and what to do about it, with options written by `spell`."""
        return f"{self.place}: {super().explain(spell)}"

    @property
    def place(self) -> str:
        """Where the fault is: "clicks.csv, line 3, column 'price' (character 17)"."""
        parts = [shown(self.path)]
        if self.line is not None:
            parts.append(f"line {self.line}")
        if self.field is not None:
            parts.append(f"column {self.field!r}" + ("" if self.column is None else f" (character {self.column})"))
        elif self.column is not None:
            parts.append(f"character {self.column}")
        return ", ".join(parts)
