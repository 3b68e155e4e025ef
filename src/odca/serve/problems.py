"""What a client is told when a request fails: an object of RFC 9457."""

from typing import Any

import msgspec

from odca.errors import InputError
from odca.stream.read.errors import StreamError

TITLES = {
    "bad-request": "The request is not valid.",
    "no-token": "A token is needed.",
    "wrong-scope": "The token may not do this.",
    "no-model": "There is no such model.",
    "no-pending-event": "No event waits under this id.",
    "no-route": "There is no such route.",
    "wrong-method": "This route has no such method.",
    "exists": "A model of this name exists.",
    "cannot-merge": "The models cannot be merged.",
    "collecting": "The model is still collecting its first events.",
    "too-large": "The request is too large.",
    "wrong-type": "The content type is not one of those that this route takes.",
    "invalid-event": "The event cannot be used.",
    "invalid-model": "The model cannot be made.",
    "key-reused": "The key was used for another request.",
    "queue-full": "Too many requests are waiting.",
    "too-many-models": "There are too many models.",
    "not-ready": "The service is not ready.",
    "failed": "The model has failed.",
    "timeout": "The request took too long.",
    "disk-full": "The disk is full.",
    "internal": "The service has a fault.",
}
STATUS = {
    "bad-request": 400, "no-token": 401, "wrong-scope": 403, "no-model": 404, "no-pending-event": 404, "no-route": 404,
    "wrong-method": 405, "exists": 409, "cannot-merge": 409, "collecting": 409, "too-large": 413, "wrong-type": 415,
    "invalid-event": 422, "invalid-model": 422, "key-reused": 422, "queue-full": 429, "too-many-models": 429,
    "not-ready": 503, "failed": 503, "timeout": 504, "disk-full": 507, "internal": 500,
}  # fmt: skip


class Problem(Exception):  # noqa: N818 - the word of RFC 9457
    """A request that fails. Nothing of it was learned, unless it is a timeout."""

    def __init__(
        self,
        kind: str,
        detail: str,
        *,
        retry_after: int | None = None,
        line: int | None = None,
        column: int | None = None,
        allow: str | None = None,
    ) -> None:
        super().__init__(detail)
        self.kind, self.detail, self.retry_after = kind, detail, retry_after
        self.line, self.column = line, column
        self.allow = allow
        """The methods that a route has."""

    @property
    def status(self) -> int:
        """The status of the answer."""
        return STATUS[self.kind]

    def as_object(self) -> dict[str, Any]:
        """The object of RFC 9457."""
        found: dict[str, Any] = {
            "type": f"urn:odca:{self.kind}", "title": TITLES[self.kind], "status": self.status, "detail": self.detail,
        }  # fmt: skip
        found |= {name: each for name in ("line", "column") if (each := getattr(self, name)) is not None}
        return found

    def encoded(self) -> bytes:
        """The same as JSON."""
        return msgspec.json.encode(self.as_object())


SPELLED = {"on_error": "`partial=true`"}
"""What options of `odca.train` are called in a request."""


def spelled(option: str, value: Any = None) -> str:
    """An option as the service calls it."""
    if option in SPELLED:
        return SPELLED[option]
    return f"`{option}`" if value is None else f"`{option}: {value}`"


def of_event(error: ValueError, *, kind: str = "invalid-event", lines_before: int = 0) -> Problem:
    """The problem with an event, and where it is."""
    if not isinstance(error, InputError):
        return Problem(kind, str(error))
    if not isinstance(error, StreamError):
        return Problem(kind, error.explain(spelled))
    line = None if error.line is None else error.line + lines_before
    place = "" if line is None else f"line {line}: "
    return Problem(kind, place + InputError.explain(error, spelled), line=line, column=error.column)
