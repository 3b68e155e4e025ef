"""A line on a terminal that says how far a long call is."""

import sys
import time
from types import TracebackType
from typing import Self

SECONDS_PER_FRAME = 0.2
ERASE_LINE = "\r\x1b[K"


class ProgressLine:
    """Drawn on stderr, at most five times a second, and erased in the end."""

    def __init__(self, total: int | None, *, shown: bool | None = None) -> None:
        """`total` in bytes, if it is known. `shown` None: on terminals."""
        self._total = total
        self._shown = sys.stderr.isatty() if shown is None else shown
        self._drawn = time.monotonic()
        self._visible = False

    def update(self, events: int, done: int) -> None:
        """Show how many events were learned, and how much of the total is done."""
        now = time.monotonic()
        if not self._shown or now - self._drawn < SECONDS_PER_FRAME:
            return
        self._drawn, self._visible = now, True
        share = f"  {100 * done // self._total} %" if self._total and done <= self._total else ""
        self._write(f"\r{events:,} events{share}\x1b[K")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._visible:
            self._write(ERASE_LINE)

    @staticmethod
    def _write(text: str) -> None:
        sys.stderr.write(text)
        sys.stderr.flush()
