"""`odca predict`: a model and data to predictions."""

import argparse
import json
import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from odca.cli.data_options import add_data_options, open_stream, tell_bad_lines, tell_unknown_features
from odca.cli.files import add_model, add_output, load_stream_model, refuse_overwriting, writing
from odca.cli.views.console import Output

if TYPE_CHECKING:
    from odca.models.classifier import Answers
    from odca.stream import Block, Stream
    from odca.stream.model import StreamModel, Wanted
    from odca.validation.arrays import Array

NAME = "predict"
SUMMARY = "predict events by a model, one line for each"
EPILOG = """\
A line is the class or the number, and behind it, if the event has one, its tag. Data are read as those were that the model learned
from, but need no labels, may have their columns in another order, or be of another format. What the model has not seen is left out.

--proba writes a column for each class, also if they are two, below a line that names them. --raw writes margins: of numbers, and of
two classes (the second against the first), there is one; else one for each class. Numbers have as many digits as it takes to
read the same number again. Lines that --on-error skips have no prediction: tags tell which is which.

examples:
  odca predict model.safetensors new.csv
  odca predict model.safetensors 'new/*.jsonl.gz' --proba -o predictions.tsv
  zcat events.vw.gz | odca predict model.safetensors - --json | jq .probabilities
"""


ON_ONE_LINE = str.maketrans({"\n": "\\n", "\r": "\\r", "\t": "\\t"})
"""A line is a prediction, whatever names hold."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's own arguments."""
    add_model(parser)
    add_data_options(parser)
    add_output(parser, "predictions")
    group = parser.add_mutually_exclusive_group()
    group.add_argument("--proba", action="store_true", help="the probabilities of all classes, with tabs in between")
    group.add_argument("--raw", action="store_true", help="margins, before they become classes or probabilities")
    parser.add_argument("--no-names", dest="names", action="store_false", help="no line that names the classes")
    parser.add_argument("--json", action="store_true", help="an object per line: prediction, tag, probabilities")
    parser.set_defaults(data_on_stdout=True)


def run(arguments: argparse.Namespace) -> int:
    """Do it; return the exit code."""
    output = Output.of(arguments)
    refuse_overwriting({"--output": arguments.output}, [arguments.model, *arguments.data])
    model = load_stream_model(arguments.model, output)
    if arguments.proba and model.task == "numbers":
        raise argparse.ArgumentTypeError("argument --proba: the model predicts numbers, which have no probabilities")
    _require_tag(model, arguments.tag)
    stream = open_stream(arguments, schema=model.schema, labelled=False, vocabulary=model.vocabulary, grow=False)
    writer = _Writer(model, arguments)
    with stream, writing(arguments.output) as file, output.progress(stream.total) as live:
        for block in stream:
            answers = _answers(model, block, stream, arguments.on_error)
            file.write("".join(writer.lines(block, answers)))
            live.update(writer.events, stream.consumed)
    if writer.events and not writer.features:
        tell_unknown_features(output, model)
    tell_bad_lines(output, stream.bad)
    return 0


def _require_tag(model: "StreamModel", tag: str | None) -> None:
    """ArgumentTypeError if the tag would take a feature away from the model."""
    schema = model.schema
    columns = {column.name for column in schema.columns if schema.roles.role_of(column.name) is None}
    kept = set(schema.features.keep) or columns
    if tag in (columns & kept) - set(schema.features.ignore):
        raise argparse.ArgumentTypeError(
            f"argument --tag: the model has learned from the column {tag!r} and would miss it. Train with this --tag, or "
            "with --ignore, or give the tags a column of their own"
        )


def _answers(model: "StreamModel", block: "Block", stream: "Stream", on_error: str) -> "Answers | Array":
    from odca.stream.read.refused import without_refused  # noqa: PLC0415 - after parsing

    return without_refused(model.answers, block, stream.bad) if on_error == "skip" else model.answers(block)


class _Writer:
    """Predictions as lines."""

    def __init__(self, model: "StreamModel", arguments: argparse.Namespace) -> None:
        from odca.models.options import show  # noqa: PLC0415 - after parsing

        self._model, self._arguments = model, arguments
        self._names = [show(each) for each in model.classes]
        self._shown_names = [name.translate(ON_ONE_LINE) for name in self._names]
        self._wanted: Wanted = "probabilities" if arguments.proba else "margins" if arguments.raw else "label"
        self._header = arguments.names and not arguments.json
        self.events = 0
        """So far."""
        self.features = 0
        """That these events have, and the model knows."""

    def lines(self, block: "Block", answers: "Answers | Array") -> Iterator[str]:
        """The lines of a block."""
        self.events += len(block)
        self.features += int(block.rows.indptr[-1])
        tags = block.tag or [""] * len(block)
        if self._arguments.json:
            return self._objects(answers, tags)
        return self._texts(answers, tags, tagged=block.tag is not None)

    def _texts(self, answers: "Answers | Array", tags: list[str], *, tagged: bool) -> Iterator[str]:
        texts, between = self._labels(answers), " "
        if self._wanted != "label":
            values = self._model.shown(answers, self._wanted)
            texts = map(repr, values.tolist())
            if values.ndim == 2:
                texts, between = ("\t".join(map(repr, each)) for each in values.tolist()), "\t"
                if self._header:
                    self._header = False
                    yield "\t".join([*self._shown_names, *(["tag"] if tagged else [])]) + "\n"
        shown = (tag.translate(ON_ONE_LINE) for tag in tags)
        yield from (f"{text}{between}{tag}\n" if tag else f"{text}\n" for text, tag in zip(texts, shown, strict=True))

    def _labels(self, answers: "Answers | Array") -> Iterator[str]:
        predicted = self._model.predicted(answers).tolist()
        return (self._shown_names[int(code)] for code in predicted) if self._names else map(repr, predicted)

    def _objects(self, answers: "Answers | Array", tags: list[str]) -> Iterator[str]:
        model = self._model
        columns: dict[str, list[Any]] = {
            "prediction": [_plain(each) for each in model.shown(answers, "label").tolist()]
        }
        if any(tags):
            columns["tag"] = [tag or None for tag in tags]
        if self._names:
            columns["probabilities"] = self._by_class(model.shown(answers, "probabilities"))
        if self._arguments.raw:
            raw = model.shown(answers, "margins")
            columns["margins"] = raw.tolist() if raw.ndim == 1 else self._by_class(raw)
        encode = json.JSONEncoder(ensure_ascii=False).encode  # once: `dumps` would make one for each line
        for values in zip(*columns.values(), strict=True):
            found = {
                name: value for name, value in zip(columns, values, strict=True) if name != "tag" or value is not None
            }
            yield encode(found) + "\n"

    def _by_class(self, values: "Array") -> list[dict[str, float]]:
        return [dict(zip(self._names, each, strict=True)) for each in values.tolist()]


def _plain(label: float | str) -> float | str | None:
    """A label as JSON has it: whole numbers as such, and none that is not finite."""
    if isinstance(label, str):
        return label
    if not math.isfinite(label):
        return None
    return int(label) if label == int(label) and abs(label) < 1e15 else label
