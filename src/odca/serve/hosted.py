"""A model of the service: its writer, and what readers see."""

import asyncio
import time
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from odca.serve.entries import Asking, Entry
from odca.serve.limits import Limits
from odca.serve.log import Log
from odca.serve.problems import Problem, of_event
from odca.serve.state import State
from odca.serve.telemetry import Telemetry
from odca.serve.writer import Control, Outcome, Request, Told, Writer, recovered

MOST_ERRORS = 100
LARGE = 1 << 16
"""Bytes of a request that is read in another thread, so that nobody waits for it."""
Found = TypeVar("Found")


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
        self.errors: deque[dict[str, Any]] = deque(maxlen=MOST_ERRORS)
        self.error_count = 0
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

    async def submit(self, kind: str, key: str | None, asking: Asking, body: bytes) -> Outcome:
        """Log a request, learn it, and return its outcome."""
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
        try:
            return await asyncio.wait_for(asyncio.shield(done), self.limits.wait_seconds)
        except TimeoutError as error:
            raise Problem(
                "timeout",
                "the request waited too long; it may still be learned. Send it again with the same Idempotency-Key.",
            ) from error

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
        return await self.read(lambda: self._predicted(asking, body), large=len(body) > LARGE)

    def _predicted(self, asking: Asking, body: bytes) -> list[dict[str, Any]] | None:
        state = self.state
        lines = Entry(0, 0.0, "predict", None, asking, body).lines
        names = None if state.model is None else state.model.vocabulary
        try:
            block = state.reader.read(b"\n".join(lines) + b"\n", names)
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
