"""The classifier that every interface uses: a learner, its classes, probabilities, and progressive scores.

The interfaces (scikit-learn, river, dictionaries, files) only translate labels and columns. `LinearClassifier` has a lane for each
class, against the rest; `ExpertClassifier` uses the experts of the automatic mode, which handle classes themselves.
"""

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from odca.metrics import Addition, ClassMetrics, Codes, ProgressRow, add_all
from odca.models.options import Answer
from odca.models.progressive_scores import ProgressivelyScored
from odca.models.uncertainty import Uncertainty, require_some
from odca.records import record
from odca.validation.arrays import Array


@record
class RawPredictions:
    """The raw output of a classifier for events, and its probabilities, if they were calibrated at that time."""

    raw: Array
    calibrated: Array | None = None

    def __getitem__(self, part: slice) -> "RawPredictions":
        return RawPredictions(self.raw[part], None if self.calibrated is None else self.calibrated[part])


class Classifier(ProgressivelyScored[ClassMetrics], ABC):
    """Learns to which of several classes events belong. Classes may appear at any time.

    The labels of events are codes: the positions of their classes in `classes`.
    """

    learner: Any
    """A learner, or the experts of the automatic mode."""

    def __init__(self, classes: Iterable[Any], *, seen: Iterable[Any] | None = None, scored: bool = True) -> None:
        super().__init__([ClassMetrics()] if scored else [])
        self.classes: tuple[Any, ...] = tuple(classes)
        """In the order of their codes."""
        self._seen = set(self.classes if seen is None else seen)  # the classes that were declared or have appeared

    def learn(
        self,
        X: Any,
        codes: npt.NDArray[Any],
        classes: Sequence[Any] | None = None,
        *,
        declared: Iterable[Any] = (),
        sample_weight: Array | None = None,
        offset: Any = None,
        time: Any = None,
        features: npt.NDArray[Any] | None = None,
        told: Callable[[RawPredictions], None] | None = None,
        asked: Sequence[Any] | None = None,
    ) -> list[ProgressRow]:
        """Learn from events in order; return the rows of the progress table that are due among them.

        classes: if these events bring new classes, all classes, to which `codes` then refer. declared: classes that may appear
        later. features: the number of features of each event, for the rows. told: is called with the predictions, each from before its
        event was learned. asked: of labels that come later, what the experts of an automatic model said (`Asked`) when the events were
        predicted; they are judged by that. An error leaves the model unchanged. After an
        interruption it keeps the events that its learner has learned, unless there are new classes. One thread at a time may call
        this (`odca.models.turns`), while others read.
        """
        twin, count = copy.copy(self), self.learner.count
        try:
            twin._seen = self._seen.union(declared)  # noqa: SLF001 - of its own class
            if classes is not None:
                twin.set_classes(classes)
            known_from = twin._known_from(codes)  # noqa: SLF001 - the same
            how = {"sample_weight": sample_weight, "offset": offset, "time": time, "asked": asked}
            predictions = twin._learn(X, np.asarray(codes), **how)  # noqa: SLF001 - the same
            twin._seen = twin._seen.union(twin.classes)  # noqa: SLF001 - the same
            self.__dict__ = twin.__dict__  # at once, for other threads that read it
        except BaseException:
            learned = self.learner.count - count
            if classes is not None and learned:
                self._after_an_interruption(classes, np.asarray(codes)[:learned])
            raise
        if told is not None:
            told(predictions)
        self._observe(predictions, codes, known_from, sample_weight)
        if not self.metrics_by_output:
            return []
        return self.score(self.metrics, predictions, codes, known_from, sample_weight=sample_weight, features=features)

    @abstractmethod
    def set_classes(self, classes: Sequence[Any]) -> None:
        """Change the classes to these, in this order: the present ones and perhaps others."""

    @abstractmethod
    def _learn(
        self, X: Any, codes: npt.NDArray[Any], *, sample_weight: Any, offset: Any, time: Any, asked: Any
    ) -> RawPredictions: ...

    @abstractmethod
    def _after_an_interruption(self, classes: Sequence[Any], codes: npt.NDArray[Any]) -> None:
        """Keep the new classes of the events that were learned before an interruption, if the learner has kept them."""

    # Predicting

    @abstractmethod
    def predict_raw(self, X: Any, *, offset: Any = None, answer: Answer = "steady") -> RawPredictions:
        """The raw predictions for events. answer: "steady" if no labels are coming in, or "live"."""

    @abstractmethod
    def scores(self, predictions: RawPredictions) -> Array:
        """One column per class; with two classes, one column: the second class against the first."""

    @abstractmethod
    def probabilities(self, predictions: RawPredictions) -> Array:
        """One column per class; the rows sum to one."""

    def chosen(self, predictions: RawPredictions) -> npt.NDArray[np.intp]:
        """The codes of the classes with the highest scores."""
        scores = self.scores(predictions)
        if len(self.classes) == 2:
            return (scores[:, 0] > 0.0).astype(np.intp)
        return np.asarray(scores.argmax(axis=1) if len(self.classes) > 1 else np.zeros(len(scores), np.intp))

    # Sets

    @property
    @abstractmethod
    def uncertainty(self) -> Uncertainty:
        """How unlikely the true classes were said to be."""

    def saved_uncertainty(self) -> dict[str, npt.NDArray[Any]]:
        """What a file holds of it, unless the learner does."""
        return {}

    def restore_uncertainty(self, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        """The reverse. Files from before intervals have nothing of it: then it begins now."""

    @abstractmethod
    def _observe(
        self,
        predictions: RawPredictions,
        codes: npt.NDArray[Any],
        known_from: npt.NDArray[np.intp] | None,
        sample_weight: Array | None,
    ) -> None:
        """Take note of how likely the true classes were said to be, unless the learner does that itself."""

    def sets(self, predictions: RawPredictions, coverage: float, answer: Answer) -> npt.NDArray[np.bool_]:
        """Which classes belong to each event's set, (n, classes): those that are likely enough. See docs/intervals.md."""
        known = self.uncertainty
        require_some(known, self.learner.count)
        return np.asarray(self.probabilities(predictions) >= known.least_probability(coverage, answer))

    # Scoring

    def score(
        self,
        metrics: ClassMetrics,
        predictions: RawPredictions,
        codes: npt.NDArray[Any],
        known_from: npt.NDArray[np.intp] | None = None,
        *,
        sample_weight: Array | None = None,
        features: npt.NDArray[Any] | None = None,
    ) -> list[ProgressRow]:
        """Evaluate predictions; return the rows of the progress table that are due among them.

        A code beyond `classes` is a class that the model does not know. known_from: the position of the first event of each
        class, -1 for those known before; None if all were. A class counts in loss and probability from its first event on, and
        can be predicted after it, however the stream is split into calls.
        """
        codes = np.ascontiguousarray(codes, np.int32)
        additions: list[Addition] = []
        for part, known, earlier in self._stretches(len(codes), known_from):
            weight = None if sample_weight is None else sample_weight[part]
            counts = None if features is None else features[part]
            if len(self.classes) == 2 == len(earlier) and self._can_score_margins(metrics, metrics.events + part.start):
                additions.append(self._adding_margins(metrics, predictions[part], codes[part], weight, counts))
                continue
            additions.append(
                metrics.adding(
                    codes[part],
                    self._chosen_among(predictions[part], earlier),
                    self._losses(predictions[part], codes[part], known),
                    probability=self._probabilities_among(predictions[part], known),
                    weight=weight,
                    features=counts,
                )
            )
        return list(chain.from_iterable(add_all(additions)))

    def _stretches(
        self, events: int, known_from: npt.NDArray[np.intp] | None
    ) -> Iterator[tuple[slice, npt.NDArray[np.intp], npt.NDArray[np.intp]]]:
        """Stretches of events, the classes that are known at the first event of each, and those that were known before it."""
        every = np.full(len(self.classes), -1) if known_from is None else known_from
        edges = {0, events, *every.tolist(), *(every + 1).tolist()}
        for begin, end in pairwise(sorted(edge for edge in edges if 0 <= edge <= events)):
            yield slice(begin, end), np.flatnonzero(every <= begin), np.flatnonzero(every < begin)

    def _known_from(self, codes: npt.NDArray[Any]) -> npt.NDArray[np.intp] | None:
        """The position of the first event of each class that is new; -1 for the others; None if none is new."""
        new = [code for code, label in enumerate(self.classes) if label not in self._seen]
        if not new:
            return None
        known_from = np.full(len(self.classes), -1)
        first = {code: place for place, code in reversed(list(enumerate(codes.tolist())))}
        known_from[new] = [first.get(code, len(codes)) for code in new]
        return known_from

    def _can_score_margins(self, metrics: ClassMetrics, events: int) -> bool:
        """Whether margins are scored after so many events, for the AUC: if both classes were known at the first one."""
        return metrics.has_margins or not events

    @abstractmethod
    def _adding_margins(
        self, metrics: ClassMetrics, predictions: RawPredictions, codes: Codes, weight: Array | None, features: Any
    ) -> Addition: ...

    @abstractmethod
    def _losses(self, predictions: RawPredictions, codes: Codes, known: npt.NDArray[np.intp]) -> Array: ...

    @abstractmethod
    def _probabilities_among(self, predictions: RawPredictions, known: npt.NDArray[np.intp]) -> Array: ...

    def _chosen_among(self, predictions: RawPredictions, known: npt.NDArray[np.intp]) -> Codes:
        """The class with the highest score among the known ones; -1 if none is known."""
        if not len(known):
            return np.full(len(predictions.raw), -1, np.int32)
        scores = self.scores(predictions)
        if len(self.classes) == 2:
            scores = np.hstack([-scores, scores])
        return np.asarray(known[scores[:, known].argmax(axis=1)], np.int32)
