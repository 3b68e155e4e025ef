"""The core is built once for each level of instruction sets; every level that this machine has gives the same bits."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from odca import _core

# What a process with some level prints: the level, and a hash of everything that models say and hold.
DIGEST = """
import hashlib
import numpy as np
from odca import AutoLearner, Exponential, Learner, LogLoss, SquaredError, _core

rng = np.random.default_rng(7)
X = rng.normal(size=(600, 13)) * (rng.random((600, 13)) < 0.6)
margin = X @ rng.normal(size=13)
hash = hashlib.sha256()
for task, y in {"two": margin > 0, "four": np.digitize(margin, (-1, 0, 1)), "numbers": margin + rng.normal(size=600)}.items():
    learner = AutoLearner("numbers" if task == "numbers" else "classes", classes=4 if task == "four" else 2)
    hash.update(learner.learn(X, y.astype(float)).tobytes())
    hash.update(learner.predict(X).tobytes())
for loss, y in ((LogLoss(), np.where(margin > 0, 1.0, -1.0)), (SquaredError(), margin)):
    learner = Learner(loss=loss, rho=1e-3, window=Exponential(0.99), smoothing=0.9, intercept=True)
    hash.update(learner.learn(X, y).tobytes())
    hash.update(learner.coef.tobytes())
print(_core.level(), hash.hexdigest())
"""


def run_with_level(level: str, code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "ODCA_LEVEL": level},
        capture_output=True,
        text=True,
        check=False,
    )


def test_every_level_gives_the_same_bits() -> None:
    default = run_with_level("", DIGEST)
    level, digest = default.stdout.split()
    assert level == _core.level()
    done = run_with_level("baseline", DIGEST)
    assert done.stdout.split() == ["baseline", digest], done.stderr


def test_a_level_that_does_not_exist_is_refused_with_those_that_do() -> None:
    done = run_with_level("sse9", "import odca._core")
    assert done.returncode != 0
    assert "ODCA_LEVEL is 'sse9'; on this machine it can be one of: " in done.stderr
    assert "baseline" in done.stderr


def test_the_widest_level_that_the_machine_has_is_the_default() -> None:
    flags = Path("/proc/cpuinfo").read_text().split()
    if "avx2" not in flags:
        pytest.skip("this machine has no AVX2")
    assert run_with_level("", "from odca import _core; print(_core.level())").stdout.strip() == "avx2"
