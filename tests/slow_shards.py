"""The ascent across shards in slow, literal NumPy: docs/distributed.md, line by line. One lane, no window, no intercept."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from odca.reference import solve
from problems import reference_loss, reference_penalty

Array = Any


@dataclass
class SlowShard:
    """The events of one worker, their duals, and its last move."""

    loss: Any
    penalty: Any
    X: Array
    y: Array
    c: Array
    strength: float
    """A_k."""
    duals: Array = field(init=False)
    move: Array = field(init=False)

    def __post_init__(self) -> None:
        self.duals, self.move = np.zeros(len(self.y)), np.zeros(self.X.shape[1])

    def conjugates(self, duals: Array) -> float:
        """Σ c Q*(-λ)."""
        return float(sum(c * self.loss.conjugate(-u, y) for c, u, y in zip(self.c, duals, self.y, strict=True)))

    def losses(self, w: Array) -> float:
        """Σ c Q(hᵀw)."""
        return float(sum(c * self.loss.value(float(h @ w), y) for h, y, c in zip(self.X, self.y, self.c, strict=True)))

    def ascended(self, ahead: Array, momentum: float, passes: int = 1) -> Array:
        """The duals after so many passes over A_k R*(v + (S_k(λ) - S_k(y)) / A_k), with v = `ahead` and y = λ + momentum dλ."""
        duals = self.duals.copy()
        x = ahead - momentum * self.move / self.strength  # at S_k(λ)
        for _ in range(passes):
            for n, (h, y, c) in enumerate(zip(self.X, self.y, self.c, strict=True)):
                without = x - c * duals[n] * h / self.strength
                along = self.penalty.along(without, c * h / self.strength, h)
                duals[n] = solve(self.loss, y, float(h @ self.penalty.gradient(without)), along)
                x = without + c * duals[n] * h / self.strength
        return duals


def ascent(
    loss: Any, penalty: Any, parts: list[tuple[Array, Array, Array]], rho: float, rounds: int
) -> tuple[Array, Array, int]:
    """The primal and the dual objective of each round over parts of (X, y, weights), and how often a move was not made."""
    width, mass = parts[0][0].shape[1], sum(float(c.sum()) for _, _, c in parts)
    A, R, Q = rho * mass, reference_penalty(penalty, np.ones(width), np.zeros(width)), reference_loss(loss)
    shards = [SlowShard(Q, R, X, y, c, rho * float(c.sum())) for X, y, c in parts]

    def sums(all_duals: list[Array]) -> tuple[list[Array], float]:
        moves = [(each.c * (new - each.duals)) @ each.X for each, new in zip(shards, all_duals, strict=True)]
        conjugates = sum(each.conjugates(new) for each, new in zip(shards, all_duals, strict=True))
        return moves, (-conjugates - A * R.conjugate((S + sum(moves)) / A)) / mass

    S, last, momentum, t, restarts = np.zeros(width), np.zeros(width), 0.0, 1.0, 0
    begun = [each.ascended(S, 0.0) for each in shards]  # the first round is merging
    moves, value = sums(begun)
    S = sum(moves)
    for each, new in zip(shards, begun, strict=True):
        each.duals = new
    primal, dual = [], []
    while True:
        w = R.gradient(S / A)
        primal.append(sum(each.losses(w) for each in shards) / mass + rho * R.value(w))
        dual.append(value)
        if len(dual) == rounds:
            return np.array(primal), np.array(dual), restarts
        duals = [each.ascended((S + momentum * last) / A, momentum) for each in shards]
        moves, after = sums(duals)
        if momentum > 0.0 and after < value:  # the move is not made
            momentum, t, restarts = 0.0, 1.0, restarts + 1
            continue
        for each, new, move in zip(shards, duals, moves, strict=True):
            each.duals, each.move = new, move
        last, value = sum(moves), after
        S = S + last
        later = 0.5 + np.sqrt(0.25 + t * t)
        momentum, t = (t - 1.0) / later, later
