"""History for other models: transformers that work event by event, for river and scikit-learn."""

import copy
import pickle
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pandas as pd
import pytest
from river import compose, linear_model
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.impute import SimpleImputer
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline

from history.slow_history import SlowHistory
from odca.river import AutoRegressor, ODCAClassifier, ODCARegressor
from odca.river import History as RiverHistory
from odca.sklearn import History

LINES = ["y by shop: lag 1,2; mean 3; std 1h", "x: lag 1; change 1; since"]


def stream(count: int = 100) -> list[tuple[dict[str, Any], float]]:
    rng = np.random.default_rng(0)
    return [
        ({"shop": str(rng.choice(["a", "b"])), "x": float(rng.normal()), "at": 600.0 * k}, float(rng.normal()))
        for k in range(count)
    ]


def test_river_gets_the_features_of_the_reference_that_are_known() -> None:
    past, slow = RiverHistory(*LINES, time="at"), SlowHistory(LINES)
    names = [name for line in slow.lines for name in line.names]
    for x, y in stream():
        expected = dict(zip(names, slow.values(x, x["at"]), strict=True))
        known = {name: value for name, value in expected.items() if not np.isnan(value)}
        assert past.transform_one(x) == pytest.approx(known, rel=1e-9, abs=1e-12)
        past.learn_one(x, y)
        slow.learn(x, y, x["at"])


def test_a_river_pipeline_uses_the_features_before_the_label_enters() -> None:
    seen: list[dict[str, float]] = []

    def spy(x: dict[str, float]) -> dict[str, float]:
        seen.append(dict(x))
        return x

    model = RiverHistory("y: lag 1") | compose.FuncTransformer(spy) | linear_model.LinearRegression()
    for y in (3.0, 5.0):
        model.predict_one({})
        model.learn_one({}, y)
    known = [each for each in seen if each]
    assert known == [{"y: lag 1": 3.0}] * 2  # the second event, asked and learned


def test_river_can_clone_copy_and_pickle_it() -> None:
    past = RiverHistory(*LINES, time="at")
    for x, y in stream(20):
        past.learn_one(x, y)
    x = stream(21)[-1][0]
    assert past.clone().transform_one(x) == {}
    for again in (copy.deepcopy(past), pickle.loads(pickle.dumps(past))):
        assert again.transform_one(x) == past.transform_one(x) != {}
    assert "y by shop: lag 1,2" in repr(compose.Select("x") + past)


def test_scikit_learn_gets_what_was_known_before_each_row() -> None:
    table = stream()
    X, y = pd.DataFrame([x for x, _ in table]), [label for _, label in table]
    past, slow = History(LINES, time="at"), SlowHistory(LINES)
    expected = []
    for x, label in table:
        expected.append(slow.values(x, x["at"]))
        slow.learn(x, label, x["at"])
    found = past.fit_transform(X, y)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)
    parts = History(LINES, time="at").partial_fit(X[:30], y[:30]).partial_fit(X[30:], y[30:])
    more = pd.DataFrame([x for x, _ in table[:2]]).assign(at=[1e5, 1e5 + 1])
    np.testing.assert_array_equal(parts.transform(more), past.transform(more))
    np.testing.assert_array_equal(past.transform(more), past.transform(more))
    first, second = past.transform(more)[:, -3], past.transform(more)[:, -2]
    assert first.tolist() == [table[-1][0]["x"], table[0][0]["x"]]  # of fields, the row before counts
    assert second.tolist() == [table[0][0]["x"] - table[-1][0]["x"], table[1][0]["x"] - table[0][0]["x"]]
    assert past.get_feature_names_out().tolist() == [name for line in slow.lines for name in line.names]


def test_a_scikit_learn_pipeline_forecasts() -> None:
    rng = np.random.default_rng(0)
    y = np.cumsum(rng.normal(size=300))
    X = [{"shop": "a"}] * 300
    model = make_pipeline(History(["y: lag 1"]), SimpleImputer(), Ridge(alpha=1e-6)).fit(X, y)
    assert model.predict([{"shop": "a"}])[0] == pytest.approx(y[-1], abs=1.0)
    with pytest.raises(NotFittedError):
        clone(model)[0].transform(X)


def test_a_missing_time_and_no_lines_are_refused() -> None:
    with pytest.raises(ValueError, match="event 0 has no 'at', which is its time"):
        RiverHistory("y: mean 1h", time="at").transform_one({"x": 1.0})
    with pytest.raises(ValueError, match="history over a span of time needs the time of every event"):
        RiverHistory("y: mean 1h").transform_one({"x": 1.0})
    with pytest.raises(ValueError, match="history needs a line at least"):
        RiverHistory()


def test_dates_are_times_of_events() -> None:
    past = RiverHistory("y: since", time="at")
    past.learn_one({"at": datetime(2024, 1, 1, tzinfo=UTC)}, 1.0)
    assert past.transform_one({"at": datetime(2024, 1, 2, tzinfo=UTC)}) == {"y: since": 86_400.0}


@pytest.mark.parametrize("make", [ODCARegressor, AutoRegressor])
def test_the_estimators_for_river_have_a_history_with_times(make: Any) -> None:
    model = make(history=["y by shop: lag 1; mean 1h"])
    for x, y in stream(50):
        model.predict_one(x, time=x["at"])
        model.learn_one(x, y, time=x["at"])
    assert "y by shop: mean 1h" in model.explain_one(stream()[0][0], time=30_000.0)
    with pytest.raises(ValueError, match="has no time"):
        model.predict_one(stream()[0][0])


def test_a_classifier_of_two_classes_has_a_history_of_its_label() -> None:
    model = ODCAClassifier(history=["y: lag 1"])
    right = 0
    for k in range(400):
        y = k % 2 == 0
        right += model.predict_one({"x": 1.0}) == y
        model.learn_one({"x": 1.0}, y)
    assert right > 380
