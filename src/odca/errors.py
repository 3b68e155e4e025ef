"""The errors of odca, and what they know: where the fault is, and which options would help.

Every one is a ValueError whose text says it all. The attributes are for programs.

>>> from odca import Hinge, Learner
>>> try:
...     Learner(loss=Hinge()).learn([[1.0], [2.0]], [1.0, 7.0])
... except InputError as error:
...     print(error.row, error)
1 Hinge needs y in {-1, +1}; row 1 of y is 7. Map {0, 1} with 2*y - 1.
"""

from collections.abc import Callable, Sequence
from copyreg import __newobj__  # type: ignore[attr-defined] # what pickle calls for objects without arguments of their own
from typing import Any

SpellOption = Callable[[str, Any], str]
"""Writes an option and its value (None: any) as a user of some interface would."""


def as_keyword(option: str, value: Any = None) -> str:
    """An option as it is written in Python.

    >>> as_keyword("task", "numbers"), as_keyword("classes")
    ("`task='numbers'`", '`classes`')
    """
    return f"`{option}`" if value is None else f"`{option}={value!r}`"


class Remedy:
    """What to do about an error: a sentence with options in braces, which each interface spells in its own way.

    >>> remedy = Remedy("Name all classes ({classes}), or predict numbers ({task}).", classes=None, task="numbers")
    >>> remedy.spelled()
    "Name all classes (`classes`), or predict numbers (`task='numbers'`)."
    """

    def __init__(self, sentence: str, **options: Any) -> None:
        self.sentence = sentence
        self.options = options
        """The options that would help, and the value that each should have; None if that is for the user to say."""

    def spelled(self, spell: SpellOption = as_keyword) -> str:
        """The sentence, its options written by `spell`."""
        return self.sentence.format(**{name: spell(name, value) for name, value in self.options.items()})


def did_you_mean(name: str, known: Sequence[str]) -> str:
    """A question about the known name that is most like one which is not known; nothing if none is like it.

    >>> did_you_mean("prise", ["area", "price"]), did_you_mean("x", ["area", "price"])
    ("Did you mean 'price'?", '')
    """
    from difflib import get_close_matches  # noqa: PLC0415 - seldom needed

    lower, wanted = {each.lower(): each for each in known}, name.lower()
    close = get_close_matches(wanted, lower)
    close.sort(key=lambda each: sorted(each) != sorted(wanted))  # letters in the wrong order are the most common slip
    return f"Did you mean {lower[close[0]]!r}?" if close else ""


class InputError(ValueError):
    """Data or options that cannot be used. The model is as it was before the call.

    What is not known is None:

    row: the event, counted from 0 in the call (of a file: in its block).
    column: where in the row. Of an array, the column of X, counted from 0; of a line of text, its character, counted from 1.
    remedy: what to do about it, where an option helps.
    """

    def __init__(
        self,
        message: str,
        *,
        row: int | None = None,
        column: int | None = None,
        event_message: str | None = None,
        remedy: Remedy | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.row = row
        self.column = column
        self.remedy = remedy
        self.event_message = message if event_message is None else event_message
        """The message with "the event" in the place of "row 3": for a caller who names the event, as a line of a file."""

    def explain(self, spell: SpellOption = as_keyword) -> str:
        """What is wrong and what to do about it, with options written by `spell`."""
        return self.message if self.remedy is None else f"{self.message} {self.remedy.spelled(spell)}"

    def __str__(self) -> str:
        return self.explain()

    def __reduce__(self) -> tuple[Any, ...]:
        # What Exception does by itself would call a subclass without its keywords.
        return __newobj__, (type(self), *self.args), self.__dict__
