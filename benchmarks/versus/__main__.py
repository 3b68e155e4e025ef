"""Text file to model, beside Vowpal Wabbit, scikit-learn and river; and CSV beside pyarrow.

    python -m benchmarks.versus [--rounds 5] [--only REGEX] [--data /tmp/odca-versus] [--result versus]

Times are of whole commands, start-up and writing the model included, a process each, on two cores; the files are in the page cache. In every
round each contender of a file runs once, in an order drawn anew. CPU time is that of all threads. For CSV the time is of
reading alone, without imports. Quality is found in further runs that are not timed: accuracy of the predictions from before each row was
learned (scikit-learn's: from before each block), and accuracy on 20,000 rows that come after.
"""

import argparse
import json
import os
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.report import ROOT, Goal, Row, Timing, compare, describe_machine, log, show_machine, table, write_json
from benchmarks.versus import data
from benchmarks.versus.contenders import CSV, LARGE, ONE, SMALL, WORDS, Contender, all_contenders

MEASURE = str(Path(__file__).with_name("measure.py"))
MEMORY = Goal(200.0)
FASTER = {
    SMALL: {"odca": 1.2, "odca, --bits 18": 1.2, "odca, libsvm": 1.2},
    LARGE: {"odca": 2.0, "odca, --bits 18": 3.0, "odca, libsvm": 3.0, "odca, automatic, --bits 18": 2.0},
    WORDS: {"odca": 2.0, "odca, --bits 18": 2.0},
}
"""How many times as fast as VW each is to be."""
READING = Goal(1.5)


class CommandError(Exception):
    """A command ended with an error."""


class Bench:
    """Runs contenders on the files of a folder."""

    def __init__(self, folder: Path, files: dict[str, Any]) -> None:
        self.folder, self.files = folder, files
        self._work = Path(tempfile.mkdtemp(prefix="odca-versus-"))
        # A peer takes as many threads as it takes by itself.
        self._env = {name: value for name, value in os.environ.items() if not name.endswith("_NUM_THREADS")}

    def filled(self, contender: Contender, command: tuple[str, ...]) -> list[str]:
        """The command with its files."""
        places = {
            "file": self.folder / f"{contender.stem}.{contender.kind}",
            "held": self.folder / f"held.{contender.kind}",
            "model": self._work / "model",
            "predictions": self._work / "predictions",
        }
        more = ["--rows", str(contender.rows)] if contender.rows and command else []
        return [word.format(**places) for word in command] + more

    def time(self, contender: Contender) -> dict[str, float]:
        """One run: wall, cpu, memory_mb."""
        report, model = self._work / "report.json", self._work / "model"
        model.unlink(missing_ok=True)
        command = self.filled(contender, contender.command)
        done = self._run([sys.executable, "-I", "-S", MEASURE, str(report), *command])
        facts: dict[str, float] = json.loads(report.read_text(encoding="utf-8"))
        if facts["code"] != 0:
            raise CommandError(last_line(done))
        if contender.inside:
            told = json.loads(done.stdout)
            self._check_rows(contender, told["rows"])
            facts |= {"wall": told["wall"], "cpu": told["cpu"]}
        elif not model.exists() or model.stat().st_size == 0:
            raise CommandError(f"no model was written: {last_line(done)}")
        scale = self.rows(contender) / contender.rows if contender.rows else 1.0
        return facts | {"wall": scale * facts["wall"], "cpu": scale * facts["cpu"]}

    def quality(self, contender: Contender) -> dict[str, Any]:
        """Accuracies, by further runs."""
        if contender.tells:
            told: dict[str, Any] = json.loads(self._succeed(contender, contender.tells).stdout)
            self._check_rows(contender, told["rows"])
            return told
        found: dict[str, Any] = {}
        if contender.progressive:
            self._succeed(contender, contender.progressive)
            labels = np.load(self.folder / "labels.npy")[: self.rows(contender)]
            margins = self._predictions(len(labels))
            found["progressive_accuracy"] = float(np.mean((margins > 0.0) == (labels > 0)))
            found["progressive_log_loss"] = float(np.mean(np.logaddexp(0.0, -labels * margins)))
        if contender.summary:
            last = json.loads(self._succeed(contender, contender.summary).stdout.splitlines()[-1])["predictions"]
            found |= {"progressive_accuracy": last["accuracy"], "progressive_log_loss": last["log_loss"]}
        if contender.judged:
            self._succeed(contender, contender.judged)
            labels = np.load(self.folder / "held-labels.npy")
            found["held_accuracy"] = float(np.mean((self._predictions(len(labels)) > 0.0) == (labels > 0)))
        return found

    def rows(self, contender: Contender) -> int:
        """How many the file has."""
        rows: int = self.files[f"{contender.stem}.{contender.kind}"]["rows"]
        return rows

    def _check_rows(self, contender: Contender, rows: int) -> None:
        if rows != (contender.rows or self.rows(contender)):
            raise CommandError(f"read {rows} rows of {self.rows(contender)}")

    def _predictions(self, rows: int) -> np.ndarray:
        """Margins; whoever writes probabilities or classes needs a line here."""
        margins = np.array((self._work / "predictions").read_text(encoding="utf-8").split(), dtype=float)
        if len(margins) != rows:
            raise CommandError(f"{len(margins)} predictions of {rows} rows")
        return margins

    def _succeed(self, contender: Contender, command: tuple[str, ...]) -> subprocess.CompletedProcess[str]:
        done = self._run(self.filled(contender, command))
        if done.returncode:
            raise CommandError(last_line(done))
        return done

    def _run(self, command: list[str]) -> subprocess.CompletedProcess[str]:
        return subprocess.run(command, cwd=ROOT, env=self._env, capture_output=True, text=True, check=False)


