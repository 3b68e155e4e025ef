"""The parts of the slow experts: the table's parameters, scalar functions, a feature, means that fade, the pace of forgetting."""

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy.optimize import brentq

from odca import _core

Array: TypeAlias = npt.NDArray[np.float64]

EXPERTS = _core.experts()
OF_ROWS = [
    expert for expert in EXPERTS if expert.kind not in {"full_newton", "with_products", "mean_label"}
]  # with rates
OF_FULL = [expert for expert in EXPERTS if expert.kind == "full_newton"]  # with a matrix
OF_LABELS = [expert for expert in EXPERTS if expert.kind == "mean_label"]
AVERAGED = [k for k, expert in enumerate(OF_ROWS) if expert.steady in {"average", "both"}]  # with averages of weights
RECENT = [expert.key for expert in EXPERTS if expert.kind == "recent_newton"]  # with a sum D of their own
ROW_EXPERTS, LABEL_EXPERTS = len(OF_ROWS), len(OF_LABELS)
READING = ROW_EXPERTS + len(OF_FULL)  # those that read rows come first,
PLAIN = READING + LABEL_EXPERTS  # then those of labels, and last the twins of those with rates, with products
READS_ROWS = np.array([expert.kind != "mean_label" for expert in EXPERTS])
OF_ALL = [expert.memory for expert in OF_LABELS].index(1.0)  # the mean of all labels
SIMPLEX_STRENGTH, KALMAN_VARIANCE, KALMAN_FLOOR = 10.0, 0.25, 1e-9
LEAST_LIKELIHOOD, LEAST_PROBABILITY, LEAST_WEIGHT, LEAST_VARIANCE = 1e-13, 1e-15, 1e-30, 1e-280

MEMORIES = {"kalman": 0.998, "residual": 0.998}
SHARES = {"bayes": 2e-4, "simplex": 2e-5, "top": 2e-3}


