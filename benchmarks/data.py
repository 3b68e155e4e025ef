"""Generated data for the benchmarks: the shape of RCV1, and cheap chunks of a stream of any length."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

Array = npt.NDArray[np.float64]

ZIPF_SHIFT = 50.0  # the most popular word is then in about a fifth of the documents
# As in real topics, the words that tell are few and not rare.
TELLING_WORDS, AMONG_WORDS = 500, 2000
LABEL_NOISE = 0.2  # against the standard deviation of the teacher's margin: about 6 % of the labels are wrong


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
    """Documents like RCV1's: Zipf-like words in no particular order, tf-idf, every row of norm one.

    Blocks of one stream have a seed each and one `world`, which names the words and makes the teachers.
    """
    rng = np.random.default_rng(seed)
    of_world = rng if world is None else np.random.default_rng((world, 0))
    lengths = rng.lognormal(np.log(nonzeros) - 0.5 * 0.5**2, 0.5, rows)
    lengths = np.clip(np.rint(1.02 * lengths), 5, 800).astype(np.int64)  # 2 % are words drawn twice
    names = of_world.permutation(features)
    words = names[_draw_ranks(int(lengths.sum()), features, rng)]
    documents = np.repeat(np.arange(rows, dtype=np.int64), lengths)
    cells = np.sort(documents * features + words)
    cells = cells[np.diff(cells, prepend=-1) != 0]
    indices = (cells % features).astype(np.int32)
    starts = np.searchsorted(cells, np.arange(rows + 1, dtype=np.int64) * features).astype(np.int32)
    frequency = np.bincount(indices, minlength=features)
    rarity = np.log(1.0 + rows / np.maximum(frequency, 1))
    values = rarity[indices] * (1.0 + np.log(rng.geometric(0.6, len(indices))))
    norms = np.sqrt(np.add.reduceat(values * values, starts[:-1]))
    values /= np.repeat(norms, np.diff(starts))
    X = csr_array((values, indices, starts), shape=(rows, features))
    assert X.has_canonical_format
    assert X.indices.dtype == np.int32
    popular = (np.argsort(-np.bincount(indices, minlength=features)) if world is None else names)[:AMONG_WORDS]
    weights = _teachers(features, teachers, popular, of_world)
    margins = X @ weights
    noise = LABEL_NOISE * margins.std(axis=0) * rng.standard_normal(margins.shape)
    return Problem(X, np.where(margins + noise > 0.0, 1.0, -1.0))


def _draw_ranks(count: int, features: int, rng: np.random.Generator) -> npt.NDArray[np.int64]:
    """Ranks with probability ∝ 1/(rank + shift), by the inverse of their distribution."""
    spread = np.log((features + ZIPF_SHIFT) / ZIPF_SHIFT)
    ranks = (ZIPF_SHIFT * np.exp(spread * rng.random(count)) - ZIPF_SHIFT).astype(np.int64)
    return np.minimum(ranks, features - 1)


def _teachers(features: int, teachers: int, popular: npt.NDArray[np.int64], rng: np.random.Generator) -> Array:
    """Sparse linear teachers, whose margins the labels see through noise."""
    weights = np.zeros((features, teachers))
    for teacher in range(teachers):
        telling = rng.choice(popular, min(TELLING_WORDS, len(popular)), replace=False)
        weights[telling, teacher] = rng.standard_normal(len(telling))
    return weights


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
