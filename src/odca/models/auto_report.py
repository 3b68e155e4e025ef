"""What an automatic model has learned about its stream: which memories and strengths have the most weight, now and before."""

import json
from collections.abc import Sequence
from dataclasses import field
from pathlib import Path
from typing import Any

import numpy as np

from odca import _core
from odca.losses import AbsoluteError, LogLoss, Loss, Poisson, Quantile, SquaredError
from odca.records import record
from odca.validation.arrays import Array

EXPERTS = tuple(_core.experts())
"""The experts as cpp/odca/experts/experts.hpp declares them, in the order of the core.

`name` and `group` are for people. An expert remembers about `events` events, or `per_feature` events per feature of an event; if both
are None, it remembers all.
"""
GROUPS = tuple(dict.fromkeys(expert.group for expert in EXPERTS))
BASE_RATE = "the base rate of the labels"
MEMBERS = (
    *(f"{EXPERTS[place].name}{', averaged' if averaged else ''}" for place, averaged in _core.steady_members()),
    BASE_RATE,
)
"""The members of the steady answer, in the order of the core."""

TIME, LOSS, FIRST_EXPERT = 1, 2, 3
"""Columns of the history: events so far, their time, the mean loss since the record before, a weight for each expert."""

UNITS = {
    LogLoss: "log loss",
    SquaredError: "squared error",
    AbsoluteError: "absolute error",
    Poisson: "half the Poisson deviance",
}
"""What the losses in the history are."""


