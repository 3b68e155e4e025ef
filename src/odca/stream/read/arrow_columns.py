"""Columns of Arrow for the core: what kind of values a type holds, and the values as arrays of numbers and of codes."""

from typing import Any

import numpy as np

from odca.features.spec import Kind
from odca.stream.read.relations import pyarrow

TICKS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


def kind_of(type_: Any) -> Kind | None:
    """The kind of values of a column of this type; None if it cannot be used."""
    types = pyarrow().types
    if types.is_dictionary(type_):
        type_ = type_.value_type
    if is_array(type_):
        inner = type_.item_type if types.is_map(type_) else type_.value_type
        kind = None if is_array(inner) else kind_of(inner)
        return kind if kind in {"number", "category"} else None
    if types.is_integer(type_) or types.is_floating(type_) or types.is_decimal(type_):
        return "number"
    if types.is_boolean(type_):
        return "boolean"
    if _is_string(types, type_):
        return "category"
    if types.is_timestamp(type_) or types.is_date(type_):
        return "date"
    return "any" if types.is_null(type_) else None


def values_of(array: Any, role: str, kind: str) -> Any:
    """The values of a column for the core: numbers, codes with their strings, or seconds and whether they have a time of day."""
    pa = pyarrow()
    types = pa.types
    if types.is_dictionary(array.type) and not _is_string(types, array.type.value_type):
        array = array.dictionary_decode()
    if types.is_null(array.type):
        return np.full(len(array), np.nan)
    if is_array(array.type):
        return _elements(pa, array, kind)
    is_date = types.is_timestamp(array.type) or types.is_date(array.type)
    names_something = role == "tag" or (role == "feature" and kind in {"category", "text"})
    names_something |= role == "label" and types.is_boolean(array.type)
    if (
        _is_string(types, array.type)
        or types.is_dictionary(array.type)
        or (names_something and _is_exact(types, array.type))
    ):
        return _codes(pa, array)
    if is_date:
        return _seconds(pa, array), types.is_timestamp(array.type)
    if not types.is_float64(array.type):
        array = array.cast(pa.float64(), safe=False)
    return np.ascontiguousarray(array.to_numpy(zero_copy_only=False))  # null is nan


def is_array(type_: Any) -> bool:
    """Whether the values of a column of this type are arrays or maps."""
    types = pyarrow().types
    tests = (types.is_list, types.is_large_list, types.is_fixed_size_list, types.is_map)
    return any(is_type(type_) for is_type in tests)


def _elements(pa: Any, array: Any, kind: str) -> tuple[Any, ...]:
    """Arrays for the core: where each begins, whether it is missing, the keys of maps, and the elements."""
    import pyarrow.compute as pc  # noqa: PLC0415 - optional, and slow to import

    is_map = pa.types.is_map(array.type)
    if is_map:
        array = array.cast(pa.list_(array.type.field(0)))  # of pairs
    missing = array.is_null().cast(pa.uint8()).to_numpy(zero_copy_only=False)
    lengths = pc.list_value_length(array).fill_null(0).to_numpy(zero_copy_only=False)
    begins = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths, dtype=np.int64)])
    flat = array.flatten()  # without those of arrays that are missing
    if not is_map:
        return begins, missing, None, values_of(flat, "feature", kind)
    return begins, missing, _codes(pa, flat.field(0)), values_of(flat.field(1), "feature", kind)


def _is_string(types: Any, type_: Any) -> bool:
    return bool(types.is_string(type_) or types.is_large_string(type_) or types.is_string_view(type_))


def _is_exact(types: Any, type_: Any) -> bool:
    """Whether the text of a value is exact where a double may not be."""
    exact = (types.is_integer, types.is_boolean, types.is_timestamp, types.is_date)
    return any(is_type(type_) for is_type in exact)


def _codes(pa: Any, array: Any) -> tuple[Any, list[bytes]]:
    if not pa.types.is_dictionary(array.type):
        array = array.cast(pa.string()).dictionary_encode()
    strings = [b"" if text is None else text.encode() for text in array.dictionary.to_pylist()]
    return array.indices.cast(pa.int32()).fill_null(-1).to_numpy(), strings


def _seconds(pa: Any, array: Any) -> Any:
    """Seconds since 1970, with one division, as for dates in text."""
    if not pa.types.is_timestamp(array.type):
        array = array.cast(pa.timestamp("s"))
    ticks = array.cast(pa.int64()).cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    return np.ascontiguousarray(ticks / TICKS[array.type.unit])
