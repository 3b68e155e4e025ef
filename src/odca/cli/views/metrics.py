"""How metrics are shown: the progress table, and the summary with its baselines."""

from typing import TYPE_CHECKING, Any

from odca.cli.views import formatting
from odca.cli.views.console import Column, Fact

if TYPE_CHECKING:
    from collections.abc import Sequence

    from odca.metrics import ClassMetrics, NumberMetrics, Row
    from odca.models.options import Label
    from odca.stream.model import StreamModel

COLUMNS = (
    Column("loss", "average\nloss", 10, formatting.decimal),
    Column("since_last", "since\nlast", 10, formatting.decimal),
    Column("events", "event\ncounter", 12, formatting.count),
    Column("weight", "event\nweight", 12, formatting.count),
    Column("label", "current\nlabel", 10, lambda text: formatting.truncate(text, 10)),
    Column("prediction", "current\npredict", 10, lambda text: formatting.truncate(text, 10)),
    Column("features", "current\nfeatures", 8, formatting.count),
)

SCORES = {
    "loss": ("loss", formatting.decimal),
    "accuracy": ("accuracy", formatting.percent),
    "auc": ("AUC", formatting.decimal),
    "log_loss": ("log loss of the probabilities", formatting.decimal),
    "calibration_error": ("calibration error (ECE)", formatting.decimal),
    "mae": ("mean absolute error", formatting.decimal),
    "rmse": ("root mean squared error", formatting.decimal),
    "r2": ("R²", formatting.decimal),
}
BEFORE_LEARNING = "predictions, each made before learning from the event"
WITHOUT_LEARNING = "predictions, without learning from these events"
BASELINES = {
    "no_change": "no change (the previous label)",
    "majority": "majority class so far",
    "mean": "mean so far",
    "best_constant": "best constant in hindsight",
}


def row_values(classes: "Sequence[Label]", row: "Row") -> tuple[Any, ...]:
    """The values of a row, in the order of COLUMNS. Without classes, labels are numbers."""
    label, prediction = row.label, row.prediction
    if classes:
        shown = [_class(classes, code) for code in (label, prediction)]
    else:
        shown = [f"{number:.6g}" for number in (label, prediction)]
    return row.loss, row.since_last, row.events, row.weight, *shown, row.features


def _class(classes: "Sequence[Label]", code: int) -> str:
    from odca.models.options import show  # noqa: PLC0415 - after parsing

    return show(classes[code]) if code >= 0 else "-"


def metrics_facts(
    model: "StreamModel", metrics: "ClassMetrics | NumberMetrics", title: str = BEFORE_LEARNING
) -> dict[str, list[Fact]]:
    """The scores of the predictions and of the baselines, without those that are undefined."""
    scores = [
        Fact(SCORES[name][0], value, SCORES[name][1], name)
        for name, value in metrics.scores().items()
        if value == value  # noqa: PLR0124 - not nan
    ]
    baselines = [
        Fact(f"{BASELINES[name]}: {SCORES[score][0]}", value, SCORES[score][1], f"{name}_{score}")
        for name, reached in model.baselines(metrics).items()
        for score, value in reached.items()
        if value == value  # noqa: PLR0124 - not nan
    ]
    return {title: scores, "baselines": baselines}
