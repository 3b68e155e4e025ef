"""Windows: the weights δ_{n,N} of past events n after N events (the paper's C1, C2, C3).

The problem solved is  min_w (1/Δ) Σ_n δ_{n,N}·Q(h_nᵀw; y_n) + ρ·R(w)  with the total weight Δ = Σ_n δ_{n,N},
so only the ratios δ/Δ matter. c_n is the event's own weight (`sample_weight`, 1 unless given), t_n its time,
and the clock is the latest time seen so far. An event of weight zero still counts in N and advances the clock.

A parameter given as a sequence has one value per lane (one model per value, all learning from the same events).
"""

import math
import operator
import re
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any, ClassVar, SupportsIndex, TypeAlias

import numpy as np
import numpy.typing as npt

from odca import _core
from odca.records import record
from odca.validation.numbers import real, whole

PerLane: TypeAlias = float | tuple[float, ...]
Numbers: TypeAlias = float | Sequence[float] | npt.NDArray[np.float64]
Duration: TypeAlias = float | timedelta | np.timedelta64
Durations: TypeAlias = Duration | Sequence[Duration] | npt.NDArray[np.float64] | npt.NDArray[np.timedelta64]


class Window:
    """The base class of windows, which weight past events."""

    __slots__ = ()

    name: ClassVar[str]

    @property
    def uses_time(self) -> bool:
        """Whether every event needs a time."""
        return False

    @property
    def lanes(self) -> int | None:
        """The number of lanes that its parameters have values for; None if they are plain numbers."""
        return None

    @property
    def memory(self) -> float:
        """Approximately the number of events that the window remembers; for windows in event time, where it is unknown, 1000."""
        return 1e3

    @property
    def default_smoothing(self) -> float:
        """κ that averages over about a tenth of the events that the window remembers, and over at most 10,000."""
        return max(0.0, 1.0 - 1.0 / min(1e4, max(1.0, 0.1 * self.memory)))

    @property
    def fixed(self) -> "Window":
        """The window for a problem that has exactly one: itself, and for `Automatic` the infinite one."""
        return self

    def native(self) -> _core.Window:
        """The window as the core has it."""
        raise NotImplementedError


@record
class Infinite(Window):
    """All events count equally, forever: for a stream that does not change (C1).

    δ_{n,N} = c_n
    """

    name: ClassVar[str] = "infinite"

    @property
    def memory(self) -> float:
        """All events: for the purposes of smoothing, 100,000."""
        return 1e5

    def native(self) -> _core.Window:
        """The window as the core has it."""
        return _core.Window.decay(np.ones(1))


@record(init=False)
class Exponential(Window):
    """The weight of past events decays by a factor β per event: for a stream that drifts (C2).

    δ_{n,N} = c_n·β^(N-n),  0 < β < 1

    Give exactly one of `beta`; `half_life`, the number of events after which a weight has halved, β = 2^(-1/half_life);
    and `span`, as in pandas, β = 1 - 2/(span + 1). The total weight tends to 1/(1 - β) events.

    >>> Exponential(half_life=1)
    Exponential(beta=0.5)
    >>> Exponential([0.9, 0.99]).lanes
    2
    """

    beta: PerLane
    name: ClassVar[str] = "exponential"

    def __init__(
        self, beta: Numbers | None = None, *, half_life: Numbers | None = None, span: Numbers | None = None
    ) -> None:
        given = {"beta": beta, "half_life": half_life, "span": span}
        named = {name: value for name, value in given.items() if value is not None}
        if len(named) != 1:
            raise ValueError(
                f"Exponential needs exactly one of beta, half_life and span; got {', '.join(named) or 'none'}. "
                "Exponential(0.999) and Exponential(half_life=1000) are typical."
            )
        ((name, value),) = named.items()
        betas = _per_lane(value, _BETA[name])
        if not _all(betas, lambda beta: 0.0 < beta < 1.0):
            raise ValueError(
                f"Exponential needs {_BETA_RANGE[name]}; got {name}={value!r}. For no forgetting at all use Infinite()."
            )
        object.__setattr__(self, "beta", betas)

    @property
    def lanes(self) -> int | None:
        """The number of values in `beta`; None if it is a plain number."""
        return _length(self.beta)

    @property
    def memory(self) -> float:
        """1/(1 - β) events; with several lanes, that of the longest."""
        return 1.0 / (1.0 - max(self.beta) if isinstance(self.beta, tuple) else 1.0 - self.beta)

    def native(self) -> _core.Window:
        """The window as the core has it."""
        return _core.Window.decay(np.atleast_1d(np.asarray(self.beta, dtype=np.float64)))


