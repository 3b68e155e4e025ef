"""History of events that are dictionaries, without a model: for pipelines of other libraries."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from odca import _core
from odca.features.history import lines_of
from odca.features.spec import Features
from odca.validation.arrays import Array, as_floats, as_times


class EventHistory:
    """The features of the lines of a history, for events that are dictionaries. See docs/history.md.

    history, history_keys: as for `Features`.
    time: the field that holds the time of an event, in seconds or as a date; needed for spans of time.

    >>> past = EventHistory(["y by shop: lag 1; mean 2"])
    >>> for sold in (3.0, 5.0):
    ...     _ = past.values([{"shop": "A"}], y=[sold], enters=True)
    >>> past.names, past.values([{"shop": "A"}, {"shop": "B"}]).tolist()
    (['y by shop: lag 1', 'y by shop: mean 2'], [[5.0, 4.0], [nan, nan]])
    """

    def __init__(self, history: Sequence[str], *, history_keys: int = 100_000, time: str | None = None) -> None:
        features = Features(history=history, history_keys=history_keys)  # type: ignore[arg-type] # made a tuple there
        if not features.history:
            raise ValueError("history needs a line at least, such as 'y: lag 1'.")
        self._options = {"history": features.history, "history_keys": history_keys, "time": time}
        self.names = [name for line in lines_of(features.history) for name in line.names]
        """The names of the features."""
        self._time = time
        # Only these fields are read: others may hold what no feature can be made of.
        kept = Features(keep=tuple(features.remembered), history=features.history, history_keys=history_keys)
        self._core = _core.EventHistory(kept.native())

    def values(
        self, events: Iterable[Mapping[Any, Any]], *, y: npt.ArrayLike | None = None, enters: bool = False
    ) -> Array:
        """The features of each event, from what was known before it; nan for those that are missing.

        The events before it in the list count, with their labels if those are given. They stay in the history if they are to `enter`.
        """
        rows = [dict(event) for event in events]
        times = None
        if self._time is not None:
            absent = next((place for place, row in enumerate(rows) if row.get(self._time) is None), None)
            if absent is not None:
                raise ValueError(f"event {absent} has no {self._time!r}, which is its time.")
            times = as_times([row[self._time] for row in rows], len(rows)) if rows else np.zeros(0)
        labels = None if y is None else np.ascontiguousarray(as_floats(y, "y"), np.float64)
        return np.asarray(self._core.values(rows, labels, times, enters))

    def __getstate__(self) -> dict[str, Any]:
        return {"options": self._options, "state": self._core.state()}

    def __setstate__(self, saved: dict[str, Any]) -> None:
        self.__init__(**saved["options"])  # type: ignore[misc] # its own options
        self._core.restore(saved["state"])
