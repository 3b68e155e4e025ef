"""Tables straight from SQLite and DuckDB, by a query."""

import csv
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest

import odca
from odca.cli import main

QUERY = "select area, city, moment, rent from flats order by moment"


def rows(count: int = 3000) -> list[tuple[Any, ...]]:
    rng = np.random.default_rng(6)
    out = []
    for k in range(count):
        area, city = round(float(rng.normal(50, 10)), 2), str(rng.choice(["Rome", 'New "York"', "a, b\nc"]))
        at = f"2024-{1 + k // 300:02d}-{1 + k // 12 % 25:02d} {k % 12:02d}:00:00"
        out.append((None if k % 7 == 0 else area, city, at, round(3 * area, 2)))
    return out


@pytest.fixture
def sqlite(tmp_path: Path) -> Path:
    path = tmp_path / "shop?# 1.db"  # a name that needs care in a URI
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("create table flats (area real, city text, moment text, rent real)")
        connection.executemany("insert into flats values (?, ?, ?, ?)", rows())
        connection.commit()
    return path


@pytest.fixture
def duck(tmp_path: Path) -> Path:
    path = tmp_path / "shop.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("create table flats (area double, city varchar, moment timestamp, rent double)")
        connection.executemany("insert into flats values (?, ?, ?, ?)", rows(600))
    return path


def as_csv(path: Path, count: int = 3000) -> Path:
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["area", "city", "moment", "rent"])
        writer.writerows(sorted(rows(count), key=lambda row: row[2]))
    return path


def test_a_query_in_sqlite_is_its_result_as_csv(sqlite: Path, tmp_path: Path) -> None:
    before = sqlite.read_bytes()
    expected = odca.train(as_csv(tmp_path / "a.csv"), label="rent", progress=False)
    model = odca.train(sqlite, query=QUERY, label="rent", progress=False)
    assert model.schema == expected.schema
    assert model.metrics == expected.metrics
    assert model.names == expected.names
    assert model.predict(sqlite, query=QUERY).tolist() == expected.predict(tmp_path / "a.csv").tolist()
    assert sqlite.read_bytes() == before
    with closing(sqlite3.connect(sqlite)) as connection:
        assert odca.train(connection, query=QUERY, label="rent", progress=False).metrics == expected.metrics
        memory = sqlite3.connect(":memory:")
        connection.backup(memory)
    with closing(memory):
        assert odca.train(memory, query=QUERY, label="rent", progress=False).metrics == expected.metrics
        memory.execute("insert into flats values (1, 'x', '', 1)")
        with pytest.raises(ValueError, match="not committed"):
            odca.train(memory, query=QUERY, label="rent", progress=False)


def test_a_query_in_duckdb_is_its_result(duck: Path, tmp_path: Path) -> None:
    expected = odca.train(as_csv(tmp_path / "a.csv", 600), label="rent", progress=False)
    model = odca.train(duck, query=QUERY, label="rent", progress=False)
    assert model.names == expected.names
    assert model.predict(duck, query=QUERY).tolist() == expected.predict(tmp_path / "a.csv").tolist()
    with duckdb.connect(str(duck)) as connection:
        again = odca.train(connection, query=QUERY, label="rent", progress=False)
        assert again.metrics == model.metrics
        assert connection.execute("select count(*) from flats").fetchone() == (600,)
        totals = odca.train(
            connection, query="select city, count(*) as n, sum(rent)::integer as y from flats group by all", label="y", task="numbers",
            progress=False,
        )  # fmt: skip
        assert totals.metrics.events == 3


@pytest.mark.parametrize("kind", ["sqlite", "duck"])
def test_the_command_takes_a_query(kind: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    path, model, out = str(request.getfixturevalue(kind)), str(tmp_path / "m"), str(tmp_path / "p")
    assert main(["train", path, "--query", QUERY, "--label", "rent", "-o", model, "--quiet"]) == 0
    assert main(["predict", model, path, "--query", QUERY, "-o", out]) == 0
    assert len(Path(out).read_text().splitlines()) == odca.load(model).metrics.events
    assert main(["evaluate", model, path, "--query", QUERY]) == 0


@pytest.mark.parametrize("kind", ["sqlite", "duck"])
def test_nothing_is_written_and_errors_name_file_and_query(
    kind: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    path = request.getfixturevalue(kind)
    before = path.read_bytes()
    for query in ("delete from flats", "drop table flats", "insert into flats values (1, 'x', '2024-01-01', 1)"):
        with pytest.raises(ValueError, match=f"query ['\"]{query[:6]}.*failed"):
            odca.train(path, query=query, label="rent", progress=False)
    with pytest.raises(ValueError, match=r"shop.*, query 'select nothing from flats'.*the query failed.*nothing"):
        odca.train(path, query="select nothing\nfrom flats", label="rent", progress=False)
    with pytest.raises(ValueError, match="there is no column 'rant' for the label"):
        odca.train(path, query=QUERY, label="rant", progress=False)
    with pytest.raises(ValueError, match=r"shop.*it is a database. Say which rows to read \(`query='select"):
        odca.train(path, label="rent", progress=False)
    with pytest.raises(ValueError, match="no fixed order"):
        odca.train(path, query=QUERY, label="rent", checkpoint=tmp_path / "state", progress=False)
    assert path.read_bytes() == before


def test_a_query_for_a_table_that_is_not_there_names_those_that_are(sqlite: Path) -> None:
    with pytest.raises(ValueError, match=r"no such table: flat\. The database has 'flats'"):
        odca.train(sqlite, query="select * from flat", label="rent", progress=False)


def test_what_is_no_database_and_what_cannot_be_read_are_refused(sqlite: Path, tmp_path: Path) -> None:
    path = as_csv(tmp_path / "a.csv")
    with pytest.raises(ValueError, match="a query needs a database"):
        odca.train(path, query=QUERY, label="rent", progress=False)
    with pytest.raises(ValueError, match="the column 'b' holds a BLOB"):
        odca.train(sqlite, query="select x'00ff' as b, rent from flats", label="rent", progress=False)
    arguments = [
        "train",
        str(sqlite),
        "--query",
        QUERY,
        "--label",
        "rent",
        "-o",
        str(tmp_path / "m"),
        "--checkpoint",
        "s",
    ]
    with pytest.raises(SystemExit, match="2"):
        main(arguments)
