"""Looking at the first lines of a source before it is read."""

import time
from typing import NamedTuple

from odca import _core
from odca.stream.read.decompression import PIECE
from odca.stream.read.errors import StreamError
from odca.stream.read.sources import ByteSource

FEW_LINES = 20  # they are worth some more bytes: labels and columns look different in a single row
FEWEST_LINES = 2  # a header and a row


class Head(NamedTuple):
    """The first lines: whole ones, unless the first is too long. `error` is what ended the data behind them, if anything did."""

    data: bytes
    error: Exception | None


class PeekableSource:
    """A source whose first bytes can be inspected before they are read."""

    def __init__(self, source: ByteSource) -> None:
        self._source = source
        self.path, self.skip, self.marks = source.path, source.skip, source.marks
        self._ahead = memoryview(b"")
        self._end: Exception | bool = False  # whether the data ended after that, or the error

    def peek(self, read: bytes, size: int, lines: int, *, seconds: float, longest: int, delimiters: str) -> Head:
        """The first lines, of which the bytes `read` were read already: about `size` bytes or `lines` lines.

        If lines are long, they are 20 lines or `longest` bytes, or the first two lines, unless these are longer than `longest`. Fewer if
        they do not arrive in so many seconds, but at least one.
        """
        data, until = bytearray(read) + self._ahead, time.monotonic() + seconds
        found = _Lines(lines, delimiters)
        found.look_at(data)
        piece = memoryview(bytearray(PIECE))
        while not self._end and (
            (len(data) < size and found.count < lines)
            or (len(data) < longest and found.count < FEW_LINES)
            or (found.count < FEWEST_LINES and len(data) - found.end < longest)
        ):
            if found.count and not self._source.wait(max(0.0, until - time.monotonic())):
                break
            try:
                count = self._source.readinto(piece)
                self._end = not count
            except (StreamError, OSError) as failure:
                count, self._end = 0, failure
            data += piece[:count]
            found.look_at(data)
        self._ahead = memoryview(data)[len(read) :]
        error = self._end if isinstance(self._end, Exception) else None
        if not found.count and not self._end:
            error = StreamError(f"the line has more than {longest - 1} bytes.", path=self.path, line=1)
        is_all = self._end is True and found.count < lines  # then the last line may lack its newline
        return Head(bytes(data if is_all or not found.count else data[: found.end]), error)

    def readinto(self, buffer: memoryview) -> int:
        """Read into the buffer, as a source does."""
        if not self._ahead:
            if isinstance(self._end, Exception):
                raise self._end
            return 0 if self._end else self._source.readinto(buffer)
        count = min(len(self._ahead), len(buffer))
        buffer[:count] = self._ahead[:count]
        self._ahead = self._ahead[count:]
        return count

    def wait(self, seconds: float) -> bool:
        """Wait until `readinto` would return at once, as a source does."""
        return bool(self._ahead) or bool(self._end) or self._source.wait(seconds)

    @property
    def interrupted(self) -> bool:
        """Whether the source ended because it was stopped."""
        return self._source.interrupted


class _Lines:
    """Counts whole lines, up to `most`, from the first one that is not blank. `end` is the place after the last of them."""

    def __init__(self, most: int, delimiters: str) -> None:
        self._most, self._delimiters = most, delimiters
        self._begin = 0  # of the first line that is not blank
        self.count = self.end = 0

    def look_at(self, data: bytearray) -> None:
        """Count the lines of data that go on where those before ended."""
        if not self.count:
            self._begin = len(data) - len(data[self._begin :].lstrip())
        begin = self.end or self._begin
        count, end = _core.whole_lines(data, begin, self._delimiters, self._most - self.count)
        if count:
            self.count += count
            self.end = end
