"""Confidence intervals of means."""

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri, stdtrit

from odca.records import record

Array = npt.NDArray[np.float64]

CONFIDENCE = 0.95


@record
class Interval:
    """A mean and its 95 % confidence interval."""

    mean: float
    low: float
    high: float

    @property
    def is_point(self) -> bool:
        """Whether all values were equal: then their variation is unknown."""
        return self.low == self.high

    @classmethod
    def of(cls, values: npt.ArrayLike) -> "Interval":
        """The mean of independent values, one for each seed, by Student's t."""
        sample = np.asarray(values, dtype=np.float64)
        if len(sample) < 2:
            raise ValueError("an interval needs at least two values.")
        if (sample == sample[0]).all():
            return cls(*[float(sample[0])] * 3)
        reach = float(stdtrit(len(sample) - 1, 0.5 + 0.5 * CONFIDENCE)) * sample.std(ddof=1) / np.sqrt(len(sample))
        return cls(float(sample.mean()), float(sample.mean() - reach), float(sample.mean() + reach))

    @classmethod
    def of_series(cls, values: Array, *, block: int, draws: int = 2_000, seed: int = 0) -> "Interval":
        """The mean of one series of dependent values, by the bootstrap: blocks of the series are drawn with replacement."""
        rng = np.random.default_rng(seed)
        count = -(-len(values) // block)
        sums = np.concatenate(
            [[0.0], np.cumsum(np.concatenate([values, values[: block - 1]]))]
        )  # the end joins the beginning
        means = (sums[block:] - sums[:-block]) / block
        drawn = means[rng.integers(len(means), size=(draws, count))].mean(axis=1)
        tail = 0.5 - 0.5 * CONFIDENCE
        low, high = np.quantile(drawn, [tail, 1.0 - tail])
        return cls(float(values.mean()), float(low), float(high))

    @classmethod
    def of_table(cls, values: npt.NDArray[np.int8]) -> "Interval":
        """The mean of a table of seeds by test rows, in percent. The interval allows for other seeds and other test rows.

        Its half-width combines that of the seeds (Student's t) and that of the many rows (normal) as a root of the sum of squares. (Bootstrapping
        both from the table would give intervals narrower than Student's if there are few seeds.)
        """
        of_seeds = cls.of(100.0 * values.mean(axis=1))
        rows = 100.0 * values.mean(axis=0)
        of_rows = float(ndtri(0.5 + 0.5 * CONFIDENCE)) * float(rows.std(ddof=1)) / np.sqrt(len(rows))
        reach = float(np.hypot(of_seeds.high - of_seeds.mean, of_rows))
        return cls(of_seeds.mean, of_seeds.mean - reach, of_seeds.mean + reach)