@record(init=False)
class HalfLife(Window):
    """The weight of past events decays with event time: it halves every τ, however many events arrive in between.

    δ_{n,N} = c_n·2^(-(clock_N - t_n)/τ)

    `tau` is a number in the unit of the event times, or a timedelta (then these are in seconds). A late event,
    with t_n before the clock, starts with the weight that an event of that time has by now.

    >>> HalfLife(timedelta(minutes=1))
    HalfLife(tau=60.0)
    """

    tau: PerLane
    name: ClassVar[str] = "half_life"

    def __init__(self, tau: Durations) -> None:
        taus = _per_lane(tau, _seconds)
        if not _all(taus, lambda tau: 0.0 < tau < math.inf):
            raise ValueError(
                f"HalfLife needs a finite tau > 0, as a number, a timedelta, or one per lane; got tau={tau!r}. "
                "For no forgetting at all use Infinite()."
            )
        object.__setattr__(self, "tau", taus)

    @property
    def uses_time(self) -> bool:
        """True: the weights depend on event time."""
        return True

    @property
    def lanes(self) -> int | None:
        """The number of values in `tau`; None if it is a plain number."""
        return _length(self.tau)

    def native(self) -> _core.Window:
        """The window as the core has it."""
        return _core.Window.half_life(np.atleast_1d(np.asarray(self.tau, dtype=np.float64)))


@record(init=False)
class Sliding(Window):
    """Only the newest events count, all equally: the last `length` events, or those of the last `duration` (C3).

    δ_{n,N} = c_n if n > N - length, else 0
    δ_{n,N} = c_n if t_n > clock_N - duration, else 0

    `duration` is a number in the unit of the event times, or a timedelta (then these are in seconds). The rows of the
    window are kept, so memory is O(rows in the window · non-zeros per row); in return the learner can `refine` and
    `unlearn`. A late event that has already expired counts in N and has no other effect.

    >>> Sliding(1000)
    Sliding(length=1000, duration=None)
    """

    length: int | None
    duration: float | None
    name: ClassVar[str] = "sliding"

    def __init__(self, length: SupportsIndex | None = None, *, duration: Duration | None = None) -> None:
        if (length is None) == (duration is None):
            came = "neither" if length is None else "both"
            raise ValueError(
                f"Sliding needs either length (events) or duration (event time); got {came}. "
                "Sliding(1000) and Sliding(duration=timedelta(hours=1)) are typical."
            )
        object.__setattr__(self, "length", None if length is None else _length_of_window(length))
        object.__setattr__(self, "duration", None if duration is None else _duration_of_window(duration))

    @property
    def uses_time(self) -> bool:
        """True for a duration, False for a length."""
        return self.duration is not None

    @property
    def memory(self) -> float:
        """`length` events."""
        return super(Sliding, self).memory if self.length is None else float(self.length)  # noqa: UP008 - slots make another class

    def native(self) -> _core.Window:
        """The window as the core has it."""
        if self.duration is not None:
            return _core.Window.duration(self.duration)
        assert self.length is not None  # one of the two is set: __init__
        return _core.Window.count(self.length)


@record
class Automatic(Window):
    """Several windows are tried, and the model under the one that has predicted best lately answers: window="auto".

    They are infinite, and exponential with half-lives of 30, 300 and 3,000 events; docs/options.md has the details.
    """

    name: ClassVar[str] = "auto"

    @property
    def memory(self) -> float:
        """That of the longest."""
        return self.fixed.memory

    @property
    def fixed(self) -> Window:
        """Infinite()."""
        return Infinite()

    def native(self) -> _core.Window:
        """The window as the core has it: the candidates bring their own factors."""
        return self.fixed.native()


WINDOWS: tuple[type[Window], ...] = (Infinite, Exponential, HalfLife, Sliding)
"""Those that weight events. `Automatic` is none of them: it stands for several."""


def _beta_of_half_life(value: object) -> float:
    half_life = real(value)
    return 2.0 ** (-1.0 / half_life) if half_life > 0.0 else math.nan


