"""Threads that learn, predict, save and make refused calls on one model, of every kind, all at once.

At the end the model holds what was learned and nothing of what was refused: the count, the names, the classes; and its file is whole.
"""

import random
import sys
import threading
from collections.abc import Callable
from typing import Any

from hostile.children import failures_of
from hostile.faces import FACES, Events, Face, faults_of, faults_of_answers
from hostile.outcome import Outcome

MOST_CLASSES = 5


def long_run(count: int, seed: int) -> Outcome:
    failures = failures_of(tried, range(count), seed)
    return Outcome("models used by six threads at once", count, failures)


def tried(number: int, seed: int) -> list[str]:
    """One model, for a moment; a line for each thing that is not as it should be."""
    face, draw = FACES[number % len(FACES)], random.Random(f"{seed} {number}")
    sys.setswitchinterval(draw.choice([1e-6, 1e-5, 1e-3]))
    model = face.make()
    first = Events(range(5), [k % 2 for k in range(5)])
    face.learn(model, first)
    learned, found = [first], list[str]()
    works = [lambda k=k: _teach(face, model, learned, k, random.Random(f"{seed} {number} {k}")) for k in range(3)]
    works += [lambda: _refuse(face, model, found), lambda: _predict(face, model, first, found)]
    works += [lambda: _save(face, model, first, found)]
    _at_once(works, found)
    return [f"{face.name}: {each}" for each in found or faults_of(face, model, learned)]


def _teach(face: Face, model: Any, learned: list[Events], thread: int, draw: random.Random) -> None:
    """Events with names of their own, and now and then a class that nobody has seen."""
    begin = 1000 * (thread + 1)
    for turn in range(12):
        size, most = draw.choice([1, 3, 20]), 2 + turn * (MOST_CLASSES - 1) // 12
        events = Events(range(begin, begin + size), [draw.randrange(most) for _ in range(size)])
        begin += size
        face.learn(model, events)
        learned.append(events)


def _refuse(face: Face, model: Any, found: list[str]) -> None:
    for turn in range(20):
        try:
            face.refuse(model, Events(range(10_000 + 5 * turn, 10_005 + 5 * turn), [0] * 5))
        except ValueError:
            continue
        found.append("a call that is wrong was not refused")


def _predict(face: Face, model: Any, events: Events, found: list[str]) -> None:
    for _ in range(40):
        found += faults_of_answers(face.predict(model, events), len(events))


def _save(face: Face, model: Any, events: Events, found: list[str]) -> None:
    for _ in range(5):
        restored = type(model).restored(model.saved())
        found += faults_of_answers(face.predict(restored, events), len(events))


def _at_once(works: list[Callable[[], object]], found: list[str]) -> None:
    start = threading.Barrier(len(works))

    def guarded(work: Callable[[], object]) -> None:
        start.wait()
        try:
            work()
        except Exception as error:  # noqa: BLE001 - reported
            found.append(f"{type(error).__name__}: {error}")

    threads = [threading.Thread(target=guarded, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
