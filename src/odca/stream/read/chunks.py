"""The bytes of files, one behind the other, cut into chunks of whole lines.

A line ends with a newline; the last one of a file need not. Where quotes count (CSV), a newline between double quotes
is part of its line. Chunks are large, so that what is done per chunk costs nothing per line, and a chunk's memory is
never used again, so that several can be worked on at once. Lines are not counted here: whoever parses them does so.

Every place between two lines has a `Position`, from which a later run goes on with the very same bytes. It carries a
digest of the bytes before it, which tells whether the file is still the one that it was taken from.
"""

import hashlib
import stat
import threading
import time
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Self

import numpy as np

from odca.stream.read.errors import STANDARD_INPUT, StreamError
from odca.stream.read.lines import Bytes, first_line_end, last_line_end, last_unquoted_line_end
from odca.stream.read.sources import POLL, ByteSource, another_file, open_bytes

SIZE = 2 << 20
START_SMALL = 16  # the first chunk of a file is so much smaller than others, that work can begin
LONGEST_LINE = 16 << 20
DIGESTED = 4096  # bytes before a position that its digest is of
SHORTEST_LIMIT = 4  # of max_line: a byte order mark fits
PATIENCE = 0.05  # seconds that a line waits for others, where they come slowly
LOOKING = 1.0  # seconds that a look at the first lines waits for more of them
UTF8_MARK = b"\xef\xbb\xbf"
WIDE_MARKS = (b"\xff\xfe", b"\xfe\xff", b"\0\0\xfe\xff")  # UTF-16, or UTF-32
NOTHING: Bytes = np.empty(0, np.uint8)


@dataclass(frozen=True, slots=True)
class Position:
    """A place between two lines: in which file, and how many (decompressed) bytes and lines of it lie before.

    `digest` is of the last bytes before it; empty, it is not checked. `mid_line` is True behind a fault: there the
    rest of a line that was too long is yet to be dropped.
    """

    file: int = 0
    offset: int = 0
    line: int = 0
    digest: str = ""
    mid_line: bool = False

    def __post_init__(self) -> None:
        if min(self.file, self.offset, self.line) < 0:
            raise ValueError(f"a position cannot lie before the beginning; got {self!r}.")


