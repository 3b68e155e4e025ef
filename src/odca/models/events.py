"""Events as dictionaries: names instead of columns, one event at a time or many, labels that come later."""

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields
from itertools import pairwise
from typing import Any, Literal, NamedTuple, Required, Self, TypeAlias, Unpack

import numpy as np
import numpy.typing as npt

from odca import _core
from odca.features import spec
from odca.features.records import as_events
from odca.features.spec import (
    CATEGORY,
    MISSING,
    PRODUCT,
    FeatureOptions,
    Features,
    feature_name,
    feature_names,
    feature_parts,
)
from odca.io import container, model_file
from odca.learner import Learner, filed, saved_options
from odca.learner_options import Numbers
from odca.models.pending import PendingEvents, checked_id
from odca.penalties import KL, Penalty
from odca.validation.arrays import Array, as_columns, as_floats, as_times
from odca.validation.numbers import whole
from odca.windows import Window

Event: TypeAlias = Mapping[Any, Any]
Feature: TypeAlias = str | tuple[str, str | None]
"""A number's name, a category's name and string, or a name and None where its value is missing."""

Missing: TypeAlias = spec.Missing

INTERCEPT = ""
"""The key of the intercept among weights and contributions. No feature has it: a name cannot be empty."""
_PREFIX = "events."
_FEATURES = {each.name for each in fields(Features)}


class EventOptions(FeatureOptions, total=False):
    """The options of `Features`, and those of `Learner` that an `EventLearner` passes on; see there."""

    loss: Required[object]
    penalty: Penalty
    rho: Numbers | Literal["auto"]
    window: Window
    smoothing: float
    prior_strength: Numbers
    prior_intercept: Numbers
    intercept_penalty: float
    lanes: int | None
    n_features: int | None


