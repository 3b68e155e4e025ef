"""What was odd in the data, and how they were read all the same."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from odca.errors import InputError, Remedy
from odca.stream.read.blocks import Block
from odca.stream.read.errors import shown

MOST_MISFITS = 10
"""Fields with misfits that are reported one by one."""


@dataclass(slots=True)
class Misfit:
    """How many values of a field are of another kind; and the file, the line and the text of the first of them."""

    count: int
    path: str
    line: int
    text: str


@dataclass(slots=True)
class Findings:
    """What the blocks of a stream were found to hold."""

    stray_quotes: int = 0
    """Fields of CSV whose quote is not closed in their line, or is closed before they end."""
    first_stray_quote: tuple[str, int] | None = None
    """The file and the line of the first of them."""
    notes: dict[str, str] = field(default_factory=dict)
    """What was said of topics; by their addresses."""
    misfits: dict[str, Misfit] = field(default_factory=dict)
    """Values that are not what the others of their field are, and count as missing; by the name of the field."""

    def add(self, block: Block) -> None:
        """Count what a block holds."""
        if block.note:
            self.notes[block.path] = block.note
        if block.rows.stray_quotes:
            self.stray_quotes += block.rows.stray_quotes
            if self.first_stray_quote is None:
                self.first_stray_quote = block.path, block.file_line(block.rows.first_stray_quote)
        for name, count, line, text in block.rows.misfits:
            key = name.decode(errors="replace")
            if key in self.misfits:
                self.misfits[key].count += count
            else:
                self.misfits[key] = Misfit(count, block.path, block.file_line(line), text.decode(errors="replace"))

    def remarks(self) -> Iterator[InputError]:
        """What a user should know about it."""
        for path, note in self.notes.items():
            yield InputError(f"{shown(path)}: {note}")
        if self.first_stray_quote is not None:
            path, line = self.first_stray_quote
            yield InputError(
                f"{self.stray_quotes:,} {'field begins' if self.stray_quotes == 1 else 'fields begin'} with a quote that is not closed in "
                f"the same field, first in {shown(path)}, line {line}. A field whose quote is never closed ends with its line.",
                remedy=Remedy("If quotes are characters like others in these data, use {quote}.", quote="none"),
            )
        for name, misfit in list(self.misfits.items())[:MOST_MISFITS]:
            values = "1 value" if misfit.count == 1 else f"{misfit.count:,} values"
            verbs = ("is", "counts") if misfit.count == 1 else ("are", "count")
            yield InputError(
                f"{values} of {name!r} {verbs[0]} not of the kind of the others and {verbs[1]} as missing, first {misfit.text!r} in "
                f"{shown(misfit.path)}, line {misfit.line}.",
                remedy=Remedy(f"If {name!r} is a category, use {{categorical}}.", categorical=[name]),
            )
        if len(self.misfits) > MOST_MISFITS:
            yield InputError(f"{len(self.misfits) - MOST_MISFITS:,} more fields have such values.")
