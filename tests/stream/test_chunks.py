"""Chunks hold whole lines, nothing is lost between them, and every place between two is one to go on from."""

import bz2
import csv
import gzip
import hashlib
import io
import os
import random
import re
import resource
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from odca import _core
from odca.stream.read.chunks import UTF8_MARK, WIDE_MARKS, Chunk, Chunks
from odca.stream.read.errors import StreamError
from odca.stream.read.lines import first_line_end, last_line_end
from odca.stream.read.positions import Position
from problems import examples

PACK: dict[str, Callable[[bytes], bytes]] = {"plain": bytes, "gzip": gzip.compress, "bz2": bz2.compress}


def write(folder: Path, *contents: bytes) -> list[str]:
    paths = [folder / f"{i}.csv" for i in range(len(contents))]
    for path, content in zip(paths, contents, strict=True):
        path.write_bytes(content)
    return [str(path) for path in paths]


def data_of(chunks: list[Chunk]) -> bytes:
    return b"".join(bytes(chunk.data) for chunk in chunks)


def chunks_of(folder: Path, *contents: bytes, **options: Any) -> list[Chunk]:
    with Chunks(write(folder, *contents), **options) as chunks:
        return list(chunks)


# The laws

texts = st.lists(
    st.sampled_from([b"\n", b'"', b",", b" ", b"a", b"bc", b"\r\n", b"\0", b"\xff", b"0123456789"]), max_size=60
).map(b"".join)
files = st.lists(st.one_of(texts, st.binary(max_size=50)), min_size=1, max_size=3)


def marked(content: bytes) -> bool:
    return content.startswith((UTF8_MARK, *WIDE_MARKS))


