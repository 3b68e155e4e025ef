"""What late labels cost the automatic mode: the loss of its answers when every label comes d events later.

    python -m benchmarks.delays [--events 30000]

On each development stream, an event is asked about, and then the event d events before it gets its label. Beside the answer that was
given (`AutoLearner.ask`) are the steady answer of the same moment, and the answer of a learner whose mixers judge the experts by their
margins of now, because nothing was kept. Scored are the events from the first label on. Nothing is timed.
"""

import argparse
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from benchmarks.quality.streams import NUMBER, STREAMS, Stream
from benchmarks.report import ROOT, describe_machine, log, show_machine, table, write_json
from odca import AutoLearner
from odca.research import datasets

DELAYS = (0, 1, 100, 10_000)
LEAST_SCORED = 1000
Array = npt.NDArray[np.float64]


def rows_of(stream: Stream) -> list[Any]:
    """Every event by itself."""
    if stream.dense:
        X = stream.X.toarray()
        return [X[row : row + 1] for row in range(len(X))]
    X, width = stream.X, stream.X.shape[1]
    ends = [slice(begin, end) for begin, end in zip(X.indptr[:-1], X.indptr[1:], strict=True)]
    parts = ((X.data[part], X.indices[part], np.array([0, part.stop - part.start], np.int32)) for part in ends)
    return [csr_array(part, shape=(1, width)) for part in parts]


def learner_for(stream: Stream) -> AutoLearner:
    """A new one."""
    return AutoLearner("numbers") if stream.task == NUMBER else AutoLearner("classes", classes=stream.classes)


def losses(stream: Stream, answers: Array) -> Array:
    """Log loss, or the squared error, of answers (n, heads)."""
    if stream.task == NUMBER:
        return np.asarray((answers[:, 0] - stream.y) ** 2)
    if answers.shape[1] == 1:
        return np.logaddexp(0.0, np.where(stream.y > 0, -answers[:, 0], answers[:, 0]))
    return np.asarray(-answers[np.arange(len(stream.y)), stream.y])


def run(stream: Stream, rows: list[Any], delay: int, *, kept: bool) -> tuple[float, float]:
    """The mean losses of the answers and of the steady answers, if labels come `delay` events later."""
    learner, asked = learner_for(stream), []
    answers, steady = [], []
    for row, x in enumerate(rows):
        said = learner.ask(x)
        answers.append(np.ravel(said.answers))
        steady.append(said.said[0, :, -1])
        asked.append(said if kept else None)
        if row >= delay:
            labelled = row - delay
            learner.learn(rows[labelled], stream.y[labelled : labelled + 1], asked=asked[labelled])
            asked[labelled] = None
    live, frozen = (float(losses(stream, np.array(each))[delay:].mean()) for each in (answers, steady))
    return live, frozen


def measure(stream: Stream) -> Iterator[dict[str, Any]]:
    """One row for each delay."""
    rows = rows_of(stream)
    for delay in DELAYS:
        if len(rows) < delay + LEAST_SCORED:
            continue
        live, steady = run(stream, rows, delay, kept=True)
        not_kept = run(stream, rows, delay, kept=False)[0] if delay else live
        yield {
            "stream": stream.name,
            "delay": delay,
            "scored": len(rows) - delay,
            "loss": live,
            "steady": steady,
            "not_kept": not_kept,
            "ratio": live / steady,
            "not_kept_ratio": not_kept / steady,
        }


def main() -> None:
    """Run, print, write the JSON."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.delays", description=__doc__.split("\n", 1)[0])
    parser.add_argument("--events", type=int, default=30_000, help="of each stream (default: %(default)s)")
    events = parser.parse_args().events
    machine = describe_machine()
    log(show_machine(machine))
    found: list[dict[str, Any]] = []
    for name, load in STREAMS.items():
        try:
            stream = load().first(events)
        except datasets.MissingDataError as missing:
            log(f"skipping {name}: {missing}")
            continue
        found += measure(stream)
        log(f"  {name}: done")
    head = ["stream", "delay", "loss", "steady", "ratio", "not kept"]
    cells = [
        [row["stream"], f"{row['delay']:,}", f"{row['loss']:.4g}", f"{row['steady']:.4g}"]
        + [f"{row[name]:.4f}" for name in ("ratio", "not_kept_ratio")]
        for row in found
    ]
    print(table(head, cells))
    worst = max((row for row in found if row["delay"]), key=lambda row: row["ratio"])
    print(f"\nworst beside the steady answer: {worst['ratio']:.4f}, {worst['stream']}, {worst['delay']:,} events late")
    print(f"written to {write_json('delays', {'machine': machine, 'rows': found}).relative_to(ROOT)}")


if __name__ == "__main__":
    main()
