"""Processes forked at random moments while other threads use a model, of every kind.

A child never waits for ever. Its copy of the model works, or, if a thread was changing the model at that moment, every call says so. The
parent's model does not notice.
"""

import os
import random
import signal
import sys
import threading
from typing import Any

from hostile.children import failures_of
from hostile.faces import FACES, Events, Face, faults_of, faults_of_answers, faults_of_file
from hostile.outcome import Outcome

FORKS = 8
SECONDS = 60
WORKED, REFUSED, WRONG = 0, 3, 4


def long_run(count: int, seed: int) -> Outcome:
    failures = failures_of(tried, range(count), seed, seconds=FORKS * SECONDS)
    return Outcome(f"models in use while their process was forked ({FORKS} times each)", count, failures)


def tried(number: int, seed: int) -> list[str]:
    """Fork a few times; a line for each thing that is not as it should be."""
    face, draw = FACES[number % len(FACES)], random.Random(f"{seed} {number}")
    sys.setswitchinterval(1e-4)
    model, done = face.make(), threading.Event()
    first = Events(range(6), [k % 3 for k in range(6)])
    face.learn(model, first)
    learned, found = [first], list[str]()

    def teach() -> None:
        begin = 1000
        while not done.is_set():
            events = Events(range(begin, begin + 50), [k % 3 for k in range(50)])
            begin += 50
            face.learn(model, events)
            learned.append(events)

    def predict() -> None:
        while not done.is_set():
            found.extend(faults_of_answers(face.predict(model, first), len(first)))

    works = draw.choice([[teach], [predict], [teach, predict]])
    threads = [threading.Thread(target=work) for work in works]
    for thread in threads:
        thread.start()
    for _ in range(FORKS):
        done.wait(draw.uniform(0.0, 0.02))
        found += _forked(face, model, first, may_be_refused=teach in works)
    done.set()
    for thread in threads:
        thread.join()
    found += faults_of(face, model, learned)
    return [f"{face.name}: {each}" for each in found]


def _forked(face: Face, model: Any, events: Events, *, may_be_refused: bool) -> list[str]:
    child = os.fork()
    if child == 0:
        code = WRONG
        try:
            code = _in_child(face, model, events)
        finally:
            os._exit(code)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if code == WORKED or (code == REFUSED and may_be_refused):
        return []
    return [f"the child ended with {code}"]


def _in_child(face: Face, model: Any, events: Events) -> int:
    """Use the copy; all calls work, or the first that does not says why, and so do all after it."""

    signal.alarm(SECONDS)
    refused = 0
    for call in (
        lambda: face.predict(model, events),
        lambda: face.learn(model, events),
        model.saved,
        lambda: face.learner(model).count,
    ):
        try:
            call()
        except ValueError as error:
            if "when this process was forked" not in str(error):
                print(repr(error), file=sys.stderr, flush=True)
                return WRONG
            refused += 1
    if refused:
        return REFUSED
    return WRONG if faults_of_file(face, model, events) else WORKED
