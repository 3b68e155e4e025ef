"""History in slow, literal Python: every value is kept, and every feature is computed from the list of all that was known."""

import math
import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from odca.features.history import LABEL, LONGEST, HistoryFeature, HistoryLine, lines_of

Known = list[tuple[float, float]]
"""The values of a series with their times, in the order in which they came."""


class SlowHistory:
    """The lines of a history, and for each the series of its keys, the one that changed last at the end."""

    def __init__(self, texts: Sequence[str], most_keys: int = 100_000) -> None:
        self.lines = lines_of(texts)
        self.most_keys = most_keys
        self.series: list[dict[tuple[str, ...], Known]] = [{} for _ in self.lines]

    def values(self, event: Mapping[str, Any], time: float = 0.0) -> list[float]:
        """The values of all features before the event enters; nan for those that are missing."""
        out = []
        for line, series in zip(self.lines, self.series, strict=True):
            key = _key(line, event)
            known = [] if key is None else series.get(key, [])
            own = event.get(line.source)
            out += [feature_of(known, each, line, math.nan if own is None else own, time) for each in line.features]
        return out

    def learn(self, event: Mapping[str, Any], y: float | None, time: float = 0.0) -> None:
        """The event enters."""
        for line, series in zip(self.lines, self.series, strict=True):
            value = y if line.source == LABEL else event.get(line.source)
            key = _key(line, event)
            if value is None or key is None:
                continue
            known = series.pop(key, None)
            if known is None and len(series) >= self.most_keys:
                del series[next(iter(series))]
            known = known or []
            series[key] = [*known, (value, max(time, known[-1][1]) if known else time)][-LONGEST:]


def _key(line: HistoryLine, event: Mapping[str, Any]) -> tuple[str, ...] | None:
    parts = [event.get(name) for name in line.keys]
    return None if None in parts else tuple(map(str, parts))


def feature_of(known: Known, feature: HistoryFeature, line: HistoryLine, own: float, now: float) -> float:
    """The value of a feature from all that is known of its series."""
    if not known:
        return math.nan
    now = max(now, known[-1][1])
    values, size = [value for value, _ in known], int(feature.size)
    latest = values[-1] if line.source == LABEL else own

    def earlier(number: int, moment: float) -> float:
        if feature.timed:
            old = [value for value, time in known if time <= moment - feature.size]
            return old[-1] if old else math.nan
        return values[-number] if number <= len(values) else math.nan

    match feature.statistic:
        case "lag":
            return earlier(size, now)
        case "change" if line.source == LABEL:
            return latest - earlier(size + 1, known[-1][1])
        case "change":
            return latest - earlier(size, now)
        case "since":
            return now - known[-1][1]
    window = [value for value, time in known if time >= now - feature.size] if feature.timed else values[-size:]
    if not window:
        return math.nan
    if feature.statistic == "std":
        return statistics.stdev(window) if len(window) > 1 else math.nan
    return {"mean": statistics.fmean, "min": min, "max": max}[feature.statistic](window)
