"""How well each event of real streams is predicted before it is learned: one pass, one order, the same events for everybody.

    python -m benchmarks.quality [--trees] [--only STREAM ...] [--methods REGEX] [--events 30000] [--out FILE] [--again]

With --trees the peers are those that see products of columns: river's trees and forests, which take milliseconds for an event, and VW
with all pairs; on tables, and on their first 12,000 events. Everybody has defaults. Log loss and error of classes, squared and absolute error and R² of numbers, as in `scoring`. Without --out a run
of everything is written to benchmarks/results/quality.json (trees.json), and a part of it nowhere, but for --again, which puts it among
the results there are.
"""

import argparse
import json
import os
import re
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_limits

from benchmarks.quality.baselines import baselines
from benchmarks.quality.methods import Method, SkippedError
from benchmarks.quality.ours import ours
from benchmarks.quality.peers import peers
from benchmarks.quality.scoring import score
from benchmarks.quality.streams import NUMBER, STREAMS, Stream
from benchmarks.quality.trees import trees
from benchmarks.quality.vw import vowpal_wabbit
from benchmarks.report import RESULTS, describe_machine, log, show_machine, table


@dataclass(frozen=True)
class Suite:
    """Who is compared, on what."""

    result: Path
    streams: Sequence[str]
    events: int
    methods: Callable[[Path], list[Method]]
    """All methods, in the order of the tables; their files are kept in the folder."""


TABLES = (
    "elec2",
    "phishing",
    "covtype2",
    "covtype7",
    "letter",
    "bike_hour",
    "toulouse_bikes",
    "ETTh1",
    "ETTh1-lag",
    "sysid_f16",
)
LINEAR = Suite(
    RESULTS / "quality.json",
    tuple(STREAMS),
    30_000,
    lambda folder: [*ours(), *vowpal_wabbit(folder), *peers(), *baselines()],
)
TREES = Suite(
    RESULTS / "trees.json", TABLES, 12_000, lambda folder: [*ours(), *vowpal_wabbit(folder, "-q ::"), *trees()]
)


def run(method: Method, stream: Stream) -> dict[str, Any]:
    """The row of one method on one stream."""
    row = {"stream": stream.name, "task": stream.task, "method": method.name}
    started = time.perf_counter()
    try:
        scores: dict[str, Any] = dict(score(stream, method.predict(stream)))
    except SkippedError as reason:
        return row | {"left_out": str(reason)}
    except subprocess.CalledProcessError as error:
        return row | {"failure": error.stderr.decode().strip()}
    seconds = time.perf_counter() - started
    return row | scores | {"seconds": round(seconds, 2), "microseconds": round(1e6 * seconds / len(stream.y), 1)}


def rows_of(suite: Suite, stream: Stream, methods: re.Pattern[str] | None) -> Iterator[dict[str, Any]]:
    """One row after the other, for those whose name matches."""
    with tempfile.TemporaryDirectory(prefix="odca-quality-") as folder:
        for method in suite.methods(Path(folder)):
            if stream.task in method.tasks and (methods is None or methods.search(method.name)):
                yield run(method, stream)


def facts(stream: Stream) -> dict[str, Any]:
    """What a stream is."""
    return {
        "task": stream.task,
        "events": len(stream.y),
        "columns": stream.X.shape[1],
        "numbers": int(stream.numeric.sum()),
        "nonzeros": round(stream.X.nnz / len(stream.y), 1),
        "classes": stream.classes,
        "dense": stream.dense,
        "about": stream.about,
    }


def shown(row: dict[str, Any]) -> list[str]:
    """A line for people."""
    names = ("squared_error", "absolute_error", "r2") if row["task"] == NUMBER else ("log_loss", "error")
    figures = ["–" if row.get(name) is None else f"{row[name]:.5g}" for name in names]
    cells = [row["stream"], row["method"], *figures, *[""] * (3 - len(figures))]
    return [*cells, f"{row.get('seconds', 0.0):.1f}", row.get("left_out") or row.get("failure", "")]


def merged(suite: Suite, before: dict[str, Any], now: dict[str, Any]) -> dict[str, Any]:
    """The results there are, with the rows of this run in the place of theirs."""
    if before["events"] != now["events"]:
        raise SystemExit(f"the results there are have --events {before['events']}, and this run {now['events']}.")
    new = {(row["stream"], row["method"]): row for row in now["rows"]}
    kept = [row for row in before["rows"] if (row["stream"], row["method"]) not in new]
    streams, methods = list(suite.streams), [method.name for method in suite.methods(Path())]
    rows = sorted([*kept, *new.values()], key=lambda row: (streams.index(row["stream"]), methods.index(row["method"])))
    again = {"machine": now["machine"], "rows": [list(key) for key in new]}
    return before | {
        "streams": before["streams"] | now["streams"],
        "rows": rows,
        "again": [*before.get("again", []), again],
    }


def main() -> None:
    """Run, print a table, write the JSON."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.quality", description=__doc__.split("\n", 1)[0])
    parser.add_argument("--only", nargs="+", choices=STREAMS, metavar="STREAM", help=f"of {', '.join(STREAMS)}")
    parser.add_argument(
        "--methods", type=re.compile, metavar="REGEX", help="those whose name matches, such as 'VW|ODCA'"
    )
    parser.add_argument("--trees", action="store_true", help="beside trees, forests and VW with all pairs, on tables")
    parser.add_argument("--events", type=int, help="the first so many; 0: all (default: 30000, trees: 12000)")
    parser.add_argument("--out", type=Path, metavar="FILE", help="write there")
    parser.add_argument("--again", action="store_true", help="put this part among the results there are")
    options = parser.parse_args()
    suite = TREES if options.trees else LINEAR
    events = suite.events if options.events is None else options.events

    machine = describe_machine()
    machine["packages"]["vowpalwabbit"] = metadata.version("vowpalwabbit")
    log(show_machine(machine))
    started = time.perf_counter()
    about, rows = {}, []
    with threadpool_limits(1):
        for name in options.only or suite.streams:
            stream = STREAMS[name]().first(events)
            about[name] = facts(stream)
            for row in rows_of(suite, stream, options.methods):
                rows.append(row)
                log(f"{time.perf_counter() - started:5.0f} s  {'  '.join(shown(row)).rstrip()}")
    print(
        table(
            ("stream", "method", "log loss / squared", "error / absolute", "R²", "s", ""), [shown(row) for row in rows]
        )
    )
    content = {"machine": machine, "events": events, "streams": about, "rows": rows}
    if options.again:
        content = merged(suite, json.loads((options.out or suite.result).read_text(encoding="utf-8")), content)
    elif not options.out and (options.only or options.methods or events != suite.events):
        return
    path = options.out or suite.result
    path.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    log(f"wrote {os.path.relpath(path)}")


if __name__ == "__main__":
    main()
