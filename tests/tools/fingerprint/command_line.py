"""Runs of the command line."""

import gzip
import itertools
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from events import events
from runs import Parts, Skipped, add, arrays_of

from data import data

COMMAND = Path(sys.executable).with_name("odca")
TRAIN, PREDICT, EVALUATE = (COMMAND, "train"), (COMMAND, "predict"), (COMMAND, "evaluate")
PROBABILITIES, MARGINS = "--proba", "--raw"

DATA = Path(os.environ.get("ODCA_DATA") or Path(__file__).resolve().parent.parent.parent.parent / "shared" / "data")
LINES = 5000
VARYING = ("seconds", "events_per_second", "model")
"""Of the summary: what is not the same each time."""


def head_of(name: str, lines: int = LINES) -> bytes:
    """The first lines of a file of the data."""
    path = DATA / name
    if not path.is_file():
        raise Skipped(f"there is no {name} in $ODCA_DATA")
    with gzip.open(path) as file:
        return b"".join(itertools.islice(file, lines))


def vw_lines() -> bytes:
    """Documents of four groups, of which the last comes late: words by Zipf's law, subjects in a namespace of their own."""
    rng = np.random.default_rng(20242)
    lines = []
    for n in range(2000):
        group = int(rng.integers(4 if n > 500 else 3))
        words = np.minimum(rng.zipf(1.4, size=int(rng.integers(5, 40))), 5000)
        own = rng.random(len(words)) < 0.3
        text = " ".join(f"g{group}w{word}" if mine else f"w{word}" for word, mine in zip(words, own, strict=True))
        weight = " 2" if n % 7 == 0 else ""
        lines.append(
            f"{group + 1}{weight} doc{n}|subject s{group if rng.random() < 0.7 else 0}:1.5 t{n % 13} |text {text}\n"
        )
    return "".join(lines).encode()


def json_lines() -> bytes:
    """Events with categories and gaps, times, and places of which one comes late."""
    given = events()
    lines = []
    for n, x in enumerate(given.x):
        event = {name: None if value != value else value for name, value in x.items()}  # noqa: PLR0124 - nan
        lines.append(
            json.dumps({**event, "at": float(data().time[n]), "place": given.place[n], "worth": given.number[n]}) + "\n"
        )
    return "".join(lines).encode()


SOURCES: dict[str, Callable[[], bytes]] = {
    "elec2.csv": lambda: head_of("elec2_river.csv.gz"),
    "elec2-whole.csv": lambda: head_of("elec2_river.csv.gz", 10**6),
    "bike.csv": lambda: head_of("bike_hour.csv.gz"),
    "a6a.svm": lambda: head_of("a6a.gz"),
    "covtype.csv": lambda: head_of("covtype.csv.gz"),
    "news.vw": vw_lines,
    "events.jsonl": json_lines,
}
SCALED = "--scale --rho 1e-3 --smoothing 0.99 --prior-strength 0.5"
UNSCALED = "--no-scale --rho 1e-5 --smoothing 0.99 --prior-strength 0.5"
ELEC2, COVTYPE, A6A = (
    "elec2.csv --label class --missing ignore",
    "covtype.csv --label -1 --task classes --missing ignore",
    "a6a.svm --missing ignore",
)
WHOLE = "elec2-whole.csv --label class --missing ignore"
BIKE = "bike.csv --label cnt --ignore casual registered instant dteday --missing ignore"
NEWS, EVENTS = "news.vw --task classes --missing ignore", "events.jsonl --label place --ignore worth at"
NUMBERS = "events.jsonl --label worth --ignore place at"
CLI: dict[str, str] = {
    "elec2": f"{ELEC2} {SCALED}",
    "elec2, hinge, fading": f"{ELEC2} {SCALED} --loss hinge --window 0.999",
    "elec2, interaction": f"{ELEC2} {SCALED} --interact nswprice period --interact day transfer --categorical day",
    "elec2, auto": f"{ELEC2} --auto",
    "elec2, whole, hinge": f"{WHOLE} {SCALED} --loss hinge --window 2000",
    "elec2, whole, auto": f"{WHOLE} --auto",
    "bike": f"{BIKE} {SCALED}",
    "bike, poisson": f"{BIKE} {SCALED} --loss poisson",
    "bike, quantile, sliding": f"{BIKE} {SCALED} --loss quantile:0.9 --window 1000 --categorical hr season weathersit",
    "bike, auto": f"{BIKE} --auto",
    "a6a": f"{A6A} {UNSCALED}",
    "a6a, smooth hinge, elastic net": f"{A6A} {UNSCALED} --loss smooth_hinge:0.5 --penalty elasticnet:0.1",
    "a6a, auto": f"{A6A} --auto",
    "covtype": f"{COVTYPE} {SCALED}",
    "covtype, auto": f"{COVTYPE} --auto",
    "news": f"{NEWS} {UNSCALED}",
    "news, hashed": f"{NEWS} {UNSCALED} --bits 18",
    "news, hashed, interaction": f"{NEWS} {UNSCALED} --bits 18 --interact subject text",
    "news, auto": f"{NEWS} --auto",
    "events, ignored": f"{EVENTS} {SCALED} --missing ignore",
    "events, indicated": f"{EVENTS} {SCALED} --missing indicate",
    "events, hinge, time": f"{EVENTS} {SCALED} --missing ignore --loss hinge --time at --window half-life:100s",
    "events, hashed": f"{EVENTS} {SCALED} --missing indicate --bits 18 --interact country new",
    "events, auto": f"{EVENTS} --missing ignore --auto",
    "events, auto, time": f"{EVENTS} --missing indicate --time at --memory time --auto",
    "events, numbers": f"{NUMBERS} {SCALED} --missing ignore --loss huber:0.5",
    "events, numbers, auto": f"{NUMBERS} --missing ignore --auto",
}


