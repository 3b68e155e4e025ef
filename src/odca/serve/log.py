"""The durable log of a model: requests in the order in which they are learned, in SQLite (WAL, synchronous=FULL).

A request is committed before it is learned, and answered after both. What is refused is refused again when the log is replayed, so the
log needs no record of what became of a request.
"""

import sqlite3
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from odca.serve.entries import Asking, Entry
from odca.serve.problems import Problem

SCHEMA = """
CREATE TABLE IF NOT EXISTS log (
  position INTEGER PRIMARY KEY, clock REAL NOT NULL, kind TEXT NOT NULL, key TEXT, asking BLOB NOT NULL, body BLOB NOT NULL,
  checksum INTEGER NOT NULL
) STRICT
"""
ADD = "INSERT INTO log VALUES (?, ?, ?, ?, ?, ?, ?)"


class Log:
    """The log of one model. One thread at a time may use it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._connection: sqlite3.Connection | None = None
        self._last = 0  # the last position that was committed for sure, once something failed
        self._is_doubtful = False
        self.bytes = 0
        """The size of the requests in the log."""
        self._open()

    def _open(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self.path, isolation_level=None, check_same_thread=False, timeout=10.0)
        try:
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute("PRAGMA synchronous=FULL")
            connection.execute(f"PRAGMA journal_size_limit={16 << 20}")
            connection.execute(SCHEMA)
            self.bytes = connection.execute("SELECT coalesce(sum(length(body)), 0) FROM log").fetchone()[0]
        except sqlite3.Error:
            connection.close()
            raise
        self._connection = connection
        return connection

    def close(self) -> None:
        """Close the file."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def append(self, entries: Sequence[Entry]) -> None:
        """Commit entries, which follow the last one. Problem if they cannot be stored; then none is."""
        rows = []
        for entry in entries:
            asking = msgspec.json.encode(entry.asking)
            key = entry.key
            rows.append((entry.position, entry.clock, entry.kind, key, asking, entry.body, _checksum(entry, asking)))
        last = entries[0].position - 1
        try:
            connection = self._connection or self._open()
            connection.execute("BEGIN IMMEDIATE")
            try:
                if self._is_doubtful:
                    connection.execute("DELETE FROM log WHERE position > ?", (last,))
                connection.executemany(ADD, rows)
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise
        except sqlite3.Error as error:
            self._is_doubtful = True
            self.close()
            raise Problem(
                "disk-full",
                f"the request cannot be stored: {error}. Nothing of it was learned. Make space, and send it again.",
                retry_after=10,
            ) from error
        self._is_doubtful = False
        self.bytes += sum(len(entry.body) for entry in entries)

    def entries(self, after: int) -> Iterator[Entry]:
        """The entries behind a position, in order. ValueError if one is missing or damaged."""
        connection, expected = self._connection or self._open(), after + 1
        try:
            for position, clock, kind, key, asking, body, checksum in connection.execute(
                "SELECT * FROM log WHERE position > ? ORDER BY position", (after,)
            ):
                entry = Entry(position, clock, kind, key, msgspec.json.decode(asking, type=Asking), body)
                if position != expected:
                    raise ValueError(f"the log {self.path} has no entry {expected}, but {position}.")
                if _checksum(entry, asking) != checksum:
                    raise ValueError(f"the entry {position} of the log {self.path} is damaged.")
                expected += 1
                yield entry
        except (sqlite3.Error, msgspec.DecodeError) as error:
            raise ValueError(f"the log {self.path} is damaged: {error}.") from error

    def truncate(self, position: int, keep_bytes: int) -> None:
        """Forget the entries up to a position, but for the latest ones of so many bytes."""
        connection = self._connection or self._open()
        kept = 0
        for each, size in connection.execute(
            "SELECT position, length(body) FROM log WHERE position <= ? ORDER BY position DESC", (position,)
        ):
            kept += size
            if kept > keep_bytes:
                connection.execute("DELETE FROM log WHERE position <= ?", (each,))
                self.bytes = connection.execute("SELECT coalesce(sum(length(body)), 0) FROM log").fetchone()[0]
                return


def _checksum(entry: Entry, asking: bytes) -> int:
    text = f"{entry.position} {entry.clock!r} {entry.kind} {entry.key}".encode()
    return zlib.crc32(entry.body, zlib.crc32(asking, zlib.crc32(text)))
