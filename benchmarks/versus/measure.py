"""Run a command, and write its seconds, CPU time and peak memory as JSON: python -I -S measure.py REPORT COMMAND ...

A small process of its own, because Linux counts the memory of the process that starts a command as the command's. What is seen
that way is never less than this one's own ten megabytes.
"""

import json
import os
import sys
import time

if __name__ == "__main__":
    report, *command = sys.argv[1:]
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:2])
    started = time.perf_counter()
    child = os.posix_spawn(command[0], command, os.environ)
    _, status, used = os.wait4(child, 0)
    wall = time.perf_counter() - started
    facts = {
        "wall": wall,
        "cpu": used.ru_utime + used.ru_stime,
        "memory_mb": used.ru_maxrss / 1024,
        "code": os.waitstatus_to_exitcode(status),
    }
    with open(report, "w", encoding="utf-8") as file:  # noqa: PTH123 - pathlib is a tenth of a second of imports
        json.dump(facts, file)
