"""rho="auto": several strengths are learned side by side, and the one that has predicted best answers."""

import itertools
import pickle

import numpy as np
import pytest
from scipy.sparse import csr_array
from tests.streams import assert_same_bits, bits

import odca
from odca import (
    EventLearner,
    Exponential,
    Infinite,
    Learner,
    LogLoss,
    ODCAClassifier,
    ODCARegressor,
    Sliding,
    SquaredError,
)
from odca.learner_options import STRENGTHS
from odca.losses import Loss
from odca.reference import ReferenceLearner
from odca.windows import Window

K = len(STRENGTHS)
FORGETTING = 0.5 ** (1 / 1000)


def events(loss: Loss, n: int = 300, *, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Events whose weights change in the middle."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4)) * [1.0, 0.1, 3.0, 1.0]
    w = np.where(np.arange(n)[:, None] < n // 2, [1.0, -2.0, 0.5, 0.0], [-1.0, 2.0, 0.5, 1.0])
    z = (X * w).sum(axis=1) + 0.3 * rng.normal(size=n)
    return X, z if isinstance(loss, SquaredError) else np.where(z > 0.0, 1.0, -1.0)


def all_strengths(**options: object) -> Learner:
    """The same strengths as lanes that all show."""
    return Learner(**options, rho=[0.0] * K, prior_strength=STRENGTHS)


def choices(losses: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """The strength that answers each event, and the next one after the last, from the losses (events by strengths)."""
    total, chosen = np.zeros(K), []
    for row, c in zip(losses, weight, strict=True):
        chosen.append(int(total.argmin()))
        total = FORGETTING * total + c * row
    return np.array([*chosen, int(total.argmin())])


@pytest.mark.parametrize("loss", [SquaredError(), LogLoss()], ids=repr)
def test_the_answer_is_that_of_the_strength_which_a_slow_reference_chooses(loss: Loss) -> None:
    X, y = events(loss, 120)
    references = [ReferenceLearner(loss=loss, rho=0.0, prior_strength=a, intercept=True) for a in STRENGTHS]
    for reference in references:
        reference.learn(X, y)
    margins = np.array([reference.margins for reference in references]).T
    losses = np.array(
        [[references[0].loss.value(z, label) for z in row] for row, label in zip(margins, y, strict=True)]
    )
    chosen = choices(losses, np.ones(len(y)))
    learner = Learner(loss=loss, intercept=True)
    said = learner.learn(X, y)
    np.testing.assert_allclose(said, margins[np.arange(len(y)), chosen[:-1]], rtol=1e-9, atol=1e-9)
    assert learner.strength == STRENGTHS[chosen[-1]]
    assert len(set(chosen.tolist())) > 2


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"scale": True, "intercept": True},
        {"smoothing": 0.9, "intercept": True},
        {"window": Exponential(0.99)},
        {"window": Sliding(50), "scale": True},
        {"penalty": odca.ElasticNet(0.1), "prior_mean": [0.1, 0.2], "penalty_weights": [1.0, 2.0]},
    ],
    ids=repr,
)
def test_everything_shown_is_that_of_the_chosen_strength_to_the_bit(options: dict[str, object]) -> None:
    X, y = events(LogLoss())
    weight = np.random.default_rng(1).choice([0.0, 0.5, 2.0], len(y))
    lanes, learner = all_strengths(loss=LogLoss(), **options), Learner(loss=LogLoss(), **options)
    theirs = lanes.learn(X, y, sample_weight=weight)
    mine = learner.learn(X, y, sample_weight=weight)
    chosen = choices(lanes.loss_of(theirs, y[:, None]), weight)
    np.testing.assert_array_equal(mine, theirs[np.arange(len(y)), chosen[:-1]])
    best = int(chosen[-1])
    assert best == learner.get_state()["loss"].argmin()
    assert learner.strength == STRENGTHS[best] == lanes.strength[best]
    for name in ("coef", "smoothed_coef", "intercept", "smoothed_intercept", "dual_sum", "mass", "saturation"):
        np.testing.assert_array_equal(getattr(learner, name), getattr(lanes, name)[best], err_msg=name)
    assert learner.dual_objective() == lanes.dual_objective()[best]
    assert learner.objective(X, y) == pytest.approx(lanes.objective(X, y)[best], rel=1e-12)
    if isinstance(learner.window, Sliding):
        assert learner.duality_gap() == lanes.duality_gap()[best]
    for rows in (X, csr_array(X), X[:1]):
        np.testing.assert_allclose(learner.predict(rows), lanes.predict(rows)[:, best], rtol=1e-13, atol=1e-14)


