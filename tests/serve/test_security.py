"""Who may do what, what a page from elsewhere may not, and the bounds of a request."""

import http.client
import json
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from serving import JSON, NDJSON, Client, Server, serving


def token(folder: Path, scope: str) -> str:
    program = [sys.executable, "-m", "odca", "serve", "token", "create", str(folder), "--name", scope, "--scope", scope]
    return subprocess.run(program, capture_output=True, text=True, check=True).stdout.strip()


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Server, dict[str, Client]]]:
    folder = tmp_path_factory.mktemp("serve") / "models"
    tokens = {scope: token(folder, scope) for scope in ("predict", "learn", "admin")}
    with serving(folder, "--max-line", "2000", "--max-body", "10000", "--max-events", "50") as server:
        clients = {scope: server.client(text) for scope, text in tokens.items()} | {"": server.client()}
        clients["admin"].put("m", task="numbers", columns={"x": "number"})
        yield server, clients
        for each in clients.values():
            each.close()


ALLOWED = {
    ("GET", "/v1/models"): "predict",
    ("GET", "/v1/models/m"): "predict",
    ("GET", "/v1/models/m/history"): "predict",
    ("GET", "/v1/models/m/errors"): "admin",
    ("GET", "/metrics"): "predict",
    ("GET", "/v2/models/m"): "predict",
    ("POST", "/v1/models/m/predict"): "predict",
    ("POST", "/v1/models/m/explain"): "predict",
    ("POST", "/v1/models/m/learn"): "learn",
    ("POST", "/v1/models/m/label"): "learn",
    ("GET", "/v1/models/m/snapshot"): "admin",
    ("POST", "/v1/models/m/merge"): "admin",
    ("POST", "/v1/models/m/freeze"): "admin",
    ("PUT", "/v1/models/new"): "admin",
    ("DELETE", "/v1/models/none"): "admin",
}


@pytest.mark.parametrize(("method", "path"), ALLOWED)
def test_each_route_needs_its_scope(method: str, path: str, guarded: tuple[Server, dict[str, Client]]) -> None:
    _, clients = guarded
    order = ["", "predict", "learn", "admin"]
    for scope, client in clients.items():
        reply = client.ask(method, path, "{}" if method != "GET" else None, JSON if method != "GET" else None)
        if order.index(scope) < order.index(ALLOWED[method, path]):
            assert reply.status == (403 if scope else 401)
        else:
            assert reply.status not in {401, 403, 500}


def test_what_is_open_is_open(guarded: tuple[Server, dict[str, Client]]) -> None:
    _, clients = guarded
    for path in ("/", "/openapi.json", "/v2/health/live", "/v2/health/ready", "/v1/service"):
        assert clients[""].ask("GET", path).status == 200
    assert clients[""].get("/v1/service")["scopes"] == []
    assert clients["learn"].get("/v1/service")["scopes"] == ["predict", "learn"]


@pytest.mark.parametrize("text", ["wrong", "odca_0_x", "ä", "a" * 5000])
def test_a_wrong_token_is_refused_everywhere(text: str, guarded: tuple[Server, dict[str, Client]]) -> None:
    _, clients = guarded
    reply = clients[""].ask("GET", "/v1/models", Authorization=f"Bearer {text}".encode().decode("latin-1"))
    assert (reply.status, reply.headers["www-authenticate"]) == (401, "Bearer")


def test_a_revoked_token_is_refused_within_a_second(guarded: tuple[Server, dict[str, Client]]) -> None:
    server, _ = guarded
    text = token(server.folder, "predict")
    client = server.client(text)
    time.sleep(1.0)
    assert client.ask("GET", "/v1/models").status == 200
    stored = (server.folder / "tokens.json").read_text()
    assert text not in stored
    assert (server.folder / "tokens.json").stat().st_mode & 0o077 == 0
    program = [
        sys.executable,
        "-m",
        "odca",
        "serve",
        "token",
        "revoke",
        str(server.folder),
        "--token",
        text.split("_")[1],
    ]
    subprocess.run(program, capture_output=True, check=True)
    time.sleep(1.0)
    assert client.ask("GET", "/v1/models").status == 401
    client.close()


