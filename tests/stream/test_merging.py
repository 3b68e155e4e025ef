"""Models of different data become one: by the names of features and classes, whatever their order."""

import json

import numpy as np
import pytest
import scipy.sparse as sp

from odca import ElasticNet, Exponential, HalfLife, Hinge, Infinite, Learner, LogLoss, Sliding, SquaredError
from odca.metrics import ClassMetrics, NumberMetrics
from odca.models.options import ModelOptions
from odca.stream import Features
from stream_files import events, libsvm, trained, vw, write

SAME = {"prior_strength": 1.0, "smoothing": 0.9}
WINDOWS = [Infinite(), Exponential(0.99), HalfLife(50.0), Sliding(duration=60.0)]


def one_name_lines(rng, names, count: int) -> list[str]:
    """Events of one feature each: dot products of one term are the same in any order of names."""
    return [f"{rng.choice([-1, 1])} |n {rng.choice(names)}:{rng.normal():.4f}\n" for _ in range(count)]


def as_arrays(lines: list[str], columns: list[str]):
    rows, labels = sp.lil_array((len(lines), len(columns))), []
    for number, line in enumerate(lines):
        label, feature = line.split(" |n ")
        name, value = feature.split(":")
        rows[number, columns.index(name)] = float(value)
        labels.append(float(label))
    return sp.csr_array(rows), np.array(labels)


@pytest.mark.parametrize("penalty", [None, ElasticNet(0.2)], ids=str)
@pytest.mark.parametrize("window", [Infinite(), Exponential(0.99)], ids=repr)
def test_merging_models_gives_the_same_bits_as_merging_learners_over_all_columns(window, penalty, tmp_path) -> None:
    rng = np.random.default_rng(5)
    first = one_name_lines(rng, ["a", "b", "c", "d"], 150)
    second = one_name_lines(rng, ["x", "d", "b", "y"], 170)
    given = {"window": window, "rho": 1e-5, **SAME, **({} if penalty is None else {"penalty": penalty})}
    models = [
        trained(write(tmp_path / f"{k}.vw", lines), ModelOptions(classes=(-1.0, 1.0), loss=LogLoss(), **given))
        for k, lines in enumerate((first, second))
    ]
    merged = models[0].merge(models[1])
    columns = [name.decode().removeprefix("n^") for name in merged.names]
    assert sorted(columns) == ["a", "b", "c", "d", "x", "y"]
    learners = []
    for lines in (first, second):
        X, y = as_arrays(lines, columns)
        learner = Learner(loss=LogLoss(), intercept=True, lanes=1, **given)
        learner.learn(X, y)
        learners.append(learner)
    expected = learners[0].merge(learners[1])
    assert np.array_equal(merged.learner.coef, expected.coef)
    # How often the lazy sums of w̄ are brought up to date depends on the number of features: only rounding differs.
    np.testing.assert_allclose(merged.learner.smoothed_coef, expected.smoothed_coef, rtol=1e-12, atol=1e-15)
    assert np.array_equal(merged.learner.intercept, expected.intercept)
    assert np.array_equal(merged.learner.dual_sum, expected.dual_sum)
    assert merged.learner.dual_objective() == expected.dual_objective()


def timed(tmp_path, window, **options):
    """Models of three parts of a stream whose names come in different orders, and the file of all events."""
    problem = ModelOptions(window=window, classes=(-1.0, 1.0), scale=False, **{"loss": LogLoss(), **SAME, **options})
    orders = [("a", "b", "c", "country"), ("c", "a", "country", "b"), ("country", "b", "c", "a")]
    everything = [{**each, "label": float(each["label"])} for each in events(300)]
    lines = [
        json.dumps({name: each[name] for name in ("label", "time", *orders[number % 3])}) + "\n"
        for number, each in enumerate(everything)
    ]
    models = [
        trained(write(tmp_path / f"part{k}.jsonl", lines[k::3]), problem, label="label", time="time") for k in range(3)
    ]
    return models, write(tmp_path / "all.jsonl", lines)


@pytest.mark.parametrize("window", WINDOWS, ids=repr)
def test_merging_is_associative_and_the_order_of_names_does_not_matter(window, tmp_path) -> None:
    (a, b, c), path = timed(tmp_path, window)
    left, right, backwards = a.merge(b).merge(c), a.merge(b.merge(c)), c.merge(b.merge(a))
    assert left.names == right.names
    assert left.names != backwards.names
    assert sorted(left.names) == sorted(backwards.names)
    margins = left.predict(path, "margins")
    for other in (right, backwards):
        np.testing.assert_allclose(other.predict(path, "margins"), margins, rtol=1e-10, atol=1e-10)
        assert other.learner.count == left.learner.count == 300
        np.testing.assert_allclose(other.learner.mass, left.learner.mass, rtol=1e-12)
    assert left.metrics.events == 300
    assert left.metrics.accuracy == pytest.approx(backwards.metrics.accuracy, rel=1e-12)


