"""What commands say about data and models that are not what the user may think."""

import gzip
import json
from pathlib import Path

import numpy as np
import pytest

import odca
from odca import cli

EVENTS = 1500


def run(capsys: pytest.CaptureFixture[str], *words: object, code: int = 0) -> tuple[str, str]:
    """What a command prints, and what it says on stderr."""
    assert cli.main([*map(str, words)]) == code
    captured = capsys.readouterr()
    return captured.out, captured.err


def summary(capsys: pytest.CaptureFixture[str], *words: object) -> dict:
    told = [json.loads(line) for line in run(capsys, *words, "--json")[0].splitlines()]
    return next(each for each in told if each["event"] == "summary")


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two classes; and in line 1202 a third, by mistake."""
    rng = np.random.default_rng(0)
    path = tmp_path_factory.mktemp("told") / "shop.csv"
    rows = []
    for k, (a, b) in enumerate(rng.normal(size=(EVENTS, 2)).tolist()):
        label = "yess" if k == 1200 else "yes" if a + 0.3 * b > 0.2 else "no"
        rows.append(f"{a:.3f},{b:.3f},{3.0 * a - b + 0.1 * rng.normal():.3f},{label}\n")
    path.write_text("a,b,size,bought\n" + "".join(rows))
    return path


@pytest.fixture(scope="module")
def classes(shop: Path) -> Path:
    model = shop.parent / "classes"
    assert cli.main(["train", str(shop), "--label", "bought", "-o", str(model), "--quiet"]) == 0
    return model


@pytest.fixture(scope="module")
def numbers(shop: Path) -> Path:
    model = shop.parent / "numbers"
    words = ["train", str(shop), "--label", "size", "--ignore", "bought", "-o", str(model), "--quiet"]
    assert cli.main(words) == 0
    return model


def test_a_class_that_occurs_once_is_reported_with_its_line(
    shop: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = run(capsys, "train", shop, "--label", "bought", "-o", tmp_path / "m", "--quiet")[1]
    assert f"the class 'yess' occurred once among 1,500 events, in {shop}, line 1202." in said.replace("\n", " ")
    with pytest.warns(UserWarning, match="'yess' occurred once"):
        odca.train(shop, label="bought", progress=False)


def test_a_class_that_was_known_before_is_not_reported_again(
    shop: Path, classes: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "once" not in run(capsys, "train", shop, "-i", classes, "-o", tmp_path / "m", "--quiet")[1]


def test_the_summary_of_a_model_that_continues_says_which_events_it_is_about(
    shop: Path, classes: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = run(capsys, "train", shop, "-i", classes, "-o", tmp_path / "m")[0]
    assert "over all 3,000 events" in text
    learned = summary(capsys, "train", shop, "-i", classes, "-o", tmp_path / "m")["learned"]
    assert (learned["events"], learned["events_before"], learned["events_now"]) == (2 * EVENTS, EVENTS, EVENTS)
    assert "events_before" not in summary(capsys, "train", shop, "--label", "bought", "-o", tmp_path / "m")["learned"]


@pytest.mark.parametrize("task", ["classes", "numbers"])
def test_evaluate_and_inspect_show_the_coverage(
    task: str, shop: Path, request: pytest.FixtureRequest, capsys: pytest.CaptureFixture[str]
) -> None:
    model = request.getfixturevalue(task)
    shown = json.loads(run(capsys, "inspect", model, "--json", "--top", 0)[0].splitlines()[0])
    assert shown["predictions"]["coverage_90"] == pytest.approx(0.9, abs=0.02)
    for how in ([], ["--progressive"]):
        assert summary(capsys, "evaluate", model, shop, *how)["predictions"]["coverage_90"] == pytest.approx(
            0.9, abs=0.06
        )


def test_the_evaluated_coverage_is_that_of_the_predicted_intervals(
    shop: Path, numbers: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = run(capsys, "predict", numbers, shop, "--interval", "0.9", "--no-names")[0].splitlines()
    ends = np.array([[float(each) for each in line.split("\t")[1:]] for line in lines])
    labels = np.array([float(line.split(",")[2]) for line in shop.read_text().splitlines()[1:]])
    held = np.mean((ends[:, 0] <= labels) & (labels <= ends[:, 1]))
    assert summary(capsys, "evaluate", numbers, shop)["predictions"]["coverage_90"] == held


def test_evaluating_the_live_answer_without_learning_is_warned_about(
    shop: Path, classes: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "Add --progressive" in run(capsys, "evaluate", classes, shop, "--answer", "live")[1]
    assert "--progressive" not in run(capsys, "evaluate", classes, shop, "--answer", "live", "--progressive")[1]


def test_a_file_without_events_is_reported(classes: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "empty.csv").write_text("a,b,size\n")
    out, said = run(capsys, "predict", classes, tmp_path / "empty.csv")
    assert not out
    assert "there are no events to predict" in said


@pytest.mark.parametrize("command", ["predict", "evaluate"])
def test_data_without_any_column_of_the_model_are_refused(
    command: str, classes: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "other.csv").write_text("p,q,bought\n1,2,yes\n")
    said = run(capsys, command, classes, tmp_path / "other.csv", code=1)[1].replace("\n", " ")
    assert "has none of the columns that the model was trained on: a, b, size. Its columns are p, q, bought." in said


def test_predictions_are_compressed_if_the_name_says_so(
    shop: Path, numbers: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plain = run(capsys, "predict", numbers, shop)[0]
    run(capsys, "predict", numbers, shop, "-o", tmp_path / "p.gz")
    assert gzip.decompress((tmp_path / "p.gz").read_bytes()).decode() == plain
    words = ["train", shop, "--label", "bought", "-o", tmp_path / "m", "-p", tmp_path / "q.gz"]
    with pytest.raises(SystemExit):
        cli.main([*map(str, words)])
    assert "it is not compressed by gzip" in capsys.readouterr().err
    assert not (tmp_path / "q.gz").exists()


def test_converting_a_model_with_history_says_what_becomes_of_the_past(
    shop: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    how = ["--label", "size", "--ignore", "bought", "--quiet"]
    run(capsys, "train", shop, *how, "-o", tmp_path / "m", "--history", "y: lag 1; mean 3")
    said = run(capsys, "convert", tmp_path / "m", "-o", tmp_path / "m.json", "--quiet")[1].replace("\n", " ")
    assert "features of the past ('y: lag 1', 'y: mean 3'), but not the past itself" in said
    run(capsys, "train", shop, *how, "-o", tmp_path / "n")
    assert not run(capsys, "convert", tmp_path / "n", "-o", tmp_path / "n.json", "--quiet")[1]


def test_a_frozen_model_says_how_many_events_it_was_learned_from(
    classes: Path, shop: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(capsys, "freeze", classes, "-o", tmp_path / "f")
    words = ["inspect", tmp_path / "f", "--json", "--top", 0]
    window = json.loads(run(capsys, *words)[0].splitlines()[0])["window"]
    assert (window["frozen_after"], window["events"]) == (EVENTS, 0)
    run(capsys, "train", shop, "-i", tmp_path / "f", "-o", tmp_path / "f2", "--quiet")
    window = json.loads(run(capsys, "inspect", tmp_path / "f2", *words[2:])[0].splitlines()[0])["window"]
    assert (window["frozen_after"], window["events"]) == (EVENTS, EVENTS)


def test_many_warnings_of_one_kind_are_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = [f"c{k}" for k in range(14)]
    rows = [f"{k % 2},{k % 7}" + ",5" * 14 + "\n" for k in range(300)]
    (tmp_path / "same.csv").write_text(",".join(["y", "x", *names]) + "\n" + "".join(rows))
    words = ["train", tmp_path / "same.csv", "--label", "y", "-o", tmp_path / "m", "--quiet"]
    said = run(capsys, *words)[1].replace("\n", " ")
    assert said.count("warning:") == 1
    assert "'c9' and 4 more are the same in all of the first events." in said
    assert "'c12' is the same" in run(capsys, *words, "--ignore", *names[:12])[1]


def test_a_history_of_y_is_refused_if_y_is_also_another_column(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rng = np.random.default_rng(1)
    rows = "".join(f"{y:.3f},{z:.3f}\n" for y, z in rng.normal(size=(200, 2)).tolist())
    (tmp_path / "d.csv").write_text("y,sold\n" + rows)
    words = ["train", tmp_path / "d.csv", "--label", "sold", "-o", tmp_path / "m", "--quiet", "--history"]
    assert "Write sold for the label" in run(capsys, *words, "y: lag 1", code=1)[1].replace("\n", " ")
    run(capsys, *words, "sold: lag 1")
    run(capsys, "predict", tmp_path / "m", tmp_path / "d.csv")
    run(capsys, "train", tmp_path / "d.csv", "-i", tmp_path / "m", "-o", tmp_path / "m2", "--quiet")
