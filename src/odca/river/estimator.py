"""What all estimators for river share."""

import copy
from typing import Any, Self

from river import base

from odca.features.spec import FeatureOptions
from odca.io.model_file import ModelFile, Savable


class RiverEstimator(Savable, base.Estimator):  # type: ignore[misc] # river's classes are not typed
    """An estimator whose events are dictionaries, behind which `events` does the learning."""

    events: Any
    feature_options: FeatureOptions
    """The feature options that were given; river reads the parameter of that name here."""

    def clone(self, new_params: dict[str, Any] | None = None, include_attributes: bool = False) -> Self:
        """Return an estimator with the same parameters, or with some new ones, that has learned nothing.

        With `include_attributes` it has learned what this one has; parameters cannot change then.
        """
        if not include_attributes:
            clone: Self = super().clone(new_params)
            return clone
        own = self._get_params()
        changed = [name for name, value in (new_params or {}).items() if name not in own or own[name] != value]
        if changed:
            raise ValueError(f"{changed[0]} cannot change with what was learned. Leave out include_attributes.")
        return copy.deepcopy(self)

    def saved(self) -> ModelFile:
        """What a file holds of the estimator."""
        return ModelFile(self.kind, {"params": self._get_params()}, {}, {"events": self.events.saved()})


def require_labels(labels: list[Any]) -> None:
    """Raise ValueError if one of these is no label."""
    if any(label is None or label != label for label in labels):  # noqa: PLR0124 - nan
        raise ValueError("a label must not be None or nan: leave such events out.")
