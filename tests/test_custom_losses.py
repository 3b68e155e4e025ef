"""A user's own loss: a Python object with a dual or a gradient, or compiled code behind a pointer."""

import copy
import ctypes
import math
import pickle
import shutil
import subprocess
import sys
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import scipy

from odca import (
    KL,
    L2,
    AbsoluteError,
    CompiledLoss,
    ElasticNet,
    Hinge,
    Huber,
    Learner,
    LogLoss,
    Poisson,
    Sliding,
    SquaredError,
)
from streams import (
    PENALTIES,
    WINDOWS,
    Stream,
    assert_close,
    assert_same_bits,
    bits,
    labels,
    make_stream,
    options,
    window_name,
)


@dataclass(frozen=True)
class MySquares:
    """SquaredError, by the same formula in the same order."""

    def dual(self, p: float, s: float, y: float) -> float:
        return (y - p) / (s + 1.0)

    def value(self, z: float, y: float) -> float:
        return 0.5 * (y - z) ** 2


@dataclass(frozen=True)
class MyHinge:
    def dual(self, p: float, s: float, y: float) -> float:
        if s == 0.0:
            return y if y * p < 1.0 else 0.0
        return y * min(max((1.0 - y * p) / s, 0.0), 1.0)

    def value(self, z: float, y: float) -> float:
        return max(0.0, 1.0 - y * z)


@dataclass(frozen=True)
class BySlope:
    """A loss by its derivative and its value."""

    name: str

    def gradient(self, z: float, y: float) -> float:
        return {
            "squared_error": lambda: z - y,
            "log_loss": lambda: 1.0 / (1.0 + math.exp(min(-z, 700.0))) - max(y, 0.0),
            "poisson": lambda: math.exp(z) - y,
            "huber": lambda: min(max(z - y, -1.0), 1.0),
            "hinge": lambda: -y if y * z < 1.0 else 0.0,
            "absolute_error": lambda: math.copysign(1.0, z - y) if z != y else 0.0,
        }[self.name]()

    def value(self, z: float, y: float) -> float:
        return {
            "squared_error": lambda: 0.5 * (y - z) ** 2,
            "log_loss": lambda: math.log1p(math.exp(min(z, 700.0))) - max(y, 0.0) * z,
            "poisson": lambda: math.exp(z) - y * z,
            "huber": lambda: 0.5 * (y - z) ** 2 if abs(y - z) <= 1.0 else abs(y - z) - 0.5,
            "hinge": lambda: max(0.0, 1.0 - y * z),
            "absolute_error": lambda: abs(y - z),
        }[self.name]()


BUILT_IN = {
    "squared_error": SquaredError(),
    "log_loss": LogLoss(),
    "poisson": Poisson(),
    "huber": Huber(1.0),
    "hinge": Hinge(),
    "absolute_error": AbsoluteError(),
}


def both(
    loss: Any, mine: Any, *, n: int = 150, lanes: int | None = None, **more: Any
) -> tuple[Learner, Learner, Stream]:
    stream = make_stream(loss, n, seed=501, lanes=lanes)
    keywords = options(loss=loss, lanes=lanes, **{"penalty": L2(), **more})
    built_in, own = Learner(**keywords), Learner(**keywords | {"loss": mine})
    margins, shown = stream.into(built_in), stream.into(own)
    np.testing.assert_allclose(shown, margins, rtol=0.0, atol=1e-12 * np.abs(margins).max())
    return built_in, own, stream


