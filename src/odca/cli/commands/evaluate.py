"""`odca evaluate`: measure how well a model predicts labelled data."""

import argparse
import math
import time
from typing import TYPE_CHECKING, Any

from odca.cli.data_options import add_data_options, open_stream, warn_about_data, warn_about_unknown_features
from odca.cli.files import load_stream_model, open_output
from odca.cli.option_types import writes_file
from odca.cli.shared_options import add_answer_option, add_model_argument, add_printing_options
from odca.cli.views import formatting
from odca.cli.views.console import Fact, Output
from odca.cli.views.metrics import (
    BEFORE_LEARNING,
    COLUMNS,
    WITHOUT_LEARNING,
    metrics_facts,
    row_values,
    unlabelled_facts,
    what_it_loses_to,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from odca.metrics import ClassMetrics, NumberMetrics, ProgressRow
    from odca.models.options import Answer
    from odca.stream import Block, Stream
    from odca.stream.model import StreamModel
    from odca.stream.read.stream import BadLines

EPILOG = """\
The model file is not changed. Events of a class that the model does not know count as wrong predictions. With --progressive, an
automatic model or one of more than two classes learns a new class when it appears; for one linear model of two classes it is an error
(see --on-error).

examples:
  odca evaluate model.safetensors test.csv
  odca evaluate model.safetensors 'days/*.vw.gz' --progressive --curve curve.csv --table 10000
  odca evaluate model.safetensors test.svm --json | jq 'select(.event == "summary")'
"""
CURVE = ("events", "weight", "loss", "since_last")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's own arguments."""
    add_model_argument(parser)
    add_data_options(parser)
    add_answer_option(parser)
    parser.add_argument(
        "--progressive",
        action="store_true",
        help="learn from each event after predicting it, to see how the model would do if training continued; nothing is saved. An "
        "automatic model then gives its live answer",
    )
    writes_file(
        parser.add_argument(
            "--curve", metavar="FILE", help="also write the rows of the table to this file, as CSV, to plot them"
        )
    )
    add_printing_options(parser, table=True, quiet="print no table, only the summary")


def run(arguments: argparse.Namespace) -> int:
    """Evaluate the model and print the scores; return the exit code."""
    output = Output.of(arguments)
    model = load_stream_model(arguments.model, output)
    if arguments.answer == "live" and model.options.auto is not None and not arguments.progressive:
        output.warn(
            "the live answer is for events whose predecessors' labels are known, but without --progressive none of these events is "
            "learned: all are predicted from the events that the model learned last. Add --progressive (the events must be in the order "
            "of time), or leave out --answer live."
        )
    evaluator = _Progressive(model) if arguments.progressive else _Plain(model, arguments.answer)
    evaluator.metrics.show_every(arguments.table)
    started = time.monotonic()
    stream = open_stream(arguments, schema=model.schema, vocabulary=model.vocabulary, grow=arguments.progressive)
    with stream:
        rows = _evaluate(stream, evaluator, arguments, output)
    if not evaluator.metrics.events:
        raise ValueError("the data hold no labelled events to evaluate the model on.")
    if arguments.curve is not None:
        _write_curve(arguments.curve, rows)
    facts = [
        Fact("events", evaluator.metrics.events, formatting.count),
        *unlabelled_facts(evaluator.unlabelled),
        Fact("time", time.monotonic() - started, formatting.duration, "seconds"),
        Fact("model", arguments.model),
    ]
    is_live = arguments.progressive or arguments.answer == "live"
    if (lost := what_it_loses_to(model, evaluator.metrics, is_live=is_live)) is not None:
        output.gap()
        output.note(lost)
    scores = metrics_facts(model, evaluator.metrics, evaluator.title, coverage=evaluator.coverage)
    output.summary({"evaluated": facts, **scores})
    evaluator.show_warnings(output)
    warn_about_data(output, stream)
    return 0


def _evaluate(
    stream: "Stream", evaluator: "_Plain | _Progressive", arguments: argparse.Namespace, output: Output
) -> "list[ProgressRow]":
    from odca.stream.read.refused_events import without_refused  # noqa: PLC0415 - after parsing

    table, rows, features = output.table(COLUMNS), [], 0
    with output.progress(stream.total) as live:
        for block in stream:
            if arguments.on_error == "skip":
                evaluator.drop_faulty(block, stream.bad)
                found = without_refused(evaluator.add, block, stream.bad)
            else:
                found = evaluator.add(block)
            features += int(block.rows.indptr[-1])
            for row in found if not arguments.quiet else ():
                table.row(*row_values(evaluator.classes, row))
            rows += found
            live.update(evaluator.metrics.events, stream.consumed)
    if evaluator.metrics.events and not features:
        warn_about_unknown_features(output, evaluator.model)
    return rows


class _Plain:
    """Evaluates the model as it is."""

    title = WITHOUT_LEARNING

    def __init__(self, model: "StreamModel", answer: "Answer") -> None:
        from odca.stream.evaluation import Evaluation  # noqa: PLC0415 - after parsing

        self.model = model
        self._evaluation = Evaluation(model, answer=answer)
        self.metrics: ClassMetrics | NumberMetrics = self._evaluation.metrics
        self.add: Callable[[Block], list[ProgressRow]] = self._evaluation.add
        self.drop_faulty: Callable[[Block, BadLines], None] = self._evaluation.drop_faulty

    @property
    def classes(self) -> Any:
        """The classes, in the order of their codes."""
        return self._evaluation.classes

    @property
    def unlabelled(self) -> int:
        """How many events had no label."""
        return self._evaluation.unlabelled

    @property
    def coverage(self) -> float:
        """The share of the labels that the intervals or sets held."""
        return self._evaluation.coverage

    def show_warnings(self, output: Output) -> None:
        """Report events of unknown classes."""
        from odca.models.options import label_text  # noqa: PLC0415 - after parsing

        if unknown := self._evaluation.unknown:
            shown = ", ".join(
                f"{label_text(label)} ({formatting.count(count)})" for label, count in list(unknown.items())[:10]
            )
            more = ", ..." if len(unknown) > 10 else ""
            output.warn(f"events of classes that the model does not know count as wrong predictions: {shown}{more}.")


class _Progressive:
    """Evaluates the prediction of each event, then learns from the event."""

    title = BEFORE_LEARNING

    def __init__(self, model: "StreamModel") -> None:
        self.model = model
        self.metrics = model.metrics = model.new_metrics()
        self._before = model.unlabelled
        self._held_before = self._held()
        self.add = model.learn
        self.drop_faulty = model.drop_faulty

    @property
    def classes(self) -> Any:
        """The classes, in the order of their codes."""
        return self.model.classes_read

    @property
    def unlabelled(self) -> int:
        """How many events had no label."""
        return self.model.unlabelled - self._before

    @property
    def coverage(self) -> float:
        """The share of the labels that the intervals or sets held, each as it was before its event."""
        (held, events), (held_before, events_before) = self._held(), self._held_before
        return (held - held_before) / (events - events_before) if events > events_before else math.nan

    def _held(self) -> tuple[float, float]:
        known = self.model.uncertainty
        events = known.events("live")
        return (known.coverage_held() * events if events else 0.0), events

    def show_warnings(self, output: Output) -> None:
        """There are none: new classes are learned."""


def _write_curve(path: str, rows: "list[ProgressRow]") -> None:
    with open_output(path) as file:
        file.write(",".join(CURVE) + "\n")
        file.writelines(",".join(repr(getattr(row, name)) for name in CURVE) + "\n" for row in rows)
