"""Tracking: a target on a random walk.

A filter is measured by its deviation ‖w - w°‖², averaged over seeds; for filters that step along the row it is known exactly (`theory`). Every filter
has the parameter that theory says is best for the walk: μ for LMS and NLMS, β for RLS. O-DCA has the best β for a given ρ, allowing for its leak and for
the time until its window is full, and in another run also the best ρ.
"""

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, Protocol

import numpy as np

from odca.learner import Learner
from odca.losses import SquaredError
from odca.records import record
from odca.research import datasets
from odca.research.baselines import NLMS, RLS, SGD
from odca.research.experiments import theory, tuning
from odca.research.experiments.intervals import Array, Interval
from odca.research.experiments.study import Claim, Finding, Job, Line, Panel, over_seeds
from odca.windows import Exponential, Infinite, Sliding, Window

FEATURES, NOISE, STEP = 10, 0.1, 0.003
EVENTS, EVERY, SHOWN = 20_000, 25, 500
RHO, RHOS = 0.01, (0.03, 0.01, 0.003, 0.001)
RATES = tuning.grid(0.0075, 13, 2.0**0.25)
WALK = theory.Walk(FEATURES, step=FEATURES * STEP**2, noise=NOISE**2)
REFINED_RHO, PASSES = 1e-3, 1_000
NEAR = 5.0  # percent

EXPONENTIAL, BEST, SLIDING, REFINED, INFINITE = (
    "O-DCA, exponential",
    "O-DCA, exponential, best ρ",
    "O-DCA, sliding",
    "O-DCA, sliding, refined",
    "O-DCA, infinite",
)


class Filter(Protocol):
    """An adaptive filter."""

    def learn(self, X: Any, y: Any, /) -> Any:
        """Learn from events in order."""

    @property
    def coef(self) -> Array:
        """w."""


class _Refined:
    """O-DCA on a sliding window, refined to the exact solution whenever the weights are read: least squares over the window."""

    def __init__(self, length: int) -> None:
        self._learner = odca(Sliding(length), REFINED_RHO)

    def learn(self, X: Array, y: Array) -> None:
        """Learn from events in order."""
        self._learner.learn(X, y)

    @property
    def coef(self) -> Array:
        """w."""
        self._learner.refine(PASSES, gap=1e-6)
        return self._learner.coef


def odca(window: Window, rho: float = RHO) -> Learner:
    """O-DCA as an adaptive filter."""
    return Learner(loss=SquaredError(), rho=rho, window=window)


@record
class Tuned:
    """The best parameters, by theory. rate: μ of O-DCA at RHO; best_rate: at best_rho; grids: what was tried."""

    lms: float
    nlms: float
    forgetting: float
    rate: float
    best_rho: float
    best_rate: float
    grids: str

    @property
    def length(self) -> int:
        """The length of a sliding window with the same μ."""
        return round(1.0 / (self.rate * RHO))

    @property
    def refined_length(self) -> int:
        """The length of a sliding window in which events are as old on average as in RLS."""
        return round(2.0 / self.forgetting)


@cache
def tuned() -> Tuned:
    """Find the best parameters, which takes a second or two."""
    levels = {
        rho: [_late(theory.deviation(WALK, EVENTS, theory.odca(rho, 1.0 - rate * rho))) for rate in RATES]
        for rho in RHOS
    }
    best = {rho: tuning.lowest(f"μ at ρ = {rho:g}", RATES, levels[rho]) for rho in (RHO, _best_rho(levels))}
    best_rho = _best_rho(levels)
    return Tuned(
        theory.best(WALK, theory.plain),
        theory.best(WALK, theory.normalised),
        theory.best_forgetting(WALK),
        RATES[best[RHO]],
        best_rho,
        RATES[best[best_rho]],
        f"ρ, each with its best μ: {tuning.listed(RHOS, [min(each) for each in levels.values()])}; "
        f"μ at ρ = {RHO:g}: {tuning.listed(RATES, levels[RHO])}; μ at ρ = {best_rho:g}: {tuning.listed(RATES, levels[best_rho])}",
    )


def _best_rho(levels: dict[float, list[float]]) -> float:
    return RHOS[tuning.lowest("ρ", RHOS, [min(each) for each in levels.values()])]


