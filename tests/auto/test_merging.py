"""Automatic models that learned from different events become one; and the reverse."""

import itertools
from functools import reduce
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import odca
from auto.streams import TASKS, every_task
from odca import AutoLearner, cli
from odca.models.options import Answer

ANSWERS: tuple[Answer, ...] = ("live", "steady")
ROUNDING = 1e-9
CLEAR, IN_BETWEEN = (1.0, 0.9, 0.7, 0.8, 0.2, 0.1, 0.03), (1.0, 0.9, 0.6, 0.5, 0.4, 0.2, 0.03)
"""How often each feature occurs: so that all parts agree about which are dense, and so that they do not."""


def make_rows(kind: str, count: int = 1500, seed: int = 0, often: Any = IN_BETWEEN) -> tuple[Any, Any]:
    """Features that are dense and sparse; one is far from zero."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(count, 7)) * (rng.random((count, 7)) < often)
    X[:, 0] += 50.0
    z = X @ [0.2, 1.0, -1.0, 0.5, 0.3, 2.0, 3.0] - 10.0
    if kind == "numbers":
        return X, z + rng.normal(size=count)
    edges = [0.0] if kind == "two classes" else [-1.0, 0.0, 1.0]
    return X, np.digitize(z + rng.logistic(size=count), edges).astype(float)


def learned(kind: str, X: Any, y: Any) -> AutoLearner:
    learner = AutoLearner(TASKS[kind]["task"], classes=TASKS[kind]["classes"])
    learner.learn(X, y)
    return learner


def parts_of(kind: str, count: int, often: Any = IN_BETWEEN) -> list[AutoLearner]:
    X, y = make_rows(kind, often=often)
    return [learned(kind, X[k::count], y[k::count]) for k in range(count)]


def merged(learners: Any) -> AutoLearner:
    return reduce(AutoLearner.merge, learners)


def assert_same_answers(a: AutoLearner, b: AutoLearner, X: Any, answers: tuple[Answer, ...] = ANSWERS) -> None:
    for answer in answers:
        np.testing.assert_allclose(
            a.predict(X, answer=answer), b.predict(X, answer=answer), rtol=ROUNDING, atol=ROUNDING
        )


@every_task
def test_the_order_of_merging_does_not_matter(kind: str) -> None:
    X, _ = make_rows(kind, seed=1, often=CLEAR)
    a, b, c = parts_of(kind, 3, often=CLEAR)
    first = merged([a, b, c])
    for order in itertools.permutations([a, b, c]):
        assert_same_answers(first, merged(order), X)
    assert_same_answers(first, a.merge(b.merge(c)), X)
    assert first.count == a.count + b.count + c.count


@every_task
def test_the_order_of_merging_hardly_matters_where_features_are_dense_in_some_parts_alone(kind: str) -> None:
    """What experts with a full covariance know of a feature that others have not adopted depends on where its mean was then."""
    X, _ = make_rows(kind, seed=1)
    parts = parts_of(kind, 3)
    assert len({tuple(sorted(part.get_state()["full_features"])) for part in parts}) > 1
    first = merged(parts)
    for order in itertools.permutations(parts):
        again = merged(order)
        assert_same_answers(first, again, X, ("steady",))
        np.testing.assert_allclose(first.predict(X), again.predict(X), rtol=0.0, atol=0.02)


@every_task
def test_experts_with_a_full_covariance_know_after_merging_what_all_events_say(kind: str) -> None:
    """Sums over the events of both: the merge of eight models is close to one model of all events."""
    X, y = make_rows(kind, 4000, often=CLEAR)

    def slopes(learner: AutoLearner) -> Any:
        state, heads = learner.get_state(), 4 if kind == "several classes" else 1
        features = state["full_features"].astype(int)
        count, mean, square = state["table"].reshape(7, -1)[features, :3].T
        share = count / state["mass"][0]
        scale = np.sqrt(share * square / count + share * (1.0 - share) * mean**2)
        own = (state["full_newton.weights"].reshape(heads, -1)[:, 1:] / scale)[:, np.argsort(features)]
        return own - own.mean(axis=0) if heads > 1 else own

    parts = [learned(kind, X[k::8], y[k::8]) for k in range(8)]
    one, both = slopes(learned(kind, X, y)), slopes(merged(parts))
    assert np.abs(both - one).max() < 0.03 * np.abs(one).max()


@every_task
def test_the_parts_of_a_model_merge_to_the_model(kind: str) -> None:
    X, y = make_rows(kind)
    whole = learned(kind, X, y)
    for count in (1, 2, 5):
        again = merged(whole.split(count))
        assert again.count == whole.count
        assert_same_answers(again, whole, X)
        later = make_rows(kind, seed=2)
        again.learn(*later)
        copy = whole.copy()
        copy.learn(*later)
        # Steady weights are judged by members that were frozen at other events, so only the live answer stays as close.
        np.testing.assert_allclose(again.predict(X), copy.predict(X), rtol=1e-6, atol=1e-6)


@every_task
def test_parts_that_went_on_learning_and_met_new_features_merge_in_any_order(kind: str) -> None:
    X, y = make_rows(kind)
    parts = learned(kind, X, y).split(3)
    for seed, part in enumerate(parts, 5):
        more, labels = make_rows(kind, 40, seed=seed)
        own = np.zeros((40, 3))
        own[::7, seed - 5], own[::9, (seed - 4) % 3] = 1.0, 2.0  # two of the three know a feature
        part.learn(np.hstack([more, own]), labels)
    X, first = np.hstack([X, np.random.default_rng(0).normal(size=(len(X), 3))]), merged(parts)
    for order in itertools.permutations(parts):
        assert_same_answers(first, merged(order), X)
    assert_same_answers(first, parts[0].merge(parts[1].merge(parts[2])), X)


def test_newton_experts_merge_by_precision_with_the_prior_counted_once() -> None:
    """u = Σ(H_k + p_k)u_k / (ΣH_k + p) in the units of the feature, where p is a quarter of the prior: cpp/odca/experts/merging.cpp."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 8)) * (rng.random((300, 8)) < 0.2)
    y = (X.sum(axis=1) + 0.3 * rng.normal(size=300) > 0.0).astype(float)
    a, b = learned("two classes", X[::3], y[::3]), learned("two classes", X[1::3], y[1::3])
    records = [each.get_state()["table"].reshape(8, -1) for each in (a, b, a.merge(b))]
    count, mean, square, curvatures = (np.array([each[:, k] for each in records]) for k in (0, 1, 2, 4))
    scale = np.sqrt(square / count + mean**2)
    for expert, prior in ((5, 0.2), (6, 4.0)):
        u = np.array([each[:, 8 + expert] for each in records]) / scale
        precision = (curvatures + 0.25 * prior) * scale**2
        np.testing.assert_allclose(
            precision[2] * u[2], precision[0] * u[0] + precision[1] * u[1], rtol=1e-9, atol=1e-12
        )


