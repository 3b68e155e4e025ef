"""Cutting the bytes of consecutive files into chunks of whole lines.

A line ends with a newline, except possibly the last one of a file. If quotes matter (CSV), a newline in a quoted field is part of
its line. Chunks are large, so that work per chunk costs little per line. The memory of a chunk is
never reused, so that several chunks can be processed at once. Lines are counted by the parser, not here.

Every place between two lines has a `Position`, from which a later run can continue with exactly the same bytes. It contains a
digest of all bytes before it, to check that the files are still the same. The digest is made as the bytes go by.
"""

import time
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import field
from pathlib import Path

import numpy as np

from odca import _core
from odca.records import record
from odca.stream.read.errors import STANDARD_INPUT, StreamError
from odca.stream.read.lines import Bytes, first_line_end, last_line_end
from odca.stream.read.marks import Marks
from odca.stream.read.peeking import Head, PeekableSource
from odca.stream.read.positions import Position, can_be_reread, followed_by, former_digest, is_former, verified
from odca.stream.read.sources import POLL, ByteSource, Closing, StopFlag, another_file, open_bytes

OpenSource = Callable[..., ByteSource]
SIZE = 4 << 20
START_SMALL = 16  # the first chunk of a file is smaller by this factor, so that parsing can start early
LONGEST_LINE = 16 << 20
SHORTEST_LIMIT = 4  # the least max_line, which holds a byte order mark
LINE_TIMEOUT = 0.05  # seconds that a line is held back for others, as long as they keep arriving
PAUSE = 0.001  # seconds without further data after which it is held back no longer
UTF8_MARK = b"\xef\xbb\xbf"
WIDE_MARKS = (b"\xff\xfe", b"\xfe\xff", b"\0\0\xfe\xff")  # UTF-16, or UTF-32
SAMPLE_SECONDS = 1.0
"""So long the first lines are waited for, from which it is found out how to read the rest."""
NOTHING: Bytes = np.empty(0, np.uint8)


@record
class Chunk:
    """Whole lines of one file. `offset` is where the data begin in the file; a byte order mark is left out.

    `first` and `last` say whether it is the first and the last chunk of the file. The first one holds a line that is not blank, if there
    is one within the length of a line; the last one may be empty.

    A chunk with a `fault` (an error message) has no data. It stands for a line that is left out, of which `dropped`
    bytes were skipped already. The caller decides whether to stop or to continue.
    """

    data: memoryview | bytes | bytearray
    path: str
    file: int
    offset: int
    first: bool
    last: bool
    fault: str = ""
    dropped: int = 0
    mid_line: bool = False
    before: _core.Checksum | None = field(default=None, repr=False)  # of the bytes of the file that precede the data
    earlier: str = ""  # the digest of the files before
    marks: Marks | None = None  # of a topic: the messages that the data consist of

    def position(self, length: int, lines: int) -> Position:
        """The place after the first `length` bytes of the data, with `lines` lines of the file before it."""
        offset = self.offset + self.dropped + length
        if self.marks is not None:
            return Position(
                self.file, offset, lines, mid_line=self.mid_line, places=self.marks.places(self.dropped + length)
            )
        digest = "" if self.before is None else self.before.digest(memoryview(self.data)[:length])
        return Position(self.file, offset, lines, digest, self.mid_line, self.earlier)

    def end_position(self, lines: int) -> Position:
        """The place after the chunk, with `lines` lines of the file before it. A fault counts as one line."""
        return self.position(len(self.data), lines)


