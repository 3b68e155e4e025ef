"""A table of several shops with gaps, as files of every format."""

import csv
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet

Row = dict[str, Any]
NAMES = ("at", "shop", "price", "sold")
LINES = ["y by shop: lag 1,2; mean 6h; std 3; change 1; since", "price: lag 1; max 2h; change 2", "sold: mean 50"]
"""The label is called sold: y and sold are the same."""


def rows(count: int = 400, seed: int = 0) -> list[Row]:
    """The sales of each hour, which depend on those of the hour before."""
    rng = np.random.default_rng(seed)
    level = dict.fromkeys("ABC", 0.0)
    out = []
    for k in range(count):
        shop = str(rng.choice([*level]))
        level[shop] = 0.9 * level[shop] + float(rng.normal())
        at = datetime.fromtimestamp(1_700_000_000 + 1200 * k, UTC).replace(tzinfo=None)
        row: Row = {"at": at, "shop": shop, "price": round(float(rng.normal()), 3), "sold": round(level[shop], 3)}
        out.append(row | ({"price": None} if k % 7 == 5 else {}))
    return out


def written_csv(table: list[Row], path: Path, names: tuple[str, ...] = NAMES) -> Path:
    """The table as CSV."""
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(names)
        writer.writerows(["" if row[name] is None else row[name] for name in names] for row in table)
    return path


def written_json(table: list[Row], path: Path) -> Path:
    """The table as JSON lines."""
    path.write_text("".join(json.dumps(row, default=str) + "\n" for row in table))
    return path


def written_parquet(table: list[Row], path: Path) -> Path:
    """The table as Parquet."""
    pyarrow.parquet.write_table(pa.table({name: [row[name] for row in table] for name in NAMES}), path)
    return path
