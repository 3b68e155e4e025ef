"""Chunks of text to blocks of events, on all cores, in order.

    chunks ── one thread reads and decompresses
       ⇓      several parse: names are numbered within each chunk
    blocks ── in order: new names are added to all names of the stream
       ⇓      several translate the blocks' numbers into the stream's
    events ── in order, to whoever iterates

What is done in order is little, and no result depends on which thread was faster: names are numbered as one thread that read the
whole text would number them.
"""

import os
import queue
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Protocol

from odca import _core
from odca.stream.read.blocks import Block
from odca.stream.read.chunks import Chunk

Parse = Callable[[Chunk], _core.TextBlock]
AHEAD = 3
"""Blocks that are ready before they are asked for."""


class ChunkSource(Protocol):
    """Where chunks come from."""

    def __iter__(self) -> Iterator[Chunk]:
        """The chunks, once."""

    def stop(self) -> None:
        """Wait for no more."""

    def close(self) -> None:
        """Close the files."""


def cores() -> int:
    """How many threads can run at once."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """How chunks are read.

    vocabulary: of the names of features, where they have names; new ones are added if it is to `grow`, else left out.
    skip_bad: leave lines out that cannot be read, else raise the first one as a StreamError, behind what came before it.
    lines_before: in the file of the first chunk.
    """

    parse: Parse
    vocabulary: _core.Vocabulary | None
    grow: bool
    skip_bad: bool
    lines_before: int
    threads: int


def read_blocks(chunks: ChunkSource, reading: Reading) -> Iterator[Block]:
    """The events of the chunks, a block for each."""
    with ThreadPoolExecutor(reading.threads, "odca-parse") as pool:
        source = _Source(chunks, reading.parse, pool, ahead=reading.threads + AHEAD)
        try:
            yield from _Order(source, pool, reading)
        finally:
            source.stop()


class _Source(threading.Thread):
    """Reads chunks and has them parsed, a few ahead of who takes them."""

    def __init__(self, chunks: ChunkSource, parse: Parse, pool: ThreadPoolExecutor, ahead: int) -> None:
        super().__init__(name="odca-read", daemon=True)
        self._chunks, self._parse, self._pool = chunks, parse, pool
        self._parsed: queue.SimpleQueue[tuple[Chunk, Future[_core.TextBlock]] | Exception | None] = queue.SimpleQueue()
        self._room = threading.Semaphore(ahead)
        self._stopping = False
        self.start()

    def run(self) -> None:
        try:
            for chunk in self._chunks:
                self._room.acquire()
                if self._stopping:
                    break
                self._parsed.put((chunk, self._pool.submit(self._parse, chunk)))
            self._parsed.put(None)
        except Exception as error:  # noqa: BLE001 - it is raised where the blocks are taken
            self._parsed.put(error)
        finally:
            self._chunks.close()

    def take(self, *, wait: bool) -> tuple[Chunk, Future[_core.TextBlock]] | Exception | None:
        """The next chunk, an error, or None at the end. queue.Empty if there is none yet and it is not to wait."""
        taken = self._parsed.get(block=wait)
        self._room.release()
        return taken

    def stop(self) -> None:
        self._stopping = True
        self._chunks.stop()
        self._room.release()
        self.join()


class _Order(Iterable[Block]):
    """Blocks as the stream has them, with the numbers that their features have in all of it."""

    def __init__(self, source: _Source, pool: ThreadPoolExecutor, reading: Reading) -> None:
        self._source, self._pool, self._reading = source, pool, reading
        self._waiting: deque[tuple[Block, Future[None] | None]] = deque()
        self._lines = reading.lines_before
        self._ended = False
        self._error: Exception | None = None  # to be raised behind the blocks that wait

    def __iter__(self) -> Iterator[Block]:
        while True:
            self._take_what_is_there()
            if not self._waiting:
                break
            block, translated = self._waiting.popleft()
            if translated is not None:
                translated.result()
            yield block
        if self._error is not None:
            raise self._error

    def _take_what_is_there(self) -> None:
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
            self._ended, self._error = True, block.bad_lines()[0]
