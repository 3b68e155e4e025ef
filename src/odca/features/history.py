"""The past as features: what a line such as "sales by shop: lag 1,7; mean 24h" means. See docs/history.md."""

import math
import re
from collections.abc import Iterable
from dataclasses import replace
from typing import TypeAlias

from odca.errors import did_you_mean
from odca.records import record

LABEL = "y"
"""The label in a line of history, whatever its column is called."""
LONGEST = 10_000
"""The most events that a feature can look back, and that a span of time can hold."""
UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0, "w": 604_800.0}
STATISTICS = ("lag", "mean", "std", "min", "max", "change", "since")
EXAMPLE = "'y by station: lag 1,24; mean 24h'"
_SIZE = re.compile(r"(\d+(?:\.\d+)?)([a-z]?)")

NativeLine: TypeAlias = tuple[str, list[str], list[tuple[str, bool, float, str]]]
"""A line for the core: its source (empty for the label), its keys, and its features: statistic, whether its size is a time, size, name."""


@record
class HistoryFeature:
    """A feature of a line: a statistic over so many events, or so many seconds. `written` is how the user has written both."""

    statistic: str
    written: str
    size: float
    timed: bool


@record
class HistoryLine:
    """What is remembered (a field, or the label), for which keys, and the features that are made of it."""

    source: str
    keys: tuple[str, ...]
    features: tuple[HistoryFeature, ...]

    @property
    def head(self) -> str:
        """The part before the colon."""
        return f"{self.source} by {', '.join(self.keys)}" if self.keys else self.source

    def name(self, feature: HistoryFeature) -> str:
        """The name of a feature.

        >>> line = parsed("y by shop: lag 1,7")
        >>> line.name(line.features[1])
        'y by shop: lag 7'
        """
        return f"{self.head}: {feature.statistic} {feature.written}".rstrip()

    @property
    def text(self) -> str:
        """The line as it can be written.

        >>> parsed("y by shop: lag 1,7").text
        'y by shop: lag 1; lag 7'
        """
        return f"{self.head}: {'; '.join(f'{each.statistic} {each.written}'.rstrip() for each in self.features)}"

    @property
    def names(self) -> list[str]:
        """The names of all its features."""
        return [self.name(each) for each in self.features]

    def native(self) -> NativeLine:
        """The line for the core."""
        source = "" if self.source == LABEL else self.source
        features = [(each.statistic, each.timed, each.size, self.name(each)) for each in self.features]
        return source, list(self.keys), features


def parsed(text: str) -> HistoryLine:
    """The line that a text says. ValueError, which says what is wrong and where, if it says none.

    >>> parsed("y by shop: lag 1; mean 24h").features[1]
    HistoryFeature(statistic='mean', written='24h', size=86400.0, timed=True)
    """
    head, colon, tail = text.rpartition(":")
    if not colon:
        raise ValueError(
            f"history {text!r} has no colon. Write what is remembered, a colon, and what of it: {EXAMPLE}."
        )
    source, by, keys = head.partition(" by ")
    named = tuple(each.strip() for each in keys.split(",")) if by else ()
    if not source.strip() or not all(named):
        raise ValueError(
            f"history {text!r} lacks the name of a field before the colon. Write a field, or y for the label, and after "
            f"'by' the fields that tell series apart: {EXAMPLE}."
        )
    if len(set(named)) < len(named):
        raise ValueError(f"history {text!r} names a field twice after 'by'. Name it once.")
    features = [feature for part in tail.split(";") if part.strip() for feature in _features(part.strip(), text)]
    if not features:
        raise ValueError(f"history {text!r} says nothing after the colon. Write what is wanted: {EXAMPLE}.")
    return HistoryLine(source.strip(), named, tuple(dict.fromkeys(features)))


def _features(part: str, text: str) -> Iterable[HistoryFeature]:
    statistic, _, sizes = part.partition(" ")
    if statistic not in STATISTICS:
        raise ValueError(
            f"history {text!r}: {statistic!r} is none of {', '.join(STATISTICS)}. "
            + (did_you_mean(statistic, STATISTICS) or "Separate them by semicolons, and their sizes by commas.")
        )
    if statistic == "since":
        if sizes.strip():
            raise ValueError(f"history {text!r}: since has no size; got {sizes.strip()!r}. Write 'since' alone.")
        return [HistoryFeature(statistic, "", 0.0, timed=False)]
    if not sizes.strip():
        raise ValueError(
            f"history {text!r}: {statistic!r} lacks a size. Write a number of events or a time behind it: '{statistic} 24' or "
            f"'{statistic} 24h'."
        )
    return [_feature(statistic, each.strip(), text) for each in sizes.split(",")]


def _feature(statistic: str, size: str, text: str) -> HistoryFeature:
    found = _SIZE.fullmatch(size)
    unit = found[2] if found else ""
    if not found or (unit and unit not in UNITS) or (not unit and "." in size):
        raise ValueError(
            f"history {text!r}: the size of {statistic!r} must be a number of events, such as 24, or a time in "
            f"{', '.join(UNITS)}, such as 24h; got {size!r}."
        )
    number = float(found[1]) * UNITS.get(unit, 1.0)
    if not unit and not 1 <= number <= LONGEST:
        raise ValueError(
            f"history {text!r}: {statistic!r} can look back from 1 to {LONGEST:,} events; got {size}."
            + (" Use a mean over a time for more." if number > LONGEST else "")
        )
    if unit and not 0.0 < number < 1e12:
        raise ValueError(
            f"history {text!r}: the time of {statistic!r} must be longer than 0s and below 30,000 years; got {size}."
        )
    assert math.isfinite(number)
    return HistoryFeature(statistic, size, number, timed=bool(unit))


def lines_of(texts: Iterable[str]) -> list[HistoryLine]:
    """The lines of several texts. Lines that remember the same for the same keys are one."""
    lines: dict[str, HistoryLine] = {}
    for text in texts:
        line = parsed(text)
        features = line.features if line.head not in lines else (*lines[line.head].features, *line.features)
        lines[line.head] = HistoryLine(line.source, line.keys, tuple(dict.fromkeys(features)))
    return list(lines.values())


def with_label(texts: Iterable[str], label: str | None) -> tuple[str, ...]:
    """The same lines, with y for the label where they name its field.

    >>> with_label(["sold by shop: lag 1", "price: lag 1"], "sold")
    ('y by shop: lag 1', 'price: lag 1')
    """
    lines = [(text, parsed(text)) for text in texts]
    return tuple(replace(line, source=LABEL).text if line.source == label else text for text, line in lines)
