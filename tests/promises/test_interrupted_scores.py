"""A signal handler that raises while scores are updated leaves those from before the call, or those with all its events."""

import itertools
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import numpy as np
import pytest

from odca import metrics
from odca.sklearn import AutoClassifier, AutoRegressor, ODCAClassifier, ODCARegressor

RNG = np.random.default_rng(0)
X = RNG.normal(size=(12, 3))
NUMBERS = RNG.normal(size=12)


class Stop(Exception):  # noqa: N818 - like KeyboardInterrupt, it is no error
    pass


def raised_at(place: int, call: Callable[[], object]) -> bool:
    """Call it, and raise Stop before so many instructions of odca.metrics and odca.models; whether there were as many."""
    left = place

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal left
        module = frame.f_globals.get("__name__", "")
        if not module.startswith(
            ("odca.metrics", "odca.models.classifier", "odca.models.regressor", "odca.models.linear")
        ):
            return None
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        if event == "opcode":
            left -= 1
            if left == -1:
                raise Stop
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        call()
    except Stop:
        return True
    finally:
        sys.settrace(before)
    return False


def arrays(each: Any) -> dict[str, bytes]:
    """The scores, but for which row was returned last."""
    return {name: array.tobytes() for name, array in each.as_arrays().items() if name != "last_row"}


def class_metrics(seed: int) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    label = rng.integers(0, 3, 5)
    return {"label": label, "predicted": label[::-1], "loss": rng.random(5), "probability": np.full((5, 3), 1 / 3)}


def number_metrics(seed: int) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    return {"label": rng.normal(size=5), "prediction": rng.normal(size=5), "loss": rng.random(5)}


@pytest.mark.parametrize(
    ("kind", "draw"), [(metrics.ClassMetrics, class_metrics), (metrics.NumberMetrics, number_metrics)]
)
def test_metrics_have_all_events_of_an_interrupted_call_or_none(
    kind: Any, draw: Callable[[int], dict[str, Any]]
) -> None:
    old, new = kind(), kind()
    for each in (old, new):
        each.add(**draw(1))
    new.add(**draw(2))
    for place in itertools.count():
        interrupted = kind()
        interrupted.add(**draw(1))
        was_raised = raised_at(place, lambda: interrupted.add(**draw(2)))  # noqa: B023 - called at once
        assert arrays(interrupted) in (arrays(old), arrays(new)), place
        type(interrupted).from_arrays(interrupted.as_arrays())
        if not was_raised:
            break
    assert place > 50


ESTIMATORS: dict[str, tuple[Callable[[], Any], Any, Any]] = {
    "two classes": (ODCAClassifier, (NUMBERS > 0.0).astype(int), (NUMBERS > 0.0).astype(int)),
    "new classes": (ODCAClassifier, (NUMBERS > 0.0).astype(int), np.arange(12) % 4),
    "several labels": (ODCAClassifier, X > 0.0, X > 0.5),
    "numbers": (ODCARegressor, NUMBERS, NUMBERS),
    "several numbers": (ODCARegressor, X, X + 1.0),
    "classes, automatic": (AutoClassifier, np.arange(12) % 3, np.arange(12) % 4),
    "numbers, automatic": (AutoRegressor, NUMBERS, NUMBERS),
}


@pytest.mark.parametrize("what", ESTIMATORS)
def test_all_scores_of_an_interrupted_estimator_have_the_same_events(what: str, tmp_path: Any) -> None:
    make, first, second = ESTIMATORS[what]
    path = tmp_path / "model.safetensors"
    for place in itertools.count(0, 41):
        estimator = make().partial_fit(X, first)
        was_raised = raised_at(place, lambda: estimator.partial_fit(X, second))  # noqa: B023 - called at once
        by_output = estimator.progress_ if isinstance(estimator.progress_, list) else [estimator.progress_]
        counts = {each.events for each in by_output}
        assert counts in ({12}, {24}), place
        estimator.save(path)
        assert type(estimator).load(path).progress_ == estimator.progress_
        estimator.partial_fit(X, second)
        if not was_raised:
            break
    assert counts == {24}
    assert place > 100
