"""`odca evaluate`: scores of a model as it is, or as it would go on."""

import json
from pathlib import Path

import numpy as np
import pytest

from odca import cli
from odca.models.options import ModelOptions
from stream_files import events, libsvm, trained, vw, write


@pytest.fixture
def evaluate(capsys: pytest.CaptureFixture[str]):
    """The exit code, the objects of --json and what is told on stderr."""

    def run(*words: object) -> tuple[int, dict, list[dict], str]:
        code = cli.main(["evaluate", *map(str, words), "--json"])
        captured = capsys.readouterr()
        told = [json.loads(line) for line in captured.out.splitlines()]
        summary = next((each for each in told if each["event"] == "summary"), {})
        return code, summary, told, captured.err

    return run


@pytest.fixture
def model(tmp_path: Path) -> str:
    data = write(tmp_path / "train.vw", [vw(each) for each in events(300, 1)])
    trained(data).save(tmp_path / "model.safetensors")
    return str(tmp_path / "model.safetensors")


def test_scores_are_computed_from_the_predictions(evaluate, model: str, tmp_path: Path) -> None:
    rows = events(200, 2)
    data = write(tmp_path / "test.vw", [vw(each) for each in rows])
    code, summary, told, _ = evaluate(model, data)
    assert code == 0
    assert cli.main(["predict", model, data, "-o", str(tmp_path / "out.txt")]) == 0
    predicted = [line.split()[0] for line in (tmp_path / "out.txt").read_text().splitlines()]
    right = np.mean([a == each["label"] for a, each in zip(predicted, rows, strict=True)])
    assert summary["predictions"]["accuracy"] == pytest.approx(right, abs=1e-12)
    assert summary["evaluated"]["events"] == 200
    share = np.mean([each["label"] == "1" for each in rows])
    assert summary["baselines"]["best_constant_accuracy"] == pytest.approx(max(share, 1 - share))
    assert [each["events"] for each in told if each["event"] == "progress"] == [1, 2, 4, 8, 16, 32, 64, 128]


def test_the_model_is_not_changed_and_the_order_of_events_does_not_matter(evaluate, model: str, tmp_path: Path) -> None:
    lines, before = [vw(each) for each in events(200, 2)], Path(model).read_bytes()
    _, forth, _, _ = evaluate(model, write(tmp_path / "forth.vw", lines))
    _, back, _, _ = evaluate(model, write(tmp_path / "back.vw", lines[::-1]))
    assert forth["predictions"] == pytest.approx(back["predictions"], rel=1e-12)
    assert Path(model).read_bytes() == before


def test_progressive_scores_equal_those_of_further_training(evaluate, model: str, tmp_path: Path, capsys) -> None:
    data, before = write(tmp_path / "test.vw", [vw(each) for each in events(200, 2)]), Path(model).read_bytes()
    _, plain, _, _ = evaluate(model, data)
    code, summary, _, _ = evaluate(model, data, "--progressive")
    assert code == 0
    assert Path(model).read_bytes() == before
    assert summary["predictions"]["loss"] != plain["predictions"]["loss"]
    assert cli.main(["train", data, "-i", model, "-o", str(tmp_path / "on.safetensors"), "--json"]) == 0
    *_, total = map(json.loads, capsys.readouterr().out.splitlines())
    _, at_first, _, _ = evaluate(model, tmp_path / "train.vw")
    sums = total["predictions"]["loss"] * 500 - summary["predictions"]["loss"] * 200
    of_training = sums / 300  # what the model's own file remembers
    from odca.stream.model import StreamModel

    assert of_training == pytest.approx(StreamModel.load(model).metrics.loss, rel=1e-9)
    assert at_first["predictions"]["loss"] < of_training


def test_the_curve_holds_the_rows_of_the_table(evaluate, model: str, tmp_path: Path) -> None:
    data = write(tmp_path / "test.vw", [vw(each) for each in events(250, 2)])
    _, summary, told, _ = evaluate(model, data, "--curve", tmp_path / "curve.csv", "--table", "50")
    head, *lines = (tmp_path / "curve.csv").read_text().splitlines()
    rows = [[float(number) for number in line.split(",")] for line in lines]
    assert head == "events,weight,loss,since_last"
    assert [row[0] for row in rows] == [50, 100, 150, 200, 250]
    assert rows[-1][2] == summary["predictions"]["loss"]
    assert np.mean([row[3] for row in rows]) == pytest.approx(rows[-1][2], rel=1e-9)
    assert [[each["events"], each["loss"]] for each in told if each["event"] == "progress"] == [
        [row[0], row[2]] for row in rows
    ]


