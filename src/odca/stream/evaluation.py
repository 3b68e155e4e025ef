"""How well a model predicts labelled events that it does not learn from."""

from collections.abc import Sequence

import numpy as np

from odca.metrics import ProgressRow
from odca.models.options import Answer, Label
from odca.stream.model import Labels, StreamModel
from odca.stream.read.blocks import Block
from odca.stream.read.stream import BadLines


class Evaluation:
    """Counts blocks of events. A label of a class that the model does not know counts as predicted wrongly."""

    def __init__(self, model: StreamModel, *, answer: Answer = "steady") -> None:
        self._model, self._answer = model, answer
        self.metrics = model.new_metrics()
        """Of the events so far."""
        self.unknown: dict[Label, int] = {}
        """The classes that the model does not know, and how many events have them."""

    @property
    def classes(self) -> Sequence[Label]:
        """Those of the model, and behind them those that it does not know."""
        return [*self._model.classes, *self.unknown]

    def add(self, block: Block) -> list[ProgressRow]:
        """Count the events of a block; return the rows of the metrics' table that fall among them.

        EventError, and nothing counted, if one of them cannot be judged.
        """
        self._model.require_learnable(block, learning=False)
        predictions = self._model.predict_raw(block, answer=self._answer)
        return self._model.score(self.metrics, block, predictions, self._labels_of(block))

    def drop_faulty(self, block: Block, bad: BadLines) -> None:
        """Take events that have no label, or none that can be judged, out of a block, and count them as bad."""
        self._model.drop_faulty(block, bad, learning=False)

    def _labels_of(self, block: Block) -> Labels:
        if self._model.task == "numbers":
            return block.rows.label
        codes, _ = self._model.codes_of(block)
        for row in np.flatnonzero(codes < 0).tolist():
            label = block.y[row]
            self.unknown[label] = self.unknown.get(label, 0) + 1
            codes[row] = len(self._model.classes) + list(self.unknown).index(label)
        return codes
