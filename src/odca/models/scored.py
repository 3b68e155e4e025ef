"""Progressive scores as a part of a model: every event is predicted before it is learned."""

from collections.abc import Mapping, Sequence
from typing import Any, Generic, TypeVar

import numpy.typing as npt

from odca.metrics import ClassMetrics, NumberMetrics
from odca.metrics.progress import Progress

Metrics = TypeVar("Metrics", ClassMetrics, NumberMetrics)
PREFIX = "metrics."


class Scored(Generic[Metrics]):
    """A model that counts how well it predicted the events that it learned, before it learned them."""

    def __init__(self, metrics: Sequence[Metrics]) -> None:
        self.metrics_by_output: list[Metrics] = list(metrics)
        """One for each label or output; the only one of most models is `metrics`."""

    @property
    def metrics(self) -> Metrics:
        """The metrics of the only output, or of the first."""
        return self.metrics_by_output[0]

    @metrics.setter
    def metrics(self, metrics: Metrics) -> None:
        others = self.metrics_by_output[1:]
        self.metrics_by_output = [metrics]
        self.metrics_by_output.extend(others)

    def saved_metrics(self) -> dict[str, npt.NDArray[Any]]:
        """The metrics as arrays of a file."""
        named = zip(self._prefixes(), self.metrics_by_output, strict=True)
        return {f"{prefix}{name}": array for prefix, each in named for name, array in each.as_arrays().items()}

    def restore_metrics(self, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        """Take over the metrics of a file, if it has any. ValueError for what `saved_metrics` cannot have written."""
        if "progress" in arrays and len(self.metrics_by_output) == 1:  # all that files of version 0.1 hold
            self.metrics = self.metrics.after(Progress.from_array(arrays["progress"]))
        for k, prefix in enumerate(self._prefixes()):
            own = {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}
            if own:
                self.metrics_by_output[k] = self.metrics_by_output[k].restored(own)

    def _prefixes(self) -> list[str]:
        count = len(self.metrics_by_output)
        return [PREFIX] if count == 1 else [f"{PREFIX}{k}." for k in range(count)]
