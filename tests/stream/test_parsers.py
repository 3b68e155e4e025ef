"""Text is read as others read it: scikit-learn, pandas, Python's csv and json, and float(), to the last bit."""

import csv
import io
import json
import random
import string
import tempfile
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

from odca import stream
from odca.stream import Features
from problems import examples
from real_data import path_of


def read(path: Path | str, **how: Any) -> tuple[list[stream.Block], list[bytes]]:
    """The blocks of a file, and the keys of its features."""
    with stream.open(path, **how) as events:
        blocks = list(events)
        return blocks, [] if events.vocabulary is None else events.vocabulary.keys()


def read_text(text: str | bytes, **how: Any) -> tuple[list[stream.Block], list[bytes]]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "text"
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return read(path, **how)


def events_of(text: str | bytes, **how: Any) -> list[dict[str, float]]:
    """Every event as a dictionary, from the keys of its features to their values."""
    blocks, keys = read_text(text, threads=1, **how)
    names = [key.decode(errors="surrogateescape") for key in keys]
    return [
        {names[k]: value for k, value in zip(X.indices[begin:end], X.data[begin:end], strict=True)}
        for X in (block.X for block in blocks)
        for begin, end in pairwise(X.indptr.tolist())
    ]


def bits(numbers: Any) -> list[int]:
    return list(np.asarray(numbers, dtype=np.float64).view(np.uint64).tolist())


# libsvm


def assert_as_sklearn(path: Path | str) -> None:
    blocks, _ = read(path, format="libsvm")
    # zero_based=True: indices as they stand, which is what ours are.
    X, y, query = load_svmlight_file(str(path), zero_based=True, query_id=True)
    X.sort_indices()
    assert np.concatenate([np.diff(block.X.indptr) for block in blocks]).tolist() == np.diff(X.indptr).tolist()
    assert np.concatenate([block.X.indices for block in blocks]).tolist() == X.indices.tolist()
    assert bits(np.concatenate([block.X.data for block in blocks])) == bits(X.data)
    assert bits(np.concatenate([block.y for block in blocks])) == bits(y)
    groups = [block.group for block in blocks if block.group is not None]
    assert np.concatenate([[], *groups]).tolist() == query.tolist()


@pytest.mark.parametrize("name", ["a6a.gz", "rcv1sub.t.gz", "letter.gz", "w8a.gz", "spamassassin_drift.libsvm.gz"])
def test_libsvm_of_real_data_is_read_as_scikit_learn_reads_it(name: str) -> None:
    assert_as_sklearn(path_of(name))


finite = st.floats(-1e300, 1e300)  # scikit-learn writes 16 digits: those of the largest doubles are too large for one


@st.composite
def labelled_rows(draw: st.DrawFn) -> tuple[Any, list[float], list[int] | None]:
    n, width = draw(st.integers(1, 6)), draw(st.integers(1, 8))
    cells = draw(st.lists(st.just(0.0) | finite, min_size=n * width, max_size=n * width))
    y = draw(st.lists(finite, min_size=n, max_size=n))
    query = draw(st.none() | st.lists(st.integers(0, 2**53 - 1), min_size=n, max_size=n))
    return sp.csr_array(np.array(cells).reshape(n, width)), y, query


@settings(max_examples=examples(40), deadline=None)
@given(labelled_rows(), st.booleans(), st.sampled_from([None, "two\nlines, 1:2 | #"]))
def test_files_written_by_scikit_learn_are_read_as_it_reads_them(
    rows: Any, zero_based: bool, comment: str | None
) -> None:
    X, y, query = rows
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.libsvm"
        dump_svmlight_file(X, np.array(y), str(path), zero_based=zero_based, comment=comment, query_id=query)
        assert_as_sklearn(path)


def test_libsvm_may_have_comments_queries_blanks_and_indices_in_any_order() -> None:
    (block,), _ = read_text("# first\n+1 qid:7\t2:.5  1:-1e1 # 9:9\n\n  -1 qid:8 #\r\n", format="libsvm")
    assert block.X.toarray().tolist() == [[0.0, -10.0, 0.5], [0.0, 0.0, 0.0]]
    assert block.y.tolist() == [1.0, -1.0]
    assert block.group is not None
    assert block.group.tolist() == [7.0, 8.0]
    assert [block.line(row) for row in range(2)] == [2, 4]


