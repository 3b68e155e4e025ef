"""One table as CSV, TSV, JSON, Parquet, Arrow, dictionaries and data frames: the same features, the same predictions to the bit."""

import csv
import json
from collections.abc import Callable
from datetime import date, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest

from odca import EventLearner, LogLoss, stream
from odca.features import Features
from odca.models.auto_events import AutoEvents
from odca.models.options import ModelOptions
from odca.stream.model import StreamModel
from odca.stream.read.stream import read_events

NAMES = ("y", "price", "rooms", "kind", "new", "day", "at", "title")
DATES = ("day", "at")
TEXT = {"text": ("title",), "ngrams": 2}
Row = dict[str, Any]


def rows(count: int = 120, *, gaps: bool = True) -> list[Row]:
    """Numbers, whole numbers that are categories, strings, booleans, dates without and with a time, and text."""
    rng = np.random.default_rng(5)
    out = []
    for k in range(count):
        row: Row = {
            "y": float(k % 3 == 0),
            "price": round(float(rng.normal()), 3),
            "rooms": int(rng.integers(4)),
            "kind": str(rng.choice(["flat", "house", "hütte"])),
            "new": bool(rng.random() < 0.5),
            "day": date(2024, 1 + k % 12, 1 + k % 28),
            "at": datetime(2024, 3, 1 + k % 28, k % 24, 5, 7),  # noqa: DTZ001 - a table's, taken as UTC
            "title": str(rng.choice(["Sea view", "sunny, quiet", "Quiet sea"])),
        }
        gap = str(rng.choice(NAMES[1:]))
        out.append(row | {gap: None} if gaps and k > 9 and k % 4 == 0 else row)
    return out


def as_text(value: Any) -> str:
    return "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def written_csv(table: list[Row], path: Path, delimiter: str = ",") -> Path:
    with path.open("w", newline="") as file:
        writer = csv.writer(file, delimiter=delimiter)
        writer.writerow(NAMES)
        writer.writerows([as_text(row[name]) for name in NAMES] for row in table)
    return path


def written_json(table: list[Row], path: Path) -> Path:
    path.write_text("".join(json.dumps(row, default=str) + "\n" for row in table))
    return path


def as_arrow(table: list[Row]) -> pa.Table:
    return pa.table({name: [row[name] for row in table] for name in NAMES})


def written_parquet(table: list[Row], path: Path) -> Path:
    pa.parquet.write_table(as_arrow(table), path)
    return path


def written_feather(table: list[Row], path: Path) -> Path:
    pa.feather.write_feather(as_arrow(table), str(path))
    return path


FILES: dict[str, Callable[[list[Row], Path], Path]] = {
    "csv": written_csv,
    "tsv": lambda table, path: written_csv(table, path, "\t"),
    "jsonl": written_json,
    "parquet": written_parquet,
    "feather": written_feather,
}
FRAMES: dict[str, Callable[[list[Row]], Any]] = {
    "dictionaries": lambda table: table,
    "pandas": lambda table: pd.DataFrame(table).astype({"day": object}),
    "polars": pl.DataFrame,
}
OPTIONS = {
    "plain": {},
    "hashed": {"bits": 12},
    "crossed": {"interactions": (("kind", "new"), ("at", "price"))},
    "some fields": {"keep": ("price", "kind", "day", "at", "new")},
    "without some": {"ignore": ("rooms", "kind")},
    "ignored gaps": {"missing": "ignore"},
}


def keyed(block: Any, names: list[bytes]) -> list[dict[Any, float]]:
    """The features of each event by name, or by index if they are hashed."""
    return [
        {names[j] if names else int(j): float(x) for j, x in zip(block.X[[k]].indices, block.X[[k]].data, strict=True)}
        for k in range(len(block))
    ]


def read(path: Path, features: Features) -> list[dict[Any, float]]:
    events: list[dict[Any, float]] = []
    with stream.open(path, label="y", features=features) as opened:
        for block in opened:
            names = [] if opened.vocabulary is None else opened.vocabulary.keys()
            events += keyed(block, names)
    return events


def model_of(path: Path, features: Features) -> StreamModel:
    with stream.open(path, label="y", features=features) as opened:
        model = StreamModel.begin(ModelOptions(), opened.schema, opened.sample)
        model.vocabulary = opened.vocabulary
        for block in opened:
            model.learn(block)
    return model


@pytest.mark.parametrize("name", OPTIONS)
def test_every_file_has_the_same_features(name: str, tmp_path: Path) -> None:
    table = rows()
    options = TEXT | {"categorical": ("rooms",)} | OPTIONS[name]
    found = {each: read(write(table, tmp_path / f"a.{each}"), Features(**options)) for each, write in FILES.items()}
    assert len(found["csv"]) == len(table)
    for events in found.values():
        assert events == found["csv"]


@pytest.mark.parametrize("name", OPTIONS)
@pytest.mark.parametrize("interface", FRAMES)
def test_events_that_are_dictionaries_have_the_features_of_the_file(interface: str, name: str, tmp_path: Path) -> None:
    table = rows()
    features = Features(**TEXT, categorical=("rooms",), **OPTIONS[name])
    path = written_csv(table, tmp_path / "a.csv")
    with stream.open(path, label="y", features=features) as opened:
        expected = [
            event for block in opened for event in keyed(block, opened.vocabulary.keys() if opened.vocabulary else [])
        ]
        schema, vocabulary = opened.schema, opened.vocabulary
    block = read_events(FRAMES[interface](table), schema, vocabulary)
    assert keyed(block, vocabulary.keys() if vocabulary else []) == expected
    assert block.y.tolist() == [row["y"] for row in table]


