"""The progressive scores of a model: each event is predicted before it is learned."""

from collections.abc import Mapping, Sequence
from typing import Any, Generic, TypeVar

import numpy.typing as npt

from odca.io.stacking import stack, unstack
from odca.metrics import ClassMetrics, NumberMetrics
from odca.metrics.running_sums import Progress

Metrics = TypeVar("Metrics", ClassMetrics, NumberMetrics)
PREFIX = "metrics."


class ProgressivelyScored(Generic[Metrics]):
    """A model that evaluates its prediction of each event before learning from it."""

    def __init__(self, metrics: Sequence[Metrics]) -> None:
        self.metrics_by_output: list[Metrics] = list(metrics)
        """One per label or output; most models have only one, `metrics`."""

    @property
    def metrics(self) -> Metrics:
        """The metrics of the first output, which most models have only."""
        return self.metrics_by_output[0]

    @metrics.setter
    def metrics(self, metrics: Metrics) -> None:
        others = self.metrics_by_output[1:]
        self.metrics_by_output = [metrics]
        self.metrics_by_output.extend(others)

    def saved_metrics(self) -> dict[str, npt.NDArray[Any]]:
        """The metrics as arrays of a file."""
        states = [each.as_arrays() for each in self.metrics_by_output]
        return {f"{PREFIX}{name}": array for name, array in (states[0] if len(states) == 1 else stack(states)).items()}

    def restore_metrics(self, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        """Restore the metrics from a file, if it has any. ValueError if they are invalid."""
        count = len(self.metrics_by_output)
        if "progress" in arrays and count == 1:  # all that files of version 0.1 hold
            self.metrics = self.metrics.after(Progress.from_array(arrays["progress"]))
        own = _without_prefix(arrays, PREFIX)
        if not own:
            return
        states = [own] if count == 1 else [_without_prefix(own, f"{k}.") for k in range(count)]  # of files of version 1
        if count > 1 and not any(states):
            states = unstack(own)
        if len(states) != count:
            raise ValueError("its metrics are not those of its outputs.")
        self.metrics_by_output = [
            each.restored(state) for each, state in zip(self.metrics_by_output, states, strict=True)
        ]


def _without_prefix(arrays: Mapping[str, npt.NDArray[Any]], prefix: str) -> dict[str, npt.NDArray[Any]]:
    return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}
