"""VW's text: what VW reads soundly is read alike; where VW drops or guesses, a fault says so. See docs/vw-text.md."""

import json
import math
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from odca import stream
from odca.stream import StreamError
from stream_files import trained

CASES = json.loads((Path(__file__).parent.parent / "data" / "vw_behaviour.json").read_text(encoding="utf-8"))


class Reading(NamedTuple):
    """An event as both have it. Zeros are left out, and values of one feature added up: neither changes a margin."""

    label: float | None
    importance: float
    initial: float
    tag: str
    features: dict[str, float]


# Where we differ. First the lines that we refuse, by what VW does with them.
REFUSED: dict[str, list[str]] = {
    "read 0 for something that is not a number, or read only its numeric beginning": [
        "- | a", "+ | a", "1e | a", "1e+ | a", "0x1 | a", "1,5 | a", "nan | a", "abc | a", "1abc | a", "--1 | a",
        "+-1 | a", "1:2 | a", "unlabeled | a", "1 # | a", "1 x | a", "1 nan | a", "1 2 x | a", "1 2 nan | a", "1 tag | a",
        "tag | a", "1 'a 'b | a", "1 'tag 2 | a",
    ],
    "drop the label because there are too many words before the bar": ["1 2 3 4 | a", "1 't a g | a", "1 2 'tag 0.5 | a"],
    "continue with infinity, or with 0 for even larger numbers": [
        "inf | a", "1 inf | a", "1e400 | a", "1 | a:inf b", "1 | a:-inf b", "1 | a:infinity b", "1 | a:1e400 b",
    ],
    "read a line without a bar as a tag": ["1", "1 2", "a", "1\r"],
    "drop a namespace whose weight it cannot read": [
        "1 |n: a", "1 |n:x a", "1 |n:2:3 a", "1 |:2 a", "1 |: a", "1 | a:1 |n: b",
    ],
    "use 1 for a weight that is not a number": ["1 |n:nan a"],
    "use 1, or the next word, for a missing value": [
        "1 | :", "1 | : a", "1 | a:", "1 | a: b", "1 |n a:", "1 | a:|n b", "1 | a: |n b", "1 | a:\r",
    ],
    "drop a feature, or all features from there on, or read a malformed number as a word": [
        "1 | a:1:2", "1 | a:1:2 b", "1 | a:1x b", "1 | a:1,5 b", "1 | a:1e b", "1 | a:- b", "1 | a:+ b", "1 | a:. b",
        "1 | a::1", "1 | a::", "1 | ::1", "1 | a:--1 b", "1 | a:1e2.5 b", "1 | a:1_0 b", "1 | a:nan b", "1 | a:NaN b",
    ],
    "read hexadecimal numbers": ["1 | a:0x10"],
    "drop everything after a carriage return that does not end the line": ["1 | a\r\r", "1 | a\rb"],
}  # fmt: skip

# And the lines that we read in another way: by why, what we make of them.
OTHERWISE: dict[str, dict[str, Reading | None]] = {
    "Values are doubles": {
        "1e39 | a": Reading(1e39, 1.0, 0.0, "", {"a": 1.0}),
        "1 | a:1e39 b": Reading(1.0, 1.0, 0.0, "", {"a": 1e39, "b": 1.0}),
        "1 | a:1e-40 b": Reading(1.0, 1.0, 0.0, "", {"a": 1e-40, "b": 1.0}),
        "1 | a:1e-50 b": Reading(1.0, 1.0, 0.0, "", {"a": 1e-50, "b": 1.0}),
    },
    "A tab before the bar is a blank: VW drops the label": {
        "1\t| a": Reading(1.0, 1.0, 0.0, "", {"a": 1.0}),
        "1 \t| a": Reading(1.0, 1.0, 0.0, "", {"a": 1.0}),
        "1\t2\t| a": Reading(1.0, 2.0, 0.0, "", {"a": 1.0}),
    },
    "A line of blanks is not an event": {" ": None, "\t": None},
    "The weight of a namespace also multiplies categories": {
        "1 |n:2 a:x": Reading(1.0, 1.0, 0.0, "", {"n^a=x": 2.0}),
    },
    "A bar ends a word: VW makes it a part of it": {
        "1 | a:x|n b": Reading(1.0, 1.0, 0.0, "", {"a=x": 1.0, "n^b": 1.0}),
    },
    "A word is a category even if it looks like an exponent": {
        "1 | a:e5 b": Reading(1.0, 1.0, 0.0, "", {"a=e5": 1.0, "b": 1.0}),
    },
}
DIFFERENT = {line for lines in (*REFUSED.values(), *OTHERWISE.values()) for line in lines}
# VW complains of these, and reads them as we do. A negative importance is refused when it is learned from.
READ_ALIKE = {"1 |n:2", "1 -1 | a"}


