"""Files of stream models and checkpoints: bit for bit, and nothing that is not a model gets in."""

import json
from pathlib import Path

import numpy as np
import pytest

import odca
from odca import ElasticNet, Exponential, Hinge, stream
from odca.io import model_file
from odca.io.stacking import stack, unstack
from odca.models.options import ModelOptions
from odca.stream import Features, Position
from odca.stream.checkpoint import Checkpoint
from odca.stream.model import StreamModel
from stream_files import events, libsvm, trained, vw, write

DATA = Path(__file__).resolve().parent.parent / "data"
MODELS = {
    "two classes": (vw, {}, ModelOptions(), Features()),
    "calibrated": (vw, {}, ModelOptions(loss=Hinge(), window=Exponential(0.99)), Features()),
    "three classes": (vw, {"labels": ("1", "2", "3")}, ModelOptions(task="classes", loss=Hinge()), Features()),
    "numbers": (vw, {"labels": ("1", "2", "3")}, ModelOptions(penalty=ElasticNet(0.1)), Features()),
    "hashed": (vw, {}, ModelOptions(), Features(bits=10, interactions=(("n", "country"),))),
    "indices": (libsvm, {}, ModelOptions(scale=True), Features()),
}


def a_model(name: str, tmp_path: Path) -> tuple[StreamModel, str]:
    form, about, problem, features = MODELS[name]
    path = write(tmp_path / f"data.{form.__name__}", [form(each) for each in events(120, **about)])
    return trained(path, problem, features=features), path


@pytest.mark.parametrize("name", MODELS)
def test_a_loaded_model_equals_the_saved_one_and_continues_like_it(name: str, tmp_path: Path) -> None:
    model, path = a_model(name, tmp_path)
    model.save(tmp_path / "one.safetensors")
    twin = odca.load(tmp_path / "one.safetensors")
    assert type(twin) is StreamModel
    for each in (model, twin):
        with stream.open(path, schema=each.schema, vocabulary=each.vocabulary) as blocks:
            for block in blocks:
                each.learn(block)
    model.save(tmp_path / "one.safetensors")
    twin.save(tmp_path / "two.safetensors")
    assert (tmp_path / "one.safetensors").read_bytes() == (tmp_path / "two.safetensors").read_bytes()
    assert np.array_equal(model.predict(path, "margins"), twin.predict(path, "margins"))


def test_a_checkpoint_is_loaded_by_the_same_function_as_a_model(tmp_path: Path) -> None:
    model, path = a_model("two classes", tmp_path)
    Checkpoint(model, Position(0, 17, 2), 3, {"rho": "auto"}).save(tmp_path / "state.safetensors")
    found = odca.load(tmp_path / "state.safetensors")
    assert (found.position, found.bad_lines, found.request) == (Position(0, 17, 2), 3, {"rho": "auto"})
    assert np.array_equal(found.model.predict(path), model.predict(path))


