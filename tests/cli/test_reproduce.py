"""`odca reproduce`: what it writes, and that it writes the same twice."""

import sys
from pathlib import Path

import pytest

from odca import cli
from odca.research.experiments import EXPERIMENTS


@pytest.mark.long
def test_the_same_seeds_write_the_same_bytes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folders = [tmp_path / "one", tmp_path / "two"]
    for folder in folders:
        assert cli.main(["reproduce", "sparse", "--seeds", "2", "--out", str(folder)]) == 0
    printed = capsys.readouterr().out
    assert "report.md; figures and curves are in the same folder" in printed
    assert "one pass comes within 5%" in printed
    names = sorted(path.name for path in folders[0].iterdir())
    assert names == sorted(
        [
            "claims.csv",
            "report.md",
            "sparse-distance.csv",
            "sparse-found.csv",
            "sparse-zeros.csv",
            "sparse.png",
            "sparse.svg",
        ]
    )
    for name in names:
        assert (folders[0] / name).read_bytes() == (folders[1] / name).read_bytes(), name
    text = (folders[0] / "report.md").read_text(encoding="utf-8")
    assert "Seeds: seeds 0, 1." in text
    assert "fit, which makes more passes, matches the batch solution to within 0.01% | odca" in text


def test_the_command_line_lists_every_experiment() -> None:
    from odca.cli.commands import reproduce

    assert set(reproduce.NAMES) == set(EXPERIMENTS)
    for name in EXPERIMENTS:
        assert f"\n  {name} " in reproduce.EPILOG


def test_an_experiment_without_its_data_is_skipped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    monkeypatch.delenv("ODCA_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert cli.main(["reproduce", "portfolio", "--out", str(tmp_path / "out")]) == 1
    captured = capsys.readouterr()
    assert "portfolio is left out. nyse_o.csv.gz was not found" in captured.err
    assert "set ODCA_DATA to a folder that contains it" in captured.err
    assert not (tmp_path / "out" / "report.md").exists()


def test_the_report_names_skipped_experiments(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    monkeypatch.delenv("ODCA_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert cli.main(["reproduce", "portfolio", "sparse", "--seeds", "2", "--out", str(tmp_path / "out")]) == 1
    assert "portfolio is left out" in capsys.readouterr().err
    assert "**Left out**: portfolio. nyse_o.csv.gz was not found" in (tmp_path / "out" / "report.md").read_text("utf-8")


def test_the_output_must_be_a_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "taken").write_text("")
    assert cli.main(["reproduce", "sparse", "--out", str(tmp_path / "taken")]) == 1
    assert "--out must be a folder" in capsys.readouterr().err


def test_wrong_arguments_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    for words, said in (
        (["reproduce"], "EXPERIMENT"),
        (["reproduce", "mnist"], "invalid choice: 'mnist'"),
        (["reproduce", "sparse", "--seeds", "1"], "--seeds"),
    ):
        with pytest.raises(SystemExit) as exit_info:
            cli.main(words)
        assert exit_info.value.code == 2
        assert said in capsys.readouterr().err


def test_without_matplotlib_the_error_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert cli.main(["reproduce", "sparse"]) == 1
    assert "pip install 'odca[reproduce]'" in capsys.readouterr().err
