"""Arrays that are mostly zeros, stored by what is not zero: the places of these numbers, and the numbers.

Hashed features have a weight each, of which most stay zero: with 22 bits, a file has hundreds of megabytes of zeros. A zero here is one whose
bits are all zero; -0.0 is stored.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from odca.io.container import Arrays

PLACES, VALUES = "~places", "~values"
SMALLEST = 1 << 16
"""Arrays of fewer bytes are stored as they are."""
SAVING = 4
"""An array is stored in this form if that takes at most this part of its bytes, 1/4."""
LARGEST = 1 << 32
"""The number of bytes that all arrays in this form may have together: a small file must not fill the memory of whoever reads it."""
Shapes = dict[str, list[int]]


def condensed(arrays: Arrays) -> tuple[Arrays, Shapes]:
    """The arrays, those that are mostly zeros in two; and the shapes of these."""
    out: Arrays = {}
    shapes: Shapes = {}
    room = LARGEST
    for name, array in arrays.items():
        places = _places(array) if SMALLEST <= array.nbytes <= room else None
        if places is None:
            out[name] = array
            continue
        room -= array.nbytes
        shapes[name] = list(array.shape)
        out[name + PLACES] = places
        out[name + VALUES] = array.reshape(-1)[places]
    return out, shapes


def _places(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any] | None:
    """Where the array is not zero; None if that is too often."""
    flat = np.ascontiguousarray(array).reshape(-1)
    bits = flat.view(f"u{flat.itemsize}")
    most = flat.nbytes // SAVING // (flat.itemsize + 4)
    if len(bits) >= 1 << 32 or np.count_nonzero(bits) > most:
        return None
    return np.flatnonzero(bits).astype(np.uint32)


def expanded(arrays: Arrays, shapes: Mapping[str, Sequence[int]]) -> Arrays:
    """The reverse. ValueError (or a similar error) for arrays and shapes that `condensed` cannot have made."""
    out = dict(arrays)
    total = 0
    for name, shape in shapes.items():
        places, values = out.pop(name + PLACES), out.pop(name + VALUES)
        if not all(type(length) is int and length >= 0 for length in shape):
            raise ValueError(f"array {name!r} has an invalid shape.")
        size = math.prod(shape)
        total += size * values.itemsize
        if total > LARGEST:
            raise ValueError(f"its arrays would have more than {LARGEST} bytes of zeros.")
        ordered = places.dtype == np.uint32 and places.shape == values.shape == (len(places),)
        if (
            name in out
            or not ordered
            or (len(places) and (places[-1] >= size or bool((places[:-1] >= places[1:]).any())))
        ):
            raise ValueError(f"array {name!r} does not say where its numbers are.")
        dense = np.zeros(size, values.dtype)
        dense[places] = values
        out[name] = dense.reshape(shape)
    return out
