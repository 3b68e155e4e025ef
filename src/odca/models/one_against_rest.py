"""Classes as lanes: each class against the rest, with a spare lane for new classes."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from odca import _core
from odca.records import record
from odca.validation.arrays import Array

SPARE = -1


@record
class OneAgainstRest:
    """Which lane learns which class.

    Each class has a lane whose label is +1 for its own events and -1 for the rest. Two classes share one lane, that of the
    second: the lane of the first would be its mirror image. All labels of the spare lane, if there is one, are -1. So were those of
    every class that has not appeared yet: therefore a new class gets a copy of the spare lane, and its model is the same, to the bit,
    as if the class had been declared at the start.
    """

    classes: tuple[Any, ...]
    spare: bool

    @property
    def lanes(self) -> list[int]:
        """The class of every lane, as its position in `classes`."""
        owners = list(range(len(self.classes))) if len(self.classes) > 2 else [len(self.classes) - 1]
        return [*owners, *([SPARE] if self.spare else [])]

    def labels(self, codes: npt.NDArray[Any]) -> Array:
        """The labels of every lane for events whose classes have these positions in `classes`."""
        return _core.lane_labels(np.ascontiguousarray(codes, np.int32), np.array(self.lanes, np.int32))

    def scores(self, margins: Array) -> Array:
        """The margins of the classes, without the spare lane."""
        return margins[:, : margins.shape[1] - self.spare]

    def distribution(self, p: Array, scores: Array) -> Array:
        """The probabilities of all classes, from P(+1) of every lane and its score. They sum to one, and the class with the highest
        score has the largest.
        """
        if len(self.classes) == 1:
            return np.ones((len(p), 1))
        if len(self.classes) == 2:
            return np.hstack([1.0 - p, p])
        return _core.one_against_rest(np.ascontiguousarray(p), np.ascontiguousarray(scores))

    def with_classes(self, classes: Sequence[Any], *, spare: bool) -> tuple["OneAgainstRest", list[int], list[bool]]:
        """The layout with more classes; for each of its lanes, the lane it is copied from and whether it is mirrored.

        Without a spare lane, a new class starts with a blank lane (source -1).
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
