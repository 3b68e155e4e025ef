"""Places in a stream from which a later run can continue, and whether the files are still those that were read."""

import hashlib
import stat
from collections.abc import Sequence
from dataclasses import field
from pathlib import Path

from odca import _core
from odca.records import record
from odca.stream.read.decompression import PIECE
from odca.stream.read.errors import STANDARD_INPUT
from odca.stream.read.sources import another_file

FORMER_DIGEST = 32  # the length of a digest of earlier versions of odca: of the last bytes before a position only


@record
class Position:
    """A place between two lines: the number of the file, and the (decompressed) bytes and lines before it in that file.

    `digest` is that of all bytes before it in the file, and `earlier` that of the files before; what is empty is not checked.
    `mid_line` is True after a fault, if the rest of a line that was too long is still to be skipped.
    `places`: of a topic, where each of its parts stands; the messages after these follow.
    """

    file: int = 0
    offset: int = 0
    line: int = 0
    digest: str = ""
    mid_line: bool = False
    earlier: str = ""
    places: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if min(self.file, self.offset, self.line) < 0:
            raise ValueError(f"a position needs file, offset and line >= 0; got {self!r}.")


def is_former(digest: str) -> bool:
    """Whether a digest is one of earlier versions of odca."""
    return len(digest) == FORMER_DIGEST


def former_digest(data: bytes) -> str:
    """The digest of earlier versions of odca."""
    return hashlib.blake2b(data, digest_size=FORMER_DIGEST // 2).hexdigest()


# The files before


def followed_by(earlier: str, digest: str) -> str:
    """The digest of the files before the next one, given that of the files before this one and its own."""
    return _core.Checksum().digest(f"{earlier} {digest}".encode())


def digest_of_file(path: str) -> str:
    """The digest of the bytes on the disk; empty for what cannot be read twice."""
    if not can_be_reread(path):
        return ""
    checksum, piece = _core.Checksum(), memoryview(bytearray(PIECE))
    with Path(path).open("rb", buffering=0) as file:
        while count := file.readinto(piece):
            checksum.add(piece[:count])
    return checksum.digest()


def can_be_reread(path: str) -> bool:
    """Whether a path names a regular file."""
    return path != STANDARD_INPUT and stat.S_ISREG(Path(path).stat().st_mode)


def verified(start: Position, paths: Sequence[str]) -> str:
    """The digest of the files before a position; StreamError if it is not the one that the position has."""
    earlier = ""
    if not start.file or not start.earlier:
        return earlier
    for path in paths[: start.file]:
        earlier = followed_by(earlier, digest_of_file(path))
    if earlier != start.earlier:
        which = "the file" if start.file == 1 else "one of the files"
        raise another_file(f"{which} before {paths[start.file]} changed", paths[0])
    return earlier
