"""`odca bench`: measure how fast this machine parses data and learns from them.

The data are synthetic text like RCV1's (events of about 70 words out of 47,000, in the libsvm format), made in memory, or the beginning of
the user's own files. They are parsed with one thread and with all, and learned with several losses. Each measurement is repeated a few
times and the fastest counts. No files are written.
"""

import argparse
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

from odca.cli.data_options import add_data_options, add_feature_options, features_of, open_stream
from odca.cli.option_types import number
from odca.cli.shared_options import add_printing_options
from odca.cli.views import formatting
from odca.cli.views.console import Output, PrintedColumn
from odca.records import record

if TYPE_CHECKING:
    from odca.stream import Block, Schema
    from odca.stream.read.chunks import Chunk

EPILOG = """\
examples:
  odca bench
  odca bench clicks.csv.gz --label click
  odca bench --json
"""
SECONDS = 15.0
MOST_BYTES = 32 << 20
EVENTS, FEATURES, PER_EVENT, SEED = 20_000, 47_000, 70, 0
MOST_ROUNDS = 5
CLASS_LOSSES = ("log_loss", "hinge", "squared_hinge", "modified_huber")
NUMBER_LOSSES = ("squared_error", "huber", "absolute_error", "quantile:0.9")
COLUMNS = (
    PrintedColumn("work", "work", 29, is_text=True),
    PrintedColumn("threads", "threads", 7),
    PrintedColumn("bytes_per_second", "text", 10, lambda value: formatting.rate(value, "B")),
    PrintedColumn("events_per_second", "events", 10, formatting.rate),
    PrintedColumn("ns_per_feature", "ns per\nfeature", 8, lambda value: f"{value:.1f}"),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's own arguments."""
    add_data_options(parser, required=False)
    add_feature_options(parser)
    parser.add_argument(
        "--seconds",
        type=number(above=0.0),
        default=SECONDS,
        metavar="S",
        help="roughly how long the benchmark may take (default: 15)",
    )
    add_printing_options(parser)


def run(arguments: argparse.Namespace) -> int:
    """Measure and print the speeds; return the exit code."""
    output = Output.of(arguments)
    sample = user_sample(arguments) if arguments.data else synthetic_sample(EVENTS)
    output.note(
        f"{sample.origin}: {formatting.size(sample.size)} of {sample.schema.format}, {formatting.count(sample.events)} events, "
        f"{formatting.count(sample.features)} features."
    )
    table = output.table(COLUMNS, "measured")
    for each in measure(sample, arguments.seconds, arguments.threads):
        table.row(
            each.work,
            each.threads,
            sample.size / each.seconds,
            sample.events / each.seconds,
            1e9 * each.seconds / max(sample.features, 1),
        )
    return 0


# The data


class Sample:
    """Data in memory, and the schema to parse them with."""

    def __init__(self, origin: str, chunks: "Sequence[Chunk]", schema: "Schema", *, skip_bad: bool) -> None:
        self.origin, self.schema = origin, schema
        self._chunks, self._skip_bad = chunks, skip_bad
        self.size = sum(_size(chunk) for chunk in chunks)
        self.blocks = list(self.parsed(1))
        self.events = sum(map(len, self.blocks))
        self.features = sum(len(block.rows.indices) for block in self.blocks)
        """The number of features of all events together."""

    def parsed(self, threads: int) -> "Iterator[Block]":
        """Parse the data into blocks, starting with an empty vocabulary."""
        from odca.stream.read.parallel import Reading, read_blocks  # noqa: PLC0415 - the same
        from odca.stream.read.stream import parser_of  # noqa: PLC0415 - the same

        vocabulary = self.schema.new_vocabulary()
        reading = Reading(
            parse=parser_of(self.schema)(skip_bad=self._skip_bad, vocabulary=vocabulary),
            vocabulary=vocabulary,
            grow=True,
            skip_bad=self._skip_bad,
            lines_before=0,
            threads=threads,
        )
        return read_blocks(_InMemoryChunks(self._chunks), reading)

    @property
    def losses(self) -> list[str]:
        """The losses that are defined for the labels."""
        labels = {label for block in self.blocks for label in block.y.tolist()}
        if any(isinstance(label, str) for label in labels):
            return list(CLASS_LOSSES)
        return [*CLASS_LOSSES, *NUMBER_LOSSES] if len(labels) == 2 else list(NUMBER_LOSSES)


class _InMemoryChunks:
    """A source of chunks that are in memory already."""

    def __init__(self, chunks: "Sequence[Chunk]") -> None:
        self._chunks = chunks

    def __iter__(self) -> "Iterator[Chunk]":
        return iter(self._chunks)

    def stop(self) -> None:
        """There is nothing to wait for."""

    def close(self) -> None:
        """There is nothing to close."""


def _size(chunk: "Chunk") -> int:
    """The size in bytes; for a table, its size in memory."""
    return int(getattr(chunk.data, "nbytes", None) or len(chunk.data))


def user_sample(arguments: argparse.Namespace) -> Sample:
    """The beginning of the user's own data."""
    chunks: list[Chunk] = []
    with open_stream(arguments, features=features_of(arguments)) as stream:
        for chunk in stream.chunks():
            chunks.append(chunk)
            if sum(map(_size, chunks)) >= MOST_BYTES:
                break
        return Sample(", ".join(arguments.data), chunks, stream.schema, skip_bad=arguments.on_error == "skip")


def synthetic_sample(events: int) -> Sample:
    """Text like RCV1's, the same in every run."""
    from odca.stream import Features, Schema  # noqa: PLC0415 - after parsing
    from odca.stream.read.chunks import SIZE, Chunk  # noqa: PLC0415 - the same

    schema = Schema(format="libsvm", features=Features())
    lines, chunks, size = synthetic_lines(events), list[Chunk](), 0
    while lines:
        count = max(1, SIZE // len(lines[0]))
        data, lines = "".join(lines[:count]).encode(), lines[count:]
        chunks.append(Chunk(data, "made", 0, size, first=not size, last=not lines))
        size += len(data)
    return Sample("synthetic data like RCV1", chunks, schema, skip_bad=False)


def synthetic_lines(events: int) -> list[str]:
    """Events of two classes. A few words are frequent, and most are rare."""
    import numpy as np  # noqa: PLC0415 - after parsing

    from odca.stream.write.text import number_texts  # noqa: PLC0415 - the same

    rng = np.random.default_rng(SEED)
    words = np.sort(np.floor(FEATURES ** rng.random((events, PER_EVENT))).astype(np.int64), axis=1)
    is_new = np.diff(words, axis=1, prepend=0) > 0
    values = rng.gamma(1.0, 1.0, words.shape) * np.log(2.0 + words) * is_new
    values /= np.linalg.norm(values, axis=1, keepdims=True)
    scores = (rng.standard_normal(FEATURES + 1)[words] * values).sum(axis=1)
    signs = np.where(scores + 0.1 * rng.standard_normal(events) > 0.0, "1", "-1").tolist()
    pairs = zip(number_texts(words[is_new]), number_texts(values[is_new].round(6)), strict=True)
    tokens = [f" {word}:{value}" for word, value in pairs]
    ends = np.cumsum(is_new.sum(axis=1)).tolist()
    spans = zip(signs, [0, *ends[:-1]], ends, strict=True)
    return [f"{sign}{''.join(tokens[begin:end])}\n" for sign, begin, end in spans]


# The measurements


@record
class Measurement:
    """A piece of work, its number of threads, and how long it took."""

    work: str
    threads: int
    seconds: float


def measure(sample: Sample, seconds: float, most_threads: int | None = None) -> Iterator[Measurement]:
    """Measure each kind of work with one thread and with `most_threads` (default: one per core), in about `seconds` altogether."""
    from odca.stream.read.parallel import cores  # noqa: PLC0415 - after parsing

    losses = sample.losses
    threads = sorted({1, most_threads or cores()})
    share = seconds / (2 * len(threads) + len(losses))
    for count in threads:
        yield Measurement("parse", count, _fastest(partial(_parse, sample, count), share))
    for loss in losses:
        yield Measurement(f"learn {loss}", 1, _fastest(partial(_learn, sample, loss), share))
    for count in threads:
        yield Measurement(
            f"parse and learn {losses[0]}", count, _fastest(partial(_learn, sample, losses[0], count), share)
        )


def _fastest(work: Callable[[], None], seconds: float) -> float:
    best, until = float("inf"), time.monotonic() + seconds
    for _ in range(MOST_ROUNDS):
        started = time.monotonic()
        work()
        best = min(best, time.monotonic() - started)
        if time.monotonic() + best > until:
            break
    return best


def _parse(sample: Sample, threads: int) -> None:
    for _ in sample.parsed(threads):
        pass


def _learn(sample: Sample, loss: str, threads: int | None = None) -> None:
    """Learn all events; they are parsed by `threads` threads, or have been parsed already if it is None."""
    from odca.losses import as_loss  # noqa: PLC0415 - after parsing
    from odca.models.options import ModelOptions  # noqa: PLC0415 - the same
    from odca.stream.model import StreamModel  # noqa: PLC0415 - the same

    model = StreamModel.begin(ModelOptions(loss=as_loss(loss)), sample.schema, sample.blocks[0])
    for block in sample.blocks if threads is None else sample.parsed(threads):
        model.learn(block)
