"""A model that learns from blocks of events: with the schema of their data, the names of features, and the labels."""

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Literal, Self, TypeAlias, get_args

import numpy as np
import numpy.typing as npt

from odca import _core
from odca.errors import InputError
from odca.io.container import vector
from odca.io.model_file import ModelFile, from_bytes, rebuild, to_chunks
from odca.learner import Learner
from odca.lineage import MOST_PARTS
from odca.losses import LOSSES, as_native
from odca.metrics import ClassMetrics, Codes, ColumnChange, Drift, NumberMetrics, ProgressRow
from odca.models.auto import Asked, AutoLearner
from odca.models.calibration import Calibration, Softmax
from odca.models.classifier import Classifier, RawPredictions
from odca.models.experts import ExpertClassifier
from odca.models.linear import LinearClassifier
from odca.models.named_events import with_prefix, without_prefix
from odca.models.options import Answer, Label, ModelOptions
from odca.models.regressor import Regressor
from odca.models.turns import TakesTurns, in_turn, turn_of, turns_of
from odca.stream import first_events, inner_model, merging
from odca.stream.class_codes import ClassCodes
from odca.stream.event_faults import fault_of, faulty_events
from odca.stream.given_labels import UserLabel, as_given, label_array
from odca.stream.past import for_now, numbers_of_classes, require_two_classes, with_past
from odca.stream.read.blocks import Block
from odca.stream.read.refused_events import EventError, without_refused
from odca.stream.read.schema import Schema
from odca.stream.read.stream import MOST_SAMPLES, BadLines
from odca.validation.arrays import Array
from odca.validation.numbers import whole

WITH_COLUMNS = ("csv", "jsonl", "arrow", "parquet")
"""Formats whose events have fields with values, which can be watched."""
Labels: TypeAlias = npt.NDArray[Any]
"""Numbers (float64), or the codes of classes (int32): their positions in `classes`."""
Wanted: TypeAlias = Literal["label", "probabilities", "margins"]
Told: TypeAlias = Callable[[Any], None]
"""Called with raw predictions: RawPredictions of classes, or an array of margins."""


