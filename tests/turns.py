"""Turns between the processes of one test run: a test that measures time has the machine to itself."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path


class Turns:
    """Two locked files that all workers of a run share: tests take `_turn` together, or one of them takes it alone.

    Everybody enters through `_door`, and a test that waits to be alone keeps it shut. So it waits for the tests that
    are running, and not for those that start meanwhile.
    """

    def __init__(self, folder: Path) -> None:
        self._door, self._turn = _open(folder / "door"), _open(folder / "turn")

    @contextmanager
    def take(self, *, alone: bool) -> Iterator[None]:
        with ExitStack() as held:
            with _locked(self._door, fcntl.LOCK_EX):
                held.enter_context(_locked(self._turn, fcntl.LOCK_EX if alone else fcntl.LOCK_SH))
            yield


def _open(path: Path) -> int:
    """A descriptor of its own for this worker; not inherited by the processes that tests start."""
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)


@contextmanager
def _locked(descriptor: int, kind: int) -> Iterator[None]:
    fcntl.flock(descriptor, kind)
    try:
        yield
    finally:
        fcntl.flock(descriptor, fcntl.LOCK_UN)
