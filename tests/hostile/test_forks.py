"""A short run of forks; `python tests/hostile/run.py forks` is the long one."""

import os

import pytest

from hostile.children import faults_in_child
from hostile.faces import FACES

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")


def test_a_forked_process_uses_its_copy_of_a_model_or_says_why_not() -> None:
    assert faults_in_child("forks", range(len(FACES)), seed=0, seconds=300.0) == []
