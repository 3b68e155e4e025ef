"""A model of files takes every form of data: paths, data frames, Arrow tables, one dictionary, several."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet
import pytest

import odca
from odca.stream.model import StreamModel

Row = dict[str, Any]


def rows(count: int = 400) -> list[Row]:
    """Numbers, strings, a category and a date, with gaps."""
    rng = np.random.default_rng(3)
    out = []
    for k in range(count):
        area, city = round(float(rng.normal(50, 10)), 2), str(rng.choice(["Rome", "Paris", "Łódź"]))
        out.append({
            "area": None if k % 7 == 3 else area,
            "city": None if k % 5 == 3 else city,
            "floor": int(rng.integers(6)),
            "day": pd.Timestamp("2024-01-01") + pd.Timedelta(hours=k),
            "rent": round(3.0 * area + 20.0 * (city == "Rome") + float(rng.normal()), 2),
        })  # fmt: skip
    return out


def as_pandas(table: list[Row]) -> pd.DataFrame:
    return pd.DataFrame(table).astype({"city": "category"})


def as_polars(table: list[Row]) -> pl.DataFrame:
    return pl.DataFrame(table).with_columns(pl.col("city").cast(pl.Categorical))


FORMS: dict[str, Callable[[list[Row]], Any]] = {
    "pandas": as_pandas,
    "pandas with strings": pd.DataFrame,
    "pandas with objects": lambda table: pd.DataFrame(table, dtype=object),
    "polars": as_polars,
    "arrow": pa.Table.from_pylist,
    "dictionaries": lambda table: table,
}


def as_csv(table: list[Row], path: Path) -> Path:
    pd.DataFrame(table).to_csv(path, index=False)
    return path


@pytest.fixture(params=["automatic", "linear", "two classes", "several classes", "hashed", "history"])
def model(request: pytest.FixtureRequest, tmp_path: Path) -> StreamModel:
    options = {
        "automatic": {},
        "linear": {"loss": "squared_error"},
        "two classes": {"loss": "hinge"},
        "several classes": {"loss": "log_loss"},
        "hashed": {"bits": 10},
        "history": {"history": ["area by city: lag 1; mean 5"]},
    }[request.param]
    table = rows()
    if "classes" in request.param:
        cuts = [140.0, 170.0] if request.param == "several classes" else [150.0]
        table = [row | {"rent": "abc"[int(np.searchsorted(cuts, row["rent"]))]} for row in table]
    return odca.train(as_csv(table, tmp_path / "a.csv"), label="rent", progress=False, **options)


def test_every_form_of_data_is_predicted_like_the_file(model: StreamModel, tmp_path: Path) -> None:
    table = [{name: value for name, value in row.items() if name != "rent"} for row in rows()]
    path = as_csv(table, tmp_path / "b.csv")
    for wanted in ("label", "margins", *(["probabilities"] if model.classes else [])):
        expected = model.predict(path, wanted).tolist()
        assert len(expected) == len(table)
        for form in FORMS.values():
            assert model.predict(form(table), wanted).tolist() == expected
        assert np.array_equal(model.predict(table[0], wanted), expected[0])
    if model.classes:
        assert model.predict_proba(path).tolist() == model.predict(path, "probabilities").tolist()
        assert model.predict_proba(table[0]).shape == (len(model.classes),)
    else:
        assert isinstance(model.predict(table[0]), float)


def test_every_form_of_data_is_learned_like_the_file(model: StreamModel, tmp_path: Path) -> None:
    labels = model.classes[::-1] or (100.0, 200.0, 160.0)
    table = [row | {"rent": labels[k % len(labels)], "city": "Oslo"} for k, row in enumerate(rows(60))]
    saved = tmp_path / "m.safetensors"
    model.save(saved)
    expected = odca.load(saved)
    expected.learn(as_csv(table, tmp_path / "b.csv"))
    assert expected.metrics.events == model.metrics.events + 60
    one_by_one = lambda model, table: [model.learn(row) for row in table]  # noqa: E731 - one of several
    for learn in (*(lambda model, table, form=form: model.learn(form(table)) for form in FORMS.values()), one_by_one):
        twin = odca.load(saved)
        learn(twin, table)
        assert twin.names == expected.names
        assert twin.predict(table, "margins").tolist() == expected.predict(table, "margins").tolist()
        assert twin.metrics == expected.metrics


def test_explanations_sum_to_the_margins(model: StreamModel) -> None:
    table = rows(20)
    answers = ("steady", "live") if model.options.auto else ("steady",)
    for answer in answers:
        for row, expected in zip(table, model.predict(table, "margins", answer=answer), strict=True):
            found = model.explain(row, answer=answer)
            if model.past is None:
                np.testing.assert_allclose(sum(found.values()), expected, rtol=1e-9, atol=1e-9)
        parts = model.explain(as_pandas(table), answer=answer)
        sums = np.array([sum(each.values()) for each in parts])
        np.testing.assert_allclose(sums, model.predict(table, "margins", answer=answer), rtol=1e-9, atol=1e-9)
    names = {name for each in parts for name in each}
    if model.schema.has_names:
        assert {"", "area", "area is missing", "city=Rome", "city is missing", "floor"} <= names
        assert ("area by city: lag 1" in names) == (model.past is not None)


def test_explanations_of_a_frozen_model_sum_to_its_margins() -> None:
    frozen = odca.train(rows(600), label="rent").freeze()
    assert frozen.learner.products
    table = rows(20)
    sums = [sum(each.values()) for each in frozen.explain(table)]
    np.testing.assert_allclose(sums, frozen.predict(table, "margins"), rtol=1e-9, atol=1e-9)


def test_a_model_says_what_it_is(model: StreamModel, tmp_path: Path) -> None:
    model.save(tmp_path / "m.safetensors")
    again = odca.load(tmp_path / "m.safetensors")
    text = repr(again)
    assert text == repr(model)
    assert len(text.splitlines()) <= 9
    for part in ("rent", model.task, "area, city, floor, day", "400 events", "progressive score", "best baseline"):
        assert part in text
    assert all(each in text for each in model.classes)
    report = str(again.report())
    assert ("weights while labels come in" in report) == (model.options.auto is not None)
    assert "city=Rome" in report or model.options.auto or not model.schema.has_names
    if not model.options.auto:
        assert '"city=Rome": ' in again.report().as_json()


def test_the_html_of_a_model_takes_no_name_for_markup(tmp_path: Path) -> None:
    table = [{"<script>x": float(k % 9), "y": "<b>&" if k % 9 > 4 else "no"} for k in range(50)]
    html = odca.train(table, label="y", progress=False)._repr_html_()
    assert "<script" not in html
    assert "<b>" not in html
    assert "&lt;script&gt;x" in html
    assert "&lt;b&gt;&amp;" in html
    assert "http" not in html


@pytest.mark.parametrize("form", FORMS)
def test_training_on_a_table_in_memory_is_training_on_its_parquet_file(form: str, tmp_path: Path) -> None:
    table = rows()
    frame = FORMS[form](table)
    pa.parquet.write_table(pa.Table.from_pylist(table), tmp_path / "a.parquet")
    expected = odca.train(tmp_path / "a.parquet", label="rent", progress=False)
    model = odca.train(frame, label="rent", progress=False)
    assert [(each.name, each.kind) for each in model.schema.columns] == [
        (each.name, each.kind) for each in expected.schema.columns
    ]
    assert model.predict(frame).tolist() == expected.predict(tmp_path / "a.parquet").tolist()
    assert model.metrics == expected.metrics


def test_objects_of_several_types_are_text_and_numbers_of_a_category_are_names() -> None:
    mixed = np.array([1, "x", None, math.nan, 2.5], dtype=object)
    frame = pd.DataFrame({"m": mixed, "k": pd.Categorical([3, 4, 3, 4, 3]), "y": [1.0, 2.0, 1.0, 2.0, 1.0]})
    model = odca.train(frame, label="y", progress=False)
    assert {each.name: each.kind for each in model.schema.columns} == {"m": "category", "k": "category", "y": "number"}
    assert set(model.explain(frame.iloc[1].to_dict())) == {"", "m=x", "k=4"}


def test_mistakes_in_a_call_are_named(tmp_path: Path) -> None:
    path = as_csv(rows(30), tmp_path / "rents.csv")
    with pytest.raises(TypeError, match=r"odca.train has no option 'lable'. Did you mean 'label'\?"):
        odca.train(path, lable="rent")
    with pytest.raises(TypeError, match=r"has no option 'zzz'. See help\(odca.train\)"):
        odca.train(path, zzz=1)
    with pytest.raises(FileNotFoundError, match=rf"Did you mean '{path}'\?"):
        odca.train(tmp_path / "rent.csv", label="rent")
    with pytest.raises(FileNotFoundError, match="There is no folder 'nowhere'"):
        odca.train("nowhere/a.csv", label="rent")
    with pytest.raises(TypeError, match="data must be paths of files, a data frame or a list of dictionaries; got 3"):
        odca.train(3, label="rent")
    with pytest.raises(ValueError, match=r"there is no column 'rant' for the label\. There are area, city"):
        odca.train(as_pandas(rows(30)), label="rant")
    with pytest.raises(ValueError, match="a checkpoint says how far files were read, but these data are in memory"):
        odca.train(as_pandas(rows(30)), label="rent", checkpoint=tmp_path / "state")
    with pytest.raises(ValueError, match="two columns have the name 'a'"):
        odca.train(pd.DataFrame([[1, 2]], columns=["a", "a"]))
    with pytest.raises(ValueError, match="the column 'a' holds binary"):
        odca.train(pd.DataFrame({"a": [b"\xff", b"x"], "y": [0.0, 1.0]}), label="y")


def test_a_model_of_vw_text_cannot_learn_from_dictionaries(tmp_path: Path) -> None:
    (tmp_path / "a.vw").write_text("1 |a x:1\n-1 |a x:2\n" * 20)
    model = odca.train(tmp_path / "a.vw", progress=False)
    with pytest.raises(ValueError, match="it cannot learn from dictionaries"):
        model.learn([{"x": 1.0}])
    assert model.predict([]).tolist() == []
