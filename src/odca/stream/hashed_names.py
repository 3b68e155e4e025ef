"""The hash of feature names, to find the names that belong to the weights of a hashed model.

The same function as in cpp/odca/features/hash.hpp: FNV-1a of the bytes of a key, followed by a mixing of the bits. The hash of a name
that is a number is that number.
"""

import re
from collections.abc import Sequence
from dataclasses import replace

from odca.features.spec import PRODUCT
from odca.stream.read.schema import Schema
from odca.stream.read.stream import Path
from odca.stream.read.stream import open as open_stream

BEGIN, PRIME, PRODUCTS = 0xCBF29CE484222325, 0x100000001B3, 0x9E3779B97F4A7C15
FIRST, SECOND = 0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53
MASK = 2**64 - 1
NUMBER = re.compile(rb"0|[1-9][0-9]{0,17}")


def hashed(key: bytes, bits: int) -> int:
    """The index of a feature in a model with this many bits."""
    if NUMBER.fullmatch(key):
        return int(key) & ((1 << bits) - 1)
    first, *others = (_fnv(factor) for factor in key.split(PRODUCT))
    product = first
    for factor in others:
        product = (_mixed(product) * PRODUCTS + _mixed(factor)) & MASK
    return _mixed(product) & ((1 << bits) - 1)


def _fnv(text: bytes) -> int:
    found = BEGIN
    for byte in text:
        found = (found ^ byte) * PRIME & MASK
    return found


def _mixed(found: int) -> int:
    found = (found ^ (found >> 33)) * FIRST & MASK
    found = (found ^ (found >> 33)) * SECOND & MASK
    return found ^ (found >> 33)


def names_in(paths: Path | Sequence[Path], schema: Schema) -> dict[int, list[bytes]]:
    """The keys of all features in files, by the index to which a schema hashes them."""
    bits = schema.features.bits
    if bits is None:
        raise ValueError("the model's features are not hashed, so it has all their names already.")
    named = replace(schema, features=replace(schema.features, bits=None), named=True)
    found: dict[int, list[bytes]] = {}
    with open_stream(paths, schema=named, labelled=False, on_error="skip") as stream:
        for _ in stream:
            pass
        assert stream.vocabulary is not None
        for key in stream.vocabulary.keys():  # noqa: SIM118 - no dictionary
            found.setdefault(hashed(key, bits), []).append(key)
    return found
