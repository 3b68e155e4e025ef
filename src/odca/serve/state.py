"""A model with everything that requests change. The state is a function of the log: applying the same entries gives the same bits.

An entry is a request, its position and the clock of the moment it was logged. Whatever is decided here depends on the entries alone:
what expires, what is refused, when a point of the history is made. So recovery is a snapshot and a replay.

Consecutive requests to learn are learned together, because any split of a stream gives the same model. If one of them is refused, each is
learned for itself.
"""

import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from typing import Any, TypeAlias

import msgspec

from odca.models.auto import AutoLearner
from odca.models.turns import pinned
from odca.serve import predictions
from odca.serve.calibration import CalibrationTable
from odca.serve.history import History, Point
from odca.serve.labels import LabelLine, spliced
from odca.serve.problems import Problem, of_event
from odca.serve.remembered import Answer, Answers, Kept, Pending, Waiting, digest_of
from odca.serve.spec import Spec
from odca.serve.weights import largest_weights
from odca.stream.model import StreamModel
from odca.stream.read.blocks import Block
from odca.stream.read.json_events import JsonReader, number, schema_of

NDJSON, JSON, PROBLEM = "application/x-ndjson", "application/json", "application/problem+json"
MOST_DELAYS = 100
MOST_COLLECTED = 10_000
MOST_TOGETHER = 4 << 20
"""Bytes of requests that are learned together."""


Told: TypeAlias = dict[str, Any]
"""What is told about an event."""
Lines: TypeAlias = Sequence[tuple[int, bytes]]
"""Lines of a request with their numbers."""


class Asking(msgspec.Struct, frozen=True, omit_defaults=True):
    """How a request wants its events to be used."""

    single: bool = True
    """One event, and not lines of them."""
    partial: bool = False
    predictions: bool = True
    answer: str = "live"
    coverage: float | None = None


class Entry(msgspec.Struct, frozen=True):
    """A request in the log."""

    position: int
    clock: float
    kind: str
    """"learn", "label" or "predict"."""
    key: str | None
    asking: Asking
    body: bytes

    @property
    def digest(self) -> bytes:
        """Of everything that makes it the same request."""
        return request_digest(self.kind, self.asking, self.body)

    @property
    def lines(self) -> list[bytes]:
        """The lines of the body; that of a single event is one, however it is written."""
        return [as_line(self.body)] if self.asking.single else self.body.split(b"\n")


def request_digest(kind: str, asking: Asking, body: bytes) -> bytes:
    """The digest of a request."""
    return digest_of(kind.encode(), msgspec.json.encode(asking), body)


def as_line(body: bytes) -> bytes:
    """One JSON value as one line: no string of JSON holds a line break."""
    return body.replace(b"\n", b" ").replace(b"\r", b" ").strip() if b"\n" in body or b"\r" in body else body


LearnLines: TypeAlias = Callable[[Entry, Lines], list[Told]]


