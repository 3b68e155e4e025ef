"""exact=True: the solution of Learner.fit, whatever the number of partitions, with a certified gap."""

from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array, vstack

from odca import Learner
from odca.losses import as_loss

RHO = 1e-2


@pytest.mark.parametrize("loss", ["log_loss", "hinge"])
@pytest.mark.parametrize("partitions", [2, 5])
def test_the_solution_is_that_of_one_machine(table: Any, loss: str, partitions: int) -> None:
    import odca.spark

    rows = table.select("size", "kind", "label").repartition(partitions)
    model = odca.spark.train(rows, label="label", loss=loss, rho=RHO, window="infinite", exact=True, tol=1e-4)
    alone = Learner(loss=as_loss(loss), rho=RHO, intercept=True, prior_strength=model.options.prior_strength)
    blocks = list(model.blocks_of(rows.toArrow()))
    codes = np.concatenate([model.codes_of(block)[0] for block in blocks])
    X = vstack([csr_array(block.X, shape=(len(block), len(model.names))) for block in blocks])
    alone.fit(csr_array(X), np.where(codes == 1, 1.0, -1.0), tol=1e-6)
    assert np.isclose(float(np.ravel(model.learner.dual_objective())[0]), alone.dual_objective(), atol=2e-4)
    assert np.allclose(np.ravel(model.learner.coef), alone.coef, atol=0.05)
    assert model.learner.count == 2000


def test_several_classes_and_numbers_are_fitted_too(table: Any) -> None:
    import odca.spark

    rows = table.select("size", "kind", "grade", "cost")
    classes = odca.spark.train(rows, label="grade", ignore=["cost"], loss="log_loss", rho=RHO, exact=True)
    assert classes.predict([{"size": 3.0, "kind": "A"}]).tolist() == ["high"]
    numbers = odca.spark.train(rows, label="cost", ignore=["grade"], loss="squared_error", rho=1e-4, exact=True)
    assert np.isclose(numbers.learner.coef[0, numbers.names.index(b"size")], 1.0, atol=0.05)


def test_an_automatic_model_has_no_exact_fit(table: Any) -> None:
    import odca.spark

    with pytest.raises(ValueError, match="exact=True is for one linear model"):
        odca.spark.train(table, label="label", exact=True)


def test_a_fit_that_is_cut_short_warns(table: Any) -> None:
    import odca.spark

    rows = table.select("size", "kind", "label")
    with pytest.warns(UserWarning, match=r"after 1 rounds? the duality gap is"):
        odca.spark.train(rows, label="label", loss="hinge", rho=1e-5, exact=True, tol=1e-9, max_rounds=1)
