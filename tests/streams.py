"""Streams with everything in them, and the comparison of two learners to the last bit.

A stream has zero weights, offsets, late events and gaps in time, and is long enough for its learner that scales
fold, smoothing blocks end, sliding windows are rebuilt and buffers compacted in the middle of it.
"""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from odca import (
    KL,
    L2,
    AbsoluteError,
    Box,
    ElasticNet,
    EpsilonInsensitive,
    Expectile,
    Exponential,
    HalfLife,
    Hinge,
    Huber,
    Infinite,
    Learner,
    LogLoss,
    ModifiedHuber,
    NonNegative,
    Poisson,
    Quantile,
    Sliding,
    SmoothHinge,
    SquaredEpsilonInsensitive,
    SquaredError,
    SquaredHinge,
)

LOSSES = (
    SquaredError(),
    Hinge(),
    LogLoss(),
    AbsoluteError(),
    SquaredHinge(),
    Poisson(),
    Quantile(0.8),
    SmoothHinge(0.5),
    Huber(1.0),
    ModifiedHuber(),
    Expectile(0.3),
    EpsilonInsensitive(0.2),
    SquaredEpsilonInsensitive(0.2),
)
PENALTIES = (L2(), ElasticNet(0.05), NonNegative(0.02), Box(-0.3, 0.4, delta=0.01), KL())
# 64 half-lives make a fold: 199 events of beta = 0.8, 128 units of time of tau = 2.
WINDOWS = (Infinite(), Exponential(0.8), HalfLife(2.0), Sliding(15), Sliding(duration=12.0))
MERGEABLE = (Infinite(), Exponential(0.8), HalfLife(2.0), Sliding(duration=12.0))
KAPPAS = (0.0, 0.5, 0.97, 1.0)  # none, below and above beta, the plain mean
FEATURES = 12


@dataclass(frozen=True)
class Stream:
    """Events in order. `X` is dense or CSR, `y` is (n,) or (n, lanes)."""

    X: Any
    y: np.ndarray
    sample_weight: np.ndarray
    offset: np.ndarray
    time: np.ndarray

    def __len__(self) -> int:
        return len(self.y)

    def part(self, rows: slice) -> "Stream":
        return Stream(self.X[rows], self.y[rows], self.sample_weight[rows], self.offset[rows], self.time[rows])

    def keywords(self) -> dict[str, np.ndarray]:
        return {"sample_weight": self.sample_weight, "offset": self.offset, "time": self.time}

    def with_(self, **changes: Any) -> "Stream":
        return replace(self, **changes)

    def into(self, learner: Learner, **keywords: Any) -> Any:
        """Learn all of it in one call."""
        return learner.learn(self.X, self.y, **self.keywords(), **keywords)


