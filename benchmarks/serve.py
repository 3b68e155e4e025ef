"""The live service under load, beside an empty Starlette handler and `vw --daemon` on the same machine: `python -m benchmarks.serve`.

Servers are on loopback, each in its own process, on the first core; the client is this process, on the last. The sides take turns in each round,
and the best round of each counts. Events have 20 numeric features. Rates are ratios: those of two servers in one run. On a machine that others
use too, start it with `chrt -f 10`, which the servers inherit, with short rounds (`--seconds 0.8 --rounds 4`: the kernel takes the processor away
after 0.95 of each second); between them it pauses.
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
from importlib.util import find_spec
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
VW = """
import vowpalwabbit

daemon = vowpalwabbit.Workspace("--daemon --foreground --num_children 1 --port PORT --loss_function logistic --quiet")
daemon.run_parser()
"""
CORE = ["taskset", "-c", "0"]
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


def http_reply(buffer: bytes) -> int:
    """The length of the first reply in a buffer; 0 if it is not complete. AssertionError unless it is a success."""
    end = buffer.find(b"\r\n\r\n")
    if end < 0:
        return 0
    assert buffer[9:12] == b"200", buffer[:300]
    begin = buffer.lower().index(b"content-length:") + 15
    length = end + 4 + int(buffer[begin : buffer.index(b"\r\n", begin)])
    return length if len(buffer) >= length else 0


def vw_reply(buffer: bytes) -> int:
    return buffer.find(b"\n") + 1


class Connection(asyncio.Protocol):
    """Sends texts one after the other, each when the one before was answered; with a rate, not before its turn comes."""

    def __init__(self, load: "Load", number: int) -> None:
        self._load, self._place = load, number
        self._buffer = b""
        self._due = 0.0

    def connection_made(self, transport: Any) -> None:
        """Begin."""
        self._transport = transport
        self._due = time.perf_counter()
        self._next()

    def data_received(self, data: bytes) -> None:
        """See whether the answer is complete."""
        self._buffer += data
        if length := self._load.reply(self._buffer):
            self._buffer = self._buffer[length:]
            self._load.durations.append(time.perf_counter() - self._began)
            self._next()

    def connection_lost(self, error: Exception | None) -> None:
        """Nothing more comes."""
        if not self._load.ends.done():
            self._load.ends.set_exception(error or ConnectionError("the server has closed a connection"))

    def _next(self) -> None:
        load, now = self._load, time.perf_counter()
        if now >= load.end:
            if not load.ends.done():
                load.ends.set_result(None)
            return
        self._due = now if load.rate is None else self._due + load.connections / load.rate
        if self._due > now:
            load.loop.call_later(self._due - now, self._send)
        else:
            self._send()

    def _send(self) -> None:
        if self._transport.is_closing():
            return  # the time is up
        self._began = self._due  # what waits for its turn waits for the server
        self._transport.write(self._load.texts[self._place % len(self._load.texts)])
        self._place += self._load.connections


class Load:
    """Connections that load a server for a while."""

    def __init__(self, port: int, texts: list[bytes], connections: int, seconds: float, rate: float | None) -> None:
        self.port, self.texts, self.connections, self.seconds, self.rate = port, texts, connections, seconds, rate
        self.reply = http_reply
        self.durations: list[float] = []
        """How long each request took."""

    async def run(self) -> None:
        """Load the server."""
        self.loop = asyncio.get_running_loop()
        self.ends: asyncio.Future[None] = self.loop.create_future()
        self.end = time.perf_counter() + self.seconds
        made = [
            await self.loop.create_connection(lambda number=number: Connection(self, number), "127.0.0.1", self.port)
            for number in range(self.connections)
        ]
        await self.ends
        for transport, _ in made:
            transport.abort()


def http(port: int, requests: list[bytes], connections: int, seconds: float, rate: float | None = None) -> list[float]:
    """How long each request took that was sent over connections for a while. With a rate, at that many a second in all."""
    load = Load(port, requests, connections, seconds, rate)
    run(load)
    return load.durations


def run(load: Load) -> None:
    """Load the server, by the fastest loop there is: the client must not be what is measured."""
    import uvloop  # of the extra serve

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(load.run())


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
        """Start one, on a core of its own."""
        words = [*CORE, *program]
        self.processes[name] = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def stop(self, name: str) -> None:
        """End one."""
        process = self.processes.pop(name)
        process.kill()
        process.wait(60.0)

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


def measure(seconds: float, rounds: int, million: float) -> dict[str, Any]:
    servers = Servers()
    data = lines(5000)
    batch = b"\n".join(data[:1000])
    ports = {name: free_port() for name in ("empty", "odca")}
    try:
        servers.start("empty", [sys.executable, "-c", EMPTY.replace("PORT", str(ports["empty"]))])
        serve = [sys.executable, "-m", "odca", "serve", str(servers.folder / "models"), "--port", str(ports["odca"])]
        servers.start("odca", [*serve, "--log-level", "warning"])
        for name in servers.processes:
            wait_for(ports[name])
        _create(ports["odca"])
        http(ports["odca"], _posts("learn", [batch], lines=True), 1, 0.5)
        empty = [request("/", each, "application/json") for each in data]
        sides: dict[str, Any] = {
            "empty": lambda: len(http(ports["empty"], empty, 64, seconds)),
            "predict": lambda: len(http(ports["odca"], _posts("predict", data), 64, seconds)),
            "learn": lambda: len(http(ports["odca"], _posts("learn", data), 64, seconds)),
            "learn in batches": lambda: (
                1000 * len(http(ports["odca"], _posts("learn", [batch], lines=True), 2, seconds))
            ),
        }
        found: list[dict[str, float]] = []
        spent: list[dict[str, float]] = []
        for _ in range(rounds):
            found.append({})
            spent.append({})
            for name, count in sides.items():
                pid = servers.processes["empty" if name == "empty" else "odca"].pid
                time.sleep(seconds / 2)  # others want to work, too
                before = cpu_seconds(pid)
                events = count()
                found[-1][name] = events / seconds
                spent[-1][name] = 1e6 * (cpu_seconds(pid) - before) / events
            if find_spec("vowpalwabbit") is not None:
                found[-1]["vw learn"], spent[-1]["vw learn"] = vw(servers, [as_vw(each) for each in data], seconds)
            print({name: round(rate) for name, rate in found[-1].items()}, flush=True)
        best = {name: max(range(rounds), key=lambda k: found[k][name]) for name in found[0]}
        rates, cpu = ({name: each[k][name] for name, k in best.items()} for each in (found, spent))
        about: dict[str, Any] = {"rates": rates, "ratios": ratios(rates), "cpu_us": cpu, "cpu_ratios": cpu_ratios(cpu)}
        about |= {"cores": os.cpu_count(), "load": os.getloadavg()[0]}
        about["latency_ms"] = latency(ports["odca"], data, seconds, rounds)
        about["memory"] = memory(ports["odca"], servers.processes["odca"].pid, batch, int(million * 1000))
        return about
    finally:
        servers.close()


def vw(servers: Servers, texts: list[bytes], seconds: float) -> tuple[float, float]:
    """Lines a second that VW's daemon learns and answers, and microseconds of the processor for each.

    One child, since each has a model of its own, and so one connection. The daemon of the Python package ends with its first connection:
    it is started anew each time, and the connection that is waited for is the one that is measured.
    """
    port = free_port()
    servers.start("vw", [sys.executable, "-c", VW.replace("PORT", str(port))])
    pid = servers.processes["vw"].pid
    load = Load(port, texts, 1, seconds, None)
    load.reply = vw_reply
    try:
        for _ in range(100):
            before = cpu_seconds(pid)
            with contextlib.suppress(ConnectionError):
                run(load)
                break
            time.sleep(0.1)
        spent = cpu_seconds(pid) - before
    finally:
        servers.stop("vw")
    count = len(load.durations)
    return count / seconds, 1e6 * spent / count


def cpu_seconds(pid: int) -> float:
    """The time that a process and its children have had of the processors."""
    found = 0.0
    for each in [pid, *(int(text) for text in Path(f"/proc/{pid}/task/{pid}/children").read_text().split())]:
        fields = Path(f"/proc/{each}/stat").read_text().rpartition(")")[2].split()
        found += (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return found


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
        found |= {f"{name} / vw learn": rates[name] / rates["vw learn"] for name in ("learn", "learn in batches")}
    return found


def cpu_ratios(cpu: dict[str, float]) -> dict[str, float]:
    """The processor's time for an event, which does not depend on who else uses the machine."""
    return {f"{name} / empty": value / cpu["empty"] for name, value in cpu.items() if name != "empty"}


def latency(port: int, data: list[bytes], seconds: float, rounds: int) -> dict[str, float]:
    """p50 and p99 at 70 % of the rate that the service reached a moment before, in the best round.

    On a machine that others use too, the rate changes from second to second. 70 % of the best rate would be more than all of it in another
    round, and the queue would grow for as long as the round lasts.
    """
    found = {}
    for route in ("predict", "learn"):
        some = []
        for _ in range(rounds):
            time.sleep(seconds / 2)
            posts = _posts(route, data)
            rate = len(http(port, posts, 64, seconds)) / seconds
            time.sleep(seconds / 2)
            durations = http(port, posts, 32, seconds, 0.7 * rate)
            some.append((quantile(durations, 0.99), quantile(durations, 0.5)))
        found[f"{route} p99"], found[f"{route} p50"] = min(some)
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
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    found = measure(arguments.seconds, arguments.rounds, arguments.million)
    print(json.dumps(found, indent=1))
    Path(arguments.output).write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
