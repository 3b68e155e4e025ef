"""Events to text: libsvm's, VW's, lines of JSON. Tables are in `tables`.

A writer takes the blocks of one stream, in order. What its format cannot hold it leaves out and counts in `lost`.
"""

import json
import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from itertools import pairwise
from typing import Any, BinaryIO, NoReturn, TypeVar

import numpy as np
import numpy.typing as npt

from odca import _core
from odca.errors import InputError, Remedy
from odca.features.spec import FeatureParts, feature_parts
from odca.stream.read.blocks import Block
from odca.stream.read.schema import Schema

BESIDES = {"weight": 1.0, "offset": 0.0, "time": np.nan, "group": np.nan, "tag": ""}
"""What an event may have besides a label and features, and what it means not to have it."""
DISTURBING = re.compile(r"[\s|:]")
Made = TypeVar("Made")


def number_texts(numbers: npt.NDArray[Any]) -> list[str]:
    """Each number as short as it can be read back from: 1 and not 1.0; nan where there is none.

    >>> number_texts(np.array([1.0, 0.1, 1e300]))
    ['1', '0.1', '1e+300']
    """
    # The list's own repr: one call for all of them.
    if not len(numbers):
        return []
    if numbers.dtype.kind == "f" and (np.abs(numbers) < 1e15).all() and (numbers == np.trunc(numbers)).all():
        numbers = numbers.astype(np.int64)
    return (repr(numbers.tolist())[1:-1] + ",").replace(".0,", ",")[:-1].split(", ")


class Keys:
    """The keys of a stream's features, by their indices."""

    def __init__(self, schema: Schema, vocabulary: _core.Vocabulary | None) -> None:
        self._vocabulary = vocabulary
        self._known: list[bytes] = []
        self.are_indices = schema.has_indices
        """Whether they are the numbers of libsvm's text."""

    def __call__(self, index: int) -> bytes:
        """The key of a feature."""
        if self._vocabulary is None:
            return b"%d" % index
        if index >= len(self._known):
            self._known = self._vocabulary.keys()
        return self._known[index]


def number_of(block: Block, name: str) -> int:
    """How many events have something of BESIDES."""
    values = getattr(block, name)
    if values is None:
        return 0
    if name == "tag":
        return sum(map(bool, values))
    return int(np.count_nonzero(~np.isnan(values) & (values != BESIDES[name])))


class PerFeature(dict[int, Made]):
    """What is made of a feature's key, once for each feature that comes."""

    def __init__(self, keys: Keys, make: Callable[[FeatureParts], Made]) -> None:
        super().__init__()
        self._keys, self._make = keys, make

    def __missing__(self, index: int) -> Made:
        made = self[index] = self._make(feature_parts(self._keys(index)))
        return made

    def of(self, indices: npt.NDArray[Any]) -> list[Made]:
        """One for each of the indices."""
        return list(map(self.__getitem__, indices.tolist()))


class Writer(ABC):
    """Writes blocks to a file. `holds` are those of BESIDES that the format has a place for."""

    holds: tuple[str, ...] = tuple(BESIDES)

    def __init__(self, file: BinaryIO, schema: Schema, keys: Keys) -> None:
        self._file, self._schema, self._keys = file, schema, keys
        self.lost: Counter[str] = Counter()
        """What could not be written as it was, in words, and how often."""

    @abstractmethod
    def write(self, block: Block) -> None:
        """Write the events of a block."""

    def close(self) -> None:  # noqa: B027 - few formats have one
        """Write what ends a file, if anything does."""

    def _count_lost(self, block: Block) -> None:
        for name in BESIDES:
            if name not in self.holds:
                self.lost[f"the format has no place for the {name} of events, which is lost"] += number_of(block, name)

    def _label_texts(self, block: Block, text_of: Callable[[str], str]) -> list[str]:
        """The labels; "" where there is none."""
        rows = block.rows
        texts = number_texts(rows.label)
        if rows.label_names:
            names = [text_of(name.decode()) for name in rows.label_names]
            for row in np.flatnonzero(rows.label_text >= 0).tolist():
                texts[row] = names[rows.label_text[row]]
        for row in np.flatnonzero(block.is_unlabelled).tolist():
            texts[row] = ""
        return texts


class TextWriter(Writer):
    """A line for each event: its head, then one token for each feature."""

    def write(self, block: Block) -> None:
        """Write the events of a block."""
        self._count_lost(block)
        self._file.write("".join(self._lines(block)).encode())

    @abstractmethod
    def _lines(self, block: Block) -> Iterable[str]: ...


class LabelNumbers(dict[str, str]):
    """Labels that are text, numbered from 1 as they come, for formats that have numbers only."""

    def __missing__(self, label: str) -> str:
        self[label] = str(len(self) + 1)
        return self[label]


