"""What a long hostile run reports."""

from typing import NamedTuple


class Outcome(NamedTuple):
    """One row of the table of the long run."""

    what: str
    """What was tried, as a plural: "mutated model files"."""
    count: int
    failures: list[str]
    """A line for each failure, with the seed or the number that repeats it."""