@pytest.mark.parametrize("kind", ["csv", "parquet", "jsonl"])
@pytest.mark.parametrize("bits", [None, 12])
def test_a_model_of_one_file_predicts_all_forms_alike(kind: str, bits: int | None, tmp_path: Path) -> None:
    table = rows()
    features = Features(**TEXT, bits=bits, interactions=(("kind", "at"),), categorical=("rooms",))
    model = model_of(FILES[kind](table, tmp_path / f"a.{kind}"), features)
    expected = model.predict(tmp_path / f"a.{kind}", "margins").tolist()
    assert len(set(expected)) > 50
    for each, write in FILES.items():
        assert model.predict(write(table, tmp_path / f"b.{each}"), "margins").tolist() == expected
    for make in FRAMES.values():
        assert model.predict(make(table), "margins").tolist() == expected
    if kind == "jsonl":
        return  # in which a string is a string
    as_strings = [{name: as_text(row[name]) or None for name in NAMES} for row in table]  # as csv.DictReader has them
    assert model.predict(as_strings, "margins").tolist() == expected


def test_dates_of_a_csv_count_when_the_same_events_come_as_dictionaries(tmp_path: Path) -> None:
    table = [{"y": row["y"], "at": row["at"], "price": row["price"]} for row in rows(gaps=False)]
    path = tmp_path / "a.csv"
    path.write_text("y,at,price\n" + "".join(f"{row['y']},{row['at']},{row['price']}\n" for row in table))
    model = model_of(path, Features())
    expected = model.predict(path, "probabilities").tolist()
    texts = [row | {"at": str(row["at"])} for row in table]
    stamps = [row | {"at": pd.Timestamp(row["at"])} for row in table]
    for events in (table, texts, stamps):
        assert model.predict(events, "probabilities").tolist() == expected
    without = [{"price": row["price"]} for row in table]
    assert model.predict(without, "probabilities").tolist() != expected


@pytest.mark.parametrize("name", OPTIONS)
@pytest.mark.parametrize("automatic", [False, True])
def test_learners_of_events_have_the_features_of_the_file(automatic: bool, name: str, tmp_path: Path) -> None:
    table, options = rows(), TEXT | {"categorical": ("rooms",)} | OPTIONS[name]
    path = written_csv(table, tmp_path / "a.csv")
    with stream.open(path, label="y", features=Features(**options)) as opened:
        blocks = list(opened)
        keys = [] if opened.vocabulary is None else opened.vocabulary.keys()
    y = np.array([row["y"] for row in table])
    events = [{name: value for name, value in row.items() if name != "y"} for row in table]
    make = (
        (lambda: AutoEvents("classes", **options))
        if automatic
        else (lambda: EventLearner(loss=LogLoss(), rho=0.01, intercept=False, **options))
    )
    expected = make()
    rows_of_file = blocks[0].rows
    learned = expected.learner.learn(rows_of_file, y)
    for interface in FRAMES.values():
        model = make()
        frame = interface(events)
        assert model.learn_many(frame, y).tolist() == learned.tolist()
        assert model._names().listed() == keys
        assert model.predict_many(frame).tolist() == expected.learner.predict(rows_of_file).tolist()


def test_a_missing_value_may_be_refused_in_every_interface(tmp_path: Path) -> None:
    table, features = rows(), Features(missing="error", categorical=("rooms",), dates=DATES)
    for each, write in FILES.items():
        with pytest.raises(ValueError, match="is missing"):
            read(write(table, tmp_path / f"a.{each}"), features)
    for make in FRAMES.values():
        model = EventLearner(loss=LogLoss(), missing="error", categorical=("rooms",))
        with pytest.raises(ValueError, match="is missing"):
            model.learn_many(make(table), [1.0] * len(table))
        assert model.features == []


def test_a_number_names_a_category_in_the_same_way_in_every_interface(tmp_path: Path) -> None:
    features = Features(categorical=("k",))
    (tmp_path / "a.jsonl").write_text('{"y": 1, "k": 3}\n{"y": 0, "k": 3.0}\n{"y": 1, "k": "3"}\n')
    found = read(tmp_path / "a.jsonl", features)
    assert found == [{b"k\xff3": 1.0}] * 3
    model = EventLearner(loss=LogLoss(), categorical=["k"])
    model.learn_many([{"k": 3}, {"k": 3.0}, {"k": "3"}, {"k": np.int8(3)}, {"k": 2**60 + 1}], [1.0] * 5)
    assert model.features == [("k", "3"), ("k", str(2**60 + 1))]


def test_nested_dictionaries_and_lists_are_nested_json(tmp_path: Path) -> None:
    event = {
        "user": {"age": 31.0, "city": "Rome"},
        "tags": ["a", "b", "a"],
        "size": [3.0, None, True],
        "items": [{"n": 2}],
    }
    (tmp_path / "a.jsonl").write_text(json.dumps(event) + "\n")
    (found,) = read_without_label(tmp_path / "a.jsonl")
    model = EventLearner(loss=LogLoss(), intercept=False)
    model.learn_one(event, 1.0)
    assert model._names().listed() == list(found)
    assert set(model.explain_one(event)) == {
        "user.age", "user.city=Rome", "tags=a", "tags=b", "size.0", "size.1 is missing", "size.2", "items.0.n",
    }  # fmt: skip
    model.predict_one(event, id=1)
    twin = model.copy()
    assert model.learn_label(1, 1.0) == twin.learn_one(event, 1.0)


def read_without_label(path: Path) -> list[dict[Any, float]]:
    with stream.open(path) as opened:
        return [event for block in opened for event in keyed(block, opened.vocabulary.keys())]
