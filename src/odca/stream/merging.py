"""Merging models that learned from different events.

The state of a learner consists of sums over its events, and merging adds them (see docs/merging.md). Before that, features are
renumbered so that the same feature has the same number in both models, and lanes are rearranged so that the same class has the same lane.
"""

from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from odca import _core
from odca.errors import InputError, Remedy
from odca.io.model_file import ModelFile
from odca.learner import Learner
from odca.models.experts import ExpertClassifier, ExpertRegressor
from odca.models.linear import LinearClassifier, LinearRegressor
from odca.models.options import ModelOptions, label_text
from odca.stream.read.schema import Schema

State = dict[str, npt.NDArray[Any]]
Places = npt.NDArray[np.intp]


class DifferenceError(InputError):
    """Two models differ in something, and cannot be merged."""

    def __init__(self, need: str, what: str, values: tuple[str, str], *, remedy: Remedy | None = None) -> None:
        self.need, self.what, self.values = need, what, values
        super().__init__(self.between("here", "there"), remedy=remedy)

    def between(self, here: str, there: str) -> str:
        """The message, with the names of the models."""
        return f"{self.need}; {self.what} is {self.values[0]} {here} and {self.values[1]} {there}."


def require_one_problem(mine: ModelOptions, theirs: ModelOptions) -> None:
    """ValueError, which names the difference, for models that cannot be merged.

    They may differ in what their first events decided (the strength of the prior): that of the first model is used.
    """
    if (mine.auto is None) != (theirs.auto is None):
        kinds = ("one linear model", "automatic")
        here, there = (kinds[each.auto is not None] for each in (mine, theirs))
        remedy = Remedy("Train both in the same mode ({auto} is the automatic one).", auto=None)
        raise DifferenceError("merge needs models of one kind", "the mode", (here, there), remedy=remedy)
    for each in fields(ModelOptions):
        here, there = getattr(mine, each.name), getattr(theirs, each.name)
        if here != there and each.name not in {"prior_strength", "classes"}:
            remedy = Remedy(f"Train both with the same {{{each.name}}}.", **{each.name: None})
            raise DifferenceError(
                "merge needs models of one problem", each.name, (repr(here), repr(there)), remedy=remedy
            )
    if mine.scale and mine.auto is None:
        raise InputError(
            "models that scale their features cannot be merged, because each has its own units.",
            remedy=Remedy("Scale the data beforehand, in the same way for all, and train with {scale}.", scale=False),
        )


def united_schema(mine: Schema, theirs: Schema) -> Schema:
    """The first schema, with the additional columns of the second. ValueError if features mean different things."""
    for each in fields(mine.features):
        here, there = getattr(mine.features, each.name), getattr(theirs.features, each.name)
        if here != there:
            remedy = Remedy(f"Train both with the same {{{each.name}}}.", **{each.name: None})
            raise DifferenceError(
                "merge needs models that read data alike", each.name, (repr(here), repr(there)), remedy=remedy
            )
    if mine.has_indices != theirs.has_indices:
        raise ValueError(
            f"merge needs models that read data alike; the features of one are libsvm's indices, those of the other have names "
            f"(formats {mine.format} and {theirs.format})."
        )
    known = {column.name for column in mine.columns}
    return replace(mine, columns=(*mine.columns, *(each for each in theirs.columns if each.name not in known)))


def united_names(mine: Sequence[bytes], theirs: Sequence[bytes]) -> tuple[_core.Vocabulary, Places]:
    """The names of both, beginning with those of the first; and the numbers of the second's names among them."""
    places = {key: place for place, key in enumerate(mine)}
    moved = np.array([places.setdefault(key, len(places)) for key in theirs], dtype=np.intp)
    vocabulary = _core.Vocabulary()
    vocabulary.restore(*packed(list(places)))
    return vocabulary, moved


def packed(names: Sequence[bytes]) -> tuple[bytes, npt.NDArray[np.int64]]:
    """The names of features for a vocabulary: all in a row, and where each ends."""
    return b"".join(names), np.cumsum([len(name) for name in names], dtype=np.int64)


def united_counts(mine: State, theirs: State, places: Places | None, features: int) -> State:
    """The state of a past without history, with the documents of both models: their numbers, and those that have each feature."""
    counts = np.zeros(features, np.int64)
    for state, moved in ((mine, None), (theirs, places)):
        if "documents" in state:
            found = state["document_feature"]
            counts[found if moved is None else moved[found]] += state["document_count"]
    feature = np.flatnonzero(counts).astype(np.int32)
    documents = sum(state["documents"] for state in (mine, theirs) if "documents" in state)
    return {
        **mine,
        "documents": np.atleast_1d(documents).astype(np.int64),
        "document_feature": feature,
        "document_count": counts[feature],
    }


Model = LinearClassifier | LinearRegressor | ExpertClassifier | ExpertRegressor


