"""Hostile requests: none gives a 500, none changes the model, none makes the service grow."""

import contextlib
import json
import random
import socket
import string
from collections.abc import Iterator
from pathlib import Path

import pytest

from serving import JSON, NDJSON, Client, Server, serving

ROUTES = (
    "predict",
    "learn",
    "label",
    "explain",
    "merge",
    "freeze",
    "history",
    "weights",
    "errors",
    "snapshot",
    "x",
    "",
)
METHODS = ("GET", "POST", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS", "TRACE", "BREW")
TYPES = (JSON, NDJSON, "text/plain", "application/octet-stream", "application/json; charset=utf-16", "")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("serve") / "models"
    with serving(folder, "--max-models", "3", "--max-line", "100000", "--max-body", "200000") as found:
        yield found


def resident(server: Server) -> int:
    status = Path(f"/proc/{server.process.pid}/status").read_text()
    return int(next(line for line in status.splitlines() if line.startswith("VmRSS")).split()[1]) * 1024


def value(rng: random.Random, depth: int = 0) -> object:
    """Any JSON value, with a liking for the odd ones."""
    kind = rng.randrange(14)
    if kind == 0:
        return rng.choice([1e308, -1e308, 1e-320, 0.0, -0.0, 2**63, 10**30, 1e999, float("nan")])
    if kind == 1:
        return "".join(rng.choice(string.printable + "\u0000\ud800ä漢\u202e") for _ in range(rng.randrange(30)))
    if kind == 2:
        return rng.choice([None, True, False, "", "NaN", "2024-01-01", "Infinity", "0x10"])
    if kind == 3 and depth < 5:
        return [value(rng, depth + 1) for _ in range(rng.randrange(4))]
    if kind == 4 and depth < 5:
        return {str(value(rng, 9)): value(rng, depth + 1) for _ in range(rng.randrange(4))}
    return rng.gauss(0.0, 100.0)


def event(rng: random.Random) -> dict:
    names = ("x", "price", "label", "id", "weight", "a.b", "", "label.x", "\u0000", "__proto__")
    return {rng.choice(names): value(rng) for _ in range(rng.randrange(6))}


def body(rng: random.Random) -> bytes:
    kind = rng.randrange(12)
    if kind == 0:
        return rng.randbytes(rng.randrange(200))
    if kind == 1:
        return b"[" * rng.randrange(5000) + b"]" * rng.randrange(5000)
    if kind == 2:
        return b'{"x":' * rng.randrange(3000)
    if kind == 3:
        return b'{"x": "' + b"\xff\xfe\xc0\x80" + b'", "label": 1}'
    if kind == 4:
        return b'{"x": 1, "x": 2, "label": 1}'
    if kind == 5:
        return b"\n" * rng.randrange(1000)
    if kind == 6:
        return b'{"x": ' + b"9" * rng.randrange(90_000) + b', "label": 1}'
    text = "\n".join(json.dumps(event(rng)) for _ in range(rng.randrange(1, 4))).encode("utf-8", "surrogatepass")
    if kind == 7:
        cut = rng.randrange(len(text) + 1)
        return text[:cut]
    if kind == 8 and text:
        place = rng.randrange(len(text))
        return text[:place] + rng.randbytes(1) + text[place + 1 :]
    return text


def path(rng: random.Random) -> str:
    if rng.random() < 0.6:  # a route that reads the body
        query = rng.choice(["", "", "", "?partial=true", "?coverage=0.5"])
        return f"/v1/models/m/{rng.choice(ROUTES[:4])}{query}"
    name = rng.choice(["m", "m", "m", "none", "..", "%2e%2e", "m%00", "M", "a" * 300, "%ff", "m;x", "m//"])
    query = rng.choice([
        "", "", "?answer=steady", "?answer=x", "?coverage=0.5", "?coverage=nan", "?partial=true", "?partial=maybe", "?x=1",
        "?limit=-1", "?span=year", "?%ff=%00", "?a=1&a=2", "?" + "a=1&" * 50, "?limit=" + "9" * 100, "?coverage=1e-300",
    ])  # fmt: skip
    prefix = rng.choice(["/v1/models", "/v1/models", "/v1/models", "/v2/models", "/v1", "/v3", ""])
    return f"{prefix}/{name}/{rng.choice((*ROUTES, 'infer', 'ready'))}{query}"


def headers(rng: random.Random) -> dict[str, str]:
    found = {}
    if rng.random() < 0.2:
        found["Idempotency_Key"] = rng.choice(["k", "", "a b", "x" * 300, "\xe4", "k" * 200])
    if rng.random() < 0.1:
        found["Authorization"] = rng.choice(["Bearer x", "Basic eDp4", "Bearer", "\xff"])
    if rng.random() < 0.1:
        found["traceparent"] = rng.choice(["00-0-0-0", "x" * 1000, "00-" + "a" * 32 + "-" + "b" * 16 + "-01"])
    if rng.random() < 0.05:
        found["Origin"] = "null"
    return found


@pytest.mark.parametrize("count", [600, pytest.param(10_000, marks=pytest.mark.long)])
def test_hostile_requests_are_refused_and_nothing_is_left_of_them(count: int, server: Server) -> None:
    client, rng = server.client(), random.Random(count)
    client.put("m", task="numbers", columns={"x": "number"})
    client.post_lines("/v1/models/m/learn", [{"x": k, "label": 2 * k} for k in range(50)])
    statuses: dict[int, int] = {}
    before = resident(server)
    for _ in range(count):
        method = rng.choice(METHODS) if rng.random() < 0.3 else "POST"
        if method == "DELETE":
            continue
        reply = client.ask(
            method, path(rng), body(rng), rng.choice(TYPES) if rng.random() < 0.3 else JSON, **headers(rng)
        )
        statuses[reply.status] = statuses.get(reply.status, 0) + 1
        assert reply.status < 500 or reply.status == 501, (reply.status, reply.body)
        if reply.headers.get("content-type") == "application/problem+json" and method != "HEAD":
            assert reply.json["detail"]
    assert len(statuses) > 5
    about = client.get("/v1/models/m")
    assert about["state"] == "ready"
    assert client.ask("GET", "/v2/health/ready").status == 200
    assert resident(server) - before < 60_000_000
    client.close()


def test_refused_requests_leave_the_model_unchanged(server: Server) -> None:
    client, rng = server.client(), random.Random(3)
    client.put("same", task="numbers", columns={"x": "number"})
    client.post_lines("/v1/models/same/learn", [{"x": k, "label": 2 * k} for k in range(50)])
    before = client.ask("GET", "/v1/models/same/snapshot").body
    refused = 0
    while refused < 200:
        reply = client.ask("POST", "/v1/models/same/learn", body(rng), rng.choice([JSON, NDJSON]))
        if reply.status == 200:  # by chance it was sound
            before = client.ask("GET", "/v1/models/same/snapshot").body
        else:
            refused += 1
    assert client.ask("GET", "/v1/models/same/snapshot").body == before
    client.close()


@pytest.mark.parametrize(
    "raw",
    [
        b"\x00\x01\x02\r\n\r\n",
        b"GET /../../etc/passwd HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET http://other/ HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"POST /v1/models/m/learn HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n",
        b"POST /v1/models/m/learn HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nZZ\r\n",
        b"GET / HTTP/1.1\r\nHost: localhost\r\n" + b"X: " + b"a" * 200_000 + b"\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
    ],
)
def test_raw_nonsense_does_not_end_the_service(raw: bytes, server: Server) -> None:
    said = b""
    with socket.create_connection(("127.0.0.1", server.port), timeout=2.0) as connection, contextlib.suppress(OSError):
        connection.sendall(raw)
        said = connection.recv(1000)
    assert b" 500 " not in said
    client: Client = server.client()
    assert client.ask("GET", "/v2/health/ready").status == 200
    client.close()


@pytest.mark.long
def test_schemathesis_finds_no_fault_with_the_interface(server: Server) -> None:
    schemathesis = pytest.importorskip("schemathesis")
    from hypothesis import HealthCheck, Phase, given, settings
    from schemathesis.specs.openapi import checks

    conforms = [
        checks.status_code_conformance,
        checks.content_type_conformance,
        checks.response_headers_conformance,
        checks.response_schema_conformance,
    ]

    client = server.client()
    client.put("m", task="numbers", columns={"x": "number"})
    client.post_lines("/v1/models/m/learn", [{"x": 1, "label": 1}])
    schema = schemathesis.openapi.from_url(f"{server.address}/openapi.json")
    asked = 0
    for result in schema.get_all_operations():
        operation = result.ok()
        if operation.path.endswith("/live") or operation.method == "delete":
            continue

        @given(case=operation.as_strategy())
        @settings(
            max_examples=50,
            deadline=None,
            database=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        def check(case: object) -> None:
            nonlocal asked
            asked += 1
            if "name" in case.path_parameters and case.method != "PUT":  # type: ignore[attr-defined]
                case.path_parameters["name"] = "m"  # type: ignore[attr-defined]
            reply = case.call()  # type: ignore[attr-defined]
            assert reply.status_code < 500 or reply.status_code in {503, 504}, reply.text
            case.validate_response(reply, checks=conforms)  # type: ignore[attr-defined]

        check()
    assert asked > 1000
    client.close()
