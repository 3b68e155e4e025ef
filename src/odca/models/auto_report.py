"""What an automatic model learned about its stream: which memory and which strength carry the weight, now and before."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from odca.validation.arrays import Array

TIME, LOSS, FIRST_LANE = 1, 2, 3
"""Columns of the history: events so far, their time, the mean loss since the look before, a weight for each lane."""


@dataclass(frozen=True, slots=True)
class Lane:
    """What a lane is, for a person: a name, what it goes by, and how much of the past it knows, in events.

    A lane of strength a takes 1/(1 + a) of the way to an event along its row, so that it knows about 1 + a events for each feature that an
    event has: `per_feature`. None of both: everything.
    """

    name: str
    group: str
    events: float | None = None
    per_feature: float | None = None


LANES: tuple[Lane, ...] = (
    Lane("isotropic, strength 1/64", "recent events", per_feature=1.0 + 1.0 / 64),
    Lane("isotropic, strength 1/2", "recent events", per_feature=1.5),
    Lane("isotropic, strength 8", "recent events", per_feature=9.0),
    Lane("AdaGrad", "everything, by feature"),
    Lane("AdaGrad, proportionate", "everything, by feature"),
    Lane("diagonal Newton, prior 0.2", "everything, by curvature"),
    Lane("diagonal Newton, prior 4", "everything, by curvature"),
    Lane("diagonal Newton, short memory", "recent events", events=20.0),
    Lane("the last label", "labels alone", events=1.0),
    Lane("mean label, memory 0.7", "labels alone", events=3.0),
    Lane("mean label, memory 0.95", "labels alone", events=20.0),
    Lane("mean label", "labels alone"),
)
"""In the order of the core."""
GROUPS = tuple(dict.fromkeys(lane.group for lane in LANES))


@dataclass(frozen=True, slots=True)
class AutoReport:
    """How much each lane is believed, by how well it has predicted lately: `lanes` by name, `groups` by what they go by; both sum to one.
    `history` has the same over the stream.

    As text it is str(report); `as_json` and `plot` have it for machines and as a picture.
    """

    lanes: dict[str, float]
    groups: dict[str, float]
    history: Array
    unit: str
    """What the loss in the history is."""
    size: float
    """How many features an event has, each brought to scale."""

    @classmethod
    def of(cls, weights: Array, history: Array, task: str, size: float) -> "AutoReport":
        """From the weights of the lanes and the looks at them."""
        lanes = {lane.name: float(weight) for lane, weight in zip(LANES, weights, strict=True)}
        unit = "log loss" if task == "classes" else "squared error"
        return cls(lanes, _by_group(weights), history, unit, size)

    def __str__(self) -> str:
        return "\n".join([*self._sentences(), "", *self._table()])

    def in_words(self) -> str:
        """The sentences alone."""
        return " ".join(self._sentences())

    def as_json(self) -> str:
        """The same for a machine: one JSON object."""
        looks = [
            {
                "events": int(row[0]),
                "time": float(row[TIME]),
                "loss": float(row[LOSS]),
                "groups": _by_group(row[FIRST_LANE:]),
            }
            for row in self.history
        ]
        return json.dumps({"lanes": self.lanes, "groups": self.groups, "loss": self.unit, "history": looks})

    def plot(self, path: str | Path | None = None) -> Any:
        """The shares of the memories and the loss over the stream, as a figure of matplotlib; saved to `path` if it is given."""
        from matplotlib.figure import Figure  # noqa: PLC0415 - optional, and slow

        figure = Figure(figsize=(8.0, 5.2), layout="constrained")
        shares, loss = figure.subplots(2, 1, sharex=True, height_ratios=[2.0, 1.0])
        events = self.history[:, 0]
        parts = np.array([list(_by_group(row[FIRST_LANE:]).values()) for row in self.history]).T
        if len(events):
            shares.stackplot(events, parts, labels=GROUPS, colors=COLOURS, linewidth=0)
            shares.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False, fontsize=9)
            loss.plot(events, self.history[:, LOSS], color="#000000", linewidth=1.4)
        shares.set(ylabel="share of the belief", ylim=(0.0, 1.0), title="What is believed")
        loss.set(xlabel="events", ylabel=self.unit)
        if path is not None:
            figure.savefig(path, dpi=110)
        return figure

    # In words

    def _sentences(self) -> list[str]:
        if not len(self.history):
            return ["Too few events to tell anything."]
        ranked = sorted(self.groups, key=lambda group: -self.groups[group])
        first, second = (self.groups[group] for group in ranked[:2])
        if first < 0.5:
            return [f"Nothing stands out: {ranked[0]} {first:.0%}, {ranked[1]} {second:.0%}.", *self._changes()]
        sentences = [f"{WORDS[ranked[0]]} ({first:.0%} of the belief)."]
        if second > 0.25:
            sentences.append(f"Beside it: {WORDS[ranked[1]].lower()} ({second:.0%}).")
        return [*sentences, *self._memory(), *self._changes()]

    def _memory(self) -> list[str]:
        """What the lanes with a finite memory know, in events or in time."""
        shares = [(memory, self.lanes[lane.name]) for lane in LANES if (memory := self._events(lane)) is not None]
        share = sum(weight for _, weight in shares)
        if share < 0.25:
            return []
        typical = float(np.exp(sum(weight * np.log(memory) for memory, weight in shares) / share))
        times, events = self.history[:, TIME], self.history[:, 0]
        passed = float(times[-1] - times[0]) / float(events[-1] - events[0]) if len(times) > 1 else 0.0
        span = f", which take {typical * passed:.3g} units of time" if passed > 0.0 else ""
        return [f"{share:.0%} of it is on about the last {max(typical, 1.0):.0f} events{span}."]

    def _events(self, lane: Lane) -> float | None:
        return self.size * lane.per_feature if lane.per_feature is not None else lane.events

    def _changes(self) -> list[str]:
        """What was different half the stream ago."""
        if len(self.history) < 8:
            return []
        before = self.history[len(self.history) // 2]
        change = _short_share(np.array(list(self.lanes.values()))) - _short_share(before[FIRST_LANE:])
        if abs(change) < 0.2:
            return []
        return [f"Recent events count {'more' if change > 0 else 'less'} than after {int(before[0]):,} events."]

    def _table(self) -> list[str]:
        width = max(len(lane.name) for lane in LANES)
        ranked = sorted(self.lanes.items(), key=lambda each: -each[1])
        return [f"{name:{width}}  {weight:6.1%}" for name, weight in ranked]


WORDS = {
    "recent events": "Recent events count, older ones fade",
    "everything, by feature": "All events count, and frequent features are learned slowly, rare ones fast",
    "everything, by curvature": "All events count, each feature as fast as it can be known",
    "labels alone": "The labels before tell more than the features",
}
COLOURS = ("#D55E00", "#56B4E9", "#0072B2", "#999999")


def _by_group(weights: Sequence[float] | Array) -> dict[str, float]:
    groups = dict.fromkeys(GROUPS, 0.0)
    for lane, weight in zip(LANES, weights, strict=True):
        groups[lane.group] += float(weight)
    return groups


def _short_share(weights: Array) -> float:
    known = (lane.events is not None or lane.per_feature is not None for lane in LANES)
    return float(sum(weight for is_finite, weight in zip(known, weights, strict=True) if is_finite))
