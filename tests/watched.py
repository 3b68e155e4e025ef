"""Services to look at with a browser: one that can be stopped and started again under the same address, and what a shop sends to it."""

import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from serving import Client, Server

if TYPE_CHECKING:
    from types import TracebackType

Event = dict[str, Any]
POINT = 10.0
"""Seconds between two points of the history."""


class Watched:
    """A service. Requests must succeed."""

    def __init__(self, folder: Path, token: str | None = None, follow: str | None = None) -> None:
        self.folder, self.token = folder, token
        self._options = () if follow is None else ("--follow", follow)
        self.port = 0
        self.server: Server | None = None

    def __enter__(self) -> "Watched":
        self.start()
        return self

    def __exit__(self, *failure: "type[BaseException] | BaseException | TracebackType | None") -> None:
        if self.server is not None:
            self.stop()

    def start(self) -> None:
        self.server = Server(self.folder, *self._options, port=self.port)
        self.server.wait_until_ready()
        self.port = self.server.port
        self.url = f"{self.server.address}/"
        self.client = Client(self.port, self.token)

    def stop(self) -> None:
        assert self.server is not None
        self.client.close()
        code, self.server = self.server.stop(), None
        assert code == 0

    def describe(self, model: str) -> Any:
        return self.client.get(f"/v1/models/{model}")

    def create(self, model: str, **options: Any) -> None:
        reply = self.client.put(model, **options)
        assert reply.status == 201, reply.body

    def delete(self, model: str) -> None:
        assert self.client.ask("DELETE", f"/v1/models/{model}").status == 204

    def learn(self, model: str, events: Sequence[Event]) -> None:
        self._send(f"/v1/models/{model}/learn?predictions=false", events)

    def predict(self, model: str, events: Sequence[Event]) -> None:
        self._send(f"/v1/models/{model}/predict", events)

    def label(self, model: str, events: Sequence[Event]) -> None:
        self._send(f"/v1/models/{model}/label", events)

    def _send(self, path: str, events: Sequence[Event]) -> None:
        reply = self.client.post_lines(path, list(events))
        assert reply.status == 200, reply.body


def make_token(folder: Path, scope: str) -> str:
    """A new token for the service of this folder, as an operator makes one."""
    command = [sys.executable, "-m", "odca", "serve", "token", "create", str(folder), "--name", scope, "--scope", scope]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout.split()[-1]


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


def fill_shop(service: Watched) -> None:
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
