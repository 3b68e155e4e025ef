"""A short run of signals during long calls; `python tests/hostile/run.py --signals 300` is the long one."""

from hostile.children import failures_of
from hostile.faces import FACES
from hostile.signals import HANDLERS, tried


def test_a_signal_handler_may_stop_a_call_or_use_its_model() -> None:
    assert failures_of(tried, range(len(HANDLERS) * len(FACES)), seed=0) == []
