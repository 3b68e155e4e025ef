"""Training that can be broken off at any moment and go on to the same model, to the bit.

A checkpoint is a model and the place in the stream behind the last event that it has learned. It is written as model files are: whoever
reads it, after a crash too, finds the one before or the new one, whole.
"""

import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self

from odca.errors import InputError, Remedy
from odca.io import model_file
from odca.io.model_file import ModelFile, Savable
from odca.stream.model import StreamModel
from odca.stream.read.positions import Position


@dataclass(frozen=True, slots=True)
class Checkpoint(Savable):
    """A model in the middle of its training."""

    model: StreamModel
    position: Position
    """Where the next event is."""
    bad_lines: int
    """How many were left out so far."""
    request: dict[str, Any]
    """What was asked for: a training that goes on must ask for the same."""

    kind = "Checkpoint"

    def saved(self) -> ModelFile:
        """What a file holds of it."""
        options = {"position": asdict(self.position), "bad_lines": self.bad_lines, "request": self.request}
        return ModelFile(self.kind, options, {}, {"model": self.model.saved()})

    @classmethod
    def restored(cls, saved: ModelFile, loss: object = None) -> Self:
        """The reverse. ValueError (or the like) for what `saved` cannot have made."""
        position, bad_lines = Position(**saved.options["position"]), saved.options["bad_lines"]
        if not all(type(each) is int for each in (position.file, position.offset, position.line, bad_lines)):
            raise ValueError("its place in the stream is no number.")
        if not all(type(each) is str for each in (position.digest, position.earlier)):
            raise ValueError("the checksum of its data is no text.")
        return cls(StreamModel.restored(saved.parts["model"], loss), position, bad_lines, saved.options["request"])

    @classmethod
    def find(cls, path: str | os.PathLike[str], request: dict[str, Any]) -> "Checkpoint | None":
        """The checkpoint at `path`, if there is one. ValueError if it is of a training that asked for something else."""
        if not Path(path).exists():
            return None
        found = cls.load(path)
        wanted = model_file.decode(model_file.encode(request))
        for name, value in wanted.items():
            if found.request.get(name) != value:
                raise InputError(
                    f"{os.fspath(path)} is a checkpoint of a training with {name} {found.request.get(name)!r}; now it is {value!r}.",
                    remedy=Remedy("Ask for the same, or start afresh without {start}.", start=None),
                )
        return found
