"""Tables that are not in files: data frames, Arrow tables, lists of dictionaries. They are read like Arrow files."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from odca.records import record
from odca.stream.read.errors import StreamError


def pyarrow(what: str = "Parquet, Arrow and Feather") -> Any:
    """The package pyarrow. ImportError, which says how to install it, if it is missing."""
    try:
        import pyarrow as pa  # noqa: PLC0415 - optional, and slow to import
    except ImportError as error:
        raise ImportError(
            f"{what} need the package pyarrow, which is missing. Install it with pip install 'odca[arrow]'."
        ) from error
    return pa


LABEL_KIND = b"odca.label"
"""Where the metadata of a column say what its texts were before."""


@record
class Relation:
    """A table in memory, or the result of a query: read once, a batch at a time."""

    name: str
    """What errors call it."""
    reader: Any
    """Its batches, a pyarrow.RecordBatchReader."""
    rows: int | None = None
    """The number of its rows, if it is known."""

    def batches(self) -> Iterator[Any]:
        """The batches, in order."""
        return iter(self.reader)


def is_table(data: Any) -> bool:
    """Whether data are a data frame or an Arrow table."""
    return hasattr(data, "__arrow_c_stream__") or (hasattr(data, "columns") and hasattr(data, "to_dict"))


def is_events(data: Any) -> bool:
    """Whether data are a list of dictionaries."""
    return isinstance(data, Sequence) and not isinstance(data, str) and bool(data) and isinstance(data[0], Mapping)


def relation_of(data: Any) -> Relation | None:
    """A data frame, an Arrow table or a list of dictionaries as a table in memory; None for anything else, such as paths."""
    if is_events(data):
        names = list(dict.fromkeys(str(name) for event in data for name in event))
        named = [{str(name): value for name, value in event.items()} for event in data]
        columns = {name: [event.get(name) for event in named] for name in names}
        return _in_memory("the list of events", _table_of_columns(columns, "the list of events"))
    if not is_table(data):
        return None
    name = f"the {type(data).__name__}"
    pa = pyarrow("data frames")
    if hasattr(data, "iloc"):  # pandas, whose columns of objects need care
        columns = {str(column): data.iloc[:, place] for place, column in enumerate(data.columns)}
        if len(columns) < data.shape[1]:
            twice = next(str(each) for each in data.columns if list(map(str, data.columns)).count(str(each)) > 1)
            raise StreamError(f"two columns have the name {twice!r}. Rename one of them.", path=name)
        return _in_memory(name, _table_of_columns(columns, name))
    if hasattr(data, "num_rows") or hasattr(data, "height"):
        return _in_memory(name, pa.table(data))
    return Relation(name, pa.RecordBatchReader.from_stream(data))


def _in_memory(name: str, table: Any) -> Relation:
    return Relation(name, table.to_reader(), table.num_rows)


def _table_of_columns(columns: Mapping[str, Any], name: str) -> Any:
    pa = pyarrow("data frames")
    arrays, fields = [], []
    for each, values in columns.items():
        array, kind = _array(pa, values, each, name)
        arrays.append(array)
        fields.append(pa.field(each, array.type, metadata={LABEL_KIND: kind} if kind else None))
    return pa.table(arrays, schema=pa.schema(fields))


def _array(pa: Any, values: Any, column: str, name: str) -> tuple[Any, str]:
    """The values of a column, and what the texts were before: "bool", "int" or "float", if they were one of these.

    Objects of several types are taken as the text that a CSV file would have, and so are categories.
    """
    try:
        array = pa.array(values, from_pandas=True)
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        return pa.array([None if _is_missing(value) else str(value) for value in values], pa.string()), ""
    except (pa.ArrowNotImplementedError, OverflowError) as error:
        raise StreamError(f"the column {column!r} cannot be read: {error}.", path=name) from error
    if isinstance(array, pa.DictionaryArray) and not pa.types.is_string(array.type.value_type):
        kind = label_kind_of(pa.types, array.type.value_type)
        return pa.DictionaryArray.from_arrays(array.indices, array.dictionary.cast(pa.string())), kind
    return array, ""


def label_kind_of(types: Any, type_: Any) -> str:
    """What labels of a type of Arrow are: "bool", "int" or "float"; "" for anything else."""
    if types.is_boolean(type_):
        return "bool"
    return "int" if types.is_integer(type_) else "float" if types.is_floating(type_) else ""


def _is_missing(value: Any) -> bool:
    return (
        value is None
        or (isinstance(value, float) and math.isnan(value))
        or type(value).__name__ in {"NAType", "NaTType"}
    )
