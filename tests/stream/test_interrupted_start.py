"""A thread that cannot be started."""

import _thread
from pathlib import Path

import pytest

from odca import stream


def refuse(*_: object) -> int:
    raise RuntimeError("can't start new thread")


def test_a_thread_that_cannot_be_started_is_a_lack_of_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "events.vw"
    path.write_text("1 |n a:1\n")
    monkeypatch.setattr(_thread, "start_new_thread", refuse)
    with stream.open(path) as events, pytest.raises(MemoryError, match="no more threads"):
        list(events)
