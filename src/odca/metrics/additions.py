"""Events on their way into metrics: all that belong together are added at once.

A signal handler may raise an exception between any two instructions of Python. So whatever can be computed is computed first, and what
changes metrics is one call of C, within which no handler runs: afterwards all events were added, or none.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

from odca.metrics.progress_table import ProgressRow


class Addition(NamedTuple):
    """Events of one call that were evaluated and checked, for one metrics."""

    commit: "partial[Any]"
    """Adds them: a function of C that does not fail."""
    rows: Callable[[Any], list[ProgressRow]]
    """The rows that are due among them, from the result of `commit`."""


def add_all(additions: Sequence[Addition]) -> list[list[ProgressRow]]:
    """Add events in this order; return the rows of each. A signal handler that raises leaves all of them added, or none.

    Rows that were not returned for that reason are left out: the next one is about the events since the last that was returned.
    """
    if len(additions) == 1:
        commit, rows = additions[0]
        return [rows(commit())]
    results = list(map(partial.__call__, [each.commit for each in additions]))
    return [each.rows(result) for each, result in zip(additions, results, strict=True)]
