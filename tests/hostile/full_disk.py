"""Disks that become full while a model, a checkpoint, predictions or converted data are written.

The command ends with one line that says so, what was there before is still there, and nothing else. With more room it succeeds.

A disk is full because it is a small one (tmpfs, which only root may mount), or because files may not be larger than a limit.
"""

import random
import re
import resource
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from hostile.outcome import Outcome
from hostile.trainings import FORMATS, Training, started
from odca.stream.checkpoint import Checkpoint

ONE_LINE = re.compile(r"odca \w+: .*(No space left on device|File too large)\.?$")
OLD = b"what was there before"
PAGE = 4096


def long_run(count: int, seed: int) -> Outcome:
    failures = list[str]()
    for number in range(count):
        with tempfile.TemporaryDirectory() as folder:
            failures += [f"seed {seed}, case {number}: {each}" for each in tried(number, Path(folder), seed)]
    return Outcome("full disks", count, failures)


def tried(number: int, folder: Path, seed: int) -> list[str]:
    """Try one case; a line for each thing that is not as it should be."""
    return (_try_training if number % 2 else _try_output)(folder, random.Random(f"{seed} {number}"))


def _try_training(folder: Path, draw: random.Random) -> list[str]:
    """A training whose model or checkpoint does not fit."""
    training = Training(folder, FORMATS["vw"](folder))
    expected, _ = training.undisturbed()
    with _full_disk(training.outputs, len(expected), draw) as limit:
        training.model.write_bytes(OLD)
        code = training.finished(prepare=limit)
        faults = _faults(training, code)
        if training.model.read_bytes() != (expected if code == 0 else OLD):
            faults.append("the model is not what it should be")
        if training.state.exists():
            Checkpoint.load(training.state)
    if training.finished() != 0 or training.model.read_bytes() != expected:
        faults.append(f"with more room the model is not the same: {training.said}")
    return faults


def _try_output(folder: Path, draw: random.Random) -> list[str]:
    """A command whose output does not fit."""
    training = Training(folder, FORMATS["csv"](folder))
    training.finished()
    model, output = training.model.rename(folder / "model"), training.outputs / "model"
    words = ["convert", training.data[0], "--label", "label", "-o", str(output), "--to", "jsonl", "--quiet"]
    if draw.random() < 0.5:
        words = ["predict", str(model), training.data[0], "-o", str(output)]
    training.state.unlink()
    with _full_disk(training.outputs, 10_000, draw) as limit:
        output.write_bytes(OLD)
        with started(words, training.log, limit) as process:
            process.join(60)
        faults = _faults(training, process.exitcode)
        if (output.read_bytes() == OLD) == (process.exitcode == 0):
            faults.append("the output is not what it should be")
    return faults


def _faults(training: Training, code: int | None) -> list[str]:
    faults = []
    if code != 0 and not (code == 1 and ONE_LINE.fullmatch(training.said)):
        faults.append(f"it ended with {code}: {training.said}")
    if training.stray_files:
        faults.append(f"left behind: {training.stray_files}")
    return faults


@contextmanager
def _full_disk(folder: Path, size: int, draw: random.Random) -> Iterator[partial[None]]:
    """Make a folder a disk that has room for about this size, or less. What is yielded must be called by who writes there."""
    room = draw.randint(PAGE, size + PAGE)
    small = ["mount", "-t", "tmpfs", "-o", f"size={2 * room}", "tmpfs", str(folder)]
    if draw.random() < 0.5 and subprocess.run(small, check=False, capture_output=True).returncode == 0:
        try:
            yield partial(_limit, resource.RLIM_INFINITY)
        finally:
            subprocess.run(["umount", str(folder)], check=True)
    else:
        yield partial(_limit, room)


def _limit(size: int) -> None:
    """Let this process write no file beyond this size. It gets an error, since Python ignores the signal."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
