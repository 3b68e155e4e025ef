"""The paper's two figures: a support-vector machine on Adult and on RCV1, in one pass.

Every seed is an order of the training events. O-DCA, SGD and Pegasos see each event once; S-DCA sees a fifth of them five times, so that all
take as many steps. LIBSVM's solution of the whole set is a level. The weights are looked at on a grid of steps: by the error on the test set,
and by the objective (1/N) Σ Q + ρ/2·‖w‖² on the training set.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from odca import datasets
from odca.baselines import SDCA, SGD
from odca.experiments.study import Array, Claim, Interval, Line, Looks, Panel, Study, Tell, beside, over_seeds
from odca.learner import Learner
from odca.losses import Hinge
from odca.windows import Exponential

LOOKS = 40
FIFTH, EPOCHS = 5, 5
BEGINNING = 0.1
NEAR = 1.0  # points
ODCA, SMOOTHED, MEAN = "O-DCA", "O-DCA, smoothed", "O-DCA, averaged"
SGD_MEAN = "SGD, averaged"


@dataclass(frozen=True, slots=True)
class Setting:
    """The paper's parameters."""

    title: str
    figure: str
    set: str
    rho: float
    beta: float
    rate: float
    smoothing: float = 0.999


ADULT = Setting("Adult: the paper's Figure 1", "Figure 1", "adult", rho=1e-3, beta=0.99995, rate=0.05)
RCV1 = Setting("RCV1: the paper's Figure 2", "Figure 2", "rcv1", rho=1e-4, beta=0.99998, rate=0.2)


@dataclass(frozen=True, slots=True)
class Curves:
    """In percent, and as it is: at each look."""

    error: Array
    objective: Array


def run(setting: Setting, seeds: Sequence[int], tell: Tell) -> Study:
    """Do it."""
    data = datasets.load(setting.set)
    assert data.y_test is not None
    looks = np.unique(np.geomspace(10, len(data.y), LOOKS).astype(np.int64))
    level = beside(lambda: _libsvm(setting, data, tell))
    runs = over_seeds(lambda seed: _one_pass(setting, data, looks, seed), seeds, tell, setting.set)
    libsvm = level.result()
    curves = {
        name: Curves(np.array([run[name].error for run in runs]), np.array([run[name].objective for run in runs]))
        for name in runs[0]
    }
    return Study(
        name=setting.set,
        title=setting.title,
        data=f"{data.what}. {len(data.y):,} events to learn from, {len(data.y_test):,} to be judged by. "
        f"From {' and '.join(data.files)}"
        + ("." if data.exact else ": not the paper's rows, and fewer to be judged by."),
        parameters={
            "loss": "hinge",
            "ρ": f"{setting.rho:g}",
            "β (O-DCA)": f"{setting.beta:g}",
            "μ (SGD)": f"{setting.rate:g}, so that β = 1 - μρ",
            "κ (smoothing)": f"{setting.smoothing:g}; 1 where it is called averaged",
            "S-DCA": f"one {FIFTH}th of the events, {EPOCHS} epochs, rows drawn at random",
            "Pegasos": "μ_N = 1/(ρN)",
            "LIBSVM": "scikit-learn's SVC(kernel='linear'), C = 1/(ρN), which has an intercept",
        },
        seeds=seeds,
        claims=_claims(setting, curves, libsvm, looks),
        panels=_panels(setting, curves, libsvm, looks),
        columns=("test error, %", f"mean over the first {BEGINNING:.0%} of the steps, %", "objective"),
        results={
            name: (
                Interval.of(each.error[:, -1]),
                Interval.of(_early(each.error, looks)),
                Interval.of(each.objective[:, -1]),
            )
            for name, each in curves.items()
        }
        | {"LIBSVM": (float(libsvm.error[0]), float("nan"), float(libsvm.objective[0]))},
        notes=_notes(curves),
    )


def _one_pass(setting: Setting, data: datasets.Dataset, looks: Looks, seed: int) -> dict[str, Curves]:
    order = np.random.default_rng(seed).permutation(len(data.y))
    X, y = data.X[order], data.y[order]
    learner, mean = (
        Learner(loss=Hinge(), rho=setting.rho, window=Exponential(beta=setting.beta), smoothing=kappa)
        for kappa in (setting.smoothing, 1.0)
    )
    sgd = SGD(Hinge(), rate=setting.rate, rho=setting.rho)
    pegasos = SGD(Hinge(), rate="pegasos", rho=setting.rho)
    part = len(y) // FIFTH
    sdca = SDCA(Hinge(), X[:part], y[:part], rho=setting.rho, seed=seed)
    seen: dict[str, list[Array]] = {name: [] for name in (ODCA, SMOOTHED, MEAN, "SGD", SGD_MEAN, "Pegasos", "S-DCA")}
    before = 0
    for now in looks:
        rows, labels = X[before:now], y[before:now]
        for each in (learner, mean, sgd, pegasos):
            each.learn(rows, labels)
        sdca.ascend(min(now, part * EPOCHS) - min(before, part * EPOCHS))
        weights = (
            learner.coef,
            learner.smoothed_coef,
            mean.smoothed_coef,
            sgd.coef,
            sgd.mean_coef,
            pegasos.coef,
            sdca.coef,
        )
        for kept, w in zip(seen.values(), weights, strict=True):
            kept.append(w)
        before = now
    return {name: _judged(setting, data, np.column_stack(each)) for name, each in seen.items()}


