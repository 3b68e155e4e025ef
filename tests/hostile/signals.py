"""A signal at a random moment of a long call, on every model and face, whose handler stops the call or uses the model itself.

Whatever the handler does, the call ends, and the model has learned the first `count` of its events: the same bits as by a model that was
given no more than those.
"""

import contextlib
import random
import signal
from collections.abc import Callable
from typing import Any

import numpy as np

from hostile.children import failures_of
from hostile.faces import FACES, Events, Face, faults_of_answers, faults_of_file
from hostile.outcome import Outcome

LONG = {"Learner": 300_000, "sklearn.ODCARegressor": 100_000, "sklearn.ODCAClassifier": 60_000}
DEFAULT_LONG = 4_000


class Stop(Exception):  # noqa: N818 - like KeyboardInterrupt, it is no error
    pass


def long_run(count: int, seed: int) -> Outcome:
    failures = failures_of(tried, range(count), seed)
    return Outcome("long calls with a signal whose handler stops them or uses the model", count, failures)


def tried(number: int, seed: int) -> list[str]:
    """One call; a line for each thing that is not as it should be."""
    face, draw = FACES[number % len(FACES)], random.Random(f"{seed} {number}")
    kind = list(HANDLERS)[number // len(FACES) % len(HANDLERS)]
    model, twin = face.make(), face.make()
    first, long = Events(range(6), [k % 3 for k in range(6)]), long_call(face)
    for each in (model, twin):
        face.learn(each, first)
    found, learned_by_handler = list[str](), list[Events]()
    interrupted = False
    try:
        with _signalled(
            draw.uniform(0.001, 0.12), lambda: HANDLERS[kind](face, model, first, learned_by_handler, found)
        ):
            face.learn(model, long)
    except Stop:
        interrupted = True
    learned = face.learner(model).count - len(first) - sum(map(len, learned_by_handler))
    if not (0 <= learned <= len(long)) or (learned < len(long) and not interrupted):
        found.append(
            f"{'interrupted' if interrupted else 'not interrupted'}, and {learned} of {len(long)} were learned"
        )
    if learned and not learned_by_handler:
        face.learn(twin, part_of(long, learned))
        if not _same_learner(face, model, twin):
            found.append(f"after {learned} events it is not the model of these")
    found += faults_of_answers(face.predict(model, first), len(first)) + faults_of_file(face, model, first)
    face.learn(model, first)  # it goes on
    return [f"{face.name}, {kind}: {each}" for each in found]


def long_call(face: Face, length: int = 1) -> Events:
    """A call that takes some tenths of a second, or a multiple of it, of few different events."""
    times = LONG.get(face.name, DEFAULT_LONG) // 500 * length
    some = Events(range(100, 600), [k % 3 for k in range(500)])
    many = Events([*some.numbers] * times, [*some.classes] * times)
    many.__dict__["X"] = np.tile(some.X, (times, 1))  # made once, not for each
    return many


def part_of(events: Events, count: int) -> Events:
    """The first of them."""
    part = Events(events.numbers[:count], events.classes[:count])
    part.__dict__["X"] = events.X[:count]
    return part


@contextlib.contextmanager
def _signalled(seconds: float, handle: Callable[[], object]) -> Any:
    before = signal.signal(signal.SIGALRM, lambda *_: handle())
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


def _same_learner(face: Face, model: Any, other: Any) -> bool:
    mine, others = face.learner(model).get_state(), face.learner(other).get_state()
    return all(np.array_equal(mine[name], others[name]) for name in mine)


# What handlers do


def _stop(_face: Face, _model: Any, _events: Events, _learned: list[Events], _found: list[str]) -> None:
    raise Stop


def _predict(face: Face, model: Any, events: Events, _learned: list[Events], found: list[str]) -> None:
    found += faults_of_answers(face.predict(model, events), len(events))


def _learn(face: Face, model: Any, events: Events, learned: list[Events], _found: list[str]) -> None:
    """Refused while the model learns, unless the signal comes between two calls on the learner."""
    with contextlib.suppress(ValueError):
        face.learn(model, events)
        learned.append(events)


def _save(_face: Face, model: Any, _events: Events, _learned: list[Events], found: list[str]) -> None:
    """A model of several parts is saved between two calls only; a learner at any time."""
    saved = None
    with contextlib.suppress(ValueError):
        saved = model.saved()
    if saved is not None and (fault := _fault_of(type(model), saved)):
        found.append(fault)


def _fault_of(kind: Any, saved: Any) -> str | None:
    try:
        kind.restored(saved)
    except ValueError as error:
        return f"what the handler saved cannot be restored: {error}"
    return None


HANDLERS: dict[str, Callable[[Face, Any, Events, list[Events], list[str]], None]] = {
    "stop": _stop,
    "predict": _predict,
    "learn": _learn,
    "save": _save,
}
