"""Text as people have it: stray quotes do not swallow lines, and quoted fields may have several lines."""

from pathlib import Path
from typing import Any

import pytest

from odca import stream
from odca.features import Features

STRAY = (
    'ham\tsay "hi" to her\nham\t"Hello there\nspam\t12" pipes, "cheap"\nham\t"Wow" he said\nspam\twin now "\nham\tbye\n'
)
MESSAGES = ['say "hi" to her', "Hello there", '12" pipes, "cheap"', "Wow he said", 'win now "', "bye"]


def read(path: Path, text: str, **how: Any) -> tuple[list[list[str]], Any]:
    """The categories of each event, and the stream that was read to its end."""
    path.write_text(text)
    events = []
    with stream.open(path, features=Features(missing="ignore"), **how) as opened:
        for block in opened:
            keys = [stream.feature_name(key) for key in opened.vocabulary.keys()]  # noqa: SIM118 - not a dictionary
            events += [[keys[k] for k in block.X[[row]].indices] for row in range(len(block))]
    return events, opened


@pytest.mark.parametrize("chunk_size", [1, 40, 1 << 20])
def test_stray_quotes_do_not_swallow_lines(tmp_path: Path, chunk_size: int) -> None:
    events, opened = read(tmp_path / "a.tsv", STRAY * 50, label=1, chunk_size=chunk_size)
    assert events == [[f"2={message}"] for message in MESSAGES] * 50
    assert (opened.findings.stray_quotes, opened.findings.first_stray_quote) == (100, (str(tmp_path / "a.tsv"), 2))
    assert opened.bad.count == 0


@pytest.mark.parametrize("chunk_size", [1, 40, 1 << 20])
def test_quotes_may_mean_nothing(tmp_path: Path, chunk_size: int) -> None:
    events, opened = read(tmp_path / "a.tsv", STRAY * 50, label=1, quote="none", chunk_size=chunk_size)
    assert events == [[f"2={line.split(chr(9))[1]}"] for line in STRAY.splitlines()] * 50
    assert opened.findings.stray_quotes == 0


@pytest.mark.parametrize("chunk_size", [1, 40, 1 << 20])
def test_quoted_fields_may_have_several_lines(tmp_path: Path, chunk_size: int) -> None:
    text = 'y,a,b\n1,"two\nlines, and ""quotes""",x\n0,"one" ,z\n1,"\n\n",w\n'
    events, opened = read(tmp_path / "a.csv", text * 1, label="y", chunk_size=chunk_size)
    assert events == [['a=two\nlines, and "quotes"', "b=x"], ["a=one", "b=z"], ["a=\n\n", "b=w"]]
    assert opened.findings.stray_quotes == 0


def test_a_row_that_lacks_cells_because_of_a_quote_says_so(tmp_path: Path) -> None:
    with pytest.raises(stream.StreamError, match=r"has 2 fields, expected 3. A quote in it is not closed"):
        read(tmp_path / "a.csv", 'y,a,b\n1,"x,1\n0,y,2\n', label="y")


def test_a_model_remembers_that_quotes_mean_nothing(tmp_path: Path) -> None:
    _, opened = read(tmp_path / "a.tsv", STRAY, label=1, quote="none")
    again, _ = read(tmp_path / "b.tsv", 'ham\t"x\n', schema=opened.schema)
    assert again == [['2="x']]
    assert stream.Schema.from_options(opened.schema.as_options()) == opened.schema


def test_another_quote_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="quote must be 'double' or 'none'; got 'single'"):
        read(tmp_path / "a.csv", "1,2\n", quote="single")
