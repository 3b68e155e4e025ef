"""Ctrl-C and SIGTERM. They end a command at once, unless it has said that it will finish by itself.

The signals are handled from the first moment of the program, before anything slow is imported: until the command has said how it
ends, one that arrives is only noted. A second one ends every command at once.
"""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Interrupts:
    """The signals that have arrived. There is one object, as a process has one set of handlers."""

    def __init__(self) -> None:
        self.arrived = 0
        """How many have arrived since the command was started."""
        self._raising = False
        self._finish: Callable[[], None] | None = None

    @contextmanager
    def handled(self, *, at_exit: signal.Handlers | None = None) -> Iterator[None]:
        """Handle the signals; afterwards they do what they did before, or what `at_exit` says."""
        if threading.current_thread() is not threading.main_thread():  # only that one can
            yield
            return
        self.arrived = 0
        before = {each: signal.signal(each, self._handle) for each in SIGNALS}
        try:
            yield
        finally:
            for each, handler in before.items():
                signal.signal(each, handler if at_exit is None else at_exit)

    @contextmanager
    def raised(self) -> Iterator[None]:
        """Raise KeyboardInterrupt when a signal arrives, or has arrived already."""
        self._raising = True
        try:
            if self.arrived:
                raise KeyboardInterrupt
            yield
        finally:
            self._raising = False

    @contextmanager
    def answered(self, finish: Callable[[], None]) -> Iterator[None]:
        """Call `finish` when a signal arrives, or if it has arrived already. It must not take locks."""
        self._finish = finish
        try:
            if self.arrived:
                finish()
            yield
        finally:
            self._finish = None

    def _handle(self, _signal: int, _frame: FrameType | None) -> None:
        self.arrived += 1
        if self._raising or self.arrived > 1:
            raise KeyboardInterrupt
        if self._finish is not None:
            self._finish()


INTERRUPTS = Interrupts()
