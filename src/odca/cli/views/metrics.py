"""How metrics are told: the table that grows, and the summary with its baselines."""

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
    Column("label", "current\nlabel", 10, lambda text: formatting.short(text, 10)),
    Column("prediction", "current\npredict", 10, lambda text: formatting.short(text, 10)),
    Column("features", "current\nfeatures", 8, formatting.count),
)

NAMES = {
    "loss": ("loss", formatting.decimal),
    "accuracy": ("accuracy", formatting.percent),
    "auc": ("AUC", formatting.decimal),
    "log_loss": ("log loss of probabilities", formatting.decimal),
    "calibration_error": ("calibration error (ECE)", formatting.decimal),
    "mae": ("mean absolute error", formatting.decimal),
    "rmse": ("root mean squared error", formatting.decimal),
    "r2": ("R²", formatting.decimal),
}
BEFORE_LEARNING = "predictions, each made before its event was learned"
WITHOUT_LEARNING = "predictions, by the model as it is"
BASELINES = {
    "no_change": "no change (the label before)",
    "majority": "the majority so far",
    "mean": "the mean so far",
    "best_constant": "the best constant in hindsight",
}


def row_values(classes: "Sequence[Label]", row: "Row") -> tuple[Any, ...]:
    """A row of the table, in the order of COLUMNS. Without classes, labels are numbers."""
    label, prediction = row.label, row.prediction
    if classes:
        shown = [_class(classes, code) for code in (label, prediction)]
    else:
        shown = [f"{number:.6g}" for number in (label, prediction)]
    return row.loss, row.since_last, row.events, row.weight, *shown, row.features


def _class(classes: "Sequence[Label]", code: int) -> str:
    from odca.models.options import show  # noqa: PLC0415 - it is there already, where a model is

    return show(classes[code]) if code >= 0 else "-"


def metrics_facts(
    model: "StreamModel", metrics: "ClassMetrics | NumberMetrics", title: str = BEFORE_LEARNING
) -> dict[str, list[Fact]]:
    """How good the predictions were, and the baselines beside them. What cannot be told is left out."""
    scores = [
        Fact(NAMES[name][0], value, NAMES[name][1], name)
        for name, value in metrics.scores().items()
        if value == value  # noqa: PLR0124 - not nan
    ]
    baselines = [
        Fact(f"{BASELINES[name]}: {NAMES[score][0]}", value, NAMES[score][1], f"{name}_{score}")
        for name, reached in model.baselines(metrics).items()
        for score, value in reached.items()
        if value == value  # noqa: PLR0124 - not nan
    ]
    return {title: scores, "baselines": baselines}
