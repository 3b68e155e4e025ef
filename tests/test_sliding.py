"""Sliding windows keep their events: refine converges to the window's minimiser, unlearn is exact, late events fit in."""

from typing import Any

import numpy as np
import pytest
import scipy.optimize

from odca import (
    KL,
    L2,
    Box,
    ElasticNet,
    Hinge,
    Huber,
    Infinite,
    Learner,
    LogLoss,
    NonNegative,
    Poisson,
    Sliding,
    SmoothHinge,
    SquaredError,
    SquaredHinge,
)
from streams import LOSSES, PENALTIES, assert_same_bits, bits, labels, make_stream, options

SMOOTH = (SquaredError(), LogLoss(), SquaredHinge(), SmoothHinge(0.5), Huber(1.0), Poisson())
RHO = 0.02


def problem(loss: Any, n: int = 120, features: int = 5, seed: int = 201) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, features))
    y = labels(loss, X @ rng.normal(size=features), rng)
    return {"X": X, "y": y, "sample_weight": rng.uniform(0.2, 2.0, size=n), "offset": 0.2 * rng.normal(size=n)}


def learned(loss: Any, data: dict[str, Any], window: Any = Sliding(80), **more: Any) -> Learner:  # noqa: B008 - frozen
    fixed = {"n_features": data["X"].shape[1]} if isinstance(more.get("penalty"), KL) else {}
    learner = Learner(loss=loss, rho=RHO, window=window, **fixed, **more)
    learner.learn(**data)
    return learner


def last(data: dict[str, Any], n: int = 80) -> dict[str, Any]:
    return {name: array[-n:] for name, array in data.items()}


def objective(w: np.ndarray, loss: Any, window: dict[str, Any], penalty: Any) -> float:
    """(1/Δ) Σ c Q(b + h'w) + ρ R(w), by hand."""
    z = window["offset"] + window["X"] @ w
    value = np.average(loss.value(z, window["y"]), weights=window["sample_weight"])
    if isinstance(penalty, KL):
        return float(value + RHO * np.sum(w * np.log(w * len(w))))
    return float(value + RHO * (getattr(penalty, "delta", 0.0) * np.abs(w).sum() + 0.5 * w @ w))


def dual_objective(learner: Learner, loss: Any, penalty: Any, features: int) -> float:
    """(1/Δ) (-Σ c (Q*(-λ) + λb) - A R*(S/A)), by hand from the window's events."""
    state = learner.get_state()
    y, c, b, dual = state["window.facts"].reshape(-1, 5)[:, :4].T
    X = state["window.value"].reshape(-1, features)
    mass = c.sum()
    A = RHO * mass
    x = (c * dual) @ X / A
    conjugate = c @ (loss.conjugate(dual, y) + dual * b)
    if isinstance(penalty, KL):
        return float(-(conjugate + A * np.log(np.mean(np.exp(x)))) / mass)
    w = learner.coef
    r = getattr(penalty, "delta", 0.0) * np.abs(w) + 0.5 * w * w
    return float(-(conjugate + A * np.sum(x * w - r)) / mass)


