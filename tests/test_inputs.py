"""What may be given as X, y, weights, offsets and times, and what is said about the rest."""

import datetime as dt
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from odca import Exponential, HalfLife, Hinge, Infinite, Learner, Sliding, SquaredError

X = np.array([[1.0, 0.0, 2.0], [0.0, 3.0, 0.0], [1.0, 1.0, 1.0]])
Y = np.array([1.0, -1.0, 2.0])


def fresh(**options: Any) -> Learner:
    return Learner(**{"loss": SquaredError(), "rho": 0.5, **options})


def learned(rows: Any = X, y: Any = Y, **keywords: Any) -> np.ndarray:
    learner = fresh()
    learner.learn(rows, y, **keywords)
    return learner.coef


@pytest.mark.parametrize(
    "kind", [np.int8, np.int32, np.int64, np.uint8, np.bool_, np.float16, np.float32, np.longdouble, object], ids=str
)
def test_all_numeric_types_are_accepted(kind: type) -> None:
    rows = (X != 0.0).astype(kind)
    np.testing.assert_array_equal(learned(rows), learned((X != 0.0).astype(float)))
    np.testing.assert_array_equal(learned(y=(Y > 0.0).astype(kind)), learned(y=(Y > 0.0).astype(float)))
    weight = np.array([1, 0, 1])
    np.testing.assert_array_equal(
        learned(sample_weight=weight.astype(kind)), learned(sample_weight=weight.astype(float))
    )


def test_lists_tuples_and_matrices_are_accepted_as_rows() -> None:
    expected = learned()
    for rows in (X.tolist(), tuple(map(tuple, X)), list(X), sp.coo_array(X), sp.dok_array(X), sp.bsr_array(X)):
        np.testing.assert_allclose(learned(rows, Y.tolist()), expected, rtol=1e-15)


def test_labels_may_be_a_column_vector() -> None:
    np.testing.assert_array_equal(learned(y=Y[:, None]), learned())


def test_weights_and_offsets_may_be_shared_or_given_per_lane() -> None:
    y = np.column_stack([Y, -Y])
    weight = np.array([1.0, 0.5, 2.0])
    shared, column, each = fresh(lanes=2), fresh(lanes=2), fresh(lanes=2)
    shared.learn(X, y, sample_weight=weight, offset=weight)
    column.learn(X, y, sample_weight=weight[:, None], offset=weight[:, None])
    each.learn(X, y, sample_weight=np.tile(weight[:, None], 2), offset=np.tile(weight[:, None], 2))
    assert shared == column == each
    own = fresh(lanes=2)
    own.learn(X, y, sample_weight=np.column_stack([weight, np.zeros(3)]))
    assert own.mass.tolist() == [3.5, 0.0]
    assert own.coef[0].any()
    assert not own.coef[1].any()


def test_a_weight_of_two_gives_the_same_problem_as_the_event_twice_but_another_path() -> None:
    # Same minimiser, another path: one step of weight 2 goes further than one, and less far than two of weight 1.
    once, twice, heavy = fresh(window=Sliding(10)), fresh(window=Sliding(10)), fresh(window=Sliding(10))
    once.learn(X, Y)
    twice.learn(np.repeat(X, 2, axis=0), np.repeat(Y, 2))
    heavy.learn(X, Y, sample_weight=np.full(3, 2.0))
    np.testing.assert_allclose(heavy.coef, once.coef, rtol=1e-14)  # only ratios matter: all weights are alike
    twice.refine(500)
    heavy.refine(500)
    np.testing.assert_allclose(heavy.coef, twice.coef, rtol=1e-10)


def test_an_offset_moves_the_prediction_and_is_not_learned() -> None:
    one, other = fresh(), fresh()
    margins = one.learn(X, Y, offset=[10.0, -3.0, 0.5])
    shifted = other.learn(X, Y - np.array([10.0, -3.0, 0.5]))
    np.testing.assert_allclose(margins, shifted + np.array([10.0, -3.0, 0.5]), rtol=1e-14)
    np.testing.assert_allclose(one.coef, other.coef, rtol=1e-13)
    np.testing.assert_allclose(one.predict(X, offset=[1.0, 2.0, 3.0]), one.predict(X) + np.arange(1.0, 4.0), rtol=1e-14)


