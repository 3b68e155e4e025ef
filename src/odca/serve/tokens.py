"""Tokens: who may do what. Only their hashes are stored; a token is shown once, when it is made."""

import hashlib
import hmac
import os
import secrets
import time
from pathlib import Path
from typing import Literal, get_args

import msgspec

Scope = Literal["predict", "learn", "admin"]
SCOPES: tuple[str, ...] = get_args(Scope)
PREFIX = "odca"
SECONDS = 0.5
"""How old what is known of the file may be."""


class Token(msgspec.Struct, frozen=True):
    """A token, without its secret. A scope includes those before it: who may learn may predict."""

    id: str
    name: str
    scope: Scope
    created: float
    hash: str

    @property
    def scopes(self) -> tuple[str, ...]:
        """All that it may do."""
        return SCOPES[: SCOPES.index(self.scope) + 1]


class Tokens:
    """The tokens of a service, in a file that may change at any time."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._seen: tuple[int, int, int] | None = None
        self._tokens: list[Token] = []
        self._looked = -SECONDS

    def now(self) -> list[Token]:
        """The tokens as they were less than a second ago: no request waits for the disk."""
        if (moment := time.monotonic()) - self._looked >= SECONDS:
            self.all()
            self._looked = moment
        return self._tokens

    def all(self) -> list[Token]:
        """All tokens. ValueError if the file is damaged."""
        try:
            found = self.path.stat()
        except FileNotFoundError:
            self._seen, self._tokens = None, []
            return []
        if (now := (found.st_mtime_ns, found.st_size, found.st_ino)) != self._seen:
            try:
                self._tokens = msgspec.json.decode(self.path.read_bytes(), type=list[Token])
            except msgspec.DecodeError as error:
                raise ValueError(f"{self.path} is damaged: {error}.") from error
            self._seen = now
        return self._tokens

    def found(self, text: str) -> Token | None:
        """The token that a client has sent. One that is not known may have been made a moment ago, so the file is looked at again."""
        digest = _hash(text)
        return _matching(self.now(), digest) or _matching(self.all(), digest)

    def create(self, name: str, scope: Scope) -> str:
        """Make a token; return it, once."""
        id, secret = secrets.token_hex(4), secrets.token_urlsafe(32)  # noqa: A001
        text = f"{PREFIX}_{id}_{secret}"
        self._write([*self.all(), Token(id, name, scope, time.time(), _hash(text))])
        return text

    def revoke(self, id: str) -> Token:  # noqa: A002
        """Delete a token. ValueError if there is none with this id."""
        found = [each for each in self.all() if each.id == id]
        if not found:
            raise ValueError(
                f"there is no token {id!r}. There are {', '.join(each.id for each in self.all()) or 'none'}."
            )
        self._write([each for each in self.all() if each.id != id])
        return found[0]

    def _write(self, tokens: list[Token]) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        temporary = self.path.with_name(f".{self.path.name}.{os.getpid()}")
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(msgspec.json.format(msgspec.json.encode(tokens)))
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(self.path)


def _hash(text: str) -> str:
    """The secret has 256 random bits, so a fast hash is as good as a slow one."""
    return hashlib.sha256(text.encode()).hexdigest()


def _matching(tokens: list[Token], digest: str) -> Token | None:
    """The token with this hash. All are compared, each in constant time."""
    match = None
    for token in tokens:
        if hmac.compare_digest(token.hash, digest):
            match = token
    return match
