"""Real data for tests that want it: found on this machine, never downloaded, skipped where there is none."""

import functools
import gzip
import os
from pathlib import Path
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

ROOT = Path(__file__).resolve().parent.parent


class Split(NamedTuple):
    """Rows to learn from, in a random order, and rows to be judged by. Labels are -1 and +1."""

    X: sp.csr_array
    y: np.ndarray
    X_test: sp.csr_array
    y_test: np.ndarray


def places() -> list[Path]:
    """Where data may be: $ODCA_DATA, then ../shared/data beside the repository."""
    given = os.environ.get("ODCA_DATA")
    return [*([Path(given)] if given else []), ROOT.parent / "shared" / "data"]


def find(name: str) -> Path | None:
    """The file of that name, or None."""
    return next((place / name for place in places() if (place / name).is_file()), None)


def path_of(name: str) -> Path:
    """The file of that name; the test that asks is skipped where there is none."""
    found = find(name)
    if found is None:
        import pytest

        looked = ", ".join(map(str, places()))
        pytest.skip(f"{name} is in none of {looked}: set ODCA_DATA to a folder that has it")
    return found


def read_libsvm(path: Path, features: int | None = None) -> tuple[sp.csr_array, np.ndarray]:
    """Read rows and labels of a gzipped file of lines `label index:value ...`, indices counted from 1."""
    lines = gzip.decompress(path.read_bytes()).decode("ascii").split("\n")
    split = [line.partition(" ") for line in lines if line]
    labels = np.array([float(label) for label, _, _ in split])
    counts = np.array([pairs.count(":") for _, _, pairs in split])
    numbers = np.fromstring(" ".join(pairs for _, _, pairs in split).replace(":", " "), sep=" ")
    indices, values = numbers[0::2].astype(np.int32) - 1, numbers[1::2].copy()
    offsets = np.concatenate([[0], np.cumsum(counts)])
    width = features or int(indices.max()) + 1
    return sp.csr_array((values, indices, offsets), shape=(len(labels), width)), labels


@functools.cache
def load(name: str) -> Split:
    """a6a and rcv1sub with their own test rows; w8a, which has none, with its last fifth. Shuffled with seed 0."""
    features = {"a6a": 123, "rcv1sub": 47_236, "w8a": 300}[name]
    X, y = read_libsvm(path_of(f"{name}.gz"), features)
    order = np.random.default_rng(0).permutation(len(y))
    X, y = X[order], y[order]
    if name == "w8a":
        learn = len(y) * 4 // 5
        return Split(X[:learn], y[:learn], X[learn:], y[learn:])
    return Split(X, y, *read_libsvm(path_of(f"{name}.t.gz"), features))
