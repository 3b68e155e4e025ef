"""Sensitivity to parameters: SGD over nine decades of its step size, O-DCA over nine decades of its strength, on Adult.

O-DCA has no step size; its ρ is part of the problem. With an infinite window it is run with ρ from 1e-9 to 1; SGD is run with μ from 1e-7 to 100 at the
paper's ρ. A value is tolerated if the test error at the end of the pass is within two points of the method's best. The result is the width, in decades, of
the tolerated range of the grid.
"""

import numpy as np
import numpy.typing as npt

from odca.learner import Learner
from odca.losses import Hinge
from odca.research import datasets
from odca.research.baselines import SGD
from odca.research.experiments.intervals import Array, Interval
from odca.research.experiments.study import Claim, Job, Line, Panel, Study, is_ours, over_seeds

DECADES, PER_DECADE = 9, 2
GRID = np.logspace(0, DECADES, DECADES * PER_DECADE + 1)
STRENGTHS, RATES = 1e-9 * GRID, 1e-7 * GRID
RHO, SMOOTHING = 1e-3, 0.999
TOLERATED = 2.0  # points
ODCA, SMOOTHED, PLAIN, SGD_SMOOTHED, AVERAGED = "O-DCA", "O-DCA, smoothed", "SGD", "SGD, smoothed", "SGD, averaged"


def run(job: Job) -> Study:
    """Run the experiment."""
    data = datasets.load("adult", download=job.download)
    runs = over_seeds(lambda seed: _one(data, seed), job, "step size")
    curves = {name: np.array([run[name] for run in runs]) for name in runs[0]}
    best = {name: each.mean(axis=0).min() for name, each in curves.items()}
    is_tolerated = {name: each <= best[name] + TOLERATED for name, each in curves.items()}
    tolerated = {name: spans(each) / PER_DECADE for name, each in is_tolerated.items()}

    def lines(ours: bool) -> list[Line]:
        return [
            Line.of(name, STRENGTHS if ours else RATES, each) for name, each in curves.items() if is_ours(name) == ours
        ]

    def more(statement: str, ours: str, theirs: str, smoothed: str | None = None) -> Claim:
        return Claim(
            statement,
            "odca",
            Interval.of(tolerated[ours] - tolerated[theirs]),
            "decades",
            good="above",
            smoothed=Interval.of(tolerated[smoothed] - tolerated[theirs]) if smoothed else None,
        )

    return Study(
        name="step-size",
        title="Step size: how sensitive each method is",
        data=f"{data.what}. From {data.file_names}.",
        parameters={
            "O-DCA": f"hinge, infinite window, ρ from {STRENGTHS[0]:g} to {STRENGTHS[-1]:g}; smoothed with κ = {SMOOTHING:g}",
            "SGD": f"hinge, ρ = {RHO:g}, μ from {RATES[0]:g} to {RATES[-1]:g}; smoothed with the same κ; averaged with κ = 1",
            "tolerated": f"a test error within {TOLERATED:g} points of the method's best; the range is the number of grid intervals, {PER_DECADE} per decade, with both ends tolerated",
        },
        seeds=job.seeds,
        claims=[
            more("O-DCA tolerates more decades of ρ than SGD does of μ", ODCA, PLAIN, SMOOTHED),
            more(
                "smoothed O-DCA tolerates more decades of ρ than SGD, smoothed with the same κ, does of μ",
                SMOOTHED,
                SGD_SMOOTHED,
            ),
            more("smoothed O-DCA tolerates more decades of ρ than averaged SGD does of μ", SMOOTHED, AVERAGED),
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
        columns=("best test error, %", "decades tolerated"),
        results={name: (float(best[name]), Interval.of(tolerated[name])) for name in curves},
        notes=[
            "ρ is a parameter of the problem: if it is far too large, no method does well.",
            *(
                f"For {name} the grid does not reach the lower limit: {STRENGTHS[0] if is_ours(name) else RATES[0]:g} is tolerated for all seeds, "
                "so the number of decades is a lower bound."
                for name, each in is_tolerated.items()
                if each[:, 0].all()
            ),
        ],
    )


def spans(inside: npt.NDArray[np.bool_]) -> Array:
    """The number of grid intervals with both ends inside, in each row."""
    counts: Array = (inside[:, 1:] & inside[:, :-1]).sum(axis=1).astype(np.float64)
    return counts


def _one(data: datasets.Dataset, seed: int) -> dict[str, Array]:
    """The test error at the end of the pass, in percent, for each parameter."""
    order = np.random.default_rng(seed).permutation(len(data.y))
    X, y = data.X[order], data.y[order]
    out: dict[str, list[Array]] = {name: [] for name in (ODCA, SMOOTHED, PLAIN, SGD_SMOOTHED, AVERAGED)}
    for rho, rate in zip(STRENGTHS, RATES, strict=True):
        learner = Learner(loss=Hinge(), rho=float(rho), smoothing=SMOOTHING)
        sgd, averaged = (SGD(Hinge(), rate=float(rate), rho=RHO, smoothing=kappa) for kappa in (SMOOTHING, 1.0))
        for each in (learner, sgd, averaged):
            each.learn(X, y)
        out[ODCA].append(learner.coef)
        out[SMOOTHED].append(learner.smoothed_coef)
        out[PLAIN].append(sgd.coef)
        out[SGD_SMOOTHED].append(sgd.smoothed_coef)
        out[AVERAGED].append(averaged.smoothed_coef)
    assert data.y_test is not None
    labels = data.y_test.reshape(-1, 1)
    return {
        name: 100.0 * (np.where(data.X_test @ np.column_stack(each) > 0.0, 1.0, -1.0) != labels).mean(axis=0)
        for name, each in out.items()
    }
