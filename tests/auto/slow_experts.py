"""The experts of the automatic mode from their definitions: slow, literal, in NumPy. The core is compared with this.

Which experts there are, and their parameters, comes from the core's table; the arithmetic is independent of it. An expert is a linear
model of its own, or a mean of labels; all of them see the same events. For an event (row, y, c, t):

    predict  standardise the row; every expert gives its margin; three mixers combine these, and Bayes' rule the mixers
    learn    the mixers learn from the experts' predictions, then the labels are counted, then the experts take their steps

    h        the row, standardised; its last coordinate is the constant 1
    dense    a feature that more than half of the events hold, until less than a quarter do: its zeros are values
    full     slow_full.py: the experts with a full covariance
    pairs    slow_pairs.py: whose products are the features of a second table; an expert with products says z + v'p
    bound    slow_label_bound.py: a wild label is bounded before anything learns from it
    steady   slow_steady.py: what is predicted while no labels are coming in
    c        the weight of the event; from weight 0 nothing is learned, and the clock stands still
    tick     the mean time between two events so far; what fades keeps memory^ticks, a share becomes 1 - (1 - share)^ticks
    lambda   the dual variable of the log loss, label t, on the line p + s lambda: lambda = t - sigmoid(p + s lambda)
    g², q    slope squared and curvature of the loss at the prediction of the mixture
    unit     slow_losses.py: the loss of numbers in units of its mean curvature; where a quantile is predicted, each expert has an offset

For two classes there is one head, the log odds of the second; for K there are K, log probabilities; for numbers one.
"""

import copy
from typing import Any

import numpy as np

from auto.slow_full import SlowFull
from auto.slow_label_bound import SlowLabelBound
from auto.slow_losses import FOLLOWS_LEVEL, SlowOffsets, SlowUnit
from auto.slow_pairs import AUTOMATIC, SlowPairs
from auto.slow_parts import (
    EXPERTS,
    KALMAN_FLOOR,
    KALMAN_VARIANCE,
    LABEL_EXPERTS,
    LEAST_LIKELIHOOD,
    LEAST_PROBABILITY,
    LEAST_VARIANCE,
    LEAST_WEIGHT,
    OF_ALL,
    OF_ROWS,
    PLAIN,
    READING,
    ROW_EXPERTS,
    SIMPLEX_STRENGTH,
    Array,
    Fading,
    Pace,
    dual_of_log_loss,
    likelihoods_of,
    log_odds,
    logs_of,
    prior_of,
    sigmoid,
    softmax,
)
from auto.slow_steady import MEMBERS, FrozenProducts, SlowSteady, linear_models
from auto.slow_table import SlowTable
from odca import SquaredError
from odca.losses import Loss

JUDGE = [expert.kind for expert in OF_ROWS].index("proportionate")
"""The expert by whose residuals pairs of features are chosen."""
NUMBERS = ("low", "high", "label_mass", "label_mean", "label_square", "first_time", "last_time")


