"""Model files of estimators: bit for bit, and nothing that is not a model gets in."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import safetensors
import scipy.sparse as sp
from sklearn.exceptions import NotFittedError

import odca
from odca import ElasticNet, HalfLife, Learner, LogLoss, ODCAClassifier, ODCARegressor, SmoothHinge
from odca.io import model_file
from odca.io.stacking import stack, unstack

CLASSES = [np.array(["no", "yes", "perhaps"]), np.array([3, 1, 2]), np.array([2.0, 5.0]), np.array([False, True])]


def stream(classes=CLASSES[0], n: int = 200):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 4)) * [1.0, 1e3, 1.0, 1e-3]
    return X, classes[rng.integers(0, len(classes), n)], np.arange(n, dtype=float)


@pytest.mark.parametrize("classes", CLASSES, ids=str)
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"loss": "hinge", "window": 40},
        {"loss": SmoothHinge(0.2), "window": HalfLife(30.0), "penalty": ElasticNet(0.1), "class_weight": {}},
    ],
    ids=str,
)
def test_a_saved_classifier_continues_where_it_stopped(classes, options, tmp_path) -> None:
    X, y, time = stream(classes)
    options = {
        **options,
        **({"class_weight": dict.fromkeys(classes.tolist(), 2.0)} if "class_weight" in options else {}),
    }
    model, path = ODCAClassifier(**options), tmp_path / "model.safetensors"
    twin = model
    for at in np.split(np.arange(len(y)), [1, 50, 120]):
        model.partial_fit(X[at], y[at], time=time[at])
        twin.partial_fit(X[at], y[at], time=time[at]) if twin is not model else None
        twin.save(path)
        twin = odca.load(path)
        assert type(twin) is ODCAClassifier
        assert twin.get_params().keys() == model.get_params().keys()
        assert repr(twin) == repr(model)
    assert np.array_equal(twin.predict_proba(X), model.predict_proba(X))
    assert twin.classes_.dtype == model.classes_.dtype
    assert twin.progress_ == model.progress_
    model.save(tmp_path / "other.safetensors")
    twin.save(path)
    assert path.read_bytes() == (tmp_path / "other.safetensors").read_bytes()


def test_saving_keeps_fitted_models_names_and_outputs(tmp_path) -> None:
    X, _, _ = stream()
    frame = pd.DataFrame(X, columns=["größe", "b", "c", "d"])
    model = ODCARegressor(rho=1e-3).fit(frame, X[:, :2])
    model.save(tmp_path / "model.safetensors")
    twin = ODCARegressor.load(tmp_path / "model.safetensors")
    assert list(twin.feature_names_in_) == list(frame.columns)
    assert np.array_equal(twin.predict(frame), model.predict(frame))
    assert np.array_equal(twin.duality_gap_, model.duality_gap_)
    assert twin.n_iter_ == model.n_iter_
    labels = (X[:, :3] > 0).astype(int)
    many = ODCAClassifier("hinge").fit(X, labels)
    many.save(tmp_path / "many.safetensors")
    assert np.array_equal(odca.load(tmp_path / "many.safetensors").predict_proba(X), many.predict_proba(X))


def test_sparse_weights_stay_sparse(tmp_path) -> None:
    X, y, _ = stream()
    model = ODCAClassifier(penalty="elasticnet").partial_fit(X, y).sparsify()
    model.save(tmp_path / "model.safetensors")
    twin = odca.load(tmp_path / "model.safetensors")
    assert sp.issparse(twin.coef_)
    assert np.array_equal(twin.coef_.toarray(), model.coef_.toarray())
    twin.densify().save(tmp_path / "model.safetensors")
    assert isinstance(odca.load(tmp_path / "model.safetensors").coef_, np.ndarray)


def test_one_function_loads_every_kind_of_model(tmp_path) -> None:
    X, y, _ = stream()
    for model in (Learner(loss=LogLoss()), ODCAClassifier().partial_fit(X, y), ODCARegressor().partial_fit(X, X[:, 0])):
        model.save(tmp_path / "model.safetensors")
        assert type(odca.load(tmp_path / "model.safetensors")) is type(model)
    with pytest.raises(ValueError, match=r"it holds a sklearn\.ODCARegressor"):
        ODCAClassifier.load(tmp_path / "model.safetensors")
    with pytest.raises(NotFittedError):
        ODCAClassifier().save(tmp_path / "none.safetensors")
    with safetensors.safe_open(tmp_path / "model.safetensors", "numpy") as file:
        assert file.metadata()["kind"] == "sklearn.ODCARegressor"
        assert "learner/dual" in file.keys()  # noqa: SIM118 - not a dictionary


def test_a_custom_loss_must_be_passed_again_when_loading(tmp_path) -> None:
    class Mine:
        def value(self, z: float, y: float) -> float:
            return 0.5 * (z - y) ** 2

        def gradient(self, z: float, y: float) -> float:
            return z - y

    X, _, _ = stream()
    model = ODCARegressor(Mine()).partial_fit(X[:20], X[:20, 0])
    model.save(tmp_path / "model.safetensors")
    with pytest.raises(ValueError, match="Mine, which is code"):
        odca.load(tmp_path / "model.safetensors")
    assert np.array_equal(odca.load(tmp_path / "model.safetensors", loss=Mine()).predict(X), model.predict(X))


def crafted(model: model_file.ModelFile, spoil, path) -> None:
    """A file with the right checksum, of a model that was spoilt."""
    spoil(model)
    model_file.write(path, model)


SPOILS = {
    "other classes": lambda m: m.options["classes"].update(values=[1, 2, 3, 4, 5, 6]),
    "objects for classes": lambda m: m.options["classes"].update(dtype="V8"),
    "no classes": lambda m: m.options.pop("classes"),
    "no learner": lambda m: m.parts.pop("learner"),
    "another fact": lambda m: m.options["fitted"].update(__class__="os.system"),
    "other features": lambda m: m.options["fitted"].update(n_features_in_=2),
    "unknown parameter": lambda m: m.options["params"].update(command="rm"),
    "progress": lambda m: m.arrays.update(progress=np.array([np.nan] * 4)),
    "no calibration": lambda m: m.parts["calibration"].arrays.clear(),
    "calibration of fewer": lambda m: m.parts["calibration"].arrays.update(
        stack(unstack(m.parts["calibration"].arrays)[1:])
    ),
    "calibration of more": lambda m: m.parts["calibration"].arrays.update(dual=np.ones(5)),
    "calibration of other lengths": lambda m: m.parts["calibration"].arrays["dual.lengths"].__isub__(1),
    "calibration without lengths": lambda m: m.parts["calibration"].arrays.pop("dual.lengths"),
    "the learner's state": lambda m: m.parts["learner"].arrays.update(dual=np.ones(3)),
    "the learner's lanes": lambda m: m.parts["learner"].options.update(lanes=10**6),
}


@pytest.mark.parametrize("name", SPOILS)
def test_crafted_files_are_refused(name: str, tmp_path) -> None:
    X, y, _ = stream()
    saved = ODCAClassifier("hinge").partial_fit(X, y).saved()
    crafted(saved, SPOILS[name], tmp_path / "bad.safetensors")
    with pytest.raises(ValueError, match=r"bad\.safetensors"):
        odca.load(tmp_path / "bad.safetensors")


def test_damaged_files_are_refused_wherever_they_are_damaged(tmp_path) -> None:
    X, y, _ = stream(n=30)
    path = tmp_path / "model.safetensors"
    ODCAClassifier("hinge").partial_fit(X, y).save(path)
    data, rng, tried = path.read_bytes(), np.random.default_rng(0), 0
    for at in rng.integers(0, len(data), 300):
        flipped = bytearray(data)
        flipped[at] ^= 1 << int(rng.integers(8))
        path.write_bytes(flipped)
        with pytest.raises(ValueError, match=r"model\.safetensors"):
            odca.load(path)
        tried += 1
    for end in rng.integers(0, len(data), 100):
        path.write_bytes(data[:end])
        with pytest.raises(ValueError, match=r"model\.safetensors"):
            odca.load(path)
        tried += 1
    print(f"{tried} damaged files refused")


def test_a_deeply_nested_header_is_refused(tmp_path) -> None:
    about = {"kind": "Learner", "options": {}}
    for _ in range(100):
        about = {"kind": "Learner", "options": {}, "parts": {"learner": about}}
    nested = model_file.ModelFile.from_description(about, {})
    path = tmp_path / "deep.safetensors"
    model_file.write(path, model_file.ModelFile("sklearn.ODCAClassifier", {}, {}, {"learner": nested}))
    with pytest.raises(ValueError, match=r"deep\.safetensors"):
        odca.load(path)


DATA = Path(__file__).resolve().parent.parent / "data"


@pytest.fixture(name="kept", scope="module")
def read_kept() -> dict:
    return json.loads((DATA / "model_v1_estimators.json").read_text(encoding="utf-8"))


def test_files_of_version_1_stay_readable(kept) -> None:
    classifier = odca.load(DATA / "model_v1_classifier.safetensors")
    np.testing.assert_allclose(
        classifier.predict_proba(kept["classifier"]["X"]), kept["classifier"]["proba"], rtol=1e-12
    )
    assert classifier.partial_fit(kept["classifier"]["X"], ["a", "b", "c", "new"]).classes_.tolist() == [
        "a",
        "b",
        "c",
        "new",
    ]
    regressor = odca.load(DATA / "model_v1_regressor.safetensors")
    frame = pd.DataFrame(kept["regressor"]["X"], columns=regressor.feature_names_in_)
    np.testing.assert_allclose(regressor.predict(frame), kept["regressor"]["prediction"], rtol=1e-12)
    events = odca.load(DATA / "model_v1_events.safetensors")
    np.testing.assert_allclose(
        [events.predict_one(x) for x in kept["events"]["x"]], kept["events"]["margins"], rtol=1e-12
    )
    events.learn_label("later", 1.0)
    river = odca.load(DATA / "model_v1_river.safetensors")
    for x, proba in zip(kept["river"]["x"], kept["river"]["proba"], strict=True):
        assert river.predict_proba_one(x) == pytest.approx(proba, rel=1e-12)
