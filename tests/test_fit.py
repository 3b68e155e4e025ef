"""`fit` solves the weighted problem of a finite set to a gap that is known, and `learn` goes on from there."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.optimize
import scipy.sparse as sp

import real_data
from odca import (
    KL,
    L2,
    Box,
    ElasticNet,
    Exponential,
    HalfLife,
    Hinge,
    Huber,
    Infinite,
    Learner,
    LogLoss,
    NonNegative,
    Poisson,
    Sliding,
    SquaredError,
    SquaredHinge,
)
from streams import (
    KAPPAS,
    LOSSES,
    PENALTIES,
    WINDOWS,
    assert_close,
    assert_same_bits,
    bits,
    labels,
    make_stream,
    options,
    window_name,
)

RHO = 0.02
SMOOTH = {"squared_error", "log_loss", "squared_hinge", "smooth_hinge", "huber", "poisson"}


def problem(loss: Any, n: int = 90, features: int = 4, seed: int = 301) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, features))
    y = labels(loss, X @ rng.normal(size=features), rng)
    return {
        "X": X,
        "y": y,
        "sample_weight": np.where(rng.random(n) < 0.1, 0.0, rng.uniform(0.2, 2.0, size=n)),
        "offset": 0.2 * rng.normal(size=n),
        "time": rng.permutation(np.arange(float(n))),  # many events are late
    }


def window_weights(window: Any, c: np.ndarray, time: np.ndarray) -> np.ndarray:
    """δ after all events have come, from the definitions."""
    n, age = len(c), time.max() - time
    match window:
        case Exponential():
            return c * float(window.beta) ** np.arange(n - 1, -1, -1)
        case HalfLife():
            return c * 2.0 ** (-age / float(window.tau))
        case Sliding() if window.length is not None:
            return np.where(np.arange(n) >= n - window.length, c, 0.0)
        case Sliding():
            return np.where(age < float(window.duration), c, 0.0)
        case _:
            return c


def objective(w: np.ndarray, loss: Any, data: dict[str, Any], penalty: Any, weights: np.ndarray) -> float:
    """(1/Δ) Σ δ Q(b + h'w) + ρ R(w), by hand."""
    value = np.average(loss.value(data["offset"] + data["X"] @ w, data["y"]), weights=weights)
    if isinstance(penalty, KL):
        return float(value + RHO * np.sum(w * np.log(w * len(w))))
    return float(value + RHO * (getattr(penalty, "delta", 0.0) * np.abs(w).sum() + 0.5 * w @ w))


def search(loss: Any, data: dict[str, Any], penalty: Any, weights: np.ndarray, start: np.ndarray) -> float:
    """The least objective that a search without derivatives finds in the domain; it knows nothing of duals."""

    def to_domain(u: np.ndarray) -> np.ndarray:
        if isinstance(penalty, KL):
            e = np.exp(u - u.max())
            return np.maximum(e / e.sum(), 1e-300)
        lo, hi = getattr(penalty, "lo", -np.inf), getattr(penalty, "hi", np.inf)
        return np.clip(u, 0.0 if isinstance(penalty, NonNegative) else lo, hi)

    u = np.log(np.maximum(start, 1e-300)) if isinstance(penalty, KL) else start
    found = scipy.optimize.minimize(
        lambda u: objective(to_domain(u), loss, data, penalty, weights),
        u + 0.01,
        method="Nelder-Mead",
        options={"xatol": 1e-10, "fatol": 1e-14, "maxiter": 4000, "adaptive": True},
    )
    return float(found.fun)


@pytest.mark.parametrize("penalty", PENALTIES, ids=lambda penalty: penalty.name)
@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)
def test_every_loss_and_penalty_is_solved_to_a_gap_that_holds(loss: Any, penalty: Any) -> None:
    data = problem(loss)
    fixed = {"n_features": 4} if isinstance(penalty, KL) else {}
    learner = Learner(loss=loss, penalty=penalty, rho=RHO, **fixed)
    tol = 1e-9 if loss.name in SMOOTH else 1e-5
    report = learner.fit(**data, tol=tol, max_iter=20_000)
    assert report.converged
    start = np.full(4, 0.25) if isinstance(penalty, KL) else np.zeros(4)
    weights = data["sample_weight"]
    mean_loss = np.average(np.abs(loss.value(data["offset"] + data["X"] @ start, data["y"])), weights=weights)
    primal = objective(learner.coef, loss, data, penalty, weights)
    dual = learner.dual_objective()
    assert -1e-14 <= report.gap <= tol * mean_loss
    np.testing.assert_allclose(primal - dual, report.gap, rtol=0.0, atol=1e-13 * max(1.0, abs(primal)))
    best = search(loss, data, penalty, weights, learner.coef)
    assert dual <= best + 1e-13 * max(1.0, abs(best)), "the dual objective is a bound"
    assert primal <= best + report.gap + 1e-13 * max(1.0, abs(best))


