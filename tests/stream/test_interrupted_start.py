"""Ctrl-C while a thread begins."""

import pytest

from odca.stream.read.parallel import _starting_threads


def test_a_lock_that_python_lost_to_ctrl_c_is_ctrl_c() -> None:
    def interrupted() -> None:
        try:
            raise KeyboardInterrupt
        finally:
            raise RuntimeError("release unlocked lock")

    with pytest.raises(KeyboardInterrupt), _starting_threads():
        interrupted()


def test_a_thread_that_cannot_be_started_is_a_lack_of_memory() -> None:
    with pytest.raises(MemoryError), _starting_threads():
        raise RuntimeError("can't start new thread")
