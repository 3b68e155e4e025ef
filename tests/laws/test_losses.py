"""Laws that hold for every registered loss: of Q, of its conjugate and of the dual variable λ(p, s; y)."""

from collections.abc import Iterator

import numpy as np
import pytest

from odca import (
    AbsoluteError,
    EpsilonInsensitive,
    Expectile,
    Hinge,
    Huber,
    LogLoss,
    ModifiedHuber,
    Poisson,
    Quantile,
    SquaredEpsilonInsensitive,
    SquaredError,
    SquaredHinge,
)
from odca import reference as spec
from odca.losses import Loss
from problems import ALL_LOSSES, Array, knots, label_kind, reference_loss, typical_labels

EPS = float(np.finfo(np.float64).eps)
TINIEST = 2.0**-1074
# Where s is beyond these, p or s·λ is all there is of z = p + s·λ.
SLOPES = [0.0, 1e-300, 1e-200, 1e-100, 1e-30, 1e-12, 1e-6, 1e-3, 0.1, 0.5, 1.0, 3.0, 30.0]
SLOPES += [1e3, 1e6, 1e12, 1e30, 1e100, 1e200, 1e300]

every_loss = pytest.mark.parametrize("loss", ALL_LOSSES, ids=repr)


def points(loss: Loss, y: float) -> Array:
    """z to try: every knot, numbers close to it on both sides, and numbers far away."""
    steps = [0.0, 1e-12, 1e-6, 0.1, 0.7, 3.0, 20.0, 300.0, 1e6]
    z = np.unique([knot + sign * step for knot in knots(loss, y) for step in steps for sign in (-1.0, 1.0)])
    return z[z < 700.0] if label_kind(loss) == "count" else z  # e^z must stay a number


def size_of(z: Array | float, y: float) -> Array:
    """What is added up on the way to Q and λ: rounding is in proportion to it."""
    return np.maximum(1.0, np.maximum(np.abs(z), abs(y)))


def label_size(loss: Loss, y: float) -> float:
    """What the rounding of the label is in proportion to; a probability is as good as 1 minus it."""
    return 1.0 if label_kind(loss) == "probability" and 0.0 < y < 1.0 else abs(y)


def own_size(loss: Loss, dual: Array | float, p: Array | float, y: float) -> Array:
    """What λ's own rounding is in proportion to: λ; or the label where it is y - σ(z) or y - e^z, and e^z has condition z."""
    if label_kind(loss) == "count":
        return np.clip(np.abs(p), 1.0, 700.0) * np.maximum(np.abs(dual), abs(y))
    return np.maximum(np.abs(dual), label_size(loss, y) if label_kind(loss) == "probability" else 0.0)


def cases(loss: Loss) -> Iterator[tuple[float, Array, Array]]:
    """Labels with points p, and λ(p, s) for all of SLOPES, of shape (slopes, points)."""
    for y in typical_labels(loss):
        p = points(loss, y)
        yield y, p, np.asarray(loss.dual(p[None, :], np.array(SLOPES)[:, None], y))


# --- The value and its derivative ---


@every_loss
def test_the_value_is_the_formula_of_the_reference(loss: Loss) -> None:
    literal = reference_loss(loss)
    for y in typical_labels(loss):
        z = points(loss, y)
        expected = np.array([literal.value(v, y) for v in z.tolist()])
        # Sums of a few terms no larger than z·y or their squares, or than Q itself (e^z).
        np.testing.assert_allclose(loss.value(z, y), expected, rtol=1e-13, atol=4 * EPS * np.max(size_of(0.0, y)) ** 2)


