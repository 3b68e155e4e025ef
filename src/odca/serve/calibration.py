"""How often predicted probabilities came true, in ten bins: of the second of two classes, else of the class that was chosen."""

from typing import Any

import numpy as np
import numpy.typing as npt

from odca.io.container import vector

BINS = 10


class CalibrationTable:
    """The weight, the predicted and the observed sum of each bin. Any split of the events gives the same numbers."""

    def __init__(self) -> None:
        self._sums = np.zeros((3, BINS))
        self._classes = 0

    def add(
        self, probabilities: npt.NDArray[np.float64], codes: npt.NDArray[Any], weight: npt.NDArray[np.float64] | None
    ) -> None:
        """Add events: the probabilities of all classes, and the codes of those that came true."""
        classes = probabilities.shape[1]
        if min(classes, 3) != min(self._classes, 3):  # with a third class, the bins mean something else
            self._sums[:] = 0.0
        self._classes = classes
        if classes == 2:
            stated, hit = probabilities[:, 1], codes == 1
        else:
            chosen = probabilities.argmax(axis=1)
            stated, hit = probabilities[np.arange(len(codes)), chosen], codes == chosen
        c = np.ones(len(codes)) if weight is None else weight
        places = np.minimum((stated * BINS).astype(np.intp), BINS - 1)
        for sums, each in zip(self._sums, (c, c * stated, c * hit), strict=True):
            np.add.at(sums, places, each)

    def listed(self) -> list[dict[str, float]]:
        """The bins that are not empty."""
        return [
            {
                "from": k / BINS,
                "to": (k + 1) / BINS,
                "predicted": float(p / w),
                "observed": float(o / w),
                "weight": float(w),
            }
            for k, (w, p, o) in enumerate(self._sums.T)
            if w > 0.0
        ]

    def as_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """For a file."""
        return {"calibration": np.concatenate([[float(self._classes)], self._sums.ravel()])}

    def restore(self, arrays: dict[str, npt.NDArray[Any]]) -> None:
        """The reverse."""
        saved = vector(arrays, "calibration", np.float64)
        self._classes, self._sums = int(saved[0]), saved[1:].reshape(3, BINS).copy()
