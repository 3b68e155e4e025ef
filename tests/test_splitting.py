"""Splitting is the inverse of merging; workers with a part each are safe at every interval, and naive adding is refused."""

import pickle
from functools import reduce
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import real_data
from odca import L2, Delta, ElasticNet, Exponential, HalfLife, Hinge, Infinite, Learner, LogLoss, Sliding, SquaredError
from streams import LOSSES, MERGEABLE, PENALTIES, assert_close, bits, make_stream, options, window_name

EACH_WINDOW = pytest.mark.parametrize("window", MERGEABLE, ids=window_name)
EACH_PENALTY = pytest.mark.parametrize("penalty", PENALTIES, ids=lambda penalty: penalty.name)


def learned(keywords: dict[str, Any], *, n: int = 90, seed: int = 501, first: Learner | None = None) -> Learner:
    learner = Learner(**keywords) if first is None else first
    stream = make_stream(keywords["loss"], n, seed=seed, lanes=keywords.get("lanes"))
    stream.with_(time=100.0 + seed + stream.time - stream.time.max()).into(learner)
    return learner


def assert_same_model(one: Learner, other: Learner) -> None:
    assert_close(one, other, rtol=1e-12)
    assert (one.clock, one.count) == (other.clock, other.count)
    for name in ("effective_sample_size", "saturation", "strength"):
        np.testing.assert_allclose(getattr(one, name), getattr(other, name), rtol=1e-11, atol=1e-13)
    np.testing.assert_allclose(one.dual_objective(), other.dual_objective(), rtol=1e-12, atol=1e-13)


@EACH_WINDOW
@EACH_PENALTY
@pytest.mark.parametrize("kappa", [0.0, 0.5, 0.97, 1.0])
def test_the_parts_of_a_split_merge_to_the_learner(window: Any, penalty: Any, kappa: float) -> None:
    lanes = 3 if kappa == 0.5 else None
    loss = LOSSES[(len(str(window)) + len(str(penalty))) % len(LOSSES)]
    keywords = options(loss=loss, penalty=penalty, window=window, smoothing=kappa, lanes=lanes, intercept=kappa < 0.9)
    learner = learned(keywords | {"prior_strength": 0.3})
    saved = bits(learner)
    for count in (1, 2, 7, 64):
        parts = learner.split(count)
        assert sum(part.count for part in parts) == learner.count
        np.testing.assert_allclose(sum(part.mass for part in parts), learner.mass, rtol=1e-12)
        assert_same_model(reduce(Learner.merge, parts), learner)
        assert_same_model(reduce(Learner.merge, reversed(parts)), learner)
        if not isinstance(window, Sliding):
            for part in parts:
                np.testing.assert_allclose(part.coef, learner.coef, rtol=1e-11, atol=1e-14)
                np.testing.assert_allclose(part.smoothed_coef, learner.smoothed_coef, rtol=1e-11, atol=1e-14)
    assert bits(learner) == saved


@EACH_WINDOW
@EACH_PENALTY
@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)
def test_the_dual_of_workers_with_a_part_each_is_at_least_their_mean(window: Any, penalty: Any, loss: Any) -> None:
    keywords = options(loss=loss, penalty=penalty, window=window)
    parts = learned(keywords).split(3)
    for number, part in enumerate(parts):
        learned(keywords, n=30, seed=520 + number, first=part)
    merged = reduce(Learner.merge, parts)
    clock = merged.clock
    masses, duals = [], []
    for part in parts:
        if clock is not None and part.clock < clock:
            y = loss.value and (1.0 if loss.name.endswith(("hinge", "huber")) else 0.0)
            part.learn(np.zeros((1, part.n_features)), [y], sample_weight=[0.0], time=[clock])
        masses.append(part.mass)
        duals.append(part.dual_objective())
    mean = np.average(duals, weights=masses)
    assert merged.dual_objective() >= mean - 1e-12 * max(1.0, abs(mean))


@EACH_WINDOW
@EACH_PENALTY
def test_the_deltas_of_all_parts_add_up_to_their_merge_in_any_order(window: Any, penalty: Any) -> None:
    keywords = options(loss=LogLoss(), penalty=penalty, window=window, smoothing=0.9)
    base = learned(keywords)
    parts = base.split(4)
    later = [learned(keywords, n=20, seed=530 + k, first=part.copy()) for k, part in enumerate(parts)]
    deltas = [after.delta(before) for before, after in zip(parts, later, strict=True)]
    merged = reduce(Learner.merge, later)
    for order in ([0, 1, 2, 3], [2, 0, 3, 1]):
        server = base.copy()
        for k in order:
            server.apply(Delta.from_bytes(deltas[k].to_bytes()))
        np.testing.assert_allclose(server.mass, merged.mass, rtol=1e-11)
        np.testing.assert_allclose(server.coef, merged.coef, rtol=1e-9, atol=1e-11)
        assert server.count == merged.count
        with pytest.raises(ValueError, match="no longer"):  # no delta counts twice
            server.apply(deltas[0])
    # A worker may go on, and its next delta follows the first; the parts of a part fit too.
    server = base.copy()
    server.apply(deltas[1])
    more = learned(keywords, n=10, seed=540, first=later[1].copy())
    server.apply(more.delta(later[1]))
    quarter = parts[2].split(2)[1]
    server.apply(learned(keywords, n=10, seed=541, first=quarter.copy()).delta(quarter))
    assert server.count == base.count + 40