@pytest.mark.parametrize("penalty", PENALTIES, ids=lambda penalty: penalty.name)
@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)
def test_refine_never_lowers_the_dual_objective_and_closes_the_gap(loss: Any, penalty: Any) -> None:
    data = problem(loss)
    learner = learned(loss, data, penalty=penalty)
    window = last(data)
    duals, gaps = [learner.dual_objective()], [learner.duality_gap()]
    for seed in range(40):
        gap = learner.refine(3, seed=seed)
        duals.append(learner.dual_objective())
        gaps.append(gap)
        assert gap == learner.duality_gap()
    # What is reported is what the window's events say.
    np.testing.assert_allclose(duals[-1], dual_objective(learner, loss, penalty, 5), rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(learner.primal_objective(), objective(learner.coef, loss, window, penalty), rtol=1e-10)
    assert np.all(np.diff(duals) >= -1e-13 * np.abs(duals[-1])), "the dual objective fell"
    assert min(gaps) >= -1e-12, "weak duality"
    # Smooth losses converge linearly; kinked ones only like 1/passes. Under tight bounds one pass may be enough.
    assert gaps[-1] < max(1e-12, (1e-3 if loss in SMOOTH else 0.1) * gaps[0])
    assert duals[-1] > duals[0] or gaps[0] < 1e-12, "nothing was refined"


@pytest.mark.parametrize("loss", SMOOTH, ids=lambda loss: loss.name)
def test_the_gap_of_a_smooth_loss_goes_to_zero(loss: Any) -> None:
    learner = learned(loss, problem(loss))
    gap = learner.refine(600)
    assert abs(gap) < 1e-13 * max(1.0, abs(learner.primal_objective()))


@pytest.mark.parametrize("lanes", [None, 3])
def test_refine_converges_to_the_normal_equations(lanes: int | None) -> None:
    data = problem(SquaredError())
    if lanes:
        data["y"] = np.stack([data["y"], -data["y"], data["y"] ** 2], axis=1)
    learner = Learner(loss=SquaredError(), rho=RHO, window=Sliding(80), lanes=lanes, intercept=True)
    learner.learn(**data)
    learner.refine(400)
    window = last(data)
    X = np.column_stack([np.ones(80), window["X"]])
    c = window["sample_weight"]
    target = window["y"] - (window["offset"][:, None] if lanes else window["offset"])
    expected = np.linalg.solve((X.T * c) @ X + RHO * c.sum() * np.eye(6), (X.T * c) @ target)
    np.testing.assert_allclose(learner.coef, expected[1:].T, rtol=0.0, atol=1e-10)
    np.testing.assert_allclose(learner.intercept, expected[0], rtol=0.0, atol=1e-10)


@pytest.mark.parametrize("window", [Sliding(80), Sliding(duration=80.0)], ids=str)
def test_refine_converges_to_logistic_regression(window: Any) -> None:
    data = problem(LogLoss())
    data["y"] = np.where(data["y"] > 0.5, 1.0, -1.0)
    learner = Learner(loss=LogLoss(), rho=RHO, window=window)
    learner.learn(**data, time=np.arange(120.0))
    learner.refine(400)
    now = last(data)
    X, c, y = now["X"], now["sample_weight"], now["y"]

    def newton(w: np.ndarray) -> np.ndarray:
        p = 1.0 / (1.0 + np.exp(-(now["offset"] + X @ w)))
        gradient = X.T @ (c * (p - (y > 0.0))) + RHO * c.sum() * w
        hessian = (X.T * (c * p * (1.0 - p))) @ X + RHO * c.sum() * np.eye(5)
        return w - np.linalg.solve(hessian, gradient)

    best = np.zeros(5)
    for _ in range(30):
        best = newton(best)
    np.testing.assert_allclose(learner.coef, best, rtol=0.0, atol=1e-9)


@pytest.mark.parametrize(
    ("penalty", "bounds"),
    [(NonNegative(0.01), (0.0, None)), (Box(-0.2, 0.3), (-0.2, 0.3)), (ElasticNet(0.05), (None, None))],
    ids=["nonnegative", "box", "elasticnet"],
)
@pytest.mark.parametrize("loss", [SquaredError(), LogLoss()], ids=lambda loss: loss.name)
def test_refine_converges_to_the_minimiser_under_bounds_and_thresholds(loss: Any, penalty: Any, bounds: Any) -> None:
    data = problem(loss)
    learner = learned(loss, data, penalty=penalty)
    learner.refine(500)
    window = last(data)
    # Split into positive and negative parts, which makes |w| linear and the problem smooth within bounds.
    lo, hi = bounds
    limits = [(0.0, hi)] * 5 + [(0.0, None if lo is None else -lo)] * 5

    def split(parts: np.ndarray) -> float:
        w, delta = parts[:5] - parts[5:], getattr(penalty, "delta", 0.0)
        return objective(w, loss, window, L2()) + RHO * delta * parts.sum()

    found = scipy.optimize.minimize(
        split, np.full(10, 0.01), bounds=limits, method="L-BFGS-B", options={"ftol": 1e-15, "gtol": 1e-10}
    )
    best = found.x[:5] - found.x[5:]
    assert objective(learner.coef, loss, window, penalty) <= objective(best, loss, window, penalty) + 1e-12
    np.testing.assert_allclose(learner.coef, best, rtol=0.0, atol=1e-4)  # what L-BFGS reaches without derivatives


def test_refine_converges_to_the_support_vector_machine() -> None:
    # The hinge as a linear programme with a quadratic term: minimise over w and slacks by SLSQP on a small window.
    data = problem(Hinge(), n=40, features=3)
    learner = learned(Hinge(), data, Sliding(25))
    learner.refine(3_000)
    window = last(data, 25)
    m = window["y"][:, None] * window["X"]
    c = window["sample_weight"] / window["sample_weight"].sum()

    def value(v: np.ndarray) -> float:
        return float(c @ v[3:] + 0.5 * RHO * v[:3] @ v[:3])

    margin = {
        "type": "ineq",
        "fun": lambda v: v[3:] - 1.0 + window["y"] * window["offset"] + m @ v[:3],
        "jac": lambda _: np.hstack([m, np.eye(25)]),
    }
    start = np.concatenate([np.zeros(3), np.full(25, 3.0)])
    found = scipy.optimize.minimize(
        value,
        start,
        jac=lambda v: np.concatenate([RHO * v[:3], c]),
        constraints=[margin],
        bounds=[(None, None)] * 3 + [(0.0, None)] * 25,
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 500},
    )
    np.testing.assert_allclose(learner.primal_objective(), found.fun, rtol=1e-5)
    assert learner.dual_objective() <= found.fun + 1e-9


