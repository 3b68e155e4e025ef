"""Progressive validation of a classifier."""

from collections.abc import Mapping, Sequence
from dataclasses import astuple
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from odca import _core
from odca.metrics.hindsight import Value, least, mean_of
from odca.metrics.progress import Progress
from odca.metrics.shared import Arrays, Row, Rows, as_weights, check_lengths, from_file, ratio
from odca.validation.arrays import Array

Codes: TypeAlias = npt.NDArray[np.int32]

MOST_CLASSES = 2**15
SUMS = ("no_change", "majority", "surprise", "informed")


class ClassMetrics:
    """Progressive validation of a classifier. Classes may appear at any time.

    every: a row for every so many events; else for 1, 2, 4, 8, ...
    """

    def __init__(self, *, every: int | None = None) -> None:
        self._rows = Rows(every)
        self._events = 0
        self._tally = _core.ClassTally()

    def add(
        self,
        label: npt.NDArray[np.integer[Any]],
        predicted: npt.NDArray[np.integer[Any]],
        loss: Array,
        *,
        margin: Array | None = None,
        probability: Array | None = None,
        weight: Array | None = None,
        features: npt.NDArray[Any] | None = None,
    ) -> list[Row]:
        """Count events; return the rows that fall among them.

        label: the class that came. predicted: the one that was chosen, or -1 for none. margin: of the second class
        against the first, where there are two. probability: of the second class (n,), or of every class (n, k), where the
        columns that are missing are zero. features: how many each event has, for the rows.
        """
        n = len(label)
        c = as_weights(weight, n)
        check_lengths(n, predicted=predicted, loss=loss, margin=margin, features=features)
        if probability is not None:
            check_lengths(n, probability=probability if probability.ndim == 1 else probability[:, 0])
            if n and not (probability.min() >= 0.0 and probability.max() <= 1.0):
                raise ValueError("probabilities must lie in [0, 1].")
        came, chosen = _codes(label, "label", 0), _codes(predicted, "predicted", -1)
        of_second = probability is not None and probability.ndim == 1
        weights, losses = self._tally.add(
            came,
            chosen,
            _contiguous(loss),
            _contiguous(c),
            None if margin is None else _contiguous(margin),
            None if probability is None else _contiguous(probability[:, None] if of_second else probability),
            of_second=of_second,
        )
        begin, self._events = self._events, self._events + n
        return self._rows.within(begin, weights, losses, came, chosen, features)

    def add_margins(
        self,
        label: Codes,
        margin: Array,
        loss: _core.Loss,
        *,
        probability: Array | None = None,
        weight: Array | None = None,
        features: npt.NDArray[Any] | None = None,
    ) -> list[Row]:
        """The same of two classes, from the margins of the second one against the first; `label` may be beyond the two.

        The probability of the second class is that of log-odds, unless it is given.
        """
        n, margin = len(label), _contiguous(margin)
        c = None if weight is None else _contiguous(as_weights(weight, n))
        p = None if probability is None else _contiguous(probability)
        weights, losses = self._tally.add_margins(label, margin, loss, p, c)
        begin, self._events = self._events, self._events + n
        return self._rows.within(begin, weights, losses, label, (margin > 0.0).view(np.int8), features)

    def show_every(self, events: int | None) -> None:
        """From now on a row for every so many events; None for 1, 2, 4, 8, ..."""
        self._rows.every = events

    # What came of it

    @property
    def events(self) -> int:
        """The number of events."""
        return self._events

    @property
    def tally(self) -> _core.ClassTally:
        """The sums that all scores are made of."""
        return self._tally

    @property
    def weight(self) -> float:
        """The sum of their weights."""
        return self._tally.weight

    @property
    def n_classes(self) -> int:
        """The number of classes so far, those in between that have not come included."""
        return len(self._tally.class_weight)

    @property
    def loss(self) -> float:
        """The mean loss."""
        return ratio(self._tally.loss, self.weight)

    @property
    def accuracy(self) -> float:
        """The share of events whose class was predicted."""
        return ratio(self._tally.hits, self.weight)

    @property
    def auc(self) -> float:
        """The probability that an event of the second class has a larger margin than one of the first, ties half."""
        negative, positive = self._tally.rank_weight.reshape(2, -1)
        below = np.cumsum(negative) - 0.5 * negative
        return ratio(float(positive @ below), float(positive.sum() * negative.sum()))

    @property
    def log_loss(self) -> float:
        """The mean of -log P(the class that came)."""
        return ratio(self._tally.surprise, self._tally.informed)

    @property
    def calibration_error(self) -> float:
        """ECE: how far stated probabilities are from observed shares."""
        of_second, of_chosen = self._tally.gaps.reshape(2, -1)
        return ratio(float(np.abs(of_chosen if self.n_classes > 2 else of_second).sum()), self._tally.informed)

    def scores(self) -> dict[str, float]:
        """All of them; what cannot be told is NaN."""
        names = ("loss", "accuracy", "auc", "log_loss", "calibration_error")
        return {name: float(getattr(self, name)) for name in names}

    def baselines(self, value: Value | None = None) -> dict[str, dict[str, float]]:
        """What those without features reach on the same events; before the first label they are wrong.

        With the loss's `value`, Q(z; ±1), the best constant also has its least mean loss, where there are two classes.
        """
        class_weight = self._tally.class_weight
        share = class_weight / max(self.weight, 1e-300)
        best = {
            "accuracy": ratio(float(class_weight.max(initial=0.0)), self.weight),
            "log_loss": float((share[share > 0.0] * -np.log(share[share > 0.0])).sum()) if self.weight else np.nan,
        }
        if value is not None and self.n_classes <= 2 and self.weight:
            labels = np.array([-1.0, 1.0])[: self.n_classes]
            best["loss"] = least(mean_of(value, labels, class_weight), 0.0, 1.0)
        return {
            "no_change": {"accuracy": ratio(self._tally.no_change, self.weight)},
            "majority": {"accuracy": ratio(self._tally.majority, self.weight)},
            "best_constant": best,
        }

    def merge(self, other: "ClassMetrics", codes: Sequence[int]) -> "ClassMetrics":
        """The metrics of both, the other's as if its events had come later. `codes` are those of its classes here.

        Baselines stay those of two streams.
        """
        merged = ClassMetrics(every=self._rows.every)
        mine, theirs, both = self.tally, other.tally, merged.tally
        merged._events = self.events + other.events
        for name in ("weight", "loss", "hits", *SUMS):
            setattr(both, name, getattr(mine, name) + getattr(theirs, name))
        merged._rows.begin_at(merged._events, both.weight, both.loss)
        places = np.array(codes, dtype=np.intp)[: other.n_classes]
        class_weight = np.pad(mine.class_weight, (0, max(0, int(places.max(initial=-1)) + 1 - self.n_classes)))
        class_weight[places] += theirs.class_weight
        both.class_weight = class_weight
        both.last = codes[theirs.last] if theirs.last >= 0 else mine.last
        both.leader = int(class_weight.argmax()) if merged.weight else -1
        gaps, their_gaps = mine.gaps.reshape(2, -1), theirs.gaps.reshape(2, -1)
        gaps[1] += their_gaps[1]
        gaps[0] = 0.0 if merged.n_classes > 2 else gaps[0]
        if merged.n_classes <= 2:
            swapped = any(place != code for code, place in enumerate(places.tolist()))
            both.rank_weight = mine.rank_weight + (theirs.rank_weight[::-1] if swapped else theirs.rank_weight)
            gaps[0] += -their_gaps[0][::-1] if swapped else their_gaps[0]
        both.gaps = gaps.ravel()
        return merged

    # Files

    def as_arrays(self) -> Arrays:
        """Its state, for a file. How often rows come is not part of it."""
        tally = self._tally
        ranks = tally.rank_weight
        occupied = np.flatnonzero(ranks)
        return {
            "progress": Progress(self._events, tally.weight, tally.loss, tally.hits).as_array(),
            "last_row": self._rows.last.copy(),
            "sums": np.array([getattr(tally, name) for name in SUMS]),
            "classes": np.array([tally.last, tally.leader], dtype=np.int64),
            "class_weight": tally.class_weight,
            "gaps": tally.gaps.reshape(2, -1),
            "rank_places": occupied.astype(np.int32),
            "rank_weights": ranks[occupied],
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, npt.NDArray[Any]], *, every: int | None = None) -> "ClassMetrics":
        """The reverse; ValueError for what `as_arrays` cannot have written."""
        self = cls(every=every)
        tally, progress = self._tally, Progress.from_array(arrays["progress"])
        self._events, tally.weight, tally.loss, tally.hits = astuple(progress)
        self._rows.restore(arrays["last_row"])
        for name, number in zip(SUMS, from_file(arrays, "sums", (4,), least=0.0).tolist(), strict=True):
            setattr(tally, name, number)
        tally.class_weight = from_file(arrays, "class_weight", (len(arrays["class_weight"]),), least=0.0)
        tally.gaps = from_file(arrays, "gaps", tally.gaps.reshape(2, -1).shape).ravel()
        last, leader = from_file(arrays, "classes", (2,), least=-1.0)
        places, ranks = arrays["rank_places"], tally.rank_weight
        weights = from_file(arrays, "rank_weights", places.shape, least=0.0)
        known = max(last, leader) < self.n_classes <= MOST_CLASSES
        ordered = places.ndim == 1 and np.all(places[:-1] < places[1:]) and places.dtype == np.int32
        if not known or not ordered or (len(places) and not 0 <= places[0] <= places[-1] < len(ranks)):
            raise ValueError("its metrics do not fit together.")
        tally.last, tally.leader = int(last), int(leader)
        ranks[places] = weights
        tally.rank_weight = ranks
        return self


def _contiguous(numbers: Array) -> Array:
    return np.ascontiguousarray(numbers, np.float64)


def _codes(classes: npt.NDArray[Any], name: str, least: int) -> Codes:
    if classes.dtype.kind not in "iu" or (len(classes) and not least <= classes.min() <= classes.max() < MOST_CLASSES):
        raise ValueError(
            f"{name} must hold classes as whole numbers from {least} to {MOST_CLASSES - 1}; got {classes}."
        )
    return np.ascontiguousarray(classes, np.int32)
