"""Model files and options that would make a model with numbers that are not finite, or with more memory than they are worth."""

import json
import math
import re
import resource
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import odca
import odca.river
from hostile.mutations import Contents
from hostile.specimens import specimen
from odca import AutoLearner, EventLearner, Hinge, Learner, SquaredError
from odca.metrics import NumberMetrics
from odca.models.auto_events import AutoEvents


@contextmanager
def little_memory(size: int) -> Iterator[None]:
    """No more memory than this beyond what is in use."""
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (used + size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


def loaded(name: str, change: Callable[[Contents], object], path: Path) -> Any:
    """The model of this name after a change of its file."""
    contents = Contents(specimen(name).data)
    change(contents)
    path.write_bytes(contents.packed())
    return specimen(name).load(path)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "model.safetensors"


# Memory


@pytest.mark.parametrize("classes", [4, 2**20, 20_000_000, 2**40, 10**30])
@pytest.mark.parametrize("name", ["AutoLearner two classes", "AutoLearner three classes"])
def test_a_small_file_that_claims_many_classes_takes_no_memory(name: str, classes: int, path: Path) -> None:
    with little_memory(64 * 2**20), pytest.raises(ValueError, match=r"classes"):
        loaded(name, lambda file: file.texts.update(options=f'{{"task": "classes", "classes": {classes}}}'), path)


def test_a_small_file_with_many_experts_takes_no_memory(path: Path) -> None:
    def add_experts(file: Contents) -> None:
        lines = "".join(f"{kind} {k}\n" for kind in ("row", "label") for k in range(3000))
        file.set_array("experts", np.frombuffer(lines.encode(), np.uint8))

    with little_memory(256 * 2**20), pytest.raises(ValueError, match="has the wrong length"):
        loaded("AutoLearner three classes", add_experts, path)


def test_an_automatic_learner_of_too_many_classes_is_refused_at_once() -> None:
    with little_memory(64 * 2**20):
        for classes in (2**20 + 1, 20_000_000, 2**40):
            with pytest.raises(ValueError, match="classes must be a whole number from 2 to 1048576"):
                AutoLearner("classes", classes=classes)


# Forms of arrays

FORMS = [
    "Learner l2 sliding",
    "AutoLearner two classes",
    "EventLearner",
    "AutoEvents two classes",
    "ODCAClassifier online",
]


def reshaped(form: str, array: str) -> Callable[[Contents], None]:
    def change(file: Contents) -> None:
        dtype, shape, content = file.entries[array]
        size = math.prod(shape)
        with np.errstate(invalid="ignore"):
            other = file.array(array).astype(np.int64 if dtype != "I64" else np.uint64)
        if form == "of another type":
            file.set_array(array, other)
        else:
            file.entries[array] = [dtype, [size, 1] if form == "a column" else [1, size], content]

    return change


@pytest.mark.parametrize("name", [*FORMS, "StreamModel calibrated"])
@pytest.mark.parametrize("form", ["a column", "a row", "of another type"])
def test_an_array_of_another_form_is_refused_in_plain_words(name: str, form: str, path: Path) -> None:
    arrays = [array for array in Contents(specimen(name).data).entries if "metrics." not in array]
    for array in arrays:
        with pytest.raises(ValueError, match=r"model\.safetensors cannot be loaded: ") as caught:
            loaded(name, reshaped(form, array), path)
        assert not re.search("bad_cast|incompatible|has no attribute", str(caught.value)), array


@pytest.mark.parametrize("classes", ["[0, 1, 2]", "[0.5, 1, false]"])
def test_classes_of_another_type_than_the_file_says_are_refused(classes: str, path: Path) -> None:
    def change(file: Contents) -> None:
        before = file.texts["options"]
        file.texts["options"] = before.replace('["no", "perhaps", "yes"]', classes)
        assert file.texts["options"] != before

    with pytest.raises(ValueError, match="its classes are not of type <U"):
        loaded("ODCAClassifier three, sliding", change, path)


def test_a_delta_with_an_array_of_another_form_is_refused() -> None:
    base = Learner(loss=SquaredError(), rho=0.1, smoothing=0.9)
    later = base.copy()
    later.learn(np.eye(3), [1.0, 2.0, 3.0])
    for name, array in later.delta(base).arrays.items():
        delta = later.delta(base)
        delta.arrays[name] = array.reshape(-1, 1)
        with pytest.raises(
            ValueError, match=f"the state's array '{name}' must be of .* and have one dimension; got an array of"
        ):
            base.apply(delta)


# Numbers


def number(array: str, place: int, value: float) -> Callable[[Contents], None]:
    def change(file: Contents) -> None:
        numbers = file.array(array).copy()
        numbers[place] = value
        file.set_array(array, numbers)

    return change


UNSOUND: dict[str, tuple[str, Callable[[Contents], None]]] = {
    "a dual sum beyond its bound": ("Learner l2 infinite", number("dual", 0, 1e300)),
    "a mass that is next to nothing": ("Learner l2 infinite", number("mass", 0, 1e-300)),
    "a mass without squares": ("Learner l2 infinite", number("squared_mass", 0, 0.0)),
    "more saturated than there is": ("Learner l2 infinite", number("saturated", 0, 1e10)),
    "a scale of a sliding window": ("Learner l2 sliding", number("scale", 1, 1e-10)),
    "a scale that has decayed too far": ("Learner l2 exponential", number("scale", 0, 1e-300)),
    "more events than anyone has": ("Learner l2 infinite", number("count", 0, 2**63)),
    "an event in the window that was never added": ("Learner l2 sliding", number("window.facts", 3, 50.0)),
    "a sum that the window does not have": ("Learner l2 sliding", number("dual", 0, 3.0)),
    "a smoothed sum beyond all numbers": ("Learner l2 exponential", number("smooth", 0, 1e307)),
    "a unit that is not that of the sums": ("Learner scaled", number("scaling.sums", 7 + 6, 1e200)),
    "a centre that is not that of the sums": ("Learner dense, scaled", number("scaling.sums", 5, 1e300)),
    "a strength below that of the options": ("Learner auto strength", number("constant", 0, -1e151)),
    "norms below the mass": ("AutoLearner two classes", number("norms", 0, 0.0)),
    "a count beyond the mass": ("AutoLearner two classes", number("table", 0, 1e10)),
    "a spread that no values have": ("AutoLearner two classes", number("table", 2, 1e300)),
    "weights of experts beyond all use": ("AutoLearner numbers", number("table", 9, 1e300)),
    "averages beyond all use": ("AutoLearner numbers", number("averages", 1, -1e300)),
    "weights of the Kalman mixer beyond all use": ("AutoLearner numbers", number("kalman", 1, 1e300)),
    "a covariance that is not definite": ("AutoLearner numbers", number("covariance", 0, 1e-30)),
    "counts that are not their mass": ("AutoLearner three classes", number("masses", 0, 1e30)),
    "labels beyond those that are allowed": ("AutoLearner numbers", number("high", 0, 1e300)),
    "residuals beyond those of labels": ("AutoLearner numbers", number("kalman_residual", 0, 1e300)),
    "a time that is none": ("AutoLearner numbers", number("last_time", 0, math.inf)),
    "a last time before the first": ("AutoLearner numbers", number("last_time", 0, -1.7e308)),
    "a history that would overflow": ("AutoLearner numbers", number("history_loss", 0, -1.7e308)),
}


@pytest.mark.parametrize("what", UNSOUND)
def test_a_file_of_a_model_that_cannot_be_is_refused(what: str, path: Path) -> None:
    name, change = UNSOUND[what]
    with pytest.raises(ValueError, match="cannot be loaded"):
        loaded(name, change, path)


def test_a_delta_that_would_make_weights_overflow_is_refused_and_changes_nothing() -> None:
    base = Learner(loss=SquaredError(), rho="auto")
    base.learn(np.eye(3), [1.0, 2.0, 3.0])
    later = base.copy()
    later.learn(np.eye(3), [2.0, 2.0, 1.0])
    for name, value in {"dual": 1e305, "constant": -1e151, "mass": -1e200, "squared_mass": -5.0}.items():
        delta = later.delta(base)
        delta.arrays[name][0] = value
        before = base.copy()
        with pytest.raises(ValueError, match=r"merged learner is not possible|not a valid state"):
            base.apply(delta)
        assert base == before


# Options


@pytest.mark.parametrize(
    "options",
    [
        {"prior_mean": [1.7e308]},
        {"prior_mean": [[1e300, 0.0]], "lanes": 1},
        {"prior_mean": [-math.inf]},
        {"intercept": True, "prior_intercept": 1.7e308},
        {"rho": 5e-324},
        {"rho": 1.7e308},
        {"rho": 0.0, "prior_strength": 5e-324},
        {"prior_strength": 1.7e308},
    ],
    ids=str,
)
def test_options_that_would_make_weights_overflow_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"1e\+?300|finite"):
        Learner(loss=SquaredError(), **options)


