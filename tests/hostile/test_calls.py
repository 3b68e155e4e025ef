"""A short run of random calls; `python tests/hostile/run.py --calls 500000` is the long one."""

from hostile.calls import tried
from hostile.children import failures_of

SESSIONS = 60


def test_calls_are_refused_without_a_trace_or_leave_a_sound_model() -> None:
    assert failures_of(tried, range(SESSIONS), seed=0) == []
