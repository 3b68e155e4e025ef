"""Drift is noticed: the detector equals its reference, tells a change, tells none where there is none, and survives splits and files."""

import pickle
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from drift_reference import RiseReference
from odca import AutoLearner, _core
from odca.metrics import ClassMetrics, NumberMetrics
from odca.validation.arrays import Array


def noticed(losses: Array, weights: Array | None = None) -> list[tuple[int, int, float, float]]:
    c = np.ones(len(losses)) if weights is None else weights
    return _core.RiseDetector().after(np.ascontiguousarray(losses), c).alarms


def steps(seed: int) -> Array:
    """Losses whose mean jumps at random, by factors from 1/10 to 10, with heavy tails in half of the streams."""
    rng = np.random.default_rng(seed)
    levels = np.repeat(10.0 ** rng.uniform(-1.0, 1.0, 8), rng.integers(1, 1200, 8))
    noise = rng.exponential(size=len(levels)) if seed % 2 else rng.lognormal(0.0, 1.5, size=len(levels))
    return np.asarray(levels * noise)


def flipped(events: int, at: int | None, seed: int) -> tuple[Array, Array]:
    """Clear classes: the best possible log loss is about 0.12. docs/drift.md says how often noisier ones are missed."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(events, 5))
    w = rng.normal(size=5)
    odds = 10.0 * (X @ (w / np.linalg.norm(w)))
    if at is not None:
        odds[at:] *= -1.0
    return X, (rng.random(events) < 1.0 / (1.0 + np.exp(-odds))).astype(float)


@pytest.mark.parametrize("seed", [0, 1, 2, 3, 4, 7])
def test_the_native_detector_gives_the_alarms_of_the_reference(seed: int) -> None:
    losses = steps(seed)
    rng = np.random.default_rng(100 + seed)
    losses[rng.random(len(losses)) < 0.02] = np.nan
    weights = np.where(rng.random(len(losses)) < 0.05, 0.0, rng.random(len(losses)))
    if seed == 4:
        losses[: len(losses) // 3] = 0.0  # no loss at all, at first
    if seed == 7:
        losses[len(losses) // 3] = np.inf
    reference = RiseReference()
    for loss, weight in zip(losses.tolist(), weights.tolist(), strict=True):
        reference.add(loss, weight)
    alarms = noticed(losses, weights)
    assert alarms
    assert [each[:2] for each in alarms] == [each[:2] for each in reference.alarms]
    np.testing.assert_allclose([each[2:] for each in alarms], [each[2:] for each in reference.alarms], rtol=1e-9)


@pytest.mark.parametrize("seed", range(10))
def test_a_flip_of_a_clear_concept_at_event_3000_is_noticed_within_100_events(seed: int) -> None:
    X, y = flipped(6000, 3000, seed)
    learner = AutoLearner("classes")
    margins = learner.learn(X, y)
    ((event, since, before, after),) = noticed(np.logaddexp(0.0, np.where(y > 0.0, -margins, margins)))
    assert 3000 < event <= 3100
    assert 2990 < since < 3010
    assert after > 2.0 * before


def test_a_million_stationary_losses_of_any_shape_raise_no_alarm() -> None:
    rng = np.random.default_rng(7)
    n = 1_000_000
    learning = 1.0 + 20.0 / np.sqrt(1.0 + np.arange(n))
    assert noticed(learning * rng.exponential(size=n)) == []
    assert noticed(learning * rng.lognormal(0.0, 2.0, size=n)) == []
    assert noticed((rng.random(n) < 0.001).astype(float)) == []


def test_a_loss_that_falls_raises_no_alarm() -> None:
    rng = np.random.default_rng(3)
    losses = np.geomspace(1e6, 1e-6, 50_000) * rng.exponential(size=50_000)
    assert noticed(losses) == []


@pytest.mark.parametrize("unit", [1e-250, 1e-9, 1e9, 1e250])
def test_the_unit_of_the_loss_does_not_matter(unit: float) -> None:
    losses = steps(1)
    alarms, scaled = noticed(losses), noticed(losses * unit)
    assert [each[:2] for each in alarms] == [each[:2] for each in scaled]


def test_a_first_loss_after_none_at_all_is_noticed() -> None:
    losses = np.zeros(4000)
    losses[3000:] = 1e-3
    ((event, since, before, after),) = noticed(losses)
    assert (since, before, after) == (3001, 0.0, 1e-3)
    assert event < 3020


def test_a_single_huge_loss_is_no_drift() -> None:
    losses = np.random.default_rng(5).exponential(size=20_000)
    losses[9_000] = 1e12
    assert noticed(losses) == []


class Stream:
    """Scored events of classes or numbers, whose losses rise at event 2,000."""

    def __init__(self, kind: str) -> None:
        rng = np.random.default_rng(11)
        n = 5000
        self.label = rng.integers(0, 2, n) if kind == "classes" else rng.normal(size=n)
        self.loss = rng.exponential(size=n) * np.where(np.arange(n) < 2000, 0.2, 1.0)
        self.weight = rng.integers(0, 3, n).astype(float)
        self.make: Any = ClassMetrics if kind == "classes" else NumberMetrics

    def add(self, metrics: Any, begin: int, end: int | None = None) -> Any:
        part = slice(begin, end)
        metrics.add(self.label[part], self.label[part], self.loss[part], weight=self.weight[part])
        return metrics


@pytest.mark.parametrize("kind", ["classes", "numbers"])
def test_no_split_and_no_file_in_between_changes_drift_or_curve(kind: str) -> None:
    stream = Stream(kind)
    whole = stream.add(stream.make(), 0)
    parts = stream.make()
    edges = [0, 1, 2, 63, 64, 65, 700, 2010, 2048, 2100, 4999, 5000]
    for begin, end in pairwise(edges):
        parts = parts.restored(pickle.loads(pickle.dumps(stream.add(parts, begin, end).as_arrays())))
    assert whole.drift.count == 1
    assert parts.drift == whole.drift
    for name, column in whole.curve().items():
        np.testing.assert_array_equal(parts.curve()[name], column)
    for name, array in whole.as_arrays().items():
        assert parts.as_arrays()[name].tobytes() == array.tobytes(), name


@pytest.mark.parametrize("kind", ["classes", "numbers"])
def test_the_curve_has_few_points_and_the_means_between_them(kind: str) -> None:
    stream = Stream(kind)
    metrics = stream.add(stream.make(), 0)
    curve = metrics.curve()
    assert tuple(curve) == stream.make.CURVE
    ends = curve["events"].astype(int)
    assert 64 <= len(ends) <= 129
    assert ends[-1] == 5000
    for begin, end, loss, weight in zip([0, *ends[:-1]], ends, curve["loss"], curve["weight"], strict=True):
        c = stream.weight[begin:end]
        assert weight == c.sum()
        np.testing.assert_allclose(loss, np.average(stream.loss[begin:end], weights=c), rtol=1e-9)
    np.testing.assert_allclose(np.average(curve["loss"], weights=curve["weight"]), metrics.loss)


@pytest.mark.parametrize("kind", ["classes", "numbers"])
def test_merging_keeps_the_alarms_of_both_with_the_events_of_the_second_after_those_of_the_first(kind: str) -> None:
    stream = Stream(kind)
    codes = [[0, 1]] if kind == "classes" else []
    one, other, empty = stream.add(stream.make(), 0), stream.add(stream.make(), 0), stream.make()
    both = one.merge(other, *codes)
    first, second = both.drift.rises
    assert (first,) == one.drift.rises
    assert (second.event, second.since) == (5000 + first.event, 5000 + first.since)
    ends = both.curve()["events"]
    assert ends[-1] == 10_000
    assert (np.diff(ends) > 0).all()
    assert len(ends) <= 129
    for kept in (empty.merge(one, *codes), one.merge(empty, *codes)):
        assert kept.as_arrays()["rises"].tobytes() == one.as_arrays()["rises"].tobytes()
        assert kept.as_arrays()["curve"].tobytes() == one.as_arrays()["curve"].tobytes()


def test_metrics_of_files_without_a_detector_begin_an_empty_one() -> None:
    stream = Stream("numbers")
    arrays = stream.add(stream.make(), 0).as_arrays()
    old = NumberMetrics.from_arrays({name: each for name, each in arrays.items() if name not in {"rises", "curve"}})
    assert not old.drift
    stream.add(old, 0, 2300)
    (rise,) = old.drift.rises
    assert 7000 < rise.since < 7020


def test_of_many_rises_the_latest_are_kept_and_all_are_counted() -> None:
    losses = np.tile(np.repeat([0.1, 1.0], 400), 100)
    detector = _core.RiseDetector().after(losses, np.ones(len(losses)))
    assert detector.count == 100
    assert len(detector.alarms) == 64
    assert detector.alarms[-1][0] > 79_000
    assert len(detector.state()) < 1000