MOMENTS = [dt.datetime(2024, 5, 1, 12, 0, s, tzinfo=dt.UTC) for s in (0, 10, 40)]
SECONDS = np.array([moment.timestamp() for moment in MOMENTS])


@pytest.mark.parametrize(
    "time",
    [
        MOMENTS,
        np.array(["2024-05-01T12:00:00", "2024-05-01T12:00:10", "2024-05-01T12:00:40"], dtype="datetime64[s]"),
        np.array(["2024-05-01T12:00:00", "2024-05-01T12:00:10", "2024-05-01T12:00:40"], dtype="datetime64[ms]"),
        np.array(["2024-05-01T12:00:00", "2024-05-01T12:00:10", "2024-05-01T12:00:40"], dtype="datetime64[ns]"),
        SECONDS,
        SECONDS.astype(np.int64),
        SECONDS.tolist(),
    ],
    ids=["datetimes", "M8[s]", "M8[ms]", "M8[ns]", "floats", "ints", "list"],
)
@pytest.mark.parametrize(
    "window", [HalfLife(dt.timedelta(seconds=20)), Sliding(duration=np.timedelta64(15, "s"))], ids=str
)
def test_times_may_be_numbers_or_datetimes(time: Any, window: Any) -> None:
    learner, seconds = fresh(window=window), fresh(window=window)
    learner.learn(X, Y, time=time)
    seconds.learn(X, Y, time=SECONDS)
    assert learner == seconds
    assert learner.clock == SECONDS[2]
    expected = 1.0 + 2.0**-1.5 + 2.0**-2.0 if isinstance(window, HalfLife) else 1.0
    np.testing.assert_allclose(learner.mass, expected, rtol=1e-13)


def test_datetimes_far_from_now_keep_their_order() -> None:
    # Nanoseconds in 64 bits end in 2262; days do not.
    for unit in ("D", "s", "us"):
        learner = fresh(window=HalfLife(dt.timedelta(days=365)))
        time = np.array(["1500-01-01", "2020-01-01", "3000-01-01"], dtype=f"datetime64[{unit}]")
        learner.learn(X, Y, time=time)
        expected = (time[2].astype("datetime64[s]") - np.datetime64(0, "s")).astype(float)
        assert learner.clock == expected
        np.testing.assert_allclose(learner.mass, 1.0, rtol=1e-12)


@pytest.mark.parametrize(
    ("time", "message"),
    [
        (np.array(["2020-01-01", "NaT", "2020-01-02"], dtype="datetime64[s]"), r"time .*row 1 is NaT"),
        ([MOMENTS[0], None, MOMENTS[2]], r"time"),
        (["a", "b", "c"], r"time"),
        (np.array([1, 2, 3], dtype="timedelta64[s]"), r"time"),
        ([1.0, np.nan, 2.0], r"time must be finite; row 1 is nan"),
        ([1.0, np.inf, 2.0], r"time must be finite; row 1 is inf"),
        (None, r"HalfLife\(tau=1.0\) counts in event time; give learn the time of every event"),
    ],
    ids=["NaT", "None", "words", "timedelta", "nan", "inf", "missing"],
)
def test_invalid_times_are_refused(time: Any, message: str) -> None:
    learner = fresh(window=HalfLife(1.0))
    with pytest.raises(ValueError, match=message):
        learner.learn(X, Y, time=time)
    assert learner.count == 0


def test_windows_that_count_events_accept_and_ignore_times() -> None:
    for window in (Infinite(), Exponential(0.9), Sliding(2)):
        learner, timeless = fresh(window=window), fresh(window=window)
        with pytest.raises(ValueError, match="time must hold numbers"):
            learner.learn(X, Y, time=["not", "a", "time"])
        learner.learn(X, Y, time=[3.0, 1.0, 2.0])
        timeless.learn(X, Y)
        assert learner == timeless
        assert learner.count == 3
        assert learner.clock is None


@pytest.mark.parametrize("name", ["X", "y", "sample_weight", "offset"])
@pytest.mark.parametrize("value", [["a", "b", "c"], [1j, 2j, 3j], [dt.date(2020, 1, 1)] * 3, [{}, {}, {}]], ids=str)
def test_an_argument_that_is_not_numeric_is_refused_by_name(name: str, value: Any) -> None:
    given: dict[str, Any] = {"X": X, "y": Y, name: [[each] for each in value] if name == "X" else value}
    learner = fresh()
    with pytest.raises(ValueError, match=rf"\b{name}\b"):
        learner.learn(**given)
    assert learner.count == 0


