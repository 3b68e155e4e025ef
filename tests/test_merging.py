"""Merging: sums of parts, in any order and grouping; deltas bring a learner up to date."""

import itertools
from typing import Any

import numpy as np
import pytest

import real_data
from odca import (
    L2,
    ElasticNet,
    Exponential,
    HalfLife,
    Hinge,
    Infinite,
    Learner,
    LogLoss,
    Sliding,
    SquaredError,
)
from streams import (
    LOSSES,
    MERGEABLE,
    PENALTIES,
    Stream,
    assert_close,
    assert_same_bits,
    bits,
    make_stream,
    options,
    window_name,
)

EACH_WINDOW = pytest.mark.parametrize("window", MERGEABLE, ids=window_name)
EACH_PENALTY = pytest.mark.parametrize("penalty", PENALTIES, ids=lambda penalty: penalty.name)


def parts(keywords: dict[str, Any], *, seeds: tuple[int, ...] = (401, 402, 403), n: int = 90) -> list[Learner]:
    """Learners of one problem on different events that end at different times."""
    out = []
    for number, seed in enumerate(seeds):
        stream = make_stream(keywords["loss"], n + 7 * number, seed=seed, lanes=keywords.get("lanes"))
        stream = stream.with_(time=100.0 + 3.0 * number + stream.time - stream.time.max())
        learner = Learner(**keywords)
        stream.into(learner)
        out.append(learner)
    return out


def assert_same_model(one: Learner, other: Learner, why: str = "") -> None:
    """Everything that can be asked of a model, to 1e-12."""
    assert_close(one, other, rtol=1e-12, why=why)
    assert one.clock == other.clock, why
    for name in ("effective_sample_size", "saturation"):
        np.testing.assert_allclose(getattr(one, name), getattr(other, name), rtol=1e-11, atol=1e-13, err_msg=why)
    np.testing.assert_allclose(one.dual_objective(), other.dual_objective(), rtol=1e-12, atol=1e-13, err_msg=why)


def at_clock(learner: Learner, clock: float | None) -> Learner:
    """What is left of a learner at a later time: an event of weight zero moves its clock."""
    moved = learner.copy()
    if clock is not None and clock > learner.clock:
        y = np.zeros((1, learner.lanes)) if not learner._single else np.zeros(1)
        label = 1.0 if learner._options["loss"].name.endswith(("hinge", "huber")) else 0.0
        moved.learn(np.zeros((1, learner.n_features)), y + label, sample_weight=[0.0], time=[clock])
    return moved


@EACH_WINDOW
@EACH_PENALTY
@pytest.mark.parametrize("kappa", [0.0, 0.5, 0.97, 1.0])
def test_merging_is_associative_and_commutative(window: Any, penalty: Any, kappa: float) -> None:
    lanes = 3 if kappa == 0.5 else None
    loss = LOSSES[(len(str(window)) + len(str(penalty))) % len(LOSSES)]
    keywords = options(loss=loss, penalty=penalty, window=window, smoothing=kappa, lanes=lanes, intercept=kappa < 0.9)
    a, b, c = parts(keywords)
    saved = [bits(each) for each in (a, b, c)]
    left, right = a.merge(b).merge(c), a.merge(b.merge(c))
    assert_same_model(left, right, "(ab)c = a(bc)")
    for order in itertools.permutations((a, b, c)):
        assert_same_model(order[0].merge(order[1]).merge(order[2]), left, "any order")
    assert left.count == a.count + b.count + c.count
    assert [bits(each) for each in (a, b, c)] == saved, "merging changed a part"


@EACH_WINDOW
@EACH_PENALTY
@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)
def test_the_dual_objective_of_a_merge_is_at_least_the_mean_of_the_parts(window: Any, penalty: Any, loss: Any) -> None:
    one, two, three = parts(options(loss=loss, penalty=penalty, window=window, smoothing=0.5))
    merged = one.merge(two).merge(three)
    now = [at_clock(each, merged.clock) for each in (one, two, three)]
    masses, duals = [each.mass for each in now], [each.dual_objective() for each in now]
    np.testing.assert_allclose(merged.mass, sum(masses), rtol=1e-12)
    mean = np.average(duals, weights=masses)
    assert merged.dual_objective() >= mean - 1e-13 * max(1.0, abs(mean))  # rounding


def test_a_merge_can_be_strictly_better_than_its_parts() -> None:
    # The inequality above would also hold if merging did nothing.
    one, two, three = parts(options(loss=SquaredError(), penalty=L2()))
    merged = one.merge(two).merge(three)
    mean = np.average([m.dual_objective() for m in (one, two, three)], weights=[m.mass for m in (one, two, three)])
    assert merged.dual_objective() > mean + 1e-3


