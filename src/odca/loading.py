"""Any model file, whatever it holds."""

import importlib
import os
from typing import Any

from odca.io import model_file

KINDS = {
    "AutoLearner": "odca.models.auto",
    "Learner": "odca.learner",
    "EventLearner": "odca.models.events",
    "sklearn.AutoClassifier": "odca.sklearn",
    "sklearn.AutoRegressor": "odca.sklearn",
    "sklearn.ODCAClassifier": "odca.sklearn",
    "sklearn.ODCARegressor": "odca.sklearn",
    "AutoEvents": "odca.models.auto_events",
    "river.AutoClassifier": "odca.river",
    "river.AutoRegressor": "odca.river",
    "river.ODCAClassifier": "odca.river",
    "river.ODCARegressor": "odca.river",
    "StreamModel": "odca.stream.model",
    "Checkpoint": "odca.stream.checkpoint",
}


def load(path: str | os.PathLike[str], *, loss: object = None) -> Any:
    """Return the model that a file holds: a learner, an estimator, a model of `odca train` or a checkpoint of it.

    Loading executes nothing that the file holds. A file that is damaged, cut short, of a newer version or of another kind is refused
    with a ValueError. A `loss` of your own, which is code, must be given again.
    """

    def restored(saved: model_file.ModelFile) -> Any:
        module = importlib.import_module(KINDS[saved.kind])
        return getattr(module, saved.kind.rpartition(".")[2]).restored(saved, loss)

    return model_file.load(path, dict.fromkeys(KINDS, restored))