def test_refine_is_reproducible_and_the_seed_sets_the_order() -> None:
    data = problem(Hinge())
    one, two, three = (learned(Hinge(), data, smoothing=0.9) for _ in range(3))
    one.refine(2, seed=5)
    two.refine(2, seed=5)
    three.refine(2, seed=6)
    assert_same_bits(one, two)
    assert one != three
    for learner in (one, three):
        learner.refine(2_000)
    np.testing.assert_allclose(one.primal_objective(), three.primal_objective(), rtol=1e-3)


def test_refine_stops_at_its_tolerance() -> None:
    data = problem(SquaredError())
    eager, patient = learned(SquaredError(), data), learned(SquaredError(), data)
    assert eager.duality_gap() > 1e-3
    gap = eager.refine(10_000, gap=1e-3)
    assert 0.0 < gap <= 1e-3
    assert patient.refine(10_000, gap=1e-9) < gap
    still = eager.copy()
    still.refine(0)
    np.testing.assert_allclose(still.coef, eager.coef, rtol=1e-13)
    assert eager.refine(1, gap=1.0) <= gap


def test_refine_does_not_change_count_mass_clock_or_events() -> None:
    stream = make_stream(SquaredError(), 60, seed=202)
    learner = Learner(**options(loss=SquaredError(), penalty=L2(), window=Sliding(duration=20.0), smoothing=0.9))
    stream.into(learner)
    before, state = (learner.count, learner.clock, learner.mass), learner.get_state()
    average = learner.smoothed_coef
    learner.refine(3)
    after = learner.get_state()
    assert before[:2] == (learner.count, learner.clock)
    np.testing.assert_allclose(learner.mass, before[2], rtol=1e-14)
    for name in ("window.number", "window.time", "window.index", "window.value", "window.size"):
        assert state[name].tobytes() == after[name].tobytes()
    facts = [each["window.facts"].reshape(-1, 5) for each in (state, after)]
    np.testing.assert_array_equal(facts[0][:, :3], facts[1][:, :3])
    assert not np.array_equal(facts[0][:, 3], facts[1][:, 3]), "no dual moved"
    # w-bar is a mean over the events so far, and none came.
    np.testing.assert_allclose(learner.smoothed_coef, average, rtol=1e-12)


def test_learning_goes_on_exactly_after_refine() -> None:
    data = problem(SquaredError(), n=300)
    learner = Learner(loss=SquaredError(), rho=RHO, window=Sliding(40))
    for start in range(0, 300, 15):
        learner.learn(**{name: array[start : start + 15] for name, array in data.items()})
        learner.refine(2, seed=start)
        facts = learner.get_state()["window.facts"].reshape(-1, 5)
        rows = slice(max(0, start - 25), start + 15)
        np.testing.assert_allclose(
            learner.dual_sum, (facts[:, 1] * facts[:, 3]) @ data["X"][rows], rtol=1e-11, atol=1e-12
        )
        np.testing.assert_allclose(learner.mass, data["sample_weight"][rows].sum(), rtol=1e-13)


