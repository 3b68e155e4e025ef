"""What was odd in the data, and how they were read all the same."""

from dataclasses import dataclass

from odca.stream.read.blocks import Block


@dataclass(slots=True)
class Findings:
    """What the blocks of a stream were found to hold."""

    stray_quotes: int = 0
    """Fields of CSV whose quote is not closed in their line, or is closed before they end."""
    first_stray_quote: tuple[str, int] | None = None
    """The file and the line of the first of them."""

    def add(self, block: Block) -> None:
        """Count what a block holds."""
        if block.rows.stray_quotes:
            self.stray_quotes += block.rows.stray_quotes
            if self.first_stray_quote is None:
                self.first_stray_quote = block.path, block.file_line(block.rows.first_stray_quote)