@pytest.mark.parametrize("smoothing", [0.0, 0.9, 1.0])
def test_a_learner_with_the_largest_prior_mean_predicts_finite_numbers(smoothing: float) -> None:
    learner = Learner(loss=Hinge(), rho=0.1, prior_mean=[9e299, -9e299], smoothing=smoothing)
    for _ in range(50):
        learner.learn([[1.0, 1.0]], [1.0])
    for weights in (learner.coef, learner.smoothed_coef, learner.predict(np.eye(2))):
        assert np.all(np.isfinite(weights))


def test_an_event_that_would_make_a_weight_overflow_is_refused() -> None:
    learner = Learner(loss=Hinge(), rho=1e-300, penalty_weights=[1e-300])
    with pytest.raises(odca.InputError, match="would overflow"):
        learner.learn([[1e-160]], [1.0])
    assert learner.count == 0


def test_a_strength_that_overflows_is_refused() -> None:
    learner = Learner(loss=SquaredError(), rho=1e300)
    with pytest.raises(odca.InputError, match=r"strength .* would overflow at row 1"):
        learner.learn([[1.0], [1.0]], [1.0, 1.0], sample_weight=[1e5, 1e9])
    assert learner.count == 0


def test_times_may_be_further_apart_than_the_largest_number(path: Path) -> None:
    learner = AutoLearner("numbers")
    learner.learn([[1.0]] * 60, np.arange(60.0), time=np.linspace(-1.0, 1.0, 60) * 1.7e308)
    learner.save(path)
    assert np.all(np.isfinite(AutoLearner.load(path).predict([[1.0]])))
    assert np.isfinite(learner.report().history).all()
    assert str(learner.report())


