"""The live service under load, beside an empty Starlette handler and `vw --daemon` on the same machine: `python -m benchmarks.serve`.

Servers are on loopback, each in its own process; the clients are processes of this benchmark. The sides take turns in each round, and
the best round of each counts. Events have 20 numeric features. Rates are ratios: those of two servers in one run.
"""

import argparse
import asyncio
import contextlib
import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

EMPTY = """
import uvicorn
from starlette.applications import Starlette
from starlette.responses import JSONResponse
from starlette.routing import Route

async def empty(request):
    await request.body()
    return JSONResponse({"prediction": None})

uvicorn.run(Starlette(routes=[Route("/", empty, methods=["POST"])]), port=PORT, log_level="error", http="httptools")
"""
SPEC = {"task": "classes", "classes": ["no", "yes"], "columns": {"f0": "number"}}


def lines(n: int, seed: int = 0) -> list[bytes]:
    """Events of 20 features, as JSON."""
    rng = random.Random(seed)
    found = []
    for _ in range(n):
        event: dict[str, Any] = {f"f{k}": round(rng.gauss(0.0, 1.0), 4) for k in range(20)}
        event["label"] = "yes" if event["f0"] + event["f1"] > 0.0 else "no"
        found.append(json.dumps(event).encode())
    return found


def as_vw(line: bytes) -> bytes:
    """The same event as a line of VW's text."""
    event = json.loads(line)
    label = 1 if event.pop("label") == "yes" else -1
    return f"{label} | {' '.join(f'{name}:{value}' for name, value in event.items())}\n".encode()


def request(path: str, body: bytes, kind: str) -> bytes:
    """The bytes of a POST."""
    head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


async def _read_reply(reader: asyncio.StreamReader) -> int:
    head = await reader.readuntil(b"\r\n\r\n")
    status = int(head[9:12])
    length = int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0])
    if length:
        await reader.readexactly(length)
    return status


async def _http(port: int, requests: list[bytes], connections: int, seconds: float, rate: float | None) -> list[float]:
    """Send requests over connections for a while; return how long each took. With a rate, at that many a second in all."""
    durations: list[float] = []
    end = time.perf_counter() + seconds

    async def client(number: int) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        place, due = number, time.perf_counter()
        while (now := time.perf_counter()) < end:
            if rate is not None:
                due += connections / rate
                if due > now:
                    await asyncio.sleep(due - now)
            began = due if rate is not None else time.perf_counter()
            writer.write(requests[place % len(requests)])
            status = await _read_reply(reader)
            assert status == 200, status
            durations.append(time.perf_counter() - began)
            place += connections
        writer.close()

    await asyncio.gather(*(client(number) for number in range(connections)))
    return durations


def http(port: int, requests: list[bytes], connections: int, seconds: float, rate: float | None = None) -> list[float]:
    """The same, from a loop of its own."""
    return asyncio.run(_http(port, requests, connections, seconds, rate))


def vw(port: int, texts: list[bytes], connections: int, seconds: float) -> int:
    """How many lines VW's daemon answers, one after the other on each connection."""

    async def run() -> int:
        count = 0
        end = time.perf_counter() + seconds

        async def client(number: int) -> None:
            nonlocal count
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            place = number
            while time.perf_counter() < end:
                writer.write(texts[place % len(texts)])
                await reader.readline()
                count += 1
                place += connections
            writer.close()

        await asyncio.gather(*(client(number) for number in range(connections)))
        return count

    return asyncio.run(run())


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def wait_for(port: int) -> None:
    end = time.monotonic() + 30.0
    while time.monotonic() < end:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1.0):
            return
        time.sleep(0.05)
    raise TimeoutError(f"nothing listens at {port}")