class Chunks(Closing):
    """An iterator over the chunks of several files, in order.

    compression: that of all files; "auto" recognises each by its first bytes.
    start:       where to begin: a position of a chunk of an earlier run.
    follow:      wait for more data at the end of the last file (see `open_bytes`), until `stop`. If another file takes its
                 place, that one continues with the same number, from offset 0, with `first` set.
    size:        the approximate size of a chunk in bytes; the first ones are smaller, so that parsing can start early. Lines that arrive
                 slowly, in a pipe or in a followed file, are delivered when none has followed for a millisecond, and after a twentieth of
                 a second at the latest, however few there are.
    max_line:    the greatest length of a line in bytes, without its newline. A longer one is left out and gives a fault. Memory is
                 bounded by a few times the larger of `size` and this.
    delimiters:  those between which a field may be quoted, so that a newline in it does not end the line (see quotes.hpp); none if quotes
                 mean nothing. A quoted field that would make its line longer than `max_line` is not closed: it ends with its line.

    open_source: opens a path, as `open_bytes` does. If the paths are not those of files, the data are not `is_sized`.

    The lines of a damaged file before the damage are delivered; then a StreamError is raised.

    One thread iterates and closes; any thread may call `stop` and read `consumed`.
    """

    def __init__(
        self,
        paths: Sequence[str],
        *,
        compression: str = "auto",
        start: Position = Position(),  # noqa: B008 - it is frozen
        follow: bool = False,
        size: int = SIZE,
        max_line: int = LONGEST_LINE,
        delimiters: str = "",
        open_source: OpenSource = open_bytes,
        is_sized: bool = True,
    ) -> None:
        if size < 1 or max_line < SHORTEST_LIMIT:
            raise ValueError(f"size must be >= 1 and max_line >= {SHORTEST_LIMIT}; got {size} and {max_line}.")
        if start.file > len(paths):
            raise ValueError(
                f"the start is in file number {start.file}, counted from 0, but the number of files is only {len(paths)}."
            )
        self._paths = tuple(paths)
        self._compression = compression
        self._start = start
        self._follow = follow
        self._size = size
        self._max_line = max_line
        self._delimiters = delimiters
        self._open_source = open_source
        self._stopped = StopFlag()
        sizes = [_size(path) if is_sized else None for path in self._paths]
        known = [each or 0 for each in sizes]
        self._total = None if follow or None in sizes else sum(known)
        # One object, so that another thread sees a consistent pair.
        self._progress: tuple[int, ByteSource | None] = sum(known[: start.file]), None
        self._earlier = ""  # the digest of the files before
        self._opened: tuple[ByteSource, _Cutter] | None = None  # the first file, once it was looked at
        self._all = self._generate()

    def head(self, size: int, lines: int, *, seconds: float = SAMPLE_SECONDS) -> Head:
        """The first lines, without consuming them: about `size` bytes or `lines` lines, if they arrive in so many seconds, and at least one."""
        if self._opened is None:
            self._opened = self._open(self._start.file, self._start)
        return self._opened[1].head(size, lines, seconds)

    @property
    def delimiters(self) -> str:
        """The delimiters between which a field may be quoted. They may be set before the first chunk is taken."""
        return self._delimiters

    @delimiters.setter
    def delimiters(self, delimiters: str) -> None:
        self._delimiters = delimiters
        if self._opened is not None:
            self._opened[1].quote(delimiters)

    @property
    def total(self) -> int | None:
        """The size of all files on the disk in bytes; None if it is unknown."""
        return self._total

    @property
    def consumed(self) -> int:
        """The number of bytes on the disk read so far, including those before the start."""
        before, source = self._progress
        return before + (0 if source is None else source.consumed)

    def stop(self) -> None:
        """Stop waiting for more data, as if they ended after the last whole line. Any thread may call it."""
        self._stopped.set()

    def close(self) -> None:
        """Close the open file. No more chunks follow."""
        self._all.close()
        if self._opened is not None:
            self._opened[0].close()

    def __iter__(self) -> Iterator[Chunk]:
        return self

    def __next__(self) -> Chunk:
        return next(self._all)

    def _generate(self) -> Generator[Chunk]:
        start, file = self._start, self._start.file
        while file < len(self._paths):
            again = yield from self._one(file, start)
            start = Position()
            file += not again

    def _one(self, file: int, start: Position) -> Generator[Chunk, None, bool]:
        """Yield the chunks of one file; return whether another file took its place."""
        before, _ = self._progress
        (source, cutter), self._opened = self._opened or self._open(file, start), None
        with source:
            self._progress = before, source
            yield from cutter
            self._progress = before + source.consumed, None
        while source.replaced and not Path(self._paths[file]).exists() and not self._stopped.wait(POLL):
            pass
        if source.replaced and Path(self._paths[file]).exists():
            return True
        is_file = source.size is not None and source.path != STANDARD_INPUT
        digest = (source.checksum or cutter.checksum).digest() if is_file else ""
        self._earlier = followed_by(self._earlier, digest) if self._earlier or not self._start.file else ""
        return False

    def _open(self, file: int, start: Position) -> "tuple[ByteSource, _Cutter]":
        self._earlier = self._earlier or verified(start, self._paths)
        follow = self._follow and file == len(self._paths) - 1
        how = {"compression": self._compression, "follow": follow, "stopped": self._stopped}
        source = self._open_source(self._paths[file], **how, **({"start": start} if start.places else {}))
        return source, _Cutter(source, file, start, self._size, self._max_line, self._delimiters, self._earlier)