SIGNS = [-1.0, 1.0]
REALS = [-300.0, -0.5, 0.0, 7.25]
# As scikit-learn's documentation of its linear models writes them: p the prediction, y the label.
SCIKIT_LEARN = [
    (Hinge(), SIGNS, lambda p, y: np.maximum(0.0, 1.0 - p * y)),
    (SquaredHinge(), SIGNS, lambda p, y: np.maximum(0.0, 1.0 - p * y) ** 2),
    (ModifiedHuber(), SIGNS, lambda p, y: np.where(p * y >= -1, np.maximum(0.0, 1.0 - p * y) ** 2, -4.0 * p * y)),
    (LogLoss(), SIGNS, lambda p, y: np.logaddexp(0.0, -p * y)),
    (LogLoss(), [0.0, 0.25, 1.0], lambda p, y: np.logaddexp(0.0, p) - y * p),
    (SquaredError(), REALS, lambda p, y: 0.5 * (p - y) ** 2),
    (AbsoluteError(), REALS, lambda p, y: np.abs(y - p)),
    (Quantile(0.3), REALS, lambda p, y: np.where(y >= p, 0.3 * (y - p), 0.7 * (p - y))),
    (
        Huber(0.75),
        REALS,
        lambda p, y: np.where(np.abs(y - p) <= 0.75, 0.5 * (y - p) ** 2, 0.75 * (np.abs(y - p) - 0.375)),
    ),
    (EpsilonInsensitive(0.25), REALS, lambda p, y: np.maximum(0.0, np.abs(y - p) - 0.25)),
    (SquaredEpsilonInsensitive(0.25), REALS, lambda p, y: np.maximum(0.0, np.abs(y - p) - 0.25) ** 2),
    (Poisson(), [0.0, 1.0, 2.5], lambda p, y: np.exp(p) - y * p),
]


@pytest.mark.parametrize(
    ("loss", "labels", "formula"), SCIKIT_LEARN, ids=lambda part: "formula" if callable(part) else repr(part)
)
def test_the_value_equals_scikit_learns(loss: Loss, labels: list[float], formula: object) -> None:
    z = np.linspace(-5.0, 5.0, 401)
    for y in labels:
        np.testing.assert_allclose(loss.value(z, y), formula(z, y), rtol=1e-13, atol=4 * EPS * max(1.0, abs(y)) ** 2)  # type: ignore[operator]


def test_an_expectile_of_one_half_is_the_squared_error() -> None:
    z, y = np.linspace(-5.0, 5.0, 401), 0.75
    np.testing.assert_array_equal(Expectile(0.5).value(z, y), SquaredError().value(z, y))
    np.testing.assert_array_equal(Expectile(0.5).dual(z, 0.7, y), SquaredError().dual(z, 0.7, y))


@every_loss
def test_the_subgradient_is_the_derivative_of_the_value_on_both_sides_of_every_point(loss: Loss) -> None:
    for y in typical_labels(loss):
        for z in points(loss, y).tolist():
            if abs(z) > 400.0:  # there the rounding of Q outweighs what h can move it
                continue
            # h is large enough that rounding in Q (about EPS·Q) is small in the quotient, and small enough to stay
            # inside the piece that begins at z. A convex Q has  hi(z)·h <= Q(z + h) - Q(z) <= lo(z + h)·h.
            h = 2.0**-20
            before, here, after = (float(loss.value(v, y)) for v in (z - h, z, z + h))
            (lo, hi), (_, before_hi), (after_lo, _) = (loss.subgradient(v, y) for v in (z, z - h, z + h))
            rounding = 8 * EPS * max(1.0, abs(before), abs(here), abs(after), float(size_of(z, y)) ** 2) / h
            assert hi - rounding <= (after - here) / h <= after_lo + rounding, (y, z)
            assert before_hi - rounding <= (here - before) / h <= lo + rounding, (y, z)


@every_loss
def test_the_subgradient_is_the_formula_of_the_reference(loss: Loss) -> None:
    literal = reference_loss(loss)
    for y in typical_labels(loss):
        z = points(loss, y)
        expected = np.array([literal.subgradient(v, y) for v in z.tolist()])
        # y - z is one rounding in both; the rest is a product. Logistic and e^z have a few roundings more.
        tolerance = 16 * EPS * np.maximum(np.abs(expected), max(1.0, abs(y)))
        lo, hi = loss.subgradient(z, y)
        assert np.all(np.abs(np.stack([lo, hi], axis=1) - expected) <= tolerance)
        assert np.all(np.asarray(lo) <= np.asarray(hi))


