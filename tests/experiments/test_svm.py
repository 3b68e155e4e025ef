"""The paper's first experiment comes out as it did."""

import pytest

import real_data
from odca.research import datasets
from odca.research.experiments import Interval, Job, svm


@pytest.mark.long
def test_the_first_experiment_reproduces_the_papers_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    """The figures of the paper's first experiment, within what the order of the events does to them."""
    monkeypatch.setenv("ODCA_DATA", str(real_data.path_of("a6a.gz").parent))
    assert datasets.load("adult").exact
    study = svm.run(svm.ADULT, Job(range(3), lambda _: None))
    errors = {
        name: cells[0].mean if isinstance(cells[0], Interval) else cells[0] for name, cells in study.results.items()
    }
    assert errors["LIBSVM"] == pytest.approx(15.29, abs=0.02)
    assert errors["O-DCA, smoothed"] == pytest.approx(15.6, abs=0.4)
    assert errors["SGD, averaged"] == pytest.approx(15.4, abs=0.3)
    for noisy in ("O-DCA", "SGD", "S-DCA"):
        assert 15.2 < errors[noisy] < 24.0
    verdicts = {claim.statement: claim.verdict for claim in study.claims}
    assert "11,220 events for training and 21,341 for testing, as in the paper" in study.data
    assert "1/(ρΔ_N) = 0.116" in study.parameters["last step of O-DCA"]
    assert errors["LIBLINEAR, no intercept"] == pytest.approx(15.3, abs=0.2)
    assert errors["SGD, last step of O-DCA"] > errors["SGD"]
    assert verdicts["O-DCA comes within 1 point of LIBSVM"] == "needs smoothing"
