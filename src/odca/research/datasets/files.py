"""Where files are: on this machine, or where they can be had."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

BESIDE = Path("..") / "shared" / "data"


class MissingDataError(FileNotFoundError):
    """A file is on none of the places where it was looked for, and could not be downloaded."""


@dataclass(frozen=True, slots=True)
class File:
    """A file by its name. url: where it can be had; sha256: what it must then be, where that is known."""

    name: str
    url: str | None = None
    sha256: str | None = None


def cache() -> Path:
    """Where downloads are kept: $XDG_CACHE_HOME/odca, or ~/.cache/odca."""
    home = os.environ.get("XDG_CACHE_HOME")
    return (Path(home) if home else Path.home() / ".cache") / "odca"


def places() -> list[Path]:
    """Where a file may be, the first one first."""
    given = os.environ.get("ODCA_DATA")
    return [*([Path(given)] if given else []), BESIDE, cache()]


def found(files: Sequence[File]) -> list[Path] | None:
    """The paths of all of them; None if one is nowhere."""
    paths = [next((place / file.name for place in places() if (place / file.name).is_file()), None) for file in files]
    there = [path for path in paths if path is not None]
    return there if len(there) == len(files) else None


def fetched(files: Sequence[File]) -> list[Path]:
    """The same, with those that are nowhere downloaded. MissingDataError, with what to do, if that cannot be."""
    return [path[0] if (path := found([file])) else _download(file) for file in files]


def _download(file: File) -> Path:
    looked = ", ".join(str(place.absolute()) for place in places())
    remedy = f"Put {file.name} into one of {looked}, or set ODCA_DATA to a folder that has it."
    if file.url is None:
        raise MissingDataError(f"{file.name} is nowhere to be found, and it is not known where it can be had. {remedy}")
    try:
        from pooch import get_logger  # noqa: PLC0415 - optional, and needed by those only who download
        from pooch.core import retrieve  # noqa: PLC0415 - the same
    except ImportError as error:
        raise MissingDataError(
            f"{file.name} is nowhere to be found. {remedy} To have it downloaded from {file.url}: pip install 'odca[datasets]'."
        ) from error
    get_logger().setLevel("WARNING")  # a bar shows that it goes on
    known = None if file.sha256 is None else f"sha256:{file.sha256}"
    try:
        return Path(retrieve(file.url, known, fname=file.name, path=cache(), progressbar=_has_bar()))
    except (OSError, ValueError) as error:  # no network, no such page; or another file than it was
        raise MissingDataError(
            f"{file.name} is nowhere to be found, and could not be downloaded: {_cause(error)}. {remedy} It can be had from {file.url}."
        ) from error


def _cause(error: BaseException) -> BaseException:
    """What went wrong first: the errors of a download wrap each other."""
    inner = error.__cause__ or error.__context__
    return error if inner is None else _cause(inner)


def _has_bar() -> bool:
    """Whether what pooch draws its progress with is there."""
    from importlib.util import find_spec  # noqa: PLC0415 - the same

    return find_spec("tqdm") is not None
