"""Model files of every kind with something changed and the checksum made right.

Each is refused with an error of ours, in little memory and time; or it is a model whose contents, predictions and further learning
are finite, and which is saved and loaded to the same bits.
"""

import random
import re
import tempfile
import traceback
from pathlib import Path
from typing import Any

import numpy as np

from hostile.children import failures_of
from hostile.mutations import mutated
from hostile.outcome import Outcome
from hostile.specimens import NAMES, Specimen, specimen
from hostile.uses import data_of
from odca.errors import InputError

NOT_OURS = re.compile(r"bad_cast|std::|incompatible function arguments|nanobind|__init__\(\)|object has no attribute")
UNBOUNDED = re.compile(r"(^|/)(clock|timeline\..*\.(node_)?(low|high))$")
"""Arrays in which an infinity has its place: no time yet, no event yet."""


def long_run(count: int, seed: int) -> Outcome:
    return Outcome("mutated model files", count, failures_of(tried, range(count), seed))


def tried(number: int, seed: int) -> list[str]:
    """Try one file; a line for each thing that is not as it should be."""
    draw = random.Random(f"{seed} {number}")
    name = NAMES[number % len(NAMES)]
    whole = specimen(name)
    data = mutated(whole.data, specimen(draw.choice(NAMES)).data, draw)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.safetensors"
        path.write_bytes(data)
        fault = _fault_of(whole, path)
    return [f"{name}: {fault}"] if fault else []


def _fault_of(whole: Specimen, path: Path) -> str:
    try:
        model = whole.load(path)
    except ValueError as error:
        return f"an error that is not ours: {error}" if NOT_OURS.search(str(error)) else ""
    except MemoryError:
        return "" if b'"sparse"' in path.read_bytes()[:100_000] else f"loading: {last_words()}"  # zeros, up to 4 GB
    except Exception:  # noqa: BLE001 - any other is a fault, and is reported
        return f"loading: {last_words()}"
    try:
        return _fault_of_loaded(model, whole, path)
    except (
        InputError
    ) as error:  # options of reading that are others now, or a past with huge numbers: this event does not fit them
        is_refused = re.search("is at fault|must hold numbers, of at most 1e100", str(error))
        return "" if is_refused else f"using: {last_words()}"
    except Exception:  # noqa: BLE001 - the same
        return f"using: {last_words()}"


def _fault_of_loaded(model: Any, whole: Specimen, path: Path) -> str:
    if not hasattr(model, "saved"):  # a delta
        return _not_finite(whole, model)
    for _ in range(2):
        data = data_of(model)
        if unsound := [name for name, array in model.saved().all_arrays().items() if not _is_finite(name, array)]:
            return f"loaded with numbers that are not finite: {unsound}"
        path.write_bytes(data)
        again = whole.load(path)
        if data_of(again) != data:
            return "saved and loaded it is another one"
        if fault := _not_finite(whole, model):
            return fault
    return ""


def _not_finite(whole: Specimen, model: Any) -> str:
    for name, numbers in whole.use(model):
        if not np.all(np.isfinite(np.asarray(numbers, dtype=float))):
            return f"{name} is not finite"
    return ""


def _is_finite(name: str, array: np.ndarray) -> bool:
    if array.dtype.kind != "f" or "metrics." in name or UNBOUNDED.search(name):
        return True
    return bool(np.all(np.isfinite(array)))


def last_words() -> str:
    """The error that was caught last, and where it was raised."""
    lines = traceback.format_exc().strip().splitlines()
    places = [line.strip() for line in lines if line.startswith("  File")]
    return f"{lines[-1][:300]} ({places[-1].split('/')[-1]})"
