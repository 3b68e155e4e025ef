"""The estimators for river: river's own checks, all of them, and what its users rely on beside them."""

import copy
import pickle

import numpy as np
import pandas as pd
import pytest
from river import checks, compose, datasets, evaluate, linear_model, metrics, optim, preprocessing

from odca import EventLearner, Exponential, HalfLife, Learner, LogLoss, Quantile, _core, river
from odca.river import ODCAClassifier, ODCARegressor, RiseDetector

MODELS = [
    ODCAClassifier(),
    ODCAClassifier("hinge", scale=False, window=0.99),
    ODCAClassifier("squared_hinge", window=100, penalty="elasticnet", bits=10),
    ODCARegressor(),
    ODCARegressor(Quantile(0.3), window=50, smoothing=0.0),
]


@pytest.mark.parametrize(
    "check", [pytest.param((m, c), id=f"{m}-{c.__name__}") for m in MODELS for c in checks.yield_checks(m)]
)
def test_rivers_checks_pass(check) -> None:
    model, run = check
    run(model.clone())


def test_no_river_check_is_skipped() -> None:
    names = {check.__name__ for check in checks.yield_checks(ODCAClassifier())}
    assert any("learn_many" in name for name in names), names
    assert not ODCAClassifier()._unit_test_skips()
    assert not ODCARegressor()._unit_test_skips()


def test_late_classes_give_the_same_model_as_declared_ones() -> None:
    events = list(datasets.ImageSegments().take(300))
    late, early = ODCAClassifier(), ODCAClassifier()
    for x, y in events:
        late.learn_one(x, y)
    early._meet(list(dict.fromkeys(y for _, y in events)), events[0][0])
    for x, y in events:
        early.learn_one(x, y)
    assert late.classes == early.classes
    assert late.events == early.events
    x = events[0][0]
    assert late.predict_proba_one(x) == early.predict_proba_one(x)
    assert late.predict_one(x) == max(late.predict_proba_one(x), key=late.predict_proba_one(x).get)


@pytest.mark.parametrize("loss", ["log_loss", "hinge"])
@pytest.mark.parametrize("labels", ["truths", "words"])
def test_learn_many_gives_the_same_bits_as_learn_one(loss: str, labels: str) -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(200, 4)) * [1.0, 10.0, 0.1, 1.0], columns=list("abcd"))
    y = pd.Series(
        frame["a"] > 0 if labels == "truths" else np.where(frame["a"] > 1, "x", np.where(frame["b"] > 0, "y", "z"))
    )
    many, one = ODCAClassifier(loss, window=150), ODCAClassifier(loss, window=150)
    for at in (slice(0, 3), slice(3, 120), slice(120, 200)):
        many.learn_many(frame[at], y[at])
    for x, label in zip(frame.to_dict("records"), y, strict=True):
        one.learn_one(x, label)
    assert many.events == one.events
    assert np.array_equal(many.predict_proba_many(frame), one.predict_proba_many(frame))
    by_row = [one.predict_proba_one(x) for x in frame.to_dict("records")]
    np.testing.assert_allclose(many.predict_proba_many(frame), pd.DataFrame(by_row), rtol=1e-12)


def test_dictionaries_give_the_same_model_as_arrays() -> None:
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(300, 5)), rng.random(300) < 0.5
    model = ODCAClassifier(scale=False, rho=1e-3, smoothing=0.9, prior_strength=0.0)
    learner = Learner(loss=LogLoss(), rho=1e-3, smoothing=0.9, intercept=True)
    learner.learn(X, np.where(y, 1.0, -1.0))
    for row, label in zip(X, y, strict=True):
        model.learn_one(dict(enumerate(row)), bool(label))
    margins = [model.events.predict_one(dict(enumerate(row))) for row in X]
    np.testing.assert_allclose(margins, learner.predict(X), rtol=1e-12, atol=1e-12)


def test_pipelines_and_progressive_validation_work() -> None:
    plain = evaluate.progressive_val_score(datasets.Phishing(), ODCAClassifier(rho=1e-3), metrics.ROCAUC())
    piped = compose.Pipeline(preprocessing.StandardScaler(), ODCAClassifier(scale=False))
    scaled = evaluate.progressive_val_score(datasets.Phishing(), piped, metrics.ROCAUC())
    rivers = preprocessing.StandardScaler() | linear_model.LogisticRegression(optim.SGD(0.05))
    peer = evaluate.progressive_val_score(datasets.Phishing(), rivers, metrics.ROCAUC())
    assert min(plain.get(), scaled.get()) > peer.get() - 0.02 > 0.9


