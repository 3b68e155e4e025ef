"""No command writes onto one of its inputs, whatever names the file: every option of every command that names one is tried."""

import argparse
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from odca import cli

DATA = "y,a\n1,2\n0,1\n1,3\n0,0\n"
NO_FILES = {
    "--label", "--weight", "--offset", "--time", "--tag", "--delimiter", "--interact", "--ignore", "--keep", "--text",
    "--categorical", "--numeric", "--dates", "--booleans", "--classes", "--window", "--penalty", "--loss",
    "--every", "--na-values", "--pairs", "--history", "--query", "--prefix", "DIR", "--host", "--name", "--token", "--follow",
}  # fmt: skip
"""All options of free text that do not name a file. A new option belongs here, or says that it `reads_file` or `writes_file`."""
NEEDED = {"train": ["--label", "y"], "convert": ["--label", "y", "--to", "libsvm"]}


def parser_of(name: str) -> argparse.ArgumentParser:
    return cli.prepare(argparse.ArgumentParser(prog=f"odca {name}"), name)


def arguments_of(name: str) -> Iterator[argparse.Action]:
    """The arguments of a command whose values are free text."""
    for action in parser_of(name)._actions:
        if action.nargs != 0 and action.choices is None and action.type in {None, Path}:
            yield action


def name_of(action: argparse.Action) -> str:
    return action.option_strings[-1] if action.option_strings else str(action.metavar)


def use_of(action: argparse.Action) -> str | None:
    return getattr(action, "file_use", None)


PAIRS = [
    (name, read.dest, written.dest)
    for name in cli.COMMANDS
    for read in arguments_of(name)
    for written in arguments_of(name)
    if (use_of(read), use_of(written)) == ("read", "written")
]


@pytest.mark.parametrize("name", cli.COMMANDS)
def test_every_option_of_free_text_says_whether_it_names_a_file(name: str) -> None:
    unclear = {name_of(each) for each in arguments_of(name) if use_of(each) is None}
    assert unclear <= NO_FILES


def test_every_pair_of_an_input_and_an_output_is_tried() -> None:
    assert {
        ("inspect", "model", "output"), ("inspect", "data", "output"), ("inspect", "since", "plot"),
        ("train", "initial", "output"), ("train", "data", "checkpoint"), ("merge", "models", "output"),
        ("predict", "model", "output"), ("evaluate", "data", "curve"), ("convert", "data", "names"),
    } <= {*PAIRS}  # fmt: skip


def words_of(name: str, files: dict[str, str]) -> list[str]:
    """A call of a command with these files; the others that it needs are there, or in a folder of their own."""
    words = [name]
    for action in arguments_of(name):
        if not (action.dest in files or action.required) or use_of(action) is None:
            continue
        usual = "new" if use_of(action) == "written" else "data.csv" if action.dest == "data" else "model"
        values = [files.get(action.dest, usual)]
        if action.dest == "models":
            values = ["model", *values]
        words += [*action.option_strings[-1:], *values]
    return words + NEEDED.get(name, [])


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    folder = tmp_path_factory.mktemp("model")
    (folder / "data.csv").write_text(DATA)
    words = ["train", str(folder / "data.csv"), "--label", "y", "--bits", "4", "-o", str(folder / "model"), "--quiet"]
    assert cli.main(words) == 0
    return (folder / "model").read_bytes()


@pytest.fixture
def folder(model: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data.csv").write_text(DATA)
    (tmp_path / "model").write_bytes(model)
    return tmp_path


def the_file_itself(folder: Path) -> tuple[str, str]:
    return "input.csv", "input.csv"


def by_another_path(folder: Path) -> tuple[str, str]:
    return "input.csv", f"../{folder.name}/./input.csv"


def a_symbolic_link(folder: Path) -> tuple[str, str]:
    (folder / "link").symlink_to("input.csv")
    return "input.csv", "link"


def a_link_to_the_folder(folder: Path) -> tuple[str, str]:
    (folder / "way").symlink_to(".")
    return "way/input.csv", "input.csv"


def a_hard_link(folder: Path) -> tuple[str, str]:
    os.link(folder / "input.csv", folder / "twin")
    return "input.csv", "twin"


def matches_a_pattern(folder: Path) -> tuple[str, str]:
    return "in*.csv", "input.csv"


@pytest.mark.parametrize(
    "names",
    [the_file_itself, by_another_path, a_symbolic_link, a_link_to_the_folder, a_hard_link, matches_a_pattern],
    ids=lambda names: names.__name__,
)
@pytest.mark.parametrize(("name", "read", "written"), PAIRS)
def test_an_output_that_is_an_input_is_refused(
    folder: Path,
    name: str,
    read: str,
    written: str,
    names: Callable[[Path], tuple[str, str]],
    capsys: pytest.CaptureFixture[str],
) -> None:
    content = (folder / ("data.csv" if read == "data" else "model")).read_bytes()
    (folder / "input.csv").write_bytes(content)
    given, target = names(folder)
    before = {path: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    with pytest.raises(SystemExit) as end:
        cli.main(words_of(name, {read: given, written: target}))
    assert end.value.code == 2
    assert f"{target} is an input file. Name another file" in capsys.readouterr().err
    assert {path: path.read_bytes() for path in folder.iterdir() if path.is_file()} == before


@pytest.mark.parametrize(("name", "one", "other"), [("train", "output", "checkpoint"), ("convert", "output", "names")])
def test_two_outputs_are_two_files(
    folder: Path, name: str, one: str, other: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as end:
        cli.main(words_of(name, {one: "new", other: "./new"}))
    assert end.value.code == 2
    assert f"argument --{other}: is the same file as --{one}. Name another file" in capsys.readouterr().err


def run(shell: str, folder: Path) -> subprocess.CompletedProcess[str]:
    command = f'odca() {{ {sys.executable} -m odca "$@"; }}; {shell}'
    return subprocess.run(["bash", "-c", command], cwd=folder, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("shell", "message"),
    [
        ("odca predict model data.csv >> data.csv", "standard output goes to an input file: data.csv"),
        ("odca train data.csv --label y -o m 2>> data.csv", ""),
        ("odca predict model - -o data.csv < data.csv", "data.csv is an input file"),
        ("odca predict model - >> data.csv < data.csv", "standard output goes to an input file: standard input"),
    ],
)
def test_redirections_to_an_input_are_refused(folder: Path, shell: str, message: str) -> None:
    done = run(shell, folder)
    assert done.returncode == 2
    assert message in done.stderr
    if "2>>" not in shell:
        assert (folder / "data.csv").read_text() == DATA


def test_a_device_may_be_read_and_written(folder: Path) -> None:
    done = run("odca predict model /dev/stdin -o /dev/stdout < data.csv | cat", folder)
    assert (done.returncode, len(done.stdout.splitlines())) == (0, 4)
    assert cli.main(["predict", "model", "data.csv", "-o", os.devnull]) == 0


def test_a_checkpoint_is_read_and_written_by_one_training(folder: Path) -> None:
    words = ["train", "data.csv", "--label", "y", "-o", "new", "--checkpoint", "state", "--resume", "--quiet"]
    assert [cli.main(words), cli.main(words)] == [0, 0]
