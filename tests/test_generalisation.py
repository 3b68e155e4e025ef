"""For every loss the model learns: on rows it has not seen it beats the best constant prediction, by a wide margin.

The problem is made for the loss (labels it is meant for, noise it is meant for), and the constant is the best there is for
the held-out labels themselves, which no constant learned from the others can beat.
"""

import numpy as np
import pytest
from scipy import optimize

from odca import ElasticNet, Exponential, Infinite, Learner, Sliding
from odca.losses import Loss
from odca.windows import Window
from problems import ALL_LOSSES, Array, label_kind

FEATURES, LEARNED, HELD_OUT = 8, 3000, 2000


def made_for(loss: Loss, rng: np.random.Generator) -> tuple[Array, Array]:
    """Rows, and labels of which the margin explains much and noise of the loss's own kind the rest."""
    X = rng.normal(size=(LEARNED + HELD_OUT, FEATURES))
    z = 0.3 + X @ (rng.choice([-1.0, 1.0], size=FEATURES) / np.sqrt(FEATURES)) * 1.5
    kind = label_kind(loss)
    if kind == "count":
        return X, rng.poisson(np.exp(z)).astype(np.float64)
    if kind == "probability":
        return X, np.where(rng.random(len(z)) < 1.0 / (1.0 + np.exp(-3.0 * z)), 1.0, -1.0)
    if kind == "sign":
        return X, np.sign(z + 0.2 * rng.normal(size=len(z)))
    # Heavy tails for losses whose pull is bounded, Gaussian noise for those that take squares.
    bounded = abs(float(loss.subgradient(1e6, 0.0)[1])) < 1e3
    return X, z + (0.2 * rng.standard_t(2.0, size=len(z)) if bounded else 0.3 * rng.normal(size=len(z)))


def best_constant(loss: Loss, y: Array) -> float:
    """The lowest mean loss that one prediction for all of these labels can have."""
    found = optimize.minimize_scalar(lambda z: np.mean(loss.value(z, y)), bounds=(-10.0, 10.0), method="bounded")
    return float(found.fun)


@pytest.mark.parametrize("window", [Infinite(), Exponential(0.998), Sliding(1500)], ids=repr)
@pytest.mark.parametrize("loss", ALL_LOSSES, ids=repr)
def test_the_model_beats_the_best_constant_on_rows_it_has_not_seen(loss: Loss, window: Window) -> None:
    X, y = made_for(loss, np.random.default_rng(8))
    model = Learner(loss=loss, rho=1e-2, window=window, intercept=True, smoothing=0.99)
    model.learn(X[:LEARNED], y[:LEARNED])
    unseen = y[LEARNED:]
    mean_loss = np.mean(loss.value(model.predict(X[LEARNED:]), unseen))
    constant = best_constant(loss, unseen)
    # Q has no common zero (Poisson's may be negative), so both are measured from the least that any prediction can have.
    least = np.mean(np.min(loss.value(np.linspace(-10.0, 10.0, 401)[:, None], unseen[None, :]), axis=0))
    assert 0.0 <= mean_loss - least < 0.5 * (constant - least)


@pytest.mark.parametrize("loss", ALL_LOSSES, ids=repr)
def test_the_elastic_net_finds_the_features_that_matter(loss: Loss) -> None:
    rng = np.random.default_rng(9)
    X, y = made_for(loss, rng)
    noise = rng.normal(size=(len(X), 30))
    # A feature without effect gathers x of about |λ|/(ρ√N), which is near 1 here; δ is twice that.
    model = Learner(loss=loss, penalty=ElasticNet(2.0), rho=0.02, intercept=True)
    model.learn(np.hstack([X, noise]), y)
    assert np.all(model.coef[:FEATURES] != 0.0)
    assert np.mean(model.coef[FEATURES:] == 0.0) > 0.8
