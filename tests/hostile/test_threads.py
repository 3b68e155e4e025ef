"""A short run of models that several threads use; `python tests/hostile/run.py --threads 300` is the long one."""

from hostile.children import failures_of
from hostile.faces import FACES
from hostile.threads import tried


def test_threads_at_one_model_do_not_mix_up_what_they_do() -> None:
    assert failures_of(tried, range(len(FACES)), seed=0) == []
