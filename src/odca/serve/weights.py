"""The weights of a model: of its steady answer, if it is automatic."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from odca.features.spec import feature_names
from odca.models.auto import AutoLearner
from odca.models.options import label_text
from odca.stream.model import StreamModel

MOST_SAMPLED = 2_000_000
"""Weights of a model whose largest are recorded; of a larger one, finding them would take too long."""
LARGEST = 20


def outputs_of(model: StreamModel) -> list[str]:
    """What the numbers of a margin belong to: of two classes the second, of more all; of numbers, ""."""
    names = [label_text(each) for each in model.classes]
    return names[1:] if len(names) == 2 else names or [""]


def weights_of(model: StreamModel) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """The weights, (outputs, features), and the intercepts."""
    learner, outputs = model.learner, len(outputs_of(model))
    if isinstance(learner, AutoLearner):
        found = learner.linear()
        return found.weights[:outputs], found.intercepts[:outputs]
    coef, intercept = np.atleast_2d(learner.smoothed_coef), np.atleast_1d(learner.smoothed_intercept)
    return coef[:outputs], intercept[:outputs]


def ranked(weights: npt.NDArray[np.float64], most: int) -> list[int]:
    """The features with the largest weights, in order."""
    size = np.abs(weights).max(axis=0, initial=0.0)
    if len(size) > 4 * most:
        some = np.argpartition(-size, most)[: 2 * most]
        some.sort()
    else:
        some = np.arange(len(size))
    places = some[np.argsort(-size[some], kind="stable")][:most]
    return [int(place) for place in places if size[place] > 0.0]


def name_of(model: StreamModel, places: Sequence[int]) -> list[str]:
    """The readable names of features."""
    keys = model.keys() if model.vocabulary is not None else []
    form = "{}" if model.schema.features.bits is None else "hash {}"
    known = iter(feature_names([keys[place] for place in places if place < len(keys)]))
    return [next(known) if place < len(keys) else form.format(place) for place in places]


def listed_weights(model: StreamModel, places: Sequence[int], weights: npt.NDArray[np.float64]) -> list[dict[str, Any]]:
    """Features with their weights, for a client."""
    names = name_of(model, places)
    return [{"feature": name, "weights": weights[:, place].tolist()} for name, place in zip(names, places, strict=True)]


def largest_weights(model: StreamModel) -> dict[str, float]:
    """The largest weights by feature; of several classes, by feature and class."""
    outputs = outputs_of(model)
    if len(outputs) * model.learner.n_features > MOST_SAMPLED:
        return {}
    weights, _ = weights_of(model)
    places = ranked(weights, LARGEST)
    names = name_of(model, places)
    if len(outputs) == 1:
        return {name: float(weights[0, place]) for name, place in zip(names, places, strict=True)}
    found = {}
    for name, place in zip(names, places, strict=True):
        best = int(np.abs(weights[:, place]).argmax())
        found[f"{name} · {outputs[best]}"] = float(weights[best, place])
    return found
