"""Ctrl-C and SIGTERM at random moments of `odca train`, from the start of the program on.

A training that goes on from a checkpoint writes its model, whenever it is stopped; with nothing new to learn, the same model. Any
other has a checkpoint from which it goes on to the same model.
"""

import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from hostile.outcome import Outcome
from hostile.trainings import FORMATS, Training
from odca import cli

KINDS = ("new", "resumed", "followed")
SIGNALS = (signal.SIGINT, signal.SIGTERM)


def long_run(count: int, seed: int) -> Outcome:
    failures = list[str]()
    for number in range(count):
        with tempfile.TemporaryDirectory() as folder:
            failures += [f"seed {seed}, signal {number}: {each}" for each in signalled(number, Path(folder), seed)]
    return Outcome("trainings stopped by Ctrl-C or SIGTERM", count, failures)


def signalled(number: int, folder: Path, seed: int) -> list[str]:
    """Stop one training; a line for each thing that is not as it should be."""
    draw = random.Random(f"{seed} {number}")
    training = Training(folder, FORMATS["vw"](folder))
    expected, seconds = training.undisturbed()
    kind, sent = KINDS[number % len(KINDS)], draw.choice(SIGNALS)
    if kind == "followed":
        training.finished()
        training.model.unlink()
    elif kind == "resumed":
        with training.running() as process:
            process.join(draw.uniform(0.5, 0.9) * seconds)
    is_new = not training.state.exists()
    code, said = _stopped(training, kind, sent, draw.uniform(0.0, 2.0 * seconds))
    what = f"{kind}, {sent.name}, exit code {code}, {said!r}"
    faults = []
    if code not in {0, *(() if kind == "followed" else (cli.INTERRUPTED,))}:
        faults.append(f"{what}: it did not end well")
    has_model = training.model.exists()
    if not has_model and not (is_new and said == "Interrupted."):
        faults.append(f"{what}: there is no model")
    if has_model and code == 0 and training.model.read_bytes() != expected:
        faults.append(f"{what}: the model is not the same")
    if training.finished() != 0 or training.model.read_bytes() != expected:
        faults.append(f"{what}: it does not go on to the same model: {training.said}")
    if training.stray_files:
        faults.append(f"{what}: left behind: {training.stray_files}")
    return faults


def _stopped(training: Training, kind: str, sent: signal.Signals, seconds: float) -> tuple[int, str]:
    """The exit code of a training that gets a signal so long after it handles signals, and what it says."""
    words = [sys.executable, "-m", "odca", *training.words(*(["--follow"] if kind == "followed" else []))]
    with subprocess.Popen(words, stderr=subprocess.PIPE, text=True) as process:
        try:
            while process.poll() is None and not handles_signals(process.pid):
                time.sleep(0.001)
            time.sleep(seconds)
            process.send_signal(sent)
            said = process.communicate(timeout=60)[1]
        finally:
            process.kill()
    return process.returncode, said.strip()


def handles_signals(pid: int) -> bool:
    """Whether SIGTERM does not just kill a process."""
    status = Path(f"/proc/{pid}/status").read_text().splitlines()
    caught = next(line for line in status if line.startswith("SigCgt")).split()[1]
    return bool(int(caught, 16) >> (signal.SIGTERM - 1) & 1)
