"""The writer of a model: the only thread that changes it.

It takes all requests that wait, commits them in one transaction, learns them, and answers (group commit). A request is therefore on the
disk before it is learned, and learned before it is answered. If the commit fails, nothing was learned.
"""

import logging
import queue
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from odca.io import model_file
from odca.serve.entries import PROBLEM, Asking, Entry, no_events, request_digest
from odca.serve.limits import Limits
from odca.serve.log import Log
from odca.serve.problems import Problem, of_event
from odca.serve.remembered import Answer
from odca.serve.saved_state import SavedState
from odca.serve.state import State
from odca.stream.read.blocks import Block

MOST_IN_GROUP, MOST_BYTES_IN_GROUP = 1000, 8 << 20
logger = logging.getLogger("odca.serve")


class Request(msgspec.Struct):
    """A request that waits, and what is called with its answer: from the writer's thread, with all answers of a group."""

    kind: str
    key: str | None
    asking: Asking
    body: bytes
    done: Any


class Outcome(msgspec.Struct):
    """What became of a request."""

    answer: Answer
    position: int | None = None
    replayed: bool = False
    retry_after: int | None = None


class Control(msgspec.Struct):
    """Something else that the writer does between two groups."""

    work: Callable[[], Any]
    done: Callable[[Any, BaseException | None], None]


