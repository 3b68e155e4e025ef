"""The application: finds the route, checks who asks, answers errors, and counts."""

import asyncio
import logging
import time
from collections.abc import Sequence
from importlib.resources import files
from typing import Any, NamedTuple

import msgspec

from odca import __version__
from odca.serve import routes
from odca.serve.access import Access
from odca.serve.exchange import Exchange, Gone, Receive, Reply, Scope, Send
from odca.serve.follower import Follower, Wish
from odca.serve.live import Live
from odca.serve.page import Page
from odca.serve.problems import Problem
from odca.serve.routes import Handler
from odca.serve.service import Service

logger = logging.getLogger("odca.serve")


class Route(NamedTuple):
    """What a method of a path does, and which scope it needs."""

    handler: Handler
    scope: str


OF_MODEL: dict[str, dict[str, Route]] = {
    "": {
        "GET": Route(routes.describe, "predict"),
        "PUT": Route(routes.create, "admin"),
        "DELETE": Route(routes.delete, "admin"),
    },
    "predict": {"POST": Route(routes.predict, "predict")},
    "learn": {"POST": Route(routes.learn, "learn")},
    "label": {"POST": Route(routes.label, "learn")},
    "explain": {"POST": Route(routes.explain, "predict")},
    "snapshot": {"GET": Route(routes.snapshot, "admin")},
    "merge": {"POST": Route(routes.merge, "admin")},
    "freeze": {"POST": Route(routes.freeze, "admin")},
    "history": {"GET": Route(routes.history, "predict")},
    "weights": {"GET": Route(routes.weights, "predict")},
    "errors": {"GET": Route(routes.errors, "admin")},
}
OF_SERVICE: dict[str, dict[str, Route]] = {
    "/v1/models": {"GET": Route(routes.models, "predict")},
    "/v2": {"GET": Route(routes.server_metadata, "predict")},
    "/metrics": {"GET": Route(routes.metrics, "predict")},
}
OF_INFERENCE: dict[str, dict[str, Route]] = {
    "": {"GET": Route(routes.metadata, "predict")},
    "ready": {"GET": Route(routes.model_ready, "predict")},
    "infer": {"POST": Route(routes.infer_route, "predict")},
}


