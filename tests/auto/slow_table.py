"""A table of features and the weights of the experts that have a rate for each: of x, and of products. See slow_experts.py."""

from collections.abc import Callable

import numpy as np

from auto.slow_parts import AVERAGED, OF_ROWS, RECENT, ROW_EXPERTS, STATISTICS, Array, Feature, Pace, recent_column


class SlowTable:
    """`mass` and `norms` are of all events: their weight, and |h|² times it. After `evaluate`, h is the row, standardised."""

    def __init__(self, heads: int):
        self.heads = heads
        self.features: dict[int, Feature] = {}
        self.constant = Feature(heads)
        self.mass = self.norms = 0.0

    def settle(self, row: Array) -> None:
        """Before a row is learned: who is there often enough becomes dense, who is not there and was too rarely does no more."""
        for j in np.flatnonzero(row):
            feature = self.features.setdefault(int(j), Feature(self.heads))
            if (
                not feature.dense
                and self.mass >= 1.0 - 1e-9
                and 2.0 * (feature.n + 1.0) > (self.mass + 1.0) * (1.0 + 1e-9)
            ):
                feature.become(True, self.constant, self.mass)
        for j, feature in sorted(self.features.items()):
            if feature.dense and not (j < len(row) and row[j]) and 4.0 * feature.n < (self.mass + 1.0) * (1.0 - 1e-9):
                feature.become(False, self.constant, self.mass)

    def evaluate(self, row: Array) -> None:
        self.there = [int(j) for j in np.flatnonzero(row)]  # what is 0 is not there
        self.h = {j: self.scaled(j, float(row[j])) for j in self.there}
        for j, feature in sorted(self.features.items()):
            if feature.dense and j not in self.h:  # but the zero of a dense feature is a number
                centre, scale = feature.form(self.mass + 1.0)
                self.h[j] = -centre / scale if scale > 0.0 else 0.0
        self.norm = 1.0 + sum(h * h for h in self.h.values())

    def scaled(self, j: int, x: float) -> float:
        """h = (x - centre) / scale, where x counts as seen."""
        known = self.features.get(j, Feature(self.heads))
        x = known.bounded(x)
        seen = Feature(self.heads)
        seen.n, seen.mean, seen.square = known.seen(x, 1.0)
        seen.dense = known.dense
        centre, scale = seen.form(self.mass + 1.0)
        return (x - centre) / scale if scale > 0.0 else 0.0

    def scaled_slope(self, j: int, x: float) -> float:
        """dh/dx, with the scale that `scaled` uses."""
        x = self.features[j].bounded(x)
        seen = Feature(self.heads)
        seen.n, seen.mean, seen.square = self.features[j].seen(x, 1.0)
        seen.dense = self.features[j].dense
        scale = seen.form(self.mass + 1.0)[1]
        return 1.0 / scale if scale > 0.0 else 0.0

    def margins(self, head: int) -> Array:
        """h'w of each expert."""
        known = [h * self.features[j].w[head] for j, h in self.h.items() if j in self.features]
        return sum(known, start=self.constant.w[head])

    def count(self, row: Array, c: float) -> None:
        for j in self.there:
            feature = self.features.setdefault(j, Feature(self.heads))
            feature.n, feature.mean, feature.square = feature.seen(feature.bounded(float(row[j])), c)
        self.mass += c
        self.norms += c * self.norm

    def step(
        self,
        dual: Callable[[int, int, float], float],
        c: float,
        slope: float,
        curvature: float,
        sd: float,
        pace: Pace,
    ) -> None:
        """w += lambda c r h, where lambda = dual(head, expert, s) solves the scalar problem with s = c sum r h²."""
        row = [(self.constant, 1.0), *((self.features[j], h) for j, h in self.h.items())]
        for feature, h in row:
            feature.G += c * c * slope * h * h
            feature.H += c * curvature * h * h
            for key in RECENT:
                feature.D[key] = pace.recent[key] * feature.D[key] + c * curvature * h * h
        m = self.norms / self.mass
        for head in range(self.heads):
            rates = [feature.rates(head, m, sd) for feature, _ in row]
            s = sum(c * r * h * h for r, (_, h) in zip(rates, row, strict=True))
            lam = np.array([dual(head, k, s[k]) for k in range(ROW_EXPERTS)])
            for (feature, h), r in zip(row, rates, strict=True):
                feature.w[head] += lam * c * r * h
        for feature, _ in row:
            feature.add_to_average(self.mass if feature is self.constant else feature.n, c)

    def meet(self, classes: int, more: int) -> None:
        """Make room for more classes: two become the logits -z/2 and z/2, new ones begin at the mean of the others."""
        for feature in (self.constant, *self.features.values()):
            for name in ("w", "average"):
                old = getattr(feature, name)
                old = np.vstack([-0.5 * old, 0.5 * old]) if self.heads == 1 else old
                setattr(feature, name, np.vstack([old, *[old.mean(axis=0)] * more]))
        self.heads = classes

    # --- In the form of the core's state ---

    def parts(self, features: int, prefix: str = "") -> dict[str, Array]:
        blank = Feature(self.heads)
        known = [self.features.get(j, blank) for j in range(features)]
        parts = {
            "table": np.concatenate([*(record(feature) for feature in known), []]),
            "constant": record(self.constant),
            "averages": np.concatenate([*(feature.average[:, AVERAGED].ravel() for feature in known), []]),
            "constant_average": self.constant.average[:, AVERAGED].ravel(),
            "mass": np.array([self.mass]),
            "norms": np.array([self.norms]),
        }
        return {prefix + name: values for name, values in parts.items()}

    @classmethod
    def of_parts(cls, parts: dict[str, Array], heads: int, prefix: str = "") -> "SlowTable":
        out = cls(heads)
        table, constant, averages, constant_average = (
            parts[prefix + name] for name in ("table", "constant", "averages", "constant_average")
        )
        records = table.reshape(-1, STATISTICS + len(OF_ROWS) * heads)
        averages = averages.reshape(len(records), heads * len(AVERAGED))
        out.features = {j: of_record(*both, heads) for j, both in enumerate(zip(records, averages, strict=True))}
        out.constant = of_record(constant, constant_average, heads)
        out.mass, out.norms = float(parts[prefix + "mass"][0]), float(parts[prefix + "norms"][0])
        return out


def record(f: Feature) -> Array:
    statistics = np.zeros(STATISTICS)
    statistics[[0, 1, 2, 3, 4, 6]] = f.n, f.mean, f.square, f.G, f.H, f.dense
    for place, D in enumerate(f.D.values()):
        statistics[recent_column(place)] = D
    return np.concatenate([statistics, f.w.ravel()])


def of_record(numbers: Array, average: Array, heads: int) -> Feature:
    out = Feature(heads)
    out.n, out.mean, out.square, out.G, out.H = (float(x) for x in numbers[:5])
    out.D = {key: float(numbers[recent_column(place)]) for place, key in enumerate(RECENT)}
    out.dense = bool(numbers[6])
    out.w = numbers[STATISTICS:].reshape(heads, ROW_EXPERTS).copy()
    out.average[:, AVERAGED] = average.reshape(heads, len(AVERAGED))
    return out
