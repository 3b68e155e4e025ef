"""Labels that come later: the line that brings one, and the event with it."""

from typing import Any

import msgspec

from odca.serve.problems import Problem
from odca.serve.remembered import digest_of
from odca.serve.spec import Spec


class LabelLine(msgspec.Struct, frozen=True):
    """A label for the event with an id, and its weight, as text of JSON."""

    id: str
    fields: tuple[tuple[str, bytes], ...]
    digest: bytes

    @classmethod
    def of(cls, line: bytes, place: int, spec: Spec) -> "LabelLine":
        """From a line like {"id": "a7", "label": 1}. Problem if it is anything else."""
        try:
            found: Any = msgspec.json.decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise _refusal(place, f"this is not JSON: {error}.") from error
        if not isinstance(found, dict):
            raise _refusal(place, "an object in braces is needed.")
        own = found.pop(spec.id, None)
        if isinstance(own, bool) or not isinstance(own, str | int) or own == "":
            raise _refusal(place, f"the id of the event is missing: a text or a whole number under {spec.id!r}.")
        allowed = [name for name in (spec.label, spec.weight) if name is not None]
        unknown = [name for name in found if name not in allowed]
        if unknown:
            raise _refusal(
                place, f"{unknown[0]!r} does not belong to a label; there may be {spec.id}, {', '.join(allowed)}."
            )
        if found.get(spec.label) is None or isinstance(found[spec.label], dict | list):
            raise _refusal(place, f"there is no label under {spec.label!r}.")
        fields = tuple((name, msgspec.json.encode(found[name])) for name in allowed if name in found)
        return cls(str(own), fields, digest_of(b"label", *(part for _, part in fields)))


def spliced(line: bytes, label: LabelLine) -> bytes:
    """The line of an event with its label: an object in braces, whose label and weight, if it has any, give way."""
    event = msgspec.json.decode(line, type=dict[str, msgspec.Raw])
    event |= {name: msgspec.Raw(text) for name, text in label.fields}
    return msgspec.json.encode(event)


def _refusal(place: int, detail: str) -> Problem:
    return Problem("invalid-event", f"line {place}: {detail}", line=place)