def test_refining_every_event_tracks_the_minimiser_of_the_window() -> None:
    data = problem(SquaredError(), n=60)
    learner = Learner(loss=SquaredError(), rho=RHO, window=Sliding(20))
    for n in range(1, 61):
        learner.learn(**{name: array[n - 1 : n] for name, array in data.items()})
        learner.refine(1_500, seed=n)
    window = last(data, 20)
    c = window["sample_weight"]
    gram = (window["X"].T * c) @ window["X"] + RHO * c.sum() * np.eye(5)
    best = np.linalg.solve(gram, (window["X"].T * c) @ (window["y"] - window["offset"]))
    np.testing.assert_allclose(learner.coef, best, rtol=0.0, atol=1e-9)


@pytest.mark.parametrize("kappa", [0.0, 0.9])
@pytest.mark.parametrize("penalty", PENALTIES, ids=lambda penalty: penalty.name)
@pytest.mark.parametrize("loss", [SquaredError(), Hinge(), LogLoss()], ids=lambda loss: loss.name)
def test_an_unlearned_event_is_gone_from_every_sum(loss: Any, penalty: Any, kappa: float) -> None:
    data = problem(loss)
    learner = learned(loss, data, penalty=penalty, smoothing=kappa)
    rng = np.random.default_rng(203)
    gone = rng.choice(np.arange(40, 120), size=30, replace=False)
    average = learner.smoothed_coef
    for event in gone.tolist():
        learner.unlearn(event)
    stays = np.setdiff1d(np.arange(40, 120), gone)
    state = learner.get_state()
    np.testing.assert_array_equal(state["window.number"], stays)
    c, dual = state["window.facts"].reshape(-1, 5)[:, [1, 3]].T
    np.testing.assert_array_equal(c, data["sample_weight"][stays])
    np.testing.assert_allclose(learner.mass, c.sum(), rtol=1e-14)
    S = (c * dual) @ data["X"][stays]
    np.testing.assert_allclose(learner.dual_sum, S, rtol=0.0, atol=1e-13 * np.abs(S).max())
    np.testing.assert_allclose(
        learner.dual_objective(), dual_objective(learner, loss, penalty, 5), rtol=1e-11, atol=1e-13
    )
    np.testing.assert_allclose(learner.effective_sample_size, c.sum() ** 2 / (c @ c), rtol=1e-12)
    assert learner.count == 120
    np.testing.assert_allclose(learner.smoothed_coef if kappa else average, average, rtol=1e-11, atol=1e-13)


def test_an_event_can_be_unlearned_once_and_only_while_it_is_in_the_window() -> None:
    learner = learned(SquaredError(), problem(SquaredError()), Sliding(10))
    learner.unlearn(115)
    saved = bits(learner)
    for event in (115, 109, 0, 120, 2**40):
        with pytest.raises(ValueError, match=rf"event {event} is not in the window, which holds 9 of 120 events"):
            learner.unlearn(event)
    assert bits(learner) == saved


@pytest.mark.parametrize("passes", [-1, 1.5, "2", None, True])
def test_refine_takes_a_whole_number_of_passes(passes: Any) -> None:
    learner = learned(SquaredError(), problem(SquaredError()), Sliding(10))
    with pytest.raises(ValueError, match="passes must be a whole number"):
        learner.refine(passes)


@pytest.mark.parametrize("options", [{"gap": -1.0}, {"gap": np.nan}, {"gap": "small"}, {"seed": -1}, {"seed": 0.5}])
def test_refine_refuses_a_wrong_option_by_name(options: dict[str, Any]) -> None:
    learner = learned(SquaredError(), problem(SquaredError()), Sliding(10))
    with pytest.raises(ValueError, match=f"{next(iter(options))} must be"):
        learner.refine(1, **options)


@pytest.mark.parametrize("event", [-1, 115.0, "115", None])
def test_unlearn_takes_the_number_of_an_event(event: Any) -> None:
    learner = learned(SquaredError(), problem(SquaredError()), Sliding(10))
    with pytest.raises(ValueError, match="event must be a whole number"):
        learner.unlearn(event)


def test_unlearning_everything_leaves_an_empty_model() -> None:
    for penalty in PENALTIES:
        learner = learned(SquaredError(), problem(SquaredError()), Sliding(10), penalty=penalty)
        for event in range(119, 109, -1):
            learner.unlearn(event)
        assert learner.mass == 0.0
        assert not learner.dual_sum.any()
        assert learner.dual_objective() == 0.0
        rest = np.full(5, 0.2) if isinstance(penalty, KL) else np.zeros(5)
        np.testing.assert_allclose(learner.coef, rest, rtol=1e-14)


