"""Learning the events of requests: all together where that gives the same, else each request for itself; and the beginning of a model."""

import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias

import msgspec

from odca.models.turns import pinned
from odca.serve import predictions
from odca.serve.calibration import CalibrationTable
from odca.serve.entries import PROBLEM, Asking, Entry, Lines, Told, at_line, listed, located, no_events, not_an_object
from odca.serve.followed import Progress
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
        self.followed = dict[str, Progress]()
        """The topics that it follows, or has followed."""
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
        model.require_learnable(block)
        raw = learned_block(model, block)
        view = pinned(model)
        self._calibrate(view, block, raw)
        return predictions.objects(view, raw, block.tag)

    def _calibrate(self, model: StreamModel, block: Block, raw: Any) -> None:
        """See how often predictions came true."""
        for seen in _calibrations(model, block, raw):
            with self.lock:
                self.calibration.add(*seen)

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
        return listed(entry.asking, self._sound_ones(learn, entry, lines))

    def _sound_ones(self, learn: LearnLines, entry: Entry, lines: Lines) -> list[Told]:
        """Learn lines together; if one of them is refused and the others are wanted, each half for itself."""
        try:
            return learn(entry, lines)
        except Problem as problem:
            if not entry.asking.partial:
                raise
            if len(lines) == 1:
                self.refused += 1
                return [{"error": problem.as_object()}]
        half = len(lines) // 2
        return [*self._sound_ones(learn, entry, lines[:half]), *self._sound_ones(learn, entry, lines[half:])]

    def _learn_lines(self, entry: Entry, lines: Lines) -> list[Told]:
        """Learn lines, all or none; return the object of each."""
        block = self._read(lines)
        if len(block) != len(lines):
            raise not_an_object(lines)
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
        told = self._learn_fresh(fresh, block if len(fresh) == len(lines) else self._read(fresh)) if fresh else []
        with self.lock:
            for each, (_, line) in zip(told, fresh, strict=True):
                if "id" in each:
                    kept = Kept(digest_of(b"learn", line.strip()), entry.clock, Answer(200, msgspec.json.encode(each)))
                    self.answers.keep(f"l:{each['id']}", kept)
        new = iter(told)
        return [next(new) if old is None else msgspec.json.decode(old) for old in stored]

    def _learn_fresh(self, lines: Lines, block: Block) -> list[Told]:
        model = self.model
        if model is None:
            return self._collect(lines, block.tag or [""] * len(block))
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

    def _collect(self, lines: Lines, tags: Sequence[str]) -> list[Told]:
        """Collect first events until there are enough; then begin, and learn the others. Problem, with nothing changed, if one is refused.

        Whether the collected events suffice is tried at certain numbers of them, and not where a request ends: so the model does not
        depend on how its first events were divided into requests.
        """
        first, refused, why = list(self.first), 0, self.why
        for place, (_, line) in enumerate(lines):
            first.append(line)
            while self._is_time_to_begin(len(first)):
                try:
                    beginning = self._made(first)
                except ValueError as error:
                    if len(first) > MOST_COLLECTED:
                        raise of_event(error) from error
                    why = of_event(error).detail
                    break
                try:
                    raw = learned_block(beginning.model, beginning.block)
                except ValueError as error:
                    faulty = (getattr(error, "line", None) or 1) - 1
                    if (own := faulty - (len(first) - place - 1)) >= 0:
                        raise located(error, lines, own) from error
                    del first[faulty]  # of an earlier request: what is wrong with it could not be known then
                    refused += 1
                    continue
                told = self._begin(beginning, raw, lines[place + 1 :])
                self.refused += refused
                return [*_unpredicted(tags[: place + 1]), *told]
        self.first, self.why = first, why
        self.refused += refused
        return _unpredicted(tags)

    def _is_time_to_begin(self, collected: int) -> bool:
        every = 1 << max(0, collected.bit_length() - 6)
        return collected == self.spec.needed or (collected > self.spec.needed and collected % every == 0)

    def _made(self, collected: list[bytes]) -> "_Beginning":
        """A model for the first events, and these, to be learned. ValueError if they do not suffice."""
        sample = b"\n".join(collected) + b"\n"
        reader = JsonReader(schema := schema_of(sample, self.spec.features(), self.spec.roles()))
        model = StreamModel.begin(self.spec.model_options(), schema, reader.read(sample, None))
        return _Beginning(model, reader, reader.read(sample, model.vocabulary))

    def _begin(self, beginning: "_Beginning", raw: Any, rest: Lines) -> list[Told]:
        """Go on with a model that has learned the first events, and then the rest; return the objects of these.

        Events that wait for their labels are asked about before the rest. Problem, with nothing changed, if one of the rest is refused.
        """
        model, reader, block = beginning
        waiting = {}
        for id, event in self.pending.items():  # noqa: A001
            asked = reader.read(event.line + b"\n", model.vocabulary, days=model.schema.dates)
            number(asked, model.vocabulary, grow=False)
            waiting[id] = Waiting.of(event.clock, event.line, event.digest, event.prediction, model.ask(asked))
        calibrations = _calibrations(pinned(model), block, raw)
        told: list[Told] = []
        if rest:
            try:
                more = reader.read(b"\n".join(line for _, line in rest) + b"\n", model.vocabulary)
                model.require_learnable(more)
                raw = learned_block(model, more)
            except ValueError as error:
                raise located(error, rest) from error
            view = pinned(model)
            told = predictions.objects(view, raw, more.tag)
            calibrations += _calibrations(view, more, raw)
        for seen in calibrations:
            with self.lock:
                self.calibration.add(*seen)
        for id, event in waiting.items():  # noqa: A001
            self.pending.replace(id, event)
        self.model, self.reader, self.first, self.why = model, reader, [], ""
        return told

    def _keep_by_key(self, entry: Entry, answer: Answer) -> None:
        if entry.key is not None:
            with self.lock:
                self.answers.keep(f"k:{entry.key}", Kept(entry.digest, entry.clock, answer, entry.position))

    def read_to_predict(self, lines: bytes) -> Block:
        """The events of lines that are predicted, not learned: their trends are held within the learned days. ValueError for a bad line."""
        model = self.model
        if model is None:
            return self.reader.read(lines, None)
        return self.reader.read(lines, model.vocabulary, days=model.schema.dates)

    def predicted(self, block: Block, asking: Asking) -> list[Told]:
        """The predictions for events; nothing changes. ValueError if there can be none."""
        model = self.model
        tags = block.tag
        if model is None:
            return _unpredicted(tags or [""] * len(block))
        view = pinned(model)
        number(block, view.vocabulary, grow=False)
        answer = "steady" if view.options.auto is None else asking.answer
        raw = view.predict_raw(block, answer=answer)
        return predictions.objects(view, raw, tags, coverage=asking.coverage, answer=asking.answer)  # type: ignore[arg-type]


class _Beginning(NamedTuple):
    """A model that has learned nothing yet, and its first events."""

    model: StreamModel
    reader: JsonReader
    block: Block


def _calibrations(model: StreamModel, block: Block, raw: Any) -> list[tuple[Any, ...]]:
    """What a table of calibrations is to know about events: none, unless they have classes."""
    if not model.classes_read:
        return []
    return [(model.shown(raw, "probabilities"), model.codes_of(block)[0], block.weight)]


def learned_block(model: StreamModel, block: Block) -> Any:
    """Learn a block; return the raw predictions from before."""
    raw: list[Any] = []
    number(block, model.vocabulary, grow=True)
    model.learn(block, told=raw.append)
    return raw[0]


def _unpredicted(tags: Sequence[str]) -> list[Told]:
    """What is told about events that are collected."""
    return [{"prediction": None, **({"id": tag} if tag else {})} for tag in tags]
