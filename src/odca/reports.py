"""The objects that a learner returns: diagnostics, the report of a fit, the difference of two states."""

from typing import Any

import numpy as np
import numpy.typing as npt

from odca.io import model_file
from odca.io.model_file import ModelFile
from odca.records import record
from odca.validation.arrays import Array


@record
class Diagnostics:
    """What each event did to the model, as arrays of shape (n,) or (n, lanes)."""

    margin: Array
    """The prediction from before the event was learned."""
    dual: Array
    """λ, the dual variable: how strongly the event changed the weights."""
    slope: Array
    """s, by how much the event's own margin changes per unit of λ."""
    saturated: npt.NDArray[np.bool_]
    """Whether λ is at the end of its domain: many such events in a row are a sign of drift."""


@record
class FitReport:
    """How `Learner.fit` went."""

    margin: Array
    """Each event's prediction from before it was learned in the first pass; of shape (n,), or (n, lanes)."""
    passes: int
    """The number of passes over the events, including the first."""
    gap: float | Array
    """Primal minus dual objective: the objective of w is at most this far above the minimum. One number, or one per lane."""
    converged: bool
    """Whether every gap is within the tolerance."""


@record(eq=False)
class Delta:
    """What a learner has learned between two of its states: made by `Learner.delta`, used by `Learner.apply`.

    It can be sent to another process or machine as bytes, or pickled.
    """

    arrays: dict[str, npt.NDArray[Any]]
    """What was added to the earlier state."""
    options: dict[str, Any]
    """The options of the learner."""
    base: str
    """The name of the earlier state (`Learner.lineage`), which a learner must contain for this delta to be added to it."""
    later: str
    """The name of the state that it became."""

    @property
    def count(self) -> int:
        """The number of events in between."""
        return int(self.arrays["count"][0])

    def to_bytes(self) -> bytes:
        """Return the bytes of a model file (safetensors). A loss of your own is code, which is left out."""
        options = {"learner": self.options, "base": self.base, "later": self.later}
        return b"".join(model_file.to_chunks(ModelFile("Delta", options, self.arrays)))

    @classmethod
    def from_bytes(cls, data: bytes, *, loss: object = None) -> "Delta":
        """The delta from its bytes, which may come from anywhere: nothing in them is executed, and `Learner.apply` checks them.

        ValueError if they are damaged or of another kind. `loss` is needed for a learner with a loss of your own.
        """

        def restored(saved: ModelFile) -> Delta:
            learner, base, later = (saved.options.get(name) for name in ("learner", "base", "later"))
            if not (isinstance(learner, dict) and isinstance(base, str) and isinstance(later, str) and later):
                raise ValueError("it does not say from which state it was made; make it again with this version.")
            found = cls(saved.arrays, learner if loss is None else {**learner, "loss": loss}, base, later)
            if found.count < 0:
                raise ValueError("its number of events is negative.")
            return found

        name = "this delta"
        return model_file.rebuild(model_file.from_bytes(data, name), {"Delta": restored}, name)
