"""Progressive validation of a classifier."""

from collections.abc import Mapping, Sequence
from dataclasses import astuple
from functools import partial
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from odca import _core
from odca.metrics.additions import Addition, add_all
from odca.metrics.base import Arrays, Metrics, as_weights, check_lengths, from_file
from odca.metrics.drift import Watch
from odca.metrics.hindsight import Value, least, mean_of
from odca.metrics.progress_table import ProgressRow, ratio
from odca.metrics.running_sums import Progress
from odca.validation.arrays import Array

Codes: TypeAlias = npt.NDArray[np.int32]
"""The classes of events as numbers: their positions in the list of classes."""

MOST_CLASSES = 2**15
SUMS = ("no_change", "majority", "surprise", "informed")


class ClassMetrics(Metrics):
    """Progressive validation of a classifier. Classes may appear at any time.

    every: return a row every `every` events (default: at events 1, 2, 4, 8, ...).
    """

    SCORES = ("loss", "accuracy", "auc", "log_loss", "calibration_error")
    CURVE = ("events", "weight", "loss", "accuracy", "no_change_accuracy", "majority_accuracy")

    def __init__(self, *, every: int | None = None) -> None:
        super().__init__(every)
        self._tally = _core.ClassTally()

    def add(self, label: npt.NDArray[np.integer[Any]], *facts: Any, **more: Any) -> list[ProgressRow]:
        """Evaluate events, as `adding` describes them; return the rows that are due among them."""
        return add_all([self.adding(label, *facts, **more)])[0]

    def adding(
        self,
        label: npt.NDArray[np.integer[Any]],
        predicted: npt.NDArray[np.integer[Any]],
        loss: Array,
        *,
        margin: Array | None = None,
        probability: Array | None = None,
        weight: Array | None = None,
        features: npt.NDArray[Any] | None = None,
    ) -> Addition:
        """Events, to be added by `add_all`.

        label: the actual class. predicted: the predicted one, or -1 for none. margin: that of the second class
        against the first, if there are two. probability: that of the second class (n,), or of every class (n, k); missing
        columns count as zero. features: the number of features of each event, for the rows.
        """
        n = len(label)
        c = as_weights(weight, n)
        check_lengths(n, predicted=predicted, loss=loss, margin=margin, features=features)
        if probability is not None:
            check_lengths(n, probability=probability if probability.ndim == 1 else probability[:, 0])
            if n and not (probability.min() >= 0.0 and probability.max() <= 1.0):
                raise ValueError("probabilities must lie in [0, 1].")
        actual, chosen = _codes(label, "label", 0), _codes(predicted, "predicted", -1)
        of_second = probability is not None and probability.ndim == 1
        commit = partial(
            self._tally.add,
            actual,
            chosen,
            _contiguous(loss),
            _contiguous(c),
            None if margin is None else _contiguous(margin),
            None if probability is None else _contiguous(probability[:, None] if of_second else probability),
            of_second,
        )
        return Addition(commit, lambda sums: self._table.within(sums, actual, chosen, features))

    def adding_margins(
        self,
        label: Codes,
        margin: Array,
        loss: _core.Loss,
        *,
        probability: Array | None = None,
        weight: Array | None = None,
        features: npt.NDArray[Any] | None = None,
    ) -> Addition:
        """Events of two classes, by the margins of the second class against the first. Labels of further classes are allowed.

        Unless given, the probability of the second class is that of the margin as log-odds.
        """
        n, margin = len(label), _contiguous(margin)
        c = None if weight is None else _contiguous(as_weights(weight, n))
        p = None if probability is None else _contiguous(probability)
        chosen = (margin > 0.0).view(np.int8)
        return Addition(
            partial(self._tally.add_margins, label, margin, loss, p, c),
            lambda sums: self._table.within(sums, label, chosen, features),
        )

    # Results

    @property
    def events(self) -> int:
        """The number of events."""
        return self._tally.events

    @property
    def tally(self) -> _core.ClassTally:
        """The sums that all scores are made of."""
        return self._tally

    @property
    def weight(self) -> float:
        """The sum of their weights."""
        return self._tally.weight

    @property
    def watch(self) -> Watch:
        """The detector of rises of the loss, and the curve."""
        watch = Watch(len(self.CURVE))
        watch.rises, watch.curve = self._tally.rises, self._tally.curve
        return watch

    def _set_watch(self, watch: Watch) -> None:
        self._tally.rises, self._tally.curve = watch.rises, watch.curve

    @property
    def sums(self) -> list[float]:
        """The sums of this moment, in the order of `CURVE`."""
        tally = self._tally
        return [float(tally.events), tally.weight, tally.loss, tally.hits, tally.no_change, tally.majority]

    @property
    def n_classes(self) -> int:
        """The number of classes so far: the largest code plus one."""
        return len(self._tally.class_weight)

    @property
    def has_margins(self) -> bool:
        """Whether margins were counted, which the AUC is made of."""
        return bool(self._tally.rank_weight.any())

    @property
    def loss(self) -> float:
        """The mean loss."""
        return ratio(self._tally.loss, self.weight)

    @property
    def accuracy(self) -> float:
        """The share of events whose class was predicted correctly."""
        return ratio(self._tally.hits, self.weight)

    @property
    def auc(self) -> float:
        """The probability that an event of the second class has a larger margin than one of the first; ties count as half."""
        negative, positive = self._tally.rank_weight.reshape(2, -1)
        below = np.cumsum(negative) - 0.5 * negative
        return ratio(float(positive @ below), float(positive.sum() * negative.sum()))

    @property
    def log_loss(self) -> float:
        """The mean of -log P(actual class)."""
        return ratio(self._tally.surprise, self._tally.informed)

    @property
    def calibration_error(self) -> float:
        """The expected calibration error (ECE): how far predicted probabilities are from observed frequencies."""
        of_second, of_chosen = self._tally.gaps.reshape(2, -1)
        return ratio(float(np.abs(of_chosen if self.n_classes > 2 else of_second).sum()), self._tally.informed)

    def baselines(self, value: Value | None = None) -> dict[str, dict[str, float]]:
        """The scores of baselines that use no features, on the same events. They count as wrong before the first label.

        With the loss's `value`, Q(z; ±1), the best constant also has its mean loss, if there are at most two classes.
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
        """The metrics of both, as if the other's events had come later. `codes` are the codes of its classes in this one.

        The baselines are those of two separate streams.
        """
        merged = ClassMetrics(every=self._table.every)
        mine, theirs, both = self.tally, other.tally, merged.tally
        for name in ("events", "weight", "loss", "hits", *SUMS):
            setattr(both, name, getattr(mine, name) + getattr(theirs, name))
        merged._table.begin_at(both.events, both.weight, both.loss)
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
        merged._set_watch(self.watch.merge(other.watch, self.sums, other.events))
        return merged

    def __repr__(self) -> str:
        return f"<ClassMetrics: {self.events} events, loss {self.loss:.6g}, accuracy {self.accuracy:.6g}>"

    # Files

    def as_arrays(self) -> Arrays:
        """The state, for a file, without the interval of the rows."""
        tally = self._tally
        ranks = tally.rank_weight
        occupied = np.flatnonzero(ranks)
        return {
            "progress": Progress(tally.events, tally.weight, tally.loss, tally.hits).as_array(),
            "last_row": self._table.last.copy(),
            "sums": np.array([getattr(tally, name) for name in SUMS]),
            "classes": np.array([tally.last, tally.leader], dtype=np.int64),
            "class_weight": tally.class_weight,
            "gaps": tally.gaps.reshape(2, -1),
            "rank_places": occupied.astype(np.int32),
            "rank_weights": ranks[occupied],
            **self.watch.as_arrays(),
        }

    def __getstate__(self) -> tuple[int | None, Arrays]:
        return self._table.every, self.as_arrays()

    def __setstate__(self, state: tuple[int | None, Arrays]) -> None:
        self.__dict__ = ClassMetrics.from_arrays(state[1], every=state[0]).__dict__

    def after(self, progress: Progress) -> "ClassMetrics":
        """Metrics that know no more of the events so far than their number, weight, losses and hits."""
        metrics = ClassMetrics(every=self._table.every)
        tally = metrics._tally
        tally.events, tally.weight, tally.loss, tally.hits = astuple(progress)
        metrics._table.begin_at(tally.events, tally.weight, tally.loss)
        metrics._set_watch(Watch.from_arrays({}, len(metrics.CURVE), tally.events))
        return metrics

    def restored(self, arrays: Mapping[str, npt.NDArray[Any]]) -> "ClassMetrics":
        """The metrics that a file holds."""
        return ClassMetrics.from_arrays(arrays, every=self._table.every)

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, npt.NDArray[Any]], *, every: int | None = None) -> "ClassMetrics":
        """The metrics from their state; ValueError for arrays that `as_arrays` cannot have written."""
        self = cls(every=every)
        tally, progress = self._tally, Progress.from_array(arrays["progress"])
        tally.events, tally.weight, tally.loss, tally.hits = astuple(progress)
        self._table.restore(arrays["last_row"])
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
            raise ValueError("its metrics are inconsistent.")
        tally.last, tally.leader = int(last), int(leader)
        ranks[places] = weights
        tally.rank_weight = ranks
        self._set_watch(Watch.from_arrays(arrays, len(self.CURVE), tally.events))
        return self


def _contiguous(numbers: Array) -> Array:
    return np.ascontiguousarray(numbers, np.float64)


def _codes(classes: npt.NDArray[Any], name: str, least: int) -> Codes:
    if classes.dtype.kind not in "iu" or (len(classes) and not least <= classes.min() <= classes.max() < MOST_CLASSES):
        raise ValueError(
            f"{name} must hold the codes of classes, whole numbers from {least} to {MOST_CLASSES - 1}; got {classes}."
        )
    return np.ascontiguousarray(classes, np.int32)
