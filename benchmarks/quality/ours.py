"""The estimators of this package, by default. Another one is one more line of `ours`."""

import numpy as np

import odca
from benchmarks.quality.methods import Array, Method, Predicted, from_log_odds, from_one_vs_rest, most_likely
from benchmarks.quality.streams import BINARY, CLASSES, NUMBER, Stream


def classify(stream: Stream) -> Predicted:
    """ODCAClassifier. `new_classes` saves it a lane that would wait for more classes than are declared."""
    model = odca.ODCAClassifier(new_classes="error")
    classes = np.arange(stream.classes)
    model.partial_fit(stream.events[:1], stream.y[:1], classes=classes)
    targets = np.where(stream.y[:, None] == (classes[1:] if stream.task == BINARY else classes), 1.0, -1.0)
    margins = predict_then_learn(model.learner_, stream, targets)
    return from_log_odds(margins[:, 0]) if stream.task == BINARY else from_one_vs_rest(margins)


def regress(stream: Stream) -> Predicted:
    """ODCARegressor."""
    model = odca.ODCARegressor().partial_fit(stream.events[:1], stream.y[:1])
    return Predicted(predict_then_learn(model.learner_, stream, stream.y[:, None])[:, 0])


def classify_automatically(stream: Stream) -> Predicted:
    """AutoClassifier's learner, which returns what it would have predicted before each event, to the bit."""
    learner = odca.AutoLearner("classes", classes=stream.classes)
    told = learner.learn(stream.events, stream.y.astype(np.float64))
    return from_log_odds(told) if stream.task == BINARY else most_likely(learner.probabilities(told))


def regress_automatically(stream: Stream) -> Predicted:
    """AutoRegressor's."""
    return Predicted(odca.AutoLearner("numbers").learn(stream.events, stream.y))


def predict_then_learn(learner: odca.Learner, stream: Stream, targets: Array) -> Array:
    """Margins of all events but the first, which `partial_fit` has learned, with a stream's defaults. Of the first one: 0.

    The learner inside an estimator learns as `partial_fit` does, bit for bit, without checking every event as one of scikit-learn's. Its
    `learn` returns predictions as well, but scaled with the event in view.
    """
    events, margins = stream.events, np.zeros(targets.shape)
    for n in range(1, len(margins)):
        event = events[n : n + 1]
        margins[n] = learner.predict(event)
        learner.learn(event, targets[n : n + 1])
    return margins


def ours() -> list[Method]:
    """All of them."""
    return [
        Method("AutoClassifier", (BINARY, CLASSES), classify_automatically),
        Method("AutoRegressor", (NUMBER,), regress_automatically),
        Method("ODCAClassifier", (BINARY, CLASSES), classify),
        Method("ODCARegressor", (NUMBER,), regress),
    ]
