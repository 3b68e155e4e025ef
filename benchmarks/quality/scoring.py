"""How good predictions were: one definition for every method.

Every event counts, the first one too. A method that has nothing to say of an event says that all classes are equally likely.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.quality.streams import NUMBER, Stream

LEAST = 1e-15  # a probability of less counts as this one: no event costs more than 34.5
Predicted = npt.NDArray[Any]
"""What was said of each event before it was learned.

For classes, a probability for each, (events, classes), or only the class that was chosen, (events,); for a number, a number.
"""


def score(stream: Stream, predicted: Predicted) -> dict[str, float | None]:
    """Return the scores of a stream's task: log_loss and error, or squared_error, absolute_error and r2.

    None stands for what is not known or not finite.
    """
    if len(predicted) != len(stream.y):
        raise ValueError(f"{len(predicted)} predictions of {len(stream.y)} events.")
    if stream.task == NUMBER:
        return score_numbers(stream.y, predicted)
    if predicted.ndim == 1:
        return {"log_loss": None, "error": float(np.mean(predicted != stream.y))}
    return {"log_loss": log_loss(stream.y, predicted), "error": float(np.mean(predicted.argmax(axis=1) != stream.y))}


def log_loss(y: npt.NDArray[Any], probabilities: Predicted) -> float:
    """The mean of -ln p over all events, p the probability of the class that came; what is no number counts as 0."""
    of_the_true = np.nan_to_num(probabilities[np.arange(len(y)), y], nan=0.0)
    return float(-np.log(np.maximum(of_the_true, LEAST)).mean())


def score_numbers(y: npt.NDArray[Any], predicted: Predicted) -> dict[str, float | None]:
    """Mean squared and absolute errors; R² is beside the mean of all of y, which nobody knew beforehand."""
    with np.errstate(over="ignore", invalid="ignore"):
        errors = predicted - y
        squared, absolute = np.mean(errors * errors), np.mean(np.abs(errors))
        found = {"squared_error": squared, "absolute_error": absolute, "r2": 1.0 - squared / np.var(y)}
    return {name: float(value) if np.isfinite(value) else None for name, value in found.items()}


def sigmoid_pair(margins: npt.NDArray[np.float64]) -> Predicted:
    """Probabilities of both classes from log-odds of the second one, neither of them rounded to 0."""
    return np.exp(-np.logaddexp(0.0, np.column_stack([margins, -margins])))


def one_vs_rest(margins: npt.NDArray[np.float64]) -> Predicted:
    """Probabilities of classes, each from its own log-odds, made to sum to 1."""
    logs = -np.logaddexp(0.0, -margins)
    shares = np.exp(logs - logs.max(axis=1, keepdims=True))
    return shares / shares.sum(axis=1, keepdims=True)