@pytest.mark.parametrize("window", WINDOWS, ids=window_name)
@pytest.mark.parametrize("loss", [SquaredError(), LogLoss(), Hinge()], ids=lambda loss: loss.name)
def test_fit_weights_events_as_the_window_does_after_the_last_one(loss: Any, window: Any) -> None:
    data = problem(loss)
    learner = Learner(loss=loss, rho=RHO, window=window)
    report = learner.fit(**data, tol=1e-6, max_iter=50_000)
    weights = window_weights(window, data["sample_weight"], data["time"])
    np.testing.assert_allclose(learner.mass, weights.sum(), rtol=1e-12)
    np.testing.assert_allclose(learner.effective_sample_size, weights.sum() ** 2 / np.sum(weights**2), rtol=1e-12)
    assert learner.count == 90
    assert learner.clock == (89.0 if window.uses_time else None)
    assert report.converged
    assert objective(learner.coef, loss, data, L2(), weights) <= (
        search(loss, data, L2(), weights, learner.coef) + report.gap + 1e-13
    )
    if isinstance(loss, SquaredError):
        X, target = data["X"], data["y"] - data["offset"]
        gram = (X.T * weights) @ X + RHO * weights.sum() * np.eye(4)
        learner.fit(**data, tol=1e-14)
        np.testing.assert_allclose(learner.coef, np.linalg.solve(gram, (X.T * weights) @ target), rtol=0.0, atol=1e-7)


@pytest.mark.parametrize("kappa", KAPPAS)
@pytest.mark.parametrize("window", WINDOWS, ids=window_name)
@pytest.mark.parametrize("penalty", PENALTIES, ids=lambda penalty: penalty.name)
def test_learning_goes_on_as_if_the_events_had_come_in_a_stream(penalty: Any, window: Any, kappa: float) -> None:
    stream, later = make_stream(LogLoss(), 60, seed=302), make_stream(LogLoss(), 40, seed=303)
    later = later.with_(time=later.time + stream.time.max() - 5.0)
    keywords = options(loss=LogLoss(), penalty=penalty, window=window, smoothing=kappa, intercept=kappa == 0.5)
    fitted, streamed = Learner(**keywords), Learner(**keywords)
    fitted.fit(stream.X, stream.y, **stream.keywords())
    stream.into(streamed)
    assert fitted.count == streamed.count
    assert fitted.clock == streamed.clock
    np.testing.assert_allclose(fitted.mass, streamed.mass, rtol=1e-12)
    np.testing.assert_allclose(fitted.effective_sample_size, streamed.effective_sample_size, rtol=1e-12)
    np.testing.assert_allclose(fitted.smoothed_coef, fitted.coef, rtol=1e-14, atol=1e-300)
    # The same state with what is not in S as the stream has it goes on to the same model.
    theirs, mine = streamed.get_state(), fitted.get_state()
    for name in ("count", "clock", "smooth_mass"):
        if name in theirs:
            np.testing.assert_allclose(mine[name], theirs[name], rtol=1e-12, err_msg=name)
    for name in ("window.number", "window.time", "window.size", "window.index", "window.value"):
        assert mine[name].tobytes() == theirs[name].tobytes(), name
    twin = Learner(**keywords)
    twin.set_state(mine)
    later.into(twin)
    later.into(fitted)
    assert_same_bits(fitted, twin)
    later.into(streamed)
    np.testing.assert_allclose(fitted.mass, streamed.mass, rtol=1e-11)
    if fitted.window == Sliding(
        15
    ):  # nothing of the fit is left in the window, only in what its last duals made of the next
        assert mine["window.number"].min() == 45


