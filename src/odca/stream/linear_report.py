"""What a linear model that was trained on files has learned: its largest weights, by the names of features."""

import json
from dataclasses import asdict

import numpy as np

from odca.learner import Learner
from odca.records import record
from odca.stream.explaining import FeatureNames

MOST_WEIGHTS = 20


@record
class LinearReport:
    """The largest weights of a linear model: `weights` by class, then by feature, the largest first; `intercepts` by class.

    A model of two classes has the weights for the second of them; a model of numbers has those for "". str(report) is a text, and
    `as_json()` is for programs.
    """

    events: int
    loss: str
    penalty: str
    window: str
    features: int
    """The number of features, most of which may have small weights."""
    weights: dict[str, dict[str, float]]
    intercepts: dict[str, float]

    @classmethod
    def of(cls, learner: Learner, outputs: tuple[str, ...], names: FeatureNames) -> "LinearReport":
        """The report of a learner whose first lanes belong to these classes."""
        values, intercepts = np.atleast_2d(learner.smoothed_coef), np.atleast_1d(learner.smoothed_intercept)
        weights = {}
        for output, row in zip(outputs, values, strict=False):
            size = np.abs(row)
            places = np.lexsort((np.arange(len(size)), -size))[:MOST_WEIGHTS]
            weights[output] = {names[int(place)]: float(row[place]) for place in places if size[place] > 0.0}
        described = repr(learner.loss), repr(learner.penalty), repr(learner.window)
        constants = dict(zip(outputs, map(float, intercepts), strict=False))
        return cls(learner.count, *described, values.shape[1], weights, constants)

    def in_words(self) -> str:
        """One sentence on the model."""
        return (
            f"One linear model of {self.features:,} features, {self.loss} with {self.penalty} and window {self.window}, "
            f"after {self.events:,} events."
        )

    def __str__(self) -> str:
        lines = [self.in_words()]
        for output, weights in self.weights.items():
            lines += ["", f"largest weights of {output}:" if output else "largest weights:"]
            shown = {"(intercept)": self.intercepts[output], **weights}
            width = max(len(name) for name in shown)
            lines += [f"  {name:{width}}  {weight: .6g}" for name, weight in shown.items()]
        return "\n".join(lines)

    def as_json(self) -> str:
        """The report as a JSON object, for programs."""
        return json.dumps(asdict(self))
