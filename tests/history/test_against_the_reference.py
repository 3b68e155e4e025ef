"""The native history against the slow one, and its laws: any split of the events, saving, copies, refusals."""

import math
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from history.slow_history import SlowHistory
from odca import EventLearner, SquaredError
from odca.features.history import STATISTICS
from odca.models.auto_events import AutoEvents

Event = dict[str, Any]
EVERYTHING = [
    "y by shop: lag 1,3,40; mean 2,50,2h; std 50,3h; min 4,1h; max 40; change 1,2h; since",
    "x: lag 1,2h; mean 33; std 5; min 2h; max 3; change 1,35,1h; since",
    "x by shop, kind: lag 2; mean 1d; change 2",
    "y: mean 100; lag 1",
]


def events(count: int, seed: int = 0, shops: int = 4) -> list[tuple[Event, float, float]]:
    """Events with gaps in their keys and values, labels, and times of which some are late."""
    rng = np.random.default_rng(seed)
    out = []
    for k in range(count):
        event: Event = {"shop": f"s{rng.integers(shops)}", "kind": int(rng.integers(2)), "x": float(rng.normal())}
        for name in ("shop", "x"):
            if rng.random() < 0.1:
                event[name] = None
        out.append((event, float(rng.normal(3.0)), 600.0 * k + float(rng.integers(-900, 900))))
    return out


def a_model(lines: list[str] = EVERYTHING, **options: Any) -> EventLearner:
    return EventLearner(loss=SquaredError(), rho=0.1, window="auto", history=lines, **options)


def learned(model: EventLearner, stream: list[tuple[Event, float, float]], sizes: list[int]) -> list[float]:
    """Learn in calls of these sizes, and the rest at once; return the margins."""
    margins: list[float] = []
    begin = 0
    for size in [*sizes, len(stream)]:
        part = stream[begin : begin + size]
        begin += size
        if len(part) == 1:
            (event, y, time) = part[0]
            margins.append(model.learn_one(event, y, time=time))
        elif part:
            margins += model.learn_many(
                [event for event, _, _ in part], [y for _, y, _ in part], time=[time for _, _, time in part]
            ).tolist()
    return margins


def assert_close(found: Any, expected: list[float]) -> None:
    # Means and deviations are summed in another order: an error of rounding, relative to values of about 3.
    np.testing.assert_allclose(np.asarray(found), expected, rtol=1e-9, atol=1e-12, equal_nan=True)


@pytest.mark.parametrize("most_keys", [100_000, 2])
def test_every_statistic_is_that_of_the_reference(most_keys: int) -> None:
    model, slow = a_model(history_keys=most_keys), SlowHistory(EVERYTHING, most_keys)
    for event, y, time in events(400):
        assert_close(model.native.history_values(event, time), slow.values(event, time))
        model.learn_one(event, y, time=time)
        slow.learn(event, y, time)


sizes_of_features = st.one_of(st.integers(1, 70).map(str), st.integers(1, 5).map("{}h".format))
features = st.builds(
    lambda statistic, size: statistic if statistic == "since" else f"{statistic} {size}",
    st.sampled_from(STATISTICS),
    sizes_of_features,
)
lines = st.builds(
    lambda source, keys, parts: f"{source}{keys}: {'; '.join(parts)}",
    st.sampled_from(["y", "x"]),
    st.sampled_from(["", " by shop", " by shop, kind"]),
    st.lists(features, min_size=1, max_size=5),
)


@settings(max_examples=60, deadline=None)
@given(st.lists(lines, min_size=1, max_size=3), st.integers(0, 2**32), st.integers(1, 5), st.data())
def test_any_lines_are_those_of_the_reference_and_any_split_gives_the_same_bits(
    texts: list[str], seed: int, most_keys: int, data: st.DataObject
) -> None:
    stream = events(120, seed)
    sizes = data.draw(st.lists(st.integers(1, 50), max_size=6))
    whole, split = a_model(texts, history_keys=most_keys), a_model(texts, history_keys=most_keys)
    slow = SlowHistory(texts, most_keys)
    assert learned(whole, stream, []) == learned(split, stream, sizes)
    assert whole == split
    for event, y, time in stream:
        slow.learn(event, y, time)
    event, _, time = events(1, seed + 1)[0]
    assert_close(split.native.history_values(event, time + 1e6), slow.values(event, time + 1e6))
    assert_close(split.native.history_values(event, 0.0), slow.values(event, 0.0))


def by_pickle(model: Any, path: Path) -> Any:
    del path
    return pickle.loads(pickle.dumps(model))