@pytest.mark.parametrize(
    "rows",
    [np.ones(3), np.ones((3, 1, 1)), 1.0, None, "rows", [[1.0, 2.0], [1.0], [2.0]], sp.coo_array(np.ones(3))],
    ids=["1-D", "3-D", "number", "None", "word", "ragged", "1-D sparse"],
)
def test_rows_that_are_not_two_dimensional_are_refused(rows: Any) -> None:
    for call in (lambda: fresh().learn(rows, Y), lambda: fresh().predict(rows)):
        with pytest.raises(ValueError, match=r"\bX\b"):
            call()


def broken(**changes: Any) -> sp.csr_array:
    rows = sp.csr_array(X)
    for name, array in changes.items():
        setattr(rows, name, np.asarray(array))
    return rows


@pytest.mark.parametrize(
    "rows",
    [
        broken(indices=np.array([0, 2, 1, 0, 1, 3], dtype=np.int32)),
        broken(indices=np.array([0, 2, -1, 0, 1, 2], dtype=np.int32)),
        broken(indices=np.array([0, 2, 1, 0, 1, 2**31], dtype=np.int64), indptr=np.array([0, 2, 3, 6], dtype=np.int64)),
        broken(indptr=np.array([0, 2, 1, 6], dtype=np.int32)),
        broken(indptr=np.array([0, 2, 3, 7], dtype=np.int32)),
        broken(indptr=np.array([-1, 2, 3, 6], dtype=np.int32)),
        broken(indptr=np.array([0, 2, 6], dtype=np.int32)),
        broken(data=np.ones(5)),
    ],
    ids=[
        "index too large",
        "negative index",
        "index of 2^31",
        "falling",
        "beyond the end",
        "before",
        "short",
        "data short",
    ],
)
def test_an_invalid_sparse_matrix_is_refused(rows: sp.csr_array) -> None:
    learner = fresh()
    for call in (lambda: learner.learn(rows, Y), lambda: learner.predict(rows)):
        with pytest.raises(ValueError, match="X is not a valid CSR matrix"):
            call()
    assert learner.count == 0
    assert learner.coef.size == 0


def test_more_columns_than_an_index_can_hold_are_refused() -> None:
    rows = sp.csr_array(([1.0], ([0], [2**40])), shape=(1, 2**41))
    with pytest.raises(ValueError, match=r"columns; at most .* Hash"):
        fresh().learn(rows, [1.0])


def test_a_wide_matrix_with_few_features_has_weights_for_its_whole_width() -> None:
    rows = sp.csr_array(([1.0, 2.0], ([0, 0], [3, 99_999])), shape=(1, 100_000))
    learner = fresh()
    learner.learn(rows, [1.0])
    assert learner.n_features == 100_000
    assert np.flatnonzero(learner.coef).tolist() == [3, 99_999]


def test_labels_of_a_classifier_are_checked_one_by_one() -> None:
    learner = Learner(loss=Hinge())
    for bad in (0.0, 2.0, 0.999, -1.0000001):
        with pytest.raises(ValueError, match=r"Hinge needs y in \{-1, \+1\}; row 2 of y is .*2\*y - 1"):
            learner.learn(X, [1.0, -1.0, bad])
    learner.learn(X, [True, -1, 1])
    assert learner.count == 3


def test_input_arrays_are_never_modified() -> None:
    given = {"X": X.copy(), "y": Y.copy(), "sample_weight": np.ones(3), "offset": np.zeros(3), "time": np.arange(3.0)}
    for array in given.values():
        array.flags.writeable = False
    learner = fresh(window=Sliding(duration=2.0), intercept=True)
    learner.learn(**given)
    learner.refine(2)
    unsorted = sp.csr_array((np.ones(3), np.array([2, 0, 2]), np.array([0, 3])), shape=(1, 3))
    learner.learn(unsorted, [1.0], time=[3.0])
    assert unsorted.indices.tolist() == [2, 0, 2]
    assert unsorted.data.tolist() == [1.0, 1.0, 1.0]