def test_unlearning_an_event_does_not_bring_back_an_older_one() -> None:
    # The window is the last three events of the stream, whether one of them was unlearned or not.
    learner = Learner(loss=SquaredError(), rho=RHO, window=Sliding(3))
    learner.learn(np.eye(6)[:3], [1.0, 2.0, 3.0])
    learner.unlearn(1)
    learner.learn(np.eye(6)[3:4], [4.0])
    assert learner.get_state()["window.number"].tolist() == [2, 3]
    assert learner.mass == 2.0
    learner.learn(np.eye(6)[4:], [5.0, 6.0])
    assert learner.get_state()["window.number"].tolist() == [3, 4, 5]


def test_unlearning_and_refining_equals_never_having_seen_the_event() -> None:
    data = problem(SquaredError(), n=50)
    forgetful, ignorant = (Learner(loss=SquaredError(), rho=RHO, window=Sliding(100)) for _ in range(2))
    forgetful.learn(**data)
    forgetful.unlearn(17)
    kept = np.delete(np.arange(50), 17)
    ignorant.learn(**{name: array[kept] for name, array in data.items()})
    forgetful.refine(600)
    ignorant.refine(600)
    np.testing.assert_allclose(forgetful.coef, ignorant.coef, rtol=0.0, atol=1e-11)


@pytest.mark.parametrize("seed", range(6))
def test_a_window_of_fixed_duration_holds_the_events_its_definition_says(seed: int) -> None:
    rng = np.random.default_rng(300 + seed)
    n, D = 250, 10.0
    time = np.cumsum(rng.exponential(0.5, size=n)) - np.where(rng.random(n) < 0.3, rng.exponential(8.0, size=n), 0.0)
    time = np.round(4.0 * time) / 4.0  # equal times, and ages of exactly D
    stream = make_stream(SquaredError(), n, seed=seed).with_(time=time)
    learner = Learner(loss=SquaredError(), rho=RHO, window=Sliding(duration=D), smoothing=0.5)
    for end in range(1, n + 1):
        stream.part(slice(end - 1, end)).into(learner)
        clock = time[:end].max()
        holds = [k for k in range(end) if time[k] > clock - D]
        holds.sort(key=lambda k: (time[k], k))
        # An event that came too late was never let in; the clock only moves on, so it is not in the list either.
        state = learner.get_state()
        assert state["window.number"].tolist() == holds
        assert learner.clock == clock
        assert learner.count == end
        np.testing.assert_allclose(learner.mass, stream.sample_weight[holds].sum(), rtol=1e-12, atol=1e-13)
    facts = state["window.facts"].reshape(-1, 5)
    S = (facts[:, 1] * facts[:, 3]) @ stream.X[holds].toarray()
    np.testing.assert_allclose(learner.dual_sum, S, rtol=1e-11, atol=1e-13)


def test_an_event_expired_on_arrival_only_increases_the_count() -> None:
    learner = Learner(loss=SquaredError(), rho=RHO, window=Sliding(duration=10.0))
    stream = make_stream(SquaredError(), 20, seed=204).with_(time=np.arange(20.0))
    stream.into(learner)
    S, w, mass = learner.dual_sum, learner.coef, learner.mass
    told = learner.learn(np.ones((2, 12)), [9.0, 9.0], time=[9.0, -50.0], diagnostics=True)
    np.testing.assert_array_equal(told.dual, 0.0)
    assert learner.count == 22
    assert learner.clock == 19.0
    assert (learner.dual_sum.tobytes(), learner.coef.tobytes(), learner.mass) == (S.tobytes(), w.tobytes(), mass)
    with pytest.raises(ValueError, match="event 20 is not in the window"):
        learner.unlearn(20)
    learner.learn(np.ones((1, 12)), [9.0], time=[9.5])  # late, and just in time
    assert learner.mass == pytest.approx(mass + 1.0, rel=1e-14)
    assert learner.get_state()["window.number"][0] == 22, "the oldest by time"


