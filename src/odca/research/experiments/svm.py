"""The paper's two figures: a support-vector machine on Adult and on RCV1, in one pass.

Every seed is an order of the training events. O-DCA, SGD, SPG and Pegasos see each event once; S-DCA sees a fifth of them five times, so that
all take the same number of steps. LIBSVM's solution on the whole set is shown as a constant level, and so is LIBLINEAR's, which has no intercept, as
the online methods have none. The weights are evaluated on a grid of steps: by the error on the test set, and by the objective (1/N) Σ Q + ρ/2·‖w‖² on
the training set.
"""

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from odca.learner import Learner
from odca.losses import Hinge
from odca.records import record
from odca.research import datasets
from odca.research.baselines import SDCA, SGD, SPG
from odca.research.experiments.intervals import Array, Interval
from odca.research.experiments.study import Claim, Job, Line, Looks, Panel, Study, in_background, over_seeds
from odca.windows import Exponential

LOOKS = 40
FIFTH, EPOCHS = 5, 5
BEGINNING = 0.1
NEAR = 1.0  # points
ODCA, SMOOTHED, MEAN = "O-DCA", "O-DCA, smoothed", "O-DCA, averaged"
PLAIN, SGD_SMOOTHED, SGD_MEAN, SGD_LAST = "SGD", "SGD, smoothed", "SGD, averaged", "SGD, last step of O-DCA"
PROXIMAL, PEGASOS, ASCENT = "SPG", "Pegasos", "S-DCA"
LIBSVM, LIBLINEAR = "LIBSVM", "LIBLINEAR, no intercept"

Read: TypeAlias = Callable[[], Array]
"""A function that reads the present weights of a method."""


@record
class Setting:
    """The paper's parameters, and its numbers of training and test rows."""

    title: str
    figure: str
    set: str
    rows: tuple[int, int]
    rho: float
    beta: float
    rate: float
    smoothing: float = 0.999

    def last_step(self, events: int) -> float:
        """1/(ρΔ_N), the step size of O-DCA after this many events. It tends to μ as β^N tends to 0."""
        return (1.0 - self.beta) / (self.rho * (1.0 - self.beta**events))


ADULT = Setting("Adult: the paper's Figure 1", "Figure 1", "adult", (11_220, 21_341), rho=1e-3, beta=0.99995, rate=0.05)
RCV1 = Setting("RCV1: the paper's Figure 2", "Figure 2", "rcv1", (20_242, 253_843), rho=1e-4, beta=0.99998, rate=0.2)


@record
class Curves:
    """The error in percent and the objective at each evaluation, and which test rows are wrong at the last one."""

    error: Array
    objective: Array
    wrong: npt.NDArray[np.int8]


def run(setting: Setting, job: Job) -> Study:
    """Run the experiment."""
    data = datasets.load(setting.set, download=job.download)
    looks = np.unique(np.geomspace(10, len(data.y), LOOKS).astype(np.int64))
    solved = in_background(lambda: _levels(setting, data, job))
    runs = over_seeds(lambda seed: _one_pass(setting, data, looks, seed), job, setting.set)
    levels = solved.result()
    curves = {
        name: Curves(*(np.array([getattr(run[name], part) for run in runs]) for part in Curves.__match_args__))
        for name in runs[0]
    }
    none = float("nan")
    return Study(
        name=setting.set,
        title=setting.title,
        data=_describe_data(setting, data),
        parameters={
            "loss": "hinge",
            "ρ": f"{setting.rho:g}",
            "β (O-DCA)": f"{setting.beta:g}",
            "μ (SGD, SPG)": f"{setting.rate:g}, so that β = 1 - μρ",
            "last step of O-DCA": f"1/(ρΔ_N) = {setting.last_step(len(data.y)):.3g}, which is also the μ of '{SGD_LAST}'",
            "κ (smoothing)": f"{setting.smoothing:g}; 1 for averaged methods",
            "S-DCA": f"one {FIFTH}th of the events, {EPOCHS} epochs, rows drawn at random",
            "Pegasos": "μ_N = 1/(ρN)",
            "LIBSVM": "scikit-learn's SVC(kernel='linear'), C = 1/(ρN), which has an intercept",
            "LIBLINEAR": "scikit-learn's LinearSVC(loss='hinge', fit_intercept=False), C = 1/(ρN): the minimum of the objective itself",
        },
        seeds=job.seeds,
        claims=_claims(setting, curves, levels, looks),
        panels=_panels(setting, curves, levels, looks),
        columns=("test error, %", f"mean over the first {BEGINNING:.0%} of the steps, %", "objective"),
        results={
            name: (
                Interval.of(each.error[:, -1]),
                Interval.of(_early(each.error, looks)),
                Interval.of(each.objective[:, -1]),
            )
            for name, each in curves.items()
        }
        | {name: (float(each.error[0]), none, float(each.objective[0])) for name, each in levels.items()},
        notes=[_describe_noise(setting, curves, len(data.y))],
    )


