"""Splitting is the inverse of merging, for every bank of experts: what is merged answers, and goes on learning, as the model does."""

import itertools
from functools import reduce
from typing import Any

import numpy as np
import pytest

from odca import AutoLearner, Quantile
from odca.models.options import Answer

ANSWERS: tuple[Answer, ...] = ("live", "steady")
BANKS: dict[str, dict[str, Any]] = {
    "two classes": {"task": "classes"},
    "several classes": {"task": "classes", "classes": 4},
    "numbers": {"task": "numbers"},
    "absolute error": {"task": "numbers", "loss": "absolute_error"},
    "quantile": {"task": "numbers", "loss": Quantile(0.9)},
    "counts": {"task": "numbers", "loss": "poisson"},
}
every_bank = pytest.mark.parametrize("bank", BANKS)
every_kind_of_products = pytest.mark.parametrize("products", ["auto", False, 6])
CLEAR, IN_BETWEEN = (1.0, 0.9, 0.7, 0.8, 0.2, 0.1, 0.03), (1.0, 0.9, 0.6, 0.5, 0.4, 0.2, 0.03)
"""How often each feature occurs: so that all parts agree about which are dense, and so that they do not."""
SLOPES = [0.2, 1.0, -1.0, 0.5, 0.3, 2.0, 3.0]


