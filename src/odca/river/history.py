"""The past as features for river's pipelines."""

from typing import Any

from river import base

from odca.features.event_history import EventHistory
from odca.models.named_events import Event


# A pipeline takes only a Transformer for one, and only a SupervisedTransformer gets labels.
class History(base.SupervisedTransformer, base.Transformer):  # type: ignore[misc] # not typed
    """What was known before an event: lags, rolling statistics, changes, of the label or of a field, for each key. Event by event.

    lines: such as "y by station: lag 1,24; mean 24h" (docs/history.md).
    history_keys: the most keys that a line remembers.
    time: the field that holds the time of an event, for lines with spans of time.

    The features of an event are those of the events that `learn_one` has seen; those that are not known yet are left out.

    >>> from river import compose, linear_model, preprocessing
    >>> past = compose.Select("temp") + History("y: lag 1,2; mean 3", "temp: change 1")
    >>> model = past | preprocessing.StandardScaler() | linear_model.LinearRegression()
    >>> for temp, sold in [(1.0, 2.0), (2.0, 3.0), (1.0, 4.0)]:
    ...     _ = model.predict_one({"temp": temp})
    ...     model.learn_one({"temp": temp}, sold)
    >>> past.transform_one({"temp": 3.0})
    {'y: lag 1': 4.0, 'y: lag 2': 3.0, 'y: mean 3': 3.0, 'temp: change 1': 2.0, 'temp': 3.0}
    """

    def __init__(self, *lines: str, history_keys: int = 100_000, time: str | None = None) -> None:
        self.lines, self.history_keys, self.time = lines, history_keys, time
        self._past = EventHistory(lines, history_keys=history_keys, time=time)

    def transform_one(self, x: Event) -> dict[str, float]:
        """The features that are known."""
        values = self._past.values([x])[0].tolist()
        return {name: value for name, value in zip(self._past.names, values, strict=True) if value == value}  # noqa: PLR0124 - nan

    def learn_one(self, x: Event, y: Any) -> None:
        """The event and its label enter the history."""
        self._past.values([x], y=[float(y)], enters=True)