# CSV

MISSING = [
    "",
    "NA",
    "NaN",
    "nan",
    "null",
    "NULL",
    "None",
    "N/A",
    "n/a",
    "#N/A",
    "<NA>",
    "-nan",
    "-NaN",
    "#NA",
    "#N/A N/A",
]
MISSING += ["1.#IND", "1.#QNAN", "-1.#IND", "-1.#QNAN"]
WE_TOO = ["?", "NaT"]  # and pandas not


def written(value: float, style: str) -> str:
    sign = "+" if value >= 0.0 and style.endswith("+") else ""
    return sign + format(value, style.rstrip("+"))


numbers = st.builds(written, finite, st.sampled_from([".17g", ".17g+", ".3f", ".6e", ".6E", "g"]))
numbers |= st.sampled_from(
    ["0", "-0", "007", ".5", "5.", "-.5", "1e5", "1E+05", "9007199254740993", "1e-400", "4.9e-324"]
)
letters = st.text(st.sampled_from("ab é,;\t\"'\n|#:\\") | st.characters(exclude_categories=["Cs", "Cc"]), max_size=8)
tables = st.lists(
    st.tuples(numbers | st.sampled_from(MISSING + WE_TOO), letters | st.sampled_from(MISSING + WE_TOO), letters),
    min_size=1,
    max_size=8,
)


def written_csv(rows: list[tuple[str, ...]], delimiter: str, end: str, quoting: int) -> str:
    out = io.StringIO()
    writer = csv.writer(out, delimiter=delimiter, lineterminator=end, quoting=quoting)  # type: ignore[arg-type] # one of its
    writer.writerows([("number", "word", "other"), *rows])
    return out.getvalue()


def event(number: float | None, *words: str | None) -> dict[str, float]:
    made = {"number\udcfe": 1.0} if number is None else {"number": number}
    for name, word in zip(("word", "other"), words, strict=True):
        made[f"{name}\udcfe" if word is None else f"{name}\udcff{word}"] = 1.0
    return made


@settings(max_examples=examples(60), deadline=None)
@given(
    tables,
    st.sampled_from(",;\t|"),
    st.sampled_from(["\n", "\r\n"]),
    st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]),
)
def test_csv_is_read_as_pandas_and_python_read_it(
    rows: list[tuple[str, ...]], delimiter: str, end: str, quoting: int
) -> None:
    text = written_csv(rows, delimiter, end, quoting)
    mine = events_of(
        text,
        format="csv",
        delimiter=delimiter,
        header=True,
        features=Features(numeric=("number",), categorical=("word", "other")),
    )
    cells = list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter))[1:]
    frame = pd.read_csv(io.StringIO(text, newline=""), sep=delimiter, dtype=str, na_values=WE_TOO)
    numbers_there = [None if pd.isna(cell) else float(cell) for cell in frame["number"]]
    missing = {*MISSING, *WE_TOO}
    # Blanks around a cell without quotes are no part of it, and blanks alone are no value.
    trimmed = [[cell.strip(" \t") if quoting == csv.QUOTE_MINIMAL and not needs_quotes(cell, delimiter) else cell
                for cell in row] for row in cells]  # fmt: skip
    words = [[None if cell in missing else cell for cell in row[1:]] for row in trimmed]
    for name, column in (("word", 1), ("other", 2)):
        pandas_has = [None if pd.isna(value) else value for value in frame[name]]
        assert pandas_has == [None if row[column] in missing else row[column] for row in cells]
    wanted = [event(number, *each) for number, each in zip(numbers_there, words, strict=True)]
    assert [sorted(each) for each in mine] == [sorted(each) for each in wanted]
    assert [bits([each[key] for key in sorted(each)]) for each in mine] == [
        bits([each[key] for key in sorted(each)]) for each in wanted
    ]


def needs_quotes(cell: str, delimiter: str) -> bool:
    out = io.StringIO()
    csv.writer(out, delimiter=delimiter, lineterminator="").writerow(["", cell])
    return out.getvalue().endswith('"')


