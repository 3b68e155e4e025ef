"""Where data come from: files, a table in memory, a database."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from odca.records import record
from odca.stream.read.errors import STANDARD_INPUT
from odca.stream.read.positions import Position
from odca.stream.read.queries import SqliteSource, duckdb_relation, name_of, require_query
from odca.stream.read.relations import Relation, relation_of
from odca.stream.read.sources import StopFlag, expand
from odca.stream.read.topic_bytes import TopicBytes
from odca.topics import Address, is_address

if TYPE_CHECKING:
    from odca.stream.read.arff import Attribute

ARFF = b"@relation"
"""How its files begin."""


@record
class Origin:
    """The paths of files, or the name of something else; and how that is opened."""

    paths: tuple[str, ...]
    format: str
    """The format as the user named it, or what the data are translated to."""
    relation: Relation | None = None
    """The table in memory, or the result of a query."""
    opening: Mapping[str, Any] = field(default_factory=dict)
    """How `Chunks` opens it, if not as a file of text."""
    attributes: "Sequence[Attribute]" = ()
    """The columns that an ARFF file declares."""
    is_read_once: bool = False
    """Whether there is no way to go on in its middle."""
    is_topic: bool = False
    """Whether it is a topic of a broker, whose messages are lines as they are."""

    @property
    def csv(self) -> dict[str, Any]:
        """How the CSV is written that the data are translated to; nothing if they are not."""
        return {"delimiter": ",", "header": True} if self.opening and not self.is_topic else {}


def origin_of(data: Any, query: str | None, format_: str, compression: str, file: int) -> Origin:
    """The origin of data: a path, several, or globs; a table in memory; a database with a query. `file` is the first to be read."""
    if (topic := _topic_of(data)) is not None:
        return _of_topic(topic, query, format_)
    database = require_query(data, query)
    if database == "sqlite" and query is not None:
        opening = {"open_source": lambda *_, **__: SqliteSource(data, query), "is_sized": False}
        return Origin((name_of(data, query),), "csv", opening=opening, is_read_once=True)
    relation = duckdb_relation(data, query) if database and query is not None else relation_of(data)
    if relation is not None:
        return Origin((relation.name,), "arrow", relation, is_read_once=True)
    paths = expand(data)
    if file < len(paths) and _is_arff(paths[file], format_):
        from odca.stream.read.arff import attributes_of, open_arff  # noqa: PLC0415 - seldom needed

        return Origin(
            paths, "csv", opening={"open_source": open_arff}, attributes=attributes_of(paths[file], compression)
        )
    return Origin(paths, format_)


def _is_arff(path: str, named: str) -> bool:
    """Whether a file is ARFF: as `named` by the user, by its name or by its first bytes."""
    if named != "auto" or path == STANDARD_INPUT:
        return named == "arff"
    if re.search(r"\.arff(\.(gz|zst|bz2|xz))?$", path, re.IGNORECASE):
        return True
    if not Path(path).is_file():
        return False
    with Path(path).open("rb") as file:
        return file.read(len(ARFF)).lower() == ARFF


def _topic_of(data: Any) -> Address | None:
    """The address of a topic, if the data are one."""
    given = [data] if isinstance(data, str) else data if isinstance(data, list | tuple) else []
    if not any(is_address(each) for each in given):
        return None
    if len(given) > 1:
        raise ValueError("a topic is read for itself, without other files or topics.")
    return Address.of(given[0])


def _of_topic(address: Address, query: str | None, format_: str) -> Origin:
    if query is not None:
        raise ValueError(f"a query is for databases, but {address} is a topic. Leave it out.")
    if format_ in {"arff", "arrow", "parquet"}:
        raise ValueError(f"messages of a topic are lines of text, and not {format_}.")

    def open_topic(_: str, *, follow: bool, stopped: StopFlag, start: Position = Position(), **__: Any) -> TopicBytes:  # noqa: B008 - frozen
        return TopicBytes(address, start.places, start.offset, stopped, follow=follow)

    return Origin((str(address),), format_, opening={"open_source": open_topic, "is_sized": False}, is_topic=True)
