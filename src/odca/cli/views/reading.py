"""How the data were read, as a table: the use of each field, and what it holds in the first events."""

from collections import Counter
from typing import TYPE_CHECKING, Any

from odca.cli.flag_spelling import as_flag
from odca.cli.views import formatting
from odca.cli.views.console import Output, PrintedColumn

if TYPE_CHECKING:
    from collections.abc import Sequence

    from odca.stream.read.profile import FieldProfile

MOST_FIELDS = 20
"""Of wide tables only the first fields are shown."""
COLUMNS = (
    PrintedColumn("field", "field", 20, is_text=True),
    PrintedColumn("use", "read as", 28, is_text=True),
    PrintedColumn("missing", "missing", 8, formatting.percent),
    PrintedColumn("example", "example", 24, is_text=True),
)


def show_reading(output: Output, fields: "Sequence[FieldProfile]", *, quiet: bool) -> None:
    """Print the table and the warnings; only the warnings if it is to be `quiet`."""
    from odca.stream.read.profile import warnings_about  # noqa: PLC0415 - after parsing

    if fields and not quiet:
        if output.is_json:
            output.event("reading", {"fields": [_as_object(each) for each in fields]})
        else:
            _show_table(output, fields)
    for what, remedy in warnings_about(fields):
        output.warn(f"{what} {remedy.spelled(as_flag)}")


def _show_table(output: Output, fields: "Sequence[FieldProfile]") -> None:
    table = output.table(COLUMNS, "field")
    for each in fields[:MOST_FIELDS]:
        table.row(each.name, _use(each), _share_missing(each), each.example)
    if len(fields) > MOST_FIELDS:
        uses = Counter(each.use for each in fields[MOST_FIELDS:])
        output.note("... and " + ", ".join(f"{count:,} {use}" for use, count in uses.most_common()) + ".")
    output.gap()


def _use(field: "FieldProfile") -> str:
    text = "nothing yet" if field.use == "any" else field.use
    if field.use == "category":
        text += f", {formatting.plural(field.distinct, 'value')}"
    if field.use == "number" and field.decimal == ",":
        text += ", decimal comma"
    return f"{text}, {field.exceptions:,} other" if field.exceptions else text


def _share_missing(field: "FieldProfile") -> float | None:
    return field.missing / field.count if field.count else None


def _as_object(field: "FieldProfile") -> dict[str, Any]:
    numbers = {
        "count": field.count,
        "missing": field.missing,
        "distinct": field.distinct,
        "exceptions": field.exceptions,
    }
    return {"name": field.name, "use": field.use, **numbers, "example": field.example, "concern": field.concern}
