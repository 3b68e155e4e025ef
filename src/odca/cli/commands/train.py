"""`odca train`: train a model on files."""

import argparse
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

from odca.cli import INTERRUPTED
from odca.cli.data_options import (
    add_data_options,
    features_of,
    open_stream,
    warn_about_data,
)
from odca.cli.files import open_output
from odca.cli.flag_spelling import explain
from odca.cli.interrupts import INTERRUPTS
from odca.cli.model_options import add_model_options, problem_of, why_plain
from odca.cli.option_types import reads_file, whole_number, writes_file
from odca.cli.prediction_file import PredictionFile
from odca.cli.shared_options import (
    STANDARD_STREAM,
    add_model_output_option,
    add_prediction_options,
    add_printing_options,
    require_forms_of,
)
from odca.cli.training_checks import check_training
from odca.cli.views import formatting
from odca.cli.views.console import Fact, Output
from odca.cli.views.drift import draw_curve, drift_facts, write_curve
from odca.cli.views.metrics import (
    BEFORE_LEARNING,
    COLUMNS,
    metrics_facts,
    row_values,
    unlabelled_facts,
    what_it_loses_to,
)
from odca.cli.views.reading import show_reading

if TYPE_CHECKING:
    from odca.errors import InputError
    from odca.metrics import ProgressRow
    from odca.stream import Position, Stream
    from odca.stream.model import StreamModel
    from odca.stream.training import Saving

EPILOG = """\
The model is automatic: many models with different penalties and memories are trained side by side and mixed as the stream decides.
Any of the options under "how to learn" chooses one linear model instead.

examples:
  odca train clicks.vw.gz
  odca train clicks.vw.gz -o model.safetensors
  odca train houses.csv --label price -o model.safetensors --loss huber:10
  odca train 'logs/*.jsonl.zst' --label click --bits 22 --interact user ad --window half-life:7d --time at -o m.safetensors
  odca train clicks.vw -o model.safetensors --predictions clicks.predictions --proba
  odca train 'days/*.csv' --label click -o model.safetensors --shards 8
  odca train houses.csv --label price -o model.safetensors --predictions prices.tsv --interval 0.9
  odca train kafka://localhost:9092/visits --label bought -o model.safetensors --checkpoint state.safetensors --resume --follow
  zcat big.svm.gz | odca train - -o model.safetensors --checkpoint state.safetensors --every 1000000 --resume
"""
FINISHES = True


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's own arguments."""
    add_data_options(parser)
    add_model_output_option(
        parser, "the model", otherwise="without it, nothing is saved, and the summary says how well it predicted"
    )
    reads_file(
        parser.add_argument(
            "-i", "--initial", metavar="MODEL", help="continue training this model, with its own settings"
        )
    )
    add_model_options(parser)
    group = parser.add_argument_group("checkpoints")
    writes_file(group.add_argument("--checkpoint", metavar="FILE", help="save the state of the training to this file"))
    group.add_argument(
        "--every",
        metavar="N|30s",
        default="60s",
        help="how often to save it: every N events, or every 30s, 5m, 1h (default: 60s)",
    )
    group.add_argument(
        "--resume",
        action="store_true",
        help="continue from the checkpoint if it exists; the model is the same as without the interruption",
    )
    parser.add_argument(
        "--follow", action="store_true", help="wait for more data at the end of the last file, until Ctrl-C"
    )
    parser.add_argument(
        "--shards",
        type=whole_number(least=1),
        default=1,
        metavar="N",
        help="learn in N processes, each a part of the data, and merge their models (docs/merging.md says what that costs)",
    )
    group = parser.add_argument_group("predictions")
    writes_file(
        group.add_argument(
            "-p",
            "--predictions",
            metavar="FILE",
            help="write the prediction for each event to this file, made before the event was learned; - is standard output",
        )
    )
    add_prediction_options(group)
    _add_curve_options(parser)
    add_printing_options(parser, table=True, quiet="print no table and no summary, only warnings")
    parser.set_defaults(result_in_file=True)


