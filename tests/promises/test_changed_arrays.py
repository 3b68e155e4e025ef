"""What is used is what was checked: arrays that somebody changes during a call make no model read or write outside its memory.

What could crash the process is tried in one of its own.
"""

import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp

from odca import Learner, Sliding

BEGIN = """
import threading
import numpy as np
import scipy.sparse as sp
from odca import Learner, LogLoss, SquaredError
from odca.models.auto import AutoLearner

rng = np.random.default_rng(0)
X = sp.random_array((ROWS, 3000), density=0.01, rng=rng, format="csr")
y = np.where(rng.random(ROWS) < 0.5, 1.0, 0.0)
"""

A_THREAD_WRITES = """
def write():
    good = {name: getattr(X, name).copy() for name in ("indices", "indptr", "data")}
    bad = {"indices": (2**30, -(2**30), 2999), "indptr": (2**30, -(2**30), 5), "data": (np.nan, np.inf, 1e300)}
    while not done.is_set():
        for name, values in bad.items():
            getattr(X, name)[rng.integers(len(good[name]), size=50)] = rng.choice(values)
        labels[rng.integers(len(labels), size=50)] = rng.choice([np.nan, 1e18, -1e18, 7.0])
        for name, values in good.items():
            getattr(X, name)[:] = values
        labels[:] = y

done, labels = threading.Event(), y.copy()
writer = threading.Thread(target=write)
writer.start()
refused = learned = 0
for _ in range(40):
    try:
        CALL
        learned += 1
    except ValueError:
        refused += 1
done.set()
writer.join()
X.sum_duplicates()
assert np.isfinite(model.predict(X)).all()
print(learned, refused)
"""


def run(script: str, rows: int = 3000) -> None:
    script = script.replace("ROWS", str(rows))
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, f"code {done.returncode}: {done.stderr[-2000:]}"


def test_a_loss_that_changes_the_rows_of_its_call_does_not_crash() -> None:
    run(
        BEGIN
        + """
class Spoils:
    def dual(self, p, s, y):
        X.indices[:] = 2**30
        X.data[:] = np.nan
        X.indptr[1:-1] = 2**30
        return (y - p) / (1.0 + s)

model = Learner(loss=Spoils(), rho=0.1)
try:
    model.learn(X, y)
except ValueError as error:
    assert "row 1" in str(error), error
else:
    raise AssertionError("what the loss wrote was read as the next row, and must be refused")
assert model.count == 0
"""
    )


@pytest.mark.parametrize("task", ["classes", "numbers"])
def test_another_thread_that_changes_labels_weights_and_times_during_a_call_does_not_crash_it(task: str) -> None:
    writes = """
def write():
    while not done.is_set():
        for array, bad in ((labels, (np.nan, 1e18, -1e18, 7.0)), (weights, (np.nan, -1e18)), (times, (np.nan, np.inf))):
            good = array.copy()
            array[rng.integers(ROWS, size=ROWS // 2)] = rng.choice(bad)
            array[:] = good

done, labels, weights, times = threading.Event(), y.copy(), np.ones(ROWS), np.arange(float(ROWS))
writer = threading.Thread(target=write)
writer.start()
for _ in range(60):
    try:
        model.learn(X, labels, sample_weight=weights, time=times)
    except ValueError:
        pass
done.set()
writer.join()
assert np.isfinite(model.predict(X)).all()
"""
    begin = f"{BEGIN}\nmodel = AutoLearner({task!r})\ny[:3] = 0.0, 1.0, 2.0\nmodel.learn(X, y)\n"
    run(begin + writes)


@pytest.mark.parametrize(
    ("model", "call", "rows"),
    [
        ("Learner(loss=SquaredError(), rho=0.1)", "model.learn(X, labels)", 3000),
        ("Learner(loss=LogLoss(), rho=0.1, smoothing=0.9, intercept=True)", "model.learn(X, labels)", 3000),
        ("Learner(loss=SquaredError(), rho=0.1)", "model.predict(X)", 3000),
        ("Learner(loss=SquaredError(), rho=0.1)", "model.fit(X, labels, max_iter=2)", 1000),
        ("AutoLearner('classes')", "model.learn(X, labels)", 300),
        ("AutoLearner('classes')", "model.learn(X, labels)", 3000),
        ("AutoLearner('numbers')", "model.learn(X, labels)", 300),
        ("AutoLearner('numbers')", "model.predict(X)", 300),
    ],
)
def test_another_thread_that_changes_the_rows_during_a_call_does_not_crash_it(model: str, call: str, rows: int) -> None:
    run(BEGIN + f"model = {model}\nmodel.learn(X, y)\n" + A_THREAD_WRITES.replace("CALL", call), rows)


class Keeps:
    """The squared error, which spoils the rows that were read already."""

    def __init__(self, X: sp.csr_array) -> None:
        self.X, self.row = X, 0

    def dual(self, p: float, s: float, y: float) -> float:
        begin, end = self.X.indptr[self.row], self.X.indptr[self.row + 1]
        self.X.indices[begin:end], self.X.data[begin:end] = 2**30, np.nan
        self.row += 1
        return (y - p) / (1.0 + s)


@pytest.mark.parametrize("window", [None, Sliding(10)], ids=["infinite", "sliding"])
def test_a_row_is_learned_as_it_was_when_it_was_checked(window: Sliding | None) -> None:
    rng = np.random.default_rng(1)
    X = sp.random_array((50, 30), density=0.3, rng=rng, format="csr")
    y = rng.normal(size=50)
    options = {} if window is None else {"window": window}
    spoiled = X.copy()
    tried = Learner(loss=Keeps(spoiled), rho=0.1, smoothing=0.9, **options)
    spared = Learner(loss=Keeps(X.copy()), rho=0.1, smoothing=0.9, **options)
    tried.learn(spoiled, y)
    spared.learn(X, y)
    assert np.array_equal(tried.coef, spared.coef)
    assert np.array_equal(tried.smoothed_coef, spared.smoothed_coef)
