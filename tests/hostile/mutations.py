"""Changes to the bytes of a model file, with the checksum made right again: what a checksum cannot detect."""

import json
import math
import random
from contextlib import suppress
from typing import Any

import numpy as np

from odca.io.container import DTYPES, NO_CHECKSUM, digest

ODD_FLOATS = (
    *(math.nan, math.inf, -math.inf, 0.0, -0.0, 1.0, -1.0, 0.5, 2.0, -7.0, 1e6, 2.0**53, 1e15, -1e15),
    *(5e-324, -5e-324, 1e-310, 1e-300, 1e-150, 1e150, -1e150, 1e300, -1e300, 1.7e308, -1.7e308),
)
ODD_WHOLE = (0, 1, 2, 3, 7, 63, 64, 255, 2**20, 20_000_000, 2**31 - 1, 2**31, 2**32, 2**53, 2**62, 2**63 - 1)
ODD_JSON: tuple[Any, ...] = (
    *(None, True, False, "", "x", "auto", "numbers", "classes", "\x00", "é", [], {}, [[]], [1], ["a", "b"], {"a": 1}),
    *(-1, 0, 1, 2, 3, 20_000_000, 2**31, 2**63, 10**30, -0.5, 0.5, 1e-308, 1e-300, 1e-10, 1e10, 1e300, 1.7e308),
    *({"float": "nan"}, {"float": "inf"}, {"map": []}, {"map": [["a", 1]]}, {"Hinge": {}}, {"L2": {}}, {"KL": {}}),
    *({"Sliding": {"length": 2}}, {"Exponential": {"beta": 0.5}}, {"HalfLife": {"tau": 1e-300}}, {"Infinite": {}}),
    *({"Box": {"lo": 0.0, "hi": 1.7e308}}, {"ElasticNet": {"delta": 1e308}}, {"a loss of the user's own": "X"}),
)
TYPES = (*DTYPES, "F32", "BF16", "BOOL", "", "F64 ", 3, None)


class Contents:
    """A file taken apart: texts, and arrays with their type and shape as the header has them."""

    def __init__(self, data: bytes) -> None:
        length = int.from_bytes(data[:8], "little")
        header = json.loads(data[8 : 8 + length])
        self.texts: dict[str, Any] = header.pop("__metadata__")
        self.entries: dict[str, list[Any]] = {}  # type, shape, bytes
        for name, entry in header.items():
            begin, end = (8 + length + place for place in entry["data_offsets"])
            self.entries[name] = [entry["dtype"], entry["shape"], data[begin:end]]

    def packed(self) -> bytes:
        header: dict[str, Any] = {"__metadata__": {**self.texts, "checksum": NO_CHECKSUM}}
        place = 0
        for name, (dtype, shape, content) in self.entries.items():
            header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [place, place + len(content)]}
            place += len(content)
        text = json.dumps(header).encode()
        return with_checksum(len(text).to_bytes(8, "little") + text + b"".join(e[2] for e in self.entries.values()))

    def array(self, name: str) -> np.ndarray:
        dtype, shape, content = self.entries[name]
        if dtype not in DTYPES:
            raise ValueError("its type was changed.")
        return np.frombuffer(content, DTYPES[dtype]).reshape(shape)

    def set_array(self, name: str, array: np.ndarray) -> None:
        names = {dtype: code for code, dtype in DTYPES.items()}
        self.entries[name] = [names[array.dtype], list(array.shape), array.tobytes()]


def with_checksum(data: bytes) -> bytes:
    """The same file with its checksum made right, if one can be found."""
    begin = data.find(b'"checksum"')
    begin = data.find(b'"', data.find(b":", begin)) + 1
    if begin <= 0 or len(data) < begin + len(NO_CHECKSUM):
        return data
    blank = data[:begin] + NO_CHECKSUM.encode() + data[begin + len(NO_CHECKSUM) :]
    return blank.replace(NO_CHECKSUM.encode(), digest(blank).encode(), 1)


def mutated(data: bytes, other: bytes, draw: random.Random) -> bytes:
    """The file with a change or some; `other` is one from which parts may be taken over."""
    kind = draw.random()
    if kind < 0.1:
        return with_checksum(_flipped(data, draw))
    if kind < 0.13:
        return with_checksum(data[: draw.randrange(len(data))])
    contents, others = Contents(data), Contents(other)
    for _ in range(draw.choice((1, 1, 1, 2, 3))):
        change = draw.choice(CHANGES)
        with suppress(ValueError, IndexError, TypeError, RecursionError):  # after some changes others are not possible
            change(contents, others, draw)
    return contents.packed()


def _flipped(data: bytes, draw: random.Random) -> bytes:
    changed = bytearray(data)
    for _ in range(draw.choice((1, 1, 2, 8))):
        changed[draw.randrange(len(changed))] ^= 1 << draw.randrange(8)
    return bytes(changed)


# Changes to arrays


def _some(contents: Contents, draw: random.Random) -> str:
    return draw.choice(list(contents.entries))


def _odd_number(value: Any, dtype: np.dtype[Any], draw: random.Random) -> Any:
    if dtype.kind == "f":
        near = (
            value * 10.0,
            -value,
            value * 1e10,
            value * 1e-10,
            np.nextafter(value, np.inf),
            value + 1.0,
            value * 1.01,
        )
        return draw.choice(ODD_FLOATS if draw.random() < 0.6 else near)
    info = np.iinfo(dtype)
    near = (int(value) + 1, int(value) - 1, 2 * int(value), info.max, info.min, int(value) ^ 1)
    wanted = draw.choice(ODD_WHOLE if draw.random() < 0.5 else near)
    return min(max(wanted, info.min), info.max)


