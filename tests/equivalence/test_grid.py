"""The native core is the reference, in every combination of what can be combined.

The tolerance is 1e-9 of each quantity's own scale (see `problems.deviations`): both sides are double arithmetic over a few
dozen events, so that rounding explains 1e-13; a wrong formula is off by far more than 1e-9.
"""

import itertools
import zlib

import numpy as np
import pytest

from odca import KL, Box, Learner, NonNegative
from odca.losses import LOSSES, Loss
from odca.penalties import PENALTIES, Penalty
from odca.reference import ReferenceLearner
from odca.windows import WINDOWS, Window
from problems import (
    ALL_LOSSES,
    ALL_PENALTIES,
    ALL_WINDOWS,
    Cells,
    deviations,
    features_of,
    make_problem,
    one_of_each,
)

TOLERANCE = 1e-9
KAPPAS = (0.0, 0.5, 0.97, 1.0)  # none; below and above the β = 0.9 of Exponential (HalfLife's mean β is 0.89); the mean
GRID = "core = reference: loss x penalty x window x weights x smoothing"
COMBINATIONS = list(itertools.product(one_of_each(ALL_LOSSES), one_of_each(ALL_PENALTIES), ALL_WINDOWS, [False, True]))


def seed_of(*parts: object) -> int:
    """A seed that belongs to the combination, whatever else is in the grid."""
    return zlib.crc32(repr(parts).encode())


def name_of(part: object) -> str:
    return {False: "no weights", True: "weights"}.get(part, repr(part)) if isinstance(part, bool) else repr(part)


@pytest.mark.parametrize(("loss", "penalty", "window", "weights"), COMBINATIONS, ids=name_of)
def test_core_equals_reference_for_every_smoothing(
    loss: Loss, penalty: Penalty, window: Window, weights: bool, cells: Cells
) -> None:
    rng = np.random.default_rng(seed_of(loss, penalty, window, weights))
    events, features = int(rng.integers(18, 36)), int(rng.integers(1, 9))
    scale, rho = rng.choice([0.1, 1.0, 10.0]), rng.choice([0.01, 0.05, 0.5])
    problem = make_problem(loss, rng, events=events, features=features, scale=scale, weights=weights)
    options = {"loss": loss, "penalty": penalty, "rho": rho, "window": window, **features_of(penalty, features)}
    reference = ReferenceLearner(**options)
    problem.teach(reference)
    for kappa in KAPPAS:
        model = Learner(**options, smoothing=kappa)
        seen = problem.learn(model, diagnostics=True)
        off = deviations(model, seen, problem, reference, kappa)
        cells.add(off)
        assert not off.beyond(TOLERANCE), f"smoothing={kappa}"


def test_the_grid_has_every_combination() -> None:
    losses, penalties, windows = (len({type(row[column]) for row in COMBINATIONS}) for column in range(3))
    assert (losses, penalties, windows) == (len(LOSSES), len(PENALTIES), len(WINDOWS))
    assert len(COMBINATIONS) == losses * penalties * len(ALL_WINDOWS) * 2
    assert len(COMBINATIONS) * len(KAPPAS) >= 13 * 5 * 5 * 2 * 4


OPTIONS = {
    "offsets": {},
    "prior_strength": {"prior_strength": 0.7},
    "rho = 0": {"rho": 0.0, "prior_strength": 1.3},
    "prior_mean": {"prior_mean": [0.1, -0.05, 0.0, 0.2], "prior_strength": 0.2},
    "penalty_weights": {"penalty_weights": [0.1, 2.0, 1.0, 30.0]},
    "intercept": {"intercept": True},
    "all": {
        "prior_strength": 0.3,
        "prior_mean": [0.0, 0.15, -0.1],  # a feature beyond its end has mean 0, beyond the weights' end weight 1
        "penalty_weights": [3.0, 0.2],
        "intercept": True,
        "intercept_penalty": 0.01,
        "prior_intercept": -0.4,
    },
}


def padded(options: dict[str, object], features: int) -> dict[str, object]:
    """The options with vectors of full length, which the reference wants."""
    filled = dict(options)
    for name, filling in {"prior_mean": 0.0, "penalty_weights": 1.0}.items():
        if name in filled:
            given = np.asarray(filled[name], dtype=np.float64)
            filled[name] = np.append(given, np.full(features - len(given), filling))
    return filled


@pytest.mark.parametrize("option", OPTIONS)
@pytest.mark.parametrize("penalty", one_of_each(ALL_PENALTIES), ids=repr)
@pytest.mark.parametrize("loss", one_of_each(ALL_LOSSES), ids=repr)
def test_core_equals_reference_under_every_option(loss: Loss, penalty: Penalty, option: str) -> None:
    features = 4
    options = dict(OPTIONS[option])
    if isinstance(penalty, KL):
        # Its prior takes the place of these, and an intercept has none on the simplex.
        if options.keys() & {"prior_mean", "penalty_weights", "intercept"}:
            options = {"prior_strength": 0.3}
            penalty = KL([0.1, 0.2, 3.0, 0.5])
        options |= features_of(penalty, features)
    if isinstance(penalty, NonNegative | Box) and "prior_mean" in options:
        options["prior_mean"] = np.abs(options["prior_mean"])  # a prior mean lies inside the bounds
    window = ALL_WINDOWS[seed_of(loss, penalty, option) % len(ALL_WINDOWS)]
    rng = np.random.default_rng(seed_of(loss, penalty, option))
    problem = make_problem(
        loss, rng, events=20, features=features, scale=rng.choice([0.3, 3.0]), weights=True, offsets=True
    )
    options = {"loss": loss, "penalty": penalty, "rho": 0.05, "window": window, **options}
    reference = ReferenceLearner(**padded(options, features))
    problem.teach(reference)
    model = Learner(**options, smoothing=0.95)
    off = deviations(model, problem.learn(model, diagnostics=True), problem, reference, 0.95)
    assert not off.beyond(TOLERANCE), window
