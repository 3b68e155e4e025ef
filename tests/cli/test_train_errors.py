"""What `odca train` says of data and paths that it cannot use, and that it leaves everything as it was."""

import contextlib
import gzip
import json
import os
import sqlite3
from pathlib import Path

import pytest

from odca import cli
from odca.stream.model import StreamModel
from stream_files import events, vw, write


@pytest.fixture
def train(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    """The exit code, the lines and what is told on stderr. The model file that is there must outlast a failure."""
    path = tmp_path / "model.safetensors"

    def run(*words: object) -> tuple[int, list[str], str]:
        path.write_bytes(b"the old model")
        output = [] if "-o" in words else ["-o", str(path)]
        try:
            code = cli.main(["train", *map(str, words), *output])
        except SystemExit as error:
            code = int(str(error.code))
        captured = capsys.readouterr()
        assert (path.read_bytes() == b"the old model") == (code != 0)
        assert not list(tmp_path.glob(".*"))
        return code, captured.out.splitlines(), captured.err

    return run


VW = [vw(each) for each in events(30)]
CSV = ["y,a,b\n", *(f"{k % 2},{k},{k % 7}.5\n" for k in range(30))]
SVM = [f"{1 - 2 * (k % 2)} 1:{k} 3:0.5\n" for k in range(30)]
JSON = [f'{{"y": {k % 2}, "a": {k}, "b": "x"}}\n' for k in range(30)]

BAD = [
    ("a.vw", VW, "1 |n a:1x\n", "character 8", "number"),
    ("a.vw", VW, "zwei |n a\n", "character", "label"),
    ("a.vw", VW, "1 |n a\0b\n", "character", "NUL"),
    ("a.vw", VW, "1 |n a:1e999\n", "character", ""),
    ("a.svm", SVM, "1 1:x\n", "character 5", "number"),
    ("a.svm", SVM, "1 1:nan\n", "character", ""),
    ("a.svm", SVM, "x 1:2\n", "character 1", "label"),
    ("a.csv", CSV, "1,oops,2\n", "character 3: 'a' must", "number"),
    ("a.csv", CSV, "1,2\n", "", "2 fields"),
    ("a.csv", CSV, "1,2,3,4\n", "", "4 fields"),
    ("a.csv", CSV, "1,2,\0\n", "", "NUL"),
    ("a.jsonl", JSON, '{"y": 1, "a": }\n', "character", ""),
    ("a.jsonl", JSON, "[1]\n", "character", ""),
    ("a.jsonl", JSON, '{"y": 1} x\n', "character", ""),
]


@pytest.mark.parametrize(("name", "lines", "bad", "where", "what"), BAD)
def test_a_bad_line_is_named_and_can_be_skipped(train, tmp_path: Path, name, lines, bad, where, what) -> None:
    data = write(tmp_path / name, [*lines[:20], bad, *lines[20:]])
    how = {"a.csv": ["--label", "y", "--numeric", "a", "b"], "a.jsonl": ["--label", "y"]}.get(name, [])
    code, _, told = train(data, *how)
    assert code == cli.REFUSED
    assert told.startswith(f"odca train: {data}, line 21")
    assert where in told
    assert what.lower() in told.lower()
    code, rows, told = train(data, *how, "--on-error", "skip", "--json")
    assert (code, told) == (0, "")
    good = write(tmp_path / f"good.{name}", lines)
    skipped = StreamModel.load(tmp_path / "model.safetensors")
    assert train(good, *how, "--quiet") == (0, [], "")
    assert skipped.learner == StreamModel.load(tmp_path / "model.safetensors").learner
    texts = [json.loads(row)["text"] for row in rows if json.loads(row)["event"] == "warning"]
    assert texts[0].startswith("1 ")
    assert f"{data}, line 21" in texts[1]


def test_a_line_that_is_too_long_is_a_bad_line(train, tmp_path: Path) -> None:
    data = write(tmp_path / "a.vw", [*VW[:20], f"1 |n {'x' * 1000}\n", *VW[20:]])
    code, _, told = train(data, "--max-line", 500)
    assert code == cli.REFUSED
    assert f"{data}, line 21: the line has more than 500 bytes." in told
    code, lines, told = train(data, "--max-line", 500, "--on-error", "skip", "--quiet")
    assert (code, lines) == (0, [])
    assert "1 line could not be read" in told  # even if it is to be quiet
    assert StreamModel.load(tmp_path / "model.safetensors").metrics.events == 30


def test_many_bad_lines_are_counted_and_the_first_shown(train, tmp_path: Path) -> None:
    data = write(tmp_path / "a.vw", [line for each in VW for line in (each, "1 |n a:1x\n")] * 100)
    code, lines, told = train(data, "--on-error", "skip")
    assert code == 0
    assert "3,000 lines could not be read and were skipped" in told
    assert len(told.splitlines()) == 11
    assert f"{data}, line 2, " in told
    assert "accuracy" in "".join(lines)


def test_if_every_line_is_bad_the_first_is_named(train, tmp_path: Path) -> None:
    data = write(tmp_path / "a.vw", ["1 |n a:1x\n"] * 5)
    for how in ([], ["--on-error", "skip"]):
        code, _, told = train(data, *how)
        assert code == cli.REFUSED
        assert f"{data}, line 1, character" in told


@pytest.mark.parametrize("options", [[], ["--task", "numbers"], ["--classes", "0,1", "--loss", "hinge"]])
@pytest.mark.parametrize("text", ["", "\n\n"])
def test_training_on_empty_data_is_refused(train, tmp_path: Path, options, text) -> None:
    code, _, told = train(write(tmp_path / "a.vw", [text]), *options)
    assert code == cli.REFUSED
    assert "a.vw: there are no events." in told


def test_a_missing_first_label_is_no_problem(train, tmp_path: Path) -> None:
    data = write(tmp_path / "a.vw", ["|n a\n", "x |n a\n", *(f"{k}.5 |n a:{k}\n" for k in range(30))])
    code, _, _ = train(data, "--task", "numbers", "--on-error", "skip", "--quiet")
    assert code == 0
    model = StreamModel.load(tmp_path / "model.safetensors")
    assert model.metrics.events == 30
    assert model.metrics.scores()["r2"] > 0.9


def test_the_error_for_an_unknown_column_lists_the_columns(train, tmp_path: Path) -> None:
    code, _, told = train(write(tmp_path / "a.csv", CSV), "--label", "price")
    assert code == cli.REFUSED
    assert "there is no column 'price' for the label. There are y, a, b." in told


def test_a_table_needs_a_label(train, tmp_path: Path) -> None:
    for data in (write(tmp_path / "a.csv", CSV), write(tmp_path / "a.jsonl", JSON)):
        code, _, told = train(data)
        assert code == cli.REFUSED
        assert "--label" in told


def test_missing_files_are_reported(train, tmp_path: Path) -> None:
    assert "there is no file" in train(tmp_path / "none.vw")[2]
    assert "no file matches" in train(tmp_path / "*.none")[2]
    assert "is a directory" in train(tmp_path)[2]
    code, _, told = train(write(tmp_path / "a.vw", VW), tmp_path / "none.vw")
    assert (code, "there is no file" in told) == (cli.REFUSED, True)


def test_damaged_compressed_data_are_refused(train, tmp_path: Path) -> None:
    packed = bytearray(gzip.compress("".join(VW * 500).encode()))
    (tmp_path / "cut.vw.gz").write_bytes(packed[: len(packed) // 2])
    packed[len(packed) // 2] ^= 0xFF
    (tmp_path / "bad.vw.gz").write_bytes(packed)
    for name in ("cut.vw.gz", "bad.vw.gz"):
        code, _, told = train(tmp_path / name, "--on-error", "skip")
        assert code == cli.REFUSED
        assert f"{name}: the file " in told


@pytest.mark.parametrize("option", ["-o", "--checkpoint"])
def test_an_unwritable_output_is_reported_before_the_data_are_read(train, tmp_path: Path, option) -> None:
    (tmp_path / "shut").mkdir(mode=0o500)
    output = [] if option == "-o" else ["-o", tmp_path / "new.safetensors"]
    for place in ("nowhere/m.safetensors", "shut/m.safetensors", "."):
        if place.startswith("shut") and os.access(tmp_path / "shut", os.W_OK):
            continue  # root may write everywhere
        code, lines, told = train(tmp_path / "there-are-no-data.vw", option, tmp_path / place, *output)
        assert (code, lines) == (cli.REFUSED, [])
        assert "directory" in told
        assert "no file" not in told
    (tmp_path / "shut").chmod(0o700)


def test_the_input_is_never_overwritten(train, tmp_path: Path) -> None:
    data = write(tmp_path / "a.vw", VW)
    assert train(data, "-o", data)[0] == 2
    assert train(data, "-o", tmp_path / "m", "--checkpoint", data)[0] == 2
    assert train(data, "-o", tmp_path / "m", "--checkpoint", tmp_path / "x" / ".." / "m")[0] != 0
    assert train(data, "-o", tmp_path / "m", "--checkpoint", tmp_path / "m")[0] == 2
    assert Path(data).read_text() == "".join(VW)


@pytest.mark.parametrize(
    "words",
    [
        ["--loss", "cubic"], ["--window", "soon"], ["--rho", "-1"], ["--every", "often"], ["--resume"], ["--bits", "99"],
        ["--delimiter", "ab"], ["--interact", "a"], ["--keep", "a", "--ignore", "a"], ["--threads", "0"],
    ],
)  # fmt: skip
def test_wrong_arguments_are_usage_errors(train, tmp_path: Path, words) -> None:
    code, _, told = train(write(tmp_path / "a.vw", VW), *words)
    assert code == 2
    assert "odca train: error: " in told


@pytest.mark.parametrize("classes", ["1e400,2", "0,-1e999", "a,,b", ","])
def test_classes_that_no_label_can_be_are_refused(train, tmp_path: Path, classes: str) -> None:
    code, _, told = train(write(tmp_path / "a.csv", CSV), "--label", "y", "--classes", classes)
    assert code == 2
    assert "argument --classes: must be names and finite numbers, separated by commas; got " in told


def test_classes_are_read_as_labels_are(train, tmp_path: Path) -> None:
    data = write(tmp_path / "a.csv", ["y,a\n", *(f"{('1_0', 'inf_', '2')[k % 3]},{k}\n" for k in range(30))])
    assert train(data, "--label", "y", "--classes", "2.0,1_0,inf_", "--quiet")[0] == 0
    assert StreamModel.load(tmp_path / "model.safetensors").classes == (2.0, "1_0", "inf_")


def test_a_column_name_that_is_not_utf8_is_named(train, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(b"y,pr\xe9nom\n1,2\n0,3\n")
    code, _, told = train(tmp_path / "a.csv", "--label", "y")
    message = "line 1: the field 2 is not UTF-8: 'pr\ufffdnom'. Convert the file: iconv -f LATIN1 -t UTF-8."
    assert (code, told) == (cli.REFUSED, f"odca train: {tmp_path / 'a.csv'}, {message}\n")


@pytest.mark.parametrize("option", ["--label", "--ignore", "--text", "--interact a"])
def test_an_argument_that_is_not_utf8_is_refused(train, tmp_path: Path, option: str) -> None:
    code, _, told = train(write(tmp_path / "a.jsonl", JSON), *option.split(), "pr\udce9nom")
    assert code in {cli.REFUSED, 2}
    assert r"the name 'pr\udce9nom' is not UTF-8." in told


def test_a_database_without_a_query_is_answered_with_the_flag(train, tmp_path: Path) -> None:
    path = tmp_path / "shop.db"
    with contextlib.closing(sqlite3.connect(path)) as database:
        database.execute("create table flats (area real, rent real)")
        database.commit()
    code, _, told = train(path, "--label", "rent")
    assert code == 1
    assert "it is a database. Say which rows to read (--query 'select * from t')." in told
    code, _, told = train(path, "--label", "rent", "--query", "select * from flat")
    assert code == 1
    assert "no such table: flat. The database has 'flats'." in told
