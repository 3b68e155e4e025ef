"""Topics of Kafka. All partitions are read, each from its own offset; nothing is committed to the broker.

What was there when the topic was opened comes in the order of the messages' timestamps, merged over the partitions: the next message is
the earliest of those that are next in their partitions. So the order depends on the offsets alone, and a reader that starts again at a
stored position goes on exactly as one that was never interrupted. What is written later comes as it arrives.
"""

import logging
import time
from collections import deque
from heapq import heapify, heappop, heapreplace

from confluent_kafka import OFFSET_INVALID, Consumer, KafkaError, KafkaException, TopicPartition
from confluent_kafka import Message as KafkaMessage

from odca.topics.address import Address
from odca.topics.messages import Message, Position, Source, TopicError, UnreachableError

SECONDS = 10.0
"""How long the broker has to answer a question."""
LOOK_AGAIN = 30.0
"""Seconds between two looks at the topic, which may have got more partitions; after a failure, between two tries."""
TRY_AGAIN = 1.0
AT_ONCE = 1000
MOST_HELD = 20_000
"""Messages of one partition that wait for earlier ones of other partitions. Then the partition is read no further."""
MOST_BYTES_HELD = 8 << 20
FIXED = {
    "group.id": "odca",  # the library wants one; no group is joined
    "enable.auto.commit": False,
    "enable.auto.offset.store": False,
    "auto.offset.reset": "error",
    "enable.partition.eof": True,
    "allow.auto.create.topics": False,
}
USUAL = {"queued.max.messages.kbytes": 16 << 10, "queued.min.messages": 20_000, "isolation.level": "read_committed"}
HOPELESS = (KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError.TOPIC_AUTHORIZATION_FAILED)
SILENT = logging.getLogger("odca.topics.kafka")
SILENT.addHandler(logging.NullHandler())
SILENT.propagate = False  # what matters is raised, or is a `problem`


class _Partition:
    """A partition: the messages that were fetched, and which are next."""

    def __init__(self, number: int, first: int, end: int) -> None:
        self.number = number
        self.fetched = first
        """The offset that is fetched next."""
        self.end = end
        """The end of the partition when it was opened."""
        self.waiting: deque[KafkaMessage] = deque()
        self.bytes = 0
        self.is_assigned = False

    @property
    def is_behind(self) -> bool:
        """Whether messages are to come that were there when it was opened."""
        first = self.waiting[0].offset() if self.waiting else self.fetched
        return first < self.end

    @property
    def head(self) -> tuple[int, int]:
        """What its next message is ordered by."""
        return self.waiting[0].timestamp()[1], self.number

    @property
    def is_full(self) -> bool:
        return len(self.waiting) >= MOST_HELD or self.bytes >= MOST_BYTES_HELD

    def add(self, message: KafkaMessage) -> None:
        if message.offset() >= self.fetched:
            self.waiting.append(message)
            self.bytes += len(message.value() or b"")
            self.fetched = message.offset() + 1

    def take(self) -> KafkaMessage:
        message = self.waiting.popleft()
        self.bytes -= len(message.value() or b"")
        return message


