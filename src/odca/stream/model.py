"""A model with everything that a stream of files needs: how to read them, the names of features, classes, probabilities."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, Literal, Self, TypeAlias, get_args

import numpy as np
import numpy.typing as npt

from odca import _core
from odca.errors import InputError, Remedy
from odca.io.model_file import ModelFile, Savable
from odca.learner import Learner
from odca.losses import LogLoss, Poisson, as_native
from odca.metrics import ClassMetrics, NumberMetrics, Row
from odca.models.calibration import Calibration, sigmoid
from odca.models.classes import OneAgainstRest, rearranged
from odca.models.problem import Label, Problem, show, typical
from odca.stream import merging
from odca.stream.auto import AutoLanes
from odca.stream.read.blocks import Block
from odca.stream.read.refused import EventError, without_refused
from odca.stream.read.schema import Schema
from odca.stream.read.stream import MOST_SAMPLES, BadLines, Path, read_events
from odca.stream.read.stream import open as open_stream
from odca.validation.arrays import Array

PROBLEM_OF_LEARNER = ("loss", "penalty", "rho", "window", "smoothing", "prior_strength", "intercept", "scale")
Codes: TypeAlias = npt.NDArray[np.int32]
Labels: TypeAlias = npt.NDArray[Any]
"""Numbers (float64), or the places of classes (int32)."""
Wanted: TypeAlias = Literal["label", "probabilities", "margins"]


class _ClassCodes:
    """The places of labels among the classes."""

    def __init__(self, classes: Sequence[Label]) -> None:
        self._texts = {label: code for code, label in enumerate(classes) if isinstance(label, str)}
        numbers = sorted((label, code) for code, label in enumerate(classes) if not isinstance(label, str))
        self._numbers = np.array([label for label, _ in numbers], dtype=np.float64)
        self._places = np.array([code for _, code in numbers], dtype=np.int32)

    def of(self, block: Block) -> tuple[Codes, int]:
        """Of every event; -1 if its class is new, or not there; and how many these are."""
        names = block.rows.label_names
        texts = np.array([self._texts.get(name.decode(), -1) for name in names], dtype=np.int32)
        return block.rows.codes(self._numbers, self._places, texts)


class StreamModel(Savable):
    """Learns from blocks of events, predicts them, and is saved with all that is needed to read more of them."""

    kind = "StreamModel"

    def __init__(self, problem: Problem, schema: Schema, learner: Learner | AutoLanes) -> None:
        self.problem, self.schema, self.learner = problem, schema, learner
        self.vocabulary = _core.Vocabulary() if schema.has_names else None
        self.n_names = 0
        """How many of the names belong to events that were learned: the vocabulary may be some blocks ahead."""
        self._calibration: Calibration | None = None
        if problem.task == "classes":
            self._layout = OneAgainstRest(problem.classes, spare=len(problem.classes) > 2)
            if not isinstance(problem.loss, LogLoss):
                self._calibration = Calibration(learner.lanes, problem.window)
        self._codes = _ClassCodes(problem.classes)
        self._known_first = len(problem.classes)  # classes; others come later, in the order of their codes
        self._loss = as_native(problem.loss)
        self.metrics: ClassMetrics | NumberMetrics = self.new_metrics()
        """How well it predicted the events that it learned, before it learned them."""

    @classmethod
    def begin(cls, problem: Problem, schema: Schema, sample: Block) -> Self:
        """A model of events like these, which it has not learned from yet."""
        settled = problem.settled(schema, sample)
        assert settled.rho is not None
        assert settled.smoothing is not None
        assert settled.prior_strength is not None
        classes = settled.task == "classes"
        lanes = len(OneAgainstRest(settled.classes, spare=len(settled.classes) > 2).lanes) if classes else 1
        if settled.auto is not None:
            assert settled.task is not None
            return cls(settled, schema, AutoLanes.begin(settled.task, len(settled.classes), lanes))
        learner = Learner(
            loss=settled.loss,
            penalty=settled.penalty,
            rho=settled.rho,
            window=settled.window,
            smoothing=settled.smoothing,
            prior_strength=settled.prior_strength,
            prior_intercept=typical(settled.loss, sample) if settled.intercept and not classes else 0.0,
            intercept=settled.intercept,
            intercept_penalty=settled.intercept_penalty if settled.intercept else 1.0,
            scale=bool(settled.scale),
            lanes=lanes,
        )
        return cls(settled, schema, learner)

    @property
    def classes(self) -> tuple[Label, ...]:
        """The classes, in order; none if labels are numbers."""
        return self._layout.classes if self.problem.task == "classes" else ()

    @property
    def calibration(self) -> Calibration | None:
        """What makes probabilities of margins that are no log-odds."""
        return self._calibration

    # Learning

    def learn(self, block: Block) -> list[Row]:
        """Learn from the events of a block, in order; return the rows of the metrics' table that fall among them.

        EventError, and nothing learned, if one of them cannot be.
        """
        self.require_sound(block)
        labels = self._labels_of(block)
        targets: Array = self._layout.labels(labels) if self.problem.task == "classes" else labels[:, None]
        time = block.time if self.problem.uses_time else None
        try:
            margins = self.learner.learn(
                block.rows, targets, sample_weight=block.weight, offset=block.offset, time=time
            )
        except ValueError as error:
            raise self._located(error, block) from error
        p = None
        if self._calibration is not None:
            p = self._calibration.learn(margins, targets, sample_weight=block.weight, time=time)
        rows = self.judge(self.metrics, block, margins, labels, p)
        if self.vocabulary is not None:
            self.n_names = block.rows.width
        return rows

    def judge(
        self,
        metrics: ClassMetrics | NumberMetrics,
        block: Block,
        margins: Array,
        labels: Labels,
        calibrated: Array | None = None,
    ) -> list[Row]:
        """Count how well these margins predict the events of a block.

        What they mean as probabilities is what the calibration says now, unless it is given. The labels are numbers; those of classes are places among `classes`, or behind them for a class that the model does
        not know.
        """
        features = np.diff(block.rows.indptr)
        if isinstance(metrics, NumberMetrics):
            loss = self._loss_of(margins[:, 0], labels)
            return metrics.add(labels, self.predicted(margins), loss, weight=block.weight, features=features)
        if len(self.classes) == 2:
            is_odds = calibrated is None and self._calibration is None
            return metrics.add_margins(
                labels,
                margins[:, 0],
                self._loss,
                probability=None if is_odds else self.probabilities(margins, calibrated)[:, 1],
                weight=block.weight,
                features=features,
            )
        rows: list[Row] = []
        known = self._known_at(metrics, labels)
        edges = [0, *(np.flatnonzero(np.diff(known)) + 1).tolist(), len(labels)]
        for begin, end in pairwise(edges if len(labels) else ()):
            n, part = int(known[begin]), slice(begin, end)
            scores = self._layout.scores(margins)[part, :n]
            targets = self._layout.labels(labels[part])[:, :n]
            rows += metrics.add(
                labels[part],
                scores.argmax(axis=1).astype(np.int32),
                self._loss_of(scores, targets).mean(axis=1),
                probability=self._distribution(scores, None if calibrated is None else calibrated[part, :n]),
                weight=None if block.weight is None else block.weight[part],
                features=features[part],
            )
        return rows

    def _known_at(self, metrics: ClassMetrics, labels: Labels) -> npt.NDArray[Any]:
        """How many classes were known when each event was judged, its own among them; however the stream is cut into blocks."""
        if metrics is not self.metrics:
            return np.full(len(labels), len(self.classes))
        before = max(self._known_first, metrics.n_classes)
        known: npt.NDArray[Any] = np.clip(np.maximum.accumulate(labels) + 1, before, len(self.classes))
        return known

    def _loss_of(self, margins: npt.ArrayLike, labels: npt.ArrayLike) -> Array:
        return self.learner.loss_of(margins, labels)

    def new_metrics(self) -> ClassMetrics | NumberMetrics:
        """Metrics of its predictions, of no event yet."""
        if self.problem.task == "classes":
            return ClassMetrics()
        return NumberMetrics(self._loss_of, margin_is_prediction=not isinstance(self.problem.loss, Poisson))

    def baselines(self, metrics: ClassMetrics | NumberMetrics) -> dict[str, dict[str, float]]:
        """What no model reaches on the same events."""
        return metrics.baselines(self._loss_of) if isinstance(metrics, ClassMetrics) else metrics.baselines()

    def learn_what_can_be(self, block: Block, bad: BadLines) -> list[Row]:
        """The same, but events that cannot be learned from are counted as bad and taken out of the block."""
        self.drop_faulty(block, bad)
        return without_refused(self.learn, block, bad)

    def require_sound(self, block: Block, *, learning: bool = True) -> None:
        """EventError for the first event that cannot be learned from, or (not `learning`) not be judged."""
        if self._is_plainly_sound(block):
            return
        faulty = self._faulty(block, learning)
        if faulty.any():
            row = int(np.argmax(faulty))
            raise self._fault_of(block, row)

    def drop_faulty(self, block: Block, bad: BadLines, *, learning: bool = True) -> None:
        """Take such events out of the block, and count them as bad."""
        faulty = self._faulty(block, learning)
        if faulty.any():
            first = np.flatnonzero(faulty)[:MOST_SAMPLES].tolist()
            bad.add(int(faulty.sum()), [self._fault_of(block, row) for row in first])
            block.drop(faulty)

    def _is_plainly_sound(self, block: Block) -> bool:
        """Whether nothing can be wrong with any event, as is mostly so and soon known."""
        if self.problem.task == "numbers" or block.weight is not None or self.problem.uses_time:
            return False
        return self.codes_of(block)[1] == 0

    def _faulty(self, block: Block, learning: bool) -> npt.NDArray[np.bool_]:
        """Which events have no label or no time, or a label that does not go with the rest."""
        bad = block.is_unlabelled.copy()
        if self.problem.task == "numbers":
            labels = block.rows.label
            bad |= block.rows.label_text >= 0
            bad[~bad] |= ~np.asarray(self._loss.valid(labels[~bad]), dtype=bool)
        elif learning and not self._layout.spare:
            bad |= self.codes_of(block)[0] < 0
        if block.weight is not None:
            bad |= ~(block.weight >= 0.0)
        if learning and self.problem.uses_time:
            bad |= True if block.time is None else np.isnan(block.time)
        return bad

    def _fault_of(self, block: Block, row: int) -> EventError:
        fault, remedy = self._what_is_wrong(block, row)
        return EventError(fault, block, row, remedy)

    def _what_is_wrong(self, block: Block, row: int) -> tuple[str, Remedy | None]:
        label = block.y[row]
        if block.is_unlabelled[row]:
            return "the event has no label.", None
        if block.weight is not None and not block.weight[row] >= 0.0:
            return f"the weight {block.weight[row]:g} is negative.", None
        if self.problem.uses_time and (block.time is None or np.isnan(block.time[row])):
            remedy = Remedy("Name the column that holds it ({time}).", time=None)
            if self.problem.auto:
                remedy = Remedy(
                    "Name the column that holds it ({time}), or let the model count in events ({auto}).",
                    time=None,
                    auto="events",
                )
            counts = "an automatic model by time" if self.problem.auto else repr(self.problem.window)
            return f"the event has no time, which {counts} counts in.", remedy
        if self.problem.task == "classes":
            known = ", ".join(show(each) for each in self.classes)
            remedy = Remedy("Name them all before learning ({classes}).", classes=None)
            return f"the label {show(label)} is new; the classes are {known}.", remedy
        if isinstance(label, str):
            remedy = Remedy("Say that labels are classes, if they are ({task}).", task="classes")
            return f"the label {label!r} is no number.", remedy
        return f"the label {show(label)} is not one that {self.problem.loss!r} can have.", None

    @staticmethod
    def _located(error: ValueError, block: Block, message: str = "") -> ValueError:
        """The same error, in the words of the file."""
        if not isinstance(error, InputError) or error.row is None:
            return error
        return EventError(message or error.event_message, block, error.row)

    def _labels_of(self, block: Block) -> Labels:
        if self.problem.task == "numbers":
            return block.rows.label
        codes, unknown = self.codes_of(block)
        if unknown:
            self._meet(block, codes)
            codes, _ = self.codes_of(block)
        return codes

    def codes_of(self, block: Block) -> tuple[Codes, int]:
        """The place of every label among the classes; -1 if it is new, or not there; and how many these are."""
        return self._codes.of(block)

    def _meet(self, block: Block, codes: Codes) -> None:
        """Give lanes to new classes. They end bit for bit as if they had been there from the start."""
        self._arrange([*self.classes, *dict.fromkeys(block.y[codes < 0].tolist())])

    def _arrange(self, classes: Sequence[Label]) -> None:
        layout, sources, mirrored = self._layout.become(classes, spare=len(classes) > 2)
        if isinstance(self.learner, Learner):
            self.learner = rearranged(self.learner, sources, mirrored)
        elif len(sources) != self.learner.lanes:
            self.learner = self.learner.with_lanes(sources, mirrored)
        if self._calibration is not None:
            self._calibration = self._calibration.rearranged(sources, mirrored)
        self._layout = layout
        self._codes = _ClassCodes(layout.classes)

    # Predicting

    def margins(self, block: Block) -> Array:
        """(events, lanes). EventError if one of them is too large for a number."""
        try:
            return self.learner.predict(block.rows, offset=block.offset)
        except ValueError as error:
            raise self._located(error, block, "the prediction is no finite number. Look for huge values.") from error

    def predict(self, block: Block, wanted: Wanted = "label") -> npt.NDArray[Any]:
        """What the model says of each event of a block.

        wanted: the "label", a class or a number; the "probabilities" of all `classes`, in their order; or the "margins", of all
        classes, or, if they are two, of the second one against the first.
        """
        return self.shown(self.margins(block), wanted)

    def shown(self, margins: Array, wanted: Wanted) -> npt.NDArray[Any]:
        """The same, from margins."""
        if wanted not in get_args(Wanted):
            raise ValueError(f"wanted must be one of {', '.join(get_args(Wanted))}; got {wanted!r}.")
        classes = self.problem.task == "classes"
        if wanted == "probabilities":
            if not classes:
                raise ValueError("there are no probabilities: the model predicts numbers.")
            return self.probabilities(margins)
        if wanted == "margins":
            return self._layout.scores(margins) if len(self.classes) > 2 else margins[:, 0]
        predicted = self.predicted(margins)
        if not classes:
            return predicted
        is_text = any(isinstance(each, str) for each in self.classes)
        return np.array(self.classes, dtype=object if is_text else np.float64)[predicted.astype(np.intp)]

    def predict_file(self, paths: Path | Sequence[Path], wanted: Wanted = "label", **how: Any) -> npt.NDArray[Any]:
        """The same of all events of files, which are read as those were that it learned from; `how` is for `odca.stream.open`.

        Files may be of another format, have their columns in another order and have no labels. Names that the model does not know
        are left out.
        """
        with open_stream(
            paths, schema=self.schema, vocabulary=self.vocabulary, grow=False, labelled=False, **how
        ) as stream:
            return np.concatenate(
                [self.shown(np.empty((0, self.learner.lanes)), wanted)]
                + [self.predict(block, wanted) for block in stream]
            )

    def predict_events(self, events: Iterable[Mapping[str, Any]], wanted: Wanted = "label") -> npt.NDArray[Any]:
        """The same of events that are dictionaries: each is read as a line of JSON would be."""
        return self.predict(read_events(events, self.schema, self.vocabulary), wanted)

    def probabilities(self, margins: Array, calibrated: Array | None = None) -> Array:
        """The probability of every class, from margins; and from P(+1) of each lane, if the calibration has told them."""
        p = None if calibrated is None else self._layout.scores(calibrated)
        return self._distribution(self._layout.scores(margins), p)

    def _distribution(self, scores: Array, p: Array | None) -> Array:
        """The same, of as many classes as there are scores."""
        if p is None:
            p = sigmoid(scores) if self._calibration is None else self._calibration.probabilities(scores)
        return self._layout.distribution(np.array(p), scores)

    def predicted(self, margins: Array) -> Array:
        """Numbers; of classes their places among `classes`."""
        if self.problem.task == "numbers":
            with np.errstate(over="ignore"):
                numbers: Array = np.exp(margins[:, 0]) if isinstance(self.problem.loss, Poisson) else margins[:, 0]
            return numbers
        if len(self.classes) == 2:
            return np.where(margins[:, 0] > 0.0, 1.0, 0.0)
        chosen: Array = self._layout.scores(margins).argmax(axis=1).astype(np.float64)
        return chosen

    # Several models

    def merge(self, other: "StreamModel") -> Self:
        """Return a model that has the events of both: of one problem, read alike. See docs/merging.md.

        Features are known by their names, classes by their labels. A class that only one of them has met is taken over if the other
        has room for it, as models of more than two classes have. What the first events decide, the strength of the prior and where
        the intercept begins, is this model's.
        """
        if not isinstance(other, StreamModel):
            raise TypeError(f"merge needs another StreamModel; got {other!r}.")
        if isinstance(self.learner, AutoLanes) or isinstance(other.learner, AutoLanes):
            raise ValueError("automatic models cannot be merged: their weights are no sums over events.")  # noqa: TRY004 - of any type
        merging.require_one_problem(self.problem, other.problem)
        schema = merging.united_schema(self.schema, other.schema)
        mine, theirs = self._with_classes_of(other), other._with_classes_of(self)
        if theirs.classes != mine.classes:
            theirs = theirs._rearranged(mine.classes)
        vocabulary, places = None, None
        if self.vocabulary is not None and other.vocabulary is not None:
            vocabulary, places = merging.united_names(self.names, other.names)
        assert isinstance(mine.learner, Learner)
        assert isinstance(theirs.learner, Learner)
        learner = mine.learner.merge(merging.adopted(mine.learner, theirs.learner, places))
        merged = type(self)(replace(self.problem, classes=mine.classes), schema, learner)
        if vocabulary is not None:
            merged.vocabulary, merged.n_names = vocabulary, len(vocabulary)
        if mine._calibration is not None and theirs._calibration is not None:
            merged._calibration = mine._calibration.merge(theirs._calibration)
        if isinstance(self.metrics, ClassMetrics) and isinstance(other.metrics, ClassMetrics):
            codes = [mine.classes.index(each) for each in other.classes]
            merged.metrics = self.metrics.merge(other.metrics, codes)
        elif isinstance(self.metrics, NumberMetrics) and isinstance(other.metrics, NumberMetrics):
            merged.metrics = self.metrics.merge(other.metrics)
        return merged

    def _with_classes_of(self, other: "StreamModel") -> "StreamModel":
        """Itself, or a copy that has met the classes of another model too."""
        new = [each for each in other.classes if each not in self.classes]
        if not new:
            return self
        if not self._layout.spare:
            shown = [", ".join(map(show, each.classes)) for each in (self, other)]
            raise ValueError(
                f"the classes are {shown[0]} here and {shown[1]} there, and a model of two classes has no room for others. "
                "Name them all before learning."
            )
        return self._rearranged([*self.classes, *new])

    def _rearranged(self, classes: Sequence[Label]) -> "StreamModel":
        """A copy whose classes are in this order; new ones are as if they had been there from the start."""
        twin = type(self)(self.problem, self.schema, self.learner)
        twin._layout, twin._calibration = self._layout, self._calibration
        twin._arrange(classes)
        return twin

    # Files

    def saved(self) -> ModelFile:
        """What a file holds of the model."""
        arrays: dict[str, npt.NDArray[Any]] = {}
        if self.vocabulary is not None:
            ends = self.vocabulary.ends()[: self.n_names]
            size = int(ends[-1]) if len(ends) else 0
            arrays = {"names": np.frombuffer(self.vocabulary.packed(), np.uint8)[:size], "name_ends": ends}
        parts = {"learner": self.learner.saved()}
        if self._calibration is not None:
            parts["calibration"] = self._calibration.saved()
        arrays |= {f"metrics.{name}": array for name, array in self.metrics.as_arrays().items()}
        options = {
            "problem": {**self.problem.as_options(), "classes": self.classes},
            "schema": self.schema.as_options(),
        }
        return ModelFile(self.kind, options, arrays, parts)

    @classmethod
    def restored(cls, saved: ModelFile, loss: object = None) -> Self:
        """Return the model that a file holds. ValueError (or the like) if it holds none."""
        given = dict(saved.options["problem"])
        if loss is not None:
            given["loss"] = loss
        problem, schema = Problem(**given), Schema.from_options(saved.options["schema"])
        problem.require_settled()
        kind = AutoLanes if problem.auto is not None else Learner
        model = cls(problem, schema, kind.restored(saved.parts["learner"], loss))
        if model.vocabulary is not None:
            model.vocabulary.restore(saved.arrays["names"].tobytes(), saved.arrays["name_ends"])
            model.n_names = len(model.vocabulary)
        if model._calibration is not None:
            model._calibration = Calibration.restored(saved.parts["calibration"])
        model._restore_metrics({name[8:]: array for name, array in saved.arrays.items() if name.startswith("metrics.")})
        for name in PROBLEM_OF_LEARNER if isinstance(model.learner, Learner) else ():
            if saved.options["problem"][name] != saved.parts["learner"].options[name]:
                raise ValueError(f"its {name} is not that of its learner.")
        lanes = len(model._layout.lanes) if problem.task == "classes" else 1
        if model.learner.lanes != lanes or len(model._calibration or range(lanes)) != lanes:
            raise ValueError("its classes are not those of its learner.")
        if model.vocabulary is not None and model.learner.n_features > model.n_names:
            raise ValueError("its names are fewer than its features.")
        return model

    def _restore_metrics(self, arrays: dict[str, npt.NDArray[Any]]) -> None:
        if isinstance(self.metrics, ClassMetrics):
            self.metrics = ClassMetrics.from_arrays(arrays)
        else:
            self.metrics = NumberMetrics.from_arrays(
                arrays, self._loss_of, margin_is_prediction=not isinstance(self.problem.loss, Poisson)
            )

    @property
    def names(self) -> Sequence[bytes]:
        """The keys of all features that have names, in their places."""
        return [] if self.vocabulary is None else self.vocabulary.keys()[: self.n_names]

    def keys(self) -> Sequence[bytes]:
        """The keys of its features, by index; see `feature_name`."""
        if self.vocabulary is not None:
            return self.names[: self.learner.n_features]
        form = b"hash %d" if self.schema.features.bits is not None else b"%d"
        return [form % index for index in range(self.learner.n_features)]
