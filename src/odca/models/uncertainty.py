"""How far from the truth a model's predictions have been, and so what a prediction's interval or set of classes must hold.

docs/intervals.md derives the rule and its guarantee; the rule itself is native, because it runs for every event.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from odca import _core
from odca.errors import InputError, Remedy
from odca.io import container
from odca.models.options import Answer, Task, is_steady
from odca.validation.arrays import Array
from odca.validation.numbers import real

PREFIX = "uncertainty."


class Uncertainty:
    """The errors of the predictions of one output, each made before its event was learned; in bounded memory.

    It has two sides: "live" for a time in which labels keep coming in, and "steady" for one in which they do not.
    """

    def __init__(self, task: Task, native: _core.Uncertainty | None = None) -> None:
        self.task = task
        self.native = _core.Uncertainty(task) if native is None else native

    def events(self, answer: Answer) -> float:
        """How many predictions are known: with labels. Of the steady side, on long streams, a part of all."""
        return self.native.events(steady=is_steady(answer))

    def bounds(self, coverage: float, answer: Answer) -> tuple[float, float]:
        """What to add to a number: below and above it lies a share of `coverage` of all labels."""
        return self.native.bounds(checked_coverage(coverage), steady=is_steady(answer))

    def least_probability(self, coverage: float, answer: Answer) -> float:
        """The smallest probability of a class that belongs to the set."""
        return self.native.least_probability(checked_coverage(coverage), steady=is_steady(answer))

    def coverage_held(self, coverage: float = 0.9) -> float:
        """The share of labels that the live intervals (or sets) of this coverage held, as they were before each event; nan without events.

        Counted for 10, 30, 50, 70, 80, 90, 95, 98, 99, 99.5, 99.8 and 99.9 %.
        """
        held = self.native.coverage_held(steady=False)
        found = np.flatnonzero(np.abs(held[:, 0] - checked_coverage(coverage)) < 1e-9)
        if not len(found):
            raise ValueError(f"the coverage that was held is not counted for {coverage!r}.")
        return float(held[found[0], 1]) if self.events("live") else float("nan")

    def copy(self) -> "Uncertainty":
        """What is known now; it stays so while the model learns."""
        return Uncertainty(self.task, self.native.copy())

    def bounds_before(self, y: Array, predicted: Array, weight: Array | None, coverage: float) -> Array:
        """What to add to each of these predictions, in order, if the labels of those before it have come: (n, 2)."""
        labels, numbers = (np.ascontiguousarray(each, np.float64) for each in (y, predicted))
        weights = None if weight is None else np.ascontiguousarray(weight, np.float64)
        return np.asarray(self.native.bounds_before_numbers(labels, numbers, weights, checked_coverage(coverage)))

    def least_probabilities_before(self, p: Array, weight: Array | None, coverage: float) -> Array:
        """The smallest probability of a class of the set of each event, in order; p: what was said of the true class of each."""
        weights = None if weight is None else np.ascontiguousarray(weight, np.float64)
        said = np.ascontiguousarray(p, np.float64)
        bounds = np.asarray(self.native.bounds_before_classes(said, weights, checked_coverage(coverage)))
        with np.errstate(over="ignore"):  # too little is known: all classes belong to the set
            return np.asarray(1.0 / (1.0 + np.exp(bounds[:, 1])))

    def frozen(self) -> "Uncertainty":
        """Of the linear model that the steady answer is."""
        return Uncertainty(self.task, self.native.frozen())

    def merge(self, other: "Uncertainty") -> "Uncertainty":
        """Of the predictions of both."""
        merged = self.native.copy()
        merged.merge(other.native)
        return Uncertainty(self.task, merged)

    def as_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """The state, for a file."""
        return {name: self.native.numbers(steady=is_steady(name)) for name in ("live", "steady")}

    def restore(self, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        """The reverse. ValueError for what `as_arrays` cannot have written."""
        live, steady = (np.ascontiguousarray(arrays[name], np.float64) for name in ("live", "steady"))
        if not np.isfinite(live).all() or not np.isfinite(steady).all():
            raise ValueError("its errors of predictions are not finite.")
        self.native.restore(live, steady)

    def __getstate__(self) -> tuple[Task, dict[str, npt.NDArray[Any]]]:
        return self.task, self.as_arrays()

    def __setstate__(self, state: tuple[Task, dict[str, npt.NDArray[Any]]]) -> None:
        self.__init__(state[0])  # type: ignore[misc] # it is its task and its state
        self.restore(state[1])


def saved_errors(uncertainties: Sequence[Uncertainty]) -> dict[str, npt.NDArray[Any]]:
    """Those of all outputs, which know the same events, as arrays of a file."""
    states = [each.as_arrays() for each in uncertainties]
    return {f"{PREFIX}{name}": np.concatenate([state[name] for state in states]) for name in ("live", "steady")}


def restore_errors(uncertainties: Sequence[Uncertainty], arrays: Mapping[str, npt.NDArray[Any]]) -> None:
    """The reverse; a file from before they were kept has none. ValueError for what `saved_errors` cannot have made."""
    if not any(name.startswith(PREFIX) for name in arrays):
        return
    live, steady = (container.vector(arrays, PREFIX + name, np.float64) for name in ("live", "steady"))
    if len(live) % len(uncertainties) or len(steady) % len(uncertainties):
        raise ValueError("its errors of predictions are not those of its outputs.")
    of_outputs = zip(np.split(live, len(uncertainties)), np.split(steady, len(uncertainties)), strict=True)
    for each, (its_live, its_steady) in zip(uncertainties, of_outputs, strict=True):
        each.restore({"live": its_live, "steady": its_steady})


def checked_coverage(coverage: object) -> float:
    """`coverage`, if it is one."""
    share = real(coverage)
    if not 0.0 < share < 1.0:
        raise ValueError(f"coverage must lie between 0 and 1, such as 0.9; got {coverage!r}.")
    return share


def require_some(uncertainty: Uncertainty, learned: int) -> None:
    """Raise InputError if a model has learned events, but knows of no prediction how good it was."""
    if learned > 1 and not uncertainty.events("live"):
        raise InputError(
            "this model does not know how far its predictions were from the truth: it was fitted to all events at once, or saved by a "
            "version without intervals.",
            remedy=Remedy("Let it learn more events in order, each of which is then predicted first."),
        )
