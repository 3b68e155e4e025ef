"""One way to tell things: to a person at a terminal, into a file, to a machine."""

import argparse
import json
import re
import subprocess
import sys

import numpy as np
import pytest

from odca.cli.views import formatting
from odca.cli.views.console import Fact, Output, PrintedColumn, resident_memory
from terminal import on_a_terminal

COLUMNS = [
    PrintedColumn("loss", "average\nloss", 10, formatting.decimal),
    PrintedColumn("events", "events", 9, formatting.count),
    PrintedColumn("label", "label", 6, is_text=True),
]

# A command that says everything there is to say, slowly enough to draw its live line.
PROGRAM = """
import sys, time
from odca.cli.views import formatting
from odca.cli.views import console
from odca.cli.views.console import PrintedColumn, Fact, Output
console.SECONDS_PER_FRAME = 0.01
out = Output(as_json="json" in sys.argv, data_on_stdout="data" in sys.argv)
if "data" in sys.argv:
    print("0.5")
with out.progress(total=1000) as line:
    table = out.table([PrintedColumn("loss", "loss", 10, formatting.decimal), PrintedColumn("label", "label", 6, is_text=True)])
    for k in range(1, 4):
        time.sleep(0.02)
        line.update(k * 100_000, k * 250)
        table.row(1.0 / k, "yes")
out.summary({"progressive validation": [Fact("accuracy", 0.9523, formatting.percent)]})
out.note("A note.")
out.warn("a warning.")
out.error("odca try: an error.")
print(sorted({"rich.console"} & set(sys.modules)), file=sys.stderr)
"""


def piped(*words: str) -> tuple[str, str]:
    done = subprocess.run([sys.executable, "-c", PROGRAM, *words], check=True, capture_output=True, text=True)
    return done.stdout, done.stderr


def plain(text: str) -> str:
    """What is left to read of what a terminal receives."""
    lines = re.sub(r"\x1b\[[\d;]*m", "", text).replace("\r\n", "\n").split("\n")
    return "\n".join(line.split("\x1b[K")[-1].rsplit("\r", 1)[-1] for line in lines)


TOLD = """\
      loss  label
  1.000000  yes
  0.500000  yes
  0.333333  yes

progressive validation
  accuracy  95.2 %
A note.
"""


# Into a file


def test_redirected_output_is_plain_text_without_a_live_line() -> None:
    out, err = piped()
    assert out == TOLD
    assert err == "warning: a warning.\nodca try: an error.\n[]\n"


def test_where_stdout_carries_data_everything_else_goes_to_stderr() -> None:
    out, err = piped("data")
    assert out == "0.5\n"
    assert err == TOLD + "warning: a warning.\nodca try: an error.\n[]\n"


def test_a_table_row_is_written_immediately(capsys: pytest.CaptureFixture[str]) -> None:
    table = Output().table(COLUMNS)
    assert capsys.readouterr().out == ""
    table.row(0.25, 1, "yes")
    assert capsys.readouterr().out == (
        "   average\n      loss     events  label\n  0.250000          1  yes\n"  # the heading, once
    )
    table.row(np.float64(1e-9), 1234567, "far too long")
    assert capsys.readouterr().out == " 1.000e-09  1,234,567  far t~\n"
    with pytest.raises(ValueError, match="zip"):
        table.row(0.25, 1)


# To a machine


def test_json_is_one_object_on_every_line() -> None:
    out, err = piped("json")
    events = [json.loads(line) for line in out.splitlines()]
    assert events == [
        *({"event": "progress", "loss": 1.0 / k, "label": "yes"} for k in range(1, 4)),
        {"event": "summary", "progressive_validation": {"accuracy": 0.9523}},
        {"event": "note", "text": "A note."},
        {"event": "warning", "text": "a warning."},
        {"event": "error", "text": "odca try: an error."},
    ]
    assert err == "odca try: an error.\n[]\n"


def test_json_has_no_nan_and_accepts_numpy_scalars(capsys: pytest.CaptureFixture[str]) -> None:
    out = Output.of(argparse.Namespace(json=True))
    out.table(COLUMNS, event="baseline").row(np.float64(np.nan), np.int64(3), np.array([1.0, np.inf]))
    assert json.loads(capsys.readouterr().out) == {"event": "baseline", "loss": None, "events": 3, "label": [1.0, None]}


