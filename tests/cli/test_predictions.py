"""`odca train --predictions`: each event is predicted before it is learned; and answers through a pipe."""

import argparse
import contextlib
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import odca
from odca import cli, stream
from odca.cli import main
from odca.cli.views.predictions import PredictionLines
from odca.losses import Hinge
from odca.models.options import ModelOptions
from odca.stream.checkpoint import Checkpoint
from odca.stream.model import StreamModel
from odca.stream.training import begin
from stream_files import events, vw, write

FORMS: tuple[dict[str, bool], ...] = ({}, {"proba": True}, {"json": True})
FORM = {"proba": False, "raw": False, "names": True, "json": False, "interval": None, "set": None}


def some_without_labels(rows: list[dict[str, Any]]) -> list[str]:
    return [vw(each) if k < 5 or k % 7 else vw(each).split(" ", 1)[1] for k, each in enumerate(rows)]


def three_classes(rows: list[dict[str, Any]]) -> list[str]:
    """The third class appears after the first events, from which the model begins."""
    labels = [1 if each["label"] == "1" else 2 for each in rows]
    return [f"{3 if k > 1200 and k % 3 == 0 else label} | a:{k % 11} b:{k % 5}\n" for k, label in enumerate(labels)]


def one_at_a_time(data: str, options: ModelOptions, **form: bool) -> list[str]:
    """The lines, if each event is predicted and then learned alone."""
    lines = []
    with stream.open(data) as opened:
        model, _ = begin(options, opened)
        writer = PredictionLines(model, argparse.Namespace(**FORM | form))
        for block in opened:
            for row in range(len(block)):
                event = block.part(row, row + 1)
                lines += writer.lines(event, model.predict_raw(event, answer=model.answer_while_learning))
                model.learn(event)
    return lines


@pytest.mark.parametrize(
    ("lines", "words", "options", "form"),
    [
        *(
            (lines, [], ModelOptions(auto="events"), form)
            for lines in (some_without_labels, three_classes)
            for form in FORMS
        ),
        (some_without_labels, ["--loss", "hinge"], ModelOptions(auto=None, loss=Hinge()), {}),
    ],
)
def test_each_event_is_predicted_before_it_is_learned(
    tmp_path: Path, lines: Any, words: list[str], options: ModelOptions, form: dict[str, bool]
) -> None:
    data = write(tmp_path / "data.vw", lines(events(1500)))
    out, flags = tmp_path / "p", [f"--{name}" for name in form]
    assert cli.main(["train", data, "-o", str(tmp_path / "m"), "-p", str(out), "--quiet", *words, *flags]) == 0
    assert out.read_text().splitlines(keepends=True) == one_at_a_time(data, options, **form)


def test_the_model_is_the_same_with_predictions_and_without(tmp_path: Path) -> None:
    data = write(tmp_path / "data.vw", three_classes(events(1500)))
    learners = []
    for words in (["-p", str(tmp_path / "p")], []):
        assert cli.main(["train", data, "-o", str(tmp_path / "m"), "--quiet", *words]) == 0
        learners.append(StreamModel.load(tmp_path / "m").learner.saved())
    assert learners[0].arrays.keys() == learners[1].arrays.keys()
    for name, array in learners[0].arrays.items():
        np.testing.assert_array_equal(array, learners[1].arrays[name], name)


def test_a_new_class_is_announced_by_a_new_line_of_names(tmp_path: Path) -> None:
    data = write(tmp_path / "data.vw", three_classes(events(1500)))
    cli.main(["train", data, "-o", str(tmp_path / "m"), "-p", str(tmp_path / "p"), "--proba", "--quiet"])
    names = [line for line in (tmp_path / "p").read_text().splitlines() if line.startswith("1\t2")]
    assert names == ["1\t2", "1\t2\t3"]


@pytest.mark.parametrize("form", [[], ["--proba"], ["--json"]])
def test_resuming_continues_the_predictions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: list[str]) -> None:
    data = write(tmp_path / "data.vw", [vw(each) for each in events(40_000)])
    words = ["train", data, "-o", str(tmp_path / "m"), "--quiet", *form, "-p"]
    assert cli.main([*words, str(tmp_path / "whole")]) == 0
    words += [str(tmp_path / "p"), "--checkpoint", str(tmp_path / "state"), "--every", "1"]
    save, times = Checkpoint.save, iter((False, True))

    def save_and_fail(self: Checkpoint, path: Any) -> None:
        if next(times):
            raise OSError("no space left")
        save(self, path)

    with monkeypatch.context() as patch:
        patch.setattr(Checkpoint, "save", save_and_fail)
        assert cli.main(words) == 1
    begun = (tmp_path / "p").read_bytes()
    assert 0 < Checkpoint.load(tmp_path / "state").predicted < len(begun)
    assert cli.main([*words, "--resume"]) == 0
    assert (tmp_path / "p").read_bytes() == (tmp_path / "whole").read_bytes() != begun


