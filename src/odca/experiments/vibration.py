"""Following what moves: the acceleration at an F-16's wing tip, from the force of a shaker, as an adaptive filter sees it."""

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from odca import datasets
from odca.baselines import NLMS, RLS, SGD
from odca.experiments.study import Array, Claim, Finding, Interval, Line, Panel, Tell
from odca.learner import Learner
from odca.losses import SquaredError
from odca.windows import Exponential

LAGS, EVERY, BLOCK = 20, 256, 512
RATES = (0.0003, 0.001, 0.003, 0.01, 0.03)  # from some of these on LMS diverges
NORMALISED = (0.03, 0.1, 0.3, 1.0, 1.5)
RHO, STRENGTHS = 1e-4, (0.01, 0.03, 0.1, 0.3, 1.0)
BETA = 0.9995
ODCA = "O-DCA, exponential"


def find(tell: Tell) -> Finding:
    """The squared error of each prediction, from before its event was learned, as a share of the signal's variance.

    LMS, NLMS and O-DCA have the best μ of five, in hindsight, each.
    """
    data = datasets.load("f16")
    X, y = lagged(np.asarray(data.X, dtype=np.float64), np.asarray(data.y, dtype=np.float64))
    power = float(y.var())
    best = {
        "LMS": min((_errors(SGD(SquaredError(), rate=rate), X, y) for rate in RATES), key=np.mean),
        "NLMS": min((_errors(NLMS(rate=rate), X, y) for rate in NORMALISED), key=np.mean),
        ODCA: min((_errors(_odca(rate), X, y) for rate in STRENGTHS), key=np.mean),
        "RLS": _errors(RLS(X.shape[1], beta=BETA), X, y),
        "the value before": np.diff(y, prepend=0.0) ** 2,
    }
    tell("F-16")
    shares = {name: errors / power for name, errors in best.items()}
    at = np.arange(EVERY, len(y) + 1, EVERY)
    curves = {name: each[: at[-1]].reshape(-1, EVERY).mean(axis=1) for name, each in shares.items()}

    def against(peer: str) -> Interval:
        return Interval.of_series(100.0 * (shares[ODCA] - shares[peer]), block=BLOCK)

    return Finding(
        panel=Panel(
            "tracking-f16",
            "An F-16 that is shaken",
            "events",
            "squared error / variance",
            [
                Line(name, at.astype(np.float64), each, kind="ours" if name == ODCA else "peer")
                for name, each in curves.items()
            ],
            y_log=True,
        ),
        claims=[
            Claim(
                "O-DCA predicts the F-16's acceleration better than LMS", "odca", against("LMS"), "% of the variance"
            ),
            Claim(
                "O-DCA predicts the F-16's acceleration better than NLMS", "odca", against("NLMS"), "% of the variance"
            ),
            Claim(
                "O-DCA predicts the F-16's acceleration better than RLS, which costs the square of the features",
                "odca",
                against("RLS"),
                "% of the variance",
            ),
        ],
        results={
            f"F-16, share of the variance: {name}": (Interval.of_series(each, block=BLOCK), float("nan"))
            for name, each in shares.items()
        },
        parameters={
            "F-16": f"the acceleration from the last {LAGS} values of force, voltage and itself, all divided by their standard deviations; "
            f"LMS, NLMS and O-DCA (ρ = {RHO:g}, β = 1 - μρ) have the best of {len(RATES)} μ each, in hindsight, RLS β = {BETA:g}; "
            f"intervals from blocks of {BLOCK} events, drawn with replacement"
        },
        notes=[],
        data=f"{data.what}, from {' and '.join(data.files)}.",
    )


def lagged(inputs: Array, y: Array) -> tuple[Array, Array]:
    """What a filter sees: the last values of the inputs, now and before, and of y, before."""
    signals = [column / column.std() for column in inputs.T]
    scaled = y / y.std()
    pasts = [sliding_window_view(signal, LAGS)[1:] for signal in signals]
    return np.hstack([*pasts, sliding_window_view(scaled, LAGS)[:-1]]), scaled[LAGS:]


def _odca(rate: float) -> Learner:
    return Learner(loss=SquaredError(), rho=RHO, window=Exponential(beta=1.0 - rate * RHO))


def _errors(learner: Learner | SGD | NLMS | RLS, X: Array, y: Array) -> Array:
    """Infinite ones where the filter diverges."""
    try:
        errors: Array = (np.asarray(learner.learn(X, y)) - y) ** 2
    except ValueError:
        errors = np.full(len(y), np.inf)
    return errors
