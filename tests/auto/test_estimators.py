"""Nothing to tune, for scikit-learn, for river, and for dictionaries: what their users rely on."""

import copy
import json
import pickle
import threading
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from river import checks, datasets, evaluate, metrics
from sklearn.base import clone
from sklearn.datasets import make_classification, make_regression
from sklearn.utils.estimator_checks import parametrize_with_checks

import odca
import odca.research.datasets
from interrupting import Interrupt, interrupted_after
from odca import AutoClassifier, AutoLearner, AutoRegressor
from odca.models.auto_events import AutoEvents
from odca.models.auto_report import EXPERTS
from odca.river import AutoClassifier as RiverClassifier
from odca.river import AutoRegressor as RiverRegressor

# One pass in an order: an event of weight 2 is not the same event twice. scikit-learn's own SGD declares the same.
EXPECTED = {
    f"check_sample_weight_equivalence_on_{kind}_data": "an event of weight 2 is learned once"
    for kind in ("dense", "sparse")
}


@parametrize_with_checks([AutoClassifier(), AutoRegressor()], expected_failed_checks=lambda _: EXPECTED)
def test_scikit_learns_checks_pass(estimator: Any, check: Any) -> None:
    check(estimator)


@pytest.mark.parametrize("model", [RiverClassifier(), RiverRegressor()], ids=["classifier", "regressor"])
def test_rivers_checks_pass(model: Any) -> None:
    for check in checks.yield_checks(model):
        check(model.clone())


def three_classes(n: int = 900, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    X, y = make_classification(n, 8, n_informative=6, n_classes=3, random_state=seed)
    return X * 10.0 ** np.arange(-4, 4), np.array(["wet", "dry", "hot"])[y]


def same(one: AutoLearner, other: AutoLearner) -> bool:
    """To the bit."""
    return one == other


@pytest.mark.parametrize("sizes", [(900,), (1,) * 900, (1, 2, 3, 4, 890), (450, 450)])
def test_any_split_gives_the_same_classifier_even_with_late_classes(sizes: tuple[int, ...]) -> None:
    X, y = three_classes()
    whole = AutoClassifier().partial_fit(X, y)
    parts = AutoClassifier()
    for end, size in zip(np.cumsum(sizes), sizes, strict=True):
        parts.partial_fit(X[end - size : end], y[end - size : end])
    assert same(whole.learner_, parts.learner_)
    assert whole.progress_ == parts.progress_
    assert list(parts.classes_) == ["dry", "hot", "wet"]
    np.testing.assert_array_equal(whole.predict_proba(X), parts.predict_proba(X))


def test_probabilities_follow_the_order_of_classes_() -> None:
    X, y = three_classes()
    model = AutoClassifier().partial_fit(X, y)
    p = model.predict_proba(X)
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    assert np.mean(model.classes_[p.argmax(axis=1)] == y) == model.score(X, y) > 0.6
    np.testing.assert_allclose(np.log(p), model.predict_log_proba(X))
    two = y != "wet"
    for labels in (y[two], y[two][::-1]):  # whichever comes first
        model = AutoClassifier().partial_fit(X[two], labels)
        odds = model.decision_function(X[two])
        np.testing.assert_allclose(model.predict_proba(X[two])[:, 1], 1.0 / (1.0 + np.exp(-odds)))
        assert np.array_equal(model.predict(X[two]), np.where(odds > 0.0, "hot", "dry"))


def test_learning_returns_what_predicting_would_have_returned() -> None:
    X, y = three_classes(300)
    model = AutoClassifier().partial_fit(X[:100], y[:100])
    before = model.progress_.loss * 100
    p = []
    for k in range(100, 300):
        p.append(model.predict_proba(X[[k]], answer="live")[0, list(model.classes_).index(y[k])])
        model.partial_fit(X[[k]], y[[k]])
    assert model.progress_.loss * 300 - before == pytest.approx(-np.log(p).sum(), rel=1e-12)


def test_a_classifier_that_started_with_one_class_learns_others() -> None:
    X, y = three_classes()
    first = np.flatnonzero(y == "hot")[:20]
    model = AutoClassifier().partial_fit(X[first], y[first])
    assert model.predict(X[:3]).tolist() == ["hot"] * 3
    np.testing.assert_array_equal(model.predict_proba(X[:3]), np.ones((3, 1)))
    model.partial_fit(X, y)
    assert model.score(X, y) > 0.6


def test_declared_classes_exist_before_they_are_seen() -> None:
    X, y = three_classes()
    model = AutoClassifier().partial_fit(X[:1], y[:1], classes=["dry", "hot", "wet"])
    assert model.predict_proba(X).shape == (900, 3)
    with pytest.raises(ValueError, match="labels must be of one type"):
        model.partial_fit(X[:2], np.array([1, 2]))


def test_a_refused_call_changes_nothing() -> None:
    X, y = three_classes()
    model = AutoClassifier(new_features="learn").partial_fit(X[:200], np.where(y[:200] == "wet", "dry", y[:200]))
    before = copy.deepcopy(model)
    bad = X[200:300].copy()
    with pytest.raises(ValueError, match="time"):
        model.partial_fit(bad, y[200:300], time=np.where(np.arange(100) == 90, np.nan, np.arange(100.0)))
    assert same(model.learner_, before.learner_)
    assert list(model.classes_) == list(before.classes_)
    assert model.progress_ == before.progress_


@pytest.mark.parametrize("kind", ["classes", "numbers"])
def test_a_saved_estimator_continues_with_the_same_bits(kind: str, tmp_path: Path) -> None:
    X, y = three_classes() if kind == "classes" else make_regression(900, 6, noise=5.0, random_state=0)
    make = AutoClassifier if kind == "classes" else AutoRegressor
    whole = make().partial_fit(X, y)
    half = make().partial_fit(X[:450], y[:450])
    half.save(tmp_path / "half.safetensors")
    loaded = odca.load(tmp_path / "half.safetensors").partial_fit(X[450:], y[450:])
    assert same(loaded.learner_, whole.learner_)
    assert loaded.progress_ == whole.progress_
    again = pickle.loads(pickle.dumps(whole))
    np.testing.assert_array_equal(again.predict(X), whole.predict(X))
    assert clone(whole).get_params() == whole.get_params()


def test_damaged_files_are_refused(tmp_path: Path) -> None:
    X, y = three_classes(100)
    path = tmp_path / "model.safetensors"
    AutoClassifier().partial_fit(X, y).save(path)
    data = path.read_bytes()
    for cut in (10, len(data) // 2, len(data) - 1):
        path.write_bytes(data[:cut])
        with pytest.raises(ValueError, match=r"cannot be|can be read"):
            odca.load(path)


def test_data_frame_columns_are_matched_by_name_and_may_appear_later() -> None:
    X, y = three_classes()
    frame = pd.DataFrame(X, columns=list("abcdefgh"))
    model = AutoClassifier(new_features="learn").partial_fit(frame[["a", "b", "c"]][:300], y[:300])
    model.partial_fit(frame[300:], y[300:])
    assert model.n_features_in_ == 8
    shuffled = frame[list("hgfedcba")]
    np.testing.assert_array_equal(model.predict_proba(frame), model.predict_proba(shuffled))


def test_sparse_and_dense_rows_give_the_same_model() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 20)) * (rng.random((500, 20)) < 0.3)
    y = X @ rng.normal(size=20) + 0.1 * rng.normal(size=500)
    dense, sparse = AutoRegressor().partial_fit(X, y), AutoRegressor().partial_fit(sp.csr_array(X), y)
    np.testing.assert_allclose(dense.predict(X), sparse.predict(X), rtol=1e-12)


