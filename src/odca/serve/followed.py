"""Topics that a model follows: which messages an entry of the log holds, how far a model has read, and how the connection is."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec


class Followed(msgspec.Struct, frozen=True, omit_defaults=True):
    """Which messages of a topic an entry holds. It is in the log with them, so that each is learned exactly once."""

    source: str
    """The name under which the model knows the topic."""
    position: dict[str, str]
    """Where the topic stands after them."""
    places: tuple[str, ...] = ()
    """Where the message of each line is."""
    refused: tuple[tuple[str, str], ...] = ()
    """Messages that cannot be events, which have no line: where each is, and what is wrong with it."""

    def located(self, errors: Sequence[Mapping[str, Any]]) -> list[tuple[str, str]]:
        """Where the messages are whose lines have errors, as they are told about requests, and what is wrong with each."""
        found = []
        for each in errors:
            line = each.get("line") or 1
            found.append((self.places[line - 1], str(each["detail"]).removeprefix(f"line {line}: ")))
        return found


class Refusal(msgspec.Struct, frozen=True):
    """A message that was refused."""

    place: str
    detail: str
    time: float


class Progress(msgspec.Struct):
    """How far a model has read a topic. A part of its state."""

    position: dict[str, str] = {}
    messages: int = 0
    refused: int = 0
    last_refused: Refusal | None = None

    def add(self, followed: Followed, errors: list[tuple[str, str]], clock: float) -> None:
        """Messages were learned, but for those with errors: where each is, and why."""
        refused = [*followed.refused, *errors]
        self.position = followed.position
        self.messages += len(followed.places) + len(followed.refused)
        self.refused += len(refused)
        if refused:
            place, detail = refused[-1]
            self.last_refused = Refusal(place, detail, clock)


class Link(msgspec.Struct):
    """The connection of a model to a topic, as it is now."""

    source: str
    address: str
    route: str
    """What becomes of its messages: "learn", "label" or "predict"."""
    state: str = "connecting"
    """"connecting", "following", "waiting" (for the model to learn again) or "disconnected"."""
    problem: str | None = None
    note: str | None = None
    lag: int | None = None