@pytest.mark.parametrize("length", [1, 2, 3, 50])
def test_a_window_of_fixed_length_equals_a_fresh_learner_with_its_sums(length: int) -> None:
    stream = make_stream(SquaredError(), 200, seed=205)
    learner = Learner(loss=SquaredError(), rho=RHO, window=Sliding(length))
    for end in range(1, 201):
        stream.part(slice(end - 1, end)).into(learner)
        inside = slice(max(0, end - length), end)
        facts = learner.get_state()["window.facts"].reshape(-1, 5)
        np.testing.assert_array_equal(facts[:, 1], stream.sample_weight[inside])
        S = (facts[:, 1] * facts[:, 3]) @ stream.X[inside].toarray()
        np.testing.assert_allclose(learner.dual_sum, S, rtol=0.0, atol=1e-12 * max(1.0, np.abs(S).max()))
        mass = stream.sample_weight[inside].sum()
        np.testing.assert_allclose(learner.mass, mass, rtol=1e-12, atol=1e-13)
        if mass > 0.0:
            np.testing.assert_allclose(learner.coef, learner.dual_sum / (RHO * learner.mass), rtol=1e-12)
        else:
            assert not learner.coef.any(), "a window of zero weights has no model"


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("window", [Sliding(25), Sliding(duration=25.0)], ids=str)
def test_after_any_operations_the_sums_are_those_of_the_events_in_the_window(window: Any, seed: int) -> None:
    rng = np.random.default_rng(600 + seed)
    loss, lanes = LOSSES[seed % len(LOSSES)], (None, 3)[seed % 2]
    penalty = PENALTIES[seed % len(PENALTIES)]
    keywords = options(loss=loss, penalty=penalty, window=window, smoothing=(0.0, 0.9)[seed % 3 > 0], lanes=lanes)
    stream = make_stream(loss, 400, seed=seed, lanes=lanes)
    learner, at, gone = Learner(**keywords), 0, set()
    while at < 400:
        operation = rng.choice(["learn", "learn", "fail", "refine", "unlearn", "save", "merge"])
        part = stream.part(slice(at, at + int(rng.integers(1, 30))))
        if operation == "learn":
            part.into(learner)
            at += len(part)
        elif operation == "fail":
            y = part.y.copy()
            y[-1] = np.nan
            with pytest.raises(ValueError, match="nan"):
                part.with_(y=y).into(learner)
        elif operation == "refine":
            learner.refine(1, seed=at)
        elif operation == "unlearn" and len(learner.get_state()["window.number"]):
            event = int(rng.choice(learner.get_state()["window.number"]))
            learner.unlearn(event)
            gone.add(event)
        elif operation == "save":
            state, learner = learner.get_state(), Learner(**keywords)
            learner.set_state(state)
        elif operation == "merge" and window.duration:
            learner = learner.merge(Learner(**keywords))
        state = learner.get_state()
        held = state["window.number"].astype(int)
        clock = stream.time[:at].max(initial=-np.inf)
        young = np.arange(at) >= at - 25 if window.length else clock - stream.time[:at] < 25.0
        assert set(held) == set(np.flatnonzero(young).tolist()) - gone, operation
        facts = state["window.facts"].reshape(len(held), 5, lanes or 1)
        pull = facts[:, 1] * facts[:, 3]
        S = pull.T @ stream.X[held].toarray()
        got = np.atleast_2d(learner.dual_sum)
        np.testing.assert_allclose(
            got, S[:, : got.shape[1]], rtol=0.0, atol=1e-11 * max(1.0, np.abs(S).max(initial=0.0))
        )
        np.testing.assert_allclose(learner.mass, facts[:, 1].sum(axis=0) if lanes else facts[:, 1].sum(), atol=1e-12)
        assert learner.count == at
        assert np.all(np.asarray(learner.duality_gap()) > -1e-10)


def test_a_window_longer_than_the_stream_equals_the_infinite_window() -> None:
    stream = make_stream(LogLoss(), 150, seed=206)
    for window in (Sliding(150), Sliding(10**9), Sliding(duration=1e9)):
        sliding, infinite = (
            Learner(loss=LogLoss(), rho=RHO, window=each, smoothing=0.9) for each in (window, Infinite())
        )
        ordered = stream.with_(time=np.arange(150.0))
        assert ordered.into(sliding).tobytes() == ordered.into(infinite).tobytes()
        assert sliding.coef.tobytes() == infinite.coef.tobytes()
        assert sliding.smoothed_coef.tobytes() == infinite.smoothed_coef.tobytes()
