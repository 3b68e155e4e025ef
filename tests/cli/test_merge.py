"""`odca merge`: files to one file."""

import json
from pathlib import Path

import numpy as np
import pytest

import odca
from odca import Exponential, Learner, LogLoss, ODCAClassifier, SquaredError, cli
from odca.models.options import ModelOptions
from odca.stream import Position
from odca.stream.checkpoint import Checkpoint
from stream_files import events, trained, vw, write


@pytest.fixture
def merge(capsys: pytest.CaptureFixture[str]):
    """The exit code, the summary and what is told on stderr."""

    def run(*words: object) -> tuple[int, dict, str]:
        code = cli.main(["merge", *map(str, words), "--json"])
        captured = capsys.readouterr()
        told = [json.loads(line) for line in captured.out.splitlines()]
        return code, next((each for each in told if each["event"] == "summary"), {}), captured.err

    return run


def parts(tmp_path: Path, count: int = 3) -> list[Path]:
    """Models of different events, as `odca train` writes them."""
    paths = []
    for k in range(count):
        data = write(tmp_path / f"part{k}.vw", [vw(each) for each in events(100, k)])
        paths.append(tmp_path / f"part{k}.safetensors")
        assert cli.main(["train", data, "-o", str(paths[-1]), "--loss", "log_loss", "--quiet"]) == 0
    return paths


def test_models_of_train_are_merged_in_order(merge, tmp_path: Path) -> None:
    paths, out = parts(tmp_path), tmp_path / "all.safetensors"
    before = [path.read_bytes() for path in paths]
    code, summary, _ = merge(*paths, "-o", out)
    assert code == 0
    assert (summary["merged"]["models"], summary["merged"]["events"]) == (3, 300)
    a, b, c = (odca.load(path) for path in paths)
    expected, found, data = a.merge(b).merge(c), odca.load(out), tmp_path / "part0.vw"
    assert np.array_equal(found.predict(data, "margins"), expected.predict(data, "margins"))
    assert summary["predictions"]["accuracy"] == pytest.approx(
        np.mean([odca.load(path).metrics.accuracy for path in paths])
    )
    assert [path.read_bytes() for path in paths] == before


def test_a_merge_predicts_as_well_as_its_parts(merge, tmp_path: Path) -> None:
    paths, out = parts(tmp_path, 4), tmp_path / "all.safetensors"
    merge(*paths, "-o", out)
    rows = events(500, 77)
    data = write(tmp_path / "test.vw", [vw(each) for each in rows])

    def accuracy(path: Path) -> float:
        predicted = odca.load(path).predict(data)
        return float(np.mean([label == float(each["label"]) for label, each in zip(predicted, rows, strict=True)]))

    assert accuracy(out) >= np.mean([accuracy(path) for path in paths]) - 0.01


def test_learners_are_merged_too(merge, tmp_path: Path) -> None:
    rng, learners = np.random.default_rng(0), []
    for k in range(2):
        learner = Learner(loss=SquaredError(), rho=0.1)
        learner.learn(rng.normal(size=(50, 3 + k)), rng.normal(size=50))
        learner.save(tmp_path / f"{k}.safetensors")
        learners.append(learner)
    code, summary, _ = merge(tmp_path / "0.safetensors", tmp_path / "1.safetensors", "-o", tmp_path / "m.safetensors")
    assert code == 0
    assert summary == {"event": "summary", "merged": {**summary["merged"], "events": 100, "features": 4}}
    assert odca.load(tmp_path / "m.safetensors") == learners[0].merge(learners[1])


def test_merging_a_checkpoint_uses_its_model(merge, tmp_path: Path) -> None:
    first, second = parts(tmp_path, 2)
    Checkpoint(odca.load(second), Position(), 0, {}).save(second)
    code, summary, _ = merge(first, second, "-o", tmp_path / "m.safetensors")
    assert (code, summary["merged"]["events"]) == (0, 200)


def test_models_that_cannot_be_merged_are_named_and_nothing_is_written(merge, tmp_path: Path) -> None:
    first, second = parts(tmp_path, 2)
    other, out = tmp_path / "other.safetensors", tmp_path / "m.safetensors"
    data = str(tmp_path / "part0.vw")
    cases = [
        (
            trained(data, ModelOptions(window=Exponential(0.9))),
            f"window is Automatic() in the merger of {first}, {second} and Exponential(beta=0.9) in {other}. Train both with the same --window",
        ),
        (Learner(loss=LogLoss()), "holds a Learner, but the models before it are StreamModels"),
        (ODCAClassifier().fit([[0.0], [1.0]], [0, 1]), "holds a ODCAClassifier, which cannot be merged"),
        (
            trained(data, ModelOptions(scale=True)),
            f"scale is False in the merger of {first}, {second} and True in {other}",
        ),
    ]
    for model, message in cases:
        model.save(other)
        code, _, told = merge(first, second, other, "-o", out)
        assert code == cli.REFUSED
        assert message in told
        assert "other.safetensors" in told
        assert not out.exists()


def test_merging_a_single_model_is_refused(merge, tmp_path: Path) -> None:
    with pytest.raises(SystemExit) as end:
        merge(*parts(tmp_path, 1), "-o", tmp_path / "m.safetensors")
    assert end.value.code == 2
