"""Estimators for scikit-learn take X with strings, categories and missing values: the features of a file with these columns."""

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.model_selection import cross_val_score
from sklearn.utils import get_tags

import odca
from odca import AutoClassifier, AutoRegressor, ODCAClassifier, ODCARegressor

ESTIMATORS = (AutoClassifier, AutoRegressor, ODCAClassifier, ODCARegressor)
NAMES = {
    "area",
    "area is missing",
    "city=Rome",
    "city=Oslo",
    "city=Łódź",
    "city is missing",
    "kind=0",
    "kind=1",
    "kind=2",
}


def frame(count: int = 900) -> pd.DataFrame:
    rng = np.random.default_rng(1)
    table = pd.DataFrame({
        "area": rng.normal(50.0, 10.0, count),
        "city": rng.choice(["Rome", "Oslo", "Łódź"], count),
        "kind": pd.Categorical(rng.integers(0, 3, count)),
    })  # fmt: skip
    table.loc[::9, "area"], table.loc[::7, "city"] = np.nan, None
    return table


def labels(kind: Any, table: pd.DataFrame) -> Any:
    rents = 2.0 * table.area.fillna(50.0) + 30.0 * (table.city == "Rome") + 20.0 * (table.kind == 1)
    return (np.where(rents > 120.0, "dear", "cheap") if "Classifier" in kind.__name__ else rents).copy()


def as_polars(table: pd.DataFrame) -> pl.DataFrame:
    columns = {name: table[name].astype(object).where(table[name].notna(), None).tolist() for name in table}
    return pl.DataFrame(columns).with_columns(pl.col("city").cast(pl.Categorical))


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_frames_with_text_categories_and_gaps_are_learned(kind: Any, tmp_path: Path) -> None:
    table = frame()
    y = labels(kind, table)
    fitted = kind().fit(table, y)
    assert fitted.score(table, y) > 0.85
    assert set(fitted.coef_names_) == NAMES
    assert fitted.coef_.shape[-1] == len(NAMES)
    assert fitted.n_features_in_ == 3
    assert fitted.feature_names_in_.tolist() == ["area", "city", "kind"]
    streamed = kind()
    for begin in range(0, len(table), 100):
        streamed.partial_fit(table[begin : begin + 100], y[begin : begin + 100])
    once = kind().partial_fit(table, y)
    assert streamed.predict(table).tolist() == once.predict(table).tolist()
    assert streamed.predict(as_polars(table)).tolist() == streamed.predict(table).tolist()
    streamed.save(tmp_path / "m.safetensors")
    for again in (odca.load(tmp_path / "m.safetensors"), pickle.loads(pickle.dumps(streamed))):
        again.partial_fit(table[:100], y[:100])
        assert again.coef_names_.tolist() == streamed.coef_names_.tolist()
    assert np.mean(cross_val_score(clone(fitted), table, y, cv=3)) > 0.8


