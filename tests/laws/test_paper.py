"""The paper's own closed forms, event by event. Labels such as eq.ODCA are those of paper.tex.

Both sides are a handful of double operations per event, on numbers of the size of w, and the recursions forget: rounding
stays near 1e-15 of max|w|. 1e-12 of it is what is asked for.
"""

import math
from collections.abc import Callable, Iterator

import numpy as np
import pytest

from odca import KL, L2, ElasticNet, Exponential, Hinge, Infinite, Learner, Sliding, SquaredError
from odca.losses import Loss
from odca.penalties import Penalty
from odca.windows import Window
from problems import ALL_LOSSES, ALL_PENALTIES, Array, features_of, make_labels, reference_loss, reference_penalty

TOLERANCE = 1e-12
RHO = 0.05
EVENTS, FEATURES, LENGTH, BETA = 60, 5, 9, 0.85

WINDOWS_OF_THE_PAPER = [Infinite(), Exponential(BETA), Sliding(LENGTH)]  # C1, C2, C3
every_window = pytest.mark.parametrize("window", WINDOWS_OF_THE_PAPER, ids=repr)
every_loss = pytest.mark.parametrize("loss", ALL_LOSSES, ids=repr)


def stream(loss: Loss, seed: int = 0) -> tuple[Array, Array]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(EVENTS, FEATURES))
    return X, make_labels(loss, X @ rng.normal(size=FEATURES), rng)


def steps(model: Learner, X: Array, y: Array) -> Iterator[tuple[int, Array, float, float, float]]:
    """N, h_N, γ(N), and the λ(N) and s that the event got, after it was learned."""
    for n in range(len(X)):
        seen = model.learn(X[n : n + 1], y[n : n + 1], diagnostics=True)
        yield n + 1, X[n], float(y[n]), float(seen.dual[0]), float(seen.slope[0])


def assert_close(got: Array, expected: Array, what: object = None) -> None:
    assert np.max(np.abs(got - expected)) <= TOLERANCE * np.max(np.abs(expected)), what


def alpha(window: Window, N: int) -> float:
    """α(N) as the paper lists it. For a sliding window that is not full yet, Δ_N = N."""
    if isinstance(window, Sliding):
        return 1.0 / (RHO * min(N, LENGTH))
    return 1.0 / (RHO * N) if isinstance(window, Infinite) else (1.0 - BETA) / (RHO * (1.0 - BETA**N))


def f(window: Window, N: int, x: Array, duals: list[float], X: Array) -> Array:
    """f_N(x) as the paper lists it."""
    if isinstance(window, Exponential):
        return (BETA - BETA**N) / (1.0 - BETA**N) * x
    if isinstance(window, Infinite) or N <= LENGTH:
        return (N - 1) / N * x
    return x - duals[N - LENGTH - 1] * X[N - LENGTH - 1] / (RHO * LENGTH)


# --- Least mean squares and the support-vector machine ---


def test_the_lms_recursion_step_by_step() -> None:
    """Section "Least-Mean-Squares Learning": squared error, ½‖w‖², infinite window."""
    X, gamma = stream(SquaredError())
    model, w = Learner(loss=SquaredError(), penalty=L2(), rho=RHO), np.zeros(FEATURES)
    for N, h, y, dual, _ in steps(model, X, gamma):
        expected = (y - (N - 1) / N * (h @ w)) / (1.0 + h @ h / (RHO * N))
        w = (N - 1) / N * w + expected * h / (RHO * N)
        assert dual == pytest.approx(expected, rel=TOLERANCE, abs=TOLERANCE)
        assert_close(model.coef, w, N)


def test_the_svm_recursion_step_by_step() -> None:
    """Section "Support-Vector Machines": hinge, ½‖w‖², exponential window."""
    X, gamma = stream(Hinge())
    model, w = Learner(loss=Hinge(), penalty=L2(), rho=RHO, window=Exponential(BETA)), np.zeros(FEATURES)
    inside = 0
    for N, h, y, dual, _ in steps(model, X, gamma):
        forgotten, mass = (BETA - BETA**N) / (1.0 - BETA**N), (1.0 - BETA**N) / (1.0 - BETA)
        free = RHO * mass / (h @ h) * (1.0 - forgotten * y * (h @ w))
        projected = min(max(free, 0.0), 1.0)
        inside += projected == free
        w = forgotten * w + (1.0 - BETA) / (RHO * (1.0 - BETA**N)) * y * h * projected
        assert y * dual == pytest.approx(projected, rel=TOLERANCE, abs=TOLERANCE)
        assert_close(model.coef, w, N)
    assert 5 < inside < EVENTS - 5  # the projection mattered, and so did the interior


