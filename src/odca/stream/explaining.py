"""What each feature of an event adds to its prediction, for a model that was trained on files."""

from collections.abc import Iterator, Sequence
from typing import Any, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from odca.features.spec import feature_names
from odca.learner import Learner
from odca.models.auto import AutoLearner
from odca.models.auto_report import product_name
from odca.validation.arrays import Array, as_matrix

INTERCEPT, PREVIOUS_LABELS = "", "previous labels"
Explanation: TypeAlias = dict[str, Any]
"""What each feature adds, by name: a number, or an array with one for each of several classes."""


class Rows(Protocol):
    """The features of events, one row after the other."""

    @property
    def indptr(self) -> npt.NDArray[Any]:
        """Where each row begins, and the last one ends."""

    @property
    def indices(self) -> npt.NDArray[Any]:
        """The features."""

    @property
    def data(self) -> npt.NDArray[Any]:
        """Their values."""


class FeatureNames:
    """The readable names of features by index: of keys, or of what stands for names that are not kept."""

    def __init__(self, keys: Sequence[bytes], form: str) -> None:
        self._names, self._form = feature_names(keys) if keys else [], form

    def __getitem__(self, index: int) -> str:
        return self._names[index] if index < len(self._names) else self._form.format(index)

    def listed(self) -> list[str]:
        """Those that have names."""
        return self._names


def explain_rows(
    learner: Learner | AutoLearner, rows: Rows, names: FeatureNames, *, outputs: int, steady: bool
) -> Iterator[Explanation]:
    """What the features of each row add to its margins, of which there are so many `outputs`."""
    if isinstance(learner, AutoLearner):
        return _explain_automatic(learner, rows, names, steady=steady)
    return _explain_linear(learner, rows, names, outputs)


def _explain_linear(learner: Learner, rows: Rows, names: FeatureNames, outputs: int) -> Iterator[Explanation]:
    """What the features of each row add to its margins, of the first `outputs` lanes."""
    weights = learner.weights_by_feature(smoothed=learner.smoothing > 0.0)[:, :outputs]
    first = int(learner.has_intercept)
    for begin, end in zip(rows.indptr[:-1], rows.indptr[1:], strict=True):
        found = {INTERCEPT: _shown(weights[0])} if first else {}
        for index, value in zip(rows.indices[begin:end].tolist(), rows.data[begin:end].tolist(), strict=True):
            if first + index < len(weights):
                found[names[index]] = _shown(weights[first + index] * value)
        if learner.products:
            row = _row(rows.indices[begin:end], rows.data[begin:end], len(weights) - first)
            for each in learner.products:
                part = each.values(row)[0] * np.array(each.weights[:outputs])
                found[product_name(each.features, names.listed())] = _shown(part)
        yield found


def _explain_automatic(learner: AutoLearner, rows: Rows, names: FeatureNames, *, steady: bool) -> Iterator[Explanation]:
    """What the features of each row add to its prediction; of the live answer, by a linear approximation near the row."""
    for begin, end in zip(rows.indptr[:-1], rows.indptr[1:], strict=True):
        row = _row(rows.indices[begin:end], rows.data[begin:end], learner.n_features)
        features, slopes, labels, rest, products, pairs = learner.native.explain(as_matrix(row)[0], steady=steady)
        of = {int(index): slope for index, slope in zip(features, slopes, strict=True)}
        found: Explanation = {INTERCEPT: _of_classes(learner, rest)}
        for index, value in zip(row.indices.tolist(), row.data.tolist(), strict=True):
            if index in of:
                found[names[index]] = _of_classes(learner, of[index] * value)
        for pair, part in zip(pairs.tolist(), products, strict=True):
            found[product_name(pair, names.listed())] = _of_classes(learner, part)
        if not steady:
            found[PREVIOUS_LABELS] = _of_classes(learner, labels)
        yield found


def _row(indices: npt.NDArray[Any], values: npt.NDArray[Any], width: int) -> Any:
    """A row of the features that a model of this width knows."""
    from scipy.sparse import csr_array  # noqa: PLC0415 - slow to import

    known = indices < width
    return csr_array((values[known], indices[known], [0, int(known.sum())]), shape=(1, width))


def _of_classes(learner: AutoLearner, parts: Array) -> Any:
    return _shown(learner.shaped(parts[None])[0])


def _shown(parts: Any) -> Any:
    """A number, or an array with one for each of several classes."""
    array = np.asarray(parts, dtype=np.float64)
    return float(array.ravel()[0]) if array.size == 1 else array.copy()
