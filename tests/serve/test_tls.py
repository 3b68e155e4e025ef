"""https: with a certificate of one's own, the service is reached by those who trust it, and by nobody in plain text."""

import http.client
import json
import socket
import ssl
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import trustme

from serving import JSON, Server


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture(scope="module")
def files(authority: trustme.CA, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The certificate of 127.0.0.1, and its key."""
    folder = tmp_path_factory.mktemp("tls")
    made = authority.issue_cert("127.0.0.1", "localhost")
    made.cert_chain_pems[0].write_to_path(folder / "cert.pem")
    made.private_key_pem.write_to_path(folder / "key.pem")
    return folder / "cert.pem", folder / "key.pem"


@pytest.fixture(scope="module")
def server(files: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("serve") / "models"
    found = Server(folder, "--tls-cert", str(files[0]), "--tls-key", str(files[1]))
    yield found
    assert found.stop() == 0


def trusting(authority: trustme.CA) -> ssl.SSLContext:
    context = ssl.create_default_context()
    authority.configure_trust(context)
    return context


def ask(server: Server, context: ssl.SSLContext, method: str, path: str, body: object = None) -> tuple[int, object]:
    connection = http.client.HTTPSConnection("127.0.0.1", server.port, timeout=20.0, context=context)
    try:
        connection.request(method, path, None if body is None else json.dumps(body), {"Content-Type": JSON})
        reply = connection.getresponse()
        return reply.status, json.loads(reply.read())
    finally:
        connection.close()


def test_who_trusts_the_certificate_is_served_over_tls(server: Server, authority: trustme.CA) -> None:
    assert server.address.startswith("https://127.0.0.1:")
    context, end = trusting(authority), time.monotonic() + 30.0
    while ask(server, context, "GET", "/v2/health/ready")[0] != 200:
        assert time.monotonic() < end
        time.sleep(0.05)
    assert ask(server, context, "PUT", "/v1/models/m", {"task": "numbers", "columns": {"x": "number"}})[0] == 201
    assert ask(server, context, "POST", "/v1/models/m/learn", {"x": 1, "label": 2})[0] == 200
    status, told = ask(server, context, "POST", "/v1/models/m/predict", {"x": 1})
    assert (status, set(told)) == (200, {"prediction"})
    with (
        socket.create_connection(("127.0.0.1", server.port)) as plain,
        context.wrap_socket(plain, server_hostname="127.0.0.1") as secure,
    ):
        assert secure.version() in {"TLSv1.2", "TLSv1.3"}


def test_who_does_not_trust_it_and_who_speaks_plain_text_learns_nothing(server: Server) -> None:
    with pytest.raises(ssl.SSLCertVerificationError):
        ask(server, ssl.create_default_context(), "GET", "/v2/health/live")
    with socket.create_connection(("127.0.0.1", server.port), timeout=20.0) as plain:
        plain.sendall(b"GET /v2/health/live HTTP/1.1\r\nHost: localhost\r\n\r\n")
        said = b""
        try:
            while part := plain.recv(1000):
                said += part
        except ConnectionResetError:
            pass
    assert b"live" not in said
    old = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    old.check_hostname, old.verify_mode = False, ssl.CERT_NONE
    with pytest.warns(DeprecationWarning, match="TLSv1_1"):
        old.minimum_version = old.maximum_version = ssl.TLSVersion.TLSv1_1
    with pytest.raises(ssl.SSLError):
        ask(server, old, "GET", "/v2/health/live")


def refused(folder: Path, *options: str) -> str:
    command = [sys.executable, "-m", "odca", "serve", str(folder), "--port", "0", *options]
    found = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert found.returncode in {1, 2}
    assert "Traceback" not in found.stderr
    assert "Serving" not in found.stdout
    return found.stderr


def test_a_certificate_that_cannot_be_used_is_refused_before_anything_is_served(
    files: tuple[Path, Path], tmp_path: Path
) -> None:
    cert, key = map(str, files)
    other = tmp_path / "other.pem"
    trustme.CA().issue_cert("localhost").private_key_pem.write_to_path(other)
    models = tmp_path / "models"
    assert "belong together" in refused(models, "--tls-cert", cert)
    assert "other.pem" in refused(models, "--tls-cert", cert, "--tls-key", str(other))
    assert "none.pem" in refused(models, "--tls-cert", str(tmp_path / "none.pem"), "--tls-key", key)
    assert "key.pem" in refused(models, "--tls-cert", key, "--tls-key", cert)
