"""Estimators with nothing to tune, for river."""

import threading
from collections.abc import Hashable, Iterable
from typing import Any, Self

import numpy as np
from river import base

from odca.features.records import as_events
from odca.io.model_file import ModelFile, Savable
from odca.models.auto import Task
from odca.models.auto_events import AutoEvents
from odca.models.auto_report import AutoReport
from odca.models.automatic import ExpertClassifier
from odca.models.event_adapters import EventExperts
from odca.models.events import Event, Missing
from odca.river.frames import index_of

_NEW_LABELS = threading.RLock()


class _Auto(Savable, base.Estimator):  # type: ignore[misc] # river's classes are not typed
    """What the automatic classifier and regressor share."""

    _task: Task

    def __init__(self, bits: int | None = None, missing: Missing = "indicate") -> None:
        self.bits = bits
        self.missing = missing
        self.events = AutoEvents(self._task, bits=bits, missing=missing)

    def report(self) -> AutoReport:
        """Which experts carry the weight now: str(report) in words, as_json(), plot()."""
        return self.events.learner.report()

    def saved(self) -> ModelFile:
        """What a file holds of the estimator."""
        return ModelFile(self.kind, {"params": self._get_params()}, {}, {"events": self.events.saved()})

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

    bits, missing: as for `EventLearner`: hashed names, and what missing values mean.

    >>> from river import datasets, evaluate, metrics
    >>> evaluate.progressive_val_score(datasets.Phishing(), AutoClassifier(), metrics.Accuracy())
    Accuracy: 89.91%
    """

    kind = "river.AutoClassifier"
    _task = "classes"

    def __init__(self, bits: int | None = None, missing: Missing = "indicate") -> None:
        super().__init__(bits, missing)
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

    def learn_many(self, X: Iterable[Event], y: Iterable[Hashable], w: Any = None, *, time: Any = None) -> None:
        """Learn from many events, a data frame or dictionaries, in order; the same as one at a time."""
        labels = [label.item() if isinstance(label, np.generic) else label for label in y]
        if any(label is None or label != label for label in labels):  # noqa: PLR0124 - nan
            raise ValueError("a label must not be None or nan: leave such events out.")
        if set(labels) <= set(self.classes):
            self._learn(X, labels, None, w, time)
            return
        with _NEW_LABELS:  # one thread at a time, so that each label gets a code of its own
            self._learn(X, labels, list(dict.fromkeys([*self.classes, *labels])), w, time)

    def _learn(self, X: Any, labels: list[Hashable], classes: list[Hashable] | None, w: Any, time: Any) -> None:
        codes = {label: code for code, label in enumerate(self.classes if classes is None else classes)}
        coded = np.array([codes[label] for label in labels], dtype=np.intp)
        self._model.learn(X, coded, classes, sample_weight=w, time=time)

    def predict_proba_one(self, x: Event) -> dict[Hashable, float]:
        """P(class) of every class that came so far."""
        return dict(zip(self.classes, self._distribution([x])[0].tolist(), strict=True)) if self.classes else {}

    def predict_proba_many(self, X: Any) -> Any:
        """The same of many events, as a data frame."""
        import pandas as pd  # noqa: PLC0415 - only who has a data frame needs it

        return pd.DataFrame(self._distribution(X), columns=list(self.classes), index=index_of(X))

    def predict_one(self, x: Event) -> Hashable:
        """The most likely class; None before the first event."""
        return self.classes[int(self._distribution([x])[0].argmax())] if self.classes else None

    def predict_many(self, X: Any) -> Any:
        """The same of many events, as a series."""
        import pandas as pd  # noqa: PLC0415 - the same

        p = self._distribution(X)
        chosen = [self.classes[k] for k in p.argmax(axis=1)] if self.classes else [None] * len(p)
        return pd.Series(chosen, index=index_of(X), dtype=object)

    def _distribution(self, X: Any) -> Any:
        if not self.classes:
            return np.zeros((len(as_events(X)), 0))
        return self._model.probabilities(self._model.answer(X))

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

    bits, missing: as for `EventLearner`: hashed names, and what missing values mean.
    """

    kind = "river.AutoRegressor"
    _task = "numbers"

    def learn_one(self, x: Event, y: float, w: float = 1.0, *, time: Any = None) -> None:
        """Learn from one event. With `time` memories count in event time."""
        self.events.learn_one(x, y, weight=w, time=time)

    def learn_many(self, X: Iterable[Event], y: Any, w: Any = None, *, time: Any = None) -> None:
        """Learn from many events, a data frame or dictionaries, in order; the same as one at a time."""
        self.events.learn_many(X, np.asarray(y), sample_weight=None if w is None else np.asarray(w), time=time)

    def predict_one(self, x: Event) -> float:
        """The prediction."""
        return float(self.events.predict_one(x))

    def predict_many(self, X: Any) -> Any:
        """The same of many events, as a series."""
        import pandas as pd  # noqa: PLC0415 - only who has a data frame needs it

        return pd.Series(self.events.predict_many(X), index=index_of(X))
