"""Which days the dates of the learned events lie in, by field: what the trend of a date is known for."""

from typing import Any, TypeAlias

from odca import _core
from odca.records import record

Span: TypeAlias = tuple[str, float | None, float, float, int, int]
"""A field, its reference, its first and its last date (in seconds since 1970), and how many events have a date, or lack one."""


@record
class DateSpans:
    """How many events were learned, and the days of each field with dates. cpp/odca/features/date_spans.hpp says what they are for."""

    events: int = 0
    spans: tuple[Span, ...] = ()

    @classmethod
    def references(cls, block: _core.TextBlock) -> "DateSpans":
        """Those of a model that has learned nothing: the references are the first dates of a block."""
        _, spans = block.dates
        return cls(0, tuple((field, first, first or 0.0, first or 0.0, 0, 0) for field, first, *_ in spans))

    def with_learned(self, block: _core.TextBlock) -> "DateSpans":
        """With the dates of a block that was learned. Fields that are new have no reference: the blocks after it were read without one."""
        events, spans = block.dates
        return self.joined(DateSpans(events, tuple((span[0], None, *span[2:]) for span in spans)))

    def joined(self, other: "DateSpans") -> "DateSpans":
        """With the dates of another model."""
        return DateSpans.from_options(_core.joined_dates(self.native(), other.native()))

    def native(self) -> tuple[int, list[Span]]:
        """For the core, and for a model file."""
        return self.events, list(self.spans)

    @classmethod
    def from_options(cls, saved: Any) -> "DateSpans":
        """The reverse. ValueError (or the like) for what `native` cannot have made."""
        events, spans = saved
        made = cls(events, tuple(tuple(span) for span in spans))
        _core.joined_dates(made.native(), (0, []))  # which checks them
        return made