class Servers:
    """The processes of this benchmark."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="odca-bench-"))
        self.processes: dict[str, subprocess.Popen[bytes]] = {}

    def start(self, name: str, program: list[str]) -> None:
        """Start one."""
        self.processes[name] = subprocess.Popen(program, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def close(self) -> None:
        """End all of them."""
        for process in self.processes.values():
            process.send_signal(signal.SIGTERM)
        for process in self.processes.values():
            try:
                process.wait(60.0)
            except subprocess.TimeoutExpired:
                process.kill()
        shutil.rmtree(self.folder, ignore_errors=True)


def quantile(durations: list[float], share: float) -> float:
    return sorted(durations)[min(int(share * len(durations)), len(durations) - 1)] * 1e3


def resident(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text()
    return int(next(line for line in status.splitlines() if line.startswith("VmRSS")).split()[1]) / 1024


def best(rounds: list[dict[str, float]]) -> dict[str, float]:
    return {name: max(each[name] for each in rounds if name in each) for name in rounds[0]}


def measure(seconds: float, rounds: int, million: float) -> dict[str, Any]:
    servers = Servers()
    data = lines(5000)
    batch = b"\n".join(data[:1000])
    ports = {name: free_port() for name in ("empty", "odca", "vw")}
    try:
        servers.start("empty", [sys.executable, "-c", EMPTY.replace("PORT", str(ports["empty"]))])
        serve = [sys.executable, "-m", "odca", "serve", str(servers.folder / "models"), "--port", str(ports["odca"])]
        servers.start("odca", [*serve, "--log-level", "warning"])
        has_vw = shutil.which("vw") is not None
        if has_vw:
            daemon = [
                "vw",
                "--daemon",
                "--foreground",
                "--num_children",
                "1",
                "--port",
                str(ports["vw"]),
                "--loss_function",
            ]
            servers.start("vw", [*daemon, "logistic", "--quiet"])
        for name in servers.processes:
            wait_for(ports[name])
        _create(ports["odca"])
        http(ports["odca"], [request("/v1/models/m/learn", batch, "application/x-ndjson")], 1, 0.5)
        sides: dict[str, Any] = {
            "empty": lambda: len(
                http(ports["empty"], [request("/", each, "application/json") for each in data], 64, seconds)
            ),
            "predict": lambda: len(http(ports["odca"], _posts("predict", data), 64, seconds)),
            "learn": lambda: len(http(ports["odca"], _posts("learn", data), 64, seconds)),
            "learn in batches": lambda: (
                1000 * len(http(ports["odca"], _posts("learn", [batch], lines=True), 2, seconds))
            ),
        }
        if has_vw:
            texts = [as_vw(each) for each in data]
            sides["vw learn"] = lambda: vw(ports["vw"], texts, 1, seconds)
        found = []
        for _ in range(rounds):
            found.append({name: count() / seconds for name, count in sides.items()})
            print({name: round(rate) for name, rate in found[-1].items()}, flush=True)
        rates = best(found)
        about: dict[str, Any] = {"rates": rates, "ratios": ratios(rates), "has_vw": has_vw, "cores": os.cpu_count()}
        about["latency_ms"] = latency(ports["odca"], data, rates, seconds)
        about["memory"] = memory(ports["odca"], servers.processes["odca"].pid, batch, int(million * 1000))
        return about
    finally:
        servers.close()


def _create(port: int) -> None:
    import http.client

    end = time.monotonic() + 30.0
    while time.monotonic() < end:
        connection = http.client.HTTPConnection("127.0.0.1", port)
        connection.request("PUT", "/v1/models/m", json.dumps(SPEC), {"Content-Type": "application/json"})
        status = connection.getresponse().status
        connection.close()
        if status in {200, 201}:
            return
        time.sleep(0.1)


def _posts(route: str, bodies: list[bytes], *, lines: bool = False) -> list[bytes]:
    kind = "application/x-ndjson" if lines else "application/json"
    query = "?predictions=false" if lines else ""
    return [request(f"/v1/models/m/{route}{query}", each, kind) for each in bodies]


def ratios(rates: dict[str, float]) -> dict[str, float]:
    found = {f"{name} / empty": rates[name] / rates["empty"] for name in ("predict", "learn", "learn in batches")}
    if "vw learn" in rates:
        found["learn / vw learn"] = rates["learn"] / rates["vw learn"]
        found["learn in batches / vw learn"] = rates["learn in batches"] / rates["vw learn"]
    return found


def latency(port: int, data: list[bytes], rates: dict[str, float], seconds: float) -> dict[str, float]:
    """p50 and p99 at 70 % of the largest rate."""
    found = {}
    for route in ("predict", "learn"):
        durations = http(port, _posts(route, data), 32, seconds, 0.7 * rates[route])
        found[f"{route} p50"], found[f"{route} p99"] = quantile(durations, 0.5), quantile(durations, 0.99)
    return found


def memory(port: int, pid: int, batch: bytes, batches: int) -> dict[str, float]:
    """The memory of the service in MB, after a tenth of the events and at the end."""
    posts = _posts("learn", [batch], lines=True)
    sent, early = 0, 0.0
    while sent < batches:
        sent += len(http(port, posts, 2, 2.0))
        if not early and sent >= batches / 10:
            early = resident(pid)
    return {"events": 1000.0 * sent, "after a tenth": early, "at the end": resident(pid)}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--million", type=float, default=2.0, help="millions of events for the memory")
    parser.add_argument("-o", "--output", default="benchmarks/results/serve.json")
    arguments = parser.parse_args()
    found = measure(arguments.seconds, arguments.rounds, arguments.million)
    print(json.dumps(found, indent=1))
    Path(arguments.output).write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
