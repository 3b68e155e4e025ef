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

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from odca.errors import InputError
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
    from odca.models.auto import AutoLearner
    from odca.models.auto_report import AutoReport
    from odca.models.events import EventLearner
    from odca.penalties import KL, L2, Box, ElasticNet, NonNegative
    from odca.reports import Delta, Diagnostics, FitReport
    from odca.sklearn import AutoClassifier, AutoRegressor, ODCAClassifier, ODCARegressor
    from odca.stream.training import train
    from odca.windows import Automatic, Exponential, HalfLife, Infinite, Sliding

    # What type checkers take for `__all__`; at run time `__getattr__` makes it.
    __all__ = [
        "KL",
        "L2",
        "AbsoluteError",
        "AutoClassifier",
        "AutoLearner",
        "AutoRegressor",
        "AutoReport",
        "Automatic",
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
        "InputError",
        "Learner",
        "LogLoss",
        "ModifiedHuber",
        "NonNegative",
        "ODCAClassifier",
        "ODCARegressor",
        "Poisson",
        "Quantile",
        "Sliding",
        "SmoothHinge",
        "SquaredEpsilonInsensitive",
        "SquaredError",
        "SquaredHinge",
        "__version__",
        "load",
        "train",
    ]

__version__ = "0.2.0"

# The module of each public name. It is imported on first use, so that the command line starts without NumPy.
_NAMES = {
    "errors": ("InputError",),
    "models.auto": ("AutoLearner",),
    "models.auto_report": ("AutoReport",),
    "models.events": ("EventLearner",),
    "learner": ("Learner",),
    "loading": ("load",),
    "losses": (
        "AbsoluteError",
        "CompiledLoss",
        "EpsilonInsensitive",
        "Expectile",
        "Hinge",
        "Huber",
        "LogLoss",
        "ModifiedHuber",
        "Poisson",
        "Quantile",
        "SmoothHinge",
        "SquaredEpsilonInsensitive",
        "SquaredError",
        "SquaredHinge",
    ),
    "penalties": ("KL", "L2", "Box", "ElasticNet", "NonNegative"),
    "stream.training": ("train",),
    "reports": ("Delta", "Diagnostics", "FitReport"),
    "windows": ("Automatic", "Exponential", "HalfLife", "Infinite", "Sliding"),
    "sklearn": ("AutoClassifier", "AutoRegressor", "ODCAClassifier", "ODCARegressor"),
}
_HOMES = {name: module for module, names in _NAMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name == "__all__":  # asked for by `from odca import *`, which would fail without scikit-learn
        missing = () if find_spec("sklearn") else _NAMES["sklearn"]
        return ["__version__", *(each for each in _HOMES if each not in missing)]
    home = _HOMES.get(name, name)
    if home not in _NAMES or name == "sklearn":  # odca.sklearn must be imported explicitly, like odca.river
        raise AttributeError(f"module 'odca' has no attribute {name!r}")
    try:
        module = import_module(f"odca.{home}")
    except ModuleNotFoundError as error:
        if home != "sklearn":
            raise
        raise ImportError(f"{name} needs scikit-learn >= 1.6: pip install 'odca[sklearn]'.") from error
    found = module if home == name else getattr(module, name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
