"""Classes as the user's data have them: a frame with True and False gets True and False back, and not their texts."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from odca.models.options import Label

UserLabel: TypeAlias = bool | int | float | str
MOST_EXACT = 2**53
"""Up to here, a float holds every whole number."""


def as_given(classes: Sequence[Label], kind: str) -> tuple[UserLabel, ...]:
    """The classes of a model, which were read as texts and floats, in the type of the column that they come from.

    kind: "bool", "int" or "float"; "" for text and for files, where numbers are whole if all of them are.

    >>> as_given(("False", "True"), "bool"), as_given((0.0, 2.0), ""), as_given((0.0, 2.0), "float")
    ((False, True), (0, 2), (0.0, 2.0))
    """
    converted = [_CONVERTED[kind](each) for each in classes] if kind else []
    found = tuple(each for each in converted if each is not None)
    if kind and len(found) == len(classes):
        return found
    numbers = [each for each in classes if not isinstance(each, str)]
    if all(_is_whole(each) for each in numbers):
        return tuple(each if isinstance(each, str) else int(each) for each in classes)
    return tuple(classes)


def label_array(classes: Sequence[UserLabel]) -> npt.NDArray[Any]:
    """The classes as an array: of one type, or of objects if some are texts."""
    if any(isinstance(each, str) for each in classes):
        return np.array(classes, dtype=object)
    types = {type(each) for each in classes}
    return np.array(classes, dtype=np.bool_ if types == {bool} else np.int64 if types == {int} else np.float64)


def _is_whole(label: float) -> bool:
    return abs(label) <= MOST_EXACT and label == int(label)


def _as_bool(label: Label) -> bool | None:
    return {"true": True, "false": False, 1.0: True, 0.0: False}.get(label.lower() if isinstance(label, str) else label)


def _as_float(label: Label) -> float | None:
    try:
        return float(label)
    except ValueError:
        return None


def _as_int(label: Label) -> int | None:
    number = _as_float(label)
    return int(number) if number is not None and _is_whole(number) else None


_CONVERTED: Mapping[str, Callable[[Label], UserLabel | None]] = {"bool": _as_bool, "int": _as_int, "float": _as_float}
"""Of the labels of a column; None for one that came from elsewhere and is nothing of the kind."""
