"""Streams of events from files: text, tables, JSON, compressed or not, still growing or not, in bounded memory.

>>> from odca import stream
>>> with stream.open("clicks.csv.gz", label="click") as events:  # doctest: +SKIP
...     for block in events:
...         model.learn(block.rows, block.y)
"""

from odca.stream.blocks import Block
from odca.stream.chunks import Position
from odca.stream.errors import StreamError
from odca.stream.features import Features, feature_name
from odca.stream.opening import Stream, open
from odca.stream.schema import Roles, Schema

__all__ = ["Block", "Features", "Position", "Roles", "Schema", "Stream", "StreamError", "feature_name", "open"]
