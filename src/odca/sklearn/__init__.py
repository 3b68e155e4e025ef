"""Estimators for scikit-learn.

`partial_fit` is O-DCA: each event once, in order. `fit` is O-DCA and then S-DCA, pass after pass, until the duality gap says
that no weights can be better by more than `tol`.
"""

from odca.sklearn.auto import AutoClassifier, AutoRegressor
from odca.sklearn.classifier import ODCAClassifier
from odca.sklearn.history import History
from odca.sklearn.regressor import ODCARegressor

__all__ = ["AutoClassifier", "AutoRegressor", "History", "ODCAClassifier", "ODCARegressor"]
