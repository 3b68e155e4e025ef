"""kill -9 at random moments of trainings, on files of every format and on one that grows.

A killed training is resumed, and killed again. It ends with the same bytes as one that was left alone; whenever it is killed, the
checkpoint can be read; at the end no other file is left.
"""

import random
import signal
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from hostile.outcome import Outcome
from hostile.trainings import FORMATS, VW, Training
from odca.stream.checkpoint import Checkpoint

FOLLOWED = "vw, followed"
KINDS = (*FORMATS, FOLLOWED)


def long_run(count: int, seed: int) -> Outcome:
    failures: list[str] = []
    for number, kind in enumerate(KINDS):
        share = count * (number + 1) // len(KINDS) - count * number // len(KINDS)
        with tempfile.TemporaryDirectory() as folder:
            failures += [f"seed {seed}, {each}" for each in killed(kind, Path(folder), share, seed)]
    return Outcome("trainings killed with kill -9 and resumed", count, failures)


def killed(kind: str, folder: Path, count: int, seed: int) -> list[str]:
    """Kill a training of this kind so many times; a line for each thing that is not as it should be."""
    draw = random.Random(f"{kind} {seed}")
    return _killed_while_following(folder, count, draw) if kind == FOLLOWED else _killed(kind, folder, count, draw)


def _killed(kind: str, folder: Path, count: int, draw: random.Random) -> list[str]:
    training, failures = Training(folder, FORMATS[kind](folder)), list[str]()
    expected, seconds = training.undisturbed()
    kills = 0
    while kills < count:
        code = _killed_after(draw.uniform(0.0, seconds), training)
        kills += code == -signal.SIGKILL
        what = f"{kind}, kill {kills}"
        failures += _faults(training, what, expected, code, is_over=code != -signal.SIGKILL)
        if code != -signal.SIGKILL:
            training.started_afresh()
    return failures + _faults(training, f"{kind}, in the end", expected, training.finished(), is_over=True)


def _killed_while_following(folder: Path, count: int, draw: random.Random) -> list[str]:
    """The file grows by pieces that may end anywhere, while the training runs and while it does not."""
    whole = Training(folder, FORMATS["vw"](folder))
    expected, seconds = whole.undisturbed()
    log = folder / "a.vw"
    log.write_bytes(VW[:2000])
    failures = list[str]()
    for kill in range(count):

        def grow() -> None:
            with log.open("ab") as file:
                begin = file.tell()
                room = (len(VW) - begin) // (count - kill)  # noqa: B023 - called at once
                file.write(VW[begin : begin + draw.randint(0, room)])

        code = _killed_after(draw.uniform(0.0, seconds), whole, "--follow", meanwhile=grow)
        failures += _faults(whole, f"{FOLLOWED}, kill {kill + 1}", expected, code, is_over=False)
        grow()
    with log.open("ab") as file:
        file.write(VW[file.tell() :])
    return failures + _faults(whole, f"{FOLLOWED}, in the end", expected, whole.finished(), is_over=True)


def _killed_after(
    seconds: float, training: Training, *options: str, meanwhile: Callable[[], None] | None = None
) -> int | None:
    """Run a training and kill it after this time; return its exit code, which is another one if it was faster."""
    with training.running(*options) as process:
        until = time.monotonic() + seconds
        while meanwhile is not None and time.monotonic() < until:
            time.sleep(min(seconds / 4, 0.05))
            meanwhile()
        process.join(max(0.0, until - time.monotonic()))
        process.kill()
        process.join()
    return process.exitcode


def _faults(training: Training, what: str, expected: bytes, code: int | None, *, is_over: bool) -> list[str]:
    """What is wrong after a training was killed, or is over."""
    faults = []
    if training.state.exists():
        try:
            Checkpoint.load(training.state)
        except ValueError as error:
            faults.append(f"{what}: the checkpoint cannot be read: {error}")
    if training.model.exists() and training.model.read_bytes() != expected:
        faults.append(f"{what}: the model is not the same")
    if code != (0 if is_over else -signal.SIGKILL):
        faults.append(f"{what}: it ended with {code}: {training.said}")
    if is_over and code == 0 and not training.model.exists():
        faults.append(f"{what}: there is no model")
    if is_over and training.stray_files:
        faults.append(f"{what}: left behind: {training.stray_files}")
    return faults
