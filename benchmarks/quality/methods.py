"""What a method is: something that goes over a stream once and says of each event, before it learns it, what it predicts."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from benchmarks.quality.streams import Stream

Array = npt.NDArray[np.float64]


class Predicted(NamedTuple):
    """What was said of each event before it was learned: numbers, or classes and how likely each of them is, if that is known."""

    values: npt.NDArray[Any]
    probabilities: Array | None = None


class SkippedError(Exception):
    """A method is not for this stream; the message says why."""


@dataclass(frozen=True, slots=True)
class Method:
    """Somebody who takes part, in streams of these tasks."""

    name: str
    tasks: tuple[str, ...]
    predict: Callable[[Stream], Predicted]


def most_likely(probabilities: Array) -> Predicted:
    """The class that is most likely; the first one of several."""
    return Predicted(probabilities.argmax(axis=1), probabilities)


def from_log_odds(margins: Array) -> Predicted:
    """From log-odds of the second of two classes, neither probability rounded to 0."""
    return most_likely(np.exp(-np.logaddexp(0.0, np.column_stack([margins, -margins]))))


def from_one_vs_rest(margins: Array) -> Predicted:
    """From log-odds of each class against all others, made to sum to 1."""
    logs = -np.logaddexp(0.0, -margins)
    shares = np.exp(logs - logs.max(axis=1, keepdims=True))
    return most_likely(shares / shares.sum(axis=1, keepdims=True))
