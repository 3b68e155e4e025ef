"""What can be said of an event without looking at it."""

import numpy as np

from benchmarks.quality.methods import Array, Method, Predicted, most_likely
from benchmarks.quality.streams import BINARY, CLASSES, NUMBER, Stream


def majority(stream: Stream) -> Predicted:
    """The most frequent class so far; as probabilities, frequencies with one imagined event of each class."""
    seen = np.zeros((len(stream.y), stream.classes))
    seen[np.arange(1, len(stream.y)), stream.y[:-1]] = 1.0
    counts = 1.0 + seen.cumsum(axis=0)
    return most_likely(counts / counts.sum(axis=1, keepdims=True))


def no_change(stream: Stream) -> Predicted:
    """The class before; as probabilities, how often each class has followed that one, with one imagined event of each."""
    followers = np.ones((stream.classes, stream.classes))
    probabilities = np.full((len(stream.y), stream.classes), 1.0 / stream.classes)
    for n, (before, now) in enumerate(zip(stream.y, stream.y[1:], strict=False), 1):
        probabilities[n] = followers[before] / followers[before].sum()
        followers[before, now] += 1.0
    return Predicted(np.concatenate([[0], stream.y[:-1]]), probabilities)


def last_value(stream: Stream) -> Predicted:
    """The number before."""
    return Predicted(_shifted_by_one(stream.y[:-1]))


def running_mean(stream: Stream) -> Predicted:
    """The mean so far."""
    return Predicted(_shifted_by_one(stream.y[:-1].cumsum() / np.arange(1, len(stream.y))))


def _shifted_by_one(values: Array) -> Array:
    return np.concatenate([[0.0], values])


def baselines() -> list[Method]:
    """All of them."""
    return [
        Method("majority", (BINARY, CLASSES), majority),
        Method("no change", (BINARY, CLASSES), no_change),
        Method("running mean", (NUMBER,), running_mean),
        Method("last value", (NUMBER,), last_value),
    ]