def _beta_of_span(value: object) -> float:
    span = real(value)
    return 1.0 - 2.0 / (span + 1.0) if span > 1.0 else math.nan


_BETA: dict[str, Callable[[object], float]] = {
    "beta": real,
    "half_life": _beta_of_half_life,
    "span": _beta_of_span,
}
_BETA_RANGE = {
    "beta": "0 < beta < 1, a number or one per lane",
    "half_life": "half_life > 0 (in events, and short enough that 2^(-1/half_life) is below 1 in a double)",
    "span": "span > 1 (in events, and short enough that 1 - 2/(span + 1) is below 1 in a double)",
}


def _seconds(value: object) -> float:
    """A duration as a float, in seconds if it has a unit; NaN if it is not a duration."""
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, np.timedelta64):
        # Months and years have no fixed length, so NumPy cannot convert them.
        calendar = np.datetime_data(value.dtype)[0] in {"Y", "M"}
        return math.nan if calendar else float(value / np.timedelta64(1, "s"))
    return real(value)


def _per_lane(value: object, read: Callable[[object], float]) -> PerLane:
    """One number, or a tuple of one per lane."""
    if isinstance(value, Sequence | np.ndarray) and not isinstance(value, str) and np.ndim(value) == 1:
        return tuple(read(one) for one in value)
    return read(value)


def _all(value: PerLane, holds: Callable[[float], bool]) -> bool:
    """Whether a condition holds for the number, or for those of all lanes (at least one)."""
    lanes = value if isinstance(value, tuple) else (value,)
    return bool(lanes) and all(holds(one) for one in lanes)


def _length(value: PerLane) -> int | None:
    return len(value) if isinstance(value, tuple) else None


def _length_of_window(given: Any) -> int:
    # NumPy counts a timedelta64 among the integers.
    whole = isinstance(given, SupportsIndex) and not isinstance(given, np.timedelta64)
    length = operator.index(given) if whole else 0
    if not 1 <= length < 2**62:
        raise ValueError(
            f"Sliding needs a whole number of events, 1 <= length < 2**62; got length={given!r}. "
            "For a period of event time use Sliding(duration=...)."
        )
    return length


def _duration_of_window(given: object) -> float:
    duration = _seconds(given)
    if not 0.0 < duration < math.inf:
        raise ValueError(
            f"Sliding needs a finite duration > 0, a number or a timedelta; got duration={given!r}. "
            "For a number of events use Sliding(length)."
        )
    return duration


WORDS: dict[str, Window] = {"auto": Automatic(), "infinite": Infinite()}
UNITS = {"s": 1.0, "min": 60.0, "h": 3600.0, "d": 86400.0, "w": 604800.0}


def as_window(window: Window | str | float) -> Window:
    """A window from "auto" or "infinite", from a whole number (the last events) or a number below one (the factor β).

    Of event time in seconds: "36h" is a sliding window, "half-life:7d" fades. Units are s, min, h, d and w.

    >>> as_window("36h"), as_window("half-life:7d")
    (Sliding(length=None, duration=129600.0), HalfLife(tau=604800.0))
    """
    if isinstance(window, Window):
        return window
    if isinstance(window, str) and window in WORDS:
        return WORDS[window]
    if isinstance(window, str):
        name, colon, parameter = window.partition(":")
        seconds = _seconds_in(parameter if colon else name)
        if name in {"half-life", "half_life"} and seconds > 0.0:
            return HalfLife(seconds)
        if not colon and seconds > 0.0:
            return Sliding(duration=seconds)
    elif not isinstance(window, bool):
        if hasattr(window, "__index__"):
            return Sliding(whole(window, "window"))
        if 0.0 < real(window) < 1.0:
            return Exponential(float(window))
    raise ValueError(
        "window must be 'auto', 'infinite', a whole number (a sliding window of that many events), a number between 0 and 1 "
        "(exponential forgetting), a duration such as '36h' (a sliding window of event time; units are "
        f"{', '.join(UNITS)}), 'half-life:7d', or an object such as HalfLife(3600.0); got {window!r}."
    )


def _seconds_in(text: str) -> float:
    """A number with a unit of time; NaN if the text is something else."""
    found = re.fullmatch(rf"(\d+\.?\d*|\.\d+)({'|'.join(UNITS)})", text)
    return float(found[1]) * UNITS[found[2]] if found else math.nan
