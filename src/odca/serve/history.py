"""How a model went: points in time, made as requests come in, at three resolutions. They are part of its state, and survive restarts."""

from collections import deque
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from odca.io.container import vector

SPANS = {"hour": 10.0, "day": 240.0, "month": 7200.0}
"""Seconds between two points."""
MOST_POINTS = 360


class Point(msgspec.Struct, frozen=True):
    """A moment: the sums of progressive validation up to then, and how things stood."""

    clock: float
    sums: tuple[float, ...]
    """As `metrics.CURVE` names them, each up to now."""
    pending: int
    delay: float | None
    groups: tuple[float, ...]
    """The shares of the groups of experts."""
    weights: dict[str, float]
    """The largest weights."""


class History:
    """The latest points of each span."""

    def __init__(self) -> None:
        self.points: dict[str, deque[Point]] = {name: deque(maxlen=MOST_POINTS) for name in SPANS}
        self._due = 0.0

    def is_due(self, clock: float) -> bool:
        """Whether a point is to be made."""
        return clock >= self._due

    def add(self, point: Point) -> None:
        """Add a point to each span that needs one."""
        for name, every in SPANS.items():
            points = self.points[name]
            if not points or point.clock // every > points[-1].clock // every:
                points.append(point)
        self._due = (point.clock // SPANS["hour"] + 1.0) * SPANS["hour"]

    def as_arrays(self) -> dict[str, npt.NDArray[np.uint8]]:
        """For a file."""
        saved = {name: list(points) for name, points in self.points.items()}
        return {"history": np.frombuffer(msgspec.msgpack.encode((self._due, saved)), np.uint8)}

    def restore(self, arrays: dict[str, npt.NDArray[Any]]) -> None:
        """The reverse."""
        saved = vector(arrays, "history", np.uint8).tobytes()
        self._due, points = msgspec.msgpack.decode(saved, type=tuple[float, dict[str, list[Point]]])
        for name in SPANS:
            self.points[name].extend(points[name])