def test_fit_takes_the_rows_shuffled_or_in_time_order() -> None:
    X, y = make_regression(600, 5, noise=1.0, random_state=0)
    by_label = np.argsort(y)
    assert AutoRegressor(random_state=0).fit(X[by_label], y[by_label]).score(X, y) > 0.99
    time = np.random.default_rng(0).permutation(600)
    timed = AutoRegressor().fit(X, y, time=time)
    order = np.argsort(time)
    assert same(timed.learner_, AutoRegressor().partial_fit(X[order], y[order], time=time[order]).learner_)


def test_class_weights_act_as_sample_weights() -> None:
    X, y = three_classes()
    by_class = AutoClassifier(class_weight={"wet": 3.0}).partial_fit(X, y)
    by_event = AutoClassifier().partial_fit(X, y, sample_weight=np.where(y == "wet", 3.0, 1.0))
    assert same(by_class.learner_, by_event.learner_)
    with pytest.raises(ValueError, match="class_weight must be a dictionary"):
        AutoClassifier(class_weight="balanced").fit(X, y)


# Dictionaries and river


def test_dictionaries_give_the_same_model_as_named_columns() -> None:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(300, 3))
    y = (X[:, 0] > X[:, 1]).astype(float)
    events = [dict(zip("abc", row, strict=True)) for row in X.tolist()]
    named, columns = AutoEvents("classes"), AutoLearner("classes")
    np.testing.assert_array_equal(named.learn_many(events, y), columns.learn(X, y))
    one = AutoEvents("classes")
    for event, label in zip(events, y, strict=True):
        one.learn_one(event, label)
    assert same(one.learner, columns)
    assert named.features == ["a", "b", "c"]
    again = named.copy()
    assert same(again.learner, named.learner)
    assert again.predict_one(events[0]) == named.predict_one(events[0])


