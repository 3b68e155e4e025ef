"""What an automatic model learned about its stream: which memory and which strength carry the weight, now and before."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from odca import _core
from odca.validation.arrays import Array

EXPERTS = tuple(_core.experts())
"""The experts as cpp/odca/experts/experts.hpp declares them, in the order of the core.

`name` and `group` are for people. `events` is about how many events an expert remembers, `per_feature` the same for each feature that
an event has; None of both: everything.
"""
GROUPS = tuple(dict.fromkeys(expert.group for expert in EXPERTS))

TIME, LOSS, FIRST_EXPERT = 1, 2, 3
"""Columns of the history: events so far, their time, the mean loss since the record before, a weight for each expert."""


@dataclass(frozen=True, slots=True)
class AutoReport:
    """How much weight each expert has, by how well it has predicted lately: `experts` by name, `groups` by what experts go by; both sum to
    one. `history` has the same over the stream.

    As text it is str(report); `as_json` and `plot` have it for machines and as a picture.
    """

    experts: dict[str, float]
    groups: dict[str, float]
    history: Array
    unit: str
    """What the loss in the history is."""
    size: float
    """How many features an event has, each brought to scale."""

    @classmethod
    def of(cls, weights: Array, history: Array, task: str, size: float) -> "AutoReport":
        """From the weights of the experts, now and over the stream."""
        experts = {expert.name: float(weight) for expert, weight in zip(EXPERTS, weights, strict=True)}
        unit = "log loss" if task == "classes" else "squared error"
        return cls(experts, _by_group(weights), history, unit, size)

    def __str__(self) -> str:
        return "\n".join([*self._sentences(), "", *self._table()])

    def in_words(self) -> str:
        """The sentences alone."""
        return " ".join(self._sentences())

    def as_json(self) -> str:
        """The same for a machine: one JSON object."""
        records = [
            {
                "events": int(row[0]),
                "time": float(row[TIME]),
                "loss": float(row[LOSS]),
                "groups": _by_group(row[FIRST_EXPERT:]),
            }
            for row in self.history
        ]
        return json.dumps({"experts": self.experts, "groups": self.groups, "loss": self.unit, "history": records})

    def plot(self, path: str | Path | None = None) -> Any:
        """The shares of the memories and the loss over the stream, as a figure of matplotlib; saved to `path` if it is given."""
        from matplotlib.figure import Figure  # noqa: PLC0415 - optional, and slow

        figure = Figure(figsize=(8.0, 5.2), layout="constrained")
        shares, loss = figure.subplots(2, 1, sharex=True, height_ratios=[2.0, 1.0])
        events = self.history[:, 0]
        parts = np.array([list(_by_group(row[FIRST_EXPERT:]).values()) for row in self.history]).T
        if len(events):
            shares.stackplot(events, parts, labels=GROUPS, colors=COLOURS, linewidth=0)
            shares.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False, fontsize=9)
            loss.plot(events, self.history[:, LOSS], color="#000000", linewidth=1.4)
        shares.set(ylabel="share of the weight", ylim=(0.0, 1.0), title="Which experts carry the weight")
        loss.set(xlabel="events", ylabel=self.unit)
        if path is not None:
            figure.savefig(path, dpi=110)
        return figure

    # In words

    def _sentences(self) -> list[str]:
        if not len(self.history):
            return ["There are too few events to say anything yet."]
        ranked = sorted(self.groups, key=lambda group: -self.groups[group])
        first, second = (self.groups[group] for group in ranked[:2])
        if first < 0.5:
            return [f"Nothing stands out: {ranked[0]} {first:.0%}, {ranked[1]} {second:.0%}.", *self._changes()]
        sentences = [f"{WORDS[ranked[0]]} ({first:.0%} of the weight)."]
        if second > 0.25:
            sentences.append(f"Also: {WORDS[ranked[1]].lower()} ({second:.0%}).")
        return [*sentences, *self._memory(), *self._changes()]

    def _memory(self) -> list[str]:
        """What the experts with a finite memory remember, in events or in time."""
        shares = [
            (memory, self.experts[expert.name]) for expert in EXPERTS if (memory := self._events(expert)) is not None
        ]
        share = sum(weight for _, weight in shares)
        if share < 0.25:
            return []
        typical = float(np.exp(sum(weight * np.log(memory) for memory, weight in shares) / share))
        times, events = self.history[:, TIME], self.history[:, 0]
        passed = float(times[-1] - times[0]) / float(events[-1] - events[0]) if len(times) > 1 else 0.0
        count = max(round(typical), 1)
        span = f" (about {_plain(typical * passed)} in the unit of the event times)" if passed > 0.0 else ""
        remembered = "the last event" if count == 1 else f"the last {count:,} events"
        return [f"{share:.0%} of the weight is on experts that remember about {remembered}{span}."]

    def _events(self, expert: _core.Expert) -> float | None:
        return self.size * expert.per_feature if expert.per_feature is not None else expert.events

    def _changes(self) -> list[str]:
        """What was different half the stream ago."""
        if len(self.history) < 8:
            return []
        before = self.history[len(self.history) // 2]
        change = _short_share(np.array(list(self.experts.values()))) - _short_share(before[FIRST_EXPERT:])
        if abs(change) < 0.2:
            return []
        more = "more" if change > 0 else "less"
        return [f"The model now relies {more} on recent events than it did at event {int(before[0]):,}."]

    def _table(self) -> list[str]:
        width = max(len(expert.name) for expert in EXPERTS)
        ranked = sorted(self.experts.items(), key=lambda each: -each[1])
        return [f"{name:{width}}  {weight:6.1%}" for name, weight in ranked]


WORDS = {
    "recent events": "Recent events count most, older ones fade",
    "everything, by feature": "All events count, and frequent features are learned slowly, rare ones fast",
    "everything, by curvature": "All events count, and each feature is learned as fast as its curvature allows",
    "labels alone": "Previous labels predict better than the features",
}
COLOURS = ("#D55E00", "#56B4E9", "#0072B2", "#999999")


def _by_group(weights: Sequence[float] | Array) -> dict[str, float]:
    groups = dict.fromkeys(GROUPS, 0.0)
    for expert, weight in zip(EXPERTS, weights, strict=True):
        groups[expert.group] += float(weight)
    return groups


def _plain(number: float) -> str:
    """A number without an exponent: 1,920, 31.4, 0.05."""
    return f"{number:,.0f}" if number >= 100.0 else f"{number:.3g}"


def _short_share(weights: Array) -> float:
    known = (expert.events is not None or expert.per_feature is not None for expert in EXPERTS)
    return float(sum(weight for is_finite, weight in zip(known, weights, strict=True) if is_finite))
