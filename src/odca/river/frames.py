"""Mini-batches of river: data frames in, series and data frames with the same index out."""

from collections.abc import Hashable, Sequence
from typing import Any


def as_series(values: Any, X: Any, **how: Any) -> Any:
    """A pandas Series with the index of X."""
    import pandas as pd  # noqa: PLC0415 - optional: only users of mini-batches need it

    return pd.Series(values, index=_index_of(X), **how)


def as_frame(values: Any, X: Any, labels: Sequence[Hashable]) -> Any:
    """A pandas DataFrame with the index of X and one column per label."""
    import pandas as pd  # noqa: PLC0415 - the same

    return pd.DataFrame(values, index=_index_of(X), columns=pd.Index(labels, dtype=object))


def _index_of(X: Any) -> Any:
    """The index of a data frame; None for a list of dictionaries."""
    return X.index if hasattr(X, "columns") else None
