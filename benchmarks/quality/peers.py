"""scikit-learn's SGD and river's linear models, with their defaults.

SGD predicts BATCH events, then learns them: its calls are dear. Scalers are scikit-learn's and river's own and learn on the way too. SGD has
one on dense streams, and is tried without as well. River has one, as in its examples, on narrow streams, whose events then name their
zeros: of a feature that is there or not it would see ones only.
"""

import functools
from collections.abc import Iterator
from typing import Any

import numpy as np
from river import linear_model, preprocessing
from sklearn.linear_model import SGDClassifier, SGDRegressor
from sklearn.preprocessing import StandardScaler

from benchmarks.quality.methods import Array, Method, Predicted, SkippedError, most_likely
from benchmarks.quality.streams import BINARY, CLASSES, NUMBER, Stream

BATCH = 20
NARROW = 2000  # columns


def stochastic_gradient(stream: Stream, *, average: bool, scaled: bool) -> Predicted:
    """SGDClassifier under log loss, or SGDRegressor."""
    if scaled and not stream.dense:
        raise SkippedError("its rows are sparse, and would not be if they were centred")
    scaler = StandardScaler() if scaled else None
    if stream.task == NUMBER:
        model = SGDRegressor(average=average, random_state=0)
        answer, declared = model.predict, {}
        predicted = np.zeros(len(stream.y))
    else:
        model = SGDClassifier(loss="log_loss", average=average, random_state=0)
        answer, declared = model.predict_proba, {"classes": np.arange(stream.classes)}
        predicted = uniform(stream)
    events = stream.events
    for start in range(0, len(stream.y), BATCH):
        batch = slice(start, start + BATCH)
        rows = events[batch]
        if start:
            predicted[batch] = answer(scaler.transform(rows) if scaler else rows)
        if scaler:
            rows = scaler.partial_fit(rows).transform(rows)
        try:
            model.partial_fit(rows, stream.y[batch], **declared)
        except ValueError as error:
            if "overflow" not in str(error):
                raise
            predicted[batch.stop :] = np.nan  # it has nothing to say any more
            break
    return Predicted(predicted) if stream.task == NUMBER else most_likely(predicted)


def uniform(stream: Stream) -> Array:
    """All classes equally likely."""
    return np.full((len(stream.y), stream.classes), 1.0 / stream.classes)


def river_pipeline(stream: Stream, model: Any) -> Any:
    """The model behind river's StandardScaler, where rows are narrow."""
    return preprocessing.StandardScaler() | model if is_narrow(stream) else model


def is_narrow(stream: Stream) -> bool:
    return bool(stream.X.shape[1] <= NARROW)


def dictionaries(stream: Stream) -> Iterator[dict[int, float]]:
    """Events as river has them: with their zeros if they are narrow."""
    X = stream.X
    for start, end in zip(X.indptr, X.indptr[1:], strict=False):
        event = dict.fromkeys(range(X.shape[1]), 0.0) if is_narrow(stream) else {}
        event.update(zip(X.indices[start:end].tolist(), X.data[start:end].tolist(), strict=True))
        yield event


def river_number(stream: Stream) -> Predicted:
    """LinearRegression."""
    model = river_pipeline(stream, linear_model.LinearRegression())
    predicted = np.zeros(len(stream.y))
    with np.errstate(over="ignore", invalid="ignore"):
        for n, (event, y) in enumerate(zip(dictionaries(stream), stream.y.tolist(), strict=True)):
            predicted[n] = model.predict_one(event)
            model.learn_one(event, y)
    return Predicted(predicted)


def river_class(stream: Stream) -> Predicted:
    """LogisticRegression, or SoftmaxRegression for several classes. A class it has not seen yet is given its share, 1/classes."""
    binary = stream.task == BINARY
    model = river_pipeline(stream, linear_model.LogisticRegression() if binary else linear_model.SoftmaxRegression())
    predicted = uniform(stream)
    for n, (event, y) in enumerate(zip(dictionaries(stream), stream.y.tolist(), strict=True)):
        told = model.predict_proba_one(event)
        known = [int(each) for each in told]
        predicted[n, known] = np.array(list(told.values())) * predicted[n, known].sum()
        model.learn_one(event, bool(y) if binary else y)
    return most_likely(predicted)


def river_alma(stream: Stream) -> Predicted:
    """ALMAClassifier, which has no probabilities."""
    model = river_pipeline(stream, linear_model.ALMAClassifier())
    chosen = np.zeros(len(stream.y), dtype=np.int64)
    for n, (event, y) in enumerate(zip(dictionaries(stream), stream.y.tolist(), strict=True)):
        chosen[n] = bool(model.predict_one(event))
        model.learn_one(event, bool(y))
    return Predicted(chosen)


def peers() -> list[Method]:
    """All of them."""
    sgd = [
        Method(
            f"SGD{', averaged' if average else ''}{', scaled' if scaled else ''}",
            (BINARY, CLASSES, NUMBER),
            functools.partial(stochastic_gradient, average=average, scaled=scaled),
        )
        for scaled in (False, True)
        for average in (False, True)
    ]
    return [
        *sgd,
        Method("river", (BINARY, CLASSES), river_class),
        Method("river ALMA", (BINARY,), river_alma),
        Method("river", (NUMBER,), river_number),
    ]
