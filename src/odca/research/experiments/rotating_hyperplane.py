"""Tracking: classification by a hyperplane that turns all the time, with the hinge loss."""

import numpy as np

from odca.learner import Learner
from odca.losses import Hinge
from odca.research import datasets
from odca.research.baselines import SGD
from odca.research.experiments.intervals import Array, Interval
from odca.research.experiments.study import Claim, Finding, Job, Line, Panel, over_seeds
from odca.windows import Exponential, Infinite, Sliding

FEATURES, EVENTS, FLIPPED = 10, 20_000, 0.05
TURN = 4.0 * np.pi / EVENTS  # twice round
RHO, BETA, LENGTH, SMOOTHING = 0.1, 0.998, 500, 0.99
RATE = (1.0 - BETA) / RHO
EVERY = 250

EXPONENTIAL, SMOOTHED, SLIDING, INFINITE = (
    "O-DCA, exponential",
    "O-DCA, exponential, smoothed",
    "O-DCA, sliding",
    "O-DCA, infinite",
)
PLAIN, SGD_SMOOTHED = "SGD", "SGD, smoothed"


def find(job: Job) -> Finding:
    """The error rate in blocks of events, each predicted before it was learned."""
    runs = over_seeds(_one, job, "turning hyperplane")
    curves = {name: 100.0 * np.array([run[name] for run in runs]) for name in runs[0]}
    at = np.arange(EVERY, EVENTS + 1, EVERY)
    late = len(at) // 10
    levels = {name: each[:, late:].mean(axis=1) for name, each in curves.items()}
    points = "points of error"
    return Finding(
        panel=Panel(
            "tracking-hyperplane",
            "A hyperplane that turns twice",
            "events",
            "wrong before learning, %",
            [
                *(Line.of(name, at, each) for name, each in curves.items()),
                Line.known("labels that are flipped", at[[0, -1]], 100.0 * FLIPPED),
            ],
            y_range=(0.0, 65.0),
        ),
        claims=[
            Claim(
                "drifting minimisers need recent data to weigh more: exponential against infinite, hinge",
                "paper, introduction",
                Interval.of(levels[EXPONENTIAL] - levels[INFINITE]),
                points,
            ),
            Claim(
                "O-DCA follows a turning hyperplane better than SGD with the same μ",
                "odca",
                Interval.of(levels[EXPONENTIAL] - levels[PLAIN]),
                points,
                smoothed=Interval.of(levels[SMOOTHED] - levels[PLAIN]),
            ),
            Claim(
                "smoothed O-DCA follows a turning hyperplane better than SGD smoothed with the same κ",
                "odca",
                Interval.of(levels[SMOOTHED] - levels[SGD_SMOOTHED]),
                points,
            ),
        ],
        results={f"hyperplane, % wrong: {name}": (Interval.of(each), float("nan")) for name, each in levels.items()},
        parameters={
            "hyperplane": f"{FEATURES} features, {EVENTS:,} events, turns twice, {FLIPPED:.0%} of the labels flipped; hinge, ρ = {RHO:g}, "
            f"β = {BETA:g}, L = {LENGTH}, μ = {RATE:g}, κ = {SMOOTHING:g}"
        },
    )


def _one(seed: int) -> dict[str, Array]:
    drift = datasets.drifting_hyperplane(EVENTS, FEATURES, turn=TURN, flipped=FLIPPED, seed=seed)
    windows = {EXPONENTIAL: Exponential(beta=BETA), SLIDING: Sliding(LENGTH), INFINITE: Infinite()}
    margins = {
        name: Learner(loss=Hinge(), rho=RHO, window=window).learn(drift.X, drift.y) for name, window in windows.items()
    }
    smoothed = Learner(loss=Hinge(), rho=RHO, window=windows[EXPONENTIAL], smoothing=SMOOTHING)
    margins[SMOOTHED] = smoothed.learn(drift.X, drift.y)
    for name, kappa in ((PLAIN, 0.0), (SGD_SMOOTHED, SMOOTHING)):
        margins[name] = SGD(Hinge(), rate=RATE, rho=RHO, smoothing=kappa).learn(drift.X, drift.y)
    return {name: (drift.y * z <= 0.0).reshape(-1, EVERY).mean(axis=1) for name, z in margins.items()}