SPOILS = {
    "no problem": lambda m: m.options.pop("problem"),
    "no schema": lambda m: m.options.pop("schema"),
    "no learner": lambda m: m.parts.pop("learner"),
    "another task": lambda m: m.options["problem"].update(task="os.system"),
    "numbers with classes": lambda m: m.options["problem"].update(task="numbers"),
    "one class": lambda m: m.options["problem"].update(classes=[1.0]),
    "a class twice": lambda m: m.options["problem"].update(classes=[1.0, 2.0, 2.0]),
    "a class that is none": lambda m: m.options["problem"].update(classes=[1.0, 2.0, [3.0]]),
    "too many classes": lambda m: m.options["problem"].update(classes=[float(k) for k in range(9)]),
    "another rho": lambda m: m.options["problem"].update(rho="much"),
    "another window": lambda m: m.options["problem"].update(window=Exponential(0.5)),
    "unknown option": lambda m: m.options["problem"].update(command="rm"),
    "another format": lambda m: m.options["schema"].update(format="exe"),
    "unknown part of the schema": lambda m: m.options["schema"].update(command="rm"),
    "a delimiter of two": lambda m: m.options["schema"].update(delimiter=";;"),
    "a header that is a number": lambda m: m.options["schema"].update(header=1),
    "a role that is a number": lambda m: m.options["schema"]["roles"].update(label=3),
    "a column of no kind": lambda m: m.options["schema"].update(columns=[{"name": "a", "kind": "x", "is_time": False}]),
    "a column without name": lambda m: m.options["schema"].update(
        columns=[{"name": 1, "kind": "number", "is_time": False}]
    ),
    "bits": lambda m: m.options["schema"]["features"].update(bits=99),
    "names that end before they begin": lambda m: m.arrays.update(name_ends=m.arrays["name_ends"][::-1].copy()),
    "names that are cut short": lambda m: m.arrays.update(names=m.arrays["names"][:-1]),
    "too few names": lambda m: m.arrays.update(names=m.arrays["names"][:0], name_ends=m.arrays["name_ends"][:0]),
    "a name twice": lambda m: m.arrays.update(
        names=np.frombuffer(b"aabb" * 10, np.uint8), name_ends=np.arange(1, 41, dtype=np.int64)
    ),
    "no calibration": lambda m: m.parts.pop("calibration"),
    "calibration of fewer": lambda m: m.parts["calibration"].arrays.update(
        stack(unstack(m.parts["calibration"].arrays)[1:])
    ),
    "metrics of another shape": lambda m: m.arrays.update({"metrics.sums": np.zeros(7)}),
    "metrics that are none": lambda m: m.arrays.update({"metrics.progress": np.full(4, np.nan)}),
    "no metrics": lambda m: m.arrays.pop("metrics.gaps"),
    "the learner's state": lambda m: m.parts["learner"].arrays.update(dual=np.ones(3)),
    "the learner's lanes": lambda m: m.parts["learner"].options.update(lanes=10**6),
}
OF_CHECKPOINTS = {
    "no position": lambda m: m.options.pop("position"),
    "a position before the beginning": lambda m: m.options["position"].update(offset=-1),
    "a position that is no number": lambda m: m.options["position"].update(line="7"),
    "bad lines that are no number": lambda m: m.options.update(bad_lines=0.5),
    "no request": lambda m: m.options.pop("request"),
    "no model": lambda m: m.parts.pop("model"),
}


def require_refused(saved: model_file.ModelFile, tmp_path: Path) -> None:
    model_file.write(tmp_path / "bad.safetensors", saved)
    with pytest.raises(ValueError, match=r"bad\.safetensors"):
        odca.load(tmp_path / "bad.safetensors")


@pytest.mark.parametrize("name", SPOILS)
def test_crafted_models_are_refused(name: str, tmp_path: Path) -> None:
    saved = a_model("three classes", tmp_path)[0].saved()
    SPOILS[name](saved)
    require_refused(saved, tmp_path)


@pytest.mark.parametrize("name", OF_CHECKPOINTS)
def test_crafted_checkpoints_are_refused(name: str, tmp_path: Path) -> None:
    saved = Checkpoint(a_model("two classes", tmp_path)[0], Position(), 0, {}).saved()
    OF_CHECKPOINTS[name](saved)
    require_refused(saved, tmp_path)


def test_damaged_files_are_refused_wherever_they_are_damaged(tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    a_model("calibrated", tmp_path)[0].save(path)
    data, rng = path.read_bytes(), np.random.default_rng(0)
    for at in rng.integers(0, len(data), 100):
        path.write_bytes(data[:at] + bytes([data[at] ^ 1 << int(rng.integers(8))]) + data[at + 1 :])
        with pytest.raises(ValueError, match=r"model\.safetensors"):
            odca.load(path)
    for end in rng.integers(0, len(data), 50):
        path.write_bytes(data[:end])
        with pytest.raises(ValueError, match=r"model\.safetensors"):
            odca.load(path)


def test_a_stream_file_of_version_1_stays_readable(tmp_path: Path) -> None:
    """model_v1_stream.safetensors was written by odca 0.1.0, of the model "three classes" above, and is never changed."""
    model = odca.load(DATA / "model_v1_stream.safetensors")
    kept = json.loads((DATA / "model_v1_stream.json").read_text(encoding="utf-8"))
    path = write(tmp_path / "data.vw", kept["lines"])
    np.testing.assert_allclose(model.predict(path, "probabilities"), kept["probabilities"], rtol=1e-12)
    assert model.metrics.scores() == pytest.approx(kept["scores"], rel=1e-12, nan_ok=True)
    with stream.open(path, schema=model.schema, vocabulary=model.vocabulary) as blocks:
        for block in blocks:
            model.learn(block)
    assert model.metrics.events == 120 + len(kept["lines"])
