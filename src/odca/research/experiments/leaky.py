"""The paper's eq. 41: with squared loss and an infinite window O-DCA approaches leaky LMS with a step of μ_N = 1/(ρN)."""

import numpy as np

from odca.learner import Learner
from odca.losses import SquaredError
from odca.research import datasets
from odca.research.baselines import SGD
from odca.research.experiments.intervals import Array, Interval
from odca.research.experiments.study import Claim, Finding, Job, Line, Panel, over_seeds

FEATURES, NOISE, EVENTS, LOOKS, RHO = 10, 0.1, 50_000, 30, 1.0
NEAR = 1.0  # percent


def find(job: Job, events: int = EVENTS) -> Finding:
    """‖w_LMS - w‖/‖w‖ over events, both starting at w = 0."""
    looks = np.unique(np.geomspace(10, events, LOOKS).astype(np.int64))

    def one(seed: int) -> Array:
        drift = datasets.random_walk(events, FEATURES, step=0.0, noise=NOISE, seed=seed)
        ours, lms = Learner(loss=SquaredError(), rho=RHO), SGD(SquaredError(), rate="pegasos", rho=RHO)
        out, before = [], 0
        for now in looks:
            for learner in (ours, lms):
                learner.learn(drift.X[before:now], drift.y[before:now])
            out.append(float(np.linalg.norm(lms.coef - ours.coef) / np.linalg.norm(ours.coef)))
            before = int(now)
        return np.array(out)

    distances = 100.0 * np.array(over_seeds(one, job, "leaky LMS"))
    middle = int(np.searchsorted(looks, np.sqrt(10.0 * events)))
    return Finding(
        panel=Panel(
            "tracking-leaky",
            "O-DCA, infinite, and leaky LMS with μ_N = 1/(ρN)",
            "events",
            "distance, % of ‖w‖",
            [Line.of("O-DCA to leaky LMS", looks, distances)],
            x_log=True,
            y_log=True,
        ),
        claims=[
            Claim(
                f"with an infinite window O-DCA approaches leaky LMS with μ_N = 1/(ρN): within {NEAR:g} % of its weights at the end",
                "paper, eq. 41",
                Interval.of(distances[:, -1]),
                "% of ‖w‖",
                margin=NEAR,
            )
        ],
        results={
            f"leaky LMS, % from O-DCA after {looks[k]:,} events": (Interval.of(distances[:, k]), float("nan"))
            for k in (0, middle, len(looks) - 1)
        },
        parameters={
            "leaky LMS": f"{FEATURES} features, a target that stands still, noise {NOISE:g}, squared loss, ρ = {RHO:g}"
        },
    )
