"""Predictions as a client gets them."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from odca.models.options import Answer, label_text
from odca.stream.model import StreamModel


def objects(
    model: StreamModel, raw: Any, tags: Sequence[str] | None, *, coverage: float | None = None, answer: Answer = "live"
) -> list[dict[str, Any]]:
    """An object for each event, from raw predictions. `model` is pinned: nothing changes its classes meanwhile."""
    found = [{"prediction": each} for each in model.shown(raw, "label").tolist()]
    if model.classes:
        names = [label_text(each) for each in model.classes]
        for each, row in zip(found, model.shown(raw, "probabilities").tolist(), strict=True):
            each["probabilities"] = dict(zip(names, row, strict=True))
    if coverage is not None:
        _add_uncertainty(model, found, raw, coverage, answer)
    if tags is not None:
        for each, tag in zip(found, tags, strict=True):
            if tag:
                each["id"] = tag
    return found


def _add_uncertainty(
    model: StreamModel, found: list[dict[str, Any]], raw: Any, coverage: float, answer: Answer
) -> None:
    name = "set" if model.classes else "interval"
    if not found or not model.uncertainty.events("live"):
        for each in found:
            each[name] = None
    elif model.classes:
        for each, row in zip(found, model.sets(raw, coverage, answer=answer).tolist(), strict=True):
            each["set"] = [label for label, is_in in zip(model.classes, row, strict=True) if is_in]
    else:
        for each, (low, high) in zip(found, model.intervals(raw, coverage, answer=answer).tolist(), strict=True):
            each["interval"] = [low, high] if np.isfinite(low) and np.isfinite(high) else None
