"""Which states a learner is the sum of. This decides whether a delta can be added to it.

Adding what several workers learned from one base is safe only if the base was divided among them: each part has a share of the sums and
of the strength A, and takes steps that fit its share (docs/merging.md). So every state has a name, the digest of its arrays; part k of K
of the state X is named X/k:K; and a learner remembers the names of the states that it is the sum of. A delta leads from one name to
another. It is added to a learner that contains the first name, and replaces it by the second. A delta whose base is no longer there,
because another delta from the whole of it was added before, is refused.
"""

import hashlib
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from odca.records import record

MOST_PARTS = 2**16
"""Of a learner that is split."""
NOTHING = ""
"""The name of a state without events and strength: what was learned since can be added to every learner."""


def digest(state: Mapping[str, npt.NDArray[Any]]) -> str:
    """The name of a state."""
    found = hashlib.blake2b(digest_size=16)
    for name in sorted(state):
        array = np.ascontiguousarray(state[name])
        found.update(f"{name} {array.dtype.str} {array.shape} ".encode())
        found.update(array.data if array.size else b"")
    return found.hexdigest()


def part_of(name: str, part: int, parts: int) -> str:
    """The name of a part of a state that was split."""
    return f"{name}/{part}:{parts}"


@record
class Lineage:
    """The name of a learner's state, and the names of the states that it is the sum of (at first only itself)."""

    now: str
    """The digest."""
    contents: tuple[str, ...]

    @property
    def name(self) -> str:
        """What a delta from this state is from."""
        return self.contents[0] if len(self.contents) == 1 else self.now

    def replaced(self, base: str, later: str) -> tuple[str, ...]:
        """The contents after the state `base` became `later`. ValueError if `base` is not among them."""
        if base == NOTHING:
            return tuple(sorted((*self.contents, later)))
        if base == self.now:
            return (later,)
        for whole, others in ((self.now, ()), *((each, _without(self.contents, each)) for each in self.contents)):
            if base == whole or base.startswith(f"{whole}/"):
                return tuple(sorted((*others, *_other_parts(whole, base), later)))
        raise ValueError(
            "the delta was made from a state that this learner does not contain, or no longer: another delta from it may have been "
            "added, and the steps of several learners from one base add up to more than is safe. Let each learn from its own part of "
            "the base (`base.split(K)`), or merge the learners."
        )

    def as_array(self) -> npt.NDArray[np.uint8]:
        """For a file."""
        return np.frombuffer("\n".join((self.now, *self.contents)).encode(), np.uint8)

    @classmethod
    def from_array(cls, array: npt.NDArray[Any]) -> "Lineage":
        """The reverse, of a file that may come from anyone."""
        now, *contents = np.asarray(array, np.uint8).tobytes().decode().split("\n")
        return cls(now, tuple(contents))


def _without(names: tuple[str, ...], one: str) -> tuple[str, ...]:
    place = names.index(one)
    return (*names[:place], *names[place + 1 :])


def _other_parts(whole: str, part: str) -> list[str]:
    """The parts of a state besides one of them, which may be a part of a part."""
    others, name = [], whole
    for step in part.removeprefix(whole).split("/")[1:]:
        own, _, parts = step.partition(":")
        if not (own.isdecimal() and parts.isdecimal() and int(own) < int(parts) <= MOST_PARTS):
            raise ValueError(f"the delta's base has an impossible name: {part[:200]!r}.")
        others += [part_of(name, each, int(parts)) for each in range(int(parts)) if each != int(own)]
        name = f"{name}/{step}"
    return others
