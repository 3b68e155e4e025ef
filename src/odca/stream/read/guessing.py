"""What columns hold, from a sample of their values: one rule for CSV, JSON, and the strings and numbers of tables in memory.

The core counts the values (`_core.Tally`, tally.hpp). What no single column tells is decided here: the order of day and month.
"""

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import cast

from odca import _core
from odca.features.spec import Features, Kind
from odca.records import record

FITTING: tuple[Kind, ...] = ("number", "date", "boolean")
"""Kinds that not every value can be of."""


@record
class Guess:
    """What a sample tells: the kinds of all columns, and what becomes of their features."""

    kinds: dict[str, Kind]
    features: Features
    guessed: tuple[str, ...]
    """The columns whose kind nobody has said. A value of another kind counts as missing there."""


def guess(
    tallies: Mapping[str, _core.Tally], said: Mapping[str, Kind], features: Features, *, split_dates: bool
) -> Guess:
    """What these columns hold; what was `said` of one comes before its values."""
    kinds = {name: said.get(name) or _kind(name, tally, split_dates) for name, tally in tallies.items()}
    dates = [name for name, kind in kinds.items() if kind == "date"]
    guessed = tuple(name for name, kind in kinds.items() if name not in said and kind in FITTING)
    return Guess(kinds, dated(features, {name: tallies[name] for name in dates}), guessed)


def _kind(name: str, tally: _core.Tally, split_dates: bool) -> Kind:
    return whole_date(cast("Kind", tally.kind(name)), split_dates)


def whole_date(kind: Kind, split_dates: bool) -> Kind:
    """The kind of a column by itself: dates are categories, as they are written, unless they are to be split."""
    return "category" if kind == "date" and not split_dates else kind


def dated(features: Features, dates: Mapping[str, _core.Tally]) -> Features:
    """With the order of day and month that these columns show."""
    orders = [tally.orders for tally in dates.values()]
    by_day, by_month = (sum(each[place] for each in orders) for place in (0, 1))
    if features.day_first is not None or by_day == by_month:
        return features
    return replace(features, day_first=by_day > by_month)


def key_tallies(
    sample: bytes, features: Features, aside: Collection[str]
) -> tuple[dict[str, _core.Tally], dict[str, _core.Tally]]:
    """The tallies of all keys of JSON lines; and of those that hold dates, of which nothing was said, also not of a key above."""
    tallies = dict(_core.tally_json(sample, features.native()))
    said = {*features.kinds(), *features.ignore, *aside}
    dates = {
        path: tally
        for path, tally in tallies.items()
        if not said.intersection(_paths_to(path)) and tally.kind(path) == "date"
    }
    return tallies, dates


def _paths_to(path: str) -> list[str]:
    """The path and those above it.

    >>> _paths_to("user.born.at")
    ['user', 'user.born', 'user.born.at']
    """
    keys = path.split(".")
    return [".".join(keys[: k + 1]) for k in range(len(keys))]
