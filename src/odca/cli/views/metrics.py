"""How metrics are shown: the progress table, and the summary with its baselines."""

from math import nan
from typing import TYPE_CHECKING, Any

from odca.cli.views import formatting
from odca.cli.views.console import Fact, PrintedColumn
from odca.score_names import BASELINES, SCORES

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from odca.metrics import ClassMetrics, NumberMetrics, ProgressRow
    from odca.models.options import Label
    from odca.stream.model import StreamModel

COLUMNS = (
    PrintedColumn("loss", "average\nloss", 10, formatting.decimal),
    PrintedColumn("since_last", "since\nlast", 10, formatting.decimal),
    PrintedColumn("events", "event\ncounter", 12, formatting.count),
    PrintedColumn("weight", "event\nweight", 12, formatting.count),
    PrintedColumn("label", "current\nlabel", 10, lambda text: formatting.truncate(text, 10)),
    PrintedColumn("prediction", "current\npredict", 10, lambda text: formatting.truncate(text, 10)),
    PrintedColumn("features", "current\nfeatures", 8, formatting.count),
)

SHOWN_COVERAGE = 0.9
BEFORE_LEARNING = "predictions, each made before learning from the event"
WITHOUT_LEARNING = "predictions, without learning from these events"


def row_values(classes: "Sequence[Label]", row: "ProgressRow") -> tuple[Any, ...]:
    """The values of a row, in the order of COLUMNS. Without classes, labels are numbers."""
    label, prediction = row.label, row.prediction
    if classes:
        shown = [_class(classes, code) for code in (label, prediction)]
    else:
        shown = [f"{number:.6g}" for number in (label, prediction)]
    return row.loss, row.since_last, row.events, row.weight, *shown, row.features


def _class(classes: "Sequence[Label]", code: int) -> str:
    from odca.models.options import label_text  # noqa: PLC0415 - after parsing

    return label_text(classes[code]) if code >= 0 else "-"


def unlabelled_facts(count: int) -> list[Fact]:
    """How many events had no label, if any."""
    return [Fact("without a label", count, formatting.count, "unlabelled")] if count else []


def metrics_facts(
    model: "StreamModel",
    metrics: "ClassMetrics | NumberMetrics",
    title: str = BEFORE_LEARNING,
    *,
    coverage: float = nan,
) -> dict[str, list[Fact]]:
    """The scores of the predictions and of the baselines, without those that are undefined.

    coverage: the share of the labels that the intervals or sets of SHOWN_COVERAGE held, if it is known.
    """
    scores = [
        Fact(SCORES[name], value, _shown_as(name), name)
        for name, value in metrics.scores().items()
        if value == value  # noqa: PLR0124 - not nan
    ]
    if coverage == coverage:  # noqa: PLR0124 - not nan
        what = "sets of classes" if model.classes else "intervals"
        scores.append(
            Fact(f"labels in its {100.0 * SHOWN_COVERAGE:.0f} % {what}", coverage, formatting.percent, "coverage_90")
        )
    baselines = [
        Fact(f"{BASELINES[name]}: {SCORES[score]}", value, _shown_as(score), f"{name}_{score}")
        for name, reached in model.baselines(metrics).items()
        for score, value in reached.items()
        if value == value  # noqa: PLR0124 - not nan
    ]
    return {title: scores, "baselines": baselines}


def what_it_loses_to(
    model: "StreamModel", metrics: "ClassMetrics | NumberMetrics", *, is_live: bool = True
) -> str | None:
    """A sentence about the baseline that predicts better than the model, and what to try; None if there is none.

    is_live: whether the labels of the events before were known.
    """
    scores = metrics.scores()
    baselines = model.baselines(metrics) if metrics.events >= LEAST_EVENTS else {}
    for name in sorted(baselines, key=lambda each: each == "no_change"):  # the hardest to beat comes last
        reached = baselines[name]
        judged = (
            ["loss"] if reached.get("loss", nan) == reached.get("loss") else list(reached)
        )  # what was trained for, if known
        worse = [each for each in judged if _is_better(each, reached[each], scores.get(each, reached[each]))]
        if worse:
            show = _shown_as(worse[0])
            against = f"{SCORES[worse[0]]} {show(scores[worse[0]])} against {show(reached[worse[0]])}"
            only_unsure = worse == ["log_loss"] and "accuracy" in judged
            advice = TOO_SURE if only_unsure else _advice(model, name, is_live)
            return f"This is worse than the baseline {BASELINES[name]}: {against}. {advice}"
    return None


def _shown_as(score: str) -> "Callable[[float], str]":
    return formatting.percent if score == "accuracy" else formatting.decimal


def _is_better(score: str, one: float, other: float) -> bool:
    return one > other if score in HIGHER_IS_BETTER else one < other


def _advice(model: "StreamModel", baseline: str, is_live: bool) -> str:
    if baseline == "no_change" and not is_live:
        return "That baseline knows the label before each event. If labels keep coming in, keep learning: see --progressive."
    if model.options.auto is None:
        return "Try the automatic mode: train without the options that choose one linear model."
    if baseline == "no_change":
        return "Features about the recent past may help."
    return "The features say little about these labels: try other features, or more events."


TOO_SURE = (
    "It chooses the classes well, but its probabilities are too sure: these events may differ from those it learned."
)
LEAST_EVENTS = 100
HIGHER_IS_BETTER = {"accuracy", "auc", "r2"}
