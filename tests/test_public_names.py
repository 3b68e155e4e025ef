"""What `import odca` offers, and what a learner says of its options."""

import inspect
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import odca
from odca import KL, L2, ElasticNet, Exponential, Hinge, Learner, SquaredError
from odca.products import Product

ESTIMATORS = ("AutoClassifier", "AutoRegressor", "ODCAClassifier", "ODCARegressor")
PROPERTIES = {"intercept": "has_intercept", "n_features": "fixed_features"}
"""Where a property cannot have the name of its option, which is that of something learned."""
GIVEN: dict[str, Any] = {
    "products": (Product((0, 1), (0.0, 1.0), (1.0, 2.0), (0.5, 0.25)),),
    "loss": SquaredError(),
    "penalty": ElasticNet(0.1),
    "rho": (0.1, 0.2),
    "window": Exponential(0.9),
    "smoothing": 0.5,
    "prior_strength": (1.0, 2.0),
    "prior_mean": (0.5, -0.5),
    "prior_intercept": (3.0, 4.0),
    "penalty_weights": (1.0, 2.0),
    "intercept": True,
    "intercept_penalty": 0.01,
    "lanes": 2,
}


def test_a_star_import_brings_the_estimators() -> None:
    names: dict[str, Any] = {}
    exec("from odca import *", names)
    assert {*ESTIMATORS, "Learner", "load"} <= names.keys()
    assert names.keys() >= set(odca.__all__)


def test_a_star_import_works_without_scikit_learn() -> None:
    code = "import sys; sys.modules['sklearn'] = None; from odca import *; import odca; print(*odca.__all__)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "Learner" in done.stdout.split()
    assert not set(ESTIMATORS) & set(done.stdout.split())


@pytest.mark.parametrize("option", [each for each in inspect.signature(Learner).parameters if each != "n_features"])
def test_every_option_of_a_learner_is_a_property_that_says_what_was_given(option: str) -> None:
    given = GIVEN | {"scale": True} if option == "scale" else GIVEN
    if option == "scale":
        given = {name: value for name, value in given.items() if name != "prior_mean"}
    learner = Learner(**given)
    name = PROPERTIES.get(option, option)
    found = inspect.getattr_static(Learner, name)
    assert isinstance(found, property)
    assert found.fset is None
    assert found.__doc__
    assert getattr(learner, name) == given[option]


def test_the_number_of_features_under_kl_is_a_property() -> None:
    assert Learner(loss=Hinge(), penalty=KL(), n_features=7).fixed_features == 7
    assert Learner(loss=Hinge(), penalty=KL((0.5, 0.5))).fixed_features == 2
    assert Learner(loss=Hinge()).fixed_features is None


def test_a_learners_options_make_another_of_the_same_problem() -> None:
    learner = Learner(**GIVEN)
    assert Learner(**learner.options) == learner
    learner.options["rho"] = 7.0
    assert learner.rho == (0.1, 0.2)


def test_options_left_out_are_their_defaults() -> None:
    learner = Learner(loss=Hinge())
    assert (learner.penalty, learner.has_intercept, learner.scale, learner.is_single) == (L2(), False, False, True)
    assert learner.prior_mean is learner.penalty_weights is None
    assert not Learner(loss=Hinge(), lanes=1).is_single
    assert np.ndim(learner.rho) == 0
