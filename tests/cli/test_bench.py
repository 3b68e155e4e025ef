"""`odca bench`: figures of the machine at hand."""

import json
from pathlib import Path

import pytest

from odca import cli
from odca.cli.commands import bench


def rows(out: str) -> list[dict[str, float]]:
    return [row for row in map(json.loads, out.splitlines()) if row["event"] == "measured"]


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench, "EVENTS", 500)


def test_bench_measures_parsing_and_learning_under_every_loss(small: None, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["bench", "--seconds", "0.1", "--json"]) == 0
    measured = rows(capsys.readouterr().out)
    works = [row["work"] for row in measured]
    for loss in (*bench.CLASS_LOSSES, *bench.NUMBER_LOSSES):
        assert f"learn {loss}" in works
    assert {"parse", "parse and learn log_loss"} <= set(works)
    assert all(row["bytes_per_second"] > 0 and row["events_per_second"] > 0 for row in measured)


def test_bench_prints_a_table(small: None, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["bench", "--seconds", "0.1"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "500 events" in lines[0]
    assert any(line.startswith("parse") and "B/s" in line for line in lines)


def test_the_generated_text_resembles_rcv1_and_is_reproducible() -> None:
    lines = bench.synthetic_lines(200)
    assert lines == bench.synthetic_lines(200)
    counts = [line.count(":") for line in lines]
    assert 40 < sum(counts) / len(counts) < 71
    assert {line.split()[0] for line in lines} == {"1", "-1"}


def test_bench_uses_the_losses_that_the_labels_allow(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.vw").write_text("".join(f"{n % 7} | x:{n % 5} y\n" for n in range(200)))
    assert cli.main(["bench", str(tmp_path / "a.vw"), "--seconds", "0.1", "--json"]) == 0
    works = {row["work"] for row in rows(capsys.readouterr().out)}
    assert "learn squared_error" in works
    assert "learn log_loss" not in works


def test_bench_leaves_no_files_behind(small: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    assert cli.main(["bench", "--seconds", "0.1", "--json"]) == 0
    assert not list(tmp_path.iterdir())