def _numbers(contents: Contents, _: Contents, draw: random.Random) -> None:
    """Some numbers of an array, or all."""
    name = _some(contents, draw)
    array = contents.array(name).copy()
    flat = array.reshape(-1)
    if not flat.size:
        return
    with np.errstate(all="ignore"):
        if draw.random() < 0.1:
            flat[:] = _odd_number(flat[0], array.dtype, draw)
        for _ in range(draw.choice((1, 1, 1, 2, 4))):
            place = draw.randrange(flat.size)
            flat[place] = _odd_number(flat[place], array.dtype, draw)
    contents.set_array(name, array)


def _shape(contents: Contents, _: Contents, draw: random.Random) -> None:
    entry = contents.entries[_some(contents, draw)]
    size = math.prod(entry[1])
    shapes = [
        [size, 1],
        [1, size],
        [size, 1, 1],
        [],
        [0],
        [size + 1],
        [1] * 40,
        [2**40, 2**40],
        [-size],
        [size, 0],
        [float(size)],
    ]
    if size % 2 == 0:
        shapes.append([size // 2, 2])
    entry[1] = draw.choice(shapes)


def _length(contents: Contents, _: Contents, draw: random.Random) -> None:
    """Fewer or more numbers, and the shape to go with them."""
    name = _some(contents, draw)
    array = contents.array(name).reshape(-1)
    changed = draw.choice(
        (array[:-1], array[1:], array[:0], np.repeat(array, 2), np.append(array, array[:1]), np.tile(array, 30))
    )
    contents.set_array(name, changed.astype(array.dtype))


def _type(contents: Contents, _: Contents, draw: random.Random) -> None:
    name = _some(contents, draw)
    if contents.entries[name][0] in DTYPES and draw.random() < 0.5:
        with np.errstate(all="ignore"):
            contents.set_array(name, contents.array(name).astype(draw.choice(list(DTYPES.values()))))
    else:
        contents.entries[name][0] = draw.choice(TYPES)


def _name(contents: Contents, others: Contents, draw: random.Random) -> None:
    name = _some(contents, draw)
    new = draw.choice(
        (*others.entries, *contents.entries, name + "x", "", "/", "x/y", "__metadata__ ", "\udc80", "prior_mean")
    )
    if draw.random() < 0.5:
        contents.entries.pop(name)
    elif new.encode("utf-8", "replace") and "\udc80" not in new:
        contents.entries[new] = contents.entries[name]


def _swap(contents: Contents, _: Contents, draw: random.Random) -> None:
    one, two = _some(contents, draw), _some(contents, draw)
    contents.entries[one], contents.entries[two] = contents.entries[two], contents.entries[one]


def _take(contents: Contents, others: Contents, draw: random.Random) -> None:
    """An array of the other file, mostly the one of the same name."""
    shared = [name for name in contents.entries if name in others.entries]
    if shared and draw.random() < 0.8:
        name = draw.choice(shared)
        contents.entries[name] = others.entries[name]
    elif others.entries:
        name = _some(others, draw)
        contents.entries[name] = others.entries[name]


# Changes to texts


def _option(contents: Contents, others: Contents, draw: random.Random) -> None:
    """A value somewhere in the description."""
    texts = [name for name in ("options", "parts") if name in contents.texts]
    if not texts:
        return
    text = draw.choice(texts)
    about = {text: json.loads(contents.texts[text])}
    places = list(_places(about))
    holder, key = draw.choice(places)
    kind = draw.random()
    if kind < 0.15 and isinstance(holder, dict) and holder is not about:
        holder.pop(key)
    elif kind < 0.2 and isinstance(holder, dict):
        holder[draw.choice(("x", "loss", "classes", "lanes", "kind", "map"))] = draw.choice(ODD_JSON)
    elif kind < 0.4 and isinstance(holder[key], int | float) and not isinstance(holder[key], bool):
        holder[key] = draw.choice((holder[key] + 1, -holder[key], holder[key] * 1000, holder[key] / 3, 1e300, 1e-300))
    elif kind < 0.5 and text in others.texts:
        holder[key] = draw.choice([h[k] for h, k in _places(json.loads(others.texts[text]))] or [0])
    else:
        holder[key] = draw.choice(ODD_JSON)
    contents.texts[text] = json.dumps(about[text])


def _places(about: Any) -> Any:
    """(holder, key) of every value."""
    for key in about if isinstance(about, dict) else range(len(about)):
        yield about, key
        if isinstance(about[key], dict | list):
            yield from _places(about[key])


def _text(contents: Contents, others: Contents, draw: random.Random) -> None:
    name = draw.choice(list(contents.texts))
    odd = (
        "",
        "{}",
        "[]",
        "null",
        "NaN",
        '{"a": 1e999}',
        "[" * 100_000,
        "1" * 5000,
        others.texts.get(name, "x"),
        "9",
        "1",
    )
    contents.texts[name] = draw.choice(odd)


CHANGES = (*[_numbers] * 8, *[_option] * 6, *[_shape] * 2, *[_length] * 2, _type, _name, _swap, _take, _text)
