"""Losses Q(z; y) of a margin z = b + hᵀw and a label y, with scikit-learn's names.

A loss affects the model only through its dual variable λ: if the margin moves on the line
z = p + s·λ (s ≥ 0), the step of O-DCA takes

    λ(p, s; y):  the λ with  λ ∈ -∂Q(p + s·λ; y)

and the dual objective counts Q*(-λ; y), where Q*(x; y) = sup_z {x·z - Q(z; y)}. Each class below states
Q, Q*(-λ) with the λ for which it is finite (it is +∞ elsewhere), and λ(p, s). In these formulas
r = y - p, m = y·z is the margin of a classifier, and u = y·λ; clip(x, a, b) is x clipped to [a, b].
Where s = 0 and p is a kink, λ is the element of -∂Q(p) nearest to 0, which is 0 for every loss here.

A loss may also be any object with `dual(p, s, y)`, or with `gradient(z, y)` from which λ is computed
numerically, and optionally `value(z, y)`; `CompiledLoss` wraps a compiled function.
"""

import ctypes
import math
from _ctypes import CFuncPtr
from collections.abc import Callable
from dataclasses import field
from importlib import import_module
from typing import Any, ClassVar, NoReturn, TypeAlias

import numpy as np
import numpy.typing as npt

from odca import _core
from odca.errors import did_you_mean
from odca.records import record
from odca.validation.numbers import numbers_after_colon, real

Array: TypeAlias = npt.NDArray[np.float64]
Values: TypeAlias = float | Array


class Loss:
    """The base class of losses. Its methods take arrays of any shapes that broadcast, or floats.

    `name` is scikit-learn's name, `labels` says which y the loss is defined for, and `label_hint` what
    to do with other labels.
    """

    __slots__: ClassVar[tuple[str, ...]] = ()

    name: ClassVar[str]
    labels: ClassVar[str] = "any finite y"
    label_hint: ClassVar[str] = "Remove the event or replace its label."

    def native(self) -> _core.Loss:
        """The loss as the core has it."""
        # The parameter of a loss, if it has one, is its only slot.
        return _core.Loss.named(self.name, *(getattr(self, slot) for slot in self.__slots__))

    def value(self, z: npt.ArrayLike, y: npt.ArrayLike) -> Values:
        """Q(z; y)."""
        self._check_labels(y)
        return _elementwise(self.native().value, z, y)

    def conjugate(self, dual: npt.ArrayLike, y: npt.ArrayLike) -> Values:
        """Q*(-λ; y) at λ = `dual`; +∞ outside the domain of λ."""
        self._check_labels(y)
        return _elementwise(self.native().conjugate, dual, y)

    def subgradient(self, z: npt.ArrayLike, y: npt.ArrayLike) -> tuple[Values, Values]:
        """∂Q(z; y) as its two ends (lo, hi); they are equal where Q has a derivative."""
        self._check_labels(y)
        subgradient = self.native().subgradient
        return (
            _elementwise(lambda z, y: subgradient(z, y)[0], z, y),
            _elementwise(lambda z, y: subgradient(z, y)[1], z, y),
        )

    def dual(self, p: npt.ArrayLike, s: npt.ArrayLike, y: npt.ArrayLike) -> Values:
        """λ(p, s; y), the dual variable of one step on the line z = p + s·λ."""
        self._check_labels(y)
        if not np.all(np.asarray(s, dtype=np.float64) >= 0.0):
            raise ValueError(f"{type(self).__name__}.dual needs s >= 0; got s={s!r}. s is c·hᵀh/A, a square.")
        return _elementwise(self.native().dual, p, s, y)

    def _check_labels(self, y: npt.ArrayLike) -> None:
        flat = np.asarray(y, dtype=np.float64).ravel()
        valid = np.asarray(self.native().valid(flat), dtype=bool)
        if not valid.all():
            first = float(flat[~valid][0])
            rule, hint = label_rule(self)
            raise ValueError(f"{rule}; got y={first:g}. {hint}")


class _Classifier(Loss):
    """The base class of margin losses for two classes."""

    __slots__ = ()

    labels: ClassVar[str] = "y in {-1, +1}"
    label_hint: ClassVar[str] = "Map {0, 1} with 2*y - 1."


@record
class SquaredError(Loss):
    """Least squares, the loss of the LMS filter: predicts a mean; for errors that are not heavy-tailed.

    Q = ½(y - z)²
    Q*(-λ) = ½λ² - y·λ
    λ(p, s) = r / (1 + s)

    >>> SquaredError().dual(p=1.0, s=1.0, y=3.0)
    1.0
    """

    name: ClassVar[str] = "squared_error"