def by_copy(model: Any, path: Path) -> Any:
    del path
    return model.copy()


def by_file(model: Any, path: Path) -> Any:
    model.save(path / "model.safetensors")
    return type(model).load(path / "model.safetensors")


@pytest.mark.parametrize("again", [by_pickle, by_copy, by_file])
def test_a_model_that_is_saved_midway_goes_on_to_the_bit(again: Callable[[Any, Path], Any], tmp_path: Path) -> None:
    stream = events(300)
    whole, first = a_model(history_keys=3), a_model(history_keys=3)
    learned(whole, stream, [])
    learned(first, stream[:170], [1, 60, 7])
    second = again(first, tmp_path)
    assert second == first
    learned(second, stream[170:], [1])
    assert second == whole
    assert first != whole


def test_an_automatic_model_that_is_saved_midway_goes_on_to_the_bit(tmp_path: Path) -> None:
    stream = events(300)
    whole, first = (AutoEvents("numbers", history=EVERYTHING, history_keys=3) for _ in range(2))
    for event, y, time in stream:
        whole.learn_one(event, y, time=time)
    learned(first, stream[:170], [60, 7])  # type: ignore[arg-type] # the same methods
    second = by_file(first, tmp_path)
    learned(second, stream[170:], [50])
    some = [event for event, _, _ in stream[:20]]
    times = [time + 1e6 for _, _, time in stream[:20]]
    assert second.predict_many(some, time=times).tolist() == whole.predict_many(some, time=times).tolist()
    assert second.predict_many(some, time=times).tolist() != first.predict_many(some, time=times).tolist()


def test_predictions_change_nothing_and_see_the_fields_of_the_events_before() -> None:
    stream = events(100)
    model = a_model()
    learned(model, stream, [])
    before = model.copy()
    more = events(30, seed=1)
    together = model.predict_many([event for event, _, _ in more], time=[1e6 + time for _, _, time in more])
    assert model == before
    # Only the history of fields differs between the call of all events and calls of single ones.
    single = [model.predict_one(event, time=1e6 + time) for event, _, time in more]
    assert single[0] == pytest.approx(together[0], rel=1e-12)  # many rows are summed in another order
    assert single[1:] != pytest.approx(together[1:], rel=1e-6)
    labels_only = a_model([EVERYTHING[0], EVERYTHING[3]])
    learned(labels_only, stream, [])
    together = labels_only.predict_many([event for event, _, _ in more], time=[1e6] * len(more))
    single = [labels_only.predict_one(event, time=1e6) for event, _, _ in more]
    assert single == pytest.approx(together, rel=1e-12)


def test_a_refused_event_leaves_no_trace_in_the_history() -> None:
    stream = events(60)
    model = a_model(history_keys=2)
    learned(model, stream, [])
    before = model.copy()
    bad = [event for event, _, _ in events(40, seed=2)]
    with pytest.raises(ValueError, match="event 39"):
        model.learn_many([*bad[:39], {"x": math.inf}], np.ones(40), time=np.arange(40.0))
    assert model == before
    with pytest.raises(ValueError, match="y"):
        model.learn_many(bad, [*np.ones(39), math.nan], time=np.arange(40.0))
    assert model == before
    learned(model, events(50, seed=3), [])
    learned(before, events(50, seed=3), [7])
    assert model == before


def test_history_over_time_needs_the_time_of_every_event() -> None:
    model = a_model(["y: mean 1h"])
    with pytest.raises(
        ValueError, match=r"event 0 has no time, but history over a span of time needs the time of every"
    ):
        model.learn_one({"x": 1.0}, 1.0)
    with pytest.raises(ValueError, match="has no time"):
        model.predict_one({"x": 1.0})
    assert model == a_model(["y: mean 1h"])


def test_the_key_that_was_not_learned_for_longest_is_forgotten() -> None:
    model = a_model(["y by shop: lag 1"], history_keys=2)
    for shop in "aba":
        model.learn_one({"shop": shop}, float(ord(shop)))
    model.predict_one({"shop": "b"})  # asking is not learning
    model.learn_one({"shop": "c"}, 1.0)
    assert np.isnan(model.native.history_values({"shop": "b"}, 0.0)).all()
    assert model.native.history_values({"shop": "a"}, 0.0).tolist() == [ord("a")]