KINKS = [
    (Hinge(), 1.0, 1.0, (-1.0, 0.0)),
    (Hinge(), -1.0, -1.0, (0.0, 1.0)),
    (AbsoluteError(), 2.5, 2.5, (-1.0, 1.0)),
    (Quantile(0.25), 2.5, 2.5, (-0.25, 0.75)),
    (EpsilonInsensitive(0.25), 2.0, 1.75, (-1.0, 0.0)),
    (EpsilonInsensitive(0.25), 2.0, 2.25, (0.0, 1.0)),
    (EpsilonInsensitive(0.0), 2.0, 2.0, (-1.0, 1.0)),
]


@pytest.mark.parametrize(("loss", "y", "z", "interval"), KINKS, ids=repr)
def test_the_subgradient_at_a_kink_is_the_whole_interval(
    loss: Loss, y: float, z: float, interval: tuple[float, float]
) -> None:
    assert loss.subgradient(z, y) == interval
    below, above = np.nextafter(z, -np.inf), np.nextafter(z, np.inf)
    assert loss.subgradient(below, y) == (interval[0], interval[0])
    assert loss.subgradient(above, y) == (interval[1], interval[1])


# --- The conjugate ---


@every_loss
def test_the_conjugate_is_the_formula_of_the_reference(loss: Loss) -> None:
    literal = reference_loss(loss)
    for y in typical_labels(loss):
        domain = dual_domain(loss, y)
        dual = np.unique([*np.linspace(-5.0, 5.0, 201), *domain, *np.linspace(*np.clip(domain, -1e3, 1e3), 101)])
        expected = np.array([literal.conjugate(-v, y) for v in dual.tolist()])
        # Products and logarithms of numbers no larger than λ·y.
        atol = 16 * EPS * np.maximum(1.0, np.abs(dual) * max(1.0, abs(y)))
        got = np.asarray(loss.conjugate(dual, y))
        np.testing.assert_array_equal(np.isinf(got), np.isinf(expected))
        finite = np.isfinite(expected)
        assert np.all(np.abs(got[finite] - expected[finite]) <= (atol + 1e-13 * np.abs(expected))[finite])


def dual_domain(loss: Loss, y: float) -> tuple[float, float]:
    """The ends of λ, which are those of -∂Q far away on either side. Ends beyond 1e3 do not exist (they grow with z)."""
    ends = -float(loss.subgradient(1e6, y)[1]), -float(loss.subgradient(-1e6, y)[0])
    return (ends[0] if ends[0] > -1e3 else -1e3), (ends[1] if ends[1] < 1e3 else 1e3)


BOUNDED = {  # the ends of λ, or of yλ for a margin loss, as the docstrings state them; ±1e3: there is none
    "squared_error": (-1e3, 1e3),
    "hinge": (0.0, 1.0),
    "squared_hinge": (0.0, 1e3),
    "smooth_hinge": (0.0, 1.0),
    "modified_huber": (0.0, 4.0),
    "absolute_error": (-1.0, 1.0),
    "epsilon_insensitive": (-1.0, 1.0),
    "expectile": (-1e3, 1e3),
    "squared_epsilon_insensitive": (-1e3, 1e3),
}


@every_loss
def test_the_conjugate_is_infinite_outside_the_domain_of_the_dual_and_finite_inside(loss: Loss) -> None:
    for y in typical_labels(loss):
        lo, hi = dual_domain(loss, y)
        assert np.all(np.isfinite(loss.conjugate([lo, 0.5 * (lo + hi), hi], y)))
        step = 1e-9 * max(1.0, abs(y))
        if lo > -1e3:
            assert loss.conjugate(lo - step, y) == np.inf
        if hi < 1e3:
            assert loss.conjugate(hi + step, y) == np.inf
        if loss.name in BOUNDED:
            stated = (
                BOUNDED[loss.name]
                if label_kind(loss) != "sign" or y > 0.0
                else tuple(-end for end in BOUNDED[loss.name][::-1])
            )
            assert (lo, hi) == stated


