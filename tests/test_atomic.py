"""Files are replaced whole, and only files are replaced."""

import os
import stat
import threading
from pathlib import Path

import pytest

from odca.io.atomic import replacing


def test_an_error_leaves_the_old_file_and_nothing_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")
    with pytest.raises(TypeError), replacing(path) as file:
        file.writelines([b"new", "no bytes"])  # type: ignore[list-item]
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_replacing_a_file_keeps_its_permissions(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")
    path.chmod(0o600)
    with replacing(path) as file:
        file.write(b"new")
    assert path.read_bytes() == b"new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_writing_through_a_symlink_replaces_its_target(tmp_path: Path) -> None:
    path, link = tmp_path / "file", tmp_path / "link"
    path.write_bytes(b"old")
    link.symlink_to(path)
    with replacing(link) as file:
        file.write(b"new")
    assert link.is_symlink()
    assert path.read_bytes() == b"new"


def test_devices_are_written_in_place(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    with replacing(Path(f"/dev/fd/{writing}")) as file:
        file.write(b"new")
    os.close(writing)
    assert os.read(reading, 10) == b"new"
    os.close(reading)
    assert not list(tmp_path.iterdir())


def test_pipes_are_written_in_place(tmp_path: Path) -> None:
    pipe, came = tmp_path / "pipe", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: came.append(pipe.read_bytes()))
    reader.start()
    with replacing(pipe) as file:
        file.write(b"new")
    reader.join(10)
    assert came == [b"new"]
    assert stat.S_ISFIFO(pipe.stat().st_mode)
