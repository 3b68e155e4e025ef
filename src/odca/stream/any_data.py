"""Data of every form for a model that was trained on files: paths, data frames, Arrow tables, dictionaries, blocks."""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from odca import _core
from odca.metrics import ProgressRow
from odca.models.options import Answer
from odca.stream.read.blocks import Block
from odca.stream.read.relations import is_table
from odca.stream.read.schema import Schema
from odca.stream.read.stream import Data, Path, read_events
from odca.stream.read.stream import open as open_stream
from odca.validation.arrays import Array

AnyData: TypeAlias = Block | Mapping[str, Any] | Iterable[Mapping[str, Any]] | Data
"""A block; one event, a dictionary; several; or what `odca.stream.open` takes: paths, a data frame, an Arrow table."""


class TakesAnyData:
    """A model that reads further data as it has read those that it was trained on."""

    schema: Schema
    vocabulary: _core.Vocabulary | None

    def blocks_of(self, data: AnyData, *, learning: bool = False, **how: Any) -> Iterator[Block]:
        """The data as blocks of events, in order. New names are kept if the model is `learning`, and ignored otherwise.

        `how` is passed to `odca.stream.open`, for files and tables. A dictionary is read like a line of JSON.
        """
        if isinstance(data, Block):
            yield data
        elif isinstance(data, str | os.PathLike) or is_table(data) or _are_paths(data):
            names = {"schema": self.schema, "vocabulary": self.vocabulary, "grow": learning, "labelled": learning}
            with open_stream(data, **names, **how) as stream:  # type: ignore[arg-type] # checked there
                yield from stream
        else:
            events = [data] if isinstance(data, Mapping) else data
            if learning and self.schema.roles.label is None:
                raise ValueError(
                    "the model's training data had no column or key of labels, so it cannot learn from dictionaries. Learn from a file."
                )
            yield read_events(events, self.schema, self.vocabulary, grow=learning)

    def learn(self, data: AnyData, *, told: Any = None, **how: Any) -> list[ProgressRow]:
        """Learn from events, in order; return the rows of the progress table that are due among them.

        data: a path, several, or globs; a data frame of pandas or polars, an Arrow table; a dictionary or several; a block. The labels are
        in the column, or under the key, where they were in the training data. `how` is passed to `odca.stream.open`.

        Events without a label are counted in `unlabelled` and otherwise ignored: they are there to be predicted. EventError, without
        learning any event of its block, if another one cannot be learned. `told` is called with the raw predictions for those that are
        learned, each from before it was.
        """
        rows: list[ProgressRow] = []
        for block in self.blocks_of(data, learning=True, **how):
            rows += self._learn_block(block, told)
        return rows

    def predict(
        self,
        data: AnyData,
        wanted: Any = "label",
        *,
        answer: Answer = "steady",
        past: _core.History | None = None,
        **how: Any,
    ) -> Any:
        """The prediction for each event; of a single dictionary, the prediction itself.

        data: as in `learn`. Labels are not needed, and names that the model does not know are ignored.
        wanted: the "label", a class or a number; the "probabilities" of all `classes`, in their order; or the "margins" of all
        classes (if there are two, only that of the second).
        answer: for an automatic model, "steady" if no labels are coming in, "live" if the events follow those learned last.
        past: the history before a block (`past_for_predictions`), which its events then enter; None for that of the learned events.
        """
        if isinstance(data, Block):
            return self._predict_block(data, wanted, answer=answer, past=past)
        known = self.past_for_predictions() if past is None else past
        parts = [self._predict_block(block, wanted, answer=answer, past=known) for block in self.blocks_of(data, **how)]
        found = np.concatenate(parts) if parts else self.predict_events([], wanted, answer=answer)
        if not isinstance(data, Mapping):
            return found
        return found[0] if found.ndim > 1 or found.dtype == object else found[0].item()

    def predict_proba(self, data: AnyData, *, answer: Answer = "steady", **how: Any) -> Array:
        """The probabilities of all `classes`, in their order, for each event; see `predict`."""
        return np.asarray(self.predict(data, "probabilities", answer=answer, **how))

    def predict_file(
        self, paths: Path | Sequence[Path], wanted: Any = "label", *, answer: Answer = "steady", **how: Any
    ) -> npt.NDArray[Any]:
        """The predictions for all events of files, which are read like the training data.

        `how` is passed to `odca.stream.open`. The files may have another format, another order of columns, and no labels.
        Names that the model does not know are ignored.
        """
        return np.asarray(self.predict(paths, wanted, answer=answer, **how))

    def predict_events(
        self, events: Iterable[Mapping[str, Any]], wanted: Any = "label", *, answer: Answer = "steady"
    ) -> npt.NDArray[Any]:
        """The predictions for events that are dictionaries."""
        return self._predict_block(read_events(events, self.schema, self.vocabulary), wanted, answer=answer)

    def past_for_predictions(self) -> _core.History | None:
        """A copy of the history, for predictions of several blocks that follow each other: pass it to `predict` with each."""
        raise NotImplementedError

    def _learn_block(self, block: Block, told: Any = None, asked: Any = None) -> list[ProgressRow]:
        raise NotImplementedError

    def _predict_block(
        self, block: Block, wanted: Any, *, answer: Answer, past: _core.History | None = None
    ) -> npt.NDArray[Any]:
        raise NotImplementedError


def _are_paths(data: Any) -> bool:
    return isinstance(data, Sequence) and bool(data) and isinstance(data[0], str | os.PathLike)
