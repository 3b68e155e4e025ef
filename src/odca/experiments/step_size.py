"""How forgiving: SGD over six decades of its step size, O-DCA over six decades of its strength, on Adult.

O-DCA has no step size; its ρ is the problem's. With an infinite window it is given ρ from 1e-6 to 1, SGD is given μ from 1e-5 to 10 at the
paper's ρ. A parameter is forgiven if the test error at the end of the pass is within two points of the method's best.
"""

from collections.abc import Sequence

import numpy as np

from odca import datasets
from odca.baselines import SGD
from odca.experiments.study import Array, Claim, Interval, Line, Panel, Study, Tell, over_seeds
from odca.learner import Learner
from odca.losses import Hinge

DECADES, PER_DECADE = 6, 2
GRID = np.logspace(0, DECADES, DECADES * PER_DECADE + 1)
STRENGTHS, RATES = 1e-6 * GRID, 1e-5 * GRID
RHO, SMOOTHING = 1e-3, 0.999
FORGIVEN = 2.0  # points
ODCA, SMOOTHED, AVERAGED = "O-DCA", "O-DCA, smoothed", "SGD, averaged"


def run(seeds: Sequence[int], tell: Tell) -> Study:
    """Do it."""
    data = datasets.load("adult")
    runs = over_seeds(lambda seed: _one(data, seed), seeds, tell, "step size")
    curves = {name: np.array([run[name] for run in runs]) for name in runs[0]}
    best = {name: each.mean(axis=0).min() for name, each in curves.items()}
    forgiven = {name: (each <= best[name] + FORGIVEN).sum(axis=1) / PER_DECADE for name, each in curves.items()}

    def lines(ours: bool) -> list[Line]:
        return [
            Line.of(name, STRENGTHS if ours else RATES, each, "ours" if ours else "peer")
            for name, each in curves.items()
            if name.startswith("O-DCA") == ours
        ]

    return Study(
        name="step-size",
        title="Step size: how forgiving each is",
        data=f"{data.what}. From {' and '.join(data.files)}.",
        parameters={
            "O-DCA": f"hinge, infinite window, ρ from {STRENGTHS[0]:g} to {STRENGTHS[-1]:g}; smoothed with κ = {SMOOTHING:g}",
            "SGD": f"hinge, ρ = {RHO:g}, μ from {RATES[0]:g} to {RATES[-1]:g}",
            "forgiven": f"a test error within {FORGIVEN:g} points of the method's best",
        },
        seeds=seeds,
        claims=[
            Claim(
                "O-DCA forgives more decades of ρ than SGD of μ",
                "odca",
                Interval.of(forgiven[ODCA] - forgiven["SGD"]),
                "decades",
                good="above",
                smoothed=Interval.of(forgiven[SMOOTHED] - forgiven["SGD"]),
            ),
            Claim(
                "smoothed O-DCA forgives more decades of ρ than averaged SGD of μ",
                "odca",
                Interval.of(forgiven[SMOOTHED] - forgiven[AVERAGED]),
                "decades",
                good="above",
            ),
        ],
        panels=[
            Panel(
                "step-size-odca",
                "O-DCA over ρ",
                "ρ",
                "test error, %",
                lines(ours=True),
                x_log=True,
                y_range=(14.0, 30.0),
            ),
            Panel(
                "step-size-sgd", "SGD over μ", "μ", "test error, %", lines(ours=False), x_log=True, y_range=(14.0, 30.0)
            ),
        ],
        columns=("best test error, %", "decades forgiven"),
        results={name: (float(best[name]), Interval.of(forgiven[name])) for name in curves},
        notes=[
            "ρ is a parameter of the problem: where it is far too large, or too small for so few events, no method helps."
        ],
    )


def _one(data: datasets.Dataset, seed: int) -> dict[str, Array]:
    """The test error at the end of the pass, in percent, for each parameter."""
    order = np.random.default_rng(seed).permutation(len(data.y))
    X, y = data.X[order], data.y[order]

    def error(weights: Array) -> float:
        return 100.0 * float((np.where(data.X_test @ weights > 0.0, 1.0, -1.0) != data.y_test).mean())

    out: dict[str, list[float]] = {name: [] for name in (ODCA, SMOOTHED, "SGD", AVERAGED)}
    for rho, rate in zip(STRENGTHS, RATES, strict=True):
        learner = Learner(loss=Hinge(), rho=float(rho), smoothing=SMOOTHING)
        learner.learn(X, y)
        sgd = SGD(Hinge(), rate=float(rate), rho=RHO)
        sgd.learn(X, y)
        for kept, weights in zip(
            out.values(), (learner.coef, learner.smoothed_coef, sgd.coef, sgd.mean_coef), strict=True
        ):
            kept.append(error(weights))
    return {name: np.array(each) for name, each in out.items()}
