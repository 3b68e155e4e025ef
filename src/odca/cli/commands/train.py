"""`odca train`: train a model on files."""

import argparse
import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

from odca.cli.data_options import add_data_options, add_feature_options, features_of, open_stream, warn_about_bad_lines
from odca.cli.files import refuse_overwriting, same_file
from odca.cli.learning_options import add_learning_options, learning_options
from odca.cli.option_types import takes_file, whole_number
from odca.cli.views import formatting
from odca.cli.views.console import Fact, Output
from odca.cli.views.metrics import COLUMNS, metrics_facts, row_values

if TYPE_CHECKING:
    from odca.models.options import Label, ModelOptions
    from odca.stream import Block, Position, Stream
    from odca.stream.model import StreamModel

NAME = "train"
SUMMARY = "train a model on files, in one pass"
EPILOG = """\
examples:
  odca train clicks.vw.gz -o model.safetensors
  odca train houses.csv --label price -o model.safetensors --loss huber:10
  odca train 'logs/*.jsonl.zst' --label click --bits 22 --interact user ad --window half-life:7d --time at -o m.safetensors
  zcat big.svm.gz | odca train - -o model.safetensors --checkpoint state.safetensors --every 1000000 --resume
"""
INTERRUPTED = 130
UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's own arguments."""
    add_data_options(parser)
    takes_file(
        parser.add_argument(
            "-o", "--output", metavar="MODEL", required=True, help="the file to write the model to (.safetensors)"
        )
    )
    takes_file(
        parser.add_argument(
            "-i", "--initial", metavar="MODEL", help="continue training this model, with its own settings"
        )
    )
    _add_model_options(parser)
    group = parser.add_argument_group("checkpoints")
    takes_file(group.add_argument("--checkpoint", metavar="FILE", help="save the state of the training to this file"))
    group.add_argument(
        "--every",
        type=_interval,
        metavar="N|30s",
        default=_interval("60s"),
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
        "--table",
        type=whole_number(1),
        metavar="N",
        help="print a row of the table every N events (default: at events 1, 2, 4, 8, ...)",
    )
    parser.add_argument("--quiet", action="store_true", help="print no table and no summary, only warnings")
    parser.add_argument("--json", action="store_true", help="print everything as JSON, one object per line")


def _add_model_options(parser: argparse.ArgumentParser) -> None:
    """The options that define the model. With --initial, the initial model has fixed them already."""
    parser.add_argument(
        "--task",
        choices=("classes", "numbers"),
        help="what the labels are (default: chosen from the loss and the first labels)",
    )
    parser.add_argument(
        "--classes", metavar="A,B,...", help="all classes, if known in advance (default: those of the first events)"
    )
    parser.add_argument(
        "--auto",
        action="store_true",
        help="choose the settings automatically: train many models with different penalties and memories side by side and "
        "mix their predictions",
    )
    parser.add_argument(
        "--memory",
        choices=("events", "time"),
        help="with --auto: measure memories in events or in event time (default: events)",
    )
    add_learning_options(parser)
    add_feature_options(parser)


def run(arguments: argparse.Namespace) -> int:
    """Train and save the model; return the exit code."""
    _check(arguments)
    training = _Training(arguments)
    code = training.run()
    training.model.save(arguments.output)
    if not arguments.quiet:
        training.show_summary()
    training.warn()
    return code


def _check(arguments: argparse.Namespace) -> None:
    """Refuse, before any work, arguments that would make the command fail at its end or would silently be ignored."""
    if arguments.resume and arguments.checkpoint is None:
        raise argparse.ArgumentTypeError("argument --resume: needs --checkpoint, the file to resume from")
    written = {"--output": arguments.output, "--checkpoint": arguments.checkpoint}
    for option, path in written.items():
        if path is not None:
            _require_writable(option, Path(path))
    refuse_overwriting(written, arguments.data)
    if arguments.checkpoint is not None and same_file(arguments.output, arguments.checkpoint):
        raise argparse.ArgumentTypeError("argument --checkpoint: is the same file as --output. Name another file")
    if arguments.initial is not None:
        parser = argparse.ArgumentParser()
        _add_model_options(parser)
        for name, default in vars(parser.parse_args([])).items():
            if getattr(arguments, name) != default:
                option = f"--{name.replace('_', '-')}" if name != "intercept" else "--no-intercept"
                raise argparse.ArgumentTypeError(f"argument {option}: is fixed by the model of --initial. Leave it out")


