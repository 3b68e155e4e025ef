"""Parsing chunks of text into blocks of events, on all cores, in order.

    chunks ── one thread reads and decompresses
       ⇓      several threads parse; names are numbered within each chunk
    blocks ── in order: new names are added to the names of the stream
       ⇓      several threads translate the blocks' numbers into the stream's
    events ── in order, to the caller

Little work is done in order, and no result depends on which thread is faster: names get the same numbers as if one thread had read
the whole text.
"""

import os
import queue
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Protocol

from odca import _core
from odca.records import record
from odca.stream.read.blocks import Block
from odca.stream.read.chunks import Chunk

Parse = Callable[[Chunk], _core.TextBlock]
AHEAD = 3
"""The number of blocks that are prepared in advance."""


class ChunkSource(Protocol):
    """A source of chunks."""

    def __iter__(self) -> Iterator[Chunk]:
        """Iterate over the chunks, once."""

    def stop(self) -> None:
        """Stop waiting for more data."""

    def close(self) -> None:
        """Close the files."""


def cores() -> int:
    """The number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@record(kw_only=True)
class Reading:
    """How chunks are read.

    vocabulary: the names of the features, if they have names. With `grow`, new names are added; otherwise they are ignored.
    skip_bad: leave out lines that cannot be read. Otherwise the first one is raised as a StreamError, after the events before it.
    lines_before: the number of lines before the first chunk in its file.
    """

    parse: Parse
    vocabulary: _core.Vocabulary | None
    grow: bool
    skip_bad: bool
    lines_before: int
    threads: int


def read_blocks(chunks: ChunkSource, reading: Reading) -> Iterator[Block]:
    """Yield the events of the chunks, one block per chunk."""
    with ThreadPoolExecutor(reading.threads, "odca-parse") as pool:
        source = _ChunkReader(chunks, reading.parse, pool, ahead=reading.threads + AHEAD)
        try:
            source.start()  # in here, since a signal may end it at any moment, and then the thread must be stopped
            yield from _OrderedBlocks(source, pool, reading)
        finally:
            source.stop()


@contextmanager
def _starting_threads() -> Iterator[None]:
    """MemoryError instead of Python's RuntimeError if the system allows no more threads: mostly, no memory is left for them.

    And KeyboardInterrupt, if it came while Python waited for the thread to begin: then Python says that a lock is not held.
    """
    try:
        yield
    except RuntimeError as error:
        if isinstance(error.__context__, KeyboardInterrupt):
            raise error.__context__ from None
        if "start new thread" in str(error):
            raise MemoryError("no more threads can be started.") from error
        raise


class _ChunkReader(threading.Thread):
    """Reads chunks and submits them for parsing, a few in advance."""

    def __init__(self, chunks: ChunkSource, parse: Parse, pool: ThreadPoolExecutor, ahead: int) -> None:
        super().__init__(name="odca-read", daemon=True)
        self._chunks, self._parse, self._pool = chunks, parse, pool
        self._parsed: queue.SimpleQueue[tuple[Chunk, Future[_core.TextBlock]] | Exception | None] = queue.SimpleQueue()
        self._room = threading.Semaphore(ahead)
        self._stopping = threading.Event()
        self._begun, self._ended = threading.Event(), threading.Event()
        self._starting = threading.Lock()

    def start(self) -> None:
        with _starting_threads():
            super().start()

    def run(self) -> None:
        with self._starting:
            if self._stopping.is_set():
                return
            self._begun.set()
        try:
            for chunk in self._chunks:
                self._room.acquire()
                if self._stopping.is_set():
                    break
                with _starting_threads():
                    parsed = self._pool.submit(self._parse, chunk)
                self._parsed.put((chunk, parsed))
            self._parsed.put(None)
        except Exception as error:  # noqa: BLE001 - it is raised when the blocks are taken
            self._parsed.put(error)
        finally:
            self._chunks.close()
            self._ended.set()

    def take(self, *, wait: bool) -> tuple[Chunk, Future[_core.TextBlock]] | Exception | None:
        """The next chunk, an error, or None at the end. Without `wait`, queue.Empty if none is ready."""
        taken = self._parsed.get(block=wait)
        self._room.release()
        return taken

    def stop(self) -> None:
        """Read no more. A signal may have ended `start` while the thread was not running yet: then it reads nothing when it does."""
        with self._starting:
            self._stopping.set()
        self._chunks.stop()
        self._room.release()
        if self._begun.is_set():
            self._ended.wait()


class _OrderedBlocks(Iterable[Block]):
    """The blocks in the order of the stream, their features numbered as in the whole stream."""

    def __init__(self, source: _ChunkReader, pool: ThreadPoolExecutor, reading: Reading) -> None:
        self._source, self._pool, self._reading = source, pool, reading
        self._waiting: deque[tuple[Block, Future[None] | None]] = deque()
        self._lines = reading.lines_before
        self._ended = False
        self._error: Exception | None = None  # to be raised after the waiting blocks

    def __iter__(self) -> Iterator[Block]:
        while True:
            self._take_available()
            if not self._waiting:
                break
            block, translated = self._waiting.popleft()
            if translated is not None:
                translated.result()
            yield block
        if self._error is not None:
            raise self._error

    def _take_available(self) -> None:
        while not self._ended and len(self._waiting) < AHEAD:
            try:
                taken = self._source.take(wait=not self._waiting)
            except queue.Empty:
                return
            if isinstance(taken, tuple):
                self._accept(*taken)
            else:
                self._ended, self._error = True, taken

    def _accept(self, chunk: Chunk, parsed: Future[_core.TextBlock]) -> None:
        if chunk.first:
            self._lines = 0
        block = Block(parsed.result(), chunk, self._lines)
        self._lines += block.lines
        translated, vocabulary = None, self._reading.vocabulary
        if vocabulary is not None:
            places = vocabulary.absorb(block.rows, self._reading.grow)
            translated = self._pool.submit(block.rows.resolve, places, len(vocabulary))
        self._waiting.append((block, translated))
        if block.bad_count and not self._reading.skip_bad:
            self._ended, self._error = True, block.bad_lines(can_be_skipped=True)[0]