def test_predictions_that_are_shorter_than_the_checkpoint_says_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = write(tmp_path / "data.vw", [vw(each) for each in events(300)])
    words = ["train", data, "-o", str(tmp_path / "m"), "-p", str(tmp_path / "p"), "--checkpoint", str(tmp_path / "s")]
    assert cli.main(words) == 0
    (tmp_path / "p").write_text("1\n")
    assert cli.main([*words, "--resume"]) == 1
    assert "p has 2 bytes, but the checkpoint was made when it had" in capsys.readouterr().err


@pytest.mark.parametrize("words", [[], ["-p", "p", "--proba"], ["-p", "other"]])
def test_resuming_with_other_predictions_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], words: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    data = write(tmp_path / "data.vw", [vw(each) for each in events(300)])
    common = ["train", data, "-o", "m", "--checkpoint", "state"]
    assert cli.main([*common, "-p", "p"]) == 0
    before = (tmp_path / "p").read_bytes()
    assert cli.main([*common, *words, "--resume"]) == 1
    assert "is a checkpoint of a training with predictions 'p'; now it is" in capsys.readouterr().err
    assert (tmp_path / "p").read_bytes() == before


@pytest.mark.parametrize("words", [["-p", "/dev/null"], ["-p", "/dev/stdout"], ["-p", "-"]])
def test_predictions_that_go_nowhere_cost_no_model(tmp_path: Path, words: list[str]) -> None:
    data = write(tmp_path / "data.vw", [vw(each) for each in events(300)])
    command = [sys.executable, "-m", "odca", "train", data, "-o", str(tmp_path / "m"), "--quiet", *words]
    with Path("/dev/full" if words[1] == "-" else "/dev/null").open("w") as out:
        done = subprocess.run(command, stdout=out, stderr=subprocess.PIPE, text=True, check=False)
    assert (tmp_path / "m").exists()
    assert ("predictions cannot be written to standard output (No space left" in done.stderr) == (words[1] == "-")


