"""The picture of the README: the loss over a drifting stream, odca's automatic mode beside other learners.

    python -m benchmarks.picture              runs all of them and writes benchmarks/results/picture.json
    python -m benchmarks.picture --draw       draws docs/pictures/stream.png from that file

The stream is elec2 in its order. Each curve is the log loss of the probabilities that were told before each event was learned, as a mean
over the last 2,000 events. VW is shown with the one of its six settings (`benchmarks.quality.vw`) that was best in hindsight on this
stream; the others have their defaults. "no change" knows how often the label stays the same, and nothing else.
"""

import argparse
import json
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.quality.baselines import baselines
from benchmarks.quality.methods import Array, Method
from benchmarks.quality.ours import ours
from benchmarks.quality.peers import peers
from benchmarks.quality.streams import Stream, electricity
from benchmarks.quality.trees import trees
from benchmarks.quality.vw import vowpal_wabbit

ROOT = Path(__file__).resolve().parent
RESULTS, PICTURE = ROOT / "results" / "picture.json", ROOT.parent / "docs" / "pictures" / "stream.png"
WINDOW, POINTS = 2000, 200
CURVES = {
    "no change": ("no change", "#9aa0a6", ":"),
    "river": ("river, logistic regression", "#4c9f70", "-"),
    "VW": ("VW, best of 6 settings", "#d08c2f", "-"),
    "river ARF": ("river, adaptive random forest", "#8367c7", "-"),
    "AutoClassifier": ("odca, automatic", "#c2253b", "-"),
}


def losses(method: Method, stream: Stream) -> Array:
    """Of each event, the negative logarithm of the probability that was given to its label."""
    probabilities = method.predict(stream).probabilities
    assert probabilities is not None
    told = np.maximum(probabilities[np.arange(len(stream.y)), stream.y], 1e-15)
    return -np.log(told)


def curve(losses: Array) -> Array:
    """The mean over the last events, at some points of the stream."""
    total = np.concatenate([[0.0], np.cumsum(losses)])
    ends = np.linspace(WINDOW, len(losses), POINTS).astype(int)
    return (total[ends] - total[ends - WINDOW]) / WINDOW


def measure() -> dict[str, Any]:
    """All curves, with the mean loss and the time for an event."""
    stream = electricity()
    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        for method in [*baselines(), *peers(), *vowpal_wabbit(Path(folder)), *trees(), *ours()]:
            name = "VW" if method.name.startswith("VW") else method.name
            if stream.task not in method.tasks or name not in CURVES:
                continue
            began = time.perf_counter()
            each = losses(method, stream)
            took = time.perf_counter() - began
            print(f"{method.name:20} {each.mean():.4f} {1e6 * took / len(each):10.1f} us an event", flush=True)
            if name not in found or each.mean() < found[name]["loss"]:
                found[name] = {
                    "method": method.name,
                    "loss": float(each.mean()),
                    "microseconds": 1e6 * took / len(each),
                    "curve": np.round(curve(each), 4).tolist(),
                }
    return {"stream": stream.name, "events": len(stream.y), "window": WINDOW, "curves": found}


def draw(results: dict[str, Any]) -> None:
    """Draw the curves, each named at its end."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    events = np.linspace(WINDOW, results["events"], POINTS)
    figure, axes = plt.subplots(figsize=(9.0, 4.0), dpi=150, layout="constrained")
    for name, (label, colour, style) in CURVES.items():
        each = results["curves"][name]
        is_ours = name == "AutoClassifier"
        axes.plot(
            events,
            each["curve"],
            style,
            color=colour,
            linewidth=2.4 if is_ours else 1.4,
            label=f"{label}: {each['loss']:.3f}",
        )
    axes.set(xlabel="events", ylabel="log loss, last 2,000 events", xlim=(WINDOW, results["events"]), ylim=(0.0, 0.82))
    axes.xaxis.set_major_formatter(mpl.ticker.StrMethodFormatter("{x:,.0f}"))
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", color="#e6e6e6")
    axes.set_title(
        "Electricity prices, up or down (elec2): predicted before each label was learned", loc="left", fontsize=10
    )
    axes.legend(
        loc="upper left",
        ncols=2,
        frameon=False,
        fontsize=9,
        reverse=True,
        title="mean over the stream",
        alignment="left",
        title_fontsize=9,
    )
    PICTURE.parent.mkdir(exist_ok=True)
    figure.savefig(PICTURE)


def main() -> None:
    """Measure, or draw."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draw", action="store_true", help="draw what was measured")
    if parser.parse_args().draw:
        draw(json.loads(RESULTS.read_text()))
        return
    results = measure()
    RESULTS.write_text(json.dumps(results, indent=1) + "\n")
    draw(results)


if __name__ == "__main__":
    main()
