"""Server-sent events: what a page shows, as it changes."""

import asyncio
import contextlib
import time
from typing import Any

from odca.serve import views
from odca.serve.exchange import Exchange, as_json
from odca.serve.problems import Problem
from odca.serve.routes import listed
from odca.serve.service import Service

EVERY, QUIET = 1.0, 15.0
"""Seconds between two events, and after which a comment keeps the connection open."""
AGES = 10.0
"""Seconds after which what is recent looks different, though nothing has happened."""


class Live:
    """The connections that watch."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._open = 0

    async def watch(self, exchange: Exchange, name: str | None) -> None:
        """Send events until the client goes, the model is deleted, or the service ends."""
        exchange.parameters()
        if name is not None:
            self._service.model(name).state  # noqa: B018 - is there one?
        if self._open >= self._service.limits.streams:
            raise Problem("queue-full", f"{self._open} connections watch already.", retry_after=10)
        self._open += 1
        gone = asyncio.create_task(_gone(exchange))
        try:
            await exchange.start(200, [(b"content-type", b"text/event-stream; charset=utf-8")])
            await self._send_changes(exchange, name, gone)
        finally:
            self._open -= 1
            gone.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await gone

    async def _send_changes(self, exchange: Exchange, name: str | None, gone: "asyncio.Task[None]") -> None:
        seen: Any = None
        shown, sent = 0.0, time.monotonic()
        while not gone.done():
            if (reason := self._end(name)) is not None:
                await exchange.send_part(_event("end", {"reason": reason}), more=False)
                return
            now = self._signature(name)
            if now != seen:
                seen, sent = now, time.monotonic()
                if name is None:
                    await exchange.send_part(_event("models", listed(self._service)))
                else:
                    hosted = self._service.model(name)
                    about, history = await asyncio.to_thread(
                        lambda: (views.describe(hosted), views.history(hosted, "hour", shown))  # noqa: B023 - awaited at once
                    )
                    part = _event("model", about)
                    if history["time"]:
                        part += _event("history", history)
                        shown = history["time"][-1]
                    await exchange.send_part(part)
            elif time.monotonic() - sent >= QUIET:
                sent = time.monotonic()
                await exchange.send_part(b": still here\n\n")
            await asyncio.wait([gone], timeout=EVERY)

    def _end(self, name: str | None) -> str | None:
        if self._service.state == "closing":
            return "shutdown"
        return "deleted" if name is not None and name not in self._service.models else None

    def _signature(self, name: str | None) -> Any:
        """What changes when something is to be shown."""
        names = sorted(self._service.models) if name is None else [name]
        found: list[tuple[Any, ...]] = []
        for each in names:
            hosted = self._service.models[each]
            writer = hosted.writer
            links = [(link.state, link.problem, link.note, link.lag) for link in hosted.links.values()]
            about: tuple[Any, ...] = (each, hosted.failure, hosted.error_count, links)
            if writer is not None:
                passed = time.time() // AGES if views.is_recent(writer.state) else 0.0
                about = (*about, writer.state.position, writer.problem, writer.failure, passed)
            found.append(about)
        return found


async def _gone(exchange: Exchange) -> None:
    while (await exchange.receive())["type"] != "http.disconnect":
        pass


def _event(name: str, data: Any) -> bytes:
    return b"event: " + name.encode() + b"\ndata: " + as_json(data) + b"\n\n"
