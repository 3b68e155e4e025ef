"""Named arrays and a few texts in one file, in the safetensors format, with a checksum. Nothing in a file is executed.

A safetensors file consists of a length (8 bytes), a JSON header with the name, type, shape and place of every array, and the bytes of
the arrays. Our texts are in the header's `__metadata__`, among them the version of the format and a SHA-256 checksum of the whole file
(computed with zeros in place of the checksum).

The header is checked against the size of the file before anything is allocated. Writing uses the same checks, so that no file is
written that could not be read again.
"""

import hashlib
import itertools
import json
import math
from collections.abc import Mapping
from typing import Any, BinaryIO, NoReturn, TypeAlias

import numpy as np
import numpy.typing as npt

from odca.records import record

VERSION = 2
READABLE = ("1", "2", "3")
LONGEST_HEADER = 16_000_000
DTYPES: dict[str, np.dtype[Any]] = {
    "F64": np.dtype("<f8"),
    "I64": np.dtype("<i8"),
    "U64": np.dtype("<u8"),
    "I32": np.dtype("<i4"),
    "U32": np.dtype("<u4"),
    "U8": np.dtype("u1"),
}
NAMES = {dtype: name for name, dtype in DTYPES.items()}
NO_CHECKSUM = "0" * 64

Arrays: TypeAlias = dict[str, npt.NDArray[Any]]
Bytes: TypeAlias = bytes | memoryview


@record
class Header:
    """A header whose contents have been checked."""

    texts: dict[str, Any]
    checksum: str
    entries: dict[str, tuple[np.dtype[Any], tuple[int, ...]]]
    """The type and shape of each array, in the order of their places."""

    @classmethod
    def parsed(cls, text: bytes, size: int) -> "Header":
        """The header of a file with `size` bytes of data. ValueError (or a similar error) if it is invalid."""
        try:
            header = from_json(text)
        except (ValueError, RecursionError):
            raise ValueError("its header is not JSON. It is of another kind, or damaged.") from None
        texts = header.pop("__metadata__", None) if isinstance(header, dict) else None
        if not isinstance(texts, dict) or texts.get("format") != "odca":
            raise ValueError("it is of another kind, or damaged.")
        version, checksum = texts.get("version"), texts.get("checksum")
        if version not in READABLE:
            known = ", ".join(READABLE)
            raise ValueError(
                f"it has version {version!r} of the format; this odca reads {known}. A newer odca may read it."
            )
        if not isinstance(checksum, str) or len(checksum) != len(NO_CHECKSUM):
            raise ValueError("it has no checksum.")
        return cls(texts, checksum, _entries(header, size))


def _entries(header: Mapping[str, Any], size: int) -> dict[str, tuple[np.dtype[Any], tuple[int, ...]]]:
    """The arrays that the header lists. They must be consecutive and fill the data."""
    place, entries = 0, {}
    for name, entry in header.items():
        dtype, shape, (begin, end) = DTYPES.get(entry["dtype"]), tuple(entry["shape"]), entry["data_offsets"]
        if dtype is None:
            raise ValueError(f"array {name!r} has an unknown type, {entry['dtype']!r}.")
        if not all(type(number) is int and number >= 0 for number in itertools.chain(shape, (begin, end))):
            raise ValueError(f"array {name!r} has an invalid shape or place.")
        if begin != place or end > size or end - begin != math.prod(shape) * dtype.itemsize:
            raise ValueError(f"array {name!r} is not where its header says.")
        entries[name] = (dtype, shape)
        place = end
    if place != size:
        raise ValueError(f"{size - place} bytes belong to no array.")
    return entries


# Writing


def pack(texts: Mapping[str, str], arrays: Arrays) -> list[Bytes]:
    """The bytes of a file: its header, and each of its arrays. ValueError if they could not be read again."""
    # The checksum comes first, so that its zeros are the first ones that are replaced.
    header: dict[str, Any] = {
        "__metadata__": {"checksum": NO_CHECKSUM, "format": "odca", "version": str(VERSION), **texts}
    }
    place, chunks = 0, list[Bytes]()
    for name, array in arrays.items():
        little = np.ascontiguousarray(array, array.dtype.newbyteorder("<"))
        end = place + little.nbytes
        header[name] = {"dtype": NAMES[little.dtype], "shape": list(array.shape), "data_offsets": [place, end]}
        chunks.append(_bytes_of(little))
        place = end
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    if len(text) > LONGEST_HEADER:
        raise ValueError(f"its header would have {len(text)} bytes; at most {LONGEST_HEADER} are allowed.")
    Header.parsed(text, place)
    head = len(text).to_bytes(8, "little") + text
    return [head.replace(NO_CHECKSUM.encode(), digest(head, *chunks).encode(), 1), *chunks]


# Reading


def unpack(file: BinaryIO, size: int) -> tuple[dict[str, Any], Arrays]:
    """The texts and arrays of a file of this size. ValueError (or a similar error) if it is invalid.

    Reading stops as soon as that is known.
    """
    head, header = read_header(file, size)
    arrays: Arrays = {name: np.empty(shape, dtype) for name, (dtype, shape) in header.entries.items()}
    for array in arrays.values():
        if file.readinto(_bytes_of(array)) != array.nbytes:  # type: ignore[attr-defined] # all files that are open for reading have it
            raise ValueError("it was cut short while it was read.")
    head = head.replace(header.checksum.encode(), NO_CHECKSUM.encode(), 1)
    if digest(head, *map(_bytes_of, arrays.values())) != header.checksum:
        raise ValueError("its checksum is wrong: it was damaged or changed after it was saved.")
    return header.texts, {
        name: array.astype(array.dtype.newbyteorder("="), copy=False) for name, array in arrays.items()
    }


def read_header(file: BinaryIO, size: int) -> tuple[bytes, Header]:
    """The bytes before the arrays of a file of this size, and what they say. ValueError (or a similar error) if they are invalid."""
    begin = file.read(9)
    length = int.from_bytes(begin[:8], "little")
    if len(begin) < 9:
        raise ValueError(f"it has {len(begin)} bytes. Was it cut short?")
    if length > min(size - 8, LONGEST_HEADER):
        if begin[8:] != b"{":
            raise ValueError("it does not begin like a model file. It is of another kind, or damaged.")
        raise ValueError(f"its header should have {length} bytes, which is too many. Was it cut short?")
    head = begin + file.read(max(length - 1, 0))
    return head, Header.parsed(head[8:], size - 8 - length)


def _bytes_of(array: npt.NDArray[Any]) -> memoryview:
    """The bytes of a contiguous array, not copied."""
    return array.reshape(-1).view(np.uint8).data


def vector(arrays: Mapping[str, npt.NDArray[Any]], name: str, dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    """The array of this name, which must have one dimension and be of this type. ValueError if it is not, KeyError if there is none."""
    array = arrays[name]
    if array.ndim != 1 or array.dtype != np.dtype(dtype):
        raise ValueError(
            f"its array {name!r} must be of {np.dtype(dtype)} and have one dimension; it is of {array.dtype} and has shape {array.shape}."
        )
    return array


def digest(*parts: Bytes) -> str:
    """The checksum."""
    sha = hashlib.sha256()
    for part in parts:
        sha.update(part)
    return sha.hexdigest()


def from_json(text: str | bytes) -> Any:
    """A value from JSON. ValueError for repeated names, NaN and infinities."""
    return json.loads(text, object_pairs_hook=without_repeats, parse_constant=_refuse)


def without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object as a dictionary. ValueError if a name is repeated."""
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a name is given twice.")
    return found


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON.")
