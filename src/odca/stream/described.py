"""What a model that was trained on files says about itself and its predictions."""

import contextlib
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from odca import _core
from odca.features.spec import feature_name
from odca.learner import Learner
from odca.losses import Poisson, Quantile
from odca.metrics import ClassMetrics, NumberMetrics
from odca.models.auto import AutoLearner
from odca.models.auto_report import AutoReport
from odca.models.options import Answer, Label, is_steady, label_text
from odca.stream.any_data import AnyData, is_one_event
from odca.stream.explaining import Explanation, FeatureNames, explain_automatic, explain_linear
from odca.stream.intervals import WithIntervals
from odca.stream.linear_report import LinearReport
from odca.stream.read.blocks import Block
from odca.stream.read.schema import native_columns
from odca.stream.summary import Summary, listed, score_facts


class Described(WithIntervals):
    """A model with a report, explanations of its predictions, and a short description."""

    past: _core.History | None

    @property
    def learner(self) -> Learner | AutoLearner:
        """The learner inside the model."""
        raise NotImplementedError

    @property
    def task(self) -> str:
        """Whether it predicts "classes" or "numbers"."""
        raise NotImplementedError

    @property
    def classes_read(self) -> tuple[Label, ...]:
        """The classes as they are read: texts and floats; none if labels are numbers."""
        raise NotImplementedError

    @property
    def metrics(self) -> ClassMetrics | NumberMetrics:
        """How well it predicted each event before learning from it."""
        raise NotImplementedError

    @property
    def names(self) -> Sequence[bytes]:
        """The keys of all features that have names, by index."""
        raise NotImplementedError

    def baselines(self, metrics: ClassMetrics | NumberMetrics) -> dict[str, dict[str, float]]:
        """The scores of baselines, which use no features, on the same events."""
        raise NotImplementedError

    def _with_past(
        self, block: Block, past: _core.History | None, *, enters: bool = True, learning: bool = False
    ) -> contextlib.AbstractContextManager[_core.TextBlock]:
        raise NotImplementedError

    def report(self) -> AutoReport | LinearReport:
        """What it has learned: of an automatic model, which memories and experts have the most weight; of a linear one, its largest
        weights. str(report) is a text.
        """
        learner = self.learner
        if isinstance(learner, AutoLearner):
            return replace(learner.report([feature_name(key) for key in self.names]), in_seconds=True)
        outputs = tuple(label_text(each) for each in self.classes_read)
        return LinearReport.of(learner, outputs[1:] if len(outputs) == 2 else outputs or ("",), self._feature_names())

    def explain(self, data: AnyData, *, answer: Answer = "steady", **how: Any) -> Explanation | list[Explanation]:
        """What each feature of an event adds to its margin: a dictionary for each event; of a single dictionary, its own.

        data, answer, how: as for `predict`. The keys are the names of features: "price", "country=NZ", "price is missing", "a * b"; and ""
        for the intercept. The values are numbers, or arrays with one for each of several classes. They sum to the "margins" of
        `predict`, but for an offset. Features that the model does not know are left out. The live answer of an automatic model is
        explained by a linear approximation near the event, with "previous labels" and products of features (docs/auto.md).
        """
        past = None if isinstance(data, Block) else self.past_for_predictions()
        names = self._feature_names()
        found: list[Explanation] = []
        for block in self.blocks_of(data, **how):
            with self._with_past(block, self.past if past is None else past, enters=past is not None) as rows:
                if isinstance(self.learner, AutoLearner):
                    found += explain_automatic(self.learner, rows, names, steady=is_steady(answer))
                else:
                    outputs = len(self.classes_read) if len(self.classes_read) > 2 else 1
                    found += explain_linear(self.learner, rows, names, outputs)
        return found[0] if is_one_event(data) else found

    def _feature_names(self) -> FeatureNames:
        return FeatureNames(self.names, "{}" if self.schema.features.bits is None else "hash {}")

    # In a few lines

    def summary(self) -> Summary:
        """What it is, in a few facts."""
        label, learner, events = self.schema.roles.label, self.learner, self.metrics.events
        mode = "automatic" if isinstance(learner, AutoLearner) else "one linear model"
        facts = {"predicts": f"{label or 'the label'} ({self.task})"}
        if self.classes_read:
            facts["classes"] = listed([label_text(each) for each in self.classes_read])
        facts["mode"] = mode if isinstance(learner, AutoLearner) else f"{mode}, {learner.loss!r}"
        columns = [name for name, role, _, _ in native_columns(self.schema) if role == "feature"]
        if columns:
            facts["columns"] = listed(columns)
        facts["features"] = f"{learner.n_features:,}"
        by_loss = isinstance(learner.loss, Quantile | Poisson)
        facts |= score_facts(self.metrics, self.baselines(self.metrics), self.task, by_loss=by_loss)
        return Summary(f"{type(self).__name__}, after {events:,} events", facts)

    def __repr__(self) -> str:
        return self.summary().as_text()

    def _repr_html_(self) -> str:
        return self.summary().as_html()