def test_a_fact_may_have_its_own_key_in_json(capsys: pytest.CaptureFixture[str]) -> None:
    Output(as_json=True).summary({"": [Fact("R²", 0.5, name="r2"), Fact("mean loss", 0.25)]})
    assert json.loads(capsys.readouterr().out)[""] == {"r2": 0.5, "mean_loss": 0.25}


# At a terminal


def test_a_terminal_gets_colours_and_a_live_line_that_is_erased() -> None:
    seen = on_a_terminal([sys.executable, "-c", PROGRAM])
    assert re.search(r"\r100,000 events  [\d.]+ ?[kM]?/s  [\d.]+ ?[kM]?B/s  25 %  [\d.]+ s left  \d+ MB\x1b\[K", seen)
    assert "\x1b[1m" in seen
    assert "['rich.console']" in seen
    assert plain(seen).rstrip() == (TOLD + "warning: a warning.\nodca try: an error.\n['rich.console']").rstrip()


@pytest.mark.parametrize("environment", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_colours_can_be_switched_off(environment: dict[str, str]) -> None:
    seen = on_a_terminal([sys.executable, "-c", PROGRAM], **environment)
    assert not re.search(r"\x1b\[\d+m", seen)
    assert ("\x1b" in seen) == ("NO_COLOR" in environment)  # lines can still be drawn over each other
    assert plain(seen).startswith(TOLD)


def test_no_live_line_is_drawn_when_data_go_to_the_terminal() -> None:
    seen = on_a_terminal([sys.executable, "-c", PROGRAM, "data"])
    assert "events  " not in seen
    assert "0.5\r\n" in seen


def test_without_rich_a_terminal_gets_plain_text() -> None:
    code = "import sys; sys.modules['rich'] = sys.modules['rich.console'] = None\n" + PROGRAM
    seen = on_a_terminal([sys.executable, "-c", code])
    assert not re.search(r"\x1b\[\d+m", seen)
    assert plain(seen).startswith(TOLD)


def test_errors_are_wrapped_only_on_a_terminal() -> None:
    code = "from odca.cli.views.console import Output; Output().error('odca try: ' + 'a long story. ' * 10)"
    lines = on_a_terminal([sys.executable, "-c", code], columns=50, NO_COLOR="1").split("\r\n")
    assert max(map(len, lines)) <= 50
    assert len(lines) > 3
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stderr.count("\n") == 1


def test_a_live_line_is_drawn_at_most_five_times_a_second() -> None:
    code = (
        "import time; from odca.cli.views.console import Output\n"
        "with Output().progress() as line:\n"
        "    end = time.monotonic() + 0.9\n"
        "    while time.monotonic() < end: line.update(1000)\n"
    )
    seen = on_a_terminal([sys.executable, "-c", code])
    assert 1 <= seen.count("1,000 events") <= 4


def test_the_reported_memory_is_that_of_this_process() -> None:
    block = np.ones(20_000_000)
    assert 1e7 + block.nbytes < resident_memory() < 1e11


# Numbers as a person reads them


def test_numbers_are_formatted_for_people() -> None:
    assert [formatting.count(n) for n in (0, 1234567, 0.5, 1e6 + 0.25, None, np.nan)] == [
        "0",
        "1,234,567",
        "0.5",
        "1,000,000",
        "-",
        "-",
    ]
    assert [formatting.rate(r) for r in (0.0, 999.4, 999.6, 9_949, 9_951, 3.2e6)] == [
        "0/s",
        "999/s",
        "1.0 k/s",
        "9.9 k/s",
        "10 k/s",
        "3.2 M/s",
    ]
    assert [formatting.size(s) for s in (0, 45_300_000, 1.24e9, 5e15)] == ["0 B", "45 MB", "1.2 GB", "5000 TB"]
    assert [formatting.duration(s) for s in (0.0, 12.34, 59.96, 3599.6, 90_000)] == [
        "0.00 s",
        "12.3 s",
        "1 min 00 s",
        "1 h 00 min",
        "25 h 00 min",
    ]
    assert [formatting.decimal(x) for x in (0.0, -0.5, 1e6, np.inf, np.nan)] == [
        "0.000000",
        "-0.500000",
        "1.000e+06",
        "inf",
        "-",
    ]
    assert [formatting.percent(x) for x in (1.0, None, np.nan)] == ["100.0 %", "-", "-"]