class EventLearner(model_file.Savable, _core.OneByOne):
    """Learns from events that are dictionaries, {"price": 3.2, "country": "NZ", "new": True}, of any names at any time.

    A number (or True, False) is a feature of its name. A string is a category: the name and the string together are a
    feature of value 1. Of a date (a datetime, or a string in a field of `dates`) month, weekday and hour are categories.
    Nested dictionaries and lists mean what they mean in JSON: {"user": {"age": 31}, "tags": ["a", "b"]} has the features
    "user.age", "tags=a" and "tags=b". Names may be whole numbers, which are taken as text.

    loss, penalty, rho, window, smoothing, prior_strength, prior_intercept, intercept_penalty, lanes: of the `Learner`, which
        does the learning and is there to be read as `learner`. (What is learned through it, past the names, has none.)
    n_features: for KL, how many names there is room for.
    intercept: adds a constant feature.
    scale: standardises features; "auto" does unless the penalty is KL, as each value of an event has a unit of its own.
    bits, missing, keep, ignore, interactions, text, ngrams, categorical, numeric, dates, booleans: of the `Features`, which say
        what becomes a feature. The same events give the same features from a file. With bits memory is fixed: names are hashed
        (on every machine alike) instead of kept, and those that meet share a weight.
    max_pending: how many events wait for their labels at most; the oldest goes when another comes.

    The model is the one that `Learner` would learn from the same numbers as a sparse array, one column for each feature in
    the order of appearance: scaled features are not centred. An event costs time in proportion to its names, however many were ever seen. Any split of a
    stream into calls gives the same model, to the bit; a call that raises leaves model and names as they were. Several
    threads may use one learner; `copy`, `save` and `==` wait until a `learn_many` that is under way has come to its end.

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
        intercept: bool = True,
        scale: bool | Literal["auto"] = "auto",
        max_pending: int = 10_000,
        **options: Unpack[EventOptions],
    ) -> None:
        _require_names(options)
        self._begin(options, intercept=intercept, scale=scale, max_pending=max_pending)

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
        self._core = _core.EventCore(learner.native, self._single, learner.smoothing > 0.0, features.native())
        super().__init__(self._core)
        self._pending: PendingEvents[tuple[dict[str, Any], float]] = PendingEvents(own["max_pending"])  # event, offset

    @property
    def native(self) -> _core.EventCore:
        """The native model of events, for code that is built on it."""
        return self._core

    @property
    def options_of_features(self) -> dict[str, Any]:
        """What becomes a feature, and max_pending."""
        return dict(self._own)

    @property
    def learner(self) -> Learner:
        """The learner behind the names: its columns are `features`, in that order."""
        return self._learner

    # One event: `learn_one` and `predict_one` are native, and call _moment, _labels and _keep where they are needed.

    def learn_label(self, id: str | int, y: Any, *, weight: float = 1.0, time: Any = None) -> Any:  # noqa: A002
        """Learn from the event that `predict_one` kept under `id`; return its margin from before, by the model of now.

        The event is then no longer kept. If the label is refused, it still is.
        """
        with self._pending.labelled(id) as (event, offset):
            return self.learn_one(event, y, weight=weight, offset=offset, time=time)

    def waiting(self, id: str | int) -> Event:  # noqa: A002
        """The event that waits for its label under `id`."""
        return dict(self._pending.waiting(id)[0])

    def with_waiting_of(self, other: "EventLearner") -> Self:
        """Take over the events that wait for labels in another learner; return this one."""
        self._shelve(*other._shelved())  # noqa: SLF001 - of its own class
        return self

    @property
    def pending(self) -> int:
        """How many events wait for their labels."""
        return len(self._pending)

    @property
    def dropped(self) -> int:
        """How many events were dropped unlabelled, because more than max_pending waited."""
        return self._pending.dropped

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
        """Learn from events in order, as by `learn_one`; return each event's margin from before it was learned.

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

    def predict_many(self, events: Iterable[Event], *, offset: npt.ArrayLike | None = None) -> Array:
        """The margins of many events."""
        rows = as_events(events)
        moved = None if offset is None else as_columns(offset, "offset", len(rows), self.learner.lanes)
        return self._per_event(np.asarray(self._core.predict_many(rows, moved)))

    # What was learned

    def explain_one(self, x: Event) -> dict[str, Any]:
        """What each feature of an event adds to its margin: a number, or one for each lane. They sum to the margin.

        The keys are the names of `odca.features`: "price", "country=NZ", "price is missing", "a * b"; and "" for the intercept.
        Features that the model does not know add 0. An offset is not among them.
        """
        keys, parts = self._core.explain(x)
        return self._named(keys, parts)

    def weights(self) -> dict[str, Any]:
        """The weights that predictions use, by name; the keys are those of `explain_one`."""
        if self._own["bits"] is not None:
            raise ValueError("hashed features have no names. Look at learner.coef, or at explain_one for an event.")
        first = [INTERCEPT.encode()] if self.learner.has_intercept else []
        keys = [*first, *self._names().listed()]  # before the weights: those of newer names then come after their end
        return self._named(keys, self.learner.weights_by_feature(smoothed=self.learner.smoothing > 0.0))

    @property
    def features(self) -> list[Feature]:
        """The features by index: a name, or a name and a string, or a name and None for a missing value."""
        return [as_feature(key) for key in self._names().listed()]

    def _names(self) -> "Names":
        return Names(self._core.packed(), self._core.ends())

    def _named(self, keys: Sequence[bytes], rows: Array) -> dict[str, Any]:
        values = rows[:, 0].tolist() if self._single else list(rows)
        return dict(zip(feature_names(keys), values, strict=False))

    def with_lanes(self, sources: Sequence[int], mirrored: Sequence[bool] | None = None) -> Self:
        """Return a learner with other lanes; see `Learner.with_lanes`."""
        return self._twin(lambda: self.learner.with_lanes(sources, mirrored))

    # State

    def copy(self) -> Self:
        """Return an independent learner in the same state, the events that wait for labels among it."""
        return self._twin(self.learner.copy)

    def _twin(self, make: Callable[[], Learner]) -> Self:
        learner, names = self._while_still(make)
        twin = type(self).__new__(type(self))
        twin._assemble(learner, self._own)  # noqa: SLF001 - of its own class
        twin._core.restore(*names)  # noqa: SLF001 - the same
        twin._shelve(*self._shelved())  # noqa: SLF001 - the same
        return twin

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, EventLearner):
            return NotImplemented
        return self._own == other._own and self._compared() == other._compared()

    __hash__ = None  # type: ignore[assignment] # a learner changes

    def saved(self) -> model_file.ModelFile:
        """What a file holds of the learner."""
        state, names = self._while_still(self.learner.get_state)
        self._require_names(names)
        pending, dropped = self._shelved()
        arrays = state | {
            f"{_PREFIX}{name}": array
            for name, array in {
                **names.as_arrays(),
                "pending": np.frombuffer(json.dumps(pending, allow_nan=False).encode(), np.uint8),
                "dropped": np.array([dropped], np.int64),
            }.items()
        }
        options, arrays = filed(self.learner.options, arrays)
        return model_file.ModelFile(self.kind, options | self._own, arrays)

    @classmethod
    def restored(cls, saved: model_file.ModelFile, loss: object = None) -> Self:
        """Return the learner that a file holds. ValueError (or the like) if it holds none."""
        arrays = {name: array for name, array in saved.arrays.items() if not name.startswith(_PREFIX)}
        ours = {name.removeprefix(_PREFIX): array for name, array in saved.arrays.items() if name not in arrays}
        _require_names(saved.options)
        options, state = saved_options(saved.options, arrays, loss)
        learner = cls.of(options, state, Names.from_arrays(ours))
        pending = container.from_json(ours["pending"].astype(np.uint8).tobytes())
        learner._shelve(pending, int(ours["dropped"].item()))  # noqa: SLF001 - of its own class
        return learner

    @classmethod
    def of(cls, options: Mapping[str, Any], state: Mapping[str, npt.NDArray[Any]] | None, names: "Names") -> Self:
        """A learner with these options, which may have a prior mean in the order of the names, and this state."""
        learner = cls.__new__(cls)
        learner._begin(**_split(options))  # noqa: SLF001 - of its own class
        if state is not None:
            learner.learner.set_state(state)
        learner._restore_names(names)  # noqa: SLF001 - the same
        return learner

    def __getstate__(self) -> dict[str, Any]:
        state, names = self._while_still(self.learner.get_state)
        options = self.learner.options | self._own
        return {"options": options, "state": state, "names": tuple(names), "shelf": self._shelved()}

    def __setstate__(self, saved: dict[str, Any]) -> None:
        self._begin(**_split(saved["options"]))
        self.learner.set_state(saved["state"])
        self._restore_names(Names(*saved["names"]))
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

    def _while_still(self, look: Callable[[], Any]) -> tuple[Any, "Names"]:
        """What `look` returns, and the names of the same moment."""
        found: Any = self._core.while_still(lambda: (look(), self._names()))
        return found[0], found[1]

    def _compared(self) -> tuple[object, ...]:
        learner, names = self._while_still(self.learner.copy)
        return learner, names.listed(), *self._shelved()

    def _require_names(self, names: "Names") -> None:
        count, bits, fixed, named = (
            self.learner.n_features,
            self._own["bits"],
            self.learner.fixed_features,
            len(names.ends),
        )
        fits = count == named
        if bits is not None:
            fits = not named and count in {0, 2**bits}
        elif fixed:
            fits = named <= fixed
        if not fits:
            raise ValueError(
                f"its {named} names do not go with its {count} features. Were columns learned past the names?"
            )

    def _restore_names(self, names: "Names") -> None:
        self._require_names(names)
        self._core.restore(*names)

    def _keep(self, id: object, x: Event, offset: float) -> None:  # noqa: A002
        self._pending.keep(checked_id(id), (self._core.plain(x), float(offset)))

    def _shelved(self) -> tuple[list[list[Any]], int]:
        """The waiting events, oldest first, as [id, event, offset]; and how many were dropped."""
        waiting, dropped = self._pending.listed()
        return [[id, event, offset] for id, (event, offset) in waiting], dropped  # noqa: A001

    def _shelve(self, pending: list[list[Any]], dropped: int) -> None:
        """The reverse, with every part checked."""
        for _, event, offset in pending:
            if not isinstance(event, dict) or not math.isfinite(offset):
                raise ValueError("a pending event is not a dictionary, or its offset is not finite.")
        self._pending.restore([(id, (self._core.plain(event), offset)) for id, event, offset in pending], dropped)  # noqa: A001


