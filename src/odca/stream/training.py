"""Training on files: a new model, one that goes on learning, or one that resumes from a checkpoint.

`odca.train` is the library's way to it. `odca train` is the same with output: it makes the same model, to the bit.
"""

import os
import time as clock
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Literal, Protocol, Self, Unpack

import numpy as np
import numpy.typing as npt

from odca import _core
from odca.errors import InputError, Remedy, did_you_mean
from odca.features.spec import FeatureOptions, Features
from odca.losses import as_loss
from odca.metrics import ProgressRow
from odca.models.options import Label, Memory, ModelOptions, OrAuto, Products, Task, most_products
from odca.models.uncertainty import Uncertainty
from odca.penalties import Penalty, as_penalty
from odca.records import record
from odca.stream.block_model import Told
from odca.stream.checkpoint import CONTINUE, Checkpoint
from odca.stream.class_codes import ClassesMet
from odca.stream.model import StreamModel
from odca.stream.progress import ProgressLine
from odca.stream.read.blocks import Block
from odca.stream.read.chunks import LONGEST_LINE
from odca.stream.read.errors import listed
from odca.stream.read.positions import Position
from odca.stream.read.relations import is_table
from odca.stream.read.stream import Data, OnError, Quote, Stream
from odca.stream.read.stream import open as open_stream
from odca.windows import Window, as_window

UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0}
EVERY = "60s"
FEW_VALUES = 10
"""So few different whole numbers may be names of classes."""
Show = Callable[[list[ProgressRow]], None]
"""Called after each block, with the rows of the metrics' table that fall into it."""


class Predictions(Protocol):
    """Where predictions go that are made while a model is trained."""

    def tell(self, block: Block, predictions: Any, before: Uncertainty | None) -> None:
        """Take the raw predictions for the events of a block, each from before its event was learned.

        before: how far from the truth predictions were before these; None for events that are not learned.
        """

    def written(self) -> int:
        """How many bytes were written, and are in the file now."""


@record
class Interval:
    """How often something is done: after so many events, or after so many seconds."""

    events: float | None = None
    seconds: float | None = None

    @classmethod
    def of(cls, text: str | float) -> Self:
        """From a number of events, or a time such as "30s", "5m" or "1h"."""
        unit = UNITS.get(text[-1:]) if isinstance(text, str) else None
        try:
            number = float(text[:-1] if unit and isinstance(text, str) else text)
        except ValueError:
            number = 0.0
        if not 0.0 < number < 1e18:
            raise ValueError(f"must be a number of events, or a time such as 30s, 5m, 1h; got {text!r}")
        return cls(seconds=number * unit) if unit else cls(events=number)

    def is_over(self, events: int, seconds: float) -> bool:
        """Whether it is over, so many events and seconds after it began."""
        return events >= self.events if self.events is not None else seconds >= (self.seconds or 0.0)


@record
class Saving:
    """Where the state of a training is saved, how often, and for which request: one that goes on must ask for the same."""

    path: str | os.PathLike[str]
    request: dict[str, Any]
    every: Interval


