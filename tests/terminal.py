"""A terminal, as a program sees it."""

import contextlib
import fcntl
import os
import pty
import select
import struct
import subprocess
import termios
import time


def on_a_terminal(command: list[str], *, columns: int = 100, lines: int = 40, **environment: str) -> str:
    """What a terminal of this size receives from a command that ends well."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
    dropped = {"NO_COLOR", "COLUMNS", "LINES"}
    inherited = {name: value for name, value in os.environ.items() if name not in dropped}
    process = subprocess.Popen(
        command,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env={**inherited, "TERM": "xterm-256color", "PYTHONIOENCODING": "utf-8", **environment},
    )
    os.close(theirs)
    received, deadline = b"", time.monotonic() + 60
    with contextlib.suppress(OSError):  # EIO: the other side has closed
        while time.monotonic() < deadline:
            if select.select([ours], [], [], 0.1)[0]:
                chunk = os.read(ours, 65536)
                if not chunk:
                    break
                received += chunk
    os.close(ours)
    assert process.wait(timeout=60) == 0
    return received.decode(environment.get("PYTHONIOENCODING", "utf-8"))