@pytest.mark.parametrize("kappa", [0.0, 0.9])
@pytest.mark.parametrize("window", WINDOWS, ids=window_name)
@pytest.mark.parametrize("penalty", PENALTIES, ids=lambda penalty: penalty.name)
@pytest.mark.parametrize(
    ("loss", "mine"), [(SquaredError(), MySquares()), (Hinge(), MyHinge())], ids=["squares", "hinge"]
)
def test_a_python_dual_gives_the_model_of_the_built_in_loss(
    loss: Any, mine: Any, penalty: Any, window: Any, kappa: float
) -> None:
    lanes = 5 if kappa else None
    built_in, own, stream = both(loss, mine, penalty=penalty, window=window, smoothing=kappa, lanes=lanes)
    assert_close(built_in, own, rtol=1e-12)
    np.testing.assert_allclose(own.dual_objective(), built_in.dual_objective(), rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(own.objective(stream.X, stream.y), built_in.objective(stream.X, stream.y), rtol=1e-12)
    if isinstance(window, Sliding):
        np.testing.assert_allclose(own.refine(3), built_in.refine(3), rtol=1e-9, atol=1e-12)
        assert_close(built_in, own, rtol=1e-11)


def test_the_same_formula_in_python_gives_the_same_bits() -> None:
    for window in WINDOWS:
        built_in, own, _ = both(SquaredError(), MySquares(), window=window, smoothing=0.9)
        mine, theirs = own.get_state(), built_in.get_state()
        for name in ("dual", "mass", "scale", "q", "smooth", "seen"):
            assert mine[name].tobytes() == theirs[name].tobytes(), name


@pytest.mark.parametrize("window", [WINDOWS[1], WINDOWS[3]], ids=window_name)
@pytest.mark.parametrize("penalty", [L2(), ElasticNet(0.05), KL()], ids=lambda penalty: penalty.name)
@pytest.mark.parametrize("name", BUILT_IN)
def test_a_gradient_alone_is_enough(name: str, penalty: Any, window: Any) -> None:
    # λ is bracketed to two neighbouring doubles, the built-in formula is good to an ulp or two.
    built_in, own, _ = both(BUILT_IN[name], BySlope(name), penalty=penalty, window=window, n=80)
    assert_close(built_in, own, rtol=1e-11)
    np.testing.assert_allclose(own.dual_objective(), built_in.dual_objective(), rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("name", ["squared_error", "hinge", "log_loss", "huber"])
def test_a_gradient_is_solved_for_every_slope(name: str) -> None:
    loss, mine = BUILT_IN[name], BySlope(name)
    rng = np.random.default_rng(502)
    for rho in (1e-12, 1e-6, 1e-2, 1.0, 1e6, 1e12):
        y, offset = labels(loss, rng.normal(size=20), rng), rng.normal(size=20)
        row = rng.normal(size=(1, 3))
        for k in range(20):
            learners = Learner(loss=loss, rho=rho), Learner(loss=mine, rho=rho)
            one, two = (each.learn(row, y[k : k + 1], offset=offset[k : k + 1], diagnostics=True) for each in learners)
            # |Δλ|·min(1, s): where s is large it is z that is found to the last bit, not λ.
            assert abs(one.dual[0] - two.dual[0]) * min(1.0, one.slope[0]) < 1e-12 * max(
                1.0, abs(offset[k]), one.slope[0]
            )


class Only:
    """A loss with a dual and nothing else."""

    def dual(self, p: float, s: float, y: float) -> float:
        return (y - p) / (1.0 + s)


def test_without_a_value_everything_works_except_objectives() -> None:
    stream = make_stream(SquaredError(), 60, seed=503)
    learner = Learner(loss=Only(), rho=0.1, window=Sliding(20), smoothing=0.5)
    twin = Learner(loss=SquaredError(), rho=0.1, window=Sliding(20), smoothing=0.5)
    stream.into(learner)
    stream.into(twin)
    assert_close(learner, twin, rtol=1e-12)
    for ask in (
        learner.dual_objective,
        learner.primal_objective,
        learner.duality_gap,
        lambda: learner.objective(stream.X, stream.y),
    ):
        with pytest.raises(ValueError, match=r"value\(z, y\)"):
            ask()
    learner.unlearn(59)
    assert learner.saturation == 0.0


def test_an_object_that_is_not_a_loss_is_a_type_error() -> None:
    class Nothing:
        value = 3.0

    class NotCallable:
        dual = 1.0

    for loss in (Nothing(), NotCallable(), 3, "hinge", object()):
        with pytest.raises(TypeError, match=r"dual\(p, s, y\) or gradient\(z, y\)"):
            Learner(loss=loss)


class Falls:
    """A loss that raises from its value or its gradient after some calls."""

    def __init__(self, where: str, after: int) -> None:
        self.where, self.left = where, after

    def _count(self, where: str) -> None:
        self.left -= self.where == where
        if self.left < 0:
            raise LookupError(f"from {self.where}")

    def gradient(self, z: float, y: float) -> float:
        self._count("gradient")
        return z - y

    def value(self, z: float, y: float) -> float:
        self._count("value")
        return 0.5 * (z - y) ** 2


@pytest.mark.parametrize("where", ["gradient", "value"])
@pytest.mark.parametrize("window", WINDOWS, ids=window_name)
def test_an_exception_from_any_method_of_a_loss_propagates_and_undoes_the_call(where: str, window: Any) -> None:
    stream = make_stream(SquaredError(), 60, seed=504)
    loss = Falls(where, 10**9)
    learner = Learner(loss=loss, rho=0.1, window=window, smoothing=0.9)
    stream.part(slice(0, 30)).into(learner)
    saved = bits(learner)
    loss.left = 20
    with pytest.raises(LookupError, match=f"from {where}"):
        stream.part(slice(30, 60)).into(learner)
    assert bits(learner) == saved
    if isinstance(window, Sliding):
        loss.left = 5
        with pytest.raises(LookupError, match=f"from {where}"):
            learner.refine(3)
        loss.left = 10**9
        if where == "gradient":  # a value that fails may fail in the gap, after the passes
            assert bits(learner) == saved
    loss.left = 0
    if where == "value" and isinstance(window, Sliding):
        with pytest.raises(LookupError, match="from value"):
            learner.primal_objective()
    loss.left = 10**9
    stream.part(slice(30, 60)).into(learner)
    assert learner.count == 60


def test_a_loss_may_end_the_call_with_keyboard_interrupt_or_system_exit() -> None:
    class Leaves:
        def dual(self, *_: float) -> float:
            raise SystemExit(3)

    learner = Learner(loss=Leaves())
    with pytest.raises(SystemExit):
        learner.learn([[1.0]], [1.0])
    assert learner.count == 0


ASKS_ITS_LEARNER = """
from odca import Learner

class Asks:
    def dual(self, p, s, y):
        learner.predict([[1.0]])
        return (y - p) / (1.0 + s)

learner = Learner(loss=Asks())
try:
    learner.learn([[1.0]], [1.0])
except (RuntimeError, ValueError) as refusal:
    print("refused:", refusal)
else:
    print("learned")
print(learner.count)
"""


def test_a_loss_that_calls_its_own_learner_does_not_deadlock() -> None:
    # In a process of its own, which can be ended: the learner is busy with the very event that asks.
    try:
        outcome = subprocess.run(
            [sys.executable, "-c", ASKS_ITS_LEARNER], capture_output=True, text=True, timeout=10, check=False
        )
    except subprocess.TimeoutExpired:
        pytest.fail("the loss waits for the learner, which waits for the loss")
    assert outcome.returncode == 0, outcome.stderr
    assert outcome.stdout.split()[0] in {"refused:", "learned"}


def test_learners_with_python_losses_copy_and_pickle_with_them() -> None:
    stream = make_stream(SquaredError(), 60, seed=505)
    learner = Learner(loss=MySquares(), rho=0.1, smoothing=0.9)
    stream.part(slice(0, 30)).into(learner)
    twins = [learner.copy(), copy.deepcopy(learner), pickle.loads(pickle.dumps(learner))]
    for each in (learner, *twins):
        stream.part(slice(30, 60)).into(each)
    for twin in twins:
        assert_same_bits(twin, learner)


SOURCE = """
#include <math.h>
double square_dual(double p, double s, double y) { return (y - p) / (s + 1.0); }
double square_value(double z, double y) { return 0.5 * (y - z) * (y - z); }
double hinge_dual(double p, double s, double y) {
  double t = s > 0.0 ? (1.0 - y * p) / s : (y * p < 1.0 ? 1.0 : 0.0);
  return y * (t < 0.0 ? 0.0 : t > 1.0 ? 1.0 : t);
}
double hinge_value(double z, double y) { double l = 1.0 - y * z; return l > 0.0 ? l : 0.0; }
double bad_dual(double p, double s, double y) { return y > 100.0 ? NAN : (y - p) / (s + 1.0); }
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        pytest.skip("no C compiler (cc, gcc or clang) on the path")
    folder = tmp_path_factory.mktemp("losses")
    (folder / "losses.c").write_text(SOURCE)
    built = folder / "losses.so"
    subprocess.run(
        [compiler, "-O2", "-ffp-contract=off", "-shared", "-fPIC", folder / "losses.c", "-o", built, "-lm"], check=True
    )
    return ctypes.CDLL(str(built))


def function(library: ctypes.CDLL, name: str) -> Any:
    declared = getattr(library, name)
    declared.restype = ctypes.c_double
    declared.argtypes = [ctypes.c_double] * (2 if name.endswith("value") else 3)
    return declared


def address(of: Any) -> int:
    return ctypes.cast(of, ctypes.c_void_p).value or 0


@pytest.mark.parametrize("how", ["ctypes", "address", "LowLevelCallable"])
@pytest.mark.parametrize("name", ["square", "hinge"])
def test_compiled_code_gives_the_model_of_the_built_in_loss(library: ctypes.CDLL, name: str, how: str) -> None:
    dual, value = function(library, f"{name}_dual"), function(library, f"{name}_value")
    if how == "address":
        dual, value = address(dual), address(value)
    elif how == "LowLevelCallable":
        dual, value = scipy.LowLevelCallable(dual), scipy.LowLevelCallable(value)
    mine = CompiledLoss(dual, value=value)
    loss: Any = {"square": SquaredError(), "hinge": Hinge()}[name]
    for window, penalty, lanes in (
        (WINDOWS[0], L2(), None),
        (WINDOWS[3], ElasticNet(0.05), 5),
        (WINDOWS[1], KL(), None),
    ):
        built_in, own, stream = both(loss, mine, window=window, penalty=penalty, lanes=lanes, smoothing=0.9)
        assert_close(built_in, own, rtol=1e-12)
        np.testing.assert_allclose(own.dual_objective(), built_in.dual_objective(), rtol=1e-11, atol=1e-12)
        np.testing.assert_allclose(
            own.objective(stream.X, stream.y), built_in.objective(stream.X, stream.y), rtol=1e-12
        )


def test_compiled_code_of_the_same_formula_gives_the_same_bits(library: ctypes.CDLL) -> None:
    built_in, own, _ = both(SquaredError(), CompiledLoss(function(library, "square_dual")), smoothing=0.9)
    assert own.coef.tobytes() == built_in.coef.tobytes()
    assert own.smoothed_coef.tobytes() == built_in.smoothed_coef.tobytes()
    with pytest.raises(ValueError, match="value"):
        own.dual_objective()


def test_compiled_code_that_returns_nan_is_refused_and_undone(library: ctypes.CDLL) -> None:
    learner = Learner(loss=CompiledLoss(function(library, "bad_dual")), rho=0.1, smoothing=0.5)
    learner.learn(np.eye(3), [1.0, 2.0, 3.0])
    saved = bits(learner)
    with pytest.raises(ValueError, match=r"row 1 of X .*nan"):
        learner.learn(np.eye(3), [1.0, 101.0, 3.0])
    assert bits(learner) == saved


def test_compiled_losses_at_the_same_address_are_equal(library: ctypes.CDLL) -> None:
    dual, other = function(library, "square_dual"), function(library, "hinge_dual")
    one, two, three = (Learner(loss=CompiledLoss(each), rho=0.1) for each in (dual, address(dual), other))
    one.learn(np.eye(2), [1.0, 2.0])
    two.learn(np.eye(2), [1.0, 2.0])
    assert one == two
    assert one.merge(two).mass == 4.0
    with pytest.raises(ValueError, match="one problem; loss is"):
        one.merge(three)


def test_a_compiled_loss_can_be_copied_but_not_pickled(library: ctypes.CDLL) -> None:
    learner = Learner(loss=CompiledLoss(function(library, "square_dual")), rho=0.1)
    learner.learn(np.eye(2), [1.0, 2.0])
    assert copy.deepcopy(learner) == learner == learner.copy()
    with pytest.raises(TypeError, match="memory address"):
        pickle.dumps(learner)


def test_a_compiled_loss_keeps_its_function_alive(library: ctypes.CDLL) -> None:
    prototype = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double, ctypes.c_double, ctypes.c_double)
    learner = Learner(loss=CompiledLoss(prototype(lambda p, s, y: (y - p) / (s + 1.0))), rho=0.1)
    import gc

    gc.collect()
    twin = Learner(loss=SquaredError(), rho=0.1)
    X, y = np.eye(4), np.arange(4.0)
    assert learner.learn(X, y).tobytes() == twin.learn(X, y).tobytes()


def test_pointers_of_the_wrong_signature_are_refused(library: ctypes.CDLL) -> None:
    value, undeclared = function(library, "square_value"), library["hinge_dual"]
    for dual in (value, undeclared, 0, -1, None, "square_dual", 1.5):
        with pytest.raises((ValueError, TypeError), match=r"dual.*double"):
            CompiledLoss(dual)
    with pytest.raises(ValueError, match=r"value.*double"):
        CompiledLoss(function(library, "square_dual"), value=function(library, "hinge_dual"))
