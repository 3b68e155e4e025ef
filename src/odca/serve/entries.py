"""Requests with events: how they are logged, and what is told about them."""

from collections.abc import Sequence
from typing import Any, TypeAlias

import msgspec

from odca.serve.followed import Followed
from odca.serve.problems import Problem, of_event
from odca.serve.remembered import Answer, digest_of

NDJSON, JSON, PROBLEM = "application/x-ndjson", "application/json", "application/problem+json"
Told: TypeAlias = dict[str, Any]
"""What is told about an event."""
Lines: TypeAlias = Sequence[tuple[int, bytes]]
"""Lines of a request with their numbers."""


class Asking(msgspec.Struct, frozen=True, omit_defaults=True):
    """How a request wants its events to be used."""

    single: bool = True
    """One event, and not lines of them."""
    partial: bool = False
    predictions: bool = True
    answer: str = "live"
    coverage: float | None = None
    followed: Followed | None = None
    """Of messages of a topic: where they are."""


class Entry(msgspec.Struct, frozen=True):
    """A request in the log."""

    position: int
    clock: float
    kind: str
    """"learn", "label" or "predict"."""
    key: str | None
    asking: Asking
    body: bytes

    @property
    def digest(self) -> bytes:
        """Of everything that makes it the same request."""
        return request_digest(self.kind, self.asking, self.body)

    @property
    def lines(self) -> list[bytes]:
        """The lines of the body; that of a single event is one, however it is written."""
        return [as_line(self.body)] if self.asking.single else self.body.split(b"\n")


def request_digest(kind: str, asking: Asking, body: bytes) -> bytes:
    """The digest of a request."""
    return digest_of(kind.encode(), msgspec.json.encode(asking), body)


def as_line(body: bytes) -> bytes:
    """One JSON value as one line: no string of JSON holds a line break."""
    return body.replace(b"\n", b" ").replace(b"\r", b" ").strip() if b"\n" in body or b"\r" in body else body


def no_events() -> Problem:
    """The problem of a request without events."""
    return Problem("bad-request", "the request holds no events.")


def at_line(place: int, detail: str, *, kind: str = "invalid-event") -> Problem:
    """The problem with a line of a request."""
    return Problem(kind, f"line {place}: {detail}", line=place)


def not_an_object(lines: Lines) -> Problem:
    """The problem of lines of which not each is an event."""
    line = lines[0][0] if len(lines) == 1 else None
    return Problem("invalid-event", "an event is an object in braces, one on each line.", line=line)


def located(error: ValueError, lines: Lines, place: int | None = None) -> Problem:
    """The problem with one of these lines of a request: the one that the error names, or that at `place`."""
    line = getattr(error, "line", None)
    at = place if place is not None or line is None else line - 1
    before = 0 if line is None or at is None or not 0 <= at < len(lines) else lines[at][0] - line
    return of_event(error, lines_before=before)


def listed(asking: Asking, told: Sequence[Told]) -> Answer:
    """The answer to a request, from the objects of its events."""
    if not asking.predictions:
        errors = [each["error"] for each in told if "error" in each]
        counted = {"learned": len(told) - len(errors), **({"errors": errors} if asking.partial else {})}
        return Answer(200, msgspec.json.encode(counted))
    if asking.single:
        return Answer(200, msgspec.json.encode(told[0]))
    return Answer(200, msgspec.json.Encoder().encode_lines(told), NDJSON)
