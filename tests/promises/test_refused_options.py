"""Promise 4, before the first event: options that make no problem are refused, by name and with a way out."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import numpy as np
import pytest

from odca import (
    KL,
    L2,
    Box,
    ElasticNet,
    EpsilonInsensitive,
    Expectile,
    Exponential,
    HalfLife,
    Hinge,
    Huber,
    Infinite,
    Learner,
    NonNegative,
    Quantile,
    Sliding,
    SmoothHinge,
    SquaredEpsilonInsensitive,
    SquaredError,
)


def learner(**keywords: Any) -> Callable[[], object]:
    return lambda: Learner(**{"loss": SquaredError(), **keywords})


def a(kind: Callable[..., object], *values: Any, **named: Any) -> Callable[[], object]:
    return lambda: kind(*values, **named)


NO_NUMBER = (np.nan, np.inf, -np.inf, None, "1")

REFUSED: list[tuple[Callable[[], object], str]] = [
    *((learner(rho=rho), "rho") for rho in (-1e-9, -1.0, *NO_NUMBER, [[1.0, 2.0]], [1.0, -1.0], [1.0, np.nan], [])),
    *((learner(prior_strength=a0), "prior_strength") for a0 in (-1.0, *NO_NUMBER, [[1.0]], [1.0, -1.0], [])),
    (learner(rho=0.0), "rho and prior_strength"),
    (learner(rho=[1.0, 0.0]), "rho and prior_strength"),
    (learner(rho=[1.0, 0.0], prior_strength=[0.0, 0.0]), "rho and prior_strength"),
    (learner(rho=0.0, prior_strength=[1.0, 0.0]), "rho and prior_strength"),
    *(
        (learner(smoothing=kappa), r"smoothing must lie in \[0, 1\]")
        for kappa in (-1e-9, 1.0 + 1e-9, *NO_NUMBER, [0.5])
    ),
    *((learner(lanes=lanes), "lanes") for lanes in (0, -1, 2.5, np.nan, "2", [2])),
    (learner(lanes=2, rho=[1.0, 2.0, 3.0]), "lanes"),
    (learner(rho=[1.0, 2.0], window=Exponential([0.9, 0.8, 0.7])), "lanes"),
    (learner(prior_strength=[1.0, 2.0], window=HalfLife([1.0])), "lanes"),
    *((learner(penalty_weights=[1.0, w]), "penalty_weights") for w in (0.0, -1.0, np.nan, np.inf, 1e-320)),
    *((learner(penalty_weights=w), "penalty_weights") for w in (1.0, [[1.0]], "a", ["a"])),
    *((learner(prior_mean=[1.0, w]), "prior_mean") for w in (np.nan, np.inf)),
    *((learner(prior_mean=w), "prior_mean") for w in (1.0, [[[1.0]]], "a", ["a"])),
    (learner(prior_mean=[[1.0], [2.0]], lanes=3), r"prior_mean.*\(3, n_features\)"),
    (learner(prior_mean=[[1.0], [2.0]]), r"prior_mean"),
    (learner(prior_mean=[-1.0], penalty=NonNegative()), r"prior_mean must lie inside the bounds \[0, inf\]"),
    (learner(prior_mean=[0.0, 2.0], penalty=Box(-1.0, 1.0)), r"prior_mean must lie inside the bounds \[-1, 1\]"),
    *(
        (learner(intercept=True, intercept_penalty=w), "intercept_penalty")
        for w in (0.0, -1.0, np.nan, np.inf, None, "1", 1e-320)
    ),
    *((learner(intercept=True, prior_intercept=w), "prior_intercept") for w in NO_NUMBER),
    (learner(prior_intercept=1.0), "prior_intercept.*intercept=True"),
    (learner(penalty=KL()), "n_features"),
    *((learner(penalty=KL(), n_features=n), "n_features") for n in (0, -3, 2.5, "3", np.nan)),
    (learner(penalty=KL([0.5, 0.5]), n_features=3), "n_features"),
    (learner(penalty=KL([0.5, 0.5]), intercept=True), "KL has no intercept"),
    (learner(penalty=KL([0.5, 0.5]), penalty_weights=[1.0, 2.0]), "KL takes no penalty_weights"),
    (learner(penalty=KL([0.5, 0.5]), prior_mean=[1.0, 2.0]), "prior_mean.*KL|KL.*prior_mean"),
    (learner(n_features=3), "n_features is for KL"),
    *((a(KL, prior), "KL needs.*prior") for prior in ([], [1.0, 0.0], [1.0, -1.0], [1.0, np.nan], [[1.0]], 3.0)),
    *(
        (a(Exponential, beta), "0 < beta < 1")
        for beta in (0.0, 1.0, -0.1, 1.5, *NO_NUMBER[:3], "1", [], [0.9, 1.0], [[0.9]])
    ),
    (a(Exponential), "exactly one of beta, half_life and span; got none"),
    (a(Exponential, 0.9, span=3), "exactly one of beta, half_life and span; got beta, span"),
    *((a(Exponential, half_life=h), "half_life > 0") for h in (0.0, -1.0, np.nan, 1e20)),
    *((a(Exponential, span=s), "span > 1") for s in (1.0, 0.0, -1.0, np.nan, 1e20)),
    *((a(HalfLife, tau), "finite tau > 0") for tau in (0.0, -1.0, *NO_NUMBER, [], [1.0, 0.0], timedelta(0))),
    (a(HalfLife, np.timedelta64(1, "M")), "finite tau > 0"),
    *((a(Sliding, length), r"length\b") for length in (0, -1, 1.5, 2.0, np.nan, "3", np.timedelta64(3, "s"))),
    *((a(Sliding, duration=d), "finite duration > 0") for d in (0.0, -1.0, np.nan, np.inf, "3", timedelta(seconds=-1))),
    (a(Sliding), "either length .* or duration"),
    (a(Sliding, 3, duration=1.0), "either length .* or duration"),
    *((a(ElasticNet, delta), "delta >= 0") for delta in (-1.0, *NO_NUMBER)),
    *((a(NonNegative, delta), "delta >= 0") for delta in (-1.0, *NO_NUMBER)),
    *((a(Box, -1.0, 1.0, delta=delta), "delta >= 0") for delta in (-1.0, *NO_NUMBER)),
    *(
        (a(Box, lo, hi), "lo <= 0 <= hi")
        for lo, hi in ((1.0, 2.0), (-2.0, -1.0), (0.0, 0.0), (1.0, -1.0), (np.nan, 1.0))
    ),
    (a(Box, -1.0, np.nan), "lo <= 0 <= hi"),
    (a(Box, None, 1.0), "lo <= 0 <= hi"),
    *((a(kind, q), "0 < q < 1") for kind in (Quantile, Expectile) for q in (0.0, 1.0, -1.0, np.nan, "1", None)),
    *((a(Huber, d), "0 < d") for d in (0.0, -1.0, np.nan, np.inf)),
    *((a(SmoothHinge, g), "0 < g") for g in (0.0, -1.0, np.nan, np.inf)),
    *(
        (a(kind, e), "0 <= e")
        for kind in (EpsilonInsensitive, SquaredEpsilonInsensitive)
        for e in (-1.0, np.nan, np.inf)
    ),
]


@pytest.mark.parametrize(
    ("make", "names"), REFUSED, ids=[f"{number}: {names}" for number, (_, names) in enumerate(REFUSED)]
)
def test_invalid_options_are_refused_by_name(make: Callable[[], object], names: str) -> None:
    with pytest.raises((ValueError, TypeError), match=names) as caught:
        make()
    message = str(caught.value)
    assert len(message.split()) >= 6, f"says too little: {message}"
    assert "incompatible function arguments" not in message, "the binding's message, not ours"


def test_numbers_out_of_range_are_value_errors() -> None:
    print(f"{len(REFUSED)} refusals")
    for make in (learner(rho=-1.0), learner(rho=0.0), a(Exponential, 1.0), a(Sliding, 0), learner(smoothing=1.5)):
        with pytest.raises(ValueError):
            make()


@pytest.mark.parametrize(
    ("keywords", "names"),
    [
        ({"loss": Hinge}, r"Pass an instance: Hinge\(\)"),
        ({"loss": None}, "loss must be"),
        ({"loss": "hinge"}, "loss must be"),
        ({"penalty": L2}, "penalty must be"),
        ({"penalty": "l2"}, "penalty must be"),
        ({"window": Infinite}, "window must be"),
        ({"window": 100}, "window must be"),
    ],
    ids=str,
)
def test_an_option_of_the_wrong_type_is_a_type_error(keywords: dict[str, Any], names: str) -> None:
    with pytest.raises(TypeError, match=names):
        learner(**keywords)()


def test_a_window_length_may_be_huge_but_must_fit_in_an_integer() -> None:
    with pytest.raises(ValueError, match="length"):
        Learner(loss=SquaredError(), window=Sliding(2**70))
    learned = Learner(loss=SquaredError(), window=Sliding(2**61))
    learned.learn(np.ones((3, 1)), np.ones(3))
    assert learned.mass == 3.0


def test_the_smallest_and_largest_allowed_options_are_accepted() -> None:
    # The other side of every bound above.
    for keywords in (
        {"rho": 0.0, "prior_strength": 1e-300},
        {"rho": 1e-300},
        {"rho": 1e300},
        {"smoothing": 0.0},
        {"smoothing": 1.0},
        {"lanes": 1},
        {"rho": [1.0]},
        {"penalty_weights": [1e-300, 1e300]},
        {"intercept": True, "intercept_penalty": 1e-300},
        {"penalty": KL(), "n_features": 1},
        {"penalty": Box(0.0, np.inf)},
        {"penalty": Box(-np.inf, 0.0)},
        {"penalty": ElasticNet(0.0)},
        {"window": Exponential(np.nextafter(1.0, 0.0))},
        {"window": Exponential(5e-324)},
        {"window": Sliding(1)},
        {"window": Exponential(span=1.0 + 1e-9)},
    ):
        learned = Learner(**{"loss": SquaredError(), **keywords})
        learned.learn(np.full((2, 1), 0.5), np.ones((2, 1)))
        assert np.isfinite(learned.coef).all(), keywords
        assert learned == learned.copy()
