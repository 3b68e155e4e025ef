"""Weights that are exactly zero: the elastic net online, beside the batch solution.

    min (1/N) Σ ½(y_n - h_nᵀw)² + ρ(δ‖w‖₁ + ½‖w‖²)

O-DCA thresholds the dual sum, so that weights are zero, not nearly so, after every event. scikit-learn's ElasticNet solves the same problem
over all events; its SGD truncates weights as they cross zero.
"""

from collections.abc import Sequence

import numpy as np

from odca.experiments.study import Array, Claim, Interval, Line, Looks, Panel, Study, Tell, over_seeds
from odca.learner import Learner
from odca.losses import SquaredError
from odca.penalties import ElasticNet

FEATURES, TRUE, EVENTS, NOISE, NEIGHBOURS = 200, 10, 10_000, 0.5, 0.5
RHO, DELTA = 0.1, 1.0
ALPHA, SHARE = RHO * (DELTA + 1.0), DELTA / (DELTA + 1.0)  # scikit-learn's names of the same
LOOKS = 30
NEAR, EXACT = 0.05, 1e-4
ODCA, BATCH, SGD_NAME = "O-DCA", "ElasticNet, all events", "SGDRegressor, elastic net"


def run(seeds: Sequence[int], tell: Tell) -> Study:
    """Do it."""
    looks = np.unique(np.geomspace(20, EVENTS, LOOKS).astype(np.int64))
    runs = over_seeds(lambda seed: _one(seed, looks), seeds, tell, "sparse")
    curves = {name: np.array([run[name] for run in runs]) for name in runs[0]}  # seeds, looks, measures
    end = {name: each[:, -1] for name, each in curves.items()}

    def lines(measure: int) -> list[Line]:
        return [
            Line.of(name, looks, each[:, :, measure], "ours" if name.startswith(ODCA) else "peer")
            for name, each in curves.items()
        ]

    zeros, found, off = range(3)
    return Study(
        name="sparse",
        title="Sparse: the elastic net online",
        data=f"Generated: {FEATURES} features, neighbours correlated by {NEIGHBOURS:g}, {TRUE} of them with a weight, noise {NOISE:g}, "
        f"{EVENTS:,} events.",
        parameters={
            "O-DCA": f"squared loss, ElasticNet(δ = {DELTA:g}), ρ = {RHO:g}, infinite window",
            "scikit-learn": f"alpha = {ALPHA:g}, l1_ratio = {SHARE:g}, no intercept; SGDRegressor with its default rate, one pass",
        },
        seeds=seeds,
        claims=[
            Claim(
                "O-DCA under elastic net has more weights that are exactly zero than SGD under elastic net",
                "paper, Table 1 b",
                Interval.of(end[ODCA][:, zeros] - end[SGD_NAME][:, zeros]),
                "weights",
                good="above",
            ),
            Claim(
                f"one pass finds the features as well as the batch solution does: F1 at most {NEAR:g} below its",
                "odca",
                Interval.of(end[ODCA][:, found] - end[BATCH][:, found]),
                "F1",
                good="above",
                margin=NEAR,
            ),
            Claim(
                f"one pass comes within {NEAR:.0%} of the batch solution: ‖w - w_batch‖/‖w_batch‖",
                "odca",
                Interval.of(100.0 * end[ODCA][:, off]),
                "%",
                margin=100.0 * NEAR,
            ),
            Claim(
                f"fit, which makes more passes, is the batch solution to {EXACT:.2%}",
                "odca",
                Interval.of(100.0 * end["O-DCA, fit"][:, off]),
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
                lines(zeros),
                x_log=True,
            ),
            Panel("sparse-found", "Features found: F1", "events", "F1", lines(found), x_log=True),
            Panel(
                "sparse-distance",
                "Distance from the batch solution of all events",
                "events",
                "‖w - w_batch‖/‖w_batch‖",
                [line for line in lines(off) if line.label != BATCH],
                x_log=True,
                y_log=True,
            ),
        ],
        columns=("zeros", "F1", "distance from batch"),
        results={name: [Interval.of(each[:, k]) for k in range(3)] for name, each in end.items()},
        notes=[],
    )


def _one(seed: int, looks: Looks) -> dict[str, Array]:
    """Zeros, F1 and distance from the batch solution, at each look."""
    from sklearn.linear_model import ElasticNet as BatchElasticNet  # noqa: PLC0415 - optional
    from sklearn.linear_model import SGDRegressor  # noqa: PLC0415 - the same

    X, y, truth = problem(seed)
    batch = (
        BatchElasticNet(alpha=ALPHA, l1_ratio=SHARE, fit_intercept=False, tol=1e-8, max_iter=100_000).fit(X, y).coef_
    )
    fitted = Learner(loss=SquaredError(), penalty=ElasticNet(DELTA), rho=RHO)
    fitted.fit(X, y, tol=1e-9)
    online = Learner(loss=SquaredError(), penalty=ElasticNet(DELTA), rho=RHO)
    sgd = SGDRegressor(penalty="elasticnet", alpha=ALPHA, l1_ratio=SHARE, fit_intercept=False, shuffle=False)
    seen: dict[str, list[Array]] = {ODCA: [], SGD_NAME: []}
    before = 0
    for now in looks:
        online.learn(X[before:now], y[before:now])
        sgd.partial_fit(X[before:now], y[before:now])
        seen[ODCA].append(online.coef)
        seen[SGD_NAME].append(sgd.coef_.copy())
        before = now
    weights = {name: np.array(each) for name, each in seen.items()}
    weights["O-DCA, fit"] = np.tile(fitted.coef, (len(looks), 1))
    weights[BATCH] = np.tile(batch, (len(looks), 1))
    return {name: _measures(each, truth, batch) for name, each in weights.items()}


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
    return np.column_stack([(~chosen).sum(axis=1), f1, off])
