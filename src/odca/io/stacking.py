"""Many small states stored as one, so that the number of arrays in a file does not grow with the number of classes."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from odca.io.container import Arrays

LENGTHS = ".lengths"
ABSENT = -1


def stack(states: Sequence[Arrays]) -> Arrays:
    """The concatenated arrays of each name, and their lengths; -1 for a state without an array of that name."""
    stacked: Arrays = {}
    for name in dict.fromkeys(name for state in states for name in state):
        stacked[name] = np.concatenate([state[name] for state in states if name in state])
        lengths = [len(state[name]) if name in state else ABSENT for state in states]
        stacked[name + LENGTHS] = np.array(lengths, np.int64)
    return stacked


def unstack(stacked: Mapping[str, npt.NDArray[Any]]) -> list[Arrays]:
    """The states from what `stack` returned. ValueError if it is invalid."""
    names = [name for name in stacked if not name.endswith(LENGTHS)]
    count = len(stacked[names[0] + LENGTHS]) if names else 0
    states: list[Arrays] = [{} for _ in range(count)]
    for name in names:
        array, lengths = stacked[name], stacked[name + LENGTHS]
        if lengths.shape != (count,) or lengths.dtype != np.int64 or not array.ndim or lengths.min(initial=0) < ABSENT:
            raise ValueError(
                f"its array {name!r} holds another number of states than the others, or has invalid lengths."
            )
        begin = 0
        for state, length in zip(states, lengths.tolist(), strict=True):
            if length != ABSENT:
                state[name] = array[begin : begin + length]
                begin += length
        if begin != len(array):
            raise ValueError(f"its array {name!r} has the wrong length.")
    return states
