"""What the first lines of a file tell: however long they are, whether or not the last one ends, and if the file is damaged."""

import bz2
import gzip
import lzma
from collections.abc import Sequence
from pathlib import Path

import pytest

from odca import stream
from odca.stream.read.chunks import LONGEST_LINE

LINES = {
    "a.svm": ("{y} 1:0.5 2:3 # {long}\n", None),
    "a.vw": ("{y} |n a:0.5 b:3 {long}\n", None),
    "a.jsonl": ('{{"y": {y}, "a": 0.5, "b": "{long}"}}\n', "y"),
    "a.csv": ("{y},0.5,{long}\n", "y"),
    "quoted.csv": ('{y},0.5,"{long}\n,"\n', "y"),
}
HEADERS = {"a.csv": "y,a,b\n", "quoted.csv": "y,a,b\n"}


def text_of(name: str, length: int, labels: Sequence[int] = (0, 1, 0, 1)) -> bytes:
    """Events on lines of this length, without their newline."""
    line, _ = LINES[name]
    room = length + 1 - len(line.format(y=0, long=""))
    return (HEADERS.get(name, "") + "".join(line.format(y=y, long="x" * room) for y in labels)).encode()


def opened(path: Path, content: bytes, **how) -> stream.Stream:
    path.write_bytes(content)
    return stream.open(path, label=LINES[path.name][1] if path.name in LINES else None, **how)


@pytest.mark.parametrize("name", LINES)
@pytest.mark.parametrize(("length", "compress"), [(1 << 20, bytes), (LONGEST_LINE, bytes), (3 << 20, gzip.compress)])
def test_the_first_line_may_be_as_long_as_any_other(tmp_path: Path, name: str, length: int, compress) -> None:
    text = text_of(name, length, (0, 1))
    with opened(tmp_path / name, compress(text)) as events:
        assert events.sample.y.tolist() == [0.0, 1.0][: len(events.sample)]
        assert len(events.sample)
        assert [label for block in events for label in block.y.tolist()] == [0.0, 1.0]


@pytest.mark.parametrize(
    ("name", "line", "feature"),
    [
        ("a.svm", "0 {}\n1 2:1\n", "{}:1.5"),
        ("a.vw", "0 |n {}\n1 | b\n", "n{}:1.5"),
        ("a.jsonl", '{{"y":0{}}}\n{{"y":1}}\n', ',"n{}":1.5'),
    ],
)
def test_the_first_line_may_have_any_number_of_features(tmp_path: Path, name: str, line: str, feature: str) -> None:
    count = (1 << 20) // len(feature) + 1
    with opened(tmp_path / name, line.format(" ".join(feature.format(k + 1) for k in range(count))).encode()) as events:
        blocks = list(events)
    assert events.sample.rows.indptr[1] == blocks[0].rows.indptr[1] == count


@pytest.mark.parametrize("name", ["a.svm", "a.vw", "a.jsonl", "a.csv"])
def test_a_first_line_that_is_too_long_is_said_to_be(tmp_path: Path, name: str) -> None:
    with (
        pytest.raises(stream.StreamError, match="the line has more than 2000 bytes") as caught,
        opened(tmp_path / name, text_of(name, 2001), max_line=2000) as events,
    ):
        list(events)
    assert caught.value.line == 1 + (name in HEADERS)


def test_a_header_may_be_as_long_as_any_line(tmp_path: Path) -> None:
    names = [f"column{k:07d}" for k in range(100_000)]
    text = ",".join(names) + "\n" + ("1," * (len(names) - 1) + "{}\n").format(0) + ("2," * (len(names) - 1) + "1\n")
    (tmp_path / "wide.csv").write_text(text)
    with stream.open(tmp_path / "wide.csv", label=names[-1]) as events:
        assert [column.name for column in events.schema.columns] == names
        assert sum(len(block) for block in events) == 2


def test_blank_lines_before_the_first_do_not_count(tmp_path: Path) -> None:
    with opened(tmp_path / "a.csv", b"\n" * 5000 + b"y,a,b\n0,1,2\n1,2,3\n") as events:
        assert len(events.sample) == 2


@pytest.mark.parametrize("name", LINES)
@pytest.mark.parametrize("rows", [1, 2, 3])
def test_the_last_row_needs_no_newline(tmp_path: Path, name: str, rows: int) -> None:
    lines = text_of(name, 100).splitlines(keepends=True)
    per_row, begin = 2 if name == "quoted.csv" else 1, len(HEADERS.get(name, "").splitlines())
    whole = b"".join(lines[: begin + per_row * rows]).removesuffix(b"\n")
    with opened(tmp_path / name, whole) as events:
        assert events.sample.y.tolist() == [0.0, 1.0, 0.0][:rows]
        assert [label for block in events for label in block.y.tolist()] == [0.0, 1.0, 0.0][:rows]


@pytest.mark.parametrize("compress", [gzip.compress, bz2.compress, lzma.compress])
@pytest.mark.parametrize("name", ["a.csv", "a.jsonl", "a.svm", "data"])
def test_a_file_whose_first_lines_cannot_be_unpacked_is_said_to_be_damaged(tmp_path: Path, name: str, compress) -> None:
    packed = compress(text_of("a.csv", 100))
    (tmp_path / name).write_bytes(packed[:20] + b"?" * 20 + packed[40:])
    with pytest.raises(stream.StreamError, match=r"is damaged near byte|ends in the middle of"):
        stream.open(tmp_path / name, label=None if name == "a.svm" else "y")
    (tmp_path / name).write_bytes(packed[:20])
    with pytest.raises(stream.StreamError, match="ends in the middle of"):
        stream.open(tmp_path / name, label=None if name == "a.svm" else "y")


def test_events_before_the_damage_are_read(tmp_path: Path) -> None:
    text = b"y,a\n" + b"".join(b"%d,%d\n" % (k % 2, k * 7919 % 100_003) for k in range(200_000))
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(text, 1)[:-100_000])
    events: list[int] = []
    with (
        stream.open(tmp_path / "a.csv.gz", label="y") as blocks,
        pytest.raises(stream.StreamError, match="in the middle"),
    ):
        events.extend(len(block) for block in blocks)
    assert 10_000 < sum(events) < 200_000
