"""Stops a call as Ctrl-C would."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager


class Interrupt(Exception):  # noqa: N818 - like KeyboardInterrupt, it is no error
    """What our handler raises. A KeyboardInterrupt that came too late would end pytest; this ends one test."""


@contextmanager
def interrupted_after(seconds: float) -> Iterator[None]:
    def stop(number: int, frame: object) -> None:
        raise Interrupt

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)