class Writer:
    """The thread of one model."""

    def __init__(self, name: str, folder: Path, state: State, log: Log, limits: Limits, told: "Told") -> None:
        self.name, self.folder, self.state, self.log, self.limits, self.told = name, folder, state, log, limits, told
        self.problem: str | None = None
        """Why learning is refused now."""
        self.failure: str | None = None
        """Why the model can no longer be used."""
        self.is_busy = False
        """Whether it is learning at this moment."""
        self.snapshot_position, self.snapshot_time = state.position, time.time()
        self._changed_at: float | None = None
        self._snapshot: threading.Thread | None = None
        self._queue: queue.SimpleQueue[Request | Control | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name=f"odca-{name}", daemon=True)

    def start(self) -> None:
        """Begin to work."""
        self._thread.start()

    def put(self, item: Request | Control) -> None:
        """Let it do something."""
        self._queue.put(item)

    def stop(self) -> None:
        """Work off what waits, make a snapshot, and end."""
        self._queue.put(None)
        if self._thread.is_alive():
            self._thread.join()

    # The thread

    def _run(self) -> None:
        ends = False
        while not ends:
            items = self._taken()
            ends = None in items
            group: list[Request] = []
            for item in items:
                if isinstance(item, Request):
                    group.append(item)
                    continue
                self._handle(group)
                group = []
                if isinstance(item, Control):
                    self._control(item)
            self._handle(group)
            self._snapshot_if_due()
        if self._snapshot is not None:
            self._snapshot.join()
        if self.failure is None and self.state.position > self.snapshot_position:
            self._end_with_snapshot()
        self.log.close()

    def _taken(self) -> list[Request | Control | None]:
        """Everything that waits, within bounds; at least one thing, or nothing after a while."""
        try:
            items = [self._queue.get(timeout=self._wait())]
        except queue.Empty:
            return []
        size = 0
        while len(items) < MOST_IN_GROUP and size < MOST_BYTES_IN_GROUP and items[-1] is not None:
            try:
                items.append(self._queue.get_nowait())
            except queue.Empty:
                break
            if isinstance(items[-1], Request):
                size += len(items[-1].body)
        return items

    def _wait(self) -> float | None:
        if self._changed_at is None:
            return None
        return max(self._changed_at + self.limits.snapshot_seconds - time.monotonic(), 0.01)

    def _control(self, item: Control) -> None:
        try:
            item.done(item.work(), None)
        except BaseException as error:  # noqa: BLE001 - it is raised where it is waited for
            item.done(None, error)

    # A group of requests

    def _handle(self, group: list[Request]) -> None:
        if not group:
            return
        outcomes: dict[int, Outcome] = {}
        try:
            self._process(group, outcomes)
        except Exception as error:  # a fault of ours: the model may be between two events
            logger.exception("model %s failed", self.name)
            self.failure = f"{type(error).__name__}: {error}"
            problem = Problem(
                "failed", f"the model failed, and is loaded again when the service starts: {self.failure}."
            )
            for place in range(len(group)):
                outcomes.setdefault(place, Outcome(Answer(problem.status, problem.encoded(), PROBLEM)))
        self.told.answered([(request, outcomes[place]) for place, request in enumerate(group)])

    def _process(self, group: list[Request], outcomes: dict[int, Outcome]) -> None:
        if self.failure is not None:
            raise RuntimeError(self.failure)
        places, repeated = self._new_ones(group, outcomes)
        places, prepared = self._readable(group, places, outcomes)
        if places:
            clock = max(time.time(), self.state.clock)
            first = self.state.position + 1
            entries = [
                Entry(first + k, clock, group[at].kind, group[at].key, group[at].asking, group[at].body)
                for k, at in enumerate(places)
            ]
            if self._committed(entries, places, outcomes):
                self._learn(entries, places, prepared, outcomes)
        for place, original in repeated.items():
            outcome = outcomes[original]
            outcomes[place] = Outcome(outcome.answer, outcome.position, True, outcome.retry_after)

    def _new_ones(self, group: Sequence[Request], outcomes: dict[int, Outcome]) -> tuple[list[int], dict[int, int]]:
        """The requests whose keys are new; and those that repeat one of them. The others are answered."""
        places: list[int] = []
        repeated: dict[int, int] = {}
        seen: dict[str, int] = {}
        for place, request in enumerate(group):
            key = request.key
            if key is None:
                places.append(place)
                continue
            kept = self.state.answers.get(f"k:{key}")
            digest = request_digest(request.kind, request.asking, request.body)
            before = seen.get(key)
            if kept is not None:
                outcomes[place] = Outcome(kept.answer, kept.position, True) if kept.digest == digest else _reused(key)
            elif before is None:
                seen[key] = place
                places.append(place)
            elif digest == request_digest(group[before].kind, group[before].asking, group[before].body):
                repeated[place] = before
            else:
                outcomes[place] = _reused(key)
        return places, repeated

    def _readable(
        self, group: Sequence[Request], places: list[int], outcomes: dict[int, Outcome]
    ) -> tuple[list[int], Block | None]:
        """The requests that can be read, so that nonsense is not logged; and all their events, if they all learn."""
        state, model = self.state, self.state.model
        names = None if model is None else model.vocabulary
        together = model is not None and all(
            group[at].kind == "learn" and not group[at].asking.partial for at in places
        )
        bodies = {at: b"\n".join(_lines(group[at])) + b"\n" for at in places}
        if together and len(places) > 1:
            try:
                return places, state.reader.read(b"".join(bodies[at] for at in places), names)
            except ValueError:
                pass  # each for itself
        readable = []
        block = None
        for at in places:
            try:
                if group[at].asking.followed is not None:
                    pass  # bad messages are skipped, and their number is a part of the state
                elif group[at].kind == "label":
                    if not bodies[at].strip():
                        raise no_events()
                elif not group[at].asking.partial:
                    block = state.reader.read(bodies[at], names)
                    if not len(block):
                        raise no_events()
                readable.append(at)
            except Problem as problem:
                outcomes[at] = _refused(problem)
            except ValueError as error:
                outcomes[at] = _refused(of_event(error))
        return readable, block if together and len(readable) == len(places) == 1 else None

    def _committed(self, entries: list[Entry], places: list[int], outcomes: dict[int, Outcome]) -> bool:
        began = time.perf_counter()
        try:
            if self.log.bytes > 2 * self.limits.log_bytes + self.limits.keep_log_bytes:
                raise Problem("queue-full", "the log is full until a snapshot is written.", retry_after=5)
            self.log.append(entries)
        except Problem as problem:
            self.problem = problem.detail
            for at in places:
                outcomes[at] = _refused(problem)
            return False
        self.problem = None
        self.told.committed(self.name, len(entries), time.perf_counter() - began)
        return True

    def _learn(
        self, entries: list[Entry], places: list[int], prepared: Block | None, outcomes: dict[int, Outcome]
    ) -> None:
        self.is_busy = True
        try:
            answers = self.state.apply(entries, prepared)
        finally:
            self.is_busy = False
        for at, entry, answer in zip(places, entries, answers, strict=True):
            outcomes[at] = Outcome(answer, entry.position)
        if self._changed_at is None:
            self._changed_at = time.monotonic()

    # Snapshots

    def _snapshot_if_due(self) -> None:
        if self._snapshot is not None and self._snapshot.is_alive():
            return
        if self._changed_at is None or self.failure is not None:
            return
        unsaved = self.log.bytes - self.limits.keep_log_bytes
        if unsaved >= self.limits.log_bytes or time.monotonic() >= self._changed_at + self.limits.snapshot_seconds:
            self.begin_snapshot()

    def begin_snapshot(self) -> None:
        """Write a snapshot in the background; the log is truncated when it is on the disk."""
        self._changed_at = None
        position = self.state.position
        try:
            contents = SavedState(self.state).saved()
        except ValueError as error:
            self.problem = str(error)
            return
        self._snapshot = threading.Thread(target=self._write_snapshot, args=(contents, position), name="odca-snapshot")
        self._snapshot.start()

    def _write_snapshot(self, contents: model_file.ModelFile, position: int) -> None:
        try:
            write_snapshot(self.folder, contents)
        except OSError as error:
            self.problem = f"a snapshot cannot be written: {error}."
            logger.warning("model %s: %s", self.name, self.problem)
            self.put(Control(self._retry_later, _ignore))
            return
        self.put(Control(lambda: self._snapshot_written(position), _ignore))

    def _retry_later(self) -> None:
        if self._changed_at is None:
            self._changed_at = time.monotonic()

    def _snapshot_written(self, position: int) -> None:
        if position < self.snapshot_position:
            return  # a later one is written already
        self.snapshot_position, self.snapshot_time = position, time.time()
        self.log.truncate(position, self.limits.keep_log_bytes)

    def _end_with_snapshot(self) -> None:
        try:
            write_snapshot(self.folder, SavedState(self.state).saved())
            self._snapshot_written(self.state.position)
        except (OSError, ValueError) as error:
            logger.warning("model %s: no last snapshot, the log has everything: %s", self.name, error)

    def replace(self, state: State) -> None:
        """Let another state follow, which is on the disk before anybody sees it. Called in the writer's thread."""
        if self._snapshot is not None:
            self._snapshot.join()
        write_snapshot(self.folder, SavedState(state).saved())
        self.state = state
        self._snapshot_written(state.position)


