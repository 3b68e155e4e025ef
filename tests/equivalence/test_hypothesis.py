"""The native core is the reference: configurations and streams that nobody thought of.

Hypothesis picks the structure (which parts, how many, of what size) and a seed; the seed fills in the numbers. Numbers in
general position matter under penalties other than L2: where z(t) is flat exactly at a kink of the loss, a whole interval
of λ is optimal, and two right answers may differ. Under L2 λ is unique, so there the numbers are hypothesis's own.
"""

import math
from dataclasses import fields
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from odca import (
    KL,
    L2,
    Box,
    ElasticNet,
    EpsilonInsensitive,
    Expectile,
    Exponential,
    HalfLife,
    Huber,
    Infinite,
    Learner,
    NonNegative,
    Quantile,
    Sliding,
    SmoothHinge,
    SquaredEpsilonInsensitive,
)
from odca.losses import LOSSES, Loss
from odca.penalties import Penalty
from odca.reference import ReferenceLearner
from odca.windows import WINDOWS, Window
from problems import Problem, deviations, examples, features_of, label_kind, make_labels

TOLERANCE = 1e-9

shares = st.floats(0.02, 0.98)
widths = st.sampled_from(
    [0.01, 0.1, 0.5, 0.9, 2.5]
)  # not 1: a smooth hinge would have a corner at z = 0, where w = 0 is
PARAMETERS: dict[type, st.SearchStrategy[Any]] = {
    SmoothHinge: widths,
    Quantile: shares,
    Expectile: shares,
    Huber: widths,
    EpsilonInsensitive: st.sampled_from([0.0, 0.05, 0.5]),
    SquaredEpsilonInsensitive: st.sampled_from([0.0, 0.05, 0.5]),
}
losses: st.SearchStrategy[Loss] = st.sampled_from(LOSSES).flatmap(
    lambda kind: st.builds(kind, PARAMETERS[kind]) if kind in PARAMETERS else st.just(kind())
)
deltas = st.sampled_from([0.0, 1e-3, 0.05, 1.0])
WINDOW_STRATEGIES: dict[type, st.SearchStrategy[Window]] = {
    Infinite: st.just(Infinite()),
    Exponential: st.builds(Exponential, st.sampled_from([0.01, 0.5, 0.9, 0.999])),
    HalfLife: st.builds(HalfLife, st.sampled_from([0.05, 1.0, 30.0])),
    Sliding: st.integers(1, 12).map(Sliding) | st.sampled_from([0.3, 2.0, 20.0]).map(lambda d: Sliding(duration=d)),
}
windows: st.SearchStrategy[Window] = st.one_of(*(WINDOW_STRATEGIES[kind] for kind in WINDOWS))
kappas = st.sampled_from([0.0, 0.3, 0.9, 0.999, 1.0])


@st.composite
def penalties(draw: st.DrawFn, features: int) -> Penalty:
    kind = draw(st.sampled_from(["l2", "elasticnet", "nonnegative", "box", "kl"]))
    if kind == "l2":
        return L2()
    if kind == "elasticnet":
        return ElasticNet(draw(deltas))
    if kind == "nonnegative":
        return NonNegative(draw(deltas))
    if kind == "box":
        return Box(
            draw(st.sampled_from([-math.inf, -1.0, -0.11, 0.0])),
            draw(st.sampled_from([math.inf, 2.0, 0.13])),
            delta=draw(deltas),
        )
    return KL(draw(st.none() | st.lists(st.floats(0.01, 100.0), min_size=features, max_size=features).map(tuple)))


@st.composite
def configurations(draw: st.DrawFn, features: int, penalty: Penalty) -> dict[str, Any]:
    """Everything but the loss: the arguments of a Learner, and of the reference."""
    options: dict[str, Any] = {"penalty": penalty, "window": draw(windows), "smoothing": draw(kappas)}
    options["prior_strength"] = draw(st.sampled_from([0.0, 0.01, 3.0]))
    options["rho"] = draw(st.sampled_from([1e-4, 0.01, 0.3, 5.0] + ([0.0] if options["prior_strength"] else [])))
    if isinstance(penalty, KL):
        return options | features_of(penalty, features)
    if draw(st.booleans()):
        options["penalty_weights"] = draw(st.lists(st.floats(0.05, 20.0), min_size=features, max_size=features))
    if draw(st.booleans()):
        lo, hi = getattr(penalty, "lo", 0.0 if isinstance(penalty, NonNegative) else -1.0), getattr(penalty, "hi", 1.0)
        lo, hi = max(lo, -1.0), min(hi, 1.0)
        means = st.integers(0, 16).map(lambda k: min(lo + (hi - lo) * k / 16, hi))
        options["prior_mean"] = draw(st.lists(means, min_size=features, max_size=features))
    if draw(st.booleans()):
        options |= {"intercept": True, "intercept_penalty": draw(st.floats(0.01, 10.0))}
        options["prior_intercept"] = draw(st.integers(-8, 8)) / 8
    return options


