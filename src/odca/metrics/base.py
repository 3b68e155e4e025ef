"""What the metrics of classes and of numbers share."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, TypeAlias

import numpy as np
import numpy.typing as npt

from odca.metrics.curve_picture import picture
from odca.metrics.drift import Drift, Rise, Watch
from odca.metrics.progress_table import ProgressTable
from odca.validation.arrays import Array

Arrays: TypeAlias = dict[str, npt.NDArray[Any]]


class Metrics(ABC):
    """Progressive validation of a model: scores of its predictions, and of baselines on the same events."""

    SCORES: ClassVar[tuple[str, ...]]
    """The names of the scores, each a property."""
    CURVE: ClassVar[tuple[str, ...]]
    """The names of the columns of `curve`."""

    def __init__(self, every: int | None) -> None:
        self._table = ProgressTable(every)

    @property
    @abstractmethod
    def events(self) -> int:
        """The number of events."""

    @property
    @abstractmethod
    def weight(self) -> float:
        """The sum of their weights."""

    def scores(self) -> dict[str, float]:
        """All scores by name; NaN for one that is undefined."""
        return {name: float(getattr(self, name)) for name in self.SCORES}

    @abstractmethod
    def baselines(self) -> dict[str, dict[str, float]]:
        """The scores of baselines that use no features, on the same events."""

    @property
    @abstractmethod
    def watch(self) -> Watch:
        """The detector of rises of the loss, and the curve."""

    @property
    @abstractmethod
    def sums(self) -> list[float]:
        """The sums of this moment, that the curve is made of."""

    @property
    def drift(self) -> Drift:
        """What has changed in the stream: when the loss rose, and how much. See docs/drift.md."""
        rises = self.watch.rises
        return Drift(tuple(Rise(*each) for each in rises.alarms), rises.count)

    def curve(self) -> dict[str, Array]:
        """The scores over the stream, beside the baselines: means over up to 128 consecutive parts of it.

        "events" is the number of events up to the end of each part.
        """
        return dict(zip(self.CURVE, self.watch.means(self.sums).T, strict=True))

    def plot(
        self, path: str | Path | None = None, *, baselines: Mapping[str, Mapping[str, float]] | None = None
    ) -> Any:
        """The curve with the rises of the loss, as a figure of matplotlib; saved to `path` if it is given.

        baselines: whose scores over the whole stream are drawn as lines if they have no curve; those of `baselines()` if not given.
        """
        figure = picture(self.curve(), self.drift, self.baselines() if baselines is None else baselines)
        if path is not None:
            figure.savefig(path, dpi=110)
        return figure

    def show_every(self, events: int | None) -> None:
        """From now on, return a row every `events` events; None: at events 1, 2, 4, 8, ..."""
        self._table.every = events

    def facts(self) -> list[float]:
        """All numbers: events, weight, scores, baselines."""
        baselines = [score for scores in self.baselines().values() for score in scores.values()]
        return [self.events, self.weight, *self.scores().values(), *baselines]

    def __eq__(self, other: object) -> bool:
        """Whether all numbers are the same, to the bit; two undefined scores (NaN) are."""
        if type(other) is not type(self):
            return NotImplemented
        assert isinstance(other, Metrics)
        return np.array_equal(np.array(self.facts()), np.array(other.facts()), equal_nan=True)

    __hash__ = None  # type: ignore[assignment] # they change


def as_weights(weight: Array | None, n: int) -> Array:
    """The weights of n events: ones unless given."""
    if weight is None:
        return np.ones(n)
    if weight.shape != (n,) or not np.all(np.isfinite(weight) & (weight >= 0.0)):
        raise ValueError(f"weight must hold {n} finite numbers >= 0.")
    return weight


def check_lengths(n: int, **arrays: npt.NDArray[Any] | None) -> None:
    """ValueError for an array that does not have one entry per event."""
    for name, array in arrays.items():
        if array is not None and array.shape != (n,):
            raise ValueError(f"{name} must have one entry for each of the {n} events; got shape {array.shape}.")


def from_file(
    arrays: Mapping[str, npt.NDArray[Any]], name: str, shape: tuple[int, ...], least: float = -np.inf
) -> Array:
    """A copy of an array from a file, which must have this shape, no NaN, and no number below `least`."""
    array = arrays[name].astype(np.float64)
    if array.shape != shape or np.isnan(array).any() or not np.all(array >= least):
        raise ValueError(f"its metrics have an invalid array {name!r}.")
    return array
