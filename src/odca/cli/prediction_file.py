"""The file of the predictions that are made while a model is trained."""

import argparse
import io
import sys
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, BinaryIO, Self

from odca.cli.shared_options import STANDARD_STREAM
from odca.cli.views.console import Output
from odca.cli.views.predictions import PredictionLines

if TYPE_CHECKING:
    from odca.models.classifier import RawPredictions
    from odca.models.uncertainty import Uncertainty
    from odca.stream import Block
    from odca.stream.model import StreamModel
    from odca.validation.arrays import Array


class PredictionFile:
    """Predictions in a file that grows; "-" is standard output.

    A training that resumes continues the file after the first `begun` bytes: what was written after the checkpoint comes again.
    """

    def __init__(self, model: "StreamModel", arguments: argparse.Namespace, output: Output, begun: int) -> None:
        self._lines = PredictionLines(model, arguments, is_begun=begun > 0)
        self._output = output
        self._is_stdout = arguments.predictions == STANDARD_STREAM
        self._is_closed = False
        path = Path(arguments.predictions)
        self._file: BinaryIO
        if self._is_stdout:
            self._file = sys.stdout.buffer
        elif begun:
            self._file = _continued(path, begun)
        else:
            self._file = path.open("wb")

    def tell(self, block: "Block", predictions: "RawPredictions | Array", before: "Uncertainty | None") -> None:
        """Write the predictions for the events of a block; before: what intervals and sets are made of."""
        text = "".join(self._lines.lines(block, predictions, before)).encode()
        if self._is_closed:
            return
        try:
            self._file.write(text)
            self._file.flush()  # someone may wait for the answer
        except OSError as error:
            if not self._is_stdout:
                raise
            self._is_closed = True  # the model is what counts
            reason = error.strerror or "it is closed"
            self._output.warn(f"predictions cannot be written to standard output ({reason}). The training goes on.")

    def written(self) -> int:
        """How many bytes the file has; none are counted where it cannot be continued, as on standard output or in a pipe."""
        return 0 if self._is_stdout or not self._file.seekable() else self._file.tell()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if not self._is_stdout:
            self._file.close()


def _continued(path: Path, begun: int) -> BinaryIO:
    """The file, open after its first bytes. ValueError if it has fewer."""
    size = path.stat().st_size if path.exists() else 0
    if size < begun:
        raise ValueError(
            f"{path} has {size:,} bytes, but the checkpoint was made when it had {begun:,}. Put the file back, or delete the "
            "checkpoint and start again without --resume."
        )
    file = path.open("r+b")
    file.truncate(begun)
    file.seek(begun, io.SEEK_SET)
    return file