class NumberedWriter(TextWriter):
    """A format whose labels are numbers."""

    def __init__(self, file: BinaryIO, schema: Schema, keys: Keys) -> None:
        super().__init__(file, schema, keys)
        self.label_numbers = LabelNumbers()


class Libsvm(NumberedWriter):
    """label [qid:n] index:value ...

    An index is that of libsvm's text, or the number of the name, counted from 1. Feature names are lost, but `names_of` has them.
    """

    holds = ("group",)

    def _lines(self, block: Block) -> Iterable[str]:
        rows = block.rows
        labels = self._label_texts(block, self.label_numbers.__getitem__)
        if "" in labels:
            self.lost["the format needs labels, and events without one got 0"] += labels.count("")
        heads = [label or "0" for label in labels]
        if block.group is not None:
            groups = zip(heads, block.group, number_texts(block.group), strict=True)
            heads = [head if np.isnan(group) else f"{head} qid:{text}" for head, group, text in groups]
        indices = rows.indices if self._keys.are_indices else rows.indices + 1
        pairs = zip(number_texts(indices), number_texts(rows.data), strict=True)
        tokens = [f" {index}:{value}" for index, value in pairs]
        for head, (begin, end) in zip(heads, pairwise(rows.indptr.tolist()), strict=True):
            yield f"{head}{''.join(tokens[begin:end])}\n"


class Vw(NumberedWriter):
    """label importance initial 'tag|namespace name:value ...

    A category becomes a name in the namespace of its field; so does what VW's own text had in one. A category of a name in a
    namespace, which only VW's text has, stays what it was: name:word.
    """

    holds = ("weight", "offset", "tag")

    def __init__(self, file: BinaryIO, schema: Schema, keys: Keys) -> None:
        super().__init__(file, schema, keys)
        self._names = PerFeature(keys, self._name)

    def _name(self, parts: FeatureParts) -> tuple[str, str, str, bool]:
        """The namespace, how a feature begins that opens it, and one that goes on in it, and whether it has a word for its value."""
        space, mark, within = parts.field.partition("^")
        if parts.kind == "category" and space and mark and within:
            namespace = self._harmless(space)
            word = f"{self._harmless(within)}:{self._harmless(parts.category)}"
            return namespace, f" |{namespace} {word}", f" {word}", True
        if parts.kind == "category":
            namespace, name = parts.field, parts.category
        elif parts.kind == "missing":
            namespace, name = "", f"{parts.field}_is_missing"
        else:
            namespace, mark, name = parts.field.partition("^")
            if not (namespace and mark and name):
                namespace, name = "", parts.field
        namespace, name = self._harmless(namespace), self._harmless(name)
        return namespace, f" |{namespace} {name}", f" {name}", False

    def _harmless(self, name: str) -> str:
        harmless = DISTURBING.sub("_", name)
        if harmless != name:
            self.lost["names cannot have blanks, ':' or '|', which became '_'"] += 1
        return harmless

    def _lines(self, block: Block) -> Iterable[str]:
        rows = block.rows
        names = self._names.of(rows.indices)
        starts = rows.indptr.tolist()
        before: list[str | None] = [None, *(name[0] for name in names)]
        for start in starts:
            before[start] = None
        tokens = [
            (going_on if namespace == previous else opening) + self._value(value, worded)
            for (namespace, opening, going_on, worded), previous, value in zip(
                names, before, number_texts(rows.data), strict=False
            )
        ]
        for head, (begin, end) in zip(self._heads(block), pairwise(starts), strict=True):
            features = "".join(tokens[begin:end])[1:] or "|"
            yield f"{head}{features}\n"

    def _value(self, value: str, worded: bool) -> str:
        if value == "1":
            return ""
        if worded:
            self.lost["categories in namespaces count once, and lost another weight"] += 1
            return ""
        return f":{value}"

    def _heads(self, block: Block) -> list[str]:
        heads = self._label_texts(block, self.label_numbers.__getitem__)
        weights = ["1"] * len(block) if block.weight is None else number_texts(block.weight)
        offsets = ["0"] * len(block) if block.offset is None else number_texts(block.offset)
        for row, (label, weight, offset) in enumerate(zip(heads, weights, offsets, strict=True)):
            if weight == "1" and offset == "0":
                continue
            if not label:
                self.lost["events without a label lost their weight and offset"] += 1
                continue
            heads[row] = f"{label} {weight}" if offset == "0" else f"{label} {weight} {offset}"
        heads = [head and f"{head} " for head in heads]
        if block.tag is None:
            return heads
        return [f"{head}'{self._harmless(tag)}" if tag else head for head, tag in zip(heads, block.tag, strict=True)]


