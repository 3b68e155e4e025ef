"""How uncertainty is tracked, from the definitions of docs/intervals.md: slow, literal, every event kept. The core is compared with this."""

import math

import numpy as np

ALPHAS = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9]
LIVE, STEADY = (0.25, 8, 128), (0.002, 1024, 1024)  # rate, and what the two means of the size of errors remember
MEMORY = 2048
EDGES = [0.0, *[2.0**e * (1.0 + m / 8.0) for e in range(-12, 12) for m in range(8)][1:], 4096.0]


def logit(p: float) -> float:
    return math.log(p / (1.0 - p))


class SlowTracker:
    """One side of the uncertainty of numbers or classes: the live or the steady one."""

    def __init__(self, task: str, pace: tuple[float, int, int]):
        self.numbers, (self.rate, *self.memories) = task == "numbers", pace
        self.theta = [logit(alpha) for alpha in ALPHAS]
        self.scores: list[tuple[float, float, float]] = []  # of events in order: the ends of the score's bin; weight
        self.sizes: list[tuple[float, float]] = []  # |score|, bounded; weight
        self.weights: list[float] = []
        self.missed = [0.0] * len(ALPHAS)

    # --- An event ---

    def add(self, score: float, weight: float = 1.0) -> None:
        if weight == 0.0:
            return
        self.weights.append(weight)
        if len(self.weights) == 1:  # predicted from nothing
            return
        c = weight / (sum(self.weights) / len(self.weights))
        if not self.numbers or len(self.sizes) >= 8:
            relative = score / self.size() if self.numbers and score != 0.0 else score
            p = self.rank(relative)
            total, levels = self.mass(-math.inf, math.inf), self.levels()
            for k, alpha in enumerate(ALPHAS):
                if alpha * (total + 1.0) < 1.0:
                    continue
                missed = p < 1.0 and logit(p) < levels[k]
                self.theta[k] = min(self.theta[k] + self.rate * c * alpha, logit(alpha) + 6.0)
                if missed:
                    self.theta[k] = max(self.theta[k] - self.rate * c, -9.0)
                self.missed[k] += c * missed
            self.scores.append((*bin_of(relative), c))
        if self.numbers:
            most = 10.0 * self.size() if len(self.sizes) >= 8 and self.size() > 0.0 else math.inf
            self.sizes.append((min(abs(score), most), c))

    def size(self) -> float:
        """The mean of two fading means of |score|."""
        return sum(self.fading_mean(memory) for memory in self.memories) / 2.0

    def fading_mean(self, memory: int) -> float:
        faded = [((1.0 - 1.0 / memory) ** age * c, size) for age, (size, c) in enumerate(reversed(self.sizes))]
        return sum(w * size for w, size in faded) / sum(w for w, _ in faded)

    def rank(self, score: float) -> float:
        """The share of earlier scores, and of this one, that are at least as bad."""
        worse, total = self.mass(score, math.inf), self.mass(-math.inf, math.inf)
        if self.numbers:
            if score == 0.0:
                return 1.0
            worse = min(2.0 * (worse if score > 0.0 else self.mass(-math.inf, score)), total)
        return (worse + 1.0) / (total + 1.0)

    # --- The scores so far: each spread over its bin, the latest of weight 1 after the next event's fading ---

    def mass(self, low: float, high: float) -> float:
        if not self.scores:
            return 0.0
        begin, end, c = np.array(self.scores).T
        age = np.arange(len(c), 0, -1)
        inside = np.maximum(np.minimum(high, end) - np.maximum(low, begin), 0.0) / (end - begin)
        return float((c * (1.0 - 1.0 / MEMORY) ** age * inside).sum())

    # --- What is promised ---

    def bounds(self, coverage: float) -> tuple[float, float]:
        total = self.mass(-math.inf, math.inf)
        worse = self.level(1.0 - coverage) * (total + 1.0) - 1.0
        if worse <= 0.0:
            return -math.inf, math.inf
        if not self.numbers:
            return -math.inf, self.quantile(total - worse)
        low, high = self.quantile(worse / 2.0), self.quantile(total - worse / 2.0)
        return min(low, 0.0) * self.size(), max(high, 0.0) * self.size()

    def levels(self) -> list[float]:
        """More coverage never gives less."""
        return [min(self.theta[k:]) for k in range(len(ALPHAS))]

    def level(self, alpha: float) -> float:
        theta, wanted, at = self.levels(), logit(alpha), [logit(each) for each in ALPHAS]
        if wanted <= at[0]:
            found = theta[0] + wanted - at[0]
        elif wanted >= at[-1]:
            found = theta[-1] + wanted - at[-1]
        else:
            k = next(k for k in range(len(at)) if at[k] >= wanted)
            part = (wanted - at[k - 1]) / (at[k] - at[k - 1])
            found = theta[k - 1] + part * (theta[k] - theta[k - 1])
        return 1.0 / (1.0 + math.exp(-found))

    def quantile(self, wanted: float) -> float:
        """By bisection: the score that has so much below it."""
        low, high = -4096.0, 4096.0
        for _ in range(80):
            middle = (low + high) / 2.0
            if self.mass(-math.inf, middle) < wanted:
                low = middle
            else:
                high = middle
        return high


def bin_of(score: float) -> tuple[float, float]:
    """Where the bin of a score begins and ends: eight in every octave from 2^-12 to 2^12."""
    k = max(k for k in range(len(EDGES) - 1) if abs(score) >= EDGES[k])
    return (EDGES[k], EDGES[k + 1]) if score >= 0.0 else (-EDGES[k + 1], -EDGES[k])
