"""`odca evaluate`: how well a model predicts labelled data."""

import argparse
import time
from typing import TYPE_CHECKING, Any

from odca.cli.data_options import add_data_options, open_stream, tell_bad_lines, tell_unknown_features
from odca.cli.files import add_model, load_stream_model, refuse_overwriting, writing
from odca.cli.learner_options import takes_file, whole_number
from odca.cli.views import formatting
from odca.cli.views.console import Fact, Output
from odca.cli.views.metrics import BEFORE_LEARNING, COLUMNS, WITHOUT_LEARNING, metrics_facts, row_values

if TYPE_CHECKING:
    from collections.abc import Callable

    from odca.metrics import ClassMetrics, NumberMetrics, Row
    from odca.stream import Block, Stream
    from odca.stream.model import StreamModel
    from odca.stream.read.stream import BadLines

NAME = "evaluate"
SUMMARY = "tell how well a model predicts labelled data, beside baselines"
EPILOG = """\
The model file is not changed. Labels of classes that the model does not know count as predicted wrongly; with --progressive a model
of more than two classes learns them as they come, and to one of two classes they are errors (see --on-error).

examples:
  odca evaluate model.safetensors test.csv
  odca evaluate model.safetensors 'days/*.vw.gz' --progressive --curve curve.csv --table 10000
  odca evaluate model.safetensors test.svm --json | jq 'select(.event == "summary")'
"""
CURVE = ("events", "weight", "loss", "since_last")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's own arguments."""
    add_model(parser)
    add_data_options(parser)
    parser.add_argument(
        "--progressive",
        action="store_true",
        help="learn from each event behind its prediction: how well would the model do if it went on? Nothing is saved",
    )
    takes_file(
        parser.add_argument(
            "--curve", metavar="FILE", help="where the rows of the table are written, as CSV, for a plot"
        )
    )
    parser.add_argument(
        "--table",
        type=whole_number(1),
        metavar="N",
        help="a line of the table every N events (default: at 1, 2, 4, 8, ...)",
    )
    parser.add_argument("--quiet", action="store_true", help="no table, only the summary")
    parser.add_argument("--json", action="store_true", help="tell everything as JSON, an object per line")


def run(arguments: argparse.Namespace) -> int:
    """Do it; return the exit code."""
    output = Output.of(arguments)
    refuse_overwriting({"--curve": arguments.curve}, [arguments.model, *arguments.data])
    model = load_stream_model(arguments.model, output)
    judge = _Progressive(model) if arguments.progressive else _Plain(model)
    judge.metrics.show_every(arguments.table)
    started = time.monotonic()
    stream = open_stream(arguments, schema=model.schema, vocabulary=model.vocabulary, grow=arguments.progressive)
    with stream:
        rows = _judged(stream, judge, arguments, output)
    if not judge.metrics.events:
        raise ValueError("there are no events to be judged.")
    if arguments.curve is not None:
        _write_curve(arguments.curve, rows)
    facts = [
        Fact("events", judge.metrics.events, formatting.count),
        Fact("time", time.monotonic() - started, formatting.duration, "seconds"),
        Fact("model", arguments.model),
    ]
    output.summary({"evaluated": facts, **metrics_facts(model, judge.metrics, judge.title)})
    judge.tell(output)
    tell_bad_lines(output, stream.bad)
    return 0


def _judged(
    stream: "Stream", judge: "_Plain | _Progressive", arguments: argparse.Namespace, output: Output
) -> "list[Row]":
    from odca.stream.read.refused import without_refused  # noqa: PLC0415 - after parsing

    table, rows, features = output.table(COLUMNS), [], 0
    with output.progress(stream.total) as live:
        for block in stream:
            if arguments.on_error == "skip":
                judge.drop_faulty(block, stream.bad)
                found = without_refused(judge.add, block, stream.bad)
            else:
                found = judge.add(block)
            features += int(block.rows.indptr[-1])
            for row in found if not arguments.quiet else ():
                table.row(*row_values(judge.classes, row))
            rows += found
            live.update(judge.metrics.events, stream.consumed)
    if judge.metrics.events and not features:
        tell_unknown_features(output, judge.model)
    return rows


class _Plain:
    """Judges without learning."""

    title = WITHOUT_LEARNING

    def __init__(self, model: "StreamModel") -> None:
        from odca.stream.evaluation import Evaluation  # noqa: PLC0415 - after parsing

        self.model = model
        self._evaluation = Evaluation(model)
        self.metrics: ClassMetrics | NumberMetrics = self._evaluation.metrics
        self.add: Callable[[Block], list[Row]] = self._evaluation.add
        self.drop_faulty: Callable[[Block, BadLines], None] = self._evaluation.drop_faulty

    @property
    def classes(self) -> Any:
        """By their codes."""
        return self._evaluation.classes

    def tell(self, output: Output) -> None:
        """What else there is to know."""
        from odca.models.options import show  # noqa: PLC0415 - after parsing

        if unknown := self._evaluation.unknown:
            shown = ", ".join(
                f"{show(label)} ({formatting.count(count)})" for label, count in list(unknown.items())[:10]
            )
            more = ", ..." if len(unknown) > 10 else ""
            output.warn(f"events of classes that the model does not know count as predicted wrongly: {shown}{more}.")


class _Progressive:
    """Judges each event, then learns from it."""

    title = BEFORE_LEARNING

    def __init__(self, model: "StreamModel") -> None:
        self.model = model
        self.metrics = model.metrics = model.new_metrics()
        self.add = model.learn
        self.drop_faulty = model.drop_faulty

    @property
    def classes(self) -> Any:
        """By their codes."""
        return self.model.classes

    def tell(self, output: Output) -> None:
        """Nothing more."""


def _write_curve(path: str, rows: "list[Row]") -> None:
    with writing(path) as file:
        file.write(",".join(CURVE) + "\n")
        file.writelines(",".join(repr(getattr(row, name)) for name in CURVE) + "\n" for row in rows)
