"""The weights of a model of any kind, by the names of its features, for `odca inspect`."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from odca.records import record

if TYPE_CHECKING:
    from odca.learner import Learner
    from odca.models.auto_report import AutoReport
    from odca.products import Product
    from odca.validation.arrays import Array

INTERCEPT = "(intercept)"


@record
class Weights:
    """The weights that predictions use: the smoothed ones, if smoothing is on."""

    outputs: tuple[str, ...]
    """The names of the rows: classes or targets, or "" for a single target. Two classes have one row, that of the second."""
    values: "Array"
    """Of shape (outputs, features)."""
    intercepts: "Array"
    """Of shape (outputs,)."""
    names: "FeatureNames"
    products: "tuple[Product, ...]" = ()
    """Of two features, with a weight for each output."""

    def top_products(self, output: int, count: int) -> list[tuple[str, float]]:
        """The products whose weights are largest in absolute value, and the weights."""
        weights = [(self.name_of(each), each.weights[output]) for each in self.products if each.weights[output]]
        return sorted(weights, key=lambda each: -abs(each[1]))[:count]

    def name_of(self, product: "Product") -> str:
        """The name of a product, as reports have it."""
        first, second = (self.names[place] for place in product.features)
        return f"{first}²" if first == second else f"{first} × {second}"

    def top(self, output: int, count: int) -> list[tuple[str, float]]:
        """The features whose weights are largest in absolute value, and the weights."""
        return [(self.names[place], float(self.values[output, place])) for place in largest(self.values[output], count)]


class FeatureNames:
    """The names of features by place. Without a list, a name is made from the place by the format string `form`."""

    def __init__(self, listed: Sequence[str] | None, form: str = "{}") -> None:
        self.listed, self._form = listed, form
        self.found: dict[int, str] = {}
        """Names that were found in data, for features without a list."""

    def __getitem__(self, place: int) -> str:
        if self.listed is not None:
            return self.listed[place]
        return self.found.get(place) or self._form.format(place)


def largest(values: "Array", count: int) -> list[int]:
    """The places of the numbers that are largest in absolute value, in order, without zeros."""
    import numpy as np  # noqa: PLC0415 - after parsing

    size = np.abs(values)
    some = np.argpartition(-size, count)[:count] if count < len(size) else np.arange(len(size))
    ordered = some[np.lexsort((some, -size[some]))]
    return [int(place) for place in ordered if size[place] > 0.0]


def automatic_report(model: Any) -> "AutoReport | None":
    """The report of an automatic model of any kind; None for other models."""
    if not hasattr(model, "report") or getattr(getattr(model, "options", None), "auto", "") is None:
        return None
    report: AutoReport = model.report()
    return report


def learner_of(model: Any) -> "Learner":
    """The learner inside a model."""
    if model.kind.startswith("river."):
        return learner_of(model.events)
    learner: Learner = model if model.kind == "Learner" else getattr(model, "learner", None) or model.learner_
    return learner


def weights_of(model: Any) -> Weights:
    """The weights of a model of any kind; of an automatic one, those of its steady answer."""
    import numpy as np  # noqa: PLC0415 - after parsing

    if automatic_report(model) is not None:
        return weights_of(model.freeze())
    learner, outputs = learner_of(model), _outputs_of(model)
    if not outputs:
        outputs = tuple(map(str, range(learner.lanes))) if learner.lanes > 1 else ("",)
    shown = slice(len(outputs))  # without the last lane, a spare one for new classes
    values, intercepts = np.atleast_2d(learner.smoothed_coef), np.atleast_1d(learner.smoothed_intercept)
    products = tuple(replace(each, weights=each.weights[shown]) for each in learner.products)
    return Weights(outputs, values[shown], intercepts[shown], _names_of(model), products)


def _outputs_of(model: Any) -> tuple[str, ...]:
    """The classes that have weights, if the model has any."""
    from odca.models.options import label_text  # noqa: PLC0415 - after parsing

    classes = getattr(model, "classes_", getattr(model, "classes", ()))
    if isinstance(classes, list):  # several labels, each with two classes
        return tuple(str(number) for number in range(len(classes)))
    named = tuple(label_text(each) if model.kind == "StreamModel" else str(each) for each in classes)
    return named[1:] if len(named) == 2 else named


def _names_of(model: Any) -> FeatureNames:
    from odca.stream import feature_name  # noqa: PLC0415 - after parsing

    if model.kind == "StreamModel":
        if model.vocabulary is not None:
            return FeatureNames([feature_name(key) for key in model.names])
        return FeatureNames(None, "{}" if model.schema.features.bits is None else "hash {}")
    if model.kind.startswith("river."):
        return _names_of(model.events)
    if model.kind == "EventLearner":
        features = model.features
        return (
            FeatureNames([_event_feature_name(each) for each in features])
            if features
            else FeatureNames(None, "hash {}")
        )
    names = getattr(model, "feature_names_in_", None)
    return FeatureNames(None if names is None else [str(name) for name in names])


def _event_feature_name(feature: Any) -> str:
    if isinstance(feature, str):
        return feature
    name, value = feature
    return f"{name} is missing" if value is None else f"{name}={value}"
