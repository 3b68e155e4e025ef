"""Files that are there whole or not at all."""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """A file to write to, beside its destination, whose place it takes at the end of the `with`, unless that ends in an error.

    Where a link points is what is replaced, and who may read it stays as it was. What is no file (a device, a pipe) is written to.
    """
    mode = path.stat().st_mode if path.exists() else None
    if mode is not None and not stat.S_ISREG(mode):
        with path.open("wb") as file:
            yield file
        return
    to = Path(os.path.realpath(path))
    beside = to.with_name(f".{to.name}.{os.urandom(8).hex()}")
    try:
        with beside.open("xb") as file:
            if mode is not None:
                beside.chmod(stat.S_IMODE(mode))
            yield file
            file.flush()
            os.fsync(file.fileno())
        beside.replace(to)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
