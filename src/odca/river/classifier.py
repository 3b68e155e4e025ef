"""A linear classifier for river."""

from collections.abc import Callable, Hashable, Iterable
from typing import Any, Self, Unpack

import numpy as np

from odca import _core
from odca.features.records import as_events
from odca.features.spec import FeatureOptions
from odca.io.model_file import ModelFile
from odca.models.classifier import RawPredictions
from odca.models.event_adapters import EventLanes
from odca.models.events import EventLearner
from odca.models.linear import LinearClassifier
from odca.models.named_events import Event
from odca.models.options import Answer
from odca.models.turns import at_one_moment, in_turn, turn_of
from odca.penalties import Penalty
from odca.river.base import RiverClassifier, plain_label, require_labels, restored_labels, set_of
from odca.river.fast_path import with_fast_path
from odca.river.frames import as_frame
from odca.river.linear import LinearEstimator
from odca.windows import Window

BOTH = (False, True)


class ODCAClassifier(LinearEstimator, RiverClassifier):
    """A linear classifier for streams of dictionaries, by online dual coordinate ascent. There is no step size.

    If the labels are True and False, the model is binary. Otherwise there may be any number of labels, and new ones may appear at
    any time: the model of a late label is the same, to the bit, as if it had been known from the start.

    loss: "log_loss" (exact probabilities), "hinge", "squared_hinge", "smooth_hinge", "modified_huber", or an object.
    penalty, rho: "l2", "elasticnet", "nonnegative" or an object; and its strength, a number or "auto": of several strengths, the
        one that has predicted best lately.
    window: "auto" (of several memories, the one that has predicted best lately), "infinite", 0.999 (exponential forgetting), 5000 (the last events), or an object such as HalfLife(3600.0).
    smoothing: how long predictions average over past weights; "auto" follows the window, and is 0 with rho="auto" or
        window="auto".
    scale: True (and "auto") divides each number by the root mean square of its non-zero values so far, under the model's own window.
    prior_strength: a constant strength in addition to that of rho, which limits the first updates; "auto" derives it from the first
        event, and is 0 with rho="auto".
    max_pending: the largest number of events that wait for their labels.
    bits, missing, keep, ignore, interactions, text, ngrams, chars, sublinear, tf_idf, unit_norm, text_length,
        categorical, numeric, dates, booleans, na_values,
        day_first, trend, find_dates, history, history_keys: which features an event has, as for
        `EventLearner`.

    >>> from river import datasets, evaluate, metrics
    >>> model = ODCAClassifier()
    >>> evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy())
    Accuracy: 87.91%
    """

    kind = "river.ODCAClassifier"
    _task = "classes"

    def __init__(
        self,
        loss: object = "log_loss",
        penalty: Penalty | str = "l2",
        rho: float | str = "auto",
        window: Window | str | float = "auto",
        smoothing: float | str = "auto",
        intercept: bool = True,
        intercept_penalty: float = 1.0,
        scale: bool | str = "auto",
        prior_strength: float | str = "auto",
        max_pending: int = 10_000,
        **feature_options: Unpack[FeatureOptions],
    ) -> None:
        parameters = locals()
        self._model: LinearClassifier | None = None  # until the first label
        self._targets: dict[Hashable, Any] = {}  # what the lanes learn for each label
        self._codes: dict[Hashable, int] = {}  # its place among the classes
        self._binary = False  # whether there is one lane, for True and False
        self._begin(parameters)

    def _use(self, events: EventLearner) -> None:
        """Store `learn_plain` and `note`, because looking them up costs time with every event; what predicts is one attribute."""
        self._learn, self._answering = events.learn_plain, (self._model, events)
        self._note: Callable[[bytes, int, float, Any], None] | None = None
        if self._model is not None and self._model.needs_notes:
            self._note = self._model.note
        elif self._model is not None:
            events.native.observe(self._model.uncertainty.native, "truths")
        super()._use(events)

    def _new_fast(self) -> _core.FastClassifier | None:
        if self._model is None:
            return None
        kind, calibrated = "lanes" if self._binary else "spare lanes", self._model.calibration is not None
        return _core.FastClassifier(self._events.native, self._model, kind, self._note, calibrated)

    # Learning

    @with_fast_path("learn_class")
    def learn_one(self, x: Event, y: Hashable, w: float = 1.0, *, offset: float = 0.0, time: Any = None) -> None:
        """Learn from one event, of weight `w`."""
        if y in self._targets:
            with turn_of(self):  # a new label in another thread replaces the learner
                self._learn_known(x, y, w, offset, time)
        else:
            self._learn_new(x, y, w, offset, time)

    @in_turn
    def _learn_new(self, x: Event, y: Hashable, w: float, offset: float, time: Any) -> None:
        self._meet([y], x)
        self._learn_known(x, y, w, offset, time)

    def _learn_known(self, x: Event, y: Hashable, w: float, offset: float, time: Any) -> None:
        target = self._targets[y]
        if w == 1.0 and time is None and not offset:
            margin = self._learn(x, target)
        else:
            margin = self._events.learn_one(x, target, weight=w, offset=offset, time=time)
        if self._note is not None:
            self._note(np.asarray(margin).tobytes(), self._codes[y], w, time)

    def learn_label(self, id: str | int, y: Hashable, w: float = 1.0, *, time: Any = None) -> None:  # noqa: A002
        """Learn from the event that a prediction has kept under `id`, once its label is known."""
        if y in self._targets:
            with turn_of(self):
                self._learn_known_label(id, y, w, time)
        else:
            self._learn_new_label(id, y, w, time)

    @in_turn
    def _learn_new_label(self, id: str | int, y: Hashable, w: float, time: Any) -> None:  # noqa: A002
        self._meet([y], self.events.waiting(id))
        self._learn_known_label(id, y, w, time)

    def _learn_known_label(self, id: str | int, y: Hashable, w: float, time: Any) -> None:  # noqa: A002
        margin = self.events.learn_label(id, self._targets[y], weight=w, time=time)
        if self._note is not None:
            self._note(np.asarray(margin).tobytes(), self._codes[y], w, time)

    @in_turn
    def learn_many(self, X: Any, y: Any, w: Any = None, *, offset: Any = None, time: Any = None) -> None:
        """Learn from the rows of a data frame (or a list of dictionaries), with the same result as `learn_one`, to the bit."""
        labels, events = list(y), as_events(X)
        if len(labels) != len(events):
            raise ValueError(f"there must be a label for every event; got {len(labels)} for {len(events)}.")
        if labels:
            model = self._meet(labels, events[0])
            codes = {label: code for code, label in enumerate(model.classes)}
            coded = np.array([codes[label] for label in labels])
            model.learn(events, coded, sample_weight=w, offset=offset, time=time)

    # Predicting

    @with_fast_path("predict_class")
    def predict_one(  # river passes `time` to both methods, if it has one
        self,
        x: Event,
        *,
        offset: float = 0.0,
        id: str | int | None = None,  # noqa: A002
        time: Any = None,
    ) -> Any:
        """Predict the label; None before the first label was seen. With an `id`, the event is kept for `learn_label`."""
        model, margin = self._margin(x, offset, id, time)
        if model is None:
            return None
        if not model.layout.spare:
            return margin > 0.0
        return model.classes[int(model.chosen(RawPredictions(np.atleast_2d(margin)))[0])]

    @with_fast_path("predict_probabilities")
    def predict_proba_one(
        self,
        x: Event,
        *,
        offset: float = 0.0,
        id: str | int | None = None,  # noqa: A002
        time: Any = None,
    ) -> dict[Any, float]:
        """The probability of each label seen so far. With an `id`, the event is kept for `learn_label`."""
        model, margin = self._margin(x, offset, id, time)
        if model is None:
            return {}
        p = model.probabilities(RawPredictions(np.atleast_2d(margin)))[0]
        return dict(zip(model.classes, p.tolist(), strict=True))

    def predict_set_one(
        self,
        x: Event,
        coverage: float = 0.9,
        *,
        answer: Answer = "live",
        offset: float = 0.0,
        id: str | int | None = None,  # noqa: A002
        time: Any = None,
    ) -> set[Hashable]:
        """The classes that are likely enough for a share of `coverage` of the sets to hold the label.

        answer: "steady" if no labels are coming in. With an `id`, the event is kept for `learn_label`. docs/intervals.md says what is
        promised. All classes so far while too few events were learned; none where a model that is right more often than `coverage` is
        unsure.
        """
        model, margin = self._margin(x, offset, id, time)
        return set_of(model, np.atleast_2d(margin), coverage, answer)

    def _margin(
        self,
        x: Event,
        offset: float,
        id: str | int | None,  # noqa: A002
        time: Any,
    ) -> tuple[LinearClassifier | None, Any]:
        """The model, None before the first label, and its margin or margins for the event."""
        model, events = self._answering
        if id is None and not offset and time is None:
            return model, events.predict_plain(x)
        return model, events.predict_one(x, offset=offset, id=id, time=time)

    @at_one_moment
    def predict_proba_many(self, X: Any) -> Any:
        """The probabilities for the rows of a data frame, with one column per label."""
        if self._model is None:
            return as_frame(None, X, ())
        return as_frame(self._model.probabilities(self._model.predict_raw(X)), X, self.classes)

    @at_one_moment
    def explain_one(self, x: Event, *, time: Any = None) -> dict[str, Any]:
        """What each named feature adds to the margin: a number if there are two classes, for the second; otherwise an array, by class.

        See `EventLearner.explain_one`.
        """
        return self._of_classes(super().explain_one(x, time=time))

    @property
    @at_one_moment
    def weights(self) -> dict[str, Any]:
        """The weights by feature name, with "" for the intercept: numbers or arrays as in `explain_one`."""
        return self._of_classes(super().weights)

    def _of_classes(self, parts: dict[str, Any]) -> dict[str, Any]:
        """Without the lane that waits for a new class. Two classes have one lane, whose part is a number."""
        if self._model is None or not self._model.layout.spare:
            return parts
        of_classes = {name: part[:-1] for name, part in parts.items()}
        return {name: float(part[0]) if len(part) == 1 else part for name, part in of_classes.items()}

    # Files

    def _contents(self) -> ModelFile:
        """The contents of the classifier's model file."""
        saved = super()._contents()
        saved.options["classes"] = list(self.classes)
        if self._model is not None and self._model.calibration is not None:
            saved.parts["calibration"] = self._model.calibration.saved()
        if self._model is not None:
            saved.arrays.update(self._model.saved_uncertainty())
        return saved

    @classmethod
    def restored(cls, saved: ModelFile, loss: object = None) -> Self:
        """Return the classifier of a model file. ValueError (or a similar error) if it is invalid."""
        estimator = super().restored(saved, loss)
        if classes := restored_labels(saved.options["classes"]):
            model = LinearClassifier(EventLanes(estimator.events), classes, spare=not all_truths(classes), scored=False)
            model.restore_calibration(saved.parts)
            model.require_consistent()
            model.restore_uncertainty(saved.arrays)
            estimator._take(model)  # noqa: SLF001 - of its own class
        return estimator

    @classmethod
    def around(cls, model: LinearClassifier) -> Self:
        """An estimator of a model that was trained elsewhere."""
        learner: Any = model.learner
        estimator = cls.of(learner.events)
        estimator._take(model)  # noqa: SLF001 - of its own class
        return estimator

    # Classes

    def _meet(self, labels: list[Hashable], first: Event) -> LinearClassifier:
        """The model, with a lane for each of these labels; `first` is the first of their events."""
        new = list(dict.fromkeys(plain_label(label) for label in labels if label not in self._targets))
        require_labels(new)
        if not new and self._model is not None:
            return self._model
        together = (*self.classes, *new)
        if any(isinstance(label, bool | np.bool_) for label in together) and not all_truths(together):
            raise ValueError(
                f"labels must be True and False only, or neither of them; got {new[0]!r} beside "
                f"{(self.classes or labels)[0]!r}. Write True and False as text, for example."
            )
        if self._model is None:
            binary = all_truths(new)
            classes: tuple[Hashable, ...] = BOTH if binary else tuple(new)
            lanes = None if binary else LinearClassifier.lanes(classes, spare=True)
            events = self._new_events(lanes=lanes, first=first).with_waiting_of(self.events)
            seen = classes if binary else ()
            model = LinearClassifier(EventLanes(events), classes, spare=not binary, seen=seen, scored=False)
        else:
            model = self._model.with_classes(together)
        self._take(model)
        return model

    def _take(self, model: LinearClassifier) -> None:
        self._model, self._binary = model, not model.layout.spare
        targets = model.layout.labels(np.arange(len(model.classes))).tolist()
        self._targets = dict(
            zip(model.classes, [each[0] for each in targets] if self._binary else targets, strict=True)
        )
        self._codes = {label: code for code, label in enumerate(model.classes)}
        learner: Any = model.learner
        self._use(learner.events)


def all_truths(labels: Iterable[Hashable]) -> bool:
    """Whether all labels are True or False."""
    return all(isinstance(label, bool | np.bool_) for label in labels)
