"""Arrays and maps in the columns of tables: the same features as in JSON and in dictionaries."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import odca
from odca.stream.model import StreamModel

EVENTS: list[dict[str, Any]] = [
    {
        "y": place % 2,
        "words": ["a", "b"] if place % 2 else (["c"] if place % 3 else None),
        "size": [0.5, None, 2.0 + place % 5],
        "of": {"height": 1.5, "width": float(place % 7)},
    }
    for place in range(500)
]


def table(size: pa.DataType | None = None) -> pa.Table:
    return pa.table(
        {
            "y": [event["y"] for event in EVENTS],
            "words": [event["words"] for event in EVENTS],
            "size": pa.array([event["size"] for event in EVENTS], size or pa.list_(pa.float64())),
            "of": pa.array([list(event["of"].items()) for event in EVENTS], pa.map_(pa.string(), pa.float64())),
        }
    )


@pytest.fixture(scope="module")
def of_json(tmp_path_factory: pytest.TempPathFactory) -> StreamModel:
    path = tmp_path_factory.mktemp("arrays") / "events.jsonl"
    path.write_text("\n".join(map(json.dumps, EVENTS)))
    return odca.train(path, label="y", missing="indicate")


@pytest.mark.parametrize(
    "size", [pa.list_(pa.float64()), pa.list_(pa.float32()), pa.large_list(pa.float64()), pa.list_(pa.float64(), 3)]
)
def test_arrays_of_tables_make_the_features_of_json(of_json: StreamModel, size: pa.DataType) -> None:
    of_table = odca.train(table(size), label="y", missing="indicate")
    assert of_table.names == of_json.names
    assert np.array_equal(of_table.predict_proba(EVENTS), of_json.predict_proba(EVENTS))
    assert np.array_equal(of_table.predict_proba(table(size).slice(7, 100)), of_json.predict_proba(EVENTS[7:107]))


def test_lists_of_dictionaries_and_files_have_arrays_too(of_json: StreamModel, tmp_path: Path) -> None:
    pq.write_table(table(), tmp_path / "events.parquet")
    expected = of_json.predict_proba(EVENTS)
    of_file = odca.train(tmp_path / "events.parquet", label="y", missing="indicate")
    assert np.array_equal(of_file.predict_proba(EVENTS), expected)
    flat = [{name: value for name, value in event.items() if name != "of"} for event in EVENTS]
    assert odca.train(flat, label="y").names == odca.train(table().drop("of"), label="y").names


def test_what_is_said_of_a_column_holds_for_its_elements() -> None:
    without = odca.train(table(), label="y", ignore=["size"]).names
    assert not any(name.startswith(b"size") for name in without)
    only = odca.train(table(), label="y", keep=["size"]).names
    assert only == [b"size.0", b"size.1\xfe", b"size.2"]
    crossed = odca.train(table(), label="y", interactions=[("words", "size")]).names
    assert any(b"words\xffa" in name and b"size.0" in name for name in crossed)


def test_a_label_that_is_an_array_is_refused() -> None:
    with pytest.raises(ValueError, match="the label in 'words' must be a single value; got an array"):
        odca.train(table(), label="words")


@pytest.mark.parametrize("value", [[[1.0]], [{"a": 1.0}], [True]])
def test_arrays_of_anything_else_are_refused(value: list[Any]) -> None:
    with pytest.raises(ValueError, match="neither a number, a string, a date nor an array of numbers or strings"):
        odca.train(pa.table({"y": [0, 1] * 20, "deep": [value] * 40}), label="y")


def test_the_core_refuses_arrays_that_do_not_fit_together() -> None:
    from odca import _core

    columns = _core.TableColumns([("v", "feature", "number", False)])
    features = odca.stream.Features().native()
    none = np.zeros(1, np.uint8)
    text = (np.array([-1], np.int32), [b"a"])
    for begins, keys, fault in (
        ([0, 3], None, "has 1 values, expected 3"),
        ([1, 0], None, "do not follow each other"),
        ([0], None, "has 1 values, expected 2"),
        ([0, 1], text, "a key that is missing"),
    ):
        arrays = (np.array(begins, np.int64), none, keys, np.ones(1))
        with pytest.raises(ValueError, match=fault):
            _core.read_table(columns, [arrays], 1, features, False, None)