def test_an_explanation_that_overflows_is_refused() -> None:
    learner = EventLearner(loss=SquaredError(), rho=1e-3, scale=False)
    learner.learn_one({"a": 1.0}, 100.0)
    with pytest.raises(odca.InputError, match="the prediction for the event is not finite"):
        learner.explain_one({"a": 1.7e308})


def test_a_label_that_is_too_large_for_a_float_is_refused() -> None:
    for model in (EventLearner(loss=SquaredError()), AutoEvents("numbers")):
        with pytest.raises(ValueError, match="y is too large for a float"):
            model.learn_one({"a": 1.0}, 10**400)


@pytest.mark.parametrize("value", [np.datetime64("NaT"), np.float64(1.0), np.array(1.0), np.zeros((1, 1)), 1.0, None])
def test_a_state_with_something_that_is_no_vector_is_refused(value: object) -> None:
    learner = Learner(loss=SquaredError(), rho=0.1)
    learner.learn(np.eye(3), [1.0, 2.0, 3.0])
    before = learner.get_state()
    with pytest.raises(ValueError, match="'mass' must be of float64 and have one dimension"):
        learner.set_state({**before, "mass": value})
    assert all(np.array_equal(learner.get_state()[name], array) for name, array in before.items())


@pytest.mark.parametrize("estimator", [odca.AutoClassifier, odca.ODCAClassifier])
@pytest.mark.parametrize("starts", [[0, -5, 0], [0, 5, 0]])
def test_an_empty_sparse_matrix_whose_rows_are_nowhere_is_refused(estimator: Any, starts: list[int]) -> None:
    X = sp.csr_array((2, 4))
    X.indptr = np.array(starts, dtype=np.int32)
    with pytest.raises(ValueError, match="CSR"):
        estimator().fit(X, [0, 1])


