"""What could go wrong in silence."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from odca import Hinge, LogLoss, stream
from odca.cli import main
from odca.models.options import ModelOptions
from odca.stream.model import StreamModel


def run(capsys: pytest.CaptureFixture[str], *words: str, code: int = 0) -> tuple[str, str]:
    """What a command prints and what it says."""
    assert main([*words]) == code
    said = capsys.readouterr()
    return said.out, said.err


def trained(tmp_path: Path, name: str, text: str, *options: str) -> str:
    (tmp_path / name).write_text(text)
    model = str(tmp_path / f"{name}.model")
    assert main(["train", str(tmp_path / name), "-o", model, "--quiet", *options]) == 0
    return model


def late_class(path: Path) -> Path:
    """Three classes, and from the middle on a fourth."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(4000, 2))
    label = rng.integers(0, np.where(np.arange(4000) < 2000, 3, 4))
    rows = (f"{name} | a:{a:.3f} b:{b + name:.3f}\n" for name, (a, b) in zip(label + 1, x.tolist(), strict=True))
    path.write_text("".join(rows))
    return path


@pytest.mark.parametrize("loss", [LogLoss(), Hinge()])
def test_metrics_with_a_late_class_do_not_depend_on_blocks(loss: object, tmp_path: Path) -> None:
    path = late_class(tmp_path / "late.vw")
    files = []
    for size in (1_000, 30_000, 1_000_000):
        opened = stream.open(path, chunk_size=size)
        begun = None
        with opened:
            for block in opened:
                begun = begun or StreamModel.begin(
                    ModelOptions(task="classes", loss=loss), opened.schema, opened.sample
                )
                begun.vocabulary = opened.vocabulary
                begun.learn(block)
        assert begun is not None
        assert len(begun.classes) == 4
        begun.save(tmp_path / "model")
        files.append((tmp_path / "model").read_bytes())
    assert files[0] == files[1] == files[2]


def test_skipped_events_do_not_count_in_the_weights(tmp_path: Path) -> None:
    lines = "| a\n" * 12 + "1 10 't| a b\n-1 1 't| a c\n" * 5
    model = StreamModel.load(trained(tmp_path, "weights.vw", lines, "--on-error", "skip"))
    assert model.metrics.weight == 55.0


