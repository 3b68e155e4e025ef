"""Estimators with nothing to tune, for river."""

from collections.abc import Hashable, Iterable
from typing import Any, Self, Unpack

import numpy as np
from river import base, conf

from odca import _core
from odca.features.records import as_events
from odca.features.spec import FeatureOptions
from odca.io.model_file import ModelFile
from odca.models.auto import Task
from odca.models.auto_events import AutoEvents
from odca.models.auto_report import AutoReport
from odca.models.event_adapters import EventExperts, EventLanes, WaitingEvent
from odca.models.experts import ExpertClassifier, ExpertRegressor
from odca.models.linear import LinearClassifier
from odca.models.named_events import Event
from odca.models.options import Answer, Products
from odca.models.turns import at_one_moment, in_turn, turn_of
from odca.river.base import (
    RiverClassifier,
    RiverEstimator,
    interval_of,
    plain_label,
    require_labels,
    restored_labels,
    set_of,
)
from odca.river.classifier import BOTH, ODCAClassifier, all_truths
from odca.river.fast_path import with_fast_path
from odca.river.frames import as_frame, as_series
from odca.river.regressor import ODCARegressor
from odca.validation.arrays import as_columns


class AutoEstimator(RiverEstimator):
    """What the automatic classifier and regressor share."""

    events: AutoEvents
    _task: Task

    def __init__(
        self, *, products: Products = "auto", max_pending: int = 10_000, **feature_options: Unpack[FeatureOptions]
    ) -> None:
        self._begin(locals())

    def _begin(self, parameters: dict[str, Any]) -> None:
        """Store the parameters of `__init__`, its `locals()`, and begin."""
        self._store(parameters)
        options = {name: value for name, value in parameters.items() if name not in {"self", "feature_options"}}
        self._use(AutoEvents(self._task, **options, **parameters["feature_options"]), ())

    def _use(self, events: AutoEvents, classes: tuple[Hashable, ...]) -> None:
        raise NotImplementedError

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_fast"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._fast = self._new_fast()

    def _new_fast(self) -> _core.FastClassifier | _core.FastRegressor:
        """What learns and predicts single events past Python."""
        raise NotImplementedError

    def explain_one(self, x: Event, *, answer: Answer = "live", time: Any = None) -> dict[str, Any]:
        """What each named feature of an event, and the previous labels, add to its prediction. See `AutoEvents.explain_one`."""
        return self.events.explain_one(x, answer=answer, time=time)

    def report(self) -> AutoReport:
        """Which experts have the most weight now: str(report) in words, as_json(), plot()."""
        return self.events.report()

    @classmethod
    def restored(cls, saved: ModelFile, loss: object = None) -> Self:
        """Return the estimator of a model file. ValueError (or a similar error) if it is invalid."""
        del loss
        estimator, events = cls(**saved.options["params"]), AutoEvents.restored(saved.parts["events"])
        if events.learner.loss != estimator.events.learner.loss:
            raise ValueError("its loss is not that of its learner.")
        estimator._use(events, tuple(saved.options.get("classes", ())))
        return estimator


