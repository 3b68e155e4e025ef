"""Training that is broken off goes on to the same model, to the bit."""

import gzip
import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from odca import cli
from odca.stream.checkpoint import Checkpoint
from odca.stream.model import StreamModel
from stream_files import events, vw, write

NAMES = ["label", "a", "b", "c", "country"]
SMALL = ["--max-line", "2000"]
"""Blocks are no larger than the longest line may be: so there are many."""


class Stop(Exception):  # noqa: N818 - it stands for a crash
    pass


@pytest.fixture
def train(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    """The exit code and what is told. The model is `model`, the checkpoint `state`."""

    def run(*words: object) -> tuple[int, str]:
        code = cli.main(["train", *map(str, words), "-o", str(tmp_path / "model")])
        captured = capsys.readouterr()
        return code, captured.out + captured.err

    return run


@pytest.fixture
def crash(train, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Train, and break off behind the checkpoint of this number."""

    def run(number: int, *words: object) -> Checkpoint:
        save, left = Checkpoint.save, [number]

        def save_and_stop(self: Checkpoint, path: str) -> None:
            save(self, path)
            left[0] -= 1
            if not left[0]:
                raise Stop

        with monkeypatch.context() as patch:
            patch.setattr(Checkpoint, "save", save_and_stop)
            with pytest.raises(Stop):
                train(*words, "--checkpoint", tmp_path / "state")
        return Checkpoint.load(tmp_path / "state")

    return run


def csv(rows: list[dict[str, Any]]) -> list[str]:
    return [",".join(NAMES) + "\n", *(",".join(str(each[name]) for name in NAMES) + "\n" for each in rows)]


def bad_between(lines: list[str]) -> list[str]:
    return [line for k, each in enumerate(lines) for line in ([each] if k % 50 else [each, "1 |n a:1x\n", "\n"])]


ROWS = events(2000, labels=("1", "2"))
VW = [vw(each) for each in ROWS]


def files(folder: Path, kind: str) -> list[object]:
    """Data of one kind, and how they are read."""
    if kind == "vw":
        return [write(folder / "a.vw", VW)]
    if kind == "gz":
        (folder / "a.vw.gz").write_bytes(gzip.compress("".join(VW).encode()))
        return [folder / "a.vw.gz"]
    if kind == "several":
        return [write(folder / f"{k}.vw", VW[500 * k :][:500]) for k in range(4)]
    if kind == "csv":
        return [write(folder / "a.csv", csv(ROWS[:900])), write(folder / "b.csv", csv(ROWS[900:])), "--label", "label"]
    if kind == "jsonl":
        lines = [json.dumps({name: each[name] for name in NAMES}) + "\n" for each in ROWS]
        return [write(folder / "a.jsonl", lines), "--label", "label"]
    if kind == "parquet":
        table = pa.table({name: [each[name] for each in ROWS] for name in NAMES})
        pq.write_table(table, folder / "a.parquet", row_group_size=100)
        return [folder / "a.parquet", "--label", "label"]
    return [write(folder / "a.vw", bad_between(VW)), "--on-error", "skip"]


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("vw", []),
        ("vw", ["--bits", "6", "--interact", "n", "country"]),
        ("vw", ["--window", "100", "--loss", "hinge"]),
        ("vw", ["--smoothing", "0.99", "--window", "0.999", "--loss", "squared_hinge"]),
        ("vw", ["--task", "numbers", "--scale"]),
        ("gz", []),
        ("several", []),
        ("csv", []),
        ("csv", ["--task", "classes", "--loss", "hinge"]),
        ("jsonl", []),
        ("parquet", []),
        ("skip", []),
    ],
)
def test_a_resumed_training_ends_with_the_same_bytes(
    train, crash, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind, options
) -> None:
    monkeypatch.setattr("odca.stream.read.arrow.MOST_ROWS", 270)
    data = [*files(tmp_path, kind), *options, *SMALL]
    assert train(*data)[0] == 0
    expected = (tmp_path / "model").read_bytes()
    (tmp_path / "model").unlink()
    for number in (1, 4):
        state = crash(number, *data, "--every", "200")
        assert 0 < state.model.metrics.events < 2000
        assert not (tmp_path / "model").exists()
        code, told = train(*data, "--checkpoint", tmp_path / "state", "--resume", "--threads", 3)
        assert code == 0
        assert f"Resuming after {state.model.metrics.events:,} events." in told
        assert (tmp_path / "model").read_bytes() == expected
        (tmp_path / "model").unlink()
        (tmp_path / "state").unlink()


def test_resuming_a_finished_training_does_nothing(train, tmp_path: Path) -> None:
    data = [*files(tmp_path, "vw"), "--checkpoint", tmp_path / "state", "--resume"]
    assert "Going on" not in train(*data)[1]
    expected, state = (tmp_path / "model").read_bytes(), (tmp_path / "state").read_bytes()
    code, told = train(*data)
    assert code == 0
    assert "Resuming after 2,000 events." in told
    assert ((tmp_path / "model").read_bytes(), (tmp_path / "state").read_bytes()) == (expected, state)


def test_lines_skipped_before_an_interruption_are_counted(train, crash, tmp_path: Path) -> None:
    data = [*files(tmp_path, "skip"), *SMALL]
    assert crash(3, *data, "--every", "200").bad_lines > 0
    _, told = train(*data, "--checkpoint", tmp_path / "state", "--resume")
    assert "40 lines could not be read" in told


@pytest.mark.parametrize(
    ("before", "after", "name"),
    [
        ([], ["--loss", "hinge"], "loss"),
        (["--bits", "10"], ["--bits", "11"], "bits"),
        ([], ["--window", "0.99"], "window"),
        ([], ["--on-error", "skip"], "on_error"),
    ],
)
def test_resuming_with_different_options_is_refused(train, crash, tmp_path: Path, before, after, name) -> None:
    data = [*files(tmp_path, "vw"), *SMALL]
    crash(2, *data, *before, "--every", "200")
    code, told = train(*data, *after, "--checkpoint", tmp_path / "state", "--resume")
    assert code == cli.REFUSED
    assert f"is a checkpoint of a training with {name} " in told
    assert not (tmp_path / "model").exists()


def test_output_and_thread_options_may_change_on_resume(train, crash, tmp_path: Path) -> None:
    data = [*files(tmp_path, "vw"), *SMALL]
    crash(2, *data, "--every", "200", "--threads", "1")
    how = ["--threads", "2", "--json", "--table", "7", "--every", "5m"]
    assert train(*data, *how, "--checkpoint", tmp_path / "state", "--resume")[0] == 0


def test_resuming_with_different_data_is_refused(train, crash, tmp_path: Path) -> None:
    data = [*files(tmp_path, "vw"), *SMALL]
    crash(3, *data, "--every", "200")
    resume = [*data, "--checkpoint", tmp_path / "state", "--resume"]
    text = Path(str(data[0])).read_text()
    place = Checkpoint.load(tmp_path / "state").position.offset
    for other, message in (
        (text[: place - 20].replace("NZ", "FR") + text[place - 20 :], f"the file changed before byte {place}"),
        (text.replace("NZ", "FR", 1), f"the file changed before byte {place}"),
        (text[: place // 2], "the file is shorter than"),
    ):
        write(tmp_path / "a.vw", [other])
        code, told = train(*resume)
        assert code == cli.REFUSED
        assert message in told
    write(tmp_path / "a.vw", [text + VW[0]])
    assert train(*resume)[0] == 0
    assert StreamModel.load(tmp_path / "model").metrics.events == 2001


def test_a_bad_line_may_be_corrected_before_resuming(train, tmp_path: Path) -> None:
    train(*files(tmp_path, "vw"), *SMALL)
    expected = (tmp_path / "model").read_bytes()
    write(tmp_path / "a.vw", [*VW[:1500], "1 |n a:1x\n", *VW[1501:]])
    how = [tmp_path / "a.vw", *SMALL, "--checkpoint", tmp_path / "state", "--every", "100", "--resume"]
    code, told = train(*how)
    assert (code, "line 1501" in told) == (cli.REFUSED, True)
    write(tmp_path / "a.vw", VW)
    code, told = train(*how)
    assert (code, "Resuming after 1," in told) == (0, True)
    assert (tmp_path / "model").read_bytes() == expected


def test_a_damaged_checkpoint_is_refused(train, crash, tmp_path: Path) -> None:
    data = [*files(tmp_path, "vw"), *SMALL]
    crash(2, *data, "--every", "200")
    state = bytearray((tmp_path / "state").read_bytes())
    damaged = bytearray(state)
    damaged[-10] ^= 1
    for broken in (damaged, state[: len(state) // 2], b"", b"no checkpoint at all"):
        (tmp_path / "state").write_bytes(broken)
        code, told = train(*data, "--checkpoint", tmp_path / "state", "--resume")
        assert code == cli.REFUSED
        assert f"{tmp_path / 'state'} is not a model of odca that can be read" in told
        assert (tmp_path / "state").read_bytes() == broken
    assert train(*data, "--quiet")[0] == 0
    (tmp_path / "state").write_bytes((tmp_path / "model").read_bytes())
    code, told = train(*data, "--checkpoint", tmp_path / "state", "--resume")
    assert (code, "it holds a StreamModel" in told) == (cli.REFUSED, True)


def test_without_resume_a_checkpoint_is_not_replaced(train, crash, tmp_path: Path) -> None:
    data = [*files(tmp_path, "vw"), *SMALL]
    crash(2, *data, "--every", "200")
    state = (tmp_path / "state").read_bytes()
    events = Checkpoint.load(tmp_path / "state").model.metrics.events
    code, told = train(*data, "--checkpoint", tmp_path / "state")
    assert code == cli.REFUSED
    what = f"{tmp_path / 'state'} is the checkpoint of a training after {events:,} events of {tmp_path / 'a.vw'}, which would be lost."
    assert f"{what} Continue that training with --resume, or delete the file to start again." in told
    assert not (tmp_path / "model").exists()
    code, told = train(*data, "-o", tmp_path / "model", "--checkpoint", tmp_path / "state", "--resume")
    assert (code, f"Resuming after {events:,} events." in told) == (0, True)
    assert (tmp_path / "state").read_bytes() != state
    (tmp_path / "state").unlink()
    assert train(*data, "--checkpoint", tmp_path / "state")[0] == 0, "a finished model is replaced"


def test_a_model_is_not_written_over_a_checkpoint(train, crash, tmp_path: Path) -> None:
    data = [*files(tmp_path, "vw"), *SMALL]
    crash(2, *data, "--every", "200")
    state = (tmp_path / "state").rename(tmp_path / "model").read_bytes()
    code, told = train(*data)
    assert (code, f"with --checkpoint {tmp_path / 'model'} --resume and another file after -o" in told) == (
        cli.REFUSED,
        True,
    )
    assert (tmp_path / "model").read_bytes() == state


def test_a_damaged_checkpoint_is_replaced_without_resume(train, crash, tmp_path: Path) -> None:
    data = [*files(tmp_path, "vw"), *SMALL]
    crash(2, *data, "--every", "200")
    state = bytearray((tmp_path / "state").read_bytes())
    state[-10] ^= 1
    (tmp_path / "state").write_bytes(state)
    assert train(*data, "--checkpoint", tmp_path / "state")[0] == 0


def test_checkpoints_can_be_written_at_time_intervals(train, crash, tmp_path: Path) -> None:
    data = [*files(tmp_path, "vw"), *SMALL]
    assert crash(1, *data, "--every", "0.000001s").model.metrics.events < 100
    (tmp_path / "state").unlink()
    assert crash(1, *data, "--every", "1h").model.metrics.events == 2000


# Signals


@contextmanager
def training(folder: Path, *words: object) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-m", "odca", "train", *map(str, words), "-o", str(folder / "model"), "--json"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, bufsize=1
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def wait_for_events(process: subprocess.Popen[str], events: int) -> None:
    """Until the table tells that so many were learned."""
    assert process.stdout is not None
    for line in process.stdout:
        if json.loads(line).get("events", 0) >= events:
            return
    raise AssertionError(process.stderr.read() if process.stderr else "")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_training_after_a_block_and_saves_it(train, tmp_path: Path, number) -> None:
    train(*files(tmp_path, "vw"))
    expected = StreamModel.load(tmp_path / "model").learner
    (tmp_path / "model").unlink()
    with training(tmp_path, "-", "--checkpoint", tmp_path / "state", "--table", 100) as process:
        assert process.stdin is not None
        process.stdin.writelines([*VW[:1500], VW[1500][:-9]])  # the last line lacks its end
        process.stdin.flush()
        wait_for_events(process, 1500)
        process.send_signal(number)
        assert process.wait(60) == cli.INTERRUPTED  # before the pipe is closed, which would end the line
        last = process.communicate()[0].splitlines()[-1]
    assert json.loads(last)["interrupted"]["events"] == 1500
    assert StreamModel.load(tmp_path / "model").metrics.events == 1500
    with training(tmp_path, "-", "--checkpoint", tmp_path / "state", "--resume") as process:
        process.communicate("".join(VW))
        assert process.returncode == 0
    assert StreamModel.load(tmp_path / "model").learner == expected


def test_a_second_signal_ends_the_training_at_once(tmp_path: Path) -> None:
    program = (
        "import sys, time, odca.cli; from odca.stream.model import StreamModel; learn = StreamModel.learn\n"
        "def slow(self, block, **how): learn(self, block, **how); print('learning', flush=True); time.sleep(60)\n"
        "StreamModel.learn = slow; sys.exit(odca.cli.main(sys.argv[1:]))"
    )
    words = ["train", write(tmp_path / "a.vw", VW), "-o", str(tmp_path / "model"), "--quiet"]
    with subprocess.Popen([sys.executable, "-c", program, *words], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"learning\n"
        process.send_signal(signal.SIGINT)
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(0.5)
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == cli.INTERRUPTED
    assert not (tmp_path / "model").exists()


def test_a_file_that_grows_is_followed_until_ctrl_c(train, tmp_path: Path) -> None:
    train(*files(tmp_path, "vw"), "--table", 100)
    expected = (tmp_path / "model").read_bytes()
    growing = Path(write(tmp_path / "log.vw", VW[:1100]))
    with training(tmp_path, growing, "--follow", "--table", 100) as process:
        wait_for_events(process, 1100)
        for begin in range(1100, 2000, 100):
            with growing.open("a") as file:
                file.writelines(VW[begin : begin + 99])
                file.write(VW[begin + 99][:10])
                file.flush()
                time.sleep(0.02)
                file.write(VW[begin + 99][10:])
        wait_for_events(process, 2000)
        with growing.open("a") as file:
            file.write("1 |n a:9")  # half a line is no event
        process.send_signal(signal.SIGINT)
        last = process.communicate()[0].splitlines()[-1]
        assert process.returncode == 0
    assert json.loads(last)["learned"]["events"] == 2000
    assert (tmp_path / "model").read_bytes() == expected
