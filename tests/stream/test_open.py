"""odca.stream.open, as those see it who write Python."""

import gzip
import subprocess
import sys
import threading
import time
from pathlib import Path
from traceback import walk_stack
from typing import Any

import numpy as np
import pytest

import odca
from odca import stream
from odca.stream import Features, StreamError
from odca.stream.read import parallel

HEADER = "click,weight,when,who,query,age,country\n"
SMALL = 2_000  # bytes of a chunk: many blocks of a small file


def row(n: int) -> str:
    return f"{n % 2},{n % 3 + 1},{1_700_000_000 + n},u{n},{n // 4},{n % 50}.5,{('NZ', 'FR', f'new{n}')[n % 3]}\n"


ROLES: dict[str, Any] = {"label": "click", "weight": "weight", "time": "when", "tag": "who", "group": "query"}


@pytest.fixture
def clicks(tmp_path: Path) -> Path:
    path = tmp_path / "clicks.csv.gz"
    path.write_bytes(gzip.compress((HEADER + "".join(map(row, range(1000)))).encode()))
    return path


def together(blocks: list[stream.Block]) -> tuple[Any, ...]:
    """All that blocks hold, one behind the other."""
    parts = [(np.diff(b.X.indptr), b.X.indices, b.X.data, b.y, b.weight, b.time, b.group) for b in blocks if len(b)]
    arrays = [np.concatenate(part).tolist() for part in zip(*parts, strict=True)]
    return (*arrays, [tag for block in blocks for tag in block.tag or []])


def threads() -> int:
    """How many others read or parse."""
    others = (frame for thread, frame in sys._current_frames().items() if thread != threading.get_ident())
    return sum(any(each.f_code.co_filename == parallel.__file__ for each, _ in walk_stack(frame)) for frame in others)


def threads_left() -> int:
    """The same, when those that are ending have ended."""
    until = time.monotonic() + 10.0
    while threads() and time.monotonic() < until:
        time.sleep(0.001)
    return threads()


def test_a_block_has_features_labels_weights_times_tags_and_groups(clicks: Path) -> None:
    rows = 0
    with odca.stream.open(clicks, **ROLES) as events:
        for block in events:
            n = np.arange(rows, rows + len(block))
            rows += len(block)
            assert block.X.shape[0] == len(block) == len(block.y)
            assert block.y.tolist() == (n % 2).tolist()
            assert block.weight is not None
            assert block.weight.tolist() == (n % 3 + 1).tolist()
            assert block.time is not None
            assert block.time.tolist() == (1_700_000_000 + n).tolist()
            assert block.group is not None
            assert block.group.tolist() == (n // 4).tolist()
            assert block.tag == [f"u{each}" for each in n]
            assert block.position.line == rows + 1
    assert rows == 1000
    assert events.vocabulary is not None
    assert events.vocabulary.keys()[:2] == [b"age", b"country\xffNZ"]
    assert len(events.vocabulary) == 1 + 2 + 333


def test_reading_can_resume_from_any_position(clicks: Path) -> None:
    with stream.open(clicks, **ROLES, chunk_size=SMALL) as events:
        blocks = list(events)
    assert len(blocks) > 10
    for number in (0, 3, len(blocks) - 2, len(blocks) - 1):
        known = odca._core.Vocabulary()
        with stream.open(clicks, **ROLES, vocabulary=known, chunk_size=SMALL) as begun:
            for block, _ in zip(begun, range(number + 1), strict=False):
                position = block.position
        start = stream.open(clicks, schema=begun.schema, vocabulary=events.vocabulary, start=position, chunk_size=SMALL)
        with start as rest:
            rest_blocks = list(rest)
        left = blocks[number + 1 :]
        if left:
            assert together(rest_blocks) == together(left)
        else:
            assert sum(map(len, rest_blocks)) == 0


def test_four_threads_give_the_same_blocks_as_one(clicks: Path) -> None:
    found = []
    for count in (1, 4):
        with stream.open(clicks, **ROLES, chunk_size=SMALL, threads=count) as events:
            found.append((together(list(events)), events.vocabulary.keys()))  # type: ignore[union-attr] # it has names
    assert found[0] == found[1]


def test_leaving_the_loop_early_leaves_no_thread_behind(clicks: Path) -> None:
    with stream.open(clicks, **ROLES, chunk_size=SMALL) as events:
        for _ in events:
            assert threads()
            break
    assert not threads_left()
    for _ in stream.open(clicks, **ROLES, chunk_size=SMALL):
        pass
    assert not threads_left(), "at the end there are none, closed or not"


def test_an_exception_in_the_loop_leaves_no_thread_behind(clicks: Path) -> None:
    def fail() -> None:
        with stream.open(clicks, **ROLES, chunk_size=SMALL) as events:
            for _ in events:
                raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        fail()
    assert not threads_left()


def test_a_fault_in_the_data_leaves_no_thread_behind(tmp_path: Path) -> None:
    path = tmp_path / "bad.libsvm"
    path.write_text("1 1:1\n" * 1000 + "1 1:x\n" + "1 1:1\n" * 1000, encoding="utf-8")
    with pytest.raises(StreamError, match="line 1001, character 5"):
        list(stream.open(path, chunk_size=SMALL))
    assert not threads_left()


def test_a_stream_that_is_never_read_has_no_threads_and_closes(clicks: Path) -> None:
    with stream.open(clicks, **ROLES) as events:
        assert not threads_left()
    assert list(events) == []


MEASURE = """
import resource, sys
from odca import stream
from odca.stream import Features
def used():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize()
with stream.open(sys.argv[1], features=Features(bits=18), threads=2, chunk_size=1 << 18) as events:
    blocks = iter(events)
    for _ in range(8):
        next(blocks)
    before, most, rows = used(), 0, 0
    for block in blocks:
        rows += len(block)
        most = max(most, used())
print(rows, most - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="asks /proc how much memory there is")
def test_memory_does_not_grow_with_the_file(tmp_path: Path) -> None:
    path = tmp_path / "long.vw"
    path.write_text("1 | " + " ".join(f"w{k}:0.5" for k in range(20)) + "\n", encoding="utf-8")
    path.write_bytes(path.read_bytes() * 300_000)
    size = path.stat().st_size
    done = subprocess.run([sys.executable, "-c", MEASURE, str(path)], capture_output=True, text=True, check=True)
    rows, grown = map(int, done.stdout.split())
    assert rows > 250_000, "the first blocks are not counted"
    assert grown < 16 << 20 < size / 2, "a few chunks of 256 KiB and their events, however long the file is"


def test_hashed_features_need_no_vocabulary(clicks: Path) -> None:
    with stream.open(clicks, **ROLES, features=Features(bits=10)) as events:
        widths = {block.X.shape[1] for block in events}
    assert events.vocabulary is None
    assert widths == {1024}