class AutoClassifier(AutoEstimator, RiverClassifier):
    """A classifier for streams of dictionaries with nothing to tune: experts with many strengths and memories learn side by side and are mixed.

    Labels may be of any kind and number, and new ones may appear at any time.

    products: how many products of two features are used, "auto", False or a number, as for `AutoLearner`.
    max_pending: the largest number of events that wait for their labels, as for `EventLearner`.
    bits, missing, keep, ignore, interactions, text, ngrams, chars, sublinear, tf_idf, unit_norm, text_length,
        categorical, numeric, dates, booleans, na_values,
        day_first, trend, find_dates, history, history_keys: which features an event has, as for
        `EventLearner`.

    >>> from river import datasets, evaluate, metrics
    >>> evaluate.progressive_val_score(datasets.Phishing(), AutoClassifier(), metrics.Accuracy())
    Accuracy: 90.15%
    """

    kind = "river.AutoClassifier"
    _task = "classes"

    def _use(self, events: AutoEvents, classes: tuple[Hashable, ...]) -> None:
        self.events = events
        self._model = ExpertClassifier(EventExperts(events), classes, scored=False)
        self._fast = self._new_fast()

    def _new_fast(self) -> _core.FastClassifier:
        return _core.FastClassifier(self.events.native, self._model, "experts")

    @with_fast_path("learn_class")
    def learn_one(self, x: Event, y: Hashable, w: float = 1.0, *, time: Any = None) -> None:
        """Learn from one event. With `time`, memories are measured in event time."""
        classes, y = self._model.classes, plain_label(y)
        if y == y and y in classes and time is None:  # noqa: PLR0124 - nan
            self.events.learn_one(x, classes.index(y), weight=w)
        else:
            self.learn_many([x], [y], None if w == 1.0 else [w], time=None if time is None else [time])

    def learn_many(
        self, X: Iterable[Event] | WaitingEvent, y: Iterable[Hashable], w: Any = None, *, time: Any = None
    ) -> None:
        """Learn from many events, a data frame or dictionaries, in order; the same as one at a time."""
        labels = [plain_label(label) for label in y]
        require_labels(labels)
        self._learn(X, labels, w, time)

    @in_turn
    def _learn(self, X: Any, labels: list[Hashable], w: Any, time: Any) -> None:
        classes = list(dict.fromkeys([*self.classes, *labels]))
        codes = {label: code for code, label in enumerate(classes)}
        coded = np.array([codes[label] for label in labels], dtype=np.intp)
        is_new = len(classes) > len(self.classes)
        self._model.learn(X, coded, classes if is_new else None, sample_weight=w, time=time)

    def learn_label(self, id: str | int, y: Hashable, w: float = 1.0, *, time: Any = None) -> None:  # noqa: A002
        """Learn from the event that a prediction has kept under `id`, once its label is known."""
        self.learn_many(WaitingEvent(id), [y], None if w == 1.0 else [w], time=None if time is None else [time])

    @with_fast_path("predict_probabilities")
    def predict_proba_one(
        self,
        x: Event,
        *,
        answer: Answer = "live",
        id: str | int | None = None,  # noqa: A002
        time: Any = None,
    ) -> dict[Hashable, float]:
        """P(class) for every class seen so far.

        answer: "steady" if no labels are coming in. With an `id`, the event is kept for `learn_label`. The time matters only to `history`.
        """
        classes = self._model.classes  # read first: the prediction has these, and perhaps newer ones
        raw = np.asarray(self.events.predict_one(x, answer=answer, id=id, time=time))[None]
        if not classes:
            return {}
        return dict(zip(classes, self._model.distribution(raw, len(classes))[0].tolist(), strict=True))

    @with_fast_path("predict_class")
    def predict_one(
        self,
        x: Event,
        *,
        answer: Answer = "live",
        id: str | int | None = None,  # noqa: A002
        time: Any = None,
    ) -> Hashable:
        """The most likely class, by the probabilities of `predict_proba_one`; None before the first event."""
        p = self.predict_proba_one(x, answer=answer, id=id, time=time)
        return max(p, key=p.__getitem__) if p else None

    @at_one_moment
    def predict_set_one(
        self,
        x: Event,
        coverage: float = 0.9,
        *,
        answer: Answer = "live",
        id: str | int | None = None,  # noqa: A002
    ) -> set[Hashable]:
        """The classes that are likely enough for a share of `coverage` of the sets to hold the label.

        answer: "steady" if no labels are coming in. With an `id`, the event is kept for `learn_label`. docs/intervals.md says what is
        promised. All classes so far while too few events were learned; none where a model that is right more often than `coverage` is
        unsure.
        """
        return set_of(self._model, np.asarray(self.events.predict_one(x, answer=answer, id=id))[None], coverage, answer)

    @at_one_moment
    def predict_proba_many(self, X: Any, *, answer: Answer = "live") -> Any:
        """The probabilities for many events, as a data frame."""
        return as_frame(self._probabilities(X, answer), X, self.classes)

    @at_one_moment
    def predict_many(self, X: Any, *, answer: Answer = "live") -> Any:
        """The most likely classes of many events, as a series."""
        p = self._probabilities(X, answer)
        chosen = [self.classes[k] for k in p.argmax(axis=1)] if self.classes else [None] * len(p)
        return as_series(chosen, X, dtype=object)

    def _probabilities(self, X: Any, answer: Answer) -> Any:
        if not self.classes:
            return np.zeros((len(as_events(X)), 0))
        return self._model.probabilities(self._model.predict_raw(X, answer=answer))

    def freeze(self) -> ODCAClassifier:
        """The steady answer as a plain linear classifier: see `AutoLearner.freeze`."""
        with turn_of(self):
            if not self.classes:
                raise ValueError("there is nothing to freeze before the first event.")
            if all_truths(self.classes):
                lane = EventLanes(self.events.freeze(mirrored=bool(self.classes[0])))
                frozen = LinearClassifier(lane, BOTH, spare=False, scored=False)
                frozen.uncertainty = self._model.uncertainty.frozen()
                return ODCAClassifier.around(frozen)
            return ODCAClassifier.around(self._model.freeze(spare=True))

    def _contents(self) -> ModelFile:
        """The contents of the classifier's model file."""
        saved = super()._contents()
        if not all(isinstance(label, str | bool | int | float) for label in self.classes):
            raise TypeError(f"a model file holds classes that are text, numbers, True or False; got {self.classes!r}.")
        saved.options["classes"] = self.classes
        return saved

    @classmethod
    def restored(cls, saved: ModelFile, loss: object = None) -> Self:
        """Return the classifier of a model file. ValueError (or a similar error) if it is invalid."""
        classes = restored_labels(saved.options["classes"])
        estimator = super().restored(saved, loss)
        if estimator.events.learner.classes != max(len(classes), 2):
            raise ValueError("its classes are not those of its learner.")
        return estimator


