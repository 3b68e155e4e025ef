"""The detector of docs/drift.md in slow, literal Python that keeps every loss: the executable specification of the native one."""

import math
from dataclasses import dataclass, field

FIRST = 64
CAP = 8.0
MORE = 1.1
ALPHA = 0.01
OCTAVES = 40
HUGE, LEAST_CAP = 1e290, 1e-280
BETS = (0.9, 0.5, 0.15, 0.04)


@dataclass
class RiseReference:
    """Finds rises of a mean loss: `alarms` are (event, since, before, after)."""

    alarms: list[tuple[int, int, float, float]] = field(default_factory=list)
    events: int = 0
    losses: list[float] = field(default_factory=list)
    """The losses since the last alarm that count."""
    numbers: list[int] = field(default_factory=list)
    """The numbers of their events."""
    wealth: list[float] = field(default_factory=lambda: [0.0] * len(BETS))
    """By bet: the sum over all possible beginnings of a rise."""
    best: list[float] = field(default_factory=lambda: [0.0] * len(BETS))
    """By bet: the largest term of that sum."""
    caps: list[float] = field(default_factory=list)
    """The cap by which each of them was judged."""
    begun: list[int] = field(default_factory=lambda: [0] * len(BETS))
    """By bet: where its beginning is, a position in `losses`."""

    known_caps: dict[int, float] = field(default_factory=dict)
    known_bounds: dict[int, float] = field(default_factory=dict)

    def add(self, loss: float, weight: float = 1.0) -> None:
        """The loss of the next event."""
        self.events += 1
        if not weight > 0.0 or math.isnan(loss):
            return
        loss = min(max(loss, 0.0), HUGE)
        self.losses.append(loss)
        self.numbers.append(self.events)
        self.caps.append(0.0)
        n = len(self.losses) - 1  # events before this one, since the last alarm
        if n < 2 * FIRST:
            return
        octave = n.bit_length() - 1
        begin, end = 2 ** (octave - 1), 2**octave  # the reference: the last window that is complete
        cap = self.cap_of(begin)
        if begin not in self.known_bounds:
            self.known_bounds[begin] = self.upper_bound(begin, end)
        bound = MORE * self.known_bounds[begin]
        x, self.caps[n] = clipped(loss, cap), cap
        prior = 0.5**octave / OCTAVES if octave < OCTAVES else 0.0
        for i, bet in enumerate(BETS):
            factor = 1.0 + bet * (x / bound - 1.0)
            if self.best[i] <= prior:
                self.best[i], self.begun[i] = prior, n
            self.best[i] *= factor
            self.wealth[i] = (self.wealth[i] + prior) * factor
        if (((self.wealth[0] + self.wealth[1]) + self.wealth[2]) + self.wealth[3]) / len(BETS) >= 2.0 / ALPHA:
            self.alarm(begin, end)

    def cap_of(self, begin: int) -> float:
        """The cap in the window that begins there: CAP times the mean loss of the window before."""
        if begin not in self.known_caps:
            cap = CAP * self.mean_loss(0 if begin == FIRST else begin // 2, begin)
            self.known_caps[begin] = cap if cap > LEAST_CAP else 0.0
        return self.known_caps[begin]

    def mean_loss(self, begin: int, end: int) -> float:
        """The mean loss of the window, in which losses far above the mean are trimmed; in the first one they are not."""
        cap = self.cap_of(begin) if begin else 0.0
        return in_order([trimmed(loss, cap) for loss in self.losses[begin:end]]) / (end - begin)

    def mean(self, begin: int, end: int) -> float:
        """The mean of the clipped losses in the window."""
        cap = self.cap_of(begin)
        return in_order([clipped(loss, cap) for loss in self.losses[begin:end]]) / (end - begin)

    def spread(self, begin: int, end: int) -> float:
        """The sum of their squares around the mean of the window before."""
        cap, expected = self.cap_of(begin), 1.0 / CAP if begin == FIRST else self.mean(begin // 2, begin)
        distances = [clipped(loss, cap) - expected for loss in self.losses[begin:end]]
        return in_order([each * each for each in distances])

    def upper_bound(self, begin: int, end: int) -> float:
        """An upper bound of the mean of the clipped losses in the window."""
        n, k = end - begin, (end // FIRST).bit_length() - 1
        price = math.log(2.0 * k * (k + 1.0) / ALPHA)
        expected = n / (CAP * CAP) if begin == FIRST else 2.0 * self.spread(begin // 2, begin)
        u = min(1.0 / (1.0 + math.sqrt(expected / (2.0 * price))), 0.75)
        slack = (price / u + u / (2.0 * (1.0 - u)) * self.spread(begin, end)) / n
        return min(self.mean(begin, end) + slack, 1.0)

    def alarm(self, begin: int, end: int) -> None:
        """Note it, and begin again."""
        since = self.begun[max(range(len(BETS)), key=lambda i: self.best[i])]
        recent = list(zip(self.losses[since:], self.caps[since:], strict=True))
        before = self.mean_loss(begin, end)
        after = in_order([trimmed(loss, cap) for loss, cap in recent]) / len(recent)
        if not after > before:
            before = self.cap_of(begin) * self.mean(begin, end)
            after = in_order([min(loss, cap) for loss, cap in recent]) / len(recent)
        self.alarms.append((self.events, self.numbers[since], before, after))
        self.losses, self.numbers, self.caps, self.known_caps, self.known_bounds = [], [], [], {}, {}
        self.wealth, self.best, self.begun = ([0.0] * len(BETS) for _ in range(3))


def clipped(loss: float, cap: float) -> float:
    """A loss as a share of the cap; if that is zero, whether there is a loss at all."""
    if loss >= cap:
        return 1.0 if loss > 0.0 else 0.0
    return loss / cap


def trimmed(loss: float, cap: float) -> float:
    """A loss as it counts in means."""
    return min(loss, CAP * cap) if cap > 0.0 else loss


def in_order(terms: list[float]) -> float:
    """The sum of the terms, one by one."""
    total = 0.0
    for term in terms:
        total += term
    return total
