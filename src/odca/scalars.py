"""Single numbers that a user gives."""

import math
import operator
from numbers import Real


def real(value: object) -> float:
    """`value` as a float; NaN if it is not a real number of that range, so that every check refuses it."""
    try:
        return float(value) if isinstance(value, Real) else math.nan
    except OverflowError:
        return math.nan


def whole(value: object, name: str, *, least: int = 1) -> int:
    """`value` as a whole number."""
    if isinstance(value, bool) or not hasattr(value, "__index__") or operator.index(value) < least:
        raise ValueError(f"{name} must be a whole number of at least {least}; got {value!r}.")
    return operator.index(value)