def theirs(case: dict[str, Any]) -> Reading | None:
    if "skipped" in case:
        return None
    features: dict[str, float] = {}
    nameless = 0
    for namespace, name, value, *weight in case["features"]:
        key = (f"{namespace}^" if namespace else "") + (name or str(nameless))
        nameless += not name
        is_word = isinstance(value, str)
        number = (weight or [1.0])[0] if is_word else value
        key = f"{key}={value}" if is_word else key
        features[key] = features.get(key, 0.0) + number
    found = {key: value for key, value in features.items() if value != 0.0}
    return Reading(case["label"], case["importance"], case["initial"], case["tag"], found)


def ours(line: str, folder: Path) -> Reading | None:
    path = folder / "line.vw"
    path.write_bytes(line.encode() + b"\n")
    with stream.open(path, threads=1) as events:
        blocks = [block for block in events if len(block)]
        assert events.vocabulary is not None
        keys = [stream.feature_name(key) for key in events.vocabulary.keys()]  # noqa: SIM118 - it is no dictionary
    if not blocks:
        return None
    (block,) = blocks
    (label,) = block.y
    return Reading(
        None if np.isnan(label) else label,
        1.0 if block.weight is None else block.weight[0],
        0.0 if block.offset is None else block.offset[0],
        "" if block.tag is None else block.tag[0],
        {keys[k]: value for k, value in zip(block.X.indices, block.X.data, strict=True) if value != 0.0},
    )


def close(mine: float | None, other: float | None) -> bool:
    """VW has 32-bit floats."""
    if mine is None or other is None or not math.isfinite(other):
        return bool(mine == other)
    return abs(mine - other) <= 1e-6 * abs(other)


def alike(mine: Reading | None, other: Reading | None) -> bool:
    if mine is None or other is None:
        return mine is other
    numbers = zip(mine[:3], other[:3], strict=True)
    same = mine.tag == other.tag and mine.features.keys() == other.features.keys()
    return (
        same
        and all(close(*pair) for pair in numbers)
        and all(close(value, other.features[key]) for key, value in mine.features.items())
    )


@pytest.mark.parametrize(
    "case", [case for case in CASES if case["line"] not in DIFFERENT], ids=lambda c: repr(c["line"])
)
def test_valid_vw_text_is_read_as_vw_reads_it(case: dict[str, Any], tmp_path: Path) -> None:
    mine, other = ours(case["line"], tmp_path), theirs(case)
    assert alike(mine, other), (mine, other)


@pytest.mark.parametrize("line", [line for lines in REFUSED.values() for line in lines], ids=repr)
def test_text_that_vw_only_guesses_at_is_refused(line: str, tmp_path: Path) -> None:
    with pytest.raises(StreamError) as caught:
        ours(line, tmp_path)
    assert caught.value.line == 1
    assert caught.value.column is not None


@pytest.mark.parametrize(("line", "wanted"), [pair for lines in OTHERWISE.values() for pair in lines.items()], ids=repr)
def test_documented_differences_from_vw_are_as_documented(line: str, wanted: Reading | None, tmp_path: Path) -> None:
    assert ours(line, tmp_path) == wanted
    (case,) = [case for case in CASES if case["line"] == line]
    assert not alike(wanted, theirs(case)), "this is no difference"


def test_text_that_vw_warns_about_is_refused() -> None:
    complained = {case["line"] for case in CASES if "warnings" in case or "strict" in case}
    assert complained - READ_ALIKE == complained & {line for lines in REFUSED.values() for line in lines}


def test_every_difference_from_vw_is_documented() -> None:
    page = (Path(__file__).parent.parent.parent / "docs" / "vw-text.md").read_text(encoding="utf-8")
    for why in (*REFUSED, *OTHERWISE):
        assert why.split(":")[0] in " ".join(page.split()), why


def test_features_without_a_name_are_counted_from_each_bar(tmp_path: Path) -> None:
    read = ours("1 | :2 x :3 |n :5 | :7", tmp_path)
    assert read is not None
    assert read.features == {"0": 9.0, "1": 3.0, "x": 1.0, "n^0": 5.0}


def test_a_negative_importance_is_refused_when_it_is_learned_from(tmp_path: Path) -> None:
    path = tmp_path / "negative.vw"
    path.write_text("1 | a\n-1 -1 | b\n", encoding="utf-8")
    with pytest.raises(ValueError, match="weight"):
        trained(str(path))
