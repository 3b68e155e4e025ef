"""What all estimators for river share."""

import copy
from collections.abc import Hashable
from typing import Any, Self

import numpy as np
from river import base, conf

from odca.features.spec import FeatureOptions
from odca.io.model_file import ModelFile
from odca.models.classifier import Classifier, RawPredictions
from odca.models.options import Answer
from odca.models.regressor import Regressor
from odca.models.turns import TakesTurns
from odca.validation.arrays import Array


class RiverEstimator(TakesTurns, base.Estimator):  # type: ignore[misc] # river's classes are not typed
    """An estimator of events that are dictionaries. `events` does the learning."""

    events: Any
    feature_options: FeatureOptions
    """The feature options that were given; river reads the parameter of that name here."""

    def _store(self, parameters: dict[str, Any]) -> None:
        """Store the parameters of `__init__`, its `locals()`, as attributes of the same names, which river requires."""
        self.__dict__.update({name: value for name, value in parameters.items() if name != "self"})

    def clone(self, new_params: dict[str, Any] | None = None, include_attributes: bool = False) -> Self:
        """Return an untrained estimator with the same parameters, except those in `new_params`.

        With `include_attributes` it is an independent copy that has learned what this one has; then no parameter can change.
        """
        if not include_attributes:
            clone: Self = super().clone(new_params)
            return clone
        own = self._get_params()
        changed = [name for name, value in (new_params or {}).items() if name not in own or own[name] != value]
        if changed:
            raise ValueError(
                f"{changed[0]} cannot change in a copy of a trained estimator. Leave out include_attributes."
            )
        return copy.deepcopy(self)

    def __getstate__(self) -> dict[str, Any]:
        return dict(self.__dict__)

    def _contents(self) -> ModelFile:
        """The contents of the estimator's model file."""
        return ModelFile(self.kind, {"params": self._get_params()}, {}, {"events": self.events.saved()})


class RiverClassifier(base.MiniBatchClassifier):  # type: ignore[misc]
    """A classifier for river. Classes may appear at any time."""

    _model: Any

    @property
    def _multiclass(self) -> bool:  # river asks for it
        return True

    @property
    def classes(self) -> tuple[Hashable, ...]:
        """The labels so far, in order of appearance; False and True if there are only these."""
        return () if self._model is None else tuple(self._model.classes)


def plain_label(label: Hashable) -> Hashable:
    """The label as a Python object: NumPy's numbers overflow when they are compared with larger ones."""
    return label.item() if isinstance(label, np.generic) else label


def set_of(model: Classifier | None, raw: Array, coverage: float, answer: Answer) -> set[Hashable]:
    """The set of one event, from its raw prediction."""
    if model is None or not model.classes:
        return set()
    is_in = model.sets(RawPredictions(raw), coverage, answer)[0].tolist()
    return {label for label, chosen in zip(model.classes, is_in, strict=True) if chosen}


def interval_of(model: Regressor, margin: float, coverage: float, answer: Answer) -> conf.Interval:
    """The interval of one event, from its margin."""
    lower, upper = model.intervals(np.array([[margin]]), coverage, answer)[0, 0].tolist()
    return conf.Interval(lower, upper)


def require_labels(labels: list[Any]) -> None:
    """Raise ValueError if a label is None or nan."""
    if any(label is None or label != label for label in labels):  # noqa: PLR0124 - nan
        raise ValueError("a label must not be None or nan: leave such events out.")


def restored_labels(labels: Any) -> tuple[Any, ...]:
    """The classes of a model file. ValueError if they are not different texts, numbers or truths."""
    classes = tuple(labels)
    if not all(isinstance(label, str | bool | int | float) for label in classes) or len(set(classes)) < len(classes):
        raise ValueError("its classes are not different texts, numbers or truths.")
    require_labels(list(classes))
    return classes
