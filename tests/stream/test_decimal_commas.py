"""Numbers with a decimal comma: 3,14 and 1.234,56."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import odca

N = 200
NUMBERS = np.round(np.random.default_rng(2).normal(size=(N, 3)) * [1.0, 3000.0, 1.0], 2)


def with_commas(number: float) -> str:
    """1.234,56"""
    return f"{number:,.2f}".translate(str.maketrans(",.", ".,"))


def written(path: Path, form: Any, delimiter: str = ";", *, header: bool = True) -> Path:
    rows = [delimiter.join(["a", "b", "y"])] if header else []
    rows += [delimiter.join(form(each) for each in row) for row in NUMBERS]
    path.write_text("\n".join(rows) + "\n")
    return path


@pytest.mark.parametrize("delimiter", [";", "\t", "|"])
@pytest.mark.parametrize("header", [True, False])
def test_files_with_decimal_commas_are_read_like_those_with_points(
    tmp_path: Path, delimiter: str, header: bool
) -> None:
    label = "y" if header else 3
    points = odca.train(written(tmp_path / "a.csv", "{:.2f}".format, delimiter, header=header), label=label)
    commas = odca.train(written(tmp_path / "b.csv", with_commas, delimiter, header=header), label=label)
    assert commas.schema.decimal == ","
    assert points.schema.decimal == "."
    assert np.array_equal(commas.predict(tmp_path / "b.csv"), points.predict(tmp_path / "a.csv"))
    assert np.array_equal(commas.predict(tmp_path / "a.csv"), points.predict(tmp_path / "a.csv"))  # each file by itself


def test_a_few_lines_that_do_not_tell_are_read_as_the_model_has_learned(tmp_path: Path) -> None:
    model = odca.train(written(tmp_path / "a.csv", with_commas), label="y")
    (tmp_path / "b.csv").write_text("a;b\n1;1,234\n")
    (tmp_path / "c.csv").write_text("a;b\n1;1.234\n")
    assert model.predict(tmp_path / "b.csv")[0] == model.predict({"a": 1, "b": 1.234})
    assert model.predict(tmp_path / "c.csv", decimal=",")[0] == model.predict({"a": 1, "b": 1234})


def test_thousands_of_english_are_not_decimals(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("a;y\n" + "".join(f"{1000 + k * 37:,};{k % 7}\n" for k in range(N)))
    model = odca.train(path, label="y", task="numbers")
    assert model.schema.decimal == "."


def test_the_decimal_can_be_said(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("a;y\n" + "".join(f"{k % 9},{k % 1000:03};{k}\n" for k in range(10, N)))
    model = odca.train(path, label="y", decimal=",")
    assert model.schema.columns[0].kind == "number"
    with pytest.raises(ValueError, match=r"decimal must be '.' or ','; got ';'"):
        odca.train(path, label="y", decimal=";")


def test_quoted_numbers_and_categories(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("a;c;y\n" + "".join(f'"{k / 8:.3f}";"x,{k % 3}";{k / 4:.2f}\n'.replace(".", ",") for k in range(N)))
    model = odca.train(path, label="y")
    kinds = {column.name: column.kind for column in model.schema.columns}
    assert kinds == {"a": "number", "c": "category", "y": "number"}
    assert model.metrics.events == N


def test_dates_with_points_stay_dates(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text(
        "at;a;y\n" + "".join(f"{1 + k % 28}.{1 + k % 12}.2024;{k / 8:.3f};{k}\n".replace(".0", ",0") for k in range(N))
    )
    model = odca.train(path, label="y")
    assert model.schema.columns[0].kind == "date"
