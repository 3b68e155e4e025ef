"""What an automatic prediction is made of: the parts sum to it, and are its slopes along the experts' margins."""

from typing import Any

import numpy as np
import pytest
from tests.auto.slow_experts import SlowExperts
from tests.auto.slow_parts import EXPERTS, PLAIN, READING, READS_ROWS, ROW_EXPERTS, Feature, log_odds
from tests.auto.test_answers import TASKS, events_of
from tests.auto.test_freeze import codes_of, dictionaries

import odca.river
from odca import _core
from odca.models.auto_events import AutoEvents
from odca.validation.arrays import as_matrix

STEP = 1e-6


def learned(task: str, count: int = 150) -> tuple[SlowExperts, _core.Experts, np.ndarray]:
    """The slow twin and the core after the same events; of several classes one was declared and never came."""
    X, y = events_of(task, count + 20)
    native = "numbers" if task == "numbers" else "classes"
    classes = 5 if task == "several" else 2
    slow, core = SlowExperts(task=native, classes=classes), _core.Experts(task=native, classes=classes)
    labels = codes_of(task, y)
    slow.learn(X[:count], labels[:count])
    core.learn(as_matrix(X[:count])[0], labels[:count], None, None)
    return slow, core, X[count:]


def prediction(slow: SlowExperts, margin: np.ndarray) -> np.ndarray:
    """What the mixture says where the experts say this."""
    slow.margin = margin
    if slow.numbers:
        slow.mix_number()
        return slow.mixed
    if slow.heads == 1:
        slow.mix_two()
        return np.array([log_odds(slow.mixed[0])])
    slow.mix_classes()
    return np.log(slow.mixed)


def slope(slow: SlowExperts, margin: np.ndarray, direction: np.ndarray) -> np.ndarray:
    size = np.abs(direction).max() or 1.0
    above, below = (prediction(slow, margin + sign * STEP / size * direction) for sign in (1.0, -1.0))
    return (above - below) / (2.0 * STEP / size)