def _require_writable(option: str, path: Path) -> None:
    """OSError if no file can be created there. (A temporary file is created in the same directory, then renamed.)"""
    folder = path.parent
    if not folder.is_dir():
        raise NotADirectoryError(
            f"{option} {path}: there is no directory {str(folder)!r}. Create it, or name another one."
        )
    if path.is_dir():
        raise IsADirectoryError(f"{option} {path} is a directory. Name a file in it.")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise PermissionError(f"{option} {path}: no permission to write to the directory {str(folder)!r}.")


class _Training:
    """A stream, the model that learns from it, and the output about it."""

    def __init__(self, arguments: argparse.Namespace) -> None:
        from odca.stream.checkpoint import Checkpoint  # noqa: PLC0415 - after parsing

        self._arguments = arguments
        self._output = Output.of(arguments)
        self._started = time.monotonic()
        self._request = _request(arguments)
        found = Checkpoint.find(arguments.checkpoint, self._request) if arguments.resume else None
        self._bad_before = 0 if found is None else found.bad_lines
        if found is not None:
            self._stream = self._open(found.model, found.position)
            self.model = found.model
            if not arguments.quiet:
                self._output.note(f"Resuming after {formatting.plural(found.model.metrics.events, 'event')}.")
        else:
            self._stream, self.model = self._begin()
        self.model.metrics.show_every(arguments.table)
        self._events_before = self.model.metrics.events
        self._saved_at, self._saved_events = time.monotonic(), self.model.metrics.events
        self._interrupted = False

    def _begin(self) -> "tuple[Stream, StreamModel]":
        from odca.stream.model import StreamModel  # noqa: PLC0415 - after parsing

        if self._arguments.initial is not None:
            model = StreamModel.load(self._arguments.initial)
            return self._open(model, None), model
        stream = open_stream(self._arguments, features=features_of(self._arguments), follow=self._arguments.follow)
        try:
            model = StreamModel.begin(_problem(self._arguments), stream.schema, stream.sample)
        except BaseException as error:
            stream.close()
            if isinstance(error, ValueError) and stream.sample.bad_count and self._arguments.on_error == "stop":
                raise stream.sample.bad_lines()[0] from error  # a bad line may be the cause
            raise
        self._warn_if_task_is_guessed(model, stream)
        if stream.vocabulary is not None:
            model.vocabulary = stream.vocabulary
        return stream, model

    def _warn_if_task_is_guessed(self, model: "StreamModel", stream: "Stream") -> None:
        """Labels that have all been equal so far could be classes or numbers."""
        guessed = self._arguments.task is None and self._arguments.loss is None
        labels = stream.sample.y[~stream.sample.is_unlabelled]
        if guessed and model.task == "numbers" and len(labels) and (labels == labels[0]).all():
            self._output.warn(
                f"the labels of the first events are all {labels[0]:g}, so they are treated as numbers. If they are classes, "
                "use --task classes and list all classes with --classes."
            )

    def _open(self, model: "StreamModel", start: "Position | None") -> "Stream":
        return open_stream(
            self._arguments,
            schema=model.schema,
            vocabulary=model.vocabulary,
            start=start,
            follow=self._arguments.follow,
        )

    def run(self) -> int:
        """Learn until the data end or Ctrl-C is pressed."""
        table, arguments = self._output.table(COLUMNS), self._arguments
        with self._stream as stream, self._output.progress(stream.total) as live, self._finishing_on_interrupt():
            for block in stream:
                for row in self._learn(block):
                    if not arguments.quiet:
                        table.row(*row_values(self.model.classes, row))
                if not arguments.quiet:
                    live.update(self.model.metrics.events - self._events_before, stream.consumed)
                if arguments.checkpoint is not None and self._is_due():
                    self._save(block.position)
                if self._interrupted:
                    break
            if arguments.checkpoint is not None and self.model.metrics.events > self._events_before:
                self._save(block.position)
        return INTERRUPTED if self._interrupted and not arguments.follow else 0

    def _learn(self, block: "Block") -> list[Any]:
        if self._arguments.on_error == "skip":
            return self.model.learn_skipping_faulty(block, self._stream.bad)
        return self.model.learn(block)

    def _is_due(self) -> bool:
        kind, interval = self._arguments.every
        events, seconds = self.model.metrics.events - self._saved_events, time.monotonic() - self._saved_at
        return bool((events if kind == "events" else seconds) >= interval)

    def _save(self, position: "Position") -> None:
        from odca.stream.checkpoint import Checkpoint  # noqa: PLC0415 - after parsing

        bad_lines = self._bad_before + self._stream.bad.count
        Checkpoint(self.model, position, bad_lines, self._request).save(self._arguments.checkpoint)
        self._saved_at, self._saved_events = time.monotonic(), self.model.metrics.events

    @contextmanager
    def _finishing_on_interrupt(self) -> Iterator[None]:
        """Ctrl-C (or SIGTERM) ends the training after the current block, so that the position in the data is known. A second one
        ends it at once.
        """

        def finish(_signal: int, _frame: FrameType | None) -> None:
            if self._interrupted:
                raise KeyboardInterrupt
            self._interrupted = True
            self._stream.stop()

        before = {each: signal.signal(each, finish) for each in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for each, handler in before.items():
                signal.signal(each, handler)

    def show_summary(self) -> None:
        """Print what was learned and how well it predicted."""
        metrics, seconds = self.model.metrics, time.monotonic() - self._started
        learned = metrics.events - self._events_before
        facts = [
            Fact("events", metrics.events, formatting.count),
            Fact("features", self.model.learner.n_features, formatting.count),
            Fact("loss", repr(self.model.options.loss), name="loss_name"),
            Fact("time", seconds, formatting.duration, "seconds"),
            Fact("rate", learned / max(seconds, 1e-9), formatting.rate, "events_per_second"),
            Fact("model", self._arguments.output),
        ]
        if self.model.options.auto is not None:
            self._output.note(self.model.report().in_words())
        title = "interrupted" if self._interrupted and not self._arguments.follow else "learned"
        self._output.summary({title: facts, **metrics_facts(self.model, metrics)})

    def warn(self) -> None:
        """Report skipped lines, even with --quiet."""
        warn_about_bad_lines(self._output, self._stream.bad, self._bad_before)


def _problem(arguments: argparse.Namespace) -> "ModelOptions":
    from odca.models.options import ModelOptions  # noqa: PLC0415 - after parsing

    chosen = learning_options(arguments)
    if arguments.memory is not None and not arguments.auto:
        raise argparse.ArgumentTypeError("argument --memory: needs --auto. Without --auto, use --window")
    if arguments.auto:
        _require_defaults(arguments)
    return ModelOptions(
        auto=(arguments.memory or "events") if arguments.auto else None,
        task=arguments.task,
        loss=chosen.loss,
        penalty=chosen.penalty,
        rho=chosen.rho,
        window=chosen.window,
        smoothing=chosen.smoothing,
        prior_strength=chosen.prior_strength,
        intercept=chosen.intercept,
        scale=chosen.scale,
        classes=tuple(_label(each) for each in arguments.classes.split(",")) if arguments.classes else (),
    )


def _require_defaults(arguments: argparse.Namespace) -> None:
    """Refuse learning options beside --auto, which chooses them itself."""
    parser = argparse.ArgumentParser()
    add_learning_options(parser)
    for name, default in vars(parser.parse_args([])).items():
        if getattr(arguments, name) != default:
            option = f"--{name.replace('_', '-')}" if name != "intercept" else "--no-intercept"
            raise argparse.ArgumentTypeError(f"argument {option}: --auto chooses this itself. Leave out one of the two")


def _label(text: str) -> "Label":
    try:
        return float(text)
    except ValueError:
        return text


def _request(arguments: argparse.Namespace) -> dict[str, Any]:
    """The arguments that determine the model: all but those about output and saving."""
    aside = {"output", "checkpoint", "every", "resume", "threads", "table", "quiet", "json", "follow"}
    return {name: value for name, value in vars(arguments).items() if name not in aside}


def _interval(text: str) -> tuple[str, float]:
    unit = UNITS.get(text[-1:])
    try:
        number = float(text[:-1] if unit else text)
    except ValueError:
        number = 0.0
    if not 0.0 < number < 1e18:
        raise argparse.ArgumentTypeError(f"must be a number of events, or a time such as 30s, 5m, 1h; got {text!r}")
    return ("seconds", number * unit) if unit else ("events", number)
