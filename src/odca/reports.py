"""What a learner returns beside arrays."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from odca.io import model_file
from odca.io.model_file import ModelFile
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


@dataclass(frozen=True, slots=True, eq=False)
class Delta:
    """What a learner learned between two of its states; made by `Learner.delta`, used by `Learner.apply`.

    It can be sent to another process or machine as bytes, or pickled.
    """

    arrays: dict[str, npt.NDArray[Any]]
    """What came on top of the earlier state, and by how much that has faded."""
    options: dict[str, Any]
    """Those of the learner."""

    @property
    def count(self) -> int:
        """The number of events in between."""
        return int(self.arrays["count"][0])

    def to_bytes(self) -> bytes:
        """Return it in the format of model files (safetensors). A loss of your own is code, which is left out."""
        return b"".join(model_file.to_chunks(ModelFile("Delta", self.options, self.arrays)))

    @classmethod
    def from_bytes(cls, data: bytes, *, loss: object = None) -> "Delta":
        """The reverse. Bytes may come from anyone: nothing in them is executed, and `Learner.apply` checks what they hold.

        ValueError for bytes that are damaged or of another kind. `loss` is needed for a learner with a loss of your own.
        """

        def restored(saved: ModelFile) -> Delta:
            found = cls(saved.arrays, saved.options if loss is None else {**saved.options, "loss": loss})
            if found.count < 0:
                raise ValueError("its number of events is negative.")
            return found

        name = "this delta"
        return model_file.rebuild(model_file.from_bytes(data, name), {"Delta": restored}, name)
