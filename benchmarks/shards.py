"""What it costs to merge: automatic models that each learned a part of a stream, merged, beside one that learned all of it.

    python -m benchmarks.shards [--events 12000]

The first half of each development stream is dealt out to 2, 8 and 32 models, like cards; their merge predicts the second half by its steady
answer, without labels. Writes benchmarks/results/shards.json.
"""

import argparse
from functools import reduce
from typing import Any

import numpy as np

from benchmarks.frozen import halves, learned, predicted
from benchmarks.quality.scoring import score
from benchmarks.quality.streams import NUMBER, STREAMS, Stream, narrow
from benchmarks.report import describe_machine, log, show_machine, table, write_json
from odca import AutoLearner

EVENTS = 12_000
SHARDS = (1, 2, 8, 32)


def merged(stream: Stream, shards: int) -> AutoLearner:
    """The merge of as many models, each of which learned every so many-th event."""
    rows = (np.arange(first, len(stream.y), shards) for first in range(shards))
    parts = (Stream(stream.name, stream.task, narrow(stream.X[own]), stream.y[own], stream.numeric, stream.dense, "", stream.classes) for own in rows)  # fmt: skip
    return reduce(AutoLearner.merge, map(learned, parts))


def row_of(stream: Stream) -> dict[str, Any]:
    """The losses on the second half, for every number of shards."""
    first, second = halves(stream)
    name = "squared_error" if stream.task == NUMBER else "log_loss"
    losses = {str(shards): score(second, predicted(merged(first, shards), second, "steady"))[name] for shards in SHARDS}
    return {"stream": stream.name, "loss": name, "losses": losses}


def main() -> None:
    """Run, print a table, write the JSON."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.shards", description=__doc__.split("\n", 1)[0])
    parser.add_argument("--events", type=int, default=EVENTS, help="the first so many (default: %(default)s)")
    options = parser.parse_args()
    machine = describe_machine()
    log(show_machine(machine))
    rows = []
    for name in STREAMS:
        rows.append(row_of(STREAMS[name]().first(options.events)))
        log(f"{name}: {rows[-1]['losses']}")
    lines = [
        [
            row["stream"],
            f"{row['losses']['1']:.4g}",
            *(f"{row['losses'][str(shards)] / row['losses']['1']:.3f}" for shards in SHARDS[1:]),
        ]
        for row in rows
    ]
    print(table(("stream", "one model", *(f"{shards} shards, ratio" for shards in SHARDS[1:])), lines))
    write_json("shards", {"machine": machine, "events": options.events, "rows": rows})


if __name__ == "__main__":
    main()
