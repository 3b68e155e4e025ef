"""Names and the terms of other libraries."""

from datetime import timedelta

import numpy as np
import pytest

from odca import L2, Box, ElasticNet, Exponential, HalfLife, Hinge, Infinite, NonNegative, Quantile, Sliding
from odca.conversions import from_liblinear, from_ridge, from_sgd, to_liblinear, to_sgd
from odca.losses import LOSS_NAMES, as_loss
from odca.penalties import as_penalty
from odca.windows import as_window


def test_every_loss_can_be_chosen_by_name() -> None:
    assert as_loss("hinge") == Hinge()
    assert as_loss(Quantile(0.1)) == Quantile(0.1)
    assert len(LOSS_NAMES) == 13
    for name, kind in LOSS_NAMES.items():
        assert isinstance(as_loss(name), kind)


def test_a_parameter_may_follow_the_name_and_a_colon() -> None:
    assert as_loss("quantile:0.9") == Quantile(0.9)
    assert as_penalty("elasticnet:0.2") == ElasticNet(0.2)
    assert as_penalty("box:-1,1") == Box(-1.0, 1.0)
    for wrong in ("quantile:", "quantile:a", "quantile:0.1,0.2", "hinge:1", "quantile:2"):
        with pytest.raises(ValueError, match=r"colon|has no parameter|needs"):
            as_loss(wrong)
    for every in (name for name, kind in LOSS_NAMES.items() if kind.__slots__):
        assert as_loss(f"{every}:0.25") == LOSS_NAMES[every](0.25)


def test_event_time_windows_can_be_chosen_by_name() -> None:
    assert as_window("36h") == Sliding(duration=timedelta(hours=36))
    assert as_window("half-life:7d") == HalfLife(timedelta(days=7))
    for wrong in ("36", "h", "-1h", "36 h", "36x", "half-life:", "half-life:36", "infinite:1", "sliding:36h"):
        with pytest.raises(ValueError, match="window must be"):
            as_window(wrong)


def test_a_number_selects_an_exponential_or_a_sliding_window() -> None:
    assert as_window("infinite") == Infinite()
    assert as_window(0.99) == Exponential(0.99)
    assert as_window(500) == Sliding(500)
    assert as_window(np.int64(500)) == Sliding(500)
    assert as_window(HalfLife(3.0)) == HalfLife(3.0)
    for wrong in (0.0, 1.0, -1, "7 days", None, True):
        with pytest.raises(ValueError, match="window must be"):
            as_window(wrong)


def test_smoothing_follows_the_window() -> None:
    assert Infinite().default_smoothing == 0.9999
    assert Exponential(0.999).default_smoothing == pytest.approx(0.99)
    assert Exponential([0.9, 0.999]).default_smoothing == pytest.approx(0.99)
    assert Sliding(5).default_smoothing == 0.0
    assert Sliding(duration=5.0).default_smoothing == HalfLife(5.0).default_smoothing == pytest.approx(0.99)


def test_options_convert_to_and_from_scikit_learns_parametrisation() -> None:
    assert from_sgd(1e-3) == {"rho": 1e-3, "penalty": L2()}
    options = from_sgd(1e-3, l1_ratio=0.2)
    w = np.array([1.0, -2.0])
    mine = options["rho"] * (options["penalty"].delta * np.abs(w).sum() + 0.5 * w @ w)
    assert mine == pytest.approx(1e-3 * (0.2 * np.abs(w).sum() + 0.8 * 0.5 * w @ w))
    back = to_sgd(**options)
    assert back["alpha"] == pytest.approx(1e-3)
    assert back["l1_ratio"] == pytest.approx(0.2)
    assert to_liblinear(from_liblinear(0.5, 100)["rho"], 100) == pytest.approx(0.5)
    assert from_ridge(2.0, 100)["rho"] == pytest.approx(0.02)


@pytest.mark.parametrize(
    "call",
    [
        lambda: from_sgd(0.0),
        lambda: from_sgd(1e-3, l1_ratio=1.0),
        lambda: to_sgd(1e-3, NonNegative()),
        lambda: from_liblinear(-1.0, 5),
        lambda: from_liblinear(1.0, 0),
        lambda: to_liblinear(0.0, 5),
        lambda: from_ridge(0.0, 5),
        lambda: as_penalty("l1"),
    ],
)
def test_options_without_a_counterpart_are_refused(call) -> None:
    with pytest.raises(ValueError, match=r"must|there is no"):
        call()


def test_elastic_net_by_name_minimises_scikit_learns_objective() -> None:
    assert to_sgd(1.0, "elasticnet")["l1_ratio"] == pytest.approx(0.15)
    assert as_penalty(ElasticNet(1.0)) == ElasticNet(1.0)
