"""The bytes of files, of standard input and of pipes: plain, compressed, or still being written.

A source delivers bytes and knows how many bytes on the disk it has read, for progress bars. It does not interpret the bytes:
`chunks` cuts them into lines.
"""

import glob
import io
import os
import select
import stat
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import Self

from odca import _core
from odca.errors import Remedy
from odca.stream.read.decompression import COMPRESSIONS, FORMATS, PIECE, PLAIN, Decoding, recognised, undecided
from odca.stream.read.errors import STANDARD_INPUT, StreamError, shown
from odca.stream.read.marks import Marks

KEPT = 4096  # bytes that `skip` returns
MOST_NAMES_COMPARED = 10_000
POLL = 0.1  # seconds between two checks for new data, or for a request to stop

AnyPath = str | os.PathLike[str]
Buffer = memoryview | bytearray


def another_file(difference: str, path: str) -> StreamError:
    """The error for a file that has changed before the position at which reading should continue."""
    return StreamError(
        f"{difference}: it is not the file that the checkpoint was made from.",
        path=path,
        remedy=Remedy("Delete the checkpoint and start again without {start}.", start=None),
    )


def too_short(wanted: int, size: int, path: str) -> StreamError:
    """The error for a file that ends before that position."""
    return another_file(f"the file is shorter than {wanted} bytes, it ends after {size}", path)


# Paths


def expand(paths: AnyPath | Sequence[AnyPath]) -> tuple[str, ...]:
    """The files that paths and glob patterns (`*`, `?`, `[..]`, `**`) stand for; the matches of a pattern are sorted.

    "-" is standard input. A path that exists is that file, even if it looks like a pattern. Directories that match a
    pattern are left out.
    """
    if not isinstance(paths, str | os.PathLike | Sequence):
        raise TypeError(f"data must be paths of files, a data frame or a list of dictionaries; got {paths!r}.")
    given = [paths] if isinstance(paths, str | os.PathLike) else list(paths)
    if not given:
        raise ValueError("no files were given. Name at least one file, or '-' for standard input.")
    found = [each for path in given for each in _matches(os.fspath(path))]
    if found.count(STANDARD_INPUT) > 1:
        raise ValueError("standard input ('-') was given more than once, but it can only be read once.")
    return tuple(found)


def _matches(path: str) -> list[str]:
    if path == STANDARD_INPUT:
        return [path]
    if path and Path(path).is_dir():
        raise IsADirectoryError(f"{path!r} is a directory. Name its files: '{path.rstrip('/')}/*'.")
    if path and Path(path).exists():
        return [path]
    if not glob.has_magic(path):
        raise FileNotFoundError(f"there is no file {path!r} (in {Path.cwd()}). {_similar(path)}")
    found = sorted((each for each in glob.glob(path, recursive=True) if not Path(each).is_dir()), key=os.fsencode)  # noqa: PTH207 - Path.glob loses a leading "./" and refuses "/"
    if not found:
        raise FileNotFoundError(f"no file matches {path!r} (in {Path.cwd()}).")
    return found


def _similar(path: str) -> str:
    """What to do about a file that does not exist: its folder may have one of nearly the same name."""
    import difflib  # noqa: PLC0415 - seldom needed

    folder, name = Path(path).parent, Path(path).name
    if not folder.is_dir():
        return f"There is no folder {str(folder)!r}. Check the spelling of its name."
    with os.scandir(folder) as there:
        names = [entry.name for entry in islice(there, MOST_NAMES_COMPARED)]
    close = difflib.get_close_matches(name, names, 1, 0.7)
    return f"Did you mean {str(folder / close[0])!r}?" if close else "Check the spelling of its name."


# Sources


class StopFlag:
    """Ends waiting for more data. Any thread may set it, and a signal handler too, since it has no lock."""

    def __init__(self) -> None:
        self._is_set = False

    def set(self) -> None:
        """End all waiting, within a tenth of a second."""
        self._is_set = True

    def is_set(self) -> bool:
        """Whether it was set."""
        return self._is_set

    def wait(self, seconds: float) -> bool:
        """Wait this long, unless it was set; return whether it was."""
        if not self._is_set:
            time.sleep(seconds)
        return self._is_set


