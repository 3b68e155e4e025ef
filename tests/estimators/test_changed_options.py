"""`set_params` in the middle of a stream: what a running learner cannot take over is refused, not ignored."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone

import odca
from odca import Exponential, LogLoss, ODCAClassifier, ODCARegressor, SquaredError

CHANGES = {
    "loss": "hinge",
    "penalty": "elasticnet",
    "rho": 0.5,
    "window": 0.9,
    "smoothing": 0.5,
    "fit_intercept": False,
    "intercept_penalty": 2.0,
    "scale": False,
    "prior_strength": 3.0,
    "prior_mean": [1.0, 2.0],
    "penalty_weights": [1.0, 2.0],
}
LATER = {
    "tol": 1e-2,
    "max_iter": 7,
    "shuffle": False,
    "random_state": 3,
    "class_weight": {0: 2.0},
    "new_classes": "error",
    "new_features": "learn",
}
X = np.random.default_rng(11).normal(size=(60, 2))
Y = (X[:, 0] > 0).astype(int)


def begun(how: str = "partial_fit", **options) -> ODCAClassifier:
    return getattr(ODCAClassifier(random_state=0, **options), how)(X, Y)


def test_every_option_is_classified_as_changeable_or_fixed() -> None:
    assert CHANGES.keys() | LATER.keys() == ODCAClassifier().get_params().keys()


@pytest.mark.parametrize("how", ["partial_fit", "fit"])
@pytest.mark.parametrize("name", CHANGES)
def test_changing_a_fixed_option_mid_stream_is_refused(name: str, how: str) -> None:
    model, twin = begun(how), begun(how)
    old = model.get_params()[name]
    model.set_params(**{name: CHANGES[name]})
    with pytest.raises(ValueError, match=rf"options were changed .*: {name} from .* to .*\. .*Set them back.*clone"):
        model.partial_fit(X, Y)
    assert model.learner_ == twin.learner_
    model.set_params(**{name: old}).partial_fit(X, Y)
    assert model.learner_ == twin.partial_fit(X, Y).learner_


@pytest.mark.parametrize("name", LATER)
def test_an_option_of_a_single_call_may_change(name: str) -> None:
    assert begun().set_params(**{name: LATER[name]}).partial_fit(X, Y).learner_.count == 120


def test_fit_and_clone_start_afresh() -> None:
    changed = begun().set_params(rho=0.5)
    assert clone(changed).partial_fit(X, Y).learner_ == begun(rho=0.5).learner_
    assert changed.fit(X, Y).partial_fit(X, Y).learner_ == begun("fit", rho=0.5).partial_fit(X, Y).learner_


def test_the_error_shows_the_changed_number_also_for_regressors() -> None:
    model = ODCARegressor(rho=0.1).partial_fit(X, X[:, 0]).set_params(rho=0.2, window=Exponential(0.5))
    with pytest.raises(ValueError, match=r"window from Automatic\(\) to Exponential\(.*\), rho from 0\.1 to 0\.2\."):
        model.partial_fit(X, X[:, 0])


def test_an_equivalent_option_value_is_not_a_change() -> None:
    model = begun(prior_mean=np.zeros(2))
    model.set_params(loss=LogLoss(), penalty=odca.L2(), window=odca.Automatic(), prior_mean=[0.0, 0.0])
    model.partial_fit(X, Y)
    means = np.zeros(2)
    model = begun(prior_mean=means)
    means[0] = 1.0  # the caller's array is the caller's, but the option is no longer what it was
    with pytest.raises(ValueError, match=r"prior_mean from \(0\.0, 0\.0\) to \(1\.0, 0\.0\)"):
        model.partial_fit(X, Y)


def test_a_loaded_model_remembers_its_original_options(tmp_path) -> None:
    path = tmp_path / "model.safetensors"
    model = begun(rho=0.1)
    model.save(path)
    for twin in (odca.load(path), pickle.loads(pickle.dumps(model))):
        with pytest.raises(ValueError, match=r"rho from 0\.1 to 0\.2"):
            twin.set_params(rho=0.2).partial_fit(X, Y)
    model.set_params(rho=0.2, loss="hinge").save(path)
    for twin in (odca.load(path), pickle.loads(pickle.dumps(model))):
        assert twin.rho == 0.2
        with pytest.raises(ValueError, match=r"loss from LogLoss\(\) to Hinge\(\), rho from 0\.1 to 0\.2"):
            twin.partial_fit(X, Y)
        twin.set_params(rho=0.1, loss="log_loss").partial_fit(X, Y)
        assert twin.learner_.count == 120


def test_a_changed_custom_loss_must_be_passed_again(tmp_path) -> None:
    class Mine:
        def gradient(self, z: float, y: float) -> float:
            return z - y

    path = tmp_path / "model.safetensors"
    model = ODCARegressor(Mine()).partial_fit(X, X[:, 0])
    model.set_params(loss=SquaredError()).save(path)
    assert odca.load(path, loss=Mine()).partial_fit(X, X[:, 0]).learner_.count == 120


def test_a_file_with_invalid_original_options_is_refused(tmp_path) -> None:
    path = tmp_path / "model.safetensors"
    for nonsense in ({"command": "rm"}, {"tol": 1.0}, 3):
        saved = begun().saved()
        saved.options["begun"] = nonsense
        odca.io.model_file.write(path, saved)
        with pytest.raises(ValueError, match=r"model\.safetensors"):
            odca.load(path)
