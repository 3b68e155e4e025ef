"""Finding data files: on this machine, or by downloading them."""

import os
from collections.abc import Sequence
from pathlib import Path

from odca.records import record

SHARED = Path("..") / "shared" / "data"


class MissingDataError(FileNotFoundError):
    """A data file was not found in any of the folders searched, and could not be downloaded."""


@record
class File:
    """A data file. url: where to download it; sha256: its expected checksum, if known."""

    name: str
    url: str | None = None
    sha256: str | None = None


def cache() -> Path:
    """The folder of downloads: $XDG_CACHE_HOME/odca, or ~/.cache/odca."""
    home = os.environ.get("XDG_CACHE_HOME")
    return (Path(home) if home else Path.home() / ".cache") / "odca"


def search_path() -> list[Path]:
    """The folders to search, in order."""
    given = os.environ.get("ODCA_DATA")
    return [*([Path(given)] if given else []), SHARED, cache()]


def found(files: Sequence[File]) -> list[Path] | None:
    """The paths of the files; None if one of them is not on this machine."""
    paths = [
        next((place / file.name for place in search_path() if (place / file.name).is_file()), None) for file in files
    ]
    there = [path for path in paths if path is not None]
    return there if len(there) == len(files) else None


def fetched(files: Sequence[File]) -> list[Path]:
    """The paths of the files, downloading those that are not on this machine.

    Raises MissingDataError, which says what to do, if a file cannot be downloaded.
    """
    return [path[0] if (path := found([file])) else _download(file) for file in files]


def _download(file: File) -> Path:
    looked = ", ".join(str(place.absolute()) for place in search_path())
    remedy = f"Put {file.name} into one of {looked}, or set ODCA_DATA to a folder that contains it."
    if file.url is None:
        raise MissingDataError(
            f"{file.name} was not found, and there is no known address to download it from. {remedy}"
        )
    try:
        from pooch import get_logger  # noqa: PLC0415 - optional, and only needed to download
        from pooch.core import retrieve  # noqa: PLC0415 - the same
    except ImportError as error:
        raise MissingDataError(
            f"{file.name} was not found. {remedy} To download it automatically from {file.url}: pip install 'odca[datasets]'."
        ) from error
    get_logger().setLevel("WARNING")  # the progress bar is enough
    known = None if file.sha256 is None else f"sha256:{file.sha256}"
    try:
        return Path(retrieve(file.url, known, fname=file.name, path=cache(), progressbar=_has_bar()))
    except (OSError, ValueError) as error:  # no network, no such page, or a wrong checksum
        raise MissingDataError(
            f"{file.name} was not found and could not be downloaded from {file.url}: {_cause(error)}. {remedy}"
        ) from error


def _cause(error: BaseException) -> BaseException:
    """The innermost error: the errors of a download wrap each other."""
    inner = error.__cause__ or error.__context__
    return error if inner is None else _cause(inner)


def _has_bar() -> bool:
    """Whether tqdm is installed, with which pooch draws its progress bar."""
    from importlib.util import find_spec  # noqa: PLC0415 - the same

    return find_spec("tqdm") is not None
