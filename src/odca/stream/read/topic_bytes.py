"""The messages of a topic as lines of text: each message is a line, in which line breaks are blanks."""

import json
from collections import deque
from collections.abc import Callable, Mapping

from odca.stream.read.marks import Marks
from odca.stream.read.sources import POLL, Buffer, ByteSource, StopFlag
from odca.topics import Address, Following, Message

AT_ONCE = 1000


class TopicBytes(ByteSource):
    """The lines of a topic, from the position at which an earlier run stopped. With `follow` it ends when it is stopped."""

    def __init__(
        self, address: Address, places: Mapping[str, str], offset: int, stopped: StopFlag, *, follow: bool
    ) -> None:
        """`offset`: the bytes that were read before."""
        self._topic = Following(address, dict(places), follow=follow)
        self._topic.open()
        self._stopped, self._follow = stopped, follow
        self._ready = b""
        self._used = 0
        self._end = offset  # of the bytes that were received
        self._messages: deque[tuple[int, Message]] = deque()  # with the end of their lines
        self._before = dict(self._topic.position)  # the position before the first of them
        self._is_interrupted = False

    @property
    def path(self) -> str:
        """The address."""
        return str(self._topic.address)

    @property
    def size(self) -> None:
        """It is not known."""

    @property
    def consumed(self) -> int:
        """The number of bytes that were received."""
        return self._end

    @property
    def interrupted(self) -> bool:
        """Whether it ended because it was stopped."""
        return self._is_interrupted

    def skip(self, length: int, see: Callable[[memoryview], None]) -> bytes:
        """Nothing: the topic was opened after these bytes."""
        del length, see
        return b""

    def readinto(self, buffer: Buffer) -> int:
        """Read into the buffer, or the front of it; wait for messages, if there are none."""
        while not self.wait(POLL):
            if self._stopped.is_set():
                self._is_interrupted = True
                return 0
        count = min(len(self._ready) - self._used, len(buffer))
        buffer[:count] = memoryview(self._ready)[self._used : self._used + count]
        self._used += count
        return count

    def wait(self, seconds: float) -> bool:
        """Wait until `readinto` would return at once."""
        if self._used < len(self._ready):
            return True
        messages = self._topic.read(AT_ONCE, seconds)
        lines = []
        for each in messages:
            line = _line(each)
            self._end += len(line)
            self._messages.append((self._end, each))
            lines.append(line)
        self._ready, self._used = b"".join(lines), 0
        return bool(lines) or (self._topic.is_at_end and not self._follow)

    def marks(self, begin: int, end: int) -> Marks:
        """Which messages the bytes from `begin` to `end` are. Each byte is asked for once, in order."""
        ends, messages = [], []
        while self._messages and self._messages[0][0] <= end:
            stop, message = self._messages.popleft()
            ends.append(stop - begin)
            messages.append(message)
        found = Marks(self._before, tuple(ends), tuple(messages), self._topic.note)
        self._before = found.places(end - begin)
        return found

    def close(self) -> None:
        """Close the connection."""
        self._topic.close()


def _line(message: Message) -> bytes:
    """The line of a message. Of one that says nothing it is no event in any format, so that it is treated as a bad line."""
    text = (message.data or b"").strip()
    if not text:
        return json.dumps(message.fault or "the message is empty.").encode() + b"\n"
    return text.replace(b"\r", b" ").replace(b"\n", b" ") + b"\n"