def make_rows(bank: str, count: int, seed: int, often: Any = IN_BETWEEN) -> tuple[Any, Any]:
    """Features that are dense and sparse; one is far from zero, one is always the same, two are worth their product."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(count, 7)) * (rng.random((count, 7)) < often)
    z = X @ SLOPES + 1.5 * X[:, 1] * X[:, 2] + rng.logistic(size=count)
    X[:, 0] += 50.0
    X = np.column_stack([X, np.full(count, 3.0)])
    if bank == "counts":
        return X, rng.poisson(np.exp(np.clip(z / 3.0, -4.0, 4.0))).astype(float)
    if BANKS[bank]["task"] == "numbers":
        return X, z
    return X, np.digitize(z, [0.0] if bank == "two classes" else [-1.0, 0.0, 1.0]).astype(float)


def learned(bank: str, count: int, *, seed: int = 0, often: Any = IN_BETWEEN, **how: Any) -> AutoLearner:
    learner = AutoLearner(**BANKS[bank], products=how.pop("products", "auto"))
    learner.learn(*make_rows(bank, count, seed, often), **how)
    return learner


def merged(parts: Any) -> AutoLearner:
    return reduce(AutoLearner.merge, parts)


def assert_same_answers(one: AutoLearner, other: AutoLearner, bank: str, within: float) -> None:
    X, _ = make_rows(bank, 60, seed=9)
    for answer in ANSWERS:
        expected = one.predict(X, answer=answer)
        np.testing.assert_allclose(
            other.predict(X, answer=answer), expected, rtol=within, atol=within, err_msg=f"the {answer} answer"
        )


@every_bank
@every_kind_of_products
@pytest.mark.parametrize("count", [1, 20, 33, 500, 1300])
def test_the_parts_of_a_model_merge_to_the_model_and_go_on_as_it_does(bank: str, products: Any, count: int) -> None:
    """However few events there are: some of 40 parts have a share of none of 20, and members that were frozen at the sixteenth."""
    model = learned(bank, count, products=products)
    for parts in (1, 3, 8, 40):
        split = model.split(parts)
        again = merged(split)
        assert again.count == model.count == sum(part.count for part in split)
        assert_same_answers(model, again, bank, 1e-9)
        assert_same_answers(model, merged(reversed(split)), bank, 1e-9)
        then = model.copy()
        for learner in (then, again):  # past the next freeze and the next choice of products
            learner.learn(*make_rows(bank, 300, seed=2))
        assert_same_answers(then, again, bank, 1e-6)


@every_bank
def test_weights_and_times_make_no_difference_to_that(bank: str) -> None:
    rng = np.random.default_rng(4)
    how = {"sample_weight": rng.choice([0.0, 0.5, 1.0, 3.0], size=400), "time": rng.exponential(size=400).cumsum()}
    model = learned(bank, 400, **how)
    for parts in (3, 40):
        again, then = merged(model.split(parts)), model.copy()
        assert_same_answers(model, again, bank, 1e-9)
        for learner in (then, again):
            learner.learn(*make_rows(bank, 200, seed=2), time=500.0 + np.arange(200.0))
        assert_same_answers(then, again, bank, 1e-6)


@every_bank
def test_parts_of_parts_merge_to_the_model(bank: str) -> None:
    model = learned(bank, 300)
    first, second, third = model.split(3)
    again = merged([third, *second.split(4), *first.split(2)])
    assert_same_answers(model, again, bank, 1e-9)
    then = model.copy()
    for learner in (then, again):
        learner.learn(*make_rows(bank, 300, seed=2))
    assert_same_answers(then, again, bank, 1e-6)


@every_bank
@pytest.mark.parametrize("products", ["auto", False, 40])
def test_merging_is_associative_and_commutative(bank: str, products: Any) -> None:
    a, b, c = (
        learned(bank, count, seed=seed, often=CLEAR, products=products) for seed, count in ((1, 400), (2, 70), (3, 250))
    )
    first = a.merge(b).merge(c)
    assert_same_answers(first, a.merge(b.merge(c)), bank, 1e-9)
    for order in itertools.permutations([a, b, c]):
        assert_same_answers(first, merged(order), bank, 1e-9)


@every_bank
@pytest.mark.parametrize("idle", [0, 25])
def test_a_model_that_learned_nothing_changes_nothing(bank: str, idle: int) -> None:
    """Nor does one that has only seen events of weight 0."""
    model, empty = learned(bank, 300), AutoLearner(**BANKS[bank])
    if idle:
        empty.learn(*make_rows(bank, idle, seed=5), sample_weight=np.zeros(idle))
    for both in (model.merge(empty), empty.merge(model), model.merge(merged(empty.split(3)))):
        assert_same_answers(model, both, bank, 1e-12)
        then = model.copy()
        for learner in (then, both):
            learner.learn(*make_rows(bank, 300, seed=2))
        assert_same_answers(then, both, bank, 1e-9)
    nothing, fresh = merged(empty.split(7)), AutoLearner(**BANKS[bank])
    for learner in (nothing, fresh):
        learner.learn(*make_rows(bank, 200, seed=2))
    assert_same_answers(fresh, nothing, bank, 1e-12)


@every_bank
def test_a_model_that_is_split_and_merged_all_the_time_is_judged_some_way_ahead_and_chooses_products(bank: str) -> None:
    """The steady answer's members are as old as in one stream, and pairs are judged by all events of an epoch."""
    model, alone = AutoLearner(**BANKS[bank], products=6), AutoLearner(**BANKS[bank], products=6)
    for number in range(60):
        parts = model.split(3)
        for k, part in enumerate(parts):
            X, y = make_rows(bank, 10, seed=100 + 3 * number + k)
            part.learn(X, y)
            alone.learn(X, y)
        model = merged(parts)
    assert alone.get_state()["frozen_at"] == 1024.0
    assert 900.0 <= model.get_state()["frozen_at"] <= 1200.0
    assert model.report().products, "none were chosen"
    state = model.get_state()
    assert np.any(state["pairs_squares"] > 0.0), "the epoch began anew at the last merge"


@every_bank
def test_a_part_with_a_share_of_few_events_is_saved_and_loaded(bank: str, tmp_path: Any) -> None:
    for count, parts in ((20, 40), (31, 2), (33, 5)):
        for part in learned(bank, count).split(parts):
            part.save(tmp_path / "part")
            again = AutoLearner.load(tmp_path / "part")
            assert again == part
            again.learn(*make_rows(bank, 40, seed=3))
            assert again.get_state()["frozen_at"] >= 16.0


def test_a_feature_that_never_varies_does_not_widen_what_is_known_of_others() -> None:
    """The expert that forgets lost its precision along such a feature, and with it the bound by which it forgets."""
    X, y = make_rows("numbers", 500, seed=0)
    model = AutoLearner("numbers")
    model.learn(X, y)
    again = merged(model.split(4))
    one, other = (np.sort(each.get_state()["full_newton_0.998.diagonal"]) for each in (model, again))
    assert other.max() == pytest.approx(one.max(), rel=1e-9)
