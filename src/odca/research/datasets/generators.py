"""Generated streams. Their target is known at every event, so that a learner's deviation from it can be measured."""

import numpy as np
import numpy.typing as npt

from odca.records import record

Array = npt.NDArray[np.float64]


@record
class Drift:
    """Rows X, labels y, and in each row of `targets` the weights w_n that the event's label was generated with."""

    X: Array
    y: Array
    targets: Array


def random_walk(
    events: int,
    features: int,
    *,
    step: float = 0.01,
    noise: float = 0.1,
    jump_at: int | None = None,
    gaps: Array | None = None,
    seed: int = 0,
) -> Drift:
    """Regression with a target on a random walk: y_n = h_nᵀw_n + noise·v_n, w_n = w_{n-1} + step·q_n.

    h_n, v_n and q_n are standard normal, and w_0 has length one. jump_at: at this event the target changes its sign.
    gaps: the time before each event (default: 1); the target then moves by step·√gap.
    """
    rng = np.random.default_rng(seed)
    start = rng.normal(size=features)
    steps = step * rng.normal(size=(events, features)) * (1.0 if gaps is None else np.sqrt(gaps)[:, None])
    targets = start / np.linalg.norm(start) + np.cumsum(steps, axis=0)
    if jump_at is not None:
        targets[jump_at:] -= 2.0 * targets[jump_at]
    X = rng.normal(size=(events, features))
    return Drift(X, np.einsum("nj,nj->n", X, targets) + noise * rng.normal(size=events), targets)


def drifting_hyperplane(
    events: int, features: int, *, turn: float = 1e-3, flipped: float = 0.05, seed: int = 0
) -> Drift:
    """Labels ±1, the side of a hyperplane that turns by `turn` radians per event, within a fixed random plane.

    h_n is standard normal; a share `flipped` of the labels is wrong.
    """
    rng = np.random.default_rng(seed)
    plane, _ = np.linalg.qr(rng.normal(size=(features, 2)))
    angles = turn * np.arange(events)
    targets = np.outer(np.cos(angles), plane[:, 0]) + np.outer(np.sin(angles), plane[:, 1])
    X = rng.normal(size=(events, features))
    y = np.where(np.einsum("nj,nj->n", X, targets) >= 0.0, 1.0, -1.0)
    return Drift(X, np.where(rng.random(events) < flipped, -y, y), targets)
