"""Text that is not as it should be: what is wrong with it, and where; or, if nothing is, what is read."""

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from odca import stream
from odca.stream import StreamError

GOOD = {"libsvm": b"1 1:2\n", "vw": b"1 | a:2\n", "csv": b"1,2\n", "jsonl": b'{"y": 1, "a": 2}\n'}
FORMATS = list(GOOD)
HEADER = {"csv": b"y,a\n"}
VALUE = {"libsvm": b"1 1:%b\n", "vw": b"1 | a:%b\n", "csv": b"1,%b\n", "jsonl": b'{"y": 1, "a": %b}\n'}
AT_VALUE = {"libsvm": 5, "vw": 7, "csv": 3, "jsonl": 15}
LONGEST = 64
WIDE = "the file is encoded in UTF-16 or UTF-32. Convert it to UTF-8: iconv -f UTF-16 -t UTF-8."


def opened(path: Path, content: bytes, format_: str, **how: Any) -> stream.Stream:
    path.write_bytes(content)
    label = None if format_ in {"libsvm", "vw"} else "y"
    return stream.open(path, format=format_, label=label, max_line=LONGEST, **how)


def rows_of(path: Path, content: bytes, format_: str) -> list[list[float]]:
    """The values of every event."""
    with opened(path, content, format_) as events:
        return [block.X.data[b:e].tolist() for block in events for b, e in pairwise(block.X.indptr.tolist())]


def check_fault(path: Path, format_: str, line: bytes, message: str, column: int | None) -> None:
    """Such a line between two good ones: both ways to go on."""
    content = HEADER.get(format_, b"") + GOOD[format_] + line + GOOD[format_]
    where = 3 if format_ in HEADER else 2
    before: list[stream.Block] = []
    with opened(path, content, format_) as events, pytest.raises(StreamError) as caught:
        before.extend(events)
    assert sum(len(block) for block in before) == 1, "what comes before the fault is read"
    with opened(path, content, format_, on_error="skip") as events:
        assert sum(len(block) for block in events) == 2
    assert events.bad.count == 1
    for error in (caught.value, *events.bad.samples):
        assert (error.message, error.path, error.line, error.column) == (message, str(path), where, column)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "text"


@pytest.mark.parametrize("format_", FORMATS)
def test_a_line_that_is_too_long_is_a_fault_of_its_own(format_: str, path: Path) -> None:
    line = VALUE[format_] % (b"1" * LONGEST)
    check_fault(path, format_, line, f"the line has more than {LONGEST} bytes.", None)


@pytest.mark.parametrize("format_", FORMATS)
def test_a_nul_byte_is_a_fault(format_: str, path: Path) -> None:
    message = "there is a NUL byte. Text must be UTF-8."
    check_fault(path, format_, VALUE[format_] % b"\0", message, AT_VALUE[format_])


NUMBERS = [
    *((each, "libsvm", f"a value must be a number; got '{each}'.") for each in ("nan", "NaN", "inf", "-Infinity", "1x")),
    *((each, "vw", f"the value of a feature must be a number; got '{each}'.") for each in ("nan", "-inf", "Infinity", "1x")),
    *((each, "jsonl", f"expected a value; got '{each}}}'.") for each in ("nan", "inf")),
    *((each, "jsonl", f"a number must be finite; got '{each}'.") for each in ("Infinity", "-Infinity")),
    ("01", "jsonl", "a number begins with 0: '01'."),
    ("1.", "jsonl", "a number has no digit behind its point."),
    ("1e999", "libsvm", "a value is too large for a float: '1e999'."),
    ("-1e999", "vw", "the value of a feature is too large for a float: '-1e999'."),
    ("1e999", "jsonl", "a number is too large for a float: '1e999'."),
]  # fmt: skip


@pytest.mark.parametrize(("number", "format_", "message"), NUMBERS)
def test_a_value_that_is_not_finite_is_a_fault(number: str, format_: str, message: str, path: Path) -> None:
    check_fault(path, format_, VALUE[format_] % number.encode(), message, AT_VALUE[format_])


