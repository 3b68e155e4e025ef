"""A column that changes is reported; where calls begin and end, and whether the model was saved in between, does not matter."""

from pathlib import Path

import numpy as np
import pytest

import odca
from odca import cli, stream
from odca.models.options import ModelOptions
from odca.stream.model import StreamModel

CHANGE, EVENTS = 9000, 13000


def write(path: Path, *, shift: float = 0.0, gaps: float = 0.05, seed: int = 0) -> Path:
    """Numbers a and b, a category; after CHANGE events b is larger, and a is missing more often."""
    rng = np.random.default_rng(seed)
    is_late = np.arange(EVENTS) >= CHANGE
    a, b = rng.normal(size=(2, EVENTS)) + np.outer([0.0, shift], is_late)
    missing = rng.random(EVENTS) < np.where(is_late, gaps, 0.05)
    city = rng.choice(["Rome", "Oslo", "Lima"], size=EVENTS, p=[0.6, 0.3, 0.1])
    label = np.where(rng.normal(size=EVENTS) + (city == "Rome") > 0.5, "yes", "no")
    rows = zip(a.tolist(), missing.tolist(), b.tolist(), city.tolist(), label.tolist(), strict=True)
    text = "".join(f"{'' if gap else f'{x:.3f}'},{y:.3f},{where},{what}\n" for x, gap, y, where, what in rows)
    path.write_text("a,b,city,bought\n" + text)
    return path


@pytest.mark.parametrize(("how", "column", "what"), [({"shift": 1.0}, "b", "larger"), ({"gaps": 0.3}, "a", "missing")])
def test_a_column_that_changes_is_reported(
    how: dict, column: str, what: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(tmp_path / "d.csv", **how)
    assert cli.main(["train", str(path), "--label", "bought", "-o", str(tmp_path / "m")]) == 0
    printed = capsys.readouterr().out
    (change,) = odca.load(tmp_path / "m").drift.columns
    assert (change.column, change.what) == (column, what)
    assert CHANGE - 200 < change.since <= change.event < CHANGE + 2500
    assert change.after - change.before == pytest.approx(1.0 if what == "larger" else 0.25, abs=0.15)
    assert str(change) in printed
    assert cli.main(["inspect", str(tmp_path / "m"), "--top", "0"]) == 0
    assert str(change) in capsys.readouterr().out


def test_columns_that_do_not_change_are_not_reported(tmp_path: Path) -> None:
    for seed in range(3):
        model = odca.train(write(tmp_path / "d.csv", seed=seed), label="bought", progress=False)
        assert not model.drift
        assert model.drift.as_json()["columns"] == []


def test_where_calls_end_and_whether_the_model_was_saved_does_not_matter(tmp_path: Path) -> None:
    path, states = write(tmp_path / "d.csv", shift=1.0), []
    for size in (20_000, 1_000_000):
        model = None
        with stream.open(path, label="bought", chunk_size=size) as opened:
            for block in opened:
                model = model or StreamModel.begin(ModelOptions(auto="events"), opened.schema, opened.sample)
                model.vocabulary = opened.vocabulary
                model.learn(block)
                if size == 20_000:
                    model.save(tmp_path / "m")
                    model = StreamModel.load(tmp_path / "m")
        assert model is not None
        assert model.columns is not None
        states.append((model.columns.state().tobytes(), model.drift))
    assert states[0] == states[1]
    assert len(states[0][1].columns) == 1


def test_a_merged_model_has_the_changes_of_both(tmp_path: Path) -> None:
    one, other = (
        odca.train(write(tmp_path / "d.csv", shift=1.0, seed=seed), label="bought", progress=False) for seed in (1, 2)
    )
    both = one.merge(other).drift
    assert both.column_count == one.drift.column_count + other.drift.column_count == 2
    assert both.columns[1].event == other.drift.columns[0].event + EVENTS


def test_one_linear_model_does_not_watch_columns(tmp_path: Path) -> None:
    model = odca.train(write(tmp_path / "d.csv", shift=1.0), label="bought", loss="log_loss", progress=False)
    assert model.columns is None
    assert model.drift.columns == ()


def test_a_damaged_watch_is_refused(tmp_path: Path) -> None:
    model = odca.train(write(tmp_path / "d.csv"), label="bought", progress=False)
    contents = model._contents()
    contents.arrays["columns"] = contents.arrays["columns"][:-1]
    with pytest.raises(ValueError, match="its watch over the columns is invalid"):
        StreamModel.restored(contents)
