"""How good predictions were: one definition for every method.

Every event counts, the first one too. Whoever has nothing to say of an event says that all classes are equally likely, or 0.
"""

import numpy as np
import numpy.typing as npt

from benchmarks.quality.methods import Array, Predicted
from benchmarks.quality.streams import NUMBER, Stream

LEAST = 1e-15  # a smaller probability counts as this: no event costs more than 34.5


def score(stream: Stream, predicted: Predicted) -> dict[str, float | None]:
    """Return log_loss and error, or squared_error, absolute_error and r2. None: nobody knows, or it is not finite."""
    if len(predicted.values) != len(stream.y):
        raise ValueError(f"{stream.name} has {len(stream.y)} events; predicted are {len(predicted.values)}.")
    if stream.task == NUMBER:
        return score_numbers(stream.y, predicted.values)
    probabilities = predicted.probabilities
    return {
        "log_loss": None if probabilities is None else log_loss(stream.y, probabilities),
        "error": float(np.mean(predicted.values != stream.y)),
    }


def log_loss(y: npt.NDArray[np.int64], probabilities: Array) -> float:
    """The mean of -ln p over the events, p the probability of the class that came; what is no number counts as 0."""
    of_the_true = np.nan_to_num(probabilities[np.arange(len(y)), y], nan=0.0)
    return float(-np.log(np.maximum(of_the_true, LEAST)).mean())


def score_numbers(y: Array, predicted: Array) -> dict[str, float | None]:
    """Mean squared and absolute errors, and R²: 1 - squared error / variance of all of y, whose mean nobody knew beforehand."""
    with np.errstate(over="ignore", invalid="ignore"):
        errors = predicted - y
        squared, absolute = np.mean(errors * errors), np.mean(np.abs(errors))
        found = {"squared_error": squared, "absolute_error": absolute, "r2": 1.0 - squared / np.var(y)}
    return {name: float(value) if np.isfinite(value) else None for name, value in found.items()}
