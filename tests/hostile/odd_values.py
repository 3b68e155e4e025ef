"""Arguments for calls: mostly right, often odd in form, now and then wrong."""

import datetime as dt
import decimal
import math
import random
from typing import Any

import numpy as np
import scipy.sparse as sp

ODD_NUMBERS: tuple[Any, ...] = (
    *(math.nan, math.inf, -math.inf, 1e300, -1e300, 1.7e308, 1e200, 1e160, 1e101, 5e-324, 1e-310, 1e-160, -0.0, 2**70),
    *(
        -1,
        0,
        1,
        True,
        None,
        "1",
        "",
        b"1",
        1j,
        [],
        (),
        {},
        [1.0],
        np.float32(3),
        np.int8(-3),
        np.array(2.0),
        np.array([1.0]),
    ),
    *(
        decimal.Decimal("0.5"),
        object(),
        "auto",
        np.datetime64("NaT"),
        dt.date(2020, 1, 1),
        10**400,
        -(10**400),
        0.999,
        2,
    ),
)


class Unwilling:
    """Something that raises whenever it is looked at as a number."""

    def __float__(self) -> float:
        raise ValueError("this is no number.")

    def __repr__(self) -> str:
        return "Unwilling()"


def rng_of(draw: random.Random) -> np.random.Generator:
    return np.random.default_rng(draw.randrange(2**32))


def number(draw: random.Random, usual: Any) -> Any:
    """The usual value mostly, else an odd one."""
    return draw.choice(ODD_NUMBERS) if draw.random() < 0.15 else usual


# Matrices


def matrix(draw: random.Random, width: int) -> Any:
    """X with some rows."""
    n = draw.choice((0, 1, 1, 2, 3, 7, 20))
    X = rng_of(draw).normal(size=(n, width))
    X[rng_of(draw).random(X.shape) < 0.3] = 0.0
    if draw.random() < 0.2 and X.size:
        value = draw.choice((math.nan, math.inf, 1e300, -1e160, 1e101, 1e99, 5e-324, 1e-160, 1e10))
        X.flat[draw.randrange(X.size)] = value
    with np.errstate(all="ignore"):
        return draw.choice(FORMS)(X, draw) if draw.random() < 0.7 else X


def _broken_csr(X: np.ndarray, draw: random.Random) -> Any:
    csr = sp.csr_array(X)
    part = draw.choice(("indices", "indptr", "data"))
    array = getattr(csr, part).copy()
    if array.size:
        place = draw.randrange(array.size)
        array[place] = (
            draw.choice((-1, 0, 1, 2**31 - 2, -(2**31), 5)) if part != "data" else draw.choice((math.nan, 1e300, 0.0))
        )
    setattr(csr, part, draw.choice((array, array[:-1], array[::-1])))
    return csr


def _wide(X: np.ndarray, draw: random.Random) -> Any:
    return (
        sp.csr_array(X, shape=X.shape)
        if X.shape[1] > 3
        else sp.csr_array((X.shape[0], draw.choice((10**5, 2**31 - 2, 2**33))))
    )


def _structured(X: np.ndarray, _: random.Random) -> Any:
    fields = np.zeros(X.shape, [("a", "f8"), ("b", "i1")])
    fields["a"] = X
    return fields["a"]


def _read_only(X: np.ndarray, _: random.Random) -> Any:
    X.setflags(write=False)
    return X


def _two_more(X: np.ndarray, _: random.Random) -> Any:
    return np.hstack([X, X[:, :1], X[:, :1]])


FORMS = (
    lambda X, _: X.astype(np.float32),
    lambda X, _: np.nan_to_num(X, posinf=0, neginf=0).clip(-9, 9).astype(np.int64),
    lambda X, _: X > 0,
    lambda X, _: X.tolist(),
    lambda X, _: np.asfortranarray(X),
    lambda X, _: np.repeat(X, 2, axis=1)[:, ::2],
    lambda X, _: X[::-1],
    lambda X, _: X[:, ::-1],
    lambda X, _: X.astype(">f8"),
    lambda X, _: X.astype(object),
    lambda X, _: X.astype(np.longdouble),
    lambda X, _: sp.csr_array(X),
    lambda X, _: sp.csr_matrix(X),
    lambda X, _: sp.csc_array(X),
    lambda X, _: sp.coo_array(X),
    lambda X, _: sp.csr_array(X[:, ::-1]),
    _read_only,
    _structured,
    _two_more,
    _broken_csr,
    _wide,
    # what is wrong in every case
    lambda X, _: X[:, 0] if X.shape[1] else X,
    lambda X, _: X[None],
    lambda X, _: X.astype(str),
    lambda X, _: X.astype(complex),
    lambda X, _: [*X.tolist(), [1.0]],
    lambda X, _: np.ma.masked_greater(X, 0.5),
    lambda X, _: np.zeros((len(X), 0)),
    lambda _, draw: draw.choice(ODD_NUMBERS),
    lambda X, _: X.astype("datetime64[s]") if np.isfinite(X).all() else X,
    lambda X, _: [[Unwilling()] * X.shape[1]] * len(X),
)


