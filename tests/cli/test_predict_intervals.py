"""`odca predict --interval` and `--set`, and what `odca train` says of the coverage that it held."""

import json
from pathlib import Path

import numpy as np
import pytest

from odca import cli
from stream_files import events, vw, write


@pytest.fixture
def odca(capsys: pytest.CaptureFixture[str]):
    """The exit code, the lines and what is told."""

    def run(*words: object) -> tuple[int, list[str], str]:
        code = cli.main([*map(str, words)])
        captured = capsys.readouterr()
        return code, captured.out.splitlines(), captured.err

    return run


@pytest.fixture(params=[[], ["--rho", "0.01"]], ids=["automatic", "linear"])
def numbers(request: pytest.FixtureRequest, odca, tmp_path: Path) -> tuple[Path, str]:
    return _trained(odca, tmp_path, "score", "--task", "numbers", *request.param)


@pytest.fixture(params=[[], ["--loss", "hinge"]], ids=["automatic", "linear"])
def classes(request: pytest.FixtureRequest, odca, tmp_path: Path) -> tuple[Path, str]:
    return _trained(odca, tmp_path, "label", *request.param)


def _trained(odca, folder: Path, label: str, *options: str) -> tuple[Path, str]:
    data = write(folder / "data.vw", [vw(each, label=label) for each in events(500)])
    assert odca("train", data, "-o", folder / "model.safetensors", "--quiet", *options)[0] == 0
    return folder / "model.safetensors", data


def test_the_ends_of_intervals_are_columns(odca, numbers) -> None:
    path, data = numbers
    code, lines, told = odca("predict", path, data, "--interval", "0.9")
    assert (code, told) == (0, "")
    assert lines[0].split("\t") == ["prediction", "lower", "upper", "tag"]
    values = np.array([[float(each) for each in line.split("\t")[:3]] for line in lines[1:]])
    assert len(values) == 500
    assert (values[:, 1] <= values[:, 0]).all()
    assert (values[:, 0] <= values[:, 2]).all()
    labels = np.array([float(each["score"]) for each in events(500)])
    assert np.mean((labels >= values[:, 1]) & (labels <= values[:, 2])) > 0.8
    _, plain, _ = odca("predict", path, data, "--interval", "0.9", "--no-names")
    assert plain == lines[1:]


def test_intervals_and_sets_in_json(odca, numbers) -> None:
    path, data = numbers
    _, lines, _ = odca("predict", path, data, "--interval", "0.5", "--json")
    found = [json.loads(line) for line in lines]
    assert all(each["interval"][0] <= each["prediction"] <= each["interval"][1] for each in found)


def test_sets_are_a_column_of_classes(odca, classes) -> None:
    path, data = classes
    code, lines, told = odca("predict", path, data, "--set", "0.99")
    assert (code, told) == (0, "")
    assert lines[0].split("\t") == ["prediction", "set", "tag"]
    sets = [line.split("\t")[1] for line in lines[1:]]
    assert {*sets} <= {"", "-1", "1", "-1,1"}
    truths = [each["label"] in held.split(",") for each, held in zip(events(500), sets, strict=True)]
    assert np.mean(truths) > 0.95
    _, lines, _ = odca("predict", path, data, "--set", "0.99", "--json")
    assert [",".join(map(str, json.loads(line)["set"])) for line in lines] == sets
    _, lines, _ = odca("predict", path, data, "--set", "0.99", "--proba")
    assert lines[0].split("\t") == ["-1", "1", "set", "tag"]


def test_what_too_few_events_cannot_tell_is_said(odca, tmp_path: Path) -> None:
    data = write(tmp_path / "data.vw", [vw(each, label="score") for each in events(12)])
    odca("train", data, "-o", tmp_path / "m.safetensors", "--quiet", "--task", "numbers")
    code, lines, told = odca("predict", tmp_path / "m.safetensors", data, "--interval", "0.9")
    assert code == 0
    assert lines[1].split("\t")[1:3] == ["-inf", "inf"]
    assert "too few events for a coverage of 0.9, so nothing is ruled out" in told
    _, lines, _ = odca("predict", tmp_path / "m.safetensors", data, "--interval", "0.9", "--json")
    assert json.loads(lines[0])["interval"] == [None, None]


@pytest.mark.parametrize(("option", "told"), [("--interval", "Use --set"), ("--set", "Use --interval")])
def test_intervals_are_for_numbers_and_sets_for_classes(odca, capsys, tmp_path: Path, option: str, told: str) -> None:
    path, data = _trained(odca, tmp_path, "label" if option == "--interval" else "score")
    with pytest.raises(SystemExit):
        cli.main(["predict", str(path), str(data), option, "0.9"])
    assert told in capsys.readouterr().err


@pytest.mark.parametrize("coverage", ["0", "1", "90", "x"])
def test_what_is_no_coverage_is_refused(odca, capsys, tmp_path: Path, coverage: str) -> None:
    path, data = _trained(odca, tmp_path, "label")
    with pytest.raises(SystemExit):
        cli.main(["predict", str(path), str(data), "--set", coverage])
    assert "must be a number between 0 and 1, such as 0.9" in capsys.readouterr().err


def test_training_says_how_many_labels_were_held(odca, tmp_path: Path) -> None:
    data = write(tmp_path / "data.vw", [vw(each, label="score") for each in events(500)])
    _, lines, told = odca("train", data, "-o", tmp_path / "m.safetensors", "--task", "numbers")
    assert any("labels in its 90 % intervals" in line for line in [*lines, *told.splitlines()])
    _, lines, _ = odca("train", data, "-o", tmp_path / "m.safetensors", "--task", "numbers", "--json")
    held = [json.loads(line)["predictions"]["coverage_90"] for line in lines if "coverage_90" in line]
    assert held
    assert 0.85 < held[0] < 0.97
