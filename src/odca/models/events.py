"""Events as dictionaries: names instead of columns, one event at a time or many, and labels that come later."""

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields
from typing import Any, Literal, Required, Self, TypeAlias, Unpack

import numpy as np
import numpy.typing as npt

from odca import _core
from odca.features import spec
from odca.features.records import as_events
from odca.features.spec import OLDER, FeatureOptions, Features, feature_names
from odca.io import container, model_file
from odca.learner import Learner
from odca.learner_file import filed, saved_options
from odca.learner_options import Numbers
from odca.models.auto_report import product_name
from odca.models.named_events import Event, NamedEvents, Names, listed_past, with_prefix, without_prefix
from odca.models.pending import Id, PendingEvents, checked_id
from odca.penalties import KL, Penalty
from odca.validation.arrays import Array, as_columns, as_floats, as_times
from odca.validation.numbers import whole
from odca.windows import Window

Missing: TypeAlias = spec.Missing

INTERCEPT = ""
"""The key of the intercept among weights and contributions. No feature has it, because names are not empty."""
_PREFIX = "events."
_FEATURES = {each.name for each in fields(Features)}


Waiting: TypeAlias = tuple[float, float | None, Array | None]
"""The offset of an event, and from when its prediction was asked for its margin, of a single lane, and its history, if it has one."""


class EventOptions(FeatureOptions, total=False):
    """The options of `Features`, and those of `Learner` that an `EventLearner` passes on; see there."""

    loss: Required[object]
    penalty: Penalty
    rho: Numbers | Literal["auto"]
    smoothing: float
    prior_strength: Numbers
    prior_intercept: Numbers
    intercept_penalty: float
    lanes: int | None
    n_features: int | None


