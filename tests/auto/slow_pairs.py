"""Which products of two features are used, from the definition. See slow_experts.py.

At an epoch, which is after 32 events and whenever their number has doubled, pairs of candidates are chosen by how much each would gain,
1/2 sum (|v| + |C|/Q)² Q over the heads; chosen ones count four times. C = sum r p and Q = sum q p² are over the events since the last one.
The square of a feature that is zero or one other value is never chosen.
"""

import itertools

import numpy as np

from auto.slow_parts import Array, Feature
from auto.slow_table import SlowTable

AUTOMATIC, USUAL, MOST_CANDIDATES, FIRST_EPOCH = -1, 128, 64, 32
Pair = tuple[int, int]


class SlowPairs:
    """`slots` has the pair of each slot, or None. `sums` is [head] and `squares` a number for each pair of candidates."""

    def __init__(self, asked: int = AUTOMATIC):
        self.asked, self.next = asked, FIRST_EPOCH
        self.slots: list[Pair | None] = []
        self.candidates: list[int] = []
        self.sums: dict[Pair, Array] = {}
        self.squares: dict[Pair, float] = {}

    @property
    def budget(self) -> int:
        return (len(self.slots) or USUAL) if self.asked == AUTOMATIC else self.asked

    def products(self, h: dict[int, float]) -> Array:
        return np.array([0.0 if pair is None else product(h, pair) for pair in self.slots])

    def learn(self, h: dict[int, float], residual: Array, curvature: float, c: float) -> None:
        for pair in self.squares:
            p = product(h, pair)
            self.sums[pair] = self.sums[pair] + c * residual * p
            self.squares[pair] += c * curvature * p * p

    def is_due(self, events: int) -> bool:
        return self.asked != 0 and events >= self.next

    def choose(self, events: int, table: SlowTable, products: SlowTable, judge: int, sd: float) -> None:
        """judge: the expert whose weights v are those of the products; sd: of the labels."""
        first, best = not self.candidates, []
        for pair, Q in self.squares.items():
            if Q > 0.0 and not is_needless(pair, table):
                v = np.abs(self.weight(products, pair, judge)) / sd if sd > 0.0 else 0.0
                gain = np.sum(0.5 * (v + np.abs(self.sums[pair]) / Q) ** 2 * Q) * (4.0 if pair in self.slots else 1.0)
                best.append((-gain, pair))
        chosen = [pair for gain, pair in sorted(best) if gain < 0.0][: self.budget]
        self.choose_candidates(table)
        if first and len(self.squares) <= self.budget:
            chosen = [pair for pair in self.squares if not is_needless(pair, table)]
        self.next = max(FIRST_EPOCH, 2 * events)
        self.put(sorted(chosen), products)

    def weight(self, products: SlowTable, pair: Pair, judge: int) -> Array:
        if pair not in self.slots:
            return np.zeros(products.heads)
        feature = products.features.get(self.slots.index(pair), Feature(products.heads))
        scale = feature.form(products.mass)[1] if feature.n > 0.0 else 0.0
        return feature.w[:, judge] / scale if scale > 0.0 else np.zeros(products.heads)

    def choose_candidates(self, table: SlowTable) -> None:
        counts = {j: f.n for j, f in table.features.items() if f.n > 0.0 and f.form(table.mass)[1] > 0.0}
        ranked = sorted(counts, key=lambda j: (-counts[j], j))[:MOST_CANDIDATES]
        if self.asked == AUTOMATIC and 2.0 * sum(counts[j] for j in ranked) < sum(counts.values()):
            ranked = []
        self.candidates = sorted(ranked)
        self.begin_sums(table.heads)

    def begin_sums(self, heads: int) -> None:
        pairs = list(itertools.combinations_with_replacement(self.candidates, 2))
        self.sums, self.squares = {pair: np.zeros(heads) for pair in pairs}, dict.fromkeys(pairs, 0.0)

    def put(self, chosen: list[Pair], products: SlowTable) -> None:
        """Those that stay keep their slots; what the others knew is forgotten."""
        if not self.slots and chosen:
            self.slots = [None] * self.budget
        for slot, pair in enumerate(self.slots):
            if pair in chosen:
                chosen.remove(pair)
            else:
                self.slots[slot] = None
                products.features.pop(slot, None)
        for pair in chosen:
            self.slots[self.slots.index(None)] = pair

    # --- In the form of the core's state ---

    def parts(self, heads: int) -> dict[str, Array]:
        slots = [(-1, -1) if pair is None else pair for pair in self.slots]
        return {
            "pairs_asked": np.array([float(self.asked)]),
            "pairs_next": np.array([float(self.next)]),
            "pairs": np.array(slots, dtype=float).ravel(),
            "pairs_candidates": np.array(self.candidates, dtype=float),
            "pairs_sums": np.array(list(self.sums.values())).reshape(-1, heads).T.ravel(),
            "pairs_squares": np.array(list(self.squares.values()), dtype=float),
        }

    @classmethod
    def of_parts(cls, parts: dict[str, Array], heads: int) -> "SlowPairs":
        out = cls(int(parts["pairs_asked"][0]))
        out.next = int(parts["pairs_next"][0])
        out.slots = [None if i < 0 else (int(i), int(j)) for i, j in parts["pairs"].reshape(-1, 2)]
        out.candidates = [int(j) for j in parts["pairs_candidates"]]
        out.begin_sums(heads)
        out.sums = dict(zip(out.sums, parts["pairs_sums"].reshape(heads, -1).T, strict=True))
        out.squares = dict(zip(out.squares, parts["pairs_squares"], strict=True))
        return out


def product(h: dict[int, float], pair: Pair) -> float:
    i, j = (float(np.clip(h.get(j, 0.0), -3.0, 3.0)) for j in pair)
    return i * j


def is_needless(pair: Pair, table: SlowTable) -> bool:
    f = table.features.get(pair[0])
    return pair[0] == pair[1] and (f is None or not f.square > 1e-18 * f.n * f.mean**2)