def test_the_exponential_window_approaches_a_stochastic_proximal_step() -> None:
    """eq.SPG with μ = (1 - β)/ρ, once β^N is nothing beside 1: w_N = prox_{μQ}((1 - μρ)·w_{N-1})."""
    mu = (1.0 - BETA) / RHO
    X, gamma = stream(Hinge())
    model = Learner(loss=Hinge(), penalty=L2(), rho=RHO, window=Exponential(BETA))
    model.learn(np.tile(X, (5, 1)), np.tile(gamma, 5))  # β^300 = 7e-22
    w = model.coef
    for N, h, y, _, _ in steps(model, X, gamma):
        half = (1.0 - mu * RHO) * w
        # prox of the hinge: to the kink if that is nearer than the full step μh
        pull = min(max((1.0 - y * (h @ half)) / (mu * (h @ h)), 0.0), 1.0)
        w = half + mu * pull * y * h
        assert_close(model.coef, w, N)


# --- The windows ---


@every_window
@every_loss
def test_the_dual_vector_follows_the_windows_recursion(loss: Loss, window: Window) -> None:
    """eq.22, exp.window, eq.25 and eq.primal_update: w'_N = f_N(w'_{N-1}) + α(N)·λ(N)·h_N, α(N) = 1/(ρΔ_N)."""
    X, gamma = stream(loss, seed=1)
    model, duals, x = Learner(loss=loss, penalty=L2(), rho=RHO, window=window), [], np.zeros(FEATURES)
    for N, h, _, dual, slope in steps(model, X, gamma):
        duals.append(dual)
        x = f(window, N, x, duals, X) + alpha(window, N) * dual * h
        assert_close(model.coef, x, N)
        assert slope == pytest.approx(alpha(window, N) * (h @ h), rel=TOLERANCE)
        assert alpha(window, N) == pytest.approx(1.0 / (RHO * model.mass), rel=TOLERANCE)


@every_window
def test_the_mass_is_the_papers_normaliser(window: Window) -> None:
    X, gamma = stream(SquaredError())
    model = Learner(loss=SquaredError(), window=window)
    for N, *_ in steps(model, X, gamma):
        expected = {
            Infinite: N,
            Exponential: (1.0 - BETA**N) / (1.0 - BETA),
            Sliding: min(N, LENGTH),
        }[type(window)]
        assert model.mass == pytest.approx(expected, rel=TOLERANCE)
        assert model.count == N


# --- The proximal form ---


@every_window
@every_loss
def test_odca_equals_its_proximal_form(loss: Loss, window: Window) -> None:
    """eq.ODCA: w_N = f_N(w_{N-1}) - α(N)·∂Q(h_Nᵀw_N; γ(N))·h_N, with w_N on both sides."""
    X, gamma = stream(loss, seed=2)
    model, duals, before = Learner(loss=loss, penalty=L2(), rho=RHO, window=window), [], np.zeros(FEATURES)
    for N, h, y, dual, _ in steps(model, X, gamma):
        duals.append(dual)
        w = model.coef
        assert_in_proximal_form(loss, y, h, w, w - f(window, N, before, duals, X), alpha(window, N), h @ w)
        before = w


@every_window
@pytest.mark.parametrize("penalty", [each for each in ALL_PENALTIES if not isinstance(each, L2)], ids=repr)
@pytest.mark.parametrize("loss", [ALL_LOSSES[0], Hinge()], ids=repr)
def test_odca_equals_its_implicit_form_under_every_penalty(loss: Loss, penalty: Penalty, window: Window) -> None:
    """The equation before eq.ODCA: w'_N = f_N(w'_{N-1}) - α(N)·∂Q(h_Nᵀ∇R*(w'_N); γ(N))·h_N."""
    X, gamma = stream(loss, seed=3)
    model = Learner(loss=loss, penalty=penalty, rho=RHO, window=window, **features_of(penalty, FEATURES))
    duals, before = [], np.zeros(FEATURES)
    for N, h, y, dual, _ in steps(model, X, gamma):
        duals.append(dual)
        x = model.dual_sum / (RHO * model.mass)
        assert_in_proximal_form(loss, y, h, x, x - f(window, N, before, duals, X), alpha(window, N), h @ model.coef)
        before = x


def assert_in_proximal_form(loss: Loss, y: float, h: Array, w: Array, moved: Array, step: float, z: float) -> None:
    """`moved` is -step·g·h for a g in ∂Q(z; y). z carries the rounding of hᵀw, which decides at a kink."""
    literal, nudge = reference_loss(loss), TOLERANCE * float(np.abs(h) @ np.abs(w) + abs(y))
    g = -float(moved @ h) / (step * float(h @ h))
    off_the_line = np.max(np.abs(moved + step * g * h))
    assert off_the_line <= TOLERANCE * (np.max(np.abs(w)) + np.max(np.abs(w - moved)))
    own = TOLERANCE * (abs(g) + np.max(np.abs(w)) / (step * np.max(np.abs(h))))  # w's own rounding, seen in g
    assert literal.subgradient(z - nudge, y)[0] - own <= g <= literal.subgradient(z + nudge, y)[1] + own


