"""Streams of events from files: text, tables, JSON, compressed or not, still growing or not, in bounded memory.

>>> from odca import stream
>>> with stream.open("clicks.csv.gz", label="click") as events:  # doctest: +SKIP
...     for block in events:
...         model.learn(block.rows, block.y)
"""

from odca.features.spec import Features, feature_name
from odca.stream.read.blocks import Block
from odca.stream.read.errors import StreamError
from odca.stream.read.positions import Position
from odca.stream.read.schema import Roles, Schema
from odca.stream.read.stream import Stream, open

__all__ = ["Block", "Features", "Position", "Roles", "Schema", "Stream", "StreamError", "feature_name", "open"]
