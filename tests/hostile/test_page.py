"""docs/errors-and-threads.md says which models the hostile tests try, and when each can be saved."""

import re
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from hostile import run
from hostile.faces import BY_NAME, FACES, Events, Face
from hostile.signals import long_call

PAGE = (Path(__file__).parents[2] / "docs" / "errors-and-threads.md").read_text(encoding="utf-8")
ROWS = [[cell.strip() for cell in line.strip("|").split("|")] for line in PAGE.splitlines() if line.startswith("| `")]
IN_ONE_CALL = [face for face in FACES if face.name not in ("river.ODCAClassifier", "river.AutoRegressor")]


def name_of(cell: str) -> str:
    return cell.replace("`", "")


def test_the_table_of_promises_has_every_model_that_is_tried() -> None:
    assert [name_of(row[0]) for row in ROWS if len(row) == 5] == list(BY_NAME)
    head = next(line for line in PAGE.splitlines() if line.startswith("| model |"))
    for what in ("threads", "signals", "forks"):
        assert f"| {what} |" in head
        assert what in run.commands()


def test_every_hostile_command_is_on_the_page_and_its_last_long_run() -> None:
    for command in run.commands():
        assert f"`{command}`" in PAGE or f"run.py {command}" in PAGE
    counted = re.findall(r"^\| (.+?) \| ([\d,]+) \| (none) \|$", PAGE, flags=re.MULTILINE)
    assert len(counted) >= 3


@pytest.mark.parametrize("face", IN_ONE_CALL, ids=lambda face: face.name)
def test_a_model_is_saved_when_the_table_says(face: Face) -> None:
    said = next(row[-1] for row in ROWS if name_of(row[0]) == face.name)
    model, first = face.make(), Events(range(6), [k % 3 for k in range(6)])
    face.learn(model, first)
    long = long_call(face)
    thread = threading.Thread(target=face.learn, args=(model, long))
    thread.start()
    while face.learner(model).count == len(first) and thread.is_alive():
        time.sleep(0.0001)
    before = face.learner(model).count
    saved: Any = type(model).restored(model.saved())
    thread.join()
    assert len(first) < before < len(first) + len(long), "the call was over too soon"
    at_once = face.learner(saved).count < len(first) + len(long)
    assert at_once == said.startswith("at once")
