"""A service in a process of its own, and a client that talks to it."""

import contextlib
import http.client
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

JSON, NDJSON, FILE = "application/json", "application/x-ndjson", "application/octet-stream"


class Reply:
    """An answer."""

    def __init__(self, status: int, headers: dict[str, str], body: bytes) -> None:
        self.status, self.headers, self.body = status, headers, body

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def lines(self) -> list[Any]:
        return [json.loads(line) for line in self.body.splitlines()]

    @property
    def kind(self) -> str:
        return str(self.json["type"]).rpartition(":")[2]


class Client:
    """One connection, which is opened again when it breaks."""

    def __init__(self, port: int, token: str | None = None, timeout: float = 60.0) -> None:
        self.port, self.token, self.timeout = port, token, timeout
        self._connection: http.client.HTTPConnection | None = None

    def ask(
        self, method: str, path: str, body: bytes | str | None = None, kind: str | None = None, **headers: str
    ) -> Reply:
        if self._connection is None:
            self._connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=self.timeout)
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        if kind is not None:
            sent["Content-Type"] = kind
        if self.token is not None:
            sent["Authorization"] = f"Bearer {self.token}"
        try:
            self._connection.request(method, path, body, sent)
            found = self._connection.getresponse()
            return Reply(found.status, dict(found.headers.items()), found.read())
        except BaseException:
            self.close()
            raise

    def get(self, path: str) -> Any:
        reply = self.ask("GET", path)
        assert reply.status == 200, reply.body
        return reply.json

    def post(self, path: str, event: Any, **headers: str) -> Reply:
        return self.ask("POST", path, json.dumps(event), JSON, **headers)

    def post_lines(self, path: str, events: list[Any], **headers: str) -> Reply:
        return self.ask("POST", path, "\n".join(map(json.dumps, events)), NDJSON, **headers)

    def put(self, name: str, **spec: Any) -> Reply:
        return self.ask("PUT", f"/v1/models/{name}", json.dumps(spec), JSON)

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


class Server:
    """`odca serve` on a free port."""

    def __init__(self, folder: Path, *options: str, port: int = 0, preexec: Any = None, env: Any = None) -> None:
        self.folder = folder
        self.errors = folder.parent / f"{folder.name}.stderr"
        with self.errors.open("ab") as errors:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "odca", "serve", str(folder), "--port", str(port), *options],
                stdout=subprocess.PIPE,
                stderr=errors,
                preexec_fn=preexec,  # noqa: PLW1509 - it sets a limit, before any thread is there
                env={**os.environ, **(env or {})},
            )
        assert self.process.stdout is not None
        line = self.process.stdout.readline().decode()
        if "http" not in line:
            self.kill()
            raise AssertionError(self.errors.read_text())
        self.address = line.split()[-1]
        self.port = int(self.address.rpartition(":")[2])

    def client(self, token: str | None = None) -> Client:
        return Client(self.port, token)

    def wait_until_ready(self, seconds: float = 60.0) -> None:
        client, end = self.client(), time.monotonic() + seconds
        while time.monotonic() < end:
            with contextlib.suppress(OSError, http.client.HTTPException):
                if client.ask("GET", "/v2/health/ready").status == 200:
                    client.close()
                    return
            time.sleep(0.02)
        raise AssertionError(self.errors.read_text())

    def kill(self) -> None:
        self.process.kill()
        self._ended()

    def _ended(self, seconds: float | None = None) -> int:
        code = self.process.wait(seconds)
        assert self.process.stdout is not None
        self.process.stdout.close()
        return code

    def stop(self, seconds: float = 60.0) -> int:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        return self._ended(seconds)


@contextlib.contextmanager
def serving(folder: Path, *options: str, **how: Any) -> Iterator[Server]:
    """A service that is stopped at the end, and must end well."""
    server = Server(folder, *options, **how)
    try:
        server.wait_until_ready()
        yield server
    except BaseException:
        server.kill()
        raise
    code = server.stop()
    assert code == 0, server.errors.read_text()
    assert "Traceback" not in server.errors.read_text(), server.errors.read_text()


def events(n: int, seed: int = 0, flip: int | None = None) -> list[dict[str, Any]]:
    """Events of a shop, whose rule is turned round at `flip`."""
    rng = random.Random(seed)
    found = []
    for k in range(n):
        price, country, hour = rng.gauss(0.0, 1.0), rng.choice("ABC"), rng.randrange(24)
        buys = price + (country == "A") - 0.3 + 0.2 * rng.gauss(0.0, 1.0) > 0.0
        label = "yes" if buys != (flip is not None and k >= flip) else "no"
        found.append({"price": price, "country": country, "hour": hour, "label": label})
    return found
