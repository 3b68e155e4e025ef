"""Promise 9: Ctrl-C during a long call stops at an event boundary; the model is valid and count says how far it got."""

import os
import signal
import subprocess
import sys
import threading
import time
from typing import Any

import numpy as np
import pytest

from interrupting import Interrupt, interrupted_after
from odca import KL, L2, AbsoluteError, ElasticNet, Learner, LogLoss, Sliding, SquaredError
from streams import WINDOWS, assert_same_bits, bits, make_stream, options, window_name

pytestmark = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs signal.setitimer")


@pytest.mark.parametrize("window", WINDOWS, ids=window_name)
@pytest.mark.parametrize(
    ("penalty", "kappa", "lanes"),
    [(L2(), 0.0, None), (L2(), 0.9, None), (ElasticNet(0.05), 0.9, 5), (KL(), 0.9, None)],
    ids=["l2", "l2-smoothed", "elasticnet-smoothed-lanes", "kl-smoothed"],
)
def test_an_interrupted_learn_has_learned_a_prefix_of_the_events(
    penalty: Any, kappa: float, lanes: int | None, window: Any
) -> None:
    n, features, times = 1_000, 500, 1_000
    keywords = options(loss=LogLoss(), penalty=penalty, window=window, smoothing=kappa, lanes=lanes, features=features)
    stream = make_stream(LogLoss(), n, seed=71, features=features, lanes=lanes)
    learner, prefix = Learner(**keywords), Learner(**keywords)
    stream.into(learner)
    stream.into(prefix)
    # A million dense events, half a second at least: one row over and over, so that they need no memory.
    later = stream.with_(
        X=np.broadcast_to(np.random.default_rng(70).normal(size=features), (times * n, features)),
        y=np.concatenate([stream.y] * times),
        sample_weight=np.tile(stream.sample_weight, times),
        offset=np.tile(stream.offset, times),
        time=(stream.time + 2_000.0 * np.arange(1, times + 1)[:, None]).ravel(),
    )
    with pytest.raises(Interrupt), interrupted_after(0.05):
        later.into(learner)
    learned = learner.count - n
    assert 0 < learned < n * times, "stopped before the first event or not at all"
    later.part(slice(0, learned)).into(prefix)
    assert_same_bits(learner, prefix, f"after {learned} events")
    later.part(slice(learned, learned + 100)).into(learner)
    later.part(slice(learned, learned + 100)).into(prefix)
    assert_same_bits(learner, prefix, "learning on")


def test_an_interrupted_refine_leaves_a_consistent_window() -> None:
    rng = np.random.default_rng(72)
    X = rng.normal(size=(3_000, 10))
    y = np.where(rng.normal(size=3_000) > 0.0, 1.0, -1.0)
    learner = Learner(loss=LogLoss(), rho=1e-6, window=Sliding(3_000), smoothing=0.5)
    learner.learn(X, y)
    before = learner.dual_objective()
    with pytest.raises(Interrupt), interrupted_after(0.1):
        learner.refine(10**6)
    assert learner.count == 3_000
    assert learner.dual_objective() >= before
    facts = learner.get_state()["window.facts"].reshape(-1, 5)
    np.testing.assert_allclose(learner.dual_sum, (facts[:, 1] * facts[:, 3]) @ X, rtol=1e-12, atol=1e-12)
    learner.learn(X[:5], y[:5])
    assert learner.count == 3_005


@pytest.mark.parametrize("penalty", [L2(), ElasticNet(0.05)], ids=["l2", "elasticnet"])
def test_an_interrupted_fit_leaves_the_model_as_it_was(penalty: Any) -> None:
    stream = make_stream(SquaredError(), 2_000, seed=76, features=200, nnz=50)
    learner = Learner(loss=AbsoluteError(), penalty=penalty, rho=1e-6)
    learner.learn(stream.X, stream.y)
    before = bits(learner)
    with pytest.raises(Interrupt), interrupted_after(0.2):
        learner.fit(stream.X, stream.y, tol=1e-12, max_iter=10**9)
    assert bits(learner) == before


