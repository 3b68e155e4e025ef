"""The automatic learner in the place of a `Learner`: lanes are classes, margins are log odds."""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from odca.errors import InputError, Remedy
from odca.io.model_file import ModelFile, Savable
from odca.losses import LogLoss, SquaredError, as_native
from odca.models.auto import AutoLearner, Task
from odca.models.auto_report import AutoReport
from odca.validation.arrays import Array

NEVER = -40.0
"""The log odds of a class that has not come yet."""


class AutoLanes(Savable):
    """One lane for numbers and for two classes; of more, one for each and a spare one, as `OneAgainstRest` lays them out."""

    kind = "AutoLanes"

    def __init__(self, learner: AutoLearner, lanes: int) -> None:
        self.learner, self.lanes = learner, lanes
        self._loss = as_native(LogLoss() if learner.task == "classes" else SquaredError())

    @classmethod
    def begin(cls, task: Task, classes: int, lanes: int) -> Self:
        """Of events that are still to come."""
        return cls(AutoLearner(task, classes=max(classes, 2)), lanes)

    def learn(
        self,
        X: Any,
        y: Array,
        *,
        sample_weight: npt.ArrayLike | None = None,
        offset: npt.ArrayLike | None = None,
        time: npt.ArrayLike | None = None,
    ) -> Array:
        """Learn from events in order, whose labels are +1 for their class and -1 for the rest, or numbers; return margins from before."""
        self._require_no_offset(offset)
        labels = y[:, 0] if self.learner.task == "numbers" else self._codes(y)
        return self._margins(self.learner.learn(X, labels, sample_weight=sample_weight, time=time))

    def predict(self, X: Any, *, offset: npt.ArrayLike | None = None) -> Array:
        """The margins of every lane."""
        self._require_no_offset(offset)
        return self._margins(self.learner.predict(X))

    def loss_of(self, margins: npt.ArrayLike, y: npt.ArrayLike) -> Array:
        """Return Q(margin; y) of each pair, in the shape of `margins`."""
        z, labels = np.broadcast_arrays(np.asarray(margins, dtype=np.float64), np.asarray(y, dtype=np.float64))
        values: Array = self._loss.value(np.ravel(z), np.ravel(labels)).reshape(z.shape)
        return values

    def with_lanes(self, sources: Sequence[int], mirrored: Sequence[bool] | None = None) -> Self:
        """With room for classes that the learner will meet at their events: they come behind."""
        assert not any(mirrored or ())
        assert list(sources[: self.lanes - 1]) == list(range(self.lanes - 1))
        return type(self)(self.learner.copy(), len(sources))

    def report(self) -> AutoReport:
        """Which memory and strength are believed now."""
        return self.learner.report()

    @property
    def count(self) -> int:
        """How many events were learned from."""
        return self.learner.count

    @property
    def n_features(self) -> int:
        """The number of features seen so far."""
        return self.learner.n_features

    def saved(self) -> ModelFile:
        """What a file holds of it."""
        return ModelFile(self.kind, {"lanes": self.lanes}, {}, {"learner": self.learner.saved()})

    @classmethod
    def restored(cls, saved: ModelFile, loss: object = None) -> Self:
        """Return what a file holds. ValueError (or the like) if it holds none."""
        lanes = cls(AutoLearner.restored(saved.parts["learner"], loss), saved.options["lanes"])
        if type(lanes.lanes) is not int or lanes.lanes < lanes._classes():
            raise ValueError("its lanes are not those of its learner.")
        return lanes

    def _classes(self) -> int:
        """How many have a lane of their own."""
        return 1 if self.learner.task == "numbers" or self.learner.classes == 2 else self.learner.classes

    def _codes(self, y: Array) -> Array:
        codes: Array = (y[:, 0] > 0.0).astype(np.float64) if self.lanes == 1 else y.argmax(axis=1).astype(np.float64)
        return codes

    def _margins(self, told: Array) -> Array:
        if told.ndim == 1 and self.lanes == 1:
            return told[:, None]
        logs = np.log(self.learner.probabilities(told)) if told.ndim == 1 else told
        rest = np.log(np.maximum(-np.expm1(logs), 1e-15))
        missing = np.full((len(logs), self.lanes - logs.shape[1]), NEVER)
        return np.hstack([np.clip(logs - rest, NEVER, -NEVER), missing])

    @staticmethod
    def _require_no_offset(offset: npt.ArrayLike | None) -> None:
        if offset is not None:
            raise InputError(
                "an automatic model takes no offsets.",
                remedy=Remedy("Leave the column out, or learn without {auto}.", auto=None),
            )
