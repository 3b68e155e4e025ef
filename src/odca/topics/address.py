"""Addresses of topics: `kafka://host:9092,other:9092/visits?start=end`.

Credentials are not part of an address, which is shown and logged. They are in a file of `name=value` lines that the address names
(`config=`) or the environment (ODCA_KAFKA_CONFIG, ODCA_REDIS_CONFIG).
"""

import os
import re
from pathlib import Path
from typing import Any

from odca.errors import did_you_mean
from odca.records import record
from odca.topics.messages import TopicError

SCHEMES = ("kafka", "redis", "rediss")
PARAMETERS = {"kafka": ("start", "as", "config"), "redis": ("start", "as", "config", "db", "field")}
PORTS = {"kafka": 9092, "redis": 6379}
KAFKA_NAME = re.compile(r"[A-Za-z0-9._-]{1,249}")
LONGEST = 2000


def is_address(text: object) -> bool:
    """Whether a text is the address of a topic, and not the path of a file."""
    return isinstance(text, str) and text.partition("://")[0] in SCHEMES


@record
class Address:
    """Where a topic is, and how it is read."""

    scheme: str
    servers: tuple[str, ...]
    """As host:port."""
    name: str
    start: str = "beginning"
    """Where to begin if no position is known: at the "beginning" of the topic, or at its "end"."""
    label: str = ""
    """What positions in it are stored under."""
    config: str | None = None
    """The file with credentials and other settings of the connection."""
    db: int = 0
    """Redis: the number of the database."""
    field: str = "event"
    """Redis: the field of an entry that holds the event."""

    @classmethod
    def of(cls, text: str) -> "Address":
        """Of a text. ValueError if it is not an address; what it may hold of credentials is not repeated in the error."""
        scheme, _, rest = text.partition("://")
        if scheme not in SCHEMES or len(text) > LONGEST:
            raise TopicError(f"an address begins with {', '.join(f'{each}://' for each in SCHEMES)}.")
        kind = "kafka" if scheme == "kafka" else "redis"
        where, _, query = rest.partition("?")
        hosts, _, name = where.partition("/")
        if "@" in where:
            raise TopicError(
                "an address holds no user and no password: it is shown and logged. Write them to a file of name=value lines, and name "
                f"that with config= or in ODCA_{kind.upper()}_CONFIG."
            )
        servers = tuple(_server(each, PORTS[kind]) for each in hosts.split(","))
        if kind == "redis" and len(servers) > 1:
            raise TopicError("redis:// takes one server.")
        from urllib.parse import unquote  # noqa: PLC0415 - most data are files

        name = unquote(name)
        if not name or (kind == "kafka" and not KAFKA_NAME.fullmatch(name)):
            raise TopicError(f"the name of a topic follows the server: {scheme}://{hosts}/visits. Got {name!r}.")
        given = _parameters(query, kind)
        return cls(
            scheme, servers, name,
            start=given.get("start", "beginning"),
            label=given.get("as") or f"{kind}:{name}",
            config=given.get("config") or os.environ.get(f"ODCA_{kind.upper()}_CONFIG") or None,
            db=int(given.get("db", "0")),
            field=given.get("field") or "event",
        )  # fmt: skip

    @property
    def kind(self) -> str:
        """The broker: "kafka" or "redis"."""
        return "kafka" if self.scheme == "kafka" else "redis"

    def __str__(self) -> str:
        """The address, as it is shown."""
        return f"{self.scheme}://{','.join(self.servers)}/{self.name}"

    def settings(self, known: tuple[str, ...] | None = None, *, fixed: Any = ()) -> dict[str, str]:
        """The settings of its file. TopicError if there is one that is not `known`, or that is `fixed`; values are not repeated."""
        if self.config is None:
            return {}
        try:
            text = Path(self.config).read_text("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise TopicError(f"the settings of {self} cannot be read: {error}.") from error
        found: dict[str, str] = {}
        for place, line in enumerate(text.splitlines(), 1):
            if not line.strip() or line.lstrip().startswith(("#", "!")):
                continue
            name, equals, value = line.partition("=")
            if not equals:
                raise TopicError(f"{self.config}, line {place}: settings are lines of the form name=value.")
            found[name.strip()] = value.strip()
        for name in found:
            if name in fixed:
                raise TopicError(f"{self.config}: {name} is not for you to set: odca decides it. Leave it out.")
            if known is not None and name not in known:
                meant = did_you_mean(name, known) or f"There are {', '.join(known)}."
                raise TopicError(f"{self.config}: there is no setting {name!r}. {meant}")
        return found


def _server(text: str, usual: int) -> str:
    host, colon, port = text.rpartition(":") if not text.endswith("]") else (text, "", "")
    host, port = (host, port) if colon else (text, str(usual))
    if not host or not port.isascii() or not port.isdecimal() or not 0 < int(port) < 65536:
        raise TopicError(f"a server is written as host:port; got {text!r}.")
    return f"{host}:{port}"


def _parameters(query: str, kind: str) -> dict[str, str]:
    from urllib.parse import parse_qsl  # noqa: PLC0415 - the same

    try:
        given = dict(parse_qsl(query, keep_blank_values=True, strict_parsing=True)) if query else {}
    except ValueError as error:
        raise TopicError(f"what follows the question mark of an address is name=value&name=value: {error}.") from error
    for name in given:
        if name not in PARAMETERS[kind]:
            meant = did_you_mean(name, PARAMETERS[kind]) or f"There are {', '.join(PARAMETERS[kind])}."
            raise TopicError(f"an address of {kind} has no {name!r}. {meant}")
    if given.get("start", "end") not in {"beginning", "end"}:
        raise TopicError(f"start must be beginning or end; got {given['start']!r}.")
    if not given.get("db", "0").isdecimal():
        raise TopicError(f"db must be the number of a database; got {given['db']!r}.")
    return given
