"""Events as dictionaries for the automatic learner: names instead of columns, of any kind and at any time."""

from collections.abc import Callable, Iterable
from typing import Any, Self, Unpack, cast

import numpy as np
import numpy.typing as npt

from odca import _core
from odca.features.records import as_events
from odca.features.spec import FeatureOptions, Features
from odca.io import model_file
from odca.models.auto import AutoLearner, Task
from odca.models.events import Event, Feature, Names, as_feature
from odca.validation.arrays import Array, as_columns, as_times


class AutoEvents(model_file.Savable):
    """An `AutoLearner` of events that are dictionaries, {"price": 3.2, "country": "NZ", "new": True}.

    Events are read as those of an `EventLearner` are.

    task, classes: of the `AutoLearner`, which is there to be read as `learner`.
    bits, missing, keep, ignore, interactions, text, ngrams, categorical, numeric, dates, booleans: of the `Features`, which say
        what becomes a feature.

    Any split of a stream into calls gives the same model, to the bit; a call that raises leaves model and names as they were. Several
    threads may use one model.
    """

    kind = "AutoEvents"

    def __init__(self, task: Task, *, classes: int = 2, **options: Unpack[FeatureOptions]) -> None:
        self._assemble(AutoLearner(task, classes=classes), Features(**options))  # type: ignore[arg-type] # it makes tuples of them

    def _assemble(self, learner: AutoLearner, spec: Features) -> None:
        self.learner, self.spec = learner, spec
        self._core = _core.AutoEventCore(learner.native, spec.native())

    def learn_one(self, x: Event, y: float, *, weight: float = 1.0, time: Any = None) -> Array:
        """Learn from one event; return the prediction made before, in the form of `AutoLearner.learn`."""
        weights = None if weight == 1.0 else np.array([float(weight)])
        answer: Array = self._learn([x], np.array([float(y)]), weights, None if time is None else as_times([time], 1))[
            0
        ]
        return answer

    def predict_one(self, x: Event) -> Array:
        """The prediction for one event."""
        answer: Array = self.predict_many([x])[0]
        return answer

    def learn_many(
        self,
        events: Iterable[Event],
        y: npt.ArrayLike,
        *,
        sample_weight: npt.ArrayLike | None = None,
        time: npt.ArrayLike | None = None,
    ) -> Array:
        """Learn from events in order, as by `learn_one`; `events` are dictionaries, or a data frame. Return the predictions made before."""
        rows = as_events(events)
        labels = np.ascontiguousarray(as_columns(y, "y", len(rows), 1)[:, 0])
        weights = None if sample_weight is None else as_columns(sample_weight, "sample_weight", len(rows), 1)[:, 0]
        return self._learn(
            rows,
            labels,
            None if weights is None else np.ascontiguousarray(weights),
            None if time is None else as_times(time, len(rows)),
        )

    def predict_many(self, events: Iterable[Event]) -> Array:
        """The predictions for many events. Neither the model nor the names change."""
        return self.learner.shaped(self._core.predict_many(as_events(events)))

    @property
    def features(self) -> list[Feature]:
        """The features by index; none if they are hashed."""
        return [as_feature(key) for key in self._names().listed()]

    def _names(self) -> Names:
        return Names(self._core.packed(), self._core.ends())

    def _learn(self, rows: list[Any], y: Array, weight: Array | None, time: Array | None) -> Array:
        return self.learner.shaped(self._core.learn_many(rows, y, weight, time))

    # State

    def copy(self) -> Self:
        """Return an independent learner in the same state."""
        return self.restored(self.saved())

    def saved(self) -> model_file.ModelFile:
        """What a file holds of the learner."""
        learner, names = cast(
            "tuple[model_file.ModelFile, Names]", self._core.while_still(lambda: (self.learner.saved(), self._names()))
        )
        return model_file.ModelFile(self.kind, self.spec.as_options(), names.as_arrays(), {"learner": learner})

    @classmethod
    def restored(cls, saved: model_file.ModelFile, loss: object = None) -> Self:
        """Return the learner that a file holds. ValueError (or the like) if it holds none."""
        del loss
        learner = AutoLearner.restored(saved.parts["learner"])
        spec, names = Features(**saved.options), Names.from_arrays(saved.arrays)
        most = len(names.ends) if spec.bits is None else 2**spec.bits
        if learner.n_features > most or (spec.bits is not None and len(names.ends)):
            raise ValueError("its names do not go with its features.")
        events = cls.__new__(cls)
        events._assemble(learner, spec)  # noqa: SLF001 - of its own class
        events._core.restore(*names)  # noqa: SLF001 - the same
        return events

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return type(self).restored, (self.saved(),)
