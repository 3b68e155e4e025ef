"""The one classifier behind every interface: a learner, the classes it has met, probabilities, and progressive scores.

Interfaces (scikit-learn, river, dictionaries, files) translate labels and columns; what a class is to a learner is decided here.
`LinearClassifier` has a lane for each class, one against the rest; `ExpertClassifier` leaves classes to the experts of the
automatic mode.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from odca.metrics import ClassMetrics, Row
from odca.models.options import Answer
from odca.models.progressive_scores import ProgressivelyScored
from odca.validation.arrays import Array

Codes: TypeAlias = npt.NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class RawPredictions:
    """What a classifier says of events: its raw output, and what its calibration made of it at the time."""

    raw: Array
    calibrated: Array | None = None

    def __getitem__(self, part: slice) -> "RawPredictions":
        return RawPredictions(self.raw[part], None if self.calibrated is None else self.calibrated[part])


class Classifier(ProgressivelyScored[ClassMetrics], ABC):
    """Learns which of several classes events belong to. Classes may appear at any time.

    Events come with codes: the places of their classes among `classes`.
    """

    learner: Any
    """What does the learning."""

    def __init__(self, classes: Iterable[Any], *, seen: Iterable[Any] | None = None, scored: bool = True) -> None:
        super().__init__([ClassMetrics()] if scored else [])
        self.classes: tuple[Any, ...] = tuple(classes)
        """In the order of their codes."""
        self._seen = set(self.classes if seen is None else seen)  # those that were declared, or have come

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
    ) -> list[Row]:
        """Learn from events in order; return the rows of the metrics' table that fall among them.

        classes: the model's classes and those that come with these events, if there are new ones; `codes` are places among
        these. declared: classes that may come later. features: how many each event has, for the rows. A call that is refused
        leaves no trace; one that is interrupted keeps the events that its learner has learned, unless classes are new.
        """
        before, count = dict(self.__dict__), self.learner.count
        try:
            self._seen = self._seen.union(declared)
            if classes is not None:
                self.set_classes(classes)
            answers = self._learn(X, np.asarray(codes), sample_weight=sample_weight, offset=offset, time=time)
        except BaseException:
            self.__dict__ = before
            learned = self.learner.count - count
            if classes is not None and learned:
                self._after_an_interruption(classes, np.asarray(codes)[:learned])
            raise
        if not self.metrics_by_output:
            return []
        known_from = self._known_from(codes)
        self._seen = self._seen.union(self.classes)
        return self.score(self.metrics, answers, codes, known_from, sample_weight=sample_weight, features=features)

    @abstractmethod
    def set_classes(self, classes: Sequence[Any]) -> None:
        """Have these classes, in this order: the present ones and perhaps others."""

    @abstractmethod
    def _learn(
        self, X: Any, codes: npt.NDArray[Any], *, sample_weight: Array | None, offset: Any, time: Any
    ) -> RawPredictions: ...

    @abstractmethod
    def _after_an_interruption(self, classes: Sequence[Any], codes: npt.NDArray[Any]) -> None:
        """Keep the new classes of the events that were learned before an interruption, if the learner has kept them."""

    # Predicting

    @abstractmethod
    def predict_raw(self, X: Any, *, offset: Any = None, answer: Answer = "steady") -> RawPredictions:
        """What the model says of events: its `answer` for a time in which no labels are coming in, or its live one."""

    @abstractmethod
    def scores(self, answers: RawPredictions) -> Array:
        """One column for each class; with two classes only that of the second one against the first."""

    @abstractmethod
    def probabilities(self, answers: RawPredictions) -> Array:
        """One column for each class; the rows sum to one."""

    def chosen(self, answers: RawPredictions) -> npt.NDArray[np.intp]:
        """The codes of the classes that the scores are highest for."""
        scores = self.scores(answers)
        if len(self.classes) == 2:
            return (scores[:, 0] > 0.0).astype(np.intp)
        return np.asarray(scores.argmax(axis=1) if len(self.classes) > 1 else np.zeros(len(scores), np.intp))

    # Scoring

    def score(
        self,
        metrics: ClassMetrics,
        answers: RawPredictions,
        codes: npt.NDArray[Any],
        known_from: npt.NDArray[np.intp] | None = None,
        *,
        sample_weight: Array | None = None,
        features: npt.NDArray[Any] | None = None,
    ) -> list[Row]:
        """Count how well these answers predict the events; return the rows of the metrics' table that fall among them.

        A code beyond `classes` is a class that the model does not know. known_from: the place of the first event of each
        class, -1 for those known before; None if all were. A class counts in loss and probability from its first event on, and
        can be chosen after it, however the stream is cut into calls.
        """
        codes = np.ascontiguousarray(codes, np.int32)
        every = np.full(len(self.classes), -1) if known_from is None else known_from
        edges = {0, len(codes), *every.tolist(), *(every + 1).tolist()}
        rows: list[Row] = []
        for begin, end in pairwise(sorted(edge for edge in edges if 0 <= edge <= len(codes))):
            part = slice(begin, end)
            weight = None if sample_weight is None else sample_weight[part]
            counts = None if features is None else features[part]
            known, earlier = np.flatnonzero(every <= begin), np.flatnonzero(every < begin)
            if len(self.classes) == 2 == len(earlier) and self._can_score_margins(metrics):
                rows += self._score_margins(metrics, answers[part], codes[part], weight, counts)
                continue
            rows += metrics.add(
                codes[part],
                self._chosen_among(answers[part], earlier),
                self._losses(answers[part], codes[part], known),
                probability=self._probabilities_among(answers[part], known),
                weight=weight,
                features=counts,
            )
        return rows

    def _known_from(self, codes: npt.NDArray[Any]) -> npt.NDArray[np.intp] | None:
        """The place of the first event of each class that has not been seen before; -1 for the others."""
        new = [code for code, label in enumerate(self.classes) if label not in self._seen]
        if not new:
            return None
        known_from = np.full(len(self.classes), -1)
        first = {code: place for place, code in reversed(list(enumerate(codes.tolist())))}
        known_from[new] = [first.get(code, len(codes)) for code in new]
        return known_from

    def _can_score_margins(self, metrics: ClassMetrics) -> bool:
        """Whether margins are scored, for the AUC: if both classes were known when the first event came."""
        return metrics.has_margins or not metrics.events

    @abstractmethod
    def _score_margins(
        self, metrics: ClassMetrics, answers: RawPredictions, codes: Codes, weight: Array | None, features: Any
    ) -> list[Row]: ...

    @abstractmethod
    def _losses(self, answers: RawPredictions, codes: Codes, known: npt.NDArray[np.intp]) -> Array: ...

    @abstractmethod
    def _probabilities_among(self, answers: RawPredictions, known: npt.NDArray[np.intp]) -> Array: ...

    def _chosen_among(self, answers: RawPredictions, known: npt.NDArray[np.intp]) -> Codes:
        """The best of some classes; -1 if there is none."""
        if not len(known):
            return np.full(len(answers.raw), -1, np.int32)
        scores = self.scores(answers)
        if len(self.classes) == 2:
            scores = np.hstack([-scores, scores])
        return np.asarray(known[scores[:, known].argmax(axis=1)], np.int32)
