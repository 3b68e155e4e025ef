"""The table of runs, and the hashes of their results."""

import functools
import hashlib
import itertools
import json
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np

Parts = Iterator[tuple[str, Any]]
"""What a run yields: the name of a part, and what it holds."""
RUNS: dict[str, Callable[[], Parts]] = {}


class Skipped(Exception):  # noqa: N818 - nothing is wrong
    """There are no data for a run."""


def add(name: str, run: Callable[..., Parts], *args: Any, **kwargs: Any) -> None:
    """Put a run into the table."""
    assert name not in RUNS, name
    RUNS[name] = functools.partial(run, *args, **kwargs)


def alone(name: str) -> Callable[[Callable[[], Parts]], Callable[[], Parts]]:
    """Put a function into the table as it is."""

    def put(run: Callable[[], Parts]) -> Callable[[], Parts]:
        add(name, run)
        return run

    return put


def fingerprint(name: str, run: Callable[[], Parts]) -> Iterator[tuple[str, str]]:
    """The hashes of a run by name, as far as it goes."""
    try:
        for part, value in run():
            yield f"{name}: {part}", digest(value)
    except Skipped as reason:
        yield name, f"SKIPPED: {reason}"
    except Exception as error:  # noqa: BLE001 - one that fails must not stop the others
        yield name, f"ERROR: {type(error).__name__}: {error}"


def digest(value: Any) -> str:
    """The SHA-256 of any nest of numbers, arrays, texts, lists and dictionaries."""
    sha = hashlib.sha256()
    feed(sha.update, value)
    return sha.hexdigest()


def feed(update: Callable[[bytes], None], value: Any) -> None:
    """Feed the bits of a value to a hash; each kind behind its name, so that nothing looks like something else."""
    if isinstance(value, Mapping):
        update(b"map %d " % len(value))
        for key in sorted(value, key=str):
            feed(update, str(key))
            feed(update, value[key])
    elif isinstance(value, bytes):
        update(b"bytes %d " % len(value) + value)
    elif isinstance(value, str):
        update(b"text %d " % len(value.encode()) + value.encode())
    elif value is None or isinstance(value, bool | np.bool_):
        update(b"none " if value is None else b"true " if value else b"false ")
    elif isinstance(value, Real):
        update(b"number " + np.float64(value).tobytes())
    elif isinstance(value, np.ndarray) and value.dtype.kind not in "OU":
        update(f"array {value.dtype.str} {value.shape} ".encode() + np.ascontiguousarray(value).tobytes())
    elif isinstance(value, list | tuple | np.ndarray):
        update(b"list %d " % len(value))
        for each in value:
            feed(update, each)
    else:
        raise TypeError(f"how is a {type(value).__name__} hashed?")


def arrays_of(path: Path) -> dict[str, Any]:
    """The arrays of a safetensors file, by plain reading."""
    data = path.read_bytes()
    behind = 8 + int.from_bytes(data[:8], "little")
    header = json.loads(data[8:behind])
    header.pop("__metadata__", None)
    places = {name: [behind + place for place in entry["data_offsets"]] for name, entry in header.items()}
    return {
        name: [entry["dtype"], entry["shape"], data[places[name][0] : places[name][1]]]
        for name, entry in header.items()
    }


def saved(model: Any, *, file_bytes: bool = False) -> Parts:
    """What the file of a model holds."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.safetensors")
        model.save(path)
        yield "file arrays", arrays_of(path)
        if file_bytes:
            yield "file bytes", path.read_bytes()


def named(*choices: Iterable[Any]) -> Iterator[tuple[Any, ...]]:
    """All combinations, with the name of each in front: names of dictionaries are looked up."""
    for keys in itertools.product(*choices):
        values = [of[key] if isinstance(of, dict) else key for of, key in zip(choices, keys, strict=True)]
        yield "/".join(map(str, keys)), *values
