"""Progressive validation: against direct computation, and however the stream is cut."""

from typing import Any

import numpy as np
import pytest
from sklearn.metrics import log_loss, r2_score, roc_auc_score

from odca import AbsoluteError, Hinge, LogLoss, Poisson, Quantile, SquaredError
from odca.metrics import ClassMetrics, NumberMetrics, ProgressRow
from odca.metrics.hindsight import MOST_CELLS, LabelSummary, least
from odca.models.calibration import expected_calibration_error, sigmoid

EVENTS = 3000


def two_classes(seed: int = 0, n: int = EVENTS) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    label = (rng.random(n) < 0.4).astype(int)
    margin = rng.normal(size=n) * 2.0 + 1.5 * label - 0.7
    margin[::50] = margin[1::50]  # ties
    return {
        "label": label,
        "predicted": (margin > 0.0).astype(int),
        "loss": np.logaddexp(0.0, (1 - 2 * label) * margin),
        "margin": margin,
        "probability": sigmoid(margin),
        "weight": rng.integers(0, 3, n) * rng.random(n),
        "features": rng.integers(1, 50, n),
    }


def many_classes(k: int = 5, seed: int = 0, n: int = EVENTS) -> dict[str, Any]:
    """Class j can come from event 200·j on."""
    rng = np.random.default_rng(seed)
    label = rng.integers(0, np.minimum(1 + np.arange(n) // 200, k))
    probability = rng.random((n, k))
    probability[np.arange(n), label] += 0.5
    probability[np.arange(k) > (np.arange(n) // 200)[:, None]] = 0.0  # not known yet
    probability[:1] = 1.0
    probability /= probability.sum(axis=1, keepdims=True)
    return {
        "label": label,
        "predicted": probability.argmax(axis=1),
        "loss": rng.random(n),
        "probability": probability,
        "weight": rng.integers(0, 3, n) * rng.random(n),
    }


def numbers(seed: int = 0, n: int = EVENTS, *, distinct: bool = True) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    label = 100.0 + (rng.normal(size=n) if distinct else rng.integers(0, 9, n).astype(float))
    prediction = label + rng.normal(size=n)
    return {
        "label": label,
        "prediction": prediction,
        "loss": 0.5 * (label - prediction) ** 2,
        "weight": rng.integers(0, 3, n) * rng.random(n),
        "features": rng.integers(1, 50, n),
    }


def part(stream: dict[str, Any], begin: int, end: int) -> dict[str, Any]:
    return {name: array[begin:end] for name, array in stream.items()}


def in_blocks(metrics: Any, stream: dict[str, Any], edges: list[int]) -> list[ProgressRow]:
    rows: list[ProgressRow] = []
    for begin, end in zip([0, *edges], [*edges, len(stream["label"])], strict=True):
        rows += metrics.add(**part(stream, begin, end))
    return rows


def bytes_of(metrics: Any) -> dict[str, bytes]:
    return {name: array.tobytes() for name, array in metrics.as_arrays().items()}


def unweighted(stream: dict[str, Any]) -> dict[str, Any]:
    return {name: array for name, array in stream.items() if name != "weight"}


# However it is cut

STREAMS = {
    "two classes": (ClassMetrics, two_classes()),
    "classes that come late": (ClassMetrics, many_classes()),
    "numbers": (lambda: NumberMetrics(SquaredError().value), numbers(n=12_000)),
    "few numbers": (lambda: NumberMetrics(AbsoluteError().value), numbers(distinct=False)),
}


@pytest.mark.parametrize("name", STREAMS)
@pytest.mark.parametrize("weighted", [True, False])
def test_splitting_into_blocks_changes_no_byte_and_no_row(name: str, weighted: bool) -> None:
    make, stream = STREAMS[name]
    stream = stream if weighted else unweighted(stream)
    n = len(stream["label"])
    whole = make()
    rows = in_blocks(whole, stream, [])
    assert [row.events for row in rows] == [2**k for k in range(n.bit_length())]
    rng = np.random.default_rng(1)
    for edges in ([1], [n - 1], [5, 5, 6], sorted(rng.integers(0, n, 40).tolist()), list(range(1, 700))):
        parts = make()
        assert repr(in_blocks(parts, stream, edges)) == repr(rows)  # where NaN is itself
        assert bytes_of(parts) == bytes_of(whole)
        assert repr(parts.scores()) == repr(whole.scores())


@pytest.mark.parametrize("name", STREAMS)
def test_restoring_mid_stream_gives_the_same_bytes_and_rows(name: str) -> None:
    make, stream = STREAMS[name]
    n, half = len(stream["label"]), len(stream["label"]) // 2 + 1
    whole = make()
    rows = in_blocks(whole, stream, [])
    begun = make()
    first = begun.add(**part(stream, 0, half))
    kept = begun.as_arrays()
    twin = type(begun).from_arrays(kept, *([SquaredError().value] if name == "numbers" else []))
    if name == "few numbers":
        twin = NumberMetrics.from_arrays(kept, AbsoluteError().value)
    begun.add(**part(stream, half, n))  # what was kept does not change with it
    assert repr(first + twin.add(**part(stream, half, n))) == repr(rows)
    assert bytes_of(twin) == bytes_of(whole)
    assert bytes_of(begun) == bytes_of(whole)
    assert bytes_of(type(begun).from_arrays(kept)) != bytes_of(whole)


# Classes


def test_the_scores_of_two_classes_equal_those_computed_directly() -> None:
    stream = two_classes()
    metrics = ClassMetrics()
    metrics.add(**stream)
    y, c, p = stream["label"], stream["weight"], stream["probability"]
    assert metrics.events == EVENTS
    assert metrics.weight == pytest.approx(c.sum())
    assert metrics.loss == pytest.approx(np.average(stream["loss"], weights=c))
    assert metrics.accuracy == pytest.approx(np.average(stream["predicted"] == y, weights=c))
    assert metrics.log_loss == pytest.approx(log_loss(y, p, sample_weight=c), rel=1e-12)
    # Bins of 0.8 %: of the pairs that fall into one, half are counted wrong at most, by halves.
    assert metrics.auc == pytest.approx(roc_auc_score(y, stream["margin"], sample_weight=c), abs=2e-4)
    plain = ClassMetrics()
    plain.add(**unweighted(stream))
    assert plain.calibration_error == pytest.approx(expected_calibration_error(p, y), abs=1e-12)


@pytest.mark.parametrize("scale", [1e-4, 1e-2, 1.0, 100.0])
def test_the_auc_does_not_depend_on_the_scale_of_the_margins(scale: float) -> None:
    stream = two_classes(seed=3)
    metrics = ClassMetrics()
    metrics.add(stream["label"], stream["predicted"], stream["loss"], margin=scale * stream["margin"])
    assert metrics.auc == pytest.approx(roc_auc_score(stream["label"], stream["margin"]), abs=3e-4)


def test_the_auc_is_a_half_for_equal_margins_and_one_or_zero_for_separated_ones() -> None:
    y = np.array([0, 1, 0, 1])
    for margin, auc in (([0.0] * 4, 0.5), ([-1e9, 1e9, -1e-9, 0.0], 1.0), ([3.0, 2.0, 3.0, -5.0], 0.0)):
        metrics = ClassMetrics()
        metrics.add(y, y, np.zeros(4), margin=np.array(margin))
        assert metrics.auc == auc


def test_the_scores_of_many_classes_equal_those_computed_directly() -> None:
    stream = many_classes()
    metrics = ClassMetrics()
    metrics.add(**stream)
    y, c, p = stream["label"], stream["weight"], stream["probability"]
    assert metrics.n_classes == 5
    assert np.isnan(metrics.auc)
    p_eps = np.maximum(p[np.arange(EVENTS), y], np.finfo(float).eps)
    assert metrics.log_loss == pytest.approx(np.average(-np.log(p_eps), weights=c), rel=1e-12)
    plain = ClassMetrics()
    plain.add(**unweighted(stream))
    hits = stream["predicted"] == y
    assert plain.calibration_error == pytest.approx(expected_calibration_error(p.max(axis=1), hits), abs=1e-12)


def test_two_columns_of_probabilities_score_like_one() -> None:
    stream = unweighted(two_classes())
    one, two = ClassMetrics(), ClassMetrics()
    one.add(**stream)
    p = stream.pop("probability")
    two.add(**stream, probability=np.column_stack([1.0 - p, p]))
    assert bytes_of(one) == bytes_of(two)


def test_the_baselines_of_classes_equal_those_counted_one_event_at_a_time() -> None:
    for stream in (two_classes(), many_classes()):
        label, weight = stream["label"].tolist(), stream["weight"].tolist()
        metrics = ClassMetrics()
        metrics.add(**stream)
        total, hits, last, leader = np.zeros(5), {"no_change": 0.0, "majority": 0.0}, -1, -1
        for y, c in zip(label, weight, strict=True):
            hits["no_change"] += c * (y == last)
            hits["majority"] += c * (y == leader)
            total[y] += c
            last = y
            if total[y] > (total[leader] if leader >= 0 else 0.0):  # of equals the one that was there first
                leader = y
        found = metrics.baselines()
        for name, sum_of_hits in hits.items():
            assert found[name]["accuracy"] == pytest.approx(sum_of_hits / total.sum(), rel=1e-12)
        share = total[total > 0] / total.sum()
        assert found["best_constant"]["accuracy"] == pytest.approx(share.max())
        assert found["best_constant"]["log_loss"] == pytest.approx(-(share * np.log(share)).sum())
        assert "loss" not in found["best_constant"]


def test_no_constant_margin_has_a_lower_loss_than_the_best_constant() -> None:
    stream = two_classes()
    metrics = ClassMetrics()
    metrics.add(**stream)
    share = np.average(stream["label"], weights=stream["weight"])
    entropy = -(share * np.log(share) + (1 - share) * np.log(1 - share))
    assert metrics.baselines(LogLoss().value)["best_constant"]["loss"] == pytest.approx(entropy, rel=1e-12)
    assert metrics.baselines(Hinge().value)["best_constant"]["loss"] == pytest.approx(2 * min(share, 1 - share))
    assert metrics.baselines(SquaredError().value)["best_constant"]["loss"] == pytest.approx(2 * share * (1 - share))


def test_on_a_single_class_the_best_constant_has_no_loss() -> None:
    metrics = ClassMetrics()
    metrics.add(np.zeros(5, int), np.zeros(5, int), np.zeros(5))
    found = metrics.baselines(LogLoss().value)
    assert found["best_constant"]["loss"] == pytest.approx(0.0, abs=1e-12)
    assert found["no_change"]["accuracy"] == found["majority"]["accuracy"] == 0.8  # wrong about the first event


def test_without_events_there_are_no_scores() -> None:
    for metrics in (ClassMetrics(), NumberMetrics(SquaredError().value)):
        scores = [*metrics.scores().values(), *(v for each in metrics.baselines().values() for v in each.values())]
        assert np.isnan(scores).all()


# Numbers


def test_the_scores_of_regression_equal_those_computed_directly() -> None:
    stream = numbers()
    metrics = NumberMetrics()
    metrics.add(**stream)
    y, z, c = stream["label"], stream["prediction"], stream["weight"]
    assert metrics.loss == pytest.approx(np.average(stream["loss"], weights=c))
    assert metrics.mae == pytest.approx(np.average(np.abs(y - z), weights=c))
    assert metrics.rmse == pytest.approx(np.sqrt(np.average((y - z) ** 2, weights=c)))
    assert metrics.r2 == pytest.approx(r2_score(y, z, sample_weight=c), rel=1e-12)


def test_r2_keeps_its_digits_far_from_zero_and_after_an_outlying_first_label() -> None:
    rng = np.random.default_rng(0)
    y = 1e9 + rng.normal(size=EVENTS)
    y[0] = -1e9
    weight = np.ones(EVENTS)
    weight[0] = 0.0
    z = y + 0.1 * rng.normal(size=EVENTS)
    metrics = NumberMetrics()
    metrics.add(y, z, np.zeros(EVENTS), weight=weight)
    # The labels have a resolution of 1e-7, and the means so far one of 1e-6 or so, on a spread of 1.
    assert metrics.r2 == pytest.approx(r2_score(y[1:], z[1:]), abs=1e-7)


def test_the_baselines_of_regression_equal_those_counted_one_event_at_a_time() -> None:
    stream = numbers()
    metrics = NumberMetrics(SquaredError().value)
    metrics.add(**stream)
    y, c = stream["label"], stream["weight"]
    before = np.concatenate([[0.0], y[:-1]])
    masses = np.cumsum(c) - c
    means = np.divide(np.cumsum(c * y) - c * y, masses, out=np.zeros(EVENTS), where=masses > 0.0)
    found = metrics.baselines()
    for name, prediction in (("no_change", before), ("mean", means)):
        assert found[name]["mae"] == pytest.approx(np.average(np.abs(y - prediction), weights=c), rel=1e-9)
        assert found[name]["loss"] == pytest.approx(np.average(0.5 * (y - prediction) ** 2, weights=c), rel=1e-9)
    assert metrics._labels.is_exact
    mean = np.average(y, weights=c)
    assert found["best_constant"]["loss"] == pytest.approx(np.average(0.5 * (y - mean) ** 2, weights=c), rel=1e-12)
    order = np.argsort(y)
    median = y[order][np.searchsorted(np.cumsum(c[order]), 0.5 * c.sum())]
    assert found["best_constant"]["mae"] == pytest.approx(np.average(np.abs(y - median), weights=c), rel=1e-12)


def test_baselines_have_a_loss_only_where_it_is_meaningful() -> None:
    y = np.random.default_rng(0).poisson(3.0, EVENTS).astype(float)
    metrics = NumberMetrics(Poisson().value, margin_is_prediction=False)
    metrics.add(y, np.full(EVENTS, 3.0), np.zeros(EVENTS))
    found = metrics.baselines()
    assert set(found["no_change"]) == set(found["mean"]) == {"mae"}
    assert found["best_constant"]["loss"] == pytest.approx(y.mean() - y.mean() * np.log(y.mean()), rel=1e-12)
    assert all(set(each) == {"mae"} for each in NumberMetrics().baselines().values())


# The summary of labels


@pytest.mark.parametrize(
    ("draw", "accuracy"),
    [
        (lambda rng, n: rng.normal(size=n), 1e-5),
        (lambda rng, n: 1e6 + rng.normal(size=n), 1e-5),
        (lambda rng, n: np.exp(3.0 * rng.normal(size=n)), 1e-3),  # the tail takes many cells
        (lambda rng, n: rng.standard_cauchy(size=n), 1e-3),
    ],
    ids=["normal", "far from zero", "log-normal", "cauchy"],
)
def test_more_labels_than_cells_cost_little_accuracy(draw, accuracy: float) -> None:
    y = draw(np.random.default_rng(0), 50_000)
    summary = LabelSummary()
    summary.add(y, np.ones(len(y)))
    assert not summary.is_exact
    assert len(summary.points()[0]) <= MOST_CELLS
    assert summary.points()[1].sum() == len(y)
    assert summary.best_absolute_error() == pytest.approx(np.abs(y - np.median(y)).mean(), rel=accuracy)
    for q in (0.1, 0.5, 0.9):
        best = np.mean(Quantile(q).value(np.quantile(y, q), y))
        assert summary.best_loss(Quantile(q).value) == pytest.approx(best, rel=accuracy)


@pytest.mark.parametrize("scale", [1e-300, 1.0, 1e290])
def test_huge_labels_are_stored_without_a_warning(scale: float) -> None:
    y = scale * np.random.default_rng(0).normal(size=2 * MOST_CELLS)
    summary = LabelSummary()
    summary.add(np.concatenate([y, [1e300, -1e300, 0.0]]), np.ones(len(y) + 3))
    assert LabelSummary.from_arrays(summary.as_arrays()).points()[1].sum() == len(y) + 3
    assert np.isfinite(summary.points()[0]).all()


def test_golden_section_search_finds_the_minimum_anywhere() -> None:
    for at in (-1e6, -0.3, 0.0, 7.0, 1e9):
        assert least(lambda c, at=at: (c - at) ** 2 + 5.0, 0.0, 1.0) == pytest.approx(5.0, rel=1e-12)
        assert least(lambda c, at=at: abs(c - at) + 5.0, 0.0, 1.0) == pytest.approx(5.0, rel=1e-12 * max(1.0, abs(at)))
    assert least(lambda c: np.inf if c > 0.1 else c * c - c, 0.0, 1.0) == pytest.approx(-0.09, rel=1e-9)


# Rows


def test_a_row_has_the_means_so_far_and_since_the_previous_row() -> None:
    stream = numbers()
    rows = NumberMetrics().add(**stream)
    loss, c = stream["loss"], stream["weight"]
    for begin, row in zip([0, *(row.events for row in rows)], rows, strict=False):
        since = slice(begin, row.events)
        assert row.weight == pytest.approx(c[: row.events].sum())
        if row.weight:
            assert row.loss == pytest.approx(np.average(loss[: row.events], weights=c[: row.events]))
        if c[since].sum():
            assert row.since_last == pytest.approx(np.average(loss[since], weights=c[since]))
        assert row.label == stream["label"][row.events - 1]
        assert row.prediction == stream["prediction"][row.events - 1]
        assert row.features == stream["features"][row.events - 1]


def test_the_interval_between_rows_may_change_on_restart() -> None:
    stream = two_classes()
    metrics = ClassMetrics(every=700)
    assert [row.events for row in metrics.add(**part(stream, 0, 1500))] == [700, 1400]
    again = ClassMetrics.from_arrays(metrics.as_arrays(), every=500)
    rows = again.add(**part(stream, 1500, EVENTS))
    assert [row.events for row in rows] == [2000, 2500, 3000]
    since = slice(1400, 2000)
    assert rows[0].since_last == pytest.approx(np.average(stream["loss"][since], weights=stream["weight"][since]))
    with pytest.raises(ValueError, match="every"):
        ClassMetrics(every=0)


# What is refused


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"label": np.array([0, -1, 1])}, "label must hold the codes of classes"),
        ({"label": np.array([0, 1, 2**15])}, "label must hold the codes of classes"),
        ({"label": np.array([0.0, 1.0, 0.5])}, "label must hold the codes of classes"),
        ({"predicted": np.array([0, -2, 1])}, "predicted must hold the codes of classes"),
        ({"predicted": np.array([0, 1])}, "predicted must have one entry"),
        ({"loss": np.zeros(2)}, "loss must have one entry"),
        ({"weight": np.array([1.0, -1.0, 0.0])}, "weight must hold 3"),
        ({"weight": np.array([1.0, np.nan, 0.0])}, "weight must hold 3"),
        ({"margin": np.zeros((3, 1))}, "margin must have one entry"),
        ({"probability": np.zeros((2, 3))}, "probability must have one entry"),
        ({"probability": np.array([0.0, 1.1, 0.0])}, "probabilities"),
        ({"probability": np.array([0.0, np.nan, 0.0])}, "probabilities"),
    ],
)
def test_wrong_events_are_refused_and_leave_the_metrics_as_they_were(wrong: dict[str, Any], message: str) -> None:
    metrics = ClassMetrics()
    metrics.add(**two_classes())
    before = bytes_of(metrics)
    right = {"label": np.array([0, 1, 1]), "predicted": np.array([0, 1, 1]), "loss": np.zeros(3)}
    with pytest.raises(ValueError, match=message):
        metrics.add(**{**right, **wrong})
    assert bytes_of(metrics) == before
    metrics.add(**right)


