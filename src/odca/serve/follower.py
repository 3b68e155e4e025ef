"""Following a topic: its messages are logged with their position, learned, and then the next ones are read.

The position is in the transaction that logs the messages. After a crash the topic is opened where the log ends, so every message is learned
exactly once, whatever the broker remembers.
"""

import asyncio
import logging
import re
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import msgspec

from odca.serve.entries import Asking, as_line
from odca.serve.followed import Followed, Link
from odca.serve.hosted import Hosted
from odca.serve.problems import Problem
from odca.serve.service import Service
from odca.serve.spec import require_name
from odca.topics import Address, Following, Message, Position

MOST, MOST_BYTES = 1000, 4 << 20
"""Messages that are learned in one request."""
SECONDS = 1.0
"""How long messages are waited for at a time; then it is seen whether the model is still there."""
AGAIN = 1.0
"""Seconds after which messages are offered again to a model that could not learn them."""
ROUTES = ("learn", "label", "predict")
WISH = re.compile(r"(?P<name>[^/=]+)(/(?P<route>[^/=]+))?=(?P<address>.+)")
logger = logging.getLogger("odca.serve")


class Wish(NamedTuple):
    """A topic that a model is to follow, and what becomes of its messages."""

    name: str
    route: str
    address: Address

    @classmethod
    def of(cls, text: str) -> "Wish":
        """From a text such as shop=kafka://host/visits or shop/label=kafka://host/orders. ValueError if it is anything else."""
        found = WISH.fullmatch(text)
        if found is None or (found["route"] or "learn") not in ROUTES:
            raise ValueError("write NAME=ADDRESS, NAME/label=ADDRESS or NAME/predict=ADDRESS.")
        try:
            require_name(found["name"])
        except Problem as problem:
            raise ValueError(problem.detail) from problem
        return cls(found["name"], found["route"] or "learn", Address.of(found["address"]))


def require_distinct(wishes: Sequence[Wish]) -> None:
    """ValueError if a model would know two topics under one name."""
    seen: set[tuple[str, str]] = set()
    for name, _, address in wishes:
        if (name, address.label) in seen:
            raise ValueError(
                f"the model {name} follows two topics that are both called {address.label}. Name one of them: ?as=NAME."
            )
        seen.add((name, address.label))


class Follower:
    """Lets a model follow a topic, as long as the service runs."""

    def __init__(self, service: Service, wish: Wish) -> None:
        self._service, self._name, self._route, self._address = service, *wish
        self._thread = ThreadPoolExecutor(1, f"odca-{wish.address.label}")

    async def run(self) -> None:
        """Follow until this is cancelled."""
        try:
            while True:
                hosted = await self._model()
                try:
                    await self._follow(hosted)
                except Exception as error:  # noqa: BLE001 - whatever it is, the log says where to go on
                    self._failed(hosted, error)
                    await asyncio.sleep(AGAIN)
        finally:
            self._thread.shutdown(wait=False)

    def _failed(self, hosted: Hosted, error: Exception) -> None:
        """Show what nobody expected. The topic is opened again."""
        link = hosted.links[self._address.label]
        link.state, link.problem = "disconnected", f"{type(error).__name__}: {error}"
        logger.error("%s: following failed, and is tried again", self._address, exc_info=error)

    async def _model(self) -> Hosted:
        """The model, once it is there."""
        waited = False
        while True:
            hosted = self._service.models.get(self._name)
            if hosted is not None and hosted.writer is not None and not hosted.is_closing:
                return hosted
            if not waited and self._service.state == "ready":
                waited = True
                logger.warning("%s waits for the model %s to be created", self._address, self._name)
            await asyncio.sleep(SECONDS / 5)

    async def _follow(self, hosted: Hosted) -> None:
        """Follow until the model is deleted."""
        link = hosted.links[self._address.label] = Link(self._address.label, str(self._address), self._route)
        progress = hosted.state.followed.get(self._address.label)
        topic = Following(self._address, {} if progress is None else progress.position, insists=True)
        loop, most = asyncio.get_running_loop(), MOST
        try:
            while not hosted.is_closing:
                messages = await loop.run_in_executor(self._thread, topic.read, most, SECONDS)
                _see(link, topic)
                for some, position in _portions(messages, topic.before):
                    await self._learn(hosted, link, some, position)
                if messages:
                    mean = sum(len(each.data or b"") for each in messages) // len(messages) + 1
                    most = max(1, min(MOST, 2 * MOST_BYTES // mean))
        finally:
            self._thread.submit(topic.close)

    async def _learn(self, hosted: Hosted, link: Link, messages: Sequence[Message], position: Position) -> None:
        """Let the model learn messages; try again until they are in its log."""
        sound, refused = [], []
        for each in messages:
            fault = _fault(each, hosted.limits.line)
            if fault is None:
                sound.append((each.where, as_line((each.data or b"").strip())))
            else:
                refused.append((each.where, fault))
        followed = Followed(link.source, position, tuple(place for place, _ in sound), tuple(refused))
        asking = Asking(single=False, partial=True, predictions=False, followed=followed)
        body = b"\n".join(line for _, line in sound)
        while not hosted.is_closing:
            try:
                outcome = await hosted.submit(self._route, None, asking, body, seconds=None)
            except Problem as problem:
                detail = problem.detail
            else:
                answer = msgspec.json.decode(outcome.answer.body)
                if outcome.position is not None:
                    self._report(hosted, followed, answer["errors"])
                    return
                detail = answer["detail"]
            if link.problem != detail:
                logger.warning("%s: the model %s cannot learn now: %s", self._address, self._name, detail)
            link.state, link.problem = "waiting", detail
            await asyncio.sleep(AGAIN)

    def _report(self, hosted: Hosted, followed: Followed, errors: list[dict[str, Any]]) -> None:
        """Tell who looks for errors about messages that were refused."""
        for place, detail in (*followed.refused, *followed.located(errors)):
            hosted.refuse(
                f"{self._route} {followed.source}", Problem("invalid-event", f"message {place}: {detail}"), ""
            )


def _see(link: Link, topic: Following) -> None:
    if topic.problem != link.problem and topic.problem is not None:
        logger.warning("%s", topic.problem)
    if topic.note is not None and topic.note != link.note:
        logger.warning("%s: %s", topic.address, topic.note)
    link.state = "following" if topic.is_connected else "disconnected"
    link.problem, link.note, link.lag = topic.problem, topic.note, topic.lag


def _fault(message: Message, longest: int) -> str | None:
    if message.data is None:
        return message.fault
    if not message.data.strip():
        return "the message is empty."
    if len(message.data) > longest:
        return f"the message has {len(message.data):,} bytes; at most {longest:,} are allowed."
    return None


def _portions(messages: Sequence[Message], before: Position) -> Iterator[tuple[Sequence[Message], Position]]:
    """Messages in portions of bounded size, with the position after each."""
    position = dict(before)
    some: list[Message] = []
    size = 0
    for each in messages:
        if some and size + len(each.data or b"") > MOST_BYTES:
            yield some, dict(position)
            some, size = [], 0
        some.append(each)
        size += len(each.data or b"")
        position[each.part] = each.place
    if some:
        yield some, dict(position)