@pytest.mark.parametrize("window", [Sliding(50), Sliding(duration=40.0)], ids=window_name)
def test_fit_on_a_sliding_window_is_learn_and_refine(window: Any) -> None:
    data = problem(LogLoss())
    fitted, refined = (Learner(loss=LogLoss(), rho=RHO, window=window, intercept=True) for _ in range(2))
    fitted.fit(**data, tol=1e-13)
    refined.learn(**data)
    refined.refine(2_000, gap=1e-14)
    np.testing.assert_allclose(fitted.coef, refined.coef, rtol=0.0, atol=1e-6)
    np.testing.assert_allclose(fitted.dual_sum, refined.dual_sum, rtol=0.0, atol=1e-5)
    assert abs(fitted.duality_gap()) < 1e-12
    more = problem(LogLoss(), n=30, seed=304)
    more["time"] += 90.0
    fitted.learn(**more)
    refined.learn(**more)
    assert_close(fitted, refined, rtol=1e-5)
    fitted.unlearn(fitted.count - 1)


@pytest.mark.parametrize("penalty", [L2(), ElasticNet(0.05), Box(-0.3, 0.4)], ids=lambda penalty: penalty.name)
def test_fitting_lanes_equals_fitting_each_lane_alone(penalty: Any) -> None:
    stream = make_stream(SquaredError(), 150, seed=305, lanes=3)
    keywords = options(
        loss=SquaredError(), penalty=penalty, window=Exponential([0.9, 0.99, 0.999]), lanes=3, shaped=True
    )
    together = Learner(**keywords)
    report = together.fit(stream.X, stream.y, **stream.keywords(), tol=1e-11)
    assert report.margin.shape == (150, 3)
    assert report.converged
    for lane, beta in enumerate([0.9, 0.99, 0.999]):
        alone = Learner(**{**keywords, "rho": keywords["rho"][lane], "lanes": None, "window": Exponential(beta)})
        one = alone.fit(stream.X, stream.y[:, lane], **stream.keywords(), tol=1e-11)
        assert one.converged
        np.testing.assert_allclose(together.coef[lane], alone.coef, rtol=0.0, atol=1e-4)
        np.testing.assert_allclose(together.dual_objective()[lane], alone.dual_objective(), rtol=1e-9)


def test_the_margins_are_those_from_before_an_event_was_learned() -> None:
    data = problem(SquaredError())
    learner = Learner(loss=SquaredError(), rho=RHO)
    in_order = learner.fit(**data, shuffle=False)
    stream = Learner(loss=SquaredError(), rho=RHO)
    np.testing.assert_allclose(in_order.margin, stream.learn(**data), rtol=1e-10, atol=1e-12)
    shuffled = learner.fit(**data)
    first = np.flatnonzero(shuffled.margin == data["offset"])  # one event was the first
    assert len(first) == 1 + int(data["sample_weight"][first[0]] == 0.0)


def test_one_pass_in_row_order_equals_learn() -> None:
    data = problem(Hinge())
    fitted, learned = Learner(loss=Hinge(), rho=RHO), Learner(loss=Hinge(), rho=RHO)
    report = fitted.fit(**data, shuffle=False, max_iter=1)
    learned.learn(**data)
    assert report.passes == 1
    assert not report.converged
    assert_close(fitted, learned, rtol=1e-12)
    np.testing.assert_allclose(fitted.dual_objective(), learned.dual_objective(), rtol=1e-12)
    np.testing.assert_allclose(fitted.saturation, learned.saturation, rtol=1e-12)


def test_fit_forgets_what_was_learned_before() -> None:
    data = problem(LogLoss())
    fresh, used = Learner(loss=LogLoss(), rho=RHO), Learner(loss=LogLoss(), rho=RHO)
    used.learn(np.random.default_rng(306).normal(size=(50, 9)), np.ones(50))
    fresh.fit(**data)
    used.fit(**data)
    assert_same_bits(fresh, used)
    assert used.n_features == 4