def test_names_of_a_refused_event_are_forgotten() -> None:
    model = AutoEvents("numbers")
    model.learn_one({"a": 1.0, "colour": "red"}, 1.0)
    with pytest.raises(ValueError, match="of y"):
        model.learn_many([{"a": 1.0, "b": 2.0}], [np.inf])
    assert model.features == ["a", ("colour", "red")]
    hashed = AutoEvents("numbers", bits=10)
    hashed.learn_one({"a": 1.0, "colour": "red"}, 1.0)
    assert hashed.learner.n_features <= 1024
    with pytest.raises(ValueError, match="bits must be a whole number from 1 to 30"):
        AutoEvents("numbers", bits=40)


def test_the_river_model_learns_many_like_one_at_a_time_and_can_be_saved(tmp_path: Path) -> None:
    X, y = three_classes(300)
    frame = pd.DataFrame(X, columns=list("abcdefgh"))
    many, one = RiverClassifier(), RiverClassifier()
    many.learn_many(frame, y.tolist())
    for event, label in zip(frame.to_dict("records"), y.tolist(), strict=True):
        one.learn_one(event, label)
    assert same(many.events.learner, one.events.learner)
    one.save(tmp_path / "m.safetensors")
    loaded = odca.load(tmp_path / "m.safetensors")
    event = frame.to_dict("records")[0]
    assert loaded.predict_proba_one(event) == one.predict_proba_one(event)
    assert loaded.predict_one(event) in {"wet", "dry", "hot"}
    assert list(many.predict_many(frame)) == [one.predict_one(event) for event in frame.to_dict("records")]


def test_it_beats_the_linear_models_on_rivers_streams() -> None:
    accuracy = evaluate.progressive_val_score(datasets.Phishing(), RiverClassifier(), metrics.Accuracy())
    assert accuracy.get() > 0.885
    segments = evaluate.progressive_val_score(datasets.ImageSegments(), RiverClassifier(), metrics.Accuracy())
    assert segments.get() > 0.88
    trump = evaluate.progressive_val_score(datasets.TrumpApproval(), RiverRegressor(), metrics.MAE())
    assert trump.get() < 0.3


# What it learned, in words


def test_the_report_shows_which_experts_matter() -> None:
    """A target that turns round needs the recent past; one that stands still needs all of it."""
    steady, turning = (datasets_of(turn) for turn in (0.0, 2e-2))
    reports = [AutoClassifier().partial_fit(X, y).report() for X, y in (steady, turning)]
    for report in reports:
        assert sum(report.experts.values()) == pytest.approx(1.0)
        assert sum(report.groups.values()) == pytest.approx(1.0)
        assert list(report.experts) == [expert.name for expert in EXPERTS]
        assert "%" in str(report)
        parsed = json.loads(report.as_json())
        assert parsed["history"][-1]["events"] <= 4000
        assert len(parsed["history"]) > 100
    everything = [sum(share for group, share in report.groups.items() if "everything" in group) for report in reports]
    assert everything[0] > 0.9
    assert everything[1] < 0.3
    assert reports[1].groups["recent events"] > 0.7
    assert str(reports[1]).startswith("While labels come in, the model relies on experts that learn recent events")
    assert "Those with a short memory remember about the last" in reports[1].in_words()
    assert sum(reports[0].steady.values()) == pytest.approx(1.0)
    base = [report.steady["the base rate of the labels"] for report in reports]
    assert base[1] > 0.2 > base[0]
    assert f"{base[1]:.0%} of it the base rate of the labels" in reports[1].in_words()
    assert "the base rate" not in reports[0].in_words()
    assert [report.change() for report in reports] == [None, None]


def test_the_report_says_where_the_weight_moved(tmp_path: Path) -> None:
    """First the features decide, then only the last labels: they come in long runs."""
    X, y = datasets_of(0.0)
    rng = np.random.default_rng(0)
    runs = np.repeat(rng.random(40) < 0.5, 100)
    report = (
        AutoClassifier().partial_fit(np.vstack([X, rng.normal(size=X.shape)]), np.concatenate([y > 0, runs])).report()
    )
    change = report.change()
    assert change is not None
    assert 3800 < change[0] < 4600
    assert "everything" in change[1]
    assert change[2] == "recent events"
    assert f"Around event {change[0]:,} the weight moved from experts" in report.in_words()
    report.plot(tmp_path / "report.svg")
    drawn = (tmp_path / "report.svg").read_text(encoding="utf-8")
    assert f"around event {change[0]:,}" in drawn


def datasets_of(turn: float) -> tuple[np.ndarray, np.ndarray]:
    drift = odca.research.datasets.drifting_hyperplane(4000, 6, turn=turn, seed=3)
    return drift.X, drift.y


