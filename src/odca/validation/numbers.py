"""Validation of single numbers."""

import math
import operator
from numbers import Real

import numpy as np


def real(value: object) -> float:
    """`value` as a float; NaN if it is not a real number or too large, so that every check refuses it."""
    try:
        return float(value) if isinstance(value, Real) else math.nan
    except OverflowError:
        return math.nan


def yes_or_no(value: object, name: str) -> bool:
    """`value` as a truth value."""
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"{name} must be True or False; got {value!r}.")  # noqa: TRY004 - an option's value
    return bool(value)


def whole(value: object, name: str, *, least: int = 1) -> int:
    """`value` as a whole number."""
    if isinstance(value, bool) or not hasattr(value, "__index__") or operator.index(value) < least:
        raise ValueError(f"{name} must be a whole number of at least {least}; got {value!r}.")
    return operator.index(value)


def numbers_after_colon(name: str, text: str, count: int) -> list[float]:
    """The parameters of an option such as "box:-1,1": the numbers after its colon."""
    try:
        numbers = [float(part) for part in text.split(",")]
    except ValueError:
        numbers = []
    if len(numbers) != count:
        wanted = "a number" if count == 1 else f"{count} numbers separated by commas"
        raise ValueError(f"{wanted} must follow the colon; got {name!r}.")
    return numbers
