"""Reading a topic through every failure of its broker."""

import time
from contextlib import suppress

from odca.topics.address import Address
from odca.topics.messages import Message, Position, Source, TopicError, UnreachableError

FIRST_PAUSE, LONGEST_PAUSE = 0.1, 30.0
"""Seconds until the broker is tried again; each time twice as long."""


def open_source(address: Address, position: Position, *, follow: bool) -> Source:
    """Open a topic at a position. Without `follow`, its source ends where the topic ends now."""
    kind = address.kind
    try:
        if kind == "kafka":
            from odca.topics.kafka import KafkaSource  # noqa: PLC0415 - an extra

            return KafkaSource(address, position, follow=follow)
        from odca.topics.redis import RedisSource  # noqa: PLC0415 - an extra

        return RedisSource(address, position, follow=follow)
    except ModuleNotFoundError as error:
        raise ImportError(f"{address} needs {error.name}: pip install 'odca[{kind}]'.") from error


class Following:
    """A topic that is opened again, at its position, whenever its broker was gone. One thread reads; others may look.

    insists: try again whatever is wrong. Otherwise a fault that waiting does not mend is raised (TopicError), and so is one that keeps the
        topic from being opened for the first time.
    """

    def __init__(self, address: Address, position: Position, *, follow: bool = True, insists: bool = False) -> None:
        self.address = address
        self.position = dict(position)
        """The position after the last message that was read."""
        self.before = dict(position)
        """The position before the messages of the last `read`."""
        self.problem: str | None = None
        """Why no messages come now."""
        self.note: str | None = None
        self.lag: int | None = None
        self.is_connected = False
        self._follow, self._insists = follow, insists
        self._source: Source | None = None
        self._was_open = False
        self._pause, self._again_at = 0.0, 0.0

    @property
    def is_at_end(self) -> bool:
        """Whether everything was read that was there when the topic was opened."""
        return self._source is not None and self._source.is_at_end

    def read(self, most: int, seconds: float) -> list[Message]:
        """The next messages, at most so many; none if none came in so many seconds."""
        if (wait := self._again_at - time.monotonic()) > 0.0:
            time.sleep(min(wait, seconds))
            if wait > seconds:
                return []
        try:
            source = self._source or self.open()
            found = source.read(most, seconds)
            self.problem, self.lag = source.problem, source.lag
            self.is_connected = source.problem is None
        except (UnreachableError, TopicError) as error:
            self.close()
            if not self._insists and (isinstance(error, TopicError) or not self._was_open):
                raise
            self.problem = str(error)
            self._pause = min(2.0 * self._pause or FIRST_PAUSE, LONGEST_PAUSE)
            self._again_at = time.monotonic() + self._pause
            return []
        self.before = dict(self.position)
        if found:
            self._pause = 0.0
            self.position |= {each.part: each.place for each in found}
        return found

    def open(self) -> Source:
        """Open the topic; then `position` is where it begins. UnreachableError or TopicError if that fails."""
        address = self._address_again() if self._was_open else self.address
        self._source = source = open_source(address, self.position, follow=self._follow)
        self.position = source.begin()
        self.note = source.note
        self._was_open = True
        return source

    def _address_again(self) -> Address:
        """The address after a failure: where no position is known, nothing was there at first, so all of it is new."""
        from dataclasses import replace  # noqa: PLC0415 - takes long to import, and is seldom needed

        return replace(self.address, start="beginning")

    def close(self) -> None:
        """Close the connection. Reading opens it again."""
        source, self._source, self.is_connected = self._source, None, False
        if source is not None:
            with suppress(UnreachableError, TopicError):
                source.close()