# --- The dual problem ---


CONJUGATES: dict[type[Loss], Callable[[float, float], float]] = {  # Q*(x; γ) as sections III.A and III.B state them
    SquaredError: lambda x, gamma: 0.5 * x * x + gamma * x,
    Hinge: lambda x, gamma: gamma * x if -1.0 <= gamma * x <= 0.0 else math.inf,
}


def soft_threshold(x: Array, delta: float) -> Array:
    return np.maximum(np.abs(x) - delta, 0.0) * np.sign(x)


REGULARISERS: list[tuple[Penalty, Callable[[Array], float], Callable[[Array], Array]]] = [  # R* and ∇R* of table.reg
    (L2(), lambda x: 0.5 * float(x @ x), lambda x: x),
    (ElasticNet(0.1), lambda x: 0.5 * float(np.sum(soft_threshold(x, 0.1) ** 2)), lambda x: soft_threshold(x, 0.1)),
    # The table's Σ w log w is ours less log M (ours measures from the uniform distribution), which shifts R* alone.
    (KL(), lambda x: math.log(np.sum(np.exp(x))) - math.log(len(x)), lambda x: np.exp(x) / np.sum(np.exp(x))),
]


@every_window
@pytest.mark.parametrize(("penalty", "conjugate", "gradient"), REGULARISERS, ids=lambda part: getattr(part, "name", ""))
@pytest.mark.parametrize("loss", [SquaredError(), Hinge()], ids=repr)
def test_each_dual_variable_maximises_the_papers_dual_function(
    loss: Loss,
    penalty: Penalty,
    conjugate: Callable[[Array], float],
    gradient: Callable[[Array], Array],
    window: Window,
) -> None:
    """eq.dual_problem, eq.primal_two and eq.mainAlgorithm1, with every formula as the paper prints it."""
    X, gamma = stream(loss, seed=4)
    model = Learner(loss=loss, penalty=penalty, rho=RHO, window=window, **features_of(penalty, FEATURES))
    duals: list[float] = []
    star = CONJUGATES[type(loss)]

    def dual_function(lambdas: list[float]) -> float:
        N = len(lambdas)
        delta = {
            Infinite: np.ones(N),
            Exponential: BETA ** np.arange(N - 1.0, -1.0, -1.0),
            Sliding: (np.arange(N) >= N - LENGTH).astype(float),
        }[type(window)]
        mass = delta.sum()
        x = (delta * lambdas) @ X[:N] / (RHO * mass)
        losses = sum(d * star(-v, y) for d, v, y in zip(delta, lambdas, gamma.tolist(), strict=False) if d)
        return float(-losses / mass - RHO * conjugate(x))

    for _, _, _, dual, _ in steps(model, X, gamma):
        duals.append(dual)
        value = dual_function(duals)
        assert model.dual_objective() == pytest.approx(value, rel=TOLERANCE, abs=TOLERANCE)
        assert_close(model.coef, gradient(model.dual_sum / (RHO * model.mass)))
        for tau in (1e-4, 1e-2, 0.3):
            assert dual_function([*duals[:-1], dual + tau]) <= value + TOLERANCE * max(1.0, abs(value))
            assert dual_function([*duals[:-1], dual - tau]) <= value + TOLERANCE * max(1.0, abs(value))
    # And weak duality, at the w that the dual gives.
    spec = reference_penalty(penalty, np.ones(FEATURES), np.zeros(FEATURES))
    held = slice(-LENGTH, None) if isinstance(window, Sliding) else slice(None)
    weight = BETA ** np.arange(EVENTS - 1.0, -1.0, -1.0) if isinstance(window, Exponential) else np.ones(EVENTS)
    loss_at = np.average(np.asarray(loss.value(X @ model.coef, gamma))[held], weights=weight[held])
    assert model.dual_objective() <= loss_at + RHO * spec.value(model.coef) + TOLERANCE


# --- Smoothing ---


@every_window
@pytest.mark.parametrize("kappa", [0.5, 0.95, 1.0])
def test_the_smoothed_weights_follow_the_papers_recursion(window: Window, kappa: float) -> None:
    """w̄_N = Σκ^(N-n)·w_n / Σκ^(N-n), "by using the same recursive method used before in (exp.window)"."""
    X, gamma = stream(Hinge(), seed=5)
    model, smoothed = Learner(loss=Hinge(), rho=RHO, window=window, smoothing=kappa), np.zeros(FEATURES)
    for N, *_ in steps(model, X, gamma):
        share = 1.0 / N if kappa == 1.0 else (1.0 - kappa) / (1.0 - kappa**N)
        smoothed = (1.0 - share) * smoothed + share * model.coef
        assert_close(model.smoothed_coef, smoothed, N)
