"""`odca predict`: print a model's predictions for data."""

import argparse
from functools import partial
from typing import TYPE_CHECKING

from odca.cli.data_options import add_data_options, open_stream, warn_about_data, warn_about_unknown_features
from odca.cli.files import load_stream_model, open_output
from odca.cli.shared_options import (
    add_answer_option,
    add_model_argument,
    add_output_option,
    add_prediction_options,
    require_forms_of,
)
from odca.cli.views.console import Output
from odca.cli.views.predictions import PredictionLines

if TYPE_CHECKING:
    from odca.stream.model import StreamModel

EPILOG = """\
Each line holds the predicted class or number, followed by the event's tag if it has one. Data are read in the same way as the
training data, but need no labels, may have their columns in a different order, and may be in a different format. Features that did
not occur in the training data are ignored.

--proba prints one column for each class (also when there are two), below a header line with the names of the classes. --raw prints
the model's output before it becomes a class or a probability: one number per class, or a single number for two classes (positive
for the second) and for regression. --interval 0.9 adds two columns, the lower and the upper end of an interval that holds nine labels
out of ten; --set 0.9 adds the classes of such a set, separated by commas (docs/intervals.md says what is promised). Numbers are
printed with as many digits as are needed to read back the same number. Lines that --on-error skip has skipped have no prediction;
use tags to match predictions with events.

examples:
  odca predict model.safetensors new.csv
  odca predict model.safetensors 'new/*.jsonl.gz' --proba -o predictions.tsv
  odca predict rent.safetensors new.csv --interval 0.9 -o predictions.tsv
  zcat events.vw.gz | odca predict model.safetensors - --json | jq .probabilities
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's own arguments."""
    add_model_argument(parser)
    add_data_options(parser)
    add_answer_option(parser)
    add_output_option(parser, "predictions")
    add_prediction_options(parser)
    parser.add_argument(
        "--json",
        action="store_true",
        help="print one JSON object per line: prediction, tag, probabilities, interval, set",
    )
    parser.set_defaults(data_on_stdout=True)


def run(arguments: argparse.Namespace) -> int:
    """Print the predictions; return the exit code."""
    from odca.stream.read.errors import listed  # noqa: PLC0415 - after parsing
    from odca.stream.read.refused_events import without_refused  # noqa: PLC0415 - the same

    output = Output.of(arguments)
    model = load_stream_model(arguments.model, output)
    require_forms_of(model.task, arguments)
    _require_tag(model, arguments.tag)
    stream = open_stream(arguments, schema=model.schema, labelled=False, vocabulary=model.vocabulary, grow=False)
    writer = PredictionLines(model, arguments)
    predict = partial(model.predict_raw, answer=arguments.answer, past=model.past_for_predictions())
    with stream, open_output(arguments.output) as file, output.progress(stream.total) as live:
        for block in stream:
            skips = arguments.on_error == "skip"
            predictions = without_refused(predict, block, stream.bad) if skips else predict(block)
            file.write("".join(writer.lines(block, predictions)))
            file.flush()  # someone may wait for the answer
            live.update(writer.events, stream.consumed)
    if not writer.events and not stream.bad.count:
        output.warn(f"there are no events to predict in {listed(arguments.data)}.")
    if writer.events and not writer.features:
        warn_about_unknown_features(output, model)
    if writer.is_infinite:
        output.warn(
            f"the model has learned too few events for a coverage of {arguments.interval or arguments.set:g}, so nothing is ruled out."
        )
    warn_about_data(output, stream)
    return 0


def _require_tag(model: "StreamModel", tag: str | None) -> None:
    """ArgumentTypeError if the column of the tag is a feature of the model."""
    schema = model.schema
    columns = {column.name for column in schema.columns} - {*schema.roles.by_name()}
    kept = set(schema.features.keep) or columns
    if tag in (columns & kept) - set(schema.features.ignore):
        raise argparse.ArgumentTypeError(
            f"argument --tag: the model uses the column {tag!r} as a feature. Train the model with this --tag or with "
            "--ignore, or put the tags into a column of their own"
        )
