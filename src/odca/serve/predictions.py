"""Predictions as a client gets them."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from odca.models.options import Answer, Label, label_text
from odca.stream.model import StreamModel


def objects(
    model: StreamModel, raw: Any, tags: Sequence[str] | None, *, coverage: float | None = None, answer: Answer = "live"
) -> list[dict[str, Any]]:
    """An object for each event, from raw predictions. `model` is pinned: nothing changes its classes meanwhile."""
    predicted = model.predicted(raw).tolist()
    if classes := model.classes_read:
        given, names = model.classes, _names(classes)
        found: list[dict[str, Any]] = [
            {"prediction": given[code], "probabilities": dict(zip(names, row, strict=True))}
            for code, row in zip(predicted, model.shown(raw, "probabilities").tolist(), strict=True)
        ]
    else:
        found = [{"prediction": each} for each in predicted]
    if coverage is not None:
        _add_uncertainty(model, found, raw, coverage, answer)
    if tags is not None:
        for each, tag in zip(found, tags, strict=True):
            if tag:
                each["id"] = tag
    return found


@lru_cache(maxsize=64)
def _names(classes: tuple[Label, ...]) -> list[str]:
    return [label_text(each) for each in classes]


def _add_uncertainty(
    model: StreamModel, found: list[dict[str, Any]], raw: Any, coverage: float, answer: Answer
) -> None:
    name = "set" if model.classes_read else "interval"
    if not found or not model.uncertainty.events("live"):
        for each in found:
            each[name] = None
    elif model.classes_read:
        for each, row in zip(found, model.sets(raw, coverage, answer=answer).tolist(), strict=True):
            each["set"] = [label for label, is_in in zip(model.classes, row, strict=True) if is_in]
    else:
        for each, (low, high) in zip(found, model.intervals(raw, coverage, answer=answer).tolist(), strict=True):
            each["interval"] = [low, high] if np.isfinite(low) and np.isfinite(high) else None
