"""Following what moves: a target that walks at random, one that turns round, one that walks between bursts of events.

How far off a filter is, is told by ‖w - w°‖², the deviation, averaged over seeds; for the filters that step along the row it is known
exactly (`theory`). Every filter has the parameter that is best for the walk, by theory: LMS, NLMS and O-DCA their μ (O-DCA's β is
1 - μρ), RLS its β. A turning hyperplane (`turning`) and an F-16 (`vibration`) follow.
"""

from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any, Protocol

import numpy as np

from odca import datasets
from odca.baselines import NLMS, RLS, SGD
from odca.experiments import theory, turning, vibration
from odca.experiments.study import Array, Claim, Finding, Interval, Line, Panel, Study, Tell, over_seeds
from odca.learner import Learner
from odca.losses import SquaredError
from odca.windows import Exponential, HalfLife, Infinite, Sliding, Window

FEATURES, NOISE, STEP = 10, 0.1, 0.003
EVENTS, EVERY, SHOWN = 20_000, 25, 100
JUMP, BEFORE, AFTER, CLOSELY = 20_000, 200, 1_200, 20
BURST, QUIET, BURST_STEP, HALF_LIFE, BURST_BETA = 2_000, 200.0, 0.02, 100.0, 0.999
RHO = 0.01
WALK = theory.Walk(FEATURES, step=FEATURES * STEP**2, noise=NOISE**2)
LMS_RATE, NLMS_RATE, RATE = (theory.best(WALK, gain) for gain in (theory.plain, theory.normalised, theory.implicit))
FORGETTING = float(np.sqrt(WALK.step / (FEATURES * WALK.noise)))  # of RLS: noise and lag weigh the same
BETA, RLS_BETA = 1.0 - RATE * RHO, 1.0 - FORGETTING
LENGTH = round(1.0 / (RATE * RHO))
REFINED_LENGTH, REFINED_RHO, PASSES = round(2.0 / FORGETTING), 1e-3, 1_000
NEAR = 5.0  # percent

EXPONENTIAL, SLIDING, REFINED, INFINITE = (
    "O-DCA, exponential",
    "O-DCA, sliding",
    "O-DCA, sliding, refined",
    "O-DCA, infinite",
)


class Filter(Protocol):
    """What is compared."""

    def learn(self, X: Any, y: Any, /) -> Any:
        """Learn from events in order."""

    @property
    def coef(self) -> Array:
        """w."""


class _Refined:
    """O-DCA on a sliding window that is solved anew whenever it is looked at: least squares over the window."""

    def __init__(self) -> None:
        self._learner = _odca(Sliding(REFINED_LENGTH), REFINED_RHO)

    def learn(self, X: Array, y: Array) -> None:
        """Learn from events in order."""
        self._learner.learn(X, y)

    @property
    def coef(self) -> Array:
        """w."""
        self._learner.refine(PASSES, tol=1e-6)
        return self._learner.coef


def _odca(window: Window, rho: float = RHO) -> Learner:
    return Learner(loss=SquaredError(), rho=rho, window=window)


FILTERS: dict[str, Callable[[], Filter]] = {
    EXPONENTIAL: lambda: _odca(Exponential(beta=BETA)),
    SLIDING: lambda: _odca(Sliding(LENGTH)),
    REFINED: _Refined,
    INFINITE: lambda: _odca(Infinite()),
    "LMS": lambda: SGD(SquaredError(), rate=LMS_RATE),
    "NLMS": lambda: NLMS(rate=NLMS_RATE),
    "RLS": lambda: RLS(FEATURES, beta=RLS_BETA),
}


def run(seeds: Sequence[int], tell: Tell) -> Study:
    """Do it."""
    findings = [_walking(seeds, tell), _turning_round(seeds, tell), _in_bursts(seeds, tell)]
    findings += [turning.find(seeds, tell), vibration.find(tell)]
    return Study(
        name="tracking",
        title="Tracking: targets that move",
        data="Generated (odca.datasets.random_walk, drifting_hyperplane); " + findings[-1].data,
        parameters={key: value for each in findings for key, value in each.parameters.items()},
        seeds=seeds,
        claims=list(chain.from_iterable(each.claims for each in findings)),
        panels=[each.panel for each in findings],
        columns=("measured", "theory"),
        results={key: value for each in findings for key, value in each.results.items()},
        notes=list(chain.from_iterable(each.notes for each in findings)),
    )


def _deviations(
    drift: datasets.Drift, every: int, filters: dict[str, Callable[[], Filter]], begin: int = 0
) -> dict[str, Array]:
    """‖w - w°‖² of each filter, at every so many events behind the beginning."""
    learners = {name: make() for name, make in filters.items()}
    for learner in learners.values():
        learner.learn(drift.X[:begin], drift.y[:begin])
    out: dict[str, list[float]] = {name: [] for name in filters}
    for end in range(begin + every, len(drift.y) + 1, every):
        for name, learner in learners.items():
            learner.learn(drift.X[end - every : end], drift.y[end - every : end])
            out[name].append(float(((learner.coef - drift.targets[end - 1]) ** 2).sum()))
    return {name: np.array(each) for name, each in out.items()}