@record
class Hinge(_Classifier):
    """The loss of the support-vector machine: for decisions. Events with a margin m ≥ 1 do not change the model.

    Q = max(0, 1 - m)
    Q*(-λ) = -u for u in [0, 1]
    λ(p, s) = y·clip((1 - y·p) / s, 0, 1)

    >>> Hinge().dual(p=[-1.0, 0.0, 1.0], s=2.0, y=1.0)
    array([1. , 0.5, 0. ])
    """

    name: ClassVar[str] = "hinge"


@record
class SquaredHinge(_Classifier):
    """The squared hinge: smooth, and events that are far on the wrong side count more.

    Q = max(0, 1 - m)²
    Q*(-λ) = u²/4 - u for u ≥ 0
    λ(p, s) = y·max(0, 2(1 - y·p) / (1 + 2s))
    """

    name: ClassVar[str] = "squared_hinge"


@record
class SmoothHinge(_Classifier):
    """The hinge with its kink smoothed over a band of width g: for decisions, with steps that change gradually.

    Q = 0 for m ≥ 1;  (1 - m)²/(2g) for 1 - g ≤ m ≤ 1;  1 - m - g/2 below
    Q*(-λ) = g·u²/2 - u for u in [0, 1]
    λ(p, s) = y·clip((1 - y·p) / (s + g), 0, 1)
    """

    g: float = 1.0
    name: ClassVar[str] = "smooth_hinge"

    def __post_init__(self) -> None:
        _check(self, "g", above=0.0, advice="It is a width of y*z; for g = 0 use Hinge().")


@record
class ModifiedHuber(_Classifier):
    """The squared hinge, linear below m = -1: smooth, and the influence of mislabelled events is bounded.

    Q = max(0, 1 - m)² for m ≥ -1;  -4m below
    Q*(-λ) = u²/4 - u for u in [0, 4]
    λ(p, s) = y·clip(2(1 - y·p) / (1 + 2s), 0, 4)
    """

    name: ClassVar[str] = "modified_huber"


@record
class LogLoss(Loss):
    """Logistic regression: predicts a probability, 1/(1 + e^(-z)), not only a decision.

    With t = max(y, 0), so that y = -1 and y = 0 both stand for the negative class and 0 < y < 1 is a soft
    label, and a = t - λ:

    Q = log(1 + e^z) - t·z        (= log(1 + e^(-m)) for y = ±1)
    Q*(-λ) = a·log a + (1 - a)·log(1 - a) for a in [0, 1]
    λ(p, s) = t - σ(z) at the root z of z = p + s·(t - σ(z)), where σ(z) = 1/(1 + e^(-z))
    """

    name: ClassVar[str] = "log_loss"
    labels: ClassVar[str] = "y = -1 or y in [0, 1]"
    label_hint: ClassVar[str] = "Use -1 or 0 for one class and 1 for the other, or a probability."


@record
class AbsoluteError(Loss):
    """The absolute error: predicts a median; outliers have no more influence than other events.

    Q = |y - z|
    Q*(-λ) = -y·λ for λ in [-1, 1]
    λ(p, s) = clip(r / s, -1, 1)
    """

    name: ClassVar[str] = "absolute_error"


@record
class Quantile(Loss):
    """The pinball loss: predicts the q-quantile of y, for example for prediction intervals.

    Q = max(q(y - z), (q - 1)(y - z))
    Q*(-λ) = -y·λ for λ in [q - 1, q]
    λ(p, s) = clip(r / s, q - 1, q)

    At q = ½ it is half of AbsoluteError.
    """

    q: float = 0.5
    name: ClassVar[str] = "quantile"

    def __post_init__(self) -> None:
        _check(self, "q", above=0.0, below=1.0, advice="The median is q = 0.5.")


@record
class Expectile(Loss):
    """Asymmetric squares: predicts the q-expectile of y, a smooth relative of the quantile; q = ½ is SquaredError.

    Q = |q - 1[z > y]|·(y - z)²
    Q*(-λ) = λ²/(4c) - y·λ with c = q for λ > 0, c = 1 - q for λ < 0
    λ(p, s) = 2c·r / (1 + 2c·s) with c = q for r > 0, c = 1 - q for r < 0
    """

    q: float = 0.5
    name: ClassVar[str] = "expectile"

    def __post_init__(self) -> None:
        _check(self, "q", above=0.0, below=1.0, advice="The mean is q = 0.5.")