@dataclass(frozen=True, slots=True)
class Chunk:
    """Whole lines of one file. `offset` is where the data begin in it; a byte order mark before them is left out.

    `first` and `last` say whether it begins the file and whether it ends it. The first one holds a line that is not blank, if there
    is one within the length of a line; the last one may be empty.

    With a `fault`, which says what is wrong, it has no data and stands for a line that is left out, of which `dropped`
    bytes are gone already. It is for the caller to stop or to go on.
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
    before: bytes = field(default=b"", repr=False)  # up to DIGESTED bytes of the file that precede the data

    def position(self, length: int, lines: int) -> Position:
        """The place behind the first `length` bytes of the data, where `lines` lines of the file lie before."""
        known = self.before + bytes(self.data[max(0, length - DIGESTED) : length])
        return Position(
            self.file, self.offset + self.dropped + length, lines, digest_of(known[-DIGESTED:]), self.mid_line
        )

    def end_position(self, lines: int) -> Position:
        """The place behind the chunk, where `lines` lines of the file lie before. A fault counts as one line."""
        return self.position(len(self.data), lines)


def digest_of(tail: bytes) -> str:
    """What a position remembers of the bytes before it."""
    return hashlib.blake2b(tail, digest_size=16).hexdigest()


class Chunks:
    """The chunks of several files, in order and once: iterate over it.

    compression: of all the files; "auto" recognises each by its first bytes.
    start:       where to begin, as a chunk of an earlier run told it.
    follow:      at the end of the last file wait for more (see `open_bytes`), until `stop`. If another file takes its
                 place, that one goes on with the same number, from offset 0, with `first` set.
    size:        about how many bytes a chunk has; the first ones have fewer, that work can begin. Lines that come slowly, by
                 a pipe or a file that is followed, are delivered after a twentieth of a second, however few.
    max_line:    the most bytes of a line, its newline apart. A longer one is left out and makes a fault. Memory is
                 bounded by a few times the larger of `size` and this.
    quoted:      a newline between double quotes does not end a line. A quote that is never closed would make one line
                 of all the rest: it makes a fault instead, only the line up to its next newline is left out, and
                 what follows counts as unquoted.

    What a damaged file gave before the damage is delivered, up to the last whole line; then comes the StreamError.

    One thread iterates (and closes); any may call `stop` and ask for `consumed`.
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
        quoted: bool = False,
    ) -> None:
        if size < 1 or max_line < SHORTEST_LIMIT:
            raise ValueError(
                f"size must be at least 1 and max_line at least {SHORTEST_LIMIT}; got {size} and {max_line}."
            )
        if start.file > len(paths):
            raise ValueError(f"the start is in file {start.file}, counted from 0, but there are only {len(paths)}.")
        self._paths = tuple(paths)
        self._compression = compression
        self._start = start
        self._follow = follow
        self._size = size
        self._max_line = max_line
        self._quoted = quoted
        self._stopped = threading.Event()
        sizes = [_size(path) for path in self._paths]
        known = [each or 0 for each in sizes]
        self._total = None if follow or None in sizes else sum(known)
        # One object, so that another thread sees both of one moment.
        self._progress: tuple[int, ByteSource | None] = sum(known[: start.file]), None
        self._opened: tuple[ByteSource, _Cutter] | None = None  # the first file, if it was looked at
        self._all = self._generate()

    def head(self, size: int, lines: int) -> bytes:
        """What the chunks begin with, to look at: about so many bytes or lines, if they come soon."""
        if self._opened is None:
            source = self._open(self._start.file)
            self._opened = source, self._cutter(source, self._start.file, self._start)
        return self._opened[1].head(size, lines)

    @property
    def quoted(self) -> bool:
        """Whether a newline between double quotes does not end a line. It may be set before the first chunk is taken."""
        return self._quoted

    @quoted.setter
    def quoted(self, quoted: bool) -> None:
        self._quoted = quoted
        if self._opened is not None:
            self._opened[1].quote(quoted)

    @property
    def total(self) -> int | None:
        """Bytes on the disk of all files; None if that cannot be known."""
        return self._total

    @property
    def consumed(self) -> int:
        """Bytes on the disk that were read, with those that lie before the start."""
        before, source = self._progress
        return before + (0 if source is None else source.consumed)

    def stop(self) -> None:
        """End all waiting, for more of a file or of a pipe, as if they ended behind the last whole line. For any thread."""
        self._stopped.set()

    def close(self) -> None:
        """Close the open file. Nothing more comes."""
        self._all.close()
        if self._opened is not None:
            self._opened[0].close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

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
        """The chunks of one file. Returns whether another took its place."""
        before, _ = self._progress
        if self._opened is not None:
            (source, cutter), self._opened = self._opened, None
        else:
            source = self._open(file)
            cutter = self._cutter(source, file, start)
        with source:
            self._progress = before, source
            yield from cutter
            self._progress = before + source.consumed, None
        while source.replaced and not Path(self._paths[file]).exists() and not self._stopped.wait(POLL):
            pass
        return source.replaced and Path(self._paths[file]).exists()

    def _open(self, file: int) -> ByteSource:
        follow = self._follow and file == len(self._paths) - 1
        return open_bytes(self._paths[file], compression=self._compression, follow=follow, stopped=self._stopped)

    def _cutter(self, source: ByteSource, file: int, start: Position) -> "_Cutter":
        return _Cutter(source, file, start, self._size, self._max_line, self._quoted)


def _size(path: str) -> int | None:
    if path == STANDARD_INPUT:
        return None
    about = Path(path).stat()
    return about.st_size if stat.S_ISREG(about.st_mode) else None


