"""The steady answer from its definition: which members it mixes, how they are judged, and what weights follow. See slow_experts.py.

A member is a linear model of x, [heads]: the weights of an expert, or the average of its weights, in the user's units; the last one is the
base rate alone. The answer is

    z = base + sum_m s_m (b_m + w_m'x + q (c_m + v_m'p))        s = softmax(S / A)        A = 10 + 0.01 mass

where c_m + v_m'p is what the member's expert with products adds, if there are products.

After 16 events, and whenever their number has doubled since, the members are frozen as they are. The frozen ones predict the events that
follow, and of at most some 4,096 of them until the next time, evenly spaced, S learns:

    S <- 0.99983 S,  mass <- 0.99983 mass + c,  S <- S + c lambda x

where x is what each member says for the right answer, and lambda solves the scalar problem of the loss on the line s'x + lambda c Var_s(x) / A.
The share q of the products is learned in the same way, as the weight of the second of two: the mixture without and with all products. It
begins at 0.01, with A = 10 + 0.05 mass, and has one sum, the difference of the two.

Where a quantile is predicted, an offset is added: the quantile of what the answer missed, by dual steps at a constant.
"""

import numpy as np

from auto.slow_losses import SlowUnit
from auto.slow_parts import OF_ROWS, Array, Fading, Feature, dual_of_log_loss, softmax
from odca import SquaredError
from odca.losses import Loss

# (place among the experts that read rows, whether it is the average)
MEMBERS = [
    (k, averaged)
    for k, expert in enumerate(OF_ROWS)
    for averaged, wanted in ((False, {"weights", "both"}), (True, {"average", "both"}))
    if expert.steady in wanted
]
NAMES = [("average of " if averaged else "") + OF_ROWS[k].key for k, averaged in MEMBERS] + ["base rate"]
FIRST_FREEZE, MOST_JUDGED, WINDOW = 16, 4096, 0.99983
NOTHING_CARRIES_OVER = 0.9
LARGEST_MARGIN = 1e140


class FrozenProducts:
    """Pairs, [term][2], centre and scale of both features, [term][4], slopes [term][head][member] and constants [head][member]."""

    def __init__(self, pairs: Array, forms: Array, slopes: Array, constant: Array) -> None:
        self.pairs, self.forms, self.slopes, self.constant = pairs, forms, slopes, constant

    def added(self, row: Array) -> Array:
        """What each member adds to its margin, [head][member]."""
        return self.constant + np.tensordot(product_values(self.pairs, self.forms, row), self.slopes, axes=1)


def product_values(pairs: Array, forms: Array, row: Array) -> Array:
    def h(j: int, centre: float, scale: float) -> float:
        return float(np.clip(((row[j] if j < len(row) else 0.0) - centre) / scale, -3.0, 3.0))

    return np.array([h(i, *form[:2]) * h(j, *form[2:]) for (i, j), form in zip(pairs, forms, strict=True)])


