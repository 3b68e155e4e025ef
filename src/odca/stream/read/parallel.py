"""Parsing chunks of text into blocks of events, on all cores, in order.

    chunks ── one thread reads and decompresses
       ⇓      several threads parse; names are numbered within each chunk
    blocks ── in order: new names are added to the names of the stream
       ⇓      several threads translate the blocks' numbers into the stream's
    events ── in order, to the caller

Little work is done in order, and no result depends on which thread is faster: names get the same numbers as if one thread had read
the whole text.
"""

import _thread
import os
import queue
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Generic, Protocol, TypeVar

from odca import _core
from odca.records import record
from odca.stream.read.blocks import Block
from odca.stream.read.chunks import Chunk

T = TypeVar("T")
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
    workers = _Workers(reading.threads)
    source = _ChunkReader(chunks, reading.parse, workers, ahead=reading.threads + AHEAD)
    try:
        source.start()  # in here, since a signal may end it at any moment, and then the thread must be stopped
        yield from _OrderedBlocks(source, workers, reading)
    finally:
        source.stop()
        workers.close()


def _start(run: Callable[[], None]) -> None:
    """Start a thread. MemoryError if the system allows no more: mostly, no memory is left for them.

    `threading.Thread` would wait until the thread runs, by a condition variable: see _Workers.
    """
    try:
        _thread.start_new_thread(run, ())
    except RuntimeError as error:
        raise MemoryError("no more threads can be started.") from error


class _Result(Generic[T]):
    """What a worker computes, to be taken once."""

    def __init__(self) -> None:
        self._done: queue.SimpleQueue[tuple[T, None] | tuple[None, BaseException]] = queue.SimpleQueue()

    def compute(self, function: Callable[..., T], arguments: tuple[object, ...]) -> None:
        try:
            self._done.put((function(*arguments), None))
        except BaseException as error:  # noqa: BLE001 - it is raised where the result is taken
            self._done.put((None, error))

    def take(self) -> T:
        """Wait for it."""
        value, error = self._done.get()
        if error is not None:
            raise error
        return value  # type: ignore[return-value] # it is None only with an error


class _Workers:
    """Threads that compute.

    A signal may raise an exception in the caller's thread after any call: also after a condition variable of `threading` has acquired its lock
    and before the `with` block that would release it. Then everyone who needs the lock waits for ever. Semaphores, events, futures, executors
    and the start of a `threading.Thread` have such locks. So only queues, plain locks and flags are used, whose operations are indivisible.
    """

    def __init__(self, count: int) -> None:
        self._tasks: queue.SimpleQueue[tuple[_Result[Any], Callable[..., Any], tuple[object, ...]] | None] = (
            queue.SimpleQueue()
        )
        self._ended: queue.SimpleQueue[None] = queue.SimpleQueue()
        self._count, self._running = count, 0

    def start(self) -> None:
        """Begin. One thread calls it."""
        for _ in range(self._count):
            _start(self._work)
            self._running += 1

    def submit(self, function: Callable[..., T], *arguments: object) -> _Result[T]:
        result: _Result[T] = _Result()
        self._tasks.put((result, function, arguments))
        return result

    def close(self) -> None:
        """End the threads when they have done what they were given."""
        for _ in range(self._running):
            self._tasks.put(None)
        for _ in range(self._running):
            self._ended.get()

    def _work(self) -> None:
        while (task := self._tasks.get()) is not None:
            result, function, arguments = task
            result.compute(function, arguments)
        self._ended.put(None)


class _ChunkReader:
    """Reads chunks and submits them for parsing, a few in advance."""

    def __init__(self, chunks: ChunkSource, parse: Parse, workers: _Workers, ahead: int) -> None:
        self._chunks, self._parse, self._workers = chunks, parse, workers
        self._parsed: queue.SimpleQueue[tuple[Chunk, _Result[_core.TextBlock]] | Exception | None] = queue.SimpleQueue()
        self._room: queue.SimpleQueue[None] = queue.SimpleQueue()  # an item for each chunk that may be read in advance
        for _ in range(ahead):
            self._room.put(None)
        self._ended: queue.SimpleQueue[None] = queue.SimpleQueue()
        self._stopping = self._begun = False
        self._starting = threading.Lock()

    def start(self) -> None:
        """Begin to read, in a thread of its own."""
        _start(self._run)

    def _run(self) -> None:
        if not self._begins():
            return
        try:
            self._workers.start()
            for chunk in self._chunks:
                self._room.get()
                if self._stopping:
                    break
                self._parsed.put((chunk, self._workers.submit(self._parse, chunk)))
            self._parsed.put(None)
        except Exception as error:  # noqa: BLE001 - it is raised when the blocks are taken
            self._parsed.put(error)
        finally:
            self._chunks.close()
            self._ended.put(None)

    def _begins(self) -> bool:
        """Whether the thread begins to read: not if it was stopped before it ran."""
        with self._starting:
            self._begun = not self._stopping
            return self._begun

    def take(self, *, wait: bool) -> tuple[Chunk, _Result[_core.TextBlock]] | Exception | None:
        """The next chunk, an error, or None at the end. Without `wait`, queue.Empty if none is ready."""
        taken = self._parsed.get(block=wait)
        self._room.put(None)
        return taken

    def stop(self) -> None:
        """Read no more. A signal may have ended `start` while the thread was not running yet: then it reads nothing when it does."""
        with self._starting:
            self._stopping = True
        self._chunks.stop()
        self._room.put(None)
        if self._begun:
            self._ended.get()


class _OrderedBlocks(Iterable[Block]):
    """The blocks in the order of the stream, their features numbered as in the whole stream."""

    def __init__(self, source: _ChunkReader, workers: _Workers, reading: Reading) -> None:
        self._source, self._workers, self._reading = source, workers, reading
        self._waiting: deque[tuple[Block, _Result[None] | None]] = deque()
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
                translated.take()
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

    def _accept(self, chunk: Chunk, parsed: _Result[_core.TextBlock]) -> None:
        if chunk.first:
            self._lines = 0
        block = Block(parsed.take(), chunk, self._lines)
        self._lines += block.lines
        translated, vocabulary = None, self._reading.vocabulary
        if vocabulary is not None:
            places = vocabulary.absorb(block.rows, self._reading.grow)
            translated = self._workers.submit(block.rows.resolve, places, len(vocabulary))
        self._waiting.append((block, translated))
        # With lines to be skipped, parsing stops only where nothing after a line can be read: at the header of another table.
        if block.bad_count and (block.is_stopped or not self._reading.skip_bad):
            self._ended = True
            self._error = block.bad_lines(can_be_skipped=not self._reading.skip_bad)[0]
