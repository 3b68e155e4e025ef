"""What all models of dictionaries share: the names of features, and the events that wait for their labels."""

from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any, Generic, NamedTuple, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from odca import _core
from odca.features.spec import CATEGORY, MISSING, PRODUCT, feature_name, feature_parts
from odca.io import container, model_file
from odca.models.pending import Id, PendingEvents

Event: TypeAlias = Mapping[Any, Any]
Feature: TypeAlias = str | tuple[str, str | None]
"""A number's name, a category's name and string, or a name and None for a missing value."""
Kept = TypeVar("Kept")
Found = TypeVar("Found")


class NamedEvents(model_file.Savable, Generic[Kept]):
    """A model of events that are dictionaries, of which it keeps `Kept` (an event first) until their labels come."""

    _core: _core.EventCore | _core.AutoEventCore
    _pending: PendingEvents[tuple[dict[str, Any], Kept]]

    def waiting(self, id: Id) -> Event:  # noqa: A002
        """The event that waits for its label under `id`."""
        return dict(self._pending.waiting(id)[0])

    @property
    def pending(self) -> int:
        """The number of events that wait for their labels."""
        return len(self._pending)

    @property
    def dropped(self) -> int:
        """The number of events that were dropped without a label, because more than max_pending were waiting."""
        return self._pending.dropped

    @property
    def features(self) -> list[Feature]:
        """The features by index: a name, or a name and a string, or a name and None for a missing value. Empty if they are hashed."""
        return [as_feature(key) for key in self._names().listed()]

    def _names(self) -> "Names":
        return Names(*self._core.names())

    def _while_still(self, look: Callable[[], Found]) -> tuple[Found, "Names"]:
        """What `look` returns, and the names at the same moment, while nothing is learned. No label is halfway learned either."""

        def both() -> Any:
            return self._core.while_still(lambda: (look(), self._names()))

        found: Any = self._pending.while_none_is_learned(both)
        return found[0], found[1]

    def _past_of(self, x: Event, time: float) -> npt.NDArray[np.float64] | None:
        """The values of the history of an event as it is now; None if the model has none."""
        return self._core.history_values(x, time) if self._core.has_history else None

    def _past_from(self, listed: list[Any]) -> npt.NDArray[np.float64] | None:
        """What `listed_past` made of it. ValueError if it is invalid."""
        if not self._core.has_history and not listed:
            return None
        if len(listed) != 1 or not isinstance(listed[0], list):
            raise ValueError("the history of a pending event is not a list of numbers.")
        past = np.array([np.nan if value is None else float(value) for value in listed[0]], np.float64)
        self._core.require_given(past, 1)
        return past

    def _restore_past(self, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        """What `_core.past` has returned: the history, and the days of the dates. ValueError (or a similar error) if it is invalid."""
        self._core.restore_past(dict(arrays))


HISTORY = "history."
"""The prefix of the arrays of history in a model's file."""


def with_prefix(arrays: Mapping[str, npt.NDArray[Any]]) -> dict[str, npt.NDArray[Any]]:
    """The arrays of a history for a model's file."""
    return {f"{HISTORY}{name}": array for name, array in arrays.items()}


def without_prefix(arrays: Mapping[str, npt.NDArray[Any]]) -> dict[str, npt.NDArray[Any]]:
    """The arrays of the history among all of a model's file."""
    return {name.removeprefix(HISTORY): array for name, array in arrays.items() if name.startswith(HISTORY)}


def listed_past(past: npt.NDArray[np.float64] | None) -> list[list[float | None]]:
    """The history of a waiting event for JSON, in a list; an empty list if the model has none."""
    return [] if past is None else [[value if np.isfinite(value) else None for value in past.tolist()]]


class Names(NamedTuple):
    """The keys of features by index, as in the core: concatenated, with the end of each."""

    packed: bytes
    ends: npt.NDArray[np.int64]

    def listed(self) -> list[bytes]:
        """The keys as a list."""
        begins = [0, *self.ends.tolist()]
        return [self.packed[begin:end] for begin, end in pairwise(begins)]

    def as_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """For a model file."""
        return {"names": np.frombuffer(self.packed, np.uint8), "name_ends": self.ends}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, npt.NDArray[Any]]) -> "Names":
        """The names from a model file, which the core checks. Files of the first version have texts and kinds instead."""
        if "kinds" in arrays:
            keys = _keys_of_first_version(arrays)
            return cls(b"".join(keys), np.cumsum([len(key) for key in keys], dtype=np.int64))
        ends = container.vector(arrays, "name_ends", np.int64)
        return cls(container.vector(arrays, "names", np.uint8).tobytes(), ends)


def as_feature(key: bytes) -> Feature:
    r"""A feature from its key: a name, a name and a string, or a name and None.

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
    """The keys, from a text for each feature (two for a category) and its kind. ValueError if they are invalid."""
    texts = iter([text.encode() for text in model_file.unpack_texts(arrays)])
    made: tuple[Callable[[], bytes], ...] = (
        lambda: next(texts),
        lambda: next(texts) + CATEGORY + next(texts),
        lambda: next(texts) + MISSING,
    )
    try:
        keys = [made[kind]() for kind in container.vector(arrays, "kinds", np.uint8).tolist()]
    except (StopIteration, IndexError):
        raise ValueError("its names and their kinds are inconsistent.") from None
    if next(texts, None) is not None:
        raise ValueError("it has more names than features.")
    return keys
