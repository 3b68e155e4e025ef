"""The slow experts with labels that come later, from the definitions of docs/auto.md."""

import copy
from dataclasses import dataclass
from typing import Any

import numpy as np

from auto.slow_experts import SlowExperts
from auto.slow_parts import LABEL_EXPERTS, OF_ALL, READS_ROWS, Array, Fading, Pace, log_odds, sigmoid, softmax

PRIOR = 0.999


@dataclass(frozen=True)
class SlowAsked:
    """The experts' margins of an event, [head, expert]; the live and the steady answer; how many events had been learned."""

    margin: Array
    live: Array
    steady: Array
    after: int


class SlowLateExperts(SlowExperts):
    """Learns one event at a time, each with what was said of it when it was asked about."""

    def __init__(self, **options: Any):
        super().__init__(**options)
        self.late_steady, self.late_residual = 0.0, Fading()
        self.asked: SlowAsked | None = None

    def ask(self, row: Array) -> SlowAsked:
        twin = copy.deepcopy(self)
        twin.settle(row)
        live = twin.tell(row)
        steady = self.steady_answer(row)
        if self.heads > 1:
            steady = np.log(softmax(steady))
        return SlowAsked(twin.margin, live, steady, int(self.weights.mass))

    def learn_asked(self, row: Array, y: float, asked: SlowAsked, c: float = 1.0, time: float | None = None) -> None:
        self.asked = asked
        if not self.numbers and y >= self.classes:
            self.meet(int(y) + 1)
        self.learn(row[None, :], [y], [c], None if time is None else [time])

    def learn_one(self, row: Array, y: float, c: float, pace: Pace) -> None:
        self.delay = int(self.weights.mass) - self.asked.after
        self.pace = pace
        super().learn_one(row, y, c, pace)

    def judge_steady(self, events: int, row: Array, y: float, c: float) -> None:
        super().judge_steady(events, row, y, c)
        self.judge_answers(y, c)

    def count_row(self, row: Array, c: float) -> None:
        """Between what is known before the label and what is learned from it: here the mixers get the margins of then."""
        super().count_row(row, c)
        self.present = None
        if self.delay > 0 and self.asked.after > 0:
            self.present = self.margin, self.likely, self.mixed
            self.margin = self.with_heads_of_now(self.asked.margin)
            mix = self.mix_number if self.numbers else self.mix_two if self.heads == 1 else self.mix_classes
            mix()

    def step_experts(self, y: float, c: float, pace: Pace) -> None:
        """The experts step from where they are, and the slopes are those at the mixture of now."""
        if self.present is not None:
            self.margin, self.likely, self.mixed = self.present
            if not self.numbers:  # those of numbers were measured before
                truth = np.arange(self.heads) == y if self.heads > 1 else y
                self.slope = np.mean((self.mixed - truth) ** 2)
                self.curvature = np.mean(self.mixed * (1.0 - self.mixed))
        super().step_experts(y, c, pace)

    def judge_answers(self, y: float, c: float) -> None:
        if self.delay > 0 and self.late_steady == 0.0:
            self.late_steady = PRIOR
        if self.late_steady == 0.0 or (self.delay > 0 and self.asked.after == 0):
            return
        if not self.numbers and (y >= max(len(self.asked.margin), 2) or self.counts[OF_ALL, int(y)] == 0.0):
            return  # neither answer knew of the class
        answers = self.asked.live, self.asked.steady
        if self.numbers:
            margins = [self.unit.margin(answer[0]) for answer in answers]
            live, steady = (self.unit.slope(z, y) for z in margins)
            self.late_residual.add(
                ((1.0 - self.late_steady) * live + self.late_steady * steady) ** 2, c, self.pace.residual
            )
            if not self.unit.variance(self.late_residual) > 1e-280:
                return
            losses = [self.unit.cost(z, y) / self.unit.variance(self.late_residual) for z in margins]
        elif len(self.asked.margin) == 1:
            losses = [-np.log(sigmoid(answer[0] if y == 1.0 else -answer[0])) for answer in answers]
        else:
            losses = [-answer[int(y)] for answer in answers]
        live, steady = np.exp(-c * np.minimum(losses, 30.0) / np.sqrt(1.0 + self.delay))
        w = self.late_steady * steady / (self.late_steady * steady + (1.0 - self.late_steady) * live)
        self.late_steady = (1.0 - self.pace.bayes) * w + self.pace.bayes * PRIOR

    def with_heads_of_now(self, margin: Array) -> Array:
        """Classes that came since have what an expert without knowledge of them says: a count of zero, the mean weights."""
        if len(margin) == self.heads:
            return margin
        K, N = self.classes, self.masses[OF_ALL]
        unseen = [np.log((0.5 / K) / (self.masses[b] + 0.5)) for b in range(LABEL_EXPERTS)]
        z = READS_ROWS  # the others are means of labels
        if len(margin) == 1:
            middle = np.mean([np.log((self.counts[OF_ALL, k] + 2.0) / (N / K + 2.0)) for k in (0, 1)])
            of_class = [[np.log(sigmoid(sign * odds)) for odds in margin[0]] for sign in (-1.0, 1.0)]
            known = np.array(
                [
                    np.where(z, middle + sign * margin[0] / 2.0, logs)
                    for sign, logs in zip((-1.0, 1.0), of_class, strict=True)
                ]
            )
        else:
            known = margin + np.where(z, np.log((N / len(margin) + 2.0) / (N / K + 2.0)), 0.0)
        base = np.log((self.counts[OF_ALL, : len(known)] + 2.0) / (N / K + 2.0))
        new = np.log(2.0 / (N / K + 2.0)) + (known - base[:, None]).mean(axis=0)
        new[~z] = unseen
        return np.vstack([known, *[new] * (K - len(known))])

    def parts(self, features: int) -> dict[str, Array]:
        late = {"late_steady": self.late_steady, "late_residual": self.late_residual.sum}
        late["late_residual_mass"] = self.late_residual.mass
        return super().parts(features) | {name: np.array([value]) for name, value in late.items()}

    def mixed_answer(self, asked: SlowAsked) -> Array:
        """What is answered: the live answer, or the mixture of both."""
        w = self.late_steady
        if self.numbers:  # of counts, too, what is predicted is mixed
            return (1.0 - w) * asked.live + w * asked.steady
        if self.heads == 1:
            return np.array([log_odds((1.0 - w) * sigmoid(asked.live[0]) + w * sigmoid(asked.steady[0]))])
        return np.log((1.0 - w) * np.exp(asked.live) + w * np.exp(asked.steady))