def test_the_seed_sets_the_order_and_every_order_reaches_the_same_model() -> None:
    data = problem(LogLoss())
    one, two, other, in_order = (Learner(loss=LogLoss(), rho=RHO) for _ in range(4))
    for learner, more in ((one, {"seed": 5}), (two, {"seed": 5}), (other, {"seed": 6}), (in_order, {"shuffle": False})):
        assert learner.fit(**data, tol=1e-12, **more).converged
    assert_same_bits(one, two)
    assert one != other
    for learner in (other, in_order):
        np.testing.assert_allclose(learner.coef, one.coef, rtol=0.0, atol=1e-5)


def test_all_forms_of_x_give_the_same_fit() -> None:
    data = problem(SquaredHinge())
    data["X"] = data["X"].astype(np.float32).astype(np.float64)
    X = data.pop("X")
    forms = [X, np.asfortranarray(X), X.astype(np.float32), sp.csr_array(X), sp.csr_array(X).astype(np.float32)]
    models = [Learner(loss=SquaredHinge(), rho=RHO, intercept=True) for _ in forms]
    for form, model in zip(forms, models, strict=True):
        model.fit(form, **data)
    for model in models[1:3]:
        assert_same_bits(models[0], model)
    for model in models[3:]:
        np.testing.assert_allclose(model.coef, models[0].coef, rtol=0.0, atol=1e-13)


def test_a_refused_fit_leaves_the_model_as_it_was() -> None:
    data = problem(LogLoss())
    learner = Learner(loss=LogLoss(), rho=RHO, window=Sliding(20), smoothing=0.9)
    learner.learn(**data)
    before = bits(learner)
    X, y = data["X"], data["y"]
    spoilt = X.copy()
    spoilt[80, 2] = np.nan
    refusals: list[tuple[str, dict[str, Any]]] = [
        ("row 80 of X holds nan", {"X": spoilt, "y": y}),
        ("row 3", {"X": X, "y": np.where(np.arange(90) == 3, 7.0, y)}),
        ("sample_weight", {"X": X, "y": y, "sample_weight": -data["sample_weight"]}),
        ("offset", {"X": X, "y": y, "offset": np.full(90, np.inf)}),
        ("fit needs events", {"X": X[:0], "y": y[:0]}),
        ("tol must", {"X": X, "y": y, "tol": 0.0}),
        ("tol must", {"X": X, "y": y, "tol": np.nan}),
        ("max_iter", {"X": X, "y": y, "max_iter": 0}),
        ("seed", {"X": X, "y": y, "seed": -1}),
        ("overflow", {"X": X, "y": y, "sample_weight": np.full(90, 1e308)}),
    ]
    for message, keywords in refusals:
        with pytest.raises(ValueError, match=message):
            learner.fit(**keywords)
        assert bits(learner) == before, message
    with pytest.raises(ValueError, match="give fit the time of every event"):
        Learner(loss=LogLoss(), window=HalfLife(1.0)).fit(X, y)


def test_fitting_a_custom_loss_requires_its_value() -> None:
    class Square:
        def gradient(self, z: float, y: float) -> float:
            return z - y

    class Valued(Square):
        def value(self, z: float, y: float) -> float:
            return 0.5 * (z - y) ** 2

    data = problem(SquaredError(), n=40)
    with pytest.raises(ValueError, match="value"):
        Learner(loss=Square(), rho=RHO).fit(**data)
    own, builtin = Learner(loss=Valued(), rho=RHO), Learner(loss=SquaredError(), rho=RHO)
    assert own.fit(**data, tol=1e-9).converged
    builtin.fit(**data, tol=1e-9)
    np.testing.assert_allclose(own.coef, builtin.coef, rtol=0.0, atol=1e-4)


def test_a_loss_that_raises_leaves_the_model_as_it_was() -> None:
    class Failing:
        def __init__(self) -> None:
            self.calls = 0

        def dual(self, p: float, s: float, y: float) -> float:
            self.calls += 1
            if self.calls > 100:
                raise RuntimeError("enough")
            return (y - p) / (1.0 + s)

        def value(self, z: float, y: float) -> float:
            return 0.5 * (z - y) ** 2

    data = problem(SquaredError())
    learner = Learner(loss=Failing(), rho=RHO)
    learner.learn(data["X"][:20], data["y"][:20])
    before = bits(learner)
    with pytest.raises(RuntimeError, match="enough"):
        learner.fit(**data)
    assert bits(learner) == before


