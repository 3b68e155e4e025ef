"""`odca inspect`: what a model is, and its weights by name."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from odca import EventLearner, Exponential, Learner, LogLoss, ODCAClassifier, ODCARegressor, cli
from odca import river as odca_river
from odca.features.spec import feature_name
from odca.models.options import ModelOptions
from odca.stream import Features, Position
from odca.stream.checkpoint import Checkpoint
from odca.stream.hashed_names import hashed
from stream_files import events, libsvm, trained, vw, write

DATA = Path(__file__).resolve().parent.parent / "data"


@pytest.fixture
def inspect(capsys: pytest.CaptureFixture[str]):
    """The exit code and the objects of --json."""

    def run(*words: object) -> tuple[int, dict, list[dict]]:
        code = cli.main(["inspect", *map(str, words), "--json"])
        told = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
        return code, next((each for each in told if each.get("event") == "summary"), {}), told

    return run


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "model.safetensors"


def vw_model(path: Path, problem: ModelOptions = ModelOptions(), count: int = 200, **how):  # noqa: B008 - frozen
    model = trained(write(path.with_name("data.vw"), [vw(each) for each in events(count)]), problem, **how)
    model.save(path)
    return model


def test_inspect_shows_the_model_and_its_training_so_far(inspect, path: Path) -> None:
    model = vw_model(path, ModelOptions(window=Exponential(0.99), rho=0.01))
    code, summary, _ = inspect(path)
    assert code == 0
    about = summary["model"]
    assert (about["kind"], about["loss"], about["penalty"], about["rho"]) == ("StreamModel", "LogLoss()", "L2()", 0.01)
    assert (about["task"], about["classes"], about["intercept"], about["scale"]) == (
        "classes",
        ["-1", "1"],
        True,
        False,
    )
    window = summary["window"]
    assert (window["window"], window["events"]) == ("Exponential(beta=0.99)", 200)
    assert window["mass"] == pytest.approx(model.learner.mass[0])
    assert window["effective_sample_size"] == pytest.approx(model.learner.effective_sample_size[0])
    assert summary["data"] == {"format": "vw", "features": "names"}
    assert summary["predictions"]["accuracy"] == model.metrics.accuracy
    assert "best_constant_accuracy" in summary["baselines"]


def test_weights_are_listed_by_name_largest_first(inspect, path: Path) -> None:
    model = vw_model(path)
    _, summary, told = inspect(path, "--top", "3")
    weights = model.learner.smoothed_coef[0]
    order = np.argsort(-np.abs(weights))[:3]
    assert [(each["feature"], each["weight"]) for each in told if each["event"] == "weight"] == [
        (feature_name(model.names[place]), weights[place]) for place in order
    ]
    sizes = summary["weights"]
    assert sizes["l1_norm"] == pytest.approx(np.abs(weights).sum())
    assert sizes["l2_norm"] == pytest.approx(np.linalg.norm(weights))
    assert sizes["largest"] == np.abs(weights).max()
    assert (sizes["features"], sizes["not_zero"], sizes["share"]) == (7, 7, 1.0)
    assert sizes["intercept"] == model.learner.smoothed_intercept[0]


def test_every_class_has_weights_of_its_own(inspect, path: Path, tmp_path: Path) -> None:
    data = write(tmp_path / "data.vw", [vw(each) for each in events(200, labels=("1", "2", "3"))])
    model = trained(data, ModelOptions(task="classes"))
    model.save(path)
    _, summary, told = inspect(path, "--top", "1")
    assert "weights" not in summary
    assert [each["of"] for each in told if each["event"] == "weights"] == ["1", "2", "3"]
    largest = [each for each in told if each["event"] == "weight"]
    assert [each["of"] for each in largest] == ["1", "2", "3"]
    for row, each in zip(model.learner.smoothed_coef, largest, strict=False):
        assert abs(each["weight"]) == np.abs(row).max()


def test_all_weights_are_written_as_a_table_or_as_json(path: Path, tmp_path: Path, capsys) -> None:
    model = vw_model(path)
    assert cli.main(["inspect", str(path), "--all"]) == 0
    head, *lines = capsys.readouterr().out.splitlines()
    assert head == "feature\tweight"
    found = {line.split("\t")[0]: float(line.split("\t")[1]) for line in lines}
    assert found.pop("(intercept)") == model.learner.smoothed_intercept[0]
    assert found == dict(zip(map(feature_name, model.names), model.learner.smoothed_coef[0], strict=True))
    assert cli.main(["inspect", str(path), "--all", "--json", "-o", str(tmp_path / "all.jsonl")]) == 0
    assert capsys.readouterr().out == ""
    objects = [json.loads(line) for line in (tmp_path / "all.jsonl").read_text().splitlines()]
    assert {each["feature"]: each["weight"] for each in objects[1:]} == found


def test_zero_weights_are_omitted(path: Path, tmp_path: Path, capsys) -> None:
    trained(write(tmp_path / "a.svm", ["1 3:1 900:1\n", "-1 3:-1\n"])).save(path)
    assert cli.main(["inspect", str(path), "--all"]) == 0
    assert [line.split("\t")[0] for line in capsys.readouterr().out.splitlines()] == [
        "feature",
        "(intercept)",
        "3",
        "900",
    ]


# Hashed names


def test_names_of_hashed_features_can_be_recovered_from_data(inspect, path: Path) -> None:
    model = vw_model(path, features=Features(bits=16, interactions=(("n", "country"),)))
    _, _, told = inspect(path)
    assert all(each["feature"].startswith("hash ") for each in told if each["event"] == "weight")
    _, _, told = inspect(path, "--data", path.with_name("data.vw"), "--top", "100")
    found = {each["feature"]: each["weight"] for each in told if each["event"] == "weight"}
    assert {"n^a", "n^b", "country^NZ", "n^a * country^NZ"} <= set(found)
    assert not any(name.startswith("hash ") for name in found)
    named = vw_model(path, features=Features(interactions=(("n", "country"),)))
    expected = dict(zip(map(feature_name, named.names), named.learner.smoothed_coef[0], strict=True))
    assert found == pytest.approx(expected, rel=1e-9)  # no two names meet in 16 bits; sums run in another order
    assert model.learner.count == 200


def test_the_python_hash_equals_the_cores(tmp_path: Path) -> None:
    from odca import stream

    names = ["a", "größe", "", "x" * 100, "7"]
    data = write(tmp_path / "a.vw", [f"1 |{name or 'n'} b{number}\n" for number, name in enumerate(names)])
    with stream.open(data, features=Features(bits=30)) as blocks:
        (block,) = blocks
        expected = [hashed(f"{name or 'n'}^b{number}".encode(), 30) for number, name in enumerate(names)]
        assert block.rows.indices.tolist() == expected
    three = Features(bits=25, interactions=(("a", "b", "c"), ("b", "b")))
    with stream.open(write(tmp_path / "b.vw", ["1 |a x |b y z |c w\n"]), features=three) as blocks:
        (block,) = blocks
        keys = [b"a^x", b"b^y", b"b^z", b"c^w", b"b^y\xfdb^y", b"b^y\xfdb^z", b"b^z\xfdb^z"]
        keys += [b"a^x\xfdb^y\xfdc^w", b"a^x\xfdb^z\xfdc^w"]
        assert sorted(block.rows.indices.tolist()) == sorted(hashed(key, 25) for key in keys)


def test_names_are_not_recovered_for_a_model_that_stores_them(inspect, path: Path, tmp_path: Path) -> None:
    vw_model(path)
    code, _, told = inspect(path, "--data", path.with_name("data.vw"))
    assert code == cli.REFUSED
    assert "not hashed" in told[-1]["text"]
    Learner(loss=LogLoss()).save(path)
    with pytest.raises(SystemExit):
        inspect(path, "--data", tmp_path / "data.vw")


# Changes


def test_changes_since_another_model_are_listed_by_name(inspect, path: Path, tmp_path: Path) -> None:
    rows = events(200)
    lines = [vw(each) for each in rows]
    before = trained(write(tmp_path / "one.vw", [line for line in lines[:100] if "NZ" not in line]))
    before.save(tmp_path / "before.safetensors")
    after = trained(write(tmp_path / "two.vw", lines))
    after.save(path)
    code, summary, told = inspect(path, "--since", tmp_path / "before.safetensors", "--top", "100")
    assert code == 0
    changes = summary["changes"]
    assert changes["events"] == 200 - before.learner.count
    assert (changes["new_features"], changes["names_of_new_features"]) == (1, ["country^NZ"])
    old = dict(zip(before.names, before.learner.smoothed_coef[0], strict=True))
    new = dict(zip(after.names, after.learner.smoothed_coef[0], strict=True))
    difference = {feature_name(name): weight - old.get(name, 0.0) for name, weight in new.items()}
    rows_told = {each["feature"]: each for each in told if each["event"] == "change"}
    assert {name: each["change"] for name, each in rows_told.items() if name != "(intercept)"} == pytest.approx(
        difference
    )
    assert rows_told["country^NZ"]["before"] == 0.0
    assert changes["norm_of_difference"] == pytest.approx(np.linalg.norm(list(difference.values())))


def test_models_that_cannot_be_compared_are_refused(inspect, path: Path, tmp_path: Path) -> None:
    vw_model(path)
    for other in (Learner(loss=LogLoss()), trained(write(tmp_path / "a.svm", [libsvm(each) for each in events(50)]))):
        other.save(tmp_path / "other.safetensors")
        code, _, told = inspect(path, "--since", tmp_path / "other.safetensors")
        assert code == cli.REFUSED
        assert "cannot be compared" in told[-1]["text"]


# Other kinds


def test_every_kind_of_model_can_be_inspected(inspect, path: Path) -> None:
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(60, 2)), columns=["größe", "b"])
    two = EventLearner(loss=LogLoss(), missing="indicate")
    for number, event in enumerate(frame.to_dict("records")):
        two.learn_one({**event, "c": "NZ", "d": None}, number % 2)
    rivers = odca_river.ODCAClassifier()
    for number, event in enumerate(frame.to_dict("records")):
        rivers.learn_one(event, ["x", "y", "z"][number % 3])
    learner = Learner(loss=LogLoss(), lanes=2)
    learner.learn(frame.to_numpy(), np.ones(60))
    cases = [
        (learner, "Learner", {"0", "1"}, {"0", "1"}),
        (two, "EventLearner", {"größe", "b", "c=NZ", "d is missing"}, {""}),
        (rivers, "river.ODCAClassifier", {"größe", "b"}, {"x", "y", "z"}),
        (ODCAClassifier().fit(frame, np.arange(60) % 2), "sklearn.ODCAClassifier", {"größe", "b"}, {""}),
        (ODCARegressor().fit(frame, frame), "sklearn.ODCARegressor", {"größe", "b"}, {"0", "1"}),
    ]
    for model, kind, names, outputs in cases:
        model.save(path)
        code, summary, told = inspect(path)
        assert code == 0
        assert (summary["model"]["kind"], summary["window"]["events"]) == (kind, 60)
        weights = [each for each in told if each["event"] == "weight"]
        assert {each["feature"] for each in weights} == names, kind
        assert {each.get("of", "") for each in weights} == outputs, kind


@pytest.mark.parametrize("kept", sorted(DATA.glob("*.safetensors")), ids=lambda each: each.stem)
def test_the_output_of_inspect_is_readable_text(kept: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["inspect", str(kept), "--top", "2"]) == 0
    shown = capsys.readouterr().out
    sections = ["experts, by their weight"] if kept.stem.startswith("auto") else ["effective sample size", "feature"]
    assert all(section in shown for section in sections)


def test_inspecting_a_checkpoint_shows_its_model(inspect, path: Path) -> None:
    Checkpoint(vw_model(path), Position(), 0, {}).save(path)
    code, summary, told = inspect(path)
    assert (code, summary["model"]["kind"]) == (0, "StreamModel")
    assert "is a checkpoint" in told[0]["text"]
