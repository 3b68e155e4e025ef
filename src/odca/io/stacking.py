"""Many small states as one: a file with a state for each of thousands of classes has as many arrays as one with two."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from odca.io.container import Arrays

LENGTHS = ".lengths"
ABSENT = -1


def stack(states: Sequence[Arrays]) -> Arrays:
    """The arrays of each name one after the other, and the length of each; -1 for a state that has none of the name."""
    stacked: Arrays = {}
    for name in dict.fromkeys(name for state in states for name in state):
        stacked[name] = np.concatenate([state[name] for state in states if name in state])
        lengths = [len(state[name]) if name in state else ABSENT for state in states]
        stacked[name + LENGTHS] = np.array(lengths, np.int64)
    return stacked


def unstack(stacked: Mapping[str, npt.NDArray[Any]]) -> list[Arrays]:
    """The reverse. ValueError for arrays that `stack` cannot have made."""
    names = [name for name in stacked if not name.endswith(LENGTHS)]
    count = len(stacked[names[0] + LENGTHS]) if names else 0
    states: list[Arrays] = [{} for _ in range(count)]
    for name in names:
        array, lengths = stacked[name], stacked[name + LENGTHS]
        if lengths.shape != (count,) or lengths.dtype != np.int64 or not array.ndim or lengths.min(initial=0) < ABSENT:
            raise ValueError(f"its arrays {name!r} are not as many as the others, or have no lengths.")
        begin = 0
        for state, length in zip(states, lengths.tolist(), strict=True):
            if length != ABSENT:
                state[name] = array[begin : begin + length]
                begin += length
        if begin != len(array):
            raise ValueError(f"its arrays {name!r} are not as long as they should be.")
    return states
