"""A model as plain numbers: only what is needed to predict elsewhere.

The weights are in the units of the data, even if features were scaled in training, and smoothed if the model smooths them. A score is

    intercept + Σ weight · value + Σ weight · product (+ offset)

where the products are those of a frozen automatic model: see `odca.products.Product`. There is one score for numbers and for two classes (large for the second), otherwise one per class. docs/convert.md shows how to get predictions
from scores.
"""

import json
from dataclasses import replace
from typing import Any

import numpy as np

from odca.features.spec import feature_name
from odca.learner import Learner
from odca.losses import Poisson
from odca.models.calibration import Calibration, Softmax
from odca.models.options import Label
from odca.products import BOUND, Product
from odca.records import record
from odca.stream.model import StreamModel
from odca.validation.arrays import Array


@record
class LinearModel:
    """The numbers of a linear model. Arrays have one row or entry for each score."""

    loss: str
    classes: tuple[Label, ...]
    """Empty if it predicts numbers."""
    names: list[str]
    width: int
    """The number of possible features: that of all hashes if features are hashed, otherwise that of the names."""
    weights: Array
    intercept: Array
    products: tuple[Product, ...]
    calibration: tuple[Array, Array] | None
    """Slope and constant: the probability of the class of a score is σ(slope · score + constant). None: it is σ(score)."""
    softmax: bool
    """Whether the probabilities are the softmax of the scores."""
    exponential: bool
    """Whether a number is the exponential of its score (Poisson)."""

    @classmethod
    def of(cls, model: StreamModel) -> "LinearModel":
        """The numbers of a model; of an automatic one, those of its steady answer."""
        if not isinstance(model.learner, Learner):
            return cls.of(model.freeze())
        learner, classes, bits = model.learner, model.classes_read, model.schema.features.bits
        scores = 1 if len(classes) <= 2 else len(classes)  # without the spare lane
        return cls(
            repr(model.options.loss),
            classes,
            [feature_name(key) for key in model.keys()],  # noqa: SIM118 - a method of the model
            learner.n_features if bits is None else 1 << bits,
            np.reshape(learner.smoothed_coef, (learner.lanes, learner.n_features))[:scores],
            np.reshape(learner.smoothed_intercept, learner.lanes)[:scores],
            tuple(replace(each, weights=each.weights[:scores]) for each in learner.products),
            model.calibration.maps(scores) if isinstance(model.calibration, Calibration) else None,
            isinstance(model.calibration, Softmax),
            isinstance(model.options.loss, Poisson),
        )

    def as_json(self) -> str:
        """A JSON object, with lists of one number per score; zero weights are left out."""
        names = self._unique_names()
        chosen = np.flatnonzero(self.weights.any(axis=0)).tolist()
        version = 3 if self.products else 2 if self.softmax else 1
        about: dict[str, Any] = {"format": "odca linear model", "version": version, "loss": self.loss}
        if self.classes:
            ones = np.ones(len(self.intercept))
            slope, constant = (ones, 0.0 * ones) if self.calibration is None else self.calibration
            about |= {"predicts": "classes", "classes": [_plain(each) for each in self.classes]}
            about |= (
                {"probabilities": "softmax"}
                if self.softmax
                else {"slope": slope.tolist(), "constant": constant.tolist()}
            )
        else:
            about["predicts"] = "exponentials" if self.exponential else "numbers"
        about["intercept"] = self.intercept.tolist()
        about["weights"] = dict(zip((names[j] for j in chosen), self.weights[:, chosen].T.tolist(), strict=True))
        if self.products:
            about["bound"] = BOUND
            about["products"] = [
                {
                    "features": [names[j] for j in each.features],
                    "centres": each.centres,
                    "scales": each.scales,
                    "weights": each.weights,
                }
                for each in self.products
            ]
        return json.dumps(about, ensure_ascii=False, allow_nan=False)

    def _unique_names(self) -> list[str]:
        if len(set(self.names)) < len(self.names):
            twice = next(name for name in self.names if self.names.count(name) > 1)
            raise ValueError(
                f"two features are called {twice!r}, but names in JSON must be unique. Rename a column and train again."
            )
        return self.names


def _plain(label: Label) -> Label:
    return int(label) if isinstance(label, float) and label.is_integer() else label
