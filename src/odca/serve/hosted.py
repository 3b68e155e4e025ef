"""A model of the service: its writer, and what readers see."""

import asyncio
import time
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias, TypeVar

from odca.serve.entries import Asking, Entry, as_line
from odca.serve.followed import Link
from odca.serve.limits import Limits
from odca.serve.log import Log
from odca.serve.problems import Problem, of_event
from odca.serve.state import State
from odca.serve.telemetry import Telemetry
from odca.serve.writer import Control, Outcome, Request, Told, Writer, recovered

MOST_ERRORS = 100
LARGE = 1 << 16
"""Bytes of a request that is read in another thread, so that nobody waits for it."""
LIMITED = -1.0
"""As long as the limits say."""
Found = TypeVar("Found")


Predicted: TypeAlias = list[dict[str, Any]] | None
"""Predictions; None if an event has an id."""


class Question(NamedTuple):
    """An event that is asked about, and who waits for the answer."""

    asking: Asking
    body: bytes
    done: "asyncio.Future[Predicted]"


class Hosted(Told):
    """A model with its folder. All methods are called on the event loop, if nothing else is said."""

    def __init__(self, name: str, folder: Path, limits: Limits, telemetry: Telemetry) -> None:
        self.name, self.folder, self.limits = name, folder, limits
        self.created = folder.stat().st_ctime
        self._telemetry = telemetry
        self._loop = asyncio.get_running_loop()
        self.writer: Writer | None = None
        self.failure: str | None = None
        self.is_closing = False
        self.waiting = self.waiting_bytes = 0
        self._asked: list[Question] = []
        self.errors: deque[dict[str, Any]] = deque(maxlen=MOST_ERRORS)
        self.error_count = 0
        self.links = dict[str, Link]()
        """The topics that it follows, by the names under which it knows them."""
        self.changed: asyncio.Event = asyncio.Event()

    def load(self) -> None:
        """Recover the state and start the writer; from any thread."""
        try:
            log = Log(self.folder / "log.sqlite")
            state = recovered(self.folder, log)
        except Exception as error:  # noqa: BLE001 - the other models go on
            self.failure = f"{type(error).__name__}: {error}"
            return
        writer = Writer(self.name, self.folder, state, log, self.limits, self)
        writer.start()
        self.writer = writer

    @property
    def state(self) -> State:
        """The state. Problem if there is none."""
        if self.writer is None:
            if self.failure is None:
                raise Problem("not-ready", f"the model {self.name} is being loaded.", retry_after=1)
            raise Problem("failed", f"the model {self.name} cannot be loaded: {self.failure}.")
        return self.writer.state

    # Requests that are logged

    async def submit(
        self, kind: str, key: str | None, asking: Asking, body: bytes, *, seconds: float | None = LIMITED
    ) -> Outcome:
        """Log a request, learn it, and return its outcome. Problem if that takes longer than so many seconds."""
        self.state  # noqa: B018 - is there one?
        if self.is_closing or self.writer is None:
            raise Problem("not-ready", "the service is shutting down.", retry_after=5)
        if self.writer.failure is not None:
            raise Problem(
                "failed", f"the model failed, and is loaded again when the service starts: {self.writer.failure}."
            )
        if self.waiting >= self.limits.queue or self.waiting_bytes + len(body) > self.limits.queue_bytes:
            raise Problem("queue-full", f"{self.waiting} requests wait for the model {self.name}.", retry_after=1)
        done: asyncio.Future[Outcome] = self._loop.create_future()
        self.waiting += 1
        self.waiting_bytes += len(body)
        self.writer.put(Request(kind, key, asking, body, done))
        limit = self.limits.wait_seconds if seconds == LIMITED else seconds
        timer = None if limit is None else self._loop.call_later(limit, _give_up, done)
        try:
            return await done
        finally:
            if timer is not None:
                timer.cancel()

    def answered(self, outcomes: Sequence[tuple[Request, Outcome]]) -> None:
        """Of the writer's thread."""
        self._loop.call_soon_threadsafe(self._deliver, outcomes)

    def _deliver(self, outcomes: Sequence[tuple[Request, Outcome]]) -> None:
        for request, outcome in outcomes:
            self.waiting -= 1
            self.waiting_bytes -= len(request.body)
            if not request.done.done():
                request.done.set_result(outcome)
        self.changed.set()
        self.changed = asyncio.Event()

    def committed(self, name: str, requests: int, seconds: float) -> None:
        """Of the writer's thread."""
        self._telemetry.committed(name, requests, seconds)

    # Reading

    async def predict(self, asking: Asking, body: bytes) -> list[dict[str, Any]] | None:
        """Predictions; None if an event has an id, so that it must be kept."""
        if not asking.single or len(body) > LARGE:
            return await self.read(lambda: self._predicted(asking, body), large=len(body) > LARGE)
        self.state  # noqa: B018 - is there one?
        done: asyncio.Future[Predicted] = self._loop.create_future()
        self._asked.append(Question(asking, body, done))
        if len(self._asked) == 1:
            self._loop.call_soon(self._answer_questions)
        return await done

    def _answer_questions(self) -> None:
        """Predict all events that were asked about in one turn of the event loop, which takes less time than one after the other."""
        questions, self._asked = self._asked, []
        if self.writer is not None and self.writer.is_busy:
            answers = self._loop.run_in_executor(None, self._predicted_together, questions)
            answers.add_done_callback(lambda each: _answer(questions, each.result()))
        else:
            _answer(questions, self._predicted_together(questions))

    def _predicted_together(self, questions: "list[Question]") -> "list[Predicted | Exception]":
        asking = questions[0].asking
        if len(questions) > 1 and all(each.asking == asking for each in questions):
            try:
                block = self.state.read_to_predict(b"\n".join(as_line(each.body) for each in questions) + b"\n")
                if len(block) == len(questions) and not any(block.tag or ()):
                    return [[each] for each in self.state.predicted(block, asking)]
            except (ValueError, Problem):
                pass  # each for itself
        found: list[Predicted | Exception] = []
        for each in questions:
            try:
                found.append(self._predicted(each.asking, each.body))
            except Exception as error:  # noqa: BLE001 - it is raised where the answer is awaited
                found.append(error)
        return found

    def _predicted(self, asking: Asking, body: bytes) -> list[dict[str, Any]] | None:
        state = self.state
        lines = Entry(0, 0.0, "predict", None, asking, body).lines
        try:
            block = state.read_to_predict(b"\n".join(lines) + b"\n")
            return None if block.tag and any(block.tag) else state.predicted(block, asking)
        except ValueError as error:
            raise of_event(error) from error

    async def read(self, work: Callable[[], Found], *, large: bool = False) -> Found:
        """Read something of the model; in another thread if that may take long, or the model is learning."""
        if large or (self.writer is not None and self.writer.is_busy):
            return await asyncio.to_thread(work)
        return work()

    # Other changes

    async def control(self, work: Callable[[], Found]) -> Found:
        """Do something in the writer's thread, between two groups of requests."""
        self.state  # noqa: B018 - is there one?
        assert self.writer is not None
        done: asyncio.Future[Found] = self._loop.create_future()

        def finish(found: Any, error: BaseException | None) -> None:
            if not done.done():
                done.set_exception(error) if error is not None else done.set_result(found)

        self.writer.put(Control(work, lambda found, error: _post(self._loop, finish, found, error)))
        return await done

    def refuse(self, route: str, problem: Problem, request_id: str) -> None:
        """Remember an error, for people who look for it."""
        self.error_count += 1
        self.errors.appendleft({
            "time": time.time(), "route": route, "status": problem.status, "detail": problem.detail[:1000],
            "line": problem.line, "request_id": request_id,
        })  # fmt: skip

    def close(self) -> None:
        """Work off what waits, make a snapshot, and end; from any thread."""
        if self.writer is not None:
            self.writer.stop()


def _post(
    loop: asyncio.AbstractEventLoop, finish: Callable[..., None], found: Any, error: BaseException | None
) -> None:
    loop.call_soon_threadsafe(finish, found, error)


def _give_up(done: asyncio.Future[Outcome]) -> None:
    """End the waiting for a request, which the writer learns nevertheless."""
    if not done.done():
        detail = "the request waited too long; it may still be learned. Send it again with the same Idempotency-Key."
        done.set_exception(Problem("timeout", detail))


def _answer(questions: Sequence[Question], answers: Sequence[Predicted | Exception]) -> None:
    for question, answer in zip(questions, answers, strict=True):
        if question.done.done():
            continue  # nobody waits any more
        if isinstance(answer, Exception):
            question.done.set_exception(answer)
        else:
            question.done.set_result(answer)
