"""Atomic writing of files: a reader sees either the old or the new file, never a part of one."""

import errno
import fcntl
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

WRITERS = 4  # the number of temporary names per destination, which later writers clean up


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """Open a temporary file beside `path`, which replaces it at the end of the `with`, unless there was an error.

    If `path` is a link, the file that it points to is replaced. Permissions are kept. Devices and pipes are written in place.

    The temporary file is `.NAME.odca0`, or `.NAME.odca1` while another writer uses that one, and so on. If a process is killed, its
    temporary file is removed by the next writer. Several processes may write to one destination: the last one to finish wins.
    """
    mode = path.stat().st_mode if path.exists() else None
    if mode is not None and not stat.S_ISREG(mode):
        with path.open("wb") as in_place:
            yield in_place
        return
    to = Path(os.path.realpath(path))
    opened: list[BinaryIO] = []
    try:
        file = _opened_beside(to, opened)
        if mode is not None:
            os.fchmod(file.fileno(), stat.S_IMODE(mode))
        yield file
        file.flush()
        os.fsync(file.fileno())
        Path(file.name).replace(to)  # while it is open, and therefore locked
    except BaseException:
        _remove(opened, to)
        raise
    finally:
        for each in opened:
            each.close()
    _sync_folder(to.parent)


def _opened_beside(to: Path, opened: list[BinaryIO]) -> BinaryIO:
    """A new temporary file that no other writer uses. It is in `opened` as soon as there is one, because a signal may end this call."""
    for path in _numbered(to):
        _remove_if_abandoned(path)
    for path in _numbered(to):
        with suppress(FileExistsError):  # another writer uses it
            opened.append(path.open("xb"))
            if _has_lock(opened[-1].fileno(), path, where_there_are_none=True):
                return opened[-1]
            opened.pop().close()
    opened.append(to.with_name(f".{to.name}.odca{os.urandom(8).hex()}").open("xb"))  # too many writers
    return opened[-1]


def _numbered(to: Path) -> list[Path]:
    return [to.with_name(f".{to.name}.odca{number}") for number in range(WRITERS)]


def _remove(opened: list[BinaryIO], to: Path) -> None:
    """Remove temporary files that were opened, unless their names have passed to other writers; and one that did not get so far."""
    for each in opened:
        path = Path(each.name)
        if _has_lock(each.fileno(), path, where_there_are_none=True):
            path.unlink(missing_ok=True)
    for path in _numbered(to):
        _remove_if_abandoned(path)


def _remove_if_abandoned(path: Path) -> None:
    """Remove a temporary file that is not locked: its writer was killed. (If it has just been created, its writer takes another.)"""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:  # usually there is none
        return
    with os.fdopen(descriptor), suppress(PermissionError):  # in a folder where users may only remove their own files
        if _has_lock(descriptor, path, where_there_are_none=False):
            path.unlink()


def _has_lock(descriptor: int, path: Path, *, where_there_are_none: bool) -> bool:
    """Lock the file for as long as it is open; return whether that was possible and the file still has this path.

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
    """Make the new name survive a power cut, on file systems where folders can be synced."""
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    except OSError as error:
        if error.errno not in {errno.EACCES, errno.EINVAL}:
            raise