class Closing(ABC):
    """Something that is closed at the end of a `with` block."""

    @abstractmethod
    def close(self) -> None:
        """Close what is open."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class _Raw:
    """An open file or pipe, with its bytes as they are on the disk."""

    def __init__(self, path: str, stopped: StopFlag, *, follow: bool) -> None:
        self.path = path
        self.stopped = stopped
        if path == STANDARD_INPUT:
            self._file = io.FileIO(0, closefd=False)
        elif follow and Path(path).is_fifo():
            self._file = io.FileIO(os.open(path, os.O_RDWR))  # a pipe never ends for its writers, of whom this is one
        else:
            self._file = io.FileIO(path)
        about = self.status()
        self.regular = stat.S_ISREG(about.st_mode)
        self._begin = os.lseek(self._file.fileno(), 0, os.SEEK_CUR) if self.regular else 0
        self.size = max(0, about.st_size - self._begin) if self.regular else None
        self.consumed = 0
        self.interrupted = False  # whether it ended because it was stopped, not because the data ended
        self._head = b""  # bytes that `peek` has read
        self._poll = select.poll()
        if not self.regular:
            self._poll.register(self._file.fileno(), select.POLLIN)

    def close(self) -> None:
        self._file.close()

    def status(self) -> os.stat_result:
        return os.fstat(self._file.fileno())

    def wait(self, seconds: float) -> bool:
        """Wait until a read would return at once, for at most this time; return whether it would."""
        return self.regular or bool(self._head) or bool(self._poll.poll(seconds * 1000))

    def readinto(self, buffer: Buffer) -> int:
        """Read what is available; if that is nothing, wait. 0 at the end, or if it was stopped while waiting."""
        count: int | None = None
        if self._head:
            count = min(len(self._head), len(buffer))
            buffer[:count] = self._head[:count]
            self._head = self._head[count:]
        while count is None:  # it is None again if another process has emptied the same pipe
            while not self.wait(POLL):
                if self.stopped.is_set():
                    self.interrupted = True
                    return 0
            try:
                count = self._file.readinto(buffer)
            except OSError as error:
                error.filename = shown(self.path)
                raise
        self.consumed += count
        return count

    def read(self, length: int) -> bytes:
        data = bytearray(length)
        count = self.readinto(data)
        return bytes(memoryview(data)[:count])

    def peek(self, wanted: Callable[[bytes], bool]) -> bytes:
        """The first bytes, without consuming them. More are read as long as `wanted` says so."""
        if self.regular:
            return os.pread(self._file.fileno(), 16, self._begin)
        head = b""
        while wanted(head) and (piece := self.read(PIECE)):
            head += piece
        self.consumed -= len(head)
        self._head = head
        return head


class ByteSource(Closing):
    """The bytes of one file, in order. `open_bytes` opens it. One thread reads; any thread may read `consumed`."""

    compression = PLAIN
    checksum: _core.Checksum | None = None
    """Of the bytes on the disk, if they are not those that are delivered."""
    replaced = False  # whether a followed file ended because another took its place or it was truncated

    def __init__(self, raw: _Raw) -> None:
        self._raw = raw
        self._given = 0

    @property
    def path(self) -> str:
        """The path of the file; "-" is standard input."""
        return self._raw.path

    @property
    def size(self) -> int | None:
        """The size on the disk in bytes; None for a pipe."""
        return self._raw.size

    @property
    def consumed(self) -> int:
        """The number of bytes on the disk that were read."""
        return self._raw.consumed

    @property
    def interrupted(self) -> bool:
        """Whether it ended because it was stopped, though more data might have followed."""
        return self._raw.interrupted

    def readinto(self, buffer: Buffer) -> int:
        """Read into the buffer, or the front of it; return the number of bytes, 0 at the end."""
        count = self._raw.readinto(buffer)
        self._given += count
        return count

    def wait(self, seconds: float) -> bool:
        """Wait until `readinto` would return at once, with bytes or at the end, for at most this time; return whether it would."""
        return self._raw.wait(seconds)

    def skip(self, length: int, see: Callable[[memoryview], None]) -> bytes:
        """Skip this many (decompressed) bytes, and let `see` see them; return the last of them. StreamError if there are fewer."""
        wanted, last = self._given + length, b""
        piece = memoryview(bytearray(PIECE))
        while left := wanted - self._given:
            count = self.readinto(piece[: min(left, PIECE)])
            if not count:
                raise too_short(wanted, self._given, self.path)
            see(piece[:count])
            last = (last + piece[max(0, count - KEPT) : count])[-KEPT:]
        return last

    def marks(self, begin: int, end: int) -> Marks | None:
        """Of a topic: which messages the bytes from `begin` to `end` are. Each byte is asked for once, in order."""
        del begin, end
        return None

    def close(self) -> None:
        """Close the file. Standard input stays open."""
        self._raw.close()


class _Compressed(ByteSource):
    def __init__(self, raw: _Raw, compression: str) -> None:
        super().__init__(raw)
        self.compression = compression
        self.checksum = self._checksum = _core.Checksum()
        self._decoding = Decoding(FORMATS[compression], self._read, raw.path)
        self._made = memoryview(b"")  # decompressed, but not delivered yet

    def readinto(self, buffer: Buffer) -> int:
        if not self._made:
            try:
                # Not less at a time, however small the buffer is: each call has a fixed cost.
                self._made = memoryview(self._decoding.decompress(max(len(buffer), PIECE)))
            except StreamError:
                if self._raw.interrupted:
                    return 0
                raise
        count = min(len(self._made), len(buffer))
        buffer[:count] = self._made[:count]
        self._made = self._made[count:]
        self._given += count
        return count

    def _read(self, length: int) -> bytes:
        data = self._raw.read(length)
        self._checksum.add(data)
        return data

    def wait(self, seconds: float) -> bool:
        return bool(self._made) or self._decoding.pending or super().wait(seconds)


class _Followed(ByteSource):
    """A plain file to which others append. It ends when it is stopped, truncated or replaced."""

    def skip(self, length: int, see: Callable[[memoryview], None]) -> bytes:
        size = self._raw.status().st_size
        if size < self._given + length:  # it would wait for the rest
            raise too_short(self._given + length, size, self.path)
        return super().skip(length, see)

    def readinto(self, buffer: Buffer) -> int:
        while True:
            count = super().readinto(buffer)
            if count:
                return count
            if self._raw.stopped.is_set():
                self._raw.interrupted = True
                return 0
            if self._superseded():
                # Read what was written between the last read and this check.
                count = super().readinto(buffer)
                self.replaced = not count
                return count
            self._raw.stopped.wait(POLL)

    def wait(self, seconds: float) -> bool:
        until = time.monotonic() + seconds
        while self._raw.status().st_size == self.consumed and not self._superseded():
            left = until - time.monotonic()
            if self._raw.stopped.wait(min(max(left, 0), POLL)):
                return True
            if left <= 0:
                return False
        return True

    def _superseded(self) -> bool:
        ours = self._raw.status()
        try:
            named = Path(self.path).stat()
        except FileNotFoundError:  # it was moved away, and the new one does not exist yet
            named = ours
        return ours.st_size < self.consumed or (ours.st_dev, ours.st_ino) != (named.st_dev, named.st_ino)


def open_bytes(
    path: AnyPath, *, compression: str = "auto", follow: bool = False, stopped: StopFlag | None = None
) -> ByteSource:
    """Open a file; "-" is standard input.

    `compression` is recognised by the file's first bytes ("auto") or given by name; "plain" delivers the bytes unchanged.

    With `follow`, the source waits for more data at the end of the file, like `tail -F`. If the file is truncated, or another
    file takes its name (log rotation), the source ends, with `replaced` set, after everything written to the old file
    was read. To read the new one from its beginning, open the path again. As with `tail -F`, a file that is truncated and
    exceeds its former size a tenth of a second later goes unnoticed. A named pipe does not end when its writer does: the next one is
    waited for. Standard input ends where its writer ends it.

    Setting `stopped` ends all waiting for more data, as if that were the end.
    """
    if compression not in COMPRESSIONS:
        raise ValueError(f"compression must be one of {', '.join(COMPRESSIONS)}; got {compression!r}.")
    raw = _Raw(os.fspath(path), StopFlag() if stopped is None else stopped, follow=follow)
    grows = follow and raw.regular and raw.path != STANDARD_INPUT
    try:
        if compression == "auto":
            compression = recognised(raw.peek(undecided), raw.path)
        if compression == PLAIN:
            return _Followed(raw) if grows else ByteSource(raw)
        if grows:
            raise StreamError(
                f"the file is compressed with {compression} and cannot be followed. Follow the plain file, or read this"
                " one to its end.",
                path=raw.path,
            )
        return _Compressed(raw, compression)
    except BaseException:
        raw.close()
        raise
