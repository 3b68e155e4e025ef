"""Cases that may crash, hang or use up the memory, each tried in a child process: what goes wrong there is a failure, not the end."""

import multiprocessing
import resource
import warnings
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection
from pathlib import Path

Try = Callable[[int, int], list[str]]
"""try_case(number, seed): a line for each thing that is not as it should be. A function of a module: a child imports it."""

MEMORY = 2 * 2**30  # bytes beyond what the child has in use when it begins
SECONDS = 60.0  # for one case, on a machine that does other things as well
_CONTEXT = multiprocessing.get_context("spawn")


def failures_of(try_case: Try, numbers: Sequence[int], seed: int) -> list[str]:
    """Try the cases of these numbers, one after the other; a line for each failure."""
    failures = list[str]()
    rest = list(numbers)
    while rest:
        tried, faults, end = _in_one_child(try_case, rest, seed)
        failures += faults
        if end:
            failures.append(f"seed {seed}, case {rest[tried]}: {end}")
        rest = rest[tried + bool(end) :]
    return failures


def _in_one_child(try_case: Try, numbers: Sequence[int], seed: int) -> tuple[int, list[str], str]:
    """How many cases were tried to their end, what failed in them, and how the child ended if it did not end well."""
    ours, its = _CONTEXT.Pipe()
    child = _CONTEXT.Process(target=_try_all, args=(its, try_case, list(numbers), seed), daemon=True)
    child.start()
    its.close()
    tried, failures = 0, list[str]()
    try:
        while tried < len(numbers):
            if not ours.poll(SECONDS):
                return tried, failures, f"it took more than {SECONDS:g} seconds"
            failures += [f"seed {seed}, case {numbers[tried]}: {each}" for each in ours.recv()]
            tried += 1
    except EOFError:
        child.join()
        return tried, failures, f"the process ended with {child.exitcode}"
    finally:
        child.kill()
        child.join()
    return tried, failures, ""


def _try_all(out: Connection, try_case: Try, numbers: Sequence[int], seed: int) -> None:
    warnings.filterwarnings("error", module="odca")
    for number in numbers:
        with _LimitedMemory():
            faults = try_case(number, seed)
        out.send(faults)


class _LimitedMemory:
    """No more memory than this beyond what is in use."""

    def __enter__(self) -> None:
        used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        self.before = resource.getrlimit(resource.RLIMIT_AS)
        resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, self.before[1]))

    def __exit__(self, *_: object) -> None:
        resource.setrlimit(resource.RLIMIT_AS, self.before)
