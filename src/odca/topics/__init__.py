"""Topics of message brokers: streams of events that a model follows.

A topic is named by an address, `kafka://host:9092/visits` or `redis://host:6379/visits`. Its messages are read in batches, from a position
that the reader stores with what it has learned: what the broker remembers of its readers plays no part. So a message is learned exactly
once, whatever happens to the reader, the broker, or the connection.
"""

from odca.topics.address import Address, is_address
from odca.topics.following import Following
from odca.topics.messages import Message, Position, TopicError, UnreachableError

__all__ = ["Address", "Following", "Message", "Position", "TopicError", "UnreachableError", "is_address"]