def test_the_report_can_be_plotted(tmp_path: Path) -> None:
    X, y = datasets_of(1e-2)
    report = AutoClassifier().partial_fit(X, y).report()
    report.plot(tmp_path / "report.png")
    assert (tmp_path / "report.png").read_bytes()[:4] == b"\x89PNG"
    assert "too few events" in str(AutoLearner("numbers").report())


def test_the_report_shows_durations_when_times_are_given() -> None:
    X, y = datasets_of(2e-2)
    model = AutoClassifier().partial_fit(X, y, time=np.arange(4000) * 3600.0)
    assert "unit of the event times" in str(model.report())


def test_evenly_spaced_times_equal_no_times() -> None:
    X, y = datasets_of(1e-2)
    without, regular = AutoClassifier().partial_fit(X, y), AutoClassifier().partial_fit(X, y, time=np.arange(4000.0))
    np.testing.assert_allclose(without.predict_proba(X), regular.predict_proba(X), rtol=1e-9)


def test_a_constant_weight_changes_nothing() -> None:
    X, y = datasets_of(1e-2)
    plain = AutoClassifier().partial_fit(X, y)
    for weight in (1e-3, 7.0, 1e5):
        weighed = AutoClassifier().partial_fit(X, y, sample_weight=np.full(len(y), weight))
        np.testing.assert_allclose(weighed.predict_proba(X), plain.predict_proba(X), atol=1e-6)


@pytest.mark.parametrize("drift", [0.1, 0.5, 2.0])
def test_labels_that_run_away_are_followed(drift: float) -> None:
    """The last label is the best expert there is; experts far away must not spoil it."""
    rng = np.random.default_rng(0)
    y = np.cumsum(rng.normal(drift, 1.0, 5000))
    told = AutoLearner("numbers").learn(rng.normal(size=(5000, 3)), y)
    assert np.mean((told - y)[1:] ** 2) < 1.02 * np.mean(np.diff(y) ** 2)


def test_a_declared_class_never_seen_is_unlikely() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1000, 5))
    y = (X @ rng.normal(size=(5, 3))).argmax(axis=1)
    model = AutoClassifier().partial_fit(X, y, classes=[0, 1, 2, 3])
    assert model.predict_proba(X)[:, 3].max() < 0.05


def test_an_interrupted_call_leaves_the_estimator_consistent(tmp_path: Path) -> None:
    """Names and classes are those that the learner has met, and the model goes on and can be saved."""
    rng = np.random.default_rng(0)
    n = 60_000
    events = [
        {f"f{k}": 1.0, "x": float(x)}
        for k, x in zip(rng.integers(5000, size=n).tolist(), rng.normal(size=n), strict=True)
    ]
    labels = [f"c{k // 10_000}" for k in range(n)]
    X = rng.normal(size=(n, 50))
    river, forest = RiverClassifier(), AutoClassifier().partial_fit(X[:5], labels[:5])
    for learn in (lambda: river.learn_many(events, labels), lambda: forest.partial_fit(X, labels)):
        with pytest.raises(Interrupt), interrupted_after(0.1):
            learn()
    assert river.events.learner.count < n
    assert river.events.learner.n_features <= len(river.events.features)
    assert 5 <= forest.learner_.count < n + 5
    assert set(river.predict_proba_one(events[0])) == set(river.classes)
    assert forest.predict_proba(X[:2]).shape == (2, len(forest.classes_))
    for number, model in enumerate((river, forest)):
        model.save(tmp_path / str(number))
        odca.load(tmp_path / str(number))


def test_an_interrupted_first_call_adopts_only_the_classes_that_came() -> None:
    learn_many = AutoEvents.learn_many

    def learn_ten_events(self: AutoEvents, X: Any, y: Any, **_: Any) -> None:
        learn_many(self, X[:10], y[:10])
        raise Interrupt

    model = RiverClassifier()
    with mock.patch.object(AutoEvents, "learn_many", learn_ten_events), pytest.raises(Interrupt):
        model.learn_many([{"x": float(k)} for k in range(20)], ["early"] * 15 + ["late"] * 5)
    assert model.events.learner.count == 10
    assert model.classes == ("early",)


def test_several_threads_may_bring_new_labels() -> None:
    model = RiverClassifier()

    def teach(thread: int) -> None:
        for k in range(40):
            model.learn_many([{"a": float(k)}, {"a": 1.0}], [f"{thread}-{k % 5}", "common"])

    threads = [threading.Thread(target=teach, args=(thread,)) for thread in range(3)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert set(model.classes) == {"common", *(f"{thread}-{k}" for thread in range(3) for k in range(5))}
    assert model.events.learner.count == 3 * 40 * 2
    assert model.events.learner.classes == len(model.classes)