@every_loss
def test_fenchel_young_holds_with_equality_on_the_subgradient_alone(loss: Loss) -> None:
    for y in typical_labels(loss):
        z = points(loss, y)
        z = z[np.abs(z) <= 400.0]
        dual = np.linspace(*dual_domain(loss, y), 101)
        gap = np.asarray(loss.value(z[:, None], y)) + loss.conjugate(dual[None, :], y) + z[:, None] * dual[None, :]
        # Q, Q* and zλ are each rounded once or twice.
        rounding = (
            16
            * EPS
            * (np.abs(loss.value(z, y))[:, None] + size_of(z, y)[:, None] * (size_of(dual, y)[None, :] + abs(y)))
        )
        assert np.all(gap >= -rounding)
        lo, hi = (np.asarray(end) for end in loss.subgradient(z, y))
        for touching in (-lo, -hi, -0.5 * (lo + hi)):
            at = np.asarray(loss.value(z, y)) + loss.conjugate(touching, y) + z * touching
            scale = np.abs(loss.value(z, y)) + size_of(z, y) * size_of(touching, y)
            assert np.all(np.abs(at) <= 1e-13 * scale)
        # And nowhere else: a dual that is a tenth away from -∂Q leaves a gap.
        away = (dual[None, :] > -lo[:, None] + 0.1) | (dual[None, :] < -hi[:, None] - 0.1)
        assert np.all(gap[away] > 0.0)


@every_loss
def test_the_loss_is_the_conjugate_of_its_conjugate(loss: Loss) -> None:
    for y in typical_labels(loss):
        if abs(y) > 10.0:
            continue  # the grid of λ would have to be larger
        z = np.linspace(-3.0, 3.0, 25)
        lo, hi = dual_domain(loss, y)
        # 1e-3 between neighbours: the best of the grid is within 1e-3·|z| + 1e-3·|Q*'| of the supremum, and
        # where Q* is smooth there far closer. A loss that disagrees with its conjugate is off by a constant.
        dual = np.unique([lo, hi, *np.arange(max(lo, -60.0), min(hi, 60.0), 1e-3)])
        supremum = np.max(-z[:, None] * dual[None, :] - np.asarray(loss.conjugate(dual, y))[None, :], axis=1)
        np.testing.assert_allclose(supremum, loss.value(z, y), rtol=0.0, atol=2e-3)


# --- The dual variable ---


@every_loss
def test_the_dual_solves_its_inclusion_for_every_slope(loss: Loss) -> None:
    """λ ∈ -∂Q(p' + sλ) for a p' that differs from p by rounding: a backward error, which holds at kinks too."""
    literal = reference_loss(loss)
    for y, p, duals in cases(loss):
        assert np.all(np.isfinite(duals))
        for s, row in zip(SLOPES, duals.tolist(), strict=True):
            for p_i, dual in zip(p.tolist(), row, strict=True):
                z = p_i + s * dual
                # Units in the last place of λ, of which s makes as many of z, and of what else z is made of.
                own = 256 * EPS * own_size(loss, dual, p_i, y)
                nudge = 256 * EPS * (abs(p_i) + abs(y)) + s * (own + TINIEST)
                lo, hi = literal.subgradient(z - nudge, y)[0], literal.subgradient(z + nudge, y)[1]
                assert lo - own <= -dual <= hi + own, (y, s, p_i, dual)