def _size(path: str) -> int | None:
    return Path(path).stat().st_size if can_be_reread(path) else None


class _Cutter:
    """Cuts the bytes of one file into chunks. It reads into a buffer; the rest that was not delivered begins the next buffer."""

    def __init__(
        self, source: ByteSource, file: int, start: Position, size: int, max_line: int, delimiters: str, earlier: str
    ) -> None:
        self._source = PeekableSource(source)
        self._file = file
        self._start = start
        # A line fits into the largest buffer, with its newline, if and only if it is not too long.
        self._largest = max_line + 1
        self._full_size = max(SHORTEST_LIMIT, min(size, self._largest))
        self._size = max(SHORTEST_LIMIT, self._full_size // START_SMALL)
        self._delimiters = delimiters
        self._offset = start.offset  # of the buffer's first byte in the file
        self._earlier = earlier
        self.checksum = _core.Checksum()
        """The checksum of the bytes before that."""
        self._first = start.offset == 0
        self._mid_line = start.mid_line
        self._line_end = 0  # the end of the last whole line in the buffer
        self._ended = False
        self._error: Exception | None = None
        self._begun = False
        self._new_buffer(self._size)

    def head(self, size: int, lines: int, seconds: float) -> Head:
        """The first lines; see `Chunks.head`."""
        self._begin()
        read = self._buffer[: self._filled].tobytes()
        return self._source.peek(read, size, lines, seconds=seconds, longest=self._largest, delimiters=self._delimiters)

    def quote(self, delimiters: str) -> None:
        """Set the delimiters between which a field may be quoted, before the first chunk is taken."""
        self._delimiters = delimiters
        self._line_end = 0
        self._find_line_end(0)

    def _begin(self) -> None:
        if self._begun:
            return
        self._begun = True
        if self._start.offset:
            self._verify()
        else:
            self._pass_mark()

    def __iter__(self) -> Iterator[Chunk]:
        self._begin()
        while True:
            self._drop_rest()
            self._fill()
            if self._ended and self._source.interrupted:  # the last line may lack its end
                yield self._deliver(self._line_end, last=True)
                return
            if self._ended:
                yield self._deliver(self._filled, last=True)
                return
            if self._line_end and not self._begins_blank():
                yield self._deliver(self._line_end)
            elif self._error is not None:
                raise self._error
            elif self._filled == self._largest:
                first = first_line_end(self._buffer[: self._filled]) if self._delimiters else 0
                yield self._deliver(first) if first else self._fault()
            elif self._filled == len(self._buffer):
                self._grow()

    # The beginning

    def _begins_blank(self) -> bool:
        """Whether the file's first chunk has no line yet that is not blank. It needs one, which may be the header."""
        return self._first and self._filled < self._largest and not self._buffer[: self._line_end].tobytes().strip()

    def _verify(self) -> None:
        last = self._source.skip(self._start.offset, self.checksum.add)
        expected = self._start.digest
        if expected and expected != (former_digest(last) if is_former(expected) else self.checksum.digest()):
            raise another_file(f"the file changed before byte {self._start.offset}", self._source.path)

    def _pass_mark(self) -> None:
        marks = (UTF8_MARK, *WIDE_MARKS)
        head = b""
        while any(len(head) < len(mark) and mark.startswith(head) for mark in marks) and self._read():
            head = self._buffer[: min(4, self._filled)].tobytes()
        if head.startswith(UTF8_MARK):
            self._pass(len(UTF8_MARK))
        elif head.startswith(WIDE_MARKS):
            raise StreamError(
                "the file is encoded in UTF-16 or UTF-32. Convert it to UTF-8: iconv -f UTF-16 -t UTF-8.",
                path=self._source.path,
            )

    # Reading

    def _new_buffer(self, size: int, rest: Bytes = NOTHING) -> None:
        self._buffer: Bytes = np.empty(size, np.uint8)  # not zeroed, as a bytearray would be
        self._buffer[: len(rest)] = rest
        self._filled = len(rest)

    def _read(self) -> bool:
        """Read what is available. False if that is nothing: at the end, or at an error, which is kept to be raised later."""
        try:
            count = self._source.readinto(self._buffer.data[self._filled :])
        except (StreamError, OSError) as error:
            self._error = error
            return False
        self._filled += count
        self._ended = not count
        if not self._mid_line:
            self._find_line_end(self._filled - count)
        return bool(count)

    def _find_line_end(self, begin: int) -> None:
        """Find the last line end, where the bytes from this place on are new."""
        if self._delimiters:
            read = self._buffer.data[: self._filled]
            self._line_end = _core.last_line_end(read, self._line_end, self._delimiters)
        elif end := last_line_end(self._buffer[begin : self._filled]):
            self._line_end = begin + end

    def _fill(self) -> None:
        """Read until the buffer is full, the file ends, or there are lines and no more arrive soon."""
        until = 0.0
        while self._filled < len(self._buffer) and not self._ended and self._error is None:
            if self._line_end:
                now = time.monotonic()
                until = until or now + LINE_TIMEOUT
                if now > until or not self._source.wait(PAUSE):
                    return
            self._read()

    def _grow(self) -> None:
        self._new_buffer(min(2 * len(self._buffer), self._largest), self._buffer[: self._filled])

    # Delivering

    def _deliver(self, length: int, *, last: bool = False) -> Chunk:
        """A chunk of the first `length` bytes of the buffer, which end with a line."""
        few = 4 * length < len(self._buffer)
        data = memoryview(self._buffer[:length].tobytes()) if few else self._buffer.data[:length].toreadonly()
        before = self.checksum.copy()
        chunk = Chunk(
            data, self._source.path, self._file, self._offset, self._first, last,
            before=before, earlier=self._earlier, marks=self._source.marks(self._offset, self._offset + length),
        )  # fmt: skip
        self._size = min(2 * self._size, self._full_size)
        self._pass(length, reuse=few)
        self._line_end, self._first = 0, False
        if self._filled:
            self._find_line_end(0)
        return chunk

    def _fault(self) -> Chunk:
        """Skip the buffer, whose line is too long."""
        dropped = self._filled
        self._mid_line = True
        begin, first = self._offset, self._first
        self._pass(dropped, reuse=False)
        self._line_end, self._first = 0, False
        return Chunk(
            b"",
            self._source.path,
            self._file,
            begin,
            first,
            last=False,
            fault=f"the line has more than {self._largest - 1} bytes.",
            dropped=dropped,
            mid_line=self._mid_line,
            before=self.checksum.copy(),
            earlier=self._earlier,
            marks=self._source.marks(begin, begin + dropped),
        )

    def _drop_rest(self) -> None:
        """After a line that was too long, skip to its end."""
        while self._mid_line and (self._filled or self._read()):
            line_end = first_line_end(self._buffer[: self._filled])
            self._pass(line_end or self._filled)
            self._mid_line = not line_end
            self._line_end = 0
            self._find_line_end(0)

    def _pass(self, length: int, *, reuse: bool = True) -> None:
        """Remove the first bytes from the buffer."""
        passed, rest = self._buffer[:length], self._buffer[length : self._filled]
        self.checksum.add(passed)
        self._offset += length
        if reuse:
            self._buffer[: len(rest)] = rest
            self._filled = len(rest)
        else:
            self._new_buffer(min(max(self._size, 2 * len(rest)), self._largest), rest)
