"""Classes as lanes: one against the rest, with room for classes that nobody has seen yet."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from odca.validation.arrays import Array

SPARE = -1


@dataclass(frozen=True, slots=True)
class OneAgainstRest:
    """Which lane learns which class.

    Each class has a lane whose label is +1 for its own events and -1 for the rest. Two classes share one lane, that of the
    second: the first one's would be its mirror image. The spare lane, if there is one, sees -1 always. That is what
    the lane of any class has seen that has not come yet: so a new class takes a copy of it, and ends bit for bit as if
    it had been declared at the start.
    """

    classes: tuple[Any, ...]
    spare: bool

    @property
    def lanes(self) -> list[int]:
        """The class of every lane, by its place in `classes`."""
        owners = list(range(len(self.classes))) if len(self.classes) > 2 else [len(self.classes) - 1]
        return [*owners, *([SPARE] if self.spare else [])]

    def labels(self, codes: npt.NDArray[Any]) -> Array:
        """The labels of every lane for events whose classes have these places in `classes`."""
        return np.where(codes[:, None] == np.array(self.lanes), 1.0, -1.0)

    def scores(self, margins: Array) -> Array:
        """The margins of the classes that have a lane, one column each."""
        return margins[:, : margins.shape[1] - self.spare]

    def distribution(self, p: Array, scores: Array) -> Array:
        """Probabilities of all classes from P(+1) of every lane, given its score: they add up to one, and the class that
        the scores speak for has the largest.
        """
        if len(self.classes) == 1:
            return np.ones((len(p), 1))
        if len(self.classes) == 2:
            return np.hstack([1.0 - p, p])
        chosen = scores.argmax(axis=1)
        unlike = np.flatnonzero(p.argmax(axis=1) != chosen)
        p[unlike, chosen[unlike]] = p[unlike].max(axis=1) * (1.0 + 1e-12)
        p[np.arange(len(p)), chosen] += np.finfo(float).tiny  # where all are zero
        return np.asarray(p / p.sum(axis=1, keepdims=True))

    def with_classes(self, classes: Sequence[Any], *, spare: bool) -> tuple["OneAgainstRest", list[int], list[bool]]:
        """With more classes: the new layout, and for each of its lanes the lane it comes from and whether mirrored.

        Without a spare lane there is nothing to take a new class from: it begins with a blank one (source -1).
        """
        layout = OneAgainstRest(tuple(classes), spare)
        mine, last = self.lanes, len(self.lanes) - 1
        sources, mirrored = [], []
        for owner in layout.lanes:
            known = self.classes.index(classes[owner]) if owner != SPARE and classes[owner] in self.classes else SPARE
            first_of_two = known == 0 and len(self.classes) == 2
            if first_of_two:
                sources.append(0)
            elif known != SPARE:
                sources.append(mine.index(known))
            else:
                sources.append(last if self.spare else -1)
            mirrored.append(first_of_two)
        return layout, sources, mirrored
