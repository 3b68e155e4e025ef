"""Promise 7: memory does not grow with the stream; a sliding window needs O(window)."""

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from odca import L2, ElasticNet, Exponential, HalfLife, Infinite, Learner, Sliding, SquaredError
from streams import window_name

STATM = Path("/proc/self/statm")
pytestmark = pytest.mark.skipif(not STATM.exists(), reason="resident memory is read from /proc/self/statm")

FEATURES, NNZ, CHUNK, CHUNKS = 500, 10, 5_000, 40
# 200,000 events after the warm-up. Keeping 16 bytes of each would be 3 MB, its row 24 MB.
ALLOWED = 2_000_000


def resident() -> int:
    return int(STATM.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def chunks(seed: int) -> list[tuple[sp.csr_array, np.ndarray]]:
    """Some batches, over and over: making new ones would itself use memory."""
    rng = np.random.default_rng(seed)
    out = []
    for _ in range(4):
        columns = np.sort(
            rng.integers(0, FEATURES // NNZ, size=(CHUNK, NNZ)) + np.arange(NNZ) * (FEATURES // NNZ), axis=1
        )
        offsets = np.arange(0, CHUNK * NNZ + 1, NNZ)
        X = sp.csr_array((rng.normal(size=CHUNK * NNZ), columns.ravel(), offsets), shape=(CHUNK, FEATURES))
        out.append((X, rng.normal(size=CHUNK)))
    return out


@pytest.mark.parametrize(
    "window",
    [Infinite(), Exponential(0.99), HalfLife(50.0), Sliding(300), Sliding(duration=300.0)],
    ids=window_name,
)
@pytest.mark.parametrize("kappa", [0.0, 0.999])
@pytest.mark.parametrize("penalty", [L2(), ElasticNet(0.01)], ids=lambda penalty: penalty.name)
def test_resident_memory_is_flat_over_the_stream(penalty: Any, window: Any, kappa: float) -> None:
    learner = Learner(loss=SquaredError(), penalty=penalty, rho=0.01, window=window, smoothing=kappa)
    batches = chunks(seed=51)
    time = 0.0

    def stream(number: int) -> None:
        nonlocal time
        for k in range(number):
            X, y = batches[k % 4]
            learner.learn(X, y, time=time + np.arange(CHUNK))
            learner.predict(X[:1])
            time += CHUNK

    stream(8)
    before = resident()
    stream(CHUNKS)
    assert learner.count == (8 + CHUNKS) * CHUNK
    assert resident() - before < ALLOWED


@pytest.mark.parametrize("window", [Sliding(100), Sliding(duration=100.0)], ids=window_name)
def test_resident_memory_is_flat_when_events_come_one_by_one(window: Any) -> None:
    learner = Learner(loss=SquaredError(), rho=0.01, window=window, smoothing=0.9)
    rows = np.random.default_rng(52).normal(size=(64, 1, 20))
    label = np.ones(1)

    def stream(start: int, number: int) -> None:
        for k in range(start, start + number):
            learner.learn(rows[k % 64], label, time=[float(k)])

    stream(0, 5_000)
    before = resident()
    stream(5_000, 60_000)  # 160 bytes each: 10 MB if they stayed
    assert resident() - before < ALLOWED


def test_refused_calls_and_copies_leave_no_memory_behind() -> None:
    learner = Learner(loss=SquaredError(), rho=0.01, window=Sliding(300), smoothing=0.9)
    X, y = chunks(seed=53)[0]
    learner.learn(X, y)
    bad = y.copy()
    bad[-1] = np.nan

    def misuse(times: int) -> None:
        for _ in range(times):
            for rows in (slice(-20, None), slice(None)):  # the log, and the copy
                with pytest.raises(ValueError, match="y is nan"):
                    learner.learn(X[rows], bad[rows])
            learner.copy().refine(1)
            learner.get_state()

    misuse(20)
    before = resident()
    misuse(150)
    assert resident() - before < ALLOWED


def test_a_saved_sliding_window_is_no_larger_than_the_window() -> None:
    learner = Learner(loss=SquaredError(), rho=0.01, window=Sliding(50), smoothing=0.9)
    sizes = []
    for X, y in chunks(seed=54):
        learner.learn(X, y)
        state = learner.get_state()
        sizes.append(len(state["window.value"]))
        assert len(state["window.number"]) == 50
    assert sizes == [50 * NNZ] * 4