class KafkaSource(Source):
    """An open topic of Kafka."""

    def __init__(self, address: Address, position: Position, *, follow: bool) -> None:
        self._address, self._follow = address, follow
        own = address.settings(fixed=(*FIXED, "bootstrap.servers"))
        settings = {**USUAL, **own, **FIXED, "bootstrap.servers": ",".join(address.servers)}
        self._failure: KafkaError | None = None
        try:
            self._consumer = Consumer({**settings, "error_cb": self._failed}, logger=SILENT)
        except KafkaException as error:
            raise TopicError(f"{address}: {error.args[0].str()}.") from error
        self._partitions: dict[int, _Partition] = {}
        self._begin: Position = {}
        try:
            for number in self._numbers():
                self._add(number, position)
        except BaseException:
            self._consumer.close()
            raise
        self._looked_at = time.monotonic()

    def _failed(self, error: KafkaError) -> None:
        self._failure = error

    # Partitions

    def _numbers(self) -> list[int]:
        """The numbers of the partitions."""
        try:
            about = self._consumer.list_topics(self._address.name, timeout=SECONDS).topics[self._address.name]
        except KafkaException as error:
            self._consumer.poll(0)  # calls _failed
            why = self._failure or error.args[0]
            raise UnreachableError(f"{self._address}: {why.str()}.") from error
        if about.error is not None:
            kind = TopicError if about.error.code() in HOPELESS else UnreachableError
            raise kind(f"{self._address}: {about.error.str()}.")
        return sorted(about.partitions)

    def _add(self, number: int, position: Position) -> None:
        """Read a partition, too: from the position, or from the address's start."""
        try:
            low, high = self._consumer.get_watermark_offsets(self._named(number), timeout=SECONDS)
        except KafkaException as error:
            raise UnreachableError(f"{self._address}, partition {number}: {error.args[0].str()}.") from error
        part = str(number)
        if part in position:
            first = int(position[part]) + 1
        else:
            first = high if self._address.start == "end" and not position else low
        if first > high:
            raise TopicError(
                f"{self._address}, partition {number}: {first - 1} is the last offset that was read, but the partition ends at {high}: it is "
                "not the topic that was read before. To read this one from its start, give it another name: ?as=NAME."
            )
        if first < low:
            self.note = f"{low - first:,} messages of partition {number} were deleted before they were read: the offsets {first} to {low - 1}."
            first = low
        if first:
            self._begin[part] = str(first - 1)
        self._partitions[number] = _Partition(number, first, high)

    def begin(self) -> Position:
        """The position from which it reads."""
        return dict(self._begin)

    def _named(self, number: int, offset: int = OFFSET_INVALID) -> TopicPartition:
        return TopicPartition(self._address.name, number, offset)

    def _look_again(self) -> None:
        """See whether there are more partitions, which are read from their beginning, and whether the broker is there."""
        self._looked_at = time.monotonic()
        try:
            numbers = self._numbers()
        except UnreachableError as error:
            self.problem = str(error)
            return
        self.problem = self._failure = None
        for number in numbers:
            if number not in self._partitions:
                self._add(number, {"": ""})

    # Messages

    def read(self, most: int, seconds: float) -> list[Message]:
        """The next messages: those that are there, or the first that come in so many seconds."""
        until = time.monotonic() + seconds
        while True:
            if found := self._taken(most):
                return found
            if self.is_at_end and not self._follow:
                return []
            left = until - time.monotonic()
            self._fetch(max(left, 0.0))
            if left <= 0.0:
                return self._taken(most)
            every = TRY_AGAIN if self._failure is not None else LOOK_AGAIN
            if self._follow and time.monotonic() - self._looked_at >= every:
                self._look_again()

    def _taken(self, most: int) -> list[Message]:
        """Messages that were fetched, in order, as far as the order is known."""
        behind = [each for each in self._partitions.values() if each.is_behind]
        if any(not each.waiting for each in behind):
            return []  # one that is not here yet may be the next
        some = behind or (list(self._partitions.values()) if self._follow else [])
        heads = [each.head for each in some if each.waiting]
        heapify(heads)
        found: list[Message] = []
        while heads and len(found) < most:
            partition = self._partitions[heads[0][1]]
            found.append(_message(partition.take()))
            if partition.waiting and partition.is_behind >= bool(behind):
                heapreplace(heads, partition.head)
            elif partition.is_behind:
                break
            else:
                heappop(heads)
        return found

    def _fetch(self, seconds: float) -> None:
        try:
            self._assign()
            first = self._consumer.poll(min(seconds, 0.2))
            fetched = [] if first is None else [first, *self._consumer.consume(AT_ONCE, 0)]
        except KafkaException as error:
            raise UnreachableError(f"{self._address}: {error.args[0].str()}.") from error
        for message in fetched:
            fault = message.error()
            if fault is None:
                self.problem = self._failure = None
                self._partitions[message.partition()].add(message)
            elif fault.code() == KafkaError._PARTITION_EOF:  # noqa: SLF001 - that is its name
                partition = self._partitions[message.partition()]
                # The last offsets may be marks of transactions, which are no messages.
                partition.end = min(partition.end, message.offset())
                partition.fetched = max(partition.fetched, message.offset())
            elif fault.code() in {KafkaError._AUTO_OFFSET_RESET, KafkaError.OFFSET_OUT_OF_RANGE}:  # noqa: SLF001 - the same
                raise UnreachableError(f"{self._address}: messages were deleted before they were read ({fault.str()}).")
            else:
                self._failure = fault
        if self._failure is not None:
            self.problem = f"{self._address}: {self._failure.str()}."

    def _assign(self) -> None:
        """Fetch from all partitions of which not too much waits, and that have more."""
        for each in self._partitions.values():
            is_over = not self._follow and each.fetched >= each.end
            if each.is_assigned and (is_over or each.is_full):
                self._consumer.incremental_unassign([self._named(each.number)])
                each.is_assigned = False
            elif not each.is_assigned and not is_over and 2 * len(each.waiting) < MOST_HELD and not each.is_full:
                self._consumer.incremental_assign([self._named(each.number, each.fetched)])
                each.is_assigned = True

    @property
    def is_at_end(self) -> bool:
        """Whether everything was read that was there when the topic was opened."""
        return not any(each.is_behind for each in self._partitions.values())

    @property
    def lag(self) -> int | None:
        """How many messages are there that were not read yet, as far as the broker has said."""
        lag = 0
        try:
            for each in self._partitions.values():
                _, high = self._consumer.get_watermark_offsets(self._named(each.number), cached=True)
                lag += max(high, each.end) - each.fetched + len(each.waiting)
        except KafkaException:
            return None
        return max(lag, 0)

    def close(self) -> None:
        """Close the connection."""
        self._consumer.close()


def _message(message: KafkaMessage) -> Message:
    value = message.value()
    fault = "the message has no value." if value is None else ""
    return Message(str(message.partition()), str(message.offset()), value, fault)
