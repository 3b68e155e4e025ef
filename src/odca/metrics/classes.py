"""Progressive validation of a classifier."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from odca.inputs import Array
from odca.metrics.hindsight import Value, least, mean_of
from odca.metrics.shared import Arrays, Row, Rows, as_weights, check_lengths, from_file, ratio
from odca.progress import Progress, running_sum

Codes: TypeAlias = npt.NDArray[np.int16]

MOST_CLASSES = 2**15
BINS = 15
RANKS = 4096  # bins of each sign: 32 octaves of 128
_FINE = 52 - 7  # the bits of a double below those
_TINY = 2.0**-16
_FIRST = int(np.float64(_TINY).view(np.int64)) >> _FINE
_LEAST_PROBABILITY = float(np.finfo(np.float64).eps)


class ClassMetrics:
    """Progressive validation of a classifier. Classes may appear at any time.

    every: a row for every so many events; else for 1, 2, 4, 8, ...
    """

    def __init__(self, *, every: int | None = None) -> None:
        self._rows = Rows(every)
        self._progress = Progress()
        self._sums = np.zeros(4)  # no change's hits, the majority's, log loss, the weight of events with a probability
        self._last = self._leader = -1  # the label before; the class that has most weight, or had it first
        self._class_weight = np.zeros(0)
        self._ranks = np.zeros(2 * 2 * RANKS)  # weight by class (of two) and bin of the margin
        self._gaps = np.zeros((2, BINS))  # stated minus observed, of the second class and of the chosen one

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
        begin, hit = self._progress.events, (chosen == came).astype(np.float64)
        weights, losses = self._progress.add(loss, hit, c)
        rows = self._rows.within(begin, weights, losses, came, chosen, features)
        if n:
            self._compare_to_baselines(came, c)
            self._rank(came, margin, c)
            self._calibrate(came, chosen, hit, probability, c)
        return rows

    def _compare_to_baselines(self, label: Codes, c: Array) -> None:
        """Count the hits of no change and of the majority, and the weight of each class."""
        before = np.concatenate([[self._last], label[:-1]])
        self._sums[0] = running_sum(self._sums[0], c * (before == label))[-1]
        self._last = int(label[-1])
        first = float(self._class_weight[self._leader]) if self._leader >= 0 else 0.0
        reached = self._weight_of_own_class(label, c)
        leads = reached > np.maximum.accumulate(np.concatenate([[first], reached]))[:-1]
        since = np.maximum.accumulate(np.where(leads, np.arange(len(label)), -1))
        leader = np.concatenate([[self._leader], np.where(since >= 0, label[since], self._leader)])
        self._sums[1] = running_sum(self._sums[1], c * (leader[:-1] == label))[-1]
        self._leader = int(leader[-1])

    def _weight_of_own_class(self, label: Codes, c: Array) -> Array:
        """What the weight of each event's class comes to with it."""
        counts = np.bincount(label, minlength=len(self._class_weight))
        self._class_weight = np.pad(self._class_weight, (0, len(counts) - len(self._class_weight)))
        order, reached = np.argsort(label, kind="stable"), np.empty(len(label))
        ends = np.cumsum(counts)
        for code in np.flatnonzero(counts).tolist():
            own = order[ends[code] - counts[code] : ends[code]]
            sums = running_sum(self._class_weight[code], c[own])
            reached[own], self._class_weight[code] = sums[1:], sums[-1]
        return reached

    def _rank(self, label: Codes, margin: Array | None, c: Array) -> None:
        if self.n_classes > 2:
            self._ranks[:] = 0.0
        elif margin is not None:
            np.add.at(self._ranks, 2 * RANKS * label.astype(np.intp) + _rank_of(margin), c)

    def _calibrate(self, label: Codes, chosen: Codes, hit: Array, probability: Array | None, c: Array) -> None:
        if self.n_classes > 2:
            self._gaps[0] = 0.0
        if probability is None:
            return
        if self.n_classes <= 2:
            second = probability if probability.ndim == 1 else _stated(probability, np.ones_like(label))
            np.add.at(self._gaps[0], _bin_of(second), c * (second - label))
        of_chosen = _stated(probability, chosen)
        np.add.at(self._gaps[1], _bin_of(of_chosen), c * (of_chosen - hit))
        surprise = -np.log(np.maximum(_stated(probability, label), _LEAST_PROBABILITY))
        self._sums[2] = running_sum(self._sums[2], c * surprise)[-1]
        self._sums[3] = running_sum(self._sums[3], c)[-1]

    def show_every(self, events: int | None) -> None:
        """From now on a row for every so many events; None for 1, 2, 4, 8, ..."""
        self._rows.every = events

    # What came of it

    @property
    def events(self) -> int:
        """The number of events."""
        return self._progress.events

    @property
    def weight(self) -> float:
        """The sum of their weights."""
        return self._progress.weight

    @property
    def n_classes(self) -> int:
        """The number of classes so far, those in between that have not come included."""
        return len(self._class_weight)

    @property
    def loss(self) -> float:
        """The mean loss."""
        return self._progress.loss

    @property
    def accuracy(self) -> float:
        """The share of events whose class was predicted."""
        return self._progress.score

    @property
    def auc(self) -> float:
        """The probability that an event of the second class has a larger margin than one of the first, ties half."""
        negative, positive = self._ranks.reshape(2, -1)
        below = np.cumsum(negative) - 0.5 * negative
        return ratio(float(positive @ below), float(positive.sum() * negative.sum()))

    @property
    def log_loss(self) -> float:
        """The mean of -log P(the class that came)."""
        return ratio(self._sums[2], self._sums[3])

    @property
    def calibration_error(self) -> float:
        """ECE: how far stated probabilities are from observed shares."""
        return ratio(float(np.abs(self._gaps[int(self.n_classes > 2)]).sum()), self._sums[3])

    def scores(self) -> dict[str, float]:
        """All of them; what cannot be told is NaN."""
        names = ("loss", "accuracy", "auc", "log_loss", "calibration_error")
        return {name: float(getattr(self, name)) for name in names}

    def baselines(self, value: Value | None = None) -> dict[str, dict[str, float]]:
        """What those without features reach on the same events; before the first label they are wrong.

        With the loss's `value`, Q(z; ±1), the best constant also has its least mean loss, where there are two classes.
        """
        share = self._class_weight / max(self.weight, 1e-300)
        best = {
            "accuracy": ratio(float(self._class_weight.max(initial=0.0)), self.weight),
            "log_loss": float(-(share[share > 0.0] * np.log(share[share > 0.0])).sum()) if self.weight else np.nan,
        }
        if value is not None and self.n_classes <= 2 and self.weight:
            labels = np.array([-1.0, 1.0])[: self.n_classes]
            best["loss"] = least(mean_of(value, labels, self._class_weight), 0.0, 1.0)
        return {
            "no_change": {"accuracy": ratio(self._sums[0], self.weight)},
            "majority": {"accuracy": ratio(self._sums[1], self.weight)},
            "best_constant": best,
        }

    def merge(self, other: "ClassMetrics", codes: Sequence[int]) -> "ClassMetrics":
        """The metrics of both, the other's as if its events had come later. `codes` are those of its classes here.

        Baselines stay those of two streams.
        """
        merged = ClassMetrics(every=self._rows.every)
        merged._progress = self._progress.merge(other._progress)
        merged._rows.begin_at(merged._progress)
        merged._sums = self._sums + other._sums
        places = np.array(codes, dtype=np.intp)[: other.n_classes]
        merged._class_weight = np.pad(self._class_weight, (0, max(0, int(places.max(initial=-1)) + 1 - self.n_classes)))
        merged._class_weight[places] += other._class_weight
        merged._last = codes[other._last] if other._last >= 0 else self._last
        merged._leader = int(merged._class_weight.argmax()) if merged.weight else -1
        if merged.n_classes <= 2:
            swapped = any(place != code for code, place in enumerate(places.tolist()))
            merged._ranks = self._ranks + (other._ranks[::-1] if swapped else other._ranks)
            merged._gaps[0] = self._gaps[0] + (-other._gaps[0][::-1] if swapped else other._gaps[0])
        merged._gaps[1] = self._gaps[1] + other._gaps[1]
        return merged

    # Files

    def as_arrays(self) -> Arrays:
        """Its state, for a file. How often rows come is not part of it."""
        occupied = np.flatnonzero(self._ranks)
        return {
            "progress": self._progress.as_array(),
            "last_row": self._rows.last.copy(),
            "sums": self._sums.copy(),
            "classes": np.array([self._last, self._leader]),
            "class_weight": self._class_weight.copy(),
            "gaps": self._gaps.copy(),
            "rank_places": occupied.astype(np.int32),
            "rank_weights": self._ranks[occupied],
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, npt.NDArray[Any]], *, every: int | None = None) -> "ClassMetrics":
        """The reverse; ValueError for what `as_arrays` cannot have written."""
        self = cls(every=every)
        self._progress = Progress.from_array(arrays["progress"])
        self._rows.restore(arrays["last_row"])
        self._sums = from_file(arrays, "sums", (4,), least=0.0)
        self._class_weight = from_file(arrays, "class_weight", (len(arrays["class_weight"]),), least=0.0)
        self._gaps = from_file(arrays, "gaps", (2, BINS))
        last, leader = from_file(arrays, "classes", (2,), least=-1.0)
        places = arrays["rank_places"]
        weights = from_file(arrays, "rank_weights", places.shape, least=0.0)
        known = max(last, leader) < self.n_classes <= MOST_CLASSES
        ordered = places.ndim == 1 and np.all(places[:-1] < places[1:]) and places.dtype == np.int32
        if not known or not ordered or (len(places) and not 0 <= places[0] <= places[-1] < len(self._ranks)):
            raise ValueError("its metrics do not fit together.")
        self._last, self._leader = int(last), int(leader)
        self._ranks[places] = weights
        return self