class _Looked:
    """A source whose first bytes can be looked at, as many as one likes, before they are read."""

    def __init__(self, source: ByteSource) -> None:
        self._source = source
        self.path, self.skip = source.path, source.skip
        self._ahead = memoryview(b"")
        self._end: Exception | bool = False  # what came behind that

    def look(self, head: bytes, size: int, lines: int) -> bytes:
        """`head`, which was read, and what follows it: about so many bytes or lines in all, if they come soon."""
        read, until = len(head), time.monotonic() + LOOKING
        piece = memoryview(bytearray(size))
        while len(head) < size and (seen := head.count(b"\n")) < lines and not self._end:
            if seen and not self._source.wait(max(0.0, until - time.monotonic())):
                break
            try:
                count = self._source.readinto(piece[: size - len(head)])
                self._end = not count
            except (StreamError, OSError) as error:
                count, self._end = 0, error
            head += piece[:count]
        self._ahead = memoryview(head)[read:]
        return head

    def readinto(self, buffer: memoryview) -> int:
        if not self._ahead:
            if isinstance(self._end, Exception):
                raise self._end
            return 0 if self._end else self._source.readinto(buffer)
        count = min(len(self._ahead), len(buffer))
        buffer[:count] = self._ahead[:count]
        self._ahead = self._ahead[count:]
        return count

    def wait(self, seconds: float) -> bool:
        return bool(self._ahead) or bool(self._end) or self._source.wait(seconds)

    @property
    def interrupted(self) -> bool:
        return self._source.interrupted