def test_a_learner_that_counts_as_many_events_as_it_can_learns_no_more() -> None:
    learner = Learner(loss=SquaredError(), rho=0.1)
    learner.learn(np.eye(3), [1.0, 2.0, 3.0])
    learner.set_state({**learner.get_state(), "count": np.array([2**60 - 1], dtype=np.uint64)})
    learner.learn(np.eye(1, 3), [1.0])
    again = learner.copy()
    again.set_state(learner.get_state())
    with pytest.raises(ValueError, match="more events than can be counted"):
        learner.learn(np.eye(1, 3), [1.0])
    assert learner == again


@pytest.mark.parametrize("events", [0, 3])
@pytest.mark.parametrize(
    ("array", "place"), [("0.low", 40), ("0.high", 40), ("0.node_sum", 0), ("0.node_low", 0), ("0.node_high", 0)]
)
def test_a_smoothed_learner_with_a_past_that_has_no_events_is_refused(events: int, array: str, place: int) -> None:
    learner = Learner(loss=Hinge(), penalty=odca.ElasticNet(0.1), rho=0.1, smoothing=0.9)
    learner.learn(np.eye(1, 4).repeat(events, axis=0), [1.0] * events)
    state = {name: values.copy() for name, values in learner.get_state().items()}
    state[f"timeline.{array}"][place] = 1e160
    with pytest.raises(ValueError, match="inconsistent"):
        learner.set_state(state)


def test_scores_of_labels_that_are_as_large_as_can_be_are_read_back() -> None:
    metrics = NumberMetrics(lambda z, y: (np.asarray(z) - y) ** 2)
    labels = np.array([1.7e308, -1.7e308, 1.7e308, 0.0, -1.7e308])
    with np.errstate(over="ignore"):
        metrics.add(labels, np.zeros(5), np.zeros(5))
    again = NumberMetrics.from_arrays(metrics.as_arrays()).as_arrays()
    assert all(np.array_equal(again[name], array) for name, array in metrics.as_arrays().items())
    assert metrics.baselines()  # without a warning


@pytest.mark.parametrize("kind", ["AutoClassifier", "ODCAClassifier"])
def test_labels_of_few_bits_beside_large_ones_are_classes_like_others(kind: str) -> None:
    model = getattr(odca.river, kind)()
    for label in (1e300, np.float16(1.5), np.float32(2.5), np.float16(1.5), 1e300):
        model.learn_one({"a": 1.0}, label)
    assert set(model.predict_proba_one({"a": 1.0})) == {1e300, 1.5, 2.5}


def test_a_file_of_an_automatic_classifier_with_weights_that_are_none_is_refused(path: Path) -> None:
    model = odca.AutoClassifier().partial_fit(np.eye(2), [0, 1])
    model.class_weight = 0.5
    model.save(path)
    with pytest.raises(ValueError, match="class_weight must be a dictionary or None"):
        odca.load(path)


def without_request(contents: Contents) -> str:
    return json.dumps({**json.loads(contents.texts["options"]), "request": "X"})


def test_a_checkpoint_whose_request_is_no_dictionary_is_refused(path: Path) -> None:
    with pytest.raises(ValueError, match="its request is not a dictionary"):
        loaded("Checkpoint auto", lambda contents: contents.texts.update(options=without_request(contents)), path)


def test_weights_of_events_and_classes_whose_product_overflows_are_refused() -> None:
    for estimator in (odca.AutoClassifier, odca.ODCAClassifier):
        model = estimator(class_weight={0: 1e300})
        with pytest.raises(ValueError, match="weight"):
            model.partial_fit(np.eye(2), [0, 1], sample_weight=[1e300, 1.0])
