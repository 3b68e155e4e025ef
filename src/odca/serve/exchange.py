"""One HTTP request and its answer."""

import asyncio
import random
import re
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from typing import Any, TypeAlias
from urllib.parse import parse_qsl

import msgspec

from odca.serve.entries import JSON, PROBLEM
from odca.serve.problems import Problem

Scope: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send: TypeAlias = Callable[[MutableMapping[str, Any]], Awaitable[None]]

TRACEPARENT = re.compile(r"[0-9a-f]{2}-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}")
KEY = re.compile(r"[\x21-\x7e]{1,200}")
MOST_PARAMETERS = 20
EVERY_REPLY = ((b"x-content-type-options", b"nosniff"), (b"cache-control", b"no-store"))


def as_json(found: Any) -> bytes:
    """An object as JSON; numbers of NumPy are numbers."""
    return msgspec.json.encode(found, enc_hook=lambda each: each.item())


class Reply(msgspec.Struct):
    """An answer."""

    status: int
    body: bytes
    type: str = JSON
    headers: tuple[tuple[bytes, bytes], ...] = ()

    @classmethod
    def of(cls, found: Any, status: int = 200, headers: tuple[tuple[bytes, bytes], ...] = ()) -> "Reply":
        """An object as JSON."""
        return cls(status, as_json(found), JSON, headers)


class Gone(Exception):  # noqa: N818 - nobody is there to be told
    """The client has closed the connection."""


class Exchange:
    """A request, as much of it as has been read, and the way to answer it."""

    def __init__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.method: str = scope["method"]
        self.path: str = scope["path"]
        self._query: bytes = scope.get("query_string", b"")
        self.headers: dict[bytes, bytes] = dict(scope["headers"])
        self.scheme: str = scope.get("scheme", "http")
        self.receive, self._send = receive, send
        self.who = "anonymous"
        self.has_begun = False
        trace = self.header("traceparent")
        found = TRACEPARENT.fullmatch(trace) if trace else None
        self.traceparent = trace if found else None
        self.request_id = found[1] if found else f"{random.getrandbits(128):032x}"

    def header(self, name: str) -> str:
        """A header; empty if it is not there."""
        return self.headers.get(name.encode(), b"").decode("latin-1")

    @property
    def content_type(self) -> str:
        """The type of the body, without parameters."""
        return self.header("content-type").partition(";")[0].strip().lower()

    @property
    def idempotency_key(self) -> str | None:
        """The key of the request. Problem if it cannot be one."""
        key = self.headers.get(b"idempotency-key")
        if key is None:
            return None
        text = key.decode("latin-1")
        if not KEY.fullmatch(text):
            raise Problem("bad-request", "an Idempotency-Key has 1 to 200 visible ASCII characters.")
        return text

    def parameters(self, *known: str) -> Mapping[str, str]:
        """The query. Problem for a parameter that is not known, or is there twice."""
        if not self._query:
            return {}
        try:
            pairs = parse_qsl(
                self._query.decode("ascii"),
                keep_blank_values=True,
                strict_parsing=True,
                max_num_fields=MOST_PARAMETERS,
                errors="strict",
            )
        except (ValueError, UnicodeDecodeError):
            raise Problem(
                "bad-request", "the query cannot be read. Write it as a=1&b=2, other characters as %20."
            ) from None
        found = dict(pairs)
        unknown = [name for name in found if name not in known]
        if unknown:
            there = f"There are {', '.join(known)}." if known else "This route has none."
            raise Problem("bad-request", f"there is no parameter {unknown[0][:100]!r}. {there}")
        if len(found) < len(pairs):
            raise Problem("bad-request", "a parameter is there twice.")
        return found

    async def body(self, most: int, seconds: float) -> bytes:
        """The body. Problem if it is too large, or does not come in time."""
        announced = self.header("content-length")
        if announced and (not announced.isdecimal() or int(announced) > most):
            raise Problem("too-large", f"the body has {announced[:20]} bytes; at most {most:,} are allowed.")
        parts: list[bytes] = []
        size = 0
        try:
            async with asyncio.timeout(seconds):
                while True:
                    message = await self.receive()
                    if message["type"] == "http.disconnect":
                        raise Gone
                    part = message.get("body", b"")
                    size += len(part)
                    if size > most:
                        raise Problem("too-large", f"the body has more than {most:,} bytes.")
                    parts.append(part)
                    if not message.get("more_body", False):
                        return b"".join(parts)
        except TimeoutError:
            raise Problem("timeout", f"the body was not there within {seconds:g} seconds.") from None

    async def reply(self, reply: Reply) -> None:
        """Send an answer."""
        headers = [(b"content-type", reply.type.encode()), (b"content-length", str(len(reply.body)).encode())]
        await self.start(reply.status, [*headers, *reply.headers])
        await self._send({"type": "http.response.body", "body": b"" if self.method == "HEAD" else reply.body})

    async def start(self, status: int, headers: list[tuple[bytes, bytes]]) -> None:
        """Send the head of an answer."""
        self.has_begun = True
        own = [(b"x-request-id", self.request_id.encode()), *EVERY_REPLY]
        if self.traceparent is not None:
            own.append((b"traceparent", self.traceparent.encode()))
        given = {name for name, _ in headers}
        await self._send({
            "type": "http.response.start", "status": status,
            "headers": [*headers, *(each for each in own if each[0] not in given)],
        })  # fmt: skip

    async def send_part(self, part: bytes, *, more: bool = True) -> None:
        """Send a part of an answer that comes in parts."""
        await self._send({"type": "http.response.body", "body": part, "more_body": more})

    async def refuse(self, problem: Problem) -> None:
        """Send an error."""
        about = problem.as_object() | {"request_id": self.request_id}
        headers: list[tuple[bytes, bytes]] = []
        if problem.retry_after is not None:
            headers.append((b"retry-after", str(problem.retry_after).encode()))
        if problem.allow is not None:
            headers.append((b"allow", problem.allow.encode()))
        if problem.kind == "no-token":
            headers.append((b"www-authenticate", b"Bearer"))
        if problem.kind in {"too-large", "timeout"}:
            headers.append((b"connection", b"close"))  # the rest of the request may still come
        await self.reply(Reply(problem.status, msgspec.json.encode(about), PROBLEM, tuple(headers)))
