"""Events whose evaluation can wait: many at once are faster than one at a time."""

from collections import deque
from collections.abc import Callable
from typing import Generic, TypeVar

from odca import _core

Noted = TypeVar("Noted")
MOST_NOTED = 1000


class Notes(Generic[Noted]):
    """What is known of events that are to be evaluated, in order. Several threads may use it."""

    def __init__(self) -> None:
        self._events: deque[Noted] = deque()
        self._turn = _core.Turn()  # held while they are evaluated

    def __len__(self) -> int:
        return len(self._events)

    def add(self, event: Noted, evaluate: Callable[[list[Noted]], None]) -> None:
        """Add an event; evaluate all if there are many."""
        self._events.append(event)
        if len(self._events) >= MOST_NOTED:
            self.settle(evaluate)

    def settle(self, evaluate: Callable[[list[Noted]], None]) -> None:
        """Evaluate all events so far. Afterwards nobody else is evaluating earlier ones."""
        with self._turn:
            events = [self._events.popleft() for _ in range(len(self._events))]
            if events:
                evaluate(events)