class Told:
    """Who is told what a writer does."""

    def answered(self, outcomes: Sequence[tuple[Request, Outcome]]) -> None:
        """Requests have their answers."""
        raise NotImplementedError

    def committed(self, name: str, requests: int, seconds: float) -> None:
        """Requests are on the disk."""
        raise NotImplementedError


SNAPSHOT = "snapshot.safetensors"


def write_snapshot(folder: Path, contents: model_file.ModelFile) -> None:
    """Replace the snapshot of a model, atomically."""
    model_file.write(folder / SNAPSHOT, contents)


def recovered(folder: Path, log: Log, progress: Callable[[int], None] = lambda _: None) -> State:
    """The state of a model: the last snapshot, and then the log. ValueError if one of them is damaged."""
    state = SavedState.load(folder / SNAPSHOT).state
    group: list[Entry] = []
    for entry in log.entries(state.position):
        if group and (entry.clock != group[0].clock or len(group) >= MOST_IN_GROUP):
            state.apply(group)
            progress(state.position)
            group = []
        group.append(entry)
    if group:
        state.apply(group)
    return state


def _lines(request: Request) -> list[bytes]:
    return Entry(0, 0.0, request.kind, None, request.asking, request.body).lines


def _refused(problem: Problem) -> Outcome:
    return Outcome(Answer(problem.status, problem.encoded(), PROBLEM), retry_after=problem.retry_after)


def _reused(key: str) -> Outcome:
    return _refused(
        Problem("key-reused", f"the key {key!r} was used for another request. Use a new key for each request.")
    )


def _ignore(_: Any, __: BaseException | None) -> None:
    pass