def test_memory_is_bounded_however_long_the_stream_is() -> None:
    model = a_model(["y by shop: mean 10; lag 3", "x: mean 1h"], history_keys=5)
    rng = np.random.default_rng(0)
    for k in range(3):
        many = [{"shop": int(each), "x": 1.0} for each in rng.integers(1000, size=20_000)]
        model.learn_many(many, rng.normal(size=20_000), time=np.arange(20_000) * 1e-3 + 20.0 * k)
    state = model.native.past()
    assert state["series_of_lines"].tolist() == [5, 1]
    assert state["count"].max() == 10_000  # of the hour that held 60,000 events
    assert len(state["value"]) <= 5 * 10 + 10_000


def test_huge_values_do_not_spoil_a_mean_after_they_have_left_its_window() -> None:
    model = a_model(["y: mean 3; std 3"])
    for y in (1e15, -1e15, 1.0, 2.0, 3.0):
        model.learn_one({}, y)
    assert model.native.history_values({}, 0.0).tolist() == [2.0, 1.0]


def test_late_labels_enter_when_they_come_and_teach_what_was_known_when_the_prediction_was_asked_for() -> None:
    for make in (a_model, lambda lines: AutoEvents("numbers", history=lines)):
        model, slow = make(["y: lag 1; mean 3", "x: lag 1"]), SlowHistory(["y: lag 1; mean 3", "x: lag 1"])
        model.learn_one({"x": 1.0}, 5.0)
        slow.learn({"x": 1.0}, 5.0)
        model.predict_one({"x": 2.0}, id="late")
        asked = slow.values({"x": 2.0})
        for _ in range(2):
            model.learn_one({"x": 3.0}, 7.0)
            slow.learn({"x": 3.0}, 7.0)
        assert_close(model._core.history_values({"x": 2.0}, 0.0), slow.values({"x": 2.0}))
        twin = model.copy()
        assert model._pending.waiting("late")[1][-1].tolist() == asked
        assert twin._pending.waiting("late")[1][-1].tolist() == asked
        told = model.learn_label("late", 9.0)
        slow.learn({"x": 2.0}, 9.0)
        assert_close(model._core.history_values({"x": 2.0}, 0.0), slow.values({"x": 2.0}))
        assert told == twin.learn_label("late", 9.0)
        # The features were those of the question: 5 and 5, not 7 and 19/3.
        plain = make([])
        for event, y in (
            ({"y: lag 1": None, "y: mean 3": None, "x: lag 1": None, "x": 1.0}, 5.0),
            *[
                ({"y: lag 1": a, "y: mean 3": b, "x: lag 1": c, "x": 3.0}, 7.0)
                for a, b, c in ((5.0, 5.0, 1.0), (7.0, 6.0, 3.0))
            ],
        ):
            plain.learn_one(event, y)
        by_hand = plain.learn_one({"y: lag 1": 5.0, "y: mean 3": 5.0, "x: lag 1": 1.0, "x": 2.0}, 9.0)
        assert told == pytest.approx(by_hand, rel=1e-9)


def test_an_explanation_has_the_features_of_the_history_and_sums_to_the_prediction() -> None:
    for make in (a_model, lambda lines: AutoEvents("numbers", history=lines)):
        model = make(["y by shop: lag 1,2"])
        for event, y, _ in events(50):
            model.learn_one(event, y)
        parts = model.explain_one({"shop": "s1", "x": 1.0})
        assert {"y by shop: lag 1", "y by shop: lag 2"} <= set(parts)
        assert sum(map(float, parts.values())) == pytest.approx(float(model.predict_one({"shop": "s1", "x": 1.0})))


def test_hashed_features_have_history_too() -> None:
    named, hashed = a_model(["y: lag 1"]), a_model(["y: lag 1"], bits=16)
    for event, y, _ in events(50):
        assert named.learn_one(event, y) == pytest.approx(hashed.learn_one(event, y))


def test_the_label_has_no_history_where_events_have_several_labels() -> None:
    model = a_model(["y: lag 1"], lanes=2)
    with pytest.raises(ValueError, match="the history of the label needs one label for each event"):
        model.learn_one({"x": 1.0}, [1.0, 2.0])


def test_a_missing_past_follows_the_rule_for_missing_values() -> None:
    indicating, ignoring = a_model(["y: lag 1"]), a_model(["y: lag 1"], missing="ignore")
    strict = a_model(["y: lag 1"], missing="error")  # a beginning cannot be an error
    for model in (indicating, ignoring, strict):
        model.learn_one({"x": 1.0}, 2.0)
    assert indicating.features[:2] == ["y: lag 1", ("y: lag 1", None)]
    assert ignoring.features == strict.features == ["y: lag 1", "x"]