@pytest.mark.parametrize("window", [Infinite(), Exponential(0.99), Sliding(40)], ids=repr)
def test_any_split_of_a_stream_gives_the_same_bits(window: Window) -> None:
    X, y = events(LogLoss())
    y = np.column_stack([y, -y * np.sign(X[:, 0])])
    whole, parts = (Learner(loss=LogLoss(), window=window, scale=True, lanes=2) for _ in range(2))
    said = whole.learn(X, y)
    cuts = [0, 1, 2, 40, 41, 200, 300]
    pieces = [parts.learn(X[a:b], y[a:b]) for a, b in itertools.pairwise(cuts)]
    np.testing.assert_array_equal(np.concatenate(pieces), said)
    assert_same_bits(whole, parts)


def test_each_lane_chooses_for_itself() -> None:
    X, y = events(SquaredError())
    noise = np.random.default_rng(1).normal(size=len(y))
    both = Learner(loss=SquaredError(), lanes=2)
    said = both.learn(X, np.column_stack([y, noise]))
    assert both.strength[0] != both.strength[1]
    for lane, labels in enumerate((y, noise)):
        alone = Learner(loss=SquaredError(), lanes=1)
        np.testing.assert_array_equal(alone.learn(X, labels), said[:, lane : lane + 1])
        np.testing.assert_array_equal(alone.coef[0], both.coef[lane])


@pytest.mark.parametrize("how", ["file", "pickle", "copy", "state"])
def test_a_learner_that_was_put_away_goes_on_as_if_it_had_not_been(how: str, tmp_path) -> None:
    X, y = events(LogLoss())
    learner = Learner(loss=LogLoss(), intercept=True, scale=True)
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


@pytest.mark.parametrize("cut", [290, 0])
def test_a_refused_call_leaves_the_choice_as_it_was(cut: int) -> None:
    X, y = events(LogLoss())
    learner = Learner(loss=LogLoss())
    learner.learn(csr_array(np.hstack([X, np.zeros((300, 9_000))])), y)
    before = bits(learner)
    X[299, 0] = np.nan
    with pytest.raises(ValueError, match="row"):
        learner.learn(csr_array(X[cut:]), y[cut:])
    assert bits(learner) == before


def test_learners_merge_strength_by_strength_and_their_losses_add() -> None:
    X, y = events(LogLoss())
    parts = [Learner(loss=LogLoss()) for _ in range(2)]
    for part, rows in zip(parts, (slice(0, 100), slice(100, 300)), strict=True):
        part.learn(X[rows], y[rows])
    merged, other = parts[0].merge(parts[1]), parts[1].merge(parts[0])
    states = [part.get_state() for part in parts]
    for name in ("loss", "dual", "mass", "constant"):
        np.testing.assert_array_equal(merged.get_state()[name], states[0][name] + states[1][name])
    assert_same_bits(merged, other)
    best = int(merged.get_state()["loss"].argmin())
    assert merged.strength == 2 * STRENGTHS[best]


def test_the_weights_of_merged_learners_are_the_mean_of_theirs() -> None:
    X, y = events(SquaredError())
    one = Learner(loss=SquaredError())
    one.learn(X, y)
    np.testing.assert_allclose(one.merge(one).merge(one).coef, one.coef, rtol=1e-14)


def test_a_delta_brings_a_learner_to_where_the_other_went() -> None:
    X, y = events(LogLoss())
    base = Learner(loss=LogLoss(), window=Exponential(0.99))
    base.learn(X[:100], y[:100])
    ahead = base.copy()
    ahead.learn(X[100:], y[100:])
    base.apply(ahead.delta(base.copy()))
    np.testing.assert_allclose(base.get_state()["loss"], ahead.get_state()["loss"], rtol=1e-12)
    assert base.strength == ahead.strength in STRENGTHS
    np.testing.assert_allclose(base.coef, ahead.coef, rtol=1e-9)


