"""Learning the events of requests: all together where that gives the same, else each request for itself; and the beginning of a model."""

import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import msgspec

from odca.models.turns import pinned
from odca.serve import predictions
from odca.serve.calibration import CalibrationTable
from odca.serve.entries import PROBLEM, Asking, Entry, Lines, Told, at_line, listed, located, no_events
from odca.serve.history import History
from odca.serve.problems import Problem, of_event
from odca.serve.remembered import Answer, Answers, Kept, Pending, Waiting, digest_of
from odca.serve.spec import Spec
from odca.stream.model import StreamModel
from odca.stream.read.blocks import Block
from odca.stream.read.json_events import JsonReader, number, schema_of

MOST_DELAYS = 100
MOST_COLLECTED = 10_000
LearnLines: TypeAlias = Callable[[Entry, Lines], list[Told]]


class Learning:
    """A model, the events that wait, the answers that are kept, the history; and how events are learned."""

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
        answer = listed(entry.asking, told)
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
            return listed(entry.asking, learn(entry, lines))
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
        return listed(entry.asking, found)

    def _learn_lines(self, entry: Entry, lines: Lines) -> list[Told]:
        """Learn lines, all or none; return the object of each."""
        block = self._read(lines)
        if len(block) != len(lines):
            raise Problem("invalid-event", "an event is an object in braces, one on each line.")
        if block.is_unlabelled.any():
            row = int(block.is_unlabelled.argmax())
            raise at_line(
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
            raise located(error, lines) from error

    def _read(self, lines: Lines) -> Block:
        names = None if self.model is None else self.model.vocabulary
        try:
            return self.reader.read(b"\n".join(line for _, line in lines) + b"\n", names)
        except ValueError as error:
            raise located(error, lines) from error

    def _stored(self, id: str, place: int, line: bytes) -> bytes | None:  # noqa: A002
        """The stored answer of an event that is known. Problem if it was another event."""
        if id in self.pending:
            raise at_line(place, f"the event {id!r} waits for its label. Send that to /label.")
        kept = self.answers.get(f"l:{id}")
        if kept is None:
            return None
        if kept.digest != digest_of(b"learn", line.strip()):
            raise at_line(place, f"another event with the id {id!r} was learned already.", kind="key-reused")
        return kept.answer.body

    @staticmethod
    def _require_distinct(tags: Sequence[str], lines: Lines) -> None:
        seen: set[str] = set()
        for tag, (place, _) in zip(tags, lines, strict=True):
            if tag and tag in seen:
                raise at_line(place, f"the id {tag!r} is there twice.")
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
                    raise located(error, lines, faulty - len(self.first)) from error
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

    def _keep_by_key(self, entry: Entry, answer: Answer) -> None:
        if entry.key is not None:
            with self.lock:
                self.answers.keep(f"k:{entry.key}", Kept(entry.digest, entry.clock, answer))

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
