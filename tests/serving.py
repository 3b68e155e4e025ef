"""Live services for tests: `odca serve` in a process of its own, and requests to it."""

import json
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

import numpy as np

PATIENCE = 60.0
Event = dict[str, Any]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Served:
    """A service on a port of its own. It can be stopped and started again: the folder stays."""

    def __init__(self, folder: Path, *options: str, token: str | None = None) -> None:
        self.folder, self.options, self.token = folder, options, token
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}/"
        self.process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> "Served":
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.process is not None:
            self.stop()

    def start(self) -> None:
        command = [sys.executable, "-m", "odca", "serve", str(self.folder), "--port", str(self.port), *self.options]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        end = time.monotonic() + PATIENCE
        while not self._ready():
            assert self.process.poll() is None, self.process.communicate()[1].decode()
            assert time.monotonic() < end, f"odca serve is not ready after {PATIENCE:g} s"
            time.sleep(0.05)

    def _ready(self) -> bool:
        try:
            return bool(self.ask("GET", "v2/health/ready")["ready"])
        except (URLError, OSError):
            return False

    def stop(self) -> None:
        """As an operator does: SIGTERM, and wait."""
        assert self.process is not None
        self.process.send_signal(signal.SIGTERM)
        _, said = self.process.communicate(timeout=PATIENCE)
        assert self.process.returncode == 0, said.decode()
        self.process = None

    # Requests

    def ask(self, method: str, path: str, body: bytes | None = None, kind: str = "application/json") -> Any:
        headers = {"Content-Type": kind} if body is not None else {}
        if self.token is not None:
            headers["Authorization"] = f"Bearer {self.token}"
        try:
            with urlopen(Request(self.url + path, body, headers, method=method), timeout=PATIENCE) as answer:
                return json.loads(answer.read() or b"null") if kind == "application/json" else answer.read()
        except HTTPError as error:
            error.add_note(error.read().decode())
            raise

    def create(self, model: str, **options: Any) -> Any:
        return self.ask("PUT", f"v1/models/{model}", json.dumps(options).encode())

    def learn(self, model: str, events: Sequence[Event]) -> None:
        self._lines(f"v1/models/{model}/learn?predictions=false", events)

    def predict(self, model: str, events: Sequence[Event]) -> None:
        self._lines(f"v1/models/{model}/predict", events)

    def label(self, model: str, events: Sequence[Event]) -> None:
        self._lines(f"v1/models/{model}/label", events)

    def _lines(self, path: str, events: Iterable[Event]) -> None:
        self.ask("POST", path, b"".join(json.dumps(each).encode() + b"\n" for each in events), "application/x-ndjson")


def orders(count: int, *, seed: int, flipped: bool = False) -> list[Event]:
    """Events of a shop: who returns what was bought? After a flip, everybody who did not."""
    rng = np.random.default_rng(seed)
    events = []
    for price, hour, country, noise in zip(
        rng.gamma(2.0, 15.0, count),
        rng.integers(0, 24, count),
        rng.choice(["NZ", "DE", "FR"], count, p=[0.5, 0.3, 0.2]),
        rng.logistic(size=count),
        strict=True,
    ):
        margin = 0.12 * (price - 25.0) + {"NZ": 1.0, "DE": -1.0, "FR": 0.0}[country] + 0.6 * noise
        events.append(
            {
                "price": round(price, 2),
                "hour": int(hour),
                "country": str(country),
                "label": "yes" if (margin > 0) != flipped else "no",
            }
        )
    return events


POINT = 10.0
"""Seconds between two points of the history."""


def fill_shop(service: Served) -> None:
    """10,000 events in four stretches, each in another point of the history; the last 100 are predicted first and labelled later."""
    service.create("shop", first_events=100)
    events = orders(10_000, seed=1)
    for start in range(0, 9_900, 3_300):
        began = time.monotonic()
        for first in range(start, start + 3_300, 660):
            service.learn("shop", events[first : first + 660])
        time.sleep(max(0.0, POINT + 1.0 - (time.monotonic() - began)))
    late = [{**each, "id": f"order-{k}"} for k, each in enumerate(events[9_900:] + orders(12, seed=2))]
    service.predict("shop", [{k: v for k, v in each.items() if k != "label"} for each in late])
    service.label("shop", [{"id": each["id"], "label": each["label"]} for each in late[:100]])


def make_token(folder: Path, scope: str) -> str:
    """A new token for the service of this folder, as an operator makes one."""
    command = [sys.executable, "-m", "odca", "serve", "token", "create", str(folder), "--name", scope, "--scope", scope]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=PATIENCE).stdout.split()[-1]
