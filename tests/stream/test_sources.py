"""Bytes come out of files, pipes and compressed data as they were put in, or an error says what is wrong."""

import bz2
import functools
import gzip
import lzma
import os
import pickle
import random
import signal
import subprocess
import sys
import threading
import time
import tracemalloc
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import zstandard

from odca.stream.read.errors import StreamError
from odca.stream.read.sources import KEPT, ByteSource, expand, open_bytes

COMPRESS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "bz2": bz2.compress,
    "xz": functools.partial(lzma.compress, preset=0),  # the others take long to begin
    "zstd": zstandard.ZstdCompressor(write_checksum=True).compress,
}
TEXT = "".join(f"{i},{random.Random(i).random()}\n" for i in range(30_000)).encode()  # about 700 KB
UNSEEN = bytearray().extend
every_compression = pytest.mark.parametrize("compression", COMPRESS)
every_kind = pytest.mark.parametrize("kind", ["plain", *COMPRESS])


@functools.cache
def packed(data: bytes, kind: str) -> bytes:
    return data if kind == "plain" else COMPRESS[kind](data)


def file_of(folder: Path, data: bytes) -> str:
    path = folder / "data"
    path.write_bytes(data)
    return str(path)


def pieces(source: ByteSource, size: int) -> Iterator[bytes]:
    buffer = bytearray(size)
    while count := source.readinto(buffer):
        yield bytes(buffer[:count])


def all_of(source: ByteSource, size: int = 100_000) -> bytes:
    return b"".join(pieces(source, size))


def read(path: str, size: int = 100_000, compression: str = "auto") -> bytes:
    with open_bytes(path, compression=compression) as source:
        return all_of(source, size)


# Errors


def test_an_error_says_where_it_is() -> None:
    error = StreamError("expected a number.", path="a.csv", line=3, column=17, field="price")
    assert str(error) == "a.csv, line 3, column 'price' (character 17): expected a number."
    assert str(StreamError("no.", path="-", line=2, column=4)) == "standard input, line 2, character 4: no."
    assert str(StreamError("no.", path="a", field="x")) == "a, column 'x': no."
    assert str(StreamError("no.", path="a")) == "a: no."


def test_an_error_survives_pickling() -> None:
    error = StreamError("no.", path="a.csv", line=3, column=17, field="price")
    error.add_note("seen by a worker")
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is StreamError
    assert vars(again) == vars(error)
    assert str(again) == str(error)


# Paths


def test_a_glob_becomes_its_files_in_the_order_of_their_bytes(tmp_path: Path) -> None:
    for name in ("b.csv", "a10.csv", "a2.csv", "Z.csv", "é.csv", "c.txt"):
        (tmp_path / name).touch()
    (tmp_path / "folder.csv").mkdir()
    names = [Path(path).name for path in expand(tmp_path / "*.csv")]
    assert names == ["Z.csv", "a10.csv", "a2.csv", "b.csv", "é.csv"]


def test_paths_keep_their_order_and_repetitions(tmp_path: Path) -> None:
    for name in ("b", "a", "x1", "x2"):
        (tmp_path / name).touch()
    b, a, globbed = (str(tmp_path / name) for name in ("b", "a", "x*"))
    assert expand([b, Path(a), "-", globbed, b]) == (b, a, "-", str(tmp_path / "x1"), str(tmp_path / "x2"), b)


def test_two_stars_reach_into_folders(tmp_path: Path) -> None:
    (tmp_path / "d" / "e").mkdir(parents=True)
    (tmp_path / "d" / "e" / "a.csv").touch()
    assert expand(f"{tmp_path}/**/*.csv") == (str(tmp_path / "d" / "e" / "a.csv"),)


def test_a_file_whose_name_looks_like_a_glob_is_that_file(tmp_path: Path) -> None:
    (tmp_path / "a[1].csv").touch()
    (tmp_path / "a1.csv").touch()
    assert expand(tmp_path / "a[1].csv") == (str(tmp_path / "a[1].csv"),)


def test_a_missing_file_is_reported(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"there is no file .*none\.csv"):
        expand(str(tmp_path / "none.csv"))
    with pytest.raises(FileNotFoundError, match=r"no file matches .*\*\.csv"):
        expand(str(tmp_path / "*.csv"))
    with pytest.raises(FileNotFoundError):
        expand("")
    with pytest.raises(IsADirectoryError, match=r"is a directory\. Name its files: '.*/\*'"):
        expand(tmp_path)
    with pytest.raises(ValueError, match="no files were given"):
        expand([])
    with pytest.raises(ValueError, match=r"standard input .* more than once"):
        expand(["-", "-"])


# Compression


