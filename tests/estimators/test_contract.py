"""scikit-learn's own checks, and what its users rely on beside them."""

import copy
import pickle

import cloudpickle
import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
import sklearn
from sklearn.base import clone
from sklearn.datasets import make_classification, make_regression
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from odca import ElasticNet, HalfLife, Huber, ODCAClassifier, ODCARegressor, Quantile, SmoothHinge

# The two that scikit-learn's own SGD declares too. A weight of 2 is one event that is visited once a pass, and not two: `fit` then
# ends at other weights, which are as near to the optimum (within `tol`) but further apart than the checks allow.
EXPECTED = {
    f"check_sample_weight_equivalence_on_{kind}_data": "fit ends within tol of the optimum, at other weights"
    for kind in ("dense", "sparse")
}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # the checks' data are not scaled
@parametrize_with_checks(
    [
        ODCAClassifier(),
        ODCAClassifier("hinge"),
        ODCAClassifier("squared_hinge", new_classes="error", scale=True),
        ODCAClassifier(SmoothHinge(0.5), penalty="elasticnet", window=0.99, scale=False),
        ODCARegressor(),
        ODCARegressor(Huber(1.0), window=50, penalty=ElasticNet(0.01)),
        ODCARegressor("poisson"),
    ],
    expected_failed_checks=lambda _: EXPECTED,
)
def test_scikit_learns_checks_pass(estimator, check) -> None:
    check(estimator)


@pytest.fixture(name="binary")
def make_binary():
    X, y = make_classification(600, 12, n_informative=6, random_state=0)
    return X * 10.0 ** np.arange(-6, 6), np.array(["no", "yes"])[y]


def test_unscaled_data_are_learned_without_preprocessing(binary) -> None:
    X, y = binary
    assert ODCAClassifier().fit(X, y).score(X, y) > 0.78
    model = ODCAClassifier()
    for at in np.array_split(np.arange(len(y)), 40):
        model.partial_fit(X[at], y[at])
    assert model.score(X, y) > 0.75
    assert model.progress_.accuracy > 0.7
    assert model.progress_.events == 600
    np.testing.assert_allclose(model.decision_function(X), X @ model.coef_[0] + model.intercept_[0], atol=1e-9)


def test_pipelines_grid_search_and_cross_validation_work(binary) -> None:
    X, y = binary
    search = GridSearchCV(ODCAClassifier(scale=False), {"rho": [1e-2, 1e-1], "loss": ["hinge", "log_loss"]}, cv=3)
    assert make_pipeline(StandardScaler(), search).fit(X, y).score(X, y) > 0.75
    assert np.mean(cross_validate(ODCAClassifier(), X, y, scoring="neg_log_loss")["test_score"]) > -0.5
    twin = clone(ODCAClassifier(SmoothHinge(0.2), window=HalfLife(5.0)))
    assert twin.get_params()["loss"] == SmoothHinge(0.2)


@pytest.mark.parametrize("dumps", [pickle.dumps, cloudpickle.dumps], ids=["pickle", "cloudpickle"])
def test_pickling_and_copying_give_the_same_model(binary, dumps, tmp_path) -> None:
    X, y = binary
    model = ODCAClassifier("hinge", window=100).partial_fit(X[:300], y[:300])
    joblib.dump(model, tmp_path / "model")
    for twin in (pickle.loads(dumps(model)), copy.deepcopy(model), joblib.load(tmp_path / "model")):
        mine = copy.deepcopy(model).partial_fit(X[300:], y[300:])
        twin.partial_fit(X[300:], y[300:])
        assert np.array_equal(twin.predict_proba(X), mine.predict_proba(X))
        assert twin.learner_ == mine.learner_


def test_sample_weights_and_times_are_routed(binary) -> None:
    X, y = binary
    weight, time = np.linspace(0.1, 2.0, len(y)), np.arange(len(y), dtype=float)
    direct = ODCAClassifier(window=HalfLife(1e3), random_state=0).fit(X, y, sample_weight=weight, time=time)
    with sklearn.config_context(enable_metadata_routing=True):
        model = ODCAClassifier(window=HalfLife(1e3), random_state=0).set_fit_request(sample_weight=True, time=True)
        routed = make_pipeline(FunctionTransformer(), model)
        routed.fit(X, y, sample_weight=weight, time=time)
    assert np.array_equal(routed[-1].coef_, direct.coef_)
    assert not np.array_equal(
        ODCAClassifier(window=HalfLife(1e9), random_state=0).fit(X, y, time=time).coef_, direct.coef_
    )


def in_pandas(X: np.ndarray, names: list[str]) -> pd.DataFrame:
    return pd.DataFrame(X, columns=names)


def in_polars(X: np.ndarray, names: list[str]) -> pl.DataFrame:
    return pl.DataFrame(X, schema=names)


@pytest.mark.parametrize("frame", [in_pandas, in_polars])
def test_pandas_and_polars_frames_are_accepted(binary, frame) -> None:
    X, y = binary
    names = [f"x{j}" for j in range(X.shape[1])]
    model = ODCAClassifier(random_state=0).fit(frame(X, names), y)
    assert list(model.feature_names_in_) == names
    assert np.array_equal(model.predict(frame(X, names)), ODCAClassifier(random_state=0).fit(X, y).predict(X))
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame(X, names[::-1]))