def merged_model(mine: Any, theirs: Any, places: Places | None) -> Model:
    """The merged model. Its features have the numbers of the first model; `places` are the numbers of the second's features there."""
    if isinstance(mine, ExpertClassifier | ExpertRegressor):
        return merged_experts(mine, theirs, [] if places is None else places.tolist())
    if any(getattr(mine.learner, name) != getattr(theirs.learner, name) for name in ("prior_mean", "products")):
        raise ValueError("merge needs models that began at the same weights; these were frozen from different ones.")
    if isinstance(mine, LinearRegressor):
        learner: Any = mine.learner
        regressor = LinearRegressor(learner.merge(adopted(learner, theirs.learner, places)))
        regressor.metrics = mine.metrics.merge(theirs.metrics)
        regressor.uncertainties = [
            here.merge(there) for here, there in zip(mine.uncertainties, theirs.uncertainties, strict=True)
        ]
        return regressor
    classes = united_classes(mine, theirs)
    here, there = mine.with_classes(classes), theirs.with_classes(classes)
    learner = here.learner.merge(adopted(here.learner, there.learner, places))
    classifier = LinearClassifier(learner, classes, spare=here.layout.spare)
    if here.calibration is not None:
        classifier.calibration = here.calibration.merge(there.calibration)
    classifier.metrics = mine.metrics.merge(theirs.metrics, [classes.index(each) for each in theirs.classes])
    classifier.uncertainty = mine.uncertainty.merge(theirs.uncertainty)
    return classifier


def merged_experts(
    mine: ExpertClassifier | ExpertRegressor, theirs: Any, features: list[int]
) -> ExpertClassifier | ExpertRegressor:
    """The merged model of two automatic models, whose classes may differ."""
    if isinstance(mine, ExpertRegressor):
        regressor = ExpertRegressor(mine.learner.merge(theirs.learner, features=features))
        regressor.metrics = mine.metrics.merge(theirs.metrics)
        return regressor
    classes = [*mine.classes, *(each for each in theirs.classes if each not in mine.classes)]
    codes = [classes.index(each) for each in theirs.classes]
    unused = (code for code in range(max(len(classes), 2)) if code not in codes)
    # Experts have at least two classes, of which some may have no name yet.
    unnamed = [next(unused) for _ in range(theirs.learner.classes - len(codes))]
    learner = mine.learner.merge(theirs.learner, features=features, classes=[*codes, *unnamed])
    classifier = ExpertClassifier(learner, classes)
    classifier.metrics = mine.metrics.merge(theirs.metrics, codes)
    return classifier


def united_classes(mine: LinearClassifier, theirs: LinearClassifier) -> list[Any]:
    """The classes of both, beginning with those of the first. ValueError if one model cannot add those of the other."""
    classes = [*mine.classes, *(each for each in theirs.classes if each not in mine.classes)]
    for model in (mine, theirs):
        if len(classes) > len(model.classes) and not model.layout.spare:
            shown = [", ".join(map(label_text, each.classes)) for each in (mine, theirs)]
            raise ValueError(
                f"the classes are {shown[0]} here and {shown[1]} there, and no class can be added to a model of two classes. "
                "Name them all before learning."
            )
    return classes


def adopted(mine: Learner, theirs: Learner, places: Places | None) -> Learner:
    """The second learner, with its features renumbered, and with the options of the first.

    The options may differ only in the prior, on which the sums do not depend.
    """
    options, state = mine.options, theirs.get_state()
    if places is not None:
        first = int(mine.has_intercept)
        rows = np.concatenate([np.arange(first), first + places[: theirs.n_features]])
        state = renumbered(state, rows)
    return Learner.restored(ModelFile(Learner.kind, {**options, "lanes": theirs.lanes}, state))


def renumbered(state: State, rows: Places) -> State:
    """The state of a learner whose feature k (counting the intercept) becomes feature `rows[k]`."""
    moved, count, lanes = dict(state), int(rows.max(initial=-1)) + 1, state["mass"].size
    for name in ("dual", "smooth"):
        if len(state[name]):
            moved[name] = np.zeros((count, lanes))
            moved[name][rows] = state[name].reshape(-1, lanes)
            moved[name] = moved[name].ravel()
    if len(state["seen"]):
        moved["seen"] = np.full(count, state["timeline.now"][0])
        moved["seen"][rows] = state["seen"]
    index = rows[state["window.index"].astype(np.intp)]
    if len(index) != len(state["window.value"]):
        raise ValueError("the window holds dense rows, whose features cannot be renumbered.")
    sparse = np.where(state["window.dense"], 0, state["window.size"]).astype(np.intp)
    order = np.lexsort((index, np.repeat(np.arange(len(sparse)), sparse)))  # within each row
    moved["window.index"] = index[order].astype(np.int32)
    moved["window.value"] = state["window.value"][order]
    return moved
