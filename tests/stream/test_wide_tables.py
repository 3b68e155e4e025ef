"""Tables of many columns: the time that a column takes does not depend on how many there are.

Time is that of this process, so that it says little about what else the machine does. A loop over all pairs of 80,000 columns takes
many seconds; one over all columns a fraction of one.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from odca import stream
from odca.features.spec import Features
from odca.models.options import ModelOptions
from odca.stream.model import StreamModel

WIDTH = 80_000
NAMES = [f"column_{k}" for k in range(WIDTH)]
LIMIT = 4.0


@contextmanager
def in_linear_time() -> Iterator[None]:
    begun = time.process_time()
    yield
    assert time.process_time() - begun < LIMIT


def row(value: int) -> str:
    return ",".join([str(value % 2), *(str((value * 7 + k) % 10) for k in range(1, WIDTH))]) + "\n"


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("wide") / "wide.csv"
    path.write_text(",".join(NAMES) + "\n" + row(0) + row(1) + row(2))
    return path


def events_of(path: Path, **how) -> int:
    with stream.open(path, **how) as events:
        return sum(len(block) for block in events)


def test_a_header_of_many_names_is_read(table: Path) -> None:
    with in_linear_time():
        assert events_of(table, label=NAMES[0]) == 3


def test_many_columns_without_a_header_are_read(table: Path, tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text(table.read_text().partition("\n")[2])
    with in_linear_time():
        assert events_of(tmp_path / "rows.csv", label=1) == 3


@pytest.mark.parametrize("options", [{"ignore": NAMES[1:40_000]}, {"keep": NAMES[40_000:]}, {"categorical": NAMES[1:]}])
def test_options_may_name_many_columns(table: Path, options: dict[str, list[str]]) -> None:
    with in_linear_time():
        assert events_of(table, label=NAMES[0], features=Features(**options)) == 3


def test_a_model_of_many_columns_reads_other_files(table: Path, tmp_path: Path) -> None:
    with stream.open(table, label=NAMES[0]) as events:
        model = StreamModel.begin(ModelOptions(), events.schema, events.sample)
    known = {"schema": model.schema, "labelled": False}
    (tmp_path / "rows.csv").write_text(table.read_text().partition("\n")[2])
    (tmp_path / "other.csv").write_text(",".join(f"other_{k}" for k in range(WIDTH)) + "\n" + row(0))
    cells = zip(NAMES, row(0).rstrip().split(","), strict=True)
    (tmp_path / "rows.jsonl").write_text("{" + ",".join(f'"{name}": {cell}' for name, cell in cells) + "}\n")
    for name, how in (("rows.csv", {"header": False}), ("other.csv", {})):
        with in_linear_time(), pytest.raises(ValueError, match="none of the columns that the model was trained on"):
            events_of(tmp_path / name, **how, **known)
    half = ",".join([*NAMES[: WIDTH // 2], *(f"other_{k}" for k in range(WIDTH - WIDTH // 2))])
    (tmp_path / "half.csv").write_text(half + "\n" + row(0))
    with in_linear_time():
        assert events_of(tmp_path / "half.csv", **known) == 1
    with in_linear_time():
        assert events_of(tmp_path / "rows.jsonl", **known) == 1


def test_many_columns_of_parquet_are_read(tmp_path: Path) -> None:
    width = 5_000  # pyarrow itself takes long for more
    pq.write_table(pa.table({name: [0, 1] for name in NAMES[:width]}), tmp_path / "wide.parquet")
    with in_linear_time():
        assert events_of(tmp_path / "wide.parquet", label=NAMES[0]) == 2


def test_bad_lines_of_a_wide_table_are_skipped_quickly(table: Path, tmp_path: Path) -> None:
    (tmp_path / "bad.csv").write_text(table.read_text() + "0,1,2\n" * 20_000)
    with in_linear_time(), stream.open(tmp_path / "bad.csv", label=NAMES[0], on_error="skip") as events:
        assert sum(len(block) for block in events) == 3
    assert events.bad.count == 20_000


def test_errors_list_the_first_columns_only(table: Path) -> None:
    with pytest.raises(stream.StreamError, match=r"column_28, column_29, \.\.\. \(80,000\)\.") as caught:
        stream.open(table, label="colum")
    assert len(str(caught.value)) < 1000