@pytest.mark.parametrize("how", ["hashed", "indices"])
def test_hashed_features_and_indices_merge_directly(how, tmp_path) -> None:
    form, features = (vw, Features(bits=12)) if how == "hashed" else (libsvm, Features())
    problem, parts = ModelOptions(**SAME), [events(100, 1), events(100, 2)]
    a, b = (
        trained(write(tmp_path / f"{k}.{form.__name__}", [form(each) for each in part]), problem, features=features)
        for k, part in enumerate(parts)
    )
    merged = a.merge(b)
    assert np.array_equal(merged.learner.coef, a.learner.merge(b.learner).coef)
    assert merged.vocabulary is None


def test_a_merged_model_can_learn_and_be_saved(tmp_path) -> None:
    (a, b, _), path = timed(tmp_path, Infinite(), loss=Hinge())
    merged = a.merge(b)
    merged.save(tmp_path / "merged.safetensors")
    again = type(merged).load(tmp_path / "merged.safetensors")
    assert np.array_equal(again.predict(path, "probabilities"), merged.predict(path, "probabilities"))
    assert a.learner.count == 100  # as it was


def test_the_strength_of_the_prior_is_the_first_models(tmp_path) -> None:
    a, b = (
        trained(write(tmp_path / f"{k}.vw", [vw(each) for each in events(80, k)]), ModelOptions(rho=1e-5))
        for k in range(2)
    )
    assert a.options.prior_strength != b.options.prior_strength
    merged = a.merge(b)
    assert merged.options.prior_strength == a.options.prior_strength
    assert np.array_equal(merged.learner.mass, a.learner.mass + b.learner.mass)


# Classes


def three(tmp_path, name: str, seed: int, classes=(), labels=("1", "2", "3"), **options):
    problem = ModelOptions(**{"task": "classes", "classes": classes, **SAME, **options})
    return trained(write(tmp_path / f"{name}.vw", [vw(each) for each in events(150, seed, labels)]), problem)


@pytest.mark.parametrize("loss", [LogLoss(), Hinge()], ids=repr)
def test_classes_in_another_order_are_the_same_classes(loss, tmp_path) -> None:
    a, b = three(tmp_path, "a", 1, loss=loss), three(tmp_path, "b", 2, loss=loss)
    shuffled = three(tmp_path, "c", 2, (3.0, 1.0, 2.0), loss=loss)
    one, other, path = a.merge(b), a.merge(shuffled), tmp_path / "b.vw"
    assert one.classes == other.classes == (1.0, 2.0, 3.0)
    assert np.array_equal(one.predict(path, "probabilities"), other.predict(path, "probabilities"))
    for score in (
        "loss",
        "log_loss",
    ):  # (of the first event all margins are zero: the first class is chosen, which differs)
        assert getattr(one.metrics, score) == pytest.approx(getattr(other.metrics, score), rel=1e-12)
    assert one.metrics.baselines() == other.metrics.baselines()


@pytest.mark.parametrize("loss", [LogLoss(), Hinge()], ids=repr)
def test_two_classes_in_opposite_order_merge_with_a_sign_flip(loss, tmp_path) -> None:
    two = {"labels": ("1", "2"), "loss": loss}
    a, b = three(tmp_path, "a", 1, (1.0, 2.0), **two), three(tmp_path, "b", 2, (1.0, 2.0), **two)
    swapped = three(tmp_path, "b", 2, (2.0, 1.0), **two)
    one, other, path = a.merge(b), a.merge(swapped), tmp_path / "b.vw"
    np.testing.assert_allclose(other.predict(path, "probabilities"), one.predict(path, "probabilities"), atol=1e-12)
    for score in ("loss", "log_loss", "calibration_error"):
        assert getattr(one.metrics, score) == pytest.approx(getattr(other.metrics, score), rel=1e-9)
    assert one.metrics.auc == pytest.approx(other.metrics.auc, abs=1e-3)  # a margin of zero is in another bin


def test_a_class_unknown_to_one_model_takes_its_spare_lane(tmp_path) -> None:
    a, b = three(tmp_path, "a", 1), three(tmp_path, "b", 2, labels=("1", "2", "3", "4"))
    assert (len(a.classes), len(b.classes)) == (3, 4)
    declared = three(tmp_path, "d", 1, (1.0, 2.0, 3.0, 4.0))
    path = tmp_path / "b.vw"
    assert np.array_equal(a.merge(b).predict(path, "probabilities"), declared.merge(b).predict(path, "probabilities"))
    assert b.merge(a).classes == (1.0, 2.0, 3.0, 4.0)


