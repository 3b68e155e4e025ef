"""A model that was trained on files, in a few lines: for `repr` and for notebooks."""

from collections.abc import Mapping, Sequence
from math import isnan

from odca.learner import Learner
from odca.losses import Poisson, Quantile
from odca.metrics import ClassMetrics, NumberMetrics
from odca.models.auto import AutoLearner
from odca.models.options import Label, label_text
from odca.records import record
from odca.score_names import BASELINES, SCORES
from odca.stream.read.schema import Schema, native_columns

MOST_NAMES = 8
LONGEST_NAME = 40
FORMATS = {
    "accuracy": "{:.1%}",
    "auc": "{:.4f}",
    "log_loss": "{:.4f}",
    "mae": "{:.4g}",
    "rmse": "{:.4g}",
    "r2": "{:.4f}",
}
"""How the scores are shown that are."""
JUDGED = {"classes": "accuracy", "numbers": "mae"}
"""The score by which the best baseline is chosen."""


@record
class Summary:
    """The facts by name, in order, under a title."""

    title: str
    facts: dict[str, str]

    def as_text(self) -> str:
        """The title, and a fact on each further line."""
        width = max(len(name) for name in self.facts)
        return "\n".join([self.title, *(f"  {name:{width}}  {fact}" for name, fact in self.facts.items())])

    def as_html(self) -> str:
        """A small table. It has the colours of the page around it, and nothing in it is taken for markup."""
        from html import escape  # noqa: PLC0415 - for notebooks

        cell = "text-align:left;vertical-align:top;background:none;padding:0.1em 1.2em 0.1em 0"
        rows = "".join(
            f'<tr style="background:none"><th scope="row" style="{cell};font-weight:normal;opacity:0.7">{escape(name)}</th>'
            f'<td style="{cell}">{escape(fact)}</td></tr>'
            for name, fact in self.facts.items()
        )
        box = "display:inline-block;border:1px solid rgba(128,128,128,0.5);border-radius:0.4em;padding:0.5em 0.9em"
        return (
            f'<div style="{box};color:inherit;font-family:inherit"><strong>{escape(self.title)}</strong>'
            f'<table style="border-collapse:collapse;border:none;margin:0.3em 0 0;color:inherit">{rows}</table></div>'
        )


def listed(names: list[str]) -> str:
    """Some names, and how many there are if these are not all.

    >>> listed(["a", "b"]), listed([str(k) for k in range(12)])
    ('a, b', '0, 1, 2, 3, 4, 5, 6, 7, ... (12)')
    """
    shown = [name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 1]}…" for name in names[:MOST_NAMES]]
    return ", ".join(shown) + (f", ... ({len(names):,})" if len(names) > MOST_NAMES else "")


def summary_of(
    title: str,
    learner: Learner | AutoLearner,
    schema: Schema,
    classes: Sequence[Label],
    metrics: ClassMetrics | NumberMetrics,
    baselines: Mapping[str, Mapping[str, float]],
) -> Summary:
    """The facts about a model of this title, with its scores beside the baselines."""
    task = "classes" if classes else "numbers"
    facts = {"predicts": f"{schema.roles.label or 'the label'} ({task})"}
    if classes:
        facts["classes"] = listed([label_text(each) for each in classes])
    facts["mode"] = "automatic" if isinstance(learner, AutoLearner) else f"one linear model, {learner.loss!r}"
    columns = [name for name, role, _, _ in native_columns(schema) if role == "feature"]
    if columns:
        facts["columns"] = listed(columns)
    facts["features"] = f"{learner.n_features:,}"
    by_loss = isinstance(learner.loss, Quantile | Poisson)
    facts |= score_facts(metrics, baselines, task, by_loss=by_loss)
    return Summary(f"{title}, after {metrics.events:,} events", facts)


def score_facts(
    metrics: ClassMetrics | NumberMetrics,
    baselines: Mapping[str, Mapping[str, float]],
    task: str,
    *,
    by_loss: bool = False,
) -> dict[str, str]:
    """How well each event was predicted before it was learned, and the best of the baselines; `by_loss`, if no other score says it."""
    if not metrics.events:
        return {}
    shown = {*FORMATS, "loss"} if by_loss else {*FORMATS}
    scores = {name: value for name, value in metrics.scores().items() if name in shown and not isnan(value)}
    facts = {"progressive score": _scores(scores)}
    score, sign = "loss" if by_loss else JUDGED[task], -1.0 if task == "classes" else 1.0
    reached = {name: each[score] for name, each in baselines.items() if not isnan(each.get(score, float("nan")))}
    if reached:
        best = min(reached, key=lambda name: sign * reached[name])
        facts["best baseline"] = f"{_scores({score: reached[best]})}, by {BASELINES[best]}"
    return facts


def _scores(scores: Mapping[str, float]) -> str:
    return ", ".join(f"{SCORES[name]} {FORMATS.get(name, '{:.4g}').format(value)}" for name, value in scores.items())
