"""`odca train` shows how it read the data, warns of what looks wrong, and keeps to a schema that was written and edited."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from odca import cli
from odca.features import Features
from odca.stream import open as open_stream
from odca.stream.model import StreamModel
from odca.stream.read.profile import FieldProfile, profiles, warnings_about
from odca.stream.read.schema_file import read_schema
from stream_files import events, vw, write


@pytest.fixture
def train(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    """The exit code, what is printed, and the warnings."""

    def run(*words: object) -> tuple[int, str, str]:
        code = cli.main(["train", *map(str, words), "-o", str(tmp_path / "model")])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run


def row(k: int) -> dict[str, Any]:
    note = f"these are some words of a long text, number {k}"
    return {
        "id": f"u{k * 7919 % 10007}",
        "at": f"{k % 12 + 1}/{k % 12 + 1}/2024",
        "price": "NA" if k % 5 == 0 else round(np.sin(k), 3),
        "country": ("NZ", "FR", "IT")[k % 3],
        "note": note,
        "unit": "kg",
        "leak": "ab"[k % 2],
        "y": k % 2,
    }


NAMES = list(row(0))
ROWS = [row(k) for k in range(300)]
USES = ["category", "date", "number", "category", "category", "category", "category", "label"]
CONCERNS = ["id", "order", None, None, "text", "constant", "leak", None]


def csv_lines() -> list[str]:
    return [",".join(NAMES) + "\n", *(",".join(f'"{each[name]}"' for name in NAMES) + "\n" for each in ROWS)]


def written(folder: Path, ending: str) -> str:
    path = folder / f"a.{ending}"
    if ending == "csv":
        return write(path, csv_lines())
    if ending == "jsonl":
        return write(path, [json.dumps(each) + "\n" for each in ROWS])
    columns: dict[str, list[Any]] = {name: [each[name] for each in ROWS] for name in NAMES}
    columns["price"] = [None if price == "NA" else price for price in columns["price"]]
    pq.write_table(pa.table(columns), path)
    return str(path)


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_every_field_is_described_the_same_in_every_format(ending: str, tmp_path: Path) -> None:
    with open_stream(written(tmp_path, ending), label="y", features=Features(ignore=("unit",))) as stream:
        found = {each.name: each for each in profiles(stream)}
    uses = dict(zip(NAMES, USES, strict=True)) | {"unit": "ignored"}
    assert {name: each.use for name, each in found.items()} == uses
    concerns = dict(zip(NAMES, CONCERNS, strict=True)) | {"unit": None}
    assert {name: each.concern for name, each in found.items()} == concerns
    assert (found["price"].missing, found["price"].count, found["country"].distinct) == (60, 300, 3)
    assert found["country"].example == "NZ"


def test_a_table_shows_how_the_data_were_read(train, tmp_path: Path) -> None:
    data = written(tmp_path, "csv")
    code, printed, told = train(data, "--label", "y")
    assert code == 0
    lines = [line.split("  ") for line in printed.splitlines()[:9]]
    assert [line[0].strip() for line in lines] == ["field", *NAMES]
    assert "category, 3 values" in printed
    assert "20.0 %" in printed
    assert "warning: 'id' is different in nearly every event" in told
    assert "--ignore id, or is it text (--text id)?" in told
    assert "--day-first" in told
    assert "'unit' is the same in all of the first events" in told
    assert "'leak' tells the label of all of the first events" in told
    code, printed, quiet = train(data, "--label", "y", "--quiet")
    assert (code, printed, quiet) == (0, "", told)
    _, printed, _ = train(data, "--label", "y", "--json")
    (reading,) = [each for each in map(json.loads, printed.splitlines()) if each["event"] == "reading"]
    assert [each["use"] for each in reading["fields"]] == USES


def test_text_without_fields_and_sound_tables_are_not_commented_on(train, tmp_path: Path) -> None:
    code, printed, told = train(write(tmp_path / "a.vw", [vw(each) for each in events(200)]))
    assert (code, told) == (0, "")
    assert "read as" not in printed
    rng = np.random.default_rng(2)
    lines = ["y,a,b\n", *(f"{k % 30},{rng.normal():.3f},{'xyz'[int(rng.integers(3))]}\n" for k in range(300))]
    code, printed, told = train(write(tmp_path / "a.csv", lines), "--label", "y")
    assert (code, told) == (0, "")
    assert "read as" in printed


def test_of_a_wide_table_the_first_fields_are_shown(train, tmp_path: Path) -> None:
    lines = [",".join(["y", *(f"x{j}" for j in range(100))]) + "\n"]
    lines += [",".join(str((k * j + k) % 7) for j in range(101)) + "\n" for k in range(50)]
    _, printed, _ = train(write(tmp_path / "a.csv", lines), "--label", "y")
    assert "... and 81 number." in printed


def test_a_column_that_counts_the_rows_is_an_identifier(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", ["row,y\n", *(f"{k + 1},{k % 2}\n" for k in range(200))])
    with open_stream(path, label="y") as stream:
        assert [each.concern for each in profiles(stream)] == ["id", None]


# The file


@pytest.mark.parametrize("ending", ["csv", "jsonl"])
def test_a_schema_that_was_written_is_read_back(ending: str, train, tmp_path: Path) -> None:
    data, schema = written(tmp_path, ending), tmp_path / "schema.json"
    train(data, "--label", "y", "--schema", schema)
    first = StreamModel.load(tmp_path / "model")
    about = json.loads(schema.read_text())
    assert [(each["name"], each["use"]) for each in about["columns"]] == list(zip(NAMES, USES, strict=True))
    before = schema.read_bytes()
    assert train(data, "--schema", schema)[0] == 0
    assert StreamModel.load(tmp_path / "model").learner == first.learner
    assert schema.read_bytes() == before


@pytest.mark.parametrize("ending", ["csv", "jsonl"])
def test_a_schema_that_was_edited_is_kept_to(ending: str, train, tmp_path: Path) -> None:
    data, schema = written(tmp_path, ending), tmp_path / "schema.json"
    train(data, "--label", "y", "--schema", schema)
    text = schema.read_text()
    for name, old, new in (
        ("id", "category", "ignored"),
        ("note", "category", "text"),
        ("leak", "category", "ignored"),
    ):
        text = text.replace(f'{{"name": "{name}", "use": "{old}"}}', f'{{"name": "{name}", "use": "{new}"}}')
    schema.write_text(text.replace('"day_first": null', '"day_first": true'))
    train(data, "--schema", schema)
    edited = StreamModel.load(tmp_path / "model")
    said = ["--ignore", "id", "leak", "--text", "note", "--day-first"]
    train(data, "--label", "y", *said)
    plain = StreamModel.load(tmp_path / "model")
    assert edited.learner == plain.learner
    assert edited.names == plain.names
    assert edited.predict(data, "margins").tolist() == plain.predict(data, "margins").tolist()


INVALID = {
    "not JSON": ("}", "Expecting"),
    "another use": ('"use": "number"', '"use": "numeral"', "the use of 'price' must be one of .*; got 'numeral'"),
    "two labels": ('"use": "number"', '"use": "label"', "label is the use of two columns"),
    "another setting": ('"header"', '"heading"', "there is no setting 'heading'"),
    "a column twice": ('"name": "at"', '"name": "id"', "a column is there twice"),
    "another format": ('"csv"', '"xls"', "format must be one of"),
}


@pytest.mark.parametrize("name", INVALID)
def test_a_schema_that_is_invalid_is_refused(name: str, train, tmp_path: Path) -> None:
    data, schema = written(tmp_path, "csv"), tmp_path / "schema.json"
    train(data, "--label", "y", "--schema", schema)
    *change, message = INVALID[name]
    text = schema.read_text()
    schema.write_text(text.replace(*change, 1) if len(change) == 2 else text[:-3])
    with pytest.raises(ValueError, match=f"schema.json is not a schema that can be read: .*{message}"):
        read_schema(schema, Features())
    assert train(data, "--schema", schema)[0] == cli.REFUSED


def test_a_warning_names_its_field() -> None:
    what, remedy = next(warnings_about([FieldProfile("my id", "category", concern="id")]))
    assert what.startswith("'my id' is different")
    assert remedy is not None
    assert "`ignore=['my id']`" in remedy.spelled()
