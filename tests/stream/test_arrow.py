"""Parquet, Arrow and Feather: the same events as from text, in bounded pieces, from any row on."""

import hashlib
import io
import sys
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

from odca import cli, stream
from odca.models.options import ModelOptions
from odca.stream.checkpoint import Checkpoint
from odca.stream.model import StreamModel
from odca.stream.read import arrow

CSV = """\
click,price,count,country,when,note
1,3.25,7,NZ,2024-05-01T13:05:00,long
0,,8,FR,2024-05-02T00:00:00,
1,-1e-9,9,,2024-05-03T23:59:59.5,long
0,0,10,NZ,2024-05-04T01:00:00,short
"""


def table() -> pa.Table:
    """What CSV says, with the types that a table has."""
    seconds = ["2024-05-01T13:05:00", "2024-05-02T00:00:00", "2024-05-03T23:59:59.5", "2024-05-04T01:00:00"]
    return pa.table({
        "click": pa.array([1, 0, 1, 0], pa.int8()),
        "price": pa.array([3.25, None, -1e-9, 0.0], pa.float64()),
        "count": pa.array([7, 8, 9, 10], pa.int64()),
        "country": pa.array(["NZ", "FR", None, "NZ"]).dictionary_encode(),
        "when": pa.array([np.datetime64(each, "us") for each in seconds], pa.timestamp("us")),
        "note": pa.array(["long", None, "long", "short"], pa.large_string()),
    })  # fmt: skip


def written(path: Path, made: pa.Table, rows: int = 2) -> Path:
    """The table in a file, in the format of its name, cut into pieces."""
    if path.suffix == ".parquet":
        pq.write_table(made, path, row_group_size=rows)
    elif path.suffix == ".feather":
        pyarrow.feather.write_feather(made, path, chunksize=rows)
    else:
        new = pa.ipc.new_stream if path.suffix == ".arrows" else pa.ipc.new_file
        with path.open("wb") as file, new(file, made.schema) as writer:
            writer.write_table(made, rows)
    return path


def everything(*paths: Path, **options: Any) -> tuple[list[bytes], list[dict[str, Any]]]:
    """The vocabulary of a stream, and its events with all they have."""
    events = []
    with stream.open(list(paths), **options) as opened:
        for block in opened:
            X = block.X
            for row in range(len(block)):
                begin, end = X.indptr[row : row + 2]
                features = dict(zip(X.indices[begin:end].tolist(), X.data[begin:end].tolist(), strict=True))
                time = None if block.time is None else block.time[row]
                tag = block.tag[row] if block.tag else None
                events.append({"y": block.y[row], "x": features, "time": time, "tag": tag})
    return [] if opened.vocabulary is None else opened.vocabulary.keys(), events