@settings(max_examples=examples(200))
@given(files.filter(lambda contents: not any(map(marked, contents))), st.integers(1, 70), st.sampled_from(list(PACK)))
def test_all_bytes_come_in_whole_lines_for_any_size(contents: list[bytes], size: int, kind: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        chunks = chunks_of(Path(folder), *map(PACK[kind], contents), size=size, compression=kind)
    for file, content in enumerate(contents):
        own = [chunk for chunk in chunks if chunk.file == file]
        assert data_of(own) == content
        assert [chunk.first for chunk in own] == [True] + [False] * (len(own) - 1)
        assert [chunk.last for chunk in own] == [False] * (len(own) - 1) + [True]
        assert all(bytes(chunk.data).endswith(b"\n") for chunk in own[:-1])
        place = 0
        for chunk in own:
            assert (chunk.offset, chunk.fault) == (place, "")
            place += len(chunk.data)


@settings(max_examples=examples(100))
@given(files, st.integers(1, 70), st.booleans(), st.integers(4, 40), st.sampled_from(list(PACK)))
def test_a_later_run_resumes_from_any_chunk_with_the_same_bytes(
    contents: list[bytes], size: int, quoted: bool, max_line: int, kind: str
) -> None:
    contents = [content for content in contents if not content.startswith(WIDE_MARKS)]
    options: dict[str, Any] = {"delimiters": "," * quoted, "max_line": max_line, "compression": kind}
    with tempfile.TemporaryDirectory() as folder:
        paths = write(Path(folder), *(PACK[kind](content) for content in contents))
        chunks = list(Chunks(paths, size=size, **options))
        for i, chunk in enumerate(chunks):
            start = chunk.end_position(lines=7)
            assert start.line == 7
            rest = list(Chunks(paths, size=size + 3, start=start, **options))
            assert data_of(rest) == data_of(chunks[i + 1 :])
            faults, expected = (
                [(each.offset, each.fault) for each in some if each.fault] for some in (rest, chunks[i + 1 :])
            )
            assert faults == expected


@settings(max_examples=examples(200))
@given(texts, st.integers(1, 70), st.integers(4, 40))
def test_which_lines_are_too_long_does_not_depend_on_the_chunk_size(content: bytes, size: int, max_line: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        chunks = chunks_of(Path(folder), content, size=size, max_line=max_line)
    lines = content.split(b"\n")
    kept = [line for line in lines if len(line) <= max_line]
    dropped_last = b"\n" * (len(lines[-1]) > max_line and len(kept) > 0)
    assert data_of(chunks) == b"\n".join(kept) + dropped_last
    assert sum(bool(chunk.fault) for chunk in chunks) == len(lines) - len(kept)
    assert chunks[-1].last


def quoted_lines(content: bytes) -> list[bytes]:
    """By definition: a quote at the beginning of a field opens it, and one before a delimiter or the end of a line closes it."""
    lines, rest = [], content.decode("latin1")
    while rest:
        ends = [match.end() for match in re.finditer("\n|$", rest)]
        end, field = ends[0], 0
        while field is not None and field < end:
            opened = re.compile(r'[ \t]*"').match(rest, field)
            closed = re.compile(r'(?:[^"]|"")*"(?!")').match(rest, opened.end()) if opened else None
            if opened and not closed:
                break
            if closed and closed.end() > end:
                if not re.compile(r"[ \t\r]*([,\n]|$)").match(rest, closed.end()):
                    break
                end = next(each for each in ends if each > closed.end() or each == len(rest))
            comma = rest.find(",", closed.end() if closed else field, end)
            field = comma + 1 if comma >= 0 else None
        lines.append(rest[:end].encode("latin1"))
        rest = rest[end:]
    return lines


@settings(max_examples=examples(400))
@given(texts, st.integers(1, 70))
def test_chunks_end_with_lines_that_may_hold_quoted_newlines(content: bytes, size: int) -> None:
    if content.startswith((UTF8_MARK, *WIDE_MARKS)):
        return
    with tempfile.TemporaryDirectory() as folder:
        chunks = chunks_of(Path(folder), content, size=size, delimiters=",")
    assert data_of(chunks) == content
    assert all(not chunk.fault for chunk in chunks)
    assert [line for chunk in chunks for line in quoted_lines(bytes(chunk.data))] == quoted_lines(content)


@settings(max_examples=examples(300))
@given(texts, st.booleans())
def test_whole_lines_are_found_as_by_definition(content: bytes, quoted: bool) -> None:
    known = content[: len(content) * 2 // 3]
    lines = quoted_lines(content) if quoted else content.splitlines(keepends=True)
    count, end = _core.whole_lines(known, 0, "," * quoted, 1000)
    assert content[:end] == b"".join(lines[:count]) if quoted else end == known.rfind(b"\n") + 1
    assert _core.last_line_end(known, 0, "," * quoted) == end


def test_csv_rows_survive_any_cut(tmp_path: Path) -> None:
    draw = random.Random(3)
    rows = [["".join(draw.choices('ab,"\n\r é', k=draw.randrange(12))) for _ in range(3)] for _ in range(400)]
    text = io.StringIO()
    csv.writer(text).writerows(rows)
    for size in (1, 10, 100, 1000):
        chunks = chunks_of(tmp_path, text.getvalue().encode(), size=size, delimiters=",")
        read = [row for chunk in chunks for row in csv.reader(io.StringIO(bytes(chunk.data).decode(), newline=""))]
        assert read == rows
        assert len(chunks) > 2


@pytest.mark.parametrize("seed", range(60))
def test_distant_line_ends_are_found(seed: int) -> None:
    draw = random.Random(seed)
    content = bytes(draw.choices(b"\na", [10 ** draw.uniform(-4, -1), 1], k=draw.randrange(30_000)))
    data = np.frombuffer(content, np.uint8)
    assert first_line_end(data) == content.find(b"\n") + 1
    assert last_line_end(data) == content.rfind(b"\n") + 1


# Beginnings and ends


def test_an_empty_file_is_one_empty_chunk(tmp_path: Path) -> None:
    for content in (b"", b"\xef\xbb\xbf"):
        (chunk,) = chunks_of(tmp_path, content)
        assert (bytes(chunk.data), chunk.first, chunk.last, chunk.offset) == (b"", True, True, len(content))


def test_a_utf8_byte_order_mark_is_skipped_but_counted(tmp_path: Path) -> None:
    for size in (1, 5, 1000):
        chunks = chunks_of(tmp_path, b"\xef\xbb\xbfa,b\n1,2\n", b"\xef\xbb\xbfx\n\xef\xbb\xbfy\n", size=size)
        assert data_of(chunks) == b"a,b\n1,2\nx\n\xef\xbb\xbfy\n"
        assert (chunks[0].offset, chunks[0].first) == (3, True)
        assert chunks[-1].end_position(2).offset == 10


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be", "utf-32", "utf-32-be"])
def test_utf16_is_refused_with_a_remedy(tmp_path: Path, encoding: str) -> None:
    content = "\ufeff" * encoding.endswith("be") + "a,b\n1,2\n"
    with pytest.raises(StreamError, match=r"UTF-16 .*Convert it to UTF-8") as caught:
        chunks_of(tmp_path, content.encode(encoding))
    assert caught.value.path.endswith("0.csv")


def test_invalid_positions_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="file, offset and line >= 0"):
        Position(offset=-1)
    with pytest.raises(ValueError, match="in file number 2, counted from 0, but the number of files is only 1"):
        Chunks(write(tmp_path, b"a\n"), start=Position(file=2))
    assert list(Chunks(write(tmp_path, b"a\n"), start=Position(file=1))) == []
    with pytest.raises(ValueError, match="size must be >= 1 and max_line >= 4"):
        Chunks(write(tmp_path, b"a\n"), max_line=0)


def test_data_before_the_damage_in_a_file_are_delivered(tmp_path: Path) -> None:
    lines = b"".join(b"%d\n" % i for i in range(100_000))
    got: list[Chunk] = []
    with (
        Chunks(write(tmp_path, gzip.compress(lines)[:-5000])) as chunks,
        pytest.raises(StreamError, match="ends in the"),
    ):
        got.extend(chunks)
    assert len(data_of(got)) > 400_000
    assert lines.startswith(data_of(got))
    assert data_of(got).endswith(b"\n")
    assert not any(chunk.last for chunk in got)


# Long lines and open quotes


def test_a_line_too_long_becomes_a_fault_between_its_neighbours(tmp_path: Path) -> None:
    content = b"before\n" + b"x" * 5_000_000 + b"\nafter\n"
    chunks = chunks_of(tmp_path, content, size=1000, max_line=10_000)
    assert [(bytes(chunk.data), chunk.fault) for chunk in chunks] == [
        (b"before\n", ""),
        (b"", "the line has more than 10000 bytes."),
        (b"after\n", ""),
    ]
    assert [chunk.offset for chunk in chunks] == [0, 7, 5_000_008]


def test_a_line_too_long_is_reported_before_its_end_is_reached() -> None:
    with Chunks(["/dev/zero"], max_line=1000) as chunks:
        assert "more than 1000 bytes" in next(chunks).fault


@pytest.mark.parametrize("after", [b'1,"two",3\n', b"1,two,3\n"])
def test_a_quote_that_is_never_closed_ends_with_its_line(tmp_path: Path, after: bytes) -> None:
    content = b'1,"two",3\n' * 10_000 + b'1,"two,3\n' + after * 10_000
    for max_line, size in ((500, 64), (500, 4096), (5000, 1 << 20), (1 << 20, 1 << 20)):
        chunks = chunks_of(tmp_path, content, size=size, max_line=max_line, delimiters=",")
        assert data_of(chunks) == content
        assert not any(chunk.fault for chunk in chunks)
        assert sum(len(quoted_lines(bytes(chunk.data))) for chunk in chunks) == 20_001


def test_an_open_quote_may_be_in_the_last_line(tmp_path: Path) -> None:
    (chunk,) = chunks_of(tmp_path, b'1,2\n3,"4', delimiters=",")
    assert bytes(chunk.data) == b'1,2\n3,"4'


@pytest.mark.parametrize("content", [b"x", b'"\n', b'"'], ids=["one line", "in quotes", "quotes"])
def test_memory_is_bounded_whatever_the_line_lengths(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "long"
    with path.open("wb") as file:
        for _ in range(100):
            file.write(content * ((2 << 20) // len(content)))
    code = (
        "import resource\n"
        "from odca.stream.read.chunks import Chunks\n"
        "list(Chunks(['/dev/null']))\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        f"for chunk in Chunks([{str(path)!r}], max_line=4 << 20, delimiters=','): pass\n"
        "print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) >> 10)\n"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(run.stdout) < 60, "megabytes, of a file of 200"


def test_the_cost_of_long_lines_is_linear_in_their_bytes(tmp_path: Path) -> None:
    # 32 lines of 1 MB read by the kilobyte. If the line's beginning were looked at or copied with each, that would be
    # 16 GB, and take seconds.
    content = (b"x" * ((1 << 20) - 1) + b"\n") * 32
    (path,) = write(tmp_path, content)
    begin = resource.getrusage(resource.RUSAGE_SELF).ru_utime
    assert sum(len(chunk.data) for chunk in Chunks([path], size=1 << 10)) == len(content)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_utime - begin < 2


# Going on


def test_a_position_may_lie_within_a_chunk(tmp_path: Path) -> None:
    content = b"".join(b"line %d\n" % i for i in range(3000))
    paths = write(tmp_path, content)
    (chunk,) = Chunks(paths)
    for lines in (0, 1, 10, 1000, 3000):
        length = len(b"".join(content.splitlines(keepends=True)[:lines]))
        start = chunk.position(length, lines)
        assert start == Position(0, length, lines, _core.Checksum().digest(content[:length]))
        assert data_of(list(Chunks(paths, start=start))) == content[length:]


@pytest.mark.parametrize("kind", PACK)
def test_resuming_on_a_changed_file_is_refused(tmp_path: Path, kind: str) -> None:
    content = b"".join(b"line %d\n" % i for i in range(3000))
    chunks = chunks_of(tmp_path, PACK[kind](content), size=1000)
    start = chunks[9].end_position(0)
    changed = content[: start.offset - 2] + b"?" + content[start.offset - 1 :]
    with pytest.raises(StreamError, match=rf"changed before byte {start.offset}: .* without `start`"):
        chunks_of(tmp_path, PACK[kind](changed), start=start)
    with pytest.raises(StreamError, match=rf"shorter than {start.offset} bytes, it ends after 500: .* without `start`"):
        chunks_of(tmp_path, PACK[kind](content[:500]), start=start)
    assert data_of(chunks_of(tmp_path, PACK[kind](changed), start=replace(start, digest=""))) == content[start.offset :]
    appended = chunks_of(tmp_path, PACK[kind](content + b"more\n"), start=start)
    assert data_of(appended) == content[start.offset :] + b"more\n"


@pytest.mark.parametrize("kind", PACK)
@pytest.mark.parametrize("place", [0, 1000, 4000])
def test_an_edit_far_before_the_position_is_noticed(tmp_path: Path, kind: str, place: int) -> None:
    content = b"".join(b"line %d\n" % i for i in range(3000))
    start = chunks_of(tmp_path, PACK[kind](content), size=1000)[-2].end_position(0)
    assert start.offset > place + 4096
    changed = content[:place] + b"?" + content[place + 1 :]
    with pytest.raises(StreamError, match=rf"changed before byte {start.offset}: .* without `start`"):
        chunks_of(tmp_path, PACK[kind](changed), start=start)


@pytest.mark.parametrize("kind", PACK)
def test_an_edit_after_the_position_is_allowed(tmp_path: Path, kind: str) -> None:
    content = b"".join(b"line %d\n" % i for i in range(3000))
    start = chunks_of(tmp_path, PACK[kind](content), size=1000)[9].end_position(0)
    changed = content[: start.offset] + b"new\n"
    assert data_of(chunks_of(tmp_path, PACK[kind](changed), start=start)) == b"new\n"


@pytest.mark.parametrize("kind", PACK)
def test_an_edit_of_an_earlier_file_is_noticed(tmp_path: Path, kind: str) -> None:
    contents = [b"".join(b"file %d, line %d\n" % (file, i) for i in range(1000)) for file in range(3)]
    paths = write(tmp_path, *(PACK[kind](content) for content in contents))
    starts = [chunk.end_position(0) for chunk in Chunks(paths, size=1000)]
    start = next(each for each in starts if each.file == 2)
    (resumed,) = Chunks(paths, start=start)
    assert resumed.data == contents[2][start.offset :]
    assert resumed.end_position(0) == starts[-1]
    for place in (0, 1):
        changed = PACK[kind](contents[place].replace(b"line 500", b"line 501"))
        before = Path(paths[place]).read_bytes()
        Path(paths[place]).write_bytes(changed)
        with pytest.raises(StreamError, match=r"one of the files before .* changed: .* without `start`"):
            list(Chunks(paths, start=start))
        assert list(Chunks(paths, start=replace(start, earlier="")))
        Path(paths[place]).write_bytes(before)


@pytest.mark.parametrize("kind", PACK)
def test_positions_of_former_versions_are_still_checked(tmp_path: Path, kind: str) -> None:
    """They have a digest of the last 4096 bytes, and none of the files before."""
    content = b"".join(b"line %d\n" % i for i in range(3000))
    last = content[:20_000].rindex(b"\n") + 1
    digest = hashlib.blake2b(content[last - 4096 : last], digest_size=16).hexdigest()
    start = Position(0, last, 0, digest)
    assert data_of(chunks_of(tmp_path, PACK[kind](content), start=start)) == content[last:]
    with pytest.raises(StreamError, match=f"changed before byte {last}"):
        chunks_of(tmp_path, PACK[kind](content.replace(b"line 1999", b"line ?999")), start=start)
    paths = write(tmp_path, b"other\n", PACK[kind](content))
    resumed = list(Chunks(paths, start=replace(start, file=1)))
    assert data_of(resumed) == content[last:]
    assert resumed[-1].end_position(0).earlier == ""


def test_a_followed_file_that_was_cut_short_is_refused_at_once(tmp_path: Path) -> None:
    (path,) = write(tmp_path, b"one\ntwo\n")
    with pytest.raises(StreamError, match="shorter than 100 bytes, it ends after 8"):
        list(Chunks([path], start=Position(0, 100, 9), follow=True))


def test_a_file_may_be_compressed_between_two_runs(tmp_path: Path) -> None:
    content = b"".join(b"line %d\n" % i for i in range(3000))
    start = chunks_of(tmp_path, content, size=10_000)[0].end_position(0)
    assert data_of(chunks_of(tmp_path, gzip.compress(content), start=start)) == content[start.offset :]


# Progress


def test_progress_counts_bytes_on_the_disk(tmp_path: Path) -> None:
    content = b"".join(b"line %d\n" % i for i in range(3000))
    paths = write(tmp_path, content, gzip.compress(content), content)
    sizes = [Path(path).stat().st_size for path in paths]
    chunks = Chunks(paths, size=1000)
    assert (chunks.total, chunks.consumed) == (sum(sizes), 0)
    seen = [chunks.consumed for _ in chunks]
    assert seen == sorted(seen)
    assert len(set(seen)) > 20
    assert chunks.consumed == chunks.total
    resumed = Chunks(paths, size=1000, start=Position(file=2, offset=7000))
    assert resumed.consumed == sum(sizes[:2])
    next(resumed)
    assert sum(sizes[:2]) + 7000 < resumed.consumed < sum(sizes[:2]) + 9000
    assert Chunks([*paths, "-"]).total is None


def test_data_of_a_chunk_are_never_overwritten(tmp_path: Path) -> None:
    content = b"".join(b"line %d\n" % i for i in range(3000))
    with Chunks(write(tmp_path, content), size=500) as chunks:
        kept, copied = [], []
        for chunk in chunks:
            kept.append(chunk.data)
            copied.append(bytes(chunk.data))
    assert [bytes(data) for data in kept] == copied
    with pytest.raises(TypeError):
        kept[0][0] = 0  # type: ignore[index]


def test_closing_ends_the_chunks(tmp_path: Path) -> None:
    chunks = Chunks(write(tmp_path, b"a\nb\n"), size=1)
    next(chunks)
    chunks.close()
    assert list(chunks) == []


# What comes slowly


class Collector:
    """Iterates in a thread."""

    def __init__(self, chunks: Chunks) -> None:
        self.chunks = chunks
        self.got: list[Chunk] = []
        self._thread = threading.Thread(target=lambda: self.got.extend(chunks))
        self._thread.start()

    def expect(self, data: bytes) -> None:
        until = time.monotonic() + 20
        while len(data_of(self.got)) < len(data):
            assert time.monotonic() < until, f"{data!r} did not come within 20 seconds"
            time.sleep(0.01)
        assert data_of(self.got) == data

    def end(self) -> bytes:
        self._thread.join(20)
        assert not self._thread.is_alive()
        return data_of(self.got)


def append(path: Path, data: bytes) -> None:
    with path.open("ab") as file:
        file.write(data)


def test_following_delivers_whole_lines_only(tmp_path: Path) -> None:
    first, second = write(tmp_path, b"read\nto its end", b"one\n")
    collector = Collector(Chunks([first, second], follow=True))
    assert collector.chunks.total is None
    collector.expect(b"read\nto its endone\n")
    append(Path(second), b"two\nthr")
    collector.expect(b"read\nto its endone\ntwo\n")
    append(Path(second), b"ee\nfo")
    collector.expect(b"read\nto its endone\ntwo\nthree\n")
    assert not collector.got[-1].last
    collector.chunks.stop()
    assert collector.end() == b"read\nto its endone\ntwo\nthree\n"
    assert collector.got[-1].end_position(3).offset == 14
    assert collector.got[-1].last
    assert collector.chunks.consumed == 15 + 16


def test_a_followed_file_that_is_truncated_starts_over(tmp_path: Path) -> None:
    (name,) = write(tmp_path, b"one\ntwo\nthr")
    collector = Collector(Chunks([name], follow=True))
    collector.expect(b"one\ntwo\n")
    Path(name).write_bytes(b"new\n")
    collector.expect(b"one\ntwo\nthrnew\n")
    collector.chunks.stop()
    collector.end()
    assert [(chunk.offset, chunk.first) for chunk in collector.got if chunk.first] == [(0, True), (0, True)]
    assert {chunk.file for chunk in collector.got} == {0}


def test_following_continues_with_the_file_that_replaces_the_old_one(tmp_path: Path) -> None:
    (name,) = write(tmp_path, b"one\n")
    collector = Collector(Chunks([name], follow=True))
    collector.expect(b"one\n")
    Path(name).rename(tmp_path / "old")
    append(tmp_path / "old", b"two")
    time.sleep(0.3)
    Path(name).write_bytes(b"new\n")
    collector.expect(b"one\ntwonew\n")
    collector.chunks.stop()
    collector.end()
    start = collector.got[-1].end_position(1)
    assert (start.offset, start.line) == (4, 1)
    assert data_of(list(Chunks([name], start=start))) == b""


def test_following_misses_no_line_of_a_busy_writer(tmp_path: Path) -> None:
    (name,) = write(tmp_path, b"")
    expected = b"".join(b"%d,%d\n" % (i, i * i) for i in range(5000))
    collector = Collector(Chunks([name], follow=True, size=512))
    draw, place = random.Random(5), 0
    while place < len(expected):
        length = draw.randrange(1, 3000)
        append(Path(name), expected[place : place + length])
        place += length
    collector.expect(expected)
    collector.chunks.stop()
    assert collector.end() == expected
    assert all(bytes(chunk.data).endswith(b"\n") for chunk in collector.got[:-1])


def test_lines_of_a_slow_pipe_are_delivered_before_it_ends(tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    with fifo.open("r+b", 0) as writer:
        collector = Collector(Chunks([str(fifo)]))
        writer.write(b"1\n2")
        collector.expect(b"1\n")
        writer.write(b"3\n")
        collector.expect(b"1\n23\n")
        collector.chunks.stop()
        assert collector.end() == b"1\n23\n"


def test_a_steady_pipe_is_not_cut_into_tiny_chunks() -> None:
    reading, writing = os.pipe()

    def write_lines() -> None:
        with os.fdopen(writing, "wb", 0) as end:
            for i in range(300):
                end.write(b"%d\n" % i)

    with os.fdopen(reading, "rb", 0) as end:
        threading.Thread(target=write_lines).start()
        chunks = list(Chunks([f"/dev/fd/{end.fileno()}"]))
    assert data_of(chunks) == b"".join(b"%d\n" % i for i in range(300))
    assert len(chunks) < 100, "a line waits for those that follow within a millisecond"
