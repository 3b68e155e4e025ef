"""The picture of a stream: the loss and the scores beside the baselines, with the rises of the loss marked."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from odca.metrics.drift import Drift
from odca.score_names import BASELINES, SCORES
from odca.validation.arrays import Array

COLOURS = {
    "no_change": "#E69F00",
    "majority": "#009E73",
    "mean": "#009E73",
    "quantile": "#009E73",
    "best_constant": "#999999",
}
MODEL, RISE = "#0072B2", "#D55E00"
MOST_NAMED = 8


def picture(curve: Mapping[str, Array], drift: Drift, baselines: Mapping[str, Mapping[str, float]]) -> Any:
    """The loss above, and the accuracy or the mean absolute error below."""
    from matplotlib.figure import Figure  # noqa: PLC0415 - optional, and slow

    figure = Figure(figsize=(10.0, 6.2), layout="constrained")
    upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=[1.3, 1.0])
    upper.set_title("Predictions over the stream, each made before learning from the event", fontsize=11, loc="left")
    for axes, score in ((upper, "loss"), (lower, next(name for name in ("accuracy", "mae") if name in curve))):
        _draw(axes, score, curve, baselines)
        for rise in drift.rises:
            axes.axvline(rise.event, color=RISE, linewidth=1.0, linestyle="--", zorder=1)
    _name_rises(upper, drift)
    for axes in (upper, lower):
        axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False, fontsize=9)
    lower.set_xlabel("events")
    lower.xaxis.set_major_formatter("{x:,.0f}")
    return figure


def _draw(axes: Any, score: str, curve: Mapping[str, Array], baselines: Mapping[str, Mapping[str, float]]) -> None:
    events = curve["events"]
    axes.plot(events, curve[score], color=MODEL, linewidth=1.6, label="model", zorder=3)
    for name, colour in COLOURS.items():
        reached, label = baselines.get(name, {}).get(score), BASELINES[name]
        if f"{name}_{score}" in curve and reached is not None:
            axes.plot(events, curve[f"{name}_{score}"], color=colour, linewidth=1.0, label=label, zorder=2)
        elif reached is not None:
            axes.axhline(reached, color=colour, linewidth=1.0, linestyle=":", label=label, zorder=2)
    axes.set_ylabel(SCORES[score])
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_xlim(0.0, max(float(events[-1]) if len(events) else 0.0, 1.0))
    axes.set_ylim(bottom=min(0.0, float(np.nanmin(curve[score], initial=0.0))))


def _name_rises(axes: Any, drift: Drift) -> None:
    """A line in the legend; the events beside the lines, unless there are too many."""
    if not drift.rises:
        return
    axes.plot([], [], color=RISE, linewidth=1.0, linestyle="--", label="the loss has risen")
    for rise in drift.rises if len(drift.rises) <= MOST_NAMED else ():
        where = {"xycoords": ("data", "axes fraction"), "textcoords": "offset points", "xytext": (3, -2)}
        axes.annotate(f"{rise.event:,}", (rise.event, 1.0), **where, fontsize=8, color=RISE, va="top")
