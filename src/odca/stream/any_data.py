"""Data of every form for a model that was trained on files: paths, data frames, Arrow tables, dictionaries, blocks."""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from odca import _core
from odca.features.records import as_events
from odca.stream.read.blocks import Block
from odca.stream.read.relations import is_table
from odca.stream.read.schema import Schema
from odca.stream.read.stream import Data, absent_columns, read_events
from odca.stream.read.stream import open as open_stream

AnyData: TypeAlias = Block | Mapping[str, Any] | Iterable[Mapping[str, Any]] | Data
"""A block; one event, a dictionary; several; or what `odca.stream.open` takes: paths, a data frame, an Arrow table."""


def blocks_of(
    data: AnyData, schema: Schema, vocabulary: _core.Vocabulary | None, *, learning: bool = False, **how: Any
) -> Iterator[Block]:
    """The data as blocks of events, in order, read as those that a model was trained on.

    New names are kept if the model is `learning`, and ignored otherwise. `how` is passed to `odca.stream.open`, for files and tables. A
    dictionary is read like a line of JSON.
    """
    if isinstance(data, Block):
        yield data
    elif isinstance(data, str | os.PathLike) or (is_table(data) and not is_one_event(data)) or _are_paths(data):
        names = {"schema": schema, "vocabulary": vocabulary, "grow": learning, "labelled": learning}
        with open_stream(data, **names, **how) as stream:  # type: ignore[arg-type] # checked there
            yield from stream
    else:
        events = [dict(data.items())] if is_one_event(data) else as_events(data)  # type: ignore[union-attr] # one is a mapping
        where = "the list of events"
        if is_one_event(data):
            where = "the event" if isinstance(data, Mapping) else "the Series, one event with names as its index,"
        absent_columns(schema, dict.fromkeys(str(key) for event in events for key in event), where)
        if learning and schema.roles.label is None:
            raise ValueError(
                "the model's training data had no column or key of labels, so it cannot learn from dictionaries. Learn from a file."
            )
        yield read_events(events, schema, vocabulary, grow=learning)


def is_one_event(data: Any) -> bool:
    """Whether data are a single event: a dictionary, or a row of a data frame of pandas."""
    return isinstance(data, Mapping) or (
        hasattr(data, "to_dict") and hasattr(data, "index") and not hasattr(data, "columns")
    )


def _are_paths(data: Any) -> bool:
    return isinstance(data, Sequence) and bool(data) and isinstance(data[0], str | os.PathLike)