def _judged(setting: Setting, data: datasets.Dataset, weights: Array, intercept: float = 0.0) -> Curves:
    """The columns of `weights`, by the test and the training set."""
    assert data.y_test is not None
    guesses = np.where(data.X_test @ weights + intercept > 0.0, 1.0, -1.0)
    loss = np.maximum(0.0, 1.0 - data.y[:, None] * (data.X @ weights + intercept)).mean(axis=0)
    return Curves(
        100.0 * (guesses != data.y_test.reshape(-1, 1)).mean(axis=0),
        loss + 0.5 * setting.rho * (weights**2).sum(axis=0),
    )


def _libsvm(setting: Setting, data: datasets.Dataset, tell: Tell) -> Curves:
    from sklearn.svm import SVC  # noqa: PLC0415 - optional

    machine = SVC(kernel="linear", C=1.0 / (setting.rho * len(data.y)), cache_size=1000).fit(data.X, data.y)
    coef: Any = machine.coef_
    weights = np.asarray(coef.todense() if hasattr(coef, "todense") else coef).reshape(-1, 1)
    tell(f"{setting.set}, LIBSVM")
    return _judged(setting, data, weights, float(machine.intercept_[0]))


def _early(curves: Array, looks: Looks) -> Array:
    """The mean of each curve over the beginning, by steps (the looks are on a grid of ratios)."""
    is_early = looks <= BEGINNING * looks[-1]
    spans = np.diff(looks[is_early], prepend=0)
    return np.asarray(curves[:, is_early] @ spans / spans.sum())


def _claims(setting: Setting, curves: dict[str, Curves], libsvm: Curves, looks: Looks) -> list[Claim]:
    def end(name: str) -> Array:
        return np.asarray(curves[name].error[:, -1])

    def early(name: str) -> Array:
        return _early(curves[name].error, looks)

    def cost(name: str) -> Array:
        return np.asarray(curves[name].objective[:, -1])

    paper = f"paper, {setting.figure}"
    points = "points of error"
    return [
        Claim(
            "O-DCA is more accurate than SGD at the end of the pass",
            paper,
            Interval.of(end(ODCA) - end("SGD")),
            points,
            smoothed=Interval.of(end(SMOOTHED) - end("SGD")),
        ),
        Claim(
            f"O-DCA converges faster than SGD: less error over the first {BEGINNING:.0%} of the pass",
            paper,
            Interval.of(early(ODCA) - early("SGD")),
            points,
            smoothed=Interval.of(early(SMOOTHED) - early("SGD")),
        ),
        Claim(
            "O-DCA ends at a lower objective than SGD",
            paper,
            Interval.of(cost(ODCA) - cost("SGD")),
            "of the objective",
            smoothed=Interval.of(cost(SMOOTHED) - cost("SGD")),
        ),
        Claim(
            "O-DCA in one pass is more accurate than S-DCA in five epochs over a fifth",
            paper,
            Interval.of(end(ODCA) - end("S-DCA")),
            points,
            smoothed=Interval.of(end(SMOOTHED) - end("S-DCA")),
        ),
        Claim(
            f"O-DCA comes within {NEAR:g} point of LIBSVM",
            paper,
            Interval.of(end(ODCA) - libsvm.error[0]),
            points,
            margin=NEAR,
            smoothed=Interval.of(end(SMOOTHED) - libsvm.error[0]),
        ),
        Claim(
            f"smoothed O-DCA (κ = {setting.smoothing:g}) is more accurate than averaged SGD",
            "odca",
            Interval.of(end(SMOOTHED) - end(SGD_MEAN)),
            points,
        ),
        Claim(
            "averaged O-DCA (κ = 1) is more accurate than averaged SGD: like against like",
            "odca",
            Interval.of(end(MEAN) - end(SGD_MEAN)),
            points,
        ),
        Claim(
            f"averaged O-DCA (κ = 1) converges faster than averaged SGD: less error over the first {BEGINNING:.0%}",
            "odca",
            Interval.of(early(MEAN) - early(SGD_MEAN)),
            points,
        ),
    ]


def _panels(setting: Setting, curves: dict[str, Curves], libsvm: Curves, looks: Looks) -> list[Panel]:
    def lines(part: str) -> list[Line]:
        drawn = [
            Line.of(name, looks, getattr(each, part), "ours" if name.startswith(ODCA) else "peer")
            for name, each in curves.items()
        ]
        return [*drawn, Line.known("LIBSVM", looks[[0, -1]], getattr(libsvm, part)[0])]

    lowest, least = float(libsvm.error[0]), float(libsvm.objective[0])
    return [
        Panel(
            f"{setting.set}-error",
            "Error on the test set",
            "steps",
            "error, %",
            lines("error"),
            x_log=True,
            y_range=(0.9 * lowest, lowest + 20.0),
        ),
        Panel(
            f"{setting.set}-objective",
            "Objective on the training set",
            "steps",
            "objective",
            lines("objective"),
            x_log=True,
            y_log=True,
            y_range=(0.9 * least, 6.0 * least),
        ),
    ]


def _notes(curves: dict[str, Curves]) -> list[str]:
    def spread(name: str) -> float:
        return float(curves[name].error[:, -1].std(ddof=1))

    return [
        (
            f"At the end of the pass the test error of raw O-DCA varies by {spread(ODCA):.2f} points from one order of the events to another, "
            f"that of SGD by {spread('SGD'):.2f}, that of smoothed O-DCA by {spread(SMOOTHED):.2f}, that of averaged SGD by {spread(SGD_MEAN):.2f} "
            "(standard deviations): where a claim needs smoothing it is because the last event moves w by a step of full size."
        )
    ]
