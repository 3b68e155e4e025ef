"""What was odd in the data, and how they were read all the same."""

from dataclasses import dataclass, field

from odca.stream.read.blocks import Block


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
    misfits: dict[str, Misfit] = field(default_factory=dict)
    """Values that are not what the others of their field are, and count as missing; by the name of the field."""

    def add(self, block: Block) -> None:
        """Count what a block holds."""
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