class SlowSteady:
    """`frozen` is [feature][head][member], `constant` [head][member] and `base` [head]."""

    def __init__(self, loss: Loss | None = None) -> None:
        self.unit, self.offset = SlowUnit(loss or SquaredError()), 0.0
        self.sum, self.mass, self.residual = np.zeros(len(NAMES)), 0.0, Fading()
        self.frozen, self.constant, self.base = np.zeros((0, 0, 0)), np.zeros((0, len(NAMES))), np.zeros(0)
        self.frozen_at = 0
        self.products: FrozenProducts | None = None
        self.product_sum = 0.0

    @property
    def product_share(self) -> float:
        if self.products is None:
            return 0.0
        return 1.0 / (1.0 + 99.0 * np.exp(-self.product_sum / self.product_strength))

    @property
    def product_strength(self) -> float:
        return 10.0 + 0.05 * self.mass

    @property
    def strength(self) -> float:
        return 10.0 + 0.01 * self.mass

    @property
    def weights(self) -> Array:
        return softmax(self.sum / self.strength)

    def is_due(self, events: int) -> bool:
        of_base_rate = self.weights[-1]
        next_freeze = (
            self.frozen_at + self.frozen_at // 2 if of_base_rate > NOTHING_CARRIES_OVER else 2 * self.frozen_at
        )
        return events >= max(FIRST_FREEZE, next_freeze)

    def freeze(
        self, events: int, models: tuple[Array, Array], base: Array, products: FrozenProducts | None = None
    ) -> None:
        self.frozen_at, self.base, self.products = events, base, products
        self.frozen, self.constant = models

    def judge(self, event: int, row: Array, y: float, c: float, numbers: bool) -> None:
        if self.frozen_at == 0 or event % max(self.frozen_at // MOST_JUDGED, 1) != 0:
            return
        if not numbers and y >= max(len(self.base), 2):  # a class that they do not know
            return
        z = self.base[:, None] + self.constant
        for slope, value in zip(self.frozen, row, strict=False):  # what came later they do not know either
            z = z + value * slope
        z = np.clip(z, -LARGEST_MARGIN, LARGEST_MARGIN)
        s, q = self.weights, self.product_share
        self.sum, self.mass = WINDOW * self.sum, WINDOW * self.mass + c
        if numbers:
            x, lam = self.number(z[0], s, y, c)
        elif len(self.base) == 1:
            x = np.clip(z[0], -10.0, 10.0) * (1.0 if y == 1.0 else -1.0)
            lam = dual_of_log_loss(s @ x, c * spread(s, x) / self.strength, 1.0)
        else:
            margin, x = against_others(z, s, int(y))
            lam = dual_of_log_loss(margin, c * spread(s, x) / self.strength, 1.0)
        self.sum = self.sum + c * lam * x
        without = with_ = z @ s
        if self.products is not None:
            with_ = without + self.products.added(row) @ s
            gain, lam = self.gain_by_products(without, with_, q, y, c, numbers)
            self.product_sum = WINDOW * self.product_sum + c * lam * gain
        if self.unit.is_quantile:
            rate = c / self.residual.mass
            said = (without + q * (with_ - without))[0] + self.offset
            self.offset += rate / (1.0 + rate) * self.unit.residual(said, rate, y)

    def gain_by_products(
        self, without: Array, with_: Array, q: float, y: float, c: float, numbers: bool
    ) -> tuple[float, float]:
        """By how much the right answer is larger with all products, and lambda."""

        def slope(gain: float) -> float:
            return c * q * (1.0 - q) * gain**2 / self.product_strength

        if numbers:
            variance = self.unit.variance(self.residual)
            if not variance > 1e-280:
                return 0.0, 0.0
            gain = np.clip((with_[0] - without[0]) / np.sqrt(variance), -1000.0, 1000.0)
            said = without[0] + q * (with_[0] - without[0]) + self.offset
            error = self.unit.residual(said, slope(gain), y) / np.sqrt(variance)
            return gain, np.clip(error, -30.0, 30.0) / (1.0 + slope(gain))
        if len(self.base) == 1:
            without, with_ = np.clip(without, -10.0, 10.0), np.clip(with_, -10.0, 10.0)
            sign = 1.0 if y == 1.0 else -1.0
            margin, gain = sign * (without + q * (with_ - without))[0], sign * (with_ - without)[0]
        else:
            without, with_ = (np.clip(z - z.mean(), -10.0, 10.0) for z in (without, with_))
            p, label = softmax(without + q * (with_ - without)), int(y)
            others = max(1.0 - p[label], 1e-12)
            more = with_ - without
            gain = more[label] - sum(p[k] / others * more[k] for k in range(len(p)) if k != label)
            margin = np.log(max(p[label], 1e-15) / others)
        return gain, dual_of_log_loss(margin, slope(gain), 1.0)

    def number(self, z: Array, s: Array, y: float, c: float) -> tuple[Array, float]:
        """In units of the deviation of the residuals, from what the mixture says; a slope of more than 30 deviations counts as 30."""
        unit, said = self.unit, s @ z + self.offset
        unit.learn(said, y, c)
        before = np.sqrt(self.residual.mean())
        most = 30.0 * before if before > 0.0 else np.inf
        self.residual.add(np.clip(unit.slope(said, y), -most, most) ** 2, c, 0.998)
        variance = unit.variance(self.residual)
        if not variance > 1e-280:
            return np.zeros(len(z)), 0.0
        x = np.clip((z - s @ z) / np.sqrt(variance), -1000.0, 1000.0)
        slope = c * spread(s, x) / self.strength
        error = np.clip(unit.residual(said, slope, y), -most / unit.kappa, most / unit.kappa)
        return x, error / np.sqrt(variance) / (1.0 + slope)

    # --- In the form of the core's state ---

    def parts(self) -> dict[str, Array]:
        return {
            "steady_sum": self.sum,
            "steady_mass": np.array([self.mass]),
            "steady_residual": np.array([self.residual.sum]),
            "steady_residual_mass": np.array([self.residual.mass]),
            "frozen": self.frozen.ravel(),
            "frozen_constant": self.constant.ravel(),
            "frozen_base": self.base,
            "frozen_at": np.array([float(self.frozen_at)]),
            "steady_product_sum": np.array([self.product_sum]),
            **self.unit.parts("steady_residual_"),
            **({} if self.unit.is_squared else {"steady_offset": np.array([self.offset])}),
            **self.product_parts(),
        }

    def product_parts(self) -> dict[str, Array]:
        names = ("frozen_pairs", "frozen_forms", "frozen_products", "frozen_product_constant")
        if self.products is None:
            return {name: np.zeros(0) for name in names}
        own = self.products
        arrays = (own.pairs, own.forms, own.slopes, own.constant)
        return {name: np.ravel(array).astype(float) for name, array in zip(names, arrays, strict=True)}

    @classmethod
    def of_parts(cls, parts: dict[str, Array], loss: Loss | None = None) -> "SlowSteady":
        out = cls(loss)
        out.unit.read(parts, "steady_residual_")
        if not out.unit.is_squared:
            out.offset = float(parts["steady_offset"][0])
        out.sum, out.mass, out.frozen_at = parts["steady_sum"], parts["steady_mass"][0], int(parts["frozen_at"][0])
        out.residual.sum, out.residual.mass = parts["steady_residual"][0], parts["steady_residual_mass"][0]
        out.base = parts["frozen_base"]
        heads = len(out.base)
        out.constant = parts["frozen_constant"].reshape(heads, len(NAMES))
        if heads:
            out.frozen = parts["frozen"].reshape(-1, heads, len(NAMES))
        out.product_sum = parts["steady_product_sum"][0]
        if len(parts["frozen_product_constant"]):
            out.products = FrozenProducts(
                parts["frozen_pairs"].astype(int).reshape(-1, 2),
                parts["frozen_forms"].reshape(-1, 4),
                parts["frozen_products"].reshape(-1, heads, len(NAMES)),
                parts["frozen_product_constant"].reshape(heads, len(NAMES)),
            )
        return out


def spread(s: Array, x: Array) -> float:
    return s @ (x - s @ x) ** 2


def against_others(z: Array, s: Array, y: int) -> tuple[float, Array]:
    """The event as "y and no other": log odds of y by the mixture, and each member's logit of y, less those of the others."""
    bounded = np.clip(z - z.mean(axis=0), -10.0, 10.0)
    p = softmax(bounded @ s)
    others = max(1.0 - p[y], 1e-12)
    x = bounded[y] - sum(p[k] / others * bounded[k] for k in range(len(p)) if k != y)
    return np.log(max(p[y], 1e-15) / others), x


def linear_models(
    members: list[tuple[int, bool]], features: dict[int, Feature], constant: Feature, events: float, width: int
) -> tuple[Array, Array]:
    """Members as linear models of x: slopes [feature][head][member], and what they add whatever x is, [head][member]."""
    at_zero = weights_of(members, constant)
    slopes = np.zeros((width, *at_zero.shape))
    for j, feature in features.items():
        centre, scale = feature.form(events) if feature.n > 0.0 else (0.0, 0.0)
        if scale > 0.0:
            slopes[j] = weights_of(members, feature) / scale
            at_zero = at_zero - centre * slopes[j]
    return slopes, at_zero


def weights_of(members: list[tuple[int, bool]], feature: Feature) -> Array:
    columns = [(feature.average if averaged else feature.w)[:, k] for k, averaged in members]
    return np.column_stack([*columns, np.zeros(len(feature.w))])