ENDINGS = [".parquet", ".arrow", ".arrows", ".feather"]


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_table_gives_the_same_events_and_names_as_csv(ending: str, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(CSV)
    path = written(tmp_path / f"a{ending}", table())
    assert everything(path, label="click") == everything(tmp_path / "a.csv", label="click")


@pytest.mark.parametrize("ending", ENDINGS)
def test_files_of_a_glob_are_one_stream(ending: str, tmp_path: Path) -> None:
    whole = table()
    written(tmp_path / f"1{ending}", whole.slice(0, 1))
    written(tmp_path / f"2{ending}", whole.slice(1, 3))
    found = everything(tmp_path / f"*{ending}", label="click")
    assert found == everything(written(tmp_path / f"all{ending}", whole), label="click")


def big_table(rows: int) -> pa.Table:
    rng = np.random.default_rng(rows)
    return pa.table({
        "y": rng.integers(0, 2, rows),
        "x": rng.standard_normal(rows),
        "c": rng.choice(["a", "b", "c"], rows),
    })  # fmt: skip


def _lines(blocks: list[stream.Block]) -> list[int]:
    return [block.line(row) for block in blocks for row in range(len(block))]


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_table_stream_resumes_from_any_position(ending: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arrow, "FEWEST_ROWS", 7)
    monkeypatch.setattr(arrow, "MOST_ROWS", 7)
    paths = [written(tmp_path / f"{n}{ending}", big_table(20 + n), rows=10) for n in range(2)]
    with stream.open(paths, label="y") as opened:
        blocks = list(opened)
    assert max(map(len, blocks)) <= 7
    for n, block in enumerate(blocks):
        with stream.open(paths, start=block.position, schema=opened.schema, vocabulary=opened.vocabulary) as rest:
            again = list(rest)
        assert sum(map(len, again)) == sum(map(len, blocks[n + 1 :]))
        assert [x for each in again for x in each.rows.data] == [x for each in blocks[n + 1 :] for x in each.rows.data]
        assert _lines(again) == _lines(blocks[n + 1 :])


def test_an_interrupted_training_on_a_table_ends_with_the_same_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(arrow, "FEWEST_ROWS", 100)
    monkeypatch.setattr(arrow, "MOST_ROWS", 100)
    path = written(tmp_path / "a.parquet", big_table(1000), rows=300)

    def train(output: str, *words: str) -> None:
        assert cli.main(["train", str(path), "--label", "y", "-o", str(tmp_path / output), "--quiet", *words]) == 0

    train("whole")
    with stream.open(path, label="y") as opened:
        model = StreamModel.begin(ModelOptions(auto="events"), opened.schema, opened.sample)
        model.vocabulary = opened.vocabulary
        first = next(iter(opened))
        model.learn(first)
    checkpoint = tmp_path / "checkpoint"
    train("ignored", "--checkpoint", str(checkpoint))
    request = Checkpoint.load(checkpoint).request
    Checkpoint(model, first.position, 0, request).save(checkpoint)
    train("resumed", "--checkpoint", str(checkpoint), "--resume")
    assert (tmp_path / "resumed").read_bytes() == (tmp_path / "whole").read_bytes()


def test_resuming_on_a_changed_table_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path / "a.parquet", big_table(100))
    with stream.open(path, label="y") as opened:
        position = next(iter(opened)).position
    written(path, big_table(200))
    with pytest.raises(
        stream.StreamError, match="the file changed: it is not the file that the checkpoint was made from"
    ):
        stream.open(path, start=position, schema=opened.schema, vocabulary=opened.vocabulary)