def _rank_of(margin: Array) -> npt.NDArray[np.int64]:
    """The bin of a margin among 2·RANKS: they rise with it."""
    size = np.abs(np.asarray(margin, np.float64)) + _TINY
    octave: npt.NDArray[np.int64] = np.minimum((size.view(np.int64) >> _FINE) - _FIRST, RANKS - 1)
    return np.where(margin < 0.0, RANKS - 1 - octave, RANKS + octave)


def _stated(probability: Array, code: Codes) -> Array:
    """The probability that was stated for a class of each event; zero for one that was not known."""
    if probability.ndim == 1:
        return np.where(code == 1, probability, np.where(code == 0, 1.0 - probability, 0.0))
    known = (code >= 0) & (code < probability.shape[1])
    return np.where(known, probability[np.arange(len(code)), np.where(known, code, 0)], 0.0)


def _bin_of(probability: Array) -> npt.NDArray[np.intp]:
    return np.minimum((probability * BINS).astype(np.intp), BINS - 1)


def _codes(classes: npt.NDArray[Any], name: str, least: int) -> Codes:
    if classes.dtype.kind not in "iu" or (len(classes) and not least <= classes.min() <= classes.max() < MOST_CLASSES):
        raise ValueError(
            f"{name} must hold classes as whole numbers from {least} to {MOST_CLASSES - 1}; got {classes}."
        )
    return classes.astype(np.int16)
