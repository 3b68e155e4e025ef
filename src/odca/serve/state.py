"""A model with everything that requests change. The state is a function of the log: applying the same entries gives the same bits.

An entry is a request, its position and the clock of the moment it was logged. Whatever is decided here depends on the entries alone:
what expires, what is refused, when a point of the history is made. So recovery is a snapshot and a replay.

Consecutive requests to learn are learned together, because any split of a stream gives the same model. If one of them is refused, each is
learned for itself.
"""

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

import msgspec

from odca.models.auto import AutoLearner
from odca.models.turns import pinned
from odca.serve.entries import PROBLEM, Entry, Lines, Told, at_line, listed, located, no_events, not_an_object
from odca.serve.followed import Followed, Progress
from odca.serve.history import Point
from odca.serve.labels import LabelLine, spliced
from odca.serve.learning import Learning
from odca.serve.problems import Problem
from odca.serve.remembered import Answer, Kept, Waiting, digest_of
from odca.serve.weights import largest_weights
from odca.stream.read.blocks import Block
from odca.stream.read.json_events import number

MOST_TOGETHER = 4 << 20
"""Bytes of requests that are learned together."""


class State(Learning):
    """A model with everything that requests change."""

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
            if entry.asking.followed is not None and not entry.body:
                answer = listed(entry.asking, [])
            elif entry.kind == "learn":
                answer = self._learn(entry)
            elif entry.kind == "label":
                answer = self._label(entry)
            else:
                answer = self._predict(entry)
        except Problem as problem:
            self.refused += 1
            answer = Answer(problem.status, problem.encoded(), PROBLEM)
        self._keep_by_key(entry, answer)
        if entry.asking.followed is not None:
            self._note_progress(entry, entry.asking.followed, answer)
        return answer

    def _note_progress(self, entry: Entry, followed: Followed, answer: Answer) -> None:
        found = followed.located(msgspec.json.decode(answer.body)["errors"])
        with self.lock:
            self.followed.setdefault(followed.source, Progress()).add(followed, found, entry.clock)

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
            raise at_line(
                place,
                f"no event waits for its label under the id {label.id!r}: it was never predicted, it expired, or too many were waiting.",
                kind="no-pending-event",
            )
        if kept.digest != label.digest:
            raise at_line(place, f"the id {label.id!r} was learned already, with another label.", kind="key-reused")
        return kept.answer.body

    def _label_fresh(self, entry: Entry, labels: list[tuple[LabelLine, int]]) -> list[Told]:
        waiting = [event for each, _ in labels if (event := self.pending.get(each.id)) is not None]
        lines = [(place, spliced(event.line, each)) for event, (each, place) in zip(waiting, labels, strict=True)]
        block, model = self._read(lines), self.model
        if block.is_unlabelled.any():
            row = int(block.is_unlabelled.argmax())
            raise at_line(lines[row][0], f"there is no label under {self.spec.label!r}.")
        if model is None:
            self._collect(lines, block.tag or [""] * len(block))
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
                raise located(error, lines) from error
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
        return self._each_or_all(self._predict_lines, entry, lines)

    def _predict_lines(self, entry: Entry, lines: Lines) -> list[Told]:
        try:
            block = self.read_to_predict(b"\n".join(line for _, line in lines) + b"\n")
        except ValueError as error:
            raise located(error, lines) from error
        if len(block) != len(lines):
            raise not_an_object(lines)
        tags = block.tag or [""] * len(block)
        if entry.asking.followed is not None and "" in tags:
            raise at_line(
                lines[tags.index("")][0], f"the event has no id under {self.spec.id!r}, so no label can come."
            )
        self._require_distinct(tags, lines)
        for tag, (place, line) in zip(tags, lines, strict=True):
            event = self.pending.get(tag)
            if event is not None and event.digest != digest_of(line.strip()):
                raise at_line(place, f"another event waits under the id {tag!r}.", kind="key-reused")
            if tag and event is None and self.answers.get(f"l:{tag}") is not None:
                raise at_line(place, f"the event {tag!r} was learned already.", kind="key-reused")
        try:
            told = self.predicted(block, entry.asking)
        except ValueError as error:
            raise located(error, lines) from error
        return self._await_labels(entry, block, tags, lines, told)

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