def test_under_l2_a_merge_is_the_mean_of_the_weights() -> None:
    one, two, three = parts(options(loss=LogLoss(), penalty=L2(), intercept=True))
    merged = one.merge(two).merge(three)
    mass = [each.mass for each in (one, two, three)]
    mean = np.average([each.coef for each in (one, two, three)], axis=0, weights=mass)
    np.testing.assert_allclose(merged.coef, mean, rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(merged.intercept, np.average([m.intercept for m in (one, two, three)], weights=mass))


@EACH_WINDOW
@EACH_PENALTY
@pytest.mark.parametrize("kappa", [0.0, 0.9])
def test_merging_with_an_empty_learner_changes_nothing(window: Any, penalty: Any, kappa: float) -> None:
    keywords = options(loss=Hinge(), penalty=penalty, window=window, smoothing=kappa)
    (learned,) = parts(keywords, seeds=(404,))
    empty = Learner(**keywords)
    assert_same_model(learned.merge(empty), learned, "with an empty one")
    assert_same_model(empty.merge(learned), learned, "into an empty one")


def events_of(learner: Learner) -> set[tuple[float, ...]]:
    state = learner.get_state()
    return {tuple(row) for row in np.column_stack([state["window.time"], state["window.facts"].reshape(-1, 5)[:, :4]])}


def test_merged_sliding_windows_hold_the_unexpired_events_of_both() -> None:
    one, two, _ = parts(options(loss=SquaredError(), penalty=L2(), window=Sliding(duration=12.0)))
    merged = one.merge(two)
    young = {event for event in events_of(one) | events_of(two) if event[0] > merged.clock - 12.0}
    assert events_of(merged) == young
    assert len(young) < len(events_of(one)) + len(events_of(two)), "nothing expired: the test says too little"
    assert np.all(np.diff(merged.get_state()["window.time"]) >= 0.0)
    # Numbers count on: the events of the second come after those of the first.
    number = int(two.get_state()["window.number"][-1])
    merged.unlearn(one.count + number)
    assert events_of(merged) == young - {max(events_of(two))}
    before = merged.duality_gap()
    assert merged.refine(50) < before


@EACH_WINDOW
@EACH_PENALTY
@pytest.mark.parametrize("kappa", [0.0, 0.9])
def test_a_merged_learner_continues_learning(window: Any, penalty: Any, kappa: float) -> None:
    keywords = options(loss=LogLoss(), penalty=penalty, window=window, smoothing=kappa, intercept=True)
    one, two, _ = parts(keywords)
    first, second = one.merge(two), two.merge(one)
    more = make_stream(LogLoss(), 60, seed=405)
    for each in (first, second):
        more.with_(time=more.time + 200.0).into(each)
    assert_same_model(first, second)
    assert first.count == one.count + two.count + 60


def test_learners_with_different_features_merge() -> None:
    for kappa in (0.0, 0.9):
        keywords = options(loss=SquaredError(), penalty=ElasticNet(0.05), smoothing=kappa, shaped=True)
        narrow, wide = Learner(**keywords), Learner(**keywords)
        make_stream(SquaredError(), 50, seed=406, features=5).into(narrow)
        make_stream(SquaredError(), 50, seed=407, features=40).into(wide)
        assert_same_model(narrow.merge(wide), wide.merge(narrow))
        merged = narrow.merge(wide)
        assert merged.n_features == 40
        assert narrow.n_features == 5
        S = wide.dual_sum.copy()
        S[:5] += narrow.dual_sum
        np.testing.assert_allclose(merged.dual_sum, S, rtol=1e-13, atol=1e-14)
        make_stream(SquaredError(), 50, seed=408, features=60).into(merged)
        assert merged.n_features == 60


def test_sliding_windows_of_fixed_length_refuse_to_merge() -> None:
    learner = Learner(loss=Hinge(), window=Sliding(10))
    learner.learn(np.ones((3, 2)), np.ones(3))
    earlier = learner.copy()
    learner.learn(np.ones((3, 2)), np.ones(3))
    saved = bits(learner)
    for refusal in (lambda: learner.merge(earlier), lambda: learner.delta(earlier)):
        with pytest.raises(ValueError, match=r"Sliding\(length\) window cannot be merged.*duration"):
            refusal()
    assert bits(learner) == saved


OTHERS: dict[str, dict[str, Any]] = {
    "loss": {"loss": LogLoss()},
    "penalty": {"penalty": ElasticNet(0.1)},
    "rho": {"rho": 0.2},
    "window": {"window": Exponential(0.99)},
    "smoothing": {"smoothing": 0.5},
    "prior_strength": {"prior_strength": 1.0},
    "prior_mean": {"prior_mean": [1.0]},
    "penalty_weights": {"penalty_weights": [2.0]},
    "intercept": {"intercept": True},
    "lanes": {"lanes": 1},
}


@pytest.mark.parametrize("option", OTHERS)
def test_learners_of_different_problems_do_not_merge(option: str) -> None:
    base: dict[str, Any] = {"loss": Hinge(), "rho": 0.1, "window": Exponential(0.9)}
    one, other = Learner(**base), Learner(**base | OTHERS[option])
    for refusal in (lambda: one.merge(other), lambda: other.merge(one), lambda: one.delta(other)):
        with pytest.raises(ValueError, match=rf"needs learners of one problem; {option} is .* here and .* there"):
            refusal()
    with pytest.raises(ValueError, match=f"apply needs learners of one problem; {option} is"):
        other.apply(one.delta(one.copy()))


@EACH_WINDOW
@EACH_PENALTY
@pytest.mark.parametrize("kappa", [0.0, 0.5, 0.97, 1.0])
def test_applying_a_delta_to_its_base_gives_the_learner(window: Any, penalty: Any, kappa: float) -> None:
    lanes = 3 if kappa == 0.97 else None
    keywords = options(loss=LogLoss(), penalty=penalty, window=window, smoothing=kappa, lanes=lanes, intercept=True)
    stream = make_stream(LogLoss(), 260, seed=409, lanes=lanes)
    learner = Learner(**keywords)
    states, deltas = [], []
    for start, end in itertools.pairwise((0, 1, 80, 200, 200, 260)):
        states.append(learner.copy())
        stream.part(slice(start, end)).into(learner)
        deltas.append(learner.delta(states[-1]))
        assert deltas[-1].count == end - start
    saved = bits(learner)
    # Each delta takes its own base to the next state, and one after the other they take the first to the last.
    for base, delta, after in zip(states, deltas, [*states[1:], learner], strict=True):
        updated = base.copy()
        updated.apply(delta)
        assert_same_model(updated, after, f"{delta.count} events")
    follower = states[0].copy()
    for delta in deltas:
        follower.apply(delta)
    assert_same_model(follower, learner, "all of them")
    whole = states[1].copy()
    whole.apply(learner.delta(states[1]))
    assert_same_model(whole, learner, "at once")
    assert bits(learner) == saved, "making a delta changed the learner"


@pytest.mark.parametrize("kappa", [0.0, 0.9])
@EACH_WINDOW
def test_a_delta_may_add_features(window: Any, kappa: float) -> None:
    keywords = options(loss=SquaredError(), penalty=ElasticNet(0.05), window=window, smoothing=kappa, shaped=True)
    base = Learner(**keywords)
    make_stream(SquaredError(), 40, seed=413, features=5).into(base)
    learner, updated = base.copy(), base.copy()
    more = make_stream(SquaredError(), 40, seed=414, features=50)
    more.with_(time=more.time + 40.0).into(learner)
    updated.apply(learner.delta(base))
    assert updated.n_features == 50
    assert_same_model(updated, learner)


@pytest.mark.parametrize("change", ["refine", "unlearn"])
def test_a_delta_includes_refined_and_unlearned_events_or_is_refused(change: str) -> None:
    base = Learner(loss=SquaredError(), rho=0.1, window=Sliding(duration=50.0))
    stream = make_stream(SquaredError(), 25, seed=415).with_(time=np.arange(25.0))
    stream.part(slice(0, 20)).into(base)
    learner = base.copy()
    learner.refine(5) if change == "refine" else learner.unlearn(3)
    stream.part(slice(20, 25)).into(learner)
    updated = base.copy()
    try:
        updated.apply(learner.delta(base))
    except ValueError as refusal:
        assert change in str(refusal) or "base" in str(refusal)  # noqa: PT017 - an honest refusal would do
        return
    assert_same_model(updated, learner)


def split(stream: Stream, ways: int) -> list[Stream]:
    return [stream.part(slice(k, None, ways)) for k in range(ways)]


@pytest.mark.parametrize("kappa", [0.0, 1.0])
@EACH_PENALTY
def test_deltas_of_several_workers_combine_to_the_merge(penalty: Any, kappa: float) -> None:
    keywords = options(loss=LogLoss(), penalty=penalty, window=Infinite(), smoothing=kappa)
    stream = make_stream(LogLoss(), 240, seed=410)
    fresh = Learner(**keywords)
    workers = []
    for part in split(stream, 3):
        worker = fresh.copy()
        part.into(worker)
        workers.append(worker)
    merged = workers[0].merge(workers[1]).merge(workers[2])
    for order in itertools.permutations(workers):
        server = fresh.copy()
        for worker in order:
            server.apply(worker.delta(fresh))
        assert_same_model(server, merged)


def test_half_life_windows_are_decayed_to_a_common_time_before_merging() -> None:
    window = HalfLife(10.0)
    old, new = (Learner(loss=SquaredError(), rho=0.1, window=window) for _ in range(2))
    old.learn(np.eye(3), [1.0, 2.0, 3.0], time=[0.0, 1.0, 2.0])
    new.learn(np.eye(3), [4.0, 5.0, 6.0], time=[30.0, 31.0, 32.0])
    merged = old.merge(new)
    np.testing.assert_allclose(merged.mass, new.mass + old.mass / 8.0, rtol=1e-14)
    np.testing.assert_allclose(merged.dual_sum, new.dual_sum + old.dual_sum / 8.0, rtol=1e-14)
    assert merged.clock == 32.0
    assert_same_model(at_clock(old, 32.0).merge(new), Learner.merge(at_clock(new, 32.0), at_clock(old, 32.0)))


def test_exponential_windows_are_aligned_at_their_newest_events() -> None:
    one, two = (Learner(loss=SquaredError(), rho=0.1, window=Exponential(0.9)) for _ in range(2))
    one.learn(np.eye(3), [1.0, 2.0, 3.0])
    two.learn(np.ones((20, 3)), np.ones(20))
    merged = one.merge(two)
    np.testing.assert_allclose(merged.mass, one.mass + two.mass, rtol=1e-15)
    np.testing.assert_allclose(merged.dual_sum, one.dual_sum + two.dual_sum, rtol=1e-14)


def test_a_delta_needs_an_earlier_state() -> None:
    learner = Learner(loss=SquaredError(), window=HalfLife(5.0))
    learner.learn(np.ones((2, 2)), np.ones(2), time=[0.0, 1.0])
    later = learner.copy()
    later.learn(np.ones((2, 3)), np.ones(2), time=[2.0, 3.0])
    with pytest.raises(ValueError, match=r"delta needs an earlier state of this learner.* 4 events.* 2"):
        learner.delta(later)
    nothing = learner.delta(learner)
    assert nothing.count == 0
    twin = learner.copy()
    twin.apply(nothing)
    assert_same_model(twin, learner)


def test_a_learner_may_be_merged_with_itself() -> None:
    for window in MERGEABLE:
        (learner,) = parts(options(loss=LogLoss(), penalty=L2(), window=window, smoothing=0.5), seeds=(412,))
        twice = learner.merge(learner)
        assert_same_bits(twice, learner.merge(learner.copy()))
        np.testing.assert_allclose(twice.mass, 2.0 * learner.mass, rtol=1e-13)
        # Every event twice is the same weighted problem with the same duals: the same w.
        np.testing.assert_allclose(twice.coef, learner.coef, rtol=1e-12, atol=1e-15)


def test_lanes_merge_independently() -> None:
    for window in (Exponential([0.5, 0.9, 0.99]), HalfLife([1.0, 5.0, 50.0])):
        keywords: dict[str, Any] = {"loss": LogLoss(), "rho": (0.01, 0.1, 1.0), "window": window, "smoothing": 0.9}
        one, two, three = parts(keywords | {"lanes": 3})
        assert_same_model(one.merge(two).merge(three), three.merge(two.merge(one)))
        merged = one.merge(two)
        now = [at_clock(each, merged.clock) for each in (one, two)]
        np.testing.assert_allclose(merged.mass, now[0].mass + now[1].mass, rtol=1e-12)


@pytest.mark.parametrize("name", ["a6a", "rcv1sub", "w8a"])
@pytest.mark.parametrize("loss", [Hinge(), LogLoss()], ids=lambda loss: loss.name)
def test_a_merge_predicts_real_data_no_worse_than_its_parts_do(loss: Any, name: str) -> None:
    data = real_data.load(name)
    fresh = Learner(loss=loss, rho=1e-4, intercept=True)
    workers = []
    for rows in np.array_split(np.arange(len(data.y)), 4):
        worker = fresh.copy()
        worker.learn(data.X[rows], data.y[rows])
        workers.append(worker)
    merged = workers[0].merge(workers[1]).merge(workers[2].merge(workers[3]))

    def test_loss(learner: Learner) -> float:
        return float(np.mean(loss.value(learner.predict(data.X_test), data.y_test)))

    losses = [test_loss(worker) for worker in workers]
    assert test_loss(merged) <= np.average(losses, weights=[worker.mass for worker in workers])
    constant = max(np.mean(data.y_test > 0.0), np.mean(data.y_test < 0.0))
    correct = np.mean(np.sign(merged.predict(data.X_test)) == data.y_test)
    assert correct > constant + 0.005, "nothing was learned"
