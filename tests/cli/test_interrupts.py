"""Ctrl-C and SIGTERM at every moment of a command, from its start to its end."""

import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from hostile.command_signals import handles_signals
from odca import cli
from odca.stream.model import StreamModel
from stream_files import events, vw, write

SIGNALS = (signal.SIGINT, signal.SIGTERM)
SLOW_SAVE = (
    "import sys, time, odca.cli; from odca.stream.model import StreamModel; save = StreamModel.save\n"
    "def slow(self, path): print('saving', flush=True); time.sleep(0.3); save(self, path)\n"
    "StreamModel.save = slow; sys.exit(odca.cli.main())"
)


def start(*words: object, program: str | None = None) -> subprocess.Popen[str]:
    run = ["-m", "odca"] if program is None else ["-c", program]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen([sys.executable, *run, *map(str, words)], text=True, **pipes)


def wait_for_handlers(process: subprocess.Popen[str]) -> None:
    """Until SIGTERM does not just kill the process."""
    until = time.monotonic() + 10
    while process.poll() is None and not handles_signals(process.pid) and time.monotonic() < until:
        time.sleep(0.001)


def ended(process: subprocess.Popen[str]) -> tuple[int, str]:
    """The exit code, and what was printed to standard error."""
    with process:
        try:
            errors = process.communicate(timeout=20)[1]
        finally:
            process.kill()
    return process.returncode, errors


@pytest.fixture
def resumed(tmp_path: Path) -> list[object]:
    """A training that goes on from a checkpoint at the end of its data. Its model is `model`."""
    data = write(tmp_path / "a.vw", [vw(each) for each in events(50)])
    words = ["train", data, "-o", tmp_path / "model", "--checkpoint", tmp_path / "state", "--resume", "--quiet"]
    assert cli.main([*map(str, words)]) == 0
    (tmp_path / "model").unlink()
    return words


@pytest.mark.parametrize("number", SIGNALS)
@pytest.mark.parametrize("delay", [0.0, 0.02, 0.05, 0.1, 0.2, 0.4])
def test_a_training_that_waits_for_new_data_ends_well_whenever_the_signal_arrives(
    resumed: list[object], tmp_path: Path, delay: float, number: signal.Signals
) -> None:
    process = start(*resumed, "--follow")
    wait_for_handlers(process)
    time.sleep(delay)
    process.send_signal(number)
    assert ended(process) == (0, "")
    assert StreamModel.load(tmp_path / "model").metrics.events == 50


@pytest.mark.parametrize("number", SIGNALS)
def test_a_resumed_training_that_is_interrupted_before_it_begins_saves_its_model(
    resumed: list[object], tmp_path: Path, number: signal.Signals
) -> None:
    process = start(*resumed)
    wait_for_handlers(process)
    process.send_signal(number)
    assert ended(process) == (cli.INTERRUPTED, "")
    assert StreamModel.load(tmp_path / "model").metrics.events == 50


@pytest.mark.parametrize("number", SIGNALS)
def test_a_new_training_that_is_interrupted_before_the_first_event_writes_no_model(
    tmp_path: Path, number: signal.Signals
) -> None:
    process = start("train", "-", "-o", tmp_path / "model", "--quiet")
    wait_for_handlers(process)
    time.sleep(0.2)
    process.send_signal(number)
    assert ended(process) == (cli.INTERRUPTED, "Interrupted.\n")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_while_the_model_is_saved_does_no_harm(
    resumed: list[object], tmp_path: Path, number: signal.Signals
) -> None:
    process = start(*resumed, program=SLOW_SAVE)
    assert process.stdout is not None
    assert process.stdout.readline() == "saving\n"
    process.send_signal(number)
    assert ended(process) == (0, "")
    assert (tmp_path / "model").exists()


@pytest.mark.parametrize("number", SIGNALS)
def test_an_interrupted_prediction_leaves_no_file_behind(
    resumed: list[object], tmp_path: Path, number: signal.Signals
) -> None:
    before = sorted(tmp_path.iterdir())
    process = start("predict", tmp_path / "state", "-", "-o", tmp_path / "predictions")
    assert process.stdin is not None
    process.stdin.write("1 |n a:1\n")
    process.stdin.flush()
    while sorted(tmp_path.iterdir()) == before and process.poll() is None:
        time.sleep(0.01)
    process.send_signal(number)
    code, errors = ended(process)
    assert (code, errors.splitlines()[-1:]) == (cli.INTERRUPTED, ["Interrupted."])
    assert sorted(tmp_path.iterdir()) == before


def test_a_signal_while_a_dataclass_is_made_ends_a_command_like_any_other(tmp_path: Path) -> None:
    raising = "cli._main = lambda _: exec('raise KeyboardInterrupt')"  # dataclasses are made by exec
    (tmp_path / "program.py").write_text(
        f"import sys; from odca import cli; import odca.cli.views.console; {raising}; sys.exit(cli.main())"
    )
    run = [sys.executable, "-m", "program"]
    done = subprocess.run(run, cwd=tmp_path, capture_output=True, text=True, timeout=20, check=False)
    assert (done.returncode, done.stderr) == (cli.INTERRUPTED, "Interrupted.\n")


def test_a_command_may_run_in_another_thread(resumed: list[object], tmp_path: Path) -> None:
    thread = threading.Thread(target=cli.main, args=([*map(str, resumed)],))
    thread.start()
    thread.join()
    assert (tmp_path / "model").exists()


def test_handlers_are_what_they_were_after_a_command(resumed: list[object]) -> None:
    before = [signal.getsignal(each) for each in SIGNALS]
    cli.main([*map(str, resumed)])
    assert [signal.getsignal(each) for each in SIGNALS] == before