class JsonLines(TextWriter):
    """An object for each event: label, weight, ... under the names that they had, and then its features.

    A field of several categories is a list of strings.
    """

    def __init__(self, file: BinaryIO, schema: Schema, keys: Keys) -> None:
        super().__init__(file, schema, keys)
        self._places = Places(schema)
        self._tokens = PerFeature(keys, self._token)
        self._parts = PerFeature(keys, lambda parts: parts)

    def _token(self, parts: FeatureParts) -> tuple[str, bool]:
        """What there is before a value, and whether the value is to be written."""
        self._places.add_field(parts.field)
        key = json.dumps(parts.field, ensure_ascii=False)
        if parts.kind == "number":
            return f", {key}: ", True
        value = "null" if parts.kind == "missing" else json.dumps(parts.category, ensure_ascii=False)
        return f", {key}: {value}", False

    def _lines(self, block: Block) -> Iterable[str]:
        rows = block.rows
        parts = zip(self._tokens.of(rows.indices), number_texts(rows.data), strict=True)
        tokens = [text + value if is_number else text for (text, is_number), value in parts]
        starts = rows.indptr.tolist()
        lists = rows_with_lists(rows, self._parts) if may_have_lists(self._schema) else set()
        for row, (head, (begin, end)) in enumerate(zip(self._heads(block), pairwise(starts), strict=True)):
            features = self._with_lists(block, begin, end) if row in lists else "".join(tokens[begin:end])
            yield f"{{{(head + features)[2:]}}}\n"

    def _heads(self, block: Block) -> list[str]:
        key = json.dumps(self._places.take("label"), ensure_ascii=False)
        heads = [
            label and f", {key}: {label}"
            for label in self._label_texts(block, lambda text: json.dumps(text, ensure_ascii=False))
        ]
        for name, otherwise in BESIDES.items():
            values = getattr(block, name)
            if values is None:
                continue
            key = json.dumps(self._places.take(name), ensure_ascii=False)
            if name == "tag":
                texts, absent = [json.dumps(tag, ensure_ascii=False) for tag in values], '""'
            else:
                texts, absent = number_texts(values), number_texts(np.array([otherwise]))[0]
            pairs = zip(heads, texts, strict=True)
            heads = [head if text == absent else f"{head}, {key}: {text}" for head, text in pairs]
        return heads

    def _with_lists(self, block: Block, begin: int, end: int) -> str:
        rows, found = block.rows, dict[str, Any]()
        for index, value in zip(rows.indices[begin:end].tolist(), rows.data[begin:end].tolist(), strict=True):
            parts = self._parts[index]
            if parts.kind == "category":
                found.setdefault(parts.field, []).extend([parts.category] * max(1, round(value)))
            else:
                found[parts.field] = None if parts.kind == "missing" else value
        return ", " + json.dumps(found, ensure_ascii=False)[1:-1]


def may_have_lists(schema: Schema) -> bool:
    """Whether an event can have several categories of one field."""
    return schema.format == "jsonl" or bool(schema.features.text)


def rows_with_lists(rows: _core.TextBlock, parts: Mapping[int, FeatureParts] | Sequence[FeatureParts]) -> set[int]:
    """The rows where a field has several categories, or one more than once. `parts` are those of the features by index."""
    numbers: dict[str, int] = {}
    indices, places = np.unique(rows.indices, return_inverse=True)
    fields = np.array(
        [
            numbers.setdefault(parts[index].field, len(numbers)) if parts[index].kind == "category" else -1
            for index in indices.tolist()
        ],
        np.int64,
    )[places]
    chosen = np.flatnonzero(fields >= 0)
    if not len(chosen):
        return set()
    row = np.repeat(np.arange(len(rows)), np.diff(rows.indptr))[chosen]
    pairs, counts = np.unique(row * len(numbers) + fields[chosen], return_counts=True)
    several = pairs[counts > 1] // len(numbers)
    return {*several.tolist(), *row[rows.data[chosen] != 1.0].tolist()}


class Places:
    """Where label, weight, ... stand among the features: under the names that they had, else under their own."""

    def __init__(self, schema: Schema) -> None:
        self._names = {role: name or role for role, name in asdict(schema.roles).items()}
        self._taken: dict[str, str] = {}
        self._fields: set[str] = set()

    def take(self, role: str) -> str:
        """The name for a role that events have. ValueError if a feature has it."""
        name = self._names[role]
        self._taken[name] = role
        if name in self._fields:
            self._refuse(name)
        return name

    def add_field(self, field: str) -> None:
        """Note that there is such a field. ValueError if a role has its name."""
        self._fields.add(field)
        if field in self._taken:
            self._refuse(field)

    def _refuse(self, name: str) -> NoReturn:
        role = self._taken[name]
        raise InputError(
            f"a feature is named {name!r}, as the {role} is to be.",
            remedy=Remedy("Leave it out with {ignore}.", ignore=[name]),
        )
