"""Trainings by the command line, on data of every format, in processes of their own that may be killed or run out of disk."""

import bz2
import gzip
import json
import lzma
import multiprocessing
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import zstandard

from odca import cli
from stream_files import events, libsvm, vw

ROWS = events(6000, labels=("1", "2"))
NAMES = ["label", "a", "b", "c", "country"]
LABEL = ["--label", "label"]
EVERY = 500  # events from one checkpoint to the next

# A server that has imported everything forks the trainings: so a start takes no time, and most kills hit the training itself.
_CONTEXT = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload(["odca.cli.commands.train", "odca.stream.checkpoint", "pyarrow.parquet", "zstandard"])


def csv(rows: list[dict[str, Any]]) -> bytes:
    lines = [NAMES, *([str(row[name]) for name in NAMES] for row in rows)]
    return "".join(",".join(line) + "\n" for line in lines).encode()


def jsonl(rows: list[dict[str, Any]]) -> bytes:
    return "".join(json.dumps({name: row[name] for name in NAMES}) + "\n" for row in rows).encode()


def table() -> pa.Table:
    return pa.table({name: [row[name] for row in ROWS] for name in NAMES})


def _text(name: str, content: bytes, *options: str) -> Callable[[Path], list[str]]:
    """A file of this name in a folder, and the options to read it with, in small blocks."""

    def write(folder: Path) -> list[str]:
        (folder / name).write_bytes(content)
        return [str(folder / name), *options, "--max-line", "16000"]

    return write


def _parquet(folder: Path) -> list[str]:
    pq.write_table(table(), folder / "a.parquet", row_group_size=700)
    return [str(folder / "a.parquet"), *LABEL]


def _arrow(folder: Path) -> list[str]:
    with (folder / "a.arrow").open("wb") as file, pa.ipc.new_file(file, table().schema) as writer:
        writer.write_table(table(), 700)
    return [str(folder / "a.arrow"), *LABEL]


def _several(folder: Path) -> list[str]:
    (folder / "1.csv").write_bytes(csv(ROWS[:2500]))
    (folder / "2.csv").write_bytes(gzip.compress(csv(ROWS[2500:4000])))
    (folder / "3.csv").write_bytes(csv(ROWS[4000:]))
    return [str(folder / "[123].csv"), *LABEL, "--max-line", "16000"]


VW, LIBSVM = ("".join(map(line, ROWS)).encode() for line in (vw, libsvm))
FORMATS: dict[str, Callable[[Path], list[str]]] = {
    "csv": _text("a.csv", csv(ROWS), *LABEL),
    "jsonl": _text("a.jsonl", jsonl(ROWS), *LABEL),
    "libsvm": _text("a.svm", LIBSVM),
    "vw": _text("a.vw", VW, "--loss", "hinge", "--window", "1000"),
    "parquet": _parquet,
    "arrow": _arrow,
    "csv, gzip": _text("a.csv.gz", gzip.compress(csv(ROWS)), *LABEL),
    "jsonl, zstd": _text("a.jsonl.zst", zstandard.compress(jsonl(ROWS)), *LABEL),
    "libsvm, xz": _text("a.svm.xz", lzma.compress(LIBSVM, preset=0)),
    "vw, bz2": _text("a.vw.bz2", bz2.compress(VW)),
    "several files": _several,
}
"""Each writes its data into a folder and returns the words of the command that read them."""


class Training:
    """A training on data in a folder, which writes its model and its checkpoint into another."""

    def __init__(self, folder: Path, data: list[str]) -> None:
        self.data, self.log = data, folder / "log"
        self.outputs = folder / "outputs"
        self.outputs.mkdir()
        self.model, self.state = self.outputs / "model", self.outputs / "state"

    def words(self, *options: str) -> list[str]:
        """The words of the command."""
        files = ["-o", str(self.model), "--checkpoint", str(self.state), "--every", str(EVERY), "--resume", "--quiet"]
        return ["train", *self.data, *files, *options]

    @contextmanager
    def running(self, *options: str) -> Iterator[ForkServerProcess]:
        """The process of the training. At the end it is killed, if it is still alive."""
        with started(self.words(*options), self.log) as process:
            yield process

    def finished(self, prepare: Callable[[], None] | None = None) -> int | None:
        """The exit code of the whole training."""
        with started(self.words(), self.log, prepare) as process:
            process.join(60)
        return process.exitcode

    def started_afresh(self) -> None:
        """Remove the model and the checkpoint."""
        self.model.unlink(missing_ok=True)
        self.state.unlink(missing_ok=True)

    @property
    def said(self) -> str:
        """What the last process printed to standard error."""
        return self.log.read_text().strip() if self.log.exists() else ""

    @property
    def stray_files(self) -> list[str]:
        """What was written besides the model and the checkpoint."""
        return sorted(path.name for path in {*self.outputs.iterdir()} - {self.model, self.state})

    def undisturbed(self) -> tuple[bytes, float]:
        """The model of a training that nobody interrupts, and how long it takes."""
        begun = time.monotonic()
        code = self.finished()
        assert code == 0, self.said
        model = self.model.read_bytes()
        self.started_afresh()
        return model, time.monotonic() - begun


@contextmanager
def started(words: list[str], log: Path, prepare: Callable[[], None] | None = None) -> Iterator[ForkServerProcess]:
    """The process of a command, which is killed at the end. Before the command it calls `prepare`."""
    process = _CONTEXT.Process(target=_run, args=(words, log, prepare), daemon=True)
    process.start()
    try:
        yield process
    finally:
        process.kill()
        process.join()


def _run(words: list[str], log: Path, prepare: Callable[[], None] | None) -> None:
    sys.stderr = log.open("w")
    if prepare is not None:
        prepare()
    sys.exit(cli.main(words))