def output_of(folder: str, *arguments: object) -> str:
    """What a command writes to stdout."""
    done = subprocess.run([str(each) for each in arguments], cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        last = (done.stderr.strip() or done.stdout.strip() or "nothing").splitlines()[-1]
        raise RuntimeError(f"odca {arguments[1]} ends with {done.returncode}: {last}")
    return done.stdout


def metrics_of(output: str) -> dict[str, Any]:
    """The table and the summary of --json without times, and what is said in words."""
    objects = [json.loads(line) for line in output.splitlines()]
    for each in objects:
        for section in each.values():
            if isinstance(section, dict):
                for name in VARYING:
                    section.pop(name, None)
    words = [each["text"] for each in objects if "text" in each]
    metrics = [each for each in objects if each["event"] in {"progress", "summary"}]
    return {"metrics": metrics, "words": words} if words else {"metrics": metrics}


def cli_run(options: str) -> Parts:
    """Trained on a file, then looked at from all sides."""
    source, *chosen = options.split()
    content = SOURCES[source]()
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, source).write_bytes(content)
        yield from metrics_of(output_of(folder, *TRAIN, source, "-o", "model", "--json", *chosen)).items()
        yield from predicted(folder, source, classes=not {"cnt", "worth"} & {*chosen})
        yield "evaluated", metrics_of(output_of(folder, *EVALUATE, "model", source, "--json"))["metrics"]
        yield "model arrays", arrays_of(Path(folder, "model"))


def predicted(folder: str, source: str, *, classes: bool = True) -> Parts:
    yield "predictions", output_of(folder, *PREDICT, "model", source)
    yield "margins", output_of(folder, *PREDICT, "model", source, MARGINS)
    if classes:
        yield "probabilities", output_of(folder, *PREDICT, "model", source, PROBABILITIES)


for name, options in CLI.items():
    add(f"cli/{name}", cli_run, options)


def cli_continued(chosen: str) -> Parts:
    """Trained on half a file, then on the other half; and judged on it as it is learned."""
    header, *lines = head_of("elec2_river.csv.gz").splitlines(keepends=True)
    halves = {"first.csv": lines[:2000], "second.csv": lines[2000:]}
    with tempfile.TemporaryDirectory() as folder:
        for name, half in halves.items():
            Path(folder, name).write_bytes(header + b"".join(half))
        options = ("--label", "class", "--missing", "ignore", *chosen.split())
        output_of(folder, *TRAIN, "first.csv", "-o", "half", "--json", *options)
        yield (
            "progressive",
            metrics_of(output_of(folder, *EVALUATE, "half", "second.csv", "--progressive", "--json"))["metrics"],
        )
        yield from metrics_of(output_of(folder, *TRAIN, "second.csv", "-i", "half", "-o", "model", "--json")).items()
        yield from predicted(folder, "second.csv")


add("cli/continued", cli_continued, SCALED)
add("cli/continued, auto", cli_continued, "--auto")
