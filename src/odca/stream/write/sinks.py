"""Writing files atomically, plain or compressed.

A file is written under a temporary name and renamed when it is complete, so that a reader sees either the old or the new one.
"""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePath
from typing import BinaryIO, cast

from odca.io.atomic import replacing
from odca.stream.read.errors import STANDARD_INPUT

SUFFIXES = {".gz": "gzip", ".zst": "zstd", ".bz2": "bz2", ".xz": "xz"}
STANDARD_OUTPUT = STANDARD_INPUT


def compression_of(path: str) -> str | None:
    """The compression that a file's name asks for."""
    return SUFFIXES.get(PurePath(path).suffix.lower())


@contextmanager
def open_sink(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a file for writing, compressed if its name says so. It appears at the end of the `with`, unless that ends in an error.

    "-" is standard output.
    """
    name = os.fspath(path)
    if name == STANDARD_OUTPUT:
        yield sys.stdout.buffer
        return
    with replacing(Path(name)) as file:
        packed = _compressed(file, compression_of(name))
        yield packed
        if packed is not file:
            packed.close()


def _compressed(file: BinaryIO, compression: str | None) -> BinaryIO:
    if compression == "gzip":
        import gzip  # noqa: PLC0415 - each is only needed for such files

        # Without a name and a time, the same data give the same file.
        return cast("BinaryIO", gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0))
    if compression == "bz2":
        import bz2  # noqa: PLC0415 - the same

        return cast("BinaryIO", bz2.BZ2File(file, "wb"))
    if compression == "xz":
        import lzma  # noqa: PLC0415 - the same

        return cast("BinaryIO", lzma.LZMAFile(file, "wb"))
    return _zstd(file) if compression == "zstd" else file


def _zstd(file: BinaryIO) -> BinaryIO:
    if sys.version_info >= (3, 14):
        from compression import zstd  # noqa: PLC0415 - new in 3.14

        return cast("BinaryIO", zstd.ZstdFile(file, "wb"))
    try:
        import zstandard  # noqa: PLC0415 - optional, and only needed for such files
    except ImportError as error:
        raise ImportError(
            "zstd needs the package zstandard, which is missing. Install it with pip install 'odca[cli]', or choose "
            "another compression."
        ) from error
    return cast("BinaryIO", zstandard.ZstdCompressor().stream_writer(file, closefd=False))
