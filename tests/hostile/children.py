"""Cases that may crash, hang or use up the memory, tried in a child process: what goes wrong there is a failure, not the end."""

import faulthandler
import importlib
import multiprocessing
import os
import resource
import tempfile
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path

Try = Callable[[int, int], list[str]]
"""tried(number, seed): a line for each thing that is not as it should be. A function of a module: a child imports it."""

MEMORY = 2 * 2**30  # bytes beyond what the child has in use when a case begins
SECONDS = 120.0  # for one case, on a machine that does other things as well
GRACE = 30.0  # seconds in which the child itself says where it hangs
_CONTEXT = multiprocessing.get_context("spawn")


def failures_of(tried: Try, numbers: Sequence[int], seed: int, *, seconds: float = SECONDS) -> list[str]:
    """Try the cases of these numbers one after another, each for so many seconds at most; a line for each failure."""
    failures = list[str]()
    rest = list(numbers)
    while rest:
        done, faults, end = _in_one_child(tried, rest, seed, seconds)
        failures += faults
        if end:
            failures.append(f"seed {seed}, case {rest[done]}: {end}")
        rest = rest[done + bool(end) :]
    return failures


def _in_one_child(tried: Try, numbers: Sequence[int], seed: int, seconds: float) -> tuple[int, list[str], str]:
    """How many cases were tried to their end, what failed in them, and how the child ended if it did not end well."""
    with tempfile.NamedTemporaryFile(prefix="hostile-") as log:
        ours, its = _CONTEXT.Pipe()
        words = (its, log.name, tried.__module__, tried.__name__, list(numbers), seed, seconds)
        child = _CONTEXT.Process(target=_try_all, args=words, daemon=True)
        child.start()
        its.close()
        done, failures = 0, list[str]()
        try:
            while done < len(numbers):
                if not ours.poll(seconds + GRACE):
                    return done, failures, f"it took more than {seconds:g} seconds"
                failures += [f"seed {seed}, case {numbers[done]}: {each}" for each in ours.recv()]
                done += 1
        except EOFError:
            child.join()
            return done, failures, f"the process ended with {child.exitcode}. {Path(log.name).read_text()}".strip()
        finally:
            child.kill()
            child.join()
    return done, failures, ""


def _try_all(
    out: Connection, log: str, module: str, name: str, numbers: Sequence[int], seed: int, seconds: float
) -> None:
    """What the child does. If it crashes or hangs, the log says where all its threads were."""
    os.environ["OMP_NUM_THREADS"] = "1"  # before NumPy and scikit-learn are imported: a fork stops other threads
    tried: Try = getattr(importlib.import_module(module), name)
    warnings.filterwarnings("error", module="odca")
    warnings.filterwarnings("ignore", "A column-vector y was passed")  # of a model that has one output now
    with Path(log).open("w") as file:
        faulthandler.enable(file)
        for number in numbers:
            faulthandler.dump_traceback_later(seconds, exit=True, file=file)
            out.send(_faults(tried, number, seed))
            faulthandler.cancel_dump_traceback_later()


def _faults(tried: Try, number: int, seed: int) -> list[str]:
    try:
        with _limited_memory():
            return tried(number, seed)
    except Exception:  # noqa: BLE001 - reported
        return [traceback.format_exc()]


@contextmanager
def _limited_memory() -> Iterator[None]:
    """No more memory than this beyond what is in use."""
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)
