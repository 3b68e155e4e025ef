"""Generated documents like those of RCV1: any number of sparse rows with the statistics of text."""

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

Array = npt.NDArray[np.float64]

ZIPF_SHIFT = 50.0  # the most frequent word is then in about a fifth of the documents
# As in real topics, few words are informative, and they are not rare.
INFORMATIVE_WORDS, FREQUENT_WORDS = 500, 2000


def rcv1_like(
    rows: int,
    features: int = 47_236,
    *,
    nonzeros: int = 73,
    noise: float = 0.2,
    teachers: int | None = None,
    world: int | None = None,
    seed: int = 0,
) -> tuple[csr_array, Array]:
    """Documents like RCV1's: words by Zipf's law, tf-idf values, rows of length one; labels ±1 from a sparse linear model, the teacher.

    noise: the standard deviation of the noise added to the teacher's margin, relative to that of the margin; 0.2 makes about 6 % of the labels
    wrong. teachers: the number of label columns, each from its own teacher. To generate one stream block by block, give each block its own
    seed and all the same `world`, which fixes the words and the teachers.
    """
    rng = np.random.default_rng(seed)
    of_world = rng if world is None else np.random.default_rng((world, 0))
    drawn = 1.02 * rng.lognormal(np.log(nonzeros) - 0.5 * 0.5**2, 0.5, rows)  # 2 % are words drawn twice
    lengths: npt.NDArray[np.int64] = np.clip(np.rint(drawn), 5, 800).astype(np.int64)
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
    popular = (np.argsort(-np.bincount(indices, minlength=features)) if world is None else names)[:FREQUENT_WORDS]
    weights = _teachers(features, teachers or 1, popular, of_world)
    margins = X @ weights
    labels = np.where(margins + noise * margins.std(axis=0) * rng.standard_normal(margins.shape) > 0.0, 1.0, -1.0)
    return X, labels[:, 0].copy() if teachers is None else labels


def _draw_ranks(count: int, features: int, rng: np.random.Generator) -> npt.NDArray[np.int64]:
    """Ranks with probability ∝ 1/(rank + shift), by the inverse of their distribution."""
    spread = np.log((features + ZIPF_SHIFT) / ZIPF_SHIFT)
    ranks: npt.NDArray[np.int64] = (ZIPF_SHIFT * np.exp(spread * rng.random(count)) - ZIPF_SHIFT).astype(np.int64)
    return np.asarray(np.minimum(ranks, features - 1))


def _teachers(features: int, teachers: int, popular: npt.NDArray[np.int64], rng: np.random.Generator) -> Array:
    """The weights of sparse linear teachers, one column each."""
    weights = np.zeros((features, teachers))
    for teacher in range(teachers):
        informative = rng.choice(popular, min(INFORMATIVE_WORDS, len(popular)), replace=False)
        weights[informative, teacher] = rng.standard_normal(len(informative))
    return weights
