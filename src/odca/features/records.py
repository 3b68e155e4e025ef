"""Many events, as the dictionaries that they are read as."""

from collections.abc import Iterable, Mapping
from typing import Any


def as_events(events: Any) -> list[Any]:
    """Many events as a list of dictionaries."""
    if isinstance(events, list):
        return events
    if hasattr(events, "to_dicts"):  # polars
        return list(events.to_dicts())
    if hasattr(events, "columns") and hasattr(events, "to_dict"):  # pandas
        return list(events.to_dict("records"))
    if isinstance(events, Mapping) or not isinstance(events, Iterable):
        raise TypeError(f"events must be many dictionaries, or a data frame; got one {type(events).__name__}.")
    return list(events)
