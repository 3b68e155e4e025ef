"""The tracker of errors computes what its slow twin does, and holds the coverage it promises, whatever the stream."""

import pickle

import numpy as np
import pytest

from odca import _core
from odca.models.uncertainty import Uncertainty
from uncertainty.slow_tracker import ALPHAS, LIVE, STEADY, SlowTracker

COVERAGES = (0.05, 0.3, 0.5, 0.68, 0.9, 0.95, 0.99, 0.999)
TASKS = ("numbers", "classes")


def scores(task: str, n: int, seed: int = 0) -> np.ndarray:
    """Errors whose size drifts; or minus log odds of the true class."""
    rng = np.random.default_rng(seed)
    if task == "classes":
        return np.clip(-2.0 + np.sin(np.arange(n) / 40.0) + 2.0 * rng.standard_t(4, n), -34.0, 34.0)
    return rng.standard_t(3, n) * np.exp(np.sin(np.arange(n) / 30.0)) + 0.3


def add(tracked: _core.Uncertainty, task: str, values: np.ndarray, weight: np.ndarray | None = None) -> None:
    if task == "numbers":
        tracked.add_numbers(values, np.zeros(len(values)), weight)
    else:
        tracked.add_log_odds(-values, weight)


def replayed(task: str, values: np.ndarray, coverage: float, *, steady: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """The bounds from before each event."""
    tracked, found = _core.Uncertainty(task), []
    for at in range(len(values)):
        found.append(tracked.bounds(coverage, steady=steady))
        add(tracked, task, values[at : at + 1])
    lower, upper = np.array(found).T
    return lower, upper


# --- What it computes ---


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("weighted", [False, True], ids=["alike", "weighted"])
def test_the_core_is_the_slow_twin(task: str, weighted: bool) -> None:
    values = scores(task, 300)
    values[[40, 41, 200]] = 0.0
    weight = np.random.default_rng(1).choice([0.0, 0.5, 1.0, 3.0], 300) if weighted else np.ones(300)
    tracked, slow = _core.Uncertainty(task), {False: SlowTracker(task, LIVE), True: SlowTracker(task, STEADY)}
    for at in range(300):
        add(tracked, task, values[at : at + 1], weight[at : at + 1])
        for each in slow.values():
            each.add(values[at], weight[at])
        if at % 37 == 0 or at > 295:
            for steady, each in slow.items():
                for coverage in COVERAGES:
                    got = tracked.bounds(coverage, steady=steady)
                    np.testing.assert_allclose(got, each.bounds(coverage), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(
        tracked.coverage_held(steady=False)[:, 1], 1.0 - np.array(slow[False].missed) / len(slow[False].weights)
    )


def test_of_a_model_with_one_answer_the_steady_side_takes_every_event_first_and_then_a_part() -> None:
    values, tracked = scores("numbers", 40_000), _core.Uncertainty("numbers")
    add(tracked, "numbers", values)
    assert tracked.events(steady=False) == 40_000
    assert tracked.events(steady=True) == 2_047 + 4 * 1_024 + (40_000 - 32_768) // 32 + 1


# --- What is promised ---


def adversaries() -> dict[str, np.ndarray]:
    rng, n = np.random.default_rng(3), 12_000
    ramp = np.arange(n)
    return {
        "alike": rng.normal(size=n),
        "ever larger": rng.normal(size=n) * 1.001**ramp,
        "ever smaller": rng.normal(size=n) * 0.999**ramp,
        "jumps by a thousand": rng.normal(size=n) * np.where(ramp // 1500 % 2, 1000.0, 1.0),
        "jumps by ten": rng.normal(size=n) * np.where(ramp // 1500 % 2, 10.0, 1.0),
        "a bias that comes and goes": rng.normal(size=n) + 8.0 * (ramp // 1000 % 2),
        "wild labels": rng.normal(size=n) * np.where(rng.random(n) < 0.005, 1000.0, 1.0),
        "Cauchy": rng.standard_cauchy(n),
        "two values": rng.choice([-1.0, 1.0], n),
        "in sorted order": np.sort(rng.normal(size=n)),
    }


@pytest.mark.parametrize("name", adversaries())
@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("coverage", [0.5, 0.9, 0.95, 0.99])
def test_over_any_stretch_of_any_stream_the_misses_are_bounded_as_derived(
    task: str, name: str, coverage: float
) -> None:
    values = np.clip(adversaries()[name], -34.0, 34.0) if task == "classes" else adversaries()[name]
    lower, upper = replayed(task, values, coverage)
    alpha = 1.0 - coverage
    excess = np.concatenate([[0.0], np.cumsum(((values < lower) | (values > upper)) - alpha)])
    highest_theta, lowest_theta = np.log(alpha / coverage) + 6.0, -np.log(2048.0) - 0.25
    allowed = (highest_theta - lowest_theta) / 0.25 + 1.0
    worst = (excess - np.minimum.accumulate(excess)).max()  # over all stretches
    assert worst <= allowed


@pytest.mark.parametrize("name", ["alike", "a bias that comes and goes", "wild labels", "Cauchy", "jumps by ten"])
def test_nine_of_ten_labels_are_held_within_a_point_over_every_2000_events(name: str) -> None:
    values = adversaries()[name]
    lower, upper = replayed("numbers", values, 0.9)
    held = ((values >= lower) & (values <= upper))[20:]
    sums = np.concatenate([[0], np.cumsum(held)])
    shares = (sums[2000:] - sums[:-2000]) / 2000.0
    assert shares.min() >= 0.89
    assert shares.max() <= 0.91


def test_events_in_any_order_are_held_as_often_as_asked_for() -> None:
    values = np.random.default_rng(5).normal(size=30_000)
    for coverage, known in ((0.5, 0.6745), (0.9, 1.6449), (0.99, 2.5758)):
        lower, upper = replayed("numbers", values, coverage)
        assert np.mean((values >= lower) & (values <= upper)) == pytest.approx(coverage, abs=0.002)
        assert np.median(upper[1000:]) == pytest.approx(known, rel=0.1)
        assert np.median(lower[1000:]) == pytest.approx(-known, rel=0.1)


def test_once_labels_stop_the_steady_side_holds_what_it_did_before() -> None:
    values = np.random.default_rng(6).standard_t(4, 60_000)
    tracked = _core.Uncertainty("numbers")
    add(tracked, "numbers", values[:30_000])
    for coverage in (0.5, 0.9, 0.99):
        lower, upper = tracked.bounds(coverage, steady=True)
        later = values[30_000:]
        assert np.mean((later >= lower) & (later <= upper)) == pytest.approx(coverage, abs=0.02)


@pytest.mark.parametrize("task", TASKS)
def test_more_coverage_never_gives_less(task: str) -> None:
    tracked = _core.Uncertainty(task)
    add(tracked, task, scores(task, 3000))
    grid = np.concatenate([np.linspace(0.01, 0.99, 99), [0.992, 0.995, 0.998, 0.999, 0.9995]])
    for steady in (False, True):
        lower, upper = np.array([tracked.bounds(coverage, steady=steady) for coverage in grid]).T
        assert (np.diff(upper) >= 0.0).all()
        assert task == "classes" or (np.diff(lower) <= 0.0).all()


def test_an_interval_holds_its_prediction() -> None:
    tracked = _core.Uncertainty("numbers")
    add(tracked, "numbers", 5.0 + np.random.default_rng(7).normal(size=500))
    lower, upper = tracked.bounds(0.1, steady=False)
    assert lower <= 0.0 <= upper


def test_labels_that_are_predicted_exactly_are_held() -> None:
    values = np.where(np.random.default_rng(8).random(5000) < 0.97, 0.0, 3.0)
    lower, upper = replayed("numbers", values, 0.9)
    assert ((values >= lower) & (values <= upper))[values == 0.0].all()


@pytest.mark.parametrize("power", [-300, -20, 40, 300])
def test_other_units_give_the_same_intervals_in_these_units(power: int) -> None:
    values = scores("numbers", 2000)
    ones, others = _core.Uncertainty("numbers"), _core.Uncertainty("numbers")
    add(ones, "numbers", values)
    add(others, "numbers", values * 2.0**power)
    for coverage in COVERAGES:
        got, wanted = (np.array(each.bounds(coverage, steady=False)) for each in (others, ones))
        assert (got == wanted * 2.0**power).all()


def test_one_wild_label_does_not_make_the_next_intervals_wide() -> None:
    values = np.random.default_rng(9).normal(size=4000)
    wild = values.copy()
    wild[2000] = 1e6
    upper, upper_after_wild = (replayed("numbers", each, 0.9)[1] for each in (values, wild))
    assert (upper_after_wild[2001:2030] < 2.5 * upper[2001:2030]).all()
    assert (upper_after_wild[2500:] < 1.2 * upper[2500:]).all()


def test_while_there_are_too_few_events_nothing_is_ruled_out() -> None:
    values = np.random.default_rng(10).normal(size=200)
    for coverage, first in ((0.5, 10), (0.9, 18), (0.99, 110)):
        lower, upper = replayed("numbers", values, coverage)
        assert np.isinf(upper[: first - 2]).all()
        assert np.isinf(lower[: first - 2]).all()
        assert np.isfinite(upper[first + 2 : 2 * first]).any()


def test_memory_does_not_know_more_than_its_last_events() -> None:
    tracked = _core.Uncertainty("numbers")
    add(tracked, "numbers", np.random.default_rng(11).normal(size=20_000))
    assert tracked.bounds(0.9999, steady=False) == (-np.inf, np.inf)


# --- Weights, splits, files, merging ---


@pytest.mark.parametrize("task", TASKS)
def test_any_split_into_calls_gives_the_same_bits(task: str) -> None:
    values, weight = scores(task, 9000), np.random.default_rng(0).uniform(0.0, 2.0, 9000)
    whole, parts = _core.Uncertainty(task), _core.Uncertainty(task)
    add(whole, task, values, weight)
    for at in np.split(np.arange(9000), [1, 2, 500, 501, 7000]):
        add(parts, task, values[at], weight[at])
    assert same_bits(whole, parts)


@pytest.mark.parametrize("weight", [1e-6, 0.5, 4.0, 1e6])
def test_only_the_ratios_of_weights_matter(weight: float) -> None:
    values = scores("numbers", 500)
    plain, weighted = _core.Uncertainty("numbers"), _core.Uncertainty("numbers")
    add(plain, "numbers", values)
    add(weighted, "numbers", values, np.full(500, weight))
    for coverage in COVERAGES:
        np.testing.assert_allclose(
            weighted.bounds(coverage, steady=False), plain.bounds(coverage, steady=False), rtol=1e-9
        )


def test_events_of_weight_zero_leave_no_trace() -> None:
    values, weight = scores("numbers", 500), np.tile([1.0, 0.0], 250)
    some, all_ = _core.Uncertainty("numbers"), _core.Uncertainty("numbers")
    add(some, "numbers", values[::2])
    add(all_, "numbers", values, weight)
    assert same_bits(some, all_)


def same_bits(a: _core.Uncertainty, b: _core.Uncertainty) -> bool:
    return all(a.numbers(steady=side).tobytes() == b.numbers(steady=side).tobytes() for side in (False, True))


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("events", [0, 1, 5, 12, 3000])
def test_a_saved_tracker_goes_on_with_the_same_bits(task: str, events: int) -> None:
    values, tracked = scores(task, 4000), Uncertainty(task)  # type: ignore[arg-type] # it is one
    add(tracked.native, task, values[:events])
    loaded, pickled = Uncertainty(task), pickle.loads(pickle.dumps(tracked))  # type: ignore[arg-type] # the same
    loaded.restore(tracked.as_arrays())
    for each in (tracked, loaded, pickled):
        add(each.native, task, values[events:])
    assert same_bits(tracked.native, loaded.native)
    assert same_bits(tracked.native, pickled.native)


def test_the_histogram_goes_on_when_its_unit_was_made_smaller() -> None:
    """After 568,000 events the weight of an event would be 2^400, and all weights are divided by that."""
    tracked = _core.Uncertainty("numbers")
    values = np.random.default_rng(12).normal(size=600_000)
    add(tracked, "numbers", values)
    lower, upper = tracked.bounds(0.9, steady=False)
    assert 1.2 < upper < 2.2
    assert -2.2 < lower < -1.2
    held = dict(tracked.coverage_held(steady=False).tolist())
    assert held[0.9] == pytest.approx(0.9, abs=1e-3)


def test_what_no_tracker_can_have_saved_is_refused() -> None:
    tracked = Uncertainty("numbers")
    add(tracked.native, "numbers", scores("numbers", 300))
    good = tracked.as_arrays()
    for change in ("shorter", "nan", "negative", "theta", "sum"):
        bad = {name: array.copy() for name, array in good.items()}
        live = bad["live"]
        if change == "shorter":
            bad["live"] = live[:-1]
        elif change == "nan":
            live[10] = np.nan
        elif change == "negative":
            live[np.flatnonzero(live[33:] > 0.0)[0] + 33] *= -1.0
        elif change == "theta":
            live[7] = 50.0
        else:
            live[32] *= 1.5  # the sum of all weights
        fresh = Uncertainty("numbers")
        with pytest.raises(ValueError, match="errors of predictions"):
            fresh.restore(bad)
        assert fresh.events("live") == 0


def test_merging_with_nothing_changes_nothing_and_the_order_does_not_matter() -> None:
    mine, theirs = Uncertainty("numbers"), Uncertainty("numbers")
    add(mine.native, "numbers", scores("numbers", 1500, seed=1))
    add(theirs.native, "numbers", 3.0 * scores("numbers", 800, seed=2))
    assert same_bits(mine.merge(Uncertainty("numbers")).native, mine.native)
    for coverage in COVERAGES:
        one, other = mine.merge(theirs), theirs.merge(mine)
        np.testing.assert_allclose(one.bounds(coverage, "live"), other.bounds(coverage, "live"), rtol=1e-9)
        assert one.events("live") == 2300
    assert mine.bounds(0.9, "live")[1] < one.bounds(0.9, "live")[1] < theirs.bounds(0.9, "live")[1]


def test_how_often_labels_were_held_is_counted_for_the_levels_that_are_tracked() -> None:
    tracked, values = Uncertainty("numbers"), scores("numbers", 3000)
    assert np.isnan(tracked.coverage_held())
    lower, upper = replayed("numbers", values, 0.9)
    add(tracked.native, "numbers", values)
    assert tracked.coverage_held(0.9) == pytest.approx(np.mean((values >= lower) & (values <= upper)), abs=1e-3)
    for alpha in ALPHAS:
        assert tracked.coverage_held(1.0 - alpha) == pytest.approx(1.0 - alpha, abs=0.03)
    with pytest.raises(ValueError, match=r"not counted for 0\.77"):
        tracked.coverage_held(0.77)


@pytest.mark.parametrize("coverage", [0.0, 1.0, -1, 2, float("nan"), "0.9", None])
def test_what_is_no_coverage_is_refused(coverage: object) -> None:
    with pytest.raises(ValueError, match="coverage must lie between 0 and 1"):
        Uncertainty("numbers").bounds(coverage, "live")  # type: ignore[arg-type] # that is the point
