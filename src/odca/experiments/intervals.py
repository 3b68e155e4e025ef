"""How far a mean can be trusted."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import stdtrit

Array = npt.NDArray[np.float64]

CONFIDENCE = 0.95
DRAWS = 2_000


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean, and where it lies with a confidence of 95 %."""

    mean: float
    low: float
    high: float

    @property
    def is_point(self) -> bool:
        """Whether all values were the same: then nothing is known of how they vary."""
        return self.low == self.high

    @classmethod
    def of(cls, values: npt.ArrayLike) -> "Interval":
        """By Student's t, of values that are independent: one for each seed."""
        sample = np.asarray(values, dtype=np.float64)
        if len(sample) < 2:
            raise ValueError("an interval needs at least two values.")
        if (sample == sample[0]).all():
            return cls(*[float(sample[0])] * 3)
        reach = float(stdtrit(len(sample) - 1, 0.5 + 0.5 * CONFIDENCE)) * sample.std(ddof=1) / np.sqrt(len(sample))
        return cls(float(sample.mean()), float(sample.mean() - reach), float(sample.mean() + reach))

    @classmethod
    def of_series(cls, values: Array, *, block: int, draws: int = DRAWS, seed: int = 0) -> "Interval":
        """The mean of one series, whose neighbours depend on each other: from blocks of it, drawn with replacement."""
        rng = np.random.default_rng(seed)
        count = -(-len(values) // block)
        sums = np.concatenate(
            [[0.0], np.cumsum(np.concatenate([values, values[: block - 1]]))]
        )  # the end joins the beginning
        means = (sums[block:] - sums[:-block]) / block
        return cls._around(float(values.mean()), means[rng.integers(len(means), size=(draws, count))].mean(axis=1))

    @classmethod
    def of_table(cls, values: npt.NDArray[np.int8], *, draws: int = DRAWS, seed: int = 0) -> "Interval":
        """The mean of a table, seeds by test rows, in percent: both its rows and its columns drawn with replacement.

        Columns that are alike are drawn together, which is the same.
        """
        rng = np.random.default_rng(seed)
        seeds, rows = values.shape
        kinds, counts = np.unique(values, axis=1, return_counts=True)
        drawn_seeds = rng.multinomial(seeds, np.full(seeds, 1.0 / seeds), size=draws) / seeds
        drawn_rows = rng.multinomial(rows, counts / rows, size=draws) / rows
        drawn = np.einsum("ds,ds->d", drawn_seeds, drawn_rows @ kinds.T.astype(np.float64))
        return cls._around(100.0 * float(values.mean()), 100.0 * drawn)

    @classmethod
    def _around(cls, mean: float, drawn: Array) -> "Interval":
        tail = 0.5 - 0.5 * CONFIDENCE
        low, high = np.quantile(drawn, [tail, 1.0 - tail])
        return cls(mean, float(low), float(high))
