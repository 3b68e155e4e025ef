"""docs/errors-and-threads.md says which models the hostile tests try, when each can be saved, and how the long run is started."""

import threading
import time
from pathlib import Path

import pytest

from hostile import run
from hostile.faces import BY_NAME, FACES, Events, Face
from hostile.signals import long_call

PAGE = (Path(__file__).parents[2] / "docs" / "errors-and-threads.md").read_text(encoding="utf-8")
ROWS = [[cell.strip() for cell in line.strip("|").split("|")] for line in PAGE.splitlines() if line.startswith("| `")]
IN_ONE_CALL = [face for face in FACES if face.name not in ("river.ODCAClassifier", "river.AutoRegressor")]
FIRST = Events(range(6), [k % 3 for k in range(6)])


def name_of(cell: str) -> str:
    return cell.replace("`", "")


def test_the_table_of_promises_has_every_model_that_is_tried() -> None:
    assert [name_of(row[0]) for row in ROWS if len(row) == 5] == list(BY_NAME)
    head = next(line for line in PAGE.splitlines() if line.startswith("| model |"))
    for what in ("threads", "signals", "forks"):
        assert f"| {what} |" in head


def test_the_long_run_tries_every_kind_and_all_are_on_the_page() -> None:
    assert sorted(run.LONG) == run.modules()
    assert sorted(name_of(row[0]) for row in ROWS if len(row) == 3) == sorted(map(run.option_of, run.LONG))
    assert "python tests/hostile/run.py --long" in PAGE


def saved_amid_a_call(face: Face, long: Events) -> tuple[int, int]:
    """How much a model had learned when it was asked to be saved, while another thread taught it, and how much of it was saved."""
    model = face.make()
    face.learn(model, FIRST)
    thread = threading.Thread(target=face.learn, args=(model, long))
    thread.start()
    while face.learner(model).count == len(FIRST) and thread.is_alive():
        time.sleep(0.0001)
    before = face.learner(model).count
    saved = type(model).restored(model.saved())
    thread.join()
    return before, face.learner(saved).count


@pytest.mark.parametrize("face", IN_ONE_CALL, ids=lambda face: face.name)
def test_a_model_is_saved_when_the_table_says(face: Face) -> None:
    at_once = next(row[-1] for row in ROWS if name_of(row[0]) == face.name).startswith("at once")
    for length in (1, 2, 4, 8, 16):  # until this thread comes before the call is over
        long = long_call(face, length)
        before, saved = saved_amid_a_call(face, long)
        whole = len(FIRST) + len(long)
        assert at_once or saved in (before, whole)
        if before < whole and (saved < whole) == at_once:
            return
    pytest.fail("every call was over too soon")