def test_sparsify_shows_sparse_weights() -> None:
    X, y = make_regression(200, 30, n_informative=3, random_state=0)
    model = ODCARegressor(penalty=ElasticNet(20.0), rho=0.1).fit(X, y)
    dense = model.coef_
    assert 0 < np.count_nonzero(dense) < 15
    assert sp.issparse(model.sparsify().coef_)
    assert np.array_equal(model.coef_.toarray()[0], dense)
    assert np.array_equal(model.densify().coef_, dense)


def test_under_poisson_loss_the_prediction_is_the_mean() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(800, 3))
    exposure = rng.uniform(1.0, 5.0, 800)
    y = rng.poisson(exposure * np.exp(X @ [0.5, -0.3, 0.1] + 0.2))
    model = ODCARegressor("poisson").fit(X, y, offset=np.log(exposure))
    np.testing.assert_allclose(model.coef_, [0.5, -0.3, 0.1], atol=0.06)
    predicted = model.predict(X, offset=np.log(exposure))
    assert abs(predicted.mean() / y.mean() - 1.0) < 0.01


def test_several_outputs_are_learned_side_by_side() -> None:
    X, Y = make_regression(300, 8, n_targets=3, noise=1.0, random_state=0)
    together = ODCARegressor(Quantile(0.3)).partial_fit(X, Y)
    assert together.predict(X).shape == (300, 3)
    assert together.coef_.shape == (3, 8)
    for k in range(3):
        alone = ODCARegressor(Quantile(0.3)).partial_fit(X, Y[:, k])
        np.testing.assert_allclose(together.predict(X)[:, k], alone.predict(X), rtol=1e-9, atol=1e-9)
    assert ODCARegressor().fit(X, Y).score(X, Y) > 0.999


def test_several_labels_are_learned_side_by_side() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 6))
    Y = (X @ rng.normal(size=(6, 3)) > 0.0).astype(int)
    model = ODCAClassifier().fit(X, Y)
    assert np.mean(model.predict(X) == Y) > 0.97
    assert model.predict_proba(X).shape == (400, 3)
    online = ODCAClassifier("hinge")
    for at in np.array_split(np.arange(400), 8):
        online.partial_fit(X[at], Y[at])
    assert np.mean(online.predict(X) == Y) > 0.9
    with pytest.raises(ValueError, match="indicator matrix"):
        online.partial_fit(X, Y[:, 0])


def test_the_duality_gap_and_the_lower_bound_are_available(binary) -> None:
    X, y = binary
    model = ODCAClassifier("hinge", tol=1e-5, rho=1e-2).fit(X, y)
    assert 0.0 <= model.duality_gap_ <= 1e-5
    assert 0.0 < model.dual_objective_ < 1.0
    assert model.n_iter_ < 1000
    with pytest.raises(AttributeError, match="after fit"):
        _ = ODCAClassifier().partial_fit(X, y).duality_gap_
    assert ODCAClassifier(window=50).partial_fit(X, y).duality_gap_ > 0.0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"loss": "logg"}, "no loss named 'logg'"),
        ({"loss": "poisson"}, "a classifier takes one of the losses"),
        ({"penalty": "l1"}, "penalty must be one of"),
        ({"window": "forever"}, "window must be"),
        ({"window": 1.5}, "window must be"),
        ({"window": True}, "window must be"),
        ({"scale": "yes"}, "scale must be"),
        ({"rho": -1.0}, "rho must be"),
        ({"new_classes": "maybe"}, "new_classes must be"),
        ({"new_features": "maybe"}, "new_features must be"),
        ({"smoothing": 2.0}, "smoothing must lie"),
        ({"tol": -1.0}, "tol must be"),
        ({"max_iter": 0.5}, "max_iter must be"),
    ],
    ids=str,
)
def test_invalid_options_are_named_when_learning_starts(binary, options, message: str) -> None:
    X, y = binary
    with pytest.raises(ValueError, match=message):
        ODCAClassifier(**options).fit(X, y)


def test_a_refused_call_changes_nothing(binary) -> None:
    X, y = binary
    for model in (ODCAClassifier("hinge"), ODCAClassifier("hinge").partial_fit(X[:50], y[:50])):
        before = copy.deepcopy(model.__dict__)
        bad = X.copy()
        bad[7, 3] = np.inf
        with pytest.raises(ValueError, match="infinity"):
            model.partial_fit(bad, y)
        with pytest.raises(ValueError, match="inconsistent"):
            model.partial_fit(X, y[:-1])
        labels = y.copy()
        labels[3] = "new"
        with pytest.raises(ValueError, match="sample_weight"):
            model.partial_fit(X, labels, sample_weight=-np.ones(len(y)))
        assert model.__dict__.keys() == before.keys()
        assert "learner_" not in before or model.learner_ == before["learner_"]
        assert "classes_" not in before or list(model.classes_) == list(before["classes_"])
