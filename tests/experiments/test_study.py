"""Verdicts and intervals say what they claim to say."""

import csv
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from odca.research.experiments import Claim, Interval, Job, Line, Panel, Study, report, tuning
from odca.research.experiments.study import in_background, over_seeds

BELOW, ABOVE, AROUND = Interval(-2.0, -3.0, -1.0), Interval(2.0, 1.0, 3.0), Interval(0.5, -1.0, 2.0)


def test_an_interval_is_students_t_interval() -> None:
    values = np.random.default_rng(0).normal(size=10)
    low, high = stats.t.interval(0.95, 9, loc=values.mean(), scale=stats.sem(values))
    interval = Interval.of(values)
    np.testing.assert_allclose([interval.mean, interval.low, interval.high], [values.mean(), low, high])
    with pytest.raises(ValueError, match="at least two values"):
        Interval.of([1.0])


def test_the_interval_of_a_series_covers_its_mean_as_often_as_it_should() -> None:
    """A series whose neighbours depend on each other; an interval for independent values would miss far more often."""
    rng = np.random.default_rng(1)
    hits = 0
    for k in range(200):
        noise = rng.normal(size=2_000)
        series = np.convolve(noise, np.ones(8) / 8.0, mode="valid")
        interval = Interval.of_series(series, block=50, draws=400, seed=k)
        assert interval.low <= interval.mean <= interval.high
        hits += interval.low <= 0.0 <= interval.high
    assert 178 <= hits <= 200  # 95 % of 200 is 190; blocks make it a little narrow


def test_the_interval_of_a_table_covers_variation_over_seeds_and_rows() -> None:
    """Both vary: an interval of seeds alone would miss far more often."""
    rng = np.random.default_rng(2)
    hits = narrow = 0
    for _ in range(150):
        chance = np.clip(0.3 + 0.1 * rng.normal(size=(12, 1)) + 0.2 * rng.normal(size=(1, 60)), 0.0, 1.0)
        table = (rng.random((12, 60)) < chance).astype(np.int8)
        interval = Interval.of_table(table)
        assert interval.mean == pytest.approx(100.0 * table.mean())
        truth = 30.6  # the mean of the clipped chance, in percent
        hits += interval.low <= truth <= interval.high
        of_seeds = Interval.of(100.0 * table.mean(axis=1))
        narrow += of_seeds.low <= truth <= of_seeds.high
    assert hits >= 135
    assert narrow < hits


def test_the_interval_is_a_point_if_all_seeds_agree() -> None:
    same = Interval.of([0.1, 0.1, 0.1])
    assert same.is_point
    assert report.signed(same) == "+0.1 (all seeds agree)"
    assert not Interval.of([0.1, 0.2]).is_point


def test_a_best_value_at_the_end_of_its_grid_is_refused() -> None:
    rates = tuning.grid(1.0, 4, 2.0)
    assert rates == (1.0, 2.0, 4.0, 8.0)
    assert tuning.lowest("μ", rates, [3.0, 1.0, 2.0, np.inf]) == 1
    for scores in ([1.0, 2.0, 3.0, 4.0], [4.0, 3.0, 2.0, 1.0], [np.nan, 3.0, 2.0, 1.0]):
        with pytest.raises(ValueError, match=r"the best μ, .*, is at an end of its grid"):
            tuning.lowest("μ", rates, scores)
    assert tuning.listed(rates, [3.0, 1.0, 2.0, np.inf]) == "1: 3, 2: 1, 4: 2, 8: diverges"


@pytest.mark.parametrize(
    ("difference", "good", "margin", "smoothed", "verdict"),
    [
        (BELOW, "below", 0.0, None, "holds"),
        (ABOVE, "below", 0.0, None, "does not hold"),
        (AROUND, "below", 0.0, None, "does not hold"),
        (AROUND, "below", 2.5, None, "holds"),
        (ABOVE, "above", 0.0, None, "holds"),
        (BELOW, "above", 0.0, None, "does not hold"),
        (AROUND, "above", 1.5, None, "holds"),
        (AROUND, "within", 2.5, None, "holds"),
        (AROUND, "within", 1.5, None, "does not hold"),
        (BELOW, "within", 2.5, None, "does not hold"),
        (AROUND, "below", 0.0, BELOW, "needs smoothing"),
        (ABOVE, "below", 0.0, AROUND, "does not hold"),
        (BELOW, "below", 0.0, ABOVE, "holds"),
    ],
)
def test_a_claim_holds_only_if_the_whole_interval_agrees(
    difference: Interval, good: str, margin: float, smoothed: Interval | None, verdict: str
) -> None:
    claim = Claim("it is so", "odca", difference, "points", good, margin, smoothed)  # type: ignore[arg-type]
    assert claim.verdict == verdict


def test_results_are_in_the_order_of_the_seeds() -> None:
    reported: list[str] = []
    assert over_seeds(lambda seed: seed**2, Job(range(8), reported.append), "squares") == [0, 1, 4, 9, 16, 25, 36, 49]
    assert sorted(reported) == [f"squares, seed {seed}" for seed in range(8)]


def test_an_error_in_a_parallel_seed_is_raised_in_the_caller() -> None:
    assert in_background(lambda: 3).result() == 3
    with pytest.raises(ZeroDivisionError):
        in_background(lambda: 1 // 0).result()


def test_a_report_states_data_parameters_claims_and_results(tmp_path: Path) -> None:
    curves = np.array([[1.0, 2.0], [3.0, 4.0], [2.0, 2.0]])
    study = Study(
        name="made",
        title="Made up",
        data="none",
        parameters={"ρ": "0.1"},
        seeds=range(3),
        claims=[Claim("it is so", "paper, Figure 9", BELOW, "points", smoothed=AROUND, wider=AROUND)],
        panels=[
            Panel(
                "made-up", "t", "events", "error", [Line.of("ours", [1, 2], curves), Line.known("level", [1, 2], 5.0)]
            )
        ],
        columns=("error",),
        results={"ours": [Interval.of(curves[:, 1])], "level": [5.0]},
        notes=["A note."],
        left_out=["made up, a part. No file."],
    )
    paths = report.write([study], tmp_path, ["another. No file."])
    assert [path.name for path in paths] == ["report.md", "claims.csv", "made-up.csv"]
    text = paths[0].read_text(encoding="utf-8")
    for part in (
        "| made | it is so | paper, Figure 9 | -2 [-3, -1] points | +0.5 [-1, +2] | +0.5 [-1, +2] | **holds** |",
        "**Left out**: another. No file.",
        "**Left out**: made up, a part. No file.",
        "- ρ: 0.1",
        "Seeds: seeds 0, 1, 2.",
        "| level | 5 |",
        "A note.",
        "![Made up](made.png)",
    ):
        assert part in text
    with paths[2].open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["line"] for row in rows] == ["ours", "ours", "level", "level"]
    assert float(rows[1]["error"]) == pytest.approx(8.0 / 3.0)
    assert float(rows[1]["low"]) < float(rows[1]["error"]) < float(rows[1]["high"])
    assert rows[2]["low"] == ""
