"""Files are replaced whole, and only files are replaced."""

import errno
import fcntl
import os
import stat
import subprocess
import sys
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


KILLED_WHILE_WRITING = """
import os, sys, pathlib
from odca.io.atomic import replacing
with replacing(pathlib.Path(sys.argv[1])) as file:
    file.write(b"half of it")
    file.flush()
    os.kill(os.getpid(), 9)
"""


def test_what_a_killed_writer_leaves_is_gone_after_the_next_one(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")
    for _ in range(3):
        subprocess.run([sys.executable, "-c", KILLED_WHILE_WRITING, path], check=False)
    assert path.read_bytes() == b"old"
    assert len(list(tmp_path.iterdir())) == 2  # one half file, however many were killed
    with replacing(path):
        subprocess.run([sys.executable, "-c", KILLED_WHILE_WRITING, path], check=False)
    with replacing(path) as file:
        file.write(b"new")
    assert path.read_bytes() == b"new"
    assert list(tmp_path.iterdir()) == [path]


def test_writers_of_one_file_do_not_disturb_each_other(tmp_path: Path) -> None:
    path = tmp_path / "file"
    with replacing(path) as first:
        first.write(b"first")
        with replacing(path) as second:
            second.write(b"second")
            with pytest.raises(OSError), replacing(path) as third:  # noqa: PT012 - of a writer that fails
                third.write(b"third")
                raise OSError
        assert path.read_bytes() == b"second"
    assert path.read_bytes() == b"first"
    assert list(tmp_path.iterdir()) == [path]


def test_many_processes_that_write_one_file_leave_a_whole_one(tmp_path: Path) -> None:
    path = tmp_path / "file"
    script = (
        "import sys, pathlib; from odca.io.atomic import replacing\n"
        "for _ in range(60):\n"
        "    with replacing(pathlib.Path(sys.argv[1])) as file: file.write(sys.argv[2].encode() * 10_000)\n"
    )
    writers = [subprocess.Popen([sys.executable, "-c", script, path, name]) for name in "abc"]
    assert [writer.wait() for writer in writers] == [0, 0, 0]
    assert path.read_bytes() in {name * 10_000 for name in (b"a", b"b", b"c")}
    assert list(tmp_path.iterdir()) == [path]


def test_the_folder_is_synced_after_its_file_was_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, synced = tmp_path / "file", []
    monkeypatch.setattr(os, "fsync", lambda descriptor: synced.append((os.fstat(descriptor), path.exists())))
    with replacing(path) as file:
        file.write(b"new")
    (contents, was_there), (folder, is_there) = synced
    assert os.path.samestat(contents, path.stat())
    assert os.path.samestat(folder, tmp_path.stat())
    assert (was_there, is_there) == (False, True)


def test_writers_have_files_of_their_own_where_there_are_no_locks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unsupported(*_: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", unsupported)
    path = tmp_path / "file"
    with replacing(path) as first:
        first.write(b"first")
        with replacing(path) as second:
            second.write(b"second")
        assert path.read_bytes() == b"second"
    assert path.read_bytes() == b"first"
    assert list(tmp_path.iterdir()) == [path]


SIGNALS_AT_ANY_MOMENT = """
import os, random, signal, sys
from pathlib import Path
from odca.io.atomic import replacing

class Stop(Exception): pass
def stop(*_): raise Stop
signal.signal(signal.SIGALRM, stop)
folder, chance = Path(sys.argv[1]), random.Random(0)
open_before = len(os.listdir("/proc/self/fd"))
for _ in range(500):
    try:
        signal.setitimer(signal.ITIMER_REAL, chance.uniform(1e-6, 4e-4))
        with replacing(folder / "file") as file:
            file.write(b"new")
            while True: pass
    except Stop:
        pass
    assert not list(folder.iterdir()), list(folder.iterdir())
assert len(os.listdir("/proc/self/fd")) <= open_before + 1
"""


def test_a_signal_at_any_moment_leaves_no_file_behind(tmp_path: Path) -> None:
    run = [sys.executable, "-c", SIGNALS_AT_ANY_MOMENT, str(tmp_path)]
    done = subprocess.run(run, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