@every_kind
@pytest.mark.parametrize("size", [7_001, 3 << 20])
def test_compressed_data_are_decompressed(tmp_path: Path, kind: str, size: int) -> None:
    with open_bytes(file_of(tmp_path, packed(TEXT, kind))) as source:
        assert source.compression == kind
        assert source.size == len(packed(TEXT, kind))
        assert source.consumed == 0
        assert all_of(source, size) == TEXT
        assert source.consumed == source.size
        assert source.readinto(bytearray(1)) == 0, "the end stays the end"


@every_compression
def test_consecutive_compressed_members_are_one_file(tmp_path: Path, compression: str) -> None:
    parts = [TEXT[:100], b"", TEXT[100:400_000], *(bytes([letter]) for letter in b"many short ones" * 300), TEXT]
    data = b"".join(COMPRESS[compression](part) for part in parts)
    assert read(file_of(tmp_path, data)) == b"".join(parts)


@every_compression
def test_a_compressed_member_may_begin_anywhere_in_a_read_buffer(tmp_path: Path, compression: str) -> None:
    noise = random.Random(0).randbytes
    for length in range((256 << 10) - 90, (256 << 10) + 10, 7):
        parts = [noise(length), b"second", b"third"]
        data = b"".join(COMPRESS[compression](part) for part in parts)
        assert read(file_of(tmp_path, data)) == b"".join(parts)


@pytest.mark.parametrize("compression", ["gzip", "xz"])
def test_trailing_zeros_are_padding(tmp_path: Path, compression: str) -> None:
    part = COMPRESS[compression](TEXT)
    assert read(file_of(tmp_path, part + bytes(512) + part + bytes(1 << 20))) == TEXT + TEXT


def test_skippable_zstd_frames_are_skipped(tmp_path: Path) -> None:
    skipped = b"\x53\x2a\x4d\x18" + (5).to_bytes(4, "little") + b"hello"
    data = skipped + COMPRESS["zstd"](TEXT) + skipped
    assert read(file_of(tmp_path, data)) == TEXT


