"""`odca freeze`: save the steady answer of an automatic model as one small linear model."""

import argparse
from pathlib import Path

from odca.cli.files import load_stream_model
from odca.cli.shared_options import add_model_argument, add_model_output_option, add_printing_options
from odca.cli.views import formatting
from odca.cli.views.console import Fact, Output

EPILOG = """\
The result predicts what the automatic model predicts while no labels are coming in (--answer steady), and can do what every linear
model can. It keeps none of the experts, so its file is several times smaller. To go on learning, keep the automatic model too.

example:
  odca freeze model.safetensors -o small.safetensors
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's own arguments."""
    add_model_argument(parser)
    add_model_output_option(parser, "the small model")
    add_printing_options(parser, quiet="print no summary")


def run(arguments: argparse.Namespace) -> int:
    """Freeze the model; return the exit code."""
    output = Output.of(arguments)
    frozen = load_stream_model(arguments.model, output).freeze()
    frozen.save(arguments.output)
    if not arguments.quiet:
        sizes = [Path(path).stat().st_size for path in (arguments.model, arguments.output)]
        facts = [
            Fact("features", frozen.learner.n_features, formatting.count),
            Fact("size before", sizes[0], formatting.size, "bytes_before"),
            Fact("size", sizes[1], formatting.size, "bytes"),
            Fact("model", arguments.output),
        ]
        output.summary({"frozen": facts})
    return 0