NOT_UTF8 = (
    "the name of a feature is not UTF-8: '\ufffd'. Convert the text (iconv -f LATIN1 -t UTF-8), or hash the names."
)
TOO_LARGE = "a model would have a weight for every index up to it. Take indices as names, or hash them."
OTHERS: list[tuple[str, bytes, str, int | None]] = [
    ("libsvm", b"1 \xff:1\n", "expected index:value; got '\ufffd:1'.", 3),
    ("libsvm", b"1 -1:3\n", "expected index:value; got '-1:3'.", 3),
    ("libsvm", b"1 9223372036854775808:3\n", f"the index 9223372036854775808 is above 33554431: {TOO_LARGE}", 3),
    ("libsvm", b"1 33554432:3\n", f"the index 33554432 is above 33554431: {TOO_LARGE}", 3),
    ("libsvm", b"1 1:3 1:3\n", "an index is there twice.", 1),
    ("libsvm", b"x 1:3\n", "the label must be a number; got 'x'.", 1),
    ("libsvm", b"1:3\n", "the label must be a number; got '1:3'.", 1),
    ("libsvm", b"1 qid:9007199254740993 1:3\n",
     "the query after 'qid:' must be a whole number below 2^53; got '9007199254740993'.", 7),
    ("vw", b"1 | \xc3\n", NOT_UTF8, 5),
    ("vw", b"1 a\n", "expected a bar, '|', before the features; got '1 a'.", 1),
    ("vw", "1 |é 東京:1x\n".encode(), "the value of a feature must be a number; got '1x'.", 9),
    ("csv", b"1,\xff\n", NOT_UTF8, 3),
    ("csv", b"1\n", "the row has 1 field, expected 2.", None),
    ("csv", b"1,2,3\n", "the row has 3 fields, expected 2.", None),
    ("csv", b'"1,2\n',
     "the row has 1 field, expected 2. A quote in it is not closed, or is closed before its field ends.", None),
    ("jsonl", b'{"y": 1, "\xff": 1}\n', "a string is not UTF-8: '\ufffd'.", 11),
    ("jsonl", b"[1]\n", "expected an object in braces on each line, not a list of them (jq -c '.[]' makes lines of a list); got '[1]'.", 1),
    ("jsonl", b'{"a": 1\n', "expected ',' or '}'; the line ends here. An object must be on one line.", 8),
    ("jsonl", b'{"a": 1,}\n', "expected a key in double quotes; got '}'.", 9),
    ("jsonl", b'{"a": 1, "a": 2}\n', "'a' is there twice.", 10),
    ("jsonl", b'{"a": 1} 2\n', "expected nothing behind the object; got '2'.", 10),
    ("jsonl", b'{"a": "\\x"}\n', "there is no escape '\\x' in JSON.", 8),
    ("jsonl", b'{"a": "\\ud800"}\n', "half a surrogate pair is no character: '\\ud800'.", 8),
    ("jsonl", b'{"a": "\x01"}\n', "there is a control character, '\\x01', in a string. Escape it.", 8),
    ("jsonl", '{"é": "東京", "a": x}\n'.encode(), "expected a value; got 'x}'.", 18),
]  # fmt: skip


@pytest.mark.parametrize(("format_", "line", "message", "column"), OTHERS)
def test_an_error_names_the_line_and_column(
    format_: str, line: bytes, message: str, column: int | None, path: Path
) -> None:
    check_fault(path, format_, line, message, column)


@pytest.mark.parametrize("on_error", ["stop", "skip"])
@pytest.mark.parametrize("format_", FORMATS)
def test_utf16_is_refused_even_if_bad_lines_may_be_skipped(format_: str, on_error: str, path: Path) -> None:
    content = b"\xff\xfe" + (HEADER.get(format_, b"") + GOOD[format_]).decode().encode("utf-16-le")
    with pytest.raises(StreamError) as caught:
        opened(path, content, format_, on_error=on_error)
    assert (caught.value.message, caught.value.line) == (WIDE, None)


@pytest.mark.parametrize("format_", FORMATS)
def test_byte_order_marks_line_ends_and_a_missing_newline_change_nothing(format_: str, path: Path) -> None:
    plain = HEADER.get(format_, b"") + GOOD[format_] * 2
    for content in (
        plain,
        plain[:-1],
        plain.replace(b"\n", b"\r\n"),
        b"\xef\xbb\xbf" + plain,
        b"\n \n" + plain + b"\n\t\n",
    ):
        assert rows_of(path, content, format_) == [[2.0], [2.0]]


@pytest.mark.parametrize("format_", ["libsvm", "vw", "jsonl"])
@pytest.mark.parametrize("content", [b"", b"\n \n\r\n\t\n", b"\xef\xbb\xbf"])
def test_empty_files_and_blank_lines_contain_no_events(content: bytes, format_: str, path: Path) -> None:
    assert rows_of(path, content, format_) == []


@pytest.mark.parametrize("content", [b"", b"\n \n\r\n\t\n", b"\xef\xbb\xbf"])
def test_an_empty_table_has_no_column_for_the_label(content: bytes, path: Path) -> None:
    with pytest.raises(StreamError) as caught:
        opened(path, content, "csv")
    assert caught.value.message == "there is no column 'y' for the label. The file is empty."


def test_nan_is_a_missing_value_where_values_may_be_missing(path: Path) -> None:
    for format_, line in (("csv", b"1,nan\n"), ("jsonl", b'{"y": 1, "a": NaN}\n')):
        with opened(path, HEADER.get(format_, b"") + GOOD[format_] + line, format_) as events:
            assert sum(len(block) for block in events) == 2
            assert events.vocabulary is not None
            assert [stream.feature_name(key) for key in events.vocabulary.keys()] == ["a", "a is missing"]  # noqa: SIM118


def test_the_index_0_of_libsvm_is_the_first_column(path: Path) -> None:
    with opened(path, b"1 0:3\n", "libsvm") as events:
        (block,) = events
    assert block.X.toarray().tolist() == [[3.0]]
