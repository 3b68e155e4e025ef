"""A short run of models that several threads use; `python tests/hostile/run.py threads` is the long one."""

from hostile.children import faults_in_child
from hostile.faces import FACES


def test_threads_at_one_model_do_not_mix_up_what_they_do() -> None:
    assert faults_in_child("threads", range(len(FACES)), seed=0, seconds=120.0) == []
