"""`odca split` and `odca train --shards`: parts of one model learn apart and become one."""

from pathlib import Path

import numpy as np
import pytest

import odca
from odca.cli import main


@pytest.fixture
def data(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(600, 2))
    bought = np.where(rows @ [2.0, -1.0] + 0.3 * rng.normal(size=600) > 0.0, "yes", "no")
    lines = [f"{a:.3f},{b:.3f},{label}\n" for (a, b), label in zip(rows, bought, strict=True)]
    path = tmp_path / "visits.csv"
    path.write_text("a,b,bought\n" + "".join(lines))
    return path


def test_split_and_merge_of_files_return_the_model(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = tmp_path / "m.safetensors"
    assert main(["train", str(data), "--label", "bought", "--loss", "log_loss", "-o", str(model), "--quiet"]) == 0
    assert main(["split", str(model), "-n", "3"]) == 0
    assert "m.part1.safetensors" in capsys.readouterr().out
    parts = [str(tmp_path / f"m.part{k}.safetensors") for k in (1, 2, 3)]
    assert main(["merge", *parts, "-o", str(tmp_path / "again.safetensors")]) == 0
    before, after = odca.load(model), odca.load(tmp_path / "again.safetensors")
    rows = [{"a": 0.3, "b": -1.0}, {"a": -2.0, "b": 0.5}]
    np.testing.assert_allclose(after.predict_proba(rows), before.predict_proba(rows), rtol=1e-9)
    assert after.learner.count == 600


@pytest.mark.parametrize("linear", [[], ["--loss", "log_loss"]])
@pytest.mark.parametrize("files", [1, 2])
def test_shards_learn_every_event_once(data: Path, tmp_path: Path, linear: list[str], files: int) -> None:
    model = tmp_path / "m.safetensors"
    given = [str(data)] * files
    assert main(["train", *given, "--label", "bought", *linear, "--shards", "2", "-o", str(model), "--quiet"]) == 0
    learned = odca.load(model)
    assert learned.learner.count == 600 * files
    assert learned.metrics.events == 600 * files
    assert learned.metrics.accuracy > 0.85


@pytest.mark.parametrize("other", [["--follow"], ["--checkpoint", "c"], ["-p", "p"], ["--on-error", "skip"]])
def test_what_does_not_go_with_shards_is_refused(data: Path, tmp_path: Path, other: list[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["train", str(data), "--label", "bought", "--shards", "2", "-o", str(tmp_path / "m"), *other])
    assert not (tmp_path / "m").exists()
