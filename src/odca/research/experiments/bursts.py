"""Tracking: a target that moves with time while events arrive in bursts. Is it better to forget by time or by count?

Both use the best parameter of a grid, by the mean deviation over all seeds.
"""

import numpy as np

from odca.learner import Learner
from odca.losses import SquaredError
from odca.research import datasets
from odca.research.experiments import tuning
from odca.research.experiments.intervals import Array, Interval
from odca.research.experiments.random_walk import EXPONENTIAL, FEATURES, NOISE, RHO
from odca.research.experiments.study import Claim, Finding, Job, Line, Panel, over_seeds
from odca.windows import Exponential, HalfLife

EVENTS, EVERY, BURST, QUIET, STEP = 20_000, 100, 2_000, 200.0, 0.02
BETAS = tuple(1.0 - each for each in tuning.grid(3e-5, 12))
HALF_LIVES = tuning.grid(50.0, 12)
BY_TIME = "O-DCA, half-life"


def find(job: Job) -> Finding:
    """The deviation under a half-life window and under an exponential window."""
    grids = {BY_TIME: HALF_LIVES, EXPONENTIAL: BETAS}
    runs = over_seeds(_one, job, "bursts")
    all_curves = {name: np.array([run[name] for run in runs]) for name in grids}  # seeds, looks, parameters
    at = np.arange(EVERY, EVENTS + 1, EVERY)
    means = {name: each[:, len(at) // 2 :].mean(axis=1) for name, each in all_curves.items()}
    best = {name: tuning.lowest(name, grid, means[name].mean(axis=0)) for name, grid in grids.items()}
    levels = {name: means[name][:, k] for name, k in best.items()}
    listed = {name: tuning.listed(grid, means[name].mean(axis=0)) for name, grid in grids.items()}
    return Finding(
        panel=Panel(
            "tracking-bursts",
            "A target that walks with time; events come in bursts",
            "events",
            "‖w - w°‖²",
            [Line.of(name, at, all_curves[name][:, :, k]) for name, k in best.items()],
            y_log=True,
            y_range=(1e-3, 1e-1),
        ),
        claims=[
            Claim(
                "forgetting by time tracks better than forgetting by count where events come in bursts",
                "odca",
                Interval.of(100.0 * (levels[BY_TIME] / levels[EXPONENTIAL] - 1.0)),
                "% of the deviation",
            )
        ],
        results={f"bursts, second half: {name}": (Interval.of(each), float("nan")) for name, each in levels.items()},
        parameters={
            "bursts": f"{BURST:,} events at once, then {QUIET:g} units of time in which the target moves by {STEP:g} per square root of a unit; ρ = {RHO:g}; "
            f"half-life {HALF_LIVES[best[BY_TIME]]:.3g} and β = {BETAS[best[EXPONENTIAL]]:.6g}, the best of their grids",
            "grid of half-lives (mean deviation of the second half)": listed[BY_TIME],
            "grid of β": listed[EXPONENTIAL],
        },
    )


def _one(seed: int) -> dict[str, Array]:
    """The deviation at each evaluation, for each parameter."""
    gaps = np.where(np.arange(EVENTS) % BURST == 0, QUIET, 0.0)
    times = np.cumsum(gaps)
    drift = datasets.random_walk(EVENTS, FEATURES, step=STEP, noise=NOISE, gaps=gaps, seed=seed)
    by_time, by_count = (
        Learner(loss=SquaredError(), rho=RHO, window=window) for window in (HalfLife(HALF_LIVES), Exponential(BETAS))
    )
    out: dict[str, list[Array]] = {BY_TIME: [], EXPONENTIAL: []}
    for end in range(EVERY, EVENTS + 1, EVERY):
        part = slice(end - EVERY, end)
        by_time.learn(drift.X[part], drift.y[part], time=times[part])
        by_count.learn(drift.X[part], drift.y[part])
        for kept, learner in zip(out.values(), (by_time, by_count), strict=True):
            kept.append(((learner.coef - drift.targets[end - 1]) ** 2).sum(axis=1))
    return {name: np.array(each) for name, each in out.items()}