def test_a_second_delta_from_one_base_is_refused_and_changes_nothing() -> None:
    keywords = options(loss=SquaredError(), penalty=L2(), window=Infinite())
    base = learned(keywords)
    one, two = (learned(keywords, n=20, seed=550 + k, first=base.copy()) for k in range(2))
    server = base.copy()
    server.apply(one.delta(base))
    saved = bits(server)
    with pytest.raises(ValueError, match=r"add up to more than is safe.*split\(K\)"):
        server.apply(two.delta(base))
    assert bits(server) == saved
    learned(keywords, n=5, seed=552, first=server)
    with pytest.raises(ValueError, match="does not contain"):  # it has learned since
        server.apply(learned(keywords, n=5, seed=553, first=one.copy()).delta(one))
    unrelated = learned(keywords, seed=560)
    with pytest.raises(ValueError, match="does not contain"):
        unrelated.apply(two.delta(base))


def test_deltas_from_an_empty_learner_are_a_merge() -> None:
    keywords = options(loss=SquaredError(), penalty=L2(), window=Infinite())
    fresh = Learner(**keywords)
    server = learned(keywords)
    expected = server
    for k in range(3):
        worker = learned(keywords, n=20, seed=570 + k)
        expected = expected.merge(worker)
        server.apply(worker.delta(fresh))
    assert_same_model(server, expected)
    strong = Learner(**keywords | {"prior_strength": 2.0})  # its strength would count once, its steps twice
    one, two = (learned(keywords | {"prior_strength": 2.0}, n=20, seed=580 + k) for k in range(2))
    total = strong.copy()
    total.apply(one.delta(strong))
    with pytest.raises(ValueError, match="no longer"):
        total.apply(two.delta(strong))


def test_a_part_is_known_after_it_was_saved_or_pickled(tmp_path: Path) -> None:
    keywords = options(loss=Hinge(), penalty=L2(), window=Exponential(0.99))
    base = learned(keywords)
    for number, part in enumerate(base.split(2)):
        part.save(tmp_path / f"{number}")
        for again in (Learner.load(tmp_path / f"{number}"), pickle.loads(pickle.dumps(part)), part.copy()):
            assert again.lineage == part.lineage
            server = base.copy()
            server.apply(learned(keywords, n=5, seed=590, first=again.copy()).delta(again))
            assert server.count == base.count + 5


def test_names_of_bases_that_cannot_be_are_refused() -> None:
    keywords = options(loss=SquaredError(), penalty=L2(), window=Infinite())
    base = learned(keywords)
    delta = learned(keywords, n=5, first=base.copy(), seed=600).delta(base)
    for wrong in ("/1", "/2:2", "/0:99999999", "/x:3", "/0:2/", "//0:2"):
        with pytest.raises(ValueError, match="impossible name"):
            base.apply(Delta(delta.arrays, delta.options, base.lineage.name + wrong, delta.later))
    with pytest.raises(ValueError, match="which state"):
        Delta.from_bytes(Delta(delta.arrays, delta.options, delta.base, "").to_bytes())


def test_a_fresh_learner_can_be_split_before_it_learns() -> None:
    keywords: dict[str, Any] = {"loss": SquaredError(), "rho": 0.0, "prior_strength": 3.0}
    parts = Learner(**keywords).split(6)
    assert [part.strength for part in parts] == pytest.approx([0.5] * 6)
    for number, part in enumerate(parts):
        learned(keywords, n=20, seed=610 + number, first=part)
    merged = reduce(Learner.merge, parts)
    assert merged.strength == pytest.approx(3.0)
    np.testing.assert_allclose(merged.coef, np.mean([part.coef for part in parts], axis=0), rtol=1e-11)
    # Independent learners: their strengths add, so that the merge is the mean of their weights as well.
    two = [learned(keywords, n=20, seed=620 + number) for number in range(2)]
    both = two[0].merge(two[1])
    np.testing.assert_allclose(both.coef, (two[0].coef + two[1].coef) / 2.0, rtol=1e-11)
    assert both == both.merge(Learner(**keywords)), "a learner without events adds nothing, not even its prior strength"
    assert Learner(**keywords).merge(both) == both


AUTOMATIC: list[dict[str, Any]] = [{"rho": "auto"}, {"window": "auto", "rho": 0.1}, {"rho": "auto", "window": "auto"}]


