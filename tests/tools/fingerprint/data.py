"""The numbers that models learn from."""

import functools
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

GAP, WEIGHTS = "gap", "sample_weight"  # of `Learner.refine` and `EventLearner.learn_many`; once "tol" and "weight"

COUNT, WIDTH, FIRST = 300, 8, 190
"""How many events, of how many features; and how many come in the first of two calls."""
UNITS = np.array([1.0, 3.0, 0.2, 1.0, 5.0, 0.5, 1.0, 2.0])
CENTRES = np.array([0.0, 0.5, 0.0, -2.0, 0.0, 0.0, 0.0, 0.0])
TRUTH = np.array([0.6, -0.3, 1.5, 0.0, 0.1, -0.8, 0.2, 0.0])


class Data(NamedTuple):
    """A stream of COUNT events."""

    X: dict[str, Any]
    """By "dense" and "csr"."""
    y: dict[str, Any]
    """By kinds of labels, each of shape (COUNT, 3): the first column is that of a single model."""
    weight: Any
    offset: Any
    time: Any


@functools.cache
def data() -> Data:
    rng = np.random.default_rng(20240)
    dense = rng.normal(CENTRES, size=(COUNT, WIDTH)) * UNITS
    csr = sp.csr_array(np.where(rng.random((COUNT, WIDTH)) < 0.4, dense, 0.0))
    truths = np.stack([TRUTH, TRUTH[::-1] * 0.5, -TRUTH])
    z = dense @ truths.T + rng.normal(size=(COUNT, 3))
    z[COUNT // 2 :] *= [1.0, -1.0, 1.0]  # the second drifts
    z[::17] *= -4.0  # outliers
    moments = np.cumsum(rng.exponential(size=COUNT))
    late = rng.random(COUNT) < 0.1
    late[-5:] = False
    return Data(
        X={"dense": dense, "csr": csr},
        y={
            "numbers": z,
            "signs": np.where(z > 0.0, 1.0, -1.0),
            "counts": rng.poisson(np.exp(np.clip(0.3 * z, -3.0, 2.0))).astype(np.float64),
        },
        weight=np.where(rng.random(COUNT) < 0.1, 0.0, rng.uniform(0.2, 3.0, COUNT)),
        offset=2.0 * rng.normal(size=COUNT),
        time=moments - np.where(late, 7.0, 0.0),
    )


PARTS = (slice(0, FIRST), slice(FIRST, COUNT))