def test_delayed_labels_work_by_rivers_simulation_and_by_id() -> None:
    dataset = [({"x": float(n % 7), "date": n}, n % 7 > 3) for n in range(400)]
    model = compose.Discard("date") | ODCAClassifier()
    delayed = evaluate.progressive_val_score(iter(dataset), model, metrics.Accuracy(), moment="date", delay=5)
    assert delayed.get() > 0.9
    waits, now = ODCAClassifier(), ODCAClassifier()
    for n, (x, _) in enumerate(dataset):
        waits.predict_proba_one(x, id=n)
        if n >= 5:
            waits.learn_label(n - 5, dataset[n - 5][1])
            now.learn_one(*dataset[n - 5])
    assert waits.events.weights() == now.events.weights()
    assert waits.events.pending == 5
    with pytest.raises(KeyError, match="no event waits"):
        waits.learn_label("nobody", True)


def test_event_times_weights_and_offsets_reach_the_learner() -> None:
    model = ODCAClassifier(window=HalfLife(10.0))
    model.learn_one({"x": 1.0}, True, time=0.0)
    with pytest.raises(ValueError, match="time"):
        model.learn_one({"x": 1.0}, False)
    model.learn_one({"x": 1.0}, False, 2.0, offset=0.5, time=3.0)
    assert model.events.learner.count == 2
    counts = ODCARegressor("poisson", scale=False, rho=1e-3, smoothing=0.0)
    for _ in range(300):
        counts.learn_one({"x": 1.0}, 6.0, offset=np.log(2.0))
    assert counts.predict_one({"x": 1.0}) == pytest.approx(3.0, rel=0.05)


def test_event_times_work_in_progressive_validation() -> None:
    dataset = [({"x": float(n % 7)}, n % 7 > 3, {"time": float(n)}) for n in range(300)]
    model = ODCAClassifier(window=HalfLife(100.0), rho=1e-3)
    score = evaluate.progressive_val_score(iter(dataset), model, metrics.Accuracy())
    assert score.get() > 0.9


@pytest.mark.parametrize("estimator", [ODCAClassifier, ODCARegressor])
def test_rivers_losses_are_refused(estimator) -> None:
    with pytest.raises(TypeError, match="opposite order"):
        estimator(optim.losses.Hinge())


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_saving_copying_and_pickling_change_nothing(model, tmp_path) -> None:
    rng = np.random.default_rng(2)
    regression = isinstance(model, ODCARegressor)
    events = [{"a": float(a), "b": "xyz"[int(3 * b)]} for a, b in rng.random((120, 2))]
    targets = [event["a"] if regression else event["b"] for event in events]
    model = model.clone()
    for x, y in zip(events[:60], targets[:60], strict=True):
        model.learn_one(x, y)
    model.save(tmp_path / "m.safetensors")
    twins = [type(model).load(tmp_path / "m.safetensors"), copy.deepcopy(model), pickle.loads(pickle.dumps(model))]
    for each in (model, *twins):
        for x, y in zip(events[60:], targets[60:], strict=True):
            each.learn_one(x, y)
        each.save(tmp_path / "again.safetensors")
        if each is model:
            saved = (tmp_path / "again.safetensors").read_bytes()
        assert (tmp_path / "again.safetensors").read_bytes() == saved


def test_explanations_name_the_features() -> None:
    model = ODCAClassifier(window=Exponential(0.999))
    for n in range(200):
        model.learn_one({"price": float(n % 5) * 100, "country": "NZ" if n % 2 else "FR"}, n % 5 > 2)
    x = {"price": 300.0, "country": "NZ"}
    parts = model.explain_one(x)
    assert set(parts) == {"", "price", "country=NZ"}
    assert sum(parts.values()) == pytest.approx(model.events.predict_one(x), rel=1e-12)
    assert model.weights["price"] * 300.0 == pytest.approx(parts["price"], rel=1e-12)


def test_the_river_model_wraps_an_event_learner() -> None:
    assert isinstance(ODCARegressor().events, EventLearner)
    assert ODCAClassifier().predict_proba_one({"x": 1.0}) == {}
    assert ODCAClassifier().predict_one({"x": 1.0}) is None
    with pytest.raises(ValueError, match="no loss named"):
        ODCAClassifier("huh")


