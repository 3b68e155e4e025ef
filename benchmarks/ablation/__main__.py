"""What each part of the automatic mode is worth, and what it costs: it is compiled without one part after the other.

    python -m benchmarks.ablation [--events 12000] [--repeats 3] [--only REGEX] [--by COMMAND] [--folder FOLDER]

For each part: the progressive loss on the first events of the 17 development streams without it, relative to the loss with everything; the same
of the steady answer, which learns the first half and predicts the second; how much longer an event takes with it; and how many bytes it
takes. Variants take turns, and the best of several times counts. Needs a C++ compiler ($CXX, by default g++). FOLDER keeps what was compiled;
COMMAND comes before every measured one (`--by "chrt -f 10 taskset -c 1"`). Writes benchmarks/results/ablation.json.
"""

import argparse
import os
import re
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.ablation.variants import ALL, EXPERTS, SOURCES, VARIANTS, Variant, write
from benchmarks.quality.streams import NUMBER, STREAMS, Stream
from benchmarks.report import describe_machine, log, show_machine, table, write_json

EVENTS = 12_000
FLAGS = ["-std=c++20", "-O3", "-w", "-fno-trapping-math", "-fno-math-errno", "-ffp-contract=off", "-I.", "-c"]
COLD = {"explain", "late", "merging", "saved_state", "state"}
"""Sources of which nothing runs while a stream is learned: compiled without optimisation, which takes less time."""
JOBS = 2


def compiled(variant: Variant, folder: Path) -> Path:
    """The program of a variant, in a folder of its own."""
    place = folder / re.sub(r"\W+", "-", variant.name)
    program = place / "driver"
    if program.exists():
        return program
    shutil.copytree(SOURCES / "odca", place / "odca", dirs_exist_ok=True)
    shutil.copy(Path(__file__).with_name("driver.cpp"), place)
    write(variant, place)
    compiler = shlex.split(os.environ.get("CXX", "g++"))
    flags = [*FLAGS, *(["-mavx2"] if os.uname().machine == "x86_64" else [])]
    sources = [*(place / EXPERTS).glob("*.cpp"), *(place / "odca/uncertainty").glob("*.cpp"), place / "driver.cpp"]

    def compile_one(source: Path) -> str:
        out = f"{source.stem}.o"
        level = ["-O0"] if source.stem in COLD else []
        subprocess.run([*compiler, *flags, *level, str(source.relative_to(place)), "-o", out], cwd=place, check=True)
        return out

    with ThreadPoolExecutor(JOBS) as pool:
        objects = list(pool.map(compile_one, sources))
    subprocess.run([*compiler, *objects, "-o", "driver"], cwd=place, check=True)
    return program


def write_stream(stream: Stream, folder: Path) -> Path:
    """As driver.cpp reads it."""
    path = folder / stream.name
    classes = 0 if stream.task == NUMBER else max(stream.classes, 2)
    head = np.array([classes, len(stream.y), stream.X.shape[1], stream.X.nnz], dtype=np.int64)
    arrays = (stream.X.indptr.astype(np.int64), stream.X.indices.astype(np.int64), stream.X.data.astype(np.float64))
    with path.open("wb") as file:
        for array in (head, *arrays, stream.y.astype(np.float64)):
            array.tofile(file)
    return path


def measured(program: Path, variant: Variant, files: Sequence[Path], by: Sequence[str]) -> dict[str, dict[str, float]]:
    """By stream: loss, steady, microseconds, bytes, features."""
    command = [*by, str(program), str(variant.products), *map(str, files)]
    lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    names = ("loss", "steady", "microseconds", "bytes", "features")
    return {
        line.split()[0]: dict(zip(names, map(float, line.split()[1:]), strict=True)) for line in lines if line.strip()
    }


def best(runs: Sequence[dict[str, dict[str, float]]]) -> dict[str, dict[str, float]]:
    """Of several runs, which differ in their times alone."""
    out = {name: dict(row) for name, row in runs[0].items()}
    for name, row in out.items():
        row["microseconds"] = min(run[name]["microseconds"] for run in runs)
    return out


