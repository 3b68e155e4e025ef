"""How the fields of a stream are read: the use of each field, what it holds in the first events, and what may be wrong with that."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Literal, TypeAlias

from odca import _core
from odca.errors import Remedy
from odca.features.spec import Features
from odca.records import record
from odca.stream.read.schema import Schema, native_columns
from odca.stream.read.stream import Stream

Concern: TypeAlias = Literal["id", "text", "constant", "leak", "order", "form", "mixed"]
ENOUGH = 100
"""Fewer values say little about a field."""
UNIQUE = 0.9
"""A field is nearly unique if this share of its values are different."""
LONG = 20
"""Characters of an example from which nearly unique values look like text if they have blanks."""


OTHER_FORM = r"""[-+(]?\s?(?:[$€£¥₹]|EUR|USD|GBP|CHF)?\s?                     # $ 1,234.50   (12)   1.234,5 kg   12,5   3.5%   1'234
        (?:\d{1,3}(?:([.,'\s\u2019])\d{3})(?:\1\d{3})*|\d+)(?:[.,]\d+)?
        \s?(?:[%‰°$€£¥₹]|EUR|USD|GBP|CHF|[kcm]?[gm]|[cm]?l|km/h|°[CF])?\)?
      | (?:[A-Za-z]{3,9}\.?,?\s)?[A-Za-z]{3,9}\.?\s\d{1,2},?\s\d{4}(?:\s.*)?   # Jan 5, 2024
      | [A-Za-z]{3,9},?\s\d{1,2}\s[A-Za-z]{3,9}\s\d{4}(?:\s.*)?                # Fri, 05 Jan 2024 10:00:00
      | \d{4}-\d{2} | \d{1,2}:\d{2}(?::\d{2})?                                 # 2024-01   13:05
    """
"""Numbers, dates and times of day as people write them and as they are not read."""


@record
class FieldProfile:
    """A field, how it is used, and what it holds in the first events."""

    name: str
    use: str
    """A kind ("number", "category", "text", "date", "boolean", "any"), a role ("label", "weight", ...) or "ignored"."""
    count: int = 0
    missing: int = 0
    distinct: int = 0
    exceptions: int = 0
    """The number of values of another kind, which count as missing."""
    example: str = ""
    concern: Concern | None = None
    decimal: str = "."
    """What numbers are written with."""


CONCERNS: dict[Concern, tuple[str, str]] = {
    "id": ("{name!r} is different in nearly every event, as an identifier is.", "Leave it out with {ignore}, or is it text ({text})?"),
    "text": ("{name!r} is different in nearly every event and looks like text.", "Split it into words with {text}, or leave it out with {ignore}."),
    "constant": ("{name!r} is the same in all of the first events.", "If it always is, leave it out with {ignore}."),
    "leak": ("{name!r} tells the label of all of the first events.", "If it is not known before the label, leave it out with {ignore}."),
    "order": ("the dates in {name!r} could have the day or the month first; they are read with the month first.", "Otherwise use {day_first}."),
    "form": ("{name!r} looks like numbers or dates, but in a form that is not read, so its values are categories.", "Write numbers without separators, signs and units (tr -d '%$' removes signs), dates as 2024-07-31; if the comma is a decimal point, use {decimal}; if it is a category, use {categorical}."),
    "mixed": ("{name!r} has numbers, and too many other values, so all of them are categories.", "If the others stand for missing values, name them ({na_values}); if it is a category, use {categorical}."),
}  # fmt: skip
MANY_CONCERNS: dict[Concern, tuple[str, str]] = {
    "id": ("{names} are different in nearly every event, as identifiers are.", "Leave them out with {ignore}, or are they text ({text})?"),
    "text": ("{names} are different in nearly every event and look like text.", "Split them into words with {text}, or leave them out with {ignore}."),
    "constant": ("{names} are the same in all of the first events.", "If they always are, leave them out with {ignore}."),
    "leak": ("{names} each tell the label of all of the first events.", "If they are not known before the label, leave them out with {ignore}."),
    "order": ("the dates in {names} could have the day or the month first; they are read with the month first.", "Otherwise use {day_first}."),
    "form": ("{names} look like numbers or dates, but in a form that is not read, so their values are categories.", "Write numbers without separators, signs and units (tr -d '%$' removes signs), dates as 2024-07-31; if the comma is a decimal point, use {decimal}; if they are categories, use {categorical}."),
    "mixed": ("{names} have numbers, and too many other values, so all of them are categories.", "If the others stand for missing values, name them ({na_values}); if they are categories, use {categorical}."),
}  # fmt: skip
FEW = 2
"""So many fields with the same concern have a warning each; more have one together."""
MOST_NAMES = 10


def warnings_about(fields: Sequence[FieldProfile]) -> Iterator[tuple[str, Remedy]]:
    """What may be wrong with the fields, and what to do about it."""
    for concern, words in CONCERNS.items():
        names = [each.name for each in fields if each.concern == concern]
        if len(names) > FEW:
            yield _warning(concern, MANY_CONCERNS[concern], names)
        else:
            yield from (_warning(concern, words, [name]) for name in names)


def _warning(concern: Concern, words: tuple[str, str], names: list[str]) -> tuple[str, Remedy]:
    what, advice = words
    value = names if len(names) <= MOST_NAMES else None  # nobody reads more
    of_fields = ("ignore", "text", "categorical")
    options: dict[str, object] = {option: value for option in of_fields if "{" + option + "}" in advice}
    if concern == "mixed":
        options["na_values"] = None
    if concern == "form":
        options["decimal"] = ","
    if concern == "order":
        options["day_first"] = True
    shown = [repr(name) for name in names[:MOST_NAMES]]
    if len(names) > MOST_NAMES:
        shown.append(f"{len(names) - MOST_NAMES:,} more")
    listed = " and ".join(part for part in (", ".join(shown[:-1]), shown[-1]) if part)
    return what.format(name=names[0], names=listed), Remedy(advice, **options)


def profiles(stream: Stream) -> list[FieldProfile]:
    """How each field is read, if the format has fields."""
    schema, tallies = stream.schema, stream.tallies
    label = tallies.get(schema.roles.label or "")
    uses = dict(_uses_of_columns(schema) if schema.columns else _uses_of_keys(schema, stream))
    found = [_profile(name, use, tallies.get(name), label, schema.features) for name, use in uses.items()]
    return [replace(each, decimal=schema.decimal) for each in found]


def _uses_of_columns(schema: Schema) -> Iterator[tuple[str, str]]:
    for name, role, kind, _ in native_columns(schema):
        yield name, kind if role == "feature" else role


def _uses_of_keys(schema: Schema, stream: Stream) -> Iterator[tuple[str, str]]:
    roles, features = schema.roles.by_name(), schema.features
    kinds, ignored, kept = features.kinds(), {*features.ignore}, {*features.keep}
    for name, tally in stream.tallies.items():
        paths = [name[:end] for end in range(1, len(name) + 1) if end == len(name) or name[end] == "."]
        said = next((kinds[path] for path in reversed(paths) if path in kinds), None)
        if name in roles:
            yield name, roles[name]
        elif ignored.intersection(paths) or (kept and not kept.intersection(paths)):
            yield name, "ignored"
        else:
            yield name, said or tally.kind(name)


def _profile(
    name: str, use: str, tally: _core.Tally | None, label: _core.Tally | None, features: Features
) -> FieldProfile:
    if tally is None:
        return FieldProfile(name, use)
    is_feature = use not in {"label", "weight", "offset", "time", "group", "tag", "ignored"}
    return FieldProfile(
        name,
        use,
        tally.count,
        tally.missing,
        tally.distinct,
        tally.exceptions(use) if is_feature else 0,
        tally.example,
        _concern(name, use, tally, label, features) if is_feature else None,
    )


def _concern(name: str, use: str, tally: _core.Tally, label: _core.Tally | None, features: Features) -> Concern | None:
    values = tally.count - tally.missing
    by_day, by_month, either = tally.orders
    if use == "date":
        return "order" if either and not by_day and not by_month and features.day_first is None else None
    if values < ENOUGH:
        return None
    if tally.is_constant:
        return "constant"
    is_guessed = use == "category" and name not in features.kinds()
    if is_guessed and (concern := _doubt_about_category(tally)) is not None:
        return concern
    if label is not None and tally.tells(label):
        return "leak"
    return _doubt_about_unique(use, tally)


def _doubt_about_category(tally: _core.Tally) -> Concern | None:
    """Whether a field whose values are categories may be meant otherwise."""
    other, values = tally.first_exception("number"), tally.count - tally.missing
    if re.fullmatch(OTHER_FORM, other, re.VERBOSE) and not other.isdecimal():
        return "form"
    return "mixed" if 2 * tally.exceptions("number") <= values else None


def _doubt_about_unique(use: str, tally: _core.Tally) -> Concern | None:
    """Whether a field that has another value in nearly every event may be an identifier, or text."""
    if use == "number":
        return "id" if tally.counts_rows else None
    if use != "category" or tally.distinct < UNIQUE * (tally.count - tally.missing):
        return None
    return "text" if " " in tally.example and len(tally.example) >= LONG else "id"
