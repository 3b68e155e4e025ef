"""Generated data for the benchmarks: the shape of RCV1, and cheap chunks of a stream of any length."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from odca.research.datasets import rcv1_like

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Problem:
    """Rows as canonical CSR (sorted, no duplicates, int32 indices) and ±1 labels, one column per teacher."""

    X: csr_array
    labels: Array

    @property
    def y(self) -> Array:
        """The first teacher's labels."""
        return np.ascontiguousarray(self.labels[:, 0])


def make_documents(
    *,
    rows: int = 200_000,
    features: int = 47_000,
    nonzeros: int = 70,
    teachers: int = 8,
    seed: int = 0,
    world: int | None = None,
) -> Problem:
    """Documents like RCV1's (odca.research.datasets.rcv1_like)."""
    X, labels = rcv1_like(rows, features, nonzeros=nonzeros, teachers=teachers, world=world, seed=seed)
    assert X.has_canonical_format
    assert X.indices.dtype == np.int32
    return Problem(X, labels)


class Stream:
    """An endless stream of rows with `nonzeros` of `features` each, one out of every equal stretch of them.

    So rows are sorted and free of duplicates without any work. `width` makes the rows wider than the features
    that they touch.
    """

    def __init__(self, *, features: int, nonzeros: int, width: int | None = None, seed: int = 0) -> None:
        if features % nonzeros:
            raise ValueError(f"features must be a multiple of nonzeros; got {features} and {nonzeros}.")
        self._rng = np.random.default_rng(seed)
        self._features, self._nonzeros, self._width = features, nonzeros, width or features
        self._teacher = self._rng.standard_normal(features)

    def take(self, rows: int) -> tuple[csr_array, Array]:
        """Return the next rows and their ±1 labels."""
        stretch = self._features // self._nonzeros
        indices = self._rng.integers(stretch, size=(rows, self._nonzeros), dtype=np.int32)
        indices += np.arange(0, self._features, stretch, dtype=np.int32)
        values = self._rng.standard_normal((rows, self._nonzeros)) / np.sqrt(self._nonzeros)
        margins = (values * self._teacher[indices]).sum(axis=1)
        y = np.where(margins + 0.5 * self._rng.standard_normal(rows) > 0.0, 1.0, -1.0)
        starts = np.arange(0, rows * self._nonzeros + 1, self._nonzeros, dtype=np.int32)
        return csr_array((values.ravel(), indices.ravel(), starts), shape=(rows, self._width)), y
