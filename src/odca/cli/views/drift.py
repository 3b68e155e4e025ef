"""What has changed in a stream: in the summary, as a CSV file, and as a picture."""

from importlib.util import find_spec
from typing import TYPE_CHECKING, TextIO

from odca.cli.views.console import Fact

if TYPE_CHECKING:
    from odca.metrics import ClassMetrics, Drift, NumberMetrics
    from odca.stream.model import StreamModel

ENDINGS = (".png", ".pdf", ".svg", ".jpg", ".jpeg")


def drift_facts(drift: "Drift") -> dict[str, list[Fact]]:
    """The changes as a section of a summary in JSON; a text has sentences about them."""
    return {"drift": [Fact(name, value) for name, value in drift.as_json().items()]}


def require_plotting(path: str) -> None:
    """Raise, before any work, if no picture could be drawn there at the end."""
    if not path.lower().endswith(ENDINGS):
        raise ValueError(f"--plot {path}: the name must end in {', '.join(ENDINGS[:-1])} or {ENDINGS[-1]}.")
    if find_spec("matplotlib") is None:
        raise ImportError("--plot needs matplotlib: pip install matplotlib.")


def draw_curve(model: "StreamModel", path: str) -> None:
    """Draw the loss over the stream beside the baselines, with its rises."""
    model.metrics.plot(path, baselines=model.baselines(model.metrics))


def write_curve(metrics: "ClassMetrics | NumberMetrics", file: TextIO) -> None:
    """Write the same as CSV: a line for each part of the stream, with the number of rises that were noticed in it."""
    curve = metrics.curve()
    noticed = [rise.event for rise in metrics.drift.rises]
    ends = curve["events"].tolist()
    file.write(",".join([*curve, "rises"]) + "\n")
    for begin, row in zip(
        [0.0, *ends], zip(*(column.tolist() for column in curve.values()), strict=True), strict=False
    ):
        scores = [f"{row[0]:.0f}", *("" if value != value else repr(value) for value in row[1:])]  # noqa: PLR0124 - NaN
        file.write(",".join([*scores, str(sum(begin < event <= row[0] for event in noticed))]) + "\n")
