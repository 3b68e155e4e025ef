"""The file of the predictions that are made while a model is trained."""

import argparse
import contextlib
import io
import sys
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, BinaryIO, Self

from odca.cli.shared_options import STANDARD_STREAM
from odca.cli.views.predictions import PredictionLines

if TYPE_CHECKING:
    from odca.models.classifier import RawPredictions
    from odca.stream import Block
    from odca.stream.model import StreamModel
    from odca.validation.arrays import Array


class PredictionFile:
    """Predictions in a file that grows; "-" is standard output.

    A training that resumes continues the file after the first `begun` bytes: what was written after the checkpoint comes again.
    """

    def __init__(self, model: "StreamModel", arguments: argparse.Namespace, begun: int) -> None:
        self._lines = PredictionLines(model, arguments)
        self._is_stdout = arguments.predictions == STANDARD_STREAM
        self._file: BinaryIO
        if self._is_stdout:
            self._file = sys.stdout.buffer
        else:
            self._file = Path(arguments.predictions).open("r+b" if begun else "wb")  # noqa: SIM115 - closed by __exit__
            size = self._file.seek(0, io.SEEK_END)
            if size < begun:
                self._file.close()
                raise ValueError(
                    f"{arguments.predictions} has {size:,} bytes, but the checkpoint was made when it had {begun:,}. Put the file back, or "
                    "start again without --resume."
                )
            self._file.truncate(begun)
            self._file.seek(begun)

    def tell(self, block: "Block", predictions: "RawPredictions | Array") -> None:
        """Write the predictions for the events of a block."""
        text = "".join(self._lines.lines(block, predictions)).encode()
        with (
            contextlib.suppress(BrokenPipeError) if self._is_stdout else contextlib.nullcontext()
        ):  # the model is what counts
            self._file.write(text)
            self._file.flush()  # someone may wait for the answer

    def written(self) -> int:
        """How many bytes the file has; none are counted on standard output, which cannot be continued."""
        return 0 if self._is_stdout else self._file.tell()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if not self._is_stdout:
            self._file.close()
