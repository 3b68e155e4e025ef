"""What all estimators for scikit-learn share: the checks of X, its columns by number or by name, and the state of being fitted."""

from collections.abc import Mapping
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.utils import check_array
from sklearn.utils.validation import (
    _check_feature_names,
    _check_sample_weight,
    check_consistent_length,
    check_is_fitted,
    validate_data,
)

from odca.io import model_file
from odca.io.model_file import ModelFile
from odca.models.turns import TakesTurns
from odca.sklearn.frames import NAMES, FrameSpace, has_categories, names_of_columns, needs_space
from odca.validation.arrays import Array

FORM: dict[str, Any] = {"accept_sparse": "csr", "dtype": [np.float64, np.float32], "accept_large_sparse": True}


def require_sound_csr(X: Any) -> None:
    """Raise ValueError for a sparse matrix whose rows are not where it says: SciPy would crash when it looks for them."""
    if sp.issparse(X):
        X.check_format(full_check=True)
        if np.any(np.diff(X.indptr) < 0):  # SciPy does not look at them where nothing is stored
            raise ValueError("X is not a valid CSR matrix: its rows do not begin in increasing order (indptr).")


class Estimator(TakesTurns, BaseEstimator):  # type: ignore[misc] # scikit-learn ships no annotations
    """An estimator that takes dense and sparse X, and, if `new_features` says so, columns that it has not seen before."""

    _model: Any
    """The model, which exists after `fit` or `partial_fit`."""
    _class_dtype: np.dtype[Any]
    new_features: str
    n_features_in_: int
    feature_names_in_: npt.NDArray[Any]
    _space: FrameSpace
    """The features of X that is not numbers alone; does not exist otherwise."""

    def _store(self, parameters: dict[str, Any]) -> None:
        """Store the parameters of `__init__`, its `locals()`, as attributes of the same names, which scikit-learn requires."""
        self.__dict__.update({name: value for name, value in parameters.items() if name != "self"})

    def __sklearn_is_fitted__(self) -> bool:
        return "_model" in self.__dict__

    @property
    def learner_(self) -> Any:
        """The learner inside the estimator."""
        if not self.__sklearn_is_fitted__():
            raise AttributeError("there is a learner only after fit or partial_fit.")
        return cast("Any", self._model.learner)

    @property
    def drift_(self) -> Any:
        """What changed while `partial_fit` was learning: when the loss rose, and how much (docs/drift.md).

        With several labels or outputs, a list with that of each.
        """
        check_is_fitted(self)
        found = [metrics.drift for metrics in self._model.metrics_by_output]
        return found[0] if len(found) == 1 else found

    @property
    def coef_names_(self) -> npt.NDArray[Any]:
        """The names of the columns of `coef_`: "price", "city=Rome", "price is missing"; those of X if it holds only numbers."""
        check_is_fitted(self)
        if "_space" in self.__dict__:
            names = self._space.names()[: self.learner_.n_features]
        else:
            names = [str(name) for name in getattr(self, "feature_names_in_", ())]
        return np.array(names or [f"x{place}" for place in range(self.n_features_in_)], dtype=object)

    # X

    def _checked_for_prediction(self, X: Any) -> Any:
        check_is_fitted(self)
        return self._checked(X, reset=False, learning=False)

    def _checked(self, X: Any, *, reset: bool, learning: bool = True) -> Any:
        """X in a form that the learner can read, with the columns in their known order."""
        self._require_new_features()
        if (not reset and "_space" in self.__dict__) or has_categories(X):
            return self._in_space(X, reset=reset, learning=learning)
        try:
            rows = self._checked_numbers(X, reset=reset, learning=learning)
        except (ValueError, TypeError):
            if not learning or not needs_space(X):
                raise
            return self._in_space(X, reset=reset, learning=learning)
        if reset:
            self.__dict__.pop("_space", None)
        return rows

    def _in_space(self, X: Any, *, reset: bool, learning: bool) -> Any:
        """The features of X, which holds strings, categories, dates or missing values. A model of numbers may go on with such X."""
        grows = self.new_features == "learn" and hasattr(self, "feature_names_in_")
        if not grows or reset:
            _check_feature_names(self, X, reset=reset)
            names = names_of_columns(X)
            if not reset and len(names) != self.n_features_in_:
                raise ValueError(
                    f"X has {len(names)} features, but {type(self).__name__} is expecting {self.n_features_in_} features as input."
                )
            self.n_features_in_ = len(names)
        if reset:
            self._space = FrameSpace.beginning_with(())
        elif "_space" not in self.__dict__:
            self._space = self._space_of_numbers(X)
        elif learning:
            self._space = self._space.copy()  # if the call is refused, the model has the one of before
        known = [str(each) for each in getattr(self, "feature_names_in_", ())]
        in_order = len(known) == len(names_of_columns(X))
        return self._space.rows(X, known if in_order else None, learning=learning)

    def _space_of_numbers(self, X: Any) -> FrameSpace:
        """For a model that has learned numbers alone so far. ValueError if it cannot go on with other X."""
        if getattr(self.learner_, "scale", False):
            raise ValueError(
                "X holds missing values or text, but the model began with numbers alone, which it centres. Begin with such X (call fit, or "
                "clone the model), or set scale=False."
            )
        known = getattr(self, "feature_names_in_", None)
        return FrameSpace.beginning_with(names_of_columns(X) if known is None else [str(each) for each in known])

    def _checked_numbers(self, X: Any, *, reset: bool, learning: bool) -> Any:
        """The same for X of numbers alone."""
        if self.new_features == "error":
            return validate_data(self, X, reset=reset, **FORM)
        if reset:
            _check_feature_names(self, X, reset=True)
        names = list(X.columns) if hasattr(X, "columns") else None
        array = check_array(X, **FORM, estimator=self)
        if not reset and names and hasattr(self, "feature_names_in_"):
            array = self._in_known_order(array, names, learning=learning)
        elif not reset and not sp.issparse(array) and array.shape[1] < self.n_features_in_:  # missing columns are zero
            array = np.pad(array, ((0, 0), (0, self.n_features_in_ - array.shape[1])))
        if reset:
            self.n_features_in_ = array.shape[1]
        elif learning:
            self.n_features_in_ = max(self.n_features_in_, array.shape[1])
        return array

    def _require_new_features(self) -> None:
        if self.new_features not in ("error", "learn"):
            raise ValueError(f"new_features must be 'error' or 'learn'; got {self.new_features!r}.")

    def _in_known_order(self, array: Any, names: list[str], *, learning: bool) -> Any:
        """The columns in their known order, by name: missing columns are zero, new ones come last."""
        known = list(self.feature_names_in_)
        new = [name for name in names if name not in set(known)]
        if learning and new:
            self.feature_names_in_ = np.array([*known, *new], dtype=object)
        columns = [*known, *new] if learning else known
        place = {name: at for at, name in enumerate(columns)}
        kept = [at for at, name in enumerate(names) if name in place]
        if sp.issparse(array):
            to = sp.csr_array(
                (np.ones(len(kept)), (kept, [place[names[at]] for at in kept])), (len(names), len(columns))
            )
            return sp.csr_array(array) @ to
        out = np.zeros((len(array), len(columns)), dtype=array.dtype)
        out[:, [place[names[at]] for at in kept]] = array[:, kept]
        return out

    def _weights(self, sample_weight: Any, X: Any, *, online: bool) -> Array | None:
        if sample_weight is None:
            return None
        if online and np.ndim(sample_weight) == 1 and not np.any(sample_weight):  # such events only advance the window
            return np.zeros(len(sample_weight))
        return np.asarray(_check_sample_weight(sample_weight, X, dtype=np.float64))

    def _require_labels(self, X: Any, y: Any) -> None:
        """Raise ValueError unless there is a label for each row."""
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None.")
        check_consistent_length(X, y)

    def _after_an_interruption(self, before: Any, twin: Any) -> None:
        """Keep the columns and the type of the classes of the events that were learned."""
        if "_model" not in self.__dict__ or twin.__dict__.get("_model") is not self._model:
            return
        known = len(self._space.vocabulary) if "_space" in self.__dict__ else self.n_features_in_
        if self.learner_.n_features > known:
            if "_space" in twin.__dict__:
                self._space = twin._space  # noqa: SLF001 - of its own class
            self.n_features_in_ = twin.n_features_in_
            if "feature_names_in_" in twin.__dict__:
                self.feature_names_in_ = twin.feature_names_in_
        if getattr(self._model, "classes", ()) != getattr(before._model, "classes", ()):  # noqa: SLF001 - of its own class
            self._class_dtype = twin._class_dtype  # noqa: SLF001 - the same

    # Files

    def _restore_model(self, learner: Any, saved: ModelFile) -> None:
        """Set the model to that of a learner from a model file."""
        raise NotImplementedError

    def _saved_names(self) -> dict[str, npt.NDArray[Any]]:
        """The names of the columns, if they have any."""
        space = self._space.as_arrays() if "_space" in self.__dict__ else {}
        if "feature_names_in_" not in self.__dict__:
            return space
        return space | model_file.pack_texts([str(name) for name in self.feature_names_in_])

    def _restore_columns(self, width: Any, known: int, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        """Restore the number of columns, of which the learner has seen `known`, and their names."""
        self._require_new_features()
        if NAMES["schema"] in arrays:
            self._space = FrameSpace.from_arrays(arrays)
            known = 0 if known <= len(self._space.vocabulary) else -1
        if type(width) is not int or not 0 <= known <= width < 2**31 or (known and width != known):
            raise ValueError("its number of features is not that of its learner.")
        self.n_features_in_ = width
        if "text" in arrays:
            self.feature_names_in_ = np.array(model_file.unpack_texts(arrays), dtype=object)
            if len(self.feature_names_in_) != width:
                raise ValueError("its number of names is not its number of features.")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.string = tags.input_tags.categorical = tags.input_tags.allow_nan = True
        return tags