class BlockModel(TakesTurns):
    """Learns from blocks of events and predicts them. Its file holds everything that is needed to read further data."""

    kind = "StreamModel"

    def __init__(self, options: ModelOptions, schema: Schema, model: Classifier | Regressor) -> None:
        self.options, self.schema, self.model = options, schema, model
        self.vocabulary = schema.new_vocabulary()
        self.n_names = 0 if self.vocabulary is None else len(self.vocabulary)
        """The number of names in the events learned so far. The vocabulary may hold more: it is a few blocks ahead."""
        self.unlabelled = 0
        """The number of events without a label, which were not learned."""
        self.frozen_after = 0
        """Of a frozen model: how many events the automatic model had learned that it was made of."""
        self.past = _core.History(schema.native_features()) if schema.features.need_the_past else None
        """The history of the events learned so far, and the counts of tf-idf; see docs/history.md and docs/text.md."""
        is_watched = options.auto is not None and schema.has_names and schema.format in WITH_COLUMNS
        self.columns = _core.ColumnWatch() if is_watched else None
        """Which columns have changed; None if that is not watched."""
        self._codes = ClassCodes(self.classes_read, schema.labels)
        self._loss = as_native(options.loss)

    @classmethod
    def begin(cls, options: ModelOptions, schema: Schema, sample: Block) -> Self:
        """An untrained model for events like those of the sample."""
        resolved = first_events.resolved(options, schema, sample)
        return cls(resolved, schema, inner_model.begun(resolved))

    @property
    def task(self) -> str:
        """Whether it predicts "classes" or "numbers"."""
        return "classes" if isinstance(self.model, Classifier) else "numbers"

    @property
    def classes(self) -> tuple[UserLabel, ...]:
        """The classes, in order, as the user's data have them: texts, numbers, True and False; none if labels are numbers."""
        return as_given(self.classes_read, self.schema.labels)

    @property
    def classes_read(self) -> tuple[Label, ...]:
        """The classes as they are read: texts and floats."""
        return self.model.classes if isinstance(self.model, Classifier) else ()

    @property
    def learner(self) -> Learner | AutoLearner:
        """The learner inside the model."""
        learner: Learner | AutoLearner = self.model.learner
        return learner

    @property
    def calibration(self) -> Calibration | Softmax | None:
        """What turns margins into probabilities, if they are not log-odds."""
        return self.model.calibration if isinstance(self.model, LinearClassifier) else None

    @property
    def metrics(self) -> ClassMetrics | NumberMetrics:
        """How well it predicted each event before learning from it."""
        return self.model.metrics

    @metrics.setter
    def metrics(self, metrics: Any) -> None:
        self.model.metrics = metrics

    @property
    def drift(self) -> Drift:
        """What has changed in the stream: when the loss rose, which columns changed, and how much. See docs/drift.md."""
        if self.columns is None:
            return self.metrics.drift
        changes = tuple(ColumnChange(*each) for each in self.columns.changes)
        return replace(self.metrics.drift, columns=changes, column_count=self.columns.count)

    def freeze(self) -> Self:
        """The steady answer of an automatic model as one linear model, whose file is small. See `AutoLearner.freeze`."""
        with turn_of(self):
            return self._frozen()

    def _frozen(self) -> Self:
        model = inner_model.frozen(self.model)
        options = {name: model.learner.options[name] for name in inner_model.OPTIONS_OF_LEARNER}
        frozen = type(self)(replace(self.options, auto=None, classes=self.classes_read, **options), self.schema, model)
        if frozen.vocabulary is not None:
            frozen.vocabulary.restore(*merging.packed(self.names))
            frozen.n_names = self.n_names
        frozen.past = None if self.past is None else self.past.copy()
        frozen.frozen_after = self.learner.count
        return frozen

    # Learning

    @in_turn
    def learn_block(
        self, block: Block, told: Told | None = None, asked: Sequence[Asked] | None = None
    ) -> list[ProgressRow]:
        """Learn from the events of a block, all or none; return the rows of the progress table that are due. See `StreamModel.learn`.

        asked: of events whose labels came later, what `ask` returned for them, in parts.
        """
        block.drop_unlabelled()
        self.require_learnable(block)
        try:
            with self.with_past(block, self.past, learning=True) as features:
                rows = self._learn_rows(block, features, told, asked)
        except ValueError as error:
            raise self._located(error, block) from error
        self.schema = replace(self.schema, dates=self.schema.dates.with_learned(block.rows))
        self.unlabelled += block.dropped_unlabelled
        if self.columns is not None and self.vocabulary is not None:
            self.columns.add(block.rows, self.vocabulary)
        if self.vocabulary is not None:
            self.n_names = max(self.n_names, block.rows.width)  # blocks may be learned in any order
        return rows

    def _learn_rows(
        self, block: Block, features: _core.TextBlock, told: Told | None, asked: Sequence[Asked] | None
    ) -> list[ProgressRow]:
        how: dict[str, Any] = {
            "sample_weight": block.weight,
            "offset": block.offset,
            "time": block.time if self.options.uses_time else None,
            "features": features.lengths(),
            "told": told,
            "asked": asked,
        }
        if isinstance(self.model, Regressor):
            return self.model.learn(features, block.rows.label[:, None], **how)
        return self.model.learn(features, *self._codes_and_classes(block), **how)

    def with_past(
        self, block: Block, past: _core.History | None, *, enters: bool = True, learning: bool = False
    ) -> contextlib.AbstractContextManager[_core.TextBlock]:
        """The features of a block with their history, which the events enter."""
        if past is None:
            return contextlib.nullcontext(block.rows)
        labels = block.rows.label
        if past.has_label and self.task == "classes" and block.rows.label_names:
            if learning:
                require_two_classes(block, self.codes_of(block)[0], len(self.classes))
            labels = numbers_of_classes(block, self.codes_of(block)[0])
        return with_past(block, past, labels, lambda: self.learner.count) if enters else for_now(block, past, labels)

    def past_for_predictions(self) -> _core.History | None:
        """A copy of the history, for predictions of several blocks that follow each other: pass it to `predict` with each."""
        return None if self.past is None else self.past.for_predictions()

    def _after_an_interruption(self, before: Any, twin: Any) -> None:
        """Keep the names of the events that were learned; the vocabulary has them all."""
        del before, twin
        if self.vocabulary is not None:
            self.n_names = max(self.n_names, self.learner.n_features)

    def learn_late(self, block: Block, asked: Sequence[Asked] | None, told: Told | None = None) -> list[ProgressRow]:
        """Learn from a block whose labels came later. asked: what `ask` returned for its events, in parts; None of a linear model."""
        return self.learn_block(block, told, asked)

    def ask(self, block: Block) -> Asked | None:
        """What `learn_late` needs when the labels of these events come. None of a linear model, which needs nothing."""
        learner = self.learner
        if not isinstance(learner, AutoLearner):
            return None
        with self.with_past(block, self.past, enters=False) as features:
            return learner.ask(features)

    def forget_refused(self) -> None:
        """Forget names that only events have brought that were refused, so that later ones are numbered as if those had not come."""
        with turn_of(self):
            if self.vocabulary is not None:
                self.vocabulary.cut(self.n_names)

    def score(
        self, metrics: ClassMetrics | NumberMetrics, block: Block, predictions: "RawPredictions | Array", labels: Labels
    ) -> list[ProgressRow]:
        """Evaluate predictions for a block that was not learned; return the rows of the progress table that are due among them.

        The labels are numbers, or codes of classes; a code beyond `classes` is a class that the model does not know.
        """
        how: dict[str, Any] = {"sample_weight": block.weight, "features": block.rows.lengths()}
        if isinstance(self.model, Classifier):
            return self.model.score(metrics, predictions, labels, **how)  # type: ignore[arg-type] # metrics and predictions of classes
        return self.model.score(metrics, predictions[:, 0], labels, **how)  # type: ignore[arg-type,index] # of numbers

    def new_metrics(self) -> ClassMetrics | NumberMetrics:
        """Metrics for its predictions, with no events yet."""
        return ClassMetrics() if isinstance(self.model, Classifier) else self.model.new_metrics()

    def baselines(self, metrics: ClassMetrics | NumberMetrics) -> dict[str, dict[str, float]]:
        """The scores of baselines, which use no features, on the same events."""
        return metrics.baselines(self._loss_of) if isinstance(metrics, ClassMetrics) else metrics.baselines()

    def _loss_of(self, margins: npt.ArrayLike, labels: npt.ArrayLike) -> Array:
        z, y = np.broadcast_arrays(np.asarray(margins, np.float64), np.asarray(labels, np.float64))
        return np.asarray(self._loss.value(np.ravel(z), np.ravel(y))).reshape(z.shape)

    def learn_skipping_faulty(self, block: Block, bad: BadLines, *, told: Told | None = None) -> list[ProgressRow]:
        """Like `learn`, but events that cannot be learned are counted as bad and removed from the block."""
        self.drop_faulty(block, bad)
        return without_refused(partial(self.learn_block, told=told), block, bad)

    def is_new(self, block: Block) -> npt.NDArray[np.bool_]:
        """Which events of a block have no label, or one of a class that is not known yet."""
        return block.is_unlabelled if self.task == "numbers" else self.codes_of(block)[0] < 0

    def require_learnable(self, block: Block, *, learning: bool = True) -> None:
        """EventError for the first event that cannot be learned or, if not `learning`, cannot be evaluated."""
        faulty = self._faulty(block, learning)
        if faulty.any():
            row = int(np.argmax(faulty))
            raise fault_of(block, row, self.options, self.classes_read)

    def drop_faulty(self, block: Block, bad: BadLines, *, learning: bool = True) -> None:
        """Remove such events from the block, and count them as bad."""
        faulty = self._faulty(block, learning)
        if faulty.any():
            first = np.flatnonzero(faulty)[:MOST_SAMPLES].tolist()
            bad.add(int(faulty.sum()), [fault_of(block, row, self.options, self.classes_read) for row in first])
            block.drop(faulty)

    def _faulty(self, block: Block, learning: bool) -> npt.NDArray[np.bool_]:
        codes = None if self.task == "numbers" else self.codes_of(block)
        return faulty_events(block, self.options, self._loss, codes, learning=learning, has_room=self._has_room)

    @staticmethod
    def _located(error: ValueError, block: Block, message: str = "") -> ValueError:
        """The same error with the file and line of its event, if it is about one."""
        if isinstance(error, EventError) or not isinstance(error, InputError) or error.row is None:
            return error
        return EventError(message or error.event_message, block, error.row)

    @property
    def _has_room(self) -> bool:
        """Whether new classes may appear. Two classes of a linear model share a lane, so a third cannot be added."""
        return len(self.classes) > 2 or isinstance(self.model, ExpertClassifier)

    def _codes_and_classes(self, block: Block) -> tuple[Codes, list[Label] | None]:
        """The codes of a block's labels, and all classes if some are new."""
        codes, unknown = self.codes_of(block)
        if not unknown:
            return codes, None
        classes = [*self.classes_read, *dict.fromkeys(block.y[codes < 0].tolist())]
        return ClassCodes(classes, self.schema.labels).of(block)[0], classes

    def codes_of(self, block: Block) -> tuple[Codes, int]:
        """The code of every label, -1 if its class is new or missing; and the number of these."""
        codes, classes = self._codes, self.classes_read
        if codes.classes != classes:
            codes = self._codes = ClassCodes(classes, self.schema.labels)
        return codes.of(block)

    # Predicting

    def predict_raw(
        self, block: Block, *, answer: Answer = "steady", past: _core.History | None = None
    ) -> "RawPredictions | Array":
        """The raw predictions for the events of a block. EventError if one of the margins is not finite. `past`: see `predict`."""
        try:
            known = self.past if past is None else past
            with self.with_past(block, known, enters=past is not None) as features:
                if isinstance(self.model, Classifier):
                    return self.model.predict_raw(features, offset=block.offset, answer=answer)
                return self.model.margins(features, offset=block.offset, answer=answer)
        except ValueError as error:
            raise self._located(error, block, "the prediction is not finite. Look for huge values.") from error

    @property
    def answer_while_learning(self) -> Answer:
        """The answer for events that follow those learned last: a linear model has only one."""
        return "steady" if self.options.auto is None else "live"

    def shown(self, predictions: "RawPredictions | Array", wanted: Wanted) -> npt.NDArray[Any]:
        """The wanted form of raw predictions; see `predict`."""
        if wanted not in get_args(Wanted):
            raise ValueError(f"wanted must be one of {', '.join(get_args(Wanted))}; got {wanted!r}.")
        if wanted == "label":
            codes = self.predicted(predictions)
            return label_array(self.classes)[codes] if self.classes else codes
        if isinstance(self.model, Regressor):
            if wanted == "probabilities":
                raise ValueError("a model that predicts numbers has no probabilities.")
            return np.asarray(predictions)[:, 0]
        assert isinstance(predictions, RawPredictions)
        if wanted == "probabilities":
            return self.model.probabilities(predictions)
        scores = self.model.scores(predictions)
        return scores if len(self.classes) > 2 else scores[:, 0]

    def predicted(self, predictions: "RawPredictions | Array") -> npt.NDArray[Any]:
        """Numbers, or the codes of classes."""
        if isinstance(self.model, Regressor):
            return self.model.predictions(np.asarray(predictions)[:, 0])
        assert isinstance(predictions, RawPredictions)
        return self.model.chosen(predictions)

    # Several models

    def merge(self, other: "BlockModel") -> Self:
        """Return a model with the events of both. They must have the same options and read data alike. See docs/merging.md.

        Features are matched by name and classes by label. A class that only one model knows is added to the other, if that is automatic
        or has more than two classes.
        """
        if not isinstance(other, BlockModel):
            raise TypeError(f"merge needs another StreamModel; got {other!r}.")
        with turns_of(self, other):
            return self._merged(other)

    def _merged(self, other: "BlockModel") -> Self:
        if self.schema.features.history or other.schema.features.history:
            raise ValueError(
                "models with history cannot be merged: their events would have to be in one order. Train one model on all data, or "
                "leave history out."
            )
        merging.require_one_problem(self.options, other.options)
        schema = merging.united_schema(self.schema, other.schema)
        vocabulary, places = None, None
        if self.vocabulary is not None and other.vocabulary is not None:
            vocabulary, places = merging.united_names(self.names, other.names)
        merged = type(self)(self.options, schema, merging.merged_model(self.model, other.model, places))
        merged.options = replace(self.options, classes=merged.classes_read)
        merged.unlabelled = self.unlabelled + other.unlabelled
        if self.columns is not None and other.columns is not None:
            merged.columns = self.columns.joined(other.columns)
        merged.frozen_after = self.frozen_after  # the same: both began at the same weights
        if vocabulary is not None:
            merged.vocabulary, merged.n_names = vocabulary, len(vocabulary)
        if merged.past is not None and self.past is not None and other.past is not None:
            counts = merging.united_counts(self.past.state(), other.past.state(), places, merged.n_possible_features)
            merged.past.restore(counts, merged.n_possible_features)
        return merged

    def split(self, parts: int) -> list[Self]:
        """Return this many models, which merge to this one: each predicts alike, and has a share of what was learned.

        Each may then learn from different events, and they may be merged whenever you like. Scores and counts are with the first. See
        docs/merging.md.
        """
        return [self.part(number, parts) for number in range(whole(parts, "parts", least=1, most=MOST_PARTS))]

    def part(self, number: int, parts: int) -> Self:
        """Return one of the models of `split`, counted from 0, without making the others."""
        with turn_of(self):
            return self._part(number, parts)

    def _part(self, number: int, parts: int) -> Self:
        if self.past is not None:
            raise ValueError(
                "a model with history or tf_idf cannot be split: its parts would know other events. Leave these options out."
            )
        options = replace(self.options, classes=self.classes)
        part = type(self)(options, self.schema, merging.part_of_model(self.model, number, parts))
        part.frozen_after = self.frozen_after
        if part.vocabulary is not None:
            part.vocabulary.restore(*merging.packed(self.names))
            part.n_names = self.n_names
        if number == 0:
            part.unlabelled = self.unlabelled
            part.model.restore_metrics(self.model.saved_metrics())
            if self.columns is not None:
                part.columns = _core.ColumnWatch.restored(self.columns.names, self.columns.state())
        return part

    # Files

    def __reduce__(self) -> tuple[Any, ...]:
        """Copies and pickles are made of the bytes of the model's file. A file cannot hold a loss of your own."""
        if not isinstance(self.options.loss, (*LOSSES, type(None))):
            raise TypeError(
                "a model with a loss of your own cannot be copied or pickled: use model.save(path) and odca.load(path, loss=...)."
            )
        return _from_bytes, (type(self), b"".join(bytes(part) for part in to_chunks(self.saved())))

    def _contents(self) -> ModelFile:
        """The contents of the model's file."""
        arrays: dict[str, npt.NDArray[Any]] = {}
        if self.vocabulary is not None:
            ends = self.vocabulary.ends()[: self.n_names]
            size = int(ends[-1]) if len(ends) else 0
            arrays = {"names": np.frombuffer(self.vocabulary.packed(), np.uint8)[:size], "name_ends": ends}
        if self.past is not None:
            arrays |= with_prefix(self.past.state())
        parts = {"learner": self.learner.saved()}
        if self.calibration is not None:
            parts["calibration"] = self.calibration.saved()
        arrays |= {**self.model.saved_metrics(), **self.model.saved_uncertainty()}
        watched: dict[str, Any] = {}
        if self.columns is not None:
            watched["columns"] = self.columns.names
            arrays["columns"] = self.columns.state()
        options = {
            "problem": {**self.options.as_options(), "classes": self.classes_read},
            "schema": self.schema.as_options(),
            "unlabelled": self.unlabelled,
            **({"frozen_after": self.frozen_after} if self.frozen_after else {}),
            **watched,
        }
        return ModelFile(self.kind, options, arrays, parts)

    @classmethod
    def restored(cls, saved: ModelFile, loss: object = None) -> Self:
        """Return the model of a model file. ValueError (or a similar error) if it is invalid."""
        given = dict(saved.options["problem"])
        if loss is not None:
            given["loss"] = loss
        options, schema = ModelOptions(**given), Schema.from_options(saved.options["schema"])
        options.require_resolved()
        model = cls(options, schema, inner_model.restored(saved, options, loss))
        if model.vocabulary is not None:
            names, ends = vector(saved.arrays, "names", np.uint8), vector(saved.arrays, "name_ends", np.int64)
            model.vocabulary.restore(names.tobytes(), ends)
            model.n_names = len(model.vocabulary)
            if model.learner.n_features > model.n_names:
                raise ValueError("it has fewer names than features.")
            first = schema.native_features().first_names()
            if model.names[: len(first)] != first:
                raise ValueError("its names do not begin with those of its history.")
        if model.past is not None:
            model.past.restore(without_prefix(saved.arrays), model.n_possible_features)
        model.unlabelled = int(saved.options.get("unlabelled", 0))
        model.frozen_after = int(saved.options.get("frozen_after", 0))
        if model.columns is not None and "columns" in saved.options:  # files of before have none
            model.columns = _core.ColumnWatch.restored(
                saved.options["columns"], vector(saved.arrays, "columns", np.float64)
            )
        return model

    @property
    def n_possible_features(self) -> int:
        """How many features the events learned so far can have."""
        bits = self.schema.features.bits
        return self.n_names if bits is None else 2**bits

    @property
    def names(self) -> Sequence[bytes]:
        """The keys of all features that have names, by index."""
        return [] if self.vocabulary is None else self.vocabulary.keys()[: self.n_names]

    def keys(self) -> Sequence[bytes]:
        """The keys of its features, by index; see `feature_name`."""
        if self.vocabulary is not None:
            return self.names[: self.learner.n_features]
        form = b"hash %d" if self.schema.features.bits is not None else b"%d"
        return [form % index for index in range(self.learner.n_features)]


def _from_bytes(cls: type[BlockModel], data: bytes) -> BlockModel:
    return rebuild(from_bytes(data, "the copy of a model"), {cls.kind: cls.restored}, "the copy of a model")
