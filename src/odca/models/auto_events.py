"""Events as dictionaries for the automatic learner: names instead of columns, of any kind and at any time."""

from collections.abc import Callable, Iterable
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from odca import _core
from odca.io import model_file
from odca.models.auto import AutoLearner, Task
from odca.models.events import MOST_BITS, Event, Feature, Missing, as_events, packed_features, unpacked_features
from odca.validation.arrays import Array, as_columns, as_times
from odca.validation.numbers import whole


class AutoEvents(model_file.Savable):
    """An `AutoLearner` of events that are dictionaries, {"price": 3.2, "country": "NZ", "new": True}.

    A number (or True, False) is a feature of its name, a string a category: the name and the string together are a feature of value 1.

    task, classes: of the `AutoLearner`, which is there to be read as `learner`.
    bits: hashes the names into 2**bits features instead of keeping them.
    missing: what None and nan mean: "ignore", "indicate" (a feature of its own) or "error".

    Any split of a stream into calls gives the same model, to the bit; a call that raises leaves model and names as they were.
    """

    kind = "AutoEvents"

    def __init__(self, task: Task, *, classes: int = 2, bits: int | None = None, missing: Missing = "ignore") -> None:
        if bits is not None and whole(bits, "bits") > MOST_BITS:
            raise ValueError(f"bits must be at most {MOST_BITS}; got {bits!r}. 20 bits are a million features.")
        if missing not in {"ignore", "indicate", "error"}:
            raise ValueError(f'missing must be "ignore", "indicate" or "error"; got {missing!r}.')
        self.bits, self.missing = bits, missing
        self.learner = AutoLearner(task, classes=classes)
        self._rows = _core.EventRows(bits, missing)

    def learn_one(self, x: Event, y: float, *, weight: float = 1.0, time: Any = None) -> Array:
        """Learn from one event; return what was thought of it before, in the form of `AutoLearner.learn`."""
        weights = None if weight == 1.0 else np.array([float(weight)])
        told: Array = self._learn([x], np.array([float(y)]), weights, None if time is None else as_times([time], 1))[0]
        return told

    def predict_one(self, x: Event) -> Array:
        """What is thought of one event."""
        told: Array = self.predict_many([x])[0]
        return told

    def learn_many(
        self,
        events: Iterable[Event],
        y: npt.ArrayLike,
        *,
        weight: npt.ArrayLike | None = None,
        time: npt.ArrayLike | None = None,
    ) -> Array:
        """Learn from events in order, as by `learn_one`; `events` are dictionaries, or a data frame. Return what was thought of each before."""
        rows = as_events(events)
        labels = np.ascontiguousarray(as_columns(y, "y", len(rows), 1)[:, 0])
        weights = None if weight is None else np.ascontiguousarray(as_columns(weight, "weight", len(rows), 1)[:, 0])
        return self._learn(rows, labels, weights, None if time is None else as_times(time, len(rows)))

    def predict_many(self, events: Iterable[Event]) -> Array:
        """What is thought of many events. Neither the model nor the names change."""
        matrix = self._rows.encode(as_events(events), False)
        return self.learner._shaped(self.learner._core.predict(matrix))

    @property
    def features(self) -> list[Feature]:
        """The features by index; none if they are hashed."""
        return list(self._rows.features)

    def _learn(self, rows: list[Any], y: Array, weight: Array | None, time: Array | None) -> Array:
        before = self.learner.count
        try:
            matrix = self._rows.encode(rows, True)
            told = self.learner._core.learn(matrix, y, weight, time)
        finally:  # whoever was interrupted has learned some of them
            self._rows.keep() if self.learner.count > before else self._rows.forget()
        return self.learner._shaped(told)

    # State

    def copy(self) -> Self:
        """Return an independent learner in the same state."""
        return self.restored(self.saved())

    def saved(self) -> model_file.ModelFile:
        """What a file holds of the learner."""
        options = {"bits": self.bits, "missing": self.missing}
        return model_file.ModelFile(
            self.kind, options, packed_features(self.features), {"learner": self.learner.saved()}
        )

    @classmethod
    def restored(cls, saved: model_file.ModelFile, loss: object = None) -> Self:
        """Return the learner that a file holds. ValueError (or the like) if it holds none."""
        del loss
        learner = AutoLearner.restored(saved.parts["learner"])
        events = cls(learner.task, classes=max(learner.classes, 2), **saved.options)
        events.learner = learner
        features = unpacked_features(saved.arrays)
        most = len(features) if events.bits is None else 2**events.bits
        if learner.n_features > most or (events.bits is not None and features):
            raise ValueError("its names do not go with its features.")
        events._rows.restore(features)
        return events

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return type(self).restored, (self.saved(),)
