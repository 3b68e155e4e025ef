"""Weights that are exactly zero: the elastic net online, compared with the batch solution.

    min (1/N) Σ ½(y_n - h_nᵀw)² + ρ(δ‖w‖₁ + ½‖w‖²)

O-DCA thresholds the dual sum, so that after every event weights are exactly zero, not just nearly. scikit-learn's ElasticNet solves the same problem
over all events; its SGD, with the best rate of a grid, truncates weights when they cross zero.
"""

import numpy as np

from odca.learner import Learner
from odca.losses import SquaredError
from odca.penalties import ElasticNet
from odca.research.experiments import tuning
from odca.research.experiments.intervals import Array, Interval
from odca.research.experiments.study import Claim, Job, Line, Looks, Panel, Study, over_seeds

FEATURES, TRUE, EVENTS, NOISE, NEIGHBOURS = 200, 10, 10_000, 0.5, 0.5
RHO, DELTA = 0.1, 1.0
ALPHA, SHARE = RHO * (DELTA + 1.0), DELTA / (DELTA + 1.0)  # scikit-learn's names of the same
LOOKS = 30
NEAR, EXACT = 0.05, 1e-4
ODCA, FITTED, BATCH, PEER = "O-DCA", "O-DCA, fit", "ElasticNet, all events", "SGDRegressor, elastic net"
RATES = tuning.grid(1e-3, 9, 2.0)  # eta0: it diverges at the largest of these
ZEROS, FOUND, OFF = range(3)


def run(job: Job) -> Study:
    """Run the experiment."""
    looks = np.unique(np.geomspace(20, EVENTS, LOOKS).astype(np.int64))
    runs = over_seeds(lambda seed: _one(seed, looks), job, "sparse")
    curves = {name: np.array([run[name] for run in runs]) for name in (ODCA, FITTED, BATCH)}  # seeds, looks, measures
    peers = np.array([run[PEER] for run in runs])  # seeds, rates, looks, measures
    f1 = peers[:, :, -1, FOUND].mean(axis=0)
    best = tuning.lowest("eta0", RATES, -f1)
    curves[PEER] = peers[:, best]
    end = {name: each[:, -1] for name, each in curves.items()}

    def lines(measure: int) -> list[Line]:
        return [Line.of(name, looks, each[:, :, measure]) for name, each in curves.items()]

    return Study(
        name="sparse",
        title="Sparse: the elastic net online",
        data=f"Generated: {FEATURES} features, neighbours correlated by {NEIGHBOURS:g}, {TRUE} of them with a weight, noise {NOISE:g}, "
        f"{EVENTS:,} events.",
        parameters={
            "O-DCA": f"squared loss, ElasticNet(δ = {DELTA:g}), ρ = {RHO:g}, infinite window",
            "scikit-learn": f"alpha = {ALPHA:g}, l1_ratio = {SHARE:g}, no intercept; SGDRegressor in one pass with eta0 = {RATES[best]:g}, the best of a grid",
            "grid of eta0 (F1 at the end)": tuning.listed(RATES, f1),
        },
        seeds=job.seeds,
        claims=[
            Claim(
                "with the elastic net, O-DCA has more weights that are exactly zero than SGD",
                "odca",
                Interval.of(end[ODCA][:, ZEROS] - end[PEER][:, ZEROS]),
                "weights",
                good="above",
            ),
            Claim(
                "with the elastic net, O-DCA finds the features better than SGD",
                "odca",
                Interval.of(end[ODCA][:, FOUND] - end[PEER][:, FOUND]),
                "F1",
                good="above",
            ),
            Claim(
                f"one pass finds the features as well as the batch solution does: its F1 is at most {NEAR:g} lower",
                "odca",
                Interval.of(end[ODCA][:, FOUND] - end[BATCH][:, FOUND]),
                "F1",
                good="above",
                margin=NEAR,
            ),
            Claim(
                f"one pass comes within {NEAR:.0%} of the batch solution: ‖w - w_batch‖/‖w_batch‖",
                "odca",
                Interval.of(100.0 * end[ODCA][:, OFF]),
                "%",
                margin=100.0 * NEAR,
            ),
            Claim(
                f"fit, which makes more passes, matches the batch solution to within {EXACT:.2%}",
                "odca",
                Interval.of(100.0 * end[FITTED][:, OFF]),
                "%",
                margin=100.0 * EXACT,
            ),
        ],
        panels=[
            Panel(
                "sparse-zeros",
                f"Weights that are exactly zero (true: {FEATURES - TRUE})",
                "events",
                "zeros",
                lines(ZEROS),
                x_log=True,
            ),
            Panel("sparse-found", "Features found: F1", "events", "F1", lines(FOUND), x_log=True),
            Panel(
                "sparse-distance",
                "Distance from the batch solution of all events",
                "events",
                "‖w - w_batch‖/‖w_batch‖",
                [line for line in lines(OFF) if line.label != BATCH],
                x_log=True,
                y_log=True,
            ),
        ],
        columns=("zeros", "F1", "distance from batch"),
        results={name: [Interval.of(each[:, k]) for k in range(3)] for name, each in end.items()},
    )


