"""What goes wrong in a child process is a failure of its case, and the others are tried nevertheless."""

import re

from hostile.children import failures_of
from hostile.failing_cases import crash, linger


def test_a_crash_and_too_much_memory_are_failures_of_their_cases() -> None:
    crashed, memory, odd = failures_of(crash, range(5), seed=3)
    assert re.match(r"seed 3, case 1: the process ended with -6. .* in crash", crashed, flags=re.DOTALL)
    assert re.match(r"seed 3, case 2: Traceback .*MemoryError", memory, flags=re.DOTALL)
    assert odd == "seed 3, case 3: it is odd"


def test_a_case_that_does_not_end_is_a_failure_that_says_where_it_was() -> None:
    (failure,) = failures_of(linger, range(3), seed=0, seconds=3.0)
    assert re.match(r"seed 0, case 1: the process ended with 1. Timeout .* in linger", failure, flags=re.DOTALL)
