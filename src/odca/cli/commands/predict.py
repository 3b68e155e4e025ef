"""`odca predict`: print a model's predictions for data."""

import argparse
import json
import math
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

from odca.cli.data_options import add_data_options, open_stream, warn_about_data, warn_about_unknown_features
from odca.cli.files import load_stream_model, open_output
from odca.cli.shared_options import add_answer_option, add_model_argument, add_output_option
from odca.cli.views.console import Output

if TYPE_CHECKING:
    from odca.models.classifier import RawPredictions
    from odca.stream import Block, Stream
    from odca.stream.model import StreamModel, Wanted
    from odca.validation.arrays import Array

EPILOG = """\
Each line holds the predicted class or number, followed by the event's tag if it has one. Data are read in the same way as the
training data, but need no labels, may have their columns in a different order, and may be in a different format. Features that did
not occur in the training data are ignored.

--proba prints one column for each class (also when there are two), below a header line with the names of the classes. --raw prints
the model's output before it becomes a class or a probability: one number per class, or a single number for two classes (positive
for the second) and for regression. Numbers are printed with as many digits as are needed to read back the same number. Lines that
--on-error skip has skipped have no prediction; use tags to match predictions with events.

examples:
  odca predict model.safetensors new.csv
  odca predict model.safetensors 'new/*.jsonl.gz' --proba -o predictions.tsv
  zcat events.vw.gz | odca predict model.safetensors - --json | jq .probabilities
"""


ON_ONE_LINE = str.maketrans({"\n": "\\n", "\r": "\\r", "\t": "\\t"})
"""Keeps a prediction on one line, even if a name contains a line break."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's own arguments."""
    add_model_argument(parser)
    add_data_options(parser)
    add_answer_option(parser)
    add_output_option(parser, "predictions")
    group = parser.add_mutually_exclusive_group()
    group.add_argument("--proba", action="store_true", help="print the probabilities of all classes, separated by tabs")
    group.add_argument("--raw", action="store_true", help="print margins, before they become classes or probabilities")
    parser.add_argument(
        "--no-names", dest="names", action="store_false", help="print no header line with the names of the classes"
    )
    parser.add_argument(
        "--json", action="store_true", help="print one JSON object per line: prediction, tag, probabilities"
    )
    parser.set_defaults(data_on_stdout=True)


def run(arguments: argparse.Namespace) -> int:
    """Print the predictions; return the exit code."""
    output = Output.of(arguments)
    model = load_stream_model(arguments.model, output)
    if arguments.proba and model.task == "numbers":
        raise argparse.ArgumentTypeError("argument --proba: the model predicts numbers, which have no probabilities")
    _require_tag(model, arguments.tag)
    stream = open_stream(arguments, schema=model.schema, labelled=False, vocabulary=model.vocabulary, grow=False)
    writer = _Writer(model, arguments)
    with stream, open_output(arguments.output) as file, output.progress(stream.total) as live:
        for block in stream:
            predictions = _answers(model, block, stream, arguments)
            file.write("".join(writer.lines(block, predictions)))
            live.update(writer.events, stream.consumed)
    if writer.events and not writer.features:
        warn_about_unknown_features(output, model)
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


def _answers(
    model: "StreamModel", block: "Block", stream: "Stream", arguments: argparse.Namespace
) -> "RawPredictions | Array":
    from odca.stream.read.refused_events import without_refused  # noqa: PLC0415 - after parsing

    predict = partial(model.predict_raw, answer=arguments.answer)
    return without_refused(predict, block, stream.bad) if arguments.on_error == "skip" else predict(block)


class _Writer:
    """Predictions as lines."""

    def __init__(self, model: "StreamModel", arguments: argparse.Namespace) -> None:
        from odca.models.options import label_text  # noqa: PLC0415 - after parsing

        self._model, self._arguments = model, arguments
        self._names = [label_text(each) for each in model.classes]
        self._shown_names = [name.translate(ON_ONE_LINE) for name in self._names]
        self._wanted: Wanted = "probabilities" if arguments.proba else "margins" if arguments.raw else "label"
        self._header = arguments.names and not arguments.json
        self.events = 0
        """The number of events so far."""
        self.features = 0
        """The number of their features that the model knows."""

    def lines(self, block: "Block", predictions: "RawPredictions | Array") -> Iterator[str]:
        """The lines of a block."""
        self.events += len(block)
        self.features += int(block.rows.indptr[-1])
        tags = block.tag or [""] * len(block)
        if self._arguments.json:
            return self._objects(predictions, tags)
        return self._texts(predictions, tags, tagged=block.tag is not None)

    def _texts(self, predictions: "RawPredictions | Array", tags: list[str], *, tagged: bool) -> Iterator[str]:
        texts, between = self._labels(predictions), " "
        if self._wanted != "label":
            values = self._model.shown(predictions, self._wanted)
            texts = map(repr, values.tolist())
            if values.ndim == 2:
                texts, between = ("\t".join(map(repr, each)) for each in values.tolist()), "\t"
                if self._header:
                    self._header = False
                    yield "\t".join([*self._shown_names, *(["tag"] if tagged else [])]) + "\n"
        shown = (tag.translate(ON_ONE_LINE) for tag in tags)
        yield from (f"{text}{between}{tag}\n" if tag else f"{text}\n" for text, tag in zip(texts, shown, strict=True))

    def _labels(self, predictions: "RawPredictions | Array") -> Iterator[str]:
        predicted = self._model.predicted(predictions).tolist()
        return (self._shown_names[int(code)] for code in predicted) if self._names else map(repr, predicted)

    def _objects(self, predictions: "RawPredictions | Array", tags: list[str]) -> Iterator[str]:
        model = self._model
        columns: dict[str, list[Any]] = {
            "prediction": [_plain(each) for each in model.shown(predictions, "label").tolist()]
        }
        if any(tags):
            columns["tag"] = [tag or None for tag in tags]
        if self._names:
            columns["probabilities"] = self._by_class(model.shown(predictions, "probabilities"))
        if self._arguments.raw:
            raw = model.shown(predictions, "margins")
            columns["margins"] = raw.tolist() if raw.ndim == 1 else self._by_class(raw)
        encode = json.JSONEncoder(ensure_ascii=False).encode  # `dumps` would make an encoder for each line
        for values in zip(*columns.values(), strict=True):
            found = {
                name: value for name, value in zip(columns, values, strict=True) if name != "tag" or value is not None
            }
            yield encode(found) + "\n"

    def _by_class(self, values: "Array") -> list[dict[str, float]]:
        return [dict(zip(self._names, each, strict=True)) for each in values.tolist()]


def _plain(label: float | str) -> float | str | None:
    """A label for JSON: whole numbers without a decimal point, and null for infinities and NaN."""
    if isinstance(label, str):
        return label
    if not math.isfinite(label):
        return None
    return int(label) if label == int(label) and abs(label) < 1e15 else label
