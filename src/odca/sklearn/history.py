"""The past as features for scikit-learn's pipelines."""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from odca.features.event_history import EventHistory
from odca.features.records import as_events
from odca.validation.arrays import Array


class History(TransformerMixin, BaseEstimator):  # type: ignore[misc] # scikit-learn's classes are not typed
    """What was known before an event: lags, rolling statistics, changes, of the label or of a column, for each key.

    lines: such as "y by station: lag 1,24; mean 24h" (docs/history.md). Their order is that of the columns of the result.
    history_keys: the most keys that a line remembers.
    time: the column that holds the time of an event, for lines with spans of time.

    X is a data frame, or a list of dictionaries, in the order of time. `fit_transform` and `partial_fit` let the events enter with their
    labels: each row sees the rows before it. `transform` sees those and, of the columns, the rows before it in X, which do not stay.
    What is not known yet is nan.

    >>> past = History(lines=["y: lag 1; mean 2"])
    >>> past.fit_transform([{}, {}, {}], [1.0, 3.0, 5.0]).tolist()
    [[nan, nan], [1.0, 1.0], [3.0, 2.0]]
    >>> past.transform([{}]).tolist()
    [[5.0, 4.0]]
    """

    def __init__(
        self, lines: Sequence[str] = ("y: lag 1",), *, history_keys: int = 100_000, time: str | None = None
    ) -> None:
        self.lines, self.history_keys, self.time = lines, history_keys, time

    def fit(self, X: Any, y: npt.ArrayLike | None = None) -> Self:
        """Forget everything; let the events enter."""
        self.fit_transform(X, y)
        return self

    def fit_transform(self, X: Any, y: npt.ArrayLike | None = None) -> Array:
        """Forget everything; the features of each row from the rows before it, which enter with their labels."""
        past = EventHistory(self.lines, history_keys=self.history_keys, time=self.time)
        values = past.values(as_events(X), y=y, enters=True)
        self._past = past
        return values

    def partial_fit(self, X: Any, y: npt.ArrayLike | None = None) -> Self:
        """Let more events enter."""
        if not hasattr(self, "_past"):
            return self.fit(X, y)
        self._past.values(as_events(X), y=y, enters=True)
        return self

    def transform(self, X: Any) -> Array:
        """The features of each row. Nothing stays."""
        check_is_fitted(self, "_past")
        return self._past.values(as_events(X))

    def get_feature_names_out(self, input_features: Any = None) -> npt.NDArray[np.object_]:
        """The names of the features: the lines, each with one statistic."""
        del input_features
        check_is_fitted(self, "_past")
        return np.array(self._past.names, dtype=object)
