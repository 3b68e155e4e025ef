"""What can be large is an array: a model of any size that was saved is loaded again."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import odca
from odca import Delta, EventLearner, Hinge, Learner, LogLoss, SquaredError
from odca.io import container, model_file
from odca.models.calibration import Calibration
from odca.models.linear import LinearLabels, LinearRegressor
from odca.models.options import ModelOptions
from odca.sklearn import ODCAClassifier
from odca.stream import Features
from odca.stream.checkpoint import Checkpoint
from odca.stream.model import StreamModel
from odca.stream.read.chunks import Position
from odca.stream.read.schema import Column, Roles, Schema
from odca.windows import Infinite


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "model.safetensors"


def a_stream_model(columns: int, classes: tuple[Any, ...] = (), **features: Any) -> StreamModel:
    schema = Schema(
        format="csv",
        features=Features(**features),
        roles=Roles(label="1"),
        columns=tuple(Column(str(k + 1), "number") for k in range(columns)),
        header=False,
    )
    options = ModelOptions(
        task="classes" if classes else "numbers",
        loss=LogLoss() if classes else SquaredError(),
        rho=1e-3,
        smoothing=0.0,
        prior_strength=1.0,
        scale=False,
        classes=classes,
    )
    lanes = len(classes) + 1 if classes else 1
    learner = Learner(**options.of_learner(lanes=lanes))
    return StreamModel.restored(
        model_file.ModelFile(
            "StreamModel",
            {"problem": options.as_options(), "schema": schema.as_options()},
            {"names": np.zeros(0, np.uint8), "name_ends": np.zeros(0, np.int64)},
            {"learner": learner.saved()},
        )
    )


def test_a_table_of_200_000_columns_is_saved_and_loaded(path: Path) -> None:
    model = a_stream_model(200_000)
    model.save(path)
    assert odca.load(path).schema == model.schema


def test_a_checkpoint_with_a_long_request_is_saved_and_loaded(path: Path) -> None:
    files = [f"/data/{'long' * 20}/{k}.csv" for k in range(200_000)]
    Checkpoint(a_stream_model(2), Position(3, 4, 5), 6, {"files": files}).save(path)
    assert Checkpoint.load(path).request["files"] == tuple(files)


def test_20_000_labels_of_a_class_are_saved_and_loaded(path: Path) -> None:
    names = tuple(f"{'a long name of a class ' * 40}{k}" for k in range(20_000))
    model = a_stream_model(2, names)
    model.save(path)
    assert odca.load(path).classes == names


@pytest.mark.parametrize("named", ["keep", "ignore", "categorical"])
def test_long_lists_of_fields_are_saved_and_loaded(named: str, path: Path) -> None:
    names = tuple(f"{'a long name of a field ' * 40}{k}" for k in range(20_000))
    model = EventLearner(loss=LogLoss(), **{named: ()})
    model._own[named] = names  # the check of the option is slow
    model_file.write(path, model.saved())
    assert model_file.read(path).options[named] == names


@pytest.mark.long
def test_priors_of_a_million_features_are_saved_and_loaded(path: Path) -> None:
    rng = np.random.default_rng(0)
    model = Learner(loss=SquaredError(), rho=0.1, prior_mean=rng.normal(size=1_000_000))
    model.save(path)
    assert Learner.load(path) == model


@pytest.mark.long
def test_strengths_of_a_million_lanes_are_saved_and_loaded(path: Path) -> None:
    model = Learner(loss=SquaredError(), rho=np.linspace(0.1, 0.2, 1_000_000))
    model.save(path)
    assert Learner.load(path) == model


@pytest.mark.long
def test_the_delta_of_a_learner_with_many_priors_is_read_again() -> None:
    model = Learner(loss=SquaredError(), rho=0.1, prior_mean=np.ones(1_000_000) / 3.0)
    base = model.copy()
    model.learn([[1.0]], [1.0])
    assert Delta.from_bytes(model.delta(base).to_bytes()).count == 1


@pytest.mark.parametrize("scored", ["labels", "outputs"])
def test_metrics_of_many_labels_and_outputs_have_as_many_arrays_as_those_of_two(scored: str) -> None:
    def saved(lanes: int) -> dict[str, Any]:
        loss = Hinge() if scored == "labels" else SquaredError()
        learner = Learner(loss=loss, lanes=lanes)
        model: Any = LinearLabels(learner) if scored == "labels" else LinearRegressor(learner)
        how: dict[str, Any] = {"sample_weight": None, "offset": None, "time": None}
        model.learn(np.ones((3, 1)), np.ones((3, lanes)), **how)
        arrays: dict[str, Any] = model.saved_metrics()
        other: Any = type(model)(learner)
        other.restore_metrics(arrays)
        assert other.metrics_by_output == model.metrics_by_output
        return arrays

    assert saved(30).keys() == saved(2).keys()


def test_the_calibration_of_many_classes_has_as_many_arrays_as_that_of_two() -> None:
    def saved(lanes: int) -> model_file.ModelFile:
        calibration = Calibration(lanes, Infinite())
        rng = np.random.default_rng(1)
        calibration.learn(rng.normal(size=(50, lanes)), np.sign(rng.normal(size=(50, lanes))))
        found = calibration.saved()
        assert Calibration.restored(found) == calibration
        return found

    assert saved(30).all_arrays().keys() == saved(2).all_arrays().keys()


@pytest.mark.long
def test_a_classifier_of_6000_classes_is_saved_and_loaded(path: Path) -> None:
    X = np.random.default_rng(0).normal(size=(20, 2))
    model = ODCAClassifier("hinge").partial_fit(X, np.arange(20), classes=np.arange(6000))
    model.save(path)
    np.testing.assert_array_equal(odca.load(path).predict_proba(X), model.predict_proba(X))


# What is too large


def test_what_could_not_be_read_again_replaces_no_file_and_is_named(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    good, large = Learner(loss=Hinge()), Learner(loss=SquaredError(), penalty_weights=np.ones(50_000))
    good.save(path)
    monkeypatch.setattr(model_file, "LONGEST_DESCRIPTION", 120_000)
    with pytest.raises(
        ValueError, match=r"cannot be saved: its description has \d+ bytes.*largest part is 'penalty_weights'"
    ):
        large.save(path)
    assert Learner.load(path) == good
    assert list(path.parent.iterdir()) == [path]


def test_too_many_arrays_are_refused_before_they_replace_a_file(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    good = Learner(loss=Hinge())
    good.save(path)
    monkeypatch.setattr(container, "LONGEST_HEADER", 10_000)
    parts = {"many": model_file.ModelFile("Part", {}, {str(k): np.zeros(1) for k in range(200)})}
    with pytest.raises(ValueError, match=r"cannot be saved: its header would have \d+ bytes.*largest part is 'many'"):
        model_file.write(path, model_file.ModelFile("Whole", {}, {}, parts))
    assert Learner.load(path) == good
