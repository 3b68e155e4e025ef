"""The audit log: who created, deleted, merged, downloaded which model, and when. A line of JSON each; at most two files of a bounded size."""

import time
from pathlib import Path

import msgspec

MOST_BYTES = 16 << 20


class Audit:
    """Appends to a file, which is moved away when it is full."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def record(self, who: str, what: str, model: str, request_id: str) -> None:
        """A change was made."""
        line = msgspec.json.encode(
            {"time": time.time(), "who": who, "what": what, "model": model, "request_id": request_id}
        )
        if self._path.exists() and self._path.stat().st_size > MOST_BYTES:
            self._path.replace(self._path.with_suffix(".jsonl.1"))
        with self._path.open("ab") as file:
            file.write(line + b"\n")
