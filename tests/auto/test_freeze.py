"""Freezing: the steady answer of an automatic model as an ordinary linear model of the same interface."""

import copy
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from tests.auto.test_answers import NAMES, TASKS, estimator_of, events_of, trained, written

import odca
import odca.river
from odca import AutoLearner, EventLearner, Learner, ODCAClassifier, ODCARegressor, cli
from odca.models.auto_events import AutoEvents
from odca.models.auto_report import product_name

CLOSE: dict[str, Any] = {"rtol": 1e-9, "atol": 1e-9}


def dictionaries(X: np.ndarray) -> list[dict[str, float]]:
    return [dict(zip(NAMES, row, strict=True)) for row in X.tolist()]


def reloaded(model: Any, folder: Path) -> Any:
    model.save(folder / "frozen.safetensors")
    return odca.load(folder / "frozen.safetensors")


def codes_of(task: str, y: np.ndarray) -> np.ndarray:
    return y if task == "numbers" else np.unique(y, return_inverse=True)[1].astype(float)


@pytest.mark.parametrize("task", TASKS)
def test_a_frozen_learner_predicts_the_steady_answer(task: str, tmp_path: Path) -> None:
    X, y = events_of(task)
    auto = AutoLearner("numbers" if task == "numbers" else "classes", classes=4 if task == "several" else 2)
    auto.learn(X, codes_of(task, y))
    frozen = auto.freeze()
    assert type(frozen) is Learner
    np.testing.assert_allclose(frozen.coef, auto.coef, rtol=1e-12)
    for model in (frozen, reloaded(frozen, tmp_path), pickle.loads(pickle.dumps(frozen)), frozen.copy()):
        for rows in (X, sp.csr_array(X)):
            np.testing.assert_allclose(model.predict(rows), auto.predict(rows, answer="steady"), **CLOSE)


@pytest.mark.parametrize("bits", [None, 10])
@pytest.mark.parametrize("task", TASKS)
def test_frozen_events_keep_their_names(task: str, bits: int | None, tmp_path: Path) -> None:
    X, y = events_of(task)
    events = [{**event, "kind": "abc"[n % 3]} for n, event in enumerate(dictionaries(X))]
    auto = AutoEvents("numbers" if task == "numbers" else "classes", classes=4 if task == "several" else 2, bits=bits)
    auto.learn_many(events, codes_of(task, y))
    frozen = auto.freeze()
    assert type(frozen) is EventLearner
    expected = auto.predict_many(events, answer="steady")
    for model in (frozen, reloaded(frozen, tmp_path), pickle.loads(pickle.dumps(frozen)), frozen.copy()):
        np.testing.assert_allclose(model.predict_many(events), expected, **CLOSE)
        assert model == frozen
    if bits is None:
        weights = [*frozen.weights()][1:]
        assert weights[:6] == [*NAMES, "kind=a", "kind=b", "kind=c"]
        assert weights[6:] == [product_name(each.features, weights[:6]) for each in frozen.learner.products] != []


@pytest.mark.parametrize("task", TASKS)
def test_a_frozen_estimator_of_scikit_learn_agrees_in_every_method(task: str, tmp_path: Path) -> None:
    auto, X, y = estimator_of(task)
    frozen = auto.freeze()
    assert type(frozen) is (ODCARegressor if task == "numbers" else ODCAClassifier)
    for model in (frozen, reloaded(frozen, tmp_path), copy.deepcopy(frozen)):
        assert model.score(X, y) == pytest.approx(auto.score(X, y), abs=1e-9)
        np.testing.assert_allclose(model.coef_, auto.coef_, **CLOSE)
        np.testing.assert_allclose(model.intercept_, auto.intercept_, **CLOSE)
        assert model.products_ == tuple(each for each in auto.products_ if any(each.weights)) != ()
        if task == "numbers":
            np.testing.assert_allclose(model.predict(X), auto.predict(X), **CLOSE)
            continue
        assert np.array_equal(model.predict(X), auto.predict(X))
        np.testing.assert_allclose(model.decision_function(X), auto.decision_function(X), **CLOSE)
        np.testing.assert_allclose(model.predict_proba(X), auto.predict_proba(X), **CLOSE)


@pytest.mark.parametrize(
    "labels", [(True, False), (False, True), ("no", "yes"), ("low", "mid", "top"), ("only",), (True,)]
)
def test_a_frozen_classifier_of_river_agrees_whatever_its_labels_are(labels: tuple[Any, ...], tmp_path: Path) -> None:
    X, _ = events_of("two")
    events = dictionaries(X)
    chosen = np.digitize(X[:, 0] * 1000.0, [-0.5, 0.5])[: len(X)] % len(labels)
    auto = odca.river.AutoClassifier()
    for event, code in zip(events[:300], [*range(len(labels)), *chosen.tolist()], strict=False):
        auto.learn_one(event, labels[code])
    frozen = auto.freeze()
    assert type(frozen) is odca.river.ODCAClassifier
    for model in (frozen, reloaded(frozen, tmp_path), pickle.loads(pickle.dumps(frozen))):
        for event in events[300:330]:
            expected = auto.predict_proba_one(event, answer="steady")
            found = model.predict_proba_one(event)
            assert {label: found[label] for label in expected} == pytest.approx(expected, rel=1e-9, abs=1e-9) or len(
                labels
            ) == 1
            assert model.predict_one(event) == auto.predict_one(event, answer="steady") or len(labels) == 1
            model_twin = copy.deepcopy(model)
            model_twin.learn_one(event, labels[0])


