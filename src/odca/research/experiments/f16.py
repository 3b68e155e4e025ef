"""Tracking: an adaptive filter that predicts the acceleration of an F-16's wing tip from the force of a shaker."""

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from odca.learner import Learner
from odca.losses import SquaredError
from odca.research import datasets
from odca.research.baselines import NLMS, RLS, SGD
from odca.research.experiments import tuning
from odca.research.experiments.intervals import Array, Interval
from odca.research.experiments.study import Claim, Finding, Job, Line, Panel

LAGS, EVERY, BLOCK = 20, 256, 2048
ODCA, LMS = "O-DCA, constant strength", "LMS"
GRIDS = {
    ODCA: tuning.grid(0.01, 16),
    LMS: tuning.grid(0.0005, 12),  # it diverges at the largest of these
    "NLMS": tuning.grid(0.03, 13),
    "RLS": (0.97, 0.98, 0.99, 0.995, 0.998, 0.999, 0.9995),
}


def find(job: Job) -> Finding:
    """The squared error of each prediction, from before its event was learned, as a share of the signal's variance.

    Every filter has the best parameter of its grid in hindsight: μ, or β for RLS. O-DCA has ρ = 0 and a constant strength of 1/μ, because LMS has no leak.
    """
    data = datasets.load("f16", download=job.download)
    X, y = lagged(np.asarray(data.X, dtype=np.float64), np.asarray(data.y, dtype=np.float64))
    power = float(y.var())
    tried = {
        ODCA: _strengths(X, y),
        LMS: np.array([_errors(SGD(SquaredError(), rate=rate), X, y) for rate in GRIDS[LMS]]),
        "NLMS": np.array([_errors(NLMS(rate=rate), X, y) for rate in GRIDS["NLMS"]]),
        "RLS": np.array([_errors(RLS(X.shape[1], beta=beta), X, y) for beta in GRIDS["RLS"]]),
    }
    means = {name: each.mean(axis=1) / power for name, each in tried.items()}
    best = {name: tuning.lowest(f"parameter of {name}", GRIDS[name], means[name]) for name in tried}
    shares = {name: each[best[name]] / power for name, each in tried.items()}
    shares["the value before"] = np.diff(y, prepend=0.0) ** 2 / power
    job.report_done("F-16")
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
            [Line(name, at.astype(np.float64), each) for name, each in curves.items()],
            y_log=True,
        ),
        claims=[
            Claim(
                f"O-DCA predicts the F-16's acceleration better than {peer}", "odca", against(name), "% of the variance"
            )
            for peer, name in (
                (LMS, LMS),
                ("NLMS", "NLMS"),
                ("RLS, whose cost is quadratic in the number of features", "RLS"),
            )
        ],
        results={
            f"F-16, share of the variance: {name}": (Interval.of_series(each, block=BLOCK), float("nan"))
            for name, each in shares.items()
        },
        parameters={
            "F-16": f"the acceleration from the last {LAGS} values of force, voltage and itself, all divided by their standard deviations; "
            f"O-DCA has ρ = 0 and the constant strength 1/μ; intervals from blocks of {BLOCK} events, drawn with replacement",
            "F-16, grids (share of the variance)": "; ".join(
                f"{name}, {'β' if name == 'RLS' else 'μ'}: {tuning.listed(GRIDS[name], means[name])}" for name in tried
            ),
        },
        data=f"{data.what}, from {data.file_names}.",
    )


def lagged(inputs: Array, y: Array) -> tuple[Array, Array]:
    """The rows of the filter: the last values of the inputs, up to now, and of y, up to the previous event."""
    signals = [column / column.std() for column in inputs.T]
    scaled = y / y.std()
    pasts = [sliding_window_view(signal, LAGS)[1:] for signal in signals]
    return np.hstack([*pasts, sliding_window_view(scaled, LAGS)[:-1]]), scaled[LAGS:]


def _strengths(X: Array, y: Array) -> Array:
    """Squared errors of O-DCA, one row for each μ of its grid."""
    learner = Learner(loss=SquaredError(), rho=0.0, prior_strength=[1.0 / rate for rate in GRIDS[ODCA]])
    errors: Array = (np.asarray(learner.learn(X, np.tile(y[:, None], (1, len(GRIDS[ODCA]))))) - y[:, None]) ** 2
    return errors.T


def _errors(learner: SGD | NLMS | RLS, X: Array, y: Array) -> Array:
    """The squared errors; infinity if the filter diverges."""
    try:
        errors: Array = (np.asarray(learner.learn(X, y)) - y) ** 2
    except ValueError:
        errors = np.full(len(y), np.inf)
    return errors