def test_a_third_class_cannot_be_merged_into_two(tmp_path) -> None:
    a, b = three(tmp_path, "a", 1, labels=("1", "2")), three(tmp_path, "b", 2)
    with pytest.raises(
        ValueError, match=r"1, 2 here and 1, 2, 3 there, and no class can be added to a model of two classes"
    ):
        a.merge(b)
    with pytest.raises(ValueError, match="Name them all before learning"):
        b.merge(a)


# Refusals


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"rho": 0.5}, r"rho is 'auto' here and 0\.5 there"),
        ({"loss": Hinge()}, r"loss is LogLoss\(\) here and Hinge\(\) there"),
        ({"window": Exponential(0.9)}, r"window is Automatic\(\) here and Exponential\(beta=0\.9\) there"),
        ({"penalty": ElasticNet(0.1)}, "penalty is"),
        ({"intercept": False}, "intercept is True here and False there"),
    ],
)
def test_models_of_other_problems_are_refused_by_name(change, message, tmp_path) -> None:
    path = write(tmp_path / "a.vw", [vw(each) for each in events(50)])
    with pytest.raises(ValueError, match=message):
        trained(path, ModelOptions(**SAME)).merge(trained(path, ModelOptions(**{**SAME, **change})))


def test_models_that_read_data_differently_are_refused(tmp_path) -> None:
    path = write(tmp_path / "a.vw", [vw(each) for each in events(50)])
    plain = trained(path, ModelOptions(**SAME))
    with pytest.raises(ValueError, match="bits is None here and 10 there"):
        plain.merge(trained(path, ModelOptions(**SAME), features=Features(bits=10)))
    other = trained(write(tmp_path / "a.svm", [libsvm(each) for each in events(50)]), ModelOptions(**SAME))
    with pytest.raises(ValueError, match="the features of one are libsvm's indices"):
        plain.merge(other)


def test_scaled_models_and_windows_counted_in_events_are_refused(tmp_path) -> None:
    path = write(tmp_path / "a.vw", [vw(each) for each in events(50)])
    scaled, short = trained(path, ModelOptions(scale=True)), trained(path, ModelOptions(window=Sliding(10)))
    with pytest.raises(ValueError, match="train with `scale=False`"):
        scaled.merge(scaled)
    with pytest.raises(ValueError, match=r"Sliding\(length\) window cannot be merged"):
        short.merge(short)


# Metrics


@pytest.mark.parametrize("classes", [2, 3])
def test_metrics_of_classes_add_up(classes) -> None:
    rng = np.random.default_rng(1)
    label, predicted = rng.integers(classes, size=(2, 200))
    margin, weight = rng.normal(size=200), rng.exponential(size=200)
    p = rng.dirichlet(np.ones(classes), size=200)

    def add(metrics: ClassMetrics, at: slice) -> ClassMetrics:
        two = {"margin": margin[at], "probability": p[at, 1]} if classes == 2 else {"probability": p[at]}
        metrics.add(label[at], predicted[at], np.abs(margin[at]), weight=weight[at], **two)
        return metrics

    merged = add(ClassMetrics(), slice(80)).merge(add(ClassMetrics(), slice(80, 200)), list(range(classes)))
    alone = add(add(ClassMetrics(), slice(80)), slice(80, 200))
    assert merged.scores() == pytest.approx(alone.scores(), rel=1e-12, nan_ok=True)
    assert merged.baselines()["best_constant"] == pytest.approx(alone.baselines()["best_constant"], rel=1e-12)
    assert (merged.events, merged.n_classes) == (200, classes)
    assert ClassMetrics.from_arrays(merged.as_arrays()).scores() == pytest.approx(merged.scores(), nan_ok=True)


def test_metrics_of_numbers_add_up() -> None:
    rng = np.random.default_rng(2)
    label, prediction, weight = rng.normal(3.0, 2.0, 200), rng.normal(size=200), rng.exponential(size=200)
    value = SquaredError().value

    def add(metrics: NumberMetrics, at: slice) -> NumberMetrics:
        metrics.add(label[at], prediction[at], (label - prediction)[at] ** 2, weight=weight[at])
        return metrics

    first, second = add(NumberMetrics(value), slice(80)), add(NumberMetrics(value), slice(80, 200))
    alone = add(add(NumberMetrics(value), slice(80)), slice(80, 200))
    nothing = NumberMetrics(value)
    for merged in (first.merge(second), second.merge(first), nothing.merge(alone), alone.merge(nothing)):
        assert merged.scores() == pytest.approx(alone.scores(), rel=1e-12)
        assert merged.baselines()["best_constant"] == pytest.approx(alone.baselines()["best_constant"], rel=1e-9)
        assert merged.events == 200
    row = first.merge(second)
    row.show_every(201)
    (told,) = row.add(np.array([1.0]), np.array([0.0]), np.array([7.0]))
    assert told.since_last == pytest.approx(7.0)
