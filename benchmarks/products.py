"""What products of features bring to the automatic mode, and what they cost: the first events of each development stream.

    python -m benchmarks.products [--events 12000] [--repeats 3] [--before FOLDER]

The progressive loss and the time for an event with products (the default) and without, beside those of an older build, whose package `odca`
is in FOLDER; without one, the losses of before are those that the results have already. The times of both take turns, and the best counts.
Writes benchmarks/results/products.json.
"""

import argparse
import json
import math
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.quality.methods import Predicted, from_log_odds, most_likely
from benchmarks.quality.scoring import score
from benchmarks.quality.streams import BINARY, NUMBER, STREAMS, Stream
from benchmarks.report import RESULTS, describe_machine, log, show_machine, table, write_json
from odca import AutoLearner

EVENTS = 12_000
OPTIONS: dict[str, dict[str, Any]] = {"without": {"products": False}, "with": {}}


def learn(stream: Stream, options: dict[str, Any]) -> tuple[float, float]:
    """The progressive loss, and the microseconds for an event."""
    learner = AutoLearner("numbers" if stream.task == NUMBER else "classes", classes=max(stream.classes, 2), **options)
    X, y = stream.events, stream.y.astype(np.float64)
    begin = time.process_time()
    told = learner.learn(X, y)
    taken = 1e6 * (time.process_time() - begin) / len(y)
    if stream.task == NUMBER:
        return float(np.mean((told[1:] - y[1:]) ** 2)), taken  # nothing can be known of the first number
    answers: Predicted = from_log_odds(told) if stream.task == BINARY else most_likely(learner.probabilities(told))
    return score(stream, answers)["log_loss"] or math.inf, taken


def row_of(stream: Stream, repeats: int) -> dict[str, Any]:
    """The losses and the best times, and whether the stream is a table."""
    found = [{name: learn(stream, options) for name, options in OPTIONS.items()} for _ in range(repeats)]
    losses = {name: found[0][name][0] for name in OPTIONS}
    microseconds = {name: min(each[name][1] for each in found) for name in OPTIONS}
    return {"stream": stream.name, "table": stream.dense, "losses": losses, "microseconds": microseconds}


def losses_before(folder: str | None, events: int) -> dict[str, float]:
    """Of an older build, by stream."""
    if folder is None:
        known = json.loads((RESULTS / "products.json").read_text())
        return {row["stream"]: row["losses"]["before"] for row in known["rows"]}
    command = [sys.executable, "-m", "benchmarks.products", "--events", str(events), "--losses"]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(Path(folder).resolve()), "."])}
    found = subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout
    return {name: float(loss) for name, loss in json.loads(found).items()}


def cells(row: dict[str, Any]) -> list[str]:
    """Losses relative to those of before, and times."""
    losses, times = row["losses"], row["microseconds"]
    ratios = (losses[name] / losses["before"] for name in ("without", "with"))
    cost = (f"{times['without']:.2f}", f"{times['with']:.2f}", f"{times['with'] / times['without']:.2f}")
    return [row["stream"], f"{losses['before']:,.4g}", *(f"{ratio:.3f}" for ratio in ratios), *cost]


HEAD = ("stream", "before", "÷ before, without products", "with products", "µs without", "µs with", "ratio")


def main() -> None:
    """Run, print a table, write the JSON."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.products", description=__doc__.split("\n", 1)[0])
    parser.add_argument("--events", type=int, default=EVENTS, metavar="N", help="of each stream, at most")
    parser.add_argument("--repeats", type=int, default=3, metavar="N", help="of every time")
    parser.add_argument("--before", metavar="FOLDER", help="where the package of an older build is")
    parser.add_argument("--losses", action="store_true", help="print the losses of this build alone")
    options = parser.parse_args()
    if options.losses:
        print(json.dumps({name: learn(make().first(options.events), {})[0] for name, make in STREAMS.items()}))
        return
    before = losses_before(options.before, options.events)
    machine, rows = describe_machine(), []
    for make in STREAMS.values():
        row = row_of(make().first(options.events), options.repeats)
        row["losses"]["before"] = before[row["stream"]]
        rows.append(row)
        log(" ".join(cells(row)))
    show_machine(machine)
    print(table(HEAD, [cells(row) for row in rows]))
    write_json("products", {"machine": machine, "events": options.events, "rows": rows})


if __name__ == "__main__":
    main()