@every_loss
def test_the_dual_equals_that_of_the_reference(loss: Loss) -> None:
    literal = reference_loss(loss)
    for y, every_p, every_dual in cases(loss):
        some = np.isin(every_p, knots(loss, y)) | (np.arange(len(every_p)) % 3 == 0)  # bisection is slow
        p, duals = every_p[some], every_dual[:, some]
        for s, row in zip(SLOPES, duals, strict=True):
            expected = np.array([spec.dual(literal, p_i, s, y) for p_i in p.tolist()])
            off, own = np.abs(row - expected), own_size(loss, expected, p, y)
            # A rounding of p is 1/s as much in λ where Q has a kink, and never more: λ = (z - p)/s.
            assert np.all(off * min(1.0, s) <= 64 * EPS * np.maximum(own, size_of(p, y))), (y, s)
            if s >= 1.0:
                assert np.all(off <= 256 * EPS * (np.abs(expected) + label_size(loss, y) + size_of(p, y) / s)), (y, s)
            if s == 0.0:  # where λ is the end of the subgradient nearest to 0, and a kink does not blur it
                assert np.all(off <= 64 * EPS * own), y


@every_loss
def test_the_dual_never_leaves_its_domain(loss: Loss) -> None:
    """Not by a rounding error: Q*(-λ) would be infinite, and with it the dual objective."""
    for y, _, duals in cases(loss):
        assert np.all(np.isfinite(loss.conjugate(duals, y))), y


@every_loss
def test_the_dual_lies_between_zero_and_the_slope_at_p(loss: Loss) -> None:
    literal = reference_loss(loss)
    for y, p, duals in cases(loss):
        lo, hi = np.array([literal.subgradient(v, y) for v in p.tolist()]).T
        slack = 64 * EPS * np.maximum(np.maximum(np.abs(lo), np.abs(hi)), label_size(loss, y))
        assert np.all(duals >= np.minimum(0.0, -hi) - slack)
        assert np.all(duals <= np.maximum(0.0, -lo) + slack)
        at_rest = (lo <= 0.0) & (hi >= 0.0)
        # Nothing to learn, nothing learned. Where z is found by iteration, as much as z's own rounding.
        found = 64 * EPS * size_of(p, y) if label_kind(loss) in {"count", "probability"} else 0.0 * p
        assert np.all((np.abs(duals) * np.maximum(1.0, SLOPES)[:, None] <= found)[:, at_rest])


@every_loss
def test_the_dual_falls_and_the_margin_rises_with_p(loss: Loss) -> None:
    for y in typical_labels(loss):
        p = np.unique([*np.linspace(-10.0, 10.0, 401), *knots(loss, y)])
        for s in SLOPES:
            dual = np.asarray(loss.dual(p, s, y))
            size = size_of(p, y) * 64 * EPS
            # λ carries the rounding of (z - p)/s, z that of s·λ.
            assert np.all(np.diff(dual) <= (size * max(1.0, 1.0 / s if s else 1.0) + 64 * EPS * np.abs(dual))[1:]), (
                y,
                s,
            )
            z = p + s * dual
            assert np.all(np.diff(z) >= -(size + 64 * EPS * np.abs(s * dual))[1:]), (y, s)


@every_loss
def test_the_dual_shrinks_as_the_slope_grows(loss: Loss) -> None:
    for y, p, duals in cases(loss):
        slack = 64 * EPS * (np.abs(duals) + size_of(p, y) / np.maximum(1.0, np.array(SLOPES)[:, None]))
        assert np.all(np.abs(duals[1:]) <= np.abs(duals[:-1]) + slack[:-1])


@every_loss
def test_many_duals_at_once_are_the_same_bits_as_one_at_a_time(loss: Loss) -> None:
    rng = np.random.default_rng(20)
    labels = typical_labels(loss)
    at = {y: points(loss, y) for y in labels}
    for length in range(1, 10):
        for _ in range(10):
            y = rng.choice(labels, size=length)
            p = np.array([rng.choice(at[v]) for v in y.tolist()])
            s = rng.choice(SLOPES, size=length)
            together = loss.dual(p, s, y)
            alone = [loss.dual(*one) for one in zip(p.tolist(), s.tolist(), y.tolist(), strict=True)]
            np.testing.assert_array_equal(together, alone)
