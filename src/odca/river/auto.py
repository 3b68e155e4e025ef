"""Estimators with nothing to tune, for river."""

import threading
from collections.abc import Hashable, Iterable
from typing import Any, Self, Unpack

import numpy as np
from river import base

from odca.features.records import as_events
from odca.features.spec import FeatureOptions
from odca.io.model_file import ModelFile
from odca.models.auto import Task
from odca.models.auto_events import AutoEvents
from odca.models.auto_report import AutoReport
from odca.models.automatic import ExpertClassifier
from odca.models.classifier import RawPredictions
from odca.models.event_adapters import EventExperts, EventLanes, WaitingEvent
from odca.models.events import Event
from odca.models.linear import LinearClassifier
from odca.models.options import Answer
from odca.river.estimator import RiverEstimator, require_labels
from odca.river.frames import index_of
from odca.river.linear import BOTH, ODCAClassifier, ODCARegressor, all_truths

_NEW_LABELS = threading.RLock()


class _Auto(RiverEstimator):
    """What the automatic classifier and regressor share."""

    events: AutoEvents
    _task: Task

    def __init__(self, *, max_pending: int = 10_000, **feature_options: Unpack[FeatureOptions]) -> None:
        self.max_pending = max_pending
        self.feature_options = feature_options
        self.events = AutoEvents(self._task, max_pending=max_pending, **feature_options)

    def explain_one(self, x: Event, *, answer: Answer = "live") -> dict[str, Any]:
        """What each named feature of an event, and the previous labels, add to its prediction. See `AutoEvents.explain_one`."""
        return self.events.explain_one(x, answer=answer)

    def report(self) -> AutoReport:
        """Which experts carry the weight now: str(report) in words, as_json(), plot()."""
        return self.events.learner.report()

    @classmethod
    def restored(cls, saved: ModelFile, loss: object = None) -> Self:
        """Return the estimator that a file holds. ValueError (or the like) if it holds none."""
        del loss
        estimator = cls(**saved.options["params"])
        estimator.events = AutoEvents.restored(saved.parts["events"])
        return estimator