def rows_of(X: Any) -> int:
    """How many rows X seems to have."""
    shape = getattr(X, "shape", None)
    return int(shape[0]) if shape else len(X) if isinstance(X, list) else 1


def column(draw: random.Random, usual: np.ndarray) -> Any:
    """Labels, weights, offsets or times: the usual ones, in some form, or with something wrong."""
    if draw.random() < 0.75:
        return usual
    with np.errstate(all="ignore"):
        if draw.random() < 0.4 and usual.size and usual.dtype.kind != "U":
            changed = usual.astype(float)
            changed.flat[draw.randrange(usual.size)] = draw.choice(ODD_ENTRIES)
            return changed
        change = draw.choice(COLUMNS[:8] if usual.dtype.kind == "U" else COLUMNS)
        return (
            change(usual) if draw.random() < 0.9 else draw.choice((None, "x", [Unwilling()] * len(usual), *ODD_NUMBERS))
        )


ODD_ENTRIES = (math.nan, math.inf, -1.0, 0.0, 2.0, 0.5, 1e300, 1e160, -1e101, 1e99, 1e-300, 5e-324, 1.7e308, 1e6, 2e6)
COLUMNS = (
    lambda y: y.tolist(),
    lambda y: np.repeat(y, 2, axis=0)[::2],
    lambda y: y[::-1],
    lambda y: y[:-1],
    lambda y: y.astype(object),
    lambda y: y.reshape(-1, 1),
    lambda y: y.reshape(1, -1),
    lambda y: np.append(y, y),
    lambda y: y.astype(str),
    lambda y: y.astype(np.float32),
    lambda y: y.astype(complex),
    lambda y: y.astype(">f8"),
    lambda y: y > 0,
    lambda y: np.ma.masked_less(y, 0.0),
)


# Dictionaries

NAMES: tuple[Any, ...] = (
    "a",
    "b",
    "country",
    "date",
    "",
    " ",
    "a.b",
    "a=b",
    "é",
    "\x00",
    "\udc80",
    "x" * 300,
    1,
    -3,
    2**70,
    None,
)
ODD_NAMES: tuple[Any, ...] = (1.5, True, b"a", ("a",), "\xff", "a\xffb", "a * b", "a is missing")


def event(draw: random.Random) -> Any:
    """A dictionary mostly."""
    if draw.random() < 0.02:
        return draw.choice((*ODD_NUMBERS, [("a", 1.0)], {"a"}, "ab"))
    made = {"a": draw.gauss(0, 1), "b": draw.gauss(0, 1), "country": draw.choice(("NZ", "FR", "IT", ""))}
    for _ in range(draw.choice((0, 0, 1, 3))):
        made[draw.choice(NAMES[:6] if draw.random() < 0.8 else NAMES + ODD_NAMES)] = value(draw)
    return made


def value(draw: random.Random, depth: int = 0) -> Any:
    kind = draw.random()
    if kind < 0.5:
        return draw.choice(
            (
                1.5,
                -2,
                True,
                "x",
                None,
                math.nan,
                dt.datetime(2020, 5, 1, 3, tzinfo=dt.UTC),
                np.float64(2.5),
                np.int32(7),
            )
        )
    if kind < 0.7 and depth < 3:
        return [value(draw, depth + 1) for _ in range(draw.randrange(3))]
    if kind < 0.85 and depth < 3:
        return {draw.choice(NAMES): value(draw, depth + 1) for _ in range(draw.randrange(3))}
    return draw.choice(
        (*ODD_NUMBERS, Unwilling(), {1, 2}, "\udc80", "y" * 5000, b"\xff", np.array([1.0, 2.0]), 1e101, 1e-200)
    )


def events(draw: random.Random) -> Any:
    """Several dictionaries mostly."""
    made = [event(draw) for _ in range(draw.choice((0, 1, 2, 5, 12)))]
    if draw.random() < 0.03:
        return draw.choice((made[0] if made else {}, tuple(made), iter(made), None, "ab", 3))
    return made
