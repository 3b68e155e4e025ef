"""Translation of scikit-learn's labels to the codes of a model's classes."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils import assert_all_finite
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from odca.models.turns import at_one_moment
from odca.records import record

DTYPES = "biufUO"
"""The kinds of labels that a file can hold: booleans, numbers, text."""


@record
class Encoded:
    """Labels as codes: their positions in `classes`, which begins with the classes of the model."""

    codes: npt.NDArray[np.intp]
    classes: list[Any]
    declared: list[Any]
    new: list[Any]
    """The classes that were neither known nor declared, in order of appearance."""


def checked_labels(y: Any) -> npt.NDArray[Any]:
    """The labels, one per event. ValueError if one is missing."""
    assert_all_finite(np.asarray(y), input_name="y")
    check_classification_targets(y)
    return np.asarray(column_or_1d(y, warn=True))


def encode(y: npt.NDArray[Any], known: Sequence[Any], declared: Any, *, sort_two: bool) -> Encoded:
    """The codes of labels, for a model with the `known` classes, if others are `declared`.

    With `sort_two`, one or two classes are sorted, so that a single margin is that of the larger label.
    """
    values, first, places = np.unique(y, return_index=True, return_inverse=True)
    found = values[np.argsort(first)].tolist()
    listed = [] if declared is None else np.unique(np.asarray(declared)).tolist()
    classes = list(dict.fromkeys([*known, *listed, *found]))
    if len({isinstance(label, str) for label in classes}) > 1:
        raise ValueError(
            f"y holds {found}, but the classes so far are {[*known, *listed]}: labels must be of one type."
        )
    if sort_two and len(classes) <= 2:
        classes.sort()
    code = {label: place for place, label in enumerate(classes)}
    codes = np.array([code[label] for label in values.tolist()], dtype=np.intp)[places]
    before = {*known, *listed}
    return Encoded(codes, classes, listed, [label for label in found if label not in before])


class WithClasses:
    """An estimator whose model is a classifier. Its `classes_` are sorted; those of the model are in order of appearance."""

    _model: Any
    _class_dtype: np.dtype[Any]

    @property
    @at_one_moment
    def classes_(self) -> npt.NDArray[Any]:
        """The classes, sorted."""
        if "_model" not in self.__dict__:
            raise AttributeError("the classes are known only after fit or partial_fit.")
        return _as_array(sorted(self._model.classes), self._class_dtype)

    def _note_dtype(self, y: npt.NDArray[Any], declared: Any = None) -> None:
        """Remember a type that can hold all labels, including the declared ones: that of the predictions."""
        types = [y.dtype, *([] if declared is None else [np.asarray(declared).dtype])]
        types += [self._class_dtype] if "_class_dtype" in self.__dict__ else []
        is_object = any(each.kind == "O" for each in types)
        self._class_dtype = np.dtype(object) if is_object else np.result_type(*types)

    def _columns(self) -> list[int]:
        """The code of each of `classes_` in the model."""
        return [self._model.classes.index(label) for label in sorted(self._model.classes)]

    def _by_class(self, scores: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Scores (n, classes), or (n, 1) of two, in the order of `classes_`; those of at most two have one dimension."""
        columns = self._columns()
        if len(columns) > 2:
            return scores[:, columns]
        return scores[:, 0] if columns == sorted(columns) else -scores[:, 0]

    def _chosen(self, scores: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """The classes with the highest scores."""
        classes = self.classes_
        if len(classes) == 1:
            return np.repeat(classes, len(scores))
        chosen = (scores > 0.0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
        return np.asarray(classes[chosen])

    # Files

    def _saved_classes(self) -> dict[str, Any]:
        dtype = _as_array(self._model.classes, self._class_dtype).dtype.str
        return {"values": list(self._model.classes), "dtype": dtype}


def _as_array(labels: Sequence[Any], dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    return np.array(labels) if dtype.kind == "U" else np.array(labels, dtype=dtype)


def restored_classes(values: tuple[Any, ...], name: str) -> tuple[list[Any], np.dtype[Any]]:
    """The classes from a file, and their type. ValueError if they are not distinct labels of one type."""
    dtype = np.dtype(name)
    if dtype.kind not in DTYPES or (dtype.kind == "O" and not all(isinstance(each, str) for each in values)):
        raise ValueError(f"its classes are of type {dtype}, which a model file cannot hold.")
    classes = _as_array(values, dtype)
    if classes.dtype.kind != dtype.kind:
        raise ValueError(f"its classes are not of type {dtype}, as it says.")
    if classes.ndim != 1 or not len(classes) or len(set(classes.tolist())) < len(classes):
        raise ValueError("its classes are not distinct.")
    return classes.tolist(), dtype


def class_weights(class_weight: dict[Any, float], labels: Sequence[Any]) -> npt.NDArray[np.float64]:
    """The weights of the classes; 1 for a class without one."""
    return np.array([float(class_weight.get(label, 1.0)) for label in labels])


def times_class_weight(
    weight: npt.NDArray[np.float64] | None, of_class: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    """The weights of events, each times that of its class. One that is too large is infinite, and is refused as such."""
    with np.errstate(over="ignore"):
        return of_class if weight is None else weight * of_class
