"""Messages of a topic, where they are, and what every broker's source of them does."""

from abc import ABC, abstractmethod
from typing import NamedTuple, TypeAlias

Position: TypeAlias = dict[str, str]
"""For each part of a topic, the place of the last message that was read. Parts that are not named were not read yet."""


class TopicError(ValueError):
    """A topic cannot be read, and waiting does not help."""


class UnreachableError(OSError):
    """The broker does not answer now; it may later."""


class Message(NamedTuple):
    """A message, and where it is: the part of the topic, and the place in that part."""

    part: str
    place: str
    data: bytes | None
    """What it says; None if it is not what the address asks for."""
    fault: str = ""
    """What is wrong with it, if it has no data."""

    @property
    def where(self) -> str:
        """Its part and its place, as people read them: 3:1042 is the offset 1042 of Kafka's partition 3."""
        return f"{self.part}:{self.place}" if self.part else self.place


class Source(ABC):
    """An open topic. One thread uses it. Its constructor raises UnreachableError or TopicError, and so does `read`."""

    problem: str | None = None
    """Why no messages come now, if that is known."""
    note: str | None = None
    """What a person should know who relies on every message, such as that some were deleted before they were read."""

    @abstractmethod
    def begin(self) -> Position:
        """The position from which it reads."""

    @abstractmethod
    def read(self, most: int, seconds: float) -> list[Message]:
        """The next messages, at most so many: those that are there, or the first that come in so many seconds."""

    @property
    @abstractmethod
    def is_at_end(self) -> bool:
        """Whether everything was read that was there when the topic was opened."""

    @property
    @abstractmethod
    def lag(self) -> int | None:
        """How many messages are there that were not read yet; None if that is not known."""

    @abstractmethod
    def close(self) -> None:
        """Close the connection."""
