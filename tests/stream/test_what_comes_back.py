"""Labels come back as the user gave them; copies and pickles; data of the wrong columns; a single row."""

import copy
import pickle
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import odca

N = 300
X = np.random.default_rng(1).normal(size=N)
LABELS: dict[str, tuple[Any, tuple[Any, ...], Any]] = {
    "booleans": (X > 0.0, (False, True), np.bool_),
    "whole numbers": ((X > 0.0).astype(int) + 3, (3, 4), np.int64),
    "three whole numbers": (np.digitize(X, [-0.5, 0.5]), (0, 1, 2), np.int64),
    "floats": (np.where(X > 0.0, 1.5, 0.0), (0.0, 1.5), np.float64),
    "whole floats": (np.where(X > 0.0, 1.0, 0.0), (0.0, 1.0), np.float64),
    "texts": (np.where(X > 0.0, "up", "down"), ("down", "up"), object),
    "categories of whole numbers": (pd.Categorical((X > 0.0).astype(int)), (0, 1), np.int64),
    "categories of booleans": (pd.Categorical(X > 0.0), (False, True), np.bool_),
    "categories of texts": (pd.Categorical(np.where(X > 0.0, "up", "down")), ("down", "up"), object),
}


def frame(labels: Any) -> pd.DataFrame:
    return pd.DataFrame({"x": X, "y": labels})


@pytest.mark.parametrize("kind", LABELS)
def test_predicted_classes_have_the_type_of_the_labels(kind: str, tmp_path: Any) -> None:
    labels, classes, dtype = LABELS[kind]
    model = odca.train(frame(labels), label="y", task="classes")
    model.save(tmp_path / "a.safetensors")
    loaded = odca.load(tmp_path / "a.safetensors")
    for each in (
        model,
        loaded,
        model.freeze(),
        copy.deepcopy(model),
        copy.copy(model),
        pickle.loads(pickle.dumps(model)),
    ):
        assert each.classes == classes
        assert [type(label) for label in each.classes] == [type(label) for label in classes]
        predicted = each.predict(frame(labels))
        assert predicted.dtype == dtype
        assert np.mean(predicted == np.asarray(labels)) > 0.9
        assert type(each.predict({"x": 1.0})) is type(classes[0])


@pytest.mark.parametrize("kind", LABELS)
def test_dictionaries_with_such_labels_bring_no_new_classes(kind: str) -> None:
    labels, classes, _ = LABELS[kind]
    model, data = odca.train(frame(labels), label="y", task="classes"), frame(labels)
    model.learn(data.to_dict("records"))
    model.learn(pl.from_pandas(data))
    assert model.classes == classes
    assert model.metrics.events == 3 * N


@pytest.mark.parametrize(
    ("text", "classes"), [("0 1", (0, 1)), ("0 1.5", (0.0, 1.5)), ("True False", ("False", "True"))]
)
def test_classes_of_a_file_are_whole_numbers_if_all_are(tmp_path: Any, text: str, classes: tuple[Any, ...]) -> None:
    low, high = text.split()
    path = tmp_path / "a.csv"
    path.write_text("x,y\n" + "".join(f"{x},{high if x > 0.0 else low}\n" for x in X))
    model = odca.train(path, label="y", task="classes")
    assert model.classes == classes
    assert [type(label) for label in model.classes] == [type(label) for label in classes]


def test_numbers_are_predicted_as_floats() -> None:
    model = odca.train(frame(np.arange(N)), label="y")
    assert model.predict(frame(np.arange(N))).dtype == np.float64


def test_a_copy_learns_by_itself() -> None:
    model = odca.train(frame(X > 0.0), label="y")
    twin = copy.deepcopy(model)
    twin.learn(frame(X > 0.0))
    assert (model.metrics.events, twin.metrics.events) == (N, 2 * N)


class Mine:
    """A loss of the user's own."""

    def gradient(self, z: float, y: float) -> float:
        return z - y

    def value(self, z: float, y: float) -> float:
        return 0.5 * (z - y) ** 2


def test_a_model_with_a_loss_of_the_user_says_how_to_keep_it() -> None:
    model = odca.train(frame(X), label="y", loss=Mine(), rho=0.01, window="infinite")
    for keep in (pickle.dumps, copy.deepcopy):
        with pytest.raises(TypeError, match=r"use model\.save\(path\) and odca\.load\(path, loss=\.\.\.\)"):
            keep(model)


def test_a_row_of_a_frame_is_one_event() -> None:
    data = frame(X > 0.0)
    model = odca.train(data, label="y")
    assert model.predict(data.iloc[5]) is bool(model.predict(data)[5])
    assert model.explain(data.iloc[5]) == model.explain(data)[5]
    assert model.predict_proba(data.iloc[5]).tolist() == model.predict_proba(data)[5].tolist()


@pytest.mark.parametrize("data", [pd.DataFrame({"X1": [1.0]}), [{"X1": 1.0}], {"X1": 1.0}, pd.Series({"X1": 1.0})])
def test_data_with_none_of_the_columns_are_refused(data: Any) -> None:
    model = odca.train(frame(X > 0.0).rename(columns={"x": "x1"}), label="y")
    for use in (model.predict, model.explain, model.predict_set):
        with pytest.raises(
            ValueError,
            match=r"none of the columns that the model was trained on: x1. Its columns are X1. Did you mean 'x1'",
        ):
            use(data)


def test_events_without_any_column_are_predicted() -> None:
    model = odca.train(frame(X), label="y")
    assert np.isfinite(model.predict({}))
    assert len(model.predict([])) == 0


@pytest.mark.parametrize(
    ("label", "said"),
    [("Y", "Did you mean 'y'"), (1, "They have names: a number means none of them, but -1 is the last")],
)
def test_a_label_that_is_not_there_is_explained(label: Any, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        odca.train(frame(X), label=label)
    assert odca.train(frame(X).rename(columns={"x": 0, "y": 1}), label=1).metrics.events == N


def test_a_series_is_one_event_and_a_column_is_none() -> None:
    data = frame(X)
    model = odca.train(data, label="y")
    assert model.predict(data.iloc[3]) == model.predict(data[3:4])[0]
    with pytest.raises(ValueError, match="the Series, one event with names as its index, has none of the columns"):
        model.predict(data["x"])


@pytest.mark.parametrize(
    "option", [{"tf_idf": True}, {"chars": (3, 5)}, {"ngrams": 2}, {"sublinear": True}, {"text_length": 9}]
)
def test_options_of_text_without_text_are_refused(option: Any) -> None:
    with pytest.raises(ValueError, match=r"no field holds text. `[a-z_]+` is about text: name the fields"):
        odca.train(frame(X), label="y", **option)
