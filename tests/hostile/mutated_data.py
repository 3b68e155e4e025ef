"""Files of events of every format and compression with something changed: read, or refused with an error of ours."""

import bz2
import gzip
import io
import lzma
import random
import tempfile
from collections.abc import Callable
from decimal import Decimal
from functools import cache
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import zstandard

from hostile.children import failures_of
from hostile.mutated_files import NOT_OURS, last_words
from hostile.outcome import Outcome
from hostile.trainings import csv, jsonl
from odca import InputError, stream
from stream_files import events, libsvm, vw

pa.set_memory_pool(pa.system_memory_pool())  # the others reserve more addresses than a child may have
ROWS = events(40, labels=("1", "2"))
SEPARATORS = (b",", b"\n", b" ", b":", b"|", b'"', b"\x00", b"\r\n", b"e999", b"nan", b"-", b"{", b"[", b"\xff", b"\t")


def long_run(count: int, seed: int) -> Outcome:
    return Outcome("mutated data files", count, failures_of(tried, range(count), seed))


def tried(number: int, seed: int) -> list[str]:
    """Read one file; a line if that goes wrong."""
    draw = random.Random(f"{seed} {number}")
    name = list(MAKERS)[number % len(MAKERS)]
    data = _mutated(_whole(name), draw)
    label = None if name.split(".")[1] in {"vw", "svm"} else "label"
    how = {"on_error": draw.choice(("stop", "skip")), "max_line": draw.choice((64, 4096, 1 << 20))}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_bytes(data)
        fault = _fault_of(path, label, how)
    return [f"{name}: {fault}"] if fault else []


def _fault_of(path: Path, label: str | None, how: dict[str, object]) -> str:
    try:
        with stream.open(path, label=label, **how) as blocks:  # type: ignore[arg-type] # options drawn at random
            for block in blocks:
                X = block.X
                if not np.all(np.isfinite(X.data)) or (
                    X.nnz and not 0 <= X.indices.min() <= X.indices.max() < X.shape[1]
                ):
                    return "it holds numbers that are not finite, or indices out of range"
                for column in (block.weight, block.offset, block.time):
                    if column is not None and np.isinf(column).any():
                        return "a column is not finite"
                repr(block.y[:5])
    except (stream.StreamError, InputError) as error:
        return f"an error that is not ours: {error}" if NOT_OURS.search(str(error)) else ""
    except Exception:  # noqa: BLE001 - any other is a fault, and is reported
        return last_words()
    return ""


def _mutated(data: bytes, draw: random.Random) -> bytes:
    changed = bytearray(data)
    for _ in range(draw.choice((1, 1, 2, 5))):
        kind, at = draw.random(), draw.randrange(len(changed) + 1)
        span = draw.choice((1, 1, 4, 8, 30))
        if kind < 0.35 and changed:
            changed[at % len(changed)] ^= 1 << draw.randrange(8)
        elif kind < 0.5:
            changed[at : at + span] = draw.randbytes(span)
        elif kind < 0.6:
            changed[at : at + 8] = draw.choice((-1, 0, 2**31 - 1, 2**62, 5)).to_bytes(8, "little", signed=True)
        elif kind < 0.75:
            del changed[at : at + span]
        elif kind < 0.85:
            changed[at:at] = draw.choice(SEPARATORS) * draw.choice((1, 1, 3, 100))
        elif kind < 0.93:
            begin = draw.randrange(len(changed) + 1)
            changed[at:at] = changed[begin : begin + 100]
        else:
            del changed[at:]
    return bytes(changed)


# Files


@cache
def _whole(name: str) -> bytes:
    return MAKERS[name]()


def table() -> pa.Table:
    """A column of most types that are read."""
    n = len(ROWS)
    return pa.table({
        "label": [row["label"] for row in ROWS],
        "a": pa.array([None if k % 9 == 0 else row["a"] for k, row in enumerate(ROWS)], pa.float64()),
        "b": pa.array(range(n), pa.int32()),
        "flag": pa.array([k % 2 == 0 for k in range(n)]),
        "country": pa.array([row["country"] for row in ROWS]).dictionary_encode(),
        "text": pa.array([row["tag"] for row in ROWS], pa.large_string()),
        "day": pa.array(np.datetime64("2024-05-01") + np.arange(n), pa.date32()),
        "decimal": pa.array([Decimal(k) / 8 for k in range(n)], pa.decimal128(12, 3)),
        "when": pa.array(np.datetime64("2024-05-01", "us") + np.arange(n), pa.timestamp("us")),
        "half": pa.array(np.arange(n, dtype=np.float16)),
    })  # fmt: skip


def _ipc(new: Callable[..., pa.ipc.RecordBatchStreamWriter], **options: object) -> bytes:
    sink = io.BytesIO()
    with new(sink, table().schema, options=pa.ipc.IpcWriteOptions(**options)) as writer:
        writer.write_table(table(), 15)
    return sink.getvalue()


def _feather() -> bytes:
    sink = io.BytesIO()
    pyarrow.feather.write_feather(table(), sink, compression="lz4")
    return sink.getvalue()


def _parquet(**options: object) -> bytes:
    sink = io.BytesIO()
    pq.write_table(table().drop_columns(["half"]), sink, row_group_size=15, **options)
    return sink.getvalue()


VW, LIBSVM = ("".join(map(line, ROWS)).encode() for line in (vw, libsvm))
MAKERS: dict[str, Callable[[], bytes]] = {
    "a.csv": lambda: csv(ROWS),
    "a.jsonl": lambda: jsonl(ROWS),
    "a.vw": lambda: VW,
    "a.svm": lambda: LIBSVM,
    "a.csv.gz": lambda: gzip.compress(csv(ROWS)),
    "a.vw.bz2": lambda: bz2.compress(VW),
    "a.jsonl.xz": lambda: lzma.compress(jsonl(ROWS)),
    "a.svm.zst": lambda: zstandard.compress(LIBSVM),
    "a.arrow": lambda: _ipc(pa.ipc.new_file),
    "b.arrow": lambda: _ipc(pa.ipc.new_stream),
    "c.arrow": lambda: _ipc(pa.ipc.new_file, compression="zstd"),
    "a.feather": _feather,
    "a.parquet": _parquet,
    "b.parquet": lambda: _parquet(use_dictionary=False, compression="none", data_page_version="2.0"),
}
