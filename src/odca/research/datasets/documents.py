"""Documents that are made in the shape of RCV1: sparse rows as text gives them, of any number."""

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

Array = npt.NDArray[np.float64]

ZIPF_SHIFT = 50.0  # the most frequent word is then in about a fifth of the documents
# As in real topics, the words that tell are few and not rare.
TELLING_WORDS, AMONG_WORDS = 500, 2000


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
    """Documents like RCV1's: words by Zipf's law, tf-idf, every row of length one; classes ±1 by a sparse teacher.

    noise: what is added to the teacher's margin, in its standard deviations; 0.2 makes about 6 % of the labels wrong. teachers: how many columns of
    labels, each by a teacher of its own. Blocks of one stream have a seed each and one `world`, which names the words and makes the teachers.
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
    popular = (np.argsort(-np.bincount(indices, minlength=features)) if world is None else names)[:AMONG_WORDS]
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
    """Sparse linear teachers, whose margins the labels see through noise."""
    weights = np.zeros((features, teachers))
    for teacher in range(teachers):
        telling = rng.choice(popular, min(TELLING_WORDS, len(popular)), replace=False)
        weights[telling, teacher] = rng.standard_normal(len(telling))
    return weights
