"""A model with everything that a stream of files needs: how to read them, the names of features, classes, probabilities."""

import re
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from odca import _core
from odca.calibration import Calibration, sigmoid
from odca.classes import OneAgainstRest, rearranged
from odca.inputs import Array
from odca.learner import Learner
from odca.losses import LogLoss, Poisson, as_native
from odca.metrics import ClassMetrics, NumberMetrics, Row
from odca.model_file import ModelFile, Savable
from odca.stream.blocks import Block
from odca.stream.errors import StreamError
from odca.stream.opening import MOST_SAMPLES, BadLines
from odca.stream.problem import Label, Problem, show, typical
from odca.stream.schema import Schema


class EventError(StreamError):
    """An event that cannot be learned from."""

    def __init__(self, message: str, block: Block, row: int) -> None:
        super().__init__(message, path=block.path, line=block.line(row))
        self.row = row
        """Its place in the block."""


class StreamModel(Savable):
    """Learns from blocks of events, predicts them, and is saved with all that is needed to read more of them."""

    kind = "StreamModel"

    def __init__(self, problem: Problem, schema: Schema, learner: Learner) -> None:
        self.problem, self.schema, self.learner = problem, schema, learner
        self.vocabulary = _core.Vocabulary() if schema.has_names else None
        self.n_names = 0
        """How many of the names belong to events that were learned: the vocabulary may be some blocks ahead."""
        self._calibration: Calibration | None = None
        if problem.task == "classes":
            self._layout = OneAgainstRest(problem.classes, spare=len(problem.classes) > 2)
            if not isinstance(problem.loss, LogLoss):
                self._calibration = Calibration(learner.lanes, problem.window)
        self._codes = {label: code for code, label in enumerate(problem.classes)}
        self._is_valid = as_native(problem.loss).valid
        self.metrics: ClassMetrics | NumberMetrics = self._new_metrics()
        """How well it predicted the events that it learned, before it learned them."""

    @classmethod
    def begin(cls, problem: Problem, schema: Schema, sample: Block) -> Self:
        """A model of events like these, which it has not learned from yet."""
        settled = problem.settled(schema, sample)
        assert settled.smoothing is not None
        assert settled.prior_strength is not None
        classes = settled.task == "classes"
        lanes = len(OneAgainstRest(settled.classes, spare=len(settled.classes) > 2).lanes) if classes else 1
        return cls(
            settled,
            schema,
            Learner(
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
            ),
        )

    @property
    def classes(self) -> tuple[Label, ...]:
        """The classes, in order; none if labels are numbers."""
        return self._layout.classes if self.problem.task == "classes" else ()

    # Learning

    def learn(self, block: Block) -> list[Row]:
        """Learn from the events of a block, in order; return the rows of the metrics' table that fall among them.

        EventError, and nothing learned, if one of them cannot be.
        """
        faulty = self._faulty(block)
        if faulty.any():
            row = int(np.argmax(faulty))
            raise EventError(self._what_is_wrong(block, row), block, row)
        labels = self._labels_of(block)
        targets = self._layout.labels(labels.astype(np.intp)) if self.problem.task == "classes" else labels[:, None]
        time = block.time if self.problem.window.uses_time else None
        try:
            margins = self.learner.learn(
                block.rows, targets, sample_weight=block.weight, offset=block.offset, time=time
            )
        except ValueError as error:
            raise self._located(error, block) from error
        rows = self._judge(self.metrics, block, margins, labels)
        if self._calibration is not None:
            self._calibration.learn(margins, targets, sample_weight=block.weight, time=time)
        if self.vocabulary is not None:
            self.n_names = block.rows.width
        return rows

    def judge(self, metrics: ClassMetrics | NumberMetrics, block: Block, margins: Array) -> list[Row]:
        """Count how well these margins predict the events of a block, whose labels must be known ones."""
        return self._judge(metrics, block, margins, self._labels_of(block))

    def _judge(self, metrics: ClassMetrics | NumberMetrics, block: Block, margins: Array, labels: Array) -> list[Row]:
        features = np.diff(block.rows.indptr)
        if isinstance(metrics, NumberMetrics):
            loss = self._loss_of(margins[:, 0], labels)
            return metrics.add(labels, self.predicted(margins), loss, weight=block.weight, features=features)
        codes, scores = labels.astype(np.intp), self._layout.scores(margins)
        targets = self._layout.labels(codes)[:, : scores.shape[1]]
        loss = self._loss_of(scores, targets).mean(axis=1)
        two, p = len(self.classes) == 2, self.probabilities(margins)
        return metrics.add(
            codes,
            self.predicted(margins).astype(np.intp),
            loss,
            margin=scores[:, 0] if two else None,
            probability=p[:, 1] if two else p,
            weight=block.weight,
            features=features,
        )

    def _loss_of(self, margins: npt.ArrayLike, labels: npt.ArrayLike) -> Array:
        return self.learner.loss_of(margins, labels)

    def _new_metrics(self) -> ClassMetrics | NumberMetrics:
        if self.problem.task == "classes":
            return ClassMetrics()
        return NumberMetrics(self._loss_of, margin_is_prediction=not isinstance(self.problem.loss, Poisson))

    def baselines(self, metrics: ClassMetrics | NumberMetrics) -> dict[str, dict[str, float]]:
        """What no model reaches on the same events."""
        return metrics.baselines(self._loss_of) if isinstance(metrics, ClassMetrics) else metrics.baselines()

    def learn_what_can_be(self, block: Block, bad: BadLines) -> list[Row]:
        """The same, but events that cannot be learned from are counted as bad and taken out of the block."""
        while True:
            faulty = self._faulty(block)
            if faulty.any():
                first = np.flatnonzero(faulty)[:MOST_SAMPLES].tolist()
                bad.add(int(faulty.sum()), [EventError(self._what_is_wrong(block, row), block, row) for row in first])
                block.drop(faulty)
            try:
                return self.learn(block)
            except EventError as error:
                bad.add(1, [error])
                block.drop(np.arange(len(block)) == error.row)

    def _faulty(self, block: Block) -> npt.NDArray[np.bool_]:
        """Which events cannot be learned from: they have no label or no time, or a label that does not go with the rest."""
        bad = block.is_unlabelled.copy()
        if self.problem.task == "numbers":
            labels = block.rows.label
            bad |= block.rows.label_text >= 0
            bad[~bad] |= ~np.asarray(self._is_valid(labels[~bad]), dtype=bool)
        elif not self._layout.spare:
            bad |= self._codes_of(block) < 0
        if block.weight is not None:
            bad |= ~(block.weight >= 0.0)
        if self.problem.window.uses_time:
            bad |= True if block.time is None else np.isnan(block.time)
        return bad

    def _what_is_wrong(self, block: Block, row: int) -> str:
        label = block.y[row]
        if block.is_unlabelled[row]:
            return "the event has no label."
        if block.weight is not None and not block.weight[row] >= 0.0:
            return f"the weight {block.weight[row]:g} is negative."
        if self.problem.window.uses_time and (block.time is None or np.isnan(block.time[row])):
            return f"the event has no time, which {self.problem.window!r} counts in. Name the column that holds it."
        if self.problem.task == "classes":
            known = ", ".join(show(each) for each in self.classes)
            return f"the label {show(label)} is new; the classes are {known}. Name them all before learning."
        if isinstance(label, str):
            return f"the label {label!r} is no number. Say that labels are classes, if they are."
        return f"the label {show(label)} is not one that {self.problem.loss!r} can have."

    @staticmethod
    def _located(error: ValueError, block: Block) -> ValueError:
        """The same error, in the words of the file."""
        found = re.search(r"\brow (\d+)", str(error))
        return error if found is None else EventError(str(error), block, int(found[1]))

    def _labels_of(self, block: Block) -> Array:
        if self.problem.task == "numbers":
            return block.rows.label
        codes = self._codes_of(block)
        if (codes < 0).any():
            self._meet(block, codes)
            codes = self._codes_of(block)
        return codes.astype(np.float64)

    def _codes_of(self, block: Block) -> npt.NDArray[np.intp]:
        """The place of every label among the classes; -1 if it is new, or not there."""
        rows = block.rows
        numbers, places = np.unique(rows.label, return_inverse=True)
        codes = np.array([self._codes.get(float(number), -1) for number in numbers], dtype=np.intp)[places]
        if rows.label_names:
            texts = np.array([self._codes.get(name.decode(), -1) for name in rows.label_names], dtype=np.intp)
            is_text = rows.label_text >= 0
            codes[is_text] = texts[rows.label_text[is_text]]
        return codes

    def _meet(self, block: Block, codes: npt.NDArray[np.intp]) -> None:
        """Give lanes to new classes. They end bit for bit as if they had been there from the start."""
        new = list(dict.fromkeys(block.y[codes < 0].tolist()))
        layout, sources, mirrored = self._layout.become([*self.classes, *new], spare=True)
        self.learner = rearranged(self.learner, sources, mirrored)
        if self._calibration is not None:
            self._calibration = self._calibration.rearranged(sources, mirrored)
        self._layout = layout
        self._codes = {label: code for code, label in enumerate(layout.classes)}

    # Predicting

    def margins(self, block: Block) -> Array:
        """(events, lanes)"""
        return self.learner.predict(block.rows, offset=block.offset)

    def probabilities(self, margins: Array) -> Array:
        """The probability of every class, from margins."""
        scores = self._layout.scores(margins)
        p = sigmoid(scores) if self._calibration is None else self._calibration.probabilities(scores)
        return self._layout.distribution(p, scores)

    def predicted(self, margins: Array) -> Array:
        """Numbers; of classes their places among `classes`."""
        if self.problem.task == "numbers":
            with np.errstate(over="ignore"):
                return np.exp(margins[:, 0]) if isinstance(self.problem.loss, Poisson) else margins[:, 0]
        if len(self.classes) == 2:
            return (margins[:, 0] > 0.0).astype(np.float64)
        return self._layout.scores(margins).argmax(axis=1).astype(np.float64)

    # Files

    def saved(self) -> ModelFile:
        """What a file holds of the model."""
        arrays: dict[str, npt.NDArray[Any]] = {}
        if self.vocabulary is not None:
            ends = self.vocabulary.ends()[: self.n_names]
            size = int(ends[-1]) if len(ends) else 0
            arrays = {"names": np.frombuffer(self.vocabulary.bytes(), np.uint8)[:size], "name_ends": ends}
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
        model = cls(problem, schema, Learner.restored(saved.parts["learner"], loss))
        if model.vocabulary is not None:
            model.vocabulary.restore(saved.arrays["names"].tobytes(), saved.arrays["name_ends"])
            model.n_names = len(model.vocabulary)
        if model._calibration is not None:
            model._calibration = Calibration.restored(saved.parts["calibration"])
        model._restore_metrics({name[8:]: array for name, array in saved.arrays.items() if name.startswith("metrics.")})
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

    def keys(self) -> Sequence[bytes]:
        """The keys of its features, by index; see `feature_name`."""
        if self.vocabulary is not None:
            return self.vocabulary.keys()[: self.learner.n_features]
        form = b"hash %d" if self.schema.features.bits is not None else b"%d"
        return [form % index for index in range(self.learner.n_features)]