def statistics_with(recents: int) -> int:
    """How many numbers a feature's record has before its weights: whole cache lines."""
    return -(-(6 + max(recents, 1)) // 8) * 8


STATISTICS = statistics_with(len(RECENT))


def recent_column(place: int) -> int:
    """Where a record has the sum D of an expert with a short memory."""
    return 5 if place == 0 else 6 + place


def prior_of(count: int) -> Array:
    """Of the first so many experts."""
    priors = np.array([expert.prior for expert in EXPERTS[:count]])
    return priors / priors.sum()


def sigmoid(z: float) -> float:
    return 1.0 / (1.0 + np.exp(-z)) if z >= 0.0 else np.exp(z) / (1.0 + np.exp(z))


def log_odds(p: float) -> float:
    return np.log(max(p, LEAST_PROBABILITY) / max(1.0 - p, LEAST_PROBABILITY))


def softmax(z: Array) -> Array:
    e = np.exp(z - z.max())
    return e / e.sum()


def dual_of_log_loss(p: float, s: float, t: float) -> float:
    """lambda = t - sigmoid(p + s lambda), which lies in [t - 1, t]."""
    return float(brentq(lambda l: l - t + sigmoid(p + s * l), t - 1.0, t, xtol=1e-18, rtol=1e-15, maxiter=500))


def likelihoods_of(logs: Any, c: float) -> Array:
    """How likely an event of weight c was, up to a factor that they share where c is not 1."""
    scaled = c * np.asarray(logs, dtype=float)
    return np.exp(scaled) if c == 1.0 else np.exp(scaled - scaled.max())


def logs_of(likelihoods: Any) -> Array:
    return np.log(np.maximum(likelihoods, 2.3e-308))


class Feature:
    """What is known of one feature: count, mean and sum of squares of its values; G, H and the Ds; a weight per head and expert.

    `average` has the shape of the weights; only the columns AVERAGED are used.
    """

    def __init__(self, heads: int):
        self.n = self.mean = self.square = 0.0
        self.G = self.H = 0.0
        self.D = dict.fromkeys(RECENT, 0.0)
        self.dense = False
        self.w, self.average = np.zeros((heads, ROW_EXPERTS)), np.zeros((heads, ROW_EXPERTS))

    def form(self, events: float) -> tuple[float, float]:
        """Centre and scale, of which h = (x - centre) / scale; a scale of 0 makes it 0. `events`: how many there are."""
        f, m, v = self.n / events, self.mean, self.square / self.n
        if not self.dense:
            return 0.0, np.sqrt(v + m * m)
        variance = f * v + f * (1.0 - f) * m * m
        return f * m, np.sqrt(variance) if variance > 1e-18 * m * m else 0.0

    def become(self, dense: bool, constant: "Feature", events: float) -> None:
        """Dense, or no longer, with the same margins before and after."""
        if self.n > 0.0:
            centre, scale = self.form(events)
            slope, of_average = (self.w / scale, self.average / scale) if scale > 0.0 else (0.0 * self.w, 0.0 * self.w)
            self.dense = dense
            new_centre, new_scale = self.form(events)
            constant.w += slope * (new_centre - centre)
            constant.average += of_average * (new_centre - centre)
            self.w, self.average = slope * new_scale, of_average * new_scale
        self.dense = dense

    def bounded(self, x: float) -> float:
        """A value counts as at most 30 deviations from the mean of those before, or root mean squares where it is sparse."""
        spread = self.square / self.n + (0.0 if self.dense else self.mean**2) if self.n >= 8.0 else 0.0
        away = 30.0 * np.sqrt(spread)
        return min(max(x, self.mean - away), self.mean + away) if spread > 0.0 else x

    def seen(self, x: float, c: float) -> tuple[float, float, float]:
        """Count, mean and square as they are after x, of weight c."""
        n = self.n + c
        mean = self.mean + c / n * (x - self.mean)
        return n, mean, self.square + c * (x - self.mean) * (x - mean)

    def add_to_average(self, n: float, c: float) -> None:
        """Of the weights after each event, of which the n-th counts about as n³; n is the weight of them all, c of this one."""
        if n > 16.0 and n // 4.0 == (n - c) // 4.0:
            return  # after the first few, only where n passes a multiple of four
        step = c if n <= 16.0 else 4.0
        self.average = self.average + min(4.0 * step / (n + 3.0 * step), 1.0) * (self.w - self.average)

    def rates(self, head: int, m: float, sd: float) -> Array:
        """r of each expert; m is the mean of |h|²."""
        return np.array([self.rate(expert, self.w[head, k], m, sd) for k, expert in enumerate(OF_ROWS)])

    def rate(self, expert: _core.Expert, w: float, m: float, sd: float) -> float:
        root = 1.0 / np.sqrt(self.G) if self.G > 0.0 else 0.0
        match expert.kind:
            case "isotropic":
                return 1.0 / (expert.parameter * m)
            case "adagrad":
                return expert.parameter * sd * root
            case "proportionate":
                return (abs(w) + expert.parameter * sd) * root
            case "newton":
                return 1.0 / (expert.parameter + self.H)
            case "recent_newton":
                return 1.0 / (expert.parameter + self.D[expert.key])
        raise AssertionError(expert.kind)


class Fading:
    """A mean that fades."""

    def __init__(self) -> None:
        self.sum = self.mass = 0.0

    def add(self, value: float, c: float, memory: float) -> None:
        self.sum = memory * self.sum + c * value
        self.mass = memory * self.mass + c

    def mean(self) -> float:
        return self.sum / self.mass if self.mass > 0.0 else 0.0


class Pace:
    """How much is kept, and how much goes back to the prior, after so many ticks."""

    def __init__(self, ticks: float):
        self.of_labels = [1.0 if ticks == 0.0 else expert.memory**ticks for expert in OF_LABELS]
        self.recent = {expert.key: expert.memory**ticks for expert in OF_ROWS}
        self.full = [expert.memory**ticks for expert in OF_FULL]
        self.kalman, self.residual = (MEMORIES[name] ** ticks for name in ("kalman", "residual"))
        self.bayes, self.simplex, self.top = (1.0 - (1.0 - SHARES[name]) ** ticks for name in SHARES)
