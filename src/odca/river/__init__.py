"""Estimators for river: events are dictionaries, learned one at a time or many at once, with the same result to the bit."""

try:
    import river  # noqa: F401 - it is said once, and clearly, what is missing
except ModuleNotFoundError as error:
    raise ImportError("odca.river needs river >= 0.21: pip install 'odca[river]'.") from error

from odca.river.auto import AutoClassifier, AutoRegressor
from odca.river.linear import ODCAClassifier, ODCARegressor

__all__ = ["AutoClassifier", "AutoRegressor", "ODCAClassifier", "ODCARegressor"]