def _describe_data(setting: Setting, data: datasets.Dataset) -> str:
    rows = len(data.y), len(data.X_test.indptr) - 1
    same = (
        "as in the paper"
        if rows == setting.rows
        else f"where the paper had {setting.rows[0]:,} and {setting.rows[1]:,}"
    )
    place = "" if data.exact else ". They are not the paper's rows"
    return (
        f"{data.what}. {rows[0]:,} events for training and {rows[1]:,} for testing, {same}. "
        f"From {data.file_names}{place}."
    )


def _one_pass(setting: Setting, data: datasets.Dataset, looks: Looks, seed: int) -> dict[str, Curves]:
    order = np.random.default_rng(seed).permutation(len(data.y))
    X, y = data.X[order], data.y[order]
    learner, mean = (
        Learner(loss=Hinge(), rho=setting.rho, window=Exponential(beta=setting.beta), smoothing=kappa)
        for kappa in (setting.smoothing, 1.0)
    )
    sgd, sgd_mean = (
        SGD(Hinge(), rate=setting.rate, rho=setting.rho, smoothing=kappa) for kappa in (setting.smoothing, 1.0)
    )
    sgd_last = SGD(Hinge(), rate=setting.last_step(len(y)), rho=setting.rho)
    spg = SPG(Hinge(), rate=setting.rate, rho=setting.rho)
    pegasos = SGD(Hinge(), rate="pegasos", rho=setting.rho)
    part = len(y) // FIFTH
    sdca = SDCA(Hinge(), X[:part], y[:part], rho=setting.rho, seed=seed)
    weights: dict[str, Read] = {
        ODCA: lambda: learner.coef,
        SMOOTHED: lambda: learner.smoothed_coef,
        MEAN: lambda: mean.smoothed_coef,
        PLAIN: lambda: sgd.coef,
        SGD_SMOOTHED: lambda: sgd.smoothed_coef,
        SGD_MEAN: lambda: sgd_mean.smoothed_coef,
        SGD_LAST: lambda: sgd_last.coef,
        PROXIMAL: lambda: spg.coef,
        PEGASOS: lambda: pegasos.coef,
        ASCENT: lambda: sdca.coef,
    }
    seen: dict[str, list[Array]] = {name: [] for name in weights}
    before = 0
    for now in looks:
        for each in (learner, mean, sgd, sgd_mean, sgd_last, spg, pegasos):
            each.learn(X[before:now], y[before:now])
        sdca.ascend(int(min(now, part * EPOCHS) - min(before, part * EPOCHS)))
        for name, read in weights.items():
            seen[name].append(read())
        before = now
    return {name: _evaluate(setting, data, np.column_stack(each)) for name, each in seen.items()}


def _evaluate(setting: Setting, data: datasets.Dataset, weights: Array, intercept: float = 0.0) -> Curves:
    """Evaluate the columns of `weights` on the test set and the training set."""
    assert data.y_test is not None
    wrong = np.where(data.X_test @ weights + intercept > 0.0, 1.0, -1.0) != data.y_test.reshape(-1, 1)
    loss = np.maximum(0.0, 1.0 - data.y[:, None] * (data.X @ weights + intercept)).mean(axis=0)
    return Curves(
        100.0 * wrong.mean(axis=0), loss + 0.5 * setting.rho * (weights**2).sum(axis=0), wrong[:, -1].astype(np.int8)
    )


def _levels(setting: Setting, data: datasets.Dataset, job: Job) -> dict[str, Curves]:
    """The solutions of batch solvers."""
    from sklearn.svm import SVC, LinearSVC  # noqa: PLC0415 - optional

    strength = 1.0 / (setting.rho * len(data.y))
    machine = SVC(kernel="linear", C=strength, cache_size=1000).fit(data.X, data.y)
    coef: Any = machine.coef_
    weights = np.asarray(coef.todense() if hasattr(coef, "todense") else coef).reshape(-1, 1)
    plain = LinearSVC(loss="hinge", C=strength, fit_intercept=False, max_iter=100_000, random_state=0)
    plain.fit(data.X, data.y)
    job.report_done(f"{setting.set}, LIBSVM")
    return {
        LIBSVM: _evaluate(setting, data, weights, float(machine.intercept_[0])),
        LIBLINEAR: _evaluate(setting, data, plain.coef_.reshape(-1, 1)),
    }


def _early(curves: Array, looks: Looks) -> Array:
    """The mean of each curve over the first steps. The evaluations are weighted by their distance, as they are on a geometric grid."""
    is_early = looks <= BEGINNING * looks[-1]
    spans = np.diff(looks[is_early], prepend=0)
    return np.asarray(curves[:, is_early] @ spans / spans.sum())


