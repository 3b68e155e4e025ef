"""River's trees and forests, with their defaults. `seed` is the only option that is set."""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from river import ensemble, forest, tree

from benchmarks.quality.methods import Method, Predicted, most_likely
from benchmarks.quality.peers import dictionaries, uniform
from benchmarks.quality.streams import BINARY, CLASSES, NUMBER, Stream

CLASSIFIERS: dict[str, Callable[[], Any]] = {
    "river HAT": lambda: tree.HoeffdingAdaptiveTreeClassifier(seed=1),
    "river ARF": lambda: forest.ARFClassifier(seed=1),
    "river AMF": lambda: forest.AMFClassifier(seed=1),
    "river SRP": lambda: ensemble.SRPClassifier(seed=1),
}
REGRESSORS: dict[str, Callable[[], Any]] = {
    "river ARF": lambda: forest.ARFRegressor(seed=1),
    "river AMF": lambda: forest.AMFRegressor(seed=1),
}


def classes(stream: Stream, make: Callable[[], Any]) -> Predicted:
    """A tree's probabilities. A class that it does not name has its share, 1/classes; those that it names share the rest."""
    model, predicted = make(), uniform(stream)
    for n, (event, y) in enumerate(zip(dictionaries(stream), stream.y.tolist(), strict=True)):
        told = model.predict_proba_one(event)
        total = sum(told.values())
        if total > 0.0:
            known = [int(each) for each in told]
            predicted[n, known] = np.array(list(told.values())) / total * predicted[n, known].sum()
        model.learn_one(event, int(y))
    return most_likely(predicted)


def numbers(stream: Stream, make: Callable[[], Any]) -> Predicted:
    """A tree's predictions."""
    model, predicted = make(), np.zeros(len(stream.y))
    for n, (event, y) in enumerate(zip(dictionaries(stream), stream.y.tolist(), strict=True)):
        predicted[n] = model.predict_one(event) or 0.0
        model.learn_one(event, y)
    return Predicted(predicted)


def trees() -> list[Method]:
    """All of them."""
    return [
        *(Method(name, (BINARY, CLASSES), functools.partial(classes, make=make)) for name, make in CLASSIFIERS.items()),
        *(Method(name, (NUMBER,), functools.partial(numbers, make=make)) for name, make in REGRESSORS.items()),
    ]
