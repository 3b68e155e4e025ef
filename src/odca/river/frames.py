"""Mini-batches as river's users give them."""

from typing import Any


def index_of(X: Any) -> Any:
    """The index of a data frame; None for a list of dictionaries."""
    return X.index if hasattr(X, "columns") else None
