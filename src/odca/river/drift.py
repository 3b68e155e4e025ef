"""The detector of rises of the loss, for river."""

from typing import Any

import numpy as np
from river import base

from odca import _core
from odca.metrics import Drift, Rise
from odca.validation.numbers import real

WEIGHT = np.ones(1)


class RiseDetector(base.DriftDetector):  # type: ignore[misc] # not typed
    """Notices when the loss of any model rises: the detector of `odca train`, in the place of river's ADWIN or PageHinkley.

    alpha: the probability, over a stream of any length, that there is any alarm though the loss never rises by more than a tenth.

    `update` takes the losses one at a time; they need no bounds. `drift_detected` says whether the last one raised an alarm, and `drift`
    when the loss rose and how much. docs/drift.md derives the test.

    >>> detector = RiseDetector()
    >>> for n in range(3000):
    ...     detector.update(0.25 if n < 2000 else 0.75)
    ...     if detector.drift_detected:
    ...         print(n)
    2019
    >>> print(detector.drift)
    At event 2,001 the loss rose from 0.25 to 0.75 (noticed at event 2,020).
    """

    def __init__(self, alpha: float = 0.01) -> None:
        if not 0.0 < real(alpha) < 1.0:
            raise ValueError(f"alpha must be between 0 and 1; got {alpha!r}.")
        super().__init__()
        self.alpha = alpha
        self._detector = _core.RiseDetector(real(alpha))

    def update(self, x: float) -> None:
        """Add the loss of the next event."""
        alarms = self._detector.count
        self._detector = self._detector.after(np.array([x], dtype=np.float64), WEIGHT)
        self._drift_detected = self._detector.count > alarms

    @property
    def drift(self) -> Drift:
        """All rises so far: when, and how much."""
        return Drift(tuple(Rise(*each) for each in self._detector.alarms), self._detector.count)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_detector": self._detector.state()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._detector = _core.RiseDetector.restored(state["_detector"], state["alpha"])
