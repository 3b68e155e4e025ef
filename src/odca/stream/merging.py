"""One model of several that learned from different events: names, classes and states brought together.

A learner is sums over its events, and merging adds them (see docs/merging.md). What must be done first is to let the same feature
have the same number, and the same class the same lane.
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
from odca.models.problem import Problem
from odca.stream.read.schema import Schema

State = dict[str, npt.NDArray[Any]]
Places = npt.NDArray[np.intp]


def require_one_problem(mine: Problem, theirs: Problem) -> None:
    """ValueError, which names the difference, for models that cannot be merged.

    Where their first events decided (the strength of the prior), they may differ: the first model's holds.
    """
    for each in fields(Problem):
        here, there = getattr(mine, each.name), getattr(theirs, each.name)
        if here != there and each.name not in {"prior_strength", "classes"}:
            raise ValueError(f"merge needs models of one problem; {each.name} is {here!r} here and {there!r} there.")
    if mine.scale:
        raise InputError(
            "models that scale their features cannot be merged: each has units of its own.",
            remedy=Remedy("Scale the data beforehand, in the same way for all, and train with {scale}.", scale=False),
        )


def united_schema(mine: Schema, theirs: Schema) -> Schema:
    """The first one, which knows the kinds of the other's columns too. ValueError if features mean different things."""
    for each in fields(mine.features):
        here, there = getattr(mine.features, each.name), getattr(theirs.features, each.name)
        if here != there:
            raise ValueError(f"merge needs models that read alike; {each.name} is {here!r} here and {there!r} there.")
    if mine.has_indices != theirs.has_indices:
        raise ValueError(
            f"merge needs models that read alike; the features of one are the indices of libsvm's text, those of the "
            f"other have names (formats {mine.format} and {theirs.format})."
        )
    known = {column.name for column in mine.columns}
    return replace(mine, columns=(*mine.columns, *(each for each in theirs.columns if each.name not in known)))


def united_names(mine: Sequence[bytes], theirs: Sequence[bytes]) -> tuple[_core.Vocabulary, Places]:
    """The names of both, those of the first in their places; and where those of the second are."""
    places = {key: place for place, key in enumerate(mine)}
    moved = np.array([places.setdefault(key, len(places)) for key in theirs], dtype=np.intp)
    vocabulary = _core.Vocabulary()
    vocabulary.restore(b"".join(places), np.cumsum([len(key) for key in places], dtype=np.int64))
    return vocabulary, moved


def adopted(mine: Learner, theirs: Learner, places: Places | None) -> Learner:
    """The second learner, with features in other places, and under the first one's options.

    Options may differ only in what the sums do not depend on: the prior.
    """
    options, state = mine.options, theirs.get_state()
    if places is not None:
        first = int(mine.has_intercept)
        rows = np.concatenate([np.arange(first), first + places[: theirs.n_features]])
        state = renumbered(state, rows, theirs.lanes)
    return Learner.restored(ModelFile(Learner.kind, {**options, "lanes": theirs.lanes}, state))


def renumbered(state: State, rows: Places, lanes: int) -> State:
    """A learner's state whose feature k, the intercept among them, is now feature `rows[k]`."""
    moved, count = dict(state), int(rows.max(initial=-1)) + 1
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
        raise ValueError("the window holds rows without indices, whose features cannot be renumbered.")
    sparse = np.where(state["window.dense"], 0, state["window.size"]).astype(np.intp)
    order = np.lexsort((index, np.repeat(np.arange(len(sparse)), sparse)))  # within each row
    moved["window.index"] = index[order].astype(np.int32)
    moved["window.value"] = state["window.value"][order]
    return moved
