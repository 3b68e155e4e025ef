"""X with strings, categories, dates or missing values: its columns as features, the same as those of a file with these columns."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from odca import _core
from odca.features.spec import Features, feature_names
from odca.io import container, model_file
from odca.stream.read.relations import is_table
from odca.stream.read.schema import Schema
from odca.stream.read.stream import open as open_stream

NAMES = {"schema": "frame.schema", "names": "frame.names", "ends": "frame.name_ends"}
"""What the arrays of a model file are called."""


class FrameSpace:
    """From the columns of X to the features of a learner. New features are numbered in the order in which they appear."""

    def __init__(self, vocabulary: _core.Vocabulary, schema: Schema | None = None) -> None:
        self.vocabulary, self.schema = vocabulary, schema

    @classmethod
    def beginning_with(cls, columns: Sequence[str]) -> Self:
        """For a learner whose features so far are these columns of numbers."""
        vocabulary, keys = _core.Vocabulary(), [name.encode() for name in columns]
        vocabulary.restore(b"".join(keys), np.cumsum([len(key) for key in keys], dtype=np.int64))
        return cls(vocabulary)

    def copy(self) -> Self:
        """One that may grow while this one stays as it is."""
        vocabulary = _core.Vocabulary()
        vocabulary.restore(self.vocabulary.packed(), self.vocabulary.ends())
        return type(self)(vocabulary, self.schema)

    def rows(self, X: Any, columns: Sequence[str] | None, *, learning: bool) -> Any:
        """The features of each row of X, as a CSR array. Unless `learning`, those that are new are ignored.

        columns: the names of the columns of an array; None for x0, x1, ...
        """
        if len(X) == 0:
            raise ValueError("Found array with 0 sample(s) while a minimum of 1 is required.")
        table = _as_table(X, columns)
        _require_finite(X)
        if self.schema is not None:
            how: dict[str, Any] = {"schema": self.schema, "labelled": False}
        else:
            how = {"features": Features()}
        with open_stream(table, vocabulary=self.vocabulary, grow=learning, threads=1, **how) as stream:
            read = list(stream)
            if learning:
                schema = self.schema or stream.schema
                for block in read:
                    schema = replace(schema, dates=schema.dates.with_learned(block.rows))
                self.schema = schema
        blocks = [block.X for block in read]
        width = len(self.vocabulary)
        for block in blocks:
            block.resize((block.shape[0], width))
        return sp.csr_array(sp.vstack(blocks, format="csr")) if len(blocks) > 1 else blocks[0]

    def names(self) -> list[str]:
        """The names of the features, by index."""
        return feature_names(self.vocabulary.keys())

    def as_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """For a model file."""
        assert self.schema is not None
        about = json.dumps(model_file.encode(self.schema.as_options()))
        return {
            NAMES["schema"]: np.frombuffer(about.encode(), np.uint8),
            NAMES["names"]: np.frombuffer(self.vocabulary.packed(), np.uint8),
            NAMES["ends"]: self.vocabulary.ends(),
        }

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self).from_arrays, (self.as_arrays(),)

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, npt.NDArray[Any]]) -> Self:
        """The reverse. ValueError (or the like) for what `as_arrays` cannot have made."""
        about = container.from_json(container.vector(arrays, NAMES["schema"], np.uint8).tobytes())
        space = cls(_core.Vocabulary(), Schema.from_options(model_file.decode(about)))
        names = container.vector(arrays, NAMES["names"], np.uint8).tobytes()
        space.vocabulary.restore(names, container.vector(arrays, NAMES["ends"], np.int64))
        return space


def needs_space(X: Any) -> bool:
    """Whether X holds text, categories, dates, or missing values."""
    if sp.issparse(X):
        return False
    if is_table(X):
        return has_categories(X) or not _are_numbers(np.asarray(X))
    return not _are_numbers(np.asarray(X))


def has_categories(X: Any) -> bool:
    """Whether X is a data frame of pandas with categories, which could be taken for numbers."""
    return any(getattr(dtype, "name", "") == "category" for dtype in getattr(X, "dtypes", ()))


def _are_numbers(array: npt.NDArray[Any]) -> bool:
    if array.ndim != 2 or not array.size or array.dtype.kind in "biuc":
        return True  # or nothing that could be read as columns: the error says so
    return array.dtype.kind == "f" and not np.isnan(array).any()


def _as_table(X: Any, columns: Sequence[str] | None) -> Any:
    if is_table(X):
        return X
    names = names_of_columns(X) if columns is None else columns
    return [dict(zip(names, row, strict=True)) for row in np.asarray(X).tolist()]


def _require_finite(X: Any) -> None:
    """ValueError for an infinite number; a file could mean a missing value by it."""
    columns = (np.asarray(X[name]) for name in X.columns) if is_table(X) else (np.asarray(X),)
    if any(column.dtype.kind == "f" and np.isinf(column).any() for column in columns):
        raise ValueError("Input X contains infinity or a value too large for dtype('float64').")


def names_of_columns(X: Any) -> list[str]:
    """The names of the columns of X: x0, x1, ... if they have none."""
    if is_table(X):
        return [str(name) for name in X.columns]
    array = np.asarray(X)
    if array.ndim != 2:
        raise ValueError(f"Expected 2D array, got {array.ndim}D array instead. Give a row for each event.")
    return [f"x{place}" for place in range(array.shape[1])]
