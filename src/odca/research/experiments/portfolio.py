"""Wealth: weights on the simplex as a portfolio of 36 stocks, rebalanced every day.

Each day the wealth is multiplied by hᵀw, where h holds today's prices divided by yesterday's. The learner maximises the logarithm of the wealth:
Q(z) = -log z with the penalty KL, so that -Q'(z) = 1/z and λ = 1/(p + sλ) = 2/(p + √(p² + 4s)). Exponentiated gradient (Helmbold and others, 1998)
takes the gradient before the step instead of after it: it relates to O-DCA with a constant strength 1/η as SGD does to proximal steps.

There is only one history, so the intervals are those of the daily difference of log wealth, from blocks of days drawn with replacement.
"""

import numpy as np

from odca.learner import Learner
from odca.penalties import KL
from odca.research import datasets
from odca.research.experiments.intervals import Array, Interval
from odca.research.experiments.study import Claim, Job, Line, Panel, Study
from odca.windows import Exponential, Infinite, Window

RATES = (0.05, 0.5)
HALF_LIFE = 250.0  # days: about a year
BLOCK = 20
EVERY = 10
BASIS_POINTS = 1e4
UNIFORM = "uniform, rebalanced"
DAYS = "trading days since July 1962"


class LogWealth:
    """Q(z) = -log z, whose dual variable has a closed form."""

    def dual(self, p: float, s: float, y: float) -> float:
        """λ with λ = 1/(p + s·λ)."""
        del y
        root = float(np.sqrt(p * p + 4.0 * s))
        return 2.0 / (p + root) if p > 0.0 else (root - p) / (2.0 * s)

    def value(self, z: float, y: float) -> float:
        """-log z."""
        del y
        return -float(np.log(z))


def run(job: Job) -> Study:
    """Run the experiment."""
    data = datasets.load("nyse", download=job.download)
    relatives = np.asarray(data.X, dtype=np.float64)
    growth: dict[str, Array] = {}
    for rate in RATES:
        growth[f"O-DCA, strength {1.0 / rate:g}"] = odca(relatives, rate, Infinite())
        growth[f"exponentiated gradient, η = {rate:g}"] = exponentiated_gradient(relatives, rate)
    growth[f"O-DCA, strength {1.0 / RATES[1]:g}, half-life a year"] = odca(
        relatives, RATES[1], Exponential(half_life=HALF_LIFE)
    )
    growth[UNIFORM] = relatives.mean(axis=1)
    growth["uniform, held"] = _ratios(np.cumprod(relatives, axis=0).mean(axis=1))
    growth["best stock, in hindsight"] = relatives[:, np.prod(relatives, axis=0).argmax()]
    growth["best fixed weights, in hindsight"] = relatives @ best_fixed_weights(relatives)
    job.report_done("portfolio")
    logs = {name: np.log(each) for name, each in growth.items()}
    mild, bold = (f"O-DCA, strength {1.0 / rate:g}" for rate in RATES)

    def against(ours: str, theirs: str) -> Interval:
        return Interval.of_series(BASIS_POINTS * (logs[ours] - logs[theirs]), block=BLOCK)

    unit = "basis points a day"
    return Study(
        name="portfolio",
        title="Portfolio: KL on the simplex",
        data=f"{data.what}, from {data.file_names}. {len(relatives):,} days. No costs of trading.",
        parameters={
            "O-DCA": f"Q(z) = -log z, KL, ρ = 0, prior_strength = 1/η for η = {RATES[0]:g} (that of the literature) and {RATES[1]:g}",
            "intervals": f"of the mean daily difference, from blocks of {BLOCK} days",
        },
        seeds=(),
        claims=[
            Claim(f"{mild} beats uniform rebalancing", "odca", against(mild, UNIFORM), unit, good="above"),
            Claim(f"{bold} beats uniform rebalancing", "odca", against(bold, UNIFORM), unit, good="above"),
            *(
                Claim(
                    f"{name} beats exponentiated gradient with the same η",
                    "odca",
                    against(name, f"exponentiated gradient, η = {rate:g}"),
                    unit,
                    good="above",
                )
                for name, rate in zip((mild, bold), RATES, strict=True)
            ),
            Claim(
                f"{bold} beats the best stock in hindsight",
                "odca",
                against(bold, "best stock, in hindsight"),
                unit,
                good="above",
            ),
        ],
        panels=[
            Panel("portfolio-wealth", "Wealth, from 1", DAYS, "wealth", _lines(logs), y_log=True),
            Panel(
                "portfolio-against-uniform",
                "Wealth over that of uniform rebalancing",
                DAYS,
                "ratio",
                _lines({name: each - logs[UNIFORM] for name, each in logs.items() if "hindsight" not in name}),
            ),
        ],
        columns=("wealth at the end", "growth, basis points a day"),
        results={
            name: (float(np.exp(each.sum())), Interval.of_series(BASIS_POINTS * each, block=BLOCK))
            for name, each in logs.items()
        },
        notes=["The weights of each day are those from before it, except for the two portfolios chosen in hindsight."],
    )


def _lines(logs: dict[str, Array]) -> list[Line]:
    """The wealth every few days, from the logarithms of its daily growth."""
    return [
        Line(name, np.arange(0.0, len(each), EVERY), np.exp(np.cumsum(each))[::EVERY]) for name, each in logs.items()
    ]


def odca(relatives: Array, rate: float, window: Window) -> Array:
    """The factor by which the wealth grows each day."""
    learner = Learner(
        loss=LogWealth(), penalty=KL(), rho=0.0, prior_strength=1.0 / rate, window=window, n_features=relatives.shape[1]
    )
    return np.asarray(learner.learn(relatives, np.ones(len(relatives))))


def exponentiated_gradient(relatives: Array, rate: float) -> Array:
    """The factor by which the wealth grows each day, for w_i ← w_i·exp(η·h_i/hᵀw), normalised to sum to one."""
    w = np.full(relatives.shape[1], 1.0 / relatives.shape[1])
    growth = np.empty(len(relatives))
    for day, h in enumerate(relatives):
        growth[day] = h @ w
        w = w * np.exp(rate * h / growth[day])
        w /= w.sum()
    return growth


def best_fixed_weights(relatives: Array) -> Array:
    """The weights on the simplex with the largest wealth in the end."""
    from scipy.optimize import minimize  # noqa: PLC0415 - takes a while

    count = relatives.shape[1]
    solved = minimize(
        lambda w: (-np.log(relatives @ w).mean(), -(relatives / (relatives @ w)[:, None]).mean(axis=0)),
        np.full(count, 1.0 / count),
        jac=True,
        method="SLSQP",
        bounds=[(0.0, 1.0)] * count,
        constraints={"type": "eq", "fun": lambda w: w.sum() - 1.0, "jac": np.ones_like},
        options={"ftol": 1e-14, "maxiter": 1_000},
    )
    w: Array = np.maximum(solved.x, 0.0) / np.maximum(solved.x, 0.0).sum()
    return w


def _ratios(wealth: Array) -> Array:
    return np.asarray(wealth / np.concatenate([[1.0], wealth[:-1]]))
