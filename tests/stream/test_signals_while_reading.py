"""A signal at any moment ends the reading of a stream: its thread stops, its files are closed."""

import subprocess
import sys
from pathlib import Path

SIGNALS_AT_ANY_MOMENT = """
import os, random, signal, sys
from odca import stream

def stop(*_): raise KeyboardInterrupt
signal.signal(signal.SIGALRM, stop)
chance = random.Random(0)
with stream.open(sys.argv[1]): pass  # what is imported once
open_before = len(os.listdir("/proc/self/fd"))
for _ in range(100):
    try:
        with stream.open(sys.argv[1], follow=True) as events:
            signal.setitimer(signal.ITIMER_REAL, chance.uniform(1e-6, 2e-3))
            for _ in events: pass
    except KeyboardInterrupt:
        pass
assert len(os.listdir("/proc/self/fd")) <= open_before + 3, os.listdir("/proc/self/fd")
"""

AFTER_ANY_CALL = """
import faulthandler, os, signal, sys
from odca import stream

def stop(*_):
    sys.setprofile(None)
    raise KeyboardInterrupt
signal.signal(signal.SIGALRM, stop)

def is_interrupted(after):
    left = after
    def profile(frame, event, argument):  # after that many calls, where a signal's exception may be raised
        nonlocal left
        left -= event == "c_return"
        if left == 0:
            sys.setprofile(None)
            raise KeyboardInterrupt
    try:
        with stream.open(sys.argv[1], follow=True) as events:
            signal.setitimer(signal.ITIMER_REAL, 1.0)  # ends the waiting for more, if there are fewer calls until then
            sys.setprofile(profile)
            for _ in events: pass
    except KeyboardInterrupt: pass
    finally:
        sys.setprofile(None)
        signal.setitimer(signal.ITIMER_REAL, 0.0)
    return left == 0

with stream.open(sys.argv[1]): pass  # what is imported once
open_before = len(os.listdir("/proc/self/fd"))
faulthandler.dump_traceback_later(60, exit=True)
after = 1
while is_interrupted(after): after += 1
assert after > 10, after
assert len(os.listdir("/proc/self/fd")) <= open_before + 3, os.listdir("/proc/self/fd")
"""


def test_an_interrupt_after_any_call_leaves_no_lock_behind(tmp_path: Path) -> None:
    data = tmp_path / "events.vw"
    data.write_text("1 |n a:1\n" * 3000)
    run = [sys.executable, "-c", AFTER_ANY_CALL, str(data)]
    done = subprocess.run(run, capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == 0, done.stderr[-2000:]


def test_a_signal_at_any_moment_ends_the_reading_of_a_growing_file(tmp_path: Path) -> None:
    data = tmp_path / "events.vw"
    data.write_text("1 |n a:1\n" * 3000)
    run = [sys.executable, "-c", SIGNALS_AT_ANY_MOMENT, str(data)]
    done = subprocess.run(run, capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