def mean_ratio(top: dict[str, Any], bottom: dict[str, Any], what: str, names: Sequence[str]) -> float:
    """The geometric mean over streams."""
    return float(np.exp(np.mean([np.log(top[name][what] / bottom[name][what]) for name in names])))


def summary(everything: dict[str, Any], without: dict[str, Any], tables: Sequence[str]) -> dict[str, Any]:
    """What a part is worth and costs."""
    names = list(everything)
    others = [name for name in names if name not in tables]
    out: dict[str, Any] = {}
    for what in ("loss", "steady"):
        ratios = {name: without[name][what] / everything[name][what] for name in names}
        worst, least = max(ratios, key=ratios.__getitem__), min(ratios, key=ratios.__getitem__)
        out[what] = {
            "mean": mean_ratio(without, everything, what, names),
            "most": [worst, ratios[worst]],
            "least": [least, ratios[least]],
        }
    out["time"] = {
        "tables": mean_ratio(everything, without, "microseconds", tables),
        "sparse": mean_ratio(everything, without, "microseconds", others),
    }
    taken = {name: everything[name]["bytes"] - without[name]["bytes"] for name in names}
    out["bytes"] = {
        "a feature": taken["rcv1sub"] / everything["rcv1sub"]["features"] if "rcv1sub" in taken else None,
        "elec2": taken.get("elec2"),
        "letter": taken.get("letter"),
    }
    return out


def cells(name: str, found: dict[str, Any]) -> list[str]:
    """A line of the table."""
    loss, steady, time = found["loss"], found["steady"], found["time"]
    ends = [f"{ratio:.3f} {stream}" for stream, ratio in (loss["most"], loss["least"])]
    return [
        name,
        f"{loss['mean']:.4f}",
        *ends,
        f"{steady['mean']:.3f}",
        f"{time['tables']:.2f}",
        f"{time['sparse']:.2f}",
    ]


HEAD = ("without", "loss, mean ratio", "most", "least", "steady", "time with it, tables", "sparse")


def main() -> None:
    """Compile, run, print a table, write the JSON."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.ablation", description=__doc__.split("\n", 1)[0])
    parser.add_argument("--events", type=int, default=EVENTS, metavar="N", help="of each stream, at most")
    parser.add_argument("--repeats", type=int, default=3, metavar="N", help="of every time")
    parser.add_argument("--only", default="", metavar="REGEX", help="of parts; then no file is written")
    parser.add_argument("--by", default="", metavar="COMMAND", help="comes before every measured command")
    parser.add_argument("--folder", type=Path, metavar="FOLDER", help="keeps what is compiled")
    options = parser.parse_args()
    variants = [ALL, *(each for each in VARIANTS if re.search(options.only, each.name))]
    machine = describe_machine()
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or Path(temporary)
        programs = {}
        for variant in variants:
            programs[variant.name] = compiled(variant, folder)
            log(f"compiled: {variant.name}")
        streams = [make().first(options.events) for make in STREAMS.values()]
        tables = [stream.name for stream in streams if stream.dense]
        files = [write_stream(stream, Path(temporary)) for stream in streams]
        runs: dict[str, list[dict[str, dict[str, float]]]] = {variant.name: [] for variant in variants}
        for _ in range(options.repeats):
            for variant in variants:
                runs[variant.name].append(measured(programs[variant.name], variant, files, shlex.split(options.by)))
                log(f"measured: {variant.name}")
    found = {name: best(each) for name, each in runs.items()}
    rows = [
        {
            "part": variant.name,
            "chosen_on": variant.chosen_on,
            "summary": summary(found[ALL.name], found[variant.name], tables),
            "streams": found[variant.name],
        }
        for variant in variants[1:]
    ]
    log(show_machine(machine))
    print(table(HEAD, [cells(str(row["part"]), row["summary"]) for row in rows]))
    if not options.only:
        content = {"machine": machine, "events": options.events, "repeats": options.repeats, "tables": tables}
        write_json("ablation", {**content, "everything": found[ALL.name], "rows": rows})


if __name__ == "__main__":
    main()
