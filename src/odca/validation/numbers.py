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


def as_float(value: object, name: str) -> float:
    """`value` as a float, whatever has one. ValueError if it is too large, TypeError if it is no number."""
    try:
        return float(value)  # type: ignore[arg-type] # it says so itself
    except OverflowError:
        raise ValueError(f"{name} is too large for a float. Scale it.") from None


def yes_or_no(value: object, name: str) -> bool:
    """`value` as a truth value."""
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"{name} must be True or False; got {value!r}.")  # noqa: TRY004 - an option's value
    return bool(value)


def whole(value: object, name: str, *, least: int = 1, most: int | None = None) -> int:
    """`value` as a whole number."""
    number = None if isinstance(value, bool) or not hasattr(value, "__index__") else operator.index(value)
    if number is None or number < least or (most is not None and number > most):
        limits = f"of at least {least}" if number is None or number < least else f"from {least} to {most}"
        raise ValueError(f"{name} must be a whole number {limits}; got {value!r}.")
    return number


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
