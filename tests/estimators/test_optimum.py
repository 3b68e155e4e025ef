"""`fit` reaches the optimum that LIBLINEAR and Ridge reach, on the same problem."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.svm import LinearSVC

import real_data
from odca import Hinge, LogLoss, ODCAClassifier, ODCARegressor, SquaredHinge
from odca.conversions import from_liblinear, from_ridge


@pytest.mark.parametrize("loss", [Hinge(), SquaredHinge(), LogLoss()], ids=lambda loss: loss.name)
@pytest.mark.parametrize("intercept", [False, True])
def test_fit_reaches_liblinears_optimum(loss, intercept: bool) -> None:
    data = real_data.load("a6a")
    X, y, C = sp.csr_matrix(data.X), data.y, 0.1
    X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    options = {"C": C, "tol": 1e-5, "fit_intercept": intercept, "max_iter": 10_000, "random_state": 0}
    peer = (
        LogisticRegression(solver="liblinear", **options) if loss == LogLoss() else LinearSVC(loss=loss.name, **options)
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # of the peer's: its objective is what counts
        peer.fit(X, y)
    strength = from_liblinear(C, len(y))
    ours = ODCAClassifier(loss, fit_intercept=intercept, tol=1e-5, random_state=0, **strength).fit(X, y)

    def objective(w: np.ndarray, b: float) -> float:
        return float(
            np.mean(loss.value(X @ w + b, y)) + 0.5 * strength["rho"] * (w @ w + b * b)
        )  # LIBLINEAR penalises b too

    theirs = objective(peer.coef_[0], peer.intercept_[0] if intercept else 0.0)
    assert abs(objective(ours.coef_[0], ours.intercept_[0]) / theirs - 1.0) < 1e-4


@pytest.mark.parametrize("intercept", [False, True])
def test_fit_reaches_the_ridge_optimum(intercept: bool) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 20))
    y = X @ np.arange(20.0) + rng.normal(size=500) + 50.0
    peer = Ridge(alpha=3.0, fit_intercept=intercept).fit(X, y)
    ours = ODCARegressor(fit_intercept=intercept, scale=False, tol=1e-8, **from_ridge(3.0, 500)).fit(X, y)

    def objective(w: np.ndarray, b: float) -> float:
        return float(np.sum((y - X @ w - b) ** 2) + 3.0 * w @ w)

    assert abs(objective(ours.coef_, ours.intercept_[0]) / objective(peer.coef_, peer.intercept_) - 1.0) < 1e-4
