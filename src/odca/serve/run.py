"""Running the service: the server, its connections, its end."""

import asyncio
import contextlib
import json
import logging
import socket
import ssl
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from odca.serve.access import Access, is_loopback
from odca.serve.app import App
from odca.serve.follower import Wish, require_distinct
from odca.serve.limits import Limits
from odca.serve.service import Service
from odca.serve.tokens import Tokens

HEADER_SECONDS = 10.0
"""A request whose head is not there by then is ended, and so is a connection that sends nothing."""
KEEP_ALIVE_SECONDS = 75
GRACE_SECONDS = 30


class TimedProtocol(HttpToolsProtocol):
    """HTTP with a limit on how long the head of a request may take."""

    def connection_made(self, transport: Any) -> None:
        """Begin to wait for the first request."""
        super().connection_made(transport)
        self._head = self.loop.call_later(HEADER_SECONDS, self._end)

    def on_message_begin(self) -> None:
        """Begin to wait for the rest of the head."""
        self._head.cancel()
        self._head = self.loop.call_later(HEADER_SECONDS, self._end)
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """The head is there."""
        self._head.cancel()
        super().on_headers_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        """Nobody waits any more."""
        self._head.cancel()
        super().connection_lost(exc)

    def _end(self) -> None:
        if not self.transport.is_closing():
            self.transport.close()


class Server(uvicorn.Server):
    """A server whose signals are handled by the command."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave the signals alone."""
        yield


class JsonLines(logging.Formatter):
    """Log records as lines of JSON."""

    def format(self, record: logging.LogRecord) -> str:
        """One line."""
        about = {
            "time": record.created,
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        about |= {name: getattr(record, name) for name in ("request_id", "seconds", "who") if hasattr(record, name)}
        if record.exc_info:
            about["traceback"] = self.formatException(record.exc_info)
        return json.dumps(about)


def log_to_stderr(level: str) -> None:
    """Write the log of the service to stderr, as lines of JSON."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    for name in ("odca.serve", "uvicorn"):
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(level.upper())
    logging.getLogger("uvicorn").setLevel("WARNING")


def serve(
    folder: Path,
    *,
    host: str,
    port: int,
    limits: Limits,
    tls: tuple[str, str] | None,
    follow: Sequence[str],
    listening: Callable[[str], None],
    stopping: Callable[[Callable[[], None]], contextlib.AbstractContextManager[None]],
) -> None:
    """Serve the models of a folder until `stopping` calls what it is given. `listening` is called with the address.

    follow: the topics that models follow, such as "shop=kafka://localhost:9092/visits".

    ValueError if another process serves the folder, or the address needs tokens and there are none.
    """
    tokens = Tokens(folder / "tokens.json")
    if not is_loopback(host) and not tokens.all():
        raise ValueError(
            f"{host} can be reached by others, so tokens are needed. Make one with `odca serve token create`."
        )
    if tls is not None:
        _require_certificate(*tls)
    wishes = [Wish.of(each) for each in follow]
    require_distinct(wishes)
    folder.mkdir(parents=True, exist_ok=True)
    listener = _socket(host, port)
    try:
        with asyncio.Runner(loop_factory=_loop_factory()) as runner:
            runner.run(_serve(listener, folder, host, limits, tls, tokens, wishes, listening, stopping))
    finally:
        listener.close()


async def _serve(
    listener: socket.socket,
    folder: Path,
    host: str,
    limits: Limits,
    tls: tuple[str, str] | None,
    tokens: Tokens,
    wishes: Sequence[Wish],
    listening: Callable[[str], None],
    stopping: Callable[[Callable[[], None]], contextlib.AbstractContextManager[None]],
) -> None:
    service = Service(folder, limits)
    app = App(service, Access(tokens, needs_token=not is_loopback(host)), wishes)
    config = uvicorn.Config(
        app,
        http=TimedProtocol,
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        ws="none",
        limit_concurrency=limits.connections,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=GRACE_SECONDS,
        ssl_certfile=None if tls is None else tls[0],
        ssl_keyfile=None if tls is None else tls[1],
    )
    server = Server(config)

    def stop() -> None:
        service.state = "closing"
        server.should_exit = True

    bound = listener.getsockname()
    shown = f"[{bound[0]}]" if ":" in bound[0] else bound[0]
    listening(f"{'http' if tls is None else 'https'}://{shown}:{bound[1]}")
    with stopping(stop):
        await server.serve(sockets=[listener])


def _require_certificate(certificate: str, key: str) -> None:
    """ValueError if a certificate and its key cannot be used."""
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(certificate, key)
    except OSError as error:
        why = "one of the files is not there" if isinstance(error, FileNotFoundError) else error.strerror or error
        raise ValueError(f"the certificate {certificate} and the key {key} cannot be used: {why}.") from error


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """uvloop's loops, where it is installed: a request takes less time."""
    try:
        import uvloop  # noqa: PLC0415 - optional
    except ImportError:
        return None
    factory: Callable[[], asyncio.AbstractEventLoop] = uvloop.new_event_loop
    return factory


def _socket(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    found = socket.socket(family, socket.SOCK_STREAM)
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    deadline = time.monotonic() + 1.0
    while True:
        try:
            found.bind((host.strip("[]"), port))
        except OSError as error:
            if time.monotonic() > deadline:
                found.close()
                raise ValueError(f"{host}:{port} cannot be used: {error.strerror or error}.") from error
            time.sleep(0.1)
        else:
            found.listen(1024)
            return found