def test_a_class_unknown_to_the_model_counts_as_wrong_and_is_reported(evaluate, model: str, tmp_path: Path) -> None:
    rows = events(100, 2)
    known = [each for each in rows if int(each["tag"][1:]) % 10]
    for each in rows:
        each["label"] = each["label"] if int(each["tag"][1:]) % 10 else "7"
    _, without, _, _ = evaluate(model, write(tmp_path / "known.vw", [vw(each) for each in known]))
    code, summary, told, _ = evaluate(model, write(tmp_path / "test.vw", [vw(each) for each in rows]), "--table", "1")
    assert code == 0
    assert summary["predictions"]["accuracy"] == pytest.approx(0.9 * without["predictions"]["accuracy"])
    assert summary["predictions"]["loss"] > without["predictions"]["loss"]
    assert "auc" not in summary["predictions"]
    assert [each["text"] for each in told if each["event"] == "warning"] == [
        "events of classes that the model does not know count as wrong predictions: 7 (10)."
    ]
    shown = [each["label"] for each in told if each["event"] == "progress"]
    assert shown == [each["label"] for each in rows]


def test_unknown_classes_count_as_wrong_in_a_three_class_model(evaluate, tmp_path: Path) -> None:
    data = write(tmp_path / "train.vw", [vw(each) for each in events(200, 1, ("1", "2", "3"))])
    trained(data, ModelOptions(task="classes")).save(tmp_path / "model.safetensors")
    other = write(tmp_path / "other.vw", [vw(each) for each in events(400, 1, ("8", "9"))])
    _, summary, _, _ = evaluate(tmp_path / "model.safetensors", other)
    assert summary["predictions"]["accuracy"] == 0.0
    code, summary, _, _ = evaluate(tmp_path / "model.safetensors", other, "--progressive")
    assert code == 0
    assert summary["predictions"]["accuracy"] > 0.2  # it has learned them


def test_events_without_labels_are_counted_and_not_judged(evaluate, model: str, tmp_path: Path) -> None:
    rows = events(20, 2)
    data = write(tmp_path / "test.vw", [vw(each) for each in rows[:10]] + [vw(rows[10], label="")] + [vw(rows[11])])
    for how in ([], ["--on-error", "skip"], ["--progressive"]):
        code, summary, told, _ = evaluate(model, data, *how)
        assert (code, summary["evaluated"]["events"], summary["evaluated"]["unlabelled"]) == (0, 11, 1)
        assert not [each for each in told if each["event"] == "warning"]


def test_regression_reports_errors_beside_those_of_the_mean(evaluate, tmp_path: Path) -> None:
    rows = events(200, 3)
    data = write(tmp_path / "data.vw", [vw(each, label="score") for each in rows])
    model = trained(data, ModelOptions(task="numbers"))
    model.save(tmp_path / "model.safetensors")
    _, summary, _, _ = evaluate(tmp_path / "model.safetensors", data)
    labels, predicted = np.array([each["score"] for each in rows]), model.predict(data)
    assert summary["predictions"]["rmse"] == pytest.approx(np.sqrt(np.mean((labels - predicted) ** 2)), rel=1e-9)
    assert summary["predictions"]["r2"] == pytest.approx(
        1 - np.mean((labels - predicted) ** 2) / np.var(labels), rel=1e-9
    )
    assert summary["baselines"]["mean_mae"] > summary["predictions"]["mae"]


def test_the_readable_output_shows_the_same_scores(
    model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = write(tmp_path / "test.vw", [vw(each) for each in events(64, 2)])
    assert cli.main(["evaluate", model, data]) == 0
    shown = capsys.readouterr().out
    assert "predictions, without learning from these events" in shown
    assert "since" in shown
    assert cli.main(["evaluate", model, data, "--quiet"]) == 0
    assert "since" not in capsys.readouterr().out


def test_evaluating_no_events_is_an_error(evaluate, tmp_path: Path) -> None:
    trained(write(tmp_path / "a.svm", [libsvm(each) for each in events(50)])).save(tmp_path / "model.safetensors")
    code, _, _, told = evaluate(tmp_path / "model.safetensors", write(tmp_path / "empty.svm", ["# nothing\n"]))
    assert code == cli.REFUSED
    assert "the data hold no labelled events to evaluate the model on" in told