@record
class Huber(Loss):
    """Quadratic for errors up to d, linear beyond: predicts a mean, and the influence of outliers is bounded.

    Q = ½(y - z)² for |y - z| ≤ d;  d·|y - z| - d²/2 beyond
    Q*(-λ) = ½λ² - y·λ for λ in [-d, d]
    λ(p, s) = clip(r / (1 + s), -d, d)
    """

    d: float = 1.35
    name: ClassVar[str] = "huber"

    def __post_init__(self) -> None:
        _check(self, "d", above=0.0, advice="It is in units of y; for d = inf use SquaredError().")


@record
class EpsilonInsensitive(Loss):
    """Support-vector regression: errors up to e cost nothing and do not change the model.

    Q = max(0, |y - z| - e)
    Q*(-λ) = e·|λ| - y·λ for λ in [-1, 1]
    λ(p, s) = sgn(r)·clip((|r| - e) / s, 0, 1)
    """

    e: float = 0.1
    name: ClassVar[str] = "epsilon_insensitive"

    def __post_init__(self) -> None:
        _check(self, "e", least=0.0, advice="It is in units of y.")


@record
class SquaredEpsilonInsensitive(Loss):
    """Smooth support-vector regression: errors up to e cost nothing, larger ones the square of the excess.

    Q = max(0, |y - z| - e)²
    Q*(-λ) = e·|λ| + λ²/4 - y·λ
    λ(p, s) = sgn(r)·2·max(0, |r| - e) / (1 + 2s)
    """

    e: float = 0.1
    name: ClassVar[str] = "squared_epsilon_insensitive"

    def __post_init__(self) -> None:
        _check(self, "e", least=0.0, advice="It is in units of y.")


@record
class Poisson(Loss):
    """Poisson regression, for counts and rates: e^z is the mean. With the offset log(exposure), the model predicts rates.

    With a = y - λ:

    Q = e^z - y·z
    Q*(-λ) = a·log a - a for a ≥ 0
    λ(p, s) = y - e^z at the root z of z + s·e^z = p + s·y
    """

    name: ClassVar[str] = "poisson"
    labels: ClassVar[str] = "a finite y >= 0"
    label_hint: ClassVar[str] = "A Poisson label is a count or a non-negative amount."


@record(init=False)
class CompiledLoss(Loss):
    """Your own loss as a compiled function: `dual` is `double(p, s, y)` and `value`, if given, `double(z, y)`.

    Each may be an address (int), a ctypes function, a `numba.cfunc`, or a `scipy.LowLevelCallable`.
    λ(p, s; y) must solve λ ∈ -∂Q(p + s·λ; y) for a convex Q, which is not checked. `value` is
    only needed for objectives. This object keeps the functions alive, unless a bare address is given.
    """

    dual_address: int
    value_address: int
    kept_alive: tuple[object, object] = field(compare=False, repr=False)
    name: ClassVar[str] = "compiled"

    def __init__(self, dual: object, *, value: object = None) -> None:
        object.__setattr__(self, "dual_address", _address(dual, "dual", arity=3))
        object.__setattr__(self, "value_address", 0 if value is None else _address(value, "value", arity=2))
        object.__setattr__(self, "kept_alive", (dual, value))

    def native(self) -> _core.Loss:
        """The loss as the core has it."""
        return _core.Loss.compiled(self.dual_address, self.value_address)

    def __copy__(self) -> "CompiledLoss":
        return self

    def __deepcopy__(self, memo: dict[int, object]) -> "CompiledLoss":
        return self

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "CompiledLoss holds a memory address, which is invalid in another process. Create the loss again there."
        )


LOSSES: tuple[type[Loss], ...] = (
    SquaredError,
    Hinge,
    SquaredHinge,
    SmoothHinge,
    ModifiedHuber,
    LogLoss,
    AbsoluteError,
    Quantile,
    Expectile,
    Huber,
    EpsilonInsensitive,
    SquaredEpsilonInsensitive,
    Poisson,
)

MARGIN_LOSSES = (LogLoss, Hinge, SquaredHinge, SmoothHinge, ModifiedHuber)
"""The losses for two classes, labelled -1 and +1."""