def _one(seed: int, looks: Looks) -> dict[str, Array]:
    """The number of zeros, F1 and the distance from the batch solution at each evaluation; of SGD for each rate."""
    from sklearn.linear_model import ElasticNet as BatchElasticNet  # noqa: PLC0415 - optional

    X, y, truth = problem(seed)
    batch = (
        BatchElasticNet(alpha=ALPHA, l1_ratio=SHARE, fit_intercept=False, tol=1e-8, max_iter=100_000).fit(X, y).coef_
    )
    fitted = Learner(loss=SquaredError(), penalty=ElasticNet(DELTA), rho=RHO)
    fitted.fit(X, y, tol=1e-9)
    online = Learner(loss=SquaredError(), penalty=ElasticNet(DELTA), rho=RHO)
    seen = []
    for before, now in zip([0, *looks[:-1]], looks, strict=True):
        online.learn(X[before:now], y[before:now])
        seen.append(online.coef)
    weights = {ODCA: np.array(seen)}
    weights[FITTED] = np.tile(fitted.coef, (len(looks), 1))
    weights[BATCH] = np.tile(batch, (len(looks), 1))
    measured = {name: _measures(each, truth, batch) for name, each in weights.items()}
    measured[PEER] = np.array([_measures(_truncated(X, y, looks, rate), truth, batch) for rate in RATES])
    return measured


def _truncated(X: Array, y: Array, looks: Looks, rate: float) -> Array:
    """The weights of scikit-learn's SGD at each evaluation; NaN once it has diverged."""
    from sklearn.linear_model import SGDRegressor  # noqa: PLC0415 - optional

    sgd = SGDRegressor(penalty="elasticnet", alpha=ALPHA, l1_ratio=SHARE, fit_intercept=False, shuffle=False, eta0=rate)
    out = np.full((len(looks), X.shape[1]), np.nan)
    for k, (before, now) in enumerate(zip([0, *looks[:-1]], looks, strict=True)):
        try:
            sgd.partial_fit(X[before:now], y[before:now])
        except ValueError:
            break
        out[k] = sgd.coef_
    return out


def problem(seed: int) -> tuple[Array, Array, Array]:
    """Rows, labels and the true weights."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(EVENTS, FEATURES))
    for j in range(1, FEATURES):
        X[:, j] = NEIGHBOURS * X[:, j - 1] + np.sqrt(1.0 - NEIGHBOURS**2) * X[:, j]
    truth = np.zeros(FEATURES)
    chosen = rng.choice(FEATURES, TRUE, replace=False)
    truth[chosen] = rng.choice([-1.0, 1.0], TRUE) * rng.uniform(0.5, 1.5, TRUE)
    return X, X @ truth + NOISE * rng.normal(size=EVENTS), truth


def _measures(weights: Array, truth: Array, batch: Array) -> Array:
    chosen, right = weights != 0.0, truth != 0.0
    hits = (chosen & right).sum(axis=1)
    f1 = 2.0 * hits / np.maximum(chosen.sum(axis=1) + right.sum(), 1)
    off = np.linalg.norm(weights - batch, axis=1) / np.linalg.norm(batch)
    out = np.column_stack([(~chosen).sum(axis=1), f1, off])
    out[~np.isfinite(weights).all(axis=1)] = np.nan
    return out