def labels(loss: object, score: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Labels that the loss takes, with something of `score` in them."""
    noisy = score + 0.5 * rng.normal(size=score.shape)
    name = getattr(loss, "name", "")
    if name in {"hinge", "squared_hinge", "smooth_hinge", "modified_huber"}:
        return np.where(noisy > 0.0, 1.0, -1.0)
    if name == "log_loss":
        soft = 1.0 / (1.0 + np.exp(-noisy))
        kind = rng.integers(0, 3, size=score.shape)
        return np.choose(kind, [np.where(noisy > 0.0, 1.0, -1.0), np.where(noisy > 0.0, 1.0, 0.0), soft])
    if name == "poisson":
        return rng.poisson(np.exp(np.clip(0.3 * noisy, -2.0, 2.0))).astype(np.float64)
    return noisy


def make_stream(
    loss: object,
    n: int,
    *,
    seed: int,
    features: int = FEATURES,
    nnz: int = 3,
    sparse: bool = True,
    lanes: int | None = None,
) -> Stream:
    """A stream of n events, sparse with up to `nnz` non-zeros in a row, or dense."""
    rng = np.random.default_rng(seed)
    dense = rng.normal(size=(n, features))
    if sparse:
        keep = np.zeros((n, features), dtype=bool)
        np.put_along_axis(keep, rng.integers(0, features, size=(n, nnz)), True, axis=1)
        keep[rng.random(n) < 0.02] = False  # empty rows
        dense = np.where(keep, dense, 0.0)
    width = (lanes,) if lanes else ()
    score = np.einsum("nf,f...->n...", dense, rng.normal(size=(features, *width)))
    weight = np.where(rng.random(n) < 0.05, 0.0, rng.uniform(0.2, 2.0, size=n))
    clock = np.cumsum(rng.exponential(1.0, size=n) + np.where(rng.random(n) < 0.01, 30.0, 0.0))
    late = np.where(rng.random(n) < 0.1, rng.uniform(0.0, 20.0, size=n), 0.0)
    return Stream(
        X=sp.csr_array(dense) if sparse else dense,
        y=labels(loss, score, rng),
        sample_weight=weight,
        offset=0.1 * rng.normal(size=n),
        time=clock - late,
    )


def options(
    *,
    loss: object,
    penalty: object,
    window: object = Infinite(),
    smoothing: float = 0.0,
    lanes: int | None = None,
    features: int = FEATURES,
    intercept: bool = False,
    shaped: bool = False,
) -> dict[str, Any]:
    """Keywords of a Learner. `shaped` gives features their own penalty weights and prior means."""
    out: dict[str, Any] = {"loss": loss, "penalty": penalty, "window": window, "smoothing": smoothing, "rho": 0.05}
    if lanes:
        out |= {"lanes": lanes, "rho": tuple(np.geomspace(0.02, 0.5, lanes).tolist())}
    if isinstance(penalty, KL):
        return out | {"n_features": features}
    if intercept:
        out |= {"intercept": True, "intercept_penalty": 0.1}
    if shaped:
        mean = 0.05 if isinstance(penalty, NonNegative | Box) else -0.1
        out |= {"penalty_weights": [0.5, 2.0, 1.5], "prior_mean": [0.1, mean], "prior_strength": 0.3}
    return out


def cells() -> Iterator[tuple[str, dict[str, Any], bool]]:
    """(name, keywords of a Learner, sparse): penalty x window x kappa x lanes x form; losses and the rest take turns."""
    losses = itertools.cycle(LOSSES)  # 13 of them, prime to all other lengths
    for number, (penalty, window, kappa, lanes, sparse) in enumerate(
        itertools.product(PENALTIES, WINDOWS, KAPPAS, (None, 5), (True, False))
    ):
        loss = next(losses)
        keywords = options(
            loss=loss,
            penalty=penalty,
            window=window,
            smoothing=kappa,
            lanes=lanes,
            intercept=number % 3 == 0,
            shaped=number % 7 == 0,
        )
        form = "sparse" if sparse else "dense"
        parts = (loss.name, penalty.name, window_name(window), f"kappa={kappa}", f"lanes={lanes}", form)
        yield "-".join(map(str, parts)), keywords, sparse


def window_name(window: Any) -> str:
    return "duration" if getattr(window, "duration", None) is not None else str(window.name)


def bits(learner: Learner) -> dict[str, bytes]:
    """Everything the learner remembers, to the last bit."""
    return {name: array.tobytes() for name, array in learner.get_state().items()}


def assert_same_bits(one: Learner, other: Learner, why: str = "") -> None:
    """Equal by ==, and every array of the state the same bytes."""
    mine, theirs = bits(one), bits(other)
    different = [name for name in mine.keys() | theirs.keys() if mine.get(name) != theirs.get(name)]
    assert not different, f"{why}: {sorted(different)} differ"
    assert one == other, why


def assert_close(one: Learner, other: Learner, *, rtol: float, why: str = "") -> None:
    """The same model: w, w-bar, S and the mass agree to `rtol` of the largest."""
    assert one.count == other.count, why
    np.testing.assert_allclose(one.mass, other.mass, rtol=rtol, err_msg=why)
    for name in ("coef", "smoothed_coef", "dual_sum"):
        a, b = getattr(one, name), getattr(other, name)
        scale = max(np.abs(a).max(initial=0.0), np.abs(b).max(initial=0.0))
        np.testing.assert_allclose(a, b, rtol=0.0, atol=rtol * scale, err_msg=f"{why}: {name}")
    np.testing.assert_allclose(one.intercept, other.intercept, rtol=rtol, atol=rtol, err_msg=why)
