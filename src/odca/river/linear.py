"""What the linear classifier and the linear regressor share."""

from typing import Any, Self

from odca import _core
from odca.features.spec import FeatureOptions
from odca.io.model_file import ModelFile
from odca.models.events import EventLearner
from odca.models.named_events import Event
from odca.models.options import ModelOptions, Task
from odca.river.base import RiverEstimator

NOT_SAVED = {"_learn", "_answering", "_fast", "_note"}


class LinearEstimator(RiverEstimator):
    """The options of the linear classifier and regressor, and their `EventLearner`."""

    _task: Task

    def _begin(self, parameters: dict[str, Any]) -> None:
        """Store the parameters of `__init__`, and create the learner."""
        self._store(parameters)
        self._use(self._new_events())

    @property
    def events(self) -> EventLearner:
        """The learner of dictionaries, which does the learning."""
        return self._events

    def _use(self, events: EventLearner) -> None:
        """Learn with these from now on."""
        self._events = events
        self._fast = self._new_fast()

    def _new_fast(self) -> _core.FastClassifier | _core.FastRegressor | None:
        """What learns and predicts single events past Python, if there is such a way."""
        raise NotImplementedError

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name not in NOT_SAVED}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._use(state["_events"])

    def _new_events(self, *, lanes: int | None = None, first: Event | None = None) -> EventLearner:
        """An untrained learner. The first event decides the options that are "auto"."""
        values = [] if first is None else self._events.native.feature_values(first)
        options = ModelOptions.of(self, task=self._task).resolved(in_units=True, first=values)
        return EventLearner(**options.of_learner(lanes=lanes), max_pending=self.max_pending, **self.feature_options)

    def explain_one(self, x: Event, *, time: Any = None) -> dict[str, Any]:
        """What each named feature of an event adds to its margin. See `EventLearner.explain_one`."""
        return self.events.explain_one(x, time=time)

    @property
    def weights(self) -> dict[str, Any]:
        """The weights by feature name, with "" for the intercept: numbers, or arrays with one number per lane."""
        return self.events.weights()

    @classmethod
    def of(cls, events: EventLearner) -> Self:
        """An estimator of events that were learned elsewhere."""
        options, own = events.learner.options, events.options_of_features
        estimator = cls(
            loss=options["loss"],
            prior_strength=options["prior_strength"],
            scale=options["scale"],
            **{name: value for name, value in own.items() if name in FeatureOptions.__annotations__},
        )
        estimator._use(events)
        return estimator

    @classmethod
    def restored(cls, saved: ModelFile, loss: object = None) -> Self:
        """Return the estimator of a model file. ValueError (or a similar error) if it is invalid."""
        params = saved.options["params"]
        estimator = cls(**(params if loss is None else {**params, "loss": loss}))
        estimator._use(EventLearner.restored(saved.parts["events"], loss))
        return estimator