class AutoRegressor(AutoEstimator, base.MiniBatchRegressor):  # type: ignore[misc]
    """A regression for streams of dictionaries with nothing to tune: experts with many strengths and memories learn side by side and are mixed.

    loss: what predictions are judged by: "squared_error" (they are means), "absolute_error" (medians), "quantile:0.9" or
        Quantile(0.9), or "poisson" (counts: predictions are means, which are positive).

    The other parameters are those of `AutoClassifier`.
    """

    kind = "river.AutoRegressor"
    _task = "numbers"

    def __init__(
        self,
        loss: object = "squared_error",
        *,
        products: Products = "auto",
        max_pending: int = 10_000,
        **feature_options: Unpack[FeatureOptions],
    ) -> None:
        self._begin(locals())

    def _use(self, events: AutoEvents, classes: tuple[Hashable, ...]) -> None:
        del classes
        self.events = events
        self._model = ExpertRegressor(EventExperts(events), scored=False)
        self._fast = self._new_fast()

    def _new_fast(self) -> _core.FastRegressor:
        return _core.FastRegressor(self.events.native)

    @with_fast_path("learn_number")
    def learn_one(self, x: Event, y: float, w: float = 1.0, *, time: Any = None) -> None:
        """Learn from one event. With `time`, memories are measured in event time."""
        self.events.learn_one(x, y, weight=w, time=time)

    def learn_many(self, X: Iterable[Event], y: Any, w: Any = None, *, time: Any = None) -> None:
        """Learn from many events, a data frame or dictionaries, in order; the same as one at a time."""
        events = as_events(X)
        self._model.learn(events, as_columns(y, "y", len(events), 1), sample_weight=w, time=time)

    def learn_label(self, id: str | int, y: float, w: float = 1.0, *, time: Any = None) -> None:  # noqa: A002
        """Learn from the event that a prediction has kept under `id`, once its number is known."""
        self.events.learn_label(id, y, weight=w, time=time)

    @with_fast_path("predict_number")
    def predict_one(
        self,
        x: Event,
        *,
        answer: Answer = "live",
        id: str | int | None = None,  # noqa: A002
        time: Any = None,
    ) -> float:
        """The prediction. answer: "steady" if no labels are coming in. With an `id`, the event is kept for `learn_label`.

        The time matters only to `history`.
        """
        return float(self.events.predict_one(x, answer=answer, id=id, time=time))

    def predict_interval_one(
        self,
        x: Event,
        coverage: float = 0.9,
        *,
        answer: Answer = "live",
        id: str | int | None = None,  # noqa: A002
    ) -> conf.Interval:
        """The interval that holds the number, for a share of `coverage` of all events: its `lower` and `upper` end.

        answer: "steady" if no labels are coming in. With an `id`, the event is kept for `learn_label`. docs/intervals.md says what is
        promised. Infinite while too few events were learned.
        """
        return interval_of(self._model, self.predict_one(x, answer=answer, id=id), coverage, answer)

    def predict_many(self, X: Any, *, answer: Answer = "live") -> Any:
        """The predictions for many events, as a series."""
        return as_series(self._model.margins(X, answer=answer)[:, 0], X)

    def freeze(self) -> ODCARegressor:
        """The steady answer as a plain linear regression: see `AutoLearner.freeze`."""
        return ODCARegressor.around(self.events.freeze(), [each.frozen() for each in self._model.uncertainties])
