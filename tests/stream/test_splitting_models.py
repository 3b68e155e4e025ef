"""`StreamModel.split`: parts that predict alike, learn apart, and merge to the model."""

import copy
from functools import reduce
from typing import Any

import numpy as np
import pytest

import odca
from odca import Quantile
from odca.stream.model import StreamModel


def table(count: int = 600, seed: int = 0) -> list[dict[str, Any]]:
    rng = np.random.default_rng(seed)
    rows = []
    for _ in range(count):
        size, kind = float(rng.normal()), str(rng.choice(["a", "b", "c"]))
        score = size + (kind == "a") + 0.3 * float(rng.normal())
        grade, mark = "low" if score < 0 else "high", "abc"[int(score > 0.0) + int(score > 1.0)]
        visits, at = float(rng.poisson(np.exp(score / 2.0))), 10_000.0 * seed + len(rows)
        rows.append(
            {"size": size, "kind": kind, "at": at, "score": score, "grade": grade, "mark": mark, "visits": visits}
        )
    return rows


OPTIONS: list[dict[str, Any]] = [
    {"label": "score", "ignore": ["grade", "mark", "visits"]},
    {"label": "grade", "ignore": ["score", "mark", "visits"]},
    {"label": "mark", "ignore": ["score", "grade", "visits"], "products": 5},
    {"label": "score", "ignore": ["grade", "mark", "visits"], "auto": True, "loss": "absolute_error"},
    {"label": "score", "ignore": ["grade", "mark", "visits"], "auto": True, "loss": Quantile(0.9), "products": False},
    {"label": "visits", "ignore": ["grade", "mark", "score"], "auto": True, "loss": "poisson"},
    {"label": "grade", "ignore": ["score", "mark", "visits"], "time": "at"},
    {"label": "grade", "ignore": ["score", "mark", "visits"], "loss": "log_loss"},
    {"label": "mark", "ignore": ["score", "grade", "visits"], "loss": "hinge", "rho": 0.01},
    {"label": "score", "ignore": ["grade", "mark", "visits"], "loss": "huber", "window": 0.99},
]


def all_but_history(model: StreamModel) -> dict[str, Any]:
    """Scores, drift, columns and uncertainty: all that is reported, but for the course of the expert's weights."""
    return {"metrics": model.metrics, "drift": model.drift, "unlabelled": model.unlabelled, "names": model.names}


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("count", [25, 600])
@pytest.mark.parametrize("parts", [1, 3, 8, 40])
def test_parts_merge_to_the_model_and_go_on_as_it_does(options: dict[str, Any], count: int, parts: int) -> None:
    model = odca.train(table(count), **options)
    split = model.split(parts)
    wanted: Any = "label" if model.task == "numbers" else "probabilities"
    events = table(50, seed=1)
    for merged in (reduce(StreamModel.merge, split), reduce(StreamModel.merge, reversed(split))):
        assert merged.learner.count == model.learner.count
        answers: Any = ("live", "steady") if model.options.auto is not None else ("steady",)
        for answer in answers:
            expected = model.predict(events, wanted, answer=answer)
            np.testing.assert_allclose(
                merged.predict(events, wanted, answer=answer), expected, rtol=1e-9, atol=1e-11, err_msg=answer
            )
    merged = reduce(StreamModel.merge, split)
    assert all_but_history(merged) == all_but_history(model)
    then = copy.copy(model)
    for each in (then, merged):
        each.learn(table(120, seed=2))
    np.testing.assert_allclose(merged.predict(events, wanted), then.predict(events, wanted), rtol=1e-6, atol=1e-8)
    for each in split:
        assert each.names == model.names
        assert each.classes == model.classes


@pytest.mark.parametrize("options", OPTIONS[:7], ids=str)
def test_parts_of_many_events_answer_steadily_as_the_model_does(options: dict[str, Any]) -> None:
    """The live answer sees each row in units that it is part of, so it depends on how many rows there were."""
    model = odca.train(table(), **options)
    wanted: Any = "label" if model.task == "numbers" else "probabilities"
    events = table(50, seed=1)
    expected = model.predict(events, wanted, answer="steady")
    for each in model.split(3):
        # Base rates are more cautious with fewer events.
        np.testing.assert_allclose(each.predict(events, wanted, answer="steady"), expected, rtol=0.0, atol=1e-3)


@pytest.mark.parametrize("options", OPTIONS)
def test_parts_learn_different_events(options: dict[str, Any]) -> None:
    model = odca.train(table(), **options)
    split = model.split(2)
    for seed, each in enumerate(split, 1):
        each.learn(table(300, seed=seed))
    merged = split[0].merge(split[1])
    assert merged.learner.count == merged.metrics.events == 1200


def test_a_model_that_remembers_events_cannot_be_split() -> None:
    model = odca.train(table(), label="score", ignore=["grade", "mark", "visits"], history=["score: lag 1"])
    with pytest.raises(ValueError, match="history or tf_idf cannot be split"):
        model.split(2)
