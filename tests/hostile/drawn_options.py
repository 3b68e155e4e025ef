"""Options and arguments of models, drawn at random, and what a call of a model is."""

import pickle
import random
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import odca
from hostile import odd_values as odd
from odca import KL, Automatic, Box, ElasticNet, Exponential, HalfLife, Infinite, NonNegative, Poisson, Sliding
from streams import LOSSES

Draw = random.Random


class Call(NamedTuple):
    """A call that is about to be made."""

    name: str
    function: Callable[[], Any]
    changes: bool = False


class Face(NamedTuple):
    """A public class: how one is made, and a call of it."""

    make: Callable[[Draw], Any]
    call: Callable[[Any, Draw], Call]


WIDTH = 4


def losses(draw: Draw) -> Any:
    return draw.choice(LOSSES)


def windows(draw: Draw) -> Any:
    usual = (Infinite(), Automatic(), Automatic(), Exponential(0.9), HalfLife(3.0), Sliding(5), Sliding(duration=4.0))
    if draw.random() < 0.1:
        kind = draw.choice((Exponential, HalfLife, Sliding))
        return kind(draw.choice(odd.ODD_NUMBERS))
    return draw.choice(usual)


def penalties(draw: Draw) -> Any:
    if draw.random() < 0.1:
        return draw.choice((ElasticNet, NonNegative, KL))(draw.choice(odd.ODD_NUMBERS))
    return draw.choice((odca.L2(), odca.L2(), ElasticNet(0.1), NonNegative(), Box(-1.0, 2.0), Box(0.0, 1.7e308), KL()))


def options(draw: Draw) -> dict[str, Any]:
    """Options of a Learner, of which some may be odd."""
    options: dict[str, Any] = {
        "loss": losses(draw),
        "penalty": penalties(draw),
        "window": windows(draw),
        "rho": odd.number(draw, draw.choice((0.1, 1e-3, "auto", 0.0, 1e-300, 1e300))),
        "smoothing": odd.number(draw, draw.choice((0.0, 0.0, 0.9, 1.0))),
        "prior_strength": odd.number(draw, draw.choice((0.0, 0.5, 1e-300))),
    }
    options |= {"n_features": WIDTH} if isinstance(options["penalty"], KL) else {}
    if draw.random() < 0.3:
        options["lanes"] = odd.number(draw, draw.choice((1, 2, 3)))
    if draw.random() < 0.2:
        options |= {"intercept": odd.number(draw, True), "intercept_penalty": odd.number(draw, 0.1)}
        options["prior_intercept"] = odd.number(draw, 0.5)
    if draw.random() < 0.2:
        options["scale"] = odd.number(draw, True)
    if draw.random() < 0.2:
        options["prior_mean"] = draw.choice(([0.5, -0.5], [1.7e308], [1e299, 1.0], 1.8e308, odd.matrix(draw, 2), "x"))
    if draw.random() < 0.2:
        options["penalty_weights"] = draw.choice(([0.5, 2.0], [1e-300, 1e300], [5e-324], odd.column(draw, np.ones(3))))
    return options


def labels(loss: Any, n: int, draw: Draw) -> np.ndarray:
    rng = odd.rng_of(draw)
    if isinstance(loss, Poisson):
        return rng.poisson(1.0, n).astype(float)
    return np.where(rng.random(n) > 0.5, 1.0, -1.0)


def extras(draw: Draw, n: int, *, names: tuple[str, ...], needs_time: bool, clock: float = 0.0) -> dict[str, Any]:
    """Weights, offsets and times, now and then."""
    given: dict[str, Any] = {}
    rng = odd.rng_of(draw)
    for name in names:
        if name == "time":
            if needs_time or draw.random() < 0.1:
                given[name] = odd.column(draw, clock + np.cumsum(rng.exponential(size=n)))
        elif draw.random() < 0.2:
            given[name] = odd.column(draw, rng.uniform(0.0, 2.0, n))
    return given


def features(draw: Draw) -> dict[str, Any]:
    given: dict[str, Any] = {}
    if draw.random() < 0.2:
        given["bits"] = odd.number(draw, 5)
    if draw.random() < 0.2:
        given["missing"] = draw.choice(("zero", "indicator", "error", "x", None))
    for name in ("keep", "ignore", "interactions", "text", "categorical", "numeric", "dates"):
        if draw.random() < 0.05:
            given[name] = draw.choice(([], ["a"], ["date"], [["a", "b"]], "a", None, 3, [None], ["\udc80"]))
    return given


def auto_labels(model: Any, n: int, draw: Draw) -> np.ndarray:
    rng = odd.rng_of(draw)
    if model.task == "numbers":
        return rng.normal(size=n) * draw.choice((1.0, 1.0, 1e50, 1e-200))
    return rng.integers(0, draw.choice((2, model.classes, model.classes + 1)), n).astype(float)


def same(model: Any, twin: Any) -> None:
    assert twin == model, "a copy is another model"


def pickled(model: Any) -> Any:
    return pickle.loads(pickle.dumps(model))
