"""What an automatic model learned about its stream: which memory and which strength carry the weight, now and before."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from odca.inputs import Array

TIME, LOSS, FIRST_LANE = 1, 2, 3
"""Columns of the history: events so far, their time, the mean loss since the look before, a weight for each lane."""


@dataclass(frozen=True, slots=True)
class Lane:
    """What a lane is, for a person: a name, what it remembers in events (None: everything), and how strongly it is held back."""

    name: str
    group: str
    memory: float | None
    strength: float | None = None


LANES: tuple[Lane, ...] = (
    Lane("isotropic, strength 1/64", "last few events", 1.0, 1.0 / 64),
    Lane("isotropic, strength 1/2", "last few events", 4.0, 0.5),
    Lane("isotropic, strength 8", "recent events", 60.0, 8.0),
    Lane("AdaGrad", "everything, by feature", None, 1.0 / 16),
    Lane("AdaGrad, proportionate", "everything, by feature", None, 1.0),
    Lane("diagonal Newton, prior 0.2", "everything, by curvature", None, 0.2),
    Lane("diagonal Newton, prior 4", "everything, by curvature", None, 4.0),
    Lane("diagonal Newton, short memory", "recent events", 20.0, 1.0),
    Lane("the last label", "labels alone", 1.0),
    Lane("mean label, memory 0.7", "labels alone", 3.0),
    Lane("mean label, memory 0.95", "labels alone", 20.0),
    Lane("mean label", "labels alone", None),
)
"""In the order of the core."""
GROUPS = tuple(dict.fromkeys(lane.group for lane in LANES))


@dataclass(frozen=True, slots=True)
class AutoReport:
    """Shares of what is told: `lanes` by name, `groups` by memory; they sum to one. `history` has the same over the stream.

    As text it is str(report); `as_json` and `plot` have it for machines and as a picture.
    """

    lanes: dict[str, float]
    groups: dict[str, float]
    history: Array
    unit: str
    """What the loss in the history is."""

    @classmethod
    def of(cls, weights: Array, history: Array, task: str) -> "AutoReport":
        """From the weights of the lanes and the looks at them."""
        lanes = {lane.name: float(weight) for lane, weight in zip(LANES, weights, strict=True)}
        unit = "log loss" if task == "classes" else "squared error"
        return cls(lanes, _by_group(weights), history, unit)

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
            loss.plot(events, self.history[:, LOSS], color="#000000", linewidth=1.4)
        shares.set(ylabel="share of what is told", ylim=(0.0, 1.0), title="What carries the weight")
        shares.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False, fontsize=9)
        loss.set(xlabel="events", ylabel=self.unit)
        if path is not None:
            figure.savefig(path, dpi=110)
        return figure

    # In words

    def _sentences(self) -> list[str]:
        if not len(self.history):
            return ["Too few events to tell anything."]
        ranked = sorted(self.groups, key=lambda group: -self.groups[group])
        first = ranked[0]
        sentences = [f"{WORDS[first]} ({self.groups[first]:.0%} of what is told)."]
        if self.groups[ranked[1]] > 0.25:
            sentences.append(f"Beside it: {WORDS[ranked[1]].lower()} ({self.groups[ranked[1]]:.0%}).")
        return [" ".join(sentences), *self._memory(), *self._changes()]

    def _memory(self) -> list[str]:
        """What the lanes with a finite memory remember, in events or in time."""
        finite = [(lane.memory, self.lanes[lane.name]) for lane in LANES if lane.memory is not None]
        share = sum(weight for _, weight in finite)
        if share < 0.25:
            return ["All events so far count; forgetting would not help."]
        typical = float(np.exp(sum(weight * np.log(memory) for memory, weight in finite) / share))
        times = self.history[:, TIME]
        passed = float(times[-1] - times[0]) if len(times) > 1 else 0.0
        events = float(self.history[-1, 0] - self.history[0, 0]) if len(times) > 1 else 0.0
        span = f", about {_duration(typical * passed / events)}" if passed > 0.0 and events > 0.0 else ""
        return [f"{share:.0%} of the weight is on the last ~{typical:.0f} events{span}."]

    def _changes(self) -> list[str]:
        """What was different half the stream ago."""
        if len(self.history) < 8:
            return []
        before = self.history[len(self.history) // 2]
        old = before[FIRST_LANE:]
        now = np.array(list(self.lanes.values()))
        out = []
        strength = [(_strength(old), _strength(now))]
        for was, is_now in strength:
            if was > 0.0 and is_now > 0.0 and max(was / is_now, is_now / was) > 1.5:
                word = "weaker" if is_now < was else "stronger"
                out.append(f"The regularisation is {word} than after {int(before[0]):,} events.")
        memory = _short_share(now) - _short_share(old)
        if abs(memory) > 0.1:
            more = "more" if memory > 0 else "less"
            out.append(f"Recent events count {more} than after {int(before[0]):,} events.")
        return out

    def _table(self) -> list[str]:
        width = max(len(lane.name) for lane in LANES)
        ranked = sorted(self.lanes.items(), key=lambda each: -each[1])
        return [f"{name:{width}}  {weight:6.1%}" for name, weight in ranked]


WORDS = {
    "last few events": "It follows the last few events",
    "recent events": "Recent events count, older ones fade",
    "everything, by feature": "All events count, and frequent features are learned slowly, rare ones fast",
    "everything, by curvature": "All events count, each feature as fast as it can be known",
    "labels alone": "The labels alone tell more than the features",
}
COLOURS = ("#D55E00", "#E69F00", "#56B4E9", "#0072B2", "#999999")


def _by_group(weights: Sequence[float] | Array) -> dict[str, float]:
    groups = dict.fromkeys(GROUPS, 0.0)
    for lane, weight in zip(LANES, weights, strict=True):
        groups[lane.group] += float(weight)
    return groups


def _strength(weights: Array) -> float:
    """The geometric mean of the lanes that have one."""
    known = [
        (lane.strength, float(weight)) for lane, weight in zip(LANES, weights, strict=True) if lane.strength is not None
    ]
    share = sum(weight for _, weight in known)
    return float(np.exp(sum(weight * np.log(strength) for strength, weight in known) / share)) if share > 0.0 else 0.0


def _short_share(weights: Array) -> float:
    return float(sum(weight for lane, weight in zip(LANES, weights, strict=True) if lane.memory is not None))


def _duration(seconds: float) -> str:
    for unit, size in (("days", 86_400.0), ("hours", 3_600.0), ("minutes", 60.0)):
        if seconds >= 1.5 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.3g} seconds"
