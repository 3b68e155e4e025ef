"""`StreamModel.split`: parts that predict alike, learn apart, and merge to the model."""

from functools import reduce
from typing import Any

import numpy as np
import pytest

import odca
from odca.stream.model import StreamModel


def table(count: int = 600, seed: int = 0) -> list[dict[str, Any]]:
    rng = np.random.default_rng(seed)
    rows = []
    for _ in range(count):
        size, kind = float(rng.normal()), str(rng.choice(["a", "b", "c"]))
        score = size + (kind == "a") + 0.3 * float(rng.normal())
        rows.append({"size": size, "kind": kind, "score": score, "grade": "low" if score < 0 else "high"})
    return rows


OPTIONS: list[dict[str, Any]] = [
    {"label": "score", "ignore": ["grade"]},
    {"label": "grade", "ignore": ["score"]},
]


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("parts", [1, 3, 8])
def test_parts_merge_to_the_model(options: dict[str, Any], parts: int) -> None:
    model = odca.train(table(), **options)
    split = model.split(parts)
    wanted = "label" if model.task == "numbers" else "probabilities"
    events = table(50, seed=1)
    merged = reduce(StreamModel.merge, split)
    expected = model.predict(events, wanted)
    assert np.allclose(merged.predict(events, wanted), expected, rtol=0.0, atol=1e-12)
    for each in split:
        # What automatic models know of labels alone is more cautious with fewer events.
        assert np.allclose(each.predict(events, wanted), expected, rtol=0.0, atol=1e-4)
        assert each.names == model.names
        assert each.classes == model.classes
    assert merged.learner.count == model.learner.count
    assert merged.metrics == model.metrics
    assert merged.unlabelled == model.unlabelled


@pytest.mark.parametrize("options", OPTIONS)
def test_parts_learn_different_events(options: dict[str, Any]) -> None:
    model = odca.train(table(), **options)
    split = model.split(2)
    for seed, each in enumerate(split, 1):
        each.learn(table(300, seed=seed))
    merged = split[0].merge(split[1])
    assert merged.learner.count == merged.metrics.events == 1200


def test_a_model_that_remembers_events_cannot_be_split() -> None:
    model = odca.train(table(), label="score", ignore=["grade"], history=["score: lag 1"])
    with pytest.raises(ValueError, match="history or tf_idf cannot be split"):
        model.split(2)
