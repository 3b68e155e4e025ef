"""What once went wrong."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.linear_model import HuberRegressor, Ridge

import odca
from odca import AutoClassifier, ODCAClassifier, ODCARegressor
from odca.models.calibration import expected_calibration_error
from odca.river import ODCAClassifier as RiverClassifier


def test_a_model_centred_on_dense_rows_handles_sparse_rows() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(3.0, 2.0, (200, 4)) * (rng.random((200, 4)) < 0.5)
    y = (X[:, 0] - X[:, 1] > 0).astype(int)
    for model in (ODCAClassifier().fit(X, y), ODCAClassifier(new_classes="error").partial_fit(X, y)):
        for rows in (X, X[:1]):
            np.testing.assert_allclose(
                model.decision_function(sp.csr_array(rows)), model.decision_function(rows), rtol=1e-9, atol=1e-9
            )


def test_missing_columns_count_as_zero() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(5.0, 1.0, (200, 3))
    model = ODCARegressor(new_features="learn").partial_fit(X, X @ [1.0, 2.0, 3.0])
    wide = np.hstack([X[:, :2], np.zeros((200, 1))])
    np.testing.assert_allclose(model.predict(X[:, :2]), model.predict(wide), rtol=1e-12)


@pytest.mark.parametrize("loss", ["squared_error", "absolute_error", "huber", "quantile", "epsilon_insensitive"])
def test_the_size_of_the_targets_does_not_matter(loss: str) -> None:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(1500, 5))
    y = 2e5 + X @ [3e4, -2e4, 1e4, 0.0, 5e3] + 2e4 * rng.normal(size=1500)
    peer = (Ridge() if loss == "squared_error" else HuberRegressor(epsilon=1.35)).fit(X, y).score(X, y)
    assert ODCARegressor(loss).fit(X, y).score(X, y) > peer - 0.02
    few = ODCARegressor(loss).fit(X[:100], X[:100, 0] + 1e3)
    assert few.score(X, X[:, 0] + 1e3) > 0.95


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "modified_huber"])
def test_fit_calibrates_the_margins_of_its_solution(loss: str) -> None:
    rng = np.random.default_rng(2)
    X = rng.normal(size=(1200, 30))
    y = rng.random(1200) < 1.0 / (1.0 + np.exp(-(X[:, :3].sum(axis=1))))
    model = ODCAClassifier(loss).fit(X[:400], y[:400])
    raw = 1.0 / (1.0 + np.exp(-model.decision_function(X[400:])))
    after = expected_calibration_error(model.predict_proba(X[400:])[:, 1], y[400:])
    assert after < 0.08
    assert after < expected_calibration_error(raw, y[400:]) + 0.02


def test_labels_of_another_type_are_refused() -> None:
    X = np.random.default_rng(3).normal(size=(20, 2))
    model = ODCAClassifier().partial_fit(X, [0, 1] * 10)
    before = model.coef_
    with pytest.raises(ValueError, match="labels must be of one type"):
        model.partial_fit(X[:1], ["2"])
    assert np.array_equal(model.coef_, before)


def test_a_class_that_looks_like_a_checksum_can_be_saved(tmp_path) -> None:
    X = np.random.default_rng(4).normal(size=(20, 2))
    model = ODCAClassifier().fit(X, np.array(["0" * 64, "f" * 64] * 10))
    model.save(tmp_path / "model.safetensors")
    assert np.array_equal(odca.load(tmp_path / "model.safetensors").predict(X), model.predict(X))


def test_offsets_of_several_classes_have_one_column_per_class() -> None:
    X = np.random.default_rng(5).normal(size=(60, 2))
    y = np.array([0, 1] * 20 + [2] * 20)
    with pytest.raises(ValueError, match=r"offset must have shape \(n, 3\)"):
        ODCAClassifier().partial_fit(X, y, offset=np.ones(60))
    offset = np.random.default_rng(6).normal(size=(60, 3))
    whole = ODCAClassifier().partial_fit(X, y, classes=[0, 1, 2], offset=offset)
    parts = ODCAClassifier()
    for n in range(60):
        parts.partial_fit(X[n : n + 1], y[n : n + 1], classes=[0, 1, 2], offset=offset[n : n + 1])
    assert whole.learner_ == parts.learner_
    binary = ODCAClassifier().fit(X[:40], y[:40], offset=np.full(40, 3.0))
    assert (binary.predict(X[:40], offset=np.full(40, 3.0)) != 1).any()  # it has learned against the offset


def test_a_third_class_under_bounds_must_be_declared() -> None:
    X = np.random.default_rng(7).normal(size=(20, 2))
    y = np.array([0, 1] * 10)
    with pytest.raises(ValueError, match=r"Name all classes in the first call"):
        ODCAClassifier(penalty="nonnegative").partial_fit(X, y).partial_fit(X[:1], [7])
    declared = ODCAClassifier(penalty="nonnegative").partial_fit(X, y, classes=[0, 1, 7]).partial_fit(X[:1], [7])
    assert (declared.coef_ >= 0.0).all()


def test_events_of_weight_zero_and_classes_without_weight_are_accepted() -> None:
    X = np.random.default_rng(8).normal(size=(20, 2))
    y = np.array([0, 1] * 10)
    weight = np.array([1.0, 0.0] * 10)
    whole = ODCAClassifier().partial_fit(X, y, sample_weight=weight)
    parts = ODCAClassifier()
    for n in range(20):
        parts.partial_fit(X[n : n + 1], y[n : n + 1], classes=[0, 1], sample_weight=weight[n : n + 1])
    assert whole.learner_ == parts.learner_
    ODCAClassifier(class_weight={0: 1.0, 2: 3.0}).partial_fit(X, y).partial_fit(X[:1], [2])
    with pytest.raises(ValueError, match="several labels"):
        ODCAClassifier(class_weight={0: 2.0}).fit(X, np.column_stack([y, 1 - y]))


def test_labelling_the_first_event_later_gives_the_same_model() -> None:
    x = {"a": 1.0, "b": None}
    now, later = RiverClassifier(), RiverClassifier()
    now.learn_one(x, True)
    later.predict_one(x, id=1)
    later.learn_label(1, True)
    assert now.predict_proba_one({"a": 2.0}) == later.predict_proba_one({"a": 2.0})


def test_boolean_labels_do_not_mix_with_other_labels() -> None:
    model = RiverClassifier()
    model.learn_one({"x": 1.0}, True)
    with pytest.raises(ValueError, match="True and False only"):
        model.learn_one({"x": 1.0}, "yes")
    assert model.classes == (False, True)
    with pytest.raises(ValueError, match="True and False only"):
        RiverClassifier().learn_many([{"x": 1.0}, {"x": 2.0}], [True, "yes"])
    with pytest.raises(ValueError, match="a label for every event"):
        model.learn_many([], [True])
    assert len(model.predict_proba_many([])) == 0


def test_changing_an_option_later_does_not_change_the_learned_model() -> None:
    X = np.random.default_rng(9).normal(size=(50, 2))
    model = ODCARegressor().partial_fit(X, X[:, 0])
    before = model.predict(X)
    assert np.array_equal(model.set_params(loss="poisson").predict(X), before)


def test_without_a_value_of_the_loss_the_progressive_loss_is_nan() -> None:
    class Mine:
        def gradient(self, z: float, y: float) -> float:
            return z - y

    X = np.random.default_rng(10).normal(size=(50, 2))
    model = ODCARegressor(Mine()).partial_fit(X, X[:, 0])
    assert np.isnan(model.progress_.loss)
    assert model.progress_.mae < 1.0


def test_saving_refuses_columns_learned_without_names(tmp_path) -> None:
    model = odca.EventLearner(loss=odca.LogLoss(), scale=False)
    model.learn_one({"a": 1.0}, 1.0)
    model.learner.learn([[1.0, 2.0, 3.0]], [1.0])
    with pytest.raises(ValueError, match="without names"):
        model.save(tmp_path / "model.safetensors")


@pytest.mark.parametrize("estimator", [ODCAClassifier, AutoClassifier])
def test_the_type_of_labels_widens_with_the_classes(estimator) -> None:
    X = np.array([[0.0], [1.0]])
    model = estimator().partial_fit(X, np.array([1, 2], np.int8))
    model.partial_fit(X, np.array([1, 300]))
    assert model.classes_.tolist() == [1, 2, 300]
    assert estimator().partial_fit(X, np.array([1, 1], np.uint8), classes=[-1, 1]).classes_.tolist() == [-1, 1]
    assert estimator().partial_fit(X, np.array([1, 1]), classes=[0.5, 1]).classes_.tolist() == [0.5, 1.0]


def test_every_output_may_have_a_strength_of_its_own() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(50, 3)), rng.normal(size=(50, 2))
    both = ODCARegressor(rho=[0.1, 0.5], prior_strength=[0.0, 1.0], scale=False).partial_fit(X, y)
    for output, (rho, strength) in enumerate(((0.1, 0.0), (0.5, 1.0))):
        alone = ODCARegressor(rho=rho, prior_strength=strength, scale=False).partial_fit(X, y[:, output])
        np.testing.assert_array_equal(both.coef_[output], alone.coef_)


def test_a_huge_margin_does_not_part_the_model_and_its_probabilities() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(10, 2)), rng.integers(2, size=10)
    model = ODCAClassifier("hinge").partial_fit(X, y)
    model.partial_fit(X, y, offset=[0.0] * 5 + [1e200] + [0.0] * 4)
    assert model.learner_.count == model.progress_.events == 20
    assert np.isfinite(model.predict_proba(X)).all()