def test_an_address_that_others_reach_needs_a_token(tmp_path: Path) -> None:
    program = [sys.executable, "-m", "odca", "serve", str(tmp_path / "models"), "--host", "0.0.0.0", "--port", "0"]
    done = subprocess.run(program, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1
    assert "odca serve token create" in done.stderr
    assert "--tls-cert" in done.stderr


def test_pages_from_elsewhere_and_names_that_lead_here_are_refused(tmp_path: Path) -> None:
    with serving(tmp_path / "models") as server:
        client = server.client()
        assert client.ask("GET", "/v1/models", Origin="https://example.com").status == 403
        assert client.ask("GET", "/v1/models", Origin=f"http://127.0.0.1:{server.port}").status == 200
        assert client.ask("GET", "/v1/models", Host="example.com").status == 403
        assert client.ask("GET", "/v1/models", Host=f"localhost:{server.port}").status in {200, 403}
        reply = client.ask("GET", "/")
        assert "access-control-allow-origin" not in reply.headers
        assert "default-src 'none'" in reply.headers["content-security-policy"]
        assert client.ask("OPTIONS", "/v1/models").status == 405
        client.close()


def test_changes_are_in_the_audit_log(guarded: tuple[Server, dict[str, Client]]) -> None:
    server, clients = guarded
    clients["admin"].put("audited", task="numbers")
    clients["admin"].ask("DELETE", "/v1/models/audited")
    lines = [json.loads(line) for line in (server.folder / "audit.jsonl").read_text().splitlines()]
    assert [each["what"] for each in lines if each["model"] == "audited"] == ["create", "delete"]
    assert all(each["who"].startswith("admin (") for each in lines)


def test_bodies_lines_and_numbers_of_events_are_bounded(guarded: tuple[Server, dict[str, Client]]) -> None:
    _, clients = guarded
    client = clients["learn"]
    line = json.dumps({"x": 1, "label": 1})
    assert client.ask("POST", "/v1/models/m/learn", json.dumps({"x": "y" * 3000, "label": 1}), JSON).kind == "too-large"
    long = client.ask("POST", "/v1/models/m/learn", line + "\n" + json.dumps({"x": "y" * 3000}), NDJSON)
    assert (long.kind, long.json["line"]) == ("too-large", 2)
    assert client.ask("POST", "/v1/models/m/learn", "\n".join([line] * 60), NDJSON).kind == "too-large"
    assert client.ask("POST", "/v1/models/m/learn", " " * 20_000, NDJSON).kind == "too-large"
    assert client.ask("POST", "/v1/models/m/learn", iter([b" " * 6000] * 3), NDJSON).kind == "too-large"  # type: ignore[arg-type]


def test_a_full_queue_is_answered_with_429(tmp_path: Path) -> None:
    with serving(tmp_path / "models", "--max-queue", "0") as server:
        client = server.client()
        client.put("m", task="numbers", columns={"x": "number"})
        reply = client.post("/v1/models/m/learn", {"x": 1, "label": 1})
        assert (reply.status, reply.kind, reply.headers["retry-after"]) == (429, "queue-full", "1")
        assert client.post("/v1/models/m/predict", {"x": 1}).status == 200
        client.close()


@pytest.mark.long
def test_slow_and_silent_connections_are_ended(guarded: tuple[Server, dict[str, Client]]) -> None:
    server, clients = guarded
    for sent in (b"", b"GET / HTTP/1.1\r\nHost: a\r\n", b"POST /v1/models/m/learn HTTP/1.1\r\n"):
        began = time.monotonic()
        with socket.create_connection(("127.0.0.1", server.port), timeout=60.0) as connection:
            connection.sendall(sent)
            assert connection.recv(1000) == b""
        assert time.monotonic() - began < 40.0
    head = "POST /v1/models/m/learn HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 100\r\n"
    with socket.create_connection(("127.0.0.1", server.port), timeout=90.0) as connection:
        connection.sendall(f"{head}Authorization: Bearer {clients['learn'].token}\r\n\r\n{{".encode())
        assert b"504" in connection.recv(1000)


def test_half_a_request_learns_nothing(guarded: tuple[Server, dict[str, Client]]) -> None:
    server, clients = guarded
    before = clients["admin"].get("/v1/models/m")["position"]
    for _ in range(20):
        connection = http.client.HTTPConnection("127.0.0.1", server.port)
        connection.putrequest("POST", "/v1/models/m/learn")
        connection.putheader("Content-Type", JSON)
        connection.putheader("Authorization", f"Bearer {clients['learn'].token}")
        connection.putheader("Content-Length", "100")
        connection.endheaders(b'{"x": 1, ')
        connection.close()
    assert clients["admin"].get("/v1/models/m")["position"] == before