@every_task
def test_parts_answer_as_the_model_does_and_are_saved_as_any_model(kind: str, tmp_path: Path) -> None:
    X, y = make_rows(kind)
    whole = learned(kind, X, y)
    for part in whole.split(3):
        np.testing.assert_allclose(
            part.predict(X, answer="steady"), whole.predict(X, answer="steady"), rtol=0.0, atol=1e-3
        )
        part.save(tmp_path / "part.safetensors")
        assert odca.load(tmp_path / "part.safetensors") == part


@every_task
def test_merging_shards_costs_little_and_never_collapses(kind: str) -> None:
    X, y = make_rows(kind, 6000)
    test, labels = make_rows(kind, 2000, seed=3)

    def loss(learner: AutoLearner) -> float:
        answers = learner.predict(test, answer="steady")
        if kind == "numbers":
            return float(np.mean((answers - labels) ** 2))
        chances = learner.probabilities(answers)
        return float(-np.log(chances[np.arange(len(labels)), labels.astype(int)]).mean())

    sequential = loss(learned(kind, X, y))
    for count, most in ((2, 1.03), (8, 1.1)):
        assert loss(merged(learned(kind, X[k::count], y[k::count]) for k in range(count))) < most * sequential


def test_a_model_that_learned_nothing_changes_nothing() -> None:
    X, y = make_rows("two classes")
    whole, empty = learned("two classes", X, y), AutoLearner("classes")
    assert_same_answers(whole.merge(empty), whole, X)
    assert_same_answers(empty.merge(whole), whole, X)


def test_features_and_classes_may_be_in_other_places() -> None:
    X, y = make_rows("two classes")
    a, b = parts_of("two classes", 2)
    order = [3, 1, 0, 2, 6, 5, 4]
    moved = AutoLearner("classes")
    moved.learn(X[1::2][:, order], 1.0 - y[1::2])
    assert_same_answers(a.merge(moved, features=order, classes=[1, 0]), a.merge(b), X)


def test_classes_of_both_are_known_to_the_merge() -> None:
    X, y = make_rows("several classes")
    few, many = y < 2.0, y >= 2.0
    a, b = learned("two classes", X[few], y[few]), learned("two classes", X[many], y[many] - 2.0)
    both = a.merge(b, classes=[2, 3])
    assert both.classes == 4
    chances = both.probabilities(both.predict(X, answer="steady"))
    assert np.allclose(chances.sum(axis=1), 1.0)
    assert np.isfinite(both.predict(X)).all()


def test_models_of_different_tasks_are_refused() -> None:
    with pytest.raises(ValueError, match="one learns classes, the other numbers"):
        AutoLearner("classes").merge(AutoLearner("numbers"))


@pytest.mark.parametrize(("features", "classes"), [([0], []), ([], [0]), ([-1] * 7, []), ([], [0, -1])])
def test_places_that_do_not_fit_are_refused(features: list[int], classes: list[int]) -> None:
    a, b = parts_of("two classes", 2)
    before = a.copy()
    with pytest.raises(ValueError, match="place"):
        a.merge(b, features=features, classes=classes)
    assert a == before


def test_files_of_automatic_models_are_merged_by_names_and_labels(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    rows = [(round(float(rng.normal()), 3), ["NZ", "FR", "DE"][n % 3], n) for n in range(900)]
    header = {"a": "price,country,label", "b": "country,price,label"}
    for name, third in (("a", ["yes", "no"]), ("b", ["no", "maybe"])):
        lines = [header[name]]
        for price, country, n in rows[:: 1 if name == "a" else -1]:
            label = third[int(price + (country == "NZ") > 0.3)]
            lines.append(f"{price},{country},{label}" if name == "a" else f"{country},{price},{label}")
            del n
        (tmp_path / f"{name}.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
        words = ["train", str(tmp_path / f"{name}.csv"), "--label", "label", "-o", str(tmp_path / name), "--quiet"]
        assert cli.main(words) == 0
    words = ["merge", str(tmp_path / "a"), str(tmp_path / "b"), "-o", str(tmp_path / "both")]
    assert cli.main(words) == 0
    model = odca.load(tmp_path / "both")
    assert set(model.classes) == {"yes", "no", "maybe"}
    assert model.metrics.events == 1800
    chances = model.predict([{"price": -2.0, "country": "FR"}, {"price": 2.0, "country": "NZ"}], "probabilities")
    no = model.classes.index("no")
    assert np.isfinite(chances).all()
    assert 0.1 < chances[0, no] < 0.9  # one of the two models said yes, the other no