def _kind(name: str) -> Any:
    return "ours" if name.startswith("O-DCA") else "peer"


def _walking(seeds: Sequence[int], tell: Tell) -> Finding:
    def one(seed: int) -> dict[str, Array]:
        drift = datasets.random_walk(EVENTS, FEATURES, step=STEP, noise=NOISE, seed=seed)
        return _deviations(drift, EVERY, FILTERS)

    runs = over_seeds(one, seeds, tell, "walk")
    curves = {name: np.array([run[name] for run in runs]) for name in FILTERS}
    at = np.arange(EVERY, EVENTS + 1, EVERY)
    known = {
        "LMS": theory.deviation(WALK, EVENTS, theory.steady(theory.plain(LMS_RATE))),
        "NLMS": theory.deviation(WALK, EVENTS, theory.steady(theory.normalised(NLMS_RATE))),
        EXPONENTIAL: theory.deviation(WALK, EVENTS, theory.odca(RHO, BETA)),
        INFINITE: theory.deviation(WALK, EVENTS, theory.odca(RHO, 1.0)),
        "RLS": np.full(EVENTS, theory.rls_level(WALK, RLS_BETA)),
    }
    late = len(at) // 2
    levels = {name: each[:, late:].mean(axis=1) for name, each in curves.items()}
    expected = {name: float(each[at[late:] - 1].mean()) for name, each in known.items()}
    unit = "% of the deviation"
    claims = [
        Claim(
            "a window that forgets tracks a moving target, equal weights do not: exponential against infinite, second half",
            "paper, introduction and C2",
            Interval.of(100.0 * (levels[EXPONENTIAL] / levels[INFINITE] - 1.0)),
            unit,
        ),
        Claim(
            f"O-DCA tracks as well as LMS: a deviation at most {NEAR:g} % above its",
            "paper, eq. 41",
            Interval.of(100.0 * (levels[EXPONENTIAL] / levels["LMS"] - 1.0)),
            unit,
            margin=NEAR,
        ),
        Claim(
            f"O-DCA tracks as well as RLS, at white rows and a fraction of the cost: at most {NEAR:g} % above its",
            "odca",
            Interval.of(100.0 * (levels[EXPONENTIAL] / levels["RLS"] - 1.0)),
            unit,
            margin=NEAR,
        ),
        *(
            Claim(
                f"the deviation is that of theory, within {NEAR:g} %: {name}",
                "odca",
                Interval.of(100.0 * (levels[name] / expected[name] - 1.0)),
                unit,
                good="within",
                margin=NEAR,
            )
            for name in (EXPONENTIAL, INFINITE, "LMS", "NLMS")
        ),
    ]
    shown = slice(SHOWN // EVERY - 1, None, SHOWN // EVERY)
    smooth = {
        name: Line.of(name, at[shown], _moving_mean(each, 20)[:, shown], _kind(name)) for name, each in curves.items()
    }
    theories = [
        Line.known(f"{name}: theory", at[shown], known[name][at[shown] - 1])
        for name in (EXPONENTIAL, INFINITE, "LMS", "RLS")
    ]
    return Finding(
        panel=Panel(
            "tracking-walk",
            "A target that walks at random",
            "events",
            "‖w - w°‖²",
            [*smooth.values(), *theories],
            y_log=True,
            y_range=(2e-3, 5e-2),
        ),
        claims=claims,
        results={
            f"walk, second half: {name}": (Interval.of(levels[name]), expected.get(name, float("nan")))
            for name in FILTERS
        },
        parameters={
            "walk": f"{FEATURES} features, white Gaussian rows, {EVENTS:,} events, steps of {STEP:g} in each coordinate, noise {NOISE:g}",
            "LMS, NLMS, RLS": f"μ = {LMS_RATE:.3g}, μ = {NLMS_RATE:.3g}, β = {RLS_BETA:.4g}",
            "O-DCA": f"squared loss, ρ = {RHO:g}; exponential β = {BETA:.6g} (μ = {RATE:.3g}), sliding L = {LENGTH:,} (the same μ); "
            f"refined: L = {REFINED_LENGTH}, ρ = {REFINED_RHO:g}, solved by S-DCA where it is looked at",
        },
        notes=[
            (
                "With l2 the window of O-DCA fades the duals, and 1/(ρΔ) is the step: what decides how fast it tracks is μ = (1 - β)/ρ, not β alone. "
                "An infinite window tracks for as long as 1/(ρN) is not yet small."
            )
        ],
    )


def _moving_mean(curves: Array, width: int) -> Array:
    """Of the last few looks: the curves of few seeds are ragged."""
    sums = np.cumsum(np.pad(curves, ((0, 0), (1, 0))), axis=1)
    ends = np.arange(1, sums.shape[1])
    begins = np.maximum(0, ends - width)
    return np.asarray((sums[:, ends] - sums[:, begins]) / (ends - begins))


def _turning_round(seeds: Sequence[int], tell: Tell) -> Finding:
    names = [EXPONENTIAL, REFINED, INFINITE, "LMS", "NLMS", "RLS"]

    def one(seed: int) -> dict[str, Array]:
        drift = datasets.random_walk(JUMP + AFTER, FEATURES, step=0.0, noise=NOISE, jump_at=JUMP, seed=seed)
        return _deviations(drift, CLOSELY, {name: FILTERS[name] for name in names}, begin=JUMP - BEFORE)

    runs = over_seeds(one, seeds, tell, "jump")
    curves = {name: np.array([run[name] for run in runs]) for name in names}
    at = np.arange(CLOSELY - BEFORE, AFTER + 1, CLOSELY)
    back = {name: _events_until(each[:, at > 0], 0.1) * CLOSELY for name, each in curves.items()}
    return Finding(
        panel=Panel(
            "tracking-jump",
            f"A target that turns round, at event {JUMP:,}",
            "events since it turned",
            "‖w - w°‖²",
            [Line.of(name, at, each, _kind(name)) for name, each in curves.items()],
            y_log=True,
            y_range=(1e-4, 10.0),
        ),
        claims=[
            Claim(
                "O-DCA responds to a sudden change sooner with a window that forgets: until the deviation is below 0.1",
                "paper, abstract",
                Interval.of(back[EXPONENTIAL] - back[INFINITE]),
                "events",
            )
        ],
        results={f"jump, events until below 0.1: {name}": (Interval.of(back[name]), float("nan")) for name in names},
        parameters={"jump": "as the walk, but the target stands still, and becomes its negative"},
        notes=[],
    )


def _events_until(curves: Array, level: float) -> Array:
    """At which look each curve is below the level for the first time."""
    below = curves < level
    looks: Array = np.where(below.any(axis=1), below.argmax(axis=1) + 1.0, float(curves.shape[1]))
    return looks


def _in_bursts(seeds: Sequence[int], tell: Tell) -> Finding:
    half_life, exponential = "O-DCA, half-life", EXPONENTIAL
    gaps = np.where(np.arange(EVENTS) % BURST == 0, QUIET, 0.0)
    times = np.cumsum(gaps)

    def one(seed: int) -> dict[str, Array]:
        drift = datasets.random_walk(EVENTS, FEATURES, step=BURST_STEP, noise=NOISE, gaps=gaps, seed=seed)
        by_time, by_count = _odca(HalfLife(HALF_LIFE)), _odca(Exponential(beta=BURST_BETA))
        out: dict[str, list[float]] = {half_life: [], exponential: []}
        for end in range(SHOWN, EVENTS + 1, SHOWN):
            part = slice(end - SHOWN, end)
            by_time.learn(drift.X[part], drift.y[part], time=times[part])
            by_count.learn(drift.X[part], drift.y[part])
            out[half_life].append(float(((by_time.coef - drift.targets[end - 1]) ** 2).sum()))
            out[exponential].append(float(((by_count.coef - drift.targets[end - 1]) ** 2).sum()))
        return {name: np.array(each) for name, each in out.items()}

    runs = over_seeds(one, seeds, tell, "bursts")
    at = np.arange(SHOWN, EVENTS + 1, SHOWN)
    curves = {name: np.array([run[name] for run in runs]) for name in runs[0]}
    late = len(at) // 2
    levels = {name: each[:, late:].mean(axis=1) for name, each in curves.items()}
    return Finding(
        panel=Panel(
            "tracking-bursts",
            "A target that walks with time; events come in bursts",
            "events",
            "‖w - w°‖²",
            [Line.of(name, at, each, "ours") for name, each in curves.items()],
            y_log=True,
        ),
        claims=[
            Claim(
                "forgetting by time tracks better than forgetting by count where events come in bursts",
                "odca",
                Interval.of(100.0 * (levels[half_life] / levels[exponential] - 1.0)),
                "% of the deviation",
            )
        ],
        results={f"bursts, second half: {name}": (Interval.of(each), float("nan")) for name, each in levels.items()},
        parameters={
            "bursts": f"{BURST:,} events at once, then {QUIET:g} units of time in which the target walks by {BURST_STEP:g} per root of a unit; "
            f"half-life {HALF_LIFE:g}; β = {BURST_BETA:g}, the best of 0.999, 0.9997, 0.9999 and 0.99997; ρ = {RHO:g}"
        },
        notes=[],
    )
