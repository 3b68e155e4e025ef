"""Weka's ARFF as CSV: the header says what the columns hold, the rows are nearly CSV already.

The text that comes out has the lines of the file: those before `@data` are blank, `@data` is the line with the names of the columns, and
comments are blank. So errors name the right line.
"""

import csv
import io
import re
from collections.abc import Iterator
from typing import Any

from odca.features.spec import Kind
from odca.records import record
from odca.stream.read.errors import STANDARD_INPUT, StreamError
from odca.stream.read.made_bytes import MadeBytes
from odca.stream.read.sources import ByteSource, open_bytes

LONGEST_HEADER = 64 << 20
PIECE = 1 << 18
SPECIAL = re.compile(rb"['\"{%\\]")
"""What a row may hold that CSV writes in another way."""
ATTRIBUTE = re.compile(r"@attribute\s+('(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|\S+)\s+(.*)", re.IGNORECASE)
KINDS: dict[str, Kind] = {
    "numeric": "number",
    "real": "number",
    "integer": "number",
    "date": "date",
    "string": "category",
}
_SPARSE = re.compile(r"\s*(\d+)\s+('(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|[^,]+?)\s*(?:,|$)")
_FIELD = re.compile(r"\s*('(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|(?!['\"])[^,\t]*?)\s*(?:[,\t]|$)")


@record
class Attribute:
    """A column: its name, what its values are, and the one that sparse rows leave out."""

    name: str
    kind: Kind
    first: str = "0"


def open_arff(path: str, **how: Any) -> "ArffSource":
    """Open an ARFF file, as `open_bytes` opens others."""
    if path == STANDARD_INPUT or how.get("follow"):
        raise ValueError("ARFF is not read from standard input, and cannot be followed. Name a file.")
    return ArffSource(open_bytes(path, **how))


def attributes_of(path: str, compression: str) -> "list[Attribute]":
    """The columns of an ARFF file."""
    with open_arff(path, compression=compression) as source:
        return source.read_header()


class ArffSource(MadeBytes):
    """The bytes of an ARFF file as CSV."""

    def __init__(self, source: ByteSource) -> None:
        super().__init__(self._translated())
        self._source = source
        self.compression, self.checksum = source.compression, source.checksum
        self.attributes: list[Attribute] = []

    @property
    def path(self) -> str:
        """The path of the file."""
        return self._source.path

    @property
    def size(self) -> int | None:
        """The size on the disk in bytes; None for a pipe."""
        return self._source.size

    @property
    def consumed(self) -> int:
        """The number of bytes on the disk that were read."""
        return self._source.consumed

    @property
    def interrupted(self) -> bool:
        """Whether it ended because it was stopped, though more data might have followed."""
        return self._source.interrupted

    def wait(self, seconds: float) -> bool:
        """Wait until `readinto` would return at once, for at most this time; return whether it would."""
        return bool(self._ready) or self._source.wait(seconds)

    def close(self) -> None:
        """Close the file."""
        self._source.close()

    def read_header(self) -> list[Attribute]:
        """The columns."""
        if not self.attributes:
            self._ready = memoryview(self._next() or b"")
        return self.attributes

    def _translated(self) -> Iterator[bytes]:
        pieces = self._read_pieces()
        header = b""
        while (end := re.search(rb"(?im)^\s*@data[^\n]*(\n|\Z)", header)) is None or not end.group(1):
            piece = next(pieces, None)
            if piece is None:
                break
            header += piece
            if len(header) > LONGEST_HEADER:
                break
        if end is None:
            raise StreamError("it is ARFF, but has no line @data.", path=self.path)
        self.attributes = _attributes(header[: end.start()], self.path)
        blank = b"\n" * header[: end.start(0)].count(b"\n")
        lead = end.group(0)[: len(end.group(0)) - len(end.group(0).lstrip())]
        names = _as_csv([each.name for each in self.attributes])
        yield blank + b"\n" * lead.count(b"\n") + names + b"\n"
        rest = header[end.end() :]
        line = blank.count(b"\n") + lead.count(b"\n") + 1
        for piece in pieces:
            rest += piece
            whole = rest.rfind(b"\n") + 1
            if whole:
                yield self._rows(rest[:whole], line)
                line += rest.count(b"\n", 0, whole)
                rest = rest[whole:]
        if rest:
            yield self._rows(rest, line)

    def _read_pieces(self) -> Iterator[bytes]:
        buffer = bytearray(PIECE)
        while count := self._source.readinto(buffer):
            yield bytes(buffer[:count])

    def _rows(self, data: bytes, line: int) -> bytes:
        if not SPECIAL.search(data):
            return data
        lines = data.split(b"\n")
        for place, row in enumerate(lines):
            if SPECIAL.search(row):
                lines[place] = self._row(row, line + place + 1)
        return b"\n".join(lines)

    def _row(self, row: bytes, line: int) -> bytes:
        text = row.decode(errors="surrogateescape").strip()
        if text.startswith("%"):
            return b""
        if not text.startswith("{"):
            fields, at = [], 0
            while True:
                found = _FIELD.match(text, at)
                if found is None:
                    raise StreamError("a quote is not closed, or text follows it.", path=self.path, line=line)
                fields.append(_unquoted(found.group(1)))
                at = found.end()
                if at >= len(text) and not text.endswith((",", "\t"), found.start(), at):
                    return _as_csv(fields)
        values, inside = [each.first for each in self.attributes], text[1 : text.rfind("}")] if "}" in text else None
        if inside is None:
            raise StreamError("a sparse row begins with { and does not end with }.", path=self.path, line=line)
        at = 0
        while inside[at:].strip():
            found = _SPARSE.match(inside, at)
            if found is None or int(found.group(1)) >= len(values):
                raise StreamError(
                    f"expected a column from 0 to {len(values) - 1} and its value, got {inside[at:].strip()[:30]!r}.",
                    path=self.path,
                    line=line,
                )
            values[int(found.group(1))] = _unquoted(found.group(2))
            at = found.end()
        return _as_csv(values)


def _attributes(header: bytes, path: str) -> list[Attribute]:
    found: list[Attribute] = []
    for number, line in enumerate(header.decode(errors="replace").splitlines(), 1):
        text = line.strip()
        if not text or text.startswith("%") or text.lower().startswith("@relation"):
            continue
        match = ATTRIBUTE.match(text)
        if match is None:
            raise StreamError(f"expected @attribute, a name and a type; got {text[:60]!r}.", path=path, line=number)
        name, type_ = _unquoted(match.group(1)), match.group(2).strip()
        if type_.startswith("{"):
            values = _FIELD.match(type_.strip("{} \t"))
            found.append(Attribute(name, "category", _unquoted(values.group(1)) if values else ""))
            continue
        kind = KINDS.get(type_.split()[0].lower() if type_ else "")
        if kind is None:
            known = ", ".join(KINDS)
            raise StreamError(
                f"the type of {name!r} is {type_!r}; it must be one of {known}, or a list in braces.",
                path=path,
                line=number,
            )
        found.append(Attribute(name, kind, "0" if kind == "number" else ""))
    if not found:
        raise StreamError("it is ARFF, but declares no attributes.", path=path)
    return found


def _unquoted(text: str) -> str:
    if len(text) >= 2 and text[0] == text[-1] and text[0] in "'\"":
        return re.sub(r"\\(.)", r"\1", text[1:-1])
    return text


def _as_csv(fields: list[str]) -> bytes:
    out = io.StringIO()
    csv.writer(out, lineterminator="").writerow([field.replace("\n", " ") for field in fields])
    return out.getvalue().encode(errors="surrogateescape")
