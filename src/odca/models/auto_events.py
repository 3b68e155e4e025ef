"""Events as dictionaries for the automatic learner: names instead of columns."""

import json
import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Self, TypeAlias, Unpack

import numpy as np
import numpy.typing as npt

from odca import _core
from odca.features.history import LABEL, lines_of
from odca.features.records import as_events
from odca.features.spec import OLDER, FeatureOptions, Features, feature_names
from odca.io import container, model_file
from odca.models.auto import STEADY, AutoLearner, Task
from odca.models.auto_report import AutoReport, product_name
from odca.models.events import EventLearner
from odca.models.named_events import Event, NamedEvents, Names, listed_past, with_prefix, without_prefix
from odca.models.options import Answer, Products, is_steady
from odca.models.pending import Id, PendingEvents, checked_id
from odca.validation.arrays import Array, as_columns, as_times
from odca.validation.numbers import as_float, whole

Asked: TypeAlias = tuple[Array, int]
"""The predictions of all experts for an event, from when it was asked for: see `odca.models.auto.Asked`."""

_EXPERTS = [expert.key for expert in _core.experts()]

PREVIOUS_LABELS = "previous labels"
"""The key, among contributions, of the experts that use only the previous labels."""


class AutoEvents(NamedEvents[tuple[Asked | None, Array | None]]):
    """An `AutoLearner` of events that are dictionaries, {"price": 3.2, "country": "NZ", "new": True}.

    Events are read like those of an `EventLearner`.

    task, classes, products, loss: options of the `AutoLearner`, which can be read as `learner`.
    bits, missing, keep, ignore, interactions, text, ngrams, chars, sublinear, tf_idf, unit_norm, text_length,
        categorical, numeric, dates, booleans, na_values,
        day_first, trend, find_dates, history, history_keys: options of `Features`, which
        describe the features of an event.
    max_pending: the largest number of events that wait for their labels; the oldest is dropped when there are more.

    Any split of a stream into calls gives the same model, to the bit. A call that raises an error leaves model and names unchanged.
    Several threads may use one model.
    """

    kind = "AutoEvents"

    def __init__(
        self,
        task: Task,
        *,
        classes: int = 2,
        products: Products = "auto",
        loss: object = None,
        max_pending: int = 10_000,
        **options: Unpack[FeatureOptions],
    ) -> None:
        learner = AutoLearner(task, classes=classes, products=products, loss=loss)
        self._assemble(learner, Features(**options), max_pending)  # type: ignore[arg-type] # it makes tuples of them

    def _assemble(self, learner: AutoLearner, spec: Features, max_pending: int) -> None:
        self.learner, self.spec = learner, spec
        self.require_history_of(learner.classes if learner.task == "classes" else 0)
        self._core: _core.AutoEventCore = _core.AutoEventCore(learner.native, spec.native())
        self._pending = PendingEvents(whole(max_pending, "max_pending"))

    @property
    def native(self) -> _core.AutoEventCore:
        """The native model of events, for code that builds on it."""
        return self._core

    def learn_one(self, x: Event, y: float, *, weight: float = 1.0, time: Any = None) -> Array:
        """Learn from one event; return its prediction from before, in the form of `AutoLearner.learn`."""
        return self._learn_one(x, y, weight, time, None, None)

    def _learn_one(
        self, x: Event, y: float, weight: float, time: Any, asked: Asked | None, given: Array | None
    ) -> Array:
        weights = None if weight == 1.0 else np.array([as_float(weight, "weight")])
        times = None if time is None else as_times([time], 1)
        answer: Array = self._learn([x], np.array([as_float(y, "y")]), weights, times, asked, given)[0]
        return answer

    def predict_one(
        self,
        x: Event,
        *,
        answer: Answer = "live",
        id: str | int | None = None,  # noqa: A002
        time: Any = None,
    ) -> Array:
        """The prediction for one event: see `AutoLearner.predict`.

        With `id`, the event and the predictions of the experts are kept until `learn_label(id, y)`. They replace an event with the same
        id. The time matters only to `history`.
        """
        if id is None:
            predicted: Array = self.predict_many([x], answer=answer, time=None if time is None else [time])[0]
            return predicted
        steady, checked = is_steady(answer), checked_id(id)
        times = None if time is None else as_times([time], 1)
        answers, asked = self._core.ask([x], times)
        past = self._past_of(x, math.nan if times is None else float(times[0]))
        self._pending.keep(checked, (self._core.plain(x), (asked, past)))
        chosen: Array = self.learner.shaped(asked[0][:, :, STEADY] if steady else answers)[0]
        return chosen

    def learn_label(self, id: str | int, y: float, *, weight: float = 1.0, time: Any = None) -> Array:  # noqa: A002
        """Learn from the event that `predict_one` has kept under `id`; return the prediction that it has now, before learning.

        The event is then no longer kept, unless there was an error. `AutoLearner.ask` explains what is learned from late labels.
        """
        with self._pending.labelled(id) as (event, (asked, given)):
            return self._learn_one(event, y, weight, time, asked, given)

    def learn_many(
        self,
        events: Iterable[Event],
        y: npt.ArrayLike,
        *,
        sample_weight: npt.ArrayLike | None = None,
        time: npt.ArrayLike | None = None,
    ) -> Array:
        """Learn from events in order, like `learn_one`; return the predictions, each from before its event was learned.

        `events` are dictionaries, or a data frame.
        """
        rows = as_events(events)
        labels = np.ascontiguousarray(as_columns(y, "y", len(rows), 1)[:, 0])
        weights = None if sample_weight is None else as_columns(sample_weight, "sample_weight", len(rows), 1)[:, 0]
        return self._learn(
            rows,
            labels,
            None if weights is None else np.ascontiguousarray(weights),
            None if time is None else as_times(time, len(rows)),
            None,
            None,
        )

    def predict_many(
        self, events: Iterable[Event], *, answer: Answer = "live", time: npt.ArrayLike | None = None
    ) -> Array:
        """The predictions for many events. Neither the model nor the names change. The time matters only to `history`."""
        rows = as_events(events)
        times = None if time is None else as_times(time, len(rows))
        return self.learner.shaped(self._core.predict_many(rows, steady=is_steady(answer), time=times))

    def explain_one(self, x: Event, *, answer: Answer = "live", time: Any = None) -> dict[str, Any]:
        """What each feature of an event adds to its prediction: a number, or one number for each of several classes. They sum to it.

        The keys are those of `EventLearner.explain_one`, with "" for the intercept. The live answer is not linear: it is explained by a
        linear approximation near the event (docs/auto.md has the formula), and the contribution of the experts that use only the
        previous labels has the key "previous labels". A product of two features has a key of its own, "price × area". For several classes, the live answer consists of log probabilities, the steady
        one of logits.
        """
        moment = math.nan if time is None else float(as_times([time], 1)[0])
        keys, parts, labels, pairs, of_products = self._core.explain(x, steady=is_steady(answer), time=moment)
        values = self.learner.shaped(parts)
        named = dict(zip(feature_names(keys), values.tolist() if values.ndim == 1 else list(values), strict=True))
        names = self._feature_names() if len(pairs) else []
        for pair, part in zip(pairs.tolist(), self.learner.shaped(of_products), strict=True):
            named[product_name(pair, names)] = part
        if answer == "live":
            named[PREVIOUS_LABELS] = named.get(PREVIOUS_LABELS, 0.0) + self.learner.shaped(labels[None])[0]
        return named

    def report(self) -> AutoReport:
        """Which experts have the most weight now: see `AutoLearner.report`. Products have the names of their features."""
        return self.learner.report(self._feature_names())

    def _feature_names(self) -> list[str]:
        """The names of features by index; none if they are hashed."""
        return feature_names(self._names().listed())

    def freeze(self, *, mirrored: bool = False) -> EventLearner:
        """The steady answer as a plain linear model of dictionaries: see `AutoLearner.freeze`.

        mirrored: for the first of two classes instead of the second.
        """

        def options() -> tuple[dict[str, Any], dict[str, Any]]:
            features = len(self._names().ends) if self.spec.bits is None else 2**self.spec.bits
            return self.learner.frozen_options(features=features, mirrored=mirrored), self._core.past()

        (frozen, past), names = self._while_still(options)
        return EventLearner.of({**frozen, **self.spec.as_options()}, None, names, past)

    def require_history_of(self, classes: int) -> None:
        """ValueError if history would need numbers for so many classes."""
        if classes > 2 and any(line.source == LABEL for line in lines_of(self.spec.history)):
            raise ValueError(
                "the history of the label needs numbers, or two classes. Leave y out of history, or predict two classes."
            )

    def _learn(
        self,
        rows: list[Any],
        y: Array,
        weight: Array | None,
        time: Array | None,
        asked: Asked | None,
        given: Array | None,
    ) -> Array:
        return self.learner.shaped(self._core.learn_many(rows, y, weight, time, asked, given))

    # State

    def copy(self) -> Self:
        """Return an independent learner in the same state."""
        return self.restored(self.saved())

    def saved(self) -> model_file.ModelFile:
        """The contents of the learner's model file."""
        # The waiting events first: the experts' predictions of them must not be newer than the learner.
        (pending, learner, past), names = self._while_still(
            lambda: (self._saved_pending(), self.learner.saved(), self._core.past())
        )
        options = self.spec.as_options() | {"max_pending": self._pending.most}
        return model_file.ModelFile(
            self.kind, options, names.as_arrays() | pending | with_prefix(past), {"learner": learner}
        )

    @classmethod
    def restored(cls, saved: model_file.ModelFile, loss: object = None) -> Self:
        """Return the learner of a model file. ValueError (or a similar error) if it is invalid."""
        del loss
        learner = AutoLearner.restored(saved.parts["learner"])
        options = {"max_pending": 10_000, **OLDER} | saved.options  # older files have none, and no pending events
        max_pending = options.pop("max_pending")
        spec, names = Features(**options), Names.from_arrays(saved.arrays)
        most = len(names.ends) if spec.bits is None else 2**spec.bits
        if learner.n_features > most or (spec.bits is not None and len(names.ends)):
            raise ValueError("its names do not match its features.")
        events = cls.__new__(cls)
        events._assemble(learner, spec, max_pending)  # noqa: SLF001 - of its own class
        events._core.restore(*names)  # noqa: SLF001 - the same
        events._restore_past(without_prefix(saved.arrays))  # noqa: SLF001 - the same
        if "pending" in saved.arrays:
            events._restore_pending(saved.arrays)  # noqa: SLF001 - the same
        return events

    def _saved_pending(self) -> dict[str, npt.NDArray[Any]]:
        waiting, dropped = self._pending.listed()
        events = [
            [id, event, *_shape_of(asked), *listed_past(past)]
            for id, (event, (asked, past)) in waiting  # noqa: A001
        ]
        about = {"experts": _EXPERTS, "events": events}
        said = [asked[0].ravel() for _, (_, (asked, _)) in waiting if asked is not None]
        return {
            "pending": np.frombuffer(json.dumps(about, allow_nan=False).encode(), np.uint8),
            "pending_said": np.concatenate([*said, np.zeros(0)]),
            "dropped": np.array([dropped], np.int64),
        }

    def _restore_pending(self, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        about = container.from_json(container.vector(arrays, "pending", np.uint8).tobytes())
        width, said = len(about["experts"]) + 2, container.vector(arrays, "pending_said", np.float64)
        restored: list[tuple[Id, tuple[dict[str, Any], tuple[Asked | None, Array | None]]]] = []
        begin = 0
        for id, event, heads, after, *past in about["events"]:  # noqa: A001
            if not isinstance(event, dict) or begin + whole(heads, "heads", least=0) * width > len(said):
                raise ValueError("a pending event is not a dictionary, or its predictions are missing.")
            end = begin + heads * width
            asked = None
            if heads and about["experts"] == _EXPERTS:  # predictions of other experts are of no use
                asked = (said[begin:end].reshape(1, heads, width), whole(after, "after", least=0, most=2**53))
                self.learner.native.require_fitting(asked)
            restored.append((id, (self._core.plain(event), (asked, self._past_from(past)))))
            begin = end
        if begin != len(said):
            raise ValueError("its events that wait for labels are inconsistent.")
        self._pending.restore(restored, int(container.vector(arrays, "dropped", np.int64).item()))

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return type(self).restored, (self.saved(),)


def _shape_of(asked: Asked | None) -> tuple[int, int]:
    """The number of heads, and of events that had been learned."""
    return (0, 0) if asked is None else (asked[0].shape[1], asked[1])