class App:
    """An ASGI application."""

    def __init__(self, service: Service, access: Access, wishes: Sequence[Wish] = ()) -> None:
        self.service, self.access = service, access
        self._followers = [Follower(service, each) for each in wishes]
        self._live = Live(service)
        self._page = Page()
        self._interface = files("odca.serve").joinpath("openapi.json").read_bytes()
        self._loading: asyncio.Task[None] | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One connection: requests, or the life of the server."""
        if scope["type"] == "lifespan":
            await self._live_and_die(receive, send)
        elif scope["type"] == "http":
            await self._answer(Exchange(scope, receive, send))

    async def _live_and_die(self, receive: Receive, send: Send) -> None:
        await receive()
        self._loading = asyncio.create_task(self.service.load())
        following = [asyncio.create_task(each.run()) for each in self._followers]
        await send({"type": "lifespan.startup.complete"})
        await receive()
        await self._loading
        for each in following:
            each.cancel()
        await asyncio.gather(*following, return_exceptions=True)
        await self.service.close()
        await send({"type": "lifespan.shutdown.complete"})

    async def _answer(self, exchange: Exchange) -> None:
        began = time.perf_counter()
        model, route = "", "none"
        status = 500
        try:
            model, route, reply = await self._found(exchange)
            if reply is None:
                return
            status = reply.status
            await exchange.reply(reply)
        except Problem as problem:
            model, route = _place(exchange.path)
            status = problem.status
            if (hosted := self.service.models.get(model)) is not None:
                hosted.refuse(route, problem, exchange.request_id)
            if not exchange.has_begun:
                await exchange.refuse(problem)
        except (Gone, asyncio.CancelledError, ConnectionError):
            status = 499
        except Exception:
            logger.exception("request %s %s", exchange.method, exchange.path, extra={"request_id": exchange.request_id})
            if not exchange.has_begun:
                await exchange.refuse(Problem("internal", "the service has a fault; its log says more."))
        finally:
            seconds = time.perf_counter() - began
            self.service.telemetry.request(model if model in self.service.models else "", route, status, seconds)
            logger.debug(
                "%s %s %d", exchange.method, exchange.path, status,
                extra={"request_id": exchange.request_id, "seconds": seconds, "who": exchange.who},
            )  # fmt: skip

    async def _found(self, exchange: Exchange) -> tuple[str, str, Reply | None]:
        """The model, the route and the answer; None if it was sent already."""
        path = exchange.path
        if path.startswith("/v1/models/"):
            name, _, action = path[11:].partition("/")
            if action == "live":
                await self._watch(exchange, name)
                return name, "live", None
            return name, action or "model", await self._run(exchange, OF_MODEL.get(action), name)
        if path.startswith("/v2/models/"):
            name, _, action = path[11:].partition("/")
            return name, f"v2 {action}", await self._run(exchange, OF_INFERENCE.get(action), name)
        if path in OF_SERVICE:
            return "", path, await self._run(exchange, OF_SERVICE[path], "")
        if path == "/v1/live":
            await self._watch(exchange, None)
            return "", "live", None
        return "", path if path in OPEN else "none", self._open(exchange)

    async def _run(self, exchange: Exchange, methods: dict[str, Route] | None, name: str) -> Reply:
        if methods is None:
            raise _no_route(exchange.path)
        route = methods.get("GET" if exchange.method == "HEAD" else exchange.method)
        if route is None:
            raise _wrong_method(exchange, methods)
        self.access.require(exchange, route.scope)
        return await route.handler(self.service, exchange, name)

    async def _watch(self, exchange: Exchange, name: str | None) -> None:
        _require_get(exchange)
        self.access.require(exchange, "predict")
        await self._live.watch(exchange, name)

    def _open(self, exchange: Exchange) -> Reply:
        """What everybody may see."""
        path, service = exchange.path, self.service
        found = self._page.files.get(path)
        if found is None and path not in OPEN:
            raise _no_route(path)
        _require_get(exchange)
        if found is not None:
            return found
        exchange.parameters()
        if path == "/openapi.json":
            return Reply(200, self._interface)
        if path == "/v2/health/live":
            return Reply.of({"live": True})
        if path == "/v2/health/ready":
            ready = service.state == "ready"
            headers = () if ready else ((b"retry-after", b"1"),)
            return Reply.of({"ready": ready}, 200 if ready else 503, headers)
        about: dict[str, Any] = {
            "version": __version__, "state": service.state, "needs_token": self.access.needs_token,
            "scopes": list(self.access.scopes(exchange)), "limits": msgspec.to_builtins(service.limits),
        }  # fmt: skip
        return Reply.of(about)


OPEN = {"/openapi.json", "/v2/health/live", "/v2/health/ready", "/v1/service"}


def _place(path: str) -> tuple[str, str]:
    """The model and the route of a path, as far as it has them."""
    for prefix, known, mark in (("/v1/models/", OF_MODEL, ""), ("/v2/models/", OF_INFERENCE, "v2 ")):
        if path.startswith(prefix):
            name, _, action = path[len(prefix) :].partition("/")
            return name, mark + (action or "model") if action in known or action == "live" else "none"
    return "", path if path in OPEN or path in OF_SERVICE else "none"


def _no_route(path: str) -> Problem:
    return Problem("no-route", f"there is nothing at {path[:200]!r}. GET /openapi.json lists the routes.")


def _require_get(exchange: Exchange) -> None:
    if exchange.method not in {"GET", "HEAD"}:
        raise _wrong_method(exchange, {"GET": None})


def _wrong_method(exchange: Exchange, methods: dict[str, Any]) -> Problem:
    return Problem(
        "wrong-method",
        f"{exchange.path[:200]} takes {', '.join(methods)}, not {exchange.method[:20]}.",
        allow=", ".join(methods),
    )
