"""Shared by all tests: reproducible hypothesis runs, turns for tests that measure time, and the end of the summary."""

import os
import tempfile
from collections.abc import Generator
from pathlib import Path
from typing import Any

import hypothesis
import pytest

from problems import Cells
from turns import Turns

# The same examples on every run, so that a failure in CI is one on every machine. With ODCA_EXAMPLES=20 twenty times as
# many (see problems.examples), and new ones each time.
hypothesis.settings.register_profile(
    "odca",
    derandomize="ODCA_EXAMPLES" not in os.environ,
    database=None,
    deadline=None,  # the machine is shared: time says nothing about the code
    suppress_health_check=[hypothesis.HealthCheck.too_slow],  # the same
)
hypothesis.settings.load_profile("odca")

_CELLS = pytest.StashKey[dict[str, Cells]]()
_NOTES = pytest.StashKey[list[str]]()
_FOLDER = pytest.StashKey[str]()
_TURNS = pytest.StashKey[Turns]()


def pytest_configure(config: pytest.Config) -> None:
    config.stash[_CELLS], config.stash[_NOTES] = {}, []


# --- Tests marked `alone` ---


@pytest.hookimpl(optionalhook=True)  # a hook of pytest-xdist
def pytest_configure_node(node: Any) -> None:
    """The controller tells every worker where the files are that they share."""
    if _FOLDER not in node.config.stash:
        folder = tempfile.TemporaryDirectory(prefix="odca-tests-")
        node.config.stash[_FOLDER] = folder.name
        node.config.add_cleanup(folder.cleanup)
    node.workerinput["turns"] = node.config.stash[_FOLDER]


def pytest_sessionstart(session: pytest.Session) -> None:
    if hasattr(session.config, "workerinput"):  # without workers there is nobody to wait for
        session.config.stash[_TURNS] = Turns(Path(session.config.workerinput["turns"]))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, Any, Any]:
    turns = item.config.stash.get(_TURNS, None)
    if turns is None:
        return (yield)
    with turns.take(alone=item.get_closest_marker("alone") is not None):
        return (yield)


# --- What tests add to the summary ---


@pytest.fixture
def cells(request: pytest.FixtureRequest) -> Cells:
    """Counts the cells of the requesting module's grid, and the worst deviations met there."""
    return request.config.stash[_CELLS].setdefault(request.module.GRID, Cells())


@pytest.fixture
def notes(request: pytest.FixtureRequest) -> list[str]:
    """Lines to print at the end of the run."""
    return request.config.stash[_NOTES]


def pytest_sessionfinish(session: pytest.Session) -> None:
    """A worker of pytest-xdist sends what it has collected; it must be made of plain types."""
    config = session.config
    if hasattr(config, "workeroutput"):
        config.workeroutput["cells"] = {
            title: (cells.count, cells.deviations.worst) for title, cells in config.stash[_CELLS].items()
        }
        config.workeroutput["notes"] = config.stash[_NOTES]


@pytest.hookimpl(optionalhook=True)  # a hook of pytest-xdist
def pytest_testnodedown(node: Any) -> None:
    """The controller adds what a worker has sent. A worker that crashed has sent nothing."""
    sent = getattr(node, "workeroutput", {})
    for title, (count, worst) in sent.get("cells", {}).items():
        node.config.stash[_CELLS].setdefault(title, Cells()).join(count, worst)
    node.config.stash[_NOTES] += sent.get("notes", [])


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    for title, cells in config.stash[_CELLS].items():
        terminalreporter.write_sep("-", title)
        terminalreporter.write_line(f"{cells.count} cells")
        for what, value in cells.deviations.worst.items():
            terminalreporter.write_line(f"  {what:24s} worst deviation {value:.1e} of its scale")
    for note in sorted(config.stash[_NOTES]):
        terminalreporter.write_line(note)