def last_line(done: subprocess.CompletedProcess[str]) -> str:
    return ((done.stderr or done.stdout).strip().splitlines() or ["no message"])[-1]


class Result:
    """The rounds of one contender."""

    def __init__(self, contender: Contender) -> None:
        self.contender, self.timing = contender, Timing()
        self.memory = 0.0
        self.quality: dict[str, Any] = {}
        self.failure = ""

    def as_json(self, facts: dict[str, Any]) -> dict[str, Any]:
        """Return it as stored, with the facts of its file."""
        shared = {
            "part": "times",
            "file": self.contender.part,
            "who": self.contender.name,
            "command": " ".join(self.contender.command),
        }
        if not self.timing.wall:
            return shared | {"failure": self.failure}
        return shared | {
            "seconds": self.timing.as_json(),
            "mb_per_second": facts["bytes"] / 1e6 / self.timing.best,
            "memory_mb": self.memory,
            "quality": self.quality,
            "rows_read": self.contender.rows or facts["rows"],
            "scaled": self.contender.rows is not None,
        }


def run(bench: Bench, contenders: list[Contender], rounds: int) -> tuple[list[Result], list[dict[str, Any]]]:
    """Time those of one file; then their quality."""
    results = [Result(contender) for contender in contenders]
    shuffler, loads = random.Random(0), []
    for turn in range(rounds):
        order = [result for result in results if not result.failure]
        shuffler.shuffle(order)
        loads.append({"part": contenders[0].part, "round": turn + 1, "load_average": os.getloadavg()[0]})
        started = time.perf_counter()
        for result in order:
            try:
                facts = bench.time(result.contender)
            except CommandError as failed:
                result.failure = str(failed)
                log(f"  {result.contender.name} did not run: {failed}")
                continue
            result.timing.wall.append(facts["wall"])
            result.timing.cpu.append(facts["cpu"])
            result.memory = max(result.memory, facts["memory_mb"])
        log(
            f"  round {turn + 1} of {rounds}: {time.perf_counter() - started:.1f} s, load {loads[-1]['load_average']:.1f}"
        )
    known: dict[tuple[str, ...], dict[str, Any]] = {}
    for result in results:
        if not result.failure and result.contender.part not in {ONE, CSV}:
            # Who prints nothing learns the same.
            key = (result.contender.kind, *(word for word in result.contender.command if word != "--quiet"))
            try:
                result.quality = known.get(key) or bench.quality(result.contender)
                known[key] = result.quality
            except CommandError as failed:
                result.quality = {"failure": str(failed)}
                log(f"  quality of {result.contender.name} is not known: {failed}")
    return results, loads


