"""One model for each key: the models of as many separate streams, also with late events."""

import datetime as dt
import os
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import odca

KEYS = 20
START = dt.datetime(2024, 1, 1, tzinfo=dt.UTC)


def events(count: int, seed: int, *, late: int = 0) -> pa.Table:
    rng = np.random.default_rng(seed)
    key = rng.integers(KEYS, size=count)
    x = rng.normal(size=count)
    minutes = seed * count + np.arange(count)
    minutes[::10] -= late
    return pa.table(
        {
            "device": [f"d{each}" for each in key],
            "at": pa.array([START + dt.timedelta(minutes=int(each)) for each in minutes], pa.timestamp("us", "UTC")),
            "x": x,
            "y": x * (key - KEYS / 2) + 0.1 * rng.normal(size=count),
        }
    )


def arriving(folder: Path, batches: list[pa.Table]) -> None:
    folder.mkdir()
    for number, batch in enumerate(batches):
        pq.write_table(batch, folder / f"{number}.parquet")
        os.utime(folder / f"{number}.parquet", (1_700_000_000 + number,) * 2)


def learned(spark: Any, folder: Path, checkpoint: Path, **options: Any) -> dict[str, list[dict[str, Any]]]:
    """The events with their predictions, by device, in the order in which they were learned."""
    from odca.spark import learn_by_key

    schema = spark.read.parquet(str(folder)).schema
    stream = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(folder))
    found: dict[str, list[dict[str, Any]]] = {}

    def keep(batch: Any, _: int) -> None:
        for row in batch.collect():
            found.setdefault(row.device, []).append(row.asDict())

    told = learn_by_key(stream, key="device", label="y", **options)
    query = told.writeStream.foreachBatch(keep).option("checkpointLocation", str(checkpoint))
    query.trigger(availableNow=True).start().awaitTermination()
    return found


def test_each_key_has_the_model_of_its_own_stream(spark: Any, tmp_path: Path) -> None:
    from odca.spark import models_by_key

    batches = [events(300, 0), events(300, 1, late=300)]  # some of the second should have come with the first
    arriving(tmp_path / "in", batches)
    options = {"time": "at", "loss": "squared_error", "rho": 1e-3, "window": "12h", "scale": False}
    found = learned(spark, tmp_path / "in", tmp_path / "state", **options)
    models = models_by_key(spark, str(tmp_path / "state"))
    assert len(found) == len(models) == KEYS
    for device, rows in found.items():
        assert [row["learned"] for row in rows][-1] == models[device].learner.count == len(rows)
    device = "d7"
    alone: Any = None
    expected: list[float] = []
    for batch in batches:
        mine = sorted((row for row in batch.to_pylist() if row.pop("device") == device), key=lambda row: row["at"])
        if alone is None:
            alone = odca.train(mine[:1], label="y", task="numbers", ignore=[], **options)
            expected.append(0.0)
            mine = mine[1:]
        for row in mine:
            expected.append(float(alone.predict(row)))
            alone.learn([row])
    assert np.allclose([row["prediction"] for row in found[device]], expected, atol=1e-9)
    assert models[device].metrics.events == len(expected)
    assert np.allclose(models[device].learner.coef, alone.learner.coef, atol=1e-9)


def test_events_later_than_the_watermark_are_dropped(spark: Any, tmp_path: Path) -> None:
    batches = [events(200, 0), events(200, 5), events(200, 10, late=2100)]
    arriving(tmp_path / "in", batches)
    options = {"time": "at", "loss": "squared_error", "rho": 1e-3}
    late = learned(spark, tmp_path / "in", tmp_path / "late", **options)
    strict = learned(spark, tmp_path / "in", tmp_path / "strict", watermark="10 minutes", **options)
    assert sum(map(len, late.values())) == 600
    assert sum(map(len, strict.values())) == 580


def test_a_table_that_is_no_stream_works_too(spark: Any) -> None:
    from odca.spark import learn_by_key

    rows = learn_by_key(spark.createDataFrame(events(300, 1).to_pylist()), key="device", label="y", time="at").toArrow()
    assert rows.num_rows == 300
    assert {*rows.column_names} == {"device", "at", "x", "y", "prediction", "learned"}


def test_text_needs_its_classes(spark: Any) -> None:
    from odca.spark import learn_by_key

    rows = [(f"d{place % 3}", float(place % 7), "up" if place % 7 > 3 else "down") for place in range(300)]
    table = spark.createDataFrame(rows, "device string, x double, way string")
    with pytest.raises(ValueError, match=r"'way' holds text, .* Name all classes"):
        learn_by_key(table, key="device", label="way")
    told = learn_by_key(table, key="device", label="way", classes=["down", "up"]).toArrow().to_pylist()
    assert {row["prediction"] for row in told} == {"down", "up"}
    with pytest.raises(ValueError, match="watermark needs time"):
        learn_by_key(table, key="device", label="x", watermark="1 minute")
