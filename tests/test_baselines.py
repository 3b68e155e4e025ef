"""What O-DCA is compared with does what the literature says it does."""

from typing import Any, Literal

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegression, SGDClassifier, SGDRegressor
from sklearn.svm import LinearSVC

from interrupting import Interrupt, interrupted_after
from odca import Exponential, Hinge, Huber, Learner, LogLoss, Poisson, SquaredError
from odca.losses import Loss
from odca.research.baselines import NLMS, RLS, SDCA, SGD, SPG

ONE_PASS: dict[str, Any] = {
    "learning_rate": "constant",
    "fit_intercept": False,
    "shuffle": False,
    "max_iter": 1,
    "tol": None,
}
"""What makes scikit-learn's SGD the plain recursion."""


def problem(n: int = 500, d: int = 6, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows, labels ±1, and numbers."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.7)
    z = X @ rng.normal(size=d) + 0.3 * rng.normal(size=n)
    return X, np.where(z > 0.0, 1.0, -1.0), z


def slow_sgd(loss: Loss, X: np.ndarray, y: np.ndarray, rates: np.ndarray, rho: float) -> tuple[np.ndarray, np.ndarray]:
    """eq. SGD as it is written: the last weights, and the mean of all."""
    w, total = np.zeros(X.shape[1]), np.zeros(X.shape[1])
    for h, label, rate in zip(X, y, rates, strict=True):
        z = float(h @ w)
        gradient = (float(loss.value(z + 1e-6, label)) - float(loss.value(z - 1e-6, label))) / 2e-6
        w = (1.0 - rate * rho) * w - rate * gradient * h
        total += w
    return w, total / len(X)


@pytest.mark.parametrize("loss", [SquaredError(), LogLoss(), Huber(0.5)])
def test_sgd_follows_the_papers_recursion(loss: Loss) -> None:
    X, signs, numbers = problem()
    y = signs if isinstance(loss, LogLoss) else numbers
    learner = SGD(loss, rate=0.05, rho=0.1, smoothing=1.0)
    learner.learn(X, y)
    w, mean = slow_sgd(loss, X, y, np.full(len(X), 0.05), 0.1)
    np.testing.assert_allclose(learner.coef, w, atol=1e-7)
    np.testing.assert_allclose(learner.smoothed_coef, mean, atol=1e-7)


@pytest.mark.parametrize("rho", [0.0, 1e-3, 0.5])
@pytest.mark.parametrize(("loss", "name"), [(Hinge(), "hinge"), (LogLoss(), "log_loss")])
def test_sgd_equals_scikit_learns_at_a_constant_rate(loss: Loss, name: str, rho: float) -> None:
    X, y, _ = problem()
    theirs = SGDClassifier(loss=name, alpha=rho, penalty="l2" if rho else None, eta0=0.1, **ONE_PASS).fit(X, y)
    ours = SGD(loss, rate=0.1, rho=rho)
    ours.learn(X, y)
    np.testing.assert_allclose(ours.coef, theirs.coef_[0], rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(ours.predict(X), theirs.decision_function(X), rtol=1e-9, atol=1e-9)


def test_averaged_sgd_equals_scikit_learns() -> None:
    X, _, y = problem()
    theirs = SGDRegressor(alpha=0.01, eta0=0.05, average=True, **ONE_PASS).fit(X, y)
    ours = SGD(SquaredError(), rate=0.05, rho=0.01, smoothing=1.0)
    ours.learn(X, y)
    np.testing.assert_allclose(ours.smoothed_coef, theirs.coef_, rtol=1e-10)


def test_pegasos_forgets_its_starting_point() -> None:
    X, y, _ = problem()
    learner = SGD(Hinge(), rate="pegasos", rho=0.1)
    margins = learner.learn(X, y)
    w = np.zeros(X.shape[1])
    for n, (h, label) in enumerate(zip(X, y, strict=True), start=1):
        active = label * (h @ w) < 1.0
        w = (1.0 - 1.0 / n) * w + (label / (0.1 * n)) * h * active
    np.testing.assert_allclose(learner.coef, w, rtol=1e-10)
    assert margins[0] == 0.0


@pytest.mark.parametrize("smoothing", [0.9, 0.999, 1.0])
def test_smoothed_weights_and_margins_follow_the_paper(smoothing: float) -> None:
    X, y, _ = problem()
    plain, smoothed = SGD(Hinge(), rate=0.1, rho=0.2), SGD(Hinge(), rate=0.1, rho=0.2, smoothing=smoothing)
    total, mass, expected = np.zeros(X.shape[1]), 0.0, [0.0]
    for h, label, following in zip(X, y, np.vstack([X[1:], X[:1]]), strict=True):
        plain.learn(h[None], [label])
        total, mass = smoothing * total + plain.coef, smoothing * mass + 1.0
        expected.append(float(following @ total) / mass)
    margins = smoothed.learn(X, y)
    np.testing.assert_allclose(margins, expected[:-1], atol=1e-12)
    np.testing.assert_allclose(smoothed.smoothed_coef, total / mass, atol=1e-12)
    np.testing.assert_allclose(smoothed.coef, plain.coef, atol=1e-12)
    np.testing.assert_allclose(smoothed.predict(X), X @ smoothed.smoothed_coef, atol=1e-12)
    np.testing.assert_array_equal(plain.smoothed_coef, plain.coef)


@pytest.mark.parametrize("loss", [Hinge(), LogLoss(), SquaredError()])
def test_proximal_steps_are_the_limit_of_o_dca(loss: Loss) -> None:
    """With β = 1 - μρ, and β^N below the last bit, O-DCA's mass is 1/(μρ): A = 1/μ, and its step is the proximal one.

    From one w on, at every step.
    """
    X, signs, numbers = problem(1500)
    y = numbers if isinstance(loss, SquaredError) else signs
    rate, rho, before = 0.1, 0.5, 800
    beta = 1.0 - rate * rho
    assert beta**before < 1e-16
    odca = Learner(loss=loss, rho=rho, window=Exponential(beta))
    odca.learn(X[:before], y[:before])
    proximal = SPG(loss, rate=rate, rho=rho, start=odca.coef)
    np.testing.assert_array_equal(proximal.coef, odca.coef)
    for n in range(before, len(X)):
        odca.learn(X[n : n + 1], y[n : n + 1])
        proximal.learn(X[n : n + 1], y[n : n + 1])
        np.testing.assert_allclose(proximal.coef, odca.coef, rtol=1e-12, atol=1e-12)


def test_a_proximal_step_minimises_its_objective() -> None:
    X, y, _ = problem(40)
    learner = SPG(LogLoss(), rate=0.7, rho=0.2)
    for h, label in zip(X, y, strict=True):
        before = (1.0 - 0.7 * 0.2) * (learner.coef if learner.count else np.zeros(X.shape[1]))
        learner.learn(h[None], [label])
        z = float(h @ learner.coef)
        np.testing.assert_allclose(learner.coef - before, 0.7 * label / (1.0 + np.exp(label * z)) * h, atol=1e-13)


def test_nlms_at_rate_one_fits_every_label_exactly() -> None:
    X, _, y = problem(50)
    learner = NLMS(rate=1.0, epsilon=1e-12)
    for h, label in zip(X, y, strict=True):
        learner.learn(h[None], [label])
        if h.any():
            assert float(h @ learner.coef) == pytest.approx(label, abs=1e-9)


@pytest.mark.parametrize("beta", [1.0, 0.98])
def test_rls_equals_weighted_least_squares(beta: float) -> None:
    X, _, y = problem(300)
    learner = RLS(X.shape[1], beta=beta, delta=0.1)
    margins = learner.learn(X[:120], y[:120])
    margins = np.concatenate([margins, learner.learn(X[120:], y[120:])])
    weights = beta ** np.arange(len(X))[::-1]
    normal = (X * weights[:, None]).T @ X + beta ** len(X) * 0.1 * np.eye(X.shape[1])
    np.testing.assert_allclose(learner.coef, np.linalg.solve(normal, X.T @ (weights * y)), rtol=1e-9)
    assert margins[0] == 0.0


def test_sparse_rows_and_any_split_give_the_same_baseline() -> None:
    X, y, _ = problem()
    whole, parts = (SGD(LogLoss(), rate=0.1, rho=0.3, smoothing=0.99) for _ in range(2))
    margins = whole.learn(X, y)
    split = np.concatenate([parts.learn(sp.csr_array(X[a:b]), y[a:b]) for a, b in ((0, 3), (3, 200), (200, 500))])
    np.testing.assert_allclose(split, margins, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(parts.smoothed_coef, whole.smoothed_coef, rtol=1e-12)


def test_weights_that_shrink_for_long_stay_exact() -> None:
    X, _, y = problem(4000)
    learner = SGD(SquaredError(), rate=0.2, rho=4.0, smoothing=1.0)  # a fifth is left after an event
    learner.learn(X, y)
    w, mean = slow_sgd(SquaredError(), X, y, np.full(len(X), 0.2), 4.0)
    np.testing.assert_allclose(learner.coef, w, atol=1e-7)
    np.testing.assert_allclose(learner.smoothed_coef, mean, atol=1e-7)


def test_invalid_calls_of_a_baseline_are_refused_and_change_nothing() -> None:
    X, y, _ = problem(20)
    learner = SGD(Hinge(), rate=0.1, rho=0.1)
    learner.learn(X, y)
    before = learner.coef.tobytes()
    with pytest.raises(ValueError, match="row 3 of y is 2"):
        learner.learn(X, np.where(np.arange(20) == 3, 2.0, y))
    broken = X.copy()
    broken[7, 2] = np.inf
    with pytest.raises(ValueError, match="row 7 of X"):
        learner.learn(broken, y)
    assert learner.coef.tobytes() == before
    assert learner.count == 20
    for options in (
        {"rate": 0.0},
        {"rate": -1.0},
        {"rate": 3.0, "rho": 1.0},
        {"rate": "pegasos"},
        {"rate": 1.0, "rho": -1.0},
    ):
        with pytest.raises(ValueError, match=r"rate|rho"):
            SGD(Poisson(), **options)  # type: ignore[arg-type]
    for options, said in (
        ({"smoothing": 1.5}, "smoothing"),
        ({"start": [[1.0]]}, "start"),
        ({"start": [np.nan]}, "start"),
    ):
        with pytest.raises(ValueError, match=said):
            SPG(Hinge(), rate=0.1, **options)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="columns"):
        RLS(3).learn(X, y)
    for features in (-1, 0, 2.5):
        with pytest.raises(ValueError, match="features must be a whole number of at least 1"):
            RLS(features)  # type: ignore[arg-type]


def test_predictions_accept_lists_and_ignore_features_never_seen() -> None:
    X, y, z = problem(20)
    machine, filtered, ascent = SGD(Hinge(), rate=0.1), RLS(X.shape[1]), SDCA(Hinge(), X, y, rho=0.1)
    machine.learn(X, y)
    filtered.learn(X, z)
    ascent.ascend(20)
    for learner in (machine, filtered, ascent):
        np.testing.assert_allclose(learner.predict(X.tolist()), X @ learner.coef)
        wider = sp.coo_array(np.hstack([X, np.ones((20, 1))]))
        np.testing.assert_allclose(learner.predict(wider), X @ learner.coef)
        with pytest.raises(ValueError, match="two dimensions"):
            learner.predict(X[0])


@pytest.mark.parametrize("order", ["random", "permuted"])
def test_sdca_converges_to_liblinears_optimum(order: Literal["random", "permuted"]) -> None:
    X, y, _ = problem()
    rho = 0.02
    strength: dict[str, Any] = {"C": 1.0 / (rho * len(X)), "fit_intercept": False, "tol": 1e-9, "max_iter": 100_000}
    machine = LinearSVC(loss="hinge", **strength).fit(X, y)
    hinge = SDCA(Hinge(), X, y, rho=rho, order=order)
    hinge.ascend(2_000 * len(X))
    np.testing.assert_allclose(hinge.coef, machine.coef_[0], atol=1e-6)
    regression = LogisticRegression(solver="newton-cholesky", **strength).fit(X, y)
    logistic = SDCA(LogLoss(), sp.csr_array(X), y, rho=rho, order=order)
    logistic.ascend(200 * len(X))
    np.testing.assert_allclose(logistic.coef, regression.coef_[0], atol=1e-8)
    assert logistic.predict(X).shape == y.shape


def test_the_weights_of_sdca_are_the_sum_of_its_duals() -> None:
    X, y, _ = problem()
    learner = SDCA(Hinge(), X, y, rho=0.1)
    learner.ascend(321)
    np.testing.assert_allclose(learner.coef, X.T @ learner.duals / (0.1 * len(X)), rtol=1e-12)


@pytest.mark.parametrize("order", ["random", "permuted"])
def test_running_sdca_in_portions_changes_nothing(order: Literal["random", "permuted"]) -> None:
    X, y, _ = problem()
    whole, parts = (SDCA(Hinge(), X, y, rho=0.1, order=order, seed=3) for _ in range(2))
    whole.ascend(1_100)
    for steps in (1, 499, 0, 600):
        parts.ascend(steps)
    assert np.array_equal(whole.coef, parts.coef)
    assert whole.count == parts.count == 1_100


def test_sdca_refuses_invalid_arguments() -> None:
    X, y, _ = problem(20)
    with pytest.raises(ValueError, match="rho must be a number > 0"):
        SDCA(Hinge(), X, y, rho=0.0)
    with pytest.raises(ValueError, match="order must be 'random' or 'permuted'"):
        SDCA(Hinge(), X, y, rho=0.1, order="cyclic")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="X has no rows"):
        SDCA(Hinge(), X[:0], y[:0], rho=0.1)
    with pytest.raises(ValueError, match="row 3 of y is 7"):
        SDCA(Hinge(), X, np.where(np.arange(20) == 3, 7.0, y), rho=0.1)
    learner = SDCA(SquaredError(), np.where(X[0, 0] == X, 1e200, X), y, rho=0.1)
    with pytest.raises(ValueError, match="not finite"):
        learner.ascend(500)
    assert learner.count == 0
    assert not learner.coef.any()
    assert not learner.duals.any()
    for steps in (-1, 1.5, True):
        with pytest.raises(ValueError, match="steps must be a whole number of at least 0"):
            learner.ascend(steps)  # type: ignore[arg-type]


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_sdca_keeps_its_own_copy_of_the_events(form: Any) -> None:
    X, y, _ = problem(50)
    one, other = form(X), y.copy()
    changed, kept = SDCA(Hinge(), one, other, rho=0.1), SDCA(Hinge(), form(X.copy()), y, rho=0.1)
    other[:] = -other
    (one.data if sp.issparse(one) else one)[:] = 7.0
    for learner in (changed, kept):
        learner.ascend(200)
    np.testing.assert_array_equal(changed.coef, kept.coef)


def test_ctrl_c_stops_a_long_baseline_run_and_changes_nothing() -> None:
    X, y, _ = problem(2_000, 60)
    ascent = SDCA(Hinge(), X, y, rho=0.1)
    ascent.ascend(100)
    before = ascent.coef
    with pytest.raises(Interrupt), interrupted_after(0.2):
        ascent.ascend(10_000_000)
    np.testing.assert_array_equal(ascent.coef, before)
    assert ascent.count == 100
    ascent.ascend(100)
    uninterrupted = SDCA(Hinge(), X, y, rho=0.1)
    uninterrupted.ascend(200)
    np.testing.assert_array_equal(ascent.coef, uninterrupted.coef)