def goals(part: str, results: list[Result]) -> list[Row]:
    """What was promised, where both sides ran."""
    ran = {result.contender.name: result for result in results if result.timing.wall}
    if part == CSV:
        if len(ran) < 2:
            return []
        ours, theirs = ran["odca.stream"].timing, ran["pyarrow"].timing
        return [Row("CSV, all blocks", "pyarrow", *compare(ours, theirs), READING, note(ours, theirs))]
    ours_all = {name: result for name, result in ran.items() if name.startswith("odca")}
    theirs_all = {name: result for name, result in ran.items() if name.startswith("VW")}
    if part not in FASTER or not ours_all or not theirs_all:
        return []
    rows = []
    for name, result in ours_all.items():
        # One model beside VW's fastest way; the automatic mode, which needs no choice, beside VW without one.
        peers = [each for each in theirs_all if "automatic" not in name or "--coin" not in each]
        best = min(peers, key=lambda each: theirs_all[each].timing.best)
        theirs = theirs_all[best].timing
        figures = compare(result.timing, theirs, faster=True)
        goal = Goal(FASTER[part][name], at_least=True)
        rows.append(Row(f"{part}, {name}, times faster", best, *figures, goal, note(result.timing, theirs)))
    rows += [
        Row(f"{part}, {name}, peak MB", "–", result.memory, result.memory, result.memory, MEMORY)
        for name, result in ours_all.items()
    ]
    return rows


def note(ours: Timing, theirs: Timing) -> str:
    return f"{ours.best:.2f} s against {theirs.best:.2f} s"


def shown(result: dict[str, Any]) -> list[str]:
    """A line for people."""
    if "failure" in result:
        return [result["file"], result["who"], "–", "–", "–", "–", "–", "–", "–", result["failure"][:60]]
    seconds, quality = result["seconds"], result["quality"]
    accuracies = [
        f"{100 * quality[name]:.2f}" if quality.get(name) is not None else "–"
        for name in ("progressive_accuracy", "held_accuracy")
    ]
    figures = [seconds["best"], seconds["median"], seconds["best_cpu"]]
    return [
        result["file"],
        result["who"],
        *(f"{figure:.2f}" for figure in figures),
        f"{result['mb_per_second']:.0f}",
        f"{result['memory_mb']:.0f}",
        *accuracies,
        "scaled" if result["scaled"] else "",
    ]


def main() -> None:
    """Run everything, print the tables, write the JSON."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.versus", description=__doc__.split("\n", 1)[0])
    parser.add_argument("--rounds", type=int, default=5, help="times each contender runs (default: %(default)s)")
    parser.add_argument(
        "--only", type=re.compile, help="contenders whose `file: name` matches, such as '1 GB: (odca|VW)'"
    )
    parser.add_argument("--data", type=Path, default=data.DEFAULT, help="where the files are (default: %(default)s)")
    parser.add_argument("--result", help="write benchmarks/results/RESULT.json (default: versus; with --only, nothing)")
    options = parser.parse_args()

    files = data.prepare(options.data)
    machine = describe_machine()
    machine["packages"] |= {name: metadata.version(name) for name in ("vowpalwabbit", "pyarrow")}
    bench = Bench(options.data, files)
    chosen = [each for each in all_contenders() if not options.only or options.only.search(f"{each.part}: {each.name}")]
    started = time.perf_counter()
    rows: list[Row] = []
    told: list[dict[str, Any]] = []
    loads: list[dict[str, Any]] = []
    for part in dict.fromkeys(contender.part for contender in chosen):
        log(f"{part} ...")
        results, before = run(bench, [each for each in chosen if each.part == part], options.rounds)
        rows += goals(part, results)
        told += [each.as_json(files[f"{each.contender.stem}.{each.contender.kind}"]) for each in results]
        loads += before
    print(show_machine(machine))
    print(
        f"best of {options.rounds}, whole commands; median load {statistics.median(each['load_average'] for each in loads):.1f}\n"
    )
    header = ("file", "who", "best s", "median", "cpu", "MB/s", "peak MB", "progr. %", "held %", "")
    print(table(header, [shown(each) for each in told]))
    if rows:
        print()
        print(table(Row.HEADER, [row.as_cells() for row in rows]))
    log(f"took {time.perf_counter() - started:.0f} s")
    name = options.result or (None if options.only else "versus")
    if name:
        content = {"machine": machine, "rounds": options.rounds, "files": files, "loads": loads}
        written = write_json(name, content | {"rows": [{"part": "goals"} | row.as_json() for row in rows] + told})
        log(f"wrote {os.path.relpath(written)}")


if __name__ == "__main__":
    main()
