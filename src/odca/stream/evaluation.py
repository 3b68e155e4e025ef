"""Evaluation of a model on labelled events, without learning from them."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from odca.metrics import ProgressRow
from odca.models.classifier import RawPredictions
from odca.models.options import Answer, Label
from odca.stream.block_model import Labels
from odca.stream.model import StreamModel
from odca.stream.read.blocks import Block
from odca.stream.read.stream import BadLines
from odca.validation.arrays import Array

COVERAGE = 0.9


class Evaluation:
    """Evaluates a model on blocks of events. An event of a class that the model does not know counts as a wrong prediction."""

    def __init__(self, model: StreamModel, *, answer: Answer = "steady") -> None:
        self._model, self._answer = model, answer
        self._past = model.past_for_predictions()
        self.metrics = model.new_metrics()
        """The metrics of the events so far."""
        self.unlabelled = 0
        """The number of events without a label, which are not evaluated."""
        self.unknown: dict[Label, int] = {}
        """The classes that the model does not know, and their numbers of events."""
        self._is_sure = model.uncertainty.events(answer) > 0.0
        self._held = self._judged = 0.0

    @property
    def classes(self) -> Sequence[Label]:
        """The classes of the model, followed by those that it does not know."""
        return [*self._model.classes_read, *self.unknown]

    def add(self, block: Block) -> list[ProgressRow]:
        """Evaluate the events of a block; return the rows of the progress table that are due among them.

        Events without a label are removed from the block. EventError, without counting any event, if another one cannot be evaluated.
        """
        block.drop_unlabelled()
        self._model.require_learnable(block, learning=False)
        predictions = self._model.predict_raw(block, answer=self._answer, past=self._past)
        labels = self._labels_of(block)
        rows = self._model.score(self.metrics, block, predictions, labels)
        if self._is_sure:
            weight = np.ones(len(block)) if block.weight is None else block.weight
            self._held += float(weight @ self._are_held(predictions, labels))
            self._judged += float(weight.sum())
        self.unlabelled += block.dropped_unlabelled
        return rows

    @property
    def coverage(self) -> float:
        """The share of the labels that the model's intervals (or sets) of COVERAGE held; nan if it has none."""
        return self._held / self._judged if self._judged else float("nan")

    def _are_held(self, predictions: RawPredictions | Array, labels: Labels) -> npt.NDArray[np.bool_]:
        if self._model.task == "numbers":
            lower, upper = self._model.intervals(predictions, COVERAGE, answer=self._answer).T
            return np.asarray((lower <= labels) & (labels <= upper))
        sets = self._model.sets(predictions, COVERAGE, answer=self._answer)
        known = labels < sets.shape[1]
        return np.asarray(known & sets[np.arange(len(labels)), np.where(known, labels, 0)])

    def drop_faulty(self, block: Block, bad: BadLines) -> None:
        """Remove the events of a block that cannot be evaluated, because their label is invalid; count them as bad."""
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
