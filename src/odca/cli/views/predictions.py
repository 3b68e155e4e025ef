"""Predictions as lines of text."""

import argparse
import json
import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, TypeAlias, cast

if TYPE_CHECKING:
    from odca.models.classifier import RawPredictions
    from odca.models.options import Answer
    from odca.models.uncertainty import Uncertainty
    from odca.stream import Block
    from odca.stream.block_model import Wanted
    from odca.stream.model import StreamModel
    from odca.validation.arrays import Array

Ranges: TypeAlias = list[list[Any]] | None
"""The interval of each event, or the places of the classes of its set; None if neither was asked for."""
ON_ONE_LINE = str.maketrans({"\n": "\\n", "\r": "\\r", "\t": "\\t"})
"""Keeps a prediction on one line, even if a name contains a line break."""


class PredictionLines:
    """Predictions as lines, in the form that the arguments ask for. With --proba, --interval or --set, a line with the names of the
    columns comes first, and again whenever there is a new class.
    """

    def __init__(self, model: "StreamModel", arguments: argparse.Namespace, *, is_begun: bool = False) -> None:
        """`is_begun`: the lines continue others, after which the names need not come first."""
        self._model, self._arguments = model, arguments
        self._wanted: Wanted = "probabilities" if arguments.proba else "margins" if arguments.raw else "label"
        self._interval: float | None = arguments.interval
        self._set: float | None = arguments.set
        self._header: bool
        self._name_classes()
        self._header &= not is_begun
        self.events = 0
        """The number of events so far."""
        self.features = 0
        """The number of their features that the model knows."""
        self.is_infinite = False
        """Whether too little is known for the intervals or sets that were asked for."""

    def lines(
        self, block: "Block", predictions: "RawPredictions | Array", before: "Uncertainty | None" = None
    ) -> Iterator[str]:
        """The lines of a block. If it is learned, `before` says how far from the truth predictions were before it."""
        if self._model.classes_read != self._classes:
            self._name_classes()
        self.events += len(block)
        self.features += int(block.rows.indptr[-1])
        tags = block.tag or [""] * len(block)
        ranges = self._ranges(predictions) if before is None else self._ranges_before(before, block, predictions)
        if self._arguments.json:
            return self._objects(predictions, ranges, tags)
        return self._texts(predictions, ranges, tags, tagged=block.tag is not None)

    def _name_classes(self) -> None:
        from odca.models.options import label_text  # noqa: PLC0415 - after parsing

        self._classes = self._model.classes_read
        self._names = [label_text(each) for each in self._classes]
        self._shown_names = [name.translate(ON_ONE_LINE) for name in self._names]
        self._header = self._arguments.names and not self._arguments.json

    def _texts(
        self, predictions: "RawPredictions | Array", ranges: Ranges, tags: list[str], *, tagged: bool
    ) -> Iterator[str]:
        texts, between, header = self._labels(predictions), " ", ["prediction"]
        if self._wanted != "label":
            values = self._model.shown(predictions, self._wanted)
            texts = map(repr, values.tolist())
            if values.ndim == 2:
                texts, between = ("\t".join(map(repr, each)) for each in values.tolist()), "\t"
                header = self._shown_names
        if ranges is not None:
            texts, between = ("\t".join(each) for each in zip(texts, self._range_texts(ranges), strict=True)), "\t"
            header = [*header, *(["set"] if self._names else ["lower", "upper"])]
        if between == "\t" and self._header:
            self._header = False
            yield "\t".join([*header, *(["tag"] if tagged else [])]) + "\n"
        shown = (tag.translate(ON_ONE_LINE) for tag in tags)
        yield from (f"{text}{between}{tag}\n" if tag else f"{text}\n" for text, tag in zip(texts, shown, strict=True))

    def _ranges(self, predictions: "RawPredictions | Array") -> Ranges:
        """The interval of each event, or the places of the classes of its set, if that was asked for."""
        model, answer = self._model, cast("Answer", getattr(self._arguments, "answer", "live"))  # training has labels
        if self._interval is not None:
            found = model.intervals(predictions, self._interval, answer=answer)
            self.is_infinite |= bool(found.size) and not math.isfinite(float(found[0, 0]))
            return [each.tolist() for each in found]
        if self._set is not None:
            is_in = model.sets(predictions, self._set, answer=answer)
            self.is_infinite |= model.uncertainty.least_probability(self._set, answer) == 0.0
            return [each.nonzero()[0].tolist() for each in is_in]
        return None

    def _ranges_before(self, before: "Uncertainty", block: "Block", predictions: "RawPredictions | Array") -> Ranges:
        """The same for events that are learned: each range is from before the label of its event was known."""
        if self._interval is not None:
            found = self._model.intervals_before(before, block, predictions, self._interval)  # type: ignore[arg-type] # of numbers
            return [each.tolist() for each in found]
        if self._set is not None:
            is_in = self._model.sets_before(before, block, predictions, self._set)  # type: ignore[arg-type] # of classes
            return [each.nonzero()[0].tolist() for each in is_in]
        return None

    def _range_texts(self, ranges: list[list[Any]]) -> Iterator[str]:
        if self._names:
            return (",".join(self._shown_names[code] for code in each) for each in ranges)
        return ("\t".join(map(repr, each)) for each in ranges)

    def _labels(self, predictions: "RawPredictions | Array") -> Iterator[str]:
        predicted = self._model.predicted(predictions).tolist()
        return (self._shown_names[int(code)] for code in predicted) if self._names else map(repr, predicted)

    def _predicted(self, predictions: "RawPredictions | Array") -> list[Any]:
        predicted = self._model.predicted(predictions).tolist()
        return [self._classes[code] for code in predicted] if self._names else predicted

    def _objects(self, predictions: "RawPredictions | Array", ranges: Ranges, tags: list[str]) -> Iterator[str]:
        model = self._model
        columns: dict[str, list[Any]] = {"prediction": [_plain(each) for each in self._predicted(predictions)]}
        if any(tags):
            columns["tag"] = [tag or None for tag in tags]
        if self._names:
            columns["probabilities"] = self._by_class(model.shown(predictions, "probabilities"))
        if self._arguments.raw:
            raw = model.shown(predictions, "margins")
            columns["margins"] = raw.tolist() if raw.ndim == 1 else self._by_class(raw)
        if ranges is not None:
            name, shown = ("set", model.classes_read.__getitem__) if self._names else ("interval", lambda end: end)
            columns[name] = [[_plain(shown(part)) for part in each] for each in ranges]
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
