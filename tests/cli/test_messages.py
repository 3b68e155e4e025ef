"""What a new user meets first: what is said when something was forgotten or mistaken."""

import contextlib
import re
from pathlib import Path
from typing import Any

import pytest

import odca
from odca import cli
from odca.cli import main


def refusal(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """What is said by a command that refuses."""
    assert main([*words]) == cli.REFUSED
    return capsys.readouterr().err


@pytest.fixture
def table(tmp_path: Path) -> str:
    path = tmp_path / "table.csv"
    path.write_text("size,kind,sold\n1.5,a,0\n2.5,b,1\n3.5,a,1\n0.5,b,0\n")
    return str(path)


@pytest.mark.parametrize("task", [[], ["--task", "numbers"], ["--task", "classes"]])
def test_the_error_for_a_table_without_a_label_lists_its_columns(
    task: list[str], table: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = refusal(capsys, "train", table, "-o", str(tmp_path / "model"), *task)
    assert f"{table}: which column is the label? There are size, kind, sold. Name it with --label." in said
    assert "There are size, kind, sold." in said


def test_text_without_labels_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "new.vw"
    path.write_text("| a:1\n| b:2\n")
    assert "the first 2 events have no label." in refusal(capsys, "train", str(path), "-o", str(tmp_path / "model"))


def test_the_first_label_may_come_late_if_unlabelled_events_are_skipped(tmp_path: Path) -> None:
    path = tmp_path / "late.vw"
    path.write_text("| a:1\n3 | a:2\n4 | a:3\n7 | a:4\n")
    assert (
        main(["train", str(path), "-o", str(tmp_path / "model"), "--quiet", "--task", "numbers", "--on-error", "skip"])
        == 0
    )


@pytest.mark.parametrize(("name", "line"), [("a.svm", "1 1:2\n-1 2:1\n"), ("a.vw", "1 | a:2\n-1 | b:1\n")])
def test_column_options_are_refused_for_formats_without_columns(
    name: str, line: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / name
    path.write_text(line)
    said = refusal(capsys, "train", str(path), "--label", "click", "-o", str(tmp_path / "model"))
    assert "has no columns: there is no 'click' for the label" in said
    said = refusal(capsys, "train", str(path), "-o", str(tmp_path / "model"), "--text", "a")
    assert "has no columns: 'a' cannot hold text" in said


def test_the_error_mentions_files_swallowed_by_an_option_with_many_values(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main(["train", "-o", "model", "--ignore", "a", "data.csv"])
    assert end.value.code == 2
    assert "DATA. Put DATA before options that take several names" in capsys.readouterr().err


@pytest.mark.parametrize("option", ["-o", "--checkpoint"])
def test_a_missing_output_folder_is_reported_before_the_work(
    option: str, table: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = {"-o": str(tmp_path / "model"), option: str(tmp_path / "no" / "model")}
    words = [word for pair in given.items() for word in pair]
    assert main(["train", table, "--label", "sold", *words]) == cli.REFUSED
    captured = capsys.readouterr()
    assert captured.out == ""
    assert f"there is no directory '{tmp_path / 'no'}'. Create it, or name another one." in captured.err


def test_a_file_of_another_kind_is_not_called_truncated(table: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert "it does not begin like a model file. It is of another kind, or damaged." in refusal(
        capsys, "inspect", table
    )


def test_models_that_cannot_be_merged_are_named_even_if_they_are_the_same_file(
    table: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = str(tmp_path / "model")
    assert main(["train", table, "--label", "sold", "--window", "100", "-o", model, "--quiet"]) == 0
    said = refusal(capsys, "merge", model, model, "-o", str(tmp_path / "both"))
    assert f"{model} cannot be merged with {model}: " in said


@pytest.mark.parametrize("quiet", [[], ["--quiet"]])
def test_one_skipped_line_is_reported_in_the_singular_even_if_quiet(
    quiet: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "bad.csv"
    path.write_text("a,y\n1,0\n2,1\n3\n4,1\n")
    assert main(["train", str(path), "--label", "y", "-o", str(tmp_path / "model"), "--on-error", "skip", *quiet]) == 0
    assert "1 line could not be read and was skipped:" in capsys.readouterr().err


def test_the_table_stays_aligned_with_large_losses_and_long_labels(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    numbers, names = tmp_path / "numbers.csv", tmp_path / "names.csv"
    numbers.write_text("a,y\n" + "".join(f"{n % 7},{500 * n}\n" for n in range(64)))
    names.write_text("a,y\n" + "".join(f"{n % 7},{'a.rather.long.name' if n % 2 else 'b'}\n" for n in range(64)))
    for path in (numbers, names):
        assert main(["train", str(path), "--label", "y", "-o", str(tmp_path / "model")]) == 0
        rows = capsys.readouterr().out.split("\n\n")[1].splitlines()
        assert {len(row) for row in rows} == {len(rows[0])}


@pytest.mark.parametrize("name", [name for name in cli.COMMANDS if name != "completion"])
def test_the_error_for_a_wrong_argument_is_short(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main([name, "--no-such-option"])
    assert end.value.code == 2
    said = capsys.readouterr().err
    assert said.startswith(f"usage: odca {name} [options]")
    assert len(said.splitlines()) <= 3


def test_a_training_may_be_resumed_with_another_table_interval(table: str, tmp_path: Path) -> None:
    words = [
        "train",
        table,
        "--label",
        "sold",
        "-o",
        str(tmp_path / "m"),
        "--checkpoint",
        str(tmp_path / "c"),
        "--resume",
    ]
    assert main(words) == 0
    assert main([*words, "--table", "1"]) == 0


def test_bench_uses_the_given_number_of_threads(table: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", table, "--label", "sold", "--seconds", "0.01", "--threads", "1"]) == 0
    assert len(re.findall(r"^parse +1 ", capsys.readouterr().out, flags=re.MULTILINE)) == 1


def test_a_tag_column_may_not_be_a_feature_of_the_model(
    table: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = str(tmp_path / "model")
    assert main(["train", table, "--label", "sold", "-o", model, "--quiet", "--ignore", "size"]) == 0
    with pytest.raises(SystemExit):
        main(["predict", model, table, "--tag", "kind"])
    assert "the model uses the column 'kind' as a feature" in capsys.readouterr().err
    assert main(["predict", model, table, "--tag", "size"]) == 0
    assert [line.split()[1] for line in capsys.readouterr().out.splitlines()] == ["1.5", "2.5", "3.5", "0.5"]


@pytest.mark.parametrize(
    "option",
    ["--ignore", "--keep", "--text", "--categorical", "--numeric", "--dates", "--booleans", "--interact"],
)
def test_a_column_that_does_not_exist_is_reported(
    option: str, table: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["train", table, "--label", "sold", "-o", str(tmp_path / "model"), option, "kind", "siez"]) == 1
    said = capsys.readouterr().err
    expected = f"there is no column 'siez'. The columns are size, kind, sold. Did you mean 'size'? Correct {option}.\n"
    assert said == f"odca train: {expected}"
    assert not (tmp_path / "model").exists()


@pytest.mark.parametrize("option", ["ignore", "keep", "text", "categorical", "numeric", "dates", "booleans"])
def test_a_column_that_does_not_exist_is_reported_in_python_too(option: str, table: str) -> None:
    options: dict[str, Any] = {option: ("kind", "siez")}
    with pytest.raises(ValueError, match=f"there is no column 'siez'.*Did you mean 'size'. Correct `{option}`."):
        odca.train(table, label="sold", **options)


def test_products_with_a_column_that_does_not_exist_are_reported(table: str) -> None:
    with pytest.raises(ValueError, match=r"there is no column 'siez'.*Correct `interactions`\."):
        odca.train(table, label="sold", interactions=[("kind", "siez")])


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--loss", "sqared_error"], "squared_hinge, and objects. Did you mean 'squared_error'?"),
        (
            ["--history", "sold: lagg 1"],
            "'lagg' is none of lag, mean, std, min, max, change, since. Did you mean 'lag'?",
        ),
        (["--history", "siez: lag 1"], "which is not there. The columns are kind, size, sold. Did you mean 'size'?"),
        (["--history", "sold by knid: lag 1"], "Did you mean 'kind'?"),
    ],
)
def test_what_was_misspelt_is_guessed(
    words: list[str], said: str, table: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with contextlib.suppress(SystemExit):
        assert main(["train", table, "--label", "sold", "-o", str(tmp_path / "model"), *words]) == 1
    assert said in capsys.readouterr().err
    assert not (tmp_path / "model").exists()


@pytest.mark.parametrize(
    "words", [["--rho", "1"], ["--window", "100"], ["--bits", "9"], ["--no-intercept"], ["--interact", "size", "kind"]]
)
def test_options_fixed_by_the_model_being_continued_are_refused(
    words: list[str], table: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = str(tmp_path / "model")
    assert main(["train", table, "--label", "sold", "-o", model, "--quiet"]) == 0
    assert main(["train", table, "-i", model, "-o", str(tmp_path / "on"), "--quiet"]) == 0
    with pytest.raises(SystemExit) as end:
        main(["train", table, "-i", model, "-o", str(tmp_path / "on"), *words])
    assert end.value.code == 2
    assert f"argument {words[0]}: is fixed by the model of --initial" in capsys.readouterr().err
