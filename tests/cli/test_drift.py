"""`odca train` notices drift: in its summary, in JSON, as a CSV file and as a picture; and so does a training that is resumed."""

import csv
import json
import sys
from pathlib import Path

import numpy as np
import pytest

import odca
from odca import cli

FLIP, EVENTS = 3000, 5000


@pytest.fixture(scope="module")
def flipped(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two classes whose rule becomes its opposite after FLIP events."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(EVENTS, 3))
    signs = np.where(np.arange(EVENTS) < FLIP, 6.0, -6.0)
    labels = rng.random(EVENTS) < 1.0 / (1.0 + np.exp(-signs * (X @ [1.0, -0.5, 0.3])))
    path = tmp_path_factory.mktemp("drift") / "flipped.csv"
    rows = [f"{a:.4f},{b:.4f},{c:.4f},{'yes' if label else 'no'}" for (a, b, c), label in zip(X, labels, strict=True)]
    path.write_text("\n".join(["a,b,c,bought", *rows]) + "\n", encoding="utf-8")
    return path


def test_the_summary_and_json_say_when_the_loss_rose_and_how_much(
    flipped: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    how = ["train", str(flipped), "--label", "bought", "-o", str(tmp_path / "m")]
    assert cli.main(how) == 0
    assert "the loss rose from 0." in (text := capsys.readouterr().out)
    assert cli.main([*how, "--json"]) == 0
    summary = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert summary["drift"]["count"] == 1
    (rise,) = summary["drift"]["rises"]
    assert FLIP - 5 < rise["since"] <= rise["event"] < FLIP + 100
    assert rise["after"] > 2.0 * rise["before"]
    model = odca.load(tmp_path / "m")
    assert [each.event for each in model.drift.rises] == [rise["event"]]
    assert str(model.drift) in text


def test_without_a_change_json_says_that_there_is_none(
    flipped: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = tmp_path / "before.csv"
    before.write_text(
        "".join(flipped.read_text(encoding="utf-8").splitlines(keepends=True)[: FLIP + 1]), encoding="utf-8"
    )
    assert cli.main(["train", str(before), "--label", "bought", "-o", str(tmp_path / "m"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out.splitlines()[-1])["drift"] == {
        "rises": [],
        "count": 0,
        "columns": [],
        "column_count": 0,
    }
    assert str(odca.load(tmp_path / "m").drift) == "The loss did not rise over the stream."


def test_the_curve_is_a_csv_file_with_the_baselines_and_the_rises(flipped: Path, tmp_path: Path) -> None:
    how = ["--label", "bought", "-o", str(tmp_path / "m"), "--curve", str(tmp_path / "curve.csv"), "--quiet"]
    assert cli.main(["train", str(flipped), *how]) == 0
    with (tmp_path / "curve.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    names = "events weight loss accuracy no_change_accuracy majority_accuracy rises"
    assert list(rows[0]) == names.split()
    assert int(rows[-1]["events"]) == EVENTS
    risen = [int(row["events"]) for row in rows if row["rises"] == "1"]
    assert len(risen) == 1
    assert FLIP < risen[0] < FLIP + 100
    assert sum(float(row["weight"]) for row in rows) == EVENTS


def test_the_plot_is_a_picture(flipped: Path, tmp_path: Path) -> None:
    how = ["--label", "bought", "-o", str(tmp_path / "m"), "--plot", str(tmp_path / "curve.png"), "--quiet"]
    assert cli.main(["train", str(flipped), *how]) == 0
    assert (tmp_path / "curve.png").read_bytes()[:4] == b"\x89PNG"


def test_what_cannot_be_drawn_is_refused_before_training(
    flipped: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    how = ["train", str(flipped), "--label", "bought", "-o", str(tmp_path / "m"), "--plot"]
    assert cli.main([*how, str(tmp_path / "curve.xyz")]) == 1
    assert "must end in .png" in capsys.readouterr().err
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert cli.main([*how, str(tmp_path / "curve.png")]) == 1
    assert "pip install matplotlib" in capsys.readouterr().err
    assert not (tmp_path / "m").exists()


def test_a_resumed_training_notices_the_same(flipped: Path, tmp_path: Path) -> None:
    lines = flipped.read_text(encoding="utf-8").splitlines(keepends=True)
    grown, state = tmp_path / "grown.csv", tmp_path / "state"
    how = [str(grown), "--label", "bought", "--quiet", "--checkpoint", str(state), "--resume"]
    for end in (FLIP + 11, len(lines)):  # between the flip and the alarm
        grown.write_text("".join(lines[:end]), encoding="utf-8")
        assert cli.main(["train", *how, "-o", str(tmp_path / "resumed")]) == 0
    whole = odca.train(flipped, label="bought", progress=False)
    resumed = odca.load(tmp_path / "resumed")
    assert whole.drift.count == 1
    assert resumed.drift == whole.drift
    for name, column in whole.metrics.curve().items():
        np.testing.assert_array_equal(resumed.metrics.curve()[name], column)
