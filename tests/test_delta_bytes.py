"""A delta is sent elsewhere as bytes: they hold all of it, and nothing in them is trusted."""

import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from odca import L2, Delta, Exponential, Infinite, Learner, Sliding, SquaredError
from streams import MERGEABLE, PENALTIES, bits, make_stream, options, window_name

EACH_WINDOW = pytest.mark.parametrize("window", MERGEABLE, ids=window_name)


def base_and_later(keywords: dict[str, Any]) -> tuple[Learner, Learner]:
    """A learner, and what it became."""
    base = Learner(**keywords)
    stream = make_stream(keywords["loss"], 80, seed=421, lanes=keywords.get("lanes"))
    stream = stream.with_(time=np.sort(stream.time))
    stream.part(slice(0, 50)).into(base)
    later = base.copy()
    stream.part(slice(50, None)).into(later)
    return base, later


@EACH_WINDOW
@pytest.mark.parametrize("penalty", PENALTIES, ids=lambda penalty: penalty.name)
@pytest.mark.parametrize("kappa", [0.0, 0.9])
def test_a_delta_from_bytes_is_applied_to_the_same_bits(window: Any, penalty: Any, kappa: float) -> None:
    lanes = 3 if kappa else None
    base, later = base_and_later(
        options(loss=SquaredError(), penalty=penalty, window=window, smoothing=kappa, lanes=lanes)
    )
    delta = later.delta(base)
    expected = base.copy()
    expected.apply(delta)
    for again in (Delta.from_bytes(delta.to_bytes()), pickle.loads(pickle.dumps(delta))):
        updated = base.copy()
        updated.apply(again)
        assert bits(updated) == bits(expected)
        assert again.count == delta.count == 30
        assert again.to_bytes() == delta.to_bytes()


def test_a_delta_of_events_without_weight_is_applied() -> None:
    base = Learner(loss=SquaredError(), rho=0.1, window=Exponential(0.3), smoothing=0.7)
    base.learn(np.eye(3), [1.0, 2.0, 3.0])
    for n in range(1, 30):  # the mass since then is a difference that may be rounded below 0
        later, updated = base.copy(), base.copy()
        later.learn(np.zeros((n, 3)), np.zeros(n), sample_weight=np.zeros(n))
        updated.apply(Delta.from_bytes(later.delta(base).to_bytes()))
        assert updated.count == later.count == 3 + n
        # A delta is a difference: its rounding errors are relative to the base. Nothing else may be left of it.
        np.testing.assert_allclose(updated.mass, later.mass, atol=1e-13 * base.mass)
        np.testing.assert_allclose(updated.coef, later.coef if updated.mass > 0.0 else 0.0, rtol=1e-2)


def test_damaged_bytes_are_refused() -> None:
    base, later = base_and_later(options(loss=SquaredError(), penalty=L2(), window=Sliding(duration=30.0)))
    data = later.delta(base).to_bytes()
    for place in range(0, len(data), 97):
        for damaged in (data[:place], data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :]):
            with pytest.raises(ValueError, match="this delta"):
                Delta.from_bytes(damaged)


def test_bytes_of_another_kind_are_refused(tmp_path: Path) -> None:
    Learner(loss=SquaredError()).save(tmp_path / "learner")
    with pytest.raises(ValueError, match="it holds a Learner"):
        Delta.from_bytes((tmp_path / "learner").read_bytes())
    Path(tmp_path / "delta").write_bytes(Learner(loss=SquaredError()).delta(Learner(loss=SquaredError())).to_bytes())
    with pytest.raises(ValueError, match="it holds a Delta"):
        Learner.load(tmp_path / "delta")


def test_a_delta_of_another_problem_is_refused() -> None:
    base, later = base_and_later(options(loss=SquaredError(), penalty=L2(), window=Infinite()))
    other = Learner(**{**base.options, "rho": 7.0})
    with pytest.raises(ValueError, match=r"rho is 7\.0 here"):
        other.apply(Delta.from_bytes(later.delta(base).to_bytes()))
    with pytest.raises(ValueError, match="loss is"):
        other.apply(replace(later.delta(base), options={}))


@EACH_WINDOW
@pytest.mark.parametrize("kappa", [0.0, 0.9])
def test_arrays_that_do_not_fit_together_are_refused_and_change_nothing(window: Any, kappa: float) -> None:
    base, later = base_and_later(options(loss=SquaredError(), penalty=L2(), window=window, smoothing=kappa, lanes=2))
    delta, before = later.delta(base), bits(base)
    for name, array in delta.arrays.items():
        without = {each: other for each, other in delta.arrays.items() if each != name}
        with pytest.raises(ValueError, match=name):
            base.apply(replace(delta, arrays=without))
        for wrong in (np.append(array, array[:1] if len(array) else np.zeros(1, array.dtype)), array.astype("c16")):
            with pytest.raises(ValueError, match=r"state|fit|number|must"):
                base.apply(replace(delta, arrays={**delta.arrays, name: wrong}))
        if array.dtype == np.float64 and len(array) and name != "clock":
            with pytest.raises(ValueError, match=r"state|fit|finite|must"):
                base.apply(replace(delta, arrays={**delta.arrays, name: np.full_like(array, np.nan)}))
        assert bits(base) == before, name


def test_a_loss_of_ones_own_is_given_again() -> None:
    class Mine:
        def gradient(self, z: float, y: float) -> float:
            return z - y

        def value(self, z: float, y: float) -> float:
            return 0.5 * (z - y) ** 2

    loss = Mine()
    base = Learner(loss=loss, rho=0.1)
    later = base.copy()
    later.learn(np.eye(3), [1.0, 2.0, 3.0])
    data = later.delta(base).to_bytes()
    with pytest.raises(ValueError, match="loss is"):
        base.copy().apply(Delta.from_bytes(data))
    base.apply(Delta.from_bytes(data, loss=loss))
    np.testing.assert_allclose(base.coef, later.coef, rtol=1e-14)