class AutoClassifier(_Auto, base.MiniBatchClassifier):  # type: ignore[misc]
    """A classifier for streams of dictionaries with nothing to tune: strengths and memories are learned side by side and mixed.

    Labels may be of any kind, as many as there are, and may appear at any time.

    max_pending: how many events wait for their labels at most, as for `EventLearner`.
    bits, missing, keep, ignore, interactions, text, ngrams, categorical, numeric, dates, booleans: what becomes a feature, as for
        `EventLearner`.

    >>> from river import datasets, evaluate, metrics
    >>> evaluate.progressive_val_score(datasets.Phishing(), AutoClassifier(), metrics.Accuracy())
    Accuracy: 89.91%
    """

    kind = "river.AutoClassifier"
    _task = "classes"

    def __init__(self, *, max_pending: int = 10_000, **feature_options: Unpack[FeatureOptions]) -> None:
        super().__init__(max_pending=max_pending, **feature_options)
        self._model = ExpertClassifier(EventExperts(self.events), (), scored=False)

    @property
    def _multiclass(self) -> bool:
        return True

    @property
    def classes(self) -> tuple[Hashable, ...]:
        """The labels so far, in the order in which they came."""
        return self._model.classes

    def learn_one(self, x: Event, y: Hashable, w: float = 1.0, *, time: Any = None) -> None:
        """Learn from one event. With `time` memories count in event time."""
        if y == y and y in self.classes and time is None:  # noqa: PLR0124 - nan
            self.events.learn_one(x, self.classes.index(y), weight=w)
        else:
            self.learn_many([x], [y], None if w == 1.0 else [w], time=None if time is None else [time])

    def learn_many(
        self, X: Iterable[Event] | WaitingEvent, y: Iterable[Hashable], w: Any = None, *, time: Any = None
    ) -> None:
        """Learn from many events, a data frame or dictionaries, in order; the same as one at a time."""
        labels = [label.item() if isinstance(label, np.generic) else label for label in y]
        require_labels(labels)
        if set(labels) <= set(self.classes):
            self._learn(X, labels, None, w, time)
            return
        with _NEW_LABELS:  # one thread at a time, so that each label gets a code of its own
            self._learn(X, labels, list(dict.fromkeys([*self.classes, *labels])), w, time)

    def _learn(self, X: Any, labels: list[Hashable], classes: list[Hashable] | None, w: Any, time: Any) -> None:
        codes = {label: code for code, label in enumerate(self.classes if classes is None else classes)}
        coded = np.array([codes[label] for label in labels], dtype=np.intp)
        self._model.learn(X, coded, classes, sample_weight=w, time=time)

    def learn_label(self, id: str | int, y: Hashable, w: float = 1.0, *, time: Any = None) -> None:  # noqa: A002
        """Learn from the event that a prediction kept under `id`, now that its label has come."""
        self.learn_many(WaitingEvent(id), [y], None if w == 1.0 else [w], time=None if time is None else [time])

    def predict_proba_one(
        self,
        x: Event,
        *,
        answer: Answer = "live",
        id: str | int | None = None,  # noqa: A002
    ) -> dict[Hashable, float]:
        """P(class) of every class that came so far.

        answer: "steady" if no labels are coming in. With an `id` the event waits for `learn_label`.
        """
        raw = np.asarray(self.events.predict_one(x, answer=answer, id=id))[None]
        if not self.classes:
            return {}
        return dict(zip(self.classes, self._model.probabilities(RawPredictions(raw))[0].tolist(), strict=True))

    def predict_proba_many(self, X: Any, *, answer: Answer = "live") -> Any:
        """The same of many events, as a data frame."""
        import pandas as pd  # noqa: PLC0415 - only who has a data frame needs it

        return pd.DataFrame(self._distribution(X, answer), columns=list(self.classes), index=index_of(X))

    def predict_one(self, x: Event, *, answer: Answer = "live", id: str | int | None = None) -> Hashable:  # noqa: A002
        """The most likely class, of the probabilities of `predict_proba_one`; None before the first event."""
        p = self.predict_proba_one(x, answer=answer, id=id)
        return max(p, key=p.__getitem__) if p else None

    def predict_many(self, X: Any, *, answer: Answer = "live") -> Any:
        """The same of many events, as a series."""
        import pandas as pd  # noqa: PLC0415 - the same

        p = self._distribution(X, answer)
        chosen = [self.classes[k] for k in p.argmax(axis=1)] if self.classes else [None] * len(p)
        return pd.Series(chosen, index=index_of(X), dtype=object)

    def _distribution(self, X: Any, answer: Answer) -> Any:
        if not self.classes:
            return np.zeros((len(as_events(X)), 0))
        return self._model.probabilities(self._model.predict_raw(X, answer=answer))

    def freeze(self) -> ODCAClassifier:
        """The steady answer as a plain linear classifier: see `AutoLearner.freeze`."""
        if not self.classes:
            raise ValueError("there is nothing to freeze before the first event.")
        if all_truths(self.classes):
            lane = EventLanes(self.events.freeze(mirrored=bool(self.classes[0])))
            return ODCAClassifier.around(LinearClassifier(lane, BOTH, spare=False, scored=False))
        return ODCAClassifier.around(self._model.freeze(spare=True))

    def saved(self) -> ModelFile:
        """What a file holds of the classifier."""
        saved = super().saved()
        if not all(isinstance(label, str | bool | int | float) for label in self.classes):
            raise TypeError(f"a model file holds classes that are texts, numbers or truths; got {self.classes!r}.")
        saved.options["classes"] = self.classes
        return saved

    @classmethod
    def restored(cls, saved: ModelFile, loss: object = None) -> Self:
        """Return the classifier that a file holds. ValueError (or the like) if it holds none."""
        estimator = super().restored(saved, loss)
        classes = tuple(saved.options["classes"])
        if len(set(classes)) < len(classes) or estimator.events.learner.classes != max(len(classes), 2):
            raise ValueError("its classes are not those of its learner.")
        estimator._model = ExpertClassifier(EventExperts(estimator.events), classes, scored=False)  # noqa: SLF001 - of its own class
        return estimator


class AutoRegressor(_Auto, base.MiniBatchRegressor):  # type: ignore[misc]
    """A regression for streams of dictionaries with nothing to tune: strengths and memories are learned side by side and mixed.

    max_pending: how many events wait for their labels at most, as for `EventLearner`.
    bits, missing, keep, ignore, interactions, text, ngrams, categorical, numeric, dates, booleans: what becomes a feature, as for
        `EventLearner`.
    """

    kind = "river.AutoRegressor"
    _task = "numbers"

    def learn_one(self, x: Event, y: float, w: float = 1.0, *, time: Any = None) -> None:
        """Learn from one event. With `time` memories count in event time."""
        self.events.learn_one(x, y, weight=w, time=time)

    def learn_many(self, X: Iterable[Event], y: Any, w: Any = None, *, time: Any = None) -> None:
        """Learn from many events, a data frame or dictionaries, in order; the same as one at a time."""
        self.events.learn_many(X, np.asarray(y), sample_weight=None if w is None else np.asarray(w), time=time)

    def learn_label(self, id: str | int, y: float, w: float = 1.0, *, time: Any = None) -> None:  # noqa: A002
        """Learn from the event that a prediction kept under `id`, now that its number has come."""
        self.events.learn_label(id, y, weight=w, time=time)

    def freeze(self) -> ODCARegressor:
        """The steady answer as a plain linear regression: see `AutoLearner.freeze`."""
        return ODCARegressor.of(self.events.freeze())

    def predict_one(self, x: Event, *, answer: Answer = "live", id: str | int | None = None) -> float:  # noqa: A002
        """The prediction. answer: "steady" if no labels are coming in. With an `id` the event waits for `learn_label`."""
        return float(self.events.predict_one(x, answer=answer, id=id))

    def predict_many(self, X: Any, *, answer: Answer = "live") -> Any:
        """The same of many events, as a series."""
        import pandas as pd  # noqa: PLC0415 - only who has a data frame needs it

        return pd.Series(self.events.predict_many(X, answer=answer), index=index_of(X))