def test_a_mirrored_lane_is_that_of_negated_labels() -> None:
    X, y = events(LogLoss())
    learner, negated = Learner(loss=LogLoss(), lanes=1), Learner(loss=LogLoss(), lanes=2)
    learner.learn(X, y)
    negated.learn(X, np.column_stack([-y, y]))
    assert_same_bits(learner.with_lanes([0, 0], [True, False]), negated)


def test_a_blank_lane_goes_on_learning() -> None:
    X, y = events(LogLoss())
    learner = Learner(loss=LogLoss(), lanes=1)
    learner.learn(X, y)
    grown = learner.with_lanes([0, -1])
    assert not grown.coef[1].any()
    grown.learn(X, np.column_stack([y, -y]))
    learner.learn(X, y)
    np.testing.assert_array_equal(grown.coef[0], learner.coef[0])
    assert grown.coef[1].any()


@pytest.mark.parametrize("scale", [False, True])
def test_fit_solves_one_problem_and_keeps_its_strength(scale: bool) -> None:
    X, y = events(LogLoss())
    fitted, wanted = (
        Learner(loss=LogLoss(), scale=scale),
        Learner(loss=LogLoss(), scale=scale, rho=1e-3 if scale else 1e-5),
    )
    fitted.learn(X, y)
    assert fitted.fit(X, y).converged
    wanted.fit(X, y)
    assert fitted == wanted


def test_a_loss_without_a_value_has_one_strength() -> None:
    class Slope:
        def gradient(self, z: float, y: float) -> float:
            return z - y

    assert Learner(loss=Slope()).rho == 1e-5
    assert Learner(loss=Slope(), scale=True).rho == 1e-3


def test_a_custom_loss_with_a_value_is_learned_with_every_strength() -> None:
    class HalfSquare:
        def gradient(self, z: float, y: float) -> float:
            return z - y

        def value(self, z: float, y: float) -> float:
            return 0.5 * (z - y) ** 2

    X, y = events(SquaredError(), 60)
    mine, ours = Learner(loss=HalfSquare()), Learner(loss=SquaredError())
    np.testing.assert_allclose(mine.learn(X, y), ours.learn(X, y), rtol=1e-6, atol=1e-6)
    assert mine.strength == ours.strength


def test_events_are_learned_as_the_same_numbers_in_a_sparse_array() -> None:
    X, y = events(LogLoss())
    names = EventLearner(loss=LogLoss(), window=Infinite())
    numbers = Learner(loss=LogLoss(), intercept=True, scale=True)
    said = [
        names.learn_one(dict(zip("abcd", row, strict=True)), label) for row, label in zip(X.tolist(), y, strict=True)
    ]
    np.testing.assert_array_equal(said, numbers.learn(csr_array(X), y))
    assert_same_bits(names.learner, numbers)
    event = dict(zip("abcd", X[0].tolist(), strict=True))
    assert sum(names.explain_one(event).values()) == pytest.approx(names.predict_one(event), rel=1e-12)


def test_estimators_try_strengths_in_a_stream_and_solve_one_problem_in_fit() -> None:
    X, y = events(SquaredError())
    for model, labels in ((ODCARegressor(), y), (ODCAClassifier(), y > 0.0)):
        streamed = model.partial_fit(X, labels)
        assert streamed.learner_.rho == "auto"
        assert streamed.learner_.smoothing == 0.0
        assert streamed.learner_.prior_strength == 0.0
        assert model.fit(X, labels).learner_.rho == 1.0 / len(y)


def test_a_stream_of_sparse_rows_is_scaled_and_a_fit_is_not() -> None:
    X, y = events(LogLoss())
    assert ODCAClassifier().partial_fit(csr_array(X), y, classes=[-1.0, 1.0]).learner_.scale
    assert not ODCAClassifier().fit(csr_array(X), y).learner_.scale


@pytest.mark.parametrize("loss", [SquaredError(), LogLoss()], ids=repr)
def test_the_answer_is_nearly_as_good_as_the_best_strength_in_hindsight(loss: Loss) -> None:
    X, y = events(loss, 4000)
    learner, lanes = Learner(loss=loss, scale=True), all_strengths(loss=loss, scale=True)
    mine = learner.loss_of(learner.learn(X, y), y).mean()
    assert mine < 1.05 * lanes.loss_of(lanes.learn(X, y), y[:, None]).mean(axis=0).min()
