"""A prediction with what each feature adds to it."""

from typing import Any

import numpy as np

from odca.models.turns import pinned
from odca.serve import predictions
from odca.serve.problems import of_event
from odca.serve.state import State
from odca.serve.weights import outputs_of
from odca.stream.read.json_events import number


def explained(state: State, line: bytes, answer: str) -> dict[str, Any]:
    """The object of docs/serve-api.md. Problem if the event cannot be read."""
    try:
        block = state.read_to_predict(line + b"\n")
        if len(block) != 1:
            raise ValueError("one event is needed: an object in braces.")
        if state.model is None:
            return {"prediction": None, "outputs": [], "margin": None, "parts": []}
        model = pinned(state.model)
        number(block, model.vocabulary, grow=False)
        wanted = "steady" if model.options.auto is None else answer
        raw = model.predict_raw(block, answer=wanted)
        found = predictions.objects(model, raw, block.tag)[0]
        margin = np.atleast_1d(np.asarray(model.shown(raw, "margins"))[0]).astype(float)
        parts = {
            name: np.atleast_1d(each).astype(float) for name, each in model.explain(block, answer=wanted)[0].items()
        }
    except ValueError as error:
        raise of_event(error) from error
    ordered = sorted(parts.items(), key=lambda each: -float(np.abs(each[1]).max()))
    shown = [{"feature": name, "adds": adds.tolist()} for name, adds in ordered]
    return {**found, "outputs": outputs_of(model), "margin": margin.tolist(), "parts": shown}
