"""The state of a model in a file: a snapshot. It is a model file of odca with the position in the log inside, and safe to load."""

from typing import Any, Self

import msgspec
import numpy as np

from odca.io.container import vector
from odca.io.model_file import ModelFile, Savable
from odca.serve.followed import Progress
from odca.serve.spec import Spec
from odca.serve.state import State
from odca.stream.model import StreamModel


class SavedState(Savable):
    """A state, as its file holds it."""

    kind = "ServedModel"

    def __init__(self, state: State) -> None:
        self.state = state

    def saved(self) -> ModelFile:
        """The contents of the file. Nothing may change the state meanwhile."""
        state = self.state
        options: dict[str, Any] = {
            "spec": msgspec.json.encode(state.spec).decode(),
            "position": state.position,
            "clock": state.clock,
            "why": state.why,
            "labelled": state.labelled,
            "refused": state.refused,
            "delays": list(state.delays),
            "followed": msgspec.json.encode(state.followed).decode(),
        }
        first = msgspec.msgpack.encode(state.first)
        arrays = {"first": np.frombuffer(first, np.uint8), **state.pending.as_arrays(), **state.answers.as_arrays()}
        arrays |= {**state.history.as_arrays(), **state.calibration.as_arrays()}
        return ModelFile(self.kind, options, arrays, {} if state.model is None else {"model": state.model.saved()})

    @classmethod
    def restored(cls, saved: ModelFile, loss: object = None) -> Self:
        """Return the state of a file. ValueError (or a similar error) if it is invalid."""
        del loss
        spec = msgspec.json.decode(saved.options["spec"], type=Spec)
        model = StreamModel.restored(saved.parts["model"]) if "model" in saved.parts else None
        state = State(spec, model)
        state.position, state.clock = int(saved.options["position"]), float(saved.options["clock"])
        state.why = str(saved.options["why"])
        state.labelled, state.refused = int(saved.options["labelled"]), int(saved.options["refused"])
        state.delays.extend(map(float, saved.options["delays"]))
        if "followed" in saved.options:
            state.followed = msgspec.json.decode(saved.options["followed"], type=dict[str, Progress])
        state.first = msgspec.msgpack.decode(vector(saved.arrays, "first", np.uint8).tobytes(), type=list[bytes])
        for part in (state.pending, state.answers, state.history, state.calibration):
            part.restore(saved.arrays)
        return cls(state)