def _add_curve_options(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("the loss over the stream")
    writes_file(
        group.add_argument(
            "--curve", metavar="FILE", help="write the loss over the stream beside the baselines to this file, as CSV"
        )
    )
    writes_file(
        group.add_argument(
            "--plot", metavar="FILE", help="draw it, with the events at which the loss has risen (needs matplotlib)"
        )
    )


def run(arguments: argparse.Namespace) -> int:
    """Train and save the model; return the exit code."""
    check_training(arguments)
    arguments.data_on_stdout = arguments.predictions == STANDARD_STREAM
    training = _Training(arguments)
    code = training.run()
    if arguments.output is not None:
        training.model.save(arguments.output)
    if arguments.curve is not None:
        with open_output(arguments.curve) as file:
            write_curve(training.model.metrics, file)
    if arguments.plot is not None:
        draw_curve(training.model, arguments.plot)
    if not arguments.quiet:
        training.show_summary()
    training.warn()
    return code


class _Training:
    """A training (`odca.stream.training`), and the output about it.

    Ctrl-C (or SIGTERM) ends it after the current block, so that the position in the data is known. As soon as there is a model, it
    is saved, even if the stream is not open yet.
    """

    def __init__(self, arguments: argparse.Namespace) -> None:
        from odca.stream.checkpoint import Checkpoint  # noqa: PLC0415 - after parsing
        from odca.stream.model import StreamModel  # noqa: PLC0415 - the same

        self._arguments = arguments
        self._output = Output.of(arguments)
        self._started = time.monotonic()
        self._saving = _saving(arguments)
        found = None
        if arguments.resume and self._saving is not None:
            found = Checkpoint.find(self._saving.path, self._saving.request)
        self._bad_before = 0 if found is None else found.bad_lines
        self._predicted_before = 0 if found is None else found.predicted
        self._stream: Stream | None
        if found is not None:
            self._mode = _mode_of(found.model, "as before the interruption")
            self.model, self._stream = found.model, self._continued(found.model, found.position)
            if not arguments.quiet:
                self._output.note(f"Resuming after {formatting.plural(found.model.metrics.events, 'event')}.")
        elif arguments.initial is not None:
            model = StreamModel.load(arguments.initial)
            self._mode = _mode_of(model, "as the initial model")
            self.model, self._stream = model, self._continued(model, None)
        else:
            with INTERRUPTS.raised():
                self.model, self._stream = self._begun()
        self.model.metrics.show_every(arguments.table)
        self._events_before = self.model.metrics.events
        self._remarks: list[InputError] = []

    def _begun(self) -> "tuple[StreamModel, Stream]":
        """A new model, and the stream that it will learn from."""
        from odca.stream.read.profile import profiles  # noqa: PLC0415 - after parsing
        from odca.stream.training import begin  # noqa: PLC0415 - the same

        arguments, plain = self._arguments, why_plain(self._arguments)
        problem = problem_of(arguments)
        stream = open_stream(arguments, features=features_of(arguments), follow=arguments.follow)
        model, remarks = begin(problem, stream, on_error=arguments.on_error, insists=arguments.auto)
        if model.options.auto is None:
            self._mode = f"one linear model ({plain or 'the events have offsets'})"
        else:
            self._mode = "automatic"
        show_reading(self._output, profiles(stream), quiet=arguments.quiet)
        for remark in remarks:
            self._output.warn(explain(remark))
        return model, stream

    def _continued(self, model: "StreamModel", start: "Position | None") -> "Stream | None":
        """The stream from which a model goes on learning; None if a signal arrives before it is open: it may wait for data."""
        try:
            with INTERRUPTS.raised():
                return open_stream(
                    self._arguments,
                    schema=model.schema,
                    vocabulary=model.vocabulary,
                    start=start,
                    follow=self._arguments.follow,
                )
        except KeyboardInterrupt:
            if INTERRUPTS.arrived > 1:
                raise
            return None

    def run(self) -> int:
        """Learn until the data end or a signal arrives."""
        if self._arguments.shards > 1:
            if self._stream is not None:
                self._stream.close()
            from odca.cli.shard_processes import learn_in_shards  # noqa: PLC0415 - processes are slow to import

            self.model = learn_in_shards(self.model, self._arguments, self._arguments.shards)
        elif self._stream is not None:
            with self._stream as stream, INTERRUPTS.answered(stream.stop):
                self._learn(stream)
        return INTERRUPTED if INTERRUPTS.arrived and not self._arguments.follow else 0

    def _learn(self, stream: "Stream") -> None:
        from odca.stream.training import Training  # noqa: PLC0415 - after parsing

        table, arguments = self._output.table(COLUMNS), self._arguments
        with self._predictions() as predictions, self._output.progress(stream.total) as live:
            training = Training(
                self.model,
                stream,
                on_error=arguments.on_error,
                saving=self._saving,
                bad_before=self._bad_before,
                predictions=predictions,
            )

            def show(rows: "list[ProgressRow]") -> None:
                if arguments.quiet:
                    return
                for row in rows:
                    table.row(*row_values(self.model.classes_read, row))
                live.update(training.events, stream.consumed)

            training.learn(show, stops=lambda: bool(INTERRUPTS.arrived))
        self._remarks = list(training.remarks(task_is_given=arguments.task is not None))

    def _predictions(self) -> "AbstractContextManager[PredictionFile | None]":
        """Where predictions go, if they are wanted."""
        if self._arguments.predictions is None:
            return nullcontext()
        require_forms_of(self.model.task, self._arguments)
        return PredictionFile(self.model, self._arguments, self._output, self._predicted_before)

    def show_summary(self) -> None:
        """Print what was learned and how well it predicted."""
        metrics, seconds = self.model.metrics, time.monotonic() - self._started
        learned = metrics.events - self._events_before
        facts = [
            Fact("events", metrics.events, formatting.count),
            *self._earlier_events(),
            *unlabelled_facts(self.model.unlabelled),
            Fact("features", self.model.learner.n_features, formatting.count),
            Fact("mode", self._mode),
            *([Fact("shards", self._arguments.shards, formatting.count)] if self._arguments.shards > 1 else []),
            Fact("loss", repr(self.model.options.loss), name="loss_name"),
            Fact("time", seconds, formatting.duration, "seconds"),
            Fact("rate", learned / max(seconds, 1e-9), formatting.rate, "events_per_second"),
            Fact("model", self._arguments.output, lambda path: path or "not saved; -o MODEL saves it"),
        ]
        title = "interrupted" if INTERRUPTS.arrived and not self._arguments.follow else "learned"
        for text in self._notes():
            self._output.gap()
            self._output.note(text)
        changes = drift_facts(self.model.drift) if self._output.is_json else {}
        over = f"{BEFORE_LEARNING}, over all {metrics.events:,} events" if self._events_before else BEFORE_LEARNING
        scores = metrics_facts(self.model, metrics, over, coverage=self.model.uncertainty.coverage_held())
        self._output.summary({title: facts, **scores, **changes})

    def _earlier_events(self) -> list[Fact]:
        """How many events were learned by earlier commands. The scores are over those, too."""
        if not self._events_before:
            return []
        return [
            Fact("of these learned before", self._events_before, formatting.count, "events_before"),
            Fact(
                "of these learned now", self.model.metrics.events - self._events_before, formatting.count, "events_now"
            ),
        ]

    def _notes(self) -> Iterator[str]:
        if self._arguments.shards > 1:
            yield (
                f"The model is the merge of {self._arguments.shards} models. Each event was predicted by the model of its own shard, so the "
                "scores below are those of one pass over a part of the data; `odca evaluate` measures the merged model."
            )
        if self.model.options.auto is not None:
            yield self.model.report().in_words()
        if self.model.drift:
            yield str(self.model.drift)
        if (lost := what_it_loses_to(self.model, self.model.metrics)) is not None:
            yield lost

    def warn(self) -> None:
        """Report skipped lines and late classes, even with --quiet."""
        for remark in self._remarks:
            self._output.warn(explain(remark))
        if self._stream is not None:
            warn_about_data(self._output, self._stream, self._bad_before)


def _mode_of(model: "StreamModel", why: str) -> str:
    return f"{'one linear model' if model.options.auto is None else 'automatic'}, {why}"


def _request(arguments: argparse.Namespace) -> dict[str, Any]:
    """The arguments that determine the model: all but those about output and saving."""
    aside = {
        *("given", "output", "checkpoint", "every", "resume", "threads", "table", "quiet", "json", "follow"),
        *("result_in_file", "data_on_stdout", "predictions", "proba", "raw", "names", "interval", "set"),
        *("curve", "plot", "query"),
    }
    form = [f"--{name}" for name in ("proba", "raw", "json") if getattr(arguments, name)]
    form += [] if arguments.names else ["--no-names"]
    form += [f"--{name}={value:g}" for name in ("interval", "set") if (value := getattr(arguments, name)) is not None]
    predictions = None if arguments.predictions is None else " ".join([arguments.predictions, *form])
    return {name: value for name, value in vars(arguments).items() if name not in aside} | {"predictions": predictions}


def _saving(arguments: argparse.Namespace) -> "Saving | None":
    """Where and how often the state of the training is saved."""
    from odca.stream.training import Interval, Saving  # noqa: PLC0415 - after parsing

    try:
        every = Interval.of(arguments.every)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"argument --every: {error}") from error
    return None if arguments.checkpoint is None else Saving(arguments.checkpoint, _request(arguments), every)