def test_a_frozen_regression_of_river_agrees(tmp_path: Path) -> None:
    X, y = events_of("numbers")
    auto = odca.river.AutoRegressor()
    auto.learn_many(dictionaries(X), y)
    for model in (auto.freeze(), reloaded(auto.freeze(), tmp_path)):
        assert type(model) is odca.river.ODCARegressor
        for event in dictionaries(X[:20]):
            assert model.predict_one(event) == pytest.approx(auto.predict_one(event, answer="steady"), rel=1e-9)


@pytest.mark.parametrize("task", TASKS)
def test_a_frozen_model_of_files_is_small_and_agrees(task: str, tmp_path: Path) -> None:
    auto, rest = trained(tmp_path, task)
    frozen = auto.freeze()
    wanted = ("label", "margins") if task == "numbers" else ("label", "margins", "probabilities")
    for model in (frozen, reloaded(frozen, tmp_path)):
        assert isinstance(model.learner, Learner)
        for what in wanted:
            found, expected = model.predict(rest, what), auto.predict(rest, what)
            if found.dtype == object:
                assert np.array_equal(found, expected)
            else:
                np.testing.assert_allclose(found, expected, **CLOSE)
    assert (tmp_path / "frozen.safetensors").stat().st_size < (tmp_path / "m.safetensors").stat().st_size
    with pytest.raises(ValueError, match="a linear model already"):
        frozen.freeze()


def test_a_frozen_model_of_many_features_is_several_times_smaller(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    auto = odca.AutoLearner("numbers")
    auto.learn(rng.normal(size=(50, 2000)), rng.normal(size=50))
    paths = tmp_path / "auto.safetensors", tmp_path / "frozen.safetensors"
    for model, path in zip((auto, auto.freeze()), paths, strict=True):
        model.save(path)
    assert paths[1].stat().st_size < paths[0].stat().st_size / 3


def test_the_command_line_freezes_a_model(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    auto, rest = trained(tmp_path, "several")
    big, small = str(tmp_path / "m.safetensors"), str(tmp_path / "s.safetensors")
    assert cli.main(["freeze", big, "-o", small]) == 0
    assert "size before" in capsys.readouterr().out
    np.testing.assert_allclose(
        odca.load(small).predict(rest, "probabilities"), auto.predict(rest, "probabilities"), **CLOSE
    )
    assert cli.main(["freeze", small, "-o", str(tmp_path / "x")]) == 1
    assert "a linear model already" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        cli.main(["freeze", big, "-o", big])


@pytest.mark.parametrize("task", TASKS)
def test_a_frozen_model_goes_on_learning_from_where_it_is(task: str, tmp_path: Path) -> None:
    """A few more events of the same stream change the predictions, and only a little."""
    auto, rest = trained(tmp_path, task)
    path = tmp_path / "frozen.safetensors"
    frozen = reloaded(auto.freeze(), tmp_path)
    assert cli.main(["train", str(rest), "-i", str(path), "-o", str(tmp_path / "on.safetensors"), "--quiet"]) == 0
    on = odca.load(tmp_path / "on.safetensors")
    assert on.learner.count == on.metrics.events == 200
    before, after = frozen.predict(rest, "margins"), on.predict(rest, "margins")
    assert 0.0 < np.abs(after - before).mean() < 0.5 * before.std()


def test_models_that_were_frozen_from_different_ones_cannot_be_merged(tmp_path: Path) -> None:
    models = []
    for count in (300, 400):
        X, y = events_of("two", count)
        data, path = written(tmp_path / f"{count}.csv", X, y), str(tmp_path / f"{count}.safetensors")
        assert cli.main(["train", str(data), "--auto", "--label", "y", "--quiet", "-o", path]) == 0
        models.append(odca.load(path).freeze())
    with pytest.raises(ValueError, match="began at the same weights"):
        models[0].merge(models[1])
    same = models[0].merge(models[0])
    np.testing.assert_allclose(same.learner.coef, models[0].learner.coef, rtol=1e-12)


def test_a_third_class_joins_a_frozen_model_of_two() -> None:
    auto, X, _ = estimator_of("two")
    frozen = auto.freeze()
    before = frozen.decision_function(X)
    frozen.partial_fit(X[:1], ["other"])
    margins = frozen.decision_function(X)
    assert frozen.classes_.tolist() == ["no", "other", "yes"]
    np.testing.assert_allclose(margins[:, 2], before, atol=0.1)
    np.testing.assert_allclose(margins[:, 0], -before, atol=0.1)


@pytest.mark.parametrize("shape", ["each", "all"])
def test_rearranged_lanes_keep_the_weights_that_they_begin_at(shape: str) -> None:
    """A mirrored lane begins at the negative weights, and a blank one at zero."""
    mean = np.array([[1.0, -2.0], [0.5, 3.0]])
    means, intercepts = (mean, np.array([0.25, -1.0])) if shape == "each" else (mean[0], 0.25)
    learner = Learner(
        loss=odca.LogLoss(), lanes=2, prior_mean=means, prior_intercept=intercepts, prior_strength=2.0, intercept=True
    )
    one = 1 if shape == "each" else 0
    other = learner.with_lanes([1, 0, -1], [True, False, False])
    for model in (other, other.copy(), Learner(**other.options), pickle.loads(pickle.dumps(other))):
        np.testing.assert_array_equal(model.coef, [-mean[one], mean[0], [0.0, 0.0]])
        np.testing.assert_array_equal(model.intercept, [-[0.25, -1.0][one], 0.25, 0.0])
    X, y = np.random.default_rng(0).normal(size=(20, 2)), np.tile([1.0, -1.0], 10)
    learner.learn(X, y)
    other.learn(X, np.column_stack([-y, y, -np.ones(20)]))
    np.testing.assert_array_equal(other.coef[1], learner.coef[0])
    np.testing.assert_array_equal(other.coef[0], -learner.coef[1])
