"""Progressive validation of a regression."""

from collections.abc import Mapping
from functools import partial
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from odca import _core
from odca.metrics.additions import Addition, add_all
from odca.metrics.base import Arrays, Metrics, as_weights, check_lengths, from_file
from odca.metrics.drift import Watch
from odca.metrics.hindsight import LabelSummary, Value
from odca.metrics.progress_table import ProgressRow, ratio
from odca.metrics.running_sums import Progress, running_sum
from odca.validation.arrays import Array

Constant: TypeAlias = Literal["mean", "positive mean"] | float
"""What the baseline predicts that uses no features: the mean so far, for counts with half an event of 1 before the first, or a quantile so far."""


class NumberMetrics(Metrics):
    """Progressive validation of a regression.

    value: the loss's Q(z; y). If given, the baselines are also evaluated by the loss. That requires margins that are predictions; if
    they are not (Poisson), use margin_is_prediction=False, and only the best constant is evaluated by the loss.
    constant: what suits the loss where nothing is known of the features.
    every: return a row every `every` events (default: at events 1, 2, 4, 8, ...).
    """

    SCORES = ("loss", "mae", "rmse", "r2")
    CURVE = ("events", "weight", "loss", "mae", "no_change_mae", "no_change_loss", "mean_mae", "mean_loss")

    def __init__(
        self,
        value: Value | None = None,
        *,
        margin_is_prediction: bool = True,
        constant: Constant = "mean",
        every: int | None = None,
    ) -> None:
        self._value, self._constant = value, constant
        self._quantile = None if isinstance(constant, str) else _core.RunningQuantile(constant)
        self._baselines_have_loss = value is not None and margin_is_prediction
        super().__init__(every)
        self._progress = Progress()
        self._first = self._last = 0.0  # labels
        self._squares = 0.0  # the sum of squared errors
        self._moment = 0.0  # the sum of labels, from the first one on
        self._spread = 0.0  # the sum of squares around the mean
        self._baselines = np.zeros((2, 2))  # absolute errors and losses: of no change, of the mean so far
        self._labels = LabelSummary()
        self._seen = Watch(len(self.CURVE))

    @property
    def watch(self) -> Watch:
        """The detector of rises of the loss, and the curve."""
        return self._seen

    @property
    def sums(self) -> list[float]:
        """The sums of this moment, in the order of `CURVE`."""
        progress = self._progress
        return [
            float(progress.events),
            progress.weight,
            progress.loss_sum,
            progress.score_sum,
            *self._baselines.ravel().tolist(),
        ]

    def add(self, label: Array, *facts: Any, **more: Any) -> list[ProgressRow]:
        """Evaluate events, as `adding` describes them; return the rows that are due among them."""
        return add_all([self.adding(label, *facts, **more)])[0]

    def adding(
        self,
        label: Array,
        prediction: Array,
        loss: Array,
        *,
        weight: Array | None = None,
        features: npt.NDArray[Any] | None = None,
        excess: Array | None = None,
    ) -> Addition:
        """Events, to be added by `add_all` before any others.

        features: the number of features of each event, for the rows. excess: the losses above the least possible ones, which must not be
        negative, for the detector of rises; the losses themselves if not given.
        """
        n = len(label)
        c = as_weights(weight, n)
        check_lengths(n, prediction=prediction, loss=loss, features=features, excess=excess)
        if not np.isfinite(label).all():
            raise ValueError("labels must be finite numbers.")
        later = self._copy()
        sums = later._added(label, prediction, loss, c, loss if excess is None else excess)  # noqa: SLF001 - of its own class
        commit = partial(object.__setattr__, self, "__dict__", later.__dict__)
        return Addition(commit, lambda _: self._table.within(sums, label, prediction, features))

    def _copy(self) -> "NumberMetrics":
        """Metrics with the same sums, which change on their own, and the same table."""
        twin = object.__new__(NumberMetrics)
        twin.__dict__ = dict(self.__dict__)
        twin._progress, twin._baselines, twin._labels = (
            self._progress.copy(),
            self._baselines.copy(),
            self._labels.copy(),
        )
        twin._seen = self._seen.copy()
        twin._quantile = None if self._quantile is None else self._quantile.copy()
        return twin

    def _added(self, label: Array, prediction: Array, loss: Array, c: Array, excess: Array) -> tuple[int, Array, Array]:
        """Add events; return what `ProgressTable.within` makes rows of."""
        begin, error = self._progress.events, label - prediction
        if len(label) and not begin:
            self._first = float(label[0])
        weights, losses, errors = self._progress.add(loss, np.abs(error), c)
        if len(label):
            with np.errstate(over="ignore", invalid="ignore"):
                self._squares = _last(running_sum(self._squares, c * error * error))
                of_baselines = self._compare_to_baselines(label, c, weights)
            self._labels.add(label, c)
            events = np.arange(begin, begin + len(label) + 1, dtype=np.float64)
            self._seen.add(excess, c, [each[1:] for each in (events, weights, losses, errors, *of_baselines)])
        return begin, weights, losses

    def _compare_to_baselines(self, label: Array, c: Array, weights: Array) -> list[Array]:
        """Add to the sums of the baselines no change and mean so far, and of the squares around the mean (Welford).

        Return the sums of the baselines before the first and after each event.
        """
        moments = running_sum(self._moment, c * (label - self._first))
        matter = weights > 0.0
        means = np.where(matter, self._first + moments / np.where(matter, weights, 1.0), 0.0)
        spreads = np.where(matter[:-1], c * (label - means[:-1]) * (label - means[1:]), 0.0)
        self._moment, self._spread = _last(moments), _last(running_sum(self._spread, spreads))
        before = np.empty(len(label))
        before[0], before[1:] = self._last, label[:-1]
        self._last = float(label[-1])
        constants = means[:-1] if self._quantile is None else self._quantile.before(label, c)
        if self._constant == "positive mean":  # a count of 0 would be an infinite loss
            constants = (weights[:-1] * constants + 0.5) / (weights[:-1] + 0.5)
            before = np.maximum(before, 0.5)
        running: list[Array] = []
        for sums, prediction in zip(self._baselines, (before, constants), strict=True):
            costs = np.zeros(len(label))
            if self._baselines_have_loss and self._value is not None:
                costs = c * np.asarray(self._value(prediction, label), np.float64)
            both = [running_sum(sums[0], c * np.abs(label - prediction)), running_sum(sums[1], costs)]
            sums[:] = [_last(each) for each in both]
            running += both
        return running

    # Results

    @property
    def events(self) -> int:
        """The number of events."""
        return self._progress.events

    @property
    def weight(self) -> float:
        """The sum of their weights."""
        return self._progress.weight

    @property
    def loss(self) -> float:
        """The mean loss."""
        return self._progress.loss

    @property
    def mae(self) -> float:
        """The mean absolute error."""
        return self._progress.score

    @property
    def rmse(self) -> float:
        """The root of the mean squared error."""
        return float(np.sqrt(ratio(self._squares, self.weight)))

    @property
    def r2(self) -> float:
        """1 - (squared errors)/(squares around the mean): 1 is perfect, 0 is as good as the mean of all labels."""
        return 1.0 - ratio(self._squares, self._spread)

    def baselines(self) -> dict[str, dict[str, float]]:
        """The scores of baselines that use no features, on the same events. They predict 0 before the first label."""
        shown = self._baselines[:, : 1 + self._baselines_have_loss]
        found = {
            name: dict(zip(("mae", "loss"), (ratio(each, self.weight) for each in sums), strict=False))
            for name, sums in zip(("no_change", "mean" if self._quantile is None else "quantile"), shown, strict=True)
        }
        found["best_constant"] = {"mae": self._labels.best_absolute_error()}
        if self._value is not None:
            found["best_constant"]["loss"] = self._labels.best_loss(self._value)
        return found

    def merge(self, other: "NumberMetrics") -> "NumberMetrics":
        """The metrics of both, as if the other's events had come later. The baselines are those of two separate streams."""
        mine, theirs = self.as_arrays(), other.as_arrays()
        sums = mine["sums"] if self.weight else theirs["sums"]
        both = {**(mine if self.weight else theirs), "progress": mine["progress"] + theirs["progress"]}
        both["last_row"] = both["progress"][:3]
        if self.weight and other.weight:
            labels = LabelSummary.from_arrays(mine)
            labels.add(*LabelSummary.from_arrays(theirs).points())
            both |= labels.as_arrays()
            both["baselines"] = mine["baselines"] + theirs["baselines"]
            sums = _joined(mine["sums"], self.weight, theirs["sums"], other.weight)
        sums[1] = (theirs if other.events else mine)["sums"][1]
        both["sums"] = sums
        if "quantile" in mine and other.weight > self.weight:  # two quantiles do not add: that of more events
            both["quantile"] = theirs["quantile"]
        both |= self._seen.merge(other.watch, self.sums, other.events).as_arrays()
        return self.restored(both)

    def after(self, progress: Progress) -> "NumberMetrics":
        """Metrics that know no more of the events so far than their number, weight, losses and absolute errors."""
        metrics = NumberMetrics(
            self._value,
            margin_is_prediction=self._baselines_have_loss,
            constant=self._constant,
            every=self._table.every,
        )
        metrics._progress = progress
        metrics._squares = metrics._spread = float("nan")
        metrics._table.begin_at(progress.events, progress.weight, progress.loss_sum)
        metrics._seen = Watch.from_arrays({}, len(metrics.CURVE), progress.events)
        return metrics

    def restored(self, arrays: Mapping[str, npt.NDArray[Any]]) -> "NumberMetrics":
        """The metrics that a file holds, of the same loss as these."""
        return NumberMetrics.from_arrays(
            arrays,
            self._value,
            margin_is_prediction=self._baselines_have_loss,
            constant=self._constant,
            every=self._table.every,
        )

    def __repr__(self) -> str:
        return f"<NumberMetrics: {self.events} events, loss {self.loss:.6g}, mean absolute error {self.mae:.6g}>"

    # Files

    def as_arrays(self) -> Arrays:
        """The state, for a file, without the interval of the rows and the loss."""
        return {
            "progress": self._progress.as_array(),
            "baselines": self._baselines.copy(),
            "last_row": self._table.last.copy(),
            "sums": np.array([self._first, self._last, self._squares, self._moment, self._spread]),
            **self._labels.as_arrays(),
            **self._seen.as_arrays(),
            **({} if self._quantile is None else {"quantile": self._quantile.state()}),
        }

    @classmethod
    def from_arrays(
        cls,
        arrays: Mapping[str, npt.NDArray[Any]],
        value: Value | None = None,
        *,
        margin_is_prediction: bool = True,
        constant: Constant = "mean",
        every: int | None = None,
    ) -> "NumberMetrics":
        """The metrics from their state; ValueError for arrays that `as_arrays` cannot have written."""
        self = cls(value, margin_is_prediction=margin_is_prediction, constant=constant, every=every)
        if self._quantile is not None and "quantile" in arrays:  # files from before have no quantile: it begins now
            self._quantile.restore(from_file(arrays, "quantile", (6,)))
        self._progress = Progress.from_array(arrays["progress"])
        self._baselines = from_file(arrays, "baselines", (2, 2))
        self._table.restore(arrays["last_row"])
        sums = from_file(arrays, "sums", (5,)).tolist()
        self._first, self._last, self._squares, self._moment, self._spread = sums
        if min(self._squares, self._spread) < 0.0:
            raise ValueError("its metrics are inconsistent.")
        self._labels = LabelSummary.from_arrays(arrays)
        self._seen = Watch.from_arrays(arrays, len(cls.CURVE), self._progress.events)
        return self


def _last(sums: Array) -> float:
    """The last of some sums. One of numbers too large for floats is infinite, however it came about."""
    last = float(sums[-1])
    return np.inf if np.isnan(last) else last


def _joined(mine: Array, weight: float, theirs: Array, their_weight: float) -> Array:
    """The `sums` of two streams, whose labels are counted from the first label of each."""
    first, last, squares, moment, spread = mine.tolist()
    their_first, _, their_squares, their_moment, their_spread = theirs.tolist()
    apart = (their_first - first) + (their_moment / their_weight - moment / weight)
    moment += their_moment + their_weight * (their_first - first)
    spread += their_spread + apart * apart * weight * (their_weight / (weight + their_weight))
    return np.array([first, last, squares + their_squares, moment, spread])
