"""Exact fits across shards: the dual never falls, the gap is certified, and the solution is that of one learner with all events."""

import pickle
from concurrent.futures import ProcessPoolExecutor
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from scipy.sparse import issparse

import real_data
import slow_shards
from odca import KL, L2, ElasticNet, Exponential, HalfLife, Hinge, Infinite, Learner, LogLoss, Sliding, SquaredError
from odca.distributed import Shard, asking, combined, fit
from odca.distributed.exact import Exchange, Problem, ascent
from odca.reference import PENALTIES as REFERENCE_PENALTIES
from streams import LOSSES, PENALTIES, Stream, make_stream, options


def cut(stream: Stream, sizes: tuple[int, ...]) -> list[Stream]:
    ends = np.cumsum(sizes)
    return [stream.part(slice(end - size, end)) for size, end in zip(sizes, ends, strict=True)]


def shards_of(learner: Learner, parts: list[Stream]) -> list[Shard]:
    return [Shard(learner, part.X, part.y, **part.keywords()) for part in parts]


def compared(keywords: dict[str, Any], stream: Stream, sizes: tuple[int, ...], *, tol: float = 1e-6) -> Any:
    """Fit across shards and by one learner; assert what must hold of both, and return the report."""
    learner, alone = Learner(**keywords), Learner(**keywords)
    report = fit(learner, asking(shards_of(learner, cut(stream, sizes))), tol=tol, max_rounds=3000)
    alone.fit(stream.X, stream.y, **stream.keywords(), tol=tol)
    assert report.converged, report.rounds[-1]
    gap = np.asarray(report.gap)
    np.testing.assert_allclose(learner.mass, alone.mass, rtol=1e-12)
    assert learner.count == alone.count
    assert learner.clock == alone.clock
    # Both dual objectives are lower bounds of the one optimum, and each is within its gap of it.
    both = np.abs(np.asarray(learner.dual_objective()) - np.asarray(alone.dual_objective()))
    size = np.abs(np.asarray(alone.dual_objective())) + 1.0
    assert np.all(both <= gap + tol * size * 20.0)
    # ρ-strong convexity: the weights are as near to the optimum as the gap says.
    away = np.sum((np.atleast_2d(learner.coef) - np.atleast_2d(alone.coef)) ** 2, axis=1)
    strength = np.asarray(learner.strength) / np.asarray(learner.mass)
    if not isinstance(keywords["penalty"], KL):
        assert np.all(0.5 * strength * away <= 2.0 * (gap + tol * size * 20.0))
    # The primal of the learner over all events is what the last round reported.
    primal = np.asarray(
        learner.objective(stream.X, stream.y, sample_weight=weights(learner, stream), offset=stream.offset)
    )
    np.testing.assert_allclose(primal, report.rounds[-1].primal, rtol=1e-9, atol=1e-11)
    duals = np.array([np.atleast_1d(each.dual) for each in report.rounds])
    np.testing.assert_allclose(duals[-1], learner.dual_objective(), rtol=1e-9, atol=1e-11)
    ascents = [one.method == other.method == "ascent" for one, other in pairwise(report.rounds)]
    assert np.all((np.diff(duals, axis=0) >= -1e-12 * (1.0 + np.abs(duals[:-1])))[ascents]), "the dual fell"
    return report


def weights(learner: Learner, stream: Stream) -> np.ndarray:
    if isinstance(learner.window, HalfLife):
        return np.asarray(stream.sample_weight * 2.0 ** ((stream.time - stream.time.max()) / learner.window.tau))
    return stream.sample_weight


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)
@pytest.mark.parametrize("penalty", PENALTIES, ids=lambda penalty: penalty.name)
def test_shards_find_the_solution_of_one_learner(loss: Any, penalty: Any) -> None:
    keywords = options(loss=loss, penalty=penalty, window=Infinite())
    compared(keywords, make_stream(loss, 160, seed=701), (5, 100, 0, 55), tol=1e-4)


@pytest.mark.parametrize("loss", [Hinge(), LogLoss(), SquaredError()], ids=lambda loss: loss.name)
@pytest.mark.parametrize("penalty", [L2(), ElasticNet(0.05)], ids=lambda penalty: penalty.name)
def test_shards_agree_with_priors_intercept_lanes_windows_and_smoothing(loss: Any, penalty: Any) -> None:
    keywords = options(loss=loss, penalty=penalty, window=HalfLife(40.0), lanes=3, intercept=True, smoothing=0.9)
    keywords |= {"prior_strength": 0.7}
    report = compared(keywords, make_stream(loss, 150, seed=702, lanes=3), (50, 70, 30), tol=1e-5)
    assert report.bytes > 0