class State:
    """A model, the events that wait, the answers that are kept, the history."""

    def __init__(self, spec: Spec, model: StreamModel | None = None) -> None:
        self.spec, self.model = spec, model
        self.reader = spec.collecting_reader() if model is None else JsonReader(model.schema, spec.id)
        self.first: list[bytes] = []
        """The labelled events that are collected until the model begins."""
        self.why = ""
        """Why it has not begun, though it has collected enough."""
        self.position, self.clock = 0, 0.0
        self.pending, self.answers, self.history = Pending(spec.limits), Answers(spec.limits), History()
        self.calibration = CalibrationTable()
        self.delays: deque[float] = deque(maxlen=MOST_DELAYS)
        self.labelled = self.refused = 0
        self.lock = threading.Lock()
        """Held while anything but the model changes."""

    # The log

    def apply(self, entries: Sequence[Entry], prepared: Block | None = None) -> list[Answer]:
        """Do what the entries ask for, in order; return their answers.

        prepared: the events of all entries, if they all learn and that is known already.
        """
        found: list[Answer] = []
        for clock, group in groupby(entries, key=lambda entry: entry.clock):
            now = list(group)
            self._tick(clock)
            for run in self._runs(now):
                together = self._learn_together(run, prepared if len(run) == len(entries) else None)
                found += together if together is not None else [self._apply_one(entry) for entry in run]
            self.position = now[-1].position
        return found

    def _tick(self, clock: float) -> None:
        with self.lock:
            self.clock = clock
            self.pending.expire(clock)
            self.answers.expire(clock)
        if self.history.is_due(clock):
            point = self._point(clock)
            with self.lock:
                self.history.add(point)

    def _point(self, clock: float) -> Point:
        model, delay = self.model, sum(self.delays) / len(self.delays) if self.delays else None
        if model is None:
            return Point(clock, (0.0, 0.0), len(self.pending), delay, (), {})
        groups = tuple(model.learner.report().groups.values()) if isinstance(model.learner, AutoLearner) else ()
        return Point(clock, tuple(model.metrics.sums), len(self.pending), delay, groups, largest_weights(model))

    @staticmethod
    def _runs(entries: list[Entry]) -> Iterator[list[Entry]]:
        """Consecutive entries that may be learned together; each other one for itself."""
        run: list[Entry] = []
        size = 0
        for entry in entries:
            plain = entry.kind == "learn" and not entry.asking.partial
            if run and (not plain or size + len(entry.body) > MOST_TOGETHER):
                yield run
                run, size = [], 0
            if plain:
                run.append(entry)
                size += len(entry.body)
            else:
                yield [entry]
        if run:
            yield run

    def _apply_one(self, entry: Entry) -> Answer:
        try:
            if entry.kind == "learn":
                answer = self._learn(entry)
            elif entry.kind == "label":
                answer = self._label(entry)
            else:
                answer = self._predict(entry)
        except Problem as problem:
            self.refused += 1
            answer = Answer(problem.status, problem.encoded(), PROBLEM)
        self._keep_by_key(entry, answer)
        return answer

    def _keep_by_key(self, entry: Entry, answer: Answer) -> None:
        if entry.key is not None:
            with self.lock:
                self.answers.keep(f"k:{entry.key}", Kept(entry.digest, entry.clock, answer))

    # Learning

    def _learn_together(self, run: list[Entry], block: Block | None) -> list[Answer] | None:
        """The answers of requests that are learned together; None if each must be seen for itself, and then nothing has changed."""
        model = self.model
        if model is None or run[0].kind != "learn" or run[0].asking.partial:
            return None
        try:
            lines = [entry.lines for entry in run]
            if block is None:
                block = self.reader.read(b"\n".join(b"\n".join(each) for each in lines) + b"\n", model.vocabulary)
            tags = block.tag
            if block.is_unlabelled.any() or model.is_new(block).any() or not self._are_new(tags or []):
                return None
            told = self._learned(model, block)
        except ValueError:
            model.forget_refused()
            return None
        starts = block.rows.line.tolist()
        found, row, first = [], 0, 0
        for entry, own in zip(run, lines, strict=True):
            begin, first = row, first + len(own)
            while row < len(starts) and starts[row] < first:
                row += 1
            if begin == row:
                found.append(self._nothing(entry))
                continue
            texts = [own[starts[k] - (first - len(own))] for k in range(begin, row)]
            found.append(self._answered(entry, told[begin:row], texts))
        return found

    def _nothing(self, entry: Entry) -> Answer:
        self.refused += 1
        answer = Answer(422, no_events().encoded(), PROBLEM)
        self._keep_by_key(entry, answer)
        return answer

    def _learned(self, model: StreamModel, block: Block) -> list[Told]:
        """Learn a block; return the predictions from before. ValueError if it is refused."""
        tags = block.tag
        raw: list[Any] = []
        model.require_learnable(block)
        number(block, model.vocabulary, grow=True)
        model.learn(block, told=raw.append)
        view = pinned(model)
        self._calibrate(view, block, raw[0])
        return predictions.objects(view, raw[0], tags)

    def _calibrate(self, model: StreamModel, block: Block, raw: Any) -> None:
        if model.classes:
            codes = model.codes_of(block)[0]
            with self.lock:
                self.calibration.add(model.shown(raw, "probabilities"), codes, block.weight)

    def _are_new(self, ids: Sequence[str]) -> bool:
        """Whether no event with one of these ids is known."""
        named = [each for each in ids if each]
        return not named or (
            len(set(named)) == len(named)
            and not any(each in self.pending or self.answers.get(f"l:{each}") is not None for each in named)
        )

    def _answered(self, entry: Entry, told: list[Told], lines: Sequence[bytes]) -> Answer:
        """The answer to a request whose events were learned, which are then known by their ids."""
        with self.lock:
            for each, line in zip(told, lines, strict=True):
                if "id" in each:
                    kept = Kept(digest_of(b"learn", line.strip()), entry.clock, Answer(200, msgspec.json.encode(each)))
                    self.answers.keep(f"l:{each['id']}", kept)
        answer = _listed(entry.asking, told)
        self._keep_by_key(entry, answer)
        return answer

    def _learn(self, entry: Entry) -> Answer:
        """Learn the events of one request, which may be known, or bring new classes."""
        lines = [(place, line) for place, line in enumerate(entry.lines, 1) if line.strip()]
        if not lines:
            raise no_events()
        return self._each_or_all(self._learn_lines, entry, lines)

    def _each_or_all(self, learn: LearnLines, entry: Entry, lines: Lines) -> Answer:
        """Learn all lines, or none; of a request that wants that, those that are sound."""
        try:
            return _listed(entry.asking, learn(entry, lines))
        except Problem:
            if not entry.asking.partial:
                raise
        found: list[Told] = []
        for line in lines:
            try:
                found += learn(entry, [line])
            except Problem as problem:
                self.refused += 1
                found.append({"error": problem.as_object()})
        return _listed(entry.asking, found)

    def _learn_lines(self, entry: Entry, lines: Lines) -> list[Told]:
        """Learn lines, all or none; return the object of each."""
        block = self._read(lines)
        if len(block) != len(lines):
            raise Problem("invalid-event", "an event is an object in braces, one on each line.")
        if block.is_unlabelled.any():
            row = int(block.is_unlabelled.argmax())
            raise _at(
                lines[row][0],
                f"the event has no label, which should be under {self.spec.label!r}. Ask /predict for it.",
            )
        tags = block.tag or [""] * len(block)
        stored = [
            self._stored(tag, place, line) if tag else None for tag, (place, line) in zip(tags, lines, strict=True)
        ]
        self._require_distinct(tags, lines)
        fresh = [each for each, old in zip(lines, stored, strict=True) if old is None]
        told = self._learn_fresh(fresh) if fresh else []
        with self.lock:
            for each, (_, line) in zip(told, fresh, strict=True):
                if "id" in each:
                    kept = Kept(digest_of(b"learn", line.strip()), entry.clock, Answer(200, msgspec.json.encode(each)))
                    self.answers.keep(f"l:{each['id']}", kept)
        new = iter(told)
        return [next(new) if old is None else msgspec.json.decode(old) for old in stored]

    def _learn_fresh(self, lines: Lines) -> list[Told]:
        model = self.model
        block = self._read(lines)
        if model is None:
            self._collect(lines)
            return [{"prediction": None, **({"id": tag} if tag else {})} for tag in block.tag or [""] * len(block)]
        try:
            return self._learned(model, block)
        except ValueError as error:
            model.forget_refused()
            raise _located(error, lines) from error

    def _read(self, lines: Lines) -> Block:
        names = None if self.model is None else self.model.vocabulary
        try:
            return self.reader.read(b"\n".join(line for _, line in lines) + b"\n", names)
        except ValueError as error:
            raise _located(error, lines) from error

    def _stored(self, id: str, place: int, line: bytes) -> bytes | None:  # noqa: A002
        """The stored answer of an event that is known. Problem if it was another event."""
        if id in self.pending:
            raise _at(place, f"the event {id!r} waits for its label. Send that to /label.")
        kept = self.answers.get(f"l:{id}")
        if kept is None:
            return None
        if kept.digest != digest_of(b"learn", line.strip()):
            raise _at(place, f"another event with the id {id!r} was learned already.", kind="key-reused")
        return kept.answer.body

    @staticmethod
    def _require_distinct(tags: Sequence[str], lines: Lines) -> None:
        seen: set[str] = set()
        for tag, (place, _) in zip(tags, lines, strict=True):
            if tag and tag in seen:
                raise _at(place, f"the id {tag!r} is there twice.")
            seen.add(tag)

    # Beginning

    def _collect(self, lines: Lines) -> None:
        """Collect first events; begin, if there are enough. Problem, with nothing collected, if one of them cannot be learned."""
        new = [line for _, line in lines]
        while len(self.first) + len(new) >= self.spec.needed:
            collected = [*self.first, *new]
            try:
                model, reader, block = self._made(collected)
            except ValueError as error:
                if len(collected) > MOST_COLLECTED:
                    raise of_event(error) from error
                self.why = of_event(error).detail
                break
            raw: list[Any] = []
            try:
                model.learn(block, told=raw.append)
            except ValueError as error:
                faulty = (getattr(error, "line", None) or 1) - 1
                if faulty >= len(self.first):
                    raise _located(error, lines, faulty - len(self.first)) from error
                del self.first[faulty]  # of an earlier request: what is wrong with it could not be known then
                self.refused += 1
                continue
            self._calibrate(pinned(model), block, raw[0])
            self._begin(model, reader)
            return
        self.first = [*self.first, *new]

    def _made(self, collected: list[bytes]) -> tuple[StreamModel, JsonReader, Block]:
        """A model for the first events, and these, to be learned. ValueError if they do not suffice."""
        sample = b"\n".join(collected) + b"\n"
        reader = JsonReader(schema := schema_of(sample, self.spec.features(), self.spec.roles()))
        model = StreamModel.begin(self.spec.model_options(), schema, reader.read(sample, None))
        block = reader.read(sample, model.vocabulary)
        number(block, model.vocabulary, grow=True)
        return model, reader, block

    def _begin(self, model: StreamModel, reader: JsonReader) -> None:
        """Go on with a model that has learned the first events. Those that wait for their labels are asked about now."""
        for id, event in list(self.pending.items()):  # noqa: A001
            asked = reader.read(event.line + b"\n", model.vocabulary)
            number(asked, model.vocabulary, grow=False)
            kept = Waiting.of(event.clock, event.line, event.digest, event.prediction, model.ask(asked))
            self.pending.replace(id, kept)
        self.model, self.reader, self.first, self.why = model, reader, [], ""

    # Labels that come later

    def _label(self, entry: Entry) -> Answer:
        lines = [(place, line) for place, line in enumerate(entry.lines, 1) if line.strip()]
        if not lines:
            raise no_events()
        return self._each_or_all(self._label_lines, entry, lines)

    def _label_lines(self, entry: Entry, lines: Lines) -> list[Told]:
        labels = [LabelLine.of(line, place, self.spec) for place, line in lines]
        self._require_distinct([each.id for each in labels], lines)
        stored = [self._stored_label(each, place) for each, (place, _) in zip(labels, lines, strict=True)]
        fresh = [(each, place) for each, old, (place, _) in zip(labels, stored, lines, strict=True) if old is None]
        found = self._label_fresh(entry, fresh) if fresh else []
        new = iter(found)
        return [next(new) if old is None else msgspec.json.decode(old) for old in stored]

    def _stored_label(self, label: LabelLine, place: int) -> bytes | None:
        if label.id in self.pending:
            return None
        kept = self.answers.get(f"l:{label.id}")
        if kept is None:
            raise _at(
                place,
                f"no event waits for its label under the id {label.id!r}: it was never predicted, it expired, or too many were waiting.",
                kind="no-pending-event",
            )
        if kept.digest != label.digest:
            raise _at(place, f"the id {label.id!r} was learned already, with another label.", kind="key-reused")
        return kept.answer.body

    def _label_fresh(self, entry: Entry, labels: list[tuple[LabelLine, int]]) -> list[Told]:
        waiting = [event for each, _ in labels if (event := self.pending.get(each.id)) is not None]
        lines = [(place, spliced(event.line, each)) for event, (each, place) in zip(waiting, labels, strict=True)]
        block, model = self._read(lines), self.model
        if block.is_unlabelled.any():
            row = int(block.is_unlabelled.argmax())
            raise _at(lines[row][0], f"there is no label under {self.spec.label!r}.")
        if model is None:
            self._collect(lines)
        else:
            asked = [said for each in waiting if (said := each.asked) is not None]
            try:
                model.require_learnable(block)
                number(block, model.vocabulary, grow=True)
                raw: list[Any] = []
                model.learn_late(block, asked if len(asked) == len(waiting) else None, raw.append)
                self._calibrate(pinned(model), block, raw[0])
            except ValueError as error:
                model.forget_refused()
                raise _located(error, lines) from error
        found: list[Told] = []
        with self.lock:
            for event, (each, _) in zip(waiting, labels, strict=True):
                delay = max(entry.clock - event.clock, 0.0)
                self.pending.remove(each.id)
                self.delays.append(delay)
                self.labelled += 1
                told = {**msgspec.json.decode(event.prediction), "delay": delay}
                kept = Kept(each.digest, entry.clock, Answer(200, msgspec.json.encode(told)))
                self.answers.keep(f"l:{each.id}", kept)
                found.append(told)
        return found

    # Predictions that wait for labels

    def _predict(self, entry: Entry) -> Answer:
        lines = [(place, line) for place, line in enumerate(entry.lines, 1) if line.strip()]
        if not lines:
            raise no_events()
        block = self._read(lines)
        if len(block) != len(lines):
            raise Problem("invalid-event", "an event is an object in braces, one on each line.")
        tags = block.tag or [""] * len(block)
        self._require_distinct(tags, lines)
        for tag, (place, line) in zip(tags, lines, strict=True):
            event = self.pending.get(tag)
            if event is not None and event.digest != digest_of(line.strip()):
                raise _at(place, f"another event waits under the id {tag!r}.", kind="key-reused")
            if tag and event is None and self.answers.get(f"l:{tag}") is not None:
                raise _at(place, f"the event {tag!r} was learned already.", kind="key-reused")
        try:
            told = self.predicted(block, entry.asking)
        except ValueError as error:
            raise _located(error, lines) from error
        return _listed(entry.asking, self._await_labels(entry, block, tags, lines, told))

    def _await_labels(
        self,
        entry: Entry,
        block: Block,
        tags: Sequence[str],
        lines: Lines,
        told: list[Told],
    ) -> list[Told]:
        asked = None if self.model is None else self.model.ask(block)
        found = []
        with self.lock:
            for row, (tag, (_, line), each) in enumerate(zip(tags, lines, told, strict=True)):
                event = self.pending.get(tag) if tag else None
                found.append(each if event is None else msgspec.json.decode(event.prediction))
                if tag and event is None:
                    said = None if asked is None else asked[row : row + 1]
                    text = msgspec.json.encode(each)
                    self.pending.keep(tag, Waiting.of(entry.clock, line.strip(), digest_of(line.strip()), text, said))
        return found

    def predicted(self, block: Block, asking: Asking) -> list[Told]:
        """The predictions for events; nothing changes. ValueError if there can be none."""
        model = self.model
        tags = block.tag
        if model is None:
            return [{"prediction": None, **({"id": tag} if tag else {})} for tag in tags or [""] * len(block)]
        view = pinned(model)
        number(block, view.vocabulary, grow=False)
        answer = "steady" if view.options.auto is None else asking.answer
        raw = view.predict_raw(block, answer=answer)
        return predictions.objects(view, raw, tags, coverage=asking.coverage, answer=asking.answer)  # type: ignore[arg-type]


def no_events() -> Problem:
    """The problem of a request without events."""
    return Problem("bad-request", "the request holds no events.")


def _at(place: int, detail: str, *, kind: str = "invalid-event") -> Problem:
    return Problem(kind, f"line {place}: {detail}", line=place)


def _located(error: ValueError, lines: Lines, place: int | None = None) -> Problem:
    """The problem with one of these lines of a request: the one that the error names, or that at `place`."""
    line = getattr(error, "line", None)
    at = place if place is not None or line is None else line - 1
    before = 0 if line is None or at is None or not 0 <= at < len(lines) else lines[at][0] - line
    return of_event(error, lines_before=before)


def _listed(asking: Asking, told: Sequence[Told]) -> Answer:
    """The answer to a request, from the objects of its events."""
    if not asking.predictions:
        errors = [each["error"] for each in told if "error" in each]
        counted = {"learned": len(told) - len(errors), **({"errors": errors} if asking.partial else {})}
        return Answer(200, msgspec.json.encode(counted))
    if asking.single:
        return Answer(200, msgspec.json.encode(told[0]))
    return Answer(200, msgspec.json.Encoder().encode_lines(told), NDJSON)