@pytest.mark.parametrize("task", TASKS)
def test_the_live_explanation_is_the_slope_of_the_prediction(task: str) -> None:
    slow, core, rows = learned(task)
    for row in rows:
        expected = core.predict(as_matrix(row[None])[0])[0]
        features, slopes, labels, intercept, products, _ = core.explain(as_matrix(row[None])[0], steady=False)
        assert features.tolist() == np.flatnonzero(row).tolist()
        slow.settle(row)
        slow.evaluate(row)
        margin = slow.margin.copy()
        np.testing.assert_allclose(prediction(slow, margin), expected, rtol=1e-6, atol=1e-9)
        for j, found in zip(features.tolist(), slopes, strict=True):
            known, seen = slow.features[j], Feature(slow.heads)
            seen.n, seen.mean, seen.square = known.seen(row[j], 1.0)
            seen.dense = known.dense
            scale = seen.form(slow.mass + 1.0)[1]
            full = slow.full.weights[:, :, 1 + slow.full.features.index(j)].T if j in slow.full.features else 0.0
            direction = np.zeros((slow.heads, len(EXPERTS)))
            direction[:, :ROW_EXPERTS], direction[:, ROW_EXPERTS:READING] = known.w / scale, full / scale
            direction[:, PLAIN:] = known.w / scale  # with products it is the same expert, and more
            np.testing.assert_allclose(
                found, slope(slow, margin, direction), rtol=1e-4, atol=1e-5 * np.abs(slopes).max()
            )
        alone = margin.copy()
        alone[:, READS_ROWS] = 0.0
        np.testing.assert_allclose(labels, slope(slow, margin, alone), rtol=1e-4, atol=1e-6)
        for slot, found in zip(slow.products.there, products, strict=True):
            weights = slow.products.features[slot].w * slow.products.scaled_slope(
                slot, slow.pairs.products(slow.h)[slot]
            )
            direction = np.zeros((slow.heads, len(EXPERTS)))
            direction[:, PLAIN:] = weights * slow.pairs.products(slow.h)[slot]
            np.testing.assert_allclose(found, slope(slow, margin, direction), rtol=1e-4, atol=1e-5)
        total = intercept + labels + row[features] @ slopes + products.sum(axis=0)
        np.testing.assert_allclose(total, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("task", TASKS)
def test_the_steady_explanation_is_that_of_the_frozen_model(task: str) -> None:
    X, y = events_of(task)
    events = [{**event, "kind": "abc"[n % 3]} for n, event in enumerate(dictionaries(X))]
    model = AutoEvents("numbers" if task == "numbers" else "classes", classes=4 if task == "several" else 2)
    model.learn_many(events, codes_of(task, y))
    frozen = model.freeze()
    for event in (*events[:10], {"kind": "a", "unknown": 3.0}, {}):
        steady = model.explain_one(event, answer="steady")
        expected = frozen.explain_one(event)
        assert steady.keys() == expected.keys()
        for name, part in expected.items():
            np.testing.assert_allclose(steady[name], part, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(
            sum(steady.values()), model.predict_one(event, answer="steady"), rtol=1e-9, atol=1e-9
        )


@pytest.mark.parametrize("bits", [None, 3])
@pytest.mark.parametrize("task", TASKS)
def test_the_parts_of_an_event_sum_to_its_live_prediction(task: str, bits: int | None) -> None:
    """With three bits, features collide."""
    X, y = events_of(task)
    events = [{**event, "kind": "abcdefgh"[n % 8]} for n, event in enumerate(dictionaries(X))]
    model = AutoEvents("numbers" if task == "numbers" else "classes", classes=4 if task == "several" else 2, bits=bits)
    model.learn_many(events, codes_of(task, y))
    before = model.saved().all_arrays()
    for event in (*events[:20], {"kind": "a", "unknown": 3.0}, {}):
        parts = model.explain_one(event)
        assert {"", "previous labels"} <= parts.keys()
        np.testing.assert_allclose(sum(parts.values()), model.predict_one(event), rtol=1e-9, atol=1e-9)
        assert bits or np.all(np.asarray(parts.get("unknown", 0.0)) == 0.0)
    after = model.saved().all_arrays()
    assert all(np.array_equal(before[name], after[name]) for name in before)


def test_previous_labels_have_a_part_where_labels_repeat() -> None:
    """Labels that come in long runs and features that say nothing: all that counts are the labels before."""
    rng = np.random.default_rng(0)
    model: Any = odca.river.AutoClassifier()
    for n in range(2000):
        model.learn_one({"noise": rng.normal()}, ["no", "yes"][(n // 100) % 2])
    parts = model.explain_one({"noise": 1.0})
    assert abs(parts["previous labels"]) > 1.0 > 5.0 * abs(parts["noise"])
    assert "previous labels" not in model.explain_one({"noise": 1.0}, answer="steady")


@pytest.mark.parametrize("task", TASKS)
def test_once_labels_are_late_the_steady_share_is_part_of_the_live_explanation(task: str) -> None:
    """The parts sum to the prediction; a part is the slope of the mixture, and the labels count for the live share alone."""
    X, y = events_of(task, 400)
    labels, events = codes_of(task, y), dictionaries(X)
    model = AutoEvents("numbers" if task == "numbers" else "classes", classes=4 if task == "several" else 2)
    for n, event in enumerate(events):
        model.predict_one(event, id=n)
        if n >= 5:
            model.learn_label(n - 5, labels[n - 5])
    (share,) = model.learner.get_state()["late_steady"].tolist()
    assert 0.0 < share < 1.0
    before = model.saved().all_arrays()
    for event in (*events[:20], {"unknown": 3.0}, {}):
        parts = model.explain_one(event)
        answer = np.asarray(model.predict_one(event))
        np.testing.assert_allclose(sum(parts.values()), answer, rtol=1e-9, atol=1e-9)
    after = model.saved().all_arrays()
    assert all(np.array_equal(before[name], after[name]) for name in before)
    if task != "numbers":
        return
    arrays, core, alone = model.learner.get_state(), model.learner.native, {}
    for name, weight in (("live", 0.0), ("steady", 1.0)):
        core.restore({**arrays, "late_steady": np.array([weight])})
        alone[name] = model.explain_one(events[0])
    core.restore(arrays)
    for name, part in model.explain_one(events[0]).items():
        expected = (1.0 - share) * alone["live"][name] + share * alone["steady"][name]
        np.testing.assert_allclose(part, expected, rtol=1e-9, atol=1e-12)