def test_the_bound_that_makes_the_ascent_safe_holds_for_every_penalty() -> None:
    # A R*(x + sum dS_k / A) <= sum A_k R*(x + dS_k / A_k): docs/distributed.md
    rng = np.random.default_rng(3)
    for name, make in REFERENCE_PENALTIES.items():
        penalty = make(np.ones(6), np.zeros(6))
        for _ in range(200):
            shares = rng.exponential(size=4)
            x, moves = rng.normal(size=6), rng.normal(size=(4, 6)) * rng.exponential()
            whole = shares.sum()
            together = whole * penalty.conjugate(x + moves.sum(axis=0) / whole)
            apart = sum(a * penalty.conjugate(x + move / a) for a, move in zip(shares, moves, strict=True))
            assert together <= apart + 1e-9 * (1.0 + abs(apart)), name


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)
@pytest.mark.parametrize("penalty", PENALTIES, ids=lambda penalty: penalty.name)
def test_the_rounds_of_the_ascent_are_those_of_the_reference(loss: Any, penalty: Any) -> None:
    # With one event in each shard the order of the visits does not matter, and both take the same rounds.
    stream = make_stream(loss, 14, seed=707)
    c = np.where(stream.sample_weight > 0.0, stream.sample_weight, 0.5)
    X = stream.X.toarray() if issparse(stream.X) else stream.X
    parts = [(X[[n]], stream.y[[n]], c[[n]]) for n in range(len(stream))]
    primal, dual, _ = slow_shards.ascent(loss, penalty, parts, 0.05, rounds=25)
    learner = Learner(**options(loss=loss, penalty=penalty, window=Infinite()))
    problem, exchange = begun(learner, [Shard(learner, X, y, sample_weight=c) for X, y, c in parts])
    assert not ascent(problem, exchange, np.full(1, -1.0), 25)
    np.testing.assert_allclose([float(each[2][0]) for each in exchange.rounds], primal, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose([float(each[3][0]) for each in exchange.rounds], dual, rtol=1e-6, atol=1e-8)
    assert np.all(np.diff(dual) >= -1e-9 * (1.0 + np.abs(dual[1:])))


def begun(learner: Learner, shards: list[Shard]) -> tuple[Problem, Exchange]:
    ask = asking(shards)
    survey = ask({"kind": "survey"})
    exchange = Exchange(ask, survey, 0)
    return Problem(learner, survey, exchange.put("begin")), exchange


def test_losses_that_are_smooth_use_lbfgs_under_l2_only() -> None:
    for loss, penalty, uses in ((LogLoss(), L2(), True), (Hinge(), L2(), False), (LogLoss(), ElasticNet(0.05), False)):
        keywords = options(loss=loss, penalty=penalty, window=Infinite())
        report = compared(keywords, make_stream(loss, 160, seed=701), (60, 60, 40), tol=1e-8)
        assert ("lbfgs" in {each.method for each in report.rounds}) is uses
        assert report.rounds[-1].method == "ascent"


@pytest.mark.parametrize("most", [1, 2, 5, 6, 7, 8])
def test_a_fit_that_is_cut_short_is_certified_as_far_as_it_came(most: int) -> None:
    stream = make_stream(LogLoss(), 160, seed=708)
    learner = Learner(**options(loss=LogLoss(), penalty=L2(), window=Infinite()))
    report = fit(learner, asking(shards_of(learner, cut(stream, (60, 60, 40)))), tol=1e-12, max_rounds=most)
    assert not report.converged
    assert len(report.rounds) == most
    primal = learner.objective(stream.X, stream.y, sample_weight=stream.sample_weight, offset=stream.offset)
    np.testing.assert_allclose(primal - learner.dual_objective(), report.gap, rtol=1e-6)


def test_one_shard_is_fit() -> None:
    stream = make_stream(Hinge(), 120, seed=703)
    compared(options(loss=Hinge(), penalty=L2(), window=Infinite()), stream, (120,), tol=1e-5)


def test_a_worker_may_forget_its_duals_between_two_questions() -> None:
    keywords = options(loss=Hinge(), penalty=L2(), window=Infinite())
    parts = cut(make_stream(Hinge(), 120, seed=704), (40, 80))
    kept, expected = [b"", b""], Learner(**keywords)
    fit(expected, asking(shards_of(expected, parts)), tol=1e-4)
    learner = Learner(**keywords)

    def ask(question: dict[str, Any]) -> dict[str, Any]:
        answers = []
        for k, shard in enumerate(shards_of(learner, parts)):
            if kept[k]:
                shard.restore(kept[k])
            answers.append(pickle.loads(pickle.dumps(shard.answer(pickle.loads(pickle.dumps(question))))))
            kept[k] = shard.to_bytes()
        return combined(answers)

    fit(learner, ask, tol=1e-4)
    assert learner == expected
    with pytest.raises(ValueError, match="this shard"):
        shards_of(learner, parts)[0].restore(kept[1])


WORKER: list[Shard] = []


def _hold(part: Stream, learner: Learner) -> None:
    WORKER[:] = [Shard(learner, part.X, part.y, **part.keywords())]


def _answer(question: dict[str, Any]) -> dict[str, Any]:
    return WORKER[0].answer(question)


def test_shards_in_processes() -> None:
    keywords = options(loss=LogLoss(), penalty=L2(), window=Infinite())
    parts = cut(make_stream(LogLoss(), 120, seed=705), (40, 80))
    learner, expected = Learner(**keywords), Learner(**keywords)
    fit(expected, asking(shards_of(expected, parts)))
    pools = [ProcessPoolExecutor(1, initializer=_hold, initargs=(part, learner)) for part in parts]
    try:

        def ask(question: dict[str, Any]) -> dict[str, Any]:
            return combined([each.result() for each in [pool.submit(_answer, question) for pool in pools]])

        fit(learner, ask)
    finally:
        for pool in pools:
            pool.shutdown()
    assert learner == expected


def test_what_shards_cannot_solve_together_is_refused() -> None:
    X, y = np.eye(3), np.array([1.0, -1.0, 1.0])
    for refused, why in (
        ({"window": Exponential(0.9)}, "no common order"),
        ({"window": Sliding(5)}, "no common order"),
        ({"scale": True}, "scale=True"),
    ):
        with pytest.raises(ValueError, match=why):
            Shard(Learner(loss=Hinge(), rho=0.1, **refused), X, y)
    learner = Learner(loss=Hinge(), rho=0.1)
    with pytest.raises(ValueError, match="tol must be"):
        fit(learner, asking([Shard(learner, X, y)]), tol=0.0)
    with pytest.raises(ValueError, match="needs events"):
        fit(learner, asking([Shard(learner, X[:0], y[:0])]))
    with pytest.raises(ValueError, match=r"y in \{-1, \+1\}"):
        Shard(learner, X, y + 1.0)
    assert learner.count == 0


def test_a_loss_of_the_user_is_solved_too() -> None:
    class Mine:
        def gradient(self, z: float, y: float) -> float:
            return z - y

        def value(self, z: float, y: float) -> float:
            return 0.5 * (z - y) ** 2

    stream = make_stream(SquaredError(), 60, seed=706)
    keywords: dict[str, Any] = {"loss": Mine(), "penalty": L2(), "rho": 0.3}
    compared(keywords, stream, (25, 35), tol=1e-3)


@pytest.mark.parametrize("name", ["a6a", "rcv1sub"])
@pytest.mark.parametrize("loss", [Hinge(), LogLoss()], ids=lambda loss: loss.name)
def test_eight_shards_of_real_data_reach_a_certified_gap(name: str, loss: Any) -> None:
    data = real_data.load(name)
    learner = Learner(loss=loss, rho=1e-4, intercept=True)
    rows = np.array_split(np.random.default_rng(0).permutation(len(data.y)), 8)
    report = fit(learner, asking([Shard(learner, data.X[own], data.y[own]) for own in rows]), tol=1e-3)
    assert report.converged
    alone = Learner(loss=loss, rho=1e-4, intercept=True)
    alone.fit(data.X, data.y, tol=1e-3)
    away = float(np.sum((learner.coef - alone.coef) ** 2)) + float(learner.intercept - alone.intercept) ** 2
    assert 0.5 * 1e-4 * away <= 4e-3
