"""`odca merge`: merge several models into one."""

import argparse
from typing import TYPE_CHECKING, Any

from odca.cli.files import load_any
from odca.cli.flag_spelling import explain
from odca.cli.option_types import reads_file
from odca.cli.shared_options import add_model_output_option, add_printing_options
from odca.cli.views import formatting
from odca.cli.views.console import Fact, Output
from odca.cli.views.metrics import metrics_facts

if TYPE_CHECKING:
    from odca.stream.model import StreamModel

EPILOG = """\
The models must have the same settings: loss, penalty, window and so on. Features are matched by name and classes by label, so the
data may differ in order and format. Each event keeps the weight it has in its own model; docs/merging.md explains what that means
for each window. Models with history cannot be merged.

examples:
  odca merge monday.safetensors tuesday.safetensors -o week.safetensors
  odca merge shards/*.safetensors -o all.safetensors
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's own arguments."""
    reads_file(parser.add_argument("models", nargs="+", metavar="MODEL", help="two or more models"))
    add_model_output_option(parser, "the merged model")
    add_printing_options(parser)
    parser.set_defaults(result_in_file=True)


def run(arguments: argparse.Namespace) -> int:
    """Merge the models and save the result; return the exit code."""
    if len(arguments.models) < 2:
        raise argparse.ArgumentTypeError("argument MODEL: needs at least two models")
    from odca.stream.merging import DifferenceError  # noqa: PLC0415 - after parsing

    output = Output.of(arguments)
    merged = _load(arguments.models[0], output)
    for place, path in enumerate(arguments.models[1:], 1):
        other = _load(path, output)
        if type(other) is not type(merged):
            raise ValueError(
                f"{path} holds a {type(other).__name__}, but the models before it are {type(merged).__name__}s."
            )
        try:
            merged = merged.merge(other)
        except DifferenceError as error:
            error.message = error.between(f"in {_before(arguments.models, place)}", f"in {path}")
            raise ValueError(explain(error)) from error
        except ValueError as error:
            raise ValueError(
                f"{path} cannot be merged with {_before(arguments.models, place)}: {explain(error)}"
            ) from error
    merged.save(arguments.output)
    _show_summary(merged, arguments, output)
    return 0


def _load(path: str, output: Output) -> Any:
    from odca.learner import Learner  # noqa: PLC0415 - after parsing
    from odca.stream.model import StreamModel  # noqa: PLC0415 - after parsing

    model = load_any(path, output)
    if not isinstance(model, StreamModel | Learner):
        raise ValueError(  # noqa: TRY004 - the file's fault
            f"{path} holds a {type(model).__name__}, which cannot be merged. Use models of `odca train`, or Learners."
        )
    return model


def _before(paths: list[str], place: int) -> str:
    return paths[0] if place == 1 else f"the merger of {', '.join(paths[:place])}"


def _show_summary(merged: Any, arguments: argparse.Namespace, output: Output) -> None:
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
    """How well the models predicted their own events, each before learning from it."""
    return metrics_facts(model, model.metrics)