def test_labels_that_are_no_numbers_are_refused() -> None:
    for label in (np.nan, np.inf):
        with pytest.raises(ValueError, match="labels must be finite"):
            NumberMetrics().add(np.array([1.0, label]), np.zeros(2), np.zeros(2))


def test_an_infinite_prediction_does_not_spoil_the_sums() -> None:
    metrics = NumberMetrics(SquaredError().value)
    metrics.add(np.array([1.0, 2.0]), np.array([np.inf, 1e300]), np.array([np.inf, np.inf]))
    twin = NumberMetrics.from_arrays(metrics.as_arrays(), SquaredError().value)
    assert twin.mae == twin.rmse == np.inf
    assert twin.baselines() == metrics.baselines()


def spoilt(arrays: dict[str, Any], name: str, how: str) -> dict[str, Any]:
    array = arrays[name].copy()
    if how == "shape":
        array = np.concatenate([array.ravel(), array.ravel()[:1] if array.size else [0]])
    elif array.dtype.kind == "f":
        array.flat[-1] = np.nan
    else:
        array.flat[-1] = 10**6
    return {**arrays, name: array}


@pytest.mark.parametrize("how", ["shape", "value"])
@pytest.mark.parametrize("stream", ["two classes", "numbers"])
def test_an_invalid_state_of_metrics_is_refused(stream: str, how: str) -> None:
    make, events = STREAMS[stream]
    metrics = make()
    metrics.add(**events)
    arrays = metrics.as_arrays()
    for name in arrays:
        if (name, how) in {("class_weight", "shape"), ("last_row", "value")}:
            continue  # another class; a loss that cannot be told is NaN
        with pytest.raises(ValueError, match="its "):
            type(metrics).from_arrays(spoilt(arrays, name, how))
