"""The error of a stream: what is wrong, and in which file, line and column."""

from functools import partial
from typing import Any

STANDARD_INPUT = "-"


def shown(path: str) -> str:
    """A path as errors name it."""
    return "standard input" if path == STANDARD_INPUT else path


class StreamError(ValueError):
    """A fault in the data of a stream.

    `path` is the file ("-" is standard input) and `line` its line, counted from 1. `column` is the character of that
    line, counted from 1, and `field` the name of the column that holds it. What is not known is None.

    >>> print(StreamError("expected a number, got 'N/A'.", path="clicks.csv", line=10532, column=17, field="price"))
    clicks.csv, line 10532, column 'price' (character 17): expected a number, got 'N/A'.
    """

    def __init__(
        self, message: str, *, path: str, line: int | None = None, column: int | None = None, field: str | None = None
    ) -> None:
        super().__init__(message)
        self.message = message
        self.path = path
        self.line = line
        self.column = column
        self.field = field

    def __str__(self) -> str:
        return f"{self.place}: {self.message}"

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

    def __reduce__(self) -> tuple[Any, ...]:
        # What Exception does by itself would leave out the keywords.
        again = partial(type(self), path=self.path, line=self.line, column=self.column, field=self.field)
        return again, (self.message,), self.__dict__
