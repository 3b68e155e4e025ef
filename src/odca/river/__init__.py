"""Estimators for river: events are dictionaries, learned one at a time or many at once, with the same result to the bit."""

try:
    import river  # noqa: F401 - only to raise a clear error if it is missing
except ModuleNotFoundError as error:
    raise ImportError("odca.river needs river >= 0.21: pip install 'odca[river]'.") from error

from odca.river.auto import AutoClassifier, AutoRegressor
from odca.river.classifier import ODCAClassifier
from odca.river.drift import RiseDetector
from odca.river.history import History
from odca.river.regressor import ODCARegressor

__all__ = ["AutoClassifier", "AutoRegressor", "History", "ODCAClassifier", "ODCARegressor", "RiseDetector"]
