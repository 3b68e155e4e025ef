"""How the fields of a stream are read: the use of each field, what it holds in the first events, and what may be wrong with that."""

from collections.abc import Iterator
from typing import Literal, TypeAlias

from odca import _core
from odca.errors import Remedy
from odca.features.spec import Features
from odca.records import record
from odca.stream.read.schema import Schema, native_columns
from odca.stream.read.stream import Stream

Concern: TypeAlias = Literal["id", "text", "constant", "leak", "order"]
ENOUGH = 100
"""Fewer values say little about a field."""
UNIQUE = 0.9
"""A field is nearly unique if this share of its values are different."""
LONG = 20
"""Characters of an example from which nearly unique values look like text if they have blanks."""


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

    @property
    def warning(self) -> tuple[str, Remedy] | None:
        """What may be wrong, and what to do about it."""
        if self.concern is None:
            return None
        what, advice = CONCERNS[self.concern]
        options = {option: [self.name] for option in ("ignore", "text") if "{" + option + "}" in advice}
        return what.format(name=self.name), Remedy(
            advice, **options, **({"day_first": True} if self.concern == "order" else {})
        )


CONCERNS: dict[Concern, tuple[str, str]] = {
    "id": ("{name!r} is different in nearly every event, as an identifier is.", "Leave it out with {ignore}, or is it text ({text})?"),
    "text": ("{name!r} is different in nearly every event and looks like text.", "Split it into words with {text}, or leave it out with {ignore}."),
    "constant": ("{name!r} is the same in all of the first events.", "If it always is, leave it out with {ignore}."),
    "leak": ("{name!r} tells the label of all of the first events.", "If it is not known before the label, leave it out with {ignore}."),
    "order": ("the dates in {name!r} could have the day or the month first; they are read with the month first.", "Otherwise use {day_first}."),
}  # fmt: skip


def profiles(stream: Stream) -> list[FieldProfile]:
    """How each field is read, if the format has fields."""
    schema, tallies = stream.schema, stream.tallies
    label = tallies.get(schema.roles.label or "")
    uses = dict(_uses_of_columns(schema) if schema.columns else _uses_of_keys(schema, stream))
    return [_profile(name, use, tallies.get(name), label, schema.features) for name, use in uses.items()]


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
        _concern(use, tally, label, features) if is_feature else None,
    )


def _concern(use: str, tally: _core.Tally, label: _core.Tally | None, features: Features) -> Concern | None:
    values = tally.count - tally.missing
    by_day, by_month, either = tally.orders
    if use == "date":
        return "order" if either and not by_day and not by_month and features.day_first is None else None
    if values < ENOUGH:
        return None
    if tally.is_constant:
        return "constant"
    if label is not None and tally.tells(label):
        return "leak"
    if use == "category" and tally.distinct >= UNIQUE * values:
        return "text" if " " in tally.example and len(tally.example) >= LONG else "id"
    return "id" if use == "number" and tally.counts_rows else None