@st.composite
def streams(draw: st.DrawFn, loss: Loss, features: int, lanes: int = 1) -> Problem:
    """A stream whose structure is drawn, and whose numbers come from a drawn seed. With lanes, y is (n, lanes)."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    events = draw(st.integers(1, 24))
    scales = st.sampled_from([0.01, 0.3, 1.0, 10.0])
    X = rng.normal(size=(events, features)) * (rng.random((events, features)) < draw(st.sampled_from([0.2, 0.6, 1.0])))
    X *= draw(scales) * np.exp(draw(st.sampled_from([0.0, 2.0])) * rng.normal(size=(1, features)))
    z = X @ rng.normal(size=(features, lanes))
    y = make_labels(loss, np.clip(z, -30.0, 30.0) * (draw(scales) if label_kind(loss) == "real" else 1.0), rng)
    weight = None
    if draw(st.booleans()):
        weight = np.exp(draw(st.sampled_from([0.0, 1.0, 4.0])) * rng.normal(size=events))
        weight[rng.random(events) < draw(st.sampled_from([0.0, 0.3, 0.9]))] = 0.0
    offset = draw(st.sampled_from([0.1, 3.0])) * rng.normal(size=events) if draw(st.booleans()) else None
    time = np.cumsum(rng.exponential(draw(st.sampled_from([0.01, 0.5, 5.0])), size=events))
    time -= draw(st.sampled_from([0.0, 1.0, 8.0])) * (rng.random(events) < 0.3)
    return Problem(X, y if lanes > 1 else y[:, 0], weight, offset, time)


def assert_equals_reference(loss: Loss, options: dict[str, Any], problem: Problem) -> None:
    reference, model = ReferenceLearner(loss=loss, **options), Learner(loss=loss, **options)
    problem.teach(reference)
    seen = problem.learn(model, diagnostics=True)
    off = deviations(model, seen, problem, reference, options["smoothing"])
    assert not off.beyond(TOLERANCE)


@settings(max_examples=examples(350))
@given(st.data())
def test_core_equals_reference(data: st.DataObject) -> None:
    loss, features = data.draw(losses), data.draw(st.integers(1, 7))
    options = data.draw(configurations(features, data.draw(penalties(features))))
    assert_equals_reference(loss, options, data.draw(streams(loss, features)))


@settings(max_examples=examples(200))
@given(st.data())
def test_core_equals_reference_on_plain_numbers_under_l2(data: st.DataObject) -> None:
    """Small integers, ties, rows that repeat, labels at kinks: what real data has and random numbers do not."""
    loss, features, events = data.draw(losses), data.draw(st.integers(1, 3)), data.draw(st.integers(1, 12))
    options = data.draw(configurations(features, L2()))
    numbers = st.sampled_from([0.0, 0.0, 1.0, -1.0, 2.0, 0.5])
    labels = {
        "real": numbers,
        "count": st.integers(0, 4).map(float),
        "probability": st.sampled_from([-1.0, 0.0, 0.5, 1.0]),
        "sign": st.sampled_from([-1.0, 1.0]),
    }[label_kind(loss)]

    def column(values: st.SearchStrategy[float]) -> Any:
        return np.array(data.draw(st.lists(values, min_size=events, max_size=events)))

    problem = Problem(
        np.stack([column(numbers) for _ in range(features)], axis=1),
        column(labels),
        data.draw(st.none() | st.just(True)) and column(st.sampled_from([0.0, 1.0, 1.0, 3.0])),
        data.draw(st.none() | st.just(True)) and column(numbers),
        column(st.integers(0, 6).map(float)),
    )
    assert_equals_reference(loss, options, problem)


@settings(max_examples=examples(150))
@given(st.data())
def test_lanes_and_sparse_rows_and_batches_equal_references(data: st.DataObject) -> None:
    loss, features, lanes = data.draw(losses), data.draw(st.integers(1, 6)), data.draw(st.integers(2, 5))
    options = data.draw(configurations(features, data.draw(penalties(features))))
    problem = data.draw(streams(loss, features, lanes))
    strengths = [10.0 ** data.draw(st.integers(-3, 0)) for _ in range(lanes)]
    model = Learner(loss=loss, **{**options, "rho": strengths})
    X = sparse.csr_array(problem.X) if data.draw(st.booleans()) else problem.X.astype(np.float64, order="F")
    cut = data.draw(st.integers(0, len(problem.X)))
    for part in (slice(None, cut), slice(cut, None)):
        model.learn(
            X[part],
            problem.y[part],
            sample_weight=None if problem.weight is None else problem.weight[part],
            offset=None if problem.offset is None else problem.offset[part],
            time=problem.time[part],
        )
    lane = data.draw(st.integers(0, lanes - 1))
    reference = ReferenceLearner(loss=loss, **{**options, "rho": strengths[lane]})
    Problem(problem.X, problem.y[:, lane], problem.weight, problem.offset, problem.time).teach(reference)
    # As in `deviations`: of the largest weight, or of what a λ of 1e-6 would make.
    least = 1e-6 * np.max(np.abs(problem.X), initial=1.0) / max(reference.strength, 1e-12) / np.min(reference._a)
    scale = max(np.max(np.abs(reference.w)), abs(reference.intercept), least if reference.mass > 0.0 else 0.0)
    for got, expected in [
        (model.coef[lane], reference.w),
        (model.smoothed_coef[lane], reference.w_bar()),
        (np.atleast_1d(model.intercept)[lane], reference.intercept),
    ]:
        assert np.max(np.abs(got - expected)) <= TOLERANCE * max(np.max(np.abs(expected)), scale)


@pytest.mark.parametrize("kind", LOSSES, ids=lambda kind: kind.__name__)
def test_every_loss_with_a_parameter_is_drawn_with_other_parameters(kind: type) -> None:
    assert kind in PARAMETERS or not fields(kind)