@pytest.mark.parametrize("word", MISSING + WE_TOO)
def test_a_marker_for_missing_values_is_not_a_category(word: str) -> None:
    (first, second) = events_of(f"a,b\n{word},1\nx,2\n", format="csv", features=Features(categorical=("a",)))
    assert first == {"a\udcfe": 1.0, "b": 1.0}
    assert second == {"a\udcffx": 1.0, "b": 2.0}


# JSON

keys = st.text(st.sampled_from(string.ascii_letters + 'é \\"/\n😀'), min_size=1, max_size=4)
scalars = st.none() | st.booleans() | finite | st.integers(-(2**70), 2**70) | st.text(max_size=6)
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3), max_leaves=12
)


def flattened(value: Any, path: str = "") -> Iterator[tuple[str, float]]:
    """What an object's features are: the path of a value is its name; words in an array belong to the array."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from flattened(inner, f"{path}.{key}" if path else key)
    elif isinstance(value, list):
        for place, inner in enumerate(value):
            yield from flattened(inner, path if isinstance(inner, str) else f"{path}.{place}")
    elif value == "":
        yield f"{path}\udcfe", 1.0
    elif isinstance(value, str):
        yield f"{path}\udcff{value}", 1.0
    else:
        yield (f"{path}\udcfe", 1.0) if value is None else (path, float(value))


@settings(max_examples=examples(60), deadline=None)
@given(
    st.lists(st.dictionaries(keys, values, max_size=4), min_size=1, max_size=4),
    st.booleans(),
    st.sampled_from(["\n", "\r\n"]),
)
def test_json_is_read_as_python_reads_it(objects: list[dict[str, Any]], ascii_only: bool, end: str) -> None:
    text = "".join(json.dumps(each, ensure_ascii=ascii_only) + end for each in objects)
    mine = events_of(text.encode(), format="jsonl")
    assert len(mine) == len(objects)
    for line, event in zip(text.split(end), mine, strict=False):
        wanted: dict[str, float] = {}
        for key, value in flattened(json.loads(line)):
            name = key.encode(errors="surrogateescape").decode(errors="surrogateescape")
            wanted[name] = wanted.get(name, 0.0) + value
        assert {key: bits([value]) for key, value in event.items()} == {
            key: bits([value]) for key, value in wanted.items()
        }


# Numbers


def decimals(count: int, seed: int) -> list[str]:
    """Decimal strings of every kind: short and long, of few and many digits, near the ends of what a double holds."""
    pick = random.Random(seed)

    def digits(most: int) -> str:
        return "".join(pick.choice(string.digits) for _ in range(pick.randint(1, most)))

    out: list[str] = []
    while len(out) < count:
        whole = str(int(digits(pick.choice([1, 3, 25]))))  # JSON allows no leading zeros
        fraction = "." + digits(pick.choice([1, 6, 30])) if pick.random() < 0.7 else ""
        power = pick.choice("eE") + pick.choice(["", "+", "-"]) + str(pick.randint(0, pick.choice([5, 25, 330])))
        made = pick.choice(["", "-"]) + whole + fraction + (power if pick.random() < 0.6 else "")
        if np.isfinite(float(made)):
            out.append(made)
    return out


DECIMALS = decimals(10_000, seed=0)


def in_format(format_: str) -> str:
    if format_ == "libsvm":
        return "".join(f"{text} 1:{text}\n" for text in DECIMALS)
    if format_ == "vw":
        return "".join(f"{text} | a:{text}\n" for text in DECIMALS)
    if format_ == "csv":
        return "y,a\n" + "".join(f"{text},{text}\n" for text in DECIMALS)
    return "".join(f'{{"y": {text}, "a": {text}}}\n' for text in DECIMALS)


@pytest.mark.parametrize("format_", ["libsvm", "vw", "csv", "jsonl"])
def test_ten_thousand_decimals_are_parsed_like_python_parses_them(format_: str) -> None:
    wanted = bits([float(text) for text in DECIMALS])
    blocks, _ = read_text(in_format(format_), format=format_, label=None if format_ in {"libsvm", "vw"} else "y")
    assert bits(np.concatenate([block.y for block in blocks])) == wanted
    assert bits(np.concatenate([block.X.data for block in blocks])) == wanted