@pytest.mark.parametrize("automatic", AUTOMATIC, ids=str)
@pytest.mark.parametrize("kappa", [0.0, 0.9])
def test_learners_that_choose_split_and_merge(automatic: dict[str, Any], kappa: float) -> None:
    learner = learned({"loss": LogLoss(), "smoothing": kappa, "intercept": True, **automatic}, n=400)
    for count in (2, 5):
        parts = learner.split(count)
        merged = reduce(Learner.merge, parts)
        np.testing.assert_allclose(merged.coef, learner.coef, rtol=1e-10, atol=1e-13)
        np.testing.assert_allclose(merged.strength, learner.strength, rtol=1e-12)
        for part in parts:
            np.testing.assert_allclose(part.coef, learner.coef, rtol=1e-10, atol=1e-13)


SCALED = (Infinite(), Exponential(0.97), HalfLife(20.0), Sliding(duration=40.0))


@pytest.mark.parametrize("window", SCALED, ids=window_name)
@pytest.mark.parametrize("penalty", [L2(), ElasticNet(0.02)], ids=lambda penalty: penalty.name)
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("kappa", [0.0, 0.9])
def test_learners_that_standardise_split_and_merge(window: Any, penalty: Any, *, sparse: bool, kappa: float) -> None:
    from scipy import sparse as sp

    rng = np.random.default_rng(7)
    X = rng.normal(size=(240, 4)) * [1.0, 50.0, 0.01, 3.0] + [5.0, -200.0, 0.0, 1e4]
    y = X @ [1.0, 0.1, 30.0, 0.0] + rng.normal(size=240)
    shift = np.where(np.arange(240) % 3 == 0, 2.0, 1.0)[:, None]  # the parts see different units
    given = (lambda rows: sp.csr_matrix(X[rows] * shift[rows])) if sparse else (lambda rows: X[rows] * shift[rows])
    keywords: dict[str, Any] = {"loss": SquaredError(), "rho": 0.01, "scale": True, "intercept": True}
    keywords |= {"penalty": penalty, "window": window, "smoothing": kappa}
    time = np.arange(240.0) / 4.0
    parts = []
    for start in range(3):
        rows = np.arange(start, 240, 3)
        parts.append(Learner(**keywords))
        parts[-1].learn(given(rows), y[rows], time=time[rows])
    a, b, c = parts
    left, right = a.merge(b).merge(c), c.merge(a.merge(b)).copy()
    for one, other in ((left, right), (a.merge(b.merge(c)), left)):
        np.testing.assert_allclose(one.predict(X), other.predict(X), rtol=1e-7, atol=1e-7)
        np.testing.assert_allclose(one.mass, other.mass, rtol=1e-12)
    if isinstance(penalty, L2) and isinstance(window, Infinite | Exponential):
        mean = np.average([part.predict(X) for part in parts], axis=0, weights=[part.mass for part in parts])
        np.testing.assert_allclose(left.predict(X), mean, rtol=1e-8)
    shares = left.split(4)
    again = reduce(Learner.merge, shares)
    np.testing.assert_allclose(again.predict(X), left.predict(X), rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(again.coef, left.coef, rtol=1e-7, atol=1e-10)
    later = [share.copy() for share in shares]
    for number, share in enumerate(later):
        share.learn(given(np.arange(number, 40, 4)), y[number:40:4], time=60.0 + time[number:40:4])
    server = left.copy()
    for before, after in zip(shares, later, strict=True):
        server.apply(Delta.from_bytes(after.delta(before).to_bytes()))
    np.testing.assert_allclose(server.predict(X), reduce(Learner.merge, later).predict(X), rtol=1e-6, atol=1e-6)


def test_dense_and_sparse_standardised_rows_do_not_merge() -> None:
    from scipy import sparse as sp

    dense, sparse = (Learner(loss=SquaredError(), scale=True) for _ in range(2))
    dense.learn(np.eye(3) + 1.0, [1.0, 2.0, 3.0])
    sparse.learn(sp.csr_matrix(np.eye(3)), [1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match="centred"):
        dense.merge(sparse)


@pytest.mark.parametrize("interval", [10, 100, 1000])
@pytest.mark.parametrize("loss", [Hinge(), LogLoss()], ids=lambda loss: loss.name)
def test_eight_workers_with_parts_are_safe_at_every_interval_on_real_data(loss: Any, interval: int) -> None:
    # The scheme that docs/merging.md once recommended (all deltas of one base are added) has losses of 3 to 111 here.
    data = real_data.load("a6a")
    rows = np.array_split(np.random.default_rng(0).permutation(len(data.y)), 8)
    model = Learner(loss=loss, rho=1e-4, intercept=True)
    for start in range(0, max(map(len, rows)), interval):
        parts = model.split(8)
        for part, own in zip(parts, rows, strict=True):
            now = own[start : start + interval]
            part.learn(data.X[now], data.y[now])
        model = reduce(Learner.merge, parts)
    assert model.count == len(data.y)
    in_sequence = Learner(loss=loss, rho=1e-4, intercept=True)
    in_sequence.learn(data.X[np.concatenate(rows)], data.y[np.concatenate(rows)])
    parts_loss, loss_in_sequence = (
        float(np.mean(loss.value(each.predict(data.X_test), data.y_test))) for each in (model, in_sequence)
    )
    assert parts_loss <= loss_in_sequence