def _require_names(options: Mapping[str, Any]) -> None:
    for name in ("prior_mean", "penalty_weights"):
        if options.get(name) is not None:
            raise ValueError(f"{name} goes by columns, and events have names. Leave it out.")


def _split(options: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of `_begin`: an `EventLearner`'s own words, and the others."""
    own = {name: options[name] for name in ("intercept", "scale", "max_pending") if name in options}
    return {"options": {name: value for name, value in options.items() if name not in own}, **own}


# Names


class Names(NamedTuple):
    """The keys of features by index, as the core has them: one after the other, and where each ends."""

    packed: bytes
    ends: npt.NDArray[np.int64]

    def listed(self) -> list[bytes]:
        """The keys, each by itself."""
        begins = [0, *self.ends.tolist()]
        return [self.packed[begin:end] for begin, end in pairwise(begins)]

    def as_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """For a model file."""
        return {"names": np.frombuffer(self.packed, np.uint8), "name_ends": self.ends}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, npt.NDArray[Any]]) -> "Names":
        """The reverse; the core checks them. Files of the first version have texts and kinds instead."""
        if "kinds" in arrays:
            keys = _keys_of_first_version(arrays)
            return cls(b"".join(keys), np.cumsum([len(key) for key in keys], dtype=np.int64))
        ends = np.ascontiguousarray(arrays["name_ends"], np.int64)
        if ends.ndim != 1:
            raise ValueError("its names are not consecutive.")
        return cls(arrays["names"].astype(np.uint8).tobytes(), ends)


def as_feature(key: bytes) -> Feature:
    r"""A feature's key as a name, a name and a string, or a name and None.

    >>> as_feature(b"country\xffNZ")
    ('country', 'NZ')
    """
    if PRODUCT in key:
        return feature_name(key)
    parts = feature_parts(key)
    if parts.kind == "number":
        return parts.field
    return parts.field, parts.category if parts.kind == "category" else None


def _keys_of_first_version(arrays: Mapping[str, npt.NDArray[Any]]) -> list[bytes]:
    """From a text for each feature (two for a category) and its kind. ValueError for what no file can have."""
    texts = iter([text.encode() for text in model_file.unpack_texts(arrays)])
    made: tuple[Callable[[], bytes], ...] = (
        lambda: next(texts),
        lambda: next(texts) + CATEGORY + next(texts),
        lambda: next(texts) + MISSING,
    )
    try:
        keys = [made[kind]() for kind in arrays["kinds"].tolist()]
    except (StopIteration, IndexError):
        raise ValueError("its names and their kinds do not fit together.") from None
    if next(texts, None) is not None:
        raise ValueError("it has more names than features.")
    return keys