@pytest.mark.parametrize("window", WINDOWS, ids=window_name)
def test_saving_and_loading_a_fitted_model_changes_no_bit(window: Any, tmp_path: Path) -> None:
    stream = make_stream(Hinge(), 80, seed=307)
    learner = Learner(**options(loss=Hinge(), penalty=ElasticNet(0.05), window=window, smoothing=0.9, lanes=2))
    learner.fit(stream.X, np.stack([stream.y, -stream.y], axis=1), **stream.keywords())
    learner.save(tmp_path / "model.safetensors")
    assert_same_bits(Learner.load(tmp_path / "model.safetensors"), learner)


def test_fit_accepts_events_of_weight_zero() -> None:
    data = problem(SquaredError())
    learner = Learner(loss=SquaredError(), rho=RHO, prior_mean=[0.5, -0.5])
    report = learner.fit(data["X"], data["y"], sample_weight=np.zeros(90))
    assert report.converged
    assert report.gap == 0.0
    assert learner.count == 90
    np.testing.assert_array_equal(learner.coef, [0.5, -0.5, 0.0, 0.0])
    # A past that has faded below all numbers is no past.
    faded = Learner(loss=SquaredError(), rho=RHO, window=Exponential(0.01))
    X, y = np.tile(data["X"], (20, 1)), np.tile(data["y"], 20)
    assert faded.fit(X, y, tol=1e-12).converged
    np.testing.assert_allclose(faded.mass, 1.0 / 0.99, rtol=1e-12)


def test_a_fit_stopped_by_max_iter_reports_that_it_did_not_converge() -> None:
    data = problem(Hinge())
    report = Learner(loss=Hinge(), rho=1e-4).fit(**data, tol=1e-12, max_iter=3)
    assert report.passes == 3
    assert not report.converged
    assert report.gap > 0.0


@pytest.mark.parametrize("loss", [Hinge(), SquaredHinge(), LogLoss()], ids=lambda loss: loss.name)
def test_visiting_rows_in_runs_reaches_the_same_model(loss: Any) -> None:
    # Many rows that are nearly orthogonal, as texts are; once with one class behind the other.
    rng = np.random.default_rng(310)
    X = sp.random(6_000, 20_000, density=0.0015, format="csr", rng=rng)
    y = np.where(X @ rng.normal(size=20_000) > 0.0, 1.0, -1.0)
    by_class = np.argsort(y, kind="stable")
    one, two, sorted_rows, in_order = (Learner(loss=loss, rho=1e-3) for _ in range(4))
    for learner, rows, more in (
        (one, slice(None), {}),
        (two, slice(None), {}),
        (sorted_rows, by_class, {}),
        (in_order, slice(None), {"shuffle": False}),
    ):
        assert learner.fit(X[rows], y[rows], tol=1e-9, **more).converged
    assert_same_bits(one, two)
    for learner in (sorted_rows, in_order):
        np.testing.assert_allclose(learner.coef, one.coef, rtol=0.0, atol=1e-3)
        np.testing.assert_allclose(learner.dual_objective(), one.dual_objective(), rtol=1e-8)


# Against scikit-learn


def sum_form(X: Any, y: np.ndarray, w: np.ndarray, loss: Any, rho: float) -> float:
    return float(np.mean(loss.value(X @ w, y)) + 0.5 * rho * w @ w)


@pytest.mark.parametrize("name", ["a6a", "rcv1sub"])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("loss", [Hinge(), SquaredHinge(), LogLoss()], ids=lambda loss: loss.name)
def test_no_worse_than_liblinear_on_real_data(loss: Any, intercept: bool, name: str) -> None:
    linear_model, svm = pytest.importorskip("sklearn.linear_model"), pytest.importorskip("sklearn.svm")
    data, rho = real_data.load(name), 1e-3
    X, y = sp.csr_matrix(data.X), data.y
    X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    C = 1.0 / (rho * len(y))
    more = {"C": C, "tol": 1e-6, "max_iter": 100_000, "fit_intercept": intercept, "random_state": 0}
    if isinstance(loss, LogLoss):
        peer = linear_model.LogisticRegression(solver="liblinear", dual=True, **more).fit(X, y)
    else:
        peer = svm.LinearSVC(loss=loss.name, dual=True, **more).fit(X, y)
    learner = Learner(loss=loss, rho=rho, intercept=intercept)  # LIBLINEAR's intercept is penalised like the others
    report = learner.fit(X, y, tol=1e-6)
    assert report.converged
    with_one = sp.hstack([X, np.ones((len(y), 1))], format="csr")
    mine = sum_form(with_one, y, np.append(learner.coef, learner.intercept), loss, rho)
    theirs = sum_form(with_one, y, np.append(peer.coef_[0], peer.intercept_), loss, rho)
    np.testing.assert_allclose(mine, theirs, rtol=1e-4)
    assert mine <= theirs + report.gap + 1e-13


