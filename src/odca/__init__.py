"""odca learns linear models from streams by online dual coordinate ascent.

>>> import numpy as np
>>> from odca import Exponential, Hinge, L2, Learner
>>> rng = np.random.default_rng(0)
>>> X = rng.normal(size=(1000, 5))
>>> y = np.sign(X @ [1.0, -2.0, 0.5, 0.0, 1.0])
>>> m = Learner(loss=Hinge(), penalty=L2(), rho=1e-3, window=Exponential(0.999), smoothing=0.99)
>>> margins = m.learn(X, y)  # each event's prediction from before it was learned
>>> bool(np.mean(np.sign(margins[500:]) == y[500:]) > 0.95)
True
"""

from typing import Any

from odca.events import EventLearner
from odca.learner import Learner
from odca.loading import load
from odca.losses import (
    AbsoluteError,
    CompiledLoss,
    EpsilonInsensitive,
    Expectile,
    Hinge,
    Huber,
    LogLoss,
    ModifiedHuber,
    Poisson,
    Quantile,
    SmoothHinge,
    SquaredEpsilonInsensitive,
    SquaredError,
    SquaredHinge,
)
from odca.penalties import KL, L2, Box, ElasticNet, NonNegative
from odca.reports import Delta, Diagnostics, FitReport
from odca.windows import Exponential, HalfLife, Infinite, Sliding

__version__ = "0.1.0"

_ESTIMATORS = ("ODCAClassifier", "ODCARegressor")  # imported when asked for: they need scikit-learn


def __getattr__(name: str) -> Any:
    if name not in _ESTIMATORS:
        raise AttributeError(f"module 'odca' has no attribute {name!r}")
    try:
        from odca import sklearn  # noqa: PLC0415 - only when used
    except ModuleNotFoundError as error:
        raise ImportError(f"{name} needs scikit-learn >= 1.6: pip install 'odca[sklearn]'.") from error
    return getattr(sklearn, name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_ESTIMATORS])


__all__ = [
    "KL",
    "L2",
    "AbsoluteError",
    "Box",
    "CompiledLoss",
    "Delta",
    "Diagnostics",
    "ElasticNet",
    "EpsilonInsensitive",
    "EventLearner",
    "Expectile",
    "Exponential",
    "FitReport",
    "HalfLife",
    "Hinge",
    "Huber",
    "Infinite",
    "Learner",
    "LogLoss",
    "ModifiedHuber",
    "NonNegative",
    "Poisson",
    "Quantile",
    "Sliding",
    "SmoothHinge",
    "SquaredEpsilonInsensitive",
    "SquaredError",
    "SquaredHinge",
    "__version__",
    "load",
]
