"""Figures of a study, as PNG and SVG: the same bytes for the same numbers.

The colours start with those of Okabe and Ito; people with colour blindness can distinguish all of ours, and all of the others. Other methods
are dashed and drawn below ours. A method has the same colour in all panels of a figure. Legends are below the axes, never over the data.
"""

from pathlib import Path
from typing import Any

import numpy as np

from odca.research.experiments.study import Line, Panel, Study

LEVELS: tuple[tuple[str, Any], ...] = (("#777777", (0, (1, 1.2))), ("#222222", (0, (1, 3.5))))
OURS = ("#0072B2", "#D55E00", "#009E73", "#B66DFF", "#661100", "#E69F00", "#004949", "#56B4E9")
PEERS = ("#E69F00", "#56B4E9", "#000000", "#882255", "#117733", "#332288", "#BBBBBB")
DASHES: tuple[Any, ...] = (
    "--",
    "-.",
    (0, (3, 1, 1, 1, 1, 1)),
    (0, (5, 1)),
    (0, (3, 2)),
    (0, (6, 1, 1, 1)),
    (0, (4, 1, 1, 1)),
)
COLUMNS = 2
WIDTH, HEIGHT, DPI = 6.0, 4.9, 100


def draw(study: Study, folder: Path) -> list[Path]:
    """Draw all panels of a study in one figure; return the files."""
    import matplotlib as mpl  # noqa: PLC0415 - optional, and slow
    from matplotlib.figure import Figure  # noqa: PLC0415 - the same

    rows = -(-len(study.panels) // COLUMNS)
    columns = min(COLUMNS, len(study.panels))
    style = {"svg.hashsalt": "odca", "font.size": 10.0, "axes.spines.top": False, "axes.spines.right": False}
    with mpl.rc_context(style):
        figure = Figure(figsize=(WIDTH * columns, HEIGHT * rows), layout="constrained")
        axes = np.atleast_1d(np.asarray(figure.subplots(rows, columns))).ravel()
        looks = _looks(study)
        for axis, panel in zip(axes, study.panels, strict=False):
            _draw_panel(axis, panel, looks)
        for axis in axes[len(study.panels) :]:
            axis.set_axis_off()
        paths = [folder / f"{study.name}.png", folder / f"{study.name}.svg"]
        figure.savefig(paths[0], dpi=DPI, metadata={"Software": None})
        figure.savefig(paths[1], metadata={"Date": None, "Creator": None})
    return paths


def _looks(study: Study) -> dict[str, tuple[str, Any]]:
    """The colour and line style of each method."""
    out: dict[str, tuple[str, Any]] = {}
    counts = {"ours": 0, "peer": 0}
    for line in (line for panel in study.panels for line in panel.lines if line.kind != "known"):
        if line.label not in out:
            number = counts[line.kind]
            counts[line.kind] += 1
            if line.kind == "ours":
                out[line.label] = OURS[number % len(OURS)], "-"
            else:
                out[line.label] = PEERS[number % len(PEERS)], DASHES[number % len(DASHES)]
    return out


def _draw_panel(axis: Any, panel: Panel, looks: dict[str, tuple[str, Any]]) -> None:
    floor = panel.y_range[0] if panel.y_range else 0.5 * min(float(line.y.min()) for line in panel.lines)
    for number, line in enumerate(each for each in panel.lines if each.kind == "known"):
        _draw_known(axis, line, number, looks)
    for line in (each for each in panel.lines if each.kind != "known"):
        colour, dashes = looks[line.label]
        order = 3.0 if line.kind == "ours" else 2.0
        axis.plot(line.x, line.y, label=line.label, color=colour, linestyle=dashes, linewidth=1.8, zorder=order)
        if line.low is not None and line.high is not None and (panel.banded is None or line.label in panel.banded):
            low = np.maximum(line.low, floor) if panel.y_log else line.low
            axis.fill_between(line.x, low, line.high, color=colour, alpha=0.15, linewidth=0, zorder=order - 2.0)
    axis.set(title=panel.title, xlabel=panel.x_label, ylabel=panel.y_label)
    if panel.x_log:
        axis.set_xscale("log")
    if panel.y_log:
        axis.set_yscale("log")
    if panel.y_range:
        axis.set_ylim(*panel.y_range)
    axis.grid(visible=True, color="#dddddd", linewidth=0.6)
    axis.legend(loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=2, frameon=False, fontsize=8.5)


def _draw_known(axis: Any, line: Line, number: int, looks: dict[str, tuple[str, Any]]) -> None:
    """Draw a theoretical curve in the colour of its method, or a constant level in grey. Both are dotted."""
    of = line.label.partition(":")[0]
    grey, dots = LEVELS[number % len(LEVELS)]
    colour, style, width = (looks[of][0], LEVELS[0][1], 1.4) if of in looks else (grey, dots, 2.2)
    axis.plot(line.x, line.y, label=line.label, color=colour, linestyle=style, linewidth=width, zorder=2.5)
