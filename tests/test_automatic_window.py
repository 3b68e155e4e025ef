"""window="auto": several memories, and averages, are learned side by side, and the one that has predicted best lately answers."""

import itertools
import math
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.streams import assert_same_bits, bits

import odca
import odca.river
from odca import (
    Automatic,
    ElasticNet,
    EventLearner,
    Exponential,
    Hinge,
    Infinite,
    Learner,
    LogLoss,
    ODCAClassifier,
    ODCARegressor,
    SquaredError,
)
from odca.cli import main
from odca.learner_options import Candidate, candidates_of
from odca.losses import Loss
from odca.penalties import L2
from odca.reference import ReferenceLearner
from odca.windows import as_window

FORGETTING = 0.5 ** (1 / 1000)
RHOS: tuple[Any, ...] = ("auto", 1e-3)


def events(loss: Loss, n: int = 300, *, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Events whose weights change in the middle."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4)) * [1.0, 0.1, 3.0, 1.0]
    w = np.where(np.arange(n)[:, None] < n // 2, [1.0, -2.0, 0.5, 0.0], [-1.0, 2.0, 0.5, 1.0])
    z = (X * w).sum(axis=1) + 0.3 * rng.normal(size=n)
    return X, z if isinstance(loss, SquaredError) else np.where(z > 0.0, 1.0, -1.0)


def weights_of(candidate: Candidate, loss: Loss, rho: Any, X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The weights of a candidate before each event and after the last, by the slow reference; the intercept first."""
    reference = ReferenceLearner(
        loss=loss,
        rho=0.0 if isinstance(rho, str) else rho,
        prior_strength=candidate.strength,
        window=Infinite() if candidate.half_life == math.inf else Exponential(half_life=candidate.half_life),
        intercept=True,
    )
    path = [np.zeros(1 + X.shape[1])]
    for n in range(len(y)):
        reference.learn(X[n : n + 1], y[n : n + 1])
        path.append(np.concatenate([[reference.intercept], reference.w]))
    if candidate.average_of is None:
        return np.array(path)
    averages = [path[0]]
    for n, w in enumerate(path[1:], 1):
        k = min(n / (n + 1), 0.999)
        averages.append(k * averages[-1] + (1.0 - k) * w)
    return np.array(averages)


@pytest.mark.parametrize("rho", RHOS)
@pytest.mark.parametrize("loss", [SquaredError(), LogLoss()], ids=repr)
def test_the_answer_is_that_of_the_candidate_which_a_slow_reference_chooses(loss: Loss, rho: Any) -> None:
    X, y = events(loss, 150)
    candidates = candidates_of(rho, Automatic(), L2(), 0.0)
    paths = np.array([weights_of(each, loss, rho, X, y) for each in candidates])
    rows = np.hstack([np.ones((len(y), 1)), X])
    margins = np.einsum("knj,nj->nk", paths[:, :-1], rows)
    learner = Learner(loss=loss, rho=rho, window="auto", intercept=True)
    total, chosen = np.zeros(len(candidates)), []
    for row, label in zip(margins, y, strict=True):
        chosen.append(int(total.argmin()))
        total = FORGETTING * total + learner.loss_of(row, label)
    said = learner.learn(X, y)
    np.testing.assert_allclose(said, margins[np.arange(len(y)), chosen], rtol=1e-8, atol=1e-9)
    best = int(total.argmin())
    assert best == learner.get_state()["loss"].argmin()
    np.testing.assert_allclose([learner.intercept, *learner.coef], paths[best, -1], rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(learner.predict(X), rows @ paths[best, -1], rtol=1e-8, atol=1e-9)
    assert len(set(chosen)) > 2


@pytest.mark.parametrize("rho", RHOS)
def test_an_average_has_the_weights_of_its_definition_and_the_bound_of_its_source(rho: Any) -> None:
    """By making the loss of all others large: then the average answers."""
    X, y = events(LogLoss(), 1300)
    learner = Learner(loss=LogLoss(), rho=rho, window="auto", intercept=True)
    learner.learn(X, y)
    candidates = candidates_of(rho, Automatic(), L2(), 0.0)
    state = learner.get_state()
    for k, each in enumerate(candidates):
        if each.average_of is None:
            continue
        shown = Learner(**learner.options)
        shown.set_state({**state, "loss": np.where(np.arange(len(candidates)) == k, 0.0, 1.0)})
        source = Learner(**learner.options)
        source.set_state({**state, "loss": np.where(np.arange(len(candidates)) == each.average_of, 0.0, 1.0)})
        path = weights_of(each, LogLoss(), rho, X, y)
        np.testing.assert_allclose([shown.intercept, *shown.coef], path[-1], rtol=1e-9)
        assert not np.allclose(shown.coef, source.coef, rtol=1e-3)
        for name in ("strength", "mass", "saturation", "effective_sample_size"):
            assert getattr(shown, name) == getattr(source, name), name
        np.testing.assert_array_equal(shown.dual_sum, source.dual_sum)
        assert shown.dual_objective() == source.dual_objective()
        assert shown.objective(X, y) >= shown.dual_objective()


@pytest.mark.parametrize("rho", RHOS)
@pytest.mark.parametrize("first_weight", [1.0, 0.0])
def test_every_candidate_has_a_strength_as_soon_as_it_has_learned_an_event(rho: Any, first_weight: float) -> None:
    X, y = events(LogLoss(), 2)
    learner = Learner(loss=LogLoss(), rho=rho, window="auto")
    learner.learn(X, y, sample_weight=[first_weight, 1.0])
    state = learner.get_state()
    strengths = (0.0 if isinstance(rho, str) else rho) * state["mass"] + state["constant"]
    candidates = candidates_of(rho, Automatic(), L2(), 0.0)
    assert [each.average_of is not None for each in candidates].count(True) > 0
    assert (strengths > 0.0).all()
    for k, each in enumerate(candidates):
        if each.average_of is not None and not isinstance(rho, str):
            assert state["constant"][k] > 0.0  # of its own: it does not depend on the mass


@pytest.mark.parametrize("options", [{}, {"scale": True}, {"penalty": ElasticNet(0.1)}, {"smoothing": 0.9}], ids=repr)
@pytest.mark.parametrize("rho", RHOS)
def test_any_split_of_a_stream_gives_the_same_bits(options: dict[str, Any], rho: Any) -> None:
    X, y = events(LogLoss(), 400)
    y = np.column_stack([y, -y * np.sign(X[:, 0])])
    weight = np.random.default_rng(1).choice([0.0, 0.5, 2.0], len(y))
    whole, parts = (Learner(loss=LogLoss(), rho=rho, window="auto", lanes=2, **options) for _ in range(2))
    said = whole.learn(X, y, sample_weight=weight)
    cuts = [0, 1, 2, 40, 41, 200, 400]
    pieces = [parts.learn(X[a:b], y[a:b], sample_weight=weight[a:b]) for a, b in itertools.pairwise(cuts)]
    np.testing.assert_array_equal(np.concatenate(pieces), said)
    assert_same_bits(whole, parts)


@pytest.mark.parametrize("rho", RHOS)
@pytest.mark.parametrize("how", ["file", "pickle", "copy", "state"])
def test_a_learner_that_was_put_away_goes_on_as_if_it_had_not_been(how: str, rho: Any, tmp_path: Path) -> None:
    X, y = events(LogLoss())
    learner = Learner(loss=LogLoss(), rho=rho, window="auto", intercept=True, scale=True)
    learner.learn(X[:150], y[:150])
    if how == "file":
        learner.save(tmp_path / "learner")
        again = Learner.load(tmp_path / "learner")
    elif how == "state":
        again = Learner(**learner.options)
        again.set_state(learner.get_state())
    else:
        again = learner.copy() if how == "copy" else pickle.loads(pickle.dumps(learner))
    assert again == learner
    np.testing.assert_array_equal(learner.learn(X[150:], y[150:]), again.learn(X[150:], y[150:]))
    assert_same_bits(learner, again)


def test_a_refused_call_leaves_everything_as_it_was() -> None:
    X, y = events(LogLoss())
    learner = Learner(loss=LogLoss(), window="auto")
    learner.learn(X[:200], y[:200])
    before = bits(learner)
    X[299, 0] = np.nan
    with pytest.raises(ValueError, match="row"):
        learner.learn(X[200:], y[200:])
    assert bits(learner) == before


@pytest.mark.parametrize("rho", RHOS)
def test_learners_merge_candidate_by_candidate_in_any_order(rho: Any) -> None:
    X, y = events(LogLoss())
    parts = [Learner(loss=LogLoss(), rho=rho, window="auto", prior_strength=0.1) for _ in range(3)]
    for part, rows in zip(parts, (slice(0, 100), slice(100, 200), slice(200, 300)), strict=True):
        part.learn(X[rows], y[rows])
    one, other = parts[0].merge(parts[1]).merge(parts[2]), parts[2].merge(parts[0].merge(parts[1]))
    for name, values in one.get_state().items():
        np.testing.assert_allclose(values, other.get_state()[name], rtol=1e-12, atol=1e-15, err_msg=name)
    assert_same_bits(parts[0].merge(parts[1]), parts[1].merge(parts[0]))
    three = parts[0].merge(parts[0]).merge(parts[0])
    if isinstance(rho, str):  # with a given rho, the constant strength counts only once
        np.testing.assert_allclose(three.coef, parts[0].coef, rtol=1e-12)


@pytest.mark.parametrize("rho", RHOS)
def test_a_delta_brings_a_learner_to_where_the_other_went(rho: Any) -> None:
    X, y = events(LogLoss(), 1500)
    base = Learner(loss=LogLoss(), rho=rho, window="auto")
    base.learn(X[:900], y[:900])
    ahead = base.copy()
    ahead.learn(X[900:], y[900:])
    base.apply(ahead.delta(base.copy()))
    theirs = ahead.get_state()
    for name, values in base.get_state().items():
        if name in {"loss", "mass", "constant", "conjugate"}:
            np.testing.assert_allclose(values, theirs[name], rtol=1e-9, err_msg=name)
    for k in range(len(theirs["loss"])):  # the sums of every candidate, whatever their scale
        loss = np.where(np.arange(len(theirs["loss"])) == k, 0.0, 1.0)
        mine, other = Learner(**base.options), Learner(**base.options)
        mine.set_state({**base.get_state(), "loss": loss})
        other.set_state({**theirs, "loss": loss})
        np.testing.assert_allclose(mine.coef, other.coef, rtol=1e-7, atol=1e-9)


def test_a_class_that_appears_late_is_learned_as_one_from_the_start() -> None:
    X, y = events(LogLoss(), 600)
    labels = np.where(y > 0.0, 1, 0)
    labels[400:][X[400:, 2] > 3.0] = 2
    late = ODCAClassifier(scale=True).partial_fit(X[:400], labels[:400])
    late.partial_fit(X[400:], labels[400:])
    early = ODCAClassifier(scale=True).partial_fit(X[:400], labels[:400], classes=[0, 1, 2])
    early.partial_fit(X[400:], labels[400:])
    np.testing.assert_array_equal(late.predict_proba(X), early.predict_proba(X))


def turning(n: int, *, still: int, turn: float, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Numbers whose weights stand still at first and then turn by `turn` radians an event."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    angle = turn * np.maximum(0, np.arange(n) - still)
    return X, X[:, 0] * np.cos(angle) + X[:, 1] * np.sin(angle) + 0.5 * rng.normal(size=n)


def test_the_choice_moves_to_a_shorter_memory_when_a_stream_begins_to_drift() -> None:
    X, y = turning(8000, still=4000, turn=0.02)
    learner = Learner(loss=SquaredError(), rho=0.05, window="auto")
    said = learner.learn(X, y)
    fixed = {
        half_life: np.square(Learner(loss=SquaredError(), rho=0.05, window=window).learn(X, y) - y)
        for half_life, window in {
            math.inf: Infinite(),
            **{each: Exponential(half_life=each) for each in (30.0, 300.0, 3000.0)},
        }.items()
    }
    mine = np.square(said - y)
    calm, drifting = slice(1000, 4000), slice(5000, 8000)
    assert min(fixed, key=lambda each: fixed[each][calm].mean()) == math.inf
    assert min(fixed, key=lambda each: fixed[each][drifting].mean()) == 30.0
    assert mine[calm].mean() < 1.01 * fixed[math.inf][calm].mean()
    assert mine[drifting].mean() < 1.01 * fixed[30.0][drifting].mean()
    assert mine.sum() < min(each.sum() for each in fixed.values())
    assert learner.mass < 50.0


def test_a_lead_is_lost_within_the_time_that_the_documentation_says() -> None:
    """Ahead by G an event for long, behind by g from then on: n = H·log2(1 + G/g) events (cpp/odca/step/choice.hpp)."""
    for gained, lost in ((1.0, 1.0), (3.0, 1.0), (1.0, 5.0)):
        lead = gained / (1.0 - FORGETTING)
        n = next(n for n in itertools.count(1) if (lead := FORGETTING * lead - lost) <= 0.0)
        assert n == math.ceil(1000.0 * math.log2(1.0 + gained / lost) - 1e-9)


def test_the_mean_of_the_weights_is_found_where_a_stream_stands_still() -> None:
    X, y = turning(6000, still=6000, turn=0.0)
    plain, auto = (Learner(loss=SquaredError(), rho="auto", window=each) for each in (Infinite(), "auto"))
    of_plain, of_auto = (np.square(each.learn(X, y) - y)[1000:].mean() for each in (plain, auto))
    assert of_auto <= of_plain


def test_fit_solves_the_problem_of_the_infinite_window() -> None:
    X, y = events(LogLoss())
    for rho in RHOS:
        fitted = Learner(loss=LogLoss(), rho=rho, window="auto")
        fitted.learn(X, y)
        assert fitted.fit(X, y).converged
        assert fitted.window == Infinite()
        wanted = Learner(loss=LogLoss(), rho=1e-5 if isinstance(rho, str) else rho)
        wanted.fit(X, y)
        assert fitted == wanted
    assert ODCAClassifier(window="auto").fit(X, y).learner_.window == Infinite()


def test_a_loss_without_a_value_has_the_infinite_window() -> None:
    class Slope:
        def gradient(self, z: float, y: float) -> float:
            return z - y

    assert Learner(loss=Slope(), window="auto").window == Infinite()
    assert Learner(loss=Slope(), rho=0.1, window="auto").window == Infinite()


def test_averages_are_tried_only_where_they_are_exact() -> None:
    def averages(rho: Any, penalty: Any, smoothing: float) -> int:
        return sum(each.average_of is not None for each in candidates_of(rho, Automatic(), penalty, smoothing))

    assert (averages("auto", L2(), 0.0), averages(0.1, L2(), 0.0)) == (2, 1)
    assert averages("auto", ElasticNet(0.1), 0.0) == averages("auto", L2(), 0.9) == 0
    assert candidates_of(0.1, Infinite(), L2(), 0.0) == ()


def test_every_interface_takes_the_word(tmp_path: Path) -> None:
    X, y = events(LogLoss())
    assert as_window("auto") == Automatic()
    for model in (ODCAClassifier(window="auto"), ODCAClassifier(), ODCARegressor()):
        assert model.partial_fit(X, y).learner_.window == Automatic()
    assert EventLearner(loss=LogLoss()).learner.window == Automatic()
    river = odca.river.ODCAClassifier()
    river.learn_one({"a": 1.0}, True)
    assert river.events.learner.window == Automatic()
    (tmp_path / "d.csv").write_text("a,y\n" + "".join(f"{k % 7},{k % 2}\n" for k in range(40)))
    words = ["train", str(tmp_path / "d.csv"), "--label", "y", "--window", "auto", "--quiet"]
    assert main([*words, "-o", str(tmp_path / "m")]) == 0
    assert odca.load(tmp_path / "m").learner.window == Automatic()


def test_margins_of_a_hinge_are_calibrated_over_all_events() -> None:
    X, y = events(Hinge())
    model = ODCAClassifier(loss="hinge").partial_fit(X, y)
    probabilities = model.predict_proba(X)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
    assert np.isfinite(probabilities).all()


def test_another_word_is_refused() -> None:
    with pytest.raises(TypeError, match="or 'auto'; got 'automatic'"):
        Learner(loss=LogLoss(), window="automatic")  # type: ignore[arg-type]
