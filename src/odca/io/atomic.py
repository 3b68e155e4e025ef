"""Files that are there whole or not at all."""

import errno
import fcntl
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

WRITERS = 4  # to one destination at a time, who remove what others of them left


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """A file to write to, beside its destination, whose place it takes at the end of the `with`, unless that ends in an error.

    Where a link points is what is replaced, and who may read it stays as it was. What is no file (a device, a pipe) is written to.

    The file beside is `.NAME.odca0`, or `.NAME.odca1` while another writer has that one, and so on. A process that is killed leaves
    it there, and the next writer removes it. Several may write to one destination at a time: the last one to end wins.
    """
    mode = path.stat().st_mode if path.exists() else None
    if mode is not None and not stat.S_ISREG(mode):
        with path.open("wb") as file:
            yield file
        return
    to = Path(os.path.realpath(path))
    beside, descriptor = _file_beside(to)
    with os.fdopen(descriptor, "wb") as file:  # open, and so locked, until it has its place
        try:
            if mode is not None:
                os.fchmod(descriptor, stat.S_IMODE(mode))
            yield file
            file.flush()
            os.fsync(descriptor)
            beside.replace(to)
        except BaseException:
            beside.unlink(missing_ok=True)
            raise
    _sync_folder(to.parent)


def _file_beside(to: Path) -> tuple[Path, int]:
    """A new file for this writer alone, and its descriptor."""
    paths = [to.with_name(f".{to.name}.odca{number}") for number in range(WRITERS)]
    for path in paths:
        _remove_if_abandoned(path)
    for path in paths:
        with suppress(FileExistsError):  # another writer has it
            descriptor = _created(path)
            if _has_lock(descriptor, path, where_there_are_none=True):
                return path, descriptor
            os.close(descriptor)
    path = to.with_name(f".{to.name}.odca{os.urandom(8).hex()}")  # too many writers
    return path, _created(path)


def _created(path: Path) -> int:
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)


def _remove_if_abandoned(path: Path) -> None:
    """Remove a file that no writer has locked: the one who had it was killed. (Or has just made it, and will take another.)"""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:  # mostly there is none
        return
    with os.fdopen(descriptor), suppress(PermissionError):  # of a folder where one may only remove what is one's own
        if _has_lock(descriptor, path, where_there_are_none=False):
            path.unlink()


def _has_lock(descriptor: int, path: Path, *, where_there_are_none: bool) -> bool:
    """Whether the file could be locked, for as long as it is open, and is still at its place.

    where_there_are_none: the answer on file systems without locks.
    """
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return os.path.samestat(os.fstat(descriptor), path.stat(follow_symlinks=False))
    except (BlockingIOError, FileNotFoundError):
        return False
    except OSError:
        return where_there_are_none


def _sync_folder(folder: Path) -> None:
    """Make the new name last through a power cut, as the contents do, where folders can be synced."""
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    except OSError as error:
        if error.errno not in {errno.EACCES, errno.EINVAL}:
            raise