@record
class AutoReport:
    """How much weight each expert has, by how well it has predicted lately: `experts` by name, `groups` by kind of expert; both sum to
    one. `history` has the same over the stream. `steady` has the weights of the members of the steady answer.

    str(report) is a text, `as_json()` is for programs, and `plot()` draws a figure.
    """

    experts: dict[str, float]
    groups: dict[str, float]
    steady: dict[str, float]
    history: Array
    unit: str
    """The kind of loss in the history."""
    size: float
    """The mean number of features of an event, each scaled."""
    products: dict[str, float] = field(default_factory=dict)
    """The products of two features that are used, by name, and how much each moves predictions; the largest come first."""
    in_seconds: bool = False
    """Whether the times of events are known to be in seconds."""

    @classmethod
    def of(cls, core: _core.Experts, loss: Loss, names: Sequence[str] = ()) -> "AutoReport":
        """The report of these experts."""
        weights = core.weights()
        experts = {expert.name: float(weight) for expert, weight in zip(EXPERTS, weights, strict=True)}
        steady = dict(zip(MEMBERS, core.steady_weights().tolist(), strict=True))
        unit = f"pinball loss at {loss.q:g}" if isinstance(loss, Quantile) else UNITS[type(loss)]
        pairs, sizes = core.products()
        share = sum(weights[k] for k, expert in enumerate(EXPERTS) if expert.kind == "with_products")
        moves = {
            product_name(pair, names): share * size for pair, size in zip(pairs.tolist(), sizes.tolist(), strict=True)
        }
        return cls(experts, by_group(weights), steady, core.history(), unit, core.mean_norm, moves)

    def __str__(self) -> str:
        live, steady = "while labels come in, now", "without labels"
        products = ["", *_products_table(self.products)] if self.products else []
        return "\n".join(
            [*self._sentences(), "", *_table(live, self.experts), "", *_table(steady, self.steady), *products]
        )

    def __repr__(self) -> str:
        return str(self)  # what a notebook or a prompt shows

    def in_words(self) -> str:
        """The sentences alone."""
        return " ".join(self._sentences())

    def as_json(self) -> str:
        """The report as a JSON object, for programs."""
        records = [
            {
                "events": int(row[0]),
                "time": float(row[TIME]),
                "loss": float(row[LOSS]),
                "groups": by_group(row[FIRST_EXPERT:]),
            }
            for row in self.history
        ]
        about = {"experts": self.experts, "groups": self.groups, "steady": self.steady, "products": self.products}
        return json.dumps({**about, "loss": self.unit, "history": records})

    def plot(self, path: str | Path | None = None) -> Any:
        """The shares of the groups and the loss over the stream, and the members of the steady answer, as a figure of matplotlib; saved to
        `path` if it is given.
        """
        figure = _picture(self)
        if path is not None:
            figure.savefig(path, dpi=110)
        return figure

    # What happened

    def lately(self) -> dict[str, float]:
        """The mean weights of the experts over the last tenth of the stream, which vary less than those of this moment."""
        if not len(self.history):
            return self.experts
        records = self.history[-max(len(self.history) // 10, 1) :, FIRST_EXPERT:]
        return dict(zip(self.experts, records.mean(axis=0).tolist(), strict=True))

    def shares(self) -> Array:
        """The shares of the groups over the stream, (records, groups)."""
        return np.array([list(by_group(row[FIRST_EXPERT:]).values()) for row in self.history]).reshape(-1, len(GROUPS))

    def change(self) -> tuple[int, str, str] | None:
        """Where most weight moved from one group to another, if it did: the number of the event, and the two groups."""
        return next(iter(self.changes()), None)

    def changes(self) -> list[tuple[int, str, str]]:
        """The largest such move; and the last one, if that is another, at least a tenth of the stream later."""
        shares, reach = self.shares(), max(len(self.history) // 10, 1)
        if len(shares) < 4 * reach or reach < 3:
            return []
        sums = np.vstack([np.zeros(len(GROUPS)), np.cumsum(shares, axis=0)])
        middle = np.arange(2 * reach, len(shares) - reach + 1)  # without the beginning, where all weights change
        moved = (sums[middle + reach] - 2.0 * sums[middle] + sums[middle - reach]) / reach
        sizes, is_large = np.abs(moved).sum(axis=1), np.abs(moved).max(axis=1) >= MOVED
        largest = int(sizes.argmax())
        if not is_large[largest]:
            return []
        places = [largest]
        later = np.flatnonzero(is_large[largest + reach :]) + largest + reach
        if len(later):
            last = later[later > later[-1] - reach]  # one move is large at several places
            places.append(int(last[sizes[last].argmax()]))
        return [
            (int(self.history[middle[at] - 1, 0]), GROUPS[moved[at].argmin()], GROUPS[moved[at].argmax()])
            for at in places
        ]

    # In words

    def _sentences(self) -> list[str]:
        if not len(self.history):
            return ["There are too few events to say anything yet."]
        return [self._live(), *self._products(), *self._changes(), self._steady()]

    def _live(self) -> str:
        groups = by_group(list(self.lately().values()))
        ranked = sorted(groups, key=lambda group: -groups[group])
        first, second = (groups[group] for group in ranked[:2])
        begin = "While labels come in, the model relies"
        if first < 0.5:
            return f"{begin} on no one thing: {first:.0%} on {WORDS[ranked[0]]}, {second:.0%} on {WORDS[ranked[1]]}."
        also = f", and on {WORDS[ranked[1]]} ({second:.0%})" if second > 0.25 else ""
        return f"{begin} on {WORDS[ranked[0]]} ({first:.0%} of the weight){also}.{self._memory()}"

    def _memory(self) -> str:
        """A sentence on how much the experts with a finite memory remember, in events or in time."""
        lately = self.lately()
        shares = [(memory, lately[expert.name]) for expert in EXPERTS if (memory := self._events(expert)) is not None]
        share = sum(weight for _, weight in shares)
        if share < 0.25:
            return ""
        typical = float(np.exp(sum(weight * np.log(memory) for memory, weight in shares) / share))
        times, events = self.history[:, TIME], self.history[:, 0]
        between = events[-1] - events[0]
        passed = float(times[-1] / between - times[0] / between) if len(times) > 1 else 0.0
        count = max(round(typical), 1)
        time = typical * passed
        shown = _duration(time) if self.in_seconds else f"{_plain(time)} in the unit of the event times"
        span = f" (about {shown})" if passed > 0.0 else ""
        remembered = "the last event" if count == 1 else f"the last {count:,} events"
        return f" Those with a short memory remember about {remembered}{span}."

    def _products(self) -> list[str]:
        share = by_group(list(self.lately().values()))["products of features"]
        largest = [name for name, size in self.products.items() if size > 0.0][:MOST_PRODUCTS]
        return [f"The products that matter most are {_listed(largest)}."] if share > 0.1 and largest else []

    def _events(self, expert: _core.Expert) -> float | None:
        return self.size * expert.per_feature if expert.per_feature is not None else expert.events

    def _changes(self) -> list[str]:
        starts = ("Around event {}", "The last such move was around event {}:")
        return [
            f"{start.format(f'{event:,}')} the weight moved from {WORDS[before]}, to {WORDS[after]}."
            for start, (event, before, after) in zip(starts, self.changes(), strict=False)
        ]

    def _steady(self) -> str:
        groups = dict.fromkeys(GROUPS, 0.0)
        for (place, _), weight in zip(_core.steady_members(), self.steady.values(), strict=False):
            groups[EXPERTS[place].group] += weight
        ranked = sorted(groups, key=lambda group: -groups[group])
        learned = ", ".join(f"{groups[group]:.0%} {HOW[group]}" for group in ranked if groups[group] > 0.1)
        base = self.steady[BASE_RATE]
        leans = f"{base:.0%} of it {BASE_RATE}" if base > 0.1 else ""
        parts = " and ".join(part for part in (leans, learned and f"learned {learned}") if part)
        caution = " Little of what the features say carries over to later events." if base > 0.5 else ""
        return f"Without labels, it predicts by one linear model, {parts}.{caution}"


MOVED = 0.4
"""The least share of the weight whose move from one group to another is reported."""
HOW = {
    "recent events": "from recent events",
    "everything, by feature": "by AdaGrad",
    "everything, by curvature": "by Newton steps",
    "products of features": "with products of features",
}
"""How members of the steady answer have learned. None of them uses only the previous labels."""
WORDS = {
    "recent events": "experts that learn recent events",
    "everything, by feature": "experts that learn all events by AdaGrad",
    "everything, by curvature": "experts that learn all events by Newton steps",
    "labels alone": "experts that know the previous labels alone",
    "products of features": "experts that use products of features",
}


MOST_PRODUCTS = 3  # in a sentence


def product_name(pair: Sequence[int], names: Sequence[str]) -> str:
    """The name of a product of two features, whose names these are.

    >>> product_name([0, 1], ["hour", "temp"]), product_name([3, 3], [])
    ('hour × temp', 'x3²')
    """
    first, second = (names[j] if j < len(names) else f"x{j}" for j in pair)
    return f"{first}²" if first == second else f"{first} × {second}"


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def by_group(weights: Sequence[float] | Array) -> dict[str, float]:
    """The shares of the groups."""
    groups = dict.fromkeys(GROUPS, 0.0)
    for expert, weight in zip(EXPERTS, weights, strict=True):
        groups[expert.group] += float(weight)
    return groups


def _table(title: str, weights: dict[str, float]) -> list[str]:
    width = max(len(name) for name in (*MEMBERS, *(expert.name for expert in EXPERTS)))
    ranked = sorted(weights.items(), key=lambda each: -each[1])
    return [f"weights {title}:", *(f"  {name:{width}}  {weight:6.1%}" for name, weight in ranked if weight >= SHOWN)]


def _products_table(products: dict[str, float]) -> list[str]:
    shown = list(products.items())[:MOST_BARS]
    width = max(len(name) for name, _ in shown)
    return [
        "products of features, by how much they move predictions:",
        *(f"  {name:{width}}  {size:.3g}" for name, size in shown),
    ]


SHOWN = 0.0005  # smaller weights would be shown as 0.0 %


def _plain(number: float) -> str:
    """A number without an exponent: 1,920, 31.4, 0.05."""
    return f"{number:,.0f}" if number >= 100.0 else f"{number:.3g}"


def _duration(seconds: float) -> str:
    """A time in words.

    >>> _duration(1920.0), _duration(1.0), _duration(200_000.0)
    ('32 minutes', '1 second', '2.3 days')
    """
    units = {"day": 86_400.0, "hour": 3600.0, "minute": 60.0, "second": 1.0}
    name, size = next(((name, size) for name, size in units.items() if seconds >= size), ("second", 1.0))
    number = f"{seconds / size:.2g}" if seconds < 10.0 * size else _plain(round(seconds / size))
    return f"{number} {name}" if number == "1" else f"{number} {name}s"


# The picture

COLOURS = dict(zip(GROUPS, ("#D55E00", "#56B4E9", "#0072B2", "#999999", "#009E73"), strict=True))
OF_EXPERTS = {expert.name: COLOURS[expert.group] for expert in EXPERTS}
LABELS = {
    "recent events": "recent events",
    "everything, by feature": "all events (AdaGrad)",
    "everything, by curvature": "all events (Newton)",
    "labels alone": "previous labels alone",
    "products of features": "products of features",
}
MOST_BARS = 8


def _picture(report: AutoReport) -> Any:
    """On the left, the shares of the groups and the loss over the stream; on the right, the live and the steady weights."""
    from matplotlib.figure import Figure  # noqa: PLC0415 - optional, and slow

    figure = Figure(figsize=(12.0, 5.8), layout="constrained")
    grid = figure.add_gridspec(2, 2, width_ratios=[2.6, 1.0], height_ratios=[1.6, 1.0])
    shares = figure.add_subplot(grid[0, 0])
    loss = figure.add_subplot(grid[1, 0], sharex=shares)
    _draw_shares(shares, report)
    _draw_loss(loss, report)
    _draw_bars(figure.add_subplot(grid[0, 1]), "While labels come in, lately", report.lately())
    _draw_bars(figure.add_subplot(grid[1, 1]), "Without labels", report.steady)
    return figure


def _draw_shares(axes: Any, report: AutoReport) -> None:
    axes.set(ylabel="share of the weight", ylim=(0.0, 1.0))
    axes.set_title("What the model relied on over the stream", fontsize=11, loc="left")
    axes.tick_params(labelbottom=False)
    if not len(report.history):
        return
    parts, events = _smoothed(report.shares()).T, report.history[:, 0]
    axes.stackplot(events, parts, labels=[LABELS[group] for group in GROUPS], colors=COLOURS.values(), linewidth=0)
    axes.set_xlim(events[0], events[-1])
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.02), ncols=2, frameon=False, fontsize=9)
    if (change := report.change()) is not None:
        axes.axvline(change[0], color="black", linewidth=1.2, linestyle="--")
        side = "right" if change[0] > 0.6 * events[-1] else "left"
        text = f" around event {change[0]:,} \n to {LABELS[change[2]]} "
        box = {"facecolor": "white", "alpha": 0.85, "linewidth": 0}
        axes.text(change[0], 0.97, text, ha=side, va="top", fontsize=9, bbox=box)


def _smoothed(shares: Array) -> Array:
    """Moving averages over a fiftieth of the stream, because single records vary by chance."""
    reach = len(shares) // 100
    sums = np.vstack([np.zeros(shares.shape[1]), np.cumsum(shares, axis=0)])
    last = np.minimum(np.arange(len(shares)) + reach + 1, len(shares))
    first = np.maximum(np.arange(len(shares)) - reach, 0)
    return np.asarray((sums[last] - sums[first]) / (last - first)[:, None])


def _draw_loss(axes: Any, report: AutoReport) -> None:
    axes.set(xlabel="events", ylabel=report.unit)
    axes.spines[["top", "right"]].set_visible(False)
    if not len(report.history):
        return
    axes.plot(report.history[:, 0], report.history[:, LOSS], color="black", linewidth=1.2)
    axes.set_ylim(bottom=0.0)
    axes.xaxis.set_major_formatter("{x:,.0f}")
    if (change := report.change()) is not None:
        axes.axvline(change[0], color="black", linewidth=1.2, linestyle="--")


def _draw_bars(axes: Any, title: str, weights: dict[str, float]) -> None:
    """The largest weights, each with its name, in the colour of its group."""
    ranked = sorted(weights.items(), key=lambda each: -each[1])[:MOST_BARS]
    shown = [(name, weight) for name, weight in ranked if weight >= 0.005]
    names, values = [name for name, _ in shown], [weight for _, weight in shown]
    colours = [OF_EXPERTS.get(name.removesuffix(", averaged"), COLOURS["labels alone"]) for name in names]
    bars = axes.barh([name.replace(BASE_RATE, "base rate of labels") for name in names], values, color=colours)
    axes.bar_label(bars, [f"{value:.0%}" for value in values], padding=3, fontsize=9)
    axes.set_title(title, fontsize=11, loc="right")
    axes.set_xlim(0.0, max([*values, 0.1]) * 1.2)
    axes.set_ylim(max(len(shown), 6) - 0.4, -0.6)
    axes.tick_params(axis="y", labelsize=9, length=0)
    axes.set_xticks([])
    axes.spines[["top", "right", "bottom"]].set_visible(False)
