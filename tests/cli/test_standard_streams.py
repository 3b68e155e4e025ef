"""Commands whose standard streams are closed or full, and other ends that are no fault of the data: one line, and the right code."""

import subprocess
import sys
from pathlib import Path

import pytest

from odca import cli
from odca.stream.model import StreamModel

DATA = "y,a\n1,2\n0,1\n1,3\n0,0\n"
TRAIN = "odca train data.csv --label y -o new --table 1"
PRINTING = ["predict model data.csv", "inspect model", "inspect model --all", "inspect model --json", "evaluate model data.csv",
            "convert data.csv --label y -o - --to vw --quiet", "completion bash", "demo --events 4000",
            "demo --events 4000 --json"]  # fmt: skip


@pytest.fixture
def shell(tmp_path: Path):
    """Runs a line of bash in a folder with data and a model."""
    (tmp_path / "data.csv").write_text(DATA)
    words = ["train", str(tmp_path / "data.csv"), "--label", "y", "-o", str(tmp_path / "model"), "--quiet"]
    assert cli.main(words) == 0

    def run(line: str) -> subprocess.CompletedProcess[str]:
        line = f'odca() {{ {sys.executable} -m odca "$@"; }}; set -o pipefail; {line}'
        return subprocess.run(["bash", "-c", line], cwd=tmp_path, capture_output=True, text=True, check=False)

    return run


@pytest.mark.parametrize(
    ("where", "why"),
    [
        (">&-", "it is closed"),
        ("| head -1", "Broken pipe"),
        ("> /dev/full", "No space left on device"),
        ("--json > /dev/full", "No space left on device"),
    ],
)
def test_a_training_goes_on_where_nothing_can_be_printed(shell, tmp_path: Path, where: str, why: str) -> None:
    done = shell(f"{TRAIN} {where}")
    warning = f"warning: nothing more can be printed to standard output: {why}. The command goes on.\n"
    assert (done.returncode, done.stderr) == (0, warning)
    assert StreamModel.load(tmp_path / "new").metrics.events == 4


@pytest.mark.parametrize("streams", ["2>&1 | head -1", ">&- 2>&-", "<&- >&- 2>&-", "2>&-"])
def test_a_training_goes_on_where_no_warning_can_be_printed_either(shell, tmp_path: Path, streams: str) -> None:
    assert shell(f"{TRAIN} {streams}").returncode == 0
    assert StreamModel.load(tmp_path / "new").metrics.events == 4


@pytest.mark.parametrize("words", PRINTING)
def test_a_command_that_prints_its_result_says_that_standard_output_is_closed(shell, words: str) -> None:
    done = shell(f"odca {words} >&-")
    assert (done.returncode, done.stderr) == (1, f"odca {words.split(maxsplit=1)[0]}: standard output: it is closed.\n")


def test_a_command_that_prints_its_result_says_that_the_disk_is_full(shell) -> None:
    done = shell("odca predict model data.csv > /dev/full")
    assert (done.returncode, done.stderr) == (1, "odca predict: standard output: No space left on device.\n")


def test_a_command_that_prints_its_result_ends_quietly_with_its_reader(shell) -> None:
    done = shell("odca predict model data.csv | true")
    assert (done.returncode, done.stderr) == (cli.BROKEN_PIPE, "")


def test_warnings_are_not_mixed_with_data_if_standard_error_is_closed(shell) -> None:
    trained = (
        "printf 'y,a,b\\n1,2,1\\n0,1,1\\n1,3,0\\n0,0,0\\n' > two.csv; odca train two.csv --label y -o two --quiet 2>&-"
    )
    predict = "printf 'a\\n0\\n' | odca predict two - --format csv"
    assert "warning" in shell(f"{trained}; {predict}").stderr
    done = shell(f"{predict} 2>&-")
    assert (done.returncode, done.stdout) == (0, "0\n")


def test_closed_standard_input_cannot_be_read(shell) -> None:
    done = shell("odca predict model - <&-")
    assert (done.returncode, done.stderr) == (1, "odca predict: standard input: Bad file descriptor.\n")


def test_too_little_memory_is_one_line(shell) -> None:
    done = shell("ulimit -v 1000000; odca train data.csv --label y -o new --bits 30 --quiet")
    assert (done.returncode, len(done.stderr.splitlines())) == (1, 1)
    assert done.stderr.startswith("odca train: there is not enough memory. ")


def test_too_few_threads_are_one_line(monkeypatch: pytest.MonkeyPatch, shell, tmp_path: Path, capsys) -> None:
    def refuse(run: object, arguments: object) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr("odca.stream.read.parallel._thread.start_new_thread", refuse)
    assert cli.main(["evaluate", str(tmp_path / "model"), str(tmp_path / "data.csv")]) == 1
    assert capsys.readouterr().err.startswith("odca evaluate: there is not enough memory. ")


def test_file_names_that_are_no_utf8_are_printed_as_they_are(tmp_path: Path) -> None:
    (tmp_path / "data.csv").write_text(DATA)
    words = [sys.executable, "-m", "odca", "train", "data.csv", "--label", "y", "-o", b"m\xff"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, check=True, env={"LC_ALL": "C.UTF-8"})
    assert b"  m\xff\n" in done.stdout
    assert (tmp_path / "m\udcff").exists()
