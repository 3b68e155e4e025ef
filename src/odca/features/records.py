"""Data frames as lists of dictionaries."""

from collections.abc import Iterable, Mapping
from typing import Any


def as_events(events: Any) -> list[Any]:
    """Events as a list of dictionaries."""
    if isinstance(events, list):
        return events
    if hasattr(events, "to_dicts"):  # polars
        return list(events.to_dicts())
    if hasattr(events, "columns") and hasattr(events, "to_dict"):  # pandas
        return list(events.to_dict("records"))
    if isinstance(events, Mapping) or not isinstance(events, Iterable):
        raise TypeError(
            f"events must be a list of dictionaries, or a data frame; got a single {type(events).__name__}."
        )
    return list(events)