class EventLearner(NamedEvents[Waiting], _core.OneByOne):
    """Learns from events that are dictionaries, {"price": 3.2, "country": "NZ", "new": True}. New names may appear at any time.

    A number (or True, False) is a feature of its name. A string is a category: the name and the string together are a
    feature of value 1. The month, weekday and hour of a date (a datetime, or a string in one of the fields `dates`) are categories.
    Nested dictionaries and lists mean what they mean in JSON: {"user": {"age": 31}, "tags": ["a", "b"]} has the features
    "user.age", "tags=a" and "tags=b". Names may be whole numbers, which are treated as text.

    loss, penalty, rho, window, smoothing, prior_strength, prior_intercept, intercept_penalty, lanes: options of the `Learner` that
        does the learning. It can be read as `learner`; do not train it directly, because it knows no names. By default, window is
        "auto".
    n_features: with KL, the largest number of names.
    intercept: adds a constant feature.
    scale: standardises features; "auto" does so unless the penalty is KL, because the values of events have units.
    bits, missing, keep, ignore, interactions, text, ngrams, chars, sublinear, tf_idf, unit_norm, text_length,
        categorical, numeric, dates, booleans, na_values,
        day_first, trend, find_dates, history, history_keys: options of `Features`, which
        describe the features of an event. The same events have the same features if they come from a file. With `bits`, memory is
        fixed: names are hashed (in the same way on every machine) instead of stored, and names with the same hash share a weight.
    max_pending: the largest number of events that wait for their labels; the oldest is dropped when there are more.

    The model is the one that `Learner` learns from the same numbers as a sparse array, with one column per feature in order of
    appearance: scaled features are not centred. The time per event depends on the number of its names, not on how many the model
    knows. Any split of a stream into calls gives the same model, to the bit. A call that raises an error leaves model and names
    unchanged. Several threads may use one learner; `copy`, `save` and `==` wait for the end of a `learn_many` in progress.

    >>> from odca import LogLoss
    >>> model = EventLearner(loss=LogLoss(), rho=0.01)
    >>> for price, country, sold in [(1.0, "NZ", 1), (3.0, "NZ", 0), (1.5, "FR", 1), (4.0, "FR", 0)] * 50:
    ...     margin = model.learn_one({"price": price, "country": country}, sold)
    >>> model.predict_one({"price": 1.0, "country": "NZ"}) > 0 > model.predict_one({"price": 4.0, "country": "IT"})
    True
    >>> sorted(model.weights())
    ['', 'country=FR', 'country=NZ', 'price']
    """

    kind = "EventLearner"

    def __init__(
        self,
        *,
        window: Window | Literal["auto"] = "auto",
        intercept: bool = True,
        scale: bool | Literal["auto"] = "auto",
        max_pending: int = 10_000,
        **options: Unpack[EventOptions],
    ) -> None:
        _require_names(options)
        if "loss" not in options:
            raise TypeError(
                "EventLearner needs a loss: for two classes loss=LogLoss(), for numbers loss=SquaredError()."
            )
        self._begin({**options, "window": window}, intercept=intercept, scale=scale, max_pending=max_pending)

    def _begin(
        self,
        options: Mapping[str, Any],
        *,
        intercept: bool = True,
        scale: bool | Literal["auto"] = "auto",
        max_pending: int = 10_000,
    ) -> None:
        given: dict[str, Any] = dict(options)
        features = Features(**{name: given.pop(name) for name in _FEATURES & set(given)})
        own = {**features.as_options(), "max_pending": whole(max_pending, "max_pending")}
        scaled = not isinstance(given.get("penalty"), KL) if scale == "auto" else scale
        self._assemble(Learner(intercept=intercept, scale=scaled, **given), own)
        if features.bits is not None and self.learner.fixed_features:
            raise ValueError("KL has a fixed number of features, which hashing does not keep to. Leave bits out.")

    def _assemble(self, learner: Learner, own: dict[str, Any]) -> None:
        self._learner = learner
        self._own = own
        self._single = learner.is_single
        features = Features(**{name: own[name] for name in _FEATURES})
        native = features.native()
        self._first_names = 0 if features.bits is not None else len(native.first_names())
        self._core: _core.EventCore = _core.EventCore(learner.native, self._single, learner.smoothing > 0.0, native)
        super().__init__(self._core)
        self._pending = PendingEvents(own["max_pending"])

    @property
    def native(self) -> _core.EventCore:
        """The native model of events, for code that builds on it."""
        return self._core

    @property
    def options_of_features(self) -> dict[str, Any]:
        """The options of `Features`, and max_pending."""
        return dict(self._own)

    @property
    def learner(self) -> Learner:
        """The learner of the features, whose columns are `features`, in that order."""
        return self._learner

    # One event: `learn_one` and `predict_one` are native, and call _moment, _labels and _keep if necessary.

    def learn_label(self, id: str | int, y: Any, *, weight: float = 1.0, time: Any = None) -> Any:  # noqa: A002
        """Learn from the event that `predict_one` has kept under `id`; return the margin that it has now, before learning.

        The event is then no longer kept, unless there was an error.
        """
        with self._pending.labelled(id) as (event, (offset, said, given)):
            return self.learn_late(event, y, weight, offset, time, said, given)

    def with_waiting_of(self, other: "EventLearner") -> Self:
        """Share the events that wait for labels with the learner that this one replaces; return this one."""
        self._pending = other._pending  # noqa: SLF001 - of its own class
        return self

    # Many events

    def learn_many(
        self,
        events: Iterable[Event],
        y: npt.ArrayLike,
        *,
        sample_weight: npt.ArrayLike | None = None,
        offset: npt.ArrayLike | None = None,
        time: npt.ArrayLike | None = None,
    ) -> Array:
        """Learn from events in order, like `learn_one`; return the margins, each from before its event was learned.

        `events` are dictionaries, or a data frame (pandas, polars) whose columns are the names.
        """
        rows = as_events(events)
        lanes = self.learner.lanes
        if time is None and self.learner.window.uses_time:
            raise ValueError(f"{self.learner.window!r} counts in event time; give learn_many the time of every event.")
        margins = self._core.learn_many(
            rows,
            as_columns(y, "y", len(rows), lanes),
            None if sample_weight is None else as_columns(sample_weight, "sample_weight", len(rows), lanes),
            None if offset is None else as_columns(offset, "offset", len(rows), lanes),
            None if time is None else as_times(time, len(rows)),
        )
        return self._per_event(np.asarray(margins))

    def predict_many(
        self, events: Iterable[Event], *, offset: npt.ArrayLike | None = None, time: npt.ArrayLike | None = None
    ) -> Array:
        """The margins of many events. Their time matters only to `history`, which sees the fields of the events before."""
        rows = as_events(events)
        moved = None if offset is None else as_columns(offset, "offset", len(rows), self.learner.lanes)
        times = None if time is None else as_times(time, len(rows))
        return self._per_event(np.asarray(self._core.predict_many(rows, moved, times)))

    # What was learned

    def explain_one(self, x: Event, *, time: Any = None) -> dict[str, Any]:
        """What each feature of an event adds to its margin: a number, or one number per lane. They sum to the margin.

        The keys are the names of `odca.features`: "price", "country=NZ", "price is missing", "a * b"; and "" for the intercept.
        A product of two features has a key of its own, "price × area". Features that the model does not know add 0. An offset is not included. The time matters only to `history`.
        """
        keys, parts, of_products = self._core.explain(x, math.nan if time is None else self._moment(time))
        added = self._named_products(of_products)
        return self._named(keys, parts) | {name: part for name, part in added.items() if np.any(part)}

    def weights(self) -> dict[str, Any]:
        """The weights that predictions use, by name, with the keys of `explain_one`."""
        if self._own["bits"] is not None:
            raise ValueError("hashed features have no names. Use learner.coef, or explain_one for an event.")
        first = [INTERCEPT.encode()] if self.learner.has_intercept else []
        keys = [
            *first,
            *self._names().listed(),
        ]  # read before the weights, which may then have more entries but not fewer
        weights = self._named(keys, self.learner.weights_by_feature(smoothed=self.learner.smoothing > 0.0))
        return weights | self._named_products(np.array([each.weights for each in self.learner.products]))

    def _named(self, keys: Sequence[bytes], rows: Array) -> dict[str, Any]:
        values = rows[:, 0].tolist() if self._single else list(rows)
        return dict(zip(feature_names(keys), values, strict=False))

    def _named_products(self, rows: Array) -> dict[str, Any]:
        products = self.learner.products
        if not products:
            return {}
        names = feature_names(self._names().listed())
        values = rows[:, 0].tolist() if self._single else list(rows)
        return dict(zip((product_name(each.features, names) for each in products), values, strict=True))

    def with_lanes(self, sources: Sequence[int], mirrored: Sequence[bool] | None = None) -> Self:
        """Return a learner with other lanes; see `Learner.with_lanes`."""
        return self._twin(lambda: self.learner.with_lanes(sources, mirrored))

    # State

    def copy(self) -> Self:
        """Return an independent learner in the same state, including the events that wait for labels."""
        return self._twin(self.learner.copy)

    def _twin(self, make: Callable[[], Learner]) -> Self:
        (learner, shelf, past), names = self._while_still(lambda: (make(), self._shelved(), self._core.past()))
        twin = type(self).__new__(type(self))
        twin._assemble(learner, self._own)  # noqa: SLF001 - of its own class
        twin._core.restore(*names)  # noqa: SLF001 - the same
        twin._restore_past(past)  # noqa: SLF001 - the same
        twin._shelve(*shelf)  # noqa: SLF001 - the same
        return twin

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, EventLearner):
            return NotImplemented
        return self._own == other._own and self._compared() == other._compared()

    __hash__ = None  # type: ignore[assignment] # a learner changes

    def saved(self) -> model_file.ModelFile:
        """The contents of the learner's model file."""
        ((state, (pending, dropped), past), features), names = self._while_still(
            lambda: (self._state_and_shelf(), self.learner.n_features)
        )
        self._require_names(names, features)
        arrays = state | {
            f"{_PREFIX}{name}": array
            for name, array in {
                **names.as_arrays(),
                **with_prefix(past),
                "pending": np.frombuffer(json.dumps(pending, allow_nan=False).encode(), np.uint8),
                "dropped": np.array([dropped], np.int64),
            }.items()
        }
        options, arrays = filed(self.learner.options, arrays)
        return model_file.ModelFile(self.kind, options | self._own, arrays)

    @classmethod
    def restored(cls, saved: model_file.ModelFile, loss: object = None) -> Self:
        """Return the learner of a model file. ValueError (or a similar error) if it is invalid."""
        arrays = {name: array for name, array in saved.arrays.items() if not name.startswith(_PREFIX)}
        ours = {name.removeprefix(_PREFIX): array for name, array in saved.arrays.items() if name not in arrays}
        _require_names(saved.options)
        options, state = saved_options({**OLDER, **saved.options}, arrays, loss)
        learner = cls.of(options, state, Names.from_arrays(ours), without_prefix(ours))
        pending = container.from_json(container.vector(ours, "pending", np.uint8).tobytes())
        learner._shelve(pending, int(container.vector(ours, "dropped", np.int64).item()))  # noqa: SLF001 - of its own class
        return learner

    @classmethod
    def of(
        cls,
        options: Mapping[str, Any],
        state: Mapping[str, npt.NDArray[Any]] | None,
        names: "Names",
        past: Mapping[str, npt.NDArray[Any]],
    ) -> Self:
        """A learner with these options, state, names and history. A prior mean has the order of the names."""
        learner = cls.__new__(cls)
        learner._begin(**_split(options))  # noqa: SLF001 - of its own class
        if state is not None:
            learner.learner.set_state(state)
        learner._restore_names(names)  # noqa: SLF001 - the same
        learner._restore_past(past)  # noqa: SLF001 - the same
        return learner

    def __getstate__(self) -> dict[str, Any]:
        (state, shelf, past), names = self._while_still(self._state_and_shelf)
        options = self.learner.options | self._own
        return {"options": options, "state": state, "names": tuple(names), "shelf": shelf, "past": past}

    def __setstate__(self, saved: dict[str, Any]) -> None:
        self._begin(**_split(saved["options"]))
        self.learner.set_state(saved["state"])
        self._restore_names(Names(*saved["names"]))
        self._restore_past(saved.get("past", {}))
        self._shelve(*saved["shelf"])

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self.learner!r}, {self.pending} events wait for labels>"

    # Helpers

    def _per_event(self, array: Array) -> Array:
        return array[:, 0] if self._single else array

    @staticmethod
    def _moment(time: object) -> float:
        return float(as_times([time], 1)[0])

    @staticmethod
    def _labels(y: object) -> Array:
        return np.atleast_1d(as_floats(y, "y"))

    def _compared(self) -> tuple[object, ...]:
        (learner, shelf, past), names = self._while_still(
            lambda: (self.learner.copy(), self._shelved(), self._core.past())
        )
        return learner, names.listed(), *shelf, {name: array.tolist() for name, array in past.items()}

    def _state_and_shelf(self) -> tuple[dict[str, npt.NDArray[Any]], tuple[list[list[Any]], int], dict[str, Any]]:
        return self.learner.get_state(), self._shelved(), self._core.past()

    def _require_names(self, names: "Names", count: int) -> None:
        """ValueError if so many features cannot have these names."""
        bits, fixed, named = self._own["bits"], self.learner.fixed_features, len(names.ends)
        fits = count == named or (not count and named == self._first_names)
        if bits is not None:
            fits = not named and count in {0, 2**bits}
        elif fixed:
            fits = named <= fixed
        if not fits:
            raise ValueError(
                f"its {named} names do not match its {count} features. Was its learner trained directly, without names?"
            )

    def _restore_names(self, names: "Names") -> None:
        self._require_names(names, self.learner.n_features)
        self._core.restore(*names)

    def _keep(self, id: object, x: Event, offset: float, margin: Any, time: float) -> None:  # noqa: A002
        kept = (float(offset), margin if self._single else None, self._past_of(x, time))
        self._pending.keep(checked_id(id), (self._core.plain(x), kept))

    def _shelved(self) -> tuple[list[list[Any]], int]:
        """The waiting events, oldest first, as [id, event, offset, margin] and their history, if any; and the number of dropped ones."""
        waiting, dropped = self._pending.listed()
        events = [
            [id, event, offset, margin, *listed_past(given)]
            for id, (event, (offset, margin, given)) in waiting  # noqa: A001
        ]
        return events, dropped

    def _shelve(self, pending: list[list[Any]], dropped: int) -> None:
        """Restore what `_shelved` returned. ValueError if it is invalid."""
        restored: list[tuple[Id, tuple[dict[str, Any], Waiting]]] = []
        for id, event, offset, *rest in pending:  # noqa: A001 - older files have no margins
            margin = rest[0] if rest else None
            if not isinstance(event, dict) or not all(map(math.isfinite, (offset, margin or 0.0))):
                raise ValueError("a pending event is not a dictionary, or its offset or margin is not finite.")
            restored.append((id, (self._core.plain(event), (offset, margin, self._past_from(rest[1:])))))
        self._pending.restore(restored, dropped)


def _require_names(options: Mapping[str, Any]) -> None:
    for name in ("prior_mean", "penalty_weights", "products"):
        if options.get(name):
            raise ValueError(f"{name} has one number per column, but events have names. Leave it out.")


def _split(options: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of `_begin`: the options of `EventLearner` itself, and the others."""
    own = {name: options[name] for name in ("intercept", "scale", "max_pending") if name in options}
    return {"options": {name: value for name, value in options.items() if name not in own}, **own}
