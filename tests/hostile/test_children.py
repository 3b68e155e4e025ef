"""What goes wrong in a child process is a failure of its case, and the others are tried nevertheless."""

import os

import numpy as np
import pytest

from hostile import children


def crash(number: int, seed: int) -> list[str]:
    del seed
    if number == 1:
        os.abort()
    if number == 2:
        np.ones(2**40)
    return ["it is odd"] if number % 2 else []


def linger(number: int, seed: int) -> list[str]:
    del seed
    while number == 1:
        pass
    return []


def test_a_crash_and_too_much_memory_are_failures_of_their_cases() -> None:
    failures = children.failures_of(crash, range(5), seed=3)
    assert failures == [
        "seed 3, case 1: the process ended with -6",
        "seed 3, case 2: the process ended with 1",
        "seed 3, case 3: it is odd",
    ]


def test_a_case_that_does_not_end_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(children, "SECONDS", 5.0)
    assert children.failures_of(linger, range(3), seed=0) == ["seed 0, case 1: it took more than 5 seconds"]