@every_compression
def test_a_truncated_file_delivers_its_data_and_then_an_error(tmp_path: Path, compression: str) -> None:
    data = packed(TEXT, compression)
    for length in (len(data) - 1, len(data) // 2, 13):
        path = file_of(tmp_path, data[:length])
        parts: list[bytes] = []
        with open_bytes(path) as source, pytest.raises(StreamError) as caught:
            parts.extend(pieces(source, 10_000))
        got = b"".join(parts)
        assert f"ends in the middle of {compression} data after {length} bytes" in str(caught.value)
        assert caught.value.path == path
        assert TEXT.startswith(got)
        assert len(got) == len(TEXT) or length < len(data) - 1, "only a checksum is missing"


@every_compression
def test_a_corrupted_byte_is_detected(tmp_path: Path, compression: str) -> None:
    data = bytearray(packed(TEXT, compression))
    data[len(data) // 2] ^= 0x55
    with pytest.raises(StreamError, match=r"the file is damaged near byte \d+: |ends in the middle"):
        read(file_of(tmp_path, bytes(data)))


@every_compression
def test_trailing_garbage_is_refused(tmp_path: Path, compression: str) -> None:
    packed_text = packed(TEXT, compression)
    with pytest.raises(StreamError, match="the file is damaged near byte"):
        read(file_of(tmp_path, packed_text + b"a plain text that someone appended, long enough to be looked at"))


@every_compression
def test_the_compression_can_be_stated(tmp_path: Path, compression: str) -> None:
    path = file_of(tmp_path, packed(TEXT, compression))
    assert read(path, compression=compression) == TEXT
    assert read(path, compression="plain") == packed(TEXT, compression)
    other = next(each for each in COMPRESS if each != compression)
    with pytest.raises(StreamError, match=r"is damaged near byte|ends in the middle"):
        read(path, compression=other)


def test_an_unknown_compression_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="must be one of auto, plain, gzip, zstd, bz2, xz; got 'rar'"):
        open_bytes(file_of(tmp_path, b""), compression="rar")


@pytest.mark.parametrize("text", [b"", b"B", b"BZh9 is how bz2 begins\n", b"PK\n", b"\x1f\x8b\n", b"(\n", b"1\n"])
def test_text_that_resembles_a_compression_header_is_plain_text(tmp_path: Path, text: bytes) -> None:
    assert read(file_of(tmp_path, text)) == text


@pytest.mark.parametrize(
    ("head", "what"), [(b"PK\x03\x04", "zip"), (b"PAR1\x15", "Parquet"), (b"\x04\x22\x4d\x18", "lz4")]
)
def test_binary_formats_are_refused_by_name(tmp_path: Path, head: bytes, what: str) -> None:
    path = file_of(tmp_path, head + bytes(100))
    with pytest.raises(StreamError, match=f"{what}.* Convert it"):
        open_bytes(path)
    assert read(path, compression="plain") == head + bytes(100)


def test_without_the_zstd_package_the_error_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if sys.version_info >= (3, 14):
        pytest.skip("zstd is part of Python here")
    path = file_of(tmp_path, COMPRESS["zstd"](TEXT))
    monkeypatch.setitem(sys.modules, "zstandard", None)
    with pytest.raises(ImportError, match=r"pip install 'odca\[cli\]'"):
        open_bytes(path)
    assert read(file_of(tmp_path, gzip.compress(TEXT))) == TEXT


# Megabytes that it unpacks to, and that reading it may take: what was asked for, a few times. For xz also its
# dictionary. For zstd what a slice of its input may become (64 MB) twice, as it is put together from pieces.
@pytest.mark.parametrize(
    ("compression", "packer", "huge", "little"),
    [
        ("gzip", lambda: zlib.compressobj(1, wbits=31), 64, 8),
        ("bz2", lambda: bz2.BZ2Compressor(1), 64, 8),
        ("xz", lambda: lzma.LZMACompressor(preset=1), 64, 8),
        ("zstd", lambda: zstandard.ZstdCompressor(1).compressobj(), 500, 130),
    ],
)
def test_a_small_file_that_unpacks_to_a_huge_one_needs_little_memory(
    tmp_path: Path, compression: str, packer: Callable[[], Any], huge: int, little: int
) -> None:
    pack = packer()
    path = file_of(tmp_path, b"".join([pack.compress(bytes(1 << 20)) for _ in range(huge)] + [pack.flush()]))
    assert Path(path).stat().st_size < huge << 13
    buffer, total = bytearray(1 << 20), 0
    tracemalloc.start()
    try:
        with open_bytes(path) as source:
            assert source.compression == compression
            while count := source.readinto(buffer):
                total += count
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert total == huge << 20
    assert peak < little << 20


# Skipping


@every_kind
@pytest.mark.parametrize("begin", [0, 1, 5_000, 650_000, len(TEXT)])
def test_skipping_counts_decompressed_bytes(tmp_path: Path, kind: str, begin: int) -> None:
    with open_bytes(file_of(tmp_path, packed(TEXT, kind))) as source:
        seen = bytearray()
        source.skip(begin // 2, seen.extend)
        last = source.skip(begin - begin // 2, seen.extend)
        assert seen == TEXT[:begin]
        assert last == TEXT[max(begin // 2, begin - KEPT) : begin]
        assert all_of(source) == TEXT[begin:]
        assert source.consumed == source.size


@every_kind
def test_skipping_past_the_end_says_that_the_file_is_shorter(tmp_path: Path, kind: str) -> None:
    with open_bytes(file_of(tmp_path, packed(TEXT, kind))) as source:
        source.skip(1000, UNSEEN)
        expected = f"shorter than {len(TEXT) + 1} bytes, it ends after {len(TEXT)}: .* without `start`"
        with pytest.raises(StreamError, match=expected):
            source.skip(len(TEXT) - 999, UNSEEN)


# Pipes

READER = """
import sys
from odca.stream.read.sources import open_bytes
with open_bytes("-") as source:
    assert (source.size is None) == (sys.argv[1] == "pipe"), source.size
    source.skip(int(sys.argv[2]), bytearray().extend)
    buffer = bytearray(50_000)
    while count := source.readinto(buffer):
        sys.stdout.buffer.write(buffer[:count])
    sys.stderr.write(f"{source.compression} {source.consumed}")
"""


@every_kind
def test_standard_input_is_decompressed_too(tmp_path: Path, kind: str) -> None:
    data = packed(TEXT, kind)
    command = [sys.executable, "-c", READER]
    piped = subprocess.run([*command, "pipe", "100"], input=data, capture_output=True, check=True)
    assert piped.stdout == TEXT[100:]
    assert piped.stderr.decode() == f"{kind} {len(data)}"
    with Path(file_of(tmp_path, data)).open("rb") as file:
        redirected = subprocess.run([*command, "file", "100"], stdin=file, capture_output=True, check=True)
    assert redirected.stdout == TEXT[100:]
    assert redirected.stderr.decode() == f"{kind} {len(data)}"


@every_kind
def test_a_pipe_may_give_one_byte_at_a_time(kind: str) -> None:
    data = packed(TEXT[:200], kind)
    reading, writing = os.pipe()

    def drip() -> None:
        with os.fdopen(writing, "wb", 0) as end:
            for value in data:
                end.write(bytes([value]))

    with os.fdopen(reading, "rb", 0) as end:
        threading.Thread(target=drip).start()
        assert read(f"/dev/fd/{end.fileno()}") == TEXT[:200]


@pytest.mark.parametrize("compression", ["plain", "gzip"])
def test_waiting_for_a_pipe_can_be_stopped(tmp_path: Path, compression: str) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    stopped = threading.Event()
    with fifo.open("r+b", 0) as writer:  # r+: opens without a reader
        writer.write(packed(TEXT, compression)[:3000])
        with open_bytes(fifo, stopped=stopped) as source:
            assert source.size is None
            begin = source.readinto(bytearray(10_000))
            assert begin > 0
            threading.Timer(0.2, stopped.set).start()
            while source.readinto(bytearray(10_000)):
                pass
            assert stopped.is_set()


# Following


def wait_until(happened: Callable[[], bool]) -> None:
    until = time.monotonic() + 20
    while not happened():
        assert time.monotonic() < until, "it did not happen within 20 seconds"
        time.sleep(0.01)


class Follower:
    """Reads a followed file in a thread."""

    def __init__(self, path: Path) -> None:
        self.stopped = threading.Event()
        self.source = open_bytes(path, follow=True, stopped=self.stopped)
        self.got = b""
        self._thread = threading.Thread(target=self._read)
        self._thread.start()

    def _read(self) -> None:
        buffer = bytearray(1000)
        while count := self.source.readinto(buffer):
            self.got += buffer[:count]
        self.source.close()

    def expect(self, data: bytes) -> None:
        wait_until(lambda: len(self.got) >= len(data))
        assert self.got == data

    def end(self) -> bytes:
        self._thread.join(20)
        assert not self._thread.is_alive()
        return self.got


def append(path: Path, data: bytes) -> None:
    with path.open("ab") as file:
        file.write(data)


def test_following_waits_for_more_data_until_stopped(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"one\n")
    follower = Follower(path)
    follower.expect(b"one\n")
    append(path, b"two\n")
    follower.expect(b"one\ntwo\n")
    append(path, b"thr")
    follower.expect(b"one\ntwo\nthr")
    follower.stopped.set()
    assert follower.end() == b"one\ntwo\nthr"
    assert not follower.source.replaced


def test_following_ends_when_the_file_is_truncated(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"one\ntwo\n")
    follower = Follower(path)
    follower.expect(b"one\ntwo\n")
    path.write_bytes(b"new\n")
    assert follower.end() == b"one\ntwo\n"
    assert follower.source.replaced


def test_a_replaced_file_is_first_read_to_its_end(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"one\n")
    follower = Follower(path)
    follower.expect(b"one\n")
    path.rename(tmp_path / "log.1")
    time.sleep(0.25)
    append(tmp_path / "log.1", b"late\n")  # whoever writes has not noticed yet
    follower.expect(b"one\nlate\n")
    append(tmp_path / "log.1", b"last\n")
    path.write_bytes(b"new\n")
    assert follower.end() == b"one\nlate\nlast\n"
    assert follower.source.replaced


def test_data_written_during_a_replacement_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"one\n")
    with open_bytes(path, follow=True) as source:
        source.skip(4, UNSEEN)

        def replaced_just_now() -> bool:
            if source.consumed == 4:
                append(path, b"last\n")
            return True

        monkeypatch.setattr(source, "_superseded", replaced_just_now)
        assert all_of(source) == b"last\n"
        assert source.replaced


def test_wait_says_whether_there_is_more_data(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"one\n")
    with open_bytes(path, follow=True) as source:
        assert source.wait(0)
        source.skip(4, UNSEEN)
        assert not source.wait(0)
        threading.Timer(0.1, append, (path, b"two\n")).start()
        assert source.wait(20)
        assert source.skip(4, UNSEEN) == b"two\n"


def test_following_compressed_files_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StreamError, match="compressed with gzip and cannot be followed"):
        open_bytes(file_of(tmp_path, gzip.compress(TEXT)), follow=True)


def test_ctrl_c_ends_following_at_once(tmp_path: Path) -> None:
    path = file_of(tmp_path, b"one\n")
    code = (
        "import signal\n"
        "from odca.stream.read.sources import open_bytes\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # who runs in the background may have it ignored
        f"source = open_bytes({path!r}, follow=True)\n"
        "source.skip(4, bytearray().extend)\n"
        "print('waiting', flush=True)\n"
        "source.readinto(bytearray(10))\n"
    )
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == b"waiting\n"
        time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=20)
    finally:
        process.kill()
    assert b"KeyboardInterrupt" in errors
