"""What a learner returns beside arrays."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from odca import _core
from odca.validation.arrays import Array


@dataclass(frozen=True, slots=True)
class Diagnostics:
    """What one event at a time did to the model; arrays of shape (n,), or (n, lanes)."""

    margin: Array
    """The prediction from before the event was learned."""
    dual: Array
    """λ, how hard the event pulled."""
    slope: Array
    """s, how far the event's own margin moves per unit of λ."""
    saturated: npt.NDArray[np.bool_]
    """Whether λ is at the end of its domain: many such events in a row are a sign of drift."""


@dataclass(frozen=True, slots=True)
class FitReport:
    """How `Learner.fit` went."""

    margin: Array
    """Each event's prediction from before it was learned in the first pass; of shape (n,), or (n, lanes)."""
    passes: int
    """How many passes over the events there were, the first among them."""
    gap: float | Array
    """Primal minus dual objective: w is no further than this from the best. One number, or one per lane."""
    converged: bool
    """Whether every gap is within the tolerance."""


@dataclass(frozen=True, slots=True)
class Delta:
    """What a learner learned between two of its states; made by `Learner.delta`, used by `Learner.apply`."""

    native: _core.Delta
    """The sums as the core has them."""
    options: dict[str, Any]
    """Those of the learner."""

    @property
    def count(self) -> int:
        """The number of events in between."""
        return self.native.count
