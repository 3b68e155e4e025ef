"""Checkpoints: training can be interrupted at any moment and resumed, with the same result to the bit.

A checkpoint is a model and the position in the stream after the last event that it has learned. It is written atomically like a model
file: even after a crash, the file holds the previous checkpoint or the new one.
"""

import os
from dataclasses import asdict
from pathlib import Path
from typing import Any, Self

from odca.errors import InputError, Remedy
from odca.io import model_file
from odca.io.model_file import ModelFile, Savable
from odca.records import record
from odca.stream.model import StreamModel
from odca.stream.read.positions import Position

CONTINUE = Remedy("Continue that training with {resume}, or delete the file to start again.", resume=True)
"""What to do about a checkpoint that a new training would replace."""


@record
class Checkpoint(Savable):
    """A model in the middle of its training."""

    model: StreamModel
    position: Position
    """Where the next event is."""
    bad_lines: int
    """The number of lines skipped so far."""
    request: dict[str, Any]
    """The options of the training, which must be the same when it is resumed."""
    predicted: int = 0
    """The number of bytes of the predictions written so far."""

    kind = "Checkpoint"

    def saved(self) -> ModelFile:
        """The contents of the checkpoint's file."""
        position = {name: value for name, value in asdict(self.position).items() if name != "places" or value}
        options = {"position": position, "bad_lines": self.bad_lines, "request": self.request}
        if self.predicted:
            options["predicted"] = self.predicted
        return ModelFile(self.kind, options, {}, {"model": self.model.saved()})

    @classmethod
    def restored(cls, saved: ModelFile, loss: object = None) -> Self:
        """Return the checkpoint of a file. ValueError (or a similar error) if it is invalid."""
        position, bad_lines = Position(**saved.options["position"]), saved.options["bad_lines"]
        predicted = saved.options.get("predicted", 0)
        if not all(type(each) is int for each in (position.file, position.offset, position.line, bad_lines, predicted)):
            raise ValueError("its position in the stream is not a number.")
        if not all(type(each) is str for each in (position.digest, position.earlier)):
            raise ValueError("the checksum of its data is not text.")
        if not all(type(each) is str for pair in position.places.items() for each in pair):
            raise ValueError("its places in a topic are not texts.")
        if not isinstance(saved.options["request"], dict):
            raise ValueError("its request is not a dictionary.")  # noqa: TRY004 - of a damaged file
        model = StreamModel.restored(saved.parts["model"], loss)
        return cls(model, position, bad_lines, saved.options["request"], predicted)

    @classmethod
    def find(cls, path: str | os.PathLike[str], request: dict[str, Any]) -> "Checkpoint | None":
        """The checkpoint at `path`, if there is one. ValueError if its training had other options."""
        if not Path(path).exists():
            return None
        found = cls.load(path)
        wanted = model_file.decode(model_file.encode(request))
        for name, value in wanted.items():
            if found.request.get(name) != value:
                raise InputError(
                    f"{os.fspath(path)} is a checkpoint of a training with {name} {found.request.get(name)!r}; now it is {value!r}.",
                    remedy=Remedy("Use the same options, or delete it and start again without {resume}.", resume=None),
                )
        return found

    @classmethod
    def require_none(cls, path: str | os.PathLike[str], remedy: Remedy) -> None:
        """InputError if there is a checkpoint at `path`, where a file is about to be written: it holds the work of a training."""
        if model_file.kind_of(path) != cls.kind:
            return
        try:
            found = cls.load(path)
        except ValueError:
            return  # it is damaged: nothing can continue from it
        data = found.request.get("data", ())
        files = ", ".join(map(str, data)) if isinstance(data, list | tuple) else str(data)
        events = found.model.metrics.events
        raise InputError(
            f"{os.fspath(path)} is the checkpoint of a training after {events:,} event{'s' * (events != 1)} of {files}, which would be lost.",
            remedy=remedy,
        )