def test_an_interrupted_prediction_leaves_the_model_alone() -> None:
    learner = Learner(loss=SquaredError(), rho=0.1, lanes=16)
    learner.learn(np.ones((1, 400)), np.ones((1, 16)))
    saved = bits(learner)
    X = np.broadcast_to(np.linspace(-1.0, 1.0, 400), (1_000_000, 400))  # a second at least
    with pytest.raises(Interrupt), interrupted_after(0.05):
        learner.predict(X)
    assert bits(learner) == saved


def test_a_signal_handler_that_does_not_raise_does_not_stop_learning() -> None:
    arrived = []
    before = signal.signal(signal.SIGALRM, lambda number, _: arrived.append(number))
    learner, undisturbed = (Learner(loss=SquaredError(), rho=0.1, smoothing=0.9) for _ in range(2))
    X = np.random.default_rng(73).normal(size=(300_000, 10))
    undisturbed.learn(X, X[:, 0])
    signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)
    try:
        learner.learn(X, X[:, 0])
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)
    assert arrived
    assert_same_bits(learner, undisturbed)


class Slow:
    """The squared error in Python."""

    def dual(self, p: float, s: float, y: float) -> float:
        return (y - p) / (1.0 + s)


def test_after_an_interrupt_inside_a_custom_loss_count_says_how_far_it_got() -> None:
    loss = Slow()
    X = np.random.default_rng(74).normal(size=(2_000_000, 2))
    learner, prefix = (Learner(loss=loss, rho=0.1, smoothing=0.5) for _ in range(2))
    for each in (learner, prefix):
        each.learn(X[:10], X[:10, 0])
    with pytest.raises(Interrupt), interrupted_after(0.06):
        learner.learn(X, X[:, 0])
    learned = learner.count - 10
    assert 0 <= learned < len(X)
    prefix.learn(X[:learned], X[:learned, 0])
    assert_same_bits(learner, prefix)


def test_a_learn_in_another_thread_is_not_stopped_by_ctrl_c() -> None:
    # Python gives signals to its main thread; the learning thread must neither take nor lose them.
    learner = Learner(loss=SquaredError(), rho=0.1)
    X = np.random.default_rng(75).normal(size=(400_000, 20))
    thread = threading.Thread(target=learner.learn, args=(X, X[:, 0]))
    thread.start()
    with pytest.raises(Interrupt), interrupted_after(0.02):
        time.sleep(10.0)  # not join: CPython before 3.13 takes a thread whose join was interrupted for finished
    thread.join()
    assert learner.count == len(X)


# A shell may have started the tests with Ctrl-C switched off, which children inherit: it is switched on again.
CTRL_C = """
import signal
import sys
import numpy as np
signal.signal(signal.SIGINT, signal.default_int_handler)
from odca import Exponential, Hinge, Learner

rng = np.random.default_rng(76)
X = rng.normal(size=(1_000, 10))
y = np.where(X[:, 0] > 0.0, 1.0, -1.0)
X, y = np.broadcast_to(X, (5_000, 1_000, 10)).reshape(-1, 10), np.tile(y, 5_000)
options = dict(loss=Hinge(), rho=0.01, window=Exponential(0.999), smoothing=0.9)
learner, prefix = Learner(**options), Learner(**options)
print("ready", flush=True)
try:
    while True:
        learner.learn(X, y)
except KeyboardInterrupt:
    count = learner.count
    for start in range(0, count, len(X)):
        end = min(len(X), count - start)
        prefix.learn(X[:end], y[:end])
    print("stopped at", count, "same" if learner == prefix else "different", flush=True)
"""


def test_ctrl_c_stops_a_real_process_in_the_middle_of_a_call() -> None:
    process = subprocess.Popen([sys.executable, "-c", CTRL_C], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        assert process.stdout.readline().strip() == "ready"
        threading.Event().wait(0.2)
        os.kill(process.pid, signal.SIGINT)
        said, _ = process.communicate(timeout=60)
    finally:
        process.kill()
    words = said.split()
    assert words[:2] == ["stopped", "at"], said
    assert int(words[2]) > 0
    assert words[3] == "same"
    assert process.returncode == 0
