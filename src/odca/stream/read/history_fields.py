"""Whether data have what the history of a model needs."""

from dataclasses import replace

from odca.errors import InputError, Remedy, did_you_mean
from odca.features.history import LABEL, lines_of, with_label
from odca.stream.read.errors import listed
from odca.stream.read.schema import Schema

WITHOUT_FIELDS = ("libsvm", "vw")
"""Formats whose events have features, but no fields with one value each."""


def with_history(schema: Schema, *, is_known: bool = False) -> Schema:
    """The schema, in whose history the label is called y; `is_known`: it is already.

    InputError if it is not clear what y is, if a field that history needs cannot be there, or if it needs the time of events that have none.
    """
    if not schema.features.history:
        return schema
    if not is_known:
        _require_one_y(schema)
    history = with_label(schema.features.history, schema.roles.label)
    schema = replace(schema, features=replace(schema.features, history=history))
    roles, columns = schema.roles.by_name(), {column.name for column in schema.columns}
    for line in lines_of(schema.features.history):
        for name in (line.source, *line.keys):
            if name != LABEL or name in line.keys:
                _require_field(name, line.head, schema, roles, columns)
        timed = [line.name(each) for each in line.features if each.timed or each.statistic == "since"]
        if timed and schema.roles.time is None and schema.time_feature is None:
            raise InputError(
                f"the history {timed[0]!r} needs the time of every event, and no field is known to hold it.",
                remedy=Remedy("Name it ({time}).", time=None),
            )
    return schema


def _require_one_y(schema: Schema) -> None:
    """InputError if a line begins with y, and the data have a column y that is not the label."""
    label, columns = schema.roles.label, {column.name for column in schema.columns}
    if LABEL not in columns or label in {LABEL, None}:
        return
    for line in lines_of(schema.features.history):
        if line.source == LABEL:
            raise InputError(
                f"the history of {line.head!r} could be that of the label, which y means, or that of the column 'y', which is not the "
                f"label. Write {label} for the label; for the history of the column, give it another name."
            )


def _require_field(name: str, head: str, schema: Schema, roles: dict[str, str], columns: set[str]) -> None:
    if schema.format in WITHOUT_FIELDS:
        raise InputError(
            f"the history of {head!r} needs the field {name!r}, but {schema.format}'s text has no fields with single values. "
            "Only the label, y, has a history there."
        )
    if name in roles:
        raise InputError(
            f"the history of {head!r} needs {name!r} as a field, but that is the {roles[name]}. Copy the column, or leave it out of "
            "the history."
        )
    if columns and name not in columns:
        raise InputError(
            f"the history of {head!r} needs the column {name!r}, which is not there. The columns are {listed(sorted(columns))}. "
            + (did_you_mean(name, sorted(columns)) or "Write y for the label.")
        )
