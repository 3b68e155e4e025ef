"""How times are taken, and how they are told: the machine, a table for people, JSON for everyone else."""

import gc
import hashlib
import json
import os
import platform
import random
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benchmarks" / "results"

Prepare = Callable[[], Callable[[], object]]
"""Makes what one timing needs (a fresh model), untimed, and returns the work to be timed."""


@dataclass(slots=True)
class Timing:
    """Seconds of every round, by the clock on the wall and by this thread's own."""

    wall: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)

    @property
    def best(self) -> float:
        """The shortest time on the wall."""
        return min(self.wall)

    def as_json(self) -> dict[str, Any]:
        """Return every round and what is shown of them."""
        return {
            "best": self.best,
            "median": statistics.median(self.wall),
            "best_cpu": min(self.cpu),
            "wall": self.wall,
            "cpu": self.cpu,
        }


def time_interleaved(contenders: Mapping[str, Prepare], rounds: int) -> dict[str, Timing]:
    """Time every contender once per round, in an order drawn anew: what disturbs the machine hits all alike."""
    timings = {name: Timing() for name in contenders}
    order = list(contenders)
    shuffler = random.Random(0)
    for turn in range(-1, rounds):  # the first round warms up and does not count
        shuffler.shuffle(order)
        started = time.perf_counter()
        for name in order:
            work = contenders[name]()
            wall, cpu = time_once(work)
            if turn >= 0:
                timings[name].wall.append(wall)
                timings[name].cpu.append(cpu)
        label = "warm-up" if turn < 0 else f"round {turn + 1} of {rounds}"
        log(f"  {label}: {len(order)} contenders, {time.perf_counter() - started:.1f} s")
    return timings


def time_once(work: Callable[[], object]) -> tuple[float, float]:
    """Seconds on the wall and of this thread, with the garbage collector out of the way."""
    gc.collect()
    gc.disable()
    try:
        wall, cpu = time.perf_counter(), time.thread_time()
        work()
        return time.perf_counter() - wall, time.thread_time() - cpu
    finally:
        gc.enable()


@dataclass(frozen=True, slots=True)
class Goal:
    """A bound on a ratio."""

    bound: float
    at_least: bool = False

    def met(self, ratio: float) -> bool:
        """Whether the ratio keeps the bound."""
        return ratio >= self.bound if self.at_least else ratio <= self.bound

    def __str__(self) -> str:
        return f"{'≥' if self.at_least else '≤'} {self.bound:g}"


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table. The ratio is of the best times; beside it those of the medians and of CPU time."""

    work: str
    against: str
    ratio: float
    median: float
    cpu: float
    goal: Goal | None = None
    note: str = ""

    def as_cells(self) -> list[str]:
        """Return the line as shown."""
        shown = [self.work, self.against, *(f"{number:.2f}" for number in (self.ratio, self.median, self.cpu))]
        return [*shown, str(self.goal or "–"), verdict(self.goal and self.goal.met(self.ratio)), self.note]

    def as_json(self) -> dict[str, Any]:
        """Return the line as stored."""
        return {
            "work": self.work,
            "against": self.against,
            "ratio": self.ratio,
            "ratio_of_medians": self.median,
            "ratio_of_cpu": self.cpu,
            "goal": self.goal and str(self.goal),
            "met": self.goal and self.goal.met(self.ratio),
            "note": self.note,
        }

    HEADER = ("work", "against", "ratio", "median", "cpu", "goal", "met?", "")


def compare(work: Timing, against: Timing, *, faster: bool = False) -> tuple[float, float, float]:
    """How many times the other's time the work takes (or, if `faster`, the other way round): best, median, CPU."""
    top, bottom = (against, work) if faster else (work, against)
    medians = statistics.median(top.wall) / statistics.median(bottom.wall)
    return top.best / bottom.best, medians, min(top.cpu) / min(bottom.cpu)


def verdict(met: bool | None) -> str:
    """Yes, no, or nothing was promised."""
    return "info" if met is None else "yes" if met else "NO"


def table(header: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """Return lines in columns; the first two are text, the others align to the right but for the last."""
    widths = [max(len(line[i]) for line in [header, *lines]) for i in range(len(header))]
    left = {0, 1, len(header) - 1} if header[-1] == "" else {0}

    def show(line: Sequence[str]) -> str:
        cells = (
            cell.ljust(width) if i in left else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(line, widths, strict=True))
        )
        return "  ".join(cells).rstrip()

    return "\n".join([show(header), "  ".join("-" * width for width in widths), *map(show, lines)])


def log(text: str) -> None:
    """Progress, beside the result."""
    print(text, file=sys.stderr, flush=True)


def describe_machine() -> dict[str, Any]:
    """What a figure depends on."""
    from odca import _core

    packages = ("numpy", "scipy", "scikit-learn", "river")
    return {
        "cpu": _cpu_model(),
        "cores": os.cpu_count(),
        "load_average": os.getloadavg()[0],
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "packages": {name: _version(name) for name in packages},
        "compiler": _first_line([os.environ.get("CXX") or shutil.which("c++") or "c++", "--version"]),
        "commit": _commit(),
        # The package that ran is the installed one; this tells two builds of one commit apart.
        "core": hashlib.sha256(Path(_core.__file__).with_name(f"_core.{_core.level()}.so").read_bytes()).hexdigest()[
            :12
        ],
        "level": _core.level(),
        "date": time.strftime("%Y-%m-%d %H:%M:%S %z"),
    }


def show_machine(machine: Mapping[str, Any]) -> str:
    """Return the machine in two lines."""
    packages = ", ".join(f"{name} {version}" for name, version in machine["packages"].items() if version)
    return (
        f"{machine['cpu']}, {machine['cores']} cores (load {machine['load_average']:.1f}), {machine['system']}\n"
        f"python {machine['python']}, {packages}, {machine['compiler']}\n"
        f"commit {machine['commit']}, core {machine['core']}, {machine['date']}"
    )


def write_json(name: str, content: Mapping[str, Any]) -> Path:
    """Write benchmarks/results/<name>.json and return where it is."""
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{name}.json"
    path.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return path


def _cpu_model() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _commit() -> str:
    """The commit, and whether the tree differs from it in anything but results."""
    commit = _first_line(["git", "rev-parse", "--short=12", "HEAD"])
    changed = _output(["git", "status", "--porcelain", "--", ".", ":!benchmarks/results"])
    return f"{commit}{' + changes' if changed else ''}"


def _first_line(command: list[str]) -> str:
    return (_output(command).splitlines() or ["unknown"])[0]


def _output(command: list[str]) -> str:
    try:
        return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""