def _claims(setting: Setting, curves: dict[str, Curves], levels: dict[str, Curves], looks: Looks) -> list[Claim]:
    introduction = "paper, introduction"
    points = "points of error"
    kappa = f"κ = {setting.smoothing:g}"
    libsvm = levels[LIBSVM]

    def end(name: str) -> Array:
        return np.asarray(curves[name].error[:, -1])

    def at_the_end(statement: str, source: str, ours: str, theirs: str, smoothed: str | None = None) -> Claim:
        return Claim(
            statement,
            source,
            Interval.of(end(ours) - end(theirs)),
            points,
            smoothed=Interval.of(end(smoothed) - end(theirs)) if smoothed else None,
            wider=Interval.of_table(curves[ours].wrong - curves[theirs].wrong),
        )

    def early(name: str) -> Array:
        return _early(curves[name].error, looks)

    def faster(statement: str, source: str, ours: str, theirs: str, smoothed: str | None = None) -> Claim:
        return Claim(
            f"{statement}: less error over the first {BEGINNING:.0%} of the pass",
            source,
            Interval.of(early(ours) - early(theirs)),
            points,
            smoothed=Interval.of(early(smoothed) - early(theirs)) if smoothed else None,
        )

    def cost(name: str) -> Array:
        return np.asarray(curves[name].objective[:, -1])

    return [
        at_the_end("O-DCA is more accurate than SGD at the end of the pass", introduction, ODCA, PLAIN, SMOOTHED),
        faster("O-DCA converges faster than SGD", introduction, ODCA, PLAIN, SMOOTHED),
        at_the_end(
            "proximal steps are more accurate than sub-gradient steps with the same μ (SPG against SGD)",
            introduction,
            PROXIMAL,
            PLAIN,
        ),
        at_the_end("O-DCA is more accurate than SGD with O-DCA's last step size", "odca", ODCA, SGD_LAST, SMOOTHED),
        at_the_end(
            f"smoothed O-DCA is more accurate than SGD smoothed with the same {kappa}", "odca", SMOOTHED, SGD_SMOOTHED
        ),
        faster(
            f"smoothed O-DCA converges faster than SGD smoothed with the same {kappa}", "odca", SMOOTHED, SGD_SMOOTHED
        ),
        at_the_end("averaged O-DCA (κ = 1) is more accurate than averaged SGD", "odca", MEAN, SGD_MEAN),
        faster("averaged O-DCA (κ = 1) converges faster than averaged SGD", "odca", MEAN, SGD_MEAN),
        at_the_end(f"smoothed O-DCA ({kappa}) is more accurate than averaged SGD", "odca", SMOOTHED, SGD_MEAN),
        at_the_end("O-DCA is more accurate than Pegasos", "odca", ODCA, PEGASOS, SMOOTHED),
        at_the_end(
            "O-DCA in one pass is more accurate than S-DCA in five epochs over a fifth of the events",
            "odca",
            ODCA,
            ASCENT,
            SMOOTHED,
        ),
        faster("O-DCA converges faster than S-DCA", "odca", ODCA, ASCENT, SMOOTHED),
        Claim(
            f"O-DCA comes within {NEAR:g} point of LIBSVM",
            "odca",
            Interval.of(end(ODCA) - libsvm.error[0]),
            points,
            margin=NEAR,
            smoothed=Interval.of(end(SMOOTHED) - libsvm.error[0]),
            wider=Interval.of_table(curves[ODCA].wrong - libsvm.wrong),
        ),
        Claim(
            "O-DCA ends at a lower objective than SGD",
            "odca",
            Interval.of(cost(ODCA) - cost(PLAIN)),
            "of the objective",
            smoothed=Interval.of(cost(SMOOTHED) - cost(PLAIN)),
        ),
    ]


def _panels(setting: Setting, curves: dict[str, Curves], levels: dict[str, Curves], looks: Looks) -> list[Panel]:
    def lines(part: str) -> list[Line]:
        drawn = [Line.of(name, looks, getattr(each, part)) for name, each in curves.items()]
        return drawn + [Line.known(name, looks[[0, -1]], getattr(each, part)[0]) for name, each in levels.items()]

    lowest = float(levels[LIBSVM].error[0])
    least = float(levels[LIBSVM].objective[0])
    banded = (ODCA, SMOOTHED, MEAN, PLAIN)
    return [
        Panel(
            f"{setting.set}-error",
            "Error on the test set",
            "steps",
            "error, %",
            lines("error"),
            x_log=True,
            y_range=(0.9 * lowest, lowest + 20.0),
            banded=banded,
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
            banded=banded,
        ),
    ]


def _describe_noise(setting: Setting, curves: dict[str, Curves], events: int) -> str:
    def spread(name: str) -> str:
        return f"{curves[name].error[:, -1].std(ddof=1):.2f}"

    def mean(name: str) -> str:
        return f"{curves[name].error[:, -1].mean():.3g} %"

    return (
        f"After one pass the window is not full: β^N = {setting.beta**events:.2g}, and O-DCA's last step, 1/(ρΔ_N) = {setting.last_step(events):.3g}, "
        f"is {setting.last_step(events) / setting.rate:.1f} times SGD's μ. With steps of that size the final error of SGD is {mean(SGD_LAST)} and that of O-DCA {mean(ODCA)}; "
        f"with steps of μ it is {mean(PLAIN)} for SGD and {mean(PROXIMAL)} for SPG. Between orders of the events these errors vary with standard deviations of {spread(SGD_LAST)}, "
        f"{spread(ODCA)}, {spread(PLAIN)} and {spread(PROXIMAL)} points, that of smoothed O-DCA with {spread(SMOOTHED)} and that of smoothed SGD with {spread(SGD_SMOOTHED)}."
    )
