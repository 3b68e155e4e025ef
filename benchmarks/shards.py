"""What it costs to merge: automatic models that each learned a part of a stream, merged, beside one that learned all of it.

    python -m benchmarks.shards [--events 12000]

The first half of each development stream is dealt out to 2, 8 and 32 models, like cards; their merge predicts the second half by its steady
answer, without labels. Beside it stands the best of the models alone, chosen in hindsight. Writes benchmarks/results/shards.json.
"""

import argparse
import math
from dataclasses import replace
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


def parts_of(stream: Stream, shards: int) -> list[AutoLearner]:
    """As many models, each of which learned every so many-th event."""
    rows = (np.arange(first, len(stream.y), shards) for first in range(shards))
    return [learned(replace(stream, X=narrow(stream.X[own]), y=stream.y[own])) for own in rows]


def row_of(stream: Stream) -> dict[str, Any]:
    """The losses on the second half, for every number of shards: of the merge, and of the best shard alone."""
    first, second = halves(stream)
    name = "squared_error" if stream.task == NUMBER else "log_loss"

    def loss(learner: AutoLearner) -> float:
        return score(second, predicted(learner, second, "steady"))[name] or math.inf

    losses, alone = {}, {}
    for shards in SHARDS:
        parts = parts_of(first, shards)
        losses[str(shards)], alone[str(shards)] = loss(reduce(AutoLearner.merge, parts)), min(map(loss, parts))
    return {"stream": stream.name, "loss": name, "losses": losses, "alone": alone}


def cells(row: dict[str, Any]) -> list[str]:
    """Of the merge and of the best shard alone, both relative to one model that learned everything."""
    one = row["losses"]["1"]
    ratios = ((row["losses"][str(each)] / one, row["alone"][str(each)] / one) for each in SHARDS[1:])
    return [row["stream"], f"{one:,.4g}", *(f"{ratio:.3f}" for pair in ratios for ratio in pair)]


HEAD = ("stream", "one model", *(title for each in SHARDS[1:] for title in (f"{each} merged", "best alone")))


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
    print(table(HEAD, [cells(row) for row in rows]))
    write_json("shards", {"machine": machine, "events": options.events, "rows": rows})


if __name__ == "__main__":
    main()