@pytest.mark.parametrize("name", [pytest.param("a6a", marks=pytest.mark.long), "synthetic"])
def test_ridge_and_elastic_net_agree_with_scikit_learn(name: str) -> None:
    linear_model = pytest.importorskip("sklearn.linear_model")
    if name == "a6a":
        data = real_data.load("a6a")
        X, y = data.X.toarray(), data.y
    else:
        rng = np.random.default_rng(308)
        X = rng.normal(size=(500, 30)) * rng.uniform(0.2, 3.0, size=30)
        y = X @ np.where(np.arange(30) < 8, rng.normal(size=30), 0.0) + rng.normal(size=500)
    rho = 0.01
    ridge = linear_model.Ridge(alpha=rho * len(y), fit_intercept=False, tol=1e-12).fit(X, y)
    mine = Learner(loss=SquaredError(), rho=rho)
    assert mine.fit(X, y, tol=1e-10).converged
    np.testing.assert_allclose(
        sum_form(X, y, mine.coef, SquaredError(), rho), sum_form(X, y, ridge.coef_, SquaredError(), rho), rtol=1e-8
    )
    delta = 2.0
    net = linear_model.ElasticNet(
        alpha=rho * (1.0 + delta), l1_ratio=delta / (1.0 + delta), fit_intercept=False, tol=1e-10, max_iter=100_000
    ).fit(X, y)
    sparse = Learner(loss=SquaredError(), penalty=ElasticNet(delta), rho=rho)
    assert sparse.fit(X, y, tol=1e-8, max_iter=20_000).converged

    def value(w: np.ndarray) -> float:
        return sum_form(X, y, w, SquaredError(), rho) + rho * delta * float(np.abs(w).sum())

    np.testing.assert_allclose(value(sparse.coef), value(net.coef_), rtol=1e-6)


def test_multiplying_all_weights_by_a_constant_does_not_change_the_fit() -> None:
    data = problem(SquaredError())
    plain, faded = Learner(loss=SquaredError(), rho=RHO, window=Infinite()), Learner(loss=SquaredError(), rho=RHO)
    plain.fit(**data, tol=1e-12)
    faded.fit(**{**data, "sample_weight": 3.0 * data["sample_weight"]}, tol=1e-12)
    np.testing.assert_allclose(plain.coef, faded.coef, rtol=0.0, atol=1e-5)  # only ratios of weights matter


@pytest.mark.parametrize("lanes", [None, 2])
@pytest.mark.parametrize(
    "loss", [SquaredError(), SquaredHinge(), LogLoss(), Poisson(), Huber(0.5)], ids=lambda x: x.name
)
def test_a_nearly_unregularised_problem_is_solved_in_few_passes(loss: Any, lanes: int | None) -> None:
    # S-DCA alone takes thousands of passes here, joint steps a few.
    rng = np.random.default_rng(309)
    X = rng.normal(size=(2_000, 10)) + 2.0  # correlated
    y = labels(loss, 0.3 * X @ rng.normal(size=10), rng)
    if isinstance(loss, LogLoss):
        y = np.where(y > 0.5, 1.0, -1.0)
    keywords: dict[str, Any] = {"penalty_weights": [0.5, 2.0], "prior_mean": [0.1], "intercept": True}
    learner = Learner(loss=loss, rho=1e-6, lanes=lanes, **keywords)
    report = learner.fit(X, y, offset=rng.normal(size=2_000) * 0.1, tol=1e-8)
    assert report.converged
    assert report.passes < 60