def _late(deviations: Array) -> float:
    """The mean over the second half."""
    return float(deviations[len(deviations) // 2 :].mean())


def filters() -> dict[str, Callable[[], Filter]]:
    """A constructor for each filter."""
    best = tuned()
    return {
        EXPONENTIAL: lambda: odca(Exponential(beta=1.0 - best.rate * RHO)),
        BEST: lambda: odca(Exponential(beta=1.0 - best.best_rate * best.best_rho), best.best_rho),
        SLIDING: lambda: odca(Sliding(best.length)),
        REFINED: lambda: _Refined(best.refined_length),
        INFINITE: lambda: odca(Infinite()),
        "LMS": lambda: SGD(SquaredError(), rate=best.lms),
        "NLMS": lambda: NLMS(rate=best.nlms),
        "RLS": lambda: RLS(FEATURES, beta=1.0 - best.forgetting),
    }


def deviations(
    drift: datasets.Drift, every: int, made: dict[str, Callable[[], Filter]], begin: int = 0
) -> dict[str, Array]:
    """‖w - w°‖² of each filter, evaluated every `every` events after the first `begin`."""
    learners = {name: make() for name, make in made.items()}
    for learner in learners.values():
        learner.learn(drift.X[:begin], drift.y[:begin])
    out: dict[str, list[float]] = {name: [] for name in made}
    for end in range(begin + every, len(drift.y) + 1, every):
        for name, learner in learners.items():
            learner.learn(drift.X[end - every : end], drift.y[end - every : end])
            out[name].append(float(((learner.coef - drift.targets[end - 1]) ** 2).sum()))
    return {name: np.array(each) for name, each in out.items()}


def find(job: Job, events: int = EVENTS) -> Finding:
    """The deviation from a target on a random walk."""
    best, made = tuned(), filters()

    def one(seed: int) -> dict[str, Array]:
        drift = datasets.random_walk(events, FEATURES, step=STEP, noise=NOISE, seed=seed)
        return deviations(drift, EVERY, made)

    runs = over_seeds(one, job, "walk")
    curves = {name: np.array([run[name] for run in runs]) for name in made}
    at = np.arange(EVERY, events + 1, EVERY)
    known = {
        EXPONENTIAL: theory.odca(RHO, 1.0 - best.rate * RHO),
        BEST: theory.odca(best.best_rho, 1.0 - best.best_rate * best.best_rho),
        INFINITE: theory.odca(RHO, 1.0),
        "LMS": theory.steady(theory.plain(best.lms)),
        "NLMS": theory.steady(theory.normalised(best.nlms)),
    }
    theories = {name: theory.deviation(WALK, events, steps)[at - 1] for name, steps in known.items()}
    theories["RLS"] = np.full(len(at), theory.rls_level(WALK, 1.0 - best.forgetting))
    late = len(at) // 2
    levels = {name: each[:, late:].mean(axis=1) for name, each in curves.items()}
    expected = {name: float(each[late:].mean()) for name, each in theories.items()}
    shown = slice(SHOWN // EVERY - 1, None, SHOWN // EVERY)
    lines = [Line.of(name, at[shown], _moving_mean(each)[:, shown]) for name, each in curves.items()]
    lines += [
        Line.known(f"{name}: theory", at[shown], _moving_mean(theories[name][None])[0, shown])
        for name in (EXPONENTIAL, INFINITE, "LMS", "RLS")
    ]
    return Finding(
        panel=Panel(
            "tracking-walk",
            f"A target that walks at random (means of {SHOWN} events)",
            "events",
            "‖w - w°‖²",
            lines,
            y_log=True,
            y_range=(2e-3, 5e-2),
            banded=(EXPONENTIAL, BEST, INFINITE, "LMS"),
        ),
        claims=_claims(levels, expected),
        results={
            f"walk, second half: {name}": (Interval.of(each), expected.get(name, float("nan")))
            for name, each in levels.items()
        },
        parameters={
            "walk": f"{FEATURES} features, white Gaussian rows, {events:,} events, steps of {STEP:g} in each coordinate, noise {NOISE:g}",
            "LMS, NLMS, RLS": f"μ = {best.lms:.3g}, μ = {best.nlms:.3g}, β = {1.0 - best.forgetting:.4g}, the best by theory",
            "O-DCA": f"squared loss, ρ = {RHO:g}; exponential β = {1.0 - best.rate * RHO:.6g} (μ = {best.rate:.3g}), sliding L = {best.length:,} (the same μ); "
            f"best ρ = {best.best_rho:g}, β = {1.0 - best.best_rate * best.best_rho:.6g} (μ = {best.best_rate:.3g}); "
            f"refined: L = {best.refined_length}, ρ = {REFINED_RHO:g}, solved by S-DCA at each evaluation",
            "grids, by theory (mean deviation of the second half)": best.grids,
        },
        notes=[
            (
                "With l2, the window of O-DCA decays the duals and 1/(ρΔ) is the step size, so how fast it tracks depends on μ = (1 - β)/ρ, not on β alone. "
                "An infinite window tracks as long as 1/(ρN) is not too small."
            )
        ],
    )


def _claims(levels: dict[str, Array], expected: dict[str, float]) -> Sequence[Claim]:
    unit = "% of the deviation"

    def above(ours: str, theirs: str) -> Interval:
        return Interval.of(100.0 * (levels[ours] / levels[theirs] - 1.0))

    return [
        Claim(
            "a window that forgets tracks a moving target better than equal weights: exponential against infinite, the same ρ, second half",
            "paper, introduction and C2",
            above(EXPONENTIAL, INFINITE),
            unit,
        ),
        *(
            Claim(
                f"{statement}: its deviation is at most {NEAR:g} % larger",
                "odca",
                above(ours, theirs),
                unit,
                margin=NEAR,
            )
            for statement, ours, theirs in (
                (f"O-DCA at ρ = {RHO:g} tracks as well as LMS, which has no leak", EXPONENTIAL, "LMS"),
                ("O-DCA at its best ρ tracks as well as LMS", BEST, "LMS"),
                ("O-DCA at its best ρ tracks as well as RLS, for white rows, at a fraction of the cost", BEST, "RLS"),
            )
        ),
        *(
            Claim(
                f"the deviation agrees with theory within {NEAR:g} %: {name}",
                "odca",
                Interval.of(100.0 * (levels[name] / expected[name] - 1.0)),
                unit,
                good="within",
                margin=NEAR,
            )
            for name in expected
        ),
    ]


def _moving_mean(curves: Array) -> Array:
    """The mean of the last few evaluations: with few seeds the curves are ragged."""
    sums = np.cumsum(np.pad(curves, ((0, 0), (1, 0))), axis=1)
    ends = np.arange(1, sums.shape[1])
    begins = np.maximum(0, ends - SHOWN // EVERY)
    return np.asarray((sums[:, ends] - sums[:, begins]) / (ends - begins))