class _Cutter:
    """Cuts the bytes of one file. It reads into a buffer, and what of it was not delivered begins the next."""

    def __init__(self, source: ByteSource, file: int, start: Position, size: int, max_line: int, quoted: bool) -> None:
        self._source = _Looked(source)
        self._file = file
        self._start = start
        # A line fits into the largest buffer, with its newline, if and only if it is not too long.
        self._largest = max_line + 1
        self._full_size = max(SHORTEST_LIMIT, min(size, self._largest))
        self._size = max(SHORTEST_LIMIT, self._full_size // START_SMALL)
        self._quoted = quoted
        self._offset = start.offset  # in the file, of the buffer's first byte
        self._before = b""  # the bytes before that, for digests
        self._first = start.offset == 0
        self._mid_line = start.mid_line
        self._line_end = 0  # in the buffer, behind its last whole line
        self._odd = False  # the number of quotes in the buffer: the end of it is within quotes
        self._ended = False
        self._error: Exception | None = None
        self._begun = False
        self._new_buffer(self._size)

    def head(self, size: int, lines: int) -> bytes:
        """What it begins with; see `Chunks.head`."""
        self._begin()
        return self._source.look(self._buffer[: self._filled].tobytes(), size, lines)

    def quote(self, quoted: bool) -> None:
        """Let quotes count or not, before the first chunk is taken."""
        self._quoted = quoted
        self._line_end, self._odd = 0, False
        self._look(0)

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
            if self._ended and not self._odd:
                yield self._deliver(self._filled, last=True)
                return
            if self._line_end and not self._begins_blank():
                yield self._deliver(self._line_end)
            elif self._error is not None:
                raise self._error
            elif self._ended or self._filled == self._largest:
                yield self._fault()
            elif self._filled == len(self._buffer):
                self._grow()

    # The beginning

    def _begins_blank(self) -> bool:
        """Whether more must come for the file's first chunk to hold a line that is not blank, as its header must be there."""
        return self._first and self._filled < self._largest and not self._buffer[: self._line_end].tobytes().strip()

    def _verify(self) -> None:
        self._before = self._source.skip(self._start.offset, keep=min(self._start.offset, DIGESTED))
        if self._start.digest and digest_of(self._before) != self._start.digest:
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
                "the file is UTF-16 (or UTF-32), as its first bytes say. Convert it to UTF-8: iconv -f UTF-16 -t UTF-8.",
                path=self._source.path,
            )

    # Reading

    def _new_buffer(self, size: int, rest: Bytes = NOTHING) -> None:
        self._buffer: Bytes = np.empty(size, np.uint8)  # not zeroed, as a bytearray would be
        self._buffer[: len(rest)] = rest
        self._filled = len(rest)

    def _read(self) -> bool:
        """Read what is there. False if nothing came: at the end, or at an error, which waits for its turn."""
        try:
            count = self._source.readinto(self._buffer.data[self._filled :])
        except (StreamError, OSError) as error:
            self._error = error
            return False
        self._filled += count
        self._ended = not count
        if not self._mid_line:
            self._look(self._filled - count)
        return bool(count)

    def _look(self, begin: int) -> None:
        """Look for line ends from there on."""
        new = self._buffer[begin : self._filled]
        if self._quoted:
            end, self._odd = last_unquoted_line_end(new, self._odd)
        else:
            end = last_line_end(new)
        if end:
            self._line_end = begin + end

    def _fill(self) -> None:
        """Read until the buffer is full, or the file ends, or there are lines and no more come soon."""
        until = 0.0
        while self._filled < len(self._buffer) and not self._ended and self._error is None:
            if self._line_end:
                now = time.monotonic()
                until = until or now + PATIENCE
                if not self._source.wait(max(0.0, until - now)):
                    return
            self._read()

    def _grow(self) -> None:
        self._new_buffer(min(2 * len(self._buffer), self._largest), self._buffer[: self._filled])

    # Giving out

    def _deliver(self, length: int, *, last: bool = False) -> Chunk:
        """The first bytes of the buffer, which end a line."""
        few = 4 * length < len(self._buffer)
        data = memoryview(self._buffer[:length].tobytes()) if few else self._buffer.data[:length].toreadonly()
        chunk = Chunk(data, self._source.path, self._file, self._offset, self._first, last, before=self._before)
        self._size = min(2 * self._size, self._full_size)
        self._pass(length, reuse=few)
        self._line_end = 0  # and the quotes of what is left were counted
        self._first = False
        return chunk

    def _fault(self) -> Chunk:
        """Leave out the buffer's first line, which is too long or never ends."""
        line_end = first_line_end(self._buffer[: self._filled]) if self._quoted else 0
        dropped = line_end or self._filled
        if self._ended:
            fault = "a double quote is opened in the line and never closed."
        elif line_end:
            fault = f"a double quote is opened in the line and not closed within {self._largest - 1} bytes."
        else:
            fault = f"the line has more than {self._largest - 1} bytes."
        self._mid_line = not line_end and not self._ended
        begin, first = self._offset, self._first
        self._pass(dropped, reuse=False)
        self._line_end, self._odd, self._first = 0, False, False
        self._look(0)
        return Chunk(
            b"",
            self._source.path,
            self._file,
            begin,
            first,
            last=False,
            fault=fault,
            dropped=dropped,
            mid_line=self._mid_line,
            before=self._before,
        )

    def _drop_rest(self) -> None:
        """Behind a line that was too long: read on to its end."""
        while self._mid_line and (self._filled or self._read()):
            line_end = first_line_end(self._buffer[: self._filled])
            self._pass(line_end or self._filled)
            self._mid_line = not line_end
            self._line_end, self._odd = 0, False
            self._look(0)

    def _pass(self, length: int, *, reuse: bool = True) -> None:
        """Leave the first bytes of the buffer behind."""
        passed, rest = self._buffer[:length], self._buffer[length : self._filled]
        self._before = (self._before + passed[-DIGESTED:].tobytes())[-DIGESTED:]
        self._offset += length
        if reuse:
            self._buffer[: len(rest)] = rest
            self._filled = len(rest)
        else:
            self._new_buffer(min(max(self._size, 2 * len(rest)), self._largest), rest)