def test_a_blank_date_matters_only_to_windows_in_event_time(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = "at,a,y\n2024-01-02,1,p\n,3,p\n2024-01-01,2,q\n"
    model = trained(tmp_path, "dates.csv", text, "--label", "y")
    assert StreamModel.load(model).metrics.events == 3
    (tmp_path / "new.csv").write_text("at,a\n,3\n")
    run(capsys, "predict", model, str(tmp_path / "new.csv"))
    words = ["train", str(tmp_path / "dates.csv"), "--label", "y", "-o", model, "--window", "half-life:7d"]
    assert "line 3: the event has no time" in run(capsys, *words, code=1)[1]


def test_declaring_classes_selects_classification(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = "1 1:1\n2 2:1\n3 3:1\n"
    assert StreamModel.load(trained(tmp_path, "three.svm", text, "--classes", "1,2,3")).classes == (1.0, 2.0, 3.0)
    for classes in ("1,2,1", "1"):
        words = ["train", str(tmp_path / "three.svm"), "-o", str(tmp_path / "m"), "--classes", classes]
        assert "two or more, each named once" in run(capsys, *words, code=1)[1]


def test_a_guessed_task_is_reported_when_all_labels_are_equal_so_far(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "zeros.svm").write_text("0 1:1\n" * 5)
    words = ["train", str(tmp_path / "zeros.svm"), "-o", str(tmp_path / "m")]
    assert "are all 0, so they are treated as numbers" in run(capsys, *words)[1]
    assert "taken for numbers" not in run(capsys, *words, "--task", "numbers")[1]


def test_a_bad_line_is_reported_before_its_consequences(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "bad.csv").write_bytes(b"a,y\n\xe9,x\nb,z\n")
    words = ["train", str(tmp_path / "bad.csv"), "--label", "y", "-o", str(tmp_path / "m")]
    assert "bad.csv, line 2" in run(capsys, *words, code=1)[1]


def test_columns_that_do_not_exist_are_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = trained(tmp_path, "sold.csv", "price,colour,y\n1,red,a\n2,blue,b\n", "--label", "y")
    (tmp_path / "new.csv").write_text("Price,colour\n1,red\n")
    assert "that are missing from these data: price." in run(capsys, "predict", model, str(tmp_path / "new.csv"))[1]
    (tmp_path / "new.csv").write_text("colour,price\nred,1\n")
    assert not run(capsys, "predict", model, str(tmp_path / "new.csv"))[1]


def test_a_prediction_is_one_line_whatever_the_class_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = '{"a": 1, "y": "one\\ntwo"}\n{"a": 2, "y": "three\\tfour"}\n'
    model = trained(tmp_path, "names.jsonl", text, "--label", "y")
    for option in ([], ["--proba"]):
        out, _ = run(capsys, "predict", model, str(tmp_path / "names.jsonl"), *option)
        assert len(out.splitlines()) == 2 + len(option)
    assert out.splitlines()[0] == "one\\ntwo\tthree\\tfour"


def test_a_category_in_a_namespace_stays_a_category(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "d.vw").write_text("1 |user country:NZ age:2 |ad new\n")
    out, _ = run(capsys, "convert", str(tmp_path / "d.vw"), "-o", "-", "--to", "vw")
    assert out == "1 |user country:NZ age:2 |ad new\n"


def test_events_without_a_group_get_no_qid_in_libsvm(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "q.svm").write_text("1 qid:3 1:1\n1 1:1\n")
    assert run(capsys, "convert", str(tmp_path / "q.svm"), "-o", "-", "--to", "libsvm")[0] == "1 qid:3 1:1\n1 1:1\n"


def test_true_and_false_are_the_same_in_csv_and_parquet(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    flags = [n % 3 == 0 for n in range(60)]
    model = trained(
        tmp_path, "f.csv", "flag,y\n" + "".join(f"{str(flag).lower()},{int(flag)}\n" for flag in flags), "--label", "y"
    )
    parquet.write_table(pa.table({"flag": flags}), tmp_path / "f.parquet")
    from_csv, _ = run(capsys, "predict", model, str(tmp_path / "f.csv"), "--raw")
    assert run(capsys, "predict", model, str(tmp_path / "f.parquet"), "--raw")[0] == from_csv


def test_true_and_false_are_the_same_labels_in_csv_and_parquet(tmp_path: Path) -> None:
    flags = [n % 3 == 0 for n in range(30)]
    rows = "".join(f"{int(flag)},{str(flag).lower()}\n" for flag in flags)
    model = trained(tmp_path, "f.csv", "x,y\n" + rows, "--label", "y")
    parquet.write_table(pa.table({"x": [int(flag) for flag in flags], "y": flags}), tmp_path / "f.parquet")
    assert main(["train", str(tmp_path / "f.parquet"), "--label", "y", "-o", str(tmp_path / "p"), "--quiet"]) == 0
    from_csv, from_parquet = StreamModel.load(model), StreamModel.load(tmp_path / "p")
    assert from_csv.classes_read == from_parquet.classes_read == ("false", "true")
    assert from_csv.classes == ("false", "true")  # as the texts of the file
    assert from_parquet.classes == (False, True)


def test_a_quoted_cell_that_repeats_the_header_is_a_cell(tmp_path: Path) -> None:
    trained(tmp_path, "q.csv", 'a,y\n"x\na,y\nz",1\nq,0\nq,1\n', "--label", "y")


def test_a_repeated_header_is_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "twice.csv").write_text("\na,y\n1,p\n2,q\na,y\n3,p\n")
    words = ["train", str(tmp_path / "twice.csv"), "--label", "y", "-o", str(tmp_path / "m")]
    assert "twice.csv, line 5: the header comes again." in run(capsys, *words, code=1)[1]


def test_values_too_large_are_reported_with_their_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "huge.svm").write_text("1 1:1e300\n-1 1:2\n")
    words = ["train", str(tmp_path / "huge.svm"), "-o", str(tmp_path / "m")]
    assert "huge.svm, line 1: the event must hold numbers, of at most 1e100" in run(capsys, *words, code=1)[1]
    assert (
        "huge.svm, line 1: the squared norm of the event overflows" in run(capsys, *words, "--rho", "auto", code=1)[1]
    )
    assert "huge.svm, line 1: the values are too large" in run(capsys, *words, "--rho", "1e-5", code=1)[1]
    (tmp_path / "huge.svm").write_text("1 1:1\n-1 1:1e300\n")
    said = run(capsys, *words, code=1)[1]
    assert "huge.svm, line 2: " in said
    assert "of X" not in said


def test_the_label_may_be_used_as_the_tag_of_predictions(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = trained(tmp_path, "sold.csv", "price,y\n1,a\n2,b\n", "--label", "y")
    out, _ = run(capsys, "predict", model, str(tmp_path / "sold.csv"), "--tag", "y")
    assert [line.split()[1] for line in out.splitlines()] == ["a", "b"]


def test_evaluating_data_without_any_known_feature_warns(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = trained(tmp_path, "a.vw", "1 | a\n-1 | b\n")
    (tmp_path / "b.vw").write_text("1 | c\n-1 | d\n")
    assert (
        "none of the features of these events occurred in the training data"
        in run(capsys, "evaluate", model, str(tmp_path / "b.vw"))[1]
    )