@pytest.mark.parametrize("name", ["a.parquet", "a.arrow", "a.arrows"])
def test_an_edit_that_keeps_the_size_of_a_table_is_noticed(tmp_path: Path, name: str) -> None:
    paths = [written(tmp_path / f"{k}.{name}", big_table(1000)) for k in range(2)]
    with stream.open(paths, label="y") as opened:
        positions = [block.position for block in opened]
    how = {"schema": opened.schema, "vocabulary": opened.vocabulary}
    with stream.open(paths, start=positions[-1], **how) as rest:
        assert sum(len(block) for block in rest) == 0
    for place, message in ((0, "the file before .* changed"), (1, "the file changed")):
        content = bytearray(Path(paths[place]).read_bytes())
        content[len(content) // 3] ^= 1
        Path(paths[place]).write_bytes(content)
        with pytest.raises(stream.StreamError, match=f"{message}: .* without `start`"):
            stream.open(paths, start=positions[-1], **how)
        content[len(content) // 3] ^= 1
        Path(paths[place]).write_bytes(content)


def test_positions_of_former_versions_in_tables_are_still_checked(tmp_path: Path) -> None:
    """They have a digest of the file's size and types."""
    path = written(tmp_path / "a.parquet", big_table(100))
    with stream.open(path, label="y") as opened:
        block = next(iter(opened))
    about = f"{Path(path).stat().st_size} {pq.read_schema(path).remove_metadata()}"
    start = stream.Position(0, 100, 100, hashlib.blake2b(about.encode(), digest_size=16).hexdigest())
    how = {"schema": opened.schema, "vocabulary": opened.vocabulary}
    with stream.open(path, start=start, **how) as rest:
        assert sum(len(block) for block in rest) == 0
    written(path, big_table(200))
    with pytest.raises(stream.StreamError, match="the file changed"):
        stream.open(path, start=start, **how)
    assert block.position.digest != start.digest


def test_columns_that_are_ignored_are_not_read(tmp_path: Path) -> None:
    made = big_table(10).append_column("list", pa.array([[["a"]]] * 10))
    path = written(tmp_path / "a.parquet", made)
    with stream.open(path, label="y", features=stream.Features(ignore=("list", "c"))) as opened:
        assert {name for chunk in opened.chunks() for name in chunk.data.schema.names} == {"y", "x"}


def test_a_column_that_cannot_be_a_feature_is_named(tmp_path: Path) -> None:
    path = written(tmp_path / "a.parquet", big_table(10).append_column("list", pa.array([[["a"]]] * 10)))
    with pytest.raises(stream.StreamError, match=r"'list' holds list<.*>, .* `ignore=\['list'\]`"):
        stream.open(path, label="y")


@pytest.mark.parametrize(
    ("values", "type_", "numbers"),
    [
        ([1, None, 3], pa.uint8(), {0: 1.0, 2: 3.0}),
        ([0.5, float("nan"), None], pa.float32(), {0: 0.5}),
        ([Decimal("1.50"), None, Decimal("-2.25")], pa.decimal128(5, 2), {0: 1.5, 2: -2.25}),
    ],
)
def test_numbers_of_every_type_are_numbers_and_null_is_missing(
    values: list[Any], type_: pa.DataType, numbers: dict[int, float], tmp_path: Path
) -> None:
    path = written(tmp_path / "a.parquet", pa.table({"y": [0.0, 1.0, 0.0], "x": pa.array(values, type_)}))
    names, events = everything(path, label="y")
    expected = [{b"x": numbers[row]} if row in numbers else {b"x\xfe": 1.0} for row in range(3)]
    assert [{names[index]: value for index, value in event["x"].items()} for event in events] == expected


def test_true_and_false_are_one_and_zero_as_in_csv_and_null_is_missing(tmp_path: Path) -> None:
    table = pa.table({"y": [0.0, 1.0, 0.0], "x": [True, False, None]})
    names, events = everything(written(tmp_path / "a.parquet", table), label="y")
    assert [[(names[index], value) for index, value in event["x"].items()] for event in events] == [
        [(b"x", 1.0)], [(b"x", 0.0)], [(b"x\xfe", 1.0)],
    ]  # fmt: skip
    categories = stream.Features(categorical=("x",))
    names, events = everything(tmp_path / "a.parquet", label="y", features=categories)
    assert [names[index] for event in events for index in event["x"]] == [b"x\xfftrue", b"x\xfffalse", b"x\xfe"]


def test_large_integers_used_as_categories_keep_all_their_digits(tmp_path: Path) -> None:
    users = [2**60 + 1, 2**60 + 2]
    path = written(tmp_path / "a.parquet", pa.table({"y": [0, 1], "user": pa.array(users, pa.uint64()), "id": users}))
    names, events = everything(path, label="y", tag="id", features=stream.Features(categorical=("user",)))
    assert names == [b"user\xff%d" % user for user in users]
    assert [event["tag"] for event in events] == [str(user) for user in users]


def test_dates_without_a_time_of_day_have_no_hour(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("y,d\n1,2024-02-29\n0,1969-12-31\n")
    days = pa.array([date(2024, 2, 29), date(1969, 12, 31)], pa.date32())
    path = written(tmp_path / "a.parquet", pa.table({"y": [1, 0], "d": days}))
    names, events = found = everything(path, label="y")
    assert found == everything(tmp_path / "a.csv", label="y")
    assert b"d.month\xff2" in names
    assert not any(name.startswith(b"d.hour") for name in names)
    assert events[1]["time"] == -86400.0


@pytest.mark.parametrize(("trained_on", "asked"), [("csv", "parquet"), ("parquet", "csv")])
def test_a_model_trained_on_one_format_predicts_the_other(trained_on: str, asked: str, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(CSV)
    written(tmp_path / "a.parquet", table(), rows=4)  # one block, as of CSV
    with stream.open(tmp_path / f"a.{trained_on}", label="click") as opened:
        model = StreamModel.begin(ModelOptions(), opened.schema, opened.sample)
        model.vocabulary = opened.vocabulary
        for block in opened:
            model.learn(block)
    margins = []
    for ending in (trained_on, asked):
        path = tmp_path / f"a.{ending}"
        with stream.open(path, schema=model.schema, vocabulary=model.vocabulary, grow=False) as other:
            margins.append(np.concatenate([model.predict(block, "margins") for block in other]))
    assert (margins[0] == margins[1]).all()
    assert np.ptp(margins[0]) > 0.0


def test_an_arrow_stream_can_be_read_from_standard_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = written(tmp_path / "a.arrows", table()).read_bytes()
    expected = everything(tmp_path / "a.arrows", label="click")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
    with stream.open("-", format="arrow", label="click") as opened:
        assert sum(map(len, opened)) == len(expected[1])


def test_parquet_on_standard_input_is_refused() -> None:
    with pytest.raises(ValueError, match="standard input"):
        stream.open("-", format="parquet", label="y")


@pytest.mark.parametrize("ending", [".parquet", ".arrow"])
def test_a_truncated_table_is_reported(ending: str, tmp_path: Path) -> None:
    path = written(tmp_path / f"a{ending}", table())
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(stream.StreamError, match=r"a\.(parquet|arrow): it cannot be read: .* Is it damaged"):
        stream.open(path, label="click")


def test_text_named_parquet_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.parquet").write_text(CSV)
    with pytest.raises(stream.StreamError, match="does not begin like one"):
        stream.open(tmp_path / "a.parquet", label="click")


def test_a_later_file_that_lacks_a_column_is_named(tmp_path: Path) -> None:
    written(tmp_path / "1.parquet", big_table(10))
    written(tmp_path / "2.parquet", big_table(10).drop_columns(["x"]))
    with (
        stream.open(tmp_path / "*.parquet", label="y") as opened,
        pytest.raises(stream.StreamError, match=r"2\.parquet: there is no column 'x'"),
    ):
        list(opened)


def test_a_bad_row_is_named_or_skipped(tmp_path: Path) -> None:
    path = written(tmp_path / "a.parquet", pa.table({"y": [1, 0, 1], "x": [1.0, float("inf"), 2.0]}))
    features = stream.Features(numeric=("x",))
    with (
        stream.open(path, label="y", features=features) as opened,
        pytest.raises(stream.StreamError, match=r"line 2: .*finite"),
    ):
        list(opened)
    with stream.open(path, label="y", on_error="skip", features=features) as opened:
        assert sum(map(len, opened)) == 2
        assert opened.bad.count == 1


def test_following_a_table_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path / "a.parquet", big_table(10))
    with pytest.raises(ValueError, match="cannot be followed"):
        stream.open(path, label="y", follow=True)


def test_without_pyarrow_the_error_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path / "a.parquet", big_table(10))
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ImportError, match=r"pip install 'odca\[arrow\]'"):
        stream.open(path, label="y")


def test_progress_ends_at_the_total(tmp_path: Path) -> None:
    paths = [written(tmp_path / f"{n}.parquet", big_table(1000)) for n in range(2)]
    with stream.open(paths, label="y") as opened:
        assert opened.total == sum(path.stat().st_size for path in paths)
        for _ in opened:
            assert 0 <= opened.consumed <= opened.total
        assert opened.consumed == opened.total