def test_on_standard_output_there_is_nothing_else(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = write(tmp_path / "data.vw", [vw(each) for each in events(300)])
    words = [sys.executable, "-m", "odca", "train", data, "-o", str(tmp_path / "m"), "-p"]
    done = subprocess.run([*words, "-"], capture_output=True, text=True, check=True)
    cli.main([*words[3:], str(tmp_path / "p")])
    assert done.stdout == (tmp_path / "p").read_text()
    assert "accuracy" in done.stderr


def test_a_reader_that_leaves_costs_no_model(tmp_path: Path) -> None:
    data = write(tmp_path / "data.vw", [vw(each) for each in events(20_000)])
    command = f"{sys.executable} -m odca train {data} -o {tmp_path / 'm'} -p - --quiet | head -1"
    subprocess.run(["bash", "-o", "pipefail", "-c", command], check=True, capture_output=True)
    assert (tmp_path / "m").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--proba"], "argument --proba: is about predictions. Add --predictions"),
        (["--no-names"], "argument --no-names: is about predictions"),
        (["-p", "nowhere/p"], "there is no directory 'nowhere'"),
        (["-p", "data.vw"], "is an input file. Name another file"),
        (["-p", "p", "--proba", "--task", "numbers"], "the model predicts numbers, which have no probabilities"),
    ],
)
def test_wrong_options_are_refused(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: list[str],
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    data = write(tmp_path / "data.vw", [vw(each) for each in events(50)])
    with contextlib.suppress(SystemExit):
        assert cli.main(["train", data, "-o", "m", *words]) == 1
    assert message in capsys.readouterr().err


# Through a pipe


@contextmanager
def service(*words: object) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-m", "odca", *map(str, words)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1) as process:
        guard = threading.Timer(60, process.kill)  # a line that is never answered
        guard.start()
        try:
            yield process
        finally:
            guard.cancel()
            process.kill()


def asked(process: subprocess.Popen[str], line: str) -> str:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(line + "\n")
    return process.stdout.readline()


@pytest.fixture
def model(tmp_path: Path) -> Path:
    rows = [json.dumps({"a": k % 7, "y": 2.0 * (k % 7)}) + "\n" for k in range(1000)]
    data = write(tmp_path / "data.jsonl", rows)
    cli.main(["train", data, "--label", "y", "--task", "numbers", "-o", str(tmp_path / "model"), "--quiet"])
    return tmp_path / "model"


@pytest.mark.parametrize(
    "words", [["predict", "{model}", "-"], ["train", "-", "-i", "{model}", "-o", "{new}", "-p", "-"]]
)
def test_each_line_is_answered_before_the_next_one_is_sent(model: Path, words: list[str]) -> None:
    filled = [word.format(model=model, new=model.with_name("new")) for word in words]
    with service(*filled) as process:
        for a in range(7):
            assert float(asked(process, json.dumps({"a": a}))) == pytest.approx(2.0 * a, abs=0.1)


def test_what_is_learned_through_a_pipe_shows_in_the_next_answer(model: Path) -> None:
    with service("train", "-", "-i", model, "-o", model.with_name("new"), "-p", "-") as process:
        before = float(asked(process, json.dumps({"a": 3})))
        for _ in range(50):
            asked(process, json.dumps({"a": 3, "y": 100.0}))
        assert float(asked(process, json.dumps({"a": 3}))) > before + 50.0


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no named pipes")
def test_following_a_named_pipe_waits_for_the_next_writer(model: Path, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with service("train", pipe, "--follow", "-i", model, "-o", tmp_path / "new", "-p", "-", "--quiet") as process:
        assert process.stdout is not None
        for a in (1, 2):
            writing = threading.Thread(target=pipe.write_text, args=(json.dumps({"a": a}) + "\n",), daemon=True)
            writing.start()
            assert float(process.stdout.readline()) == pytest.approx(2.0 * a, abs=0.1)
        process.terminate()
        assert process.wait(30) == 0
    assert (tmp_path / "new").exists()


@pytest.mark.parametrize("options", [[], ["--loss", "squared_error"]])
def test_intervals_while_training_are_from_before_each_label(tmp_path: Path, options: list[str]) -> None:
    """They are those of a model that learns event by event and is asked before each; and they hold what they promise."""
    random = np.random.default_rng(5)
    x = random.normal(size=400)
    y = 3.0 * x + random.normal(size=400)
    data = tmp_path / "a.csv"
    data.write_text("x,y\n" + "".join(f"{a!r},{b!r}\n" for a, b in zip(x.tolist(), y.tolist(), strict=True)))
    words = [str(data), "--label", "y", "-o", str(tmp_path / "m"), "-p", str(tmp_path / "p"), "--quiet", *options]
    assert main(["train", *words, "--interval", "0.8"]) == 0
    header, *lines = (tmp_path / "p").read_text().splitlines()
    assert header == "prediction\tlower\tupper"
    found = np.array([[float(part) for part in line.split("\t")] for line in lines])
    assert found.shape == (400, 3)
    inside = (found[:, 1] <= y) & (y <= found[:, 2])
    assert 0.7 < inside[50:].mean() < 0.9
    assert np.all(np.isinf(found[0, 1:]))
    whole = odca.load(tmp_path / "m")
    assert inside.mean() == pytest.approx(whole.uncertainty.coverage_held(0.8), abs=0.02)
    rest = tmp_path / "rest.csv"
    for cut in (17, 200):
        rest.write_text(
            "x,y\n" + "".join(f"{a!r},{b!r}\n" for a, b in zip(x[:cut].tolist(), y[:cut].tolist(), strict=True))
        )
        assert main(["train", str(rest), "--label", "y", "-o", str(tmp_path / "n"), "--quiet", *options]) == 0
        model = odca.load(tmp_path / "n")
        expected = model.predict_interval([{"x": float(x[cut])}], 0.8, answer="live")[0]
        assert found[cut, 1:] - found[cut, 0] == pytest.approx(
            expected - model.predict({"x": float(x[cut])}, answer=model.answer_while_learning), rel=1e-9
        )


@pytest.mark.parametrize("options", [[], ["--loss", "log_loss"]])
def test_sets_while_training_are_from_before_each_label(tmp_path: Path, options: list[str]) -> None:
    random = np.random.default_rng(6)
    x = random.normal(size=600)
    labels = np.where(x + random.normal(size=600) > 0.0, "up", "down")
    data = tmp_path / "a.csv"
    data.write_text("x,y\n" + "".join(f"{a!r},{b}\n" for a, b in zip(x.tolist(), labels, strict=True)))
    words = [str(data), "--label", "y", "-o", str(tmp_path / "m"), "-p", str(tmp_path / "p"), "--quiet", *options]
    assert main(["train", *words, "--set", "0.9", "--json"]) == 0
    sets = [json.loads(line)["set"] for line in (tmp_path / "p").read_text().splitlines()]
    held = np.array([label in each for label, each in zip(labels, sets, strict=True)])
    assert 0.84 < held[50:].mean() < 0.96
    assert held.mean() == pytest.approx(odca.load(tmp_path / "m").uncertainty.coverage_held(0.9), abs=0.02)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--interval", "0.9"], "argument --interval: is about predictions"),
        (
            ["-p", "p", "--interval", "0.9", "--task", "classes"],
            "argument --interval: the model predicts classes. Use --set",
        ),
        (
            ["-p", "p", "--set", "0.9", "--task", "numbers"],
            "argument --set: the model predicts numbers. Use --interval",
        ),
        (["--intervall", "0.9"], "Did you mean '--interval'?"),
        (["--lable", "y"], "Did you mean '--label'?"),
    ],
)
def test_intervals_and_sets_that_cannot_be_are_refused(
    tmp_path: Path, words: list[str], said: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.csv").write_text("x,y\n" + "".join(f"{k},{k % 2}\n" for k in range(50)))
    with pytest.raises(SystemExit):
        main(["train", "a.csv", "--label", "y", "-o", "m", *words])
    assert said in capsys.readouterr().err
