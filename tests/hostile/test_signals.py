"""A short run of signals during long calls; `python tests/hostile/run.py signals` is the long one."""

from hostile.children import faults_in_child
from hostile.faces import FACES
from hostile.signals import HANDLERS


def test_a_signal_handler_may_stop_a_call_or_use_its_model() -> None:
    assert faults_in_child("signals", range(len(HANDLERS) * len(FACES)), seed=0, seconds=120.0) == []