@pytest.mark.parametrize("label", [None, float("nan"), np.float64("nan")])
def test_a_label_that_is_none_or_nan_is_refused(label: object) -> None:
    for model in (river.ODCAClassifier(), river.AutoClassifier()):
        model.learn_one({"a": 1.0}, "yes")
        with pytest.raises(ValueError, match="a label must not be None or nan"):
            model.learn_one({"a": 1.0}, label)
        with pytest.raises(ValueError, match="a label must not be None or nan"):
            model.learn_many([{"a": 1.0}, {"a": 2.0}], ["no", label])
        assert model.classes == ("yes",)


FEATURES = {"bits": 10, "missing": "ignore", "ignore": ["b"], "text": ["t"], "ngrams": 2, "interactions": [["a", "c"]]}


@pytest.mark.parametrize(
    "model",
    [
        river.ODCAClassifier(loss="hinge", **FEATURES),
        river.ODCARegressor(**FEATURES),
        river.AutoClassifier(**FEATURES),
        river.AutoRegressor(**FEATURES),
    ],
    ids=lambda model: type(model).__name__,
)
def test_a_clone_with_attributes_has_learned_the_same_and_goes_on_by_itself(model) -> None:
    events = [{"a": float(k % 5), "b": float(k), "c": "xy"[k % 2], "t": "red car", "m": None} for k in range(30)]
    for event in events[:20]:
        model.learn_one(event, event["a"] > 2.0)
    clone = model.clone(include_attributes=True)
    assert clone.events.learner == model.events.learner
    for event in events[20:]:
        clone.learn_one(event, event["a"] > 2.0)
    assert clone.events.learner != model.events.learner
    assert model.clone().events.learner.count == 0
    assert model.clone({"bits": 12}).feature_options == {**FEATURES, "bits": 12}
    with pytest.raises(ValueError, match="bits cannot change in a copy"):
        model.clone({"bits": 12}, include_attributes=True)


def test_feature_options_mean_what_they_mean_to_an_event_learner() -> None:
    options = {name: value for name, value in FEATURES.items() if name != "bits"}
    model = river.ODCAClassifier(**options, categorical=["a"], numeric=["n"], dates=["d"], booleans=["s"])
    model.learn_one(
        {"a": 1.0, "b": 5.0, "c": "x", "t": "red car", "m": None, "n": "2", "d": "2024-07-31", "s": "true"}, True
    )
    assert set(model.weights) == {
        "", "a=1", "c=x", "t=red", "t=car", "t=red car", "n", "d.month=7", "d.weekday=2", "d.trend.2024", "d.trend.2025", "s", "a=1 * c=x",
    }  # fmt: skip
    with pytest.raises(TypeError, match="nonsense"):
        river.ODCAClassifier(nonsense=1)


def test_an_explanation_of_two_classes_is_one_number_for_each_feature() -> None:
    model = river.ODCAClassifier()
    for k in range(20):
        model.learn_one({"a": float(k % 3), "b": "x"}, ("no", "yes")[k % 2])
    parts = model.explain_one({"a": 1.0, "b": "x"})
    assert all(isinstance(part, float) for part in parts.values())
    assert all(isinstance(weight, float) for weight in model.weights.values())
    model.learn_one({"a": 1.0}, "perhaps")
    assert all(len(part) == 3 for part in model.explain_one({"a": 1.0}).values())


def test_the_detector_is_that_of_the_progressive_scores() -> None:
    rng = np.random.default_rng(0)
    losses = rng.exponential(0.3, size=4000) * np.where(np.arange(4000) < 2500, 1.0, 3.0)
    detector, alarms = RiseDetector(), []
    for n, loss in enumerate(losses):
        detector = pickle.loads(pickle.dumps(detector)) if n % 1000 == 7 else detector
        detector.update(loss)
        if detector.drift_detected:
            alarms.append(n + 1)
    whole = _core.RiseDetector().after(losses, np.ones(4000))
    assert alarms == [each.event for each in detector.drift.rises] == [each[0] for each in whole.alarms]
    assert 2500 < detector.drift.rises[0].event < 2600
    assert detector.clone().drift.count == 0
    with pytest.raises(ValueError, match="alpha must be between 0 and 1; got 2"):
        RiseDetector(alpha=2)
