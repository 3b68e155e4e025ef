"""The bounds of the service. Each can be set by an option of `odca serve`, or, of a model's memory, when it is created."""

import msgspec


class ModelLimits(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """How much a model remembers of requests. Part of what it was created with, so that a replay forgets the same."""

    max_pending: int = 100_000
    """Events that wait for their labels; then the oldest is dropped."""
    max_pending_age: float = 7 * 86_400.0
    """Seconds that an event waits for its label."""
    max_answers: int = 100_000
    """Answers that are kept for requests and events that come again."""
    max_answers_age: float = 86_400.0
    """Seconds that an answer is kept."""
    max_answers_bytes: int = 64 << 20
    """The size of all answers that are kept."""


class Limits(msgspec.Struct, frozen=True):
    """The bounds of the whole service."""

    body: int = 16 << 20
    """Bytes of a request with events."""
    line: int = 1 << 20
    """Bytes of one event."""
    events: int = 100_000
    """Events of a request."""
    model_file: int = 256 << 20
    """Bytes of an uploaded model."""
    models: int = 64
    queue: int = 1_000
    """Requests of a model that wait."""
    queue_bytes: int = 64 << 20
    log_bytes: int = 64 << 20
    """The log of a model is at most twice as large: from here on, a snapshot is made."""
    keep_log_bytes: int = 0
    """How much of the log is kept that no recovery needs."""
    snapshot_seconds: float = 300.0
    """A snapshot is made this long after a change."""
    read_seconds: float = 30.0
    """A request that is not complete by then is ended."""
    wait_seconds: float = 30.0
    """How long a request waits for its answer."""
    connections: int = 1_000
    streams: int = 100
    """Connections that watch live."""
