"""Random calls of every public class, with arguments that are mostly right, often odd and sometimes wrong.

A call that is refused raises an error of ours and leaves the model as it was, to the bit. One that is accepted leaves a model that
is finite, and so is what it returns. Reading changes nothing. Now and then the same events are learned at once and one by one.
"""

import random
import re
import traceback
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from hostile.callers import FACES
from hostile.children import failures_of
from hostile.drawn_options import Call
from hostile.mutated_files import UNBOUNDED, last_words
from hostile.outcome import Outcome

CALLS = 25  # on one model
NOT_OURS = re.compile(r"bad_cast|std::|object has no attribute|__init__\(\)")

UNBOUNDED_RESULTS = ("objective", "dual_objective", "duality_gap", "fit", "refine", "predict_log_proba")
"""What may be infinite, and is right then."""


class Refused(NamedTuple):
    """An error of ours."""

    error: Exception


def long_run(count: int, seed: int) -> Outcome:
    sessions = -(-count // CALLS)
    return Outcome("random calls", sessions * CALLS, failures_of(tried, range(sessions), seed))


def tried(number: int, seed: int) -> list[str]:
    """Make some calls on one model; a line for the first thing that is not as it should be."""
    draw = random.Random(f"{seed} {number}")
    name = draw.choice(list(FACES))
    face = FACES[name]
    model = before = None
    for _ in range(CALLS):
        if model is None or before is None:
            made = _called(lambda: face.make(draw))
            if isinstance(made, str):
                return [f"{name}, making one: {made}"]
            if not isinstance(made, Refused):
                model, before = made, contents(made)
            continue
        call = face.call(model, draw)
        result = _called(call.function)
        after = contents(model)
        if fault := _fault_of(call, result, before, after):
            return [f"{name}.{call.name}: {fault}"]
        before = after
    return []


def _fault_of(call: Call, result: Any, before: "Contents", after: "Contents") -> str:
    if isinstance(result, str):
        return result
    if isinstance(result, Refused):
        return (
            "" if after == before else f"it was refused ({result.error}), and has changed {_different(before, after)}"
        )
    if not call.changes and after != before:
        return f"it only reads, and has changed {_different(before, after)}"
    if call.name not in UNBOUNDED_RESULTS and not _is_finite(result):
        return f"it returned {result!r:.200}"
    if unsound := [name for name, array in after.arrays.items() if not _is_finite_part(name, array)]:
        return f"afterwards these are not finite: {unsound}"
    return ""


def _called(function: Callable[[], Any]) -> Any:
    """The result; Refused, with an error of ours; or what is wrong, as a text."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            warnings.filterwarnings("error", category=RuntimeWarning, module="odca")  # numbers that overflow on the way
            return _not_text(function())
    except OverflowError as error:
        return Refused(error) if "site-packages/sklearn/" in traceback.format_exc() else last_words()
    except (ValueError, TypeError, KeyError) as error:
        return f"an error that is not ours: {last_words()}" if NOT_OURS.search(str(error)) else Refused(error)
    except MemoryError as error:
        return Refused(error)
    except Exception:  # noqa: BLE001 - any other is a fault, and is reported
        return last_words()


def _not_text(result: Any) -> Any:
    return [result] if isinstance(result, str) else result


class Contents(NamedTuple):
    """All that a file would hold of a model, to be compared."""

    data: bytes
    arrays: dict[str, np.ndarray]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Contents) and self.data == other.data

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = None  # type: ignore[assignment] # it holds arrays


def contents(model: Any) -> Contents:
    try:
        saved = model.saved()
        parts = [repr(saved.described()).encode()]
    except (
        AttributeError,
        ValueError,
        TypeError,
    ) as error:  # a new estimator has nothing to save, and odd options cannot be
        return Contents(repr(type(error)).encode() + repr(sorted(vars(model))).encode(), {})
    arrays = saved.all_arrays()
    for name in sorted(arrays):
        parts += [name.encode(), str(arrays[name].shape).encode(), arrays[name].tobytes()]
    return Contents(b"\0".join(parts), arrays)


def _different(before: Contents, after: Contents) -> list[str]:
    names = before.arrays.keys() | after.arrays.keys()
    return sorted(
        name
        for name in names
        if name not in before.arrays
        or name not in after.arrays
        or before.arrays[name].tobytes() != after.arrays[name].tobytes()
    ) or ["options"]


def _is_finite_part(name: str, array: np.ndarray) -> bool:
    skipped = array.dtype.kind != "f" or "metrics." in name or UNBOUNDED.search(name)
    return bool(skipped) or bool(np.all(np.isfinite(array)))


def _is_finite(result: Any) -> bool:
    if isinstance(result, dict):
        return all(map(_is_finite, result.values()))
    if isinstance(result, list | tuple):
        return all(map(_is_finite, result))
    if isinstance(result, float | np.ndarray | np.floating):
        array = np.asarray(result)
        return array.dtype.kind != "f" or bool(np.all(np.isfinite(array)))
    return True
