"""Where the paper says "approaches" and "for N large enough": one step of O-DCA against the algorithm it is compared with.

The equations of these tests are approximations or other algorithms, so what is checked is the order of the difference:
the bound is worked out beside it, and must shrink as fast as it says. Labels such as eq.41 are those of paper.tex.
"""

import numpy as np
import pytest

from odca import Exponential, Hinge, Learner, LogLoss, SquaredError
from odca.losses import Loss
from problems import Array

FEATURES, RHO = 4, 0.1


def stream(events: int, *, signs: bool) -> tuple[Array, Array]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(events, FEATURES))
    z = X @ [1.0, -0.5, 0.25, 0.0] + 0.3 * rng.normal(size=events)
    return X, np.where(z > 0.0, 1.0, -1.0) if signs else z


def steps_after(model: Learner, X: Array, y: Array, settled: int) -> list[tuple[int, Array, float, Array, Array]]:
    """N, h_N, γ(N), w_{N-1} and w_N for the events after the first `settled`."""
    model.learn(X[:settled], y[:settled])
    steps, before = [], model.coef
    for n in range(settled, len(X)):
        model.learn(X[n : n + 1], y[n : n + 1])
        steps.append((n + 1, X[n], float(y[n]), before, model.coef))
        before = steps[-1][-1]
    return steps


@pytest.mark.parametrize("settled", [1_000, 10_000, 100_000])
def test_least_squares_under_the_infinite_window_approaches_leaky_lms(settled: int) -> None:
    """The recursion after eq.41: w_N = (1 - ρμ)w + μh(γ - hᵀw) with μ = 1/(ρN), up to O(μ²); eq.41 omits the leak w/N."""
    X, y = stream(settled + 50, signs=False)
    for N, h, gamma, before, after in steps_after(Learner(loss=SquaredError(), rho=RHO), X, y, settled):
        mu = 1.0 / (RHO * N)
        error, norm, size = gamma - h @ before, h @ h, float(np.linalg.norm(before))
        leaky = (1.0 - RHO * mu) * before + mu * h * error
        # λ = (error + hᵀw/N)/(1 + μ‖h‖²), so λ - error is at most μ(‖h‖²|error| + ρ|hᵀw|).
        second_order = mu**2 * np.sqrt(norm) * (norm * abs(error) + RHO * abs(h @ before))
        assert np.linalg.norm(after - leaky) <= second_order * (1.0 + 1e-9) + 1e-14
        without_leak = before + mu * h * error
        assert np.linalg.norm(after - without_leak) <= second_order * (1.0 + 1e-9) + size / N * (1.0 + 1e-9)


@pytest.mark.parametrize("mu", [0.1, 0.01, 0.001])
@pytest.mark.parametrize("loss", [SquaredError(), LogLoss()], ids=repr)
def test_a_small_step_is_the_stochastic_gradient_step(loss: Loss, mu: float) -> None:
    """eq.SGD with β = 1 - μρ: it takes the slope at the margin before the step, O-DCA after it; the difference is O(μ²)."""
    settled = int(40 / (mu * RHO))  # β^N is e^-40
    X, y = stream(settled + 50, signs=isinstance(loss, LogLoss))
    model = Learner(loss=loss, rho=RHO, window=Exponential(1.0 - mu * RHO))
    for _, h, gamma, before, after in steps_after(model, X, y, settled):
        slope = float(np.asarray(loss.subgradient(h @ before, gamma)[0]))
        gradient_step = (1.0 - mu * RHO) * before - mu * slope * h
        # Both losses have curvature at most 1, and the margin moves by at most μ(‖h‖²|λ| + ρ|hᵀw|).
        moved = mu * (h @ h * (abs(slope) + abs(h @ (after - before))) + RHO * abs(h @ before))
        assert np.linalg.norm(after - gradient_step) <= mu * np.linalg.norm(h) * moved + 1e-13


@pytest.mark.parametrize("mu", [0.1, 0.01])
def test_the_svm_step_differs_from_the_subgradient_step_only_inside_the_margin_band(mu: float) -> None:
    """eq.ODCA_SVM and eq.SGD_SVM: the jump of the indicator from 0 to 1 is a ramp over a band of width μ‖h‖²."""
    settled = int(40 / (mu * RHO))
    X, y = stream(settled + 400, signs=True)
    model = Learner(loss=Hinge(), rho=RHO, window=Exponential(1.0 - mu * RHO))
    in_the_band = 0
    for _, h, gamma, before, after in steps_after(model, X, y, settled):
        room, norm = 1.0 - gamma * (h @ before), h @ h
        ramp = (1.0 - mu * RHO) * before + mu * gamma * h * np.clip(room / (mu * norm), 0.0, 1.0)
        jump = (1.0 - mu * RHO) * before + mu * gamma * h * (room >= 0.0)
        # eq.ODCA_SVM writes hᵀw for (1 - μρ)hᵀw: the projected number is off by ρ|hᵀw|/‖h‖² at most.
        slack = mu * RHO * abs(h @ before) / np.sqrt(norm) + 1e-13
        assert np.linalg.norm(after - ramp) <= slack
        if 0.0 <= room <= mu * norm:
            in_the_band += 1
        else:
            assert np.linalg.norm(after - jump) <= slack
    assert in_the_band > 0
