"""Events that wait for their labels."""

import contextlib
from collections.abc import Callable, Iterator
from typing import Any, Generic, TypeAlias, TypeVar

from odca import _core

Id: TypeAlias = str | int
Kept = TypeVar("Kept")
Found = TypeVar("Found")


class PendingEvents(Generic[Kept]):
    """A bounded number of events, each under its id; the oldest is dropped when there are too many. Several threads may use them.

    The model decides what is kept of an event. While its label is being learned, an event counts as removed; if learning fails, it
    is there again.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self.dropped = 0
        """The number of events that were dropped without a label, because more than `most` were waiting."""
        self._events: dict[Id, tuple[int, Kept]] = {}  # id: number, what is kept
        self._taken: set[int] = set()  # the numbers of the events whose label is being learned
        self._count = 0  # of all events that were ever kept, which is also the number of the next one
        self._lock = _core.Turn()  # protects all of these; never held while learning
        self._learning = _core.Turn()  # held while a label is learned

    def __len__(self) -> int:
        return len(self._events) - len(self._taken)

    def keep(self, id: Id, kept: Kept) -> None:  # noqa: A002
        """Keep an event as the newest. It replaces an event with the same id."""
        with self._lock:
            number, self._count = self._count, self._count + 1
            if old := self._events.pop(id, None):  # so that the new one is the newest
                self._taken.discard(old[0])
            self._events[id] = (number, kept)
            self._drop_oldest()

    def waiting(self, id: Id) -> Kept:  # noqa: A002
        """What is kept under `id`. KeyError if there is nothing."""
        with self._lock:
            return self._found(id)[1]

    @contextlib.contextmanager
    def labelled(self, id: Id) -> Iterator[Kept]:  # noqa: A002
        """What is kept under `id`, to be learned in the `with`. It is removed afterwards, unless there was an error."""
        with self._learning:
            with self._lock:
                found = number, kept = self._found(id)
                self._taken.add(number)
            learned = False
            try:
                yield kept
                learned = True
            finally:
                with self._lock:
                    self._taken.discard(number)
                    if learned and self._events.get(id) is found:  # not replaced in the meantime
                        del self._events[id]
                    self._drop_oldest()

    def while_none_is_learned(self, look: Callable[[], Found]) -> Found:
        """What `look` returns, at a moment when every event is either kept or learned."""
        with self._learning:
            return look()

    def listed(self) -> tuple[list[tuple[Id, Kept]], int]:
        """The events with their ids, oldest first, and the number of dropped ones."""
        with self._lock:
            waiting = [(id, kept) for id, (number, kept) in self._events.items() if number not in self._taken]  # noqa: A001
            return waiting, self.dropped

    def restore(self, events: list[tuple[Id, Kept]], dropped: int) -> None:
        """Restore what `listed` returned. ValueError if it is invalid."""
        for id, kept in events:  # noqa: A001
            try:
                self.keep(checked_id(id), kept)
            except TypeError as error:
                raise ValueError(str(error)) from None
        if self.dropped or len(events) != len(self) or dropped < 0:
            raise ValueError("its events that wait for labels are inconsistent.")
        self.dropped = dropped

    def _found(self, id: Id) -> tuple[int, Kept]:  # noqa: A002
        found = self._events.get(id)
        if found is not None and found[0] not in self._taken:
            return found
        raise KeyError(
            f"no event waits for its label under the id {id!r}: it was never kept, its label was learned already, or it was "
            f"dropped because more than max_pending={self.most} events were waiting ({self.dropped} were dropped so far)."
        )

    def _drop_oldest(self) -> None:
        while len(self) > self.most:
            del self._events[next(id for id, (number, _) in self._events.items() if number not in self._taken)]  # noqa: A001
            self.dropped += 1


def checked_id(id: Any) -> Id:  # noqa: A002
    """The id, if it can be saved. TypeError if it is neither a string nor a whole number."""
    if not isinstance(id, str | int) or isinstance(id, bool):
        raise TypeError(f"an id must be a string or a whole number; got {id!r}.")
    return id
