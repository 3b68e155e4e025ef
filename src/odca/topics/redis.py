"""Streams of Redis. An entry has fields; one of them, `event` unless the address names another, holds the event."""

from typing import Any

import redis

from odca.topics.address import Address
from odca.topics.messages import Message, Position, Source, TopicError, UnreachableError

SETTINGS = ("username", "password", "ssl_ca_certs", "ssl_certfile", "ssl_keyfile")
SECONDS = 10.0
BEGINNING = "0-0"
HOPELESS = (redis.AuthenticationError, redis.ResponseError, redis.DataError)


class RedisSource(Source):
    """An open stream of Redis."""

    def __init__(self, address: Address, position: Position, *, follow: bool) -> None:
        self._address, self._follow = address, follow
        host, _, port = address.servers[0].rpartition(":")
        given: dict[str, Any] = address.settings(SETTINGS)
        self._redis = redis.Redis(
            host=host.strip("[]"), port=int(port), db=address.db, ssl=address.scheme == "rediss",
            socket_connect_timeout=SECONDS, socket_timeout=SECONDS, protocol=2, **given,
        )  # fmt: skip
        self._field, self._key = address.field.encode(), address.name
        try:
            self._last, self._end = self._found(position)
        except BaseException:
            self.close()
            raise

    def _found(self, position: Position) -> tuple[str, str]:
        """The last entry that was read, and the last one that is there."""
        address, about = self._address, self._stream()
        if about is None and not self._follow:
            raise TopicError(f"{address}: there is no such stream.")
        end = BEGINNING if about is None else about["last-generated-id"].decode()
        last = position.get("", end if address.start == "end" else BEGINNING)
        if _id(last) > _id(end):
            raise TopicError(
                f"{address}: {last} is the last entry that was read, but the stream ends at {end}: it is not the stream that was "
                "read before. To read this one from its start, give it another name: ?as=NAME."
            )
        if "" in position and not self._asked(self._redis.xrange, self._key, last, last):
            self.note = (
                f"the entry {last} that was read last is no longer there: later ones may have been deleted, too."
            )
        return last, end

    def _stream(self) -> dict[str, Any] | None:
        """What Redis says about the stream; None if there is none."""
        if not self._asked(self._redis.exists, self._key):
            return None
        found: dict[str, Any] = self._asked(self._redis.xinfo_stream, self._key)
        return found

    def _asked(self, question: Any, *about: Any, **how: Any) -> Any:
        try:
            return question(*about, **how)
        except (redis.RedisError, OSError) as error:
            hopeless = isinstance(error, HOPELESS) and not isinstance(error, redis.exceptions.BusyLoadingError)
            kind = TopicError if hopeless else UnreachableError
            raise kind(f"{self._address}: {str(error).rstrip('.')}.") from error

    def begin(self) -> Position:
        """The position from which it reads."""
        return {"": self._last} if self._last != BEGINNING else {}

    def read(self, most: int, seconds: float) -> list[Message]:
        """The next entries: those that are there, or the first that come in so many seconds."""
        if self.is_at_end and not self._follow:
            return []
        wait = max(int(1000 * min(seconds, 1.0)), 1)  # 0 would wait for ever
        found = self._asked(self._redis.xread, {self._key: self._last}, count=most, block=wait)
        entries: list[Any] = found[0][1] if found else []
        if not self._follow:
            entries = [each for each in entries if _id(each[0].decode()) <= _id(self._end)]
            if not entries:
                self._last = self._end  # the last ones were deleted
        messages = [self._message(id_.decode(), fields) for id_, fields in entries]
        if messages:
            self._last = messages[-1].place
        return messages

    def _message(self, place: str, fields: dict[bytes, bytes] | None) -> Message:
        data = (fields or {}).get(self._field)
        fault = f"the entry has no field {self._address.field!r}." if data is None else ""
        return Message("", place, data, fault)

    @property
    def is_at_end(self) -> bool:
        """Whether everything was read that was there when the stream was opened."""
        return _id(self._last) >= _id(self._end)

    @property
    def lag(self) -> int | None:
        """Redis does not say."""
        return None

    def close(self) -> None:
        """Close the connection."""
        self._redis.close()


def _id(text: str) -> tuple[int, int]:
    milliseconds, _, number = text.partition("-")
    return int(milliseconds), int(number or "0")
