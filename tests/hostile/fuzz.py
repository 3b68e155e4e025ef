"""The fuzzers of cpp/fuzz, each for the same share of so many seconds. See docs/fuzzing.md."""

import os
import re
import subprocess
import tempfile
from pathlib import Path

from hostile.outcome import Outcome

SOURCES = Path(__file__).resolve().parents[2] / "cpp" / "fuzz"
TARGETS = sorted(path.stem for path in SOURCES.glob("*.cpp"))


def long_run(count: int, seed: int) -> Outcome:
    """For `count` seconds in all. ODCA_FUZZ names a folder for the build, the corpora and the logs, which is kept."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(os.environ.get("ODCA_FUZZ", scratch))
        environment = {**os.environ, "CXX": "clang++"}
        for words in (["-S", str(SOURCES), "-B", str(folder / "build")], ["--build", str(folder / "build"), "-j2"]):
            subprocess.run(["cmake", *words], check=True, capture_output=True, env=environment)
        share = max(count // len(TARGETS), 1)
        words = [str(SOURCES / "run"), str(folder / "build"), str(share), str(folder / "work"), str(seed)]
        done = subprocess.run(words, check=False, capture_output=True, text=True)
    failures = [line for line in done.stdout.splitlines() if line.rstrip().endswith("FAILED")]
    if done.returncode and not failures:
        failures = [done.stdout[-500:] + done.stderr[-500:]]
    executions = sum(int(each) for each in re.findall(r"(\d+) executions", done.stdout))
    return Outcome(f"seconds of fuzzing {len(TARGETS)} targets: {executions:,} runs", share * len(TARGETS), failures)
