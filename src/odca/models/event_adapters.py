"""Adapters that let the models of this package learn from dictionaries instead of rows."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from odca.losses import Loss
from odca.models.auto_events import AutoEvents
from odca.models.events import EventLearner
from odca.models.options import Answer
from odca.models.uncertainty import Uncertainty
from odca.penalties import Penalty
from odca.records import record
from odca.validation.arrays import Array
from odca.windows import Window


@record
class EventLanes:
    """An `EventLearner` as a learner of `LinearClassifier` and `LinearRegressor`: X is a list of dictionaries, or a data frame."""

    events: EventLearner

    @property
    def lanes(self) -> int:
        """The number of models that learn from the same events."""
        return self.events.learner.lanes

    @property
    def loss(self) -> object:
        """Their loss."""
        return self.events.learner.loss

    @property
    def penalty(self) -> Penalty:
        """Their penalty."""
        return self.events.learner.penalty

    @property
    def window(self) -> Window:
        """How past events are weighted."""
        return self.events.learner.window

    @property
    def count(self) -> int:
        """The number of events learned from."""
        return self.events.learner.count

    def learn(self, X: Any, y: Array, *, sample_weight: Any = None, offset: Any = None, time: Any = None) -> Array:
        """Learn from events in order; return the margins, each from before its event was learned, (n, lanes)."""
        margins = self.events.learn_many(X, y, sample_weight=sample_weight, offset=offset, time=time)
        return np.reshape(margins, (-1, self.lanes))

    def predict(self, X: Any, *, offset: Any = None) -> Array:
        """The margins of events, (n, lanes)."""
        return np.reshape(self.events.predict_many(X, offset=offset), (-1, self.lanes))

    def loss_of(self, margins: npt.ArrayLike, y: npt.ArrayLike) -> Array:
        """The loss of each margin."""
        return self.events.learner.loss_of(margins, y)

    def with_lanes(self, sources: Sequence[int], mirrored: Sequence[bool] | None = None) -> "EventLanes":
        """The same learner with its lanes rearranged."""
        return EventLanes(self.events.with_lanes(sources, mirrored).with_waiting_of(self.events))


@record
class WaitingEvent:
    """Stands for X: the event that waits for its label under an id."""

    id: str | int


@record
class EventExperts:
    """`AutoEvents` as the experts of `ExpertClassifier` and `ExpertRegressor`."""

    events: AutoEvents

    @property
    def loss(self) -> Loss:
        """What predictions are judged by."""
        return self.events.learner.loss

    @property
    def classes(self) -> int:
        """The number of classes."""
        return self.events.learner.classes

    @property
    def count(self) -> int:
        """The number of events learned from."""
        return self.events.learner.count

    def learn(self, X: Any, y: Array, *, sample_weight: Any = None, time: Any = None) -> Array:
        """Learn from events in order; return the predictions, each from before its event was learned."""
        if isinstance(X, WaitingEvent):
            weight, moment = 1.0 if sample_weight is None else sample_weight[0], None if time is None else time[0]
            return np.asarray(self.events.learn_label(X.id, y[0], weight=weight, time=moment))[None]
        return self.events.learn_many(X, y, sample_weight=sample_weight, time=time)

    def predict(self, X: Any, *, answer: Answer) -> Array:
        """The predictions for events."""
        return self.events.predict_many(X, answer=answer)

    def probabilities(self, predictions: Array) -> Array:
        """P(class) of each event."""
        return self.events.learner.probabilities(predictions)

    def declare(self, classes: int) -> None:
        """Make room for this many classes."""
        self.events.require_history_of(classes)
        self.events.learner.declare(classes)

    def freeze(self) -> EventLanes:
        """The steady answer as a linear model."""
        return EventLanes(self.events.freeze())

    @property
    def uncertainty(self) -> Uncertainty:
        """How far from the truth the predictions have been, as of now."""
        return self.events.learner.uncertainty

    def copy(self) -> "EventExperts":
        """Independent experts in the same state."""
        return EventExperts(self.events.copy())