@pytest.mark.parametrize("kind", ["classes", "numbers"])
def test_the_features_are_those_of_the_file(kind: str, tmp_path: Path) -> None:
    estimator = AutoClassifier if kind == "classes" else AutoRegressor
    table = frame().astype({"kind": str})
    table["kind"] = "k" + table.kind
    y = labels(estimator, frame())
    table.assign(y=y).to_csv(tmp_path / "a.csv", index=False)
    expected = odca.train(tmp_path / "a.csv", label="y", task=kind, progress=False)
    model = estimator().partial_fit(table, y)
    assert model.coef_names_.tolist() == [odca.stream.feature_name(key) for key in expected.names]
    assert model.learner_.count == expected.learner.count
    if kind == "numbers":
        assert model.predict(table).tolist() == expected.predict(table).tolist()
    assert (
        model.freeze().predict(table[:5]).tolist() == pytest.approx(model.predict(table[:5]).tolist())
        or kind == "classes"
    )


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_missing_numbers_of_arrays_are_missing_values(kind: Any) -> None:
    rng = np.random.default_rng(2)
    X = rng.normal(size=(300, 3))
    y = np.where(X[:, 0] > 0, 1.0, 0.0)
    X[::5, 1] = np.nan
    model = kind().fit(X, y)
    assert set(model.coef_names_) == {"x0", "x1", "x2", "x1 is missing"}
    assert model.predict(X).shape == (300,)
    assert not hasattr(model, "feature_names_in_")
    X[0, 0] = np.inf
    with pytest.raises(ValueError, match="infinity"):
        model.fit(X, y)


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_columns_that_differ_are_refused(kind: Any) -> None:
    table = frame()
    model = kind().fit(table, labels(kind, table))
    for other, message in (
        (table[["area", "city"]], "now missing"),
        (table.rename(columns={"city": "town"}), "unseen at fit time"),
        (table[["city", "area", "kind"]], "same order"),
    ):
        with pytest.raises(ValueError, match=message):
            model.predict(other)
        with pytest.raises(ValueError, match=message):
            model.partial_fit(other, labels(kind, table))
    assert model.predict(table).shape == (len(table),)


def test_a_stream_of_numbers_may_get_gaps_later() -> None:
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(200, 2)), rng.normal(size=200)
    gaps = X.copy()
    gaps[::4, 0] = np.nan
    automatic = AutoRegressor().partial_fit(X, y)
    with pytest.raises(ValueError, match="contains NaN"):
        automatic.predict(gaps)
    automatic.partial_fit(gaps, y)
    assert automatic.coef_names_.tolist() == ["x0", "x1", "x0 is missing"]
    assert automatic.predict(gaps).shape == (200,)
    linear = ODCARegressor().partial_fit(X, y)
    with pytest.raises(ValueError, match="the model began with numbers alone"):
        linear.partial_fit(gaps, y)
    assert linear.partial_fit(X, y).predict(X).shape == (200,)


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_numbers_alone_take_the_path_of_arrays(kind: Any) -> None:
    rng = np.random.default_rng(4)
    X, y = rng.normal(size=(200, 3)), rng.integers(0, 2, 200).astype(float)
    dense = kind(random_state=0).fit(X, y)
    framed = kind(random_state=0).fit(pd.DataFrame(X, columns=list("abc")), y)
    assert "_space" not in framed.__dict__
    assert framed.predict(pd.DataFrame(X, columns=list("abc"))).tolist() == dense.predict(X).tolist()
    again = framed.fit(frame(), labels(kind, frame())).fit(X, y)
    assert "_space" not in again.__dict__


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_the_tags_say_so(kind: Any) -> None:
    tags = get_tags(kind()).input_tags
    assert tags.string
    assert tags.categorical
    assert tags.allow_nan


def test_a_file_with_unsound_names_is_refused(tmp_path: Path) -> None:
    table = frame()
    model = AutoRegressor().fit(table, labels(AutoRegressor, table))
    model._space.vocabulary.restore(b"ab", np.array([1, 2]))
    model.save(tmp_path / "m.safetensors")
    with pytest.raises(ValueError, match="number of features"):
        odca.load(tmp_path / "m.safetensors")


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
@pytest.mark.parametrize("kind", [AutoClassifier, ODCAClassifier])
def test_an_array_has_the_columns_of_the_frame_in_their_order(kind: Any) -> None:
    X = pd.DataFrame({"city": ["Rome", "Paris", None, "Rome"] * 20, "area": [1.0, None, 3.0, 4.0] * 20})
    model = kind().partial_fit(X, [0, 1, 1, 0] * 20, classes=[0, 1])
    assert np.array_equal(model.predict_proba(X.to_numpy(dtype=object)), model.predict_proba(X))
    with pytest.raises(ValueError, match="0 sample"):
        model.predict(X[:0])
    with pytest.raises(ValueError, match="0 sample"):
        kind().fit(X[:0], [])
