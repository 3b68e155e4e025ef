"""A bar on a terminal or in a notebook that says how far a long call is."""

import sys
import time
from types import TracebackType
from typing import Any, Self

SECONDS_PER_FRAME = 0.2
ERASE_LINE = "\r\x1b[K"
CELLS = 30
FULL, EMPTY = "━", "─"


class ProgressLine:
    """Drawn on stderr or in the notebook, at most five times a second, and erased in the end."""

    def __init__(self, total: int | None, *, shown: bool | None = None) -> None:
        """`total` in bytes or rows, if it is known. `shown` None: on terminals and in notebooks."""
        self._total = total
        self._notebook = None if shown is False else _notebook()
        self._shown = sys.stderr.isatty() or self._notebook is not None if shown is None else shown
        self._drawn = time.monotonic()
        self._visible = False

    def update(self, events: int, done: int) -> None:
        """Show how many events were learned, and how much of the total is done."""
        now = time.monotonic()
        if not self._shown or now - self._drawn < SECONDS_PER_FRAME:
            return
        self._drawn, self._visible = now, True
        share = done / self._total if self._total and 0 <= done <= self._total else None
        if self._notebook is None:
            self._write(f"\r{_bar(share)}{events:,} events\x1b[K")
        else:
            self._notebook.draw(_html(share, events))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._visible and self._notebook is not None:
            self._notebook.draw("")
        elif self._visible:
            self._write(ERASE_LINE)

    @staticmethod
    def _write(text: str) -> None:
        sys.stderr.write(text)
        sys.stderr.flush()


def _bar(share: float | None) -> str:
    if share is None:
        return ""
    full = int(share * CELLS)
    return f"{FULL * full}{EMPTY * (CELLS - full)} {int(100 * share)} %  "


def _html(share: float | None, events: int) -> str:
    bar = "" if share is None else f'<progress max="1" value="{share:.3f}"></progress> {int(100 * share)} % &nbsp;'
    return f"<div>{bar}{events:,} events</div>"


class _Notebook:
    """An output of the present cell, which is replaced by each drawing."""

    def __init__(self, display: Any) -> None:
        self._display = display
        self._handle: Any = None

    def draw(self, html: str) -> None:
        """Show this instead of what was shown before."""
        shown = {"text/html": html, "text/plain": ""}
        if self._handle is None:
            self._handle = self._display(shown, raw=True, display_id=True)
        else:
            self._handle.update(shown, raw=True)


def _notebook() -> _Notebook | None:
    """The notebook in which this process runs cells; None if it does not."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    if shell is None or not hasattr(shell, "kernel"):  # a terminal, or no IPython at all
        return None
    from IPython.display import display  # noqa: PLC0415 - it is loaded already

    return _Notebook(display)
