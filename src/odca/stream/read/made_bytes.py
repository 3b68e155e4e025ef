"""Bytes that are made from something else, piece by piece: CSV from ARFF, or from the rows of a query."""

from collections.abc import Iterator

from odca.stream.read.sources import Buffer, ByteSource


class MadeBytes(ByteSource):
    """A source whose bytes come from an iterator. After an error it raises the same error again."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces
        self._ready = memoryview(b"")
        self._given = 0
        self._failure: Exception | None = None

    def readinto(self, buffer: Buffer) -> int:
        """Read into the buffer, or the front of it; return the number of bytes, 0 at the end."""
        while not self._ready:
            if (piece := self._next()) is None:
                return 0
            self._ready = memoryview(piece)
        count = min(len(self._ready), len(buffer))
        buffer[:count] = self._ready[:count]
        self._ready = self._ready[count:]
        self._given += count
        return count

    def _next(self) -> bytes | None:
        if self._failure is not None:
            raise self._failure
        try:
            return next(self._pieces, None)
        except Exception as error:
            self._failure = error
            raise