class Training:
    """A model, the stream that it learns from, and where its state is saved."""

    def __init__(
        self,
        model: StreamModel,
        stream: Stream,
        *,
        on_error: OnError = "stop",
        saving: Saving | None = None,
        bad_before: int = 0,
        predictions: Predictions | None = None,
    ) -> None:
        """`bad_before` counts the lines that were skipped before the stream begins."""
        self.model, self.stream = model, stream
        self.events_before = model.metrics.events
        self._skips, self._saving, self._bad_before = on_error == "skip", saving, bad_before
        self._saved_at, self._saved_events = clock.monotonic(), self.events_before
        self._classes = model.classes
        self._met = ClassesMet(model.classes_read if self.events_before else ())
        self._predictions = predictions

    @property
    def events(self) -> int:
        """How many events were learned by this training."""
        return self.model.metrics.events - self.events_before

    def learn(self, show: Show, *, stops: Callable[[], bool] = lambda: False) -> None:
        """Learn until the data end, or until `stops` says so after a block. The state is saved as often as wanted, and at the end."""
        block: Block | None = None
        for block in self.stream:
            show(self._learned(block))
            if self._saving is not None and self._saving.every.is_over(*self._since_saved()):
                self._save(self._saving, block.position)
            if stops():
                break
        if self._saving is not None and block is not None and self.events:
            self._save(self._saving, block.position)

    def learn_share(self, number: int, shards: int) -> None:
        """Learn one of so many equal parts of every block; others learn the rest. Nothing is shown or saved."""
        for block in self.stream:
            first, last = (len(block) * part // shards for part in (number, number + 1))
            if last > first:
                self._learn(block.part(first, last))

    def _learned(self, block: Block) -> list[ProgressRow]:
        if self._predictions is None:
            return self._learn(block)
        rows: list[ProgressRow] = []
        for part, is_new in self._parts(block):
            if is_new:
                said = self.model.predict_raw(part, answer=self.model.answer_while_learning)
                self._predictions.tell(part, said, None)
            told = None if is_new else partial(self._predictions.tell, part, before=self.model.uncertainty.copy())
            rows += self._learn(part, told)
        return rows

    def _learn(self, block: Block, told: Told | None = None) -> list[ProgressRow]:
        if self._skips:
            rows = self.model.learn_skipping_faulty(block, self.stream.bad, told=told)
        else:
            rows = self.model.learn(block, told=told)
        if self.model.classes:
            self._met.add(block, self.model.codes_of(block)[0])
        return rows

    def _parts(self, block: Block) -> Iterator[tuple[Block, bool]]:
        """The events of a block in order: those that are learned, together; and those that the model predicts as it is.

        These have no label, or are the first of their class: at its next event, the class is known.
        """
        is_unlabelled, is_new, classes = block.is_unlabelled, self.model.is_new(block), self.model.classes
        first, end = 0, len(block)
        while first < end:
            if self.model.classes != classes:
                is_new, classes = self.model.is_new(block), self.model.classes
            new = bool(is_new[first])
            if new and not is_unlabelled[first]:
                length = 1
            else:
                differs = ~is_unlabelled[first:] if new else is_new[first:]
                length = int(differs.argmax()) or end - first
            yield block if length == end else block.part(first, first + length), new
            first += length

    def _since_saved(self) -> tuple[int, float]:
        return self.model.metrics.events - self._saved_events, clock.monotonic() - self._saved_at

    def _save(self, saving: Saving, position: Position) -> None:
        written = 0 if self._predictions is None else self._predictions.written()
        bad_lines = self._bad_before + self.stream.bad.count
        Checkpoint(self.model, position, bad_lines, saving.request, written).save(saving.path)
        self._saved_at, self._saved_events = clock.monotonic(), self.model.metrics.events

    def remarks(self, *, task_is_given: bool) -> Iterator[InputError]:
        """What a user should know at the end, beside lines that were skipped."""
        yield from self._met.remarks(self.model.classes_read)
        late = self.model.classes[len(self._classes) :]
        if late and not task_is_given and not any(isinstance(label, str) for label in self.model.classes_read):
            yield InputError(
                f"there are {len(self.model.classes):,} classes, of which {len(late):,} appeared after the first events.",
                remedy=Remedy("If the labels are numbers to predict, use {task}.", task="numbers"),
            )


def begin(
    options: ModelOptions, stream: Stream, *, on_error: OnError = "stop", insists: bool = False
) -> tuple[StreamModel, list[InputError]]:
    """A new model for the events of a stream, and what a user should know about it. If it cannot be made, the stream is closed.

    The automatic mode has no offsets. Where the events have some, the model is one linear model, unless the user `insists`.
    """
    if options.auto is not None and stream.sample.offset is not None and not insists:
        options = replace(options, auto=None)
    try:
        model = StreamModel.begin(options, stream.schema, stream.sample)
    except BaseException as error:
        stream.close()
        if isinstance(error, ValueError) and stream.sample.bad_count and on_error == "stop":
            raise stream.sample.bad_lines(can_be_skipped=True)[0] from error  # a bad line may be the cause
        raise
    if stream.vocabulary is not None:
        model.vocabulary = stream.vocabulary
    labels = stream.sample.rows.label[~np.isnan(stream.sample.rows.label)]
    is_guessed = options.task is None and options.loss is None and model.task == "numbers"
    return model, list(_doubts(labels)) if is_guessed else []


def _doubts(labels: npt.NDArray[np.float64]) -> Iterator[InputError]:
    """Labels that were taken for numbers and may be classes."""
    values = sorted(set(labels.tolist()))
    if len(values) == 1:
        remedy = Remedy(
            "If they are classes, use {task} and list all classes with {classes}.", task="classes", classes=None
        )
        yield InputError(
            f"the labels of the first events are all {values[0]:g}, so they are treated as numbers.", remedy=remedy
        )
    elif len(values) <= FEW_VALUES and len(labels) >= FEW_VALUES**2 and all(each.is_integer() for each in values):
        fact = (
            f"the labels of the first events are {listed(f'{each:g}' for each in values)}, and are treated as numbers."
        )
        yield InputError(fact, remedy=Remedy("If they are classes, use {task}.", task="classes"))


def train(
    data: Data,
    *,
    label: str | int | None = None,
    weight: str | int | None = None,
    offset: str | int | None = None,
    time: str | int | None = None,
    format: str = "auto",  # noqa: A002 - what it is called everywhere
    compression: str = "auto",
    delimiter: str | None = None,
    header: bool | None = None,
    quote: Quote | None = None,
    decimal: str | None = None,
    query: str | None = None,
    on_error: OnError = "stop",
    max_line: int = LONGEST_LINE,
    threads: int | None = None,
    task: Task | None = None,
    classes: Sequence[Label] = (),
    auto: bool = False,
    memory: Memory | None = None,
    products: Products = "auto",
    loss: Any = None,
    penalty: Penalty | str | None = None,
    rho: OrAuto | None = None,
    window: Window | str | float | None = None,
    smoothing: OrAuto | None = None,
    prior_strength: OrAuto | None = None,
    intercept: bool = True,
    scale: bool | Literal["auto"] | None = None,
    initial: "StreamModel | str | os.PathLike[str] | None" = None,
    checkpoint: str | os.PathLike[str] | None = None,
    every: str | float = EVERY,
    resume: bool = False,
    progress: bool | None = None,
    **features: Unpack[FeatureOptions],
) -> StreamModel:
    r"""Train a model on files or on a data frame in one pass, as `odca train` does, and return it.

    The model is automatic unless one of `loss`, `penalty`, `rho`, `window`, `smoothing`, `prior_strength`, `intercept=False` and
    `scale` is given, or there are offsets: then it is one linear model. With auto=True it is automatic, and of these may have a loss. It has `predict`, `predict_proba` and `learn`, which take all
    data that this function takes; `report` and `explain`; `metrics`, how well each event was predicted before it was learned; and `save`.

    data: a path, several, or globs; "-" is standard input. CSV, JSON lines, ARFF, VW's and libsvm's text, Parquet, Arrow. Or a data
        frame of pandas or polars, an Arrow table, a list of dictionaries; with `query`, a database.
    label, weight, offset, time, format, compression, delimiter, header, quote, decimal, query, on_error, max_line, threads: of `odca.stream.open`. With
        on_error="skip", a warning says how many lines were left out.
    task, classes: what is predicted, "classes" or "numbers"; and all classes, if they are known.
    auto, memory: insist on the automatic mode; whether its memories count in "events" or in "time".
    products: how many products of two features the automatic mode uses: "auto", False or a number, as for `AutoLearner`.
    loss, penalty, rho, window, smoothing, prior_strength, intercept, scale: of the linear model, by name or as objects. With auto=True,
        `loss` is what numbers are judged by: "squared_error", "absolute_error", "quantile:0.9" or "poisson".
    initial: a model, or its file, that goes on learning with its own options. A model is changed itself.
    checkpoint, every, resume: the file that the state of the training is saved to, how often ("30s", "5m", "1h", or a number of
        events), and whether to go on from there, if it exists.
    progress: a line on stderr that says how far it is; None: where stderr is a terminal.
    features: bits, keep, ignore, interactions, text, ngrams, chars, sublinear, tf_idf, unit_norm, text_length,
        categorical, numeric, dates, booleans, missing, na_values,
        day_first, trend, find_dates, history, history_keys, of `Features`.

    >>> import tempfile
    >>> with tempfile.NamedTemporaryFile("w", suffix=".csv") as file:
    ...     _ = file.write("area,city,rent\n")
    ...     file.writelines(f"{20 + n % 80},{'AB'[n % 2]},{5 * (n % 80)}\n" for n in range(500))
    ...     file.flush()
    ...     model = train(file.name, label="rent")
    >>> bool(abs(model.predict({"area": 60, "city": "A"}) - 200.0) < 5.0)
    True
    """
    _require_known(features)
    if query is not None and checkpoint is not None:
        raise ValueError(
            "the rows of a query have no fixed order, so a training on them cannot be resumed. Leave checkpoint out."
        )
    labels = tuple(str(each) if isinstance(each, str | bool) else float(each) for each in classes)
    most_products(products)  # raises an error if it is none of these
    of_model = {"task": task, "classes": labels, "auto": auto, "memory": memory, **features}
    plain = {
        "loss": loss, "penalty": penalty, "rho": rho, "window": window, "smoothing": smoothing,
        "prior_strength": prior_strength, "intercept": None if intercept else False, "scale": scale,
    }  # fmt: skip
    given = {name: value for name, value in plain.items() if value is not None}
    reading = {
        "label": label, "weight": weight, "offset": offset, "time": time, "format": format, "compression": compression,
        "delimiter": delimiter, "header": header, "quote": quote, "decimal": decimal, "on_error": on_error, "max_line": max_line,
    }  # fmt: skip
    saving = None
    if checkpoint is not None:
        request = {
            **reading,
            **of_model,
            **given,
            **({} if products == "auto" else {"products": products}),
            "data": _paths(data),
        }
        saving = Saving(checkpoint, request, _interval(every))
    elif resume:
        raise ValueError("resume=True needs a checkpoint, the file to resume from.")
    _core.keep_freed_memory()
    if saving is not None and not resume:
        Checkpoint.require_none(saving.path, CONTINUE)
    found = Checkpoint.find(saving.path, saving.request) if saving is not None and resume else None
    notes: list[InputError] = []
    if found is not None or initial is not None:
        chosen = {**of_model, **given, "products": products != "auto"}
        if found is None and (set_here := [name for name, value in chosen.items() if value]):
            raise ValueError(f"{set_here[0]} is fixed by the initial model. Leave it out.")
        model = _initial(initial) if found is None else found.model
        start = None if found is None else found.position
        how = {"schema": model.schema, "vocabulary": model.vocabulary, "start": start}
        stream = open_stream(data, query=query, threads=threads, **reading, **how)  # type: ignore[arg-type] # checked there
        if stream.absent:
            notes.append(InputError(f"these data lack columns of the model's: {listed(stream.absent)}."))
    else:
        stream, model, notes = untrained(
            data,
            reading={"query": query, "threads": threads, **reading},
            features=features,
            given=given,
            task=task,
            classes=labels,
            auto=auto,
            memory=memory,
            products=products,
        )
    bad_before = 0 if found is None else found.bad_lines
    with stream, ProgressLine(stream.total, shown=progress) as line:
        training = Training(model, stream, on_error=on_error, saving=saving, bad_before=bad_before)
        training.learn(lambda _: line.update(training.events, stream.consumed))
    notes += training.remarks(task_is_given=task is not None)
    notes += stream.findings.remarks()
    if skipped := bad_before + stream.bad.count:
        first = f" The first: {stream.bad.samples[0]}" if stream.bad.samples else ""
        notes.append(InputError(f"{skipped:,} line(s) could not be read and were skipped.{first}"))
    for note in notes:
        warnings.warn(str(note), stacklevel=2)
    return model


def untrained(
    data: Data,
    *,
    reading: Mapping[str, Any],
    features: Mapping[str, Any],
    given: Mapping[str, Any],
    task: Task | None = None,
    classes: Sequence[Label] = (),
    auto: bool = False,
    memory: Memory | None = None,
    products: Products = "auto",
) -> tuple[Stream, StreamModel, list[InputError]]:
    """The stream that `train` would open, the model that it would begin with, and what a user should know about it.

    reading: options of `odca.stream.open`; features: of `Features`; given: those of the linear model that the user has given. The
    first events have decided all else, and the model has learned nothing yet.
    """
    labels = tuple(each if isinstance(each, str) else float(each) for each in classes)
    options = _model_options(task=task, classes=labels, auto=auto, memory=memory, products=products, given=dict(given))
    stream = open_stream(data, features=Features(**features), **reading)
    model, notes = begin(options, stream, on_error=reading.get("on_error", "stop"), insists=auto)
    return stream, model, notes


def _model_options(
    *,
    task: Task | None,
    classes: tuple[Label, ...],
    auto: bool,
    memory: Memory | None,
    products: Products,
    given: dict[str, Any],
) -> ModelOptions:
    plain = [name for name in given if name != "loss" or not auto]
    if plain and (auto or memory is not None or products != "auto"):
        which = "auto" if auto else "memory" if memory is not None else "products"
        allowed = "" if auto or plain != ["loss"] else ", or insist on it with auto=True"
        raise ValueError(
            f"{which} is for the automatic mode, which chooses everything itself, but {', '.join(plain)} was given. "
            f"Leave out one of the two{allowed}."
        )
    named: dict[str, Callable[[Any], Any]] = {"loss": as_loss, "penalty": as_penalty, "window": as_window}
    chosen = {name: named[name](value) if name in named else value for name, value in given.items()}
    mode = None if plain else memory or "events"
    return ModelOptions(auto=mode, products=products, task=task, classes=classes, **chosen)


def _initial(model: "StreamModel | str | os.PathLike[str] | None") -> StreamModel:
    return model if isinstance(model, StreamModel) else StreamModel.load(Path(model or ""))


def _paths(data: Data) -> list[str]:
    """The paths of files, for a checkpoint."""
    given = [data] if isinstance(data, str | os.PathLike) else data
    if is_table(data) or not all(isinstance(each, str | os.PathLike) for each in given):
        raise ValueError("a checkpoint says how far files were read, but these data are in memory. Leave it out.")
    return [os.fspath(each) for each in given]


def _require_known(options: Mapping[str, Any]) -> None:
    """TypeError for an option that does not exist, with the one that may be meant."""
    from inspect import signature  # noqa: PLC0415 - seldom needed

    known = [*(set(signature(train).parameters) - {"data", "features"}), *FeatureOptions.__annotations__]
    for name in options:
        if name not in known:
            raise TypeError(
                f"odca.train has no option {name!r}. {did_you_mean(name, known) or 'See help(odca.train).'}"
            )


def _interval(every: str | float) -> Interval:
    try:
        return Interval.of(every)
    except ValueError as error:
        raise ValueError(f"every {error}.") from error
