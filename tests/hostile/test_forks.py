"""A short run of forks; `python tests/hostile/run.py --forks 140` is the long one."""

import os

import pytest

from hostile.children import failures_of
from hostile.faces import FACES
from hostile.forks import FORKS, SECONDS, tried

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")


def test_a_forked_process_uses_its_copy_of_a_model_or_says_why_not() -> None:
    assert failures_of(tried, range(len(FACES)), seed=0, seconds=FORKS * SECONDS) == []
