"""Which messages of a topic lines are."""

from bisect import bisect_right

from odca.records import record
from odca.topics.messages import Message


@record
class Marks:
    """Consecutive messages of a topic, where each ends in bytes, and where the topic stands after each of them."""

    before: dict[str, str]
    """Where it stands before the first one."""
    ends: tuple[int, ...]
    messages: tuple[Message, ...]
    note: str | None = None
    """What a user should know about the topic, such as messages that are lost."""

    def places(self, length: int) -> dict[str, str]:
        """Where the topic stands after so many bytes."""
        count = bisect_right(self.ends, length)
        return self.before | {each.part: each.place for each in self.messages[:count]}

    def where(self, line: int) -> str:
        """Where the message is that is this line, counted from 0."""
        skipped = bisect_right(self.ends, 0)  # the rest of a message that was too long
        return self.messages[skipped + line].where
