"""Shared by all tests: reproducible hypothesis runs, and a line in the summary for what was enumerated."""

import os

import hypothesis
import pytest

from problems import Cells

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


@pytest.fixture
def cells(request: pytest.FixtureRequest) -> Cells:
    """The cells of the module that asks; they are reported at the end of the run."""
    by_module = request.config.stash.setdefault(_CELLS, {})
    return by_module.setdefault(request.module.GRID, Cells())


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    for title, cells in config.stash.get(_CELLS, {}).items():
        terminalreporter.write_sep("-", title)
        terminalreporter.write_line(f"{cells.count} cells")
        for what, value in cells.deviations.worst.items():
            terminalreporter.write_line(f"  {what:24s} worst deviation {value:.1e} of its scale")