class SlowExperts:
    """`task` is "classes" or "numbers"."""

    def __init__(self, *, task: str, classes: int = 2, products: int = AUTOMATIC, loss: Loss | None = None):
        self.numbers, self.classes = task == "numbers", classes
        self.heads = classes if task == "classes" and classes > 2 else 1
        self.table, self.products = SlowTable(self.heads), SlowTable(self.heads)
        self.full, self.pairs = SlowFull(self.heads), SlowPairs(products)
        self.experts = PLAIN  # so many are mixed
        self.bayes, self.simplex, self.kalman = prior_of(PLAIN), prior_of(PLAIN), prior_of(PLAIN)
        self.covariance = KALMAN_VARIANCE * np.eye(PLAIN)
        self.top = np.full(3, 1 / 3)
        # Labels: how often each class came, by the memory of each label expert.
        self.counts, self.masses = np.zeros((LABEL_EXPERTS, 0 if self.numbers else classes)), np.zeros(LABEL_EXPERTS)
        # Numbers: sums by the same memories, range, mean and spread, and the squared errors of the mixture and of one mixer.
        self.sums, self.sum_masses = np.zeros(LABEL_EXPERTS), np.zeros(LABEL_EXPERTS)
        self.low = self.high = self.label_mass = self.label_mean = self.label_square = 0.0
        self.residual, self.kalman_residual = Fading(), Fading()
        self.weights = Fading()
        self.bound = SlowLabelBound()
        self.unit, self.offsets = SlowUnit(loss or SquaredError()), SlowOffsets()
        self.steady, self.width = SlowSteady(loss or SquaredError()), 0
        self.count = self.timed = 0
        self.first_time = self.last_time = 0.0

    features = property(lambda self: self.table.features)
    constant = property(lambda self: self.table.constant)
    mass = property(lambda self: self.table.mass)
    h = property(lambda self: self.table.h)
    has_products = property(lambda self: self.experts > PLAIN)

    # --- What it does ---

    def predict(self, X: Any) -> Array:
        return np.array([self.tell_as_if_settled(row) for row in np.asarray(X, dtype=float)]).reshape(-1, self.heads)

    def predict_steadily(self, X: Any) -> Array:
        """Logits, where there are several classes."""
        told = [self.steady_answer(row) for row in np.asarray(X, dtype=float)]
        return np.array(told).reshape(-1, self.heads)

    def steady_answer(self, row: Array) -> Array:
        z = self.steady_margins(row)
        return np.array([self.unit.answer(z[0])]) if self.numbers else z

    def steady_margins(self, row: Array) -> Array:
        slopes, constant = self.linear_models(MEMBERS)
        z = constant + sum(x * slope for x, slope in zip(row, slopes, strict=False))
        products = self.frozen_products()
        if self.steady.products is not None and products is not None:
            z = z + self.steady.product_share * products.added(row)
        return self.bases() + z @ self.steady.weights + self.steady.offset

    def frozen_products(self) -> FrozenProducts | None:
        """What the experts with products add, by the forms that features have now."""
        if not self.has_products:
            return None
        slopes, constant = linear_models(
            MEMBERS, self.products.features, self.products.constant, self.products.mass, len(self.pairs.slots)
        )
        terms: list[tuple[tuple[int, int], tuple[float, ...], Array]] = []
        for pair, slope in zip(self.pairs.slots, slopes, strict=True):
            forms = [self.features[j].form(self.mass) for j in pair or ()]
            if pair is not None and all(scale > 0.0 for _, scale in forms):
                terms.append((pair, (*forms[0], *forms[1]), slope))
        return FrozenProducts(
            np.array([pair for pair, _, _ in terms], int).reshape(-1, 2),
            np.array([form for _, form, _ in terms]).reshape(-1, 4),
            np.array([slope for _, _, slope in terms]).reshape(-1, *constant.shape),
            constant,
        )

    def linear_models(self, members: list[tuple[int, bool]]) -> tuple[Array, Array]:
        """Experts as linear models of x, by their weights or their averages; without the base rate, which is the last of them."""
        return linear_models(members, self.features, self.constant, self.mass, self.width)

    def learn(self, X: Any, y: Any, weight: Any = None, time: Any = None) -> Array:
        """The prediction of each event from before it was learned."""
        told = []
        self.width = max(self.width, np.shape(X)[1])
        for i, row in enumerate(np.asarray(X, dtype=float)):
            c = 1.0 if weight is None else float(weight[i])
            if c > 0.0:
                self.settle(row)
                told.append(self.tell(row))
            else:
                told.append(self.tell_as_if_settled(row))
            ticks = 1.0 if time is None or c == 0.0 else self.ticks_until(float(time[i]))
            self.learn_one(row, float(y[i]), c, Pace(ticks))
        return np.array(told).reshape(-1, self.heads)

    def settle(self, row: Array) -> None:
        """Before a row is learned: features become dense, or sparse again; of x, and of products."""
        self.table.settle(row)
        self.full.follow(self.features)
        if self.has_products:
            self.table.evaluate(row)
            self.products.settle(self.pairs.products(self.h))

    def tell_as_if_settled(self, row: Array) -> Array:
        twin = copy.deepcopy(self)
        twin.settle(row)
        return twin.tell(row)

    def tell(self, row: Array) -> Array:
        self.evaluate(row)
        if self.numbers:
            return np.array([self.unit.answer(self.mixed[0])])
        return np.array([log_odds(self.mixed[0])]) if self.heads == 1 else np.log(self.mixed)

    def ticks_until(self, time: float) -> float:
        self.timed += 1
        if self.timed == 1:
            self.first_time = self.last_time = time
            return 1.0
        passed = max(time - self.last_time, 0.0)  # late events do not advance the clock
        self.last_time = max(self.last_time, time)
        typical = (self.last_time - self.first_time) / (self.timed - 1)
        return min(passed / typical, 1e6) if typical > 0.0 else 0.0

    # --- An event is evaluated: h, margins of the experts, predictions of the mixers and of the mixture ---

    def evaluate(self, row: Array) -> None:
        self.table.evaluate(row)
        if self.has_products:
            self.products.evaluate(self.pairs.products(self.h))
        self.margin = np.array([self.margins(head) for head in range(self.heads)])
        self.own = self.margin.copy()  # what the experts themselves say
        if self.unit.is_quantile:
            self.margin[0, : self.experts] += self.offsets.u
        if self.numbers:
            self.mix_number()
        elif self.heads == 1:
            self.mix_two()
        else:
            self.mix_classes()

    def margins(self, head: int) -> Array:
        """Experts that read rows predict base + h'w, the others a mean of labels: as log odds, as log probabilities, or as it is."""
        if self.unit.is_count:
            mean = self.positive_mean()
            added = 0.5 * min(mean, 1.0)
            means = [np.log((s + added) / (m + added / mean)) for s, m in zip(self.sums, self.sum_masses, strict=True)]
        elif self.numbers:
            means = [s / m if m > 0.0 else 0.0 for s, m in zip(self.sums, self.sum_masses, strict=True)]
        elif self.heads == 1:
            means = [np.log((second + 0.5) / (first + 0.5)) for first, second in self.counts]
        else:
            K = self.classes
            means = [np.log((self.counts[b, head] + 0.5 / K) / (self.masses[b] + 0.5)) for b in range(LABEL_EXPERTS)]
        z = self.base(head) + self.table.margins(head)
        with_products = z + self.products.margins(head) if self.has_products else z
        return np.concatenate([z, self.base(head) + self.full.margins(head, self.h), means, with_products])

    def base(self, head: int) -> float:
        """Where experts that read rows begin: the mean of all labels, cautiously."""
        if self.numbers:
            return float(np.log(self.positive_mean())) if self.unit.is_count else self.label_mean
        if self.heads == 1:
            return np.log((self.counts[OF_ALL, 1] + 2.0) / (self.counts[OF_ALL, 0] + 2.0))
        return np.log((self.counts[OF_ALL, head] + 2.0) / (self.masses[OF_ALL] / self.classes + 2.0))

    def positive_mean(self) -> float:
        return (self.label_mass * self.label_mean + 0.5) / (self.label_mass + 0.5)

    def deviation(self) -> float:
        """How far margins are apart: of counts, one of a logarithm."""
        if not self.numbers or self.unit.is_count:
            return 1.0
        return np.sqrt(self.label_square / self.label_mass)

    def bases(self) -> Array:
        return np.array([self.base(head) for head in range(self.heads)])

    def mix_two(self) -> None:
        margin = self.margin[:, : self.experts]
        self.bounded = np.clip(margin, -10.0, 10.0)
        self.likely = np.array([[sigmoid(z) for z in np.clip(margin[0], -30.0, 30.0)]])
        self.simplex_margin, self.kalman_margin = self.simplex @ self.bounded[0], self.kalman @ self.bounded[0]
        told = [self.bayes @ self.likely[0], sigmoid(self.simplex_margin), sigmoid(self.kalman_margin)]
        self.told = np.array(told).reshape(3, 1)
        self.mixed = np.clip(self.top @ self.told, LEAST_PROBABILITY, 1.0 - LEAST_PROBABILITY)

    def mix_classes(self) -> None:
        margin = self.margin[:, : self.experts]
        self.bounded = np.clip(margin - margin.mean(axis=0), -10.0, 10.0)
        self.likely = np.array([softmax(z) for z in margin.T]).T
        bayes = self.likely @ self.bayes
        self.told = np.array([bayes, softmax(self.bounded @ self.simplex), softmax(self.bounded @ self.kalman)])
        unseen = self.counts[OF_ALL] == 0.0
        for m in (1, 2):  # a class that never came has the probability that Bayes gives it
            seen = max(self.told[m, ~unseen].sum(), LEAST_PROBABILITY)
            self.told[m] = np.where(unseen, bayes, self.told[m] * (1.0 - bayes[unseen].sum()) / seen)
        self.mixed = np.maximum(self.top @ self.told, LEAST_PROBABILITY)

    def mix_number(self) -> None:
        """Bayes mixes what is predicted, as the mixture of the mixers does; the others mix margins."""
        said = np.array([[self.within_range(z) for z in self.margin[0, : self.experts]]])
        reach = 10.0 * np.sqrt(min(self.unit.variance(each) for each in (self.residual, self.kalman_residual)))
        centre, base = said[0, self.bayes.argmax()], self.base(0)  # the prediction of the expert with the most weight
        self.likely = np.clip(said, centre - reach, centre + reach) if reach > 0.0 else said
        self.bounded = said - base
        self.kalman_margin = base + self.kalman @ self.bounded[0]
        by_bayes = self.unit.margin(self.bayes @ [self.unit.answer(z) for z in self.likely[0]])
        told = [by_bayes, self.simplex @ self.likely[0], self.within_range(self.kalman_margin)]
        self.told = np.array(told).reshape(3, 1)
        self.mixed = np.array([self.unit.margin(self.top @ [self.unit.answer(z) for z in told])])

    def within_range(self, z: float) -> float:
        """Predictions stay within the labels seen so far; means of counts are positive."""
        if self.unit.is_count:
            mean = self.positive_mean()
            return min(max(z, np.log(max(self.low, 1e-4 * mean))), np.log(max(self.high, mean)))
        return min(max(z, self.low), self.high) if self.label_mass > 0.0 else 0.0

    # --- It is learned ---

    def learn_one(self, row: Array, y: float, c: float, pace: Pace) -> None:
        self.count += 1
        if c == 0.0:
            return
        self.weights.add(c, 1.0, 1.0)
        c /= self.weights.mean()  # only the ratios of weights matter
        if self.numbers and self.label_mass > 0.0:
            nearest = min(abs(y - self.unit.answer(z)) for z in self.margin[0, : self.experts])
            prediction = self.unit.answer(self.mixed[0])
            y = self.bound.learn(y, prediction, nearest, self.low <= y <= self.high, self.table, c)
        self.learned = y
        first = self.mass == 0.0  # no scale is known before it
        events = int(self.weights.mass)  # of which something was learned
        self.judge_steady(events, row, y, c)
        if self.numbers:
            self.measure_number(y, c)
        self.count_row(row, c)
        if self.numbers:
            self.learn_number(y, c, pace)
        elif self.heads == 1:
            self.learn_two(y, c, pace)
        else:
            self.learn_classes(int(y), c, pace)
        if not first:
            self.step_experts(y, c, pace)
        self.learn_pairs(y, c)
        if self.pairs.is_due(events):
            self.choose_pairs(events)
        if self.steady.is_due(events):
            self.steady.freeze(events, self.linear_models(MEMBERS), self.bases(), self.frozen_products())

    def judge_steady(self, events: int, row: Array, y: float, c: float) -> None:
        self.steady.judge(events, row, y, c, self.numbers)

    def count_row(self, row: Array, c: float) -> None:
        self.table.count(row, c)
        self.new_products = self.products.mass == 0.0
        if self.has_products:
            self.products.count(self.pairs.products(self.h), c)

    def learn_two(self, y: float, c: float, pace: Pace) -> None:
        def likelihood(p: float) -> float:
            return p if y == 1.0 else 1.0 - p

        logs = [logs_of([likelihood(p) for p in ps]) for ps in (self.told[:, 0], self.likely[0])]
        self.learn_by_bayes(*logs, c, pace)
        x = self.bounded[0]
        lam = dual_of_log_loss(self.simplex_margin, c * self.variance(x) / SIMPLEX_STRENGTH, y)
        self.move_simplex(c * lam * x / SIMPLEX_STRENGTH, pace)
        spread = x @ self.covariance @ x
        lam = dual_of_log_loss(self.kalman_margin, c * spread, y)
        p = self.told[2, 0]
        q = c * max(p * (1.0 - p), 1e-6)
        self.move_kalman(x, c * lam, q / (1.0 + q * spread), pace)
        self.count_label(int(y), c, pace)
        p = self.mixed[0]
        self.slope, self.curvature = (p - y) ** 2, p * (1.0 - p)

    def learn_classes(self, y: int, c: float, pace: Pace) -> None:
        self.learn_by_bayes(logs_of(self.told[:, y]), logs_of(self.likely[y]), c, pace)
        margin, x = self.against_others(self.told[1], y)
        lam = dual_of_log_loss(margin, c * self.variance(x) / SIMPLEX_STRENGTH, 1.0)
        self.move_simplex(c * lam * x / SIMPLEX_STRENGTH, pace)
        margin, x = self.against_others(self.told[2], y)
        spread = x @ self.covariance @ x
        lam = dual_of_log_loss(margin, c * spread, 1.0)
        q = 1e-6 + 0.5 * c * np.sum(self.told[2] * (1.0 - self.told[2]))
        self.move_kalman(x, c * lam, q / (1.0 + q * spread), pace)
        self.count_label(y, c, pace)
        truth = np.arange(self.classes) == y
        self.slope = np.mean((self.mixed - truth) ** 2)
        self.curvature = np.mean(self.mixed * (1.0 - self.mixed))

    def against_others(self, p: Array, y: int) -> tuple[float, Array]:
        """The event as "y and no other": log odds of y, and each expert's margin for y, less those for the others."""
        others = max(1.0 - p[y], 1e-12)
        x = self.bounded[y].copy()
        for k in range(self.classes):
            if k != y:
                x -= p[k] / others * self.bounded[k]
        return np.log(max(p[y], LEAST_PROBABILITY) / others), x

    def measure_number(self, y: float, c: float) -> None:
        """The unit of the loss, and its slope and curvature, at what the mixture says now: there the experts take their steps."""
        z, is_first = (
            self.mixed[0],
            self.label_mass == 0.0,
        )  # nothing is known before it, so it says nothing about the experts
        if not is_first:
            self.unit.learn(z, y, c)
        self.slope = 0.0 if is_first else self.unit.residual(z, 0.0, y) ** 2
        self.curvature = self.unit.curvature(z)

    def learn_number(self, y: float, c: float, pace: Pace) -> None:
        unit, is_first = self.unit, self.label_mass == 0.0
        if not is_first:
            self.residual.add(unit.slope(self.mixed[0], y) ** 2, c, pace.residual)
        variance = unit.variance(self.residual)
        if variance > LEAST_VARIANCE:

            def log_likelihood(z: float) -> float:
                return -min(unit.cost(z, y) / variance, 30.0)

            of_mixers = [log_likelihood(z) for z in self.told[:, 0]]
            self.learn_by_bayes(of_mixers, [log_likelihood(z) for z in self.likely[0]], c, pace)
            x, strength = self.bounded[0], variance * SIMPLEX_STRENGTH
            s = c * self.variance(x) / strength
            self.move_simplex(c * unit.residual(self.told[1, 0], s, y) / (1.0 + s) * x / strength, pace)
            self.kalman_residual.add(unit.slope(self.kalman_margin, y) ** 2, c, pace.residual)
            noise = max(unit.variance(self.kalman_residual), 1e-12 * variance)
            spread, q = x @ self.covariance @ x, c * unit.curvature(self.kalman_margin)
            miss = unit.residual(self.kalman_margin, c * spread / noise, y)
            self.move_kalman(x, miss * c / (noise + c * spread), q / (noise + q * spread), pace)
        if unit.is_quantile and not is_first:
            self.offsets.learn(unit, self.margin[0, : self.experts], y, c)
        self.count_number(y, c, pace)

    # --- The mixers' steps ---

    def learn_by_bayes(self, of_mixers: Any, of_experts: Any, c: float, pace: Pace) -> None:
        """From the logarithms of how likely the event was."""
        of_mixers, of_experts = likelihoods_of(of_mixers, c), likelihoods_of(of_experts, c)
        top = self.top * np.maximum(of_mixers, LEAST_LIKELIHOOD)
        self.top = np.maximum((1.0 - pace.top) * top / top.sum() + pace.top / 3, LEAST_WEIGHT)
        self.bayes = self.shared_out(self.bayes * np.maximum(of_experts, LEAST_LIKELIHOOD), pace.bayes)

    def shared_out(self, weights: Array, share: float) -> Array:
        return np.maximum((1.0 - share) * weights / weights.sum() + share * prior_of(self.experts), LEAST_WEIGHT)

    def variance(self, x: Array) -> float:
        """Of the experts' margins, under the weights of the simplex."""
        return self.simplex @ (x - self.simplex @ x) ** 2

    def move_simplex(self, log_factors: Array, pace: Pace) -> None:
        self.simplex = self.shared_out(self.simplex * np.exp(log_factors - log_factors.max()), pace.simplex)

    def move_kalman(self, x: Array, lam: float, known: float, pace: Pace) -> None:
        """w += lam C x, C -= known C x x'C; then C grows by what is forgotten, up to what it was at the start."""
        gain = self.covariance @ x
        self.kalman = self.kalman + lam * gain
        left = self.covariance - known * np.outer(gain, gain)
        room = self.experts * KALMAN_VARIANCE / np.trace(left)
        forgotten = 1.0 / pace.kalman if pace.kalman > 0.0 else np.inf
        self.covariance = left * max(1.0, min(forgotten, room)) + KALMAN_FLOOR * np.eye(self.experts)

    # --- The labels ---

    def count_label(self, y: int, c: float, pace: Pace) -> None:
        for b in range(LABEL_EXPERTS):
            self.counts[b] *= pace.of_labels[b]
            self.counts[b, y] += c
            self.masses[b] = pace.of_labels[b] * self.masses[b] + c

    def count_number(self, y: float, c: float, pace: Pace) -> None:
        for b in range(LABEL_EXPERTS):
            self.sums[b] = pace.of_labels[b] * self.sums[b] + c * y
            self.sum_masses[b] = pace.of_labels[b] * self.sum_masses[b] + c
        first = self.label_mass == 0.0
        self.low, self.high = (y, y) if first else (min(self.low, y), max(self.high, y))
        self.label_mass += c
        away = y - self.label_mean
        self.label_mean += c / self.label_mass * away
        self.label_square += c * away * (y - self.label_mean)

    # --- The steps of the experts that read rows ---

    def step_experts(self, y: float, c: float, pace: Pace) -> None:
        sd = self.deviation()
        slopes = self.full.slopes(self.h, c)
        of_full = range(ROW_EXPERTS, READING)
        lam = [[self.dual(head, k, slopes[k - ROW_EXPERTS], y) for k in of_full] for head in range(self.heads)]
        self.full.step(self.h, np.array(lam), c, self.curvature, pace)
        self.table.step(lambda head, k, s: self.dual(head, k, s, y), c, self.slope, self.curvature, sd, pace)
        if self.has_products and not self.new_products:
            self.products.step(
                lambda head, k, s: self.dual(head, PLAIN + k, s, y), c, self.slope, self.curvature, sd, pace
            )

    def dual(self, head: int, k: int, s: float, y: float) -> float:
        z = self.own[head, k]
        if self.numbers:
            follows_level = self.unit.is_quantile and FOLLOWS_LEVEL[k]
            return (y - z if follows_level else self.unit.residual(z, s, y)) / (1.0 + s)
        if self.heads == 1:
            return dual_of_log_loss(z, s, y)
        return dual_of_log_loss(log_odds(self.likely[head, k]), s, 1.0 if y == head else 0.0)

    # --- Products ---

    def learn_pairs(self, y: float, c: float) -> None:
        """By residual and curvature of one expert with products; numbers are in deviations of the labels."""
        if self.numbers:
            z, sd = self.margin[0, PLAIN + JUDGE], self.deviation()
            if sd > 0.0:
                residual = np.clip(self.unit.residual(z, 0.0, y) / sd, -5.0, 5.0)
                self.pairs.learn(self.h, np.array([residual]), self.unit.curvature(self.within_range(z)), c)
            return
        p = self.likely[:, PLAIN + JUDGE if self.has_products else JUDGE]
        truth = np.arange(self.heads) == y if self.heads > 1 else y
        self.pairs.learn(self.h, truth - p, np.mean(p * (1.0 - p)), c)

    def choose_pairs(self, events: int) -> None:
        self.pairs.choose(events, self.table, self.products, JUDGE, self.deviation())
        if self.pairs.slots and not self.has_products:
            self.join()

    def join(self) -> None:
        """Experts with products begin as those without, and take half of their weight; in the Kalman mixer, none."""
        for name in ("bayes", "simplex"):
            weights = getattr(self, name)
            halves = np.maximum(weights[:ROW_EXPERTS] / 2.0, LEAST_WEIGHT)
            setattr(self, name, np.concatenate([halves, weights[ROW_EXPERTS:], halves]))
        self.experts = len(EXPERTS)
        self.offsets.join()
        self.kalman = np.concatenate([self.kalman, np.zeros(ROW_EXPERTS)])
        covariance = KALMAN_VARIANCE * np.eye(self.experts)
        covariance[:PLAIN, :PLAIN] = self.covariance
        self.covariance = covariance

    # --- Classes that come later ---

    def meet(self, classes: int) -> None:
        """Make room for more classes: see SlowTable.meet."""
        for table in (self.table, self.products):
            table.meet(classes, classes - self.classes)
        self.pairs.begin_sums(classes)
        self.full.meet(classes - self.classes)
        self.counts = np.hstack([self.counts, np.zeros((LABEL_EXPERTS, classes - self.classes))])
        self.classes = self.heads = classes

    # --- In the form of the core's state ---

    def parts(self, features: int) -> dict[str, Array]:
        """All but the history, by the names that the core gives it."""
        numbers = {name: getattr(self, name) for name in (*NUMBERS, "count", "timed")}
        arrays = {name: getattr(self, name) for name in ("masses", "sums", "sum_masses", "bayes", "simplex", "top")}
        residuals = {"residual": self.residual, "kalman_residual": self.kalman_residual}
        return {
            **self.table.parts(features),
            **(self.products.parts(len(self.pairs.slots), "products.") if self.has_products else {}),
            **self.pairs.parts(self.heads),
            **self.steady.parts(),
            **self.full.parts(),
            **self.bound.parts(),
            **self.unit.parts("residual_"),
            **({} if self.unit.is_squared else self.offsets.parts()),
            "counts": self.counts.ravel(),
            "kalman": self.kalman,
            "covariance": self.covariance.ravel(),
            **{name: np.array([float(value)]) for name, value in numbers.items()},
            **arrays,
            **{name: np.array([fading.sum]) for name, fading in residuals.items()},
            **{f"{name}_mass": np.array([fading.mass]) for name, fading in residuals.items()},
            "weights": np.array([self.weights.sum]),
            "weighed": np.array([self.weights.mass]),
            **{
                name: np.zeros(1) for name in ("late_steady", "late_residual", "late_residual_mass")
            },  # see slow_late.py
        }

    @classmethod
    def of_parts(
        cls, parts: dict[str, Array], *, task: str, classes: int = 2, loss: Loss | None = None
    ) -> "SlowExperts":
        """The experts that a state of the core describes."""
        out = cls(task=task, classes=classes, loss=loss)
        out.table, out.pairs = SlowTable.of_parts(parts, out.heads), SlowPairs.of_parts(parts, out.heads)
        if "products.table" in parts:
            out.products, out.experts = SlowTable.of_parts(parts, out.heads, "products."), len(EXPERTS)
        out.steady, out.width = SlowSteady.of_parts(parts, out.unit.loss), len(out.features)
        out.unit.read(parts, "residual_")
        if not out.unit.is_squared:
            out.offsets.read(parts)
        out.full, out.bound = SlowFull.of_parts(parts, out.heads), SlowLabelBound.of_parts(parts)
        out.counts = parts["counts"].reshape(LABEL_EXPERTS, -1).copy()
        out.covariance = parts["covariance"].reshape(out.experts, out.experts).copy()
        for name in ("masses", "sums", "sum_masses", "bayes", "simplex", "kalman", "top"):
            setattr(out, name, parts[name].copy())
        for name in NUMBERS:
            setattr(out, name, float(parts[name][0]))
        out.count, out.timed = int(parts["count"][0]), int(parts["timed"][0])
        out.weights.sum, out.weights.mass = float(parts["weights"][0]), float(parts["weighed"][0])
        for name, fading in (("residual", out.residual), ("kalman_residual", out.kalman_residual)):
            fading.sum, fading.mass = float(parts[name][0]), float(parts[f"{name}_mass"][0])
        return out
