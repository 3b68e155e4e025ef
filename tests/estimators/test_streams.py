"""partial_fit: any split, late classes, late features, and probabilities."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.datasets import make_blobs

import real_data
from odca import ElasticNet, ODCAClassifier, ODCARegressor
from odca.models.calibration import expected_calibration_error

OPTIONS = [
    {"loss": "log_loss"},
    {"loss": "hinge", "window": 0.98},
    {"loss": "squared_hinge", "window": 60, "penalty": ElasticNet(0.01), "scale": False},
]


def same_bits(a, b) -> bool:
    mine, theirs = (each.saved().all_arrays() for each in (a, b))
    return mine.keys() == theirs.keys() and all(mine[name].tobytes() == theirs[name].tobytes() for name in mine)


def stream(classes: int = 4, n: int = 400):
    """Class k comes from event 60 k on."""
    X, y = make_blobs(n, 5, centers=classes, cluster_std=4.0, random_state=1)
    y = np.where(np.arange(n) < 60 * y, 0, y)
    return X * [1.0, 100.0, 0.01, 1.0, 1.0] + 50.0, np.array(["d", "b", "a", "c"])[y]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("sparse", [False, True])
def test_any_split_gives_the_same_bits(options, sparse: bool) -> None:
    X, y = stream()
    rows = sp.csr_array(X) if sparse else X
    whole = ODCAClassifier(**options).partial_fit(rows, y)
    parts = ODCAClassifier(**options)
    for at in np.split(np.arange(len(y)), [1, 2, 30, 61, 200, 399]):
        parts.partial_fit(rows[at], y[at])
    assert same_bits(whole, parts)
    assert whole.progress_ == parts.progress_
    assert np.array_equal(whole.predict_proba(rows), parts.predict_proba(rows))


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_a_late_class_gives_the_same_model_as_declaring_it_at_the_start(options) -> None:
    X, y = stream()
    declared = ODCAClassifier(**options).partial_fit(X, y, classes=["a", "b", "c", "d"])
    late = ODCAClassifier(**options)
    for at in np.split(np.arange(len(y)), [55, 80, 130, 250]):
        late.partial_fit(X[at], y[at])
    assert list(late.classes_) == ["a", "b", "c", "d"]
    late._model.set_classes(declared._model.classes)  # its lanes are in the order in which the classes came
    late._model.metrics = declared.progress_  # of what was declared, no first event comes as a surprise
    late._model.uncertainty = declared._model.uncertainty  # nor does it here
    assert same_bits(declared, late)


def test_a_late_class_can_be_refused() -> None:
    X, y = stream()
    model = ODCAClassifier(new_classes="error").partial_fit(X[:55], y[:55], classes=["b", "d"])
    with pytest.raises(ValueError, match=r"y holds \['a', 'c'\], which is not among the classes \['b', 'd'\]"):
        model.partial_fit(X, y)


def test_a_class_that_appears_after_fit_is_learned() -> None:
    X, y = stream(3, 600)
    known = y != "a"
    model = ODCAClassifier().fit(X[known], y[known])
    assert list(model.classes_) == ["b", "d"]
    for _ in range(5):
        model.partial_fit(X, y)
    assert list(model.classes_) == ["a", "b", "d"]
    assert np.mean(model.predict(X[~known]) == "a") > 0.5


def test_late_features_are_learned_if_allowed() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 3))
    y = (X[:, 2] > 0).astype(int)
    with pytest.raises(ValueError, match="2 features"):
        ODCAClassifier().partial_fit(X[:, :2], y).partial_fit(X, y)
    model = ODCAClassifier(new_features="learn").partial_fit(X[:300, :2], y[:300])
    model.partial_fit(X[300:], y[300:])
    assert model.n_features_in_ == 3
    assert model.score(X, y) > 0.9
    assert model.predict(X[:, :1]).shape == (600,)  # what is not given counts as zero


def test_data_frame_columns_are_matched_by_name() -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(400, 3)), columns=["a", "b", "c"])
    y = frame["c"] - frame["a"]
    by_name = ODCARegressor(new_features="learn", scale=False, smoothing=0.0)
    by_name.partial_fit(frame[["a", "b"]][:200], y[:200])
    by_name.partial_fit(frame[["c", "a", "b"]][200:], y[200:])
    assert list(by_name.feature_names_in_) == ["a", "b", "c"]
    assert by_name.score(frame[["b", "c", "a"]], y) > 0.95
    assert by_name.predict(frame[["a"]].assign(unheard_of=1.0)).shape == (400,)


@pytest.mark.parametrize("name", ["hinge", "squared_hinge", "squared_error"])
def test_calibration_turns_margins_into_probabilities(name: str) -> None:
    data = real_data.load("a6a")
    model = ODCAClassifier(name, rho=1e-3)
    for at in np.array_split(np.arange(len(data.y)), 20):
        model.partial_fit(data.X[at], data.y[at])
    p = model.predict_proba(data.X_test)[:, 1]
    raw = 1.0 / (1.0 + np.exp(-model.decision_function(data.X_test)))
    before, after = (expected_calibration_error(each, data.y_test > 0) for each in (raw, p))
    print(f"{name}: ECE {before:.4f} before, {after:.4f} after")
    assert after < 0.025
    assert after < before
