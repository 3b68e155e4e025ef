"""Which label the slow experts learn of a number: cpp/odca/experts/label_bound.hpp says why."""

import numpy as np

from auto.slow_parts import Array, Fading
from auto.slow_table import SlowTable

PLACES = 256


class SlowBelief:
    """Whether wild labels of a kind come true, and how far off those were that did."""

    def __init__(self) -> None:
        self.trust, self.reach = -3.0, 0.0

    def learn(self, came_true: bool, distance: float) -> None:
        self.trust = min(max(self.trust + (1.0 if came_true else -1.5), -3.0), 2.0)
        if came_true:
            self.reach = np.sqrt(self.reach * distance) if self.reach > 0.0 else distance

    def holds(self, distance: float) -> bool:
        return self.trust > 0.0 and distance <= 4.0 * self.reach


class SlowLabelBound:
    def __init__(self) -> None:
        self.recent, self.usual = Fading(), Fading()
        self.levels, self.rows = SlowBelief(), SlowBelief()
        self.sides: dict[int, float] = {}
        self.consecutive = self.contrasts = 0
        self.before = 0.0, 0.0

    def learn(self, y: float, prediction: float, nearest: float, in_range: bool, table: SlowTable, c: float) -> float:
        error, usual = abs(y - prediction), max(self.recent.mean(), self.usual.mean())
        far = self.usual.mass > 3.0 and usual > 0.0 and error > 10.0 * usual
        for fading, events in ((self.recent, 8), (self.usual, 128)):
            fading.add(10.0 * usual if far else error, c, 1.0 - 1.0 / events)
        if self.consecutive:
            label, said = self.before
            self.levels.learn(abs(y - label) < abs(label - said) / 2.0, abs(label - said))
        if not far or in_range or nearest <= 10.0 * usual:
            self.consecutive = 0
            if self.contrasts:
                self.contrasts -= 1
                self.learn_side(table, 0.0)
            return y
        side = 1.0 if y > prediction else -1.0
        self.rows.learn(self.learn_side(table, side) * side > 0.5, error)
        believed = self.levels.holds(error) or self.rows.holds(error) or self.consecutive == 2
        self.consecutive, self.contrasts = min(self.consecutive + 1, 2), 3
        self.before = y, prediction
        return y if believed else prediction + side * usual

    def learn_side(self, table: SlowTable, side: float) -> float:
        """The side that the row says, before it learns the true one."""
        row = [(PLACES - 1, 1.0, 1.0)]  # place, value and rate
        for j, h in table.h.items():
            count = table.features[j].n + 1.0 if j in table.features else 1.0
            row.append((j % (PLACES - 1), h, (table.mass + 1.0) / count if j in table.there else 1.0))
        said = sum(self.sides.get(place, 0.0) * h for place, h, _ in row)
        lam = (side - said) / (0.1 + sum(rate * h * h for _, h, rate in row))
        for place, h, rate in row:
            self.sides[place] = min(max(self.sides.get(place, 0.0) + lam * rate * h, -1e6), 1e6)
        return said

    # --- In the form of the core's state ---

    def parts(self) -> dict[str, Array]:
        numbers = {
            "recent_error": self.recent.sum,
            "recent_error_mass": self.recent.mass,
            "usual_error": self.usual.sum,
            "usual_error_mass": self.usual.mass,
            "levels_trust": self.levels.trust,
            "levels_reach": self.levels.reach,
            "rows_trust": self.rows.trust,
            "rows_reach": self.rows.reach,
            "wild_consecutive": self.consecutive,
            "wild_contrasts": self.contrasts,
            "wild_label": self.before[0],
            "wild_prediction": self.before[1],
        }
        sides = [self.sides.get(place, 0.0) for place in range(PLACES)] if self.sides else []
        return {name: np.array([float(value)]) for name, value in numbers.items()} | {"sides": np.array(sides)}

    @classmethod
    def of_parts(cls, parts: dict[str, Array]) -> "SlowLabelBound":
        out = cls()
        for name, fading in (("recent_error", out.recent), ("usual_error", out.usual)):
            fading.sum, fading.mass = float(parts[name][0]), float(parts[f"{name}_mass"][0])
        for name, belief in (("levels", out.levels), ("rows", out.rows)):
            belief.trust, belief.reach = float(parts[f"{name}_trust"][0]), float(parts[f"{name}_reach"][0])
        out.sides = {place: float(value) for place, value in enumerate(parts["sides"])}
        out.consecutive, out.contrasts = int(parts["wild_consecutive"][0]), int(parts["wild_contrasts"][0])
        out.before = float(parts["wild_label"][0]), float(parts["wild_prediction"][0])
        return out
