"""`odca split`: split a model into parts, the inverse of `odca merge`."""

import argparse
from pathlib import Path

from odca.cli.files import load_any
from odca.cli.option_types import reads_file, whole_number
from odca.cli.shared_options import add_printing_options
from odca.cli.views import formatting
from odca.cli.views.console import Fact, Output

EPILOG = """\
Each part makes the same predictions and has a share of everything that was learned. Train each on other data (odca train -i), on as many
machines as you like, and merge them: no model diverges, however rarely they are merged (docs/merging.md).

examples:
  odca split model.safetensors -n 4         # model.part1.safetensors ... model.part4.safetensors
  odca split model.safetensors -n 2 --prefix parts/day
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's own arguments."""
    reads_file(parser.add_argument("model", metavar="MODEL", help="the model"))
    parser.add_argument(
        "-n", "--parts", type=whole_number(least=1), required=True, metavar="K", help="the number of parts"
    )
    parser.add_argument(
        "--prefix",
        metavar="PREFIX",
        help="the parts are PREFIX.part1.safetensors and so on (default: the name of the model, beside it)",
    )
    add_printing_options(parser)
    parser.set_defaults(result_in_file=True)


def run(arguments: argparse.Namespace) -> int:
    """Split the model and save the parts; return the exit code."""
    from odca.learner import Learner  # noqa: PLC0415 - after parsing
    from odca.models.auto import AutoLearner  # noqa: PLC0415 - after parsing
    from odca.stream.model import StreamModel  # noqa: PLC0415 - after parsing

    output = Output.of(arguments)
    model = load_any(arguments.model, output)
    if not isinstance(model, StreamModel | Learner | AutoLearner):
        raise ValueError(  # noqa: TRY004 - the file's fault
            f"{arguments.model} holds a {type(model).__name__}, which cannot be split. Use a model of `odca train`, or a Learner."
        )
    path = Path(arguments.model)
    prefix = arguments.prefix or str(path.with_suffix("") if path.suffix == ".safetensors" else path)
    parts = model.split(arguments.parts)
    files = [f"{prefix}.part{number}.safetensors" for number in range(1, len(parts) + 1)]
    for part, file in zip(parts, files, strict=True):
        part.save(file)
    learner = model.learner if isinstance(model, StreamModel) else model
    output.summary(
        {
            "split": [
                Fact("parts", len(parts), formatting.count),
                Fact("events", learner.count, formatting.count),
                Fact("models", f"{files[0]} ... {files[-1]}" if len(files) > 1 else files[0]),
            ]
        }
    )
    return 0
