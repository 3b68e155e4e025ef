"""What a model remembers of requests: answers for those that come again, and events that wait for their labels. Both are bounded."""

from collections import OrderedDict
from collections.abc import Iterator
from hashlib import blake2b

import msgspec
import numpy as np
import numpy.typing as npt

from odca.io.container import vector
from odca.models.auto import Asked
from odca.serve.limits import ModelLimits

DIGEST = 16


def digest_of(*parts: bytes) -> bytes:
    """A digest of texts, each with its length."""
    found = blake2b(digest_size=DIGEST)
    for part in parts:
        found.update(len(part).to_bytes(8, "little"))
        found.update(part)
    return found.digest()


class Answer(msgspec.Struct, frozen=True):
    """An answer to a request, or to one of its events."""

    status: int
    body: bytes
    type: str = "application/json"


class Kept(msgspec.Struct, frozen=True):
    """An answer, what it answered, and when; of a request, also its position in the log."""

    digest: bytes
    clock: float
    answer: Answer
    position: int | None = None


class Answers:
    """Answers by key, oldest first."""

    def __init__(self, limits: ModelLimits) -> None:
        self._limits = limits
        self._kept: OrderedDict[str, Kept] = OrderedDict()
        self.size = 0
        """Bytes, about."""

    def __len__(self) -> int:
        return len(self._kept)

    def get(self, key: str) -> Kept | None:
        """The answer under a key."""
        return self._kept.get(key)

    def keep(self, key: str, kept: Kept) -> None:
        """Keep an answer; forget the oldest ones, if there are too many."""
        self._forget(key)
        self._kept[key] = kept
        self.size += _size(key, kept)
        while self._kept and (len(self._kept) > self._limits.max_answers or self.size > self._limits.max_answers_bytes):
            self._forget(next(iter(self._kept)))

    def expire(self, clock: float) -> None:
        """Forget the answers that are too old by now."""
        oldest = clock - self._limits.max_answers_age
        while self._kept and next(iter(self._kept.values())).clock < oldest:
            self._forget(next(iter(self._kept)))

    def _forget(self, key: str) -> None:
        if (old := self._kept.pop(key, None)) is not None:
            self.size -= _size(key, old)

    def as_arrays(self) -> dict[str, npt.NDArray[np.uint8]]:
        """For a file."""
        return {"answers": np.frombuffer(msgspec.msgpack.encode(list(self._kept.items())), np.uint8)}

    def restore(self, arrays: dict[str, npt.NDArray[np.uint8]]) -> None:
        """The reverse."""
        saved = vector(arrays, "answers", np.uint8).tobytes()
        for key, kept in msgspec.msgpack.decode(saved, type=list[tuple[str, Kept]]):
            self._kept[key] = kept
            self.size += _size(key, kept)


def _size(key: str, kept: Kept) -> int:
    return len(key) + len(kept.answer.body) + 200


class Waiting(msgspec.Struct, frozen=True):
    """An event that waits for its label: its line, the prediction that was given, and what the experts said then."""

    clock: float
    line: bytes
    digest: bytes
    prediction: bytes
    said: bytes = b""
    answers: bytes = b""
    heads: int = 0
    after: int = 0

    @classmethod
    def of(cls, clock: float, line: bytes, digest: bytes, prediction: bytes, asked: Asked | None) -> "Waiting":
        """An event; `asked` is about it alone."""
        if asked is None:
            return cls(clock, line, digest, prediction)
        said = asked.said.astype("<f8")
        return cls(
            clock,
            line,
            digest,
            prediction,
            said.tobytes(),
            asked.answers.astype("<f8").tobytes(),
            said.shape[1],
            asked.after,
        )

    @property
    def asked(self) -> Asked | None:
        """What the experts said; None if it is not known."""
        if not self.heads:
            return None
        said = np.frombuffer(self.said, "<f8").reshape(1, self.heads, -1)
        answers = np.frombuffer(self.answers, "<f8").reshape((1,) if self.heads == 1 else (1, -1))
        return Asked(answers, said, self.after)


class Pending:
    """The events that wait for their labels, oldest first."""

    def __init__(self, limits: ModelLimits) -> None:
        self._limits = limits
        self._events: OrderedDict[str, Waiting] = OrderedDict()
        self.expired = self.dropped = 0
        """How many were dropped without a label: because they were too old, or too many."""

    def __len__(self) -> int:
        return len(self._events)

    def __contains__(self, id: str) -> bool:  # noqa: A002
        return id in self._events

    def get(self, id: str) -> Waiting | None:  # noqa: A002
        """The event under an id."""
        return self._events.get(id)

    def items(self) -> Iterator[tuple[str, Waiting]]:
        """The events with their ids."""
        return iter(self._events.items())

    @property
    def oldest(self) -> float | None:
        """When the oldest of them came."""
        return next((each.clock for each in self._events.values()), None)

    def keep(self, id: str, event: Waiting) -> None:  # noqa: A002
        """Keep an event as the newest."""
        self._events[id] = event
        while len(self._events) > self._limits.max_pending:
            self._events.popitem(last=False)
            self.dropped += 1

    def replace(self, id: str, event: Waiting) -> None:  # noqa: A002
        """Keep more about an event that waits."""
        self._events[id] = event

    def remove(self, id: str) -> None:  # noqa: A002
        """Its label came."""
        del self._events[id]

    def expire(self, clock: float) -> None:
        """Drop the events that are too old by now."""
        oldest = clock - self._limits.max_pending_age
        while self._events and next(iter(self._events.values())).clock < oldest:
            self._events.popitem(last=False)
            self.expired += 1

    def as_arrays(self) -> dict[str, npt.NDArray[np.uint8]]:
        """For a file."""
        saved = (self.expired, self.dropped, list(self._events.items()))
        return {"pending": np.frombuffer(msgspec.msgpack.encode(saved), np.uint8)}

    def restore(self, arrays: dict[str, npt.NDArray[np.uint8]]) -> None:
        """The reverse."""
        saved = vector(arrays, "pending", np.uint8).tobytes()
        form = tuple[int, int, list[tuple[str, Waiting]]]
        self.expired, self.dropped, events = msgspec.msgpack.decode(saved, type=form)
        self._events = OrderedDict(events)
