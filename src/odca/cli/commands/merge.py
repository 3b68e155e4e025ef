"""`odca merge`: one model of several."""

import argparse
from typing import TYPE_CHECKING, Any

from odca.cli.files import load_any
from odca.cli.flags import explain
from odca.cli.learner_options import takes_file
from odca.cli.views import formatting
from odca.cli.views.console import Fact, Output
from odca.cli.views.metrics import metrics_facts

if TYPE_CHECKING:
    from odca.stream.model import StreamModel

NAME = "merge"
SUMMARY = "make one model of several that learned from different data"
EPILOG = """\
The models must be of one problem: the same loss, penalty, window and so on. Features are known by their names and classes by
their labels, so the data need not be in the same order, or format. Each event counts as it did in its own model; docs/merging.md
says what that means, by window. Models that scale their features (as those of CSV and JSON do, unless trained with --no-scale) have
units of their own and cannot be merged.

examples:
  odca merge monday.safetensors tuesday.safetensors -o week.safetensors
  odca merge shards/*.safetensors -o all.safetensors
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's own arguments."""
    takes_file(parser.add_argument("models", nargs="+", metavar="MODEL", help="at least two models, of any events"))
    takes_file(
        parser.add_argument(
            "-o", "--output", metavar="MODEL", required=True, help="where the merged model is written (.safetensors)"
        )
    )
    parser.add_argument("--json", action="store_true", help="tell everything as JSON, an object per line")


def run(arguments: argparse.Namespace) -> int:
    """Do it; return the exit code."""
    if len(arguments.models) < 2:
        raise argparse.ArgumentTypeError("argument MODEL: at least two models are needed")
    output = Output.of(arguments)
    merged = _load(arguments.models[0], output)
    for place, path in enumerate(arguments.models[1:], 1):
        other = _load(path, output)
        if type(other) is not type(merged):
            raise ValueError(
                f"{path} holds a {type(other).__name__}, the models before it are {type(merged).__name__}s."
            )
        try:
            merged = merged.merge(other)
        except ValueError as error:
            raise ValueError(
                f"{path} cannot be merged with {_before(arguments.models, place)}: {explain(error)}"
            ) from error
    merged.save(arguments.output)
    _tell(merged, arguments, output)
    return 0


def _load(path: str, output: Output) -> Any:
    from odca.learner import Learner  # noqa: PLC0415 - after parsing
    from odca.stream.model import StreamModel  # noqa: PLC0415 - after parsing

    model = load_any(path, output)
    if not isinstance(model, StreamModel | Learner):
        raise ValueError(  # noqa: TRY004 - the file's fault
            f"{path} holds a {type(model).__name__}, which cannot be merged. Models of `odca train` and Learners can."
        )
    return model


def _before(paths: list[str], place: int) -> str:
    return paths[0] if place == 1 else f"those before it ({', '.join(paths[:place])})"


def _tell(merged: Any, arguments: argparse.Namespace, output: Output) -> None:
    from odca.learner import Learner  # noqa: PLC0415 - after parsing

    learner = merged if isinstance(merged, Learner) else merged.learner
    facts = [
        Fact("models", len(arguments.models), formatting.count),
        Fact("events", learner.count, formatting.count),
        Fact("features", learner.n_features, formatting.count),
        Fact("model", arguments.output),
    ]
    output.summary({"merged": facts, **({} if merged is learner else _scores(merged))})


def _scores(model: "StreamModel") -> dict[str, list[Fact]]:
    """How well the parts predicted their own events, each before it learned it."""
    return metrics_facts(model, model.metrics)
