"""The caller's arrays, checked once at the boundary and brought into the form the core reads.

Values inside the rows (NaN, labels outside a loss's domain, ...) are checked by the core as it reads them.
"""

import sys
from datetime import date
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from odca import _core
from odca.errors import InputError

Array: TypeAlias = npt.NDArray[np.float64]


def as_matrix(X: Any) -> tuple[_core.Matrix, int, int]:
    """X as a native matrix, with its rows and columns. Dense or sparse; copied only where it must be."""
    if isinstance(X, _core.TextBlock):
        return X.matrix(), len(X), X.width
    if hasattr(X, "tocsr"):
        return _from_sparse(X.tocsr())
    dense = _numbers(X, "X")
    if any(stride % dense.itemsize for stride in dense.strides):  # a field of a structured array
        dense = np.ascontiguousarray(dense)
    if dense.ndim != 2:
        raise ValueError(
            f"X must have two dimensions, events by features; got shape {dense.shape}. "
            "Use X.reshape(1, -1) for a single event, X.reshape(-1, 1) for a single feature."
        )
    return _core.Matrix.dense(dense), dense.shape[0], dense.shape[1]


def _from_sparse(csr: Any) -> tuple[_core.Matrix, int, int]:
    if len(csr.shape) != 2:
        raise ValueError(f"X must have two dimensions, events by features; got a sparse array of shape {csr.shape}.")
    rows, width = csr.shape
    if width >= 2**31 - 1:
        raise ValueError(
            f"X has {width} columns; at most {2**31 - 2} can be indexed. Hash the features into fewer columns."
        )
    index: Any = np.int64 if np.int64 in {csr.indptr.dtype.type, csr.indices.dtype.type} else np.int32
    starts: Any = np.ascontiguousarray(csr.indptr, dtype=index)
    indices: Any = np.ascontiguousarray(csr.indices, dtype=index)
    if len(starts) != rows + 1:
        raise ValueError(f"X is not a valid CSR matrix: {rows} rows need {rows + 1} offsets; got {len(starts)}.")
    return _core.Matrix.csr(starts, indices, np.ascontiguousarray(_numbers(csr.data, "X")), width), rows, width


def as_columns(values: Any, name: str, rows: int, lanes: int) -> Array:
    """Labels, weights or offsets as a matrix with one column per lane, or one that all lanes share."""
    array = as_floats(values, name)
    allowed = [(rows,), (rows, 1), (rows, lanes)] if lanes > 1 else [(rows,), (rows, 1)]
    if array.shape not in allowed:
        wanted = " or ".join(str(shape) for shape in allowed)
        raise ValueError(f"{name} must have shape {wanted} to go with X; got {array.shape}.")
    return array.reshape(rows, -1) if rows else array.reshape(0, lanes)


def as_times(values: Any, rows: int) -> Array:
    """Event times as numbers: datetimes in seconds, numbers unchanged."""
    array = np.asarray(values)
    if array.dtype == object and array.size and all(type(moment) is date for moment in array.flat):
        array = array.astype("datetime64[D]")
    if array.dtype == object and array.size and hasattr(array.flat[0], "timestamp"):
        if not all(hasattr(moment, "timestamp") for moment in array.flat):
            raise ValueError("time must be all datetimes or all numbers; some of the entries are neither.")
        array = np.array([moment.timestamp() for moment in array.flat])
    if array.dtype.kind == "M":
        if np.isnat(array).any():
            row = int(np.argmax(np.isnat(array)))
            raise InputError(f"time must be a time for every event; row {row} is NaT.", row=row)
        array = array.astype("datetime64[us]").astype(np.int64) / 1e6  # microseconds reach 290,000 years
    array = as_floats(array, "time")
    if array.shape != (rows,):
        raise ValueError(f"time must have shape ({rows},) to go with X; got {array.shape}.")
    return array


def as_floats(values: Any, name: str) -> Array:
    """Any numbers as a contiguous array of float64."""
    return np.asarray(_numbers(values, name), dtype=np.float64, order="C")


def _numbers(values: Any, name: str) -> npt.NDArray[Any]:
    """Float32 and float64 are returned unchanged; whole numbers and booleans become float64."""
    # A masked array can only exist if numpy.ma was imported, which takes a while.
    if type(values) is not np.ndarray and "numpy.ma" in sys.modules and np.ma.is_masked(values):
        raise ValueError(f"{name} has masked entries. Fill them, or leave out their rows: the mask would be ignored.")
    try:
        array = np.asarray(values)
        if array.dtype.type in {np.float32, np.float64} and array.dtype.isnative:
            return array
        if array.dtype.kind in "fiubO":
            return array.astype(np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"{name} must hold numbers, in rows of one length: {error}.") from error
    raise ValueError(f"{name} must hold numbers; got an array of {array.dtype}. Encode categories as features first.")
