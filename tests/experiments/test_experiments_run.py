"""Every experiment runs, with two seeds, and small where it can be."""

import numpy as np
import pytest

import real_data
from odca.research import datasets
from odca.research.experiments import (
    Job,
    abrupt_change,
    bursts,
    f16,
    figures,
    leaky,
    portfolio,
    random_walk,
    rotating_hyperplane,
    step_size,
    tracking,
)
from odca.research.experiments.study import Finding

JOB = Job(range(2), lambda _: None)


@pytest.fixture
def data(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ODCA_DATA", str(real_data.path_of("a6a.gz").parent))


def check(finding: Finding) -> None:
    assert finding.claims
    assert finding.results
    for line in finding.panel.lines:
        assert line.x.shape == line.y.shape
        assert np.isfinite(line.y).all()


def test_the_random_walk_uses_the_parameters_that_theory_calls_best() -> None:
    finding = random_walk.find(JOB, events=2_000)
    check(finding)
    best = random_walk.tuned()
    assert best.best_rho == 0.003
    assert "0.003: 0.00353" in best.grids
    names = [line.label for line in finding.panel.lines]
    assert random_walk.BEST in names
    assert f"{random_walk.EXPONENTIAL}: theory" in names


def test_a_learner_that_has_not_recovered_from_a_jump_is_noted() -> None:
    finding = abrupt_change.find(JOB, after=100)
    check(finding)
    assert any(
        note.startswith(f"After the jump, {random_walk.INFINITE} had not recovered within 100 events in 2 of 2")
        for note in finding.notes
    )


def test_recovery_times_count_from_one_and_are_infinite_without_recovery() -> None:
    curves = np.array([[3.0, 0.5, 0.05], [0.05, 3.0, 3.0], [3.0, 3.0, 3.0]])
    np.testing.assert_array_equal(abrupt_change.looks_until(curves, 0.1), [3.0, 1.0, np.inf])


def test_bursts_are_compared_at_the_best_of_both_grids() -> None:
    finding = bursts.find(JOB)
    check(finding)
    assert finding.claims[0].difference.mean < 0.0
    assert "the best of their grids" in finding.parameters["bursts"]


def test_o_dca_approaches_leaky_lms() -> None:
    finding = leaky.find(JOB, events=5_000)
    check(finding)
    assert finding.claims[0].verdict == "holds"
    distances = [cells[0].mean for cells in finding.results.values()]  # type: ignore[union-attr]
    assert distances == sorted(distances, reverse=True)


def test_the_hyperplane_experiment_runs() -> None:
    check(rotating_hyperplane.find(JOB))


@pytest.mark.long
@pytest.mark.usefixtures("data")
def test_the_f16_experiment_runs() -> None:
    finding = f16.find(JOB)
    check(finding)
    assert "sysid_f16" in finding.data


def test_without_its_file_only_the_f16_is_skipped(monkeypatch: pytest.MonkeyPatch) -> None:
    def nowhere(job: Job) -> Finding:
        raise datasets.MissingDataError("no file")

    monkeypatch.setattr(f16, "find", nowhere)
    monkeypatch.setattr(tracking, "PARTS", (rotating_hyperplane.find,))
    study = tracking.run(JOB)
    assert [panel.name for panel in study.panels] == ["tracking-hyperplane"]
    assert study.left_out == ["tracking, the F-16. no file"]


@pytest.mark.usefixtures("data")
def test_the_portfolio_experiment_reaches_the_known_wealth() -> None:
    study = portfolio.run(JOB)
    wealth = {name: cells[0] for name, cells in study.results.items()}
    assert wealth["best stock, in hindsight"] == pytest.approx(54.1, abs=0.1)
    assert wealth["O-DCA, strength 20"] == pytest.approx(wealth["exponentiated gradient, η = 0.05"], rel=1e-3)  # type: ignore[arg-type]


@pytest.mark.usefixtures("data")
def test_the_step_size_experiment_reports_spans(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(step_size, "STRENGTHS", step_size.STRENGTHS[::4])
    monkeypatch.setattr(step_size, "RATES", step_size.RATES[::4])
    study = step_size.run(JOB)
    assert [panel.name for panel in study.panels] == ["step-size-odca", "step-size-sgd"]
    np.testing.assert_array_equal(
        step_size.spans(np.array([[True, True, True, False], [False, True, False, True]])), [2.0, 0.0]
    )


@pytest.mark.parametrize("colours", [figures.OURS, figures.PEERS])
def test_colours_are_distinct_for_colour_blind_readers(colours: tuple[str, ...]) -> None:
    """In CIELAB, as they are and as seen without the green, or the red, cones (Machado and others, 2009)."""
    sights = (
        np.eye(3),
        np.array([[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]),
        np.array([[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]),
    )
    to_xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2127, 0.7152, 0.0722], [0.0193, 0.1192, 0.9503]])
    for sight in sights:
        seen = []
        for colour in colours:
            code = np.array([int(colour[k : k + 2], 16) for k in (1, 3, 5)]) / 255.0
            light = np.where(code <= 0.04045, code / 12.92, ((code + 0.055) / 1.055) ** 2.4)
            x, y, z = np.cbrt(to_xyz @ np.clip(sight @ light, 0.0, 1.0) / [0.95047, 1.0, 1.08883])
            seen.append([116.0 * y - 16.0, 500.0 * (x - y), 200.0 * (y - z)])
        gaps = np.linalg.norm(np.array(seen)[:, None] - np.array(seen)[None], axis=2)
        assert gaps[~np.eye(len(colours), dtype=bool)].min() > 15.0