def as_native(loss: object) -> _core.Loss:
    """The native counterpart of a loss, or a native wrapper of a user's object; TypeError if it is neither."""
    if isinstance(loss, Loss):
        return loss.native()
    advice = f"Use one of {', '.join(f'{known.__name__}()' for known in LOSSES)}."
    if isinstance(loss, type):
        advice = f"Pass an instance: {loss.__name__}()."
    elif (
        type(loss).__module__.partition(".")[0] == "river"
    ):  # they take y first, which would give wrong results silently
        advice = f"river's losses take their arguments in the opposite order. {advice}"
    else:
        found = {part: getattr(loss, part, None) for part in ("dual", "gradient", "value")}
        parts = {part: method if callable(method) else None for part, method in found.items()}
        if parts["dual"] or parts["gradient"]:
            return _core.Loss.python(**parts)
    raise TypeError(
        f"loss must be one of odca's losses, or an object with dual(p, s, y) or gradient(z, y); got {loss!r}. {advice}"
    )


LOSS_NAMES: dict[str, type[Loss]] = {kind.name: kind for kind in LOSSES}


def as_loss(loss: object) -> object:
    """A loss from its name, optionally with its parameter ("quantile:0.9"); objects are returned unchanged.

    >>> as_loss("quantile:0.9")
    Quantile(q=0.9)
    """
    if not isinstance(loss, str):
        return loss
    name, colon, parameter = loss.partition(":")
    if name not in LOSS_NAMES:
        meant = did_you_mean(name, list(LOSS_NAMES))
        there = f"There are {', '.join(sorted(LOSS_NAMES))}, and objects."
        raise ValueError(" ".join(filter(None, (f"there is no loss named {name!r}. {there}", meant))))
    kind = LOSS_NAMES[name]
    if colon and not kind.__slots__:
        raise ValueError(f"{name} has no parameter; got {loss!r}.")
    return kind(*numbers_after_colon(loss, parameter, 1)) if colon else kind()


def label_rule(loss: object) -> tuple[str, str]:
    """The two parts of an error message: which labels a loss is defined for, and what to do with others."""
    kind = type(loss) if isinstance(loss, Loss) else Loss
    return f"{type(loss).__name__} needs {kind.labels}", kind.label_hint


def _elementwise(function: Callable[..., Array], *arguments: npt.ArrayLike) -> Values:
    """Apply a function of 1-D arrays of equal length to arguments of any shapes that broadcast."""
    arrays = np.broadcast_arrays(*(np.asarray(argument, dtype=np.float64) for argument in arguments))
    shape = arrays[0].shape
    result = np.asarray(function(*(np.ascontiguousarray(array).ravel() for array in arrays)))
    return result.reshape(shape) if shape else float(result[0])


def _check(
    loss: Loss, name: str, *, above: float = -math.inf, least: float = -math.inf, below: float = math.inf, advice: str
) -> None:
    """Convert the parameter `name` of a new loss to a float; ValueError if it is out of range."""
    given = getattr(loss, name)
    number = real(given)
    if not (above < number < below and least <= number):
        start = f"{least:g} <=" if above < least else f"{above:g} <"
        raise ValueError(f"{type(loss).__name__} needs {start} {name} < {below:g}; got {name}={given!r}. {advice}")
    object.__setattr__(loss, name, number)


_capsule_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)


def _address(function: Any, role: str, *, arity: int) -> int:
    """The address of a compiled `double(double, ...)` of `arity` arguments."""
    signature = f"double ({', '.join(['double'] * arity)})"
    declared, address = signature, function
    # Numba's cfunc offers itself as a ctypes function too, which knows its signature.
    as_ctypes = getattr(function, "ctypes", function)
    if isinstance(as_ctypes, CFuncPtr):
        declared = _ctypes_signature(as_ctypes)
        address = ctypes.cast(as_ctypes, ctypes.c_void_p).value
    elif type(function).__module__.startswith("scipy."):
        if isinstance(function, import_module("scipy").LowLevelCallable):
            declared = function.signature + ("" if function.user_data is None else " with user_data")
            address = _capsule_pointer(tuple.__getitem__(function, 0), function.signature.encode())
    elif hasattr(function, "address"):
        address = function.address
    if not isinstance(address, int) or address <= 0:
        raise ValueError(
            f"{role} of CompiledLoss must be an address, a ctypes function, a numba.cfunc or a "
            f"scipy.LowLevelCallable with the signature {signature}; got {function!r}."
        )
    if declared.replace(" ", "") != signature.replace(" ", ""):
        raise ValueError(
            f"{role} of CompiledLoss must be a function with the signature {signature}; got one declared as "
            f"{declared}. Correct the declaration (for ctypes: restype and argtypes)."
        )
    return address


def _ctypes_signature(function: Any) -> str:
    def called(kind: Any) -> str:
        return "double" if kind is ctypes.c_double else getattr(kind, "__name__", "void")

    listed = [called(kind) for kind in function.argtypes or ()]
    return f"{called(function.restype)} ({', '.join(listed) or 'undeclared'})"
