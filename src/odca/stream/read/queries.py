"""Tables straight from SQLite and DuckDB, by a query. Nothing is written to them.

The rows of SQLite, whose values have types and whose columns have not, are read as CSV with a header; those of DuckDB as an Arrow table.
"""

import contextlib
import csv
import io
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from odca.errors import Remedy
from odca.stream.read.errors import StreamError
from odca.stream.read.made_bytes import MadeBytes
from odca.stream.read.relations import Relation

SQLITE, DUCKDB = b"SQLite format 3\0", b"DUCK"
ROWS_AT_ONCE = 1000
BATCH = 1 << 14
SHOWN = 200  # characters of a query
SHOWN_TABLES = 10


def database_of(data: Any) -> str | None:
    """The kind of database, "sqlite" or "duckdb", that a path or a connection leads to; None if it is none."""
    module = type(data).__module__.partition(".")[0]
    if hasattr(data, "cursor") and hasattr(data, "execute"):
        return {"sqlite3": "sqlite", "duckdb": "duckdb", "_duckdb": "duckdb"}.get(module)
    if not isinstance(data, str | os.PathLike) or not Path(data).is_file():
        return None
    with Path(data).open("rb") as file:
        head = file.read(16)
    return "sqlite" if head == SQLITE else "duckdb" if head[8:12] == DUCKDB else None


def require_query(data: Any, query: str | None) -> str | None:
    """The kind of database that a query is for; None without a query. ValueError if one of the two is missing."""
    kind = database_of(data)
    if query is not None and kind is None:
        raise ValueError(
            f"a query needs a database: the path of one of SQLite or DuckDB, or a connection to it; got {data!r}."
        )
    if query is None and kind is not None:
        remedy = Remedy("Say which rows to read ({query}).", query="select * from t")
        raise StreamError("it is a database.", path=_name(data), remedy=remedy)
    return kind


def name_of(data: Any, query: str) -> str:
    """What errors call the result of a query."""
    short = " ".join(query.split())
    return f"{_name(data)}, query {short if len(short) <= SHOWN else short[:SHOWN] + '…'!r}"


def _name(data: Any) -> str:
    return os.fspath(data) if isinstance(data, str | os.PathLike) else "the database"


class SqliteSource(MadeBytes):
    """The rows of a query in SQLite, as CSV with a header."""

    size, consumed, interrupted = None, 0, False

    def __init__(self, data: Any, query: str) -> None:
        super().__init__(self._rows_of(query))
        self._path = name_of(data, query)
        self._connection = _sqlite(data, self._path)

    @property
    def path(self) -> str:
        """The database and the query."""
        return self._path

    def wait(self, seconds: float) -> bool:  # noqa: ARG002 - it never waits
        """There is nothing to wait for."""
        return True

    def close(self) -> None:
        """Close the connection, which is its own."""
        self._connection.close()

    def _rows_of(self, query: str) -> Iterator[bytes]:
        import sqlite3  # noqa: PLC0415 - seldom needed

        try:
            cursor = self._connection.execute(query)
            if cursor.description is None:
                raise StreamError("the query returns no rows. Begin it with select.", path=self._path)
            names = [column[0] for column in cursor.description]
            yield _as_csv([names])
            while rows := cursor.fetchmany(ROWS_AT_ONCE):
                for row in rows:
                    if any(isinstance(value, bytes) for value in row):
                        name = next(name for name, value in zip(names, row, strict=True) if isinstance(value, bytes))
                        raise StreamError(
                            f"the column {name!r} holds a BLOB. Leave it out of the query.", path=self._path
                        )
                yield _as_csv(rows)
        except (sqlite3.Error, sqlite3.Warning) as error:
            tables = self._tables() if str(error).startswith("no such table") else ""
            raise StreamError(f"the query failed: {error}.{tables}", path=self._path) from error

    def _tables(self) -> str:
        """Which tables there are, for someone who has asked for another one."""
        import sqlite3  # noqa: PLC0415 - seldom needed

        with contextlib.suppress(sqlite3.Error):
            found = "select name from sqlite_master where type in ('table', 'view') order by name"
            names = [repr(name) for (name,) in self._connection.execute(found).fetchmany(SHOWN_TABLES + 1)]
            more = ", …" if len(names) > SHOWN_TABLES else ""
            return (
                f" The database has {', '.join(names[:SHOWN_TABLES])}{more}."
                if names
                else " The database has no tables."
            )
        return ""


def _as_csv(rows: Any) -> bytes:
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(rows)
    return out.getvalue().encode()


def _sqlite(data: Any, name: str) -> Any:
    """A connection of our own that cannot write: the rows are fetched in another thread."""
    import sqlite3  # noqa: PLC0415 - seldom needed

    path = data if isinstance(data, str | os.PathLike) else ""
    try:
        if isinstance(data, sqlite3.Connection):
            if data.in_transaction:
                raise ValueError("the connection has changes that were not committed. Commit them, and try again.")
            path = next(row[2] for row in data.execute("pragma database_list") if row[1] == "main")
            if not path:  # in memory
                copy = sqlite3.connect(":memory:", check_same_thread=False)
                copy.deserialize(data.serialize())
                copy.execute("pragma query_only = on")
                return copy
        return sqlite3.connect(f"{Path(path).resolve().as_uri()}?mode=ro", uri=True, check_same_thread=False)
    except sqlite3.Error as error:
        raise StreamError(f"it cannot be read: {error}.", path=name) from error


def duckdb_relation(data: Any, query: str) -> Relation:
    """The result of a query in DuckDB, as an Arrow table that is read in batches."""
    try:
        import duckdb  # noqa: PLC0415 - optional
    except ImportError as error:
        raise ImportError("it is a DuckDB database, which needs the package duckdb: pip install duckdb.") from error
    name = name_of(data, query)
    try:
        if isinstance(data, str | os.PathLike):
            connection = duckdb.connect(os.fspath(data), read_only=True)
        else:
            connection = data.cursor()
        result = connection.sql(query)
        if result is None:
            raise StreamError("the query returns no rows. Begin it with select.", path=name)
        read = result.to_arrow_reader if hasattr(result, "to_arrow_reader") else result.fetch_arrow_reader  # before 2.0
        reader = read(BATCH)
    except duckdb.Error as error:
        raise StreamError(f"the query failed: {str(error).splitlines()[0]}.", path=name) from error
    return Relation(name, reader)
